"""A bunny runs into a softer teapot, which gives way; how far its vertices are carried sideways depends on the response."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.shop.scenes.springy import body, check, contact, surface, watched
from pliant.simulate.simulation import Simulation


def make(
    bunny: float = 40.0, teapot: float = 10.0, speed: float = 2.0, sideways: float = 0.0, damping: float = 1.0, response: str = "normal",
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


def slants(scene: Scene) -> dict[tuple[str, float], dict[str, float]]:
    """Way of the vertices that touched along the surface (rms) over their way inwards (mean), of each body.

    By response, `invert` and `normal`, and sideways speed of the bunny [m/s], 0 (head-on) and 1. Both responses are compared at
    the same depth, half of the smaller one of their deepest dents: a dent that grows on takes in vertices that face elsewhere.
    """
    method = scene.contact
    assert isinstance(method, dict)
    bunny, teapot = scene.bodies
    out: dict[tuple[str, float], dict[str, float]] = {}
    for sideways in (0.0, 1.0):
        moving = bunny.model_copy(update={"velocity": (sideways, bunny.velocity[1], 0.0)})
        runs = {r: watched(scene.copy_with(contact={**method, "response": r}, bodies=[moving, teapot])) for r in ("invert", "normal")}
        depth = {name: 0.5 * min(run.peak[name].dent for run in runs.values()) for name in (bunny.name, teapot.name)}
        out |= {(r, sideways): {name: run.slant(name, d) for name, d in depth.items()} for r, run in runs.items()}
    return out


def expect(sim: Simulation) -> list[str]:
    """The teapot deforms more than the bunny; vertices of both go sideways less if reflected along the normal than inverted."""
    peak = check(sim).peak
    assert peak["teapot"].rms > peak["bunny"].rms, "the teapot should deform more"
    slant = slants(sim.scene)
    for sideways in (0.0, 1.0):
        for name in peak:
            assert slant["normal", sideways][name] < slant["invert", sideways][name], f"way sideways over way inwards: {slant}"
    how = {"invert": "inverted", "normal": "reflected", 0.0: "head-on", 1.0: "sideways"}
    told = "; ".join(f"{how[r]}, {how[s]}: bunny {v['bunny']:.2f}, teapot {v['teapot']:.2f}" for (r, s), v in slant.items())
    return [
        f"At most the bunny is {1000 * peak['bunny'].rms:.1f} mm and the teapot {1000 * peak['teapot'].rms:.1f} mm from its shape (rms).",
        f"At dents of the same depth, vertices are carried along the surface by this share of the way inwards: {told}.",
    ]
