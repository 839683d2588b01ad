"""What a user writes: bodies, materials, loads, pairs, gravity, contact, dt, duration. Plain validated data, no numerics.

A Scene is read from and written to TOML; every field says its unit. Unknown keys are errors that name the nearest key.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, field_validator, model_validator

from pliant.base import PliantError
from pliant.bodies.quasi_rigid.room import ResponseTable
from pliant.bodies.register import ROOMS, AnyBody, as_recorded
from pliant.bodies.schema import Body, Load, Material, Motion, Where
from pliant.disk import read_text
from pliant.paths import changed, get
from pliant.shown import Shown
from pliant.spec.fields import NotNegative, Positive, Ratio, Spec, TableLike, Vector
from pliant.spec.table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pliant.record import Run
    from pliant.simulate.simulation import Simulation
    from pliant.spec.typed import AttachmentFields, BodyFields, PairFields, SceneFields, SettingFields

__all__ = ["Attachment", "Body", "Change", "End", "Load", "Material", "Motion", "Pair", "ResponseTable", "Scene", "Spec", "Where"]


MOST_STEPS = 1e10  # of a run: years on any machine


class Pair(Spec):
    """What happens between two bodies (or within one, a = b) where it differs from the rule."""

    a: str
    """name of a body"""
    b: str
    """name of a body"""
    contact: bool = True
    """False: they pass through each other"""
    method: str | None = None
    """of contact; None: the scene's"""
    friction: NotNegative | None = None
    """coefficient while sliding; None: geometric mean of the two bodies"""
    static_friction: NotNegative | None = None
    """coefficient while sticking; None: that of sliding if it is given, else the mean"""
    restitution: Ratio | None = None
    """speed after an impact over that before, of two rigid bodies under `patch`; None: that of the livelier body"""


class End(Spec):
    """One end of an attachment: a vertex of a body, a point of a body, or a point of the world."""

    body: str | None = None
    """name of a body; None: the world"""
    vertex: int | None = None
    """its number"""
    at: Vector | None = None
    """[m] world coordinates at the start; a soft body takes its nearest vertex"""

    @model_validator(mode="after")
    def _one(self) -> End:
        if (self.vertex is None) == (self.at is None):
            raise ValueError("give either `vertex` or `at`")
        if self.vertex is not None and self.body is None:
            raise ValueError("`vertex` needs a `body`")
        return self


class Attachment(Spec):
    """A spring, a string (pulls only when taut) or a weld between two points."""

    if TYPE_CHECKING:

        def __init__(self, **values: Unpack[AttachmentFields]) -> None: ...

    kind: Literal["spring", "string", "weld"] = "spring"
    """what joins the ends"""
    a: End
    """one end"""
    b: End
    """the other end"""
    stiffness: Positive = 1000.0
    """[N/m] springs and strings"""
    damping: NotNegative = 0.0
    """[N s/m] springs and taut strings"""
    length: NotNegative | None = None
    """[m] at rest; None: the distance at the start"""


class Change(Spec):
    """Something that changes during the run: gravity, a friction coefficient, a material."""

    set: str
    """what: "gravity", "gravity[2]", "ball.friction", "*.material.youngs_modulus" or "pairs.ball.floor.friction", for example"""
    to: TableLike
    """its value over time"""

    @classmethod
    def unit(cls, name: str, given: Mapping[str, Any]) -> str | None:
        """That of what is set."""
        field = re.sub(r"\[.*", "", str(given.get("set", "")).rpartition(".")[2])
        specs: list[type[Spec]] = [Scene, *(room.material for room in ROOMS.values())]
        return next((spec.unit(field, {}) for spec in specs if name == "to" and field in spec.model_fields), None)


