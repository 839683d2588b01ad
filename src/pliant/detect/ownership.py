"""Which face owns which vertex and edge: each feature one of the faces around it, dealt out evenly.

Even shares (two edges and one vertex a face on a closed surface) let pairs of faces be tested in loops of fixed length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Ints
from pliant.kernels import kernel

TRIES = 64  # features passed on to even out one face


@dataclass
class Slots:
    """The slots of all faces one after the other, as many for each."""

    feature: Ints  # (m w,) -1 in empty slots
    corners: Ints  # (m w, k) its points, -1 in empty slots


@dataclass
class Shares:
    """Features numbered in the order of the faces, and the slots of each face."""

    corners: Ints  # (n, k) points of each feature, ascending
    slots: Ints  # (m, fair or 3) features each face owns, -1 in empty slots

    @staticmethod
    def deal(sides: Ints, fair: int) -> Shares:
        """From the features of each face as points, (m, 3, k): `fair` slots a face if that is enough, else three."""
        flat = np.sort(sides, axis=2).reshape(-1, sides.shape[2])
        if len(flat) == 0:
            return Shares(flat, np.zeros((0, fair), np.int64))
        key = flat[:, 0] * (flat.max() + 1) + flat[:, -1]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        feature = rank[inverse.reshape(-1)]
        owner = _owners(feature, len(first), fair)
        return Shares(np.ascontiguousarray(flat[np.sort(first)]), _slots(owner, len(sides), fair))

    def arranged(self, order: Ints) -> Slots:
        """Slots of the faces in another order."""
        feature = self.slots[order].reshape(-1)
        corners = np.full((len(feature), self.corners.shape[1]), -1, np.int64)
        corners[feature >= 0] = self.corners[feature[feature >= 0]]
        return Slots(feature, corners)


def _owners(feature: Ints, count: int, fair: int) -> Ints:
    """The owning face of each feature; `feature` has three entries per face."""
    around = np.argsort(feature, kind="stable") // 3
    start = np.searchsorted(np.sort(feature), np.arange(count + 1))
    owner = np.full(count, -1, np.int64)
    _deal(feature, around, start, fair, owner)
    return owner


def _slots(owner: Ints, faces: int, fair: int) -> Ints:
    order = np.argsort(owner, kind="stable")
    load = np.bincount(owner, minlength=faces)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(load) - load, load)
    slots = np.full((faces, fair if load.max() <= fair else 3), -1, np.int64)
    slots[owner[order], place] = order
    return slots


@kernel
def _deal(feature, around, start, fair, owner):  # type: ignore[no-untyped-def]
    """To the face around it that has least; a face with more than its fair share then passes on, along a path, what it can."""
    load = np.zeros(len(feature) // 3, np.int64)
    for e in range(len(owner)):
        best = around[start[e]]
        for k in range(start[e] + 1, start[e + 1]):
            if load[around[k]] < load[best]:
                best = around[k]
        owner[e] = best
        load[best] += 1
    for face in range(len(load)):
        f, received = face, -1
        for _ in range(TRIES):
            if load[f] <= fair:
                break
            gift, to = -1, -1
            for c in range(3):
                e = feature[3 * f + c]
                if owner[e] != f or e == received:
                    continue
                for k in range(start[e], start[e + 1]):
                    if around[k] != f and (to < 0 or load[around[k]] < load[to]):
                        gift, to = e, around[k]
            if gift < 0:
                break
            owner[gift] = to
            load[f] -= 1
            load[to] += 1
            f, received = to, gift
