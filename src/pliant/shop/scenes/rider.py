"""A bunny rides on a soft C-shaped mouth, which closes under it until its lips meet (Keiser et al., Fig. 8)."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    edge: float = 0.008, youngs_modulus: float = 2.5e4, gap: float = 0.012, fall: float = 0.02, dt: float = 0.0005, duration: float = 0.6
) -> Scene:
    """edge [m] of triangles, youngs_modulus [Pa] of the mouth, gap [m] between its lips, fall [m] of the bunny."""
    scene = Scene(dt=dt, duration=duration, contact={"method": "point-surface", "damping": 0.5}, about="Complex bodies, and self-contact.")
    scene.add(name="ground", shape="plane", model="static", friction=0.8)
    calm = dict(density=1000.0, mass_damping=8.0)
    scene.add(
        name="mouth", shape=dict(kind="mouth", size=0.2, gap=gap, edge=edge), model="points", spacing=0.02, position=(0, 0, 0.001),
        friction=0.8, material=dict(youngs_modulus=youngs_modulus, **calm),
    )  # fmt: skip
    scene.add(
        name="rider", shape=dict(kind="bunny", height=0.12, edge=min(edge, 0.0095)), model="points", spacing=0.016,
        position=(0.02, 0, 0.2 + fall),
        friction=0.8, material=dict(youngs_modulus=1e5, **calm),
    )  # fmt: skip
    scene.pair("mouth", "mouth")
    return scene


def lips(sim: Simulation) -> float:
    """Distance between the lips [m]: least height of the upper jaw over the lower one at their front."""
    mouth = sim.points("mouth")[: int(sim.world.model.bodies.surface[sim.index("mouth")])]
    rest = sim.world.model.nodes.rest
    middle = 0.5 * (rest[sim.nodes("mouth"), 2].min() + rest[sim.nodes("mouth"), 2].max())
    first = sim.world.skin_positions(rest, sim.state.position, sim.state.rotation)[sim.world.model.bodies.point_start[sim.index("mouth")] :]
    first = first[: len(mouth)]
    front = first[:, 0] > 0.06
    upper, lower = mouth[front & (first[:, 2] > middle)], mouth[front & (first[:, 2] < middle)]
    return float(upper[:, 2].min() - lower[:, 2].max())


def expect(sim: Simulation) -> list[str]:
    """The rider sits on the mouth, the lips do not pass through each other."""
    own, seat = sim.contacts("mouth", "mouth"), sim.contacts("rider", "mouth")
    apart, low = lips(sim), float(sim.points("rider")[:, 2].min())
    assert low > 0.02, f"the rider is down at {1000 * low:.0f} mm"
    assert apart > -0.01, f"the lips are {-1000 * apart:.1f} mm through each other"
    assert np.isfinite(sim.state.x).all()
    return [
        f"The rider's lowest point is {1000 * low:.0f} mm high; {len(seat)} contacts carry {seat.total_force[2]:.2f} N.",
        f"The lips are {1000 * apart:.1f} mm apart, with {len(own)} contacts of the mouth with itself.",
    ]
