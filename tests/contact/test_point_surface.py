"""Contact of surfels on plain arrays: fields, candidates, contact surfaces, shares; brute force and closed forms as oracles."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.contact.point_surface.colliding_surfels import (
    Hits,
    boxes,
    candidates,
    colliding,
    nearest_surfels,
    start_samples,
)
from pliant.contact.point_surface.contact_surface import moved_to_contact
from pliant.contact.point_surface.detection import Prepared
from pliant.contact.point_surface.implicit_surfaces import Surfaces
from pliant.contact.point_surface.published import PairField, resampled, shepard
from pliant.contact.point_surface.self_and_volume_contact import folded
from pliant.contact.point_surface.surfel_rows import foot_shares
from pliant.detect.body_pairs import overlapping
from pliant.detect.shapes import Shapes


def fibonacci(count):
    i = np.arange(count) + 0.5
    polar, azimuth = np.arccos(1.0 - 2.0 * i / count), np.pi * (1.0 + np.sqrt(5.0)) * i
    return np.stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)], axis=1)


def spheres(count, *centres, lifted=True):
    """Unit spheres as samples."""
    ball = fibonacci(count)
    points = np.concatenate([ball + np.asarray(c) for c in centres])
    normals = np.concatenate([ball] * len(centres))
    areas = np.full(len(points), 4.0 * np.pi / count)
    return Surfaces.still(points, normals, areas, count * np.arange(len(centres) + 1), lifted=lifted)


def found(surfaces, first=False):
    low, high = boxes(surfaces)
    some = candidates(surfaces, overlapping(low, high), low, high)
    start_samples(surfaces, some)
    return some, colliding(surfaces, some, np.zeros((len(some), 3)), first)[0]


def total_force(surfaces, hits, k=1.0):
    """(k / 2) sum A_s / 2 depth: what the method pushes with, as a number."""
    return float(0.5 * k * np.sum(0.5 * surfaces.areas[hits.surfel] * -hits.gap))


# -- fields


def test_Q19_the_published_surface_is_inside_a_sphere_by_h2_over_R_and_the_corrected_one_is_not():
    plain, corrected = spheres(2000, (0, 0, 0), lifted=False), spheres(2000, (0, 0, 0))
    where = fibonacci(333)
    sample = ((where[:, None] - plain.points[None]) ** 2).sum(axis=2).argmin(axis=1)
    zero = np.zeros(len(where), np.int64)
    shrink = plain.distances(where, zero, sample)[0].mean()
    assert shrink == pytest.approx(0.00630, rel=0.02)
    assert abs(corrected.distances(where, zero, sample)[0]).max() < 2e-4


def test_exact_shapes_answer_exactly():
    ball = Surfaces.still(
        np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(3, np.int64), shapes=Shapes(
            np.array([0, 1]), np.array([[0, 0, 0], [2.0, 0, 0]]), np.array([0, 1]), np.array([[0, 0, 1.0], [0, 0, 5.0]]),
            np.tile([1.0, 0, 0, 0], (2, 1)),
        ),
    )  # fmt: skip
    gap, normal, state, _ = ball.distances(np.array([[0.3, 0.2, 0.5], [0, 0, 6.0]]), np.array([0, 1]), np.array([-1, -1]))
    assert np.allclose(gap, [-0.5, -1.0]) and np.allclose(normal, [[0, 0, 1], [0, 0, 1]]) and (state == 1).all()


# -- who is inside whom


@settings(max_examples=20, deadline=None)
@given(st.floats(0.3, 2.3), st.floats(-np.pi, np.pi), st.floats(-1.0, 1.0))
def test_hits_are_those_of_asking_every_surfel(distance, azimuth, height):
    flat = np.sqrt(1.0 - height**2)
    centre = distance * np.array([np.cos(azimuth) * flat, np.sin(azimuth) * flat, height])
    surfaces = spheres(500, (0, 0, 0), centre)
    _, hits = found(surfaces, first=True)
    depth = np.concatenate([np.linalg.norm(surfaces.points[:500] - centre, axis=1), np.linalg.norm(surfaces.points[500:], axis=1)]) - 1.0
    sure = np.flatnonzero(depth < -0.03)
    assert np.isin(sure, hits.surfel).all()
    assert (depth[hits.surfel] < 0.03).all()


def test_the_nearest_surfel_is_that_of_asking_all_of_the_body():
    rng = np.random.default_rng(1)
    surfaces = spheres(800, (0, 0, 0), (0.4, 0.1, 0.0))
    queries, other = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    sample = nearest_surfels(surfaces, queries, other)
    reach = 4.0 * np.sqrt(4.0 * np.pi / 800)
    for q, b, s in zip(queries, other, sample, strict=True):
        d = np.linalg.norm(surfaces.points[800 * b : 800 * (b + 1)] - q, axis=1)
        assert s == (800 * b + d.argmin() if d.min() < reach else -1)


def test_surfels_deep_inside_at_the_first_step_are_found_by_the_winding_number():
    surfaces = spheres(3000, (0, 0, 0), (0.05, 0.0, 0.0))
    surfaces.points[3000:] = 0.3 * (surfaces.points[3000:] - [0.05, 0, 0])  # a small ball in the middle of a large one
    some, hits = found(surfaces, first=True)
    small = hits.surfel >= 3000
    assert small.sum() == 3000 and (hits.gap[small] < -0.5).all() and hits.deep[small].all()
    assert len(colliding(surfaces, some, np.zeros((len(some), 3)), False)[0]) < 3000


def test_a_deep_surfel_goes_on_along_its_last_direction():
    surfaces = spheres(3000, (0, 0, 0), (1.5, 0.0, 0.0))
    some, hits = found(surfaces)
    way = np.tile([1.0, 0.0, 0.0], (len(some), 1))
    again, _ = colliding(surfaces, some, way)
    assert hits.deep.any() and (again.normal[again.deep] == [1.0, 0.0, 0.0]).all()
    assert (again.normal[~again.deep] != [1.0, 0.0, 0.0]).any()


# -- force


def test_Q28_force_of_two_spheres_does_not_depend_on_their_sampling():
    """(k / 2) times the integral of the depth: 2 pi / d [u^2 / 2 - u^3 / 3] from d - 1 to 1, over the caps of both, halved twice."""
    u = np.array([0.9, 1.0])
    exact = 0.5 * np.diff(2.0 * np.pi / 1.9 * (u**2 / 2 - u**3 / 3))[0]
    assert exact == pytest.approx(0.0078540, rel=0.02)  # the small-overlap limit
    for count, error in ((1000, 0.012), (4000, 0.006)):
        surfaces = spheres(count, (0, 0, 0), (1.9, 0, 0))
        assert total_force(surfaces, found(surfaces)[1]) == pytest.approx(exact, rel=error)


def test_Q28_published_scalings_depend_on_the_sampling():
    plain, density = [], []
    for count in (1000, 4000):
        surfaces = spheres(count, (0, 0, 0), (1.9, 0, 0))
        depth = -found(surfaces)[1].gap
        plain.append(0.5 * depth.sum())
        density.append(0.5 * (depth * count / (4.0 * np.pi)).sum())
    assert plain[1] / plain[0] == pytest.approx(4.0, rel=0.1)
    assert density[1] / density[0] == pytest.approx(16.0, rel=0.1)


def test_force_changes_smoothly_as_bodies_approach():
    """Steps of 1/200 of a spacing: the second difference of the force is small everywhere; closest-surfel springs jump."""
    count = 1000
    spacing = np.sqrt(4.0 * np.pi / count)
    force = []
    for k in range(80):
        surfaces = spheres(count, (0, 0, 0), (1.9 - k * spacing / 200.0, 0.3 * k * spacing / 200.0, 0))
        force.append(total_force(surfaces, found(surfaces)[1]))
    second = np.abs(np.diff(force, 2)).max()
    assert second < 0.05 * np.abs(np.diff(force)).mean()


def test_shares_sum_to_one_and_make_no_moment():
    surfaces = spheres(2000, (0, 0, 0), (1.9, 0, 0))
    hits = found(surfaces)[1]
    start, surfel, weight = foot_shares(surfaces, hits)
    row = np.repeat(np.arange(len(hits)), np.diff(start))
    assert np.bincount(row, weight) == pytest.approx(1.0, abs=1e-14) and weight.min() >= 0.0
    centre = np.stack([np.bincount(row, weight * surfaces.points[surfel, k]) for k in range(3)], axis=1)
    assert np.abs(np.cross(surfaces.points[hits.surfel] - centre, hits.normal)).max() < 1e-14
    assert (surfaces.fixed.body[surfel] == hits.other[row]).all()


def test_beyond_a_rim_every_surfel_keeps_a_fifth_of_its_share():
    """Shares fall in a line from the foot, 0.8 spacings beyond a straight rim, to a fifth 1.8 spacings away, where the last are."""
    x, y = (g.ravel() for g in np.meshgrid(np.arange(5.0), np.arange(-2.0, 3.0)))
    points = np.concatenate([np.stack([x, y, 0.0 * x], axis=1), [[-0.8, 0.0, -0.1]]])
    surfaces = Surfaces.still(points, np.tile([0.0, 0.0, 1.0], (26, 1)), np.ones(26), np.array([0, 25, 26]))
    hits = Hits(np.array([25]), np.array([0]), np.array([10]), np.array([-0.1]), np.array([[0.0, 0.0, 1.0]]), np.zeros(1, bool))
    _, surfel, weight = foot_shares(surfaces, hits)
    off = points[surfel] - [-0.8, 0.0, 0.0]
    plain = (1.0 - np.einsum("ij,ij->i", off, off) / 2.2**2) ** 3
    factor = weight / plain
    assert sorted(set(off[:, 0])) == pytest.approx([0.8, 1.8])
    assert factor / factor.max() == pytest.approx((1.0 - 0.8 * off[:, 0] / 1.8) / (1.0 - 0.8 * 0.8 / 1.8))


def test_pairs_do_not_depend_on_the_order_of_bodies():
    centres = np.array([(0, 0, 0), (1.9, 0, 0), (0.9, 1.6, 0.1)])
    force = np.zeros((2, 3, 3))
    for k, order in enumerate(([0, 1, 2], [2, 0, 1])):
        surfaces = spheres(600, *centres[order])
        hits = found(surfaces)[1]
        push = (-0.25 * hits.gap * surfaces.areas[hits.surfel])[:, None] * hits.normal
        for side, body in ((1.0, surfaces.fixed.body[hits.surfel]), (-1.0, hits.other)):
            for b in range(3):
                force[k, order[b]] += side * push[body == b].sum(axis=0)
    assert force[0] == pytest.approx(force[1], rel=1e-12, abs=1e-15)
    assert np.abs(force[0]).max() > 1e-3


def test_the_finer_side_of_a_contact_counts_for_more_and_alone_below_six_tenths():
    made = SimpleNamespace(mean=np.array([1.0, 0.7**2, 0.59**2]), near=SimpleNamespace(body=np.arange(3)), sampled=np.ones(3, bool))
    part = Prepared.part(made, SimpleNamespace(surfel=np.array([0, 1, 0, 2]), other=np.array([1, 0, 2, 0])))
    assert part[0] + part[1] == pytest.approx(1.0) and 0.0 < part[0] < 0.2 < 0.8 < part[1] < 1.0
    assert part[2:].tolist() == [0.0, 1.0]


# -- the contact surface


def test_Q27_the_soft_body_gives_way():
    """E = (1, 4), overlap 0.1 between flat faces: 0.08 and 0.02 with weights E; the other way round as printed."""
    side = np.linspace(-1, 1, 21)
    x, y = (g.ravel() for g in np.meshgrid(side, side))
    up = np.tile([0.0, 0.0, 1.0], (len(x), 1))
    low, high = np.stack([x, y, 0.0 * x], 1), np.stack([x + 0.03, y - 0.02, -0.1 + 0.0 * x], 1)
    start = np.array([0, len(x), 2 * len(x)])
    surfaces = Surfaces.still(np.concatenate([low, high]), np.concatenate([up, -up]), np.full(2 * len(x), 0.01), start)
    hits = found(surfaces)[1]
    middle = np.abs(surfaces.points[hits.surfel, :2]).max(axis=1) < 0.5
    for modulus, want in ((np.array([1.0, 4.0]), (0.08, 0.02)), (np.array([4.0, 1.0]), (0.02, 0.08))):
        a, b = surfaces.fixed.body[hits.surfel], hits.other
        moved = moved_to_contact(surfaces, hits, modulus[b] / (modulus[a] + modulus[b]))
        way = np.linalg.norm(moved.points - surfaces.points[hits.surfel], axis=1)
        assert moved.kept[middle].all()
        for body in (0, 1):
            assert way[middle & (a == body)] == pytest.approx(want[body], abs=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_surfels_of_both_spheres_come_to_lie_on_one_surface(share):
    surfaces = spheres(2000, (0, 0, 0), (1.8, 0, 0))
    hits = found(surfaces)[1]
    mine = surfaces.fixed.body[hits.surfel] == 0
    moved = moved_to_contact(surfaces, hits, np.where(mine, share, 1.0 - share))
    assert moved.kept.mean() > 0.9 and moved.looked.max() < 12
    fa, fb = (np.linalg.norm(moved.points - c, axis=1) - 1.0 for c in ([0, 0, 0], [1.8, 0, 0]))
    wrong = np.abs((1.0 - share) * fa - share * fb)[moved.kept]
    assert wrong.max() < 2e-3  # of the surfaces that the samples make of spheres


def test_a_rigid_partner_keeps_its_shape():
    surfaces = spheres(1000, (0, 0, 0), (1.9, 0, 0))
    hits = found(surfaces)[1]
    mine = surfaces.fixed.body[hits.surfel] == 0
    moved = moved_to_contact(surfaces, hits, np.where(mine, 1.0, 0.0))
    assert np.linalg.norm(moved.points[mine] - [1.9, 0, 0], axis=1) == pytest.approx(1.0, abs=1e-3)
    assert (moved.points[~mine] == surfaces.points[hits.surfel[~mine]]).all()


def test_resampling_covers_the_contact_surface_evenly():
    surfaces = spheres(2000, (0, 0, 0), (1.8, 0, 0))
    hits = found(surfaces)[1]
    mine = surfaces.fixed.body[hits.surfel] == 0
    moved = moved_to_contact(surfaces, hits, np.full(len(hits), 0.5))
    sample = np.stack([np.where(mine, hits.surfel, hits.sample), np.where(mine, hits.sample, hits.surfel)], 1)
    spacing = float(surfaces.spacing[0])
    made = resampled(PairField(surfaces, 0, 1, 0.5, spacing), moved.points[moved.kept][::3], sample[moved.kept][::3])  # holes on purpose
    assert np.abs(made.points[:, 0] - 0.9).max() < 1e-3  # the middle plane
    assert (made.normals[:, 0] > 0.98).all()
    d = np.linalg.norm(made.points[:, None] - made.points[None], axis=2) + 9.0 * np.eye(len(made.points))
    assert d.min() > 0.5 * spacing
    radius = np.sqrt(1.0 - 0.9**2) - spacing  # a rim of one spacing may stay open
    grid = np.stack(np.meshgrid(*[np.linspace(-radius, radius, 30)] * 2), -1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) < radius]
    far = np.linalg.norm(grid[:, None] - made.points[None, :, 1:], axis=2).min(axis=1)
    assert far.max() < spacing


# -- distribution and self-contact


def test_Q29_shepard_weights_keep_the_force_and_lose_half_of_the_moment():
    side = np.arange(-1.0, 1.01, 0.4)
    points = np.stack(np.meshgrid(side, side, side), -1).reshape(-1, 3)
    points = points[np.linalg.norm(points, axis=1) < 0.9]
    at = np.array([[1.0, 0.0, 0.0]])
    kept = []
    for h in (0.75, 1.5):
        row, point, weight = shepard(at, points, h)
        assert weight.sum() == pytest.approx(1.0, abs=1e-14)
        kept.append(float(weight @ points[point, 0]))  # of the lever of a force across x
    assert kept[1] == pytest.approx(0.50, abs=0.06) and kept[0] > kept[1]


def test_the_sixth_neighbour_has_a_weight():
    points = np.eye(3).repeat(2, axis=0) * [[1], [2], [1], [2], [1], [2]]
    row, point, weight = shepard(np.zeros((1, 3)), points.astype(float), 0.1)
    assert len(point) == 6 and weight.min() > 0.0


def sheet(offset):
    """A strip that is folded over: two layers that were far apart at rest."""
    side = np.linspace(0, 1, 21)
    x, y = (g.ravel() for g in np.meshgrid(side, side))
    rest = np.concatenate([np.stack([x, y, 0 * x], 1), np.stack([x + 3.0, y, 0 * x], 1)])
    normals = np.concatenate([np.tile([0, 0, 1.0], (len(x), 1))] * 2)
    surfaces = Surfaces.still(rest, normals, np.full(len(rest), 0.0025), np.array([0, len(rest)]))
    surfaces.points = surfaces.points.copy()
    surfaces.points[len(x) :] = np.stack([x, y, offset + 0 * x], 1)
    surfaces.normals = surfaces.normals.copy()
    surfaces.normals[len(x) :] = [0, 0, -1.0]
    return surfaces, len(x)


def test_self_contact_sees_folds_but_not_neighbours():
    surfaces, count = sheet(-0.02)  # the upper layer has sunk into the lower one
    some = folded(surfaces, np.array([0]))
    hits, _ = colliding(surfaces, some, np.zeros((len(some), 3)))
    assert (surfaces.fixed.body[hits.surfel] == hits.other).all()
    assert ((hits.surfel < count) != (hits.sample < count)).all()  # each meets the other layer
    inner = np.abs(surfaces.points[hits.surfel, :2] - 0.5).max(axis=1) < 0.3
    assert hits.gap[inner] == pytest.approx(-0.02, abs=1e-6) and inner.sum() > 100
    assert len(folded(sheet(0.2)[0], np.array([0]))) == 0
    assert len(folded(surfaces, np.array([], np.int64))) == 0
