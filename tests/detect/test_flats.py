"""Flat sides of rigid bodies in few triangles: the same surface, and only where it is surely one."""

import numpy as np
import pytest

from pliant import Scene
from pliant.detect.flat_patches import on_planes, on_sides
from pliant.detect.flats import flats
from pliant.detect.patches import facing
from pliant.geometry.normals import face_crosses
from pliant.geometry.shapes import make
from pliant.measure.history import History


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


def convex(rng, corners):
    """A random convex polygon in (x, y), counter-clockwise, on an ellipse."""
    angle = 2.0 * np.pi * (np.arange(corners) + 0.8 * rng.random(corners)) / corners
    return np.stack([np.cos(angle), rng.uniform(0.2, 1.0) * np.sin(angle)], axis=1) @ np.linalg.qr(rng.normal(size=(2, 2)))[0]


def plates(seed):
    """Points, faces and first faces of two plates, fans about a point inside, that face each other; one tilts a little through the other."""
    rng, points, faces, first = np.random.default_rng(seed), [], [], 0
    for k in range(2):
        rim = convex(rng, int(rng.integers(3, 9)))
        rim = rim if np.linalg.det([rim[1] - rim[0], rim[2] - rim[1]]) > 0.0 else rim[::-1]
        x = np.column_stack([np.concatenate([[rim.mean(axis=0)], rim]), np.zeros(len(rim) + 1)])
        x[:, 2] = k * (5e-5 * x[:, 0] - 3e-5 * x[:, 1])
        j = np.arange(len(rim))
        fan = np.stack([0 * j, 1 + j, 1 + (j + 1) % len(rim)], axis=1)
        points.append(x)
        faces.append(first + (fan[:, ::-1] if k else fan))
        first += len(x)
    return np.concatenate(points), np.concatenate(faces), np.array([0, len(faces[0]), len(faces[0]) + len(faces[1])])


def test_sides_that_are_evenly_deep_have_two_rows_a_corner():
    points, faces, start = plates(0)
    points[:, 2] = -1e-3 * (np.arange(len(points)) >= faces[start[1] :].min())
    zero, far, layered = np.zeros(1, np.int64), np.ones(1), np.zeros(1, np.bool_)
    found = flats(points, faces, start, np.ones(2, np.bool_))
    few = on_sides(points, found, zero, zero + 1, zero, far, far, layered)
    assert 6 <= len(few) <= 2 * len(points) and (few.gap == pytest.approx(-1e-3))


@pytest.mark.parametrize("tilt", [0.0, 4e-4, 8e-4])
def test_the_arm_of_friction_that_turns_is_that_of_a_square_however_it_tilts(tilt):
    """Bands of gaps have it about the centroid of all: sums of |x - c| are those of a square, s (sqrt 2 + asinh 1) / 6 in the mean."""
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float) - 0.5
    points = np.concatenate([np.column_stack([square, np.zeros(4)]), np.column_stack([square, tilt * square[:, 0] - 5e-4])])
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]])
    zero, far, layered = np.zeros(1, np.int64), np.ones(1), np.zeros(1, np.bool_)
    found = flats(points, faces, np.array([0, 2, 4]), np.ones(2, np.bool_))
    rows = on_sides(points, found, zero, zero + 1, zero, far, far, layered)
    assert (len(rows) > 8) == (tilt > 0.0) and rows.area.sum() == pytest.approx(1.0)
    arm = rows.area @ np.linalg.norm(rows.at[:, :2], axis=1)
    assert arm == pytest.approx((np.sqrt(2.0) + np.arcsinh(1.0)) / 6.0, rel=2e-3)


@pytest.mark.parametrize("seed", range(8))
def test_what_two_sides_share_is_what_their_triangles_share(seed):
    """Area, volume and centroid of what overlaps and of what is open, and the least and the largest gap."""
    points, faces, start = plates(seed)
    found = flats(points, faces, start, np.ones(2, np.bool_))
    zero, far, layered = np.zeros(1, np.int64), np.ones(1), np.zeros(1, np.bool_)
    few = on_sides(points, found, zero, zero + 1, zero, far, far, layered)
    low, high = np.divmod(np.arange(start[1] * (start[2] - start[1])), start[2] - start[1])
    wide = np.ones(len(low))
    many = facing(points, faces, low, start[1] + high, 0 * low, wide, wide, low < 0)
    assert not layered.any()
    for some in (lambda rows: rows.gap < -1e-12, lambda rows: rows.gap > 1e-12):
        a, b = few.area * some(few), many.area * some(many)
        assert a @ few.gap == pytest.approx(b @ many.gap, abs=1e-12) != 0.0
    assert few.area.sum() == pytest.approx(many.area.sum(), rel=1e-12)
    assert few.area @ few.at == pytest.approx(many.area @ many.at, abs=1e-12)
    assert few.gap.min() < many.gap.min() and few.gap.max() > many.gap.max()  # corners
    place = lambda rows, w: np.einsum("ri,rij->rj", w, points[found.faces[rows]])
    apart = np.einsum("ri,ri->r", place(few.master, few.others) - place(few.slave, few.weights), few.normal)
    assert apart == pytest.approx(few.gap, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_friction_that_turns_has_the_arm_of_even_pressure(seed):
    points, faces, start = plates(seed)
    found, zero = flats(points, faces, start, np.ones(2, np.bool_)), np.zeros(1, np.int64)
    down = np.array([[0.0, 1.0, 0.0, 0.0]])  # a plane that faces down lies on the first plate
    rows = on_planes(points, found, zero, zero, np.array([[0.0, 0.0, -1e-3]]), down, np.ones(1))
    mine, rng = faces[: start[1]], np.random.default_rng(seed)
    area = 0.5 * np.linalg.norm(face_crosses(points, mine), axis=1)
    assert rows.area.sum() == pytest.approx(area.sum(), rel=1e-12)
    centre = rows.area @ rows.at / rows.area.sum()
    arm = rows.area @ np.linalg.norm((rows.at - centre)[:, :2], axis=1) / rows.area.sum()
    u = np.sort(rng.random((200_000, 2)), axis=1)
    x = np.stack([u[:, 0], u[:, 1] - u[:, 0], 1.0 - u[:, 1]], axis=1)
    x = np.einsum("ri,rij->rj", x, points[mine[rng.choice(len(mine), len(x), p=area / area.sum())]])
    assert arm == pytest.approx(np.linalg.norm((x - centre)[:, :2], axis=1).mean(), rel=5e-3)


def test_pressure_on_flat_sides_is_known_around_every_node_of_both():
    scene = Scene(dt=0.005, contact="patch")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    box = {"kind": "box", "size": (0.1, 0.1, 0.1), "edge": 0.025}
    for name, height in (("low", 0.05), ("high", 0.15)):
        scene.add(name=name, shape=box, position=(0, 0, height), model="rigid", friction=0.5, material={"density": 1000.0})
    sim = scene.simulate()
    history = History(sim)
    for _ in range(5):
        history.take(sim.step())
    assert len(sim.contacts("low", "high")) == 8
    for name, height, boxes in (("low", 0.0, 2), ("low", 0.1, 1), ("high", 0.1, 1)):
        body = sim.world.model.bodies.names.index(name)
        mine = slice(*sim.world.model.bodies.point_start[body : body + 2])
        side = np.abs(sim.points()[mine][:, 2] - height) < 1e-4
        assert side.sum() == 25
        assert history.max_pressure[mine][side] == pytest.approx(981.0 * boxes, rel=5e-3)
