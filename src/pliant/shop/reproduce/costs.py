"""What experiments take: CPU seconds of one thread, whole and with --quick, for the time that is told and the order in which they begin.

Measured on a busy machine, the first use of kernels from the cache included; ESTIMATED names those that were not run to their end.
"""

from __future__ import annotations

COSTS: dict[str, dict[str, tuple[float, float]]] = {
    "keiser": {
        "Fig3": (60, 4), "Fig5": (60, 14), "Fig6": (60, 8), "Fig7": (60, 2), "Fig8": (60, 12), "Fig9": (60, 38),
    },
    "motheram": {
        "M1": (60, 4), "M2": (60, 3), "M3": (60, 4), "M4": (60, 11), "M5": (60, 3), "Fig1": (60, 6),
        "Fig2": (60, 17), "Fig3": (60, 7), "Fig4": (60, 4),
    },
    "pauly": {
        "Fig1": (60, 4), "Fig3": (60, 1), "Fig4": (60, 2), "Fig8": (60, 16), "Fig9": (60, 3), "Fig10": (60, 1),
        "Fig11": (60, 9),
    },
    "spillmann": {
        "S1": (60, 12), "S2": (60, 12), "S3": (60, 30), "S4": (75, 75), "S5": (60, 30), "S6": (60, 20),
        "S7": (60, 20),
    },
    "thesis": {
        "T1": (60, 15), "T2": (60, 1), "T3": (60, 5), "T4": (60, 5), "T5": (60, 3), "T6": (60, 5),
        "T7": (60, 20), "T8": (60, 18), "T9": (60, 11), "T10": (60, 16),
    },
}  # fmt: skip
ESTIMATED = (
    "keiser Fig3", "keiser Fig5", "keiser Fig6", "keiser Fig7", "keiser Fig8", "keiser Fig9",
    "motheram M1", "motheram M2", "motheram M3", "motheram M4", "motheram M5", "motheram Fig1",
    "motheram Fig2", "motheram Fig3", "motheram Fig4", "pauly Fig1", "pauly Fig3", "pauly Fig4",
    "pauly Fig8", "pauly Fig9", "pauly Fig10", "pauly Fig11", "spillmann S1", "spillmann S2",
    "spillmann S3", "spillmann S4", "spillmann S5", "spillmann S6", "spillmann S7", "thesis T1",
    "thesis T2", "thesis T3", "thesis T4", "thesis T5", "thesis T6", "thesis T7",
    "thesis T8", "thesis T9", "thesis T10",
)  # fmt: skip
