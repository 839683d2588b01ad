"""A soft cube is pressed between two stiff bars that cross each other."""

from __future__ import annotations

from typing import Any

from pliant.measure.overlap import overlap
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(
    squeeze: float = 0.18, edge: float = 0.025, soft: float = 3e4, stiff: float = 5e6, law: str = "stvk", friction: float = 0.3,
    dt: float = 0.0001, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """squeeze: part of the cube's height by which the ends of the upper bar come down; edge [m]; soft, stiff: moduli [Pa].

    A cube of 0.2 m and 500 kg/m^3: rho g H / E = 0.033; bars of 2000 kg/m^3. Rayleigh damping of
    10 / s and 1 ms (cube) or 0.04 ms (bars) calms them.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="A stiff and a soft body, St. Venant-Kirchhoff's law.")
    side, thick = 0.2, 0.05
    bar = dict(law=law, youngs_modulus=stiff, poisson_ratio=0.3, density=2000.0, mass_damping=10.0, stiffness_damping=4e-5)
    common: dict[str, Any] = dict(integrator="verlet", friction=friction)
    scene.add(
        name="lower", shape=dict(kind="box", size=(0.4, thick, thick), edge=edge), position=(0, 0, -0.5 * thick), material=bar,
        fixed=[{"side": "-x"}, {"side": "+x"}], **common,
    )  # fmt: skip
    scene.add(
        name="cube", shape=dict(kind="box", size=(side, side, side), edge=edge), position=(0, 0, 0.5 * side),
        material=dict(law=law, youngs_modulus=soft, poisson_ratio=0.3, density=500.0, mass_damping=10.0, stiffness_damping=1e-3), **common,
    )  # fmt: skip
    way = {"times": [0.0, 0.05 * duration, 0.6 * duration], "values": [[0, 0, 0], [0, 0, 0], [0, 0, -squeeze * side]]}
    scene.add(
        name="upper", shape=dict(kind="box", size=(thick, 0.4, thick), edge=edge), position=(0, 0, side + 0.5 * thick + 0.001),
        material=bar, motions=[{"where": {"side": s}, "shift": way} for s in ("-y", "+y")], **common,
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The bars bend little, the cube a lot, and no point is deeper than a hundredth of an edge."""
    found = overlap(sim)
    lower, upper = sim.contacts("lower", "cube").total_force[2], sim.contacts("upper", "cube").total_force[2]
    waist = sim.points("upper")[:, 2].min() - sim.points("lower")[:, 2].max()
    sag = -float(sim.centre("lower")[2]) - 0.025
    assert found.worst < 0.01, f"the deepest point is {100 * found.worst:.2f} % of an edge inside another body"
    assert waist > 0.0, "the bars have passed through the cube"
    assert abs(sim.centre("cube")[0]) < 0.05 and abs(sim.centre("cube")[1]) < 0.05, "the cube has slipped out"
    return [
        f"The cube is {1000 * waist:.1f} mm thick between the bars; they press with {-lower:.1f} N and {upper:.1f} N.",
        f"The lower bar sags by {1000 * sag:.2f} mm; the deepest point is {100 * found.worst:.3f} % of an edge inside another body.",
    ]
