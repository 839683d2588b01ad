"""One body of a scene as arrays of its own, before all bodies are joined into a world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.elements import Elements
from pliant.bodies.materials import lame
from pliant.bodies.models import OWN
from pliant.bodies.networks import network, per_element
from pliant.bodies.phyxels import kernel_volumes, phyxels, point_values
from pliant.bodies.point_skin import ride
from pliant.geometry.embed import embed
from pliant.geometry.mass import Mass, mass_of_surface, principal
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.quaternions import matrix_to_quaternion, quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve
from pliant.geometry.topology import elevate, split_eight, subdivided_skin
from pliant.scene import Body


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
    """Elements of one body, still in the body's own node numbers."""

    kind: str  # tet4, tet10, springs, all-pairs or points
    law: str
    nodes: Ints  # (E, c)
    values: dict[str, Floats]  # per element
    make: Callable[[Ints, Floats], Elements] | None = None  # of a model from outside: world nodes and their places -> elements


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
    notes: list[str] = field(default_factory=list)  # what its user should know


def body_parts(body: Body, needs: frozenset[str] = frozenset()) -> BodyParts:
    """Arrays of a body, with what the contact methods of the scene need of its shape; errors name it."""
    try:
        shape = resolve(body.shape, solid=is_filled(body, needs))
        if body.model == "quasi-rigid":
            from pliant.bodies.quasi_rigid import quasi_rigid_parts

            parts = quasi_rigid_parts(body, shape)
        elif body.model in ("rigid", "static"):
            parts = _framed(body, shape, "tets" in needs)
        else:
            parts = SOFT.get(body.model, _own)(body, shape, "tets" in needs)
        if "tets" in needs and len(parts.tets) == 0 and parts.analytic is None:
            raise PliantError("the contact method needs tetrahedra inside, and this body has none: use a solid shape (network = \"tets\").")
        return parts
    except PliantError as error:
        raise PliantError(f"Body '{body.name}': {error}") from None


def is_filled(body: Body, needs: frozenset[str]) -> bool:
    """Whether a body has tetrahedra inside: its model lives on them, or a contact method needs them."""
    plane = isinstance(body.shape, dict) and body.shape.get("kind") == "plane"  # known exactly, and nothing to fill
    fillable = (body.model in ("rigid", "static") and not plane) or (body.model == "springs" and body.network == "all-pairs")
    fillable |= body.model == "points"
    return body.needs_tets or (fillable and "tets" in needs)


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


# -- soft bodies


def _fem(body: Body, shape: Shape, inside: bool) -> BodyParts:
    assert shape.tets is not None
    rotation, shift = placing(body)
    mesh = shape.tets.moved(shift, rotation)
    material, count = body.material, len(mesh.tets)
    lam, mu = lame(per_element(material.youngs_modulus, count, "youngs_modulus"), material.poisson_ratio)
    values = {
        "lam": np.broadcast_to(lam, count).astype(np.float64),
        "mu": np.broadcast_to(mu, count).astype(np.float64),
        "density": per_element(material.density, count, "density"),
        "rayleigh": np.full(count, material.stiffness_damping),
    }
    if body.element == "quadratic":
        parts = _quadratic_skin(mesh)
        _, elements = elevate(mesh)
        parts.elements = [ElementPart("tet10", material.law, elements, values)]
    else:
        parts = _node_skin(mesh.points, mesh.boundary, mesh.tets)
        parts.elements = [ElementPart("tet4", material.law, mesh.tets, values)]
    if body.skin is not None:
        if body.element == "quadratic":
            raise PliantError("an embedded `skin` rides in 4-node elements; use element = \"linear\".")
        surface = resolve(body.skin, solid=False).surface().moved(shift, rotation)
        _embedded_skin(parts, surface, mesh)
    parts.node_mass = np.zeros(len(parts.nodes))
    weights = np.zeros(len(parts.nodes))
    np.add.at(weights, parts.elements[0].nodes, (values["density"] * mesh.volumes)[:, None])
    parts.velocity = _start_velocity(body, parts.nodes, weights)
    return parts


