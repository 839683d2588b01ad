"""Cost per pair of the penalty methods, without detection: category and impulse, discrete and continuous, vertex-face and edge-edge.

    PLIANT_THREADS=1 python benchmarks/penalty.py [pairs]

CPU time of one thread, best of five, in microseconds per pair. The thesis (i7-2630QM) has 7.6 for vertex-face and 6.6 for edge-edge.
"""

from __future__ import annotations

import sys

from pliant.reproduce.thesis.cost import KINDS, measured


def main(count: int = 500_000) -> None:
    print(f"{'us per pair':14}{'category':>10}{'discrete':>10}{'continuous':>12}{'constant':>10}{'ratio':>8}{'total':>8}")
    for name, kind in KINDS.items():
        c = measured(kind, count)
        ratio = c.continuous / c.discrete
        print(f"{name:14}{c.category:10.3f}{c.discrete:10.3f}{c.continuous:12.3f}{c.constant:10.3f}{ratio:8.2f}{c.total:8.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
