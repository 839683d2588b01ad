"""How far one surface is above another: against closed forms, and against linear programmes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from pliant.detect.clearance import clearance, traced
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.units import rotation_matrix

BOX = make("box", size=(1.0, 1.0, 1.0), edge=1.0).surface()


def test_boxes_with_faces_edges_and_corners_over_each_other():
    assert clearance(BOX.moved((0, 0, 3.0)), BOX) == pytest.approx(2.0, abs=1e-12)
    assert clearance(BOX.moved((0.99, 0.99, 3.0)), BOX) == pytest.approx(2.0, abs=1e-12)
    assert clearance(BOX.moved((1.01, 0, 3.0)), BOX) == np.inf
    assert clearance(BOX.moved((0, 0, 0.2)), BOX) == pytest.approx(-0.8, abs=1e-12)  # it overlaps
    edge = BOX.moved(rotation=rotation_matrix((45.0, 0, 0)))  # stands on an edge along x
    assert clearance(edge.moved((0, 0, 3.0)), BOX) == pytest.approx(2.5 - np.sqrt(0.5), abs=1e-12)
    ridge = edge.moved(rotation=rotation_matrix((0, 0, 90.0)))  # edge over edge, far from any corner
    assert clearance(edge.moved((0, 0, 3.0)), ridge) == pytest.approx(3.0 - 2.0 * np.sqrt(0.5), abs=1e-12)


def least(s, t):
    """Least height of triangle s above t, as a linear programme over the places in both."""
    heights = np.concatenate([s[:, 2], -t[:, 2]])
    same = np.concatenate([np.column_stack([s[:, :2].T, -t[:, :2].T]), [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]])
    found = linprog(heights, A_eq=same, b_eq=[0, 0, 1, 1])
    return found.fun if found.status == 0 else np.inf


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_the_least_height_between_all_triangles(seed):
    draw = np.random.default_rng(seed)
    above, below = (Surface(draw.normal(size=(12, 3)), draw.permutation(12).reshape(4, 3)) for _ in range(2))
    wanted = min(least(s, t) for s in above.points[above.faces] for t in below.points[below.faces])
    assert clearance(above, below) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("kind, size, top", [("ball", (0.5,), 0.5), ("box", (0.5, 0.4, 0.3), 0.3), ("cylinder", (0.2, 0.6), 0.6), ("torus", (0.5, 0.1), 0.1)])
def test_points_go_down_to_an_exact_shape(kind, size, top):
    x = 0.5 if kind == "torus" else 0.0
    far = np.array([[x, 0.0, 5.0], [9.0, 0.0, 2.0]])  # the second misses it
    assert traced(far, 0.0, kind, size, np.eye(3), np.zeros(3), -1.0, 20.0) == pytest.approx(5.0 - top, abs=1e-9)
    assert traced(-far, 0.0, kind, size, np.eye(3), np.zeros(3), 1.0, 20.0) == pytest.approx(5.0 - top, abs=1e-9)
    assert traced(far[1:], 0.0, kind, size, np.eye(3), np.zeros(3), -1.0, 20.0) == np.inf


def test_a_point_above_a_slope():
    slope = rotation_matrix((0, 30.0, 0))
    assert traced(np.array([[0.3, 0.1, 2.0]]), 0.0, "plane", (), slope, np.zeros(3), -1.0, 9.0) == pytest.approx(2.0 + 0.3 * np.tan(np.radians(30.0)), abs=1e-9)
