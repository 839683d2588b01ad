"""Flat sides of rigid bodies in few triangles: the same surface, and only where it is surely one."""

import numpy as np
import pytest

from pliant import Scene
from pliant.detect.flats import flats
from pliant.geometry.normals import face_crosses
from pliant.geometry.shapes import make


def surface_of(shape, seed=0):
    """Points and faces of a shape, turned at random."""
    made = make(**shape).surface()
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    q[:, 0] *= np.sign(np.linalg.det(q))
    return made.points @ q, np.asarray(made.faces, np.int64)


def in_few(points, faces):
    found = flats(points, faces, np.array([0, len(faces)]), np.array([True]))
    assert (found.faces[: len(faces)] == faces).all()
    return found.faces[found.start[1] : found.start[2]] if found.few[0] == 1 else faces, found


def volume(points, faces):
    x = points[faces]
    return np.einsum("fi,fi->f", x[:, 0], np.cross(x[:, 1], x[:, 2])).sum() / 6.0


BOX = {"kind": "box", "size": (0.2, 0.1, 0.3), "edge": 0.03}


def test_a_box_has_twelve():
    points, faces = surface_of(BOX)
    few, found = in_few(points, faces)
    assert len(few) == 12 < len(faces)
    assert volume(points, few) == pytest.approx(volume(points, faces), rel=1e-12)
    area = lambda f: np.linalg.norm(face_crosses(points, f), axis=1).sum()
    assert area(few) == pytest.approx(area(faces), rel=1e-12)
    normal = lambda f: face_crosses(points, f) / np.linalg.norm(face_crosses(points, f), axis=1)[:, None]
    assert normal(few) == pytest.approx(normal(faces[found.own[len(faces) :]]), abs=1e-9)


@pytest.mark.parametrize("kind", ["cylinder", "ball", "torus"])
def test_what_is_round_stays(kind):
    """Ends of a cylinder are flat and become fans; its side, balls and rings keep every face."""
    size = {"cylinder": dict(radius=0.1, height=0.2), "ball": dict(radius=0.1), "torus": dict(major=0.1, minor=0.03)}[kind]
    points, faces = surface_of({"kind": kind, **size})
    few, _ = in_few(points, faces)
    assert volume(points, few) == pytest.approx(volume(points, faces), rel=1e-12)
    assert (len(few) < len(faces)) == (kind == "cylinder")


def grid(n, keep, height=lambda x: 0.0 * x[:, 0]):
    """A square of n x n cells, those for which keep(i, j)."""
    i, j = np.array([(i, j) for i in range(n) for j in range(n) if keep(i, j)]).T
    a = i * (n + 1) + j
    faces = np.concatenate([np.stack([a, a + n + 1, a + n + 2], axis=1), np.stack([a, a + n + 2, a + 1], axis=1)])
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    points[:, 2] = height(points)
    return points, faces


@pytest.mark.parametrize(
    "surface",
    [
        grid(4, lambda i, j: i < 2 or j < 2),  # an L
        grid(4, lambda i, j: (i, j) != (1, 1)),  # with a hole
        grid(4, lambda i, j: True, lambda x: 1e-6 * x[:, 0] * x[:, 1]),  # nearly flat
    ],
    ids=["L", "hole", "bent"],
)
def test_other_outlines_stay_as_they_are(surface):
    few, _ = in_few(*surface)
    assert len(few) == len(surface[1])


def test_two_squares_that_meet_in_a_corner_are_two_sides():
    few, _ = in_few(*grid(4, lambda i, j: (i < 2) == (j < 2)))
    assert len(few) == 4


def test_soft_bodies_are_left_alone():
    points, faces = surface_of(BOX)
    found = flats(points, faces, np.array([0, len(faces)]), np.array([False]))
    assert len(found.faces) == len(faces) and found.few[0] == 0


@pytest.mark.parametrize("edge", [0.1, 0.0125])
def test_what_two_boxes_share_does_not_depend_on_how_finely_they_are_drawn(edge):
    scene = Scene(dt=0.005, contact="patch")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    box = {"kind": "box", "size": (0.1, 0.1, 0.1), "edge": edge}
    for name, place in (("low", (0.0, 0.0, 0.05)), ("high", (0.015, 0.01, 0.15))):
        scene.add(name=name, shape=box, position=place, model="rigid", friction=0.5, material={"density": 1000.0})
    sim = scene.simulate()
    for _ in range(10):
        sim.step()
    found = sim.contacts("low", "high")
    assert found.area.sum() == pytest.approx(0.085 * 0.09, rel=1e-6)
    assert np.abs(found.total_force[2]) == pytest.approx(9.81, rel=1e-4)
    assert found.center_of_pressure[:2] == pytest.approx([0.015, 0.01], abs=2e-4)
