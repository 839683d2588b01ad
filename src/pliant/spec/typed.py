"""What type checkers and editors know of the fields of a scene: as one may write them, all models together.

Nothing here is loaded when pliant runs. Which of the fields a body has is said by its model, and checked when the body is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from pliant.bodies.fem.room import Region
    from pliant.bodies.quasi_rigid.room import ResponseTable
    from pliant.bodies.schema import Body, Load, Material, Motion, Where
    from pliant.geometry.files import PointCloud
    from pliant.geometry.mesh import Surface, TetMesh
    from pliant.geometry.shape import Shape
    from pliant.scene import Attachment, Change, End, Pair, Scene
    from pliant.studies.schema import Calibrate, Find, Measure, Parameter, Sensitivity

Number: TypeAlias = float | str  # in the unit of the field, or text with its own, such as "50kPa"
PerElement: TypeAlias = Number | Sequence[Number]
Vector: TypeAlias = Sequence[Number]
ShapeLike: TypeAlias = "str | Mapping[str, Any] | Shape | TetMesh | Surface | PointCloud"


class WhereFields(TypedDict, total=False):
    """Fields of Where."""

    ids: Sequence[int] | None
    side: Literal["-x", "+x", "-y", "+y", "-z", "+z"] | None
    x: tuple[Number, Number] | None
    y: tuple[Number, Number] | None
    z: tuple[Number, Number] | None


class MaterialFields(TypedDict, total=False):
    """Fields of Material, of all models."""

    density: PerElement
    mass_damping: Number
    youngs_modulus: PerElement
    poisson_ratio: float
    stiffness_damping: Number
    law: str
    spring_stiffness: PerElement
    spring_damping: Number
    vertex_mass: PerElement | None
    vertex_damping: Number
    adaptive_force: Number | None
    adaptive_cap: float
    thickness: Number
    response: str | ResponseTable | Mapping[str, Any]
    layer: Number | None
    strain: Literal["green", "mkn04"]
    hourglass: float
    crush: float
    volume_stiffness: Number
    yield_strain: float | None
    flow: Literal["shape", "full"]
    creep_time: Number
    max_plastic_strain: float | None
    tear_strain: float | None
    softening: tuple[Number, Number] | None
    soft_modulus: Number
    temperature: Number


class BodyFields(TypedDict, total=False):
    """Fields of Body, of all models."""

    name: str
    shape: ShapeLike
    model: str
    material: Material | MaterialFields | Mapping[str, Any]
    position: Vector
    on: str | None
    rotation: Vector
    velocity: Vector
    angular_velocity: Vector
    friction: float
    static_friction: float | None
    restitution: float
    motions: Sequence[Motion | Mapping[str, Any]]
    loads: Sequence[Load | Mapping[str, Any]]
    integrator: Literal["auto", "symplectic", "verlet", "implicit", "cooper-verner", "dop853"]
    tolerance: float
    unsafe: bool
    fixed: Sequence[Where | WhereFields | Mapping[str, Any]]
    element: Literal["linear", "quadratic"]
    skin: ShapeLike | None
    regions: Sequence[Region | Mapping[str, Any]]
    network: Literal["tets", "surface", "all-pairs", "voxels"]
    spacing: Number | None
    phyxels: Literal["cubic", "bcc", "nodes", "centres"]
    support: float
    volumes: Literal["share", "sph"]
    tangent: Literal["bonds", "exact"]
    core: ShapeLike | None


class PairFields(TypedDict, total=False):
    """Fields of Pair besides its bodies."""

    contact: bool
    method: str | None
    friction: float | None
    static_friction: float | None
    restitution: float | None


class EndFields(TypedDict, total=False):
    """Fields of End."""

    body: str | None
    vertex: int | None
    at: Vector | None


class AttachmentFields(TypedDict, total=False):
    """Fields of Attachment."""

    kind: Literal["spring", "string", "weld"]
    a: End | EndFields | Mapping[str, Any]
    b: End | EndFields | Mapping[str, Any]
    stiffness: Number
    damping: Number
    length: Number | None


class SettingFields(TypedDict, total=False):
    """What `simulate` may override."""

    dt: Number
    duration: Number
    contact: str | Mapping[str, Any]
    gravity: Vector
    solver: Literal["cg", "direct"]
    sleep: bool


class SceneFields(SettingFields, total=False):
    """Fields of Scene."""

    name: str
    about: str
    bodies: Sequence[Body | BodyFields | Mapping[str, Any]]
    pairs: Sequence[Pair | Mapping[str, Any]]
    attachments: Sequence[Attachment | AttachmentFields | Mapping[str, Any]]
    changes: Sequence[Change | Mapping[str, Any]]


class StudyFields(TypedDict, total=False):
    """Fields of Study."""

    name: str
    about: str
    scene: str | Scene | Callable[..., Scene]
    call: str | Callable[..., Any]
    set: Mapping[str, Any]
    parameters: Mapping[str, Parameter | Sequence[Any] | Mapping[str, Any]]
    design: Literal["grid", "together", "latin-hypercube", "sobol", "table"]
    samples: int | None
    table: str | None
    repeats: int
    seed: int
    measures: Mapping[str, Measure | str | Mapping[str, Any] | Callable[[Any], Any]]
    keep: str | Sequence[str]
    every: Number | None
    find: Find | Mapping[str, Any] | None
    calibrate: Calibrate | Mapping[str, Any] | None
    sensitivity: Sensitivity | Mapping[str, Any] | None
