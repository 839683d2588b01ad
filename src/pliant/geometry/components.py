"""Connected components of a graph. In a file of its own: machine code follows edits of the files that kernels are taken from."""

from __future__ import annotations

import numpy as np

from pliant.base import Ints
from pliant.kernels import contiguous, kernel


def labels(count: int, pairs: Ints) -> Ints:
    """The connected component of each of `count` things that pairs (m, 2) of them join, numbered by first appearance, (count,)."""
    out = np.arange(count)
    _join(out, contiguous(pairs, np.int64).reshape(-1, 2))
    return out


@kernel
def _join(out, pairs):  # type: ignore[no-untyped-def]
    """Trees of things by Rem's rule: each points to a smaller one of its component, the smallest to itself; climbing shortens them."""
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        while out[a] != out[b]:
            if out[a] < out[b]:
                a, b = b, a
            above = out[a]
            out[a] = out[b]
            if above == a:
                break
            a = above
    number = 0
    for i in range(len(out)):
        if out[i] == i:
            out[i] = number
            number += 1
        else:
            out[i] = out[out[i]]  # a smaller one, which has its number already
