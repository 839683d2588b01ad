"""The thesis on continuous penalty forces: discrete (DPF) and continuous ones (CPF), sliding, friction and costs (chapter 7, T1 to T10).

Masses, sizes and materials of its soft scenes are not published; ours are in the scenes and said there.
E29, E31 ... are errata of the thesis, listed in theory/penalty 9.
"""

from __future__ import annotations

from pliant.shop.reproduce import Experiment
from pliant.shop.reproduce.thesis import cost, drops, slides

EXPERIMENTS: dict[str, Experiment] = {
    "T1": drops.limits,
    "T2": drops.damping,
    "T3": drops.steps,
    "T4": drops.stiffnesses,
    "T5": drops.depths,
    "T6": slides.hooks,
    "T7": drops.rest,
    "T8": slides.stops_on_slope,
    "T9": slides.stops_on_bar,
    "T10": cost.pairs,
}
