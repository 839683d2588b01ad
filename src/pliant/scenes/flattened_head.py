"""A soft head is pressed deep into a table: its face is flattened, and head and table share one surface (Keiser et al., Fig. 3)."""

from __future__ import annotations

import numpy as np

from pliant.contact.point_surface.method import PointSurface
from pliant.scene import Scene
from pliant.simulation import Simulation


def make(
    stiffness: float = 4e5, youngs_modulus: float = 1e5, edge: float = 0.012, dt: float = 0.0005, duration: float = 0.6
) -> Scene:
    """stiffness [N/m^3] of contact, low so that the head sinks in; youngs_modulus [Pa], edge [m] of its triangles, dt and duration [s]."""
    contact = {"method": "point-surface", "stiffness": stiffness, "damping": 0.5}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Deep contact with a soft penalty; the drawn surfaces hide it.")
    scene.add(name="table", shape="plane", model="static", friction=0.5)
    scene.add(
        name="head", shape=dict(kind="bust", height=0.3, edge=edge), model="points",
        position=(0, 0, 0.105), rotation=(90, 0, 0), friction=0.5,
        material=dict(youngs_modulus=youngs_modulus, density=1000.0, mass_damping=8.0),
    )  # fmt: skip
    return scene


def sunk(sim: Simulation) -> tuple[float, float, float]:
    """(deepest point below the table, largest distance of drawn contact points from it, contact area) [m, m, m^2]."""
    points, report = sim.points("head"), sim.report
    shown = None if report is None else report.shown
    if shown is None:
        return 0.0, 0.0, 0.0
    first = sim.world.model.bodies.point_start[sim.index("head")]
    surface = int(sim.world.model.bodies.surface[sim.index("head")])
    moved = shown[first : first + surface]
    below = points[:surface, 2] < 0.0
    drawn = np.abs((points[:surface] + moved)[below, 2])
    return float(-points[:surface, 2].min()), float(drawn.max(initial=0.0)), sim.contacts("head", "table").total_area


def expect(sim: Simulation) -> list[str]:
    """It sinks in by more than two spacings, is drawn flat on the table, and the table carries it."""
    assert isinstance(sim.contact.methods["point-surface"], PointSurface)
    deep, off, area = sunk(sim)
    weight = 9.81 * float(sim.world.model.nodes.mass.sum())
    force = float(sim.contacts("head", "table").total_force[2])
    edge = float(np.sqrt(area / max(len(sim.contacts()), 1)))
    assert deep > 0.005, f"the head is only {1000 * deep:.2f} mm deep"
    assert off < 1e-3 * deep, f"drawn points are {1000 * off:.4f} mm off the table"
    assert abs(force / weight - 1.0) < 0.1, f"the table carries {force:.2f} N of {weight:.2f} N"
    return [
        f"The head is {1000 * deep:.1f} mm deep ({deep / edge:.1f} surfel spacings) and touches over {1e4 * area:.1f} cm^2.",
        f"Drawn, no point of it is more than {1e6 * off:.3g} micrometres off the table; the table carries {force:.2f} N of {weight:.2f} N.",
    ]
