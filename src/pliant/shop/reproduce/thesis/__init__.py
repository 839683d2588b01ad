"""The thesis on continuous penalty forces: discrete (DPF) and continuous ones (CPF), sliding, friction and costs (chapter 7, T1 to T10).

Masses, sizes and materials of its soft scenes are not published; ours are in the scenes and said there.
E29, E31 ... are errata of the thesis, listed in theory/penalty 9.
"""

from __future__ import annotations

from pliant.shop.reproduce.experiment import Experiment, Figure
from pliant.shop.reproduce.thesis import bar, bowl, cost, particle, slides

EXPERIMENTS: dict[str, Experiment] = {
    "T1": Experiment(
        particle.limits, particle.LIMITS, (Figure("T1.png", "Height over time in the four cases.", "Fig. 7.1: the same four plots."),)
    ),
    "T2": Experiment(
        particle.damping, particle.DAMPING, (Figure("T2.png", "Height, and force of the first collision.", "Fig. 7.2 a and b."),)
    ),
    "T3": Experiment(
        bar.steps,
        bar.STEPPED,
        (
            Figure(
                "T3-picture.png",
                "The bar on the cube at the end, DPF and CPF, coloured by pressure.",
                "Fig. 7.3: bar on cube, as a drawing.",
            ),
            Figure(
                "T3.png", "Force on the bar over time, for each step.", "Fig. 7.4: six plots, DPF 0.007 to 0.009 s, CPF 0.010 to 0.012 s."
            ),
            Figure("T3-jitter.png", "Jitter over the step; 2 % counts as smooth.", "seen by eye in Fig. 7.4.", whole=True),
        ),
    ),
    "T4": Experiment(
        bar.stiffnesses,
        bar.STIFF,
        (
            Figure("T4.png", "Force on the bar over time.", "Fig. 7.5: four plots."),
            Figure("T4-depth.png", "Mean of the summed depth over the step, and its ratio.", "Fig. 7.6: the same means."),
            Figure("T4-depth-over-time.png", "Summed depth over time.", "not shown."),
        ),
    ),
    "T5": Experiment(
        bar.depths,
        bar.DEEP,
        (
            Figure("T5.png", "Summed depth over time, for each stiffness.", "Fig. 7.7: CPF up to 8000 N/m, DPF up to 3000 N/m."),
            Figure("T5-jitter.png", "Jitter over the stiffness.", "seen by eye in Fig. 7.7.", whole=True),
        ),
    ),
    "T6": Experiment(
        slides.hooks,
        slides.HOOKS,
        (
            Figure(
                "T6-pictures.png",
                "The cube after 0.1, 0.6 and 1.05 s with redefinition (above) and without (below), with feature pairs by state.",
                "Figs. 7.8 to 7.11: active pairs, those that hold the cube back in orange.",
            ),
            Figure("T6.png", "Speed along the bar, force, and tilt as the cube tips over the end.", "Fig. 7.12: the force."),
        ),
    ),
    "T7": Experiment(
        bowl.rest,
        bowl.FELL,
        (
            Figure(
                "T7-pictures.png",
                "From below, impulses to masses (above) and through the solve (below): inverted elements (red) after 0.16 s, "
                "pressure then, pressure at the end.",
                "Figs. 7.13 and 7.14: the bunny falls, some elements are inverted.",
            ),
            Figure("T7.png", "Speed, deepest contact and inverted elements over time.", "no plot."),
        ),
        parts=("bunny",),
    ),
    "T8": Experiment(
        slides.stops_on_slope,
        slides.SLOPE,
        (
            Figure(
                "T8.png",
                "Way and speed over time for both coefficients.",
                "Fig. 7.15: the same, the block slides back with 0.3 and stays with 0.4.",
            ),
        ),
    ),
    "T9": Experiment(
        slides.stops_on_bar,
        slides.STOPS,
        (
            Figure(
                "T9-pictures.png",
                "When it should have stopped (left) and at the end (right), for both pairs of coefficients.",
                "Fig. 7.16 a to d.",
            ),
            Figure("T9.png", "Speed and way along the bar.", "no plot."),
        ),
    ),
    "T10": Experiment(
        cost.pairs,
        cost.COSTS,
        (
            Figure("T10-pair.png", "What one pair costs, there and here.", "Fig. 7.17."),
            Figure("T10-impulse.png", "What one impulse costs, there and here.", "Fig. 7.18."),
        ),
    ),
}
