"""Changes to a simulation that goes on: another dt, another method, one body more. The next simulation takes over the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.bodies.fem.room import FemBody
from pliant.bodies.parts import body_parts
from pliant.bodies.register import room_of
from pliant.geometry.quaternions import matrix_to_quaternion, quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.live.hand import with_hand
from pliant.scene import Body, Scene
from pliant.simulate.build import read_meshes
from pliant.simulate.guards import OVERLAP, check_start, overlaps
from pliant.simulate.simulation import Simulation

SHARE = 0.16  # size of a dropped body, of the size of the scene
RANGE = 20.0  # how many times larger or smaller than usual it may be
GAP = 0.25  # between it and what is highest, of its size
ACROSS = {  # shapes that can be dropped, by their size
    "ball": lambda s: {"kind": "ball", "radius": s / 2, "edge": s / 4},
    "box": lambda s: {"kind": "box", "size": [s, s, s], "edge": s / 3},
    "torus": lambda s: {"kind": "torus", "major": s / 3, "minor": s / 6, "edge": s / 5},
    "capsule": lambda s: {"kind": "capsule", "radius": s / 4, "length": s / 2, "edge": s / 5},
    "cylinder": lambda s: {"kind": "cylinder", "radius": s / 2, "height": s / 2, "edge": s / 4},
}
STIFF = {"soft": 5e4, "stiff": 1e6}  # [Pa] unless the scene has a soft body to copy
KINDS = ("soft", "stiff", "rigid")


def rebuilt(sim: Simulation, scene: Scene) -> Simulation:
    """A simulation of a changed scene that goes on from this one.

    Bodies may have been added at the end; the energy they bring is booked as given. Positions, velocities, time and books are kept; the
    memory of contact (anchors of friction, feature pairs) is kept if bodies and methods are the same, and begins anew otherwise; so are
    the accounts of pairs, and where solvers start, if bodies are the same.
    """
    if len(sim.world.model.bodies) != len(sim.scene.bodies):
        raise PliantError("A body has broken into pieces; from then on only gravity, friction and stiffness can be changed. Reset first.")
    new = with_hand(Simulation(scene))
    old, now = sim.state, new.state
    for name in ("x", "v", "position", "rotation", "velocity", "spin"):
        values = getattr(old, name)
        getattr(now, name)[: len(values)] = values
    now.time, now.step, now.last_dt, now.books = old.time, old.step, old.last_dt, dict(old.books)
    now.values = dict(old.values)
    if "start" in now.books and len(scene.bodies) > len(sim.scene.bodies):
        now.books["changes"] = now.books.get("changes", 0.0) + new.books().total - sim.books().total
    if [b.name for b in scene.bodies] == sim.world.model.bodies.names:
        kept = old.copy()
        now.starts, now.pairs = kept.starts, kept.pairs
        if list(new.contact.methods) == list(sim.contact.methods):
            now.memory = kept.memory
    return new


def _seen(sim: Simulation) -> Floats:
    """Points of what can move, or of everything if nothing can [m], (n, 3)."""
    points, model = sim.points(), sim.world.model
    movable = np.isin(model.skin.body[: len(points)], [i for i, k in enumerate(model.bodies.kind) if room_of(k).moves])
    return points[movable] if movable.any() else points


def usual_size(sim: Simulation) -> float:
    """Of a dropped body, if none is asked for [m]."""
    seen = _seen(sim)
    return SHARE * max(float(np.linalg.norm(np.ptp(seen, axis=0))), 1e-9) if len(seen) else 0.0


def dropped(sim: Simulation, shape: str, kind: str, size: float | None = None) -> Body:
    """A body above the middle of everything, at rest; soft ones are made of what the first soft body is made of.

    `size`: its largest extent [m], for a tall or flat shape about that.
    """
    if shape not in ACROSS:
        raise PliantError(f"There is no '{shape}' to drop: {nearest(shape, ACROSS)}")
    if kind not in KINDS:
        raise PliantError(f"A dropped body cannot be '{kind}': {nearest(kind, KINDS)}")
    points, seen = sim.points(), _seen(sim)
    if len(seen) == 0:
        raise PliantError("There is nothing in the scene to drop a body onto.")
    usual = usual_size(sim)
    size = usual if size is None else size
    if not usual / RANGE <= size <= usual * RANGE:
        raise PliantError(f"A dropped body cannot have the size {size:g} m: give one from {usual / RANGE:.2g} to {usual * RANGE:.2g} m.")
    low, high = seen.min(axis=0), seen.max(axis=0)
    middle = 0.5 * (low + high)
    top = max(float(points[:, 2].max()), float(high[2])) + (0.5 + GAP) * size * 1.2
    soft = [b.material for b in sim.scene.bodies if isinstance(b, FemBody) and not isinstance(b.material.youngs_modulus, list)]
    if kind == "soft" and soft:
        material = soft[0].stated() | {"density": float(np.mean(soft[0].density))}
    else:
        material = {} if kind == "rigid" else {"youngs_modulus": STIFF[kind], "stiffness_damping": 0.002}
    return Body(
        name=_free(sim.scene, shape), shape=ACROSS[shape](size), model="rigid" if kind == "rigid" else "fem", material=material,
        position=(float(middle[0]), float(middle[1]), top), friction=0.4,
    )  # fmt: skip


def _free(scene: Scene, shape: str) -> str:
    taken = {body.name for body in scene.bodies}
    return next(name for i in range(1, len(taken) + 2) if (name := shape + (f" {i}" if i > 1 else "")) not in taken)


def as_it_stands(given: Scene, sim: Simulation) -> Scene:
    """A scene that begins with what is there now: settings, all bodies in the shapes that the user named, places and velocities.

    Soft bodies begin in their rest shape, placed and moving as a whole as they are. Bodies that are held somewhere stay where they began.
    """
    named = {body.name: body for body in given.bodies}
    bodies = []
    for body in sim.scene.bodies:
        first = named.get(body.name)
        update: dict[str, Any] = {} if first is None else {part: getattr(first, part) for part in ("shape", "skin") if hasattr(body, part)}
        if room_of(body.model).moves and not getattr(body, "fixed", ()) and not body.motions:
            update |= standing(body, sim)
        bodies.append(body.model_copy(update=update))
    return sim.scene.model_copy(update={"bodies": bodies})


def stiffness(body: Body) -> tuple[str, float] | None:
    """Path and value [Pa or N/m] of what makes a soft body stiff; None for others."""
    name = room_of(body.model).stiffness
    if not name:
        return None
    value: Any = getattr(body.material, name)
    return f"{body.name}.material.{name}", float(np.mean(value))


# ---- where a body stands and how it moves as a whole, in the words of a scene


def standing(body: Body, sim: Simulation) -> dict[str, Any]:
    """position, rotation, velocity and angular_velocity of a body that began as the scene says."""
    model, state, i = sim.world.model, sim.state, sim.index(body.name)
    began = _matrix(body.rotation)
    frame = int(model.bodies.frame[i])
    if frame >= 0:
        first = body_parts(body).frame
        assert first is not None
        turn = quaternion_to_matrix(state.rotation[frame]) @ quaternion_to_matrix(first.rotation).T
        middle, there, velocity = first.position, state.position[frame], state.velocity[frame]
        omega = sim.world.angular_velocities(state.rotation, state.spin)[frame]
    else:
        mine = sim.nodes(body.name)
        mass = model.nodes.mass[mine]
        turn, middle, there = fitted(mass, model.nodes.rest[mine], state.x[mine])
        velocity, omega = _whole(mass, state.x[mine], state.v[mine])
    place = turn @ (np.array(body.position) - middle) + there
    quaternion = matrix_to_quaternion(turn @ began)
    return {
        "position": tuple(place.tolist()), "rotation": tuple(quaternion.tolist()), "velocity": tuple(np.asarray(velocity).tolist()),
        "angular_velocity": tuple(omega.tolist()),
    }  # fmt: skip


def fitted(mass: Floats, rest: Floats, now: Floats) -> tuple[Floats, Floats, Floats]:
    """The rotation R, and middles c and d, with the least sum of mass |R (rest - c) + d - now|^2 [Kabsch 1976]."""
    c, d = mass @ rest / mass.sum(), mass @ now / mass.sum()
    u, _, vt = np.linalg.svd((now - d).T @ (mass[:, None] * (rest - c)))
    sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    return u @ sign @ vt, c, d


def _whole(mass: Floats, x: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Velocity of the centre, and the angular velocity of a rigid body with this angular momentum."""
    centre, velocity = mass @ x / mass.sum(), mass @ v / mass.sum()
    arm = x - centre
    momentum = (mass[:, None] * np.cross(arm, v - velocity)).sum(axis=0)
    inertia = (mass * np.einsum("ni,ni->n", arm, arm)).sum() * np.eye(3) - (mass[:, None] * arm).T @ arm
    return velocity, np.linalg.lstsq(inertia, momentum, rcond=None)[0]


