"""Connected components of a graph."""

from __future__ import annotations

import numpy as np

from pliant.base import Ints


def labels(count: int, pairs: Ints) -> Ints:
    """The connected component of each of `count` things that pairs (m, 2) of them join, numbered by first appearance, (count,)."""
    from pliant.geometry.union_find import join  # start-up

    out = np.arange(count)
    join(out, np.array(pairs, np.int64, order="C").reshape(-1, 2))
    return out
