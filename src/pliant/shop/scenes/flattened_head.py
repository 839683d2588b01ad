"""A soft head is pressed upside down into a table: its crown is flattened, and head and table share one surface (Keiser et al., Fig. 3)."""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

HEIGHT = 0.3  # [m] of the bust


def make(
    stiffness: float = 2e6, press: float = 0.04, youngs_modulus: float = 1e5, edge: float = 0.012, dt: float = 0.0005, duration: float = 0.5
) -> Scene:
    """stiffness [N/m^3] of contact, low so that the head sinks in; press [m] that its foot is brought down by; youngs_modulus [Pa]."""
    contact = {"method": "point-surface", "stiffness": stiffness, "damping": 0.5}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Deep contact with a soft penalty; the drawn surfaces hide it.")
    scene.add(name="table", shape="plane", model="static", friction=0.5)
    down = {"times": [0.0, 0.6 * duration], "values": [[0, 0, 0], [0, 0, -press]]}
    scene.add(
        name="head", shape=dict(kind="bust", height=HEIGHT, edge=edge), model="points", position=(0, 0, HEIGHT + 0.001),
        rotation=(180, 0, 0), friction=0.5, motions=[{"where": {"z": (0.9 * HEIGHT, 2 * HEIGHT)}, "shift": down}],
        material=dict(youngs_modulus=youngs_modulus, density=1000.0, mass_damping=20.0),
    )  # fmt: skip
    return scene


def sunk(sim: Simulation) -> tuple[float, float, float]:
    """(deepest point below the table, largest distance of drawn contact points from it, contact area) [m, m, m^2]."""
    bodies, head = sim.world.model.bodies, sim.index("head")
    points, shown = sim.points("head")[: bodies.surface[head]], None if sim.report is None else sim.report.shown
    if shown is None:
        return 0.0, 0.0, 0.0
    first = int(bodies.point_start[head])
    drawn = (points + shown[first : first + len(points)])[points[:, 2] < 0.0]
    return float(-points[:, 2].min()), float(np.abs(drawn[:, 2]).max(initial=0.0)), sim.contacts("head", "table").total_area


def expect(sim: Simulation) -> list[str]:
    """It sinks in, and is drawn flat on the table."""
    deep, off, area = sunk(sim)
    touch = sim.contacts("head", "table")
    spacing = float(np.sqrt(area / max(len(touch), 1)))
    force, held = float(touch.total_force[2]), float(sim.reaction("head")[2])
    weight = 9.81 * float(sim.world.model.nodes.mass.sum())
    assert deep > 0.003, f"the head is only {1000 * deep:.2f} mm deep"
    assert off < 1e-3 * deep, f"drawn points are {1000 * off:.4f} mm off the table"
    assert abs(force + held - weight) < 0.05 * force, f"{force:.2f} N from the table and {held:.2f} N from the hand, weight {weight:.2f} N"
    return [
        f"The head is {1000 * deep:.1f} mm deep ({deep / spacing:.1f} surfel spacings) and touches over {1e4 * area:.1f} cm^2.",
        f"Drawn, no point of it is more than {1e6 * off:.3g} micrometres off the table, which carries {force:.2f} N.",
    ]
