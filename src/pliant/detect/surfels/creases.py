"""Sharp edges of sampled surfaces: the sides that meet there, each fitted alone (theory/point-surfaces 5.8).

One fit over both sides of an edge is a compromise: it rounds the edge and bulges beside it. So a sample takes part in the fits of its own
side only, and next to an edge the surface is that of the solid between the sides: the intersection of what lies behind each where they
meet outwards, the union where they meet inwards [Pauly 2003].

Samples on the edge itself, whose normals are means of both sides, take part in none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.sharp_edges import SHARP
from pliant.detect.surfels.answers import Projection
from pliant.detect.surfels.clean import LEAST
from pliant.kernels import dot, kernel, load

AMONG = 12  # nearest samples whose normals tell of a sharp edge
BENT = float(2.0 * SHARP**2 - 1.0)  # cosine of twice the angle of an edge to speak of: between neighbours, they lie on two sides
SIDES = 3  # of an edge or a corner that are told apart


class Creases(NamedTuple):
    """Who lies on which side of sharp edges."""

    own: np.ndarray  # (n, K) bool, whether a neighbour of a sample lies on its side
    sides: Ints  # (n, 3) a sample of each side around a sample, nearest first, -1 beyond; all -1 far from edges


def creases(normals: Floats, graph: Ints, sharp: np.ndarray) -> Creases:
    """Sides of a surface of which `sharp` (n,) samples have normals of another side around them."""
    own, sides = np.ones(graph.shape, np.bool_), np.full((len(graph), SIDES), -1)
    if not sharp.any():
        return Creases(own, sides)
    near = graph[:, 1 : AMONG + 1]
    along = np.einsum("ij,ikj->ik", normals, normals[near])
    edge = sharp & (2 * np.count_nonzero(along < BENT, axis=1) > near.shape[1])  # most neighbours are on other sides
    rows = np.flatnonzero(sharp[graph].any(axis=1))
    part = np.full(graph.shape, -1, np.int8)
    _parts(rows, normals, graph, edge, part)
    alone = edge | (np.count_nonzero(part == 0, axis=1) < LEAST)
    _sides(rows, graph, part, alone, sides)
    several = (sides[:, 1] >= 0) | (alone & (sides[:, 0] >= 0))
    sides[~several] = -1
    mine = rows[~alone[rows]]
    own[mine] = part[mine] == 0
    return Creases(own, sides)


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


def met(found: list[Projection], points: Floats, at: Floats, normals: Floats, there: np.ndarray) -> tuple[Ints, Floats, Floats, np.ndarray]:
    """(side, feet, normals there, whether the foot is on the edge) of queries between up to three sides, each with feet of its own.

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
    return first, q, np.where(both[:, None], way / np.maximum(length, 1e-300)[:, None], n), both


def _outwards(at: Floats, normals: Floats, there: np.ndarray) -> Ints:
    """(m,) 1 where all sides meet outwards, -1 where all meet inwards, 0 where some do and some do not."""
    out, first = np.zeros(len(at), np.int64), np.ones(len(at), bool)
    for k, other in ((0, 1), (0, 2), (1, 2)):
        way, pair = at[:, other] - at[:, k], there[:, k] & there[:, other]
        bend = np.where(np.einsum("ij,ij->i", way, normals[:, k] - normals[:, other]) < 0.0, 1, -1)
        out = np.where(pair, np.where(first | (out == bend), bend, 0), out)
        first &= ~pair
    return np.where(first, 1, out)
