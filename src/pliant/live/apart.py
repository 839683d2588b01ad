"""A saved scene that can be run: soft bodies that begin in their rest shape may overlap where they touched, and are moved apart."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, PliantError
from pliant.bodies.register import room_of
from pliant.record.snapshot import read_meshes
from pliant.scene import Scene
from pliant.simulate.guards import OVERLAP, check_start, overlaps
from pliant.simulate.simulation import Simulation

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
