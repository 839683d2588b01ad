"""Volumes that bodies have in common, against those of geometry."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.geometry.shapes import make
from pliant.geometry.surface_topology import volume_of
from pliant.measure.intersection import clipped, intersection

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
    assert error[1] < 0.4 * error[0] and error[1] < 0.08


def test_a_body_inside_another_is_all_of_it():
    box, ball = make("box", size=[1, 1, 1], edge=0.25).surface(), make("ball", radius=0.2, edge=0.1).surface()
    found = intersection(*two(box, ball, np.array([0.05, 0.0, 0.1])))
    assert found.total == pytest.approx(volume_of(ball.points, ball.faces, np.zeros(len(ball.faces), np.int64))[0], rel=1e-9)
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
