"""Two equal spheres of different triangulation collide and dent alike."""

from __future__ import annotations

from pliant.geometry.shapes import resolve
from pliant.scene import Scene
from pliant.shop.scenes.springy import body, check, contact, surface
from pliant.simulate.simulation import Simulation


def make(
    stiffness: float = 40.0, speed: float = 5.0, damping: float = 1.0, response: str = "normal", edge: float = 0.125,
    integrator: str = "cooper-verner", file: str = "", dt: float = 0.001, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """stiffness [N/m] of each spring and 1 kg per vertex of the finer sphere; speed [m/s] of each; file: a surface for both.

    The coarser sphere has fewer vertices, so each is heavier and each spring stiffer: both weigh the same and are equally stiff.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="Equal bodies dent equally.")
    shapes = [surface("ball", file, 2.0, radius=1.0, edge=e) for e in (edge, 1.25 * edge)]
    counts = [len(resolve(dict(s), False).surface().points) for s in shapes]
    for name, shape, count, side in zip(("fine", "coarse"), shapes, counts, (-1, 1), strict=True):
        finer = counts[0] / count
        scene.add(
            name=name, shape=shape, position=(1.2 * side, 0, 0), rotation=(0, 0, 37.0 * side), velocity=(-speed * side, 0, 0),
            **body(stiffness * finer**2, damping * finer, finer, integrator),
        )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """Both are deformed by the same amount, within 3 %, and part as fast as each other."""
    watch = check(sim)
    fine, coarse = (watch.peak[n] for n in ("fine", "coarse"))
    ratio = coarse.rms / fine.rms
    assert abs(ratio - 1) < 0.03, f"the coarse sphere is deformed {ratio:.3f} times as much as the fine one"
    return [
        f"At most the fine sphere is {1000 * fine.rms:.1f} mm and the coarse one {1000 * coarse.rms:.1f} mm from its shape "
        f"(rms), a ratio of {ratio:.3f}.",
        f"The dents are {1000 * fine.dent:.0f} mm and {1000 * coarse.dent:.0f} mm deep.",
    ]
