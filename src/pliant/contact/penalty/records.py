"""The enduring set of feature pairs in contact: vertices with faces, edges with edges, vertices with exact shapes.

A record lives from the step in which its features first cross until they are resolved (7.2 of the methods page). It is kept
in the method's memory between steps, as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pliant.base import Floats, Ints

VERTEX_FACE, EDGE_EDGE, VERTEX_SHAPE = 0, 1, 2


@dataclass
class Records:
    """One row per pair of features; A owns the vertex or the first edge."""

    kind: Ints  # (r,) VERTEX_FACE, EDGE_EDGE or VERTEX_SHAPE
    a: Ints  # (r,) body
    b: Ints  # (r,) body
    feature_a: Ints  # (r,) skin point, or edge
    feature_b: Ints  # (r,) face, edge, or -1 for an exact shape
    corners: Ints  # (r, 4) skin points: vertex and face (p, a, b, c), two edges (a, b, c, d), vertex and anchor (p, o, o, o)
    weights: Floats  # (r, 4) signed, sum zero: (1, -wa, -wb, -wc), (1 - s, s, t - 1, -t), (1, -1, 0, 0)
    sigma: Floats  # (r,) 1 or -1: which side of N is outside, for edges; kept for life
    hooked: np.ndarray  # (r,) bool: category at the last look (11.2)
    active: np.ndarray  # (r,) bool: pushes; False for candidates (11.4) and skipped hooked pairs
    stiffness: Floats  # [N/m] (r,) frozen while the record endures
    stretch: Floats  # [m] (r, 3) of the tangential anchor
    before: Ints  # (r,) the face it was redefined from, -1 for none: guards against going back and forth
    age: Ints  # (r,) steps

    def __len__(self) -> int:
        return len(self.kind)

    @staticmethod
    def none() -> Records:
        ids, flags = np.zeros(0, np.int64), np.zeros(0, bool)
        return Records(
            ids, ids, ids, ids, ids, np.zeros((0, 4), np.int64), np.zeros((0, 4)), np.zeros(0), flags, flags,
            np.zeros(0), np.zeros((0, 3)), ids, ids,
        )  # fmt: skip

    def select(self, rows: np.ndarray) -> Records:
        """Some rows, by mask or index."""
        return Records(**{name: getattr(self, name)[rows] for name in NAMES})

    @staticmethod
    def joined(parts: list[Records]) -> Records:
        return Records(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in NAMES})

    @property
    def key(self) -> Ints:
        """(r,) kind and both features in one number: what makes a record the same in the next step."""
        return self.kind << 60 | self.feature_a << 30 | np.where(self.kind == VERTEX_SHAPE, self.b, self.feature_b)


NAMES = tuple(f.name for f in fields(Records))
