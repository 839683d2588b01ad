"""What a scene says about any body; the fields of a model are in its room.

`Body(model="points", ...)` and `Material(...)` make what the room of the model has: fields of another model are refused by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from pliant.bodies.room import ROOMS, find_room
from pliant.spec.fields import Finite, NotNegative, PerElement, Positive, Spec, TableLike, Vector
from pliant.spec.table import Table
from pliant.spec.units import converted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pliant.spec.typed import BodyFields, MaterialFields

SHAPE = {
    "description": 'the name of a shape, a table {kind = "ball", radius = 0.1, ...} or {file = "foot.obj", ...}',
    "anyOf": [{"type": "string"}, {"type": "object"}],
}

WORDS = ("kind", "file", "unit", "up", "name")  # of a shape: text that is no number with a unit, though "3in" may name a file
ANGLES = ("angle", "opening", "rotation")  # of a shape, in degrees; all else that has a unit is a length


def _shape(value: Any) -> Any:
    # readers of meshes: start-up time
    from pliant.geometry.files import PointCloud
    from pliant.geometry.mesh import Surface, TetMesh
    from pliant.geometry.shape import Shape

    if isinstance(value, Shape | TetMesh | Surface | PointCloud):
        return value
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, dict) and sum(key in value for key in ("kind", "file", "mesh")) == 1:
        for key in {"kind", "file"} & value.keys():
            if not isinstance(value[key], str | PathLike):
                raise ValueError(f"{key} of a shape is a name, not {str(value[key])[:60]}")
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}  # as a file would hold it
        return {k: v if k in WORDS else _sized(k, v) for k, v in plain.items()}
    raise ValueError('a shape is a name, a table with `kind` or `file` (or `mesh`, in Python), or a Shape, TetMesh, Surface or PointCloud')


def _sized(name: str, value: Any) -> Any:
    try:
        return converted(value, "degree" if name in ANGLES else "m")
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


ShapeLike = Annotated[Any, BeforeValidator(_shape), WithJsonSchema(SHAPE)]
Quantity = str | tuple[str, PerElement, str]  # words of a report: as they are, or what it is, how much, and its unit


class Where(Spec):
    """Which vertices: those with all given conditions true, in world coordinates at the start."""

    ids: list[int] | None = None
    """vertex numbers of the body"""
    side: Literal["-x", "+x", "-y", "+y", "-z", "+z"] | None = None
    """the extreme vertices in that direction"""
    x: tuple[float, float] | None = None
    """[m] lower and upper bound"""
    y: tuple[float, float] | None = None
    """[m] lower and upper bound"""
    z: tuple[float, float] | None = None
    """[m] lower and upper bound"""


class Load(Spec):
    """A force on a body: on all of it, or on the vertices or faces chosen by `where`."""

    kind: Literal["force", "torque", "traction", "pressure"] = "force"
    """force [N] in all; torque [N m] about the centre of mass; traction [Pa], a dead load; pressure [Pa], follows the face"""
    value: TableLike
    """how much, over time: three numbers, one for a pressure"""
    where: Where | None = None
    """which vertices; None: the whole body"""
    at: Vector | None = None
    """[m] rigid bodies: the point of attack, which rides with the body"""

    @classmethod
    def unit(cls, name: str, given: Mapping[str, Any]) -> str | None:
        units = {"force": "N", "torque": "N m", "traction": "Pa", "pressure": "Pa"}
        return units.get(given.get("kind", "force")) if name == "value" else super().unit(name, given)

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

    where: Where | None = None
    """which vertices; None: the whole body"""
    shift: TableLike = Field(default_factory=_nothing)
    """[m] over time"""
    turn: TableLike = Field(default_factory=_nothing)
    """[degree] rotation vector over time: direction is the axis, length the angle"""
    about: Vector | None = None
    """[m] point of the turn; None: centre of the chosen vertices or of the body"""

    @field_validator("shift", "turn")
    @classmethod
    def _three(cls, table: Table) -> Table:
        if table.width != 3:
            raise ValueError("needs three numbers at each time")
        return table


def _belongs(key: str, model: str, fields: dict[str, Any]) -> str | None:
    """Whose field it is, for one that this model has not; `fields` of each model by its name."""
    found = [f'{ROOMS[name].bodies} (model = "{name}")' for name, known in fields.items() if key in known and ROOMS[name].shipped]
    if not found:
        return None
    return f"{key} is for {', '.join(found[:-1]) + ' and ' if found[1:] else ''}{found[-1]}; this one is {model}."


class Material(Spec):
    """What a body is made of; which fields there are is said by the model of the body.

    Stiffness and density may be given per element, as lists as long as the elements.
    """

    kind: ClassVar[str] = ""  # whose material it is

    if TYPE_CHECKING:  # fields of the models

        def __init__(self, **values: Unpack[MaterialFields]) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def __new__(cls, **values: Any) -> Material:
        """Without a body to say the model: the material of the first that has most of the fields."""
        if cls is Material:
            cls = max((room.material for room in ROOMS.values()), key=lambda each: len(values.keys() & each.model_fields.keys()))
        return object.__new__(cls)

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        return _belongs(key, cls.kind, {name: room.material.model_fields for name, room in ROOMS.items()})


class Weighed(Material):
    """What has a mass."""

    density: PerElement = 1000.0
    """[kg/m^3]"""
    mass_damping: NotNegative = 0.0
    """[1/s] a of Rayleigh's C = a M + b K; also slows rigid bodies"""


