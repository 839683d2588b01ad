"""T6 and T9: a rigid cube slides on a soft bar (7.2 and 7.3, Figs. 7.8 to 7.12 and 7.16).

Sizes, masses, speeds and the material are not published; ours are in scenes/thesis.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.look import draw, from_simulation
from pliant.shop import scenes
from pliant.shop.reproduce import Line
from pliant.shop.reproduce.thesis.watch import CPF, History, jitter, plot
from pliant.shop.scenes.thesis import CUBE, cube_mass, cube_velocity, hooked_pairs

OPEN = "sizes, masses and the speed are not published"


class Slide(History):
    """Also the cube's velocity and the hooked pairs that push."""

    def __init__(self, **values: object) -> None:
        scene = scenes.make("cube-on-bar", **values)
        if scene.bodies[0].friction > 0.0 and isinstance(scene.contact, dict):
            scene.contact["stribeck"] = 0.01  # [m/s] static friction sets in at the end of sliding only, as the thesis has it
        super().__init__(scene.simulate(), "cube", "bar")
        self.speeds: list[float] = []
        self.hooks: list[int] = []

    def look(self, report: object = None) -> None:
        super().look()
        self.speeds.append(float(cube_velocity(self.sim)[0]))
        self.hooks.append(hooked_pairs(self.sim))


def hooks(folder: Path) -> list[Line]:
    """T6: without friction, with redefinition and without."""
    runs = {on: Slide(redefinition=on) for on in (True, False)}
    for on, seen in runs.items():
        seen.run(0.2)
        draw(from_simulation(seen.sim), "body", (640, 480), edges=True).save(folder / f"T6-{'with' if on else 'without'}.png")
        seen.run()
    name = {True: "with redefinition", False: "without"}
    plot(folder / "T6.png", [
        ("", "speed along the bar [m/s]", {name[on]: (h.time, h.speeds) for on, h in runs.items()}),
        ("with redefinition", "force on the cube [N]", {"upwards": (runs[True].time, runs[True].force[:, 2])}),
    ])  # fmt: skip
    kept, lost = runs[True], runs[False]
    weight = 9.81 * cube_mass(kept.sim)
    later = kept.force[kept.after(0.2)][:, 2]
    low, soon = min(lost.speeds), lost.speeds[int(np.searchsorted(lost.time, 0.1))]
    return [
        Line(
            "T6 without redefinition",
            "hooks: the tangential velocity reverses",
            f"{soon:.2f} of 1 m/s after 0.1 s, later down to {low:.2f}",
            low < 0.0 and soon < 0.5,
            f"hooked at once and thrown off sideways, backwards as it falls beside the bar; {OPEN}",
        ),
        Line(
            "T6 with redefinition",
            "tangential velocity does not change notably",
            f"{kept.speeds[-1]:.4f} of 1 m/s left",
            abs(kept.speeds[-1] - 1) < 0.01,
            OPEN,
        ),
        Line("T6 hooked pairs that push, with redefinition", "none", str(max(kept.hooks)), max(kept.hooks) == 0),
        Line(
            "T6 force with redefinition",
            "smooth with small leaps",
            f"leaps of {100 * jitter(later) / weight:.1f} % of the weight, mean {later.mean() / weight:.3f}",
            jitter(later) < 0.2 * weight,
            "small means below 20 % here",
        ),
    ]


def stopped(seen: Slide) -> float:
    """When the cube is below 2 % of its first speed for good [s]; infinite if never."""
    fast = np.flatnonzero(np.abs(seen.speeds) > 0.02 * seen.sim.scene.bodies[1].velocity[0])
    return float(seen.time[fast[-1]]) if len(fast) < len(seen.speeds) else np.inf


def stops(folder: Path) -> list[Line]:
    """T9: two pairs of coefficients; 0.2 m/s is what both published times say. 1000 steps of 1 ms; 20000 are in the slow tests."""
    lines, curves = [], {}
    for (static, sliding), published in (((0.8, 0.1), 0.2), ((0.3, 0.05), 0.35)):
        seen = Slide(friction=sliding, static_friction=static, speed=0.2, dt=0.001, duration=1.0, method=CPF)
        seen.run()
        when, theory = stopped(seen), 0.2 / (9.81 * sliding)
        rest = seen.centre[seen.after(when + 0.2)]
        drift = float(np.abs(rest[-1, 0] - rest[0, 0])) if len(rest) else np.inf
        label = f"mu_s = {static}, mu_d = {sliding}"
        curves[label] = (seen.time, seen.speeds)
        lines.append(
            Line(
                f"T9 {label}: the cube stops at",
                f"{published} s",
                f"{when:.3f} s",
                abs(when - published) < 0.06,
                f"{OPEN}; Coulomb with 0.2 m/s: {theory:.3f} s",
            )
        )
        lines.append(
            Line(
                f"T9 {label}: drift after it stopped",
                "none notable in 20000 steps",
                f"{drift:.1e} m in {len(rest)} steps",
                drift < 1e-4 * CUBE,
                "bar: 1e-4 of the cube; the soft bar still settles",
            )
        )
    plot(folder / "T9.png", [("cube on bar with friction", "speed along the bar [m/s]", curves)])
    return lines
