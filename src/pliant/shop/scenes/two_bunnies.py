"""Two bunnies collide, with no damping, some, or far too much; set back after the collision or not."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.shop.scenes.springy import body, check, contact, surface
from pliant.simulate.simulation import Simulation


def make(
    damping: float = 1.0, backtracking: bool = True, unsafe: bool = False, stiffness: float = 40.0, speed: float = 5.0,
    response: str = "normal", integrator: str = "cooper-verner", file: str = "", dt: float = 0.002, duration: float = 0.3,
) -> Scene:  # fmt: skip
    """damping c [N s/m] of the published adaptive law: 0, 1 or 2000 there. speed [m/s] of each.

    A vertex of 1 kg fades by up to 10 c per second, so c = 2000 needs steps below 3.7 / (10 c) = 0.19 ms. Steps are divided until they
    are short enough, and the reason is told; with unsafe = true they are not, and the bunnies explode as in Fig. 3.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response, backtracking), about="What damping is for.")
    shape = surface("bunny", file, 2.0, height=2.0)
    soft = body(stiffness, damping, integrator=integrator)
    scene.add(name="one", shape=shape, position=(-1.0, 0, 0), velocity=(speed, 0, 0), unsafe=unsafe, **soft)
    scene.add(
        name="other", shape=shape, position=(1.0, 0.15, 0), rotation=(0, 0, 180), velocity=(-speed, 0, 0), unsafe=unsafe, **soft
    )
    return scene


def expect(sim: Simulation) -> list[str]:
    """They bounce off each other and find their shape again."""
    watch = check(sim)
    said = [f"The bunnies are at most {1000 * p.rms:.1f} mm from their shape (rms)." for p in (watch.peak["one"],)]
    return said + [note if note.endswith(".") else note + "." for note in sim.notes if "damping" in note]
