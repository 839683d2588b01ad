"""What a user writes: bodies, materials, loads, pairs, gravity, contact, dt, duration. Plain validated data, no numerics.

A Scene is read from and written to TOML; every field says its unit. Unknown keys are errors that name the nearest key.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, field_validator, model_validator

from pliant.base import PliantError, nearest
from pliant.bodies.models import OWN, SHIPPED, known
from pliant.geometry.mesh import Surface, TetMesh
from pliant.spec.reading import explain
from pliant.spec.table import Table, as_table

if TYPE_CHECKING:
    from pliant.simulate.simulation import Simulation

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Vector = tuple[Finite, Finite, Finite]
PerElement = Positive | list[Positive]

_TABLE_SCHEMA = WithJsonSchema(
    {
        "description": "a number, a vector, or a table {times = [...], values = [...]}",
        "anyOf": [{"type": "number"}, {"type": "array"}, {"type": "object"}],
    }
)
SURFACE_RESPONSES = ("boussinesq", "volume-preserving", "layer")  # of quasi-rigid bodies, besides tables
_SHAPE_SCHEMA = WithJsonSchema(
    {
        "description": 'the name of a shape, a table {kind = "ball", radius = 0.1, ...} or {file = "foot.obj", ...}',
        "anyOf": [{"type": "string"}, {"type": "object"}],
    }
)
_MODEL_SCHEMA = WithJsonSchema({"anyOf": [{"type": "string", "enum": list(SHIPPED)}, {"type": "string"}]})
TableLike = Annotated[Table, _TABLE_SCHEMA]


class Spec(BaseModel):
    """Base of everything in a scene: unknown keys are refused, assignments are checked."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise PliantError(explain(error, type(self))) from None

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise PliantError(explain(error, type(self))) from None


class ResponseTable(Spec):
    """How a surface gives way around a force, as a table; a file of `pliant response` holds the same."""

    c: Positive  # [m^2/N] (1 - nu^2)/(pi E) of the material it was made for; a body scales it to its own
    r: list[Positive]  # [m] rising
    values: list[Finite]  # [m/N]


class Material(Spec):
    """What a body is made of. Stiffness and density may be given per element, as lists as long as the elements."""

    law: str = "corotated"  # linear, corotated, stvk, neo-hookean, or one registered with register_material
    youngs_modulus: PerElement = 1e5  # [Pa]
    poisson_ratio: Annotated[float, Field(gt=-1, lt=0.5)] = 0.3
    density: PerElement = 1000.0  # [kg/m^3]
    mass_damping: NotNegative = 0.0  # [1/s] a of Rayleigh's C = a M + b K
    stiffness_damping: NotNegative = 0.0  # [s] b of Rayleigh's C = a M + b K
    spring_stiffness: PerElement = 1000.0  # [N/m] of each spring; all-pairs: a list is per vertex, a spring has the geometric mean
    spring_damping: NotNegative = 0.0  # [N s/m] along each spring; only for springs
    vertex_mass: PerElement | None = None  # [kg] of each vertex; None: from density; only for springs
    vertex_damping: NotNegative = 0.0  # [N s/m] c of the force -c v on each vertex; only for springs
    adaptive_force: Positive | None = None  # [N] f: vertex_damping times min(|spring force on the vertex| / f, cap); None: constant
    adaptive_cap: Positive = 10.0  # largest factor of adaptive damping
    thickness: Positive = 0.001  # [m] of a sheet of springs, for its mass; only for open surfaces
    response: str | ResponseTable = "boussinesq"
    # of quasi-rigid bodies: boussinesq (solid), volume-preserving (flesh), layer (on a core), or a table, also as a .csv file
    layer: Positive | None = None  # [m] how far a push on a quasi-rigid body is felt; for volume-preserving and layer
    # the rest is for points
    strain: Literal["green", "mkn04"] = "green"  # with its half, or without as published: then a body is four times as stiff
    hourglass: NotNegative = 0.1  # stiffness, in parts of youngs_modulus, against motions that the strain of phyxels cannot see
    crush: NotNegative = 1.0  # stiffness, in parts of lambda + 2 mu, against being crushed and turned inside out; 0: none, as published
    volume_stiffness: NotNegative = 0.0  # [Pa] k of the energy k/2 (V/V0 - 1)^2 per volume
    yield_strain: Positive | None = None  # elastic strain beyond which it stays deformed; None: never
    flow: Literal["shape", "full"] = "shape"  # what flows: the deviator, which keeps the volume, or all of the strain
    creep_time: NotNegative = 0.0  # [s] in which strain beyond the yield strain becomes permanent (to 1 - 1/e); 0: at once
    max_plastic_strain: Positive | None = None  # permanent strain never grows beyond this; None: no limit
    tear_strain: Positive | None = None  # neighbours part when they are further apart than at the start by this part; None: never
    softening: tuple[Finite, Finite] | None = None  # [degree C] between these temperatures stiffness falls linearly to soft_modulus
    soft_modulus: Positive = 1.0  # [Pa] Young's modulus above the second temperature of `softening`
    temperature: Finite = 20.0  # [degree C]; changes over time with scene.change("BODY.material.temperature", table)

    @field_validator("response")
    @classmethod
    def _known_response(cls, value: str | ResponseTable) -> str | ResponseTable:
        if isinstance(value, str) and value not in SURFACE_RESPONSES and not value.endswith(".csv"):
            known = nearest(value, SURFACE_RESPONSES)
            raise ValueError(f"there is no response '{value}': {known} A table is a .csv file of `pliant response`")
        return value


