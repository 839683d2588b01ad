"""T7: a soft bunny in a rigid bowl (7.2, Figs. 7.13 and 7.14).

Masses, sizes and the material are not published; ours are in scenes/thesis.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.look import draw, from_simulation
from pliant.shop import scenes
from pliant.shop.reproduce import Line
from pliant.shop.reproduce.thesis.watch import History, plot
from pliant.shop.scenes.thesis import BUNNY

OPEN = "height, masses and material are not published; ours falls lower and is damped"


class Fall(History):
    """Also inverted elements and the speed of the bunny."""

    def __init__(self, **values: object) -> None:
        super().__init__(scenes.make("bunny-in-bowl", **values).simulate(), "bunny", "bowl")
        self.inverted: list[int] = []
        self.speeds: list[float] = []

    def look(self, report: object = None) -> None:
        super().look()
        state = self.sim.state
        self.inverted.append(int(np.count_nonzero(self.sim.world.model.groups[0].stretch(state.x) <= 0.0)))
        self.speeds.append(float(np.sqrt(np.mean(np.sum(state.v**2, axis=1)))))


def rest(folder: Path) -> list[Line]:
    """T7: comes to rest; inverted elements at impact, with the automatic stiffness and with a tenth of it."""
    runs = {s: Fall(s=s, dt=0.002, duration=1.0) for s in (0.5, 0.05)}
    for s, seen in runs.items():
        for k, time in enumerate((0.1, 0.2, 1.0)):
            seen.run(time)
            draw(from_simulation(seen.sim), "body", (640, 480)).save(folder / f"T7-s{s}-{k}.png")
    plot(folder / "T7.png", [
        ("", "speed [m/s]", {f"s = {s}": (h.time, h.speeds) for s, h in runs.items()}),
        ("", "deepest contact [mm]", {f"s = {s}": (h.time, 1000 * h.deepest) for s, h in runs.items()}),
    ])  # fmt: skip
    stiff, soft = runs[0.5], runs[0.05]
    count = len(stiff.sim.world.model.groups[0].nodes)
    moving = np.flatnonzero(np.array(stiff.speeds) > 0.02)
    when = float(stiff.time[moving[-1]])
    most = {s: max(h.inverted) for s, h in runs.items()}
    depth = {s: 100 * float(h.deepest.max()) / BUNNY for s, h in runs.items()}
    return [
        Line("T7 slower than 20 mm/s after", "about 2 s", f"{when:.2f} s", when < 0.95, OPEN),
        Line(
            "T7 inverted elements at impact",
            "some",
            f"{most[0.5]} of {count}",
            most[0.5] > 0,
            "the stable neo-Hookean material of ours resists inversion",
        ),
        Line("T7 with a tenth of the stiffness", "fewer", f"{most[0.05]} of {count}", most[0.05] <= most[0.5]),
        Line(
            "T7 deepest with a tenth of the stiffness",
            "deeper",
            f"{depth[0.05]:.1f} % of the body instead of {depth[0.5]:.1f} %",
            float(soft.deepest.max()) > float(stiff.deepest.max()),
        ),
    ]
