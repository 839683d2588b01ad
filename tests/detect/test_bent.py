"""What curved shapes cover of flat faces, against sampling and least squares."""

import numpy as np
import pytest

from pliant.detect import bent
from pliant.detect.shape_patches import Shape
from pliant.detect.shapes import BALL, PLANE

PARTS = 60
PLACES = [((i + s) / PARTS, (j + s) / PARTS) for s, less in ((1 / 3, 0), (2 / 3, 1)) for i in range(PARTS) for j in range(PARTS - less - i)]
WEIGHTS = np.array([(1 - u - v, u, v) for u, v in PLACES])  # even over a triangle


def shape(kind, radius, centre):
    return Shape(np.array([kind]), np.array([[radius, 0.0, 0.0]]), np.array([centre]), np.array([[1.0, 0.0, 0.0, 0.0]]))


def interpolated(gap):
    """A function of weights at all places, linear on each sixteenth of the triangle."""
    cell = np.minimum(np.floor(4.0 * WEIGHTS[:, 1:]), 3.0)
    u, v = (4.0 * WEIGHTS[:, 1:] - cell).T
    at = lambda i, j: gap(np.column_stack([4.0 - cell.sum(axis=1) - i - j, cell[:, 0] + i, cell[:, 1] + j]) / 4.0)
    low = at(0, 0) * (1 - u - v) + at(1, 0) * u + at(0, 1) * v
    high = at(1, 1) * (u + v - 1) + at(0, 1) * (1 - u) + at(1, 0) * (1 - v)
    return np.where(u + v <= 1.0, low, high)


@pytest.mark.parametrize("seed", range(12))
def test_area_of_a_face_on_a_ball_is_that_of_samples(seed):
    """Below a ball, pushed up until the middle is inside and corners are out: open by no more than the best linear fit is off at a corner."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(-0.15, 0.15, (3, 2)) + [[0.3, 0.0], [-0.2, 0.25], [-0.2, -0.25]]
    radius, corners = rng.uniform(1.0, 3.0), np.column_stack([flat, np.zeros(3)])
    slope = rng.uniform(-0.02, 0.02, 2)
    centre = np.array([radius * slope[0], radius * slope[1], 0.0]) + [0.0, 0.0, radius - rng.uniform(0.0, 0.02)]
    gap = np.linalg.norm(WEIGHTS @ corners - centre, axis=1) - radius
    fit = np.linalg.lstsq(WEIGHTS, gap, rcond=None)[0]
    off = np.max(np.linalg.norm(corners - centre, axis=1) - radius - fit)
    wide = 0.5 * np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0]))
    bent_ = interpolated(lambda weights: np.linalg.norm(weights @ corners - centre, axis=1) - radius)
    some = (bent_ > 0.0) & (bent_ <= off)
    found = bent.covered(corners, np.array([[0, 1, 2]]), np.array([0]), np.array([0]), shape(BALL, radius, centre))[0]
    assert found == pytest.approx(wide * (WEIGHTS * some[:, None]).mean(axis=0), abs=0.01 * wide)
    assert some.any()


def test_a_plane_covers_nothing_that_is_open():
    corners = np.array([[0.0, 0.0, 0.01], [0.1, 0.0, -0.01], [0.0, 0.1, 0.02]])
    assert not bent.covered(corners, np.array([[0, 1, 2]]), np.array([0]), np.array([0]), shape(PLANE, 0.0, np.zeros(3))).any()
