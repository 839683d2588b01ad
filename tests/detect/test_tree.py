"""Every way to find pairs gives the set that looking at all pairs gives: soups, many bodies, 100 deformations, far from the origin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant.detect as detect
from pliant.base import PliantError
from pliant.detect import brute_force
from pliant.detect.box_overlap import pairs_between
from pliant.detect.feature_pairs import FeatureTree, Shares
from pliant.detect.tree import LEAF, Tree, boxes_of
from pliant.detect.triangle_overlap import intersecting


def torus(n, m, major=1.0, minor=0.4):
    u, v = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(m) * 2 * np.pi / m, indexing="ij")
    r = major + minor * np.cos(v)
    points = np.stack([r * np.cos(u), r * np.sin(u), minor * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    a, b, c, d = i * m + j, (i + 1) % n * m + j, (i + 1) % n * m + (j + 1) % m, i * m + (j + 1) % m
    return points, np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])


def two_tori(n, m):
    x, f = torus(n, m)
    points = np.concatenate([x, x[:, [0, 2, 1]] * [1, -1, 1] + [0.2, 0.03, 0.01]])
    return points, np.concatenate([f, f + len(x)]), np.array([0, len(f), 2 * len(f)])


def soup(seed, count, spread=6):
    """Boxes with corners on a coarse grid, so that many touch."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, spread, (count, 3)).astype(float)
    return low, low + rng.integers(0, 3, (count, 3))


SOUPS = (st.integers(0, 2**31), st.integers(0, 70), st.integers(0, 70))


@given(*SOUPS)
@settings(max_examples=60, deadline=None)
def test_P14_box_pairs_equal_brute_force(seed, n, m):
    a, b = soup(seed, n), soup(seed + 1, m)
    assert np.array_equal(detect.box_pairs(*a), brute_force.box_pairs(*a))
    assert np.array_equal(detect.box_pairs(*a, *b), brute_force.box_pairs(*a, *b))


@given(*SOUPS)
@settings(max_examples=20, deadline=None)
def test_pairs_are_the_same_far_from_the_origin(seed, n, m):
    a, b, far = soup(seed, n), soup(seed + 1, m), np.array([2.0**40, -(2.0**41), 2.0**39])  # integers there are exact
    moved = [x + far for x in (*a, *b)]
    assert np.array_equal(detect.box_pairs(*moved), detect.box_pairs(*a, *b))


@given(st.integers(0, 2**31), st.lists(st.integers(0, 30), min_size=1, max_size=6), st.sampled_from([2, 4, 8]))
@settings(max_examples=40, deadline=None)
def test_pairs_of_many_bodies_in_one_call(seed, sizes, arity):
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(sizes)])
    low, high = soup(seed, start[-1])
    tree = Tree.of_boxes(low, high, start, arity)
    bodies = rng.integers(0, len(sizes), (rng.integers(0, 8), 2))
    body = np.repeat(np.arange(len(sizes)), sizes)
    every = brute_force.box_pairs(low, high)
    wanted = {tuple(sorted(p)) for p in bodies.tolist()}
    keep = [tuple(sorted((body[i], body[j]))) in wanted for i, j in every]
    assert np.array_equal(pairs_between(tree, bodies), every[np.array(keep, bool)])


@pytest.mark.parametrize("corners", [1, 2, 3, 4])
def test_self_pairs_leave_out_primitives_that_share_a_vertex(corners):
    rng = np.random.default_rng(corners)
    points, end = rng.random((40, 3)), rng.random((40, 3))
    rows = np.array([rng.choice(40, corners, replace=False) for _ in range(150)])
    tree = Tree.build(points, rows, np.array([0, 150]), end, 1e-3)
    low, high = boxes_of(points, rows, end, 1e-3)
    assert np.array_equal(low, np.minimum(points[rows], end[rows]).min(axis=1) - 1e-3)
    every = brute_force.box_pairs(low, high)
    assert np.array_equal(pairs_between(tree, np.array([[0, 0]]), shared=True), every)
    apart = brute_force.apart(rows[every[:, 0]], rows[every[:, 1]])
    assert 0 < apart.sum() < len(every)
    assert np.array_equal(pairs_between(tree, np.array([[0, 0]])), every[apart])


def primitives_below(tree, node):
    while node >= tree.level[1]:
        first, last = tree.first[node], tree.first[node] + tree.count[node] - 1
        places = [primitives_below(tree, k) for k in range(first, last + 1)]
        return np.concatenate(places)
    return np.arange(tree.first[node], tree.first[node] + tree.count[node])


