"""When an enduring pair ends (6.2.1 of the thesis; 11.1 of the methods page).

A pair is resolved when its gap at the end of the step is not negative. Besides:
* vertex-face: when the last of B's faces that the vertex crosses in the step is another one, and it crosses it outwards, unless that one
  looks the other way: then the vertex is through a thin body;
* edge-edge: when one of the two edges no longer touches the other body: no pair of its end points with that body is left, and it pierces
  none of its faces.
Pairs of a vertex with another part of its own body end by their gap alone, as a body has no outside towards itself. Pairs with exact shapes
are never resolved here: only the shape knows their gap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints
from pliant.contact.penalty.category import HALF
from pliant.contact.penalty.edges import edge_states
from pliant.contact.penalty.neighbours import Neighbours
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.contact.penalty.rims import edges_at_rims
from pliant.detect.coplanar_times import Crossings, crossings
from pliant.detect.feature_tests import edge_triangle
from pliant.detect.tree import Tree
from pliant.kernels import contiguous, inline, kernel, load

STACK = 256


def gaps(points: Floats, records: Records, neighbours: Neighbours, normals: Floats | None = None) -> Floats:
    """Signed distance of every pair [m], (r,), negative: penetrating; NaN for exact shapes, 0 for parallel edges."""
    normals = neighbours.normals(points) if normals is None else normals
    out = edge_states(points, records).gap
    face = np.flatnonzero(records.kind == VERTEX_FACE)
    corners = records.corners[face]
    out[face] = records.sigma[face] * np.einsum("ij,ij->i", normals[records.feature_b[face]], points[corners[:, 0]] - points[corners[:, 1]])
    return out


def resolved(
    start: Floats, end: Floats, records: Records, neighbours: Neighbours, tree: Tree, vertex_face: Ints, rule: str = "advanced",
    normals: Floats | None = None, out: Ints | None = None,
) -> NDArray[np.bool_]:  # fmt: skip
    """Which pairs end with the step, (r,).

    tree: over all faces, with boxes that hold them where they end (those of the last `FeatureTree.candidates` do). vertex_face: the pairs
    (k, 2) of vertices and faces that may cross during the step, of the same call. rule: as in `Redefinition.resolution`. out: `exits` of
    the records, if at hand.
    """
    done = gaps(end, records, neighbours, normals) >= 0.0
    if rule == "gap" or len(records) == 0:
        return done
    done |= (exits(start, end, records, neighbours, vertex_face) if out is None else out) >= 0
    edge = np.flatnonzero((records.kind == EDGE_EDGE) & ~done & ~edges_at_rims(end, records, edge_states(end, records)))
    touching = records.select(~done & (records.kind != EDGE_EDGE))
    for feature, other in ((records.feature_a[edge], records.b[edge]), (records.feature_b[edge], records.a[edge])):
        done[edge] |= _free(end, feature, other, touching, neighbours, tree)
    return done


def exits(start: Floats, end: Floats, records: Records, neighbours: Neighbours, vertex_face: Ints) -> Ints:
    """The face by which a vertex leaves B in the step: that of its last crossing, if it leads out and is not the pair's; else -1, (r,)."""
    out = np.full(len(records), -1, np.int64)
    rows = np.flatnonzero((records.kind == VERTEX_FACE) & (records.a != records.b))
    bodies = int(neighbours.body.max(initial=0)) + 2
    key = records.feature_a[rows] * bodies + records.b[rows]
    wanted = vertex_face[:, 0] * bodies + neighbours.body[neighbours.faces[vertex_face[:, 1], 0]]
    of = np.isin(wanted, key)
    if not of.any():
        return out
    pair, wanted = vertex_face[of], wanted[of]
    found = crossings(start, end, np.concatenate([pair[:, :1], neighbours.faces[pair[:, 1]]], axis=1), True)
    turn = _ends(found)
    row, which = np.nonzero(found.inside & (turn != 0))
    # of crossings at the same time (through an edge) the one inwards counts last, so that no pair is lost
    order = np.lexsort((turn[row, which], found.roots[row, which], wanted[row]))
    row, which = row[order], which[order]
    last = np.flatnonzero(np.append(wanted[row][1:] != wanted[row][:-1], True)) if len(row) else row
    place = np.searchsorted(wanted[row[last]], key)
    known = place < len(last)
    known[known] = wanted[row[last[place[known]]]] == key[known]
    event = last[place[known]]
    at = rows[known]
    outwards = turn[row[event], which[event]] * records.sigma[at] < 0.0
    way_out = pair[row[event], 1]
    # out on the far side of a thin body is through it, not free of it
    normals = neighbours.normals(start)
    through = records.sigma[at] * np.einsum("ij,ij->i", normals[way_out], normals[records.feature_b[at]]) < -HALF
    out[at] = np.where(outwards & (way_out != records.feature_b[at]) & ~through, way_out, -1)
    return out


def _ends(found: Crossings) -> Ints:
    """Turns, also of vertices that are on the plane when the step begins or ends: from the side they were on, or to the one they go to."""
    before, after = np.sign(found.cubic[:, 0]).astype(np.int64), np.sign(found.cubic.sum(axis=1)).astype(np.int64)
    at = np.where(found.roots == 1.0, before[:, None], np.where(found.roots == 0.0, -after[:, None], 0))
    return np.where(found.turn == 0, at, found.turn)


def _free(points: Floats, edge: Ints, body: Ints, touching: Records, neighbours: Neighbours, tree: Tree) -> NDArray[np.bool_]:
    """Edges without an end point in contact with a body and without a face of it pierced."""
    bodies = int(neighbours.body.max(initial=0)) + 2
    held = np.isin(neighbours.edges[edge] * bodies + body[:, None], touching.feature_a * bodies + touching.b).any(axis=1)
    free = np.zeros(len(edge), np.bool_)
    _pierces_none(
        contiguous(points), neighbours.edges, neighbours.faces, edge, contiguous(body, np.int64), held, tree.root, tree.level, tree.first,
        tree.count, tree.order, tree.low, tree.high, free,
    )  # fmt: skip
    return free


@inline
def misses(p, q, low, high, i):  # type: ignore[no-untyped-def]
    """Whether the box of segment pq misses box i."""
    for axis in range(3):
        if max(p[axis], q[axis]) < low[i, axis] or min(p[axis], q[axis]) > high[i, axis]:
            return True
    return False


@kernel
def _pierces_none(points, edges, faces, edge, body, held, root, level, first, count, order, low, high, free):  # type: ignore[no-untyped-def]
    stack = np.empty(STACK, np.int64)
    for i in range(len(edge)):
        u, v = edges[edge[i], 0], edges[edge[i], 1]
        p, q = load(points, u), load(points, v)
        top, hit = 0, held[i]
        if root[body[i]] >= 0:
            stack[0], top = root[body[i]], 1
        while top > 0 and not hit:
            top -= 1
            node = stack[top]
            if misses(p, q, low, high, node):
                continue
            for k in range(first[node], first[node] + count[node]):
                if node >= level[1]:
                    stack[top] = k
                    top += 1
                    continue
                a, b, c = faces[order[k], 0], faces[order[k], 1], faces[order[k], 2]
                if a != u and a != v and b != u and b != v and c != u and c != v:
                    hit = hit or edge_triangle(p, q, load(points, a), load(points, b), load(points, c))[0]
        free[i] = not hit
