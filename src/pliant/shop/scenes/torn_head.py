"""A bust held by the top of its head is drawn out by its own weight until its neck tears; then the hand puts the head on what fell.

Phyxels flow beyond their yield strain; neighbours that are drawn out to twice their distance part for good. When the last ones across
the neck have parted there are two bodies, each with its own skin, that meet the ground and each other (Fig. 9 of Keiser et al. 2004).
"""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

HELD, SPEED = 0.6, 0.5  # [s] until the hand comes down, [m/s] with which it does
RESTS = 1.3  # [s] from when on parts should lie still


def make(
    height: float = 0.3, edge: float = 0.012, spacing: float = 0.02, youngs_modulus: float = 5e4, tear_strain: float = 1.0,
    drop: float = 0.12, lower: float = 0.17, dt: float = 0.001, duration: float = 1.5,
) -> Scene:  # fmt: skip
    """height [m] of the bust; spacing [m] of its phyxels; tear_strain at which neighbours part; drop [m] above the ground, which is
    what the bust can be drawn out by; lower [m] that the hand brings the head down by."""
    contact = {"method": "point-surface", "damping": 0.5}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="A plastic body tears in two in the running world; its parts collide.")
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    down = {"times": [0.0, HELD, HELD + lower / SPEED], "values": [[0, 0, 0], [0, 0, 0], [0, 0, -lower]]}
    scene.add(
        name="head", shape=dict(kind="bust", height=height, edge=edge), model="points", spacing=spacing, position=(0, 0, drop),
        friction=0.6, motions=[{"where": {"z": (drop + 0.75 * height, drop + 2 * height)}, "shift": down}],
        material=dict(
            youngs_modulus=youngs_modulus, poisson_ratio=0.4, volume_stiffness=4 * youngs_modulus, yield_strain=0.015, creep_time=0.02,
            tear_strain=tear_strain, mass_damping=3.0, stiffness_damping=2e-3,
        ),
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """There are two large parts: one in the hand, the other below it on the ground; they meet, lie still, and no weight is lost."""
    bodies, nodes = sim.world.model.bodies, sim.world.model.nodes
    parts = np.flatnonzero(np.diff(bodies.node_start))
    assert len(parts) > 1, "the head is still in one piece"
    mass = np.bincount(nodes.body, nodes.mass, minlength=len(bodies))
    hung = int(nodes.body[nodes.inverse == 0.0][0])
    fallen = max((b for b in parts.tolist() if b != hung), key=lambda b: mass[b])
    low, gap = (float(sim.points(bodies.names[b])[: bodies.surface[b], 2].min()) for b in (fallen, hung))
    deepest = float(sim.state.x[nodes.body == fallen, 2].min())
    assert min(low, deepest) > -0.015, f"the part that fell is {-1000 * min(low, deepest):.0f} mm under the ground"
    assert low < gap, "the part that broke off is not below the one that is held"
    said = [f"It tore into {len(parts)} parts; the largest that fell has {100 * mass[fallen] / mass.sum():.0f} % of the mass."]
    if sim.time < RESTS:
        return [*said, f"What is held ends {1000 * gap:.0f} mm above the ground; what fell is {1000 * low:.1f} mm above it."]
    push, carried = (sim.contacts(bodies.names[fallen], name) for name in (bodies.names[hung], "ground"))
    weight = 9.81 * float(mass[fallen])
    excess = float(carried.total_force[2] + push.total_force[2]) / weight - 1.0
    speed = float(np.sqrt(np.average((sim.state.v[nodes.body == fallen] ** 2).sum(axis=1), weights=nodes.mass[nodes.body == fallen])))
    assert len(push) > 0, "the parts do not touch"
    assert speed < 0.05, f"the part that fell still moves with {speed:.2g} m/s"
    assert abs(excess) < 0.1, f"ground and head carry {1.0 + excess:.3f} of the weight of the part that fell"
    return [
        *said,
        f"Its parts meet in {len(push)} contacts, where the head presses with {-push.total_force[2]:.2f} N, and move with "
        f"{1000 * speed:.1f} mm/s.",
        f"The ground carries {carried.total_force[2]:.2f} N; what fell weighs {weight:.2f} N. It is {-1000 * low:.1f} mm deep in it.",
    ]
