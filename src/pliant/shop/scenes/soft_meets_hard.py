"""A large soft sphere and a small hard one collide: the soft one takes the deformation."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.shop.scenes.springy import body, check, contact, surface
from pliant.simulate.simulation import Simulation


def make(
    soft: float = 5.0, hard: float = 100.0, speed: float = 1.5, damping: float = 1.0, response: str = "normal", edge: float = 0.26,
    integrator: str = "cooper-verner", dt: float = 0.004, duration: float = 0.8,
) -> Scene:  # fmt: skip
    """soft, hard [N/m]: stiffness of each spring of the large and of the small sphere; speed [m/s] of each."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="The softer body gives way.")
    large = surface("ball", "", 3.0, radius=1.5, edge=edge)
    small = surface("ball", "", 1.4, radius=0.7, edge=0.5 * edge)
    scene.add(name="soft", shape=large, position=(-1.7, 0, 0), velocity=(speed, 0, 0), **body(soft, damping, integrator=integrator))
    scene.add(name="hard", shape=small, position=(0.9, 0, 0), velocity=(-speed, 0, 0), **body(hard, damping, integrator=integrator))
    return scene


def expect(sim: Simulation) -> list[str]:
    """More than nine tenths of the deformation are the soft one's."""
    watch = check(sim)
    soft, hard = (watch.peak[n] for n in ("soft", "hard"))
    share = soft.rms / (soft.rms + hard.rms)
    assert share > 0.9, f"the soft sphere takes only {100 * share:.0f} % of the deformation"
    return [
        f"At most the soft sphere is {1000 * soft.rms:.1f} mm and the hard one {1000 * hard.rms:.2f} mm from its shape (rms): "
        f"the soft one takes {100 * share:.1f} %.",
        f"The dents are {1000 * soft.dent:.0f} mm and {1000 * hard.dent:.1f} mm deep.",
    ]
