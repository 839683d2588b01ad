"""A bust is warmed until it softens and slumps, and keeps that shape when it cools.

Young's modulus falls linearly between two temperatures; the strain beyond the yield strain becomes permanent, so that what flowed
while it was soft stays when it is stiff again (Keiser et al. 2004, on top of Müller et al. 2004).
"""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

COLD, SOFT, LIQUID, HOT = 20.0, 40.0, 80.0, 75.0  # [degree C]


def make(
    height: float = 0.3, edge: float = 0.012, spacing: float = 0.02, youngs_modulus: float = 2e5, soft_modulus: float = 1e3,
    dt: float = 0.001, duration: float = 3.0,
) -> Scene:  # fmt: skip
    """height [m] of the bust; spacing [m] of its phyxels; Young's moduli [Pa] when cold and when molten."""
    scene = Scene(dt=dt, duration=duration, contact="ground", about="Melts between 40 and 80 degrees; what flowed stays.")
    scene.add(name="ground", shape="plane", model="static", friction=0.8)
    scene.add(
        name="bust", shape=dict(kind="bust", height=height, edge=edge), model="points", spacing=spacing, friction=0.8,
        position=(0, 0, 1e-6),
        material=dict(
            youngs_modulus=youngs_modulus, soft_modulus=soft_modulus, softening=(SOFT, LIQUID), temperature=COLD, poisson_ratio=0.4,
            yield_strain=0.05, creep_time=0.05, mass_damping=5.0, stiffness_damping=2e-4,
        ),
    )  # fmt: skip
    times = [0.0, 0.1 * duration, 0.4 * duration, 0.6 * duration, 0.75 * duration]
    scene.change("bust.material.temperature", dict(times=times, values=[COLD, COLD, HOT, HOT, COLD]))
    return scene


def expect(sim: Simulation) -> list[str]:
    """It is lower for good, holds still, and takes the room it took."""
    rest = sim.world.model.nodes.rest
    before, now = float(np.ptp(rest[:, 2])), float(np.ptp(sim.state.x[:, 2]))
    (group,) = sim.world.model.groups
    room = float((group.stretch(sim.state.x) * group.whole).sum() / group.whole.sum())  # type: ignore[attr-defined]
    speed = float(np.sqrt(np.mean(sim.state.v**2)))
    assert 0.3 < now / before < 0.95, f"its height is {now / before:.2f} of what it was"
    assert abs(room - 1.0) < 0.1, f"its volume is {room:.3f} of what it was"
    assert speed < 0.02, f"it still moves with {speed:.3g} m/s"
    return [
        f"It is {100 * (1 - now / before):.0f} % lower than it was, and stays so when cold.",
        f"Its volume has changed by {100 * (room - 1):+.1f} %.",
    ]