def _matrix(rotation: tuple[float, ...]) -> Floats:
    turn = np.array(rotation, np.float64)
    return quaternion_to_matrix(rotation_vector_to_quaternion(np.radians(turn)) if len(turn) == 3 else turn / np.linalg.norm(turn))


# ---- A saved scene that can be run: soft bodies that begin in their rest shape may overlap where they touched, and are moved apart.

ROUNDS = 40  # pushes at most


def apart(scene: Scene) -> tuple[Scene, dict[str, float], str]:
    """The scene with overlapping bodies pushed apart, how far each was moved [m], and what a run would still refuse ("": nothing)."""
    sim = Simulation(read_meshes(scene))
    free = {b.name for b in scene.bodies if room_of(b.model).moves and not getattr(b, "fixed", ()) and not b.motions}
    moved: dict[str, Floats] = {}
    for _ in range(ROUNDS):
        pushes = _pushes(sim, free)
        for name, shift in pushes.items():
            _shift(sim, name, shift)
            moved[name] = moved.get(name, np.zeros(3)) + shift
        if not pushes:
            break
    bodies = [
        b.model_copy(update={"position": tuple((np.array(b.position) + moved[b.name]).tolist())}) if b.name in moved else b
        for b in scene.bodies
    ]  # fmt: skip
    try:
        check_start(sim)
        refused = ""
    except PliantError as error:
        refused = str(error)
    return scene.model_copy(update={"bodies": bodies}), {n: float(np.linalg.norm(s)) for n, s in moved.items()}, refused


def _pushes(sim: Simulation, free: set[str]) -> dict[str, Floats]:
    """How far bodies go in one round: out of each other by the depth, half of it each if both are free."""
    out: dict[str, Floats] = {}
    for a, b, depth, normal in overlaps(sim.world):
        ends = [(name, sign) for name, sign in ((a, 1.0), (b, -1.0)) if name in free]
        sizes = [float(np.ptp(points, axis=0).max()) for name in (a, b) if len(points := sim.points(name))]
        if depth > 0.5 * OVERLAP * min(sizes, default=np.inf):
            for name, sign in ends:
                out[name] = out.get(name, np.zeros(3)) + sign * depth / len(ends) * normal
    return out


def _shift(sim: Simulation, name: str, by: Floats) -> None:
    frame = int(sim.world.model.bodies.frame[sim.index(name)])
    if frame >= 0:
        sim.state.position[frame] += by
    else:
        sim.state.x[sim.nodes(name)] += by
