"""Surfels of the bodies of a running world."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.base import Floats, PliantError
from pliant.detect.surfels.carried import FACED, FRAMED, Carried, on_points, tangent_weights
from pliant.geometry.subdivide import subdivided
from pliant.scene import Scene
from pliant.world.motion import Motion

STRETCH = np.array([[1.1, 0.2, 0.0], [0.0, 0.9, 0.1], [0.05, 0.0, 1.3]])


@pytest.fixture(scope="module")
def motion() -> Motion:
    scene = Scene(gravity=(0, 0, 0))
    scene.add(name="floor", shape="plane", model="static")
    turned = dict(rotation=(20, -50, 10), angular_velocity=(3, 1, -2), velocity=(1, 0, 0))
    scene.add(name="ball", shape=dict(kind="ball", radius=0.5, edge=0.2), model="rigid", position=(0, 0, 1), **turned)
    scene.add(name="cube", shape=dict(kind="box", size=(0.4, 0.4, 0.2), edge=0.1), model="fem", position=(2, 0, 1))
    scene.add(name="ring", shape=dict(kind="torus", major=0.3, minor=0.1, edge=0.1), model="rigid", position=(-3, 0, 1), **turned)
    sim = scene.simulate()
    sim.world.state.x = sim.world.model.nodes.rest @ STRETCH.T
    return sim.world.free_motion(0.01)


def mine(carried: Carried, body: int) -> slice:
    return slice(int(carried.start[body]), int(carried.start[body + 1]))


def test_weights_carry_and_positions_follow(motion: Motion) -> None:
    carried = motion.kept(Carried)
    assert np.abs(carried.weight.sum(axis=1) - 1.0).max() < 1e-15
    assert np.array_equal(motion.skin.body[carried.point], np.repeat(carried.body[:, None], 3, axis=1))
    for when, skin in (("start", motion.start), ("end", motion.end)):
        points = carried.at(motion, when).points
        ridden = np.einsum("nk,nkj->nj", carried.weight, skin[carried.point])
        cube, ball = mine(carried, 2), mine(carried, 1)
        assert np.abs(points - ridden)[cube].max() < 1e-14
        assert np.abs(points - ridden)[ball].max() < 0.04  # on the ball, not on the chords of its skin
        assert np.abs(np.linalg.norm(points[ball] - carried.posed(motion, 1, when).translation, axis=1) - 0.5).max() < 1e-14


def test_a_stretched_body_has_the_normals_and_areas_of_the_stretch(motion: Motion) -> None:
    """n = F^-T N / |.| and dA = det F |F^-T N| dA_0, also between the vertices of the skin."""
    carried = motion.kept(Carried)
    i = mine(carried, 2)
    assert np.diff(carried.start)[2] >= 1.5 * motion.bodies.surface[2] and set(carried._kind[i]) == {FACED}
    flat = np.abs(carried.normal[i]).max(axis=1) > 1.0 - 1e-12  # not on edges and corners of the box
    vector = carried.normal[i] @ np.linalg.inv(STRETCH) * np.linalg.det(STRETCH)
    length = np.linalg.norm(vector, axis=1)
    surfels = carried.at(motion, "start")
    assert np.abs(surfels.normals[i] - vector / length[:, None])[flat].max() < 1e-12
    assert np.abs(surfels.areas[i] / (carried.area[i] * length) - 1.0)[flat].max() < 1e-12


def test_points_without_triangles_follow_a_stretch_exactly() -> None:
    k = np.arange(400) + 0.5
    z, turn = 1 - 2 * k / 400, np.pi * (1 + 5**0.5) * k
    x = np.stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z], axis=1)
    rest = on_points(x, x, np.full(400, 4 * np.pi / 400))
    assert rest is not None
    near, weights = tangent_weights(rest)

    def vector(points: Floats) -> Floats:
        t = np.einsum("nka,nkj->naj", weights, points[near] - points[:, None])
        return np.cross(t[:, 0], t[:, 1])

    first = vector(x)
    assert np.abs(np.einsum("nj,nj->n", first, x) - 1.0).max() < 0.05
    wanted = first @ np.linalg.inv(STRETCH) * np.linalg.det(STRETCH)  # linear in positions: exact under every linear map
    assert np.abs(vector(x @ STRETCH.T) - wanted).max() < 1e-12


def test_framed_bodies_are_posed_and_not_made_anew(motion: Motion) -> None:
    carried = motion.kept(Carried)
    for body in (1, 3):
        i = mine(carried, body)
        assert set(carried._kind[i]) == {FRAMED}
        for when in ("start", "end"):
            posed, surfels = carried.samples(motion, body, when), carried.at(motion, when)
            assert posed.shape is carried.rest(body)
            assert np.abs(posed.to_world(carried.rest(body).points) - surfels.points[i]).max() < 1e-14
            assert np.abs(carried.rest(body).normals @ posed.rotation.T - surfels.normals[i]).max() < 1e-14
    assert abs(carried.rest(1).area / np.pi - 1.0) < 0.003


def test_a_deforming_body_answers_for_where_it_is(motion: Motion) -> None:
    carried = motion.kept(Carried)
    posed = carried.posed(motion, 2, "end")
    bounds = carried.bounds(carried.at(motion, "end"))
    outside = bounds.centre[2] + [0.0, 0.0, 2.0 * bounds.radius[2]]
    distance = posed.signed_distance(np.stack([bounds.centre[2], outside]))
    assert distance[0] < -0.05 and abs(distance[1] - 0.4) < 0.3
    assert np.isinf(bounds.radius[0]) and abs(bounds.radius[1] - 0.5) < 0.01


def test_subdivided_vertices_ride_on_the_coarse_ones(motion: Motion) -> None:
    from pliant.geometry.shapes import make

    coarse = make("torus", major=0.3, minor=0.1, edge=0.1).surface()
    fine = subdivided(coarse, 0.03)
    x = fine.surface.points[fine.surface.faces]
    assert np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).max() <= 0.03
    assert np.abs(np.einsum("nk,nkj->nj", fine.weight, coarse.points[fine.corner]) - fine.surface.points).max() < 1e-14
    area = [0.5 * np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1).sum() for p in (x, coarse.points[coarse.faces])]
    assert abs(area[0] / area[1] - 1.0) < 1e-12


def test_what_has_no_surfels_says_so(motion: Motion) -> None:
    carried = motion.kept(Carried)
    with pytest.raises(PliantError, match="no surfels"):
        carried.rest(0)
    with pytest.raises(PliantError, match="'start' and an 'end'"):
        carried.at(motion, "middle")
