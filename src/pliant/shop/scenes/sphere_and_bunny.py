"""A sphere runs into the tail of a bunny of the same stiffness."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.shop.scenes.springy import body, check, contact, surface
from pliant.simulate.simulation import Simulation


def make(
    stiffness: float = 40.0, speed: float = 3.0, damping: float = 1.0, response: str = "normal", edge: float = 0.16,
    integrator: str = "cooper-verner", file: str = "", dt: float = 0.002, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """stiffness [N/m] of each spring; speed [m/s] of each; file: a surface to be the bunny."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="A sphere is dented, a tail is pressed in.")
    ball, bunny = surface("ball", "", 2.0, radius=1.0, edge=edge), surface("bunny", file, 2.0, height=2.0)
    soft = body(stiffness, damping, integrator=integrator)
    scene.add(name="sphere", shape=ball, position=(-2.1, 0, 0.5), velocity=(speed, 0, 0), **soft)
    scene.add(name="bunny", shape=bunny, position=(0, 0, 0), velocity=(-speed, 0, 0), **soft)
    return scene


def expect(sim: Simulation) -> list[str]:
    """The sphere is dented inwards, and so is the bunny where it was hit."""
    watch = check(sim)
    sphere, bunny = (watch.peak[n] for n in ("sphere", "bunny"))
    assert sphere.dent > 0.01 and bunny.dent > 0.002, f"dents of {sphere.dent:.4f} m and {bunny.dent:.4f} m cannot be seen"
    return [f"The sphere is dented by {1000 * sphere.dent:.0f} mm, the bunny by {1000 * bunny.dent:.0f} mm, on average where they touched."]
