"""Points of bodies in tetrahedra of other bodies: brute force as oracle, and the same through the grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.detect import brute_force, points_in_bodies
from pliant.geometry.shapes import make

BOX = make("box", size=(1.0, 0.8, 0.6), edge=0.3).tets
BALL = make("ball", radius=0.5, edge=0.25).tets


def pile(seed, count=6):
    """(points, tets, tet_body, point_start): boxes and balls thrown into a small room, turned at random."""
    rng = np.random.default_rng(seed)
    points, tets, sizes = [], [], []
    for k in range(count):
        body = BALL if k % 2 else BOX
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        tets.append(body.tets + sum(sizes))
        points.append(body.points @ turn + rng.uniform(-0.8, 0.8, 3))
        sizes.append(len(body.points))
    body = np.repeat(np.arange(count), [len(t) for t in tets])
    return np.concatenate(points), np.concatenate(tets), body, np.concatenate([[0], np.cumsum(sizes)])


def boxes(points, start):
    parts = [points[i:j] for i, j in zip(start, start[1:], strict=False)]
    return np.array([p.min(axis=0) for p in parts]), np.array([p.max(axis=0) for p in parts])


def found_in(points, tets, tet_body, start, counts=None):
    """Set of (point, body), of all ordered pairs of bodies whose boxes overlap."""
    low, high = boxes(points, start)
    a, b = np.nonzero(((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(axis=2))
    a, b = a[a != b], b[a != b]
    counts = np.ones(len(points), bool) if counts is None else counts
    point, body = points_in_bodies.PointsInBodies(tets, tet_body, start, counts, 0.25).find(points, a, b, low, high)
    rows = list(zip(point.tolist(), body.tolist(), strict=True))
    assert len(set(rows)) == len(rows)
    return set(rows)


def wanted(points, tets, tet_body, start):
    point, tet = brute_force.points_in_tets(points, points, tets).T
    owner = np.searchsorted(start, point, side="right") - 1
    return {(int(p), int(b)) for p, b, o in zip(point, tet_body[tet], owner, strict=True) if b != o}


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_same_as_brute_force(seed):
    bodies = pile(seed)
    assert found_in(*bodies) == wanted(*bodies)


@pytest.mark.parametrize("many", [0, 200])
def test_large_pairs_through_the_grid(many, monkeypatch):
    """All, or some, pairs count as large."""
    bodies = pile(3)
    want = found_in(*bodies)
    assert len(want) > 20
    monkeypatch.setattr(points_in_bodies, "MANY", many)
    monkeypatch.setattr(points_in_bodies, "_search", points_in_bodies._search.py_func)  # the constant is compiled in
    assert found_in(*bodies) == want


def test_only_points_that_count():
    points, tets, body, start = pile(5)
    counts = np.arange(len(points)) % 3 == 0
    want = {(p, b) for p, b in found_in(points, tets, body, start) if counts[p]}
    assert want and found_in(points, tets, body, start, counts) == want


def test_a_point_on_an_inner_face_counts_once():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0.2, 0.2, 0]])
    tets, start = np.array([[0, 1, 2, 3], [0, 2, 1, 4]]), np.array([0, 5, 6])
    assert found_in(points, tets, np.zeros(2, np.int64), start) == {(5, 0)}


def test_points_that_are_not_finite_are_refused():
    points, tets, body, start = pile(1)
    low, high = boxes(points, start)
    points[7] = np.nan
    every = np.ones(len(points), bool)
    with pytest.raises(PliantError, match="not finite: 7"):
        points_in_bodies.PointsInBodies(tets, body, start, every, 0.25).find(points, np.array([0]), np.array([1]), low, high)
