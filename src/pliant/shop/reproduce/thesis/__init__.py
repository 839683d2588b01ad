"""The thesis on continuous penalty forces: discrete (DPF) and continuous ones (CPF), sliding, friction and costs (chapter 7, T1 to T10).

Masses, sizes and materials of its soft scenes are not published; ours are in the scenes and said there.
E29, E31 ... are errata of the thesis, listed in docs/reproduce-thesis.md.
"""

from __future__ import annotations

from pliant.shop.reproduce import Experiment
from pliant.shop.reproduce.thesis import bar, bunny, cost, particle, sliding, slope

EXPERIMENTS: dict[str, Experiment] = {
    "T1": particle.limits,
    "T2": particle.damping,
    "T3": bar.steps,
    "T4": bar.stiffnesses,
    "T5": bar.depths,
    "T6": sliding.hooks,
    "T7": bunny.rest,
    "T8": slope.stops,
    "T9": sliding.stops,
    "T10": cost.pairs,
}
