"""Swept tests against fine sampling in time: never a miss, a time never late, and early by no more than the tolerance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.detect.feature_pairs import FeatureTree
from pliant.detect.shapes import BALL, BOX, CAPSULE, CYLINDER, NO_SHAPE, PLANE, TORUS, Shapes, distances_to_shapes
from pliant.detect.swept_shapes import Ways, faces_cross, shapes_touch, shapes_touch_faces, turns
from pliant.detect.thickness import THIN, exact_halves, thickness
from pliant.geometry.quaternions import product, quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.geometry.shapes import make

SOLID = [BALL, BOX, CAPSULE, CYLINDER, TORUS]
TIMES = np.linspace(0.0, 1.0, 51)
TOLERANCE = 1e-4


def cloud(kind, u, n=24):
    """Points on the surface of a shape, (m, 3)."""
    s, c = np.linspace(-1.0, 1.0, n), np.linspace(0.0, 2.0 * np.pi, 2 * n)
    if kind == BOX:
        x, y = (g.ravel() for g in np.meshgrid(s, s))
        faces = [np.roll(np.stack([x, y, np.full_like(x, side)], axis=1), k, axis=1) for k in range(3) for side in (-1, 1)]
        return np.concatenate(faces) * u
    if kind == TORUS:
        p, q = (g.ravel() for g in np.meshgrid(c, c))
        r = u[0] + u[1] * np.cos(q)
        return np.stack([r * np.cos(p), r * np.sin(p), u[1] * np.sin(q)], axis=1)
    if kind == CYLINDER:
        profile = np.concatenate([np.stack([0.5 * (s + 1.0) * u[0], np.full(n, u[1])], axis=1), np.stack([np.full(n, u[0]), s * u[1]], axis=1),
                                  np.stack([0.5 * (s + 1.0) * u[0], np.full(n, -u[1])], axis=1)])  # fmt: skip
    else:
        half, arc = (u[1] if kind == CAPSULE else 0.0), 0.25 * np.pi * (s + 1.0)
        cap = np.stack([u[0] * np.cos(arc), half + u[0] * np.sin(arc)], axis=1)
        profile = np.concatenate([cap, np.stack([np.full(n, u[0]), s * half], axis=1), cap * [1.0, -1.0]])
    r, z, p = np.repeat(profile[:, 0], len(c)), np.repeat(profile[:, 1], len(c)), np.tile(c, len(profile))
    return np.stack([r * np.cos(p), r * np.sin(p), z], axis=1)


def spacing(u, n=24):
    """How far a place of the surface can be from its cloud."""
    return 4.0 * np.abs(u).sum() / n


def world(seed, kinds):
    """Shapes of these kinds anywhere, on their way, turning by up to two turns."""
    rng = np.random.default_rng(seed)
    count = len(kinds)
    u = rng.uniform(0.05, 0.3, (count, 3))
    u[np.array(kinds) == TORUS] = [0.3, 0.08, 0.0]
    position = rng.uniform(-1.0, 1.0, (count, 3)) * [[0.4], [1.2]][:count] if count == 2 else rng.uniform(-1.0, 1.0, (count, 3))
    rotation = rotation_vector_to_quaternion(rng.normal(size=(count, 3)))
    shift = -1.5 * position + 0.3 * rng.normal(size=(count, 3))
    turn = rng.normal(size=(count, 3)) * rng.choice([0.0, 0.3, 4.0])
    return Ways(Shapes(np.array(kinds), u, np.arange(count), position, rotation), shift, turn)


def at(ways, t):
    """The shapes at a time."""
    shapes = ways.shapes
    rotation = product(rotation_vector_to_quaternion(t * ways.turn), shapes.rotation)
    return shapes._replace(position=shapes.position + t * ways.shift, rotation=rotation)


def clouds_gap(ways, t, points):
    """Distance of the cloud of body 0 to body 1 at a time: at least that of the two, and more by no more than the spacing of the cloud."""
    now = at(ways, t)
    x = now.position[0] + points @ quaternion_to_matrix(now.rotation[0]).T
    return distances_to_shapes(now, np.ones(len(x), np.int64), x)[0].min()


@pytest.mark.parametrize("second", [PLANE, *SOLID])
@pytest.mark.parametrize("first", SOLID)
def test_shapes_against_sampling(first, second):
    seen = 0
    for seed in range(12):
        ways = world(1000 * first + 100 * second + seed, [first, second])
        points = cloud(first, ways.shapes.parameters[0])
        one, other = np.array([0]), np.array([1])
        swap = seed % 2  # the order of the two must not matter
        given_ = (other, one) if swap else (one, other)
        time = shapes_touch(ways, *given_, np.zeros(1), np.full(1, TOLERANCE))[0]
        gaps = np.array([clouds_gap(ways, t, points) for t in TIMES])
        hit = np.flatnonzero(gaps < -1e-9)
        if len(hit):
            seen += 1
            assert time <= TIMES[hit[0]]
        if np.isfinite(time):
            near = 0.001 * ways.shapes.parameters[:, 0].max()  # of the capsules that a torus is
            assert clouds_gap(ways, time, points) <= TOLERANCE + 2.0 * near + spacing(ways.shapes.parameters[0])
    assert seen >= 2


@given(seed=st.integers(0, 10**6), radius=st.floats(0.01, 0.5))
@settings(max_examples=60)
def test_two_balls_touch_where_a_quadratic_says(seed, radius):
    ways = world(seed, [BALL, BALL])
    ways.shapes.parameters[:, 0] = radius
    gap, way = ways.shapes.position[0] - ways.shapes.position[1], ways.shift[0] - ways.shift[1]
    roots = np.roots([way @ way, 2.0 * gap @ way, gap @ gap - 4.0 * radius**2])
    real = np.sort(roots[np.abs(roots.imag) < 1e-12].real)
    time = shapes_touch(ways, np.array([0]), np.array([1]), np.zeros(1), np.full(1, 1e-9))[0]
    if gap @ gap <= 4.0 * radius**2:
        assert time == 0.0
    elif len(real) == 2 and 0.0 <= real[0] <= 1.0:
        assert time <= real[0] and np.linalg.norm(gap + time * way) - 2.0 * radius <= 1e-9 + 1e-12
    else:
        assert time == np.inf or np.linalg.norm(gap + time * way) - 2.0 * radius <= 1e-9 + 1e-12


def test_the_tip_of_a_rod_that_turns_by_any_angle():
    """A capsule of 0.5 m turns about its middle; a ball stands in the way of its tip at angles that are known."""
    for angle in (0.3, 1.7, 3.0, 5.5, 9.0):
        away = angle % np.pi  # the rod has two ends
        if min(away, np.pi - away) < 0.2:
            continue
        place = 0.24 * np.array([np.sin(away), 0.0, np.cos(away)])
        shapes = Shapes(np.array([CAPSULE, BALL]), np.array([[0.005, 0.25, 0], [0.001, 0, 0]]), np.arange(2),
                        np.stack([np.zeros(3), place]), np.tile([1.0, 0, 0, 0], (2, 1)))  # fmt: skip
        ways = Ways(shapes, np.zeros((2, 3)), np.array([[0, angle + 0.4, 0], [0, 0, 0]]))
        time = shapes_touch(ways, np.array([0]), np.array([1]), np.zeros(1), np.full(1, 1e-7))[0]
        assert time * (angle + 0.4) == pytest.approx(away - np.arcsin(0.006 / 0.24), abs=1e-5)


def test_what_slides_leaves_or_spins_about_its_axis_never_touches():
    """A gap of a hundredth of the tolerance more than touching: bounds along the direction of the gap see that it stays."""
    up = 0.1 + 1.01 * TOLERANCE
    shapes = Shapes(np.array([CYLINDER, BOX]), np.array([[0.1, 0.05, 0], [5.0, 5.0, 0.5]]), np.arange(2),
                    np.array([[0, 0, up], [0, 0, -0.5]]), np.array([[np.sqrt(0.5), np.sqrt(0.5), 0, 0], [1.0, 0, 0, 0]]))  # fmt: skip
    for shift, turn in (([3.0, 0, 0], [0, 0, 0]), ([0, 0, 2.0], [0, 0, 0]), ([0, 0, 0], [0, 50.0, 0]), ([2.0, 0, 0], [0, 20.0, 0])):
        ways = Ways(shapes, np.array([shift, [0.0, 0, 0]]), np.array([turn, [0.0, 0, 0]], float))
        assert shapes_touch(ways, np.array([0]), np.array([1]), np.zeros(1), np.full(1, TOLERANCE))[0] == np.inf


@pytest.mark.parametrize("speed", [1.0, 50.0, 500.0])
@pytest.mark.parametrize("sheet", ["exact", "faces"])
def test_a_marble_and_a_sheet_of_a_millimetre(sheet, speed):
    """In a step of 4 ms, from any side: the first touch to the tolerance, whatever the speed; also of the cores."""
    rng = np.random.default_rng(int(speed))
    q = rotation_vector_to_quaternion(rng.normal(size=(1, 3)))[0]
    Q, way, r, h = quaternion_to_matrix(q), 0.004 * speed, 0.008, 0.0005
    up = r + h + 0.4 * way
    shapes = Shapes(np.array([BALL, BOX if sheet == "exact" else NO_SHAPE]), np.array([[r, 0, 0], [0.05, 0.05, h]]), np.arange(2),
                    np.stack([Q @ [0.001, 0.002, up], np.zeros(3)]), np.stack([q, q]))  # fmt: skip
    ways = Ways(shapes, np.stack([Q @ [0, 0, -0.7 * way], Q @ [0, 0, 0.3 * way]]), np.zeros((2, 3)))
    box = make("box", size=(0.1, 0.1, 0.001), edge=0.02).surface()
    for shrink, deeper in ((0.0, 0.0), (0.0002, 0.0004 if sheet == "exact" else 0.0002)):
        given_ = (ways, np.array([0]), np.array([1]), np.full(1, shrink), np.full(1, 1e-6))
        points = box.points @ Q.T
        time = shapes_touch(*given_)[0] if sheet == "exact" else shapes_touch_faces(
            *given_, points, points + ways.shift[1], box.faces, np.array([0, 0, len(box.faces)]))[0]  # fmt: skip
        assert 0.0 <= (0.4 * way + deeper) / way - time <= 1e-6 / way + 1e-12


@pytest.mark.parametrize("kind", [PLANE, *SOLID])
def test_shapes_and_triangles_against_sampling(kind):
    """A tetrahedron whose corners go on lines of their own, or with a frame that turns."""
    seen, faces = 0, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    grid = np.array([(i, j, 12 - i - j) for i in range(13) for j in range(13 - i)]) / 12.0
    for seed in range(20):
        ways, rng = world(7000 + 100 * kind + seed, [kind, NO_SHAPE]), np.random.default_rng(seed)
        rigid = seed % 2
        if not rigid:
            ways = ways._replace(shapes=ways.shapes._replace(frame=np.array([0, -1])))
        start = ways.shapes.position[1] + rng.uniform(-0.3, 0.3, (4, 3))
        end = start + ways.shift[1] + 0.2 * rng.normal(size=(4, 3))

        def corners(t, ways=ways, start=start, end=end, rigid=rigid):
            if not rigid:
                return start + t * (end - start)
            turned = quaternion_to_matrix(rotation_vector_to_quaternion(t * ways.turn[1:]))[0]
            return ways.shapes.position[1] + t * ways.shift[1] + (start - ways.shapes.position[1]) @ turned.T

        if rigid:
            end = corners(1.0)

        def gap(t, ways=ways, corners=corners):
            x = np.einsum("gk,fki->fgi", grid, corners(t)[faces]).reshape(-1, 3)
            return distances_to_shapes(at(ways, t)._replace(frame=np.array([0, 1])), np.zeros(len(x), np.int64), x)[0].min()

        time = shapes_touch_faces(ways, np.array([0]), np.array([1]), np.zeros(1), np.full(1, TOLERANCE), start, end, faces, np.array([0, 0, 4]))[0]
        hit = np.flatnonzero(np.array([gap(t) for t in TIMES]) < -1e-9)
        if len(hit):
            seen += 1
            assert time <= TIMES[hit[0]]
        if np.isfinite(time):
            edge = np.linalg.norm(corners(time)[:, None] - corners(time)[None], axis=2).max()
            assert gap(time) <= TOLERANCE + 0.0006 + edge / 12.0
    assert seen >= 4


def test_faces_that_cross_and_how_far():
    """A cube flies through a plate, turned at random: first touch and way along the normal are known."""
    rng = np.random.default_rng(5)
    plate, cube = make("box", size=(1.0, 1.0, 0.01), edge=0.25).surface(), make("box", size=(0.1, 0.1, 0.1), edge=0.1).surface()
    Q = quaternion_to_matrix(rotation_vector_to_quaternion(rng.normal(size=3)))
    points = np.concatenate([plate.points, cube.points + [0.031, 0.017, 0.3]])
    faces = np.concatenate([plate.faces, cube.faces + len(plate.points)])
    way = np.zeros_like(points)
    way[len(plate.points) :] = [0.2, 0.0, -0.6]
    tree = FeatureTree.build(points @ Q.T, faces, np.array([0, len(plate.faces), len(faces)]))
    found = faces_cross(tree, points @ Q.T, (points + way) @ Q.T, np.array([[0, 1]]), 0.01)
    assert found.time.min() == pytest.approx((0.3 - 0.05 - 0.005) / 0.6, abs=1e-9)
    first = found.time < found.time.min() + 1e-9
    assert found.way[first] == pytest.approx(0.6)
    assert len(faces_cross(tree, points @ Q.T, (points + way) @ Q.T, np.array([[0, 1]]), 1.0).time) == 0


def test_turns_of_more_than_half_a_turn():
    rng = np.random.default_rng(1)
    before, turn = rotation_vector_to_quaternion(rng.normal(size=(200, 3))), 4.0 * rng.normal(size=(200, 3))
    after = product(rotation_vector_to_quaternion(turn), before)
    assert turns(before, after, turn + 0.1 * rng.normal(size=turn.shape)) == pytest.approx(turn, abs=1e-9)
    assert np.abs(turns(before, before, np.zeros_like(turn))).max() < 1e-15


@pytest.mark.parametrize("kind, u", [("ball", dict(radius=0.1)), ("box", dict(size=(0.3, 0.2, 0.02))), ("capsule", dict(radius=0.03, length=0.2)),
                                     ("cylinder", dict(radius=0.1, height=0.05)), ("torus", dict(major=0.2, minor=0.04))])  # fmt: skip
def test_thickness_of_triangles_is_that_of_the_shape(kind, u):
    shape = make(kind, **u, edge=0.02)
    exact = 2.0 * exact_halves(np.array([dict(ball=BALL, box=BOX, capsule=CAPSULE, cylinder=CYLINDER, torus=TORUS)[kind]]),
                               np.array([[*shape.analytic[1], 0, 0][:3]]))[0]  # fmt: skip
    found = thickness(shape.surface().points, shape.surface().faces, THIN)
    assert 0.8 * exact <= found <= 1.02 * exact


def test_a_fin_is_what_counts_and_a_tip_is_not():
    """A plate with a fin, an eleventh of its surface, is as thin as the fin; a cone is not as thin as its tip."""
    plate, fin = make("box", size=(0.2, 0.2, 0.05), edge=0.05).surface(), make("box", size=(0.1, 0.001, 0.06), edge=0.05).surface()
    both = np.concatenate([plate.points, fin.points + [0, 0, 0.2]]), np.concatenate([plate.faces, fin.faces + len(plate.points)])
    assert thickness(*both, THIN) == pytest.approx(0.001, rel=1e-6)
    ring = np.linspace(0.0, 2.0 * np.pi, 48, endpoint=False)
    levels = np.linspace(1.0, 0.0, 21)[:-1]
    side = np.concatenate([np.stack([0.1 * s * np.cos(ring), 0.1 * s * np.sin(ring), np.full(48, 0.2 * (1.0 - s))], axis=1) for s in levels])
    k, next_ = np.arange(48), np.roll(np.arange(48), -1)
    quads = [np.concatenate([np.stack([48 * i + k, 48 * i + next_, 48 * i + 48 + next_], 1), np.stack([48 * i + k, 48 * i + 48 + next_, 48 * i + 48 + k], 1)])
             for i in range(19)]  # fmt: skip
    top, bottom = len(side), len(side) + 1
    caps = [np.stack([912 + k, 912 + next_, np.full(48, top)], 1), np.stack([next_, k, np.full(48, bottom)], 1)]
    cone = np.concatenate([side, [[0, 0, 0.2], [0, 0, 0.0]]])
    assert 0.01 < thickness(cone, np.concatenate([*quads, *caps]), THIN)


@pytest.mark.parametrize("up", [0.1, 0.05, 0.09])
@pytest.mark.parametrize("seed", range(4))
def test_what_bounds_nothing_is_not_thin(up, seed):
    """Cubes that lie on each other, or overlap, are no thinner than each: there is no other side where they meet."""
    cube = make("box", size=(0.1, 0.1, 0.1), edge=0.05).surface()
    turn = quaternion_to_matrix(rotation_vector_to_quaternion(np.random.default_rng(seed).normal(size=(1, 3))))[0]
    both = np.concatenate([cube.points, cube.points + [0, 0, up]]), np.concatenate([cube.faces, cube.faces + len(cube.points)])
    assert thickness(both[0] @ turn.T, both[1], THIN) == pytest.approx(0.1, rel=1e-9)


def test_a_line_through_a_corner_counts_once():
    """A regular tetrahedron is as thick as it is high, from the middle of each face to the corner beyond it."""
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    faces = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    assert thickness(corners, faces, THIN) == pytest.approx(4.0 / np.sqrt(3.0), rel=1e-12)
