"""Impulses spread over a ring, `spread = true` (theory/penalty 5.8): for bodies whose nodes are stepped explicitly.

A vertex that is pushed alone is pushed out of its surface before its neighbours know. Its impulse I goes to the vertices u of its ring
(itself and those an edge joins to it) in shares
    w_u = (1 + g . y_u) / n,     y_u: place of u across the normal, from the mean of the ring,
with g such that sum w_u = 1 and sum w_u y_u is the place of the vertex itself. So force and moment are those of I, exactly. Shares that
would pull are set to zero and g is found anew; a vertex on the rim spreads along the rim, a corner keeps all. Where we differ:
theory/penalty 5.8 also has a form that turns the single forces to balance the moment; shares of one direction keep a contact one row, so
its yield is known. Friction is not spread, as its moment would be that of the height of the vertex over its ring. Implicit bodies spread
every impulse through their stiffness anyhow; rigid ones need none.
"""

from __future__ import annotations

import numpy as np

from pliant.detect.adjacency import Adjacency
from pliant.kernels import cross, dot, kernel, load, norm, scale, sub
from pliant.world.motion import Motion, Rows

STRAIGHT = 1e-9  # of its size squared: how straight a ring is that counts as a line, to rounding
TRIES = 8  # how often shares that pull are taken out


def over_rings(motion: Motion, mesh: Adjacency, rows: Rows) -> Rows:
    """The rows with every vertex that may spread replaced by its ring; normal and place stay."""
    explicit = spreading(motion)
    size = np.where(explicit[rows.point], 1 + np.diff(mesh.edge_start)[rows.point], 1)
    begin = np.concatenate([[0], np.cumsum(size)])
    point, weight = np.empty(begin[-1], np.int64), np.zeros(begin[-1])
    row = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    _shares(row, rows.point, rows.weight, rows.normal, explicit, begin, mesh, motion.end, point, weight)
    return Rows(begin[rows.start], point, weight, rows.normal, rows.at)


def spreading(motion: Motion) -> np.ndarray:
    """Which skin points may spread, (p,) bool: those bound to nodes that move by themselves."""
    skin, free = motion.skin, motion.explicit
    count = np.diff(skin.start)
    held = np.concatenate([[0], np.cumsum(free[skin.node])])
    return (count > 0) & (held[skin.start[1:]] - held[skin.start[:-1]] == count)


@kernel
def _shares(row, vertex, weight, normal, explicit, begin, mesh, points, point, share):  # type: ignore[no-untyped-def]
    """Points and signed shares of each entry of the rows."""
    for k in range(len(vertex)):
        v, first = vertex[k], begin[k]
        point[first], share[first] = v, weight[k]
        count = begin[k + 1] - first
        if not explicit[v] or weight[k] == 0.0:
            point[first : first + count] = v
            continue
        n = load(normal, row[k])
        t = (1.0, 0.0, 0.0) if abs(n[0]) < abs(n[1]) else (0.0, 1.0, 0.0)
        t = cross(n, t)
        t = scale(1.0 / norm(t), t)
        o = cross(n, t)
        y, use = np.zeros((count, 2)), np.ones(count, np.bool_)
        for i in range(1, count):
            e = mesh.edges_around[mesh.edge_start[v] + i - 1]
            point[first + i] = mesh.edges[e, 1] if mesh.edges[e, 0] == v else mesh.edges[e, 0]
            way = sub(load(points, point[first + i]), load(points, v))
            y[i, 0], y[i, 1] = dot(way, t), dot(way, o)
        parts = np.zeros(count)
        for _ in range(TRIES):
            if _solve(y, use, parts):
                for i in range(count):
                    share[first + i] = weight[k] * parts[i]
                break


@kernel
def _solve(y, use, parts):  # type: ignore[no-untyped-def]
    """Shares of the vertices in use, whose mean is the origin; false: some would pull, and are out of use now."""
    count, mx, my = 0, 0.0, 0.0
    for i in range(len(use)):
        if use[i]:
            count, mx, my = count + 1, mx + y[i, 0], my + y[i, 1]
    mx, my = mx / count, my / count
    a, b, c = 0.0, 0.0, 0.0
    for i in range(len(use)):
        if use[i]:
            u, v = y[i, 0] - mx, y[i, 1] - my
            a, b, c = a + u * u / count, b + u * v / count, c + v * v / count
    gx, gy, det = 0.0, 0.0, a * c - b * b
    if det > STRAIGHT * (a + c) ** 2:
        gx, gy = -(c * mx - b * my) / det, -(a * my - b * mx) / det
    elif a + c > 0.0:  # all in one line, which then goes through the vertex
        gx, gy = -mx / (a + c), -my / (a + c)
    good = True
    for i in range(1, len(use)):
        parts[i] = (1.0 + gx * (y[i, 0] - mx) + gy * (y[i, 1] - my)) / count if use[i] else 0.0
        if parts[i] < 0.0:
            use[i], good = False, False
    parts[0] = 1.0 - parts[1:].sum()
    good = good and parts[0] >= 0.0
    if good and abs((parts * y[:, 0]).sum()) + abs((parts * y[:, 1]).sum()) > STRAIGHT**1.5 * np.sqrt(a + c):
        parts[:], parts[0] = 0.0, 1.0  # nearly, but not quite, in one line: no shares that are exact
    return good
