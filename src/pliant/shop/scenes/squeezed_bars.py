"""Soft bars, stacked crosswise, are squeezed between two anchors and stay apart."""

from __future__ import annotations

from pliant.measure.overlap import overlap
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    squeeze: float = 0.15, layers: int = 3, edge: float = 0.0133, youngs_modulus: float = 1e5, friction: float = 0.6,
    dt: float = 0.00015, duration: float = 1.2,
) -> Scene:  # fmt: skip
    """squeeze: part of the height by which the upper anchor comes down; layers of two bars each; edge [m] of the elements.

    Bars of 0.04 x 0.04 x 0.2 m, 1000 kg/m^3: rho g H / E = 0.012 for three layers. Rayleigh damping of
    10 / s and 0.3 ms calms them: without the second the contact forces keep the squeezed elements trembling.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="High stress in the contact, no penetration that can be seen.")
    thick, long = 0.04, 0.2
    tall = layers * thick
    anchor = dict(kind="box", size=(0.16, 0.16, 0.03), edge=0.04)
    scene.add(name="floor", shape=anchor, model="static", position=(0, 0, -0.015), friction=friction)
    way = {"times": [0.0, 0.08 * duration, 0.4 * duration], "values": [[0, 0, 0], [0, 0, 0], [0, 0, -squeeze * tall]]}
    scene.add(name="press", shape=anchor, model="static", position=(0, 0, tall + 0.016), motions=[{"shift": way}], friction=friction)
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0, mass_damping=10.0, stiffness_damping=3e-4)
    for layer in range(layers):
        for side in (-1, 1):
            along_x = layer % 2 == 0
            size, place = ((long, thick, thick), (0.0, 0.05 * side)) if along_x else ((thick, long, thick), (0.05 * side, 0.0))
            scene.add(
                name=f"bar{layer + 1}{'ab'[side > 0]}", shape=dict(kind="box", size=size, edge=edge), material=material,
                position=(*place, (layer + 0.5) * thick), integrator="verlet", friction=friction,
            )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The bars are as flat as the anchors demand, and no point is deeper than a hundredth of an edge."""
    found = overlap(sim)
    press = sim.contacts("press").total_force[2]
    gap = sim.points("press")[:, 2].min() - sim.points("floor")[:, 2].max()
    speed = float(abs(sim.state.v).max())
    assert found.worst < 0.01, f"the deepest point is {100 * found.worst:.2f} % of an edge inside another body"
    for body in sim.world.model.bodies.names[2:]:
        x, y, z = sim.centre(body)
        assert max(abs(x), abs(y)) < 0.08 and 0.0 < z < gap, f"{body} has left the anchors"
    return [
        f"The anchors are {1000 * gap:.1f} mm apart; the upper one carries {press:.1f} N.",
        f"The deepest point is {100 * found.worst:.3f} % of an edge inside another body; the fastest moves at {speed:.1e} m/s.",
    ]