class Where(Spec):
    """Which vertices: those with all given conditions true, in world coordinates at the start."""

    ids: list[int] | None = None  # vertex numbers of the body
    side: Literal["-x", "+x", "-y", "+y", "-z", "+z"] | None = None  # the extreme vertices in that direction
    x: tuple[float, float] | None = None  # [m] lower and upper bound
    y: tuple[float, float] | None = None
    z: tuple[float, float] | None = None


class Load(Spec):
    """A force on a body: on all of it, or on the vertices or faces chosen by `where`."""

    kind: Literal["force", "torque", "traction", "pressure"] = "force"
    # force [N] in all; torque [N m] about the centre of mass; traction [Pa], a dead load; pressure [Pa], follows the face
    value: TableLike
    where: Where | None = None
    at: Vector | None = None  # [m] rigid bodies: the point of attack, which rides with the body

    @field_validator("value", mode="before")
    @classmethod
    def _table(cls, value: Any) -> Table:
        return as_table(value)

    @model_validator(mode="after")
    def _sizes(self) -> Load:
        want = 1 if self.kind == "pressure" else 3
        if self.value.width != want:
            raise ValueError(f"a {self.kind} needs {'a number' if want == 1 else 'three numbers'}, got {self.value.width}")
        return self


def _nothing() -> Table:
    return Table.constant((0.0, 0.0, 0.0))


class Motion(Spec):
    """Prescribed motion of a rigid frame or of chosen vertices: turned about a point, then shifted."""

    where: Where | None = None  # None: the whole body
    shift: TableLike = Field(default_factory=_nothing)  # [m]
    turn: TableLike = Field(default_factory=_nothing)  # [degree] rotation vector: direction is the axis, length the angle
    about: Vector | None = None  # [m] point of the turn; None: centre of the chosen vertices or of the body

    @field_validator("shift", "turn", mode="before")
    @classmethod
    def _table(cls, value: Any) -> Table:
        table = as_table(value)
        if table.width != 3:
            raise ValueError("needs three numbers at each time")
        return table


