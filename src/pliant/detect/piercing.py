"""Edges that go through faces: of another edge, or of a whole body."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.adjacency import Adjacency
from pliant.detect.feature_tests import edge_triangle
from pliant.detect.tree import Tree, put_off
from pliant.kernels import add, axpy, contiguous, inline, kernel, load, scale, sub

STACK = 256
INSIDE = 1e-9  # of the size of a face: what is nearer to its rim does not count as through it, to rounding


def pierces_beside(points: Floats, mesh: Adjacency, edge: Ints, other: Ints) -> np.ndarray:
    """Whether each edge goes through a face of the other edge, farther from the face's rim than rounding, (k,) bool."""
    out = np.zeros(len(edge), bool)
    _pierce(contiguous(points), mesh.edges, mesh.faces, edge, mesh.edge_faces[other], out)
    return out


@kernel
def _pierce(points, edges, faces, edge, around, out):  # type: ignore[no-untyped-def]
    for i in range(len(edge)):
        p, q = load(points, edges[edge[i], 0]), load(points, edges[edge[i], 1])
        for k in range(2):
            f = around[i, k]
            if f >= 0:
                a, b, c = load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2])
                middle = scale(1.0 / 3.0, add(add(a, b), c))
                a, b, c = axpy(INSIDE, sub(middle, a), a), axpy(INSIDE, sub(middle, b), b), axpy(INSIDE, sub(middle, c), c)
                hit, _, _, _ = edge_triangle(p, q, a, b, c)
                out[i] = out[i] or hit


def pierces_body(points: Floats, mesh: Adjacency, tree: Tree, edge: Ints, body: Ints) -> np.ndarray:
    """Whether each edge goes through a face of a body that it shares no vertex with, (k,) bool; the tree is over all faces, fit to hold
    them where the points are."""
    out = np.zeros(len(edge), bool)
    _pierce_body(contiguous(points), mesh.edges, mesh.faces, edge, contiguous(body, np.int64), tree.nodes, out)
    return out


@inline
def misses(p, q, low, high, i):  # type: ignore[no-untyped-def]
    """Whether the box of segment pq misses box i."""
    for axis in range(3):
        if max(p[axis], q[axis]) < low[i, axis] or min(p[axis], q[axis]) > high[i, axis]:
            return True
    return False


@kernel
def _pierce_body(points, edges, faces, edge, body, nodes, out):  # type: ignore[no-untyped-def]
    stack = np.empty(STACK, np.int64)
    for i in range(len(edge)):
        u, v = edges[edge[i], 0], edges[edge[i], 1]
        p, q = load(points, u), load(points, v)
        top, hit = 0, False
        if nodes.root[body[i]] >= 0:
            stack[0], top = nodes.root[body[i]], 1
        while top > 0 and not hit:
            top -= 1
            node = stack[top]
            if misses(p, q, nodes.low, nodes.high, node):
                continue
            if node >= nodes.leaves:
                top = put_off(nodes, node, stack, top)
                continue
            for k in range(nodes.first[node], nodes.first[node] + nodes.children[node]):
                f = nodes.order[k]
                a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
                if a != u and a != v and b != u and b != v and c != u and c != v:
                    hit = hit or edge_triangle(p, q, load(points, a), load(points, b), load(points, c))[0]
        out[i] = hit
