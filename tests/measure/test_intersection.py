"""Volumes that bodies have in common, against those of geometry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.geometry.shapes import make
from pliant.geometry.topology import volume_of
from pliant.geometry.winding import winding_numbers
from pliant.measure.intersection import clipped, common_volume, intersection

UP = np.array([0.0, 0.0, 1.0])


def two(first, second, shift):
    """Points, triangles and bodies of two surfaces, the second one moved."""
    points = np.concatenate([first.points, second.points + shift])
    triangles = np.concatenate([first.faces, second.faces + len(first.points)])
    return points, triangles, np.repeat([0, 1], [len(first.faces), len(second.faces)])


def test_a_box_sunk_into_a_plane_is_exact():
    box = make("box", size=[0.3, 0.2, 0.1], edge=0.05).surface()
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    normal = turn @ UP
    found = intersection(box.points @ turn.T, box.faces, np.zeros(len(box.faces), np.int64), [(1, -0.03 * normal, normal)])
    assert found.volume == {(0, 1): pytest.approx(0.3 * 0.2 * 0.02)}
    assert found.total == pytest.approx(0.0012)
    # nothing that is left reaches above the plane, and half a turned box is half a box
    assert ((found.corners @ normal) <= -0.03 + 1e-12).all() and (found.body == 0).all()
    tilted = np.array([0.3, 0.5, 0.8])
    half = intersection(box.points, box.faces, np.zeros(len(box.faces), np.int64), [(1, np.zeros(3), tilted / np.linalg.norm(tilted))])
    assert half.total == pytest.approx(0.5 * 0.3 * 0.2 * 0.1)


def test_the_lens_of_two_balls_converges():
    error = []
    for edge in (0.3, 0.15):
        ball = make("ball", radius=1.0, edge=edge).surface()
        found = intersection(*two(ball, ball, np.array([1.4, 0.1, 0.05])))
        d = np.linalg.norm([1.4, 0.1, 0.05])
        lens = np.pi * (4.0 + d) * (2.0 - d) ** 2 / 12.0
        assert set(found.volume) == {(0, 1)} and set(found.body.tolist()) == {0, 1}
        error.append(abs(found.total / lens - 1.0))
    assert error[1] < 0.4 * error[0] and error[1] < 0.03


def test_a_body_inside_another_is_all_of_it():
    box, ball = make("box", size=[1, 1, 1], edge=0.25).surface(), make("ball", radius=0.2, edge=0.1).surface()
    found = intersection(*two(box, ball, np.array([0.05, 0.0, 0.1])))
    assert found.total == pytest.approx(volume_of(ball.points, ball.faces, np.zeros(len(ball.faces), np.int64))[0], rel=1e-4)
    assert (found.body == 1).all()


def test_apart_still_and_open_skins_have_nothing_in_common():
    box = make("box", size=[1, 1, 1]).surface()
    assert intersection(*two(box, box, np.array([1.5, 0, 0]))).volume == {}
    assert intersection(*two(box, box, np.array([0.5, 0, 0])), still=[0, 1]).volume == {}
    points, triangles, body = two(box, box, np.array([0.5, 0.1, 0.1]))
    assert intersection(points, triangles[1:], body[1:]).volume == {}
    assert len(intersection(np.zeros((0, 3)), np.zeros((0, 3), np.int64), np.zeros(0, np.int64)).corners) == 0


def test_triangles_are_cut_where_the_function_is_zero():
    chance = np.random.default_rng(11)
    corners, gap = chance.normal(size=(200, 3, 3)), chance.normal(size=(200, 3))
    left, source = clipped(corners, gap)
    right, other = clipped(corners, -gap)
    area = lambda x: 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
    both = np.bincount(source, area(left), minlength=200) + np.bincount(other, area(right), minlength=200)
    np.testing.assert_allclose(both, area(corners), rtol=1e-12)
    turned = lambda x: np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    assert (np.einsum("ni,ni->n", turned(left), turned(corners)[source]) > 0).all()  # they face the same way


def sampled(points, first, second, count=10000):
    """Volume inside both skins and its standard error, by chance: winding numbers of random places in the box that both reach."""
    low = np.maximum(points[first].min(axis=(0, 1)), points[second].min(axis=(0, 1)))
    high = np.minimum(points[first].max(axis=(0, 1)), points[second].max(axis=(0, 1)))
    at = np.random.default_rng(5).uniform(low, high, (count, 3))
    inside = np.ones(count, bool)
    for faces in (first, second):
        inside[inside] = winding_numbers(points, faces, at[inside]) > 0.5
    share = inside.mean()
    return share * np.prod(high - low), np.sqrt(share * (1 - share) / count) * np.prod(high - low)


@pytest.mark.parametrize("shape, height", [
    (dict(kind="ball", radius=0.08, edge=0.03), 0.075), (dict(kind="torus", major=0.11, minor=0.045, edge=0.03), 0.07),
    (dict(kind="box", size=[0.42, 0.05, 0.05], edge=0.03), 0.15),
])  # fmt: skip
def test_bodies_in_a_thin_bowl_have_the_sampled_volume_in_common(shape, height):
    bowl, other = make("bowl", radius=0.22, thickness=0.02, edge=0.03).surface(), make(**shape).surface()
    points, triangles, body = two(bowl, other, np.array([0.003, -0.002, height]))
    found, error = sampled(points, triangles[body == 0], triangles[body == 1])
    assert found > 5 * error and intersection(points, triangles, body).total == pytest.approx(found, abs=3 * error)


def test_a_wide_and_thin_overlap_is_not_lost_in_its_rim():
    """A ball in a bowl that fits it: columns along any axis find the same, a millimetre thick, whatever the cuts of the skins look like."""
    bowl, ball = make("bowl", radius=0.22, thickness=0.02, edge=0.03).surface(), make("ball", radius=0.2, edge=0.03).surface()
    points, triangles, body = two(bowl, ball, np.array([0.0, 0.0, 0.219]))
    found = [common_volume(points * s, triangles[body == 0], triangles[body == 1]) / np.prod(s) for s in ([1, 9, 9], [9, 1, 9], [9, 9, 1])]
    np.testing.assert_allclose(found, intersection(points, triangles, body).total, rtol=0.02)
    assert 0.0 < found[0] < 0.25 * 0.002 * 4 * np.pi * 0.2**2


@settings(max_examples=40)
@given(shift=st.tuples(*[st.floats(-1.1, 1.1)] * 3))
def test_two_boxes_have_a_box_in_common(shift):
    box = make("box", size=[1, 1, 1]).surface()
    points, triangles, body = two(box, box, np.array(shift))
    expected = np.prod(np.maximum(1.0 - np.abs(shift), 0.0))
    assert intersection(points, triangles, body).total == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_hollow_is_not_inside():
    shell, hollow = make("ball", radius=1.0, edge=0.4).surface(), make("ball", radius=0.8, edge=0.4).surface()
    small = make("ball", radius=0.3, edge=0.2).surface()
    points = np.concatenate([shell.points, hollow.points, small.points])
    outer = np.concatenate([shell.faces, hollow.faces[:, ::-1] + len(shell.points)])
    inner = small.faces + len(shell.points) + len(hollow.points)
    assert common_volume(points, outer, inner) == 0.0
    assert common_volume(points, shell.faces, inner) > 0.06
