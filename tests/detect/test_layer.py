"""The small pieces that all methods share: pairs of boxes and balls, points in boxes and shapes, memory by key, normals, winding."""

import numpy as np
import pytest

from pliant.detect import brute_force
from pliant.detect.body_pairs import both_ways, overlapping, overlapping_balls, points_in_boxes
from pliant.detect.keys import find, recall, recalled, remember
from pliant.detect.shapes import BALL, NO_SHAPE, PLANE, Shapes, asked_points, points_in_shapes
from pliant.geometry.normals import face_crosses, face_normals, vertex_area_vectors
from pliant.geometry.shapes import make
from pliant.geometry.winding import sampled_winding_numbers, winding_numbers


@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_boxes_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    low = np.round(rng.uniform(0, 4, (40, 3)), 1)
    high = low + np.round(rng.uniform(0, 1, (40, 3)), 1)
    low[3], high[3] = -np.inf, np.inf  # a plane
    low[5], high[5] = np.inf, -np.inf  # a body without points
    found = overlapping(low, high)
    assert len(found) > 40
    assert np.array_equal(found, brute_force.box_pairs(low, high))
    a, b = both_ways(found)
    assert np.array_equal(np.stack([a, b], axis=1), np.unique(np.concatenate([found, found[:, ::-1]]), axis=0))


def test_pairs_of_balls():
    rng = np.random.default_rng(0)
    centre, radius = rng.uniform(0, 4, (40, 3)), rng.uniform(0, 0.8, 40)
    radius[7] = np.inf
    i, j = np.triu_indices(40, 1)
    near = np.linalg.norm(centre[i] - centre[j], axis=1) <= radius[i] + radius[j]
    assert np.array_equal(overlapping_balls(centre, radius), np.stack([i[near], j[near]], axis=1))


def test_points_in_boxes_with_margin():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (50, 3))
    low, high = np.array([[0.0, 0, 0], [0.4, 0.4, 0.4]]), np.array([[0.5, 0.5, 0.5], [0.6, 0.6, 0.6]])
    first, last, box, margin = np.array([0, 20, 0]), np.array([20, 50, 50]), np.array([0, 1, 1]), np.array([0.0, 0.1, 0.3])
    row, point = points_in_boxes(first, last, box, margin, x, low, high)
    wanted = [
        (k, p) for k in range(3) for p in range(first[k], last[k])
        if (x[p] >= low[box[k]] - margin[k]).all() and (x[p] <= high[box[k]] + margin[k]).all()
    ]  # fmt: skip
    assert list(zip(row.tolist(), point.tolist(), strict=True)) == wanted


def test_points_in_shapes_see_balls_as_centre_and_radius():
    """Body 0 is a plane, body 1 a ball on it, body 2 has points; the ball is in the plane by 0.1, of the points only those that count."""
    shapes = Shapes(
        np.array([PLANE, BALL, NO_SHAPE]), np.array([[0.0, 0, 0], [0.5, 0, 0], [0, 0, 0]]), np.array([0, 1, -1]),
        np.array([[0.0, 0, 0], [0, 0, 0.4]]), np.tile([1.0, 0, 0, 0], (2, 1)),
    )  # fmt: skip
    x = np.array([[0.0, 0, 0.9], [1, 0, -0.2], [1, 0, -0.3], [1, 0, 0.1], [0, 0, 0.4]])
    radius = np.array([0.0, 0.5, 0.0])
    first, last = asked_points(np.array([0, 0, 1, 4]), np.array([0, 1, 3]), np.array([0, 4, -1]), radius)
    counts = np.array([True, True, False, True, True])
    low, high = np.array([[-9.0, -9, -9], [-0.5, -0.5, -0.1], [1, 0, -0.3]]), np.array([[9.0, 9, 9], [0.5, 0.5, 0.9], [1, 0, 0.1]])
    row, point, gap, normal = points_in_shapes(np.array([1, 2]), np.array([0, 0]), first, last, radius, counts, x, low, high, shapes)
    assert row.tolist() == [0, 1] and point.tolist() == [4, 1]
    assert gap == pytest.approx([-0.1, -0.2]) and np.array_equal(normal, [[0, 0, 1], [0, 0, 1]])


def test_keys_are_found_in_any_order():
    rng = np.random.default_rng(2)
    known = np.unique(rng.integers(0, 1000, 300))
    keys = rng.integers(-5, 1005, (100, 4))
    at = find(known, keys)
    assert np.array_equal(at >= 0, np.isin(keys, known))
    assert np.array_equal(known[at[at >= 0]], keys[at >= 0])
    assert (find(known[:0], keys) == -1).all()
    assert np.array_equal(recalled(known, np.arange(len(known)), keys, -1), at)


def test_memory_recalls_what_was_remembered():
    memory = remember(np.array([7, 3, 5]), force=np.array([0.7, 0.3, 0.5]), way=np.eye(3))
    assert recall(memory, "force", np.array([3, 4, 7])).tolist() == [0.3, 0.0, 0.7]
    assert recall(memory, "way", np.array([5, 1])).tolist() == [[0, 0, 1], [0, 0, 0]]
    assert recall({}, "way", np.array([5, 1]), (3,)).shape == (2, 3)


def test_normals_and_winding_of_a_ball():
    surface = make("ball", radius=0.5, edge=0.1).surface()
    x, faces = surface.points, surface.faces
    middle = x[faces].mean(axis=1)
    assert (np.einsum("fi,fi->f", face_normals(x, faces), middle) > 0.4).all()
    area = np.linalg.norm(face_crosses(x, faces), axis=1).sum() / 2
    assert area == pytest.approx(np.pi, rel=0.05)
    assert np.abs(vertex_area_vectors(x, faces).sum(axis=0)).max() < 1e-12
    at = np.array([[0.0, 0, 0], [0.2, 0.1, 0], [0.9, 0, 0]])
    assert winding_numbers(x, faces, at) == pytest.approx([1, 1, 0], abs=1e-12)
    vector = face_crosses(x, faces) / 2
    size = np.linalg.norm(vector, axis=1)
    sampled = sampled_winding_numbers(np.array([0, len(size)]), middle, vector / size[:, None], size, at, np.zeros(3, np.int64))
    assert sampled == pytest.approx([1, 1, 0], abs=0.02)
