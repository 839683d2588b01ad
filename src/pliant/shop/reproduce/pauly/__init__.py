"""Pauly, Pai, Guibas: Quasi-Rigid Objects in Contact. Scans that give way locally, and the pressures between them.

The paper gives numbers of samples and times, but no moduli, radii of the response, masses or steps: those are ours, and shapes made by code
stand for the scans, or scans of your own (`--scan`). Figures 8 and 11 are simulated, the others are static.
"""

from __future__ import annotations

from pliant.shop.reproduce.experiment import Experiment, Figure
from pliant.shop.reproduce.pauly import motion, static

EXPERIMENTS: dict[str, Experiment] = {
    "Fig1": Experiment(
        static.kiss,
        static.KISS,
        (
            Figure(
                "Fig1.png",
                "Crown to crown and nose to nose: both heads, nodes that touch, pressure.",
                "Fig. 1: Igea and Max Planck, sampling and tractions.",
            ),
        ),
        parts=("head", "other-head"),
    ),
    "Fig3": Experiment(
        static.responses, static.RESPONSES, (Figure("Fig3.png", "Both responses over the distance.", "Fig. 3: the same curves."),)
    ),
    "Fig4": Experiment(
        static.volume,
        static.VOLUME,
        (Figure("Fig4.png", "Displacement near the contact, in section.", "Fig. 4: original, plane, ball, both soft."),),
    ),
    "Fig8": Experiment(
        motion.spinning,
        motion.SPINNING,
        (
            Figure(
                "Fig8-dents.png",
                "The incline with all dents kept, coloured by displacement; the ball is glass.",
                "Fig. 8: trajectory and dents.",
            ),
            Figure("Fig8.png", "Way, speed and spin over time.", "Fig. 8: arcs for the spin."),
        ),
    ),
    "Fig9": Experiment(
        static.foot,
        static.FOOT,
        (
            Figure(
                "Fig9.png",
                "The sole: scan, what is below the ground, nodes, displacement, pressure, and on a 37 x 13 sensor.",
                "Fig. 9 a to f: scan to tractions, and measured ones.",
            ),
        ),
        parts=("foot",),
    ),
    "Fig10": Experiment(
        static.joint,
        static.JOINT,
        (Figure("Fig10.png", "Pressure on the ball, from above.", "Fig. 10: tractions on ball and hip."),),
        parts=("ball", "socket"),
    ),
    "Fig11": Experiment(
        motion.room,
        motion.ROOM,
        (
            Figure("Fig11.png", "The head when most nodes touch, coloured by pressure, through the room.", "Fig. 11: Max Headroom."),
            Figure("Fig11-contacts.png", "Nodes in contact and CPU time, step by step.", "no plot."),
        ),
        parts=("head",),
    ),
}
