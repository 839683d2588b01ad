"""What experiments take: CPU seconds of one thread, whole and with --quick, for the time that is told and the order in which they begin.

Measured on a busy machine, the first use of kernels from the cache included. ESTIMATED names those that were not run whole to their end.
"""

from __future__ import annotations

COSTS: dict[str, dict[str, tuple[float, float]]] = {
    "keiser": {
        "Fig3": (9, 4), "Fig5": (29, 14), "Fig6": (150, 8), "Fig7": (8, 2), "Fig8": (17, 12), "Fig9": (38, 38),
    },
    "motheram": {
        "M1": (12, 4), "M2": (4, 3), "M3": (4, 4), "M4": (20, 11), "M5": (4, 3), "Fig1": (6, 6),
        "Fig2": (32, 17), "Fig3": (9, 7), "Fig4": (4, 4),
    },
    "pauly": {
        "Fig1": (6, 4), "Fig3": (1, 1), "Fig4": (2, 2), "Fig8": (34, 16), "Fig9": (4, 3), "Fig10": (8, 1),
        "Fig11": (30, 9),
    },
    "spillmann": {
        "S1": (150, 12), "S2": (160, 12), "S3": (305, 30), "S4": (2000, 75), "S5": (1250, 30), "S6": (17, 17),
        "S7": (105, 20),
    },
    "thesis": {
        "T1": (32, 15), "T2": (1, 1), "T3": (37, 5), "T4": (20, 5), "T5": (24, 3), "T6": (18, 5),
        "T7": (450, 34), "T8": (40, 18), "T9": (420, 11), "T10": (58, 16),
    },
}  # fmt: skip
ESTIMATED = (
    "keiser Fig6", "thesis T7",
)  # fmt: skip
