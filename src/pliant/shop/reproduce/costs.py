"""What experiments take: CPU seconds of one thread, whole and with --quick, for the time that is told and the order in which they begin.

Measured on a busy machine, the first use of kernels from the cache included; beside ten processes all take about twice as much.
"""

from __future__ import annotations

COSTS: dict[str, dict[str, tuple[float, float]]] = {
    "keiser": {
        "Fig3": (9, 5), "Fig5": (29, 15), "Fig6": (200, 15), "Fig7": (8, 4), "Fig8": (17, 15), "Fig9": (40, 40),
    },
    "motheram": {
        "M1": (12, 9), "M2": (4, 4), "M3": (4, 4), "M4": (20, 11), "M5": (4, 3), "Fig1": (6, 5),
        "Fig2": (68, 15), "Fig3": (9, 6), "Fig4": (4, 4),
    },
    "pauly": {
        "Fig1": (6, 4), "Fig3": (1, 1), "Fig4": (2, 2), "Fig8": (61, 20), "Fig9": (4, 4), "Fig10": (8, 3),
        "Fig11": (30, 10),
    },
    "spillmann": {
        "S1": (150, 11), "S2": (160, 10), "S3": (400, 22), "S4": (1540, 74), "S5": (770, 9), "S6": (17, 5),
        "S7": (135, 11), "S8": (146, 38),
    },
    "thesis": {
        "T1": (32, 18), "T2": (1, 1), "T3": (37, 6), "T4": (20, 7), "T5": (24, 5), "T6": (18, 6),
        "T7": (300, 13), "T8": (40, 15), "T9": (225, 14), "T10": (58, 5),
    },
}  # fmt: skip