class Scene(Spec, Shown):
    """A world to be: what is in it, what pulls at it, and for how long."""

    name: str = "scene"
    """names the run file"""
    about: str = ""
    """what there is to see"""
    gravity: Vector = (0.0, 0.0, -9.81)
    """[m/s^2]"""
    dt: Positive = 0.005
    """[s] length of a step"""
    duration: Positive = 1.0
    """[s] simulated time"""
    contact: str | dict[str, Any] = "auto"
    """a contact method, or {method = "ground", ...options}"""
    bodies: list[AnyBody] = []
    """what is in it"""
    pairs: list[Pair] = []
    """pairs of bodies between which something differs from the rule"""
    attachments: list[Attachment] = []
    """springs, strings and welds"""
    changes: list[Change] = []
    """what changes during the run"""
    solver: Literal["cg", "direct"] = "cg"
    """of the equations of implicit bodies"""
    sleep: bool = False
    """bodies that have been at rest for half a second are not computed until something wakes them"""

    if TYPE_CHECKING:

        def __init__(self, **values: Unpack[SceneFields]) -> None: ...

    @field_validator("contact")
    @classmethod
    def _method_is_a_name(cls, value: Any) -> Any:
        if isinstance(value, dict) and not isinstance(value.get("method", "auto"), str):
            raise ValueError(f"method is the name of a contact method, not {value['method']!r}")
        return value

    def add(self, body: Body | None = None, /, **values: Unpack[BodyFields]) -> Body:
        """Add a body, given whole or by its fields; a body without a name gets one from its shape. See `help(pliant.Body)`."""
        if body is None:
            body = Body(**values)
        elif values:
            body = Body(**{**body.stated(), **values})
        if not body.name:
            kind = body.shape.get("kind", "body") if isinstance(body.shape, dict) else "body"
            taken = {b.name for b in self.bodies}
            names = [kind] + [f"{kind}{i}" for i in range(2, len(self.bodies) + 3)]
            body.name = next(n for n in names if n not in taken)
        if any(b.name == body.name for b in self.bodies):
            raise _two(body.name)
        self.bodies.append(body)
        return body

    def refuse_same_names(self) -> None:
        """Refuse two bodies of one name: `add` does, but a body can be named anew."""
        names = sorted(body.name for body in self.bodies)
        for name, following in zip(names, names[1:], strict=False):
            if name == following:
                raise _two(name)

    def attach(self, **values: Unpack[AttachmentFields]) -> Attachment:
        """Add an attachment between two points."""
        self.attachments.append(Attachment(**values))
        return self.attachments[-1]

    def pair(self, a: str, b: str, **values: Unpack[PairFields]) -> Pair:
        """Say what is different between two bodies: method, friction, or no contact at all."""
        self.pairs.append(Pair(a=a, b=b, **values))
        return self.pairs[-1]

    def change(self, set: str, to: Any) -> Change:
        """Change gravity, friction or material during the run; `to` is a table over time."""
        self.changes.append(Change(set=set, to=to))
        return self.changes[-1]

    def simulate(self, **options: Unpack[SettingFields]) -> Simulation:
        """Build the world and return a simulation that is ready to step; options override fields (dt, duration, contact)."""
        from pliant.simulate.guards import check_start  # the door upwards; kernels load here, for start-up
        from pliant.simulate.simulation import Simulation

        known = ("dt", "duration", "contact", "gravity", "solver")
        for key in options:
            if key not in known:
                raise PliantError(f"simulate() has no option '{key}'; it takes {', '.join(known)}.")
        sim = Simulation(self.copy_with(**options))
        if sim.scene.contact != "none" and len(sim.scene.bodies) > 1:
            sim.notes += check_start(sim, refuse=False)  # `pliant run` refuses; who writes programs may mean it
        return sim

    def record(self, out: str | Path | None = None, every: float | None = None, overwrite: bool = False) -> Run:
        """Run to the end into a run file and open it; `every` [s] between frames, a hundredth of the run unless given.

        Default: runs/NAME.vtkhdf, with a number if there is one already.
        """
        from pliant.simulate.running import record  # start-up: scenes are read and checked without the kernels

        return record(self, out, every, overwrite)

    def __repr__(self) -> str:
        bodies = ", ".join(body.name for body in self.bodies) or "no bodies"
        return f"Scene '{self.name}': {bodies}; dt = {self.dt:g} s, duration = {self.duration:g} s"

    __str__ = __repr__

    def copy_with(self, **values: Unpack[SceneFields]) -> Scene:
        """A copy in which some fields differ, validated."""
        copy = self.model_copy(deep=False)
        for key, value in values.items():
            setattr(copy, key, value)
        return copy

    def with_(self, values: Mapping[str, Any] | None = None, /, **fields: Unpack[SceneFields]) -> Scene:
        """A copy in which the values at some paths differ: scene.with_({"ball.material.youngs_modulus": "50kPa"}, dt="1ms")."""
        return changed(self, {**(values or {}), **fields})

    def value(self, path: str) -> Any:
        """The value at a path, such as "ball.material.youngs_modulus"; of the first place, if it is a pattern."""
        return get(self, path)

    def sampled(self) -> Scene:
        """A copy in which callables have become tables, one value a step over the whole duration."""
        steps = self.duration / self.dt
        if not steps <= MOST_STEPS:
            raise PliantError(f"{self.duration:g} s in steps of dt = {self.dt:g} s are {steps:.2g} steps, more than are ever done.")
        count = math.ceil(steps - 1e-9) + 1

        def sample(spec: Any) -> Any:
            if isinstance(spec, Table):
                return spec.sampled(self.dt, count)
            if isinstance(spec, list):
                return [sample(item) for item in spec]
            if isinstance(spec, BaseModel):
                return spec.model_copy(update={k: sample(getattr(spec, k)) for k in type(spec).model_fields})
            return spec

        return sample(self)

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        study = "a scene has no parameters, measures or other fields of a study: `pliant study FILE` runs a file that has them."
        return study if key in ("scene", "parameters", "measures", "find", "calibrate", "sensitivity") else None

    @classmethod
    def from_toml(cls, text: str, source: str = "the text") -> Scene:
        """Read a scene; errors name the place."""
        return cls._read(parsed(text, source), source)

    @classmethod
    def recorded(cls, text: str) -> Scene:
        """The scene that a run file holds, which may be from before fields that do nothing were refused."""
        source = "the scene in the run file"
        data = parsed(text, source)
        return cls._read({**data, "bodies": [as_recorded(body) for body in data.get("bodies", [])]}, source)

    @classmethod
    def _read(cls, data: dict[str, Any], source: str) -> Scene:
        try:
            return cls._named(cls(**data))
        except PliantError as error:
            raise PliantError(f"In {source}: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Scene:
        """Read a scene file."""
        path = Path(path)
        if path.is_dir():
            raise PliantError(f"{path} is a folder; name a scene file in it.")
        if not path.exists():
            raise PliantError(f"There is no scene file {path} (looked from {Path.cwd()}).")
        scene = cls.from_toml(read_text(path), str(path))
        for body in scene.bodies:
            shapes = [getattr(body, part, None) for part in ("shape", "skin", "core")]
            for shape in [*shapes, *(region.shape for region in getattr(body, "regions", []))]:
                if isinstance(shape, dict) and "file" in shape:  # files are named relative to the scene
                    shape["file"] = _beside(path, shape["file"])
            response = getattr(body.material, "response", None)
            if isinstance(response, str) and response.endswith(".csv"):
                body.material.response = _beside(path, response)
        return scene

    @staticmethod
    def _named(scene: Scene) -> Scene:
        bodies, scene.bodies = scene.bodies, []
        for body in bodies:
            scene.add(body)
        return scene

    def to_toml(self) -> str:
        """The scene as TOML; defaults are left out."""
        import tomlkit

        return tomlkit.dumps(plain(self, "scene"))


def _two(name: str) -> PliantError:
    return PliantError(f"There are two bodies named '{name}': results are asked for by name, so name one differently.")


def _beside(path: Path, name: Any) -> Any:
    """The whole name of a file that a scene file names; what cannot be one stays as it is, and is refused when it is read."""
    try:
        return os.path.realpath(path.parent / name)
    except (TypeError, ValueError):  # a number; a name with a zero byte
        return name


def parsed(text: str, source: str) -> Any:
    import tomlkit  # start-up time
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text).unwrap()
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise PliantError(f"{source} is not valid TOML: {' '.join(str(error).split())}.") from None


def plain(value: Any, path: str) -> Any:
    """Data that TOML can hold; meshes given as arrays and callables cannot be written down."""
    if isinstance(value, Table):
        return value.plain(path)
    if isinstance(value, Spec):
        fields = type(value).model_fields
        kept = {k: v for k in fields if (v := getattr(value, k)) is not None and v != fields[k].get_default(call_default_factory=True)}
        return {k: plain(v, f"{path}.{k}") for k, v in kept.items()}
    if isinstance(value, dict):
        return {k: plain(v, f"{path}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, f"{path}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, str | int | float | bool):
        return value
    raise PliantError(
        f"{path} is a {type(value).__name__} made in Python, which a scene file cannot hold: "
        "save it as a mesh file and name it with shape = {file = ...}."
    )

