"""A bust held by the top of its head stretches under its own weight until its neck tears, and the body falls.

Phyxels flow beyond their yield strain; neighbours that are drawn out to twice their distance part for good. When the last ones across
the neck have parted there are two bodies, each with its own skin, that meet each other and the ground (Fig. 9 of Keiser et al. 2004).
"""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulation import Simulation


def make(
    height: float = 0.3, edge: float = 0.012, spacing: float = 0.02, youngs_modulus: float = 2e4, tear_strain: float = 1.0,
    drop: float = 0.2, dt: float = 0.001, duration: float = 1.2,
) -> Scene:  # fmt: skip
    """height [m] of the bust; spacing [m] of its phyxels; tear_strain at which neighbours part; drop [m] above the ground."""
    scene = Scene(dt=dt, duration=duration, contact="ground", about="A plastic body tears in two in the running world.")
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    scene.add(
        name="head", shape=dict(kind="bust", height=height, edge=edge), model="points", spacing=spacing, position=(0, 0, drop),
        friction=0.6, fixed=[dict(z=(drop + 0.75 * height, drop + 2 * height))],
        material=dict(
            youngs_modulus=youngs_modulus, poisson_ratio=0.4, yield_strain=0.05, creep_time=0.02, tear_strain=tear_strain,
            mass_damping=0.5, stiffness_damping=1e-3,
        ),
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """There are two large parts: one hangs, the other lies on the ground; nothing was lost."""
    bodies, nodes = sim.world.model.bodies, sim.world.model.nodes
    parts = np.flatnonzero(np.diff(bodies.node_start))
    assert len(parts) > 1, "the head is still in one piece"
    mass = np.bincount(nodes.body, nodes.mass, minlength=len(bodies))
    hung = int(nodes.body[nodes.inverse == 0.0][0])
    fallen = max((b for b in parts.tolist() if b != hung), key=lambda b: mass[b])
    low, gap = (float(sim.points(bodies.names[b])[: bodies.surface[b], 2].min()) for b in (fallen, hung))
    assert low > -0.02, f"the part that fell is {-1000 * low:.0f} mm under the ground"
    assert low < gap, "the part that broke off is not below the one that hangs"
    return [
        f"It tore into {len(parts)} parts; the largest that fell has {100 * mass[fallen] / mass.sum():.0f} % of the mass.",
        f"What hangs ends {1000 * gap:.0f} mm above the ground; what fell is {1000 * low:.1f} mm above it.",
    ]
