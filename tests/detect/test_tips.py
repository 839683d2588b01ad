"""Tips: corners of the common surface that are deep stand for their part of the circle around them (theory/patch 3.9)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.contact.patch.row_law import BEFORE, ROW, STIFF, press
from pliant.detect import patches, tips
from pliant.detect.facing import facing_faces
from pliant.detect.tree import Tree


def slab(cells: int, size: float, up: bool) -> tuple[np.ndarray, np.ndarray]:
    """A square in the plane z = 0 about the origin, cut into cells x cells; normal +z or -z."""
    line = np.linspace(-0.5 * size, 0.5 * size, cells + 1)
    points = np.array([(x, y, 0.0) for x in line for y in line])
    i, j = (k.ravel() for k in np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"))
    a = i * (cells + 1) + j
    b, c, d = a + cells + 1, a + cells + 2, a + 1
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return points, faces if up else faces[:, ::-1]


@pytest.mark.parametrize("depth, seen", [(1e-3, True), (3e-3, False)])
def test_polygons_that_meet_in_a_place_have_one_tip_together(depth, seen):
    """A square of 0.1 m, turned, 2 mm deep in a wide one: a quarter of a circle at its corners, half at its rim, a whole one inside."""
    wide, small = slab(3, 0.4, True), slab(2, 0.1, False)
    angle = 0.37
    x = small[0] @ np.array([[math.cos(angle), math.sin(angle), 0], [-math.sin(angle), math.cos(angle), 0], [0, 0, 1]]) - [0.0, 0.0, 2e-3]
    points, faces = np.concatenate([x, wide[0]]), np.concatenate([small[1], wide[1] + len(x)])
    tree = Tree.build(points, faces, np.array([0, len(small[1]), len(faces)]))
    found = facing_faces(tree, points, faces, np.array([0]), np.array([1]), np.array([0.01]), np.array([0.0]))
    pair, slave, master = found
    deep = np.full(len(pair), 0.01)
    rows = patches.facing(points, faces, slave, master, pair, deep, 0.0 * deep, np.zeros(len(pair), bool))
    made = tips.on_meshes(points, faces, rows, np.ones(len(faces), bool), np.full(len(rows), depth), np.full(len(rows), 0.01))
    if not seen:
        assert len(made) == 0
        return
    assert made.gap == pytest.approx(np.full(len(made), -2e-3))
    place, which = np.unique(np.round(made.at, 9), axis=0, return_inverse=True)
    share = np.bincount(which.ravel(), made.area)
    corner = np.linalg.norm(place[:, :2], axis=1) > 0.05 * math.sqrt(2.0) - 1e-6
    local = place[:, :2] @ np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    rim = np.abs(local).max(axis=1) > 0.05 - 1e-6
    assert corner.sum() == 4 and share[corner] == pytest.approx(np.full(4, 0.25))
    assert share[rim & ~corner] == pytest.approx(np.full((rim & ~corner).sum(), 0.5))
    assert (~rim).sum() > 0 and share[~rim] == pytest.approx(np.ones((~rim).sum()))


@given(x=st.floats(-1e-2, 1e-2), y=st.floats(-1e-2, 1e-2), k=st.floats(1.0, 1e8))
def test_force_of_what_keeps_energy_is_the_difference_of_energies_over_the_way(x, y, k):
    """f (x - y) = k/2 (max(x, 0)^2 - max(y, 0)^2), and its slope is that of differences (theory/patch 4.6)."""
    row = np.zeros((1, ROW))
    row[0, STIFF], row[0, BEFORE] = k, y
    force, rise = press(row, 0, -x)
    assert force * (x - y) == pytest.approx(0.5 * k * (max(x, 0.0) ** 2 - max(y, 0.0) ** 2), rel=1e-9, abs=1e-18 * k)
    assert force >= 0.0 and rise >= 0.0
    if min(abs(x), abs(x - y)) > 1e-4:
        step = 1e-7
        slope = (press(row, 0, -x - step)[0] - press(row, 0, -x + step)[0]) / (2.0 * step)
        assert rise == pytest.approx(slope, rel=1e-3, abs=1e-4 * k)
