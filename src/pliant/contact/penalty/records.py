"""The enduring set of feature pairs in contact: vertices with faces, edges with edges, vertices with exact shapes; and their last forces.

A record lives from the step in which its features first cross until they are resolved (theory/penalty 3.2, 3.3). Between steps it is in
the method's memory, as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import Memory
from pliant.detect.keys import find, recalled

VERTEX_FACE, EDGE_EDGE, VERTEX_SHAPE = 0, 1, 2


class Columns(NamedTuple):
    """What kernels read of records."""

    kind: Ints
    a: Ints  # feature of A
    b: Ints  # feature of B
    corners: Ints
    sigma: Floats
    hooked: np.ndarray
    before: Ints


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
    sigma: Floats  # (r,) 1 or -1, as long as the record lives: which side of N is outside, of edges and of open surfaces
    hooked: np.ndarray  # (r,) bool: category at the last look (theory/penalty 7.2)
    active: np.ndarray  # (r,) bool: pushes; False for candidates (theory/penalty 7.4) and skipped hooked pairs
    stiffness: Floats  # [N/m] (r,) in the last step, from which it changes slowly; 0: not chosen yet
    stretch: Floats  # [m] (r, 3) of the tangential anchor
    before: Ints  # (r,) the face it was redefined from, -1 for none; -2 - f: held outside the rim, left by face f (life_of_records.py)
    age: Ints  # (r,) steps

    def __len__(self) -> int:
        return len(self.kind)

    @staticmethod
    def new(kind: int, a: Ints, b: Ints, feature_a: Ints, feature_b: Ints, corners: Ints, weights: Floats, sigma: Floats) -> Records:
        """Regular, active, without a past."""
        r = len(a)
        return Records(
            np.full(r, kind), a, b, feature_a, feature_b, corners, weights, sigma, np.zeros(r, bool), np.ones(r, bool), np.zeros(r),
            np.zeros((r, 3)), np.full(r, -1, np.int64), np.zeros(r, np.int64),
        )  # fmt: skip

    @staticmethod
    def none() -> Records:
        ids = np.zeros(0, np.int64)
        return Records.new(VERTEX_FACE, ids, ids, ids, ids, np.zeros((0, 4), np.int64), np.zeros((0, 4)), np.zeros(0))

    @staticmethod
    def recalled(memory: Memory) -> Records:
        """Those of the last step."""
        return Records(**{name: memory[name].copy() for name in NAMES}) if "kind" in memory else Records.none()

    def remembered(self) -> Memory:
        """For the memory of the method."""
        return {name: getattr(self, name) for name in NAMES}

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

    @property
    def columns(self) -> Columns:
        return Columns(self.kind, self.feature_a, self.feature_b, self.corners, self.sigma, self.hooked, self.before)

    def places_in(self, source: Records) -> Ints:
        """Place in the source of the record with the same key, -1 for none, (r,)."""
        if len(source) == 0 or len(self) == 0:
            return np.full(len(self), -1, np.int64)
        order = np.argsort(source.key, kind="stable")
        at = find(source.key[order], self.key)
        return np.where(at >= 0, order[at], -1)

    def values_of(self, source: Records, values: np.ndarray) -> np.ndarray:
        """For each record the value of the one in the source with the same key, else zero."""
        order = np.argsort(source.key, kind="stable")
        return recalled(source.key[order], values[order], self.key)


NAMES = tuple(f.name for f in fields(Records))


@dataclass
class Forces:
    """Forces of the records of a step, sorted by their keys: the sweeps of the next one start from them, so bodies at rest need few."""

    key: Ints  # (r,)
    normal: Floats  # [N] (r,) along the normal
    friction: Floats  # [N] (r, 3)

    @staticmethod
    def none() -> Forces:
        return Forces(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)))

    @staticmethod
    def recalled(memory: Memory) -> Forces:
        """As remembered."""
        return Forces(memory["last_key"], memory["last_normal"], memory["last_friction"]) if "last_key" in memory else Forces.none()

    def remembered(self) -> Memory:
        """For the memory of the method."""
        order = np.argsort(self.key, kind="stable")
        return {"last_key": self.key[order], "last_normal": self.normal[order], "last_friction": self.friction[order]}

    def of(self, records: Records) -> tuple[Floats, Floats]:
        """Forces of the given records, zero for those that had none: (r,), (r, 3)."""
        return recalled(self.key, self.normal, records.key), recalled(self.key, self.friction, records.key)
