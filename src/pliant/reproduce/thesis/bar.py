"""T3, T4 and T5: a soft bar on a rigid cube (7.1.2, Figs. 7.4 to 7.7).

Masses, sizes and the material are not published; ours are in scenes/bar_on_cube.py, with the weight that the published depths say. Jitter is the root
mean square of the second difference of the force after 0.8 s, when the bar only sways, as a part of the bar's weight.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant import scenes
from pliant.reproduce import Line
from pliant.reproduce.thesis.watch import CPF, DPF, SHORT, History, jitter, plot

LATER = 0.8  # [s]
ROUGH = 0.1  # of the weight: jitter that is seen in the plot


def dropped(method: str, dt: float, stiffness: float, duration: float = 1.5) -> History:
    """The bar dropped on the cube, watched."""
    sim = scenes.make("bar-on-cube", method=method, dt=dt, stiffness=stiffness, duration=duration).simulate()
    return History(sim, "bar", "cube").run()


def roughness(seen: History) -> float:
    """Jitter of the later force, as a part of the bar's weight."""
    weight = 9.81 * float(seen.sim.world.model.nodes.mass.sum())
    return jitter(seen.force[seen.after(LATER)]) / weight


def mean_depth(seen: History) -> float:
    """Summed depth, its mean over the later steps [m]."""
    return float(seen.depth[seen.after(LATER)].mean())