def test_P14_refit_boxes_are_rebuilt_boxes_and_pairs_brute_force_over_100_deformations():
    points, faces, start = two_tori(14, 9)
    bodies, rng = np.array([[0, 0], [0, 1], [1, 1]]), np.random.default_rng(4)
    tree = Tree.build(points, faces, start)
    for _ in range(100):
        points = points + 0.3 * np.sin(rng.normal(size=(3, 3)) @ points.T + rng.random((3, 1))).T
        end = points + 0.02 * rng.normal(size=points.shape)
        tree.refit(points, end, 1e-9)
        low, high = boxes_of(points, faces, end, 1e-9)
        assert np.array_equal(tree.box_low, low[tree.order]) and np.array_equal(tree.box_high, high[tree.order])
        for node in range(0, len(tree.first), 7):
            below = primitives_below(tree, node)
            assert np.array_equal(tree.low[node], tree.box_low[below].min(axis=0))
            assert np.array_equal(tree.high[node], tree.box_high[below].max(axis=0))
        fresh = Tree.build(points, faces, start, end, 1e-9)
        assert np.array_equal(tree.low[tree.root], fresh.low[fresh.root])
        every = brute_force.box_pairs(low, high)
        every = every[brute_force.apart(faces[every[:, 0]], faces[every[:, 1]])]
        assert np.array_equal(pairs_between(tree, bodies), every)
        assert np.array_equal(pairs_between(fresh, bodies), every)
    assert tree.builds > 1  # such deformations wear a tree out


def test_a_worn_tree_is_built_anew_and_a_moved_one_is_not():
    points, faces, start = two_tori(40, 20)
    tree = Tree.build(points, faces, start)
    area = tree.area()
    tree.refit(points + [3.0, 0.0, 0.0])
    assert tree.builds == 1
    shuffled = points[np.random.default_rng(0).permutation(len(points))]
    tree.refit(shuffled)
    assert tree.builds == 2
    tree.refit(points)
    assert tree.builds == 2  # better than when it was built
    tree.refit(shuffled)
    assert tree.builds == 3
    tree.rebuild()
    tree.refit(points)
    tree.rebuild()
    assert tree.area() == area and np.array_equal(tree.order, Tree.build(points, faces, start).order)


def test_every_primitive_is_in_one_leaf_of_its_body():
    sizes = np.array([0, 1, 4, 5, 0, 333, 16, 17])
    start = np.concatenate([[0], np.cumsum(sizes)])
    low = np.random.default_rng(1).random((start[-1], 3))
    for arity in (2, 4, 8):
        tree = Tree.of_boxes(low, low, start, arity)
        assert tree.count[: tree.level[1]].max() <= LEAF and tree.count.max() <= max(arity, LEAF)
        for b, size in enumerate(sizes):
            assert (tree.root[b] < 0) == (size == 0)
            if size:
                below = tree.order[primitives_below(tree, tree.root[b])]
                assert np.array_equal(np.sort(below), np.arange(start[b], start[b + 1]))


def feature_sets(points, end, faces, start, bodies, shares, margin):
    """Candidates by looking at all pairs."""
    body = np.searchsorted(start, np.arange(len(faces)), side="right") - 1
    vertices = shares.vertices.corners[:, 0]
    owner = {v: body[np.flatnonzero((faces == v).any(axis=1))[0]] for v in vertices.tolist()}
    wanted = {tuple(sorted(p)) for p in bodies.tolist()}
    boxes = [boxes_of(points, c, end, margin) for c in (shares.vertices.corners, faces, shares.edges.corners)]
    vf = brute_force.box_pairs(*boxes[0], *boxes[1])
    vf = np.stack([vertices[vf[:, 0]], vf[:, 1]], axis=1)
    vf = vf[brute_force.apart(vf[:, :1], faces[vf[:, 1]])]
    vf = vf[[tuple(sorted((owner[v], body[f]))) in wanted for v, f in vf.tolist()]] if len(vf) else vf
    ee, edges = brute_force.box_pairs(*boxes[2]), shares.edges.corners
    ee = ee[brute_force.apart(edges[ee[:, 0]], edges[ee[:, 1]])]
    ee = ee[[tuple(sorted((owner[edges[i, 0]], owner[edges[j, 0]]))) in wanted for i, j in ee.tolist()]] if len(ee) else ee
    return vf[np.lexsort((vf[:, 1], vf[:, 0]))], ee


