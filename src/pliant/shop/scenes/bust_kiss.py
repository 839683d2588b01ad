"""Two busts meet nose to nose and part again: the dents and pressures of two shapes with details (Pauly, Pai, Guibas 2004, Fig. 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.geometry.shapes import resolve
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    speed: float = 0.5, height: float = 0.3, scan: str = "", other: str = "", unit: str = "m", up: str = "z",
    youngs_modulus: float = 2e5, spacing: float = 0.003, gap: float = 0.002, dt: float = 0.002, duration: float = 0.1,
) -> Scene:  # fmt: skip
    """speed [m/s] of each, scan and other: files with busts of your own that look along +x, gap [m] between them at first."""
    scene = Scene(
        dt=dt, duration=duration, gravity=(0, 0, 0), contact="quasi-rigid", about="Action is reaction between two scans: momentum is kept.",
    )  # fmt: skip
    gives = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.4, density=500.0)
    for name, file, side in (("left", scan, -1.0), ("right", other or scan, 1.0)):
        shape: dict[str, Any] = dict(file=file, unit=unit, up=up, size=height) if file else dict(kind="bust", height=height)
        scene.add(
            name=name, shape=shape, model="quasi-rigid", material=gives, spacing=spacing, rotation=(0, 0, 0.0 if side < 0 else 180.0),
            position=(side * (_front(shape) + 0.5 * gap), 0, 0), velocity=(-side * speed, 0, 0),
        )  # fmt: skip
    return scene


def _front(shape: dict[str, Any]) -> float:
    """How far a shape reaches along +x [m]."""
    found = resolve(shape, solid=False)
    return float((found.cloud.points if found.cloud is not None else found.surface().points)[:, 0].max())


def expect(sim: Simulation) -> list[str]:
    """Momentum is kept; the busts part more slowly than they met."""
    books, frames = sim.books(), sim.world.model.frames
    start = float(np.linalg.norm(sim.scene.bodies[0].velocity))
    size = float(frames.mass.min()) * start
    lost = books.momentum - np.sum([m * np.array(body.velocity) for m, body in zip(frames.mass, sim.scene.bodies, strict=True)], axis=0)
    assert np.abs(lost).max() < 1e-10 * size, f"momentum changed by {lost} N s"
    apart = float(sim.state.velocity[1, 0] - sim.state.velocity[0, 0])
    assert 0.0 < apart < 2 * start, f"they part at {apart:.4g} m/s and met at {2 * start:.4g} m/s"
    spins = np.linalg.norm(sim.world.angular_velocities(sim.state.rotation, sim.state.spin), axis=1)
    return [
        f"They met at {2 * start:.3g} m/s and part at {apart:.3g} m/s, nodding with {spins[0]:.3g} and {spins[1]:.3g} rad/s.",
        f"All momentum together changed by {np.abs(lost).max():.1g} N s; each had {size:.3g} N s or more.",
    ]
