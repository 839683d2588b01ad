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
    from pliant.scene import Attachment, Change, End, Pair
    from pliant.spec.table import Table

PerElement: TypeAlias = float | Sequence[float]
Vector: TypeAlias = Sequence[float]
OverTime: TypeAlias = "float | Sequence[float] | Mapping[str, Any] | Table | Callable[[float], Any]"
ShapeLike: TypeAlias = "str | Mapping[str, Any] | Shape | TetMesh | Surface | PointCloud"


class WhereFields(TypedDict, total=False):
    """Fields of Where."""

    ids: Sequence[int] | None
    side: Literal["-x", "+x", "-y", "+y", "-z", "+z"] | None
    x: tuple[float, float] | None
    y: tuple[float, float] | None
    z: tuple[float, float] | None


class MaterialFields(TypedDict, total=False):
    """Fields of Material, of all models."""

    density: PerElement
    mass_damping: float
    youngs_modulus: PerElement
    poisson_ratio: float
    stiffness_damping: float
    law: str
    spring_stiffness: PerElement
    spring_damping: float
    vertex_mass: PerElement | None
    vertex_damping: float
    adaptive_force: float | None
    adaptive_cap: float
    thickness: float
    response: str | ResponseTable | Mapping[str, Any]
    layer: float | None
    strain: Literal["green", "mkn04"]
    hourglass: float
    crush: float
    volume_stiffness: float
    yield_strain: float | None
    flow: Literal["shape", "full"]
    creep_time: float
    max_plastic_strain: float | None
    tear_strain: float | None
    softening: tuple[float, float] | None
    soft_modulus: float
    temperature: float


class BodyFields(TypedDict, total=False):
    """Fields of Body, of all models."""

    name: str
    shape: ShapeLike
    model: str
    material: Material | MaterialFields | Mapping[str, Any]
    position: Vector
    rotation: Vector
    velocity: Vector
    angular_velocity: Vector
    friction: float
    static_friction: float | None
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
    spacing: float | None
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
    stiffness: float
    damping: float
    length: float | None


class SettingFields(TypedDict, total=False):
    """What `simulate` may override."""

    dt: float
    duration: float
    contact: str | Mapping[str, Any]
    gravity: Vector
    solver: Literal["cg", "direct"]


class SceneFields(SettingFields, total=False):
    """Fields of Scene."""

    name: str
    about: str
    bodies: Sequence[Body | BodyFields | Mapping[str, Any]]
    pairs: Sequence[Pair | Mapping[str, Any]]
    attachments: Sequence[Attachment | AttachmentFields | Mapping[str, Any]]
    changes: Sequence[Change | Mapping[str, Any]]