class Elastic(Weighed):
    """What gives way as a solid does."""

    youngs_modulus: PerElement = 1e5
    """[Pa]"""
    poisson_ratio: Annotated[float, Field(gt=-1, lt=0.5)] = 0.3
    """how much it narrows when it is pulled, in parts of the elongation"""
    stiffness_damping: NotNegative = 0.0
    """[s] b of Rayleigh's C = a M + b K"""

    def words(self, first: str) -> tuple[Quantity, ...]:
        """What a report says of it."""
        return first, ("E = ", self.youngs_modulus, "Pa"), f"ν = {self.poisson_ratio:g}", ("", self.density, "kg/m³")


class Body(Spec):
    """One body: a shape, a model of how it gives way, a material and where it starts. Each model has fields of its own besides."""

    kind: ClassVar[str] = ""  # the model

    name: str = ""
    """unique; empty: the name of its shape"""
    shape: ShapeLike
    """a shape by name, with parameters, or from a file"""
    model: str = "fem"
    """how it gives way: fem, springs, points, rigid, quasi-rigid, static, or a model of your own"""
    material: Material = Field(default_factory=Material)
    """what it is made of"""
    position: Vector = (0.0, 0.0, 0.0)
    """[m] where the shape's origin goes"""
    on: str | None = None
    """name of a body that it is set down on, from above; `position` then counts from where it just touches, middle over middle"""
    rotation: Vector | tuple[Finite, Finite, Finite, Finite] = (0.0, 0.0, 0.0)
    """[degree] rotation vector, or quaternion w x y z"""
    velocity: Vector = (0.0, 0.0, 0.0)
    """[m/s]"""
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    """[rad/s] about the centre of mass"""
    friction: NotNegative = 0.3
    """coefficient while sliding; a pair takes the geometric mean of both bodies"""
    static_friction: NotNegative | None = None
    """coefficient while sticking; None: the same"""
    motions: list[Motion] = []
    """prescribed motion"""
    loads: list[Load] = []
    """forces"""

    if TYPE_CHECKING:  # fields of the models

        def __init__(self, **values: Unpack[BodyFields]) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def __new__(cls, **values: Any) -> Body:
        """A body of the class that the room of its model has."""
        return object.__new__(find_room(values.get("model", "fem")).body if cls is Body else cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "model" or value == self.model:
            return super().__setattr__(name, value)
        other = Body(**{**self.stated(), "model": value})
        object.__setattr__(self, "__class__", type(other))
        for attribute in ("__dict__", "__pydantic_fields_set__"):
            object.__setattr__(self, attribute, getattr(other, attribute))

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        return _belongs(key, cls.kind, {name: room.body.model_fields for name, room in ROOMS.items()})

    @field_validator("material", mode="before")
    @classmethod
    def _own_material(cls, value: Any) -> Any:
        """One that was made without knowing the model, in the fields of this one."""
        own = cls.model_fields["material"].annotation
        return value.stated() if isinstance(value, Material) and type(value) is not own else value

    @model_validator(mode="after")
    def _sense(self) -> Body:
        static = self.static_friction
        if static is not None and static < self.friction:
            raise ValueError(f"static_friction {static} is below friction {self.friction}: a body at rest holds at least as well")
        return self

    def filled(self, needs: frozenset[str]) -> bool:
        """Whether it has tetrahedra inside: its model lives on them, or a contact method needs them."""
        plane = isinstance(self.shape, dict) and self.shape.get("kind") == "plane"  # known exactly, and nothing to fill
        return "tets" in needs and not plane

    def made_of(self) -> tuple[Quantity, ...]:
        """What a report says of its material."""
        return ()

    def jobs(self) -> list[str]:
        """Which kernels it calls: jobs of its room, and "solver" and "stages"."""
        return list(find_room(self.model).jobs)


class SoftBody(Body):
    """A body whose nodes move each by itself."""

    integrator: Literal["auto", "symplectic", "verlet", "implicit", "cooper-verner", "dop853"] = "auto"
    """scheme that carries it over a step; auto: explicit where the step is short enough"""
    tolerance: Positive = 1e-6
    """dop853: error of a step, in parts of the body's size"""
    unsafe: bool = False
    """keep steps that are too long for an explicit body, to see how they fail"""
    fixed: list[Where] = []
    """vertices that never move"""

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        found = super().elsewhere(key)
        return f"{found} Give it a finer `skin` instead." if found and key == "core" and "skin" in cls.model_fields else found

    def scheme(self, dt: float, limit: float) -> tuple[str, str]:
        """What "auto" stands for, and why; `limit`: longest stable explicit step [s]."""
        if dt <= limit:
            return "symplectic", f"dt = {dt:g} s is within its explicit limit of {limit:.3g} s"
        return "implicit", f"dt = {dt:g} s is above its explicit limit of {limit:.3g} s"

    def limited_by(self) -> str:
        """What a note on its longest step adds."""
        return ""

    def takes_implicit(self) -> bool:
        """Whether `implicit` is a way out of short steps."""
        return True

    def jobs(self) -> list[str]:
        return super().jobs() + (["stages"] if self.integrator in ("cooper-verner", "dop853") else [])