def _own(body: Body, shape: Shape, inside: bool) -> BodyParts:
    """A model from outside: the nodes of the tetrahedra, and what its function makes of them."""
    assert shape.tets is not None
    rotation, shift = placing(body)
    mesh = shape.tets.moved(shift, rotation)
    parts = _node_skin(mesh.points, mesh.boundary, mesh.tets)
    make = OWN[body.model]
    parts.elements = [ElementPart(body.model, body.name, mesh.tets, {}, lambda tets, rest: make(tets, rest, body.material))]
    parts.node_mass, weights = np.zeros(len(mesh.points)), np.zeros(len(mesh.points))
    np.add.at(weights, mesh.tets, mesh.volumes[:, None])
    parts.velocity = _start_velocity(body, parts.nodes, weights)
    return parts


def _springs(body: Body, shape: Shape, inside: bool) -> BodyParts:
    rotation, shift = placing(body)
    material = body.material
    net = network(body, shape, None if body.skin is None else resolve(body.skin, solid=False).surface(), inside)
    parts = _node_skin(net.points @ rotation.T + shift, net.faces, net.tets)
    if net.skin is not None:
        _embedded_skin(parts, net.skin.moved(shift, rotation), TetMesh(parts.nodes, net.tets))
    kind, ends = ("springs", net.pairs) if net.pairs is not None else ("all-pairs", np.arange(len(net.points))[:, None])
    count, what = len(ends), "spring" if kind == "springs" else "vertex"
    values = {
        "stiffness": per_element(material.spring_stiffness, count, "spring_stiffness", what),
        "damping": np.full(count, material.spring_damping),
        "rayleigh": np.full(count, material.stiffness_damping),
    }
    parts.elements = [ElementPart(kind, "springs", ends, values)]
    parts.node_mass = net.mass
    parts.velocity = _start_velocity(body, parts.nodes, parts.node_mass)
    return parts


def _points(body: Body, shape: Shape, inside: bool) -> BodyParts:
    """Phyxels, and the surface (with tets inside if contact needs them) riding on them; phyxels follow as interior points."""
    rotation, shift = placing(body)
    places, volume = phyxels(body, shape)
    skin = None if body.skin is None else resolve(body.skin, solid=False).surface()
    tets = np.zeros((0, 4), np.int64)
    if skin is None and inside and shape.tets is not None:
        parts = _node_skin(shape.tets.points, shape.tets.boundary, shape.tets.tets)
        points, surface, faces, tets = parts.points, parts.surface_points, parts.faces, parts.tets
    else:
        skin = shape.surface() if skin is None else skin
        points, surface, faces = skin.points, len(skin.points), skin.faces
    riding, count = ride(points, places), np.arange(len(places))
    values = point_values(body.material, len(places))
    if body.volumes == "sph":
        volume, crowding = kernel_volumes(places, body.support)
        values["density"] = values["density"] * crowding
    same = {"support": body.support, "exact": float(body.tangent == "exact")}  # all over the body
    values |= {"volume": volume} | {name: np.full(len(places), value) for name, value in same.items()}
    nodes = places @ rotation.T + shift
    return BodyParts(
        points=np.concatenate([points @ rotation.T + shift, nodes]),
        surface_points=surface,
        faces=faces,
        tets=tets,
        bind_start=np.concatenate([riding.start, riding.start[-1] + 1 + count]),
        bind_node=np.concatenate([riding.node, count]),
        bind_weight=np.concatenate([riding.weight, np.ones(len(places))]),
        local=np.zeros((len(points) + len(places), 3)),
        nodes=nodes,
        node_mass=np.zeros(len(places)),
        velocity=_start_velocity(body, nodes, values["density"] * volume),
        elements=[ElementPart("points", "points", count[:, None], values)],
    )


def _start_velocity(body: Body, points: Floats, weights: Floats) -> Floats:
    centre = weights @ points / weights.sum()
    return np.array(body.velocity) + np.cross(np.array(body.angular_velocity), points - centre)