@given(st.integers(0, 2**31), st.integers(0, 25), st.integers(0, 25))
@settings(max_examples=30, deadline=None)
def test_candidates_equal_brute_force_on_soups(seed, n, m):
    """Faces that share edges in all ways, boundaries, fans; bodies share no points."""
    rng = np.random.default_rng(seed)
    faces = [np.array([rng.choice(9, 3, replace=False) for _ in range(k)]).reshape(-1, 3) + 9 * b for b, k in enumerate((n, m))]
    faces, start = np.concatenate(faces).astype(np.int64), np.array([0, n, n + m])
    points, end = rng.random((18, 3)), rng.random((18, 3))
    end = points + 0.3 * end
    bodies = np.array([[0, 0], [0, 1], [1, 1]])[rng.random(3) < 0.7]
    tree = FeatureTree.build(points, faces, start)
    found = tree.candidates(points, end, bodies, 0.01)
    vf, ee = feature_sets(points, end, faces, start, bodies, tree, 0.01)
    assert np.array_equal(found.vertex_face, vf) and np.array_equal(found.edge_edge, ee)


def test_candidates_do_not_depend_on_the_history_of_the_tree():
    points, faces, start = two_tori(20, 12)
    bodies = np.array([[0, 0], [0, 1], [1, 1]])
    used = FeatureTree.build(points, faces, start)
    used.tree.refit(points[np.random.default_rng(2).permutation(len(points))])
    assert used.tree.builds == 2
    end = points + 0.05 * np.sin(5 * points[:, ::-1])
    a, b = used.candidates(points, end, bodies), FeatureTree.build(points, faces, start).candidates(points, end, bodies)
    vf, ee = feature_sets(points, end, faces, start, bodies, used, 0.0)
    assert np.array_equal(a.vertex_face, b.vertex_face) and np.array_equal(a.edge_edge, b.edge_edge)
    assert np.array_equal(a.vertex_face, vf) and np.array_equal(a.edge_edge, ee)
    assert len(vf) > 100 and len(ee) > 300


def test_each_feature_has_one_owner_and_closed_surfaces_are_dealt_evenly():
    _, faces = torus(21, 13)
    sides = faces[:, [[0, 1], [1, 2], [2, 0]]]
    for shares, fair, count in ((Shares.deal(sides, 2), 2, 3 * 21 * 13), (Shares.deal(faces[:, :, None], 1), 1, 21 * 13)):
        assert shares.slots.shape == (len(faces), fair)
        owned = shares.slots[shares.slots >= 0]
        assert np.array_equal(np.sort(owned), np.arange(count)) and len(shares.corners) == count
        face = np.repeat(np.arange(len(faces)), fair).reshape(-1, fair)[shares.slots >= 0]
        assert (shares.corners[owned][:, :, None] == faces[face][:, None, :]).any(axis=2).all()


def crossing(points, faces, pairs):
    """Whether an edge of the one passes through the other, by signed volumes; for triangles in general position."""
    hit = np.zeros(len(pairs), bool)
    for first, second in ((0, 1), (1, 0)):
        a, b, c = np.moveaxis(points[faces[pairs[:, second]]], 1, 0)
        x = points[faces[pairs[:, first]]]
        for k in range(3):
            p, q = x[:, k], x[:, (k + 1) % 3]
            volume = lambda u, v, w, t: np.linalg.det(np.stack([v - u, w - u, t - u], axis=1))
            across = volume(a, b, c, p) * volume(a, b, c, q) < 0
            around = np.stack([volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)])
            hit |= across & ((around > 0).all(axis=0) | (around < 0).all(axis=0))
    return hit


@given(st.integers(0, 2**31), st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=30, deadline=None)
def test_triangle_pairs_equal_brute_force(seed, n, m):
    rng = np.random.default_rng(seed)
    points, faces = rng.random((3 * (n + m), 3)), np.arange(3 * (n + m)).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(n), np.arange(m) + n, indexing="ij")
    every = np.stack([i.ravel(), j.ravel()], axis=1)
    wanted = every[crossing(points, faces, every)] - [0, n]
    found = detect.triangle_pairs(points[: 3 * n], faces[:n], points[3 * n :], faces[: m])
    assert np.array_equal(found, wanted)
    i, j = np.triu_indices(n, 1)
    every = np.stack([i, j], axis=1)
    assert np.array_equal(detect.triangle_pairs(points[: 3 * n], faces[:n]), every[crossing(points, faces, every)])


