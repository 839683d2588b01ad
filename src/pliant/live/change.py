"""Changes to a simulation that goes on: another dt, another method, one body more. The next simulation takes over the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.bodies.fem.room import FemBody
from pliant.bodies.register import room_of
from pliant.live.hand import with_hand
from pliant.live.standing import standing
from pliant.scene import Body, Scene
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
    memory of contact (anchors of friction, feature pairs) is kept if bodies and methods are the same, and begins anew otherwise.
    """
    if len(sim.world.model.bodies) != len(sim.scene.bodies):
        raise PliantError("A body has broken into pieces; from then on only gravity, friction and stiffness can be changed. Reset first.")
    new = with_hand(Simulation(scene))
    old, now = sim.state, new.state
    for name in ("x", "v", "position", "rotation", "velocity", "spin"):
        kept = getattr(old, name)
        getattr(now, name)[: len(kept)] = kept
    now.time, now.step, now.last_dt, now.books = old.time, old.step, old.last_dt, dict(old.books)
    now.values = dict(old.values)
    if "start" in now.books and len(scene.bodies) > len(sim.scene.bodies):
        now.books["changes"] = now.books.get("changes", 0.0) + new.books().total - sim.books().total
    if [b.name for b in scene.bodies] == sim.world.model.bodies.names and list(new.contact.methods) == list(sim.contact.methods):
        now.memory = old.copy().memory
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
