"""Sharp edges of sampled surfaces: the sides that meet there, each fitted alone (theory/point-surfaces 5.8).

One fit over both sides of an edge is a compromise: it rounds the edge and bulges beside it. So a sample takes part in the fits of its own
side only, and next to an edge the surface is that of the solid between the sides: the intersection of what lies behind each where they
meet outwards, the union where they meet inwards [Pauly 2003].

Normals that differ propose sides; rough normals do as well. Whether there is an edge is decided by the samples themselves: each is left
out in turn and foretold by those around it, by one fit and by the sides (cross-validation, [Stone 1974]).

Samples on the edge itself, whose normals are means of both sides, take part in none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.sharp_edges import SHARP
from pliant.detect.surfels.answers import Projection
from pliant.detect.surfels.clean import LEAST
from pliant.detect.surfels.projection import OPPOSITE
from pliant.kernels import dot, kernel, load

AMONG = 12  # nearest samples whose normals tell of a sharp edge
BENT = float(2 * SHARP**2 - 1)  # cosine of twice the angle of an edge to speak of: between neighbours, they lie on two sides
SIDES = 3  # of an edge or a corner that are told apart

Foretold = Callable[[Ints, "Creases"], Floats]  # how far [m] samples are from where those around them say that they are


class Creases(NamedTuple):
    """Who lies on which side of sharp edges."""

    own: np.ndarray  # (n, K) bool, whether a neighbour of a sample lies on its side
    sides: Ints  # (n, 3) a sample of each side around a sample, nearest first, -1 beyond; all -1 far from edges
    sharp: np.ndarray  # (n,) bool, whether a sample has normals of another side around it
    ends: np.ndarray  # (n,) bool, whether a sample beside an edge belongs to no side: on it, or in a row on top of a thin wall


def smooth(graph: Ints) -> Creases:
    """No edge anywhere."""
    none = np.zeros(len(graph), bool)
    return Creases(np.ones(graph.shape, np.bool_), np.full((len(graph), SIDES), -1), none, none)


def creases(points: Floats, normals: Floats, graph: Ints, foretold: Foretold) -> Creases:
    """The edges of a surface: sides that normals propose, where they foretell samples better than one fit does."""
    found, none = _proposed(points, normals, graph), smooth(graph)
    rows = np.flatnonzero(found.sides[:, 0] >= 0)
    if not len(rows):
        return none
    gain = np.zeros(len(graph))
    gain[rows] = foretold(rows, none) ** 2 - foretold(rows, found) ** 2
    around = gain[graph]
    # by more than the standard error of their mean: samples that differ by chance do not make an edge
    better = around.sum(axis=1) > np.sqrt(graph.shape[1]) * around.std(axis=1)
    own, sides, sharp, ends = found
    own[~better], sides[~better] = True, -1
    return Creases(own, sides, sharp & (sides[:, 0] >= 0), ends & (sides[:, 0] >= 0))


def _bent(normals: Floats, graph: Ints) -> np.ndarray:
    """(n,) whether the normal of a sample is a mean of two sides, or another side is near: two of its nearest neighbours lie on one side,
    their normals less than 15 degrees apart and both more than 30 from its own. Round features that are coarsely sampled have no such
    neighbours, because they bend between any two of them."""
    near = graph[:, 1 : AMONG + 1]
    along = np.einsum("ij,ikj->ik", normals, normals[near])
    beyond = (along < BENT) & (along > OPPOSITE)
    out = np.zeros(len(graph), bool)
    some = np.flatnonzero(beyond.sum(axis=1) > 1)
    kept = np.where(beyond[some][..., None], normals[near[some]], 0.0)
    alike = np.einsum("ikj,ilj->ikl", kept, kept) > SHARP
    out[some] = alike.sum(axis=(1, 2)) > beyond[some].sum(axis=1)  # more than each with itself
    return out


def _in_line(rows: Ints, points: Floats, normals: Floats, graph: Ints) -> np.ndarray:
    """(m,) whether neighbours with normals like a sample's own lie in line with it, along an edge; on a side they lie all round."""
    near = graph[rows, 1 : AMONG + 1]
    way = points[near] - points[rows][:, None]
    way *= (np.einsum("ij,ikj->ik", normals[rows], normals[near]) > BENT)[..., None] / np.linalg.norm(way, axis=2, keepdims=True)
    cosine = np.einsum("ikj,ilj->ikl", way, way)
    like = np.einsum("ikk->ik", cosine) > 0.0
    across = like[:, :, None] & like[:, None] & (np.abs(cosine) < BENT)
    return ~across.any(axis=(1, 2))


def _proposed(points: Floats, normals: Floats, graph: Ints) -> Creases:
    """Sides that normals propose."""
    own, sides, none, _ = smooth(graph)
    sharp = _bent(normals, graph)
    if not sharp.any():
        return Creases(own, sides, sharp, none)
    edge = sharp.copy()
    edge[sharp] = _in_line(np.flatnonzero(sharp), points, normals, graph)
    rows = np.flatnonzero(sharp[graph].any(axis=1))
    part = np.full(graph.shape, -1, np.int8)
    _parts(rows, normals, graph, edge, part)
    alone = edge | (np.count_nonzero(part == 0, axis=1) < LEAST)
    _sides(rows, graph, part, alone, sides)
    several = (sides[:, 1] >= 0) | (alone & (sides[:, 0] >= 0))
    sides[~several] = -1
    mine = rows[~alone[rows]]
    own[mine] = part[mine] == 0
    return Creases(own, sides, sharp, alone)


