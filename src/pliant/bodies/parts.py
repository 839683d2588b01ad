"""One body of a scene as arrays of its own, and how the arrays of all bodies are joined: what the rooms have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.elements import Elements
from pliant.bodies.room import find_room
from pliant.bodies.schema import Body
from pliant.detect.surfels.make import wrapped_cloud
from pliant.geometry.embed import Embedding, embed
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.quaternions import quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve
from pliant.waiting import doing

Make = Callable[[Ints, Ints, Floats, dict[str, Floats]], Elements]


@dataclass
class FramePart:
    """A rigid frame: centre of mass and principal axes."""

    position: Floats
    rotation: Floats  # quaternion
    velocity: Floats
    spin: Floats  # angular momentum
    mass: float
    moments: Floats  # (3,)
    fixed: bool
    damping: float

    def local(self, place: Floats) -> Floats:
        """A world place in the frame."""
        return (place - self.position) @ quaternion_to_matrix(self.rotation)


@dataclass
class ElementPart:
    """Elements of one body, still in the body's own node numbers.

    Parts of the same kind and law are joined; the first makes elements of world nodes (E, c), the first element of each body and one
    more (B + 1,), places of all nodes at rest, and values per element.
    """

    kind: str
    law: str
    nodes: Ints  # (E, c)
    values: dict[str, Floats]  # per element
    make: Make


@dataclass
class BodyParts:
    """The arrays of one body, in world coordinates at the start and in numbers of its own."""

    points: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # skin points
    surface_points: int = 0  # how many of them are on the surface; they come first
    faces: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    tets: Ints = field(default_factory=lambda: np.zeros((0, 4), np.int64))  # on skin points
    bind_start: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    bind_node: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    bind_weight: Floats = field(default_factory=lambda: np.zeros(0))
    local: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # places in the frame
    nodes: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    node_mass: Floats = field(default_factory=lambda: np.zeros(0))  # that does not come from elements
    velocity: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # of nodes
    elements: list[ElementPart] = field(default_factory=list)
    frame: FramePart | None = None
    analytic: tuple[str, tuple[float, ...]] | None = None
    normals: Floats | None = None  # (p, 3) of skin points without faces, in the frame or at rest
    areas: Floats | None = None  # [m^2] (p,) that they stand for
    gives: Floats = field(default_factory=lambda: np.zeros(4))  # see model.Bodies
    table: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # see model.Bodies
    modulus: float = np.inf  # [Pa] Young's, about: who keeps its shape in contact
    flows: bool = False  # its matter flows
    tears: bool = False  # its matter tears
    drag: tuple[float, float, float] = (0.0, 0.0, 1.0)  # on each vertex: c [N s/m], reference force [N] (0: none), largest factor
    notes: list[str] = field(default_factory=list)  # what its user should know


def body_parts(body: Body, needs: frozenset[str] = frozenset()) -> BodyParts:
    """Arrays of a body, with what the contact methods of the scene need of its shape; errors name it."""
    try:
        with doing(f"making '{body.name}'"):
            return _made(body, needs)
    except PliantError as error:
        raise PliantError(f"Body '{body.name}': {error}") from None


def _made(body: Body, needs: frozenset[str]) -> BodyParts:
    shape = shape_of(body, needs)
    if shape.name == "plane" and find_room(body.model).soft:
        raise PliantError(f"a plane has no inside and no end, so it cannot be {body.model}: use another shape, or model = \"static\".")
    parts = find_room(body.model).built.parts(body, shape, "tets" in needs)
    parts.notes = [*(f"{body.name}: {note}{'' if note.endswith('.') else '.'}" for note in shape.notes), *parts.notes]
    if "tets" in needs and len(parts.tets) == 0 and parts.analytic is None:
        raise PliantError(f"the contact method needs tetrahedra inside, and this body has none: {_remedy(body, shape, needs)}.")
    _check(body, parts)
    return parts


def _remedy(body: Body, shape: Shape, needs: frozenset[str]) -> str:
    """What a user can do for tetrahedra inside a body."""
    if "network" in type(body).model_fields:
        return "use a solid shape (network = \"tets\")"
    if shape.tets is None and body.filled(needs):
        return "use a solid shape"
    return f"the model {body.model} makes no tetrahedra, choose another contact method"


def _check(body: Body, parts: BodyParts) -> None:
    """Refuse arrays of a model that do not fit each other: one that was forgotten would end in another place."""
    nodes, points = len(parts.nodes), len(parts.points)
    for name, wanted, what in (
        ("node_mass", (nodes,), "zero where elements bring the mass"),
        ("velocity", (nodes, 3), "see start_velocity"),
        ("bind_start", (points + 1,), "see node_skin"),
        ("local", (points, 3), "see node_skin"),
    ):
        found = np.shape(getattr(parts, name))
        if found != wanted:
            of = f"{nodes} nodes" if wanted[0] == nodes else f"{points} skin points"
            raise PliantError(f"its model {body.model} gives `{name}` the shape {found}; of {of} it must be {wanted}, {what}.")


def shape_of(body: Body, needs: frozenset[str]) -> Shape:
    """The shape of a body, with an inside if its model lives on one or contact needs it."""
    return resolve(body.shape, solid=body.filled(needs), cells=find_room(body.model).cells, wrap=wrapped_cloud)


def element_groups(parts: list[BodyParts], node_start: Ints, staged: list[str]) -> tuple[list[Elements], list[Ints]]:
    """Groups in the order in which their kind first appears, and the body of each of their elements.

    Bodies with a Runge-Kutta scheme, which asks for forces many times a step, are `staged` and do not share groups with others.
    """
    found: dict[tuple[str, str, str], list[tuple[int, ElementPart]]] = {}
    for body, part in enumerate(parts):
        for element in part.elements:
            found.setdefault((element.kind, element.law, staged[body]), []).append((body, element))
    rest = np.concatenate([p.nodes for p in parts] or [np.zeros((0, 3))])
    groups: list[Elements] = []
    owners: list[Ints] = []
    for members in found.values():
        nodes = np.concatenate([e.nodes + node_start[b] for b, e in members]).astype(np.int64)
        values = {k: np.concatenate([e.values[k] for _, e in members]) for k in members[0][1].values}
        start = np.concatenate([[0], np.cumsum([len(e.nodes) for _, e in members])]).astype(np.int64)
        groups.append(members[0][1].make(nodes, start, rest, values))
        count = [len(e.nodes) for _, e in members] if len(members) > 1 else [len(groups[-1].nodes)]  # one of your own may join elements
        owners.append(np.repeat([b for b, _ in members], count).astype(np.int64))
    return groups, owners


def placing(body: Body) -> tuple[Floats, Floats]:
    """Rotation matrix and shift of a body."""
    turn = np.array(body.rotation)
    if len(turn) == 3:
        quaternion = rotation_vector_to_quaternion(np.radians(turn))
    else:
        length = float(np.linalg.norm(turn))
        if length == 0:
            raise PliantError("the rotation quaternion is zero; no rotation is (1, 0, 0, 0).")
        quaternion = turn / length
    return quaternion_to_matrix(quaternion), np.array(body.position)


def start_velocity(body: Body, points: Floats, weights: Floats) -> Floats:
    """Of points [m/s]; the body turns about its centre of mass, that of the points with these weights: masses or volumes."""
    total = weights.sum()
    if not total > 0.0:
        raise PliantError("start_velocity: the weights sum to zero, so there is no centre; where elements bring the mass, give volumes.")
    centre = weights @ points / total
    return np.array(body.velocity) + np.cross(np.array(body.angular_velocity), points - centre)


def node_skin(nodes: Floats, faces: Ints, tets: Ints) -> BodyParts:
    """Skin points are the nodes themselves, those of the surface first."""
    surface = np.unique(faces)
    order = np.concatenate([surface, np.setdiff1d(np.arange(len(nodes)), surface)])
    place = np.empty(len(nodes), np.int64)
    place[order] = np.arange(len(nodes))
    return BodyParts(
        points=nodes[order],
        surface_points=len(surface),
        faces=place[faces],
        tets=place[tets],
        bind_start=np.arange(len(nodes) + 1),
        bind_node=order,
        bind_weight=np.ones(len(nodes)),
        local=np.zeros((len(nodes), 3)),
        nodes=nodes,
    )


def embedded_skin(parts: BodyParts, surface: Surface, mesh: TetMesh, ride: Embedding | None = None) -> None:
    """The surface of the body becomes a finer one that rides in the tets; its nodes follow as interior points."""
    ride = embed(surface.points, mesh) if ride is None else ride
    count = len(surface.points)
    nodes = np.arange(len(mesh.points))
    parts.points = np.concatenate([surface.points, mesh.points])
    parts.surface_points = count
    parts.faces = surface.faces
    parts.tets = mesh.tets + count
    parts.bind_start = np.concatenate([4 * np.arange(count), 4 * count + np.arange(len(nodes) + 1)])
    parts.bind_node = np.concatenate([mesh.tets[ride.tet].ravel(), nodes])
    parts.bind_weight = np.concatenate([ride.weights.ravel(), np.ones(len(nodes))])
    parts.local = np.zeros((len(parts.points), 3))


def per_element(value: Any, count: int, name: str, what: str = "element") -> Floats:
    """One number for all, or a list with one for each."""
    if isinstance(value, list):
        if len(value) != count:
            plural = "vertices" if what == "vertex" else f"{what}s"
            raise PliantError(f"{name} has {len(value)} values for {count} {plural}: give one number or one per {what}.")
        return np.array(value, np.float64)
    return np.full(count, float(value))
