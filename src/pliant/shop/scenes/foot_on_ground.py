"""A foot steps on the ground: its sole gives way and the pressure spreads (Pauly, Pai, Guibas 2004, Fig. 9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.geometry.shapes import resolve
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    load: float = 400.0, youngs_modulus: float = 4e5, layer: float = 0.03, scan: str = "", unit: str = "m", up: str = "z",
    spacing: float = 0.004, dt: float = 0.004, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """load [N] on the foot, layer [m]: how far a push on the sole is felt, scan: file with a foot of your own (its unit and up)."""
    scene = Scene(
        dt=dt, duration=duration, contact=dict(method="quasi-rigid", integration="implicit"),
        about="Where the sole carries, and how much: pressure maps of a standing foot.",
    )  # fmt: skip
    shape: dict[str, Any] = dict(file=scan, unit=unit, up=up) if scan else dict(kind="foot", edge=0.01)
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    scene.add(
        name="foot", shape=shape, model="quasi-rigid", spacing=spacing, friction=0.6, position=(0, 0, _clearance(shape)),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.45, response="volume-preserving", layer=layer, mass_damping=5.0),
        loads=[dict(value=dict(times=[0.0, 0.1, 1e3], values=[(0, 0, 0), (0, 0, -load), (0, 0, -load)]))],
    )  # fmt: skip
    return scene


def _clearance(shape: dict[str, Any]) -> float:
    """How far the shape's origin must be above the ground so that it just does not touch."""
    found = resolve(shape, solid=False)
    points = found.cloud.points if found.cloud is not None else found.surface().points
    return float(-points[:, 2].min()) + 1e-4


def expect(sim: Simulation) -> list[str]:
    """The ground carries weight and load; the centre of pressure is under the foot."""
    foot = next(b for b in sim.scene.bodies if b.name == "foot")
    weight = 9.81 * float(sim.world.model.frames.mass[sim.world.model.bodies.frame[sim.index("foot")]])
    total = weight - float(foot.loads[0].value(sim.time)[2])
    contacts = sim.contacts("foot", "ground")
    force, centre = float(contacts.total_force[2]), contacts.center_of_pressure
    low, high = sim.points("foot").min(axis=0), sim.points("foot").max(axis=0)
    assert abs(force - total) < 0.03 * total, f"the ground carries {force:.4g} N of {total:.4g} N"
    assert np.all(centre[:2] > low[:2]) and np.all(centre[:2] < high[:2]), f"the centre of pressure {centre} is not under the foot"
    peak = float(np.nanmax(contacts.pressure))
    return [
        f"The ground carries {force:.4g} N of {total:.4g} N over {1e4 * contacts.total_area:.3g} cm^2, at most {1e-3 * peak:.3g} kPa.",
        f"The centre of pressure is {1e3 * (centre[0] - low[0]):.0f} mm from the heel side of the foot's box.",
    ]