class Body(Spec):
    """One body: a shape, a model of how it gives way, a material and where it starts."""

    name: str = ""
    shape: Annotated[Any, _SHAPE_SCHEMA]
    model: Annotated[str, AfterValidator(known), _MODEL_SCHEMA] = "fem"  # or one of your own: bodies/models.py
    element: Literal["linear", "quadratic"] = "linear"  # fem: 4-node or 10-node tetrahedra
    network: Literal["tets", "surface", "all-pairs", "voxels"] = "tets"
    # springs: along the edges of tetrahedra; of the surface, with bending; between all vertices of the surface; of a lattice inside it
    spacing: Positive | None = None
    # [m] voxels: edge of a cell; None: an eighth of the longest side. quasi-rigid: between points of the skin; None: about 4000 points
    # points: cube root of the volume of a phyxel; None: for 400 of them
    phyxels: Literal["cubic", "bcc", "nodes", "centres"] = "cubic"
    # points: on a lattice inside the surface, or at the nodes or centres of tets
    support: Annotated[float, Field(ge=1.5, le=5.0)] = 3.0  # points: how far a phyxel sees, in mean distances to its ten neighbours
    volumes: Literal["share", "sph"] = "share"  # points: shares of the body's volume, or sums of kernels as published (too large)
    tangent: Literal["bonds", "exact"] = "bonds"  # points, implicit: what a step knows of the stiffness; exact: all, in much more time
    skin: Annotated[Any, _SHAPE_SCHEMA] | None = None  # a finer surface that rides in the tets and is what touches
    core: Annotated[Any, _SHAPE_SCHEMA] | None = None
    # quasi-rigid: a coarse solid that bends and stretches; the shape rides in it and gives way locally on top. None: rigid
    material: Material = Field(default_factory=Material)
    integrator: Literal["auto", "symplectic", "verlet", "implicit", "cooper-verner", "dop853"] = "auto"
    tolerance: Positive = 1e-6  # dop853: error of a step, in parts of the body's size
    unsafe: bool = False  # keep steps that are too long for an explicit body, to see how they fail
    position: Vector = (0.0, 0.0, 0.0)  # [m] where the shape's origin goes
    rotation: Vector | tuple[Finite, Finite, Finite, Finite] = (0.0, 0.0, 0.0)  # [degree] vector, or quaternion w x y z
    velocity: Vector = (0.0, 0.0, 0.0)  # [m/s]
    angular_velocity: Vector = (0.0, 0.0, 0.0)  # [rad/s] about the centre of mass
    friction: NotNegative = 0.3  # coefficient while sliding; a pair takes the geometric mean of both bodies
    static_friction: NotNegative | None = None  # coefficient while sticking; None: the same
    fixed: list[Where] = []  # vertices that never move
    motions: list[Motion] = []
    loads: list[Load] = []

    @field_validator("shape", "skin", "core")
    @classmethod
    def _shape(cls, value: Any) -> Any:
        from pliant.geometry.files import PointCloud
        from pliant.geometry.shape import Shape

        if value is None or isinstance(value, Shape | TetMesh | Surface | PointCloud):
            return value
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, dict) and ("kind" in value) != ("file" in value):
            return {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}  # as a file would hold it
        raise ValueError('a shape is a name, a table with `kind` or `file`, or a Shape, TetMesh, Surface or PointCloud')

    @property
    def needs_tets(self) -> bool:
        """Whether its model lives on tetrahedra."""
        return self.model == "fem" or self.model in OWN or (self.model == "springs" and self.network == "tets") or self.on_mesh

    @property
    def on_mesh(self) -> bool:
        """Whether it is made of phyxels that lie on tetrahedra."""
        return self.model == "points" and self.phyxels in ("nodes", "centres")

    @model_validator(mode="after")
    def _sense(self) -> Body:
        static = self.static_friction
        if static is not None and static < self.friction:
            raise ValueError(f"static_friction {static} is below friction {self.friction}: a body at rest holds at least as well")
        if self.model in ("rigid", "quasi-rigid", "static"):
            for name in ("skin",) if self.core is not None else ("fixed", "skin"):
                if getattr(self, name):
                    raise ValueError(f"`{name}` is for soft bodies; this one is {self.model}")
        if self.core is not None and self.model != "quasi-rigid":
            raise ValueError(f"`core` is for quasi-rigid bodies; this one is {self.model}: give it a finer `skin` instead")
        if self.model == "static" and (any(self.velocity) or any(self.angular_velocity) or self.loads):
            raise ValueError("a static body has no velocity and no loads; use `motions` to move it, or model = \"rigid\"")
        if self.material.softening is not None and not self.material.softening[0] < self.material.softening[1]:
            raise ValueError(f"softening runs from a lower to a higher temperature, not {self.material.softening}")
        if self.element == "quadratic" and self.model != "fem":
            raise ValueError("10-node elements are for model = \"fem\"")
        if self.model == "springs" and self.network == "all-pairs" and self.integrator == "implicit":
            raise ValueError(
                "springs between all pairs have a full stiffness matrix, which is never formed, so they take no implicit steps; "
                'use integrator = "verlet" (what "auto" takes), or network = "tets", "surface" or "voxels"'
            )
        return self


class Pair(Spec):
    """What happens between two bodies (or within one, a = b) where it differs from the rule."""

    a: str
    b: str
    contact: bool = True  # False: they pass through each other
    method: str | None = None  # None: the scene's
    friction: NotNegative | None = None  # None: geometric mean of the two bodies
    static_friction: NotNegative | None = None


class End(Spec):
    """One end of an attachment: a vertex of a body, a point of a body, or a point of the world."""

    body: str | None = None  # None: the world
    vertex: int | None = None
    at: Vector | None = None  # [m] world coordinates at the start; a soft body takes its nearest vertex

    @model_validator(mode="after")
    def _one(self) -> End:
        if (self.vertex is None) == (self.at is None):
            raise ValueError("give either `vertex` or `at`")
        if self.vertex is not None and self.body is None:
            raise ValueError("`vertex` needs a `body`")
        return self


class Attachment(Spec):
    """A spring, a string (pulls only when taut) or a weld between two points."""

    kind: Literal["spring", "string", "weld"] = "spring"
    a: End
    b: End
    stiffness: Positive = 1000.0  # [N/m] springs and strings
    damping: NotNegative = 0.0  # [N s/m] springs and taut strings
    length: NotNegative | None = None  # [m] at rest; None: the distance at the start


class Change(Spec):
    """Something that changes during the run: gravity, a friction coefficient, a material."""

    set: str  # "gravity", "ball.friction", "ball.material.youngs_modulus", "pair.ball.floor.friction"
    to: TableLike

    @field_validator("to", mode="before")
    @classmethod
    def _table(cls, value: Any) -> Table:
        return as_table(value)


