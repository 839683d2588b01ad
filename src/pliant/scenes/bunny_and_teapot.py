"""A bunny runs into a softer teapot, which gives way; how far its vertices are carried sideways depends on the response."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.scenes.springy import body, check_whole, contact, surface, watched
from pliant.simulation import Simulation


def make(
    bunny: float = 40.0, teapot: float = 10.0, speed: float = 5.0, damping: float = 1.0, response: str = "normal",
    integrator: str = "cooper-verner", bunny_file: str = "", teapot_file: str = "", dt: float = 0.002, duration: float = 0.3,
) -> Scene:  # fmt: skip
    """bunny, teapot [N/m]: stiffness of each spring; speed [m/s] of each; files: surfaces to be the bunny and the teapot."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="The softer teapot deforms more.")
    small, pot = surface("bunny", bunny_file, 1.6, height=1.6), surface("teapot", teapot_file, 3.0, size=3.0)
    scene.add(
        name="bunny", shape=small, position=(0.25, -1.65, 0.0), rotation=(0, 0, 90), velocity=(0.3 * speed, speed, 0),
        **body(bunny, damping, integrator=integrator),
    )  # fmt: skip
    scene.add(name="teapot", shape=pot, velocity=(0, -speed, 0), **body(teapot, damping, integrator=integrator))
    return scene


def expect(sim: Simulation) -> list[str]:
    """The teapot deforms more than the bunny; reflecting along the normal shifts its vertices less than inverting velocities."""
    runs = {r: watched(sim.scene.copy_with(contact={**sim.scene.contact, "response": r})) for r in ("normal", "invert")}
    now = runs.get(sim.scene.contact["response"]) or watched(sim.scene)
    check_whole(sim, now)
    bunny, teapot = (now.peak[n] for n in ("bunny", "teapot"))
    assert teapot.rms > bunny.rms, "the teapot should deform more"
    shift = {r: watch.peak["teapot"].shift for r, watch in runs.items()}
    assert shift["normal"] < shift["invert"], f"sideways shift: {shift}"
    return [
        f"At most the bunny is {1000 * bunny.rms:.1f} mm and the teapot {1000 * teapot.rms:.1f} mm from its shape (rms).",
        f"The teapot's vertices that were hit are carried {1000 * shift['invert']:.0f} mm sideways with response = invert, as "
        f"published, and {1000 * shift['normal']:.0f} mm with normal.",
    ]