def _node_skin(nodes: Floats, faces: Ints, tets: Ints) -> BodyParts:
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


def _embedded_skin(parts: BodyParts, surface: Surface, mesh: TetMesh) -> None:
    """The surface of the body becomes a finer one that rides in the tets; its nodes follow as interior points."""
    ride = embed(surface.points, mesh)
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


def _quadratic_skin(mesh: TetMesh) -> BodyParts:
    """Corners and edge middles of 10-node elements, with curved faces split in four and tets in eight."""
    nodes, elements = elevate(mesh)
    skin = subdivided_skin(elements, len(nodes))
    points = np.zeros((len(skin.offsets) - 1, 3))
    owner = np.repeat(np.arange(len(points)), np.diff(skin.offsets))
    np.add.at(points, owner, skin.weights[:, None] * nodes[skin.nodes])
    return BodyParts(
        points=points,
        surface_points=skin.n_surface,
        faces=skin.faces,
        tets=skin.point_of_node[split_eight(elements, nodes)],
        bind_start=skin.offsets,
        bind_node=skin.nodes,
        bind_weight=skin.weights,
        local=np.zeros((len(points), 3)),
        nodes=nodes,
    )


SOFT: dict[str, Callable[[Body, Shape, bool], BodyParts]] = {"fem": _fem, "springs": _springs, "points": _points}


# -- rigid and static bodies


def _framed(body: Body, shape: Shape, inside: bool) -> BodyParts:
    """A rigid or static body: its surface, and tetrahedra inside if they are asked for."""
    rotation, shift = placing(body)
    if shape.cloud is not None:
        from pliant.bodies.quasi_rigid import cloud_parts

        return cloud_parts(body, shape)
    if shape.name == "plane":
        if body.model != "static":
            raise PliantError("a plane has no end and no mass: use model = \"static\".")
        return BodyParts(frame=fixed_frame(rotation, shift), analytic=shape.analytic)
    if body.model == "static":
        frame = fixed_frame(rotation, shift)
    else:
        frame = moving_frame(body, mass_of_surface(shape.surface()), shape.analytic is not None, rotation, shift)
    if inside:
        assert shape.tets is not None
        parts = _node_skin(shape.tets.points @ rotation.T + shift, shape.tets.boundary, shape.tets.tets)
    else:
        surface = shape.surface().moved(shift, rotation)
        parts = BodyParts(points=surface.points, surface_points=len(surface.points), faces=surface.faces)
    parts.nodes, parts.bind_node, parts.bind_weight = np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0)
    parts.bind_start = np.zeros(len(parts.points) + 1, np.int64)
    parts.local, parts.frame, parts.analytic = frame.local(parts.points), frame, shape.analytic
    return parts


def fixed_frame(rotation: Floats, shift: Floats) -> FramePart:
    zero = np.zeros(3)
    return FramePart(shift, matrix_to_quaternion(rotation), zero, zero, 1.0, np.ones(3), True, 0.0)


def moving_frame(body: Body, whole: Mass, exact: bool, rotation: Floats, shift: Floats) -> FramePart:
    """Frame at the centre of mass along the principal axes; shapes known exactly keep their own axes."""
    density = body.material.density
    if isinstance(density, list):
        raise PliantError("a rigid body has one density; give one number.")
    moments, axes = principal(whole.inertia)
    centre = whole.centre
    if exact:  # symmetric about their axes, and the signed distance is written in them
        moments, axes, centre = np.diag(whole.inertia).copy(), np.eye(3), np.zeros(3)
    turned = rotation @ axes
    omega = np.array(body.angular_velocity)
    moments = density * moments
    return FramePart(
        position=rotation @ centre + shift,
        rotation=matrix_to_quaternion(turned),
        velocity=np.array(body.velocity),
        spin=turned @ (moments * (turned.T @ omega)),
        mass=density * whole.volume,
        moments=moments,
        fixed=bool(body.motions),
        damping=body.material.mass_damping,
    )