class Scene(Spec):
    """A world to be: what is in it, what pulls at it, and for how long."""

    name: str = "scene"
    about: str = ""  # what there is to see
    gravity: Vector = (0.0, 0.0, -9.81)  # [m/s^2]
    dt: Positive = 0.005  # [s]
    duration: Positive = 1.0  # [s]
    contact: str | dict[str, Any] = "auto"  # a method, or {method = "ground", ...options}
    bodies: list[Body] = []
    pairs: list[Pair] = []
    attachments: list[Attachment] = []
    changes: list[Change] = []
    solver: Literal["cg", "direct"] = "cg"  # for implicit bodies

    def add(self, body: Body | None = None, /, **values: Any) -> Body:
        """Add a body, given whole or by its fields; a body without a name gets one from its shape."""
        if body is None:
            body = Body(**values)
        elif values:
            body = body.model_copy(update=values)
        if not body.name:
            kind = body.shape.get("kind", "body") if isinstance(body.shape, dict) else "body"
            taken = {b.name for b in self.bodies}
            names = [kind] + [f"{kind}{i}" for i in range(2, len(self.bodies) + 3)]
            body.name = next(n for n in names if n not in taken)
        if any(b.name == body.name for b in self.bodies):
            raise PliantError(f"There are two bodies named '{body.name}': results are asked for by name, so name one differently.")
        self.bodies.append(body)
        return body

    def attach(self, **values: Any) -> Attachment:
        """Add an attachment between two points."""
        self.attachments.append(Attachment(**values))
        return self.attachments[-1]

    def pair(self, a: str, b: str, **values: Any) -> Pair:
        """Say what is different between two bodies: method, friction, or no contact at all."""
        self.pairs.append(Pair(a=a, b=b, **values))
        return self.pairs[-1]

    def change(self, set: str, to: Any) -> Change:
        """Change gravity, friction or material during the run; `to` is a table over time."""
        self.changes.append(Change(set=set, to=to))
        return self.changes[-1]

    def simulate(self, **options: Any) -> Simulation:
        """Build the world and return a simulation that is ready to step; options override fields (dt, duration, contact)."""
        from pliant.simulate.simulation import Simulation

        known = ("dt", "duration", "contact", "gravity", "solver")
        for key in options:
            if key not in known:
                raise PliantError(f"simulate() has no option '{key}'; it takes {', '.join(known)}.")
        return Simulation(self.copy_with(**options))

    def copy_with(self, **values: Any) -> Scene:
        """A copy in which some fields differ, validated."""
        copy = self.model_copy(deep=False)
        for key, value in values.items():
            setattr(copy, key, value)
        return copy

    def sampled(self) -> Scene:
        """A copy in which callables have become tables, one value a step over the whole duration."""
        count = math.ceil(self.duration / self.dt - 1e-9) + 1

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
    def from_toml(cls, text: str, source: str = "the text") -> Scene:
        """Read a scene; errors name the place."""
        import tomlkit
        from tomlkit.exceptions import ParseError

        try:
            data = tomlkit.parse(text).unwrap()
        except ParseError as error:
            raise PliantError(f"{source} is not valid TOML: {error}.") from None
        try:
            return cls._named(cls(**data))
        except PliantError as error:
            raise PliantError(f"In {source}: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Scene:
        """Read a scene file."""
        path = Path(path)
        if not path.is_file():
            raise PliantError(f"There is no scene file {path} (looked from {Path.cwd()}).")
        scene = cls.from_toml(path.read_text(), str(path))
        for body in scene.bodies:
            for shape in (body.shape, body.skin, body.core):
                if isinstance(shape, dict) and "file" in shape:  # files are named relative to the scene
                    shape["file"] = str((path.parent / shape["file"]).resolve())
            response = body.material.response
            if isinstance(response, str) and response.endswith(".csv"):
                body.material.response = str((path.parent / response).resolve())
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

        return tomlkit.dumps(_plain(self, "scene"))


def _plain(value: Any, path: str) -> Any:
    """Data that TOML can hold; meshes given as arrays and callables cannot be written down."""
    if isinstance(value, Table):
        return value.plain(path)
    if isinstance(value, Spec):
        fields = type(value).model_fields
        kept = {k: v for k in fields if (v := getattr(value, k)) is not None and v != fields[k].get_default(call_default_factory=True)}
        return {k: _plain(v, f"{path}.{k}") for k, v in kept.items()}
    if isinstance(value, dict):
        return {k: _plain(v, f"{path}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, f"{path}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, str | int | float | bool):
        return value
    raise PliantError(
        f"{path} is a {type(value).__name__} made in Python, which a scene file cannot hold: "
        "save it as a mesh file and name it with shape = {file = ...}."
    )

