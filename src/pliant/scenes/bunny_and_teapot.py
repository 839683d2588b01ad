"""A bunny runs into a softer teapot, which gives way; how far its vertices are carried sideways depends on the response."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.scenes.springy import body, check, contact, surface, watched
from pliant.simulation import Simulation


def make(
    bunny: float = 40.0, teapot: float = 10.0, speed: float = 2.0, sideways: float = 1.0, damping: float = 1.0, response: str = "normal",
    integrator: str = "cooper-verner", bunny_file: str = "", teapot_file: str = "", dt: float = 0.002, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """bunny, teapot [N/m]: stiffness of each spring; speed [m/s] of each, sideways [m/s] of the bunny; files: surfaces to be the two."""
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="The softer teapot deforms more.")
    small, pot = surface("bunny", bunny_file, 1.6, height=1.6), surface("teapot", teapot_file, 3.0, size=3.0)
    scene.add(
        name="bunny", shape=small, position=(0.25, -1.65, 0.0), rotation=(0, 0, 90), velocity=(sideways, speed, 0),
        **body(bunny, damping, integrator=integrator),
    )  # fmt: skip
    scene.add(name="teapot", shape=pot, velocity=(0, -speed, 0), **body(teapot, damping, integrator=integrator))
    return scene


def expect(sim: Simulation) -> list[str]:
    """The teapot deforms more than the bunny; reflecting along the normal shifts vertices sideways less than inverting velocities."""
    now, method = check(sim), sim.scene.contact
    assert isinstance(method, dict)
    runs = {method["response"]: now}
    for response in ("invert", "normal"):
        if response not in runs:
            runs[response] = watched(sim.scene.copy_with(contact={**method, "response": response}))
    bunny, teapot = (now.peak[n] for n in ("bunny", "teapot"))
    assert teapot.rms > bunny.rms, "the teapot should deform more"
    slant = {r: [w.peak[n].shift / w.peak[n].dent for n in ("bunny", "teapot")] for r, w in runs.items()}
    assert sum(slant["normal"]) < sum(slant["invert"]), f"sideways over inwards: {slant}"
    told = "; ".join(f"{r}: bunny {slant[r][0]:.2f}, teapot {slant[r][1]:.2f}" for r in ("invert", "normal"))
    return [
        f"At most the bunny is {1000 * bunny.rms:.1f} mm and the teapot {1000 * teapot.rms:.1f} mm from its shape (rms).",
        f"Vertices that touched are carried sideways by this share of the way inwards, velocities inverted and reflected: {told}.",
    ]
