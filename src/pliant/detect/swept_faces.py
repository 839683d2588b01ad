"""Vertices that go through faces and edges that go through edges within a step, and how far: on straight ways (`coplanar_times.py`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.coplanar_times import COPLANAR, Crossings, crossings
from pliant.detect.feature_pairs import FeatureTree


class Through(NamedTuple):
    """Features that cross."""

    corners: Ints  # (k, 4) the points of each pair of features
    time: Floats  # (k,) when they do, in parts of the step
    way: Floats  # [m] (k,) how far they would go through each other in a whole step, along the normal of the moment


def faces_cross(tree: FeatureTree, start: Floats, end: Floats, pairs: Ints, least: float) -> Through:
    """What crosses between the surfaces of pairs (m, 2) of bodies on the way of their points from start to end, (p, 3) each.

    Features that move against each other by no more than `least` [m] are left out.
    """
    found = tree.candidates(start, end, pairs)
    faces = np.ascontiguousarray(np.concatenate([found.vertex_face[:, :1], tree_faces(tree)[found.vertex_face[:, 1]]], axis=1))
    edges = np.ascontiguousarray(tree.edges.corners[found.edge_edge].reshape(-1, 4))
    parts = [_through(start, end, rows, face, least) for rows, face in ((faces, True), (edges, False))]
    return Through(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def tree_faces(tree: FeatureTree) -> Ints:
    """Corners of the faces (m, 3) by their numbers."""
    out = np.empty_like(tree.tree.corners)
    out[tree.tree.order] = tree.tree.corners
    return out


def _through(start: Floats, end: Floats, rows: Ints, face: bool, least: float) -> Through:
    way = end[rows] - start[rows]
    rows = rows[np.linalg.norm(np.ptp(way, axis=1), axis=1) > least]
    found: Crossings = crossings(start, end, rows, face)
    root = np.where(found.flags & COPLANAR, -1, found.first())
    hit = np.flatnonzero(root >= 0)
    rows, time, weights = rows[hit], found.roots[hit, root[hit]], found.weights[hit, root[hit]]
    way, x = end[rows] - start[rows], start[rows] + time[:, None, None] * (end[rows] - start[rows])
    e, f = (x[:, 2] - x[:, 1], x[:, 3] - x[:, 1]) if face else (x[:, 1] - x[:, 0], x[:, 3] - x[:, 2])
    normal, apart = np.cross(e, f), np.einsum("ki,kij->kj", weights, way)
    length = np.linalg.norm(normal, axis=1)
    return Through(rows, time, np.abs(np.einsum("ki,ki->k", normal, apart)) / length)
