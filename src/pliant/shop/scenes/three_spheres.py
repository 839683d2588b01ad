"""A fast sphere falls between two slow ones of other sizes."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.shop.scenes.springy import body, check, contact, surface
from pliant.simulate.simulation import Simulation


def make(
    stiffness: float = 40.0, speed: float = 2.0, top_speed: float = 10.0, damping: float = 1.0, response: str = "normal",
    fineness: float = 0.16, integrator: str = "cooper-verner", dt: float = 0.002, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """stiffness [N/m] of each spring; speeds [m/s] of the two lower spheres and of the top one; fineness: edge over radius."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="Three bodies meet.")
    soft = body(stiffness, damping, integrator=integrator)
    for name, radius, position, velocity in (
        ("left", 0.8, (-1.0, 0, 0), (speed, 0, 0)),
        ("right", 1.1, (1.3, 0, 0.1), (-speed, 0, 0)),
        ("top", 0.6, (-0.1, 0, 2.2), (0, 0, -top_speed)),
    ):
        ball = surface("ball", "", 2 * radius, radius=radius, edge=fineness * radius)
        scene.add(name=name, shape=ball, position=position, velocity=velocity, **soft)
    return scene


def expect(sim: Simulation) -> list[str]:
    """All three touch and are dented, the fast one most for its size."""
    watch = check(sim)
    assert min(p.largest for p in watch.peak.values()) > 0.02, "a sphere is not dented"
    sizes = {n: len(sim.faces(n)) for n in watch.names}
    return [
        "Largest displacement: " + ", ".join(f"{n} {1000 * p.largest:.0f} mm" for n, p in watch.peak.items()) + ".",
        "Triangles: " + ", ".join(f"{n} {c}" for n, c in sizes.items()) + ".",
    ]
