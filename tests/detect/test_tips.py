"""Tips: corners of the common surface that are deep stand for their part of the circle around them (theory/patch 3.9)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.contact.patch.row_law import BEFORE, ROW, STIFF, press
from pliant.detect import patches
from pliant.detect.closest import face_neighbours
from pliant.detect.facing import facing_faces
from pliant.detect.tips import carried_by_area
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


class Posed(NamedTuple):
    points: np.ndarray
    faces: np.ndarray
    rims: patches.Rims
    found: patches.Patches
    like: np.ndarray  # for each row one of its polygon


def square_on(height: float, angle: float, tilt: float = 0.0, everywhere: bool = False) -> Posed:
    """A square of 0.1 m, turned, at a height over a wide one; the sharp edges are the outline of the square, or all there are."""
    wide, small = slab(3, 0.4, True), slab(2, 0.1, False)
    c, s = math.cos(angle), math.sin(angle)
    x = small[0] @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    x[:, 2] += height + tilt * x[:, 0]
    points, faces = np.concatenate([x, wide[0]]), np.concatenate([small[1], wide[1] + len(x)])
    tree = Tree.build(points, faces, np.array([0, len(small[1]), len(faces)]))
    pair, slave, master = facing_faces(tree, points, faces, np.array([0]), np.array([1]), np.array([0.01]), np.array([0.01]))
    full, none = np.full(len(pair), 0.01), np.zeros(len(pair), bool)
    edge = (face_neighbours(faces) < 0) & (np.arange(len(faces)) < len(small[1]))[:, None] | everywhere
    node = (np.arange(len(points)) < len(x)) & (np.abs(np.concatenate([small[0], wide[0]])).max(axis=1) > 0.05 - 1e-9) | everywhere
    rims = patches.Rims(node, edge, node[faces].any(axis=1))
    return Posed(points, faces, rims, *patches.facing_with_tips(points, faces, slave, master, pair, full, full, none, ~none, rims))


@pytest.mark.parametrize("height", [-2e-3, 2e-3])
def test_polygons_that_meet_in_a_place_have_one_tip_together(height):
    """2 mm deep or open: a quarter of a circle at the corners of a square, half at its rim, a whole one inside."""
    angle = 0.37
    *_, found, like = square_on(height, angle, everywhere=True)
    made, like = patches.select(found, found.tip > 0.0), like[found.tip > 0.0]
    assert made.gap == pytest.approx(np.full(len(made), height)) and (made.area == 0.0).all()
    assert (found.tip[like] == 0.0).all() and (found.slave[like] == made.slave).all() and (found.master[like] == made.master).all()
    place, which = np.unique(np.round(made.at, 9), axis=0, return_inverse=True)
    share = np.bincount(which.ravel(), made.tip)
    corner = np.linalg.norm(place[:, :2], axis=1) > 0.05 * math.sqrt(2.0) - 1e-6
    local = place[:, :2] @ np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    rim = np.abs(local).max(axis=1) > 0.05 - 1e-6
    assert corner.sum() == 4 and share[corner] == pytest.approx(np.full(4, 0.25))
    assert share[rim & ~corner] == pytest.approx(np.full((rim & ~corner).sum(), 0.5))
    assert (~rim).sum() > 0 and share[~rim] == pytest.approx(np.ones((~rim).sum()))


def carried(posed: Posed) -> np.ndarray:
    return carried_by_area(posed.points, posed.faces, posed.faces, posed.rims, posed.found, np.ones(1))


def test_area_carries_all_of_a_face_that_lies_on_another():
    """Tips are as deep as the rows around them: nothing is left to them."""
    posed = square_on(-2e-3, 0.37)
    tips = posed.found.tip > 0.0
    assert tips.sum() > 8 and carried(posed)[tips] == pytest.approx(2e-3, rel=1e-9) and not carried(posed)[~tips].any()


def test_area_carries_nothing_of_a_corner_that_pokes():
    """At a slope of 0.3, 1 mm deep: it overlaps a triangle of 3 mm, where its part of the square is a third of 25 x 25 / 2 mm^2."""
    posed = square_on(0.3 * 0.05 * math.sqrt(2.0) - 1e-3, math.pi / 4, tilt=0.3)
    deepest = posed.found.gap.argmin()
    assert posed.found.tip[deepest] > 0.0 and posed.found.gap[deepest] == pytest.approx(-1e-3, rel=0.1)
    assert 0.0 < carried(posed)[deepest] < 0.05e-3


def ridges(way: float, slopes: tuple[float, float, float, float], depth: float) -> patches.Patches:
    """A ridge along x at z = 0 and above it another, upside down, turned by an angle and so deep in it; slopes of their four sides."""
    up = np.array([[-1, 0, 0], [1, 0, 0], [0, 1, -slopes[0]], [0, -1, -slopes[1]]], float)
    down = np.array([[-1, 0, 0], [1, 0, 0], [0, 1, slopes[2]], [0, -1, slopes[3]]], float)
    c, s = math.cos(way), math.sin(way)
    down = down @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [0.1, 0.07, -depth]
    points, faces = np.concatenate([down, up]), np.array([[0, 2, 1], [0, 1, 3], [4, 5, 6], [5, 4, 7]])
    node, edge = np.zeros(8, bool), np.zeros((4, 3), bool)
    node[[0, 1, 4, 5]] = True
    edge[0, 1] = edge[1, 2] = edge[2, 2] = edge[3, 2] = True
    slave, master = np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3])
    full, none = np.full(4, 0.1), np.zeros(4, bool)
    rims = patches.Rims(node, edge, node[faces].any(axis=1))
    found, _ = patches.facing_with_tips(points, faces, slave, master, np.zeros(4, np.int64), full, full, none, ~none, rims)
    mine, other = (np.einsum("rk,rki->ri", w, points[faces[f]]) for w, f in ((found.weights, found.slave), (found.others, found.master)))
    assert other - mine == pytest.approx(found.gap[:, None] * found.normal, abs=1e-12), "the places of a row are on one line along it"
    assert found.at == pytest.approx(0.5 * (mine + other), abs=1e-12)
    return found


def _meet(way: float, depth: float) -> list[float]:
    """The middle between the two ridges where they cross."""
    return [0.1 - 0.07 * math.cos(way) / math.sin(way), 0.0, -0.5 * depth]


SLOPE = st.floats(0.3, 1.2)


@given(way=st.floats(0.3, math.pi - 0.3), slopes=st.tuples(SLOPE, SLOPE, SLOPE, SLOPE), depth=st.floats(-1e-2, 1e-2))
def test_edges_that_cross_part_along_the_way_that_is_normal_to_both(way, slopes, depth):
    """Not along the normals of their faces, which would hold back what slides along them; as deep as the edges are; what overlaps of the
    faces pushes the same way (theory/patch 3.9)."""
    found = ridges(way, slopes, depth)
    tips = found.tip > 0.0
    crossing = tips & (np.abs(found.gap + depth) < 1e-9)
    closed = ~tips & (found.gap < 0.0)
    assert crossing.any() and closed.any() == (depth > 1e-6)
    assert found.normal[closed] == pytest.approx(np.tile([0.0, 0.0, -1.0], (closed.sum(), 1)), abs=1e-9)
    assert found.normal[crossing] == pytest.approx(np.tile([0.0, 0.0, -1.0], (crossing.sum(), 1)), abs=1e-9)
    assert found.at[crossing] == pytest.approx(np.tile(_meet(way, depth), (crossing.sum(), 1)), abs=1e-9)


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