@kernel
def _parts(rows, normals, graph, edge, part):  # type: ignore[no-untyped-def]
    """Number the sides among the neighbours of a sample, its own 0: what neighbours of neighbours join whose normals are alike."""
    count = graph.shape[1]
    place, stack = np.full(len(graph), -1, np.int64), np.empty(count, np.int64)
    for row in range(len(rows)):
        s = rows[row]
        for c in range(count):
            place[graph[s, c]] = c
        found = 0
        for first in range(count):
            if part[s, first] >= 0 or edge[graph[s, first]]:
                continue
            part[s, first], stack[0], top = found, first, 1
            while top > 0:
                top -= 1
                i = graph[s, stack[top]]
                n = load(normals, i)
                for k in range(1, min(AMONG + 1, count)):
                    j = graph[i, k]
                    c = place[j]
                    if c >= 0 and part[s, c] < 0 and not edge[j] and dot(n, load(normals, j)) > BENT:
                        part[s, c], stack[top] = found, c
                        top += 1
            found += 1
        for c in range(count):
            place[graph[s, c]] = -1


@kernel
def _sides(rows, graph, part, alone, sides):  # type: ignore[no-untyped-def]
    """The nearest sample of each side around a sample; samples without a side of their own stand for none."""
    for row in range(len(rows)):
        s, found = rows[row], 0
        for c in range(graph.shape[1]):
            j, new = graph[s, c], part[s, c] >= 0 and not alone[graph[s, c]]
            for k in range(c):
                if part[s, k] == part[s, c] and not alone[graph[s, k]]:
                    new = False
            if new and found < SIDES:
                sides[s, found] = j
                found += 1


# -- queries


def met(
    found: list[Projection], points: Floats, at: Floats, normals: Floats, there: np.ndarray
) -> tuple[Ints, Floats, Floats, np.ndarray, Ints]:
    """(side, feet, normals there, whether the foot is on the edge, 1 where sides meet outwards, -1 inwards, 0 both) of queries between up
    to three sides, each with feet of its own.

    at, normals (m, 3 sides, 3): a sample of each side and its normal, which tell whether sides meet outwards; there (m, 3 sides): which
    there are.
    """
    distance = np.stack([each.distance for each in found], axis=1)
    outwards = _outwards(at, normals, there)
    far = np.stack([np.linalg.norm(points - each.points, axis=1) for each in found], axis=1)
    worth = np.where(outwards[:, None] == 0, -far, outwards[:, None] * distance)
    order = np.argsort(np.where(there, -worth, np.inf), axis=1, kind="stable")
    row, first, second = np.arange(len(points)), order[:, 0], order[:, 1]
    feet, facing = np.stack([each.points for each in found], axis=1), np.stack([each.normals for each in found], axis=1)
    q, n, m = feet[row, first], facing[row, first], facing[row, second]
    turn = np.einsum("ij,ij->i", n, m)
    d, e = distance[row, first], distance[row, second]
    both = there[row, second] & (outwards != 0) & (np.abs(turn) < SHARP)
    square = np.where(both, 1.0 - turn * turn, 1.0)
    a, b = (d - turn * e) / square, (e - turn * d) / square
    both &= (outwards * a > 0.0) & (outwards * b > 0.0)
    way = outwards[:, None] * (a[:, None] * n + b[:, None] * m)
    length = np.linalg.norm(way, axis=1)
    q = np.where(both[:, None], points - outwards[:, None] * way, q)
    return first, q, np.where(both[:, None], way / np.maximum(length, 1e-300)[:, None], n), both, outwards


def _outwards(at: Floats, normals: Floats, there: np.ndarray) -> Ints:
    """(m,) 1 where all sides meet outwards, -1 where all meet inwards, 0 where some do and some do not."""
    out, first = np.zeros(len(at), np.int64), np.ones(len(at), bool)
    for k, other in ((0, 1), (0, 2), (1, 2)):
        way, pair = at[:, other] - at[:, k], there[:, k] & there[:, other]
        bend = np.where(np.einsum("ij,ij->i", way, normals[:, k] - normals[:, other]) < 0.0, 1, -1)
        out = np.where(pair, np.where(first | (out == bend), bend, 0), out)
        first &= ~pair
    return np.where(first, 1, out)


def ended(points: Floats, at: Floats, normals: Floats, ends: np.ndarray, far: Floats) -> tuple[Ints, Ints]:
    """(queries, place of a sample around each) where a side went on beyond its edge: farther out than the foot, the plane of a sample that
    ends sides is the surface. `at`, `normals` (m, k, 3) are of samples around, `ends` (m, k) which of them do; `far` (m,) [m] is that of
    the foot, outwards or, where sides meet inwards, inwards, as normals are.
    """
    ahead = np.where(ends, np.einsum("ikj,ikj->ik", points[:, None] - at, normals), -np.inf)
    row = np.flatnonzero(ahead.max(axis=1) > far)
    return row, ahead[row].argmax(axis=1)
