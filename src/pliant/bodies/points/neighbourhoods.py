r"""Which phyxels see which, with what weight, and the moment matrices of moving least squares (theory/point-bodies 3.1, 3.3).

    r_i = mean distance to ten neighbours,  h_i = c r_i,  h_ij = (h_i + h_j) / 2,  w_ij = (1 - |X_ij|^2 / h_ij^2)^3 / h_ij^3
    A_i = sum_j w_ij X_ij X_ij^T,  X_ij = X_j - X_i

The radius h_ij is the mean of both (the source takes h_i), so every pair is in both lists with one weight. Then the force of a pair can be
written so that it is exactly opposite for the two, see `forces`.

A neighbourhood that is flat or a line has a singular A_i: its radius grows by 1.2 up to three times; if that does not help, the
pseudo-inverse leaves the flat directions out, and T_i is the projector on those that remain (1 where all do). A phyxel without neighbours
has T = 0: it flies on its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.components import labels
from pliant.geometry.near import kd_tree

NEAREST = 10  # neighbours that make the mean distance
FLAT = 1e-4  # ratio of the eigenvalues of A below which a neighbourhood is flat
WORN = 0.03  # the same for one that has lost neighbours: nearly flat ones would be stiff beyond all others
GROW, MOST_GROWTH = 1.2, 3.0
CLOSE = 0.5  # mean distances: two phyxels that have flowed nearer than this hold each other as if they were that far apart
CRUMB = 10  # phyxels that a part of a body has at least: fewer are no body, they have not even the neighbours that make a mean distance
REACH = 2.0  # radii at the start: phyxels further apart than this never become neighbours


@dataclass(frozen=True)
class Allowed:
    """Pairs of phyxels of a body that may be neighbours once it flows or breaks."""

    origin: Floats  # [m] (m, 3) where the phyxels were at the start
    radius: Floats  # [m] (m,) their radii then
    cut: Ints  # (k, 2) pairs that were cut, lower number first

    def keeps(self, pairs: Ints) -> np.ndarray:
        """Which pairs (lower number first) stay: not cut, and not far apart at the start, so that parts that touch do not grow together."""
        a, b = pairs.T
        distance = np.linalg.norm(self.origin[b] - self.origin[a], axis=1)
        count = len(self.origin)
        was_cut = np.isin(a * count + b, self.cut[:, 0] * count + self.cut[:, 1])
        return (distance < REACH * 0.5 * (self.radius[a] + self.radius[b])) & ~was_cut


@dataclass
class Neighbourhoods:
    """Neighbours of all phyxels (CSR, in order of their numbers) and what depends on rest positions alone."""

    start: Ints  # (m + 1,)
    other: Ints  # (s,)
    weight: Floats  # (s,) w_ij
    near: Floats  # (s,) w_ij / |X_ij|^2, or less where two phyxels are all but at one place
    inverse: Floats  # (m, 9) A^-1
    spread: Floats  # (m, 9) sum_j near_ij X_ij X_ij^T
    projector: Floats  # (m, 9) T
    total: Floats  # (m,) sum_j w_ij
    held: Floats  # (m,) 1, or 0 where F leaves out directions in which neighbours lie: hourglass forces would pull these flat
    radius: Floats  # [m] (m,) h
    flat: int  # how many neighbourhoods stayed singular


def neighbourhoods(rest: Floats, factor: float, allowed: Allowed | None = None) -> Neighbourhoods:
    """The neighbourhoods of the phyxels (m, 3) of one body with c = factor; `allowed` says which pairs may see each other."""
    radius = factor * mean_distance(rest)
    limit = MOST_GROWTH * radius
    if allowed is not None:  # what is drawn out loses neighbours and parts in the end
        radius = np.minimum(radius, allowed.radius)
        limit, most = radius.copy(), 2.0 * float(np.linalg.norm(np.ptp(rest, axis=0)))  # crumbs look through all of their body
    while True:
        start, own, other = _pairs(rest, radius, allowed)
        if allowed is not None:  # but not in crumbs: these look further until they see the rest
            alone = _in_crumbs(own, other, len(rest)) & (radius < most)
            if alone.any():
                limit[alone] = radius[alone] = np.minimum(GROW * radius, most)[alone]
                continue
        found = _moments(rest, start, own, other, radius, CLOSE / factor)
        size = np.linalg.eigvalsh(found.inverse.reshape(-1, 3, 3))  # still A itself
        flat = (size[:, 0] < FLAT * size[:, 2]) | (size[:, 2] == 0.0)
        grown = np.where(flat, np.minimum(radius * GROW, limit), radius)
        if not (grown > radius * (1.0 + 1e-9)).any():
            return _inverted(found, FLAT if allowed is None else WORN)
        radius = grown


def _in_crumbs(own: Ints, other: Ints, count: int) -> np.ndarray:
    """Which phyxels are in parts of less than `CRUMB` of them, (m,) bool; none where all of the body is no more than that."""
    label = labels(count, np.stack([own, other], axis=1))
    size = np.bincount(label)[label]
    return (size < CRUMB) & (size < count)


def joined(parts: list[Neighbourhoods]) -> Neighbourhoods:
    """The neighbourhoods of several bodies as one."""
    first = np.cumsum([0, *(len(p.radius) for p in parts)])
    slots = np.cumsum([0, *(len(p.other) for p in parts)])
    values = {
        f.name: np.ascontiguousarray(np.concatenate([getattr(p, f.name) for p in parts]))
        for f in fields(Neighbourhoods)
        if f.name not in ("start", "other", "flat")
    }
    return Neighbourhoods(
        start=np.concatenate([np.zeros(1, np.int64), *(p.start[1:] + s for p, s in zip(parts, slots, strict=False))]),
        other=np.concatenate([p.other + f for p, f in zip(parts, first, strict=False)]),
        flat=sum(p.flat for p in parts),
        **values,
    )


def mean_distance(points: Floats) -> Floats:
    """r of each phyxel [m]: mean distance to its ten nearest."""
    count = min(NEAREST, len(points) - 1)
    if count < 1:
        return np.ones(len(points))
    distance = kd_tree(points).query(points, k=count + 1, workers=1)[0][:, 1:]
    if (distance[:, 0] == 0.0).any():
        twin = int(np.flatnonzero(distance[:, 0] == 0.0)[0])
        raise PliantError(f"phyxel {twin} lies on another one: no two may be at one place; remove one of them.")
    return distance.mean(axis=1)


def _pairs(rest: Floats, radius: Floats, allowed: Allowed | None) -> tuple[Ints, Ints, Ints]:
    """CSR of all ordered pairs nearer than the mean of their radii."""
    pairs = np.zeros((0, 2), np.int64)
    if len(rest) > 1:
        pairs = kd_tree(rest).query_pairs(float(radius.max()), output_type="ndarray").astype(np.int64)
        distance = np.linalg.norm(rest[pairs[:, 1]] - rest[pairs[:, 0]], axis=1)
        pairs = pairs[distance < 0.5 * (radius[pairs[:, 0]] + radius[pairs[:, 1]]) * (1.0 - 1e-12)]
    if allowed is not None:
        pairs = pairs[allowed.keeps(pairs)]
    own, other = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((other, own))
    own, other = np.ascontiguousarray(own[order]), np.ascontiguousarray(other[order])
    start = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=len(rest)))]).astype(np.int64)
    return start, own, other


def _moments(rest: Floats, start: Ints, own: Ints, other: Ints, radius: Floats, close: float) -> Neighbourhoods:
    """Weights and moments; `inverse` holds A itself. Pairs nearer than this part of their radius are not held more stiffly for it."""
    m = len(rest)
    X = rest[other] - rest[own]
    square = np.einsum("si,si->s", X, X)
    h = 0.5 * (radius[own] + radius[other])
    weight = (1.0 - square / (h * h)) ** 3 / h**3
    near = weight / np.maximum(square, (close * h) ** 2)
    outer = (X[:, :, None] * X[:, None, :]).reshape(-1, 9)
    A, B = np.empty((m, 9)), np.empty((m, 9))
    for k in range(9):
        A[:, k] = np.bincount(own, weight * outer[:, k], minlength=m)
        B[:, k] = np.bincount(own, near * outer[:, k], minlength=m)
    total = np.bincount(own, weight, minlength=m).astype(np.float64)
    return Neighbourhoods(start, other, weight, near, A, B, np.tile(np.eye(3).ravel(), (m, 1)), total, np.ones(m), radius, 0)


def _inverted(found: Neighbourhoods, flat: float) -> Neighbourhoods:
    """A replaced by its inverse, without flat directions."""
    values, vectors = np.linalg.eigh(found.inverse.reshape(-1, 3, 3))
    kept = values > flat * values[:, 2:]
    kept &= values[:, 2:] > 0.0
    shares = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    singular = ~kept.all(axis=1)
    found.inverse = np.ascontiguousarray(((vectors * shares[:, None, :]) @ np.swapaxes(vectors, 1, 2)).reshape(-1, 9))
    found.projector[singular] = ((vectors * kept[:, None, :]) @ np.swapaxes(vectors, 1, 2)).reshape(-1, 9)[singular]
    found.flat = int(singular.sum())
    thick = (~kept & (values > FLAT * values[:, 2:])).any(axis=1)
    found.held[thick] = 0.0
    return found