def test_triangle_pairs_of_a_refit_tree_are_those_of_a_new_one():
    points, faces, start = two_tori(60, 40)
    tree = Tree.build(points, faces, start)
    moved = points + 0.05 * np.sin(4 * points[:, ::-1])
    tree.refit(moved)
    found = intersecting(tree, moved, np.array([[0, 1]]))
    half, count = len(points) // 2, start[1]
    wanted = detect.triangle_pairs(moved[:half], faces[:count], moved[half:], faces[:count])
    assert len(found) > 200 and np.array_equal(found - [0, count], wanted)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    points, faces, start = two_tori(180, 80)
    end = points + 0.02 * np.sin(5 * points[:, ::-1])
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        tree = FeatureTree.build(points, faces, start)
        found = tree.candidates(points, end, np.array([[0, 0], [0, 1], [1, 1]]))
        results.append((found.vertex_face, found.edge_edge, tree.tree.low, intersecting(tree.tree, points, np.array([[0, 1]]))))
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
    assert len(results[0][1]) > 20_000


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_boxes_and_points_that_are_not_finite_are_refused_by_number(bad):
    low, high = soup(1, 30)
    for spoilt in (low, high):
        spoilt[17, 1], keep = bad, spoilt[17, 1]
        with pytest.raises(PliantError, match="1 boxes .* 17"):
            detect.box_pairs(low, high)
        spoilt[17, 1] = keep
    points, faces, start = two_tori(5, 4)
    tree = Tree.build(points, faces, start)
    for which in (0, 1):
        moved = [points.copy(), points.copy()]
        moved[which][23, 2] = bad
        with pytest.raises(PliantError, match="points .* 23"):
            tree.refit(*moved)
        with pytest.raises(PliantError, match="points .* 23"):
            Tree.build(moved[0], faces, start, moved[1])


def test_nothing_touches_nothing():
    none, some = np.zeros((0, 3)), np.ones((3, 3))
    faces = np.zeros((0, 3), np.int64)
    assert detect.box_pairs(none, none).shape == (0, 2)
    assert detect.box_pairs(none, none, some, some).shape == (0, 2) and detect.box_pairs(some, some, none, none).shape == (0, 2)
    assert detect.triangle_pairs(none, faces, none, faces).shape == (0, 2)
    tree = FeatureTree.build(none, faces, np.array([0, 0, 0]))
    found = tree.candidates(none, none, np.array([[0, 1], [0, 0]]))
    assert found.vertex_face.shape == (0, 2) and found.edge_edge.shape == (0, 2)


def test_faces_without_points_and_boxes_inside_out_are_refused():
    points, faces = np.eye(3), np.array([[0, 1, 2]])
    with pytest.raises(PliantError, match="surface b name points outside 0 to 2"):
        detect.triangle_pairs(points, faces, points, faces + 5)
    with pytest.raises(PliantError, match="lower corner above"):
        detect.box_pairs(points + 1, points)


def test_rows_that_do_not_fit_are_refused():
    """They would be read from foreign memory, or lost."""
    points, rows = np.random.default_rng(0).random((10, 3)), np.arange(9).reshape(-1, 3)
    for wrong, start, says in (
        (rows + 2, [0, 3], "points 2 to 10, but 10 points"),
        (rows[0], [0, 3], r"not \(3,\)"),
        (rows, [0, 2], "rises from 0 to 3"),
        (rows, [1, 3], "rises from 0 to 3"),
        (rows, [0, 3, 2, 3], "rises from 0 to 3"),
    ):
        with pytest.raises(PliantError, match=says):
            Tree.build(points, wrong, np.array(start))
    tree = Tree.build(points, rows, np.array([0, 3]))
    with pytest.raises(PliantError, match="8 points, but rows go up to point 8"):
        tree.refit(points[:8])
    with pytest.raises(PliantError, match="9 points, but rows go up to point 8"):
        tree.refit(points, points[:9])
    with pytest.raises(PliantError, match="bodies 0 to 1 were asked of a tree of 1"):
        pairs_between(tree, np.array([[0, 1]]))


def test_half_of_a_second_set_of_boxes_is_refused():
    low, high = np.zeros((2, 3)), np.ones((2, 3))
    with pytest.raises(PliantError, match="low_b was given without high_b"):
        detect.box_pairs(low, high, low)
    with pytest.raises(PliantError, match="high_b was given without low_b"):
        detect.box_pairs(low, high, high_b=high)
