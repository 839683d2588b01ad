"""Rows from quadrature points: few of them do the work of all, for any motion and any pressure that is linear over a face."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pliant.detect import patches
from pliant.detect.merged import joined, merged, select

spec = importlib.util.spec_from_file_location("patch_shapes", Path(__file__).with_name("test_patches.py"))
shapes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shapes)
box, grid_face, normals, shared, turn = (getattr(shapes, name) for name in ("box", "grid_face", "normals", "shared", "turn"))


def rows_of(a, b, deep=0.3, high=0.05, order=None):
    """(quadrature points, rows, points, faces) of two surfaces."""
    found, points, faces = shared(a, b, deep, high, order)
    count = len(found)
    none = np.zeros(count, bool)
    return found, merged(points, faces, found, np.zeros(count, np.int64), none, none), points, faces


def bent_pair(seed):
    """A grid and a bent one of another size upon it, turned at random; partly overlapping, partly open."""
    rng = np.random.default_rng(seed)
    a, b = grid_face(4, 3), grid_face(7, 6, (0.8, 1.1), flip=True)
    b[0][:, :2] += rng.uniform(0.05, 0.1, 2)
    for x in (a[0], b[0]):
        x[:, 2] += 0.02 * rng.normal(size=len(x))
    way = turn(rng)
    return (a[0] @ way, a[1]), (b[0] @ way, b[1]), rng


@pytest.mark.parametrize("seed", range(3))
def test_they_do_the_same_work(seed):
    a, b, rng = bent_pair(seed)
    found, rows, points, faces = rows_of(a, b)
    assert 0 < len(rows) < 0.5 * len(found)
    u, p = rng.normal(size=points.shape), rng.normal(size=(len(faces), 3))  # velocities of points; pressures at the corners of faces
    other = np.einsum("rk,rki->ri", found.others, u[faces[found.master]])
    rate = np.einsum("ri,ri->r", np.einsum("rk,rki->ri", found.weights, u[faces[found.slave]]) - other, found.normal)
    all_of_it = found.area * np.einsum("rk,rk->r", found.weights, p[found.slave]) * rate
    row = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    rate = np.bincount(row, rows.share * np.einsum("ei,ei->e", u[rows.point], rows.normal[row]))
    work = rows.area * np.einsum("rk,rk->r", rows.weights, p[rows.slave]) * rate
    for face in np.unique(found.slave):
        mine = all_of_it[found.slave == face]
        assert work[rows.slave == face].sum() == pytest.approx(mine.sum(), abs=1e-12 * np.abs(mine).max() + 1e-15)


def test_both_sides_lie_on_one_line_along_the_normal():
    a, b, _ = bent_pair(5)
    _, rows, points, _ = rows_of(a, b)
    row = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    assert np.bincount(row, rows.share) == pytest.approx(0.0, abs=1e-12)
    apart = np.stack([np.bincount(row, rows.share * points[rows.point, i]) for i in range(3)], axis=1)
    assert apart == pytest.approx(-rows.gap[:, None] * rows.normal, abs=1e-12)


def test_a_sharp_edge_in_a_face_keeps_rows_on_either_side():
    """A roof of 90 degrees in the middle of a face: the mean of both sides would not know how deep its ridge is."""
    plate = grid_face(1, 1)
    roof = np.array([[0.5, 0.2, -0.01], [0.5, 0.4, -0.01], [0.4, 0.2, 0.09], [0.4, 0.4, 0.09], [0.6, 0.2, 0.09], [0.6, 0.4, 0.09]])
    sides = np.array([[0, 2, 1], [1, 2, 3], [0, 1, 4], [1, 5, 4]])
    found, rows, points, faces = rows_of(plate, (roof, sides))
    n, _ = normals(points, faces)
    closed = rows.gap <= 0
    assert closed.sum() == 6
    assert sorted(np.sign(n[rows.master[closed], 0])) == [-1, -1, -1, 1, 1, 1]
    assert rows.gap.min() == pytest.approx(found.gap.min(), rel=0.2)


def test_rows_are_selected_and_joined_with_their_points():
    a, b, rng = bent_pair(6)
    _, rows, _, _ = rows_of(a, b)
    some = rng.random(len(rows)) < 0.5
    back = joined([select(rows, some), select(rows, ~some)])
    order = np.argsort(np.append(np.flatnonzero(some), np.flatnonzero(~some)))
    for name, value in select(back, order)._asdict().items():
        assert np.array_equal(value, getattr(rows, name)), name


def test_a_box_on_a_finer_one_has_three_rows_a_face():
    below, above = box(np.array([1.0, 1.0, 0.2]), 2), box(np.array([0.6, 0.6, 0.2]), 9)
    above[0][:, 2] += 0.19
    _, rows, _, _ = rows_of(below, above, 0.05, 0.0)
    assert rows.area.sum() == pytest.approx(0.36, rel=1e-12)
    assert len(rows) == 3 * len(np.unique(rows.slave)) and rows.gap == pytest.approx(-0.01)


def test_corners_where_faces_of_one_plane_meet_are_one_row():
    """Two rigid grids: what corners do together stays, force and moments, and there are as many rows as points, not as corners of faces."""
    rng = np.random.default_rng(3)
    a, b = grid_face(4, 3), grid_face(1, 1, flip=True)
    b[0][:, 2] -= 0.01 + 0.02 * b[0][:, 0]  # overlaps, less at one end
    way = turn(rng)
    points, faces = np.concatenate([a[0], b[0]]) @ way, np.concatenate([a[1], b[1] + len(a[0])])
    slave, master = (g.ravel() for g in np.meshgrid(np.arange(len(a[1])), len(a[1]) + np.arange(len(b[1])), indexing="ij"))
    full = np.full(len(slave), 0.3), np.full(len(slave), 0.05)
    found = patches.facing(points, faces, slave, master, np.zeros(len(slave), np.int64), *full, np.ones(len(slave), bool))
    sharp = np.ones(len(found), bool)
    rows = merged(points, faces, found, np.zeros(len(found), np.int64), sharp, sharp)
    # 20 points, and where the diagonal of the other crosses edges
    assert len(rows) < 0.5 * len(found)
    nodes = rows.weights.max(axis=1) > 1.0 - 1e-9
    assert nodes.sum() == len(np.unique(faces[rows.slave[nodes], rows.weights[nodes].argmax(axis=1)])) == len(a[0])
    depth = lambda r: -r.gap * r.area
    for value in (lambda r: r.area, depth, lambda r: depth(r)[:, None] * r.at):
        assert value(rows).sum(axis=0) == pytest.approx(value(found).sum(axis=0), rel=1e-12, abs=1e-12)


def test_corners_of_two_planes_stay_two_rows():
    """A ridge: faces of both its slopes meet in points, but push along different normals."""
    a, b = grid_face(2, 1), grid_face(1, 1, flip=True)
    a[0][:, 2] += 0.05 * (1.0 - np.abs(2.0 * a[0][:, 0] - 1.0))
    points, faces = np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1] + len(a[0])])
    slave, master = (g.ravel() for g in np.meshgrid(np.arange(len(a[1])), len(a[1]) + np.arange(len(b[1])), indexing="ij"))
    full = np.full(len(slave), 0.3), np.full(len(slave), 0.05)
    found = patches.facing(points, faces, slave, master, np.zeros(len(slave), np.int64), *full, np.ones(len(slave), bool))
    sharp = np.ones(len(found), bool)
    rows = merged(points, faces, found, np.zeros(len(found), np.int64), sharp, sharp)
    top = np.abs(np.einsum("rk,rk->r", rows.weights, points[faces[rows.slave], 0]) - 0.5) < 1e-9
    assert len(np.unique(np.sign(rows.normal[top, 0]))) == 2
    assert rows.area.sum() == pytest.approx(found.area.sum(), rel=1e-12)
