"""Categories, redefinition and resolution of feature pairs (thesis ch. 6)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from pliant import PliantError
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.depth_integral import gaps
from pliant.contact.penalty.edges import CANDIDATE, DISMISS, HANDLE, edge_states, new_edge_pairs
from pliant.contact.penalty.hooked_and_deep_pairs import admit, reference_normals
from pliant.contact.penalty.life_of_records import finish, ready, resolved
from pliant.contact.penalty.options import Redefinition
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, VERTEX_SHAPE, Records
from pliant.contact.penalty.redefine import foot, redefine
from pliant.detect.adjacency import Adjacency
from pliant.detect.feature_pairs import FeatureTree
from pliant.geometry.shapes import make

TET = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
ONE_RING = Redefinition(walk=0)


def box_surface(size, edge=1.0):
    return make("box", size=size, edge=edge).surface()


def outward(points, faces):
    """Faces of a convex body turned outwards."""
    a, b, c = points[faces].transpose(1, 0, 2)
    wrong = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - points[np.unique(faces)].mean(axis=0)) < 0
    return np.where(wrong[:, None], faces[:, ::-1], faces)


def join(*parts):
    """Points, faces and bodies of several surfaces, body 0, 1, ..."""
    offset = np.cumsum([0] + [len(p) for p, _ in parts])
    points = np.concatenate([p for p, _ in parts]).astype(float)
    faces = np.concatenate([np.asarray(f) + o for (_, f), o in zip(parts, offset[:-1], strict=True)])
    return points, faces, np.repeat(np.arange(len(parts)), np.diff(offset))


def pairs(kind, a, b, neighbours, points=None, sigma=1.0):
    """Records of features a and b."""
    a, b = np.atleast_1d(np.asarray(a, np.int64)), np.atleast_1d(np.asarray(b, np.int64))
    n = len(a)
    if kind == VERTEX_FACE:
        corners = np.concatenate([a[:, None], neighbours.faces[b]], axis=1)
    else:
        corners = np.concatenate([neighbours.edges[a], neighbours.edges[b]], axis=1)
    weights = np.tile([1.0, -1 / 3, -1 / 3, -1 / 3] if kind == VERTEX_FACE else [0.5, 0.5, -0.5, -0.5], (n, 1))
    body = neighbours.body
    return Records(
        kind=np.full(n, kind), a=body[corners[:, 0]], b=body[corners[:, 1 if kind == VERTEX_FACE else 2]], feature_a=a, feature_b=b,
        corners=corners, weights=weights, sigma=np.full(n, float(sigma)), hooked=np.zeros(n, bool), active=np.ones(n, bool),
        stiffness=np.arange(n) + 1.0, stretch=np.arange(3.0 * n).reshape(n, 3), before=np.full(n, -1), age=np.arange(n),
    )  # fmt: skip


def faces_at(near, v):
    """Faces around a vertex."""
    return near.faces_around[near.face_start[v] : near.face_start[v + 1]]


def contact_normals(points, records, near):
    """Unit normals out of B towards A."""
    x = points[records.corners]
    edges = np.cross(x[:, 1] - x[:, 0], x[:, 3] - x[:, 2])
    n = np.where((records.kind == VERTEX_FACE)[:, None], near.normals(points)[records.feature_b % len(near.faces)], edges)
    return records.sigma[:, None] * n / np.linalg.norm(n, axis=1, keepdims=True)


def plane(rng, n=60, size=1.0, bumps=0.0):
    """An irregular triangulation of a square, facing up, with random heights."""
    grid = np.linspace(0, size, 6)
    rim = np.array([(x, y) for x in grid for y in grid if x in (0, size) or y in (0, size)])
    xy = np.concatenate([rim, rng.uniform(0.02 * size, 0.98 * size, (n, 2))])
    points = np.concatenate([xy, bumps * rng.normal(size=(len(xy), 1))], axis=1)
    faces = Delaunay(xy).simplices.astype(np.int64)
    a, b, c = points[faces].transpose(1, 0, 2)
    down = np.cross(b - a, c - a)[:, 2] < 0
    return points, np.where(down[:, None], faces[:, ::-1], faces)


def needle(at):
    """A thin tetrahedron standing with its corner 0 on a point, and its faces."""
    c, s = 0.01 * np.cos(2 * np.pi / 3), 0.01 * np.sin(2 * np.pi / 3)
    points = np.asarray(at, float) + np.array([[0, 0, 0], [0.01, 0, 0.3], [c, s, 0.3], [c, -s, 0.3]])
    return points, outward(points, TET)


def holding(points, faces, p):
    """The faces whose vertical shadow holds p, by brute force."""
    a, b, c = points[faces][:, :, :2].transpose(1, 0, 2)
    w = [u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] for u, v in ((b - a, p[:2] - a), (c - b, p[:2] - b), (a - c, p[:2] - c))]
    return np.flatnonzero((np.stack(w) >= 0).all(axis=0))


def reach(points, normal, faces, f, p):
    """Weights, excess and gap of p on a face, by least squares."""
    a, b, c = points[faces[f]]
    u, v = np.linalg.lstsq(np.stack([b - a, c - a], axis=1), p - a, rcond=None)[0]
    w = np.array([1 - u - v, u, v])
    return w, max(0.0, -w.min(), w.max() - 1), float(normal[f] @ (p - a))


def test_edges_have_the_numbers_of_the_broad_phase():
    points, faces, body = join(plane(np.random.default_rng(3)), needle((0.5, 0.5, 0)))
    tree = FeatureTree.build(points, faces, np.searchsorted(body[faces[:, 0]], np.arange(3)))
    near = Adjacency.of(faces, body)
    np.testing.assert_array_equal(near.edges, tree.edges.corners)
    for f in range(len(faces)):
        for k in range(3):
            assert set(near.edges[near.face_edges[f, k]]) == {faces[f, k], faces[f, (k + 1) % 3]}
            assert f in near.edge_faces[near.face_edges[f, k]]
    for v in range(len(points)):
        assert all(v in near.edges[e] for e in near.edges_around[near.edge_start[v] : near.edge_start[v + 1]]) and all(v in faces[f] for f in near.faces_around[near.face_start[v] : near.face_start[v + 1]])
    assert near.two_sided[body == 0].all() and not near.two_sided[body == 1].any()


def test_normals_are_those_of_faces():
    points, faces, body = join(plane(np.random.default_rng(1), bumps=0.1))
    near = Adjacency.of(faces, body)
    a, b, c = points[faces].transpose(1, 0, 2)
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=1)[:, None]
    np.testing.assert_allclose(near.normals(points), n, atol=1e-15)


CORNER = np.array([[0, 0, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1.0]])  # normals at point 0: (1, 0, 0), (0, 1, 0), (0, 0, -1)


def floor_with_normal(n):
    """A big triangle through the origin with a normal."""
    n = np.asarray(n, float)
    u = np.cross(n, [1, 0, 0])
    v = np.cross(n, u)
    return np.array([-u - v, 2 * u, 2 * v]) if np.cross(3 * u + v, u + 3 * v) @ n > 0 else np.array([-u - v, 2 * v, 2 * u])


@pytest.mark.parametrize("normal, hooked", [((0, 0, 1.0), False), ((0, 0.8, 0.6), True)])
def test_g19_category_of_a_corner(normal, hooked):
    points, faces, body = join((CORNER, outward(CORNER, TET)), (floor_with_normal(normal), [[0, 1, 2]]))
    near = Adjacency.of(faces, body)
    normals = near.normals(points)
    np.testing.assert_allclose(sorted(map(tuple, normals[faces_at(near, 0)])), [(0, 0, -1), (0, 1, 0), (1, 0, 0)], atol=1e-15)
    record = pairs(VERTEX_FACE, 0, 4, near)
    np.testing.assert_allclose(contact_normals(points, record, near)[0], normal, atol=1e-15)
    mean = normals[faces_at(near, 0)].sum(axis=0)
    low = min((normals[faces_at(near, 0)] @ normal).min(), mean @ normal / np.linalg.norm(mean))
    np.testing.assert_allclose(low, -0.6 if hooked else -1.0, atol=1e-12)
    for rule in ("span", "printed"):
        assert categories(points, record, near, rule).tolist() == [hooked]
    assert not categories(points, record, near, "off").any()


def test_the_average_alone_calls_a_sharp_corner_hooked():
    """Fig. 6.6: a needle lying on its side touches with a normal almost opposite to one of its faces, far from its averaged normal."""
    tip, faces = needle((0, 0, 0))
    near = Adjacency.of(faces, np.zeros(4, int))
    side = near.normals(tip)[faces_at(near, 0)][0]
    points, faces, body = join((tip, faces), (floor_with_normal(-side), [[0, 1, 2]]))
    near = Adjacency.of(faces, body)
    record = pairs(VERTEX_FACE, 0, 4, near)
    assert not categories(points, record, near, "span").any() and categories(points, record, near, "basic").all()


def test_the_corner_of_a_box_is_regular_up_to_45_degrees():
    """At exactly 45 degrees rounding must not decide."""
    box = box_surface((1, 1, 1))
    for angle, hooked in ((40, False), (45, False), (50, True)):
        n = np.array([0, np.sin(np.radians(angle)), np.cos(np.radians(angle))])
        points, faces, body = join((box.points, box.faces), (floor_with_normal(n), [[0, 1, 2]]))
        near = Adjacency.of(faces, body)
        down = int(np.flatnonzero((box.points == [0.5, 0.5, -0.5]).all(axis=1))[0])
        assert categories(points, pairs(VERTEX_FACE, down, len(faces) - 1, near), near).tolist() == [hooked]


def block_on_floor(depth=0.1, turned=0.3):
    """A box sunk into a floor of two triangles, and the numbers of an upright and a lower edge of the box and of the floor's diagonal."""
    box = box_surface((1, 1, 1))
    c, s = np.cos(turned), np.sin(turned)
    block = (box.points - [0, 0, box.points[:, 2].min() + depth]) @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    points, faces, body = join((block, box.faces), ([[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]], [[0, 1, 2], [0, 2, 3]]))
    near = Adjacency.of(faces, body)
    ends = points[near.edges]
    mine = body[near.edges[:, 0]] == 0
    upright = np.flatnonzero(mine & (np.abs(ends[:, 0, :2] - ends[:, 1, :2]).max(axis=1) < 1e-12))
    lower = np.flatnonzero(mine & (ends[:, :, 2].max(axis=1) < 0))
    diagonal = np.flatnonzero(~mine & (near.edge_faces[:, 1] >= 0))[0]
    return points, near, upright, lower, diagonal


def test_an_upright_edge_is_hooked_by_the_edge_of_a_flat_floor():
    """Where Eq. 6.3 as printed lets one of two surfaces decide, the block would be stopped by a line on the floor."""
    points, near, upright, lower, diagonal = block_on_floor()
    both = [pairs(EDGE_EDGE, upright, np.full(len(upright), diagonal), near, sigma=s) for s in (1, -1)]
    assert all(categories(points, r, near, "span").all() for r in both)
    assert not all(categories(points, r, near, "printed").all() for r in both)
    down = pairs(EDGE_EDGE, lower, np.full(len(lower), diagonal), near)
    down.sigma = np.where(contact_normals(points, down, near)[:, 2] > 0, 1.0, -1.0)
    for rule in ("span", "printed"):
        assert not categories(points, down, near, rule).any()


def test_neighbouring_contacts_tell_deep_from_hooked():
    """theory/penalty 7.6: with neighbours that push up, a sideways pair is hooked and an upward one is not, whatever the spans say."""
    points, faces, body = join(plane(np.random.default_rng(0), bumps=0.02), ([[0, 0, 1], [1, 0, 1], [0.3, 1, 1.2]], [[0, 2, 1]]))
    near = Adjacency.of(faces, body)
    v = int(np.argmin(np.linalg.norm(points[:96, :2] - 0.5, axis=1)))
    ring = [int(near.edges[e].sum() - v) for e in near.edges_around[near.edge_start[v] : near.edge_start[v + 1]]]
    last = len(faces) - 1
    known = pairs(VERTEX_FACE, ring[1:], np.full(len(ring) - 1, last), near)
    n = near.normals(points)[last]
    new = pairs(VERTEX_FACE, [v, 0], [last, last], near)
    reference = reference_normals(points, new, known, near)
    np.testing.assert_allclose(reference, [n, [0, 0, 0]], atol=1e-12)
    side = np.array([[n[1], -n[0], 0.1], [0, 0, 0]])
    assert categories(points, new, near, reference=reference).tolist() == [False, False]
    assert categories(points, new, near, reference=side).tolist() == [True, False]
    assert not reference_normals(points, new, known.select(known.age < 0), near).any()


def test_g20_tolerance_of_weights():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    p = 1.2 * points[0] - 0.15 * points[1] - 0.05 * points[2]
    weights, out, gap = foot(points, np.array([[0, 0, 1.0]]), np.array([[0, 1, 2]]), 0, (p[0], p[1], -0.3), 1.0)
    np.testing.assert_allclose([*weights, out, gap], [1.2, -0.15, -0.05, 0.2, -0.3], atol=1e-12)


def test_g21_overlap_of_edges():
    points = np.array([[-1, 0, 0], [1, 0.2, 0.1], [0.1, -1, -0.05], [0, 1, 0]], float)
    near = Adjacency.of(np.array([[0, 1, 4], [2, 3, 4]]), np.array([0, 0, 1, 1, 2]))
    record = pairs(EDGE_EDGE, 0, 3, near)
    found = edge_states(points, record)
    np.testing.assert_allclose([found.s[0], found.t[0], -found.gap[0]], [0.5205878361, 0.5530767617, -0.0745158230], atol=1e-9)
    np.testing.assert_allclose(found.weights.sum(), 0, atol=1e-15)
    assert found.state[0] == HANDLE and gaps(np.vstack([points, [0, 0, 9]]), record, near)[0] == found.gap[0]


@pytest.mark.parametrize("shift, state", [(0.0, HANDLE), (1.0, HANDLE), (1.2, CANDIDATE), (1.59, CANDIDATE), (1.61, DISMISS)])
def test_edges_wait_and_go_as_they_slide(shift, state):
    """Edges two long: 0.3 of that beyond the end is where a pair is dismissed."""
    points = np.array([[-1, 0, -0.1], [1, 0, -0.1], [shift, -1, 0], [shift, 1, 0], [0, 0, 9.0]])
    near = Adjacency.of(np.array([[0, 1, 4], [2, 3, 4]]), np.array([0, 0, 1, 1, 2]))
    record = pairs(EDGE_EDGE, 0, 3, near)
    assert edge_states(points, record).state.tolist() == [state]
    kept, counts = ready(points, record, Redefinition())
    assert (len(kept), counts["dismissed"]) == ((0, 1) if state == DISMISS else (1, 0))
    assert all(kept.active == (state == HANDLE)) and counts["candidates"] == (state == CANDIDATE)
    assert ready(points, record, Redefinition(edges=False))[0] is record


def test_parallel_edges_are_dismissed():
    points = np.array([[-1, 0, -0.1], [1, 0, -0.1], [-1, 0, 0], [1, 0, 0], [0, 0, 9.0]])
    near = Adjacency.of(np.array([[0, 1, 4], [2, 3, 4]]), np.array([0, 0, 1, 1, 2]))
    assert edge_states(points, pairs(EDGE_EDGE, 0, 3, near)).state.tolist() == [DISMISS]


def sliding(rng, steps, walk):
    """A needle pulled under an irregular plane along a random path; asserts that its face is always the one above it."""
    points, faces, body = join(plane(rng, 150), needle((0.5, 0.5, -0.01)))
    near = Adjacency.of(faces, body)
    v = int(np.flatnonzero(body == 1)[0])
    record = pairs(VERTEX_FACE, v, holding(points, faces[:-4], points[v])[0], near)
    record.stretch[:] = [1, 2, 3]
    seen = set()
    for step in steps:
        move = np.clip(points[v, :2] + step, 0.03, 0.97) - points[v, :2]
        points[body == 1, :2] += move
        done = redefine(points, record, near, Redefinition(walk=walk))
        right = holding(points, faces[:-4], points[v])
        assert done.records.feature_b[0] in right
        assert done.changed[0] == (done.records.feature_b[0] != record.feature_b[0])
        if done.changed[0]:
            assert done.records.before[0] == record.feature_b[0]
        record = done.records
        np.testing.assert_array_equal(record.corners[0], [v, *faces[record.feature_b[0]]])
        np.testing.assert_allclose(record.weights @ np.ones(4), 0, atol=1e-12)
        place = -record.weights[0, 1:] @ points[record.corners[0, 1:]]
        np.testing.assert_allclose(place, [*points[v, :2], 0], atol=1e-12)
        seen.add(int(record.feature_b[0]))
    np.testing.assert_array_equal(record.stretch, [[1, 2, 3]])
    return seen


def test_a_vertex_sliding_on_an_irregular_plane_has_the_right_face():
    rng = np.random.default_rng(7)
    assert len(sliding(rng, rng.normal(scale=0.004, size=(1000, 2)) + [0.001, 0], walk=0)) > 20


def test_a_walk_follows_steps_longer_than_faces():
    rng = np.random.default_rng(8)
    assert len(sliding(rng, rng.normal(scale=0.25, size=(200, 2)), walk=64)) > 60


@pytest.mark.parametrize("step", [0.0, 1e-17, 1e-12])
def test_a_vertex_on_an_edge_does_not_flicker(step):
    points, faces, body = join(([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]), needle((0.3, 0.3, -0.01)))
    near = Adjacency.of(faces, body)
    record, changes = pairs(VERTEX_FACE, 4, 0, near), 0
    for k in range(20):
        points[4:, 0] += step if k % 2 else -step
        done = redefine(points, record, near)
        changes += int(done.changed[0])
        record = done.records
    assert changes == 0


def test_beyond_a_boundary_the_pair_stays():
    points, faces, body = join(plane(np.random.default_rng(2)), needle((1.05, 0.5, -0.01)))
    near = Adjacency.of(faces, body)
    v = int(np.flatnonzero(body == 1)[0])
    record = pairs(VERTEX_FACE, v, holding(points, faces[:-4], np.array([0.99, 0.5]))[0], near)
    for _ in range(3):
        done = redefine(points, record, near)
        assert not done.changed.any() and done.counts["alone"] + done.counts["refused"] == 1
        np.testing.assert_allclose(done.records.weights.sum(), 0, atol=1e-12)
        assert (done.records.weights[0, 1:] <= 0).all()  # it pushes at the nearest place of its face, not beyond
        record = done.records


def star(height=4.0):
    """The sides of a five-pointed star, upright, facing out; the foot of its centre is on none of them."""
    turn = np.arange(10) * np.pi / 5 + np.pi / 2
    radius = np.where(np.arange(10) % 2 == 0, 1.0, np.sin(np.pi / 10) / np.sin(3 * np.pi / 10))
    ring = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    points = np.concatenate([np.c_[ring, np.full(10, -height / 2)], np.c_[ring, np.full(10, height / 2)]])
    k = np.arange(10)
    faces = np.concatenate([np.stack([k, (k + 1) % 10, 10 + (k + 1) % 10], 1), np.stack([k, 10 + (k + 1) % 10, 10 + k], 1)])
    return points, faces


def test_the_centre_of_a_star_is_under_no_side():
    """theory/penalty 7.3: foot parameters 1.309 and -0.309; the tolerance of Eq. 6.4 finds the shallowest side, the convex rule none."""
    ring = star()[0][:10, :2]
    a, b = ring[1], ring[0]
    np.testing.assert_allclose([(-a @ (b - a)) / ((b - a) @ (b - a)), (-b @ (a - b)) / ((a - b) @ (a - b))], [-0.309017, 1.309017], atol=1e-6)
    points, faces, body = join(star(), (np.zeros((1, 3)), np.zeros((0, 3), int)))
    near = Adjacency.of(faces, body)
    rules = dict(categories="off", walk=0)
    for side in range(10):
        points[20] = [-0.01 * np.cos(np.pi / 2 + side), -0.01 * np.sin(np.pi / 2 + side), 0.1]
        normal = near.normals(points)
        record = pairs(VERTEX_FACE, 20, side, near)
        feet = [reach(points, normal, faces, f, points[20]) for f in range(20)]
        assert min(out for _, out, _ in feet) > 0.25
        assert not redefine(points, record, near, Redefinition(faces="convex", **rules)).changed.any()
        done = redefine(points, record, near, Redefinition(**rules))
        gap = done.records.feature_b[0]
        assert feet[gap][2] >= feet[side][2] and (feet[gap][1] <= feet[side][1] + 1e-12)
        again = done
        for _ in range(10):  # it comes to rest
            again = redefine(points, again.records, near, Redefinition(**rules))
        assert not again.changed.any()
    points[20] = [0.05, 0.02, 0.1]
    moved = [redefine(points, pairs(VERTEX_FACE, 20, f, near), near, Redefinition(**rules)).changed[0] for f in range(20)]
    assert any(moved) and not all(moved)


def oracle(points, near, normal, v, f, rules, before, hooked):
    """The rules of theory/penalty 7.3 as written in the module's docstring, for one vertex, face by face; the set of faces that would
    do."""
    faces, p = near.faces, points[v]
    w, out, gap = reach(points, normal, faces, f, p)
    if out <= 1e-9 and not hooked:
        return {f}
    around = {int(g) for k in range(3) if hooked or w[k] >= -1e-9 for g in faces_at(near, faces[f, k])} - {f}
    size = max(np.linalg.norm(points[faces[f, k]] - points[faces[f, 0]]) for k in (1, 2))
    under, nearly = {}, {}
    for g in around:
        _, off, depth = reach(points, normal, faces, g, p)
        span = normal[near.faces_around[near.face_start[v] : near.face_start[v + 1]]]
        mean = span.sum(axis=0) / np.linalg.norm(span.sum(axis=0))
        regular = min((span @ normal[g]).min(), mean @ normal[g]) <= -np.sqrt(0.5) + 1e-9
        if depth >= 0 or not regular:
            continue
        if off <= 1e-9:
            under[g] = depth
        elif rules.faces == "concave" and off <= out and (hooked or gap < 0) and not (depth <= gap + 1e-6 * size and (not hooked or g == before)):
            nearly[g] = depth
    best = under or nearly or {f: 0.0}
    return {g for g, d in best.items() if d >= max(best.values()) - 1e-12}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["concave", "convex"]), st.booleans())
def test_redefinition_of_random_surfaces_is_that_of_the_oracle(seed, mode, hooked):
    rng = np.random.default_rng(seed)
    top = plane(rng, 30, bumps=0.08)
    tips = [needle((*rng.uniform(0.05, 0.95, 2), -0.1 * rng.random())) for _ in range(12)]
    points, faces, body = join(top, *tips)
    near = Adjacency.of(faces, body)
    tip = np.array([np.flatnonzero(body == k)[0] for k in range(1, 13)])
    close = [np.argsort(np.linalg.norm(points[top[1]].mean(axis=1)[:, :2] - points[t, :2], axis=1))[:4] for t in tip]
    record = pairs(VERTEX_FACE, tip, [rng.choice(c) for c in close], near)
    record.hooked[:] = hooked
    rules, normal = Redefinition(faces=mode, walk=0), near.normals(points)
    done = redefine(points, record, near, rules)
    for i in range(12):
        allowed = oracle(points, near, normal, tip[i], record.feature_b[i], rules, -1, hooked)
        assert int(done.records.feature_b[i]) in allowed
    moved = done.changed
    assert (gaps(points, done.records, near)[moved] < 0).all()
    assert not categories(points, done.records, near)[moved].any() and not done.records.hooked[moved].any()
    np.testing.assert_allclose(done.records.weights.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_array_equal(done.records.stretch, record.stretch)
    assert done.counts["redefined"] == moved.sum() and (done.records.active | ~moved).all()
    assert len(done.records) == 12 and (done.records.active == ~done.records.hooked).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 16]))
def test_redefinition_comes_to_rest(seed, walk):
    """The guard: a vertex that does not move changes its face a few times at most, never back and forth."""
    rng = np.random.default_rng(seed)
    top = plane(rng, 30, bumps=0.15)
    tips = [needle((*rng.uniform(0.05, 0.95, 2), -0.2 * rng.random())) for _ in range(12)]
    points, faces, body = join(top, *tips)
    near = Adjacency.of(faces, body)
    tip = np.array([np.flatnonzero(body == k)[0] for k in range(1, 13)])
    record = pairs(VERTEX_FACE, tip, rng.integers(0, len(top[1]), 12), near)
    for _ in range(40):
        done = redefine(points, record, near, Redefinition(walk=walk))
        record = done.records
    assert not done.changed.any()


def test_a_vertex_behind_a_concave_edge_is_not_lost():
    """A valley: the vertex has slid from the flat side under the rising one, in front of its old face's plane."""
    points, faces, body = join(
        ([[-1, -1, 0], [0, -1, 0], [0, 1, 0], [-1, 1, 0], [1, -1, 1], [1, 1, 1]], [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]]),
        needle((0.2, 0.0, 0.1)),
    )
    near = Adjacency.of(faces, body)
    record = pairs(VERTEX_FACE, 6, 0, near)
    assert gaps(points, record, near)[0] > 0
    done = redefine(points, record, near)
    assert done.records.feature_b[0] in (2, 3) and gaps(points, done.records, near)[0] < 0
    assert not redefine(points, record, near, Redefinition(faces="off")).changed.any()


def test_a_face_without_room_is_left_alone():
    """Above the convex edge of a roof a vertex in front of its face is free: no face nearly behind it is taken."""
    roof = [[-1, -1, -1], [0, -1, 0], [0, 1, 0], [-1, 1, -1], [1, -1, -1], [1, 1, -1]]
    points, faces, body = join((roof, [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]]), needle((0.05, 0.0, 0.06)))
    near = Adjacency.of(faces, body)
    for f in range(4):
        assert not redefine(points, pairs(VERTEX_FACE, 6, f, near), near).changed.any()


def test_one_face_per_vertex_and_body():
    points, faces, body = join(plane(np.random.default_rng(5)), needle((0.5, 0.5, -0.01)), plane(np.random.default_rng(6)))
    near = Adjacency.of(faces, body)
    v = int(np.flatnonzero(body == 1)[0])
    right = holding(points, faces[body[faces[:, 0]] == 0], points[v])[0]
    others = [int(g) for g in faces_at(near, faces[right, 0]) if g != right][:2]
    third = int(np.flatnonzero(body[faces[:, 0]] == 2)[0])
    record = pairs(VERTEX_FACE, [v] * 4, [right, *others, third], near)
    done = redefine(points, record, near, Redefinition(faces="off"))
    assert done.counts["merged"] == 2 and sorted(done.records.b) == [0, 2]
    assert done.records.age.tolist() == [2, 3]  # the oldest of each
    itself = pairs(VERTEX_FACE, [v] * 3, [right, right, others[0]], near)
    itself.b[:] = itself.a[:] = 1
    assert len(redefine(points, itself, near, Redefinition(faces="off")).records) == 2


def test_no_face_of_its_own_is_taken():
    """Self-contact: faces around the vertex itself are no candidates."""
    points, faces = star()
    points = points.copy()
    near = Adjacency.of(faces, np.zeros(20, int))
    points[0] *= 0.1
    for f in range(20):
        if 0 not in faces[f]:
            done = redefine(points, pairs(VERTEX_FACE, 0, f, near), near, Redefinition(categories="off"))
            assert 0 not in faces[done.records.feature_b[0]]


def test_a_hooked_vertex_of_the_floor_is_given_the_bottom_of_the_block():
    """Fig. 6.12: a vertex of the floor behind the side of a block goes to its bottom; with no rule it keeps the side."""
    box = box_surface((1, 1, 1), 0.5)
    block = box.points - [0, 0, box.points[:, 2].min() + 0.02]
    rng = np.random.default_rng(0)
    ground = plane(rng, 80, size=3.0)
    ground[0][:, :2] -= 1.5
    points, faces, body = join((block, box.faces), ground)
    near = Adjacency.of(faces, body)
    normal = near.normals(points)
    inside = np.flatnonzero((body == 1) & (np.abs(points[:, 0]) < 0.5) & (np.abs(points[:, 1]) < 0.3))
    v = int(inside[np.argmax(points[inside, 0])])
    sides = np.flatnonzero((body[faces[:, 0]] == 0) & (normal[:, 0] > 0.9))
    low = sides[np.argsort(points[faces[sides]].mean(axis=1)[:, 2])[:2]]
    hooked = pairs(VERTEX_FACE, [v], low[:1], near)
    made, counts = admit(points, hooked, Records.none(), near, Redefinition())
    vf = made.select(made.kind == VERTEX_FACE)
    np.testing.assert_allclose(contact_normals(points, vf, near), [[0, 0, -1]], atol=1e-12)
    assert counts["hooked"] == 1 and counts["redefined"] == 1 and vf.active.all() and not vf.hooked.any()
    ee = made.select(made.kind == EDGE_EDGE)
    np.testing.assert_allclose(np.abs(contact_normals(points, ee, near)[:, 2]), 1, atol=1e-9)
    assert len(ee) == counts["new edges"]
    kept, _ = admit(points, hooked, Records.none(), near, Redefinition(categories="off"))
    assert kept.feature_b[0] == low[0] and kept.active.all()
    kept, counts = admit(points, hooked, Records.none(), near, Redefinition(hooked="off"))
    assert kept.feature_b[0] == low[0] and kept.active.all() and counts == {"hooked": 1}


@pytest.mark.parametrize("hooked", ["skip", "keep"])
def test_hooked_pairs_without_a_way_out(hooked):
    """Far up the side of a tall block no regular face is around: the pair rests, or pushes on as published."""
    box = box_surface((1, 1, 2), 0.25)
    tip = 0.1 * CORNER @ np.diag([1, 1, 3]) + [0.49, 0, box.points[:, 2].mean()]
    tip[1:, 0] = tip[1:, 0].mean()  # a corner that looks away from the side of the block
    tip[0, 0] = tip[1, 0] + 0.05
    points, faces, body = join((box.points, box.faces), (tip, outward(tip, TET)))
    near = Adjacency.of(faces, body)
    normal = near.normals(points)
    v = int(np.flatnonzero(body == 1)[0])
    side = np.flatnonzero((body[faces[:, 0]] == 0) & (normal[:, 0] > 0.9))
    f = side[np.argmin(np.linalg.norm(points[faces[side]].mean(axis=1) - points[v], axis=1))]
    record = pairs(VERTEX_FACE, v, f, near)
    made, counts = admit(points, record, Records.none(), near, Redefinition(hooked=hooked))
    assert made.hooked.tolist() == [True] and made.active.tolist() == [hooked == "keep"] and counts["alone"] == 1


def test_new_edge_pairs_are_those_of_all_pairs():
    """Where a corner of a block slides on to another face of the floor: against every pair of edges at the vertex and at shared corners."""
    rng = np.random.default_rng(4)
    box = box_surface((0.4, 0.4, 0.4), 0.2)
    ground = plane(rng, 60, bumps=0.005)
    points, faces, body = join(ground, (box.points + [0.5, 0.5, 0.19], box.faces))
    near = Adjacency.of(faces, body)
    normal = near.normals(points)
    v = int(np.flatnonzero((body == 1) & (points[:, 2] < 0))[3])
    f = holding(points, ground[1], points[v])[0]
    old = next(int(g) for g in faces_at(near, faces[f, 0]) if g != f and len(set(faces[g]) & set(faces[f])) == 2)
    record = pairs(VERTEX_FACE, v, old, near)
    done = redefine(points, record, near)
    assert done.changed.all() and done.records.feature_b[0] == f
    made = new_edge_pairs(points, done.records, done.changed, near)
    wanted = {}
    for c in set(faces[f]) & set(faces[old]):
        for g in near.edges_around[near.edge_start[c] : near.edge_start[c + 1]]:
            for e in near.edges_around[near.edge_start[v] : near.edge_start[v + 1]]:
                if (near.edge_faces[[e, g]] >= 0).all() and any(np.ptp(normal[near.edge_faces[k]], axis=0).max() < 1e-9 for k in (e, g)):
                    continue
                a, b, c_, d = points[[*near.edges[e], *near.edges[g]]]
                n = np.cross(b - a, d - c_)
                if np.linalg.norm(n) < 1e-6 * np.linalg.norm(b - a) * np.linalg.norm(d - c_) or abs(n @ normal[old]) < 1e-6 * np.linalg.norm(n):
                    continue
                n *= np.sign(n @ normal[old]) / np.linalg.norm(n)
                s, t, gap = np.linalg.solve(np.stack([b - a, -(d - c_), n], axis=1), c_ - a)
                spans = [np.vstack([x, x.sum(axis=0) / np.linalg.norm(x.sum(axis=0))]) for x in (normal[near.edge_faces[e]], normal[near.edge_faces[g][near.edge_faces[g] >= 0]])]
                regular = (spans[0] @ n).min() <= -0.7071 and (spans[1] @ n).max() >= 0.7071
                if -gap < 0 and regular and max(-s, s - 1, -t, t - 1) <= 0.3:
                    wanted[min(e, g), max(e, g)] = max(-s, s - 1, -t, t - 1) <= 0
    assert len(wanted) >= 2
    assert {(int(e), int(g)): bool(on) for e, g, on in zip(made.feature_a, made.feature_b, made.active, strict=True)} == wanted
    assert (gaps(points, made, near) < 0).all() and not categories(points, made, near).any()
    np.testing.assert_allclose(made.weights.sum(axis=1), 0, atol=1e-15)
    np.testing.assert_array_equal(made.a, body[near.edges[made.feature_a, 0]])
    both = Records.joined([done.records, made])
    changed = np.append(done.changed, np.zeros(len(made), bool))
    assert len(new_edge_pairs(points, both, changed, near)) == 0  # none twice
    assert len(new_edge_pairs(points, record, np.zeros(1, bool), near)) == 0


def cube_and_needle(at):
    box = box_surface((1, 1, 1))
    points, faces, body = join((box.points - [0, 0, box.points[:, 2].max()], box.faces), needle(at))
    near = Adjacency.of(faces, body)
    normal = near.normals(points)
    top = [int(f) for f in np.flatnonzero(body[faces[:, 0]] == 0) if normal[f, 2] > 0.9]
    tree = FeatureTree.build(points, faces, np.searchsorted(body[faces[:, 0]], np.arange(3)))
    return points, near, body, tree, top


def step_of(tree, start, end):
    found = tree.candidates(start, end, np.array([[0, 1]]))
    return tree.tree, found.vertex_face


def test_fig_6_1_a_vertex_that_leaves_through_the_side_is_resolved():
    start, near, body, tree, top = cube_and_needle((0.45, 0.1, -0.05))
    v = int(np.flatnonzero(body == 1)[0])
    end = start.copy()
    end[body == 1, 0] += 0.1
    record = pairs(VERTEX_FACE, [v, v], top, near)
    assert (gaps(end, record, near) < 0).all()
    args = (start, end, record, near, *step_of(tree, start, end))
    assert resolved(*args).all() and not resolved(*args, "gap").any()
    onto = start.copy()
    onto[body == 1, 0] = start[body == 1, 0] - start[v, 0] + 0.5  # the step ends on the side: out
    assert resolved(start, onto, record, near, *step_of(tree, start, onto)).all()
    assert resolved(onto, end, record, near, *step_of(tree, onto, end)).all()  # and begins there
    half = start.copy()
    half[body == 1, 0] += 0.04  # still inside
    assert not resolved(start, half, record, near, *step_of(tree, start, half)).any()
    up = start.copy()
    up[body == 1, 2] += 0.06
    assert resolved(start, up, record, near, *step_of(tree, start, up), "gap").all()


def test_a_vertex_that_leaves_and_comes_back_is_not_resolved():
    """Out through the wall of a body in front of it and into it again: the last crossing counts."""
    start, near, body, tree, top = cube_and_needle((0.45, 0.1, -0.05))
    v = int(np.flatnonzero(body == 1)[0])
    record = pairs(VERTEX_FACE, [v], top[:1], near)
    start[body == 1, 0] += 0.1  # outside, goes in through the side
    end = start.copy()
    end[body == 1, 0] -= 0.1
    assert not resolved(start, end, record, near, *step_of(tree, start, end)).any()


def test_e25_a_gap_of_zero_is_resolved():
    """Erratum E25: neither strictly positive nor strictly negative."""
    points, near, body, tree, top = cube_and_needle((0.2, 0.1, 0.0))
    v = int(np.flatnonzero(body == 1)[0])
    record = pairs(VERTEX_FACE, [v], top[:1], near)
    assert gaps(points, record, near)[0] == 0 and resolved(points, points, record, near, *step_of(tree, points, points)).all()


def test_an_edge_that_touches_the_body_no_more_is_resolved():
    """A wedge lies across the rim of a cube; lifted off sideways its gap to the rim stays negative."""
    box = box_surface((1, 1, 1))
    bar = np.array([[0.3, 0.0, 0.1], [0.8, 0.05, -0.3], [0.6, 0.4, 0.3], [0.6, -0.4, 0.3]])
    points, faces, body = join((box.points - [0, 0, box.points[:, 2].max()], box.faces), (bar, outward(bar, TET)))
    near = Adjacency.of(faces, body)
    tree = FeatureTree.build(points, faces, np.searchsorted(body[faces[:, 0]], np.arange(3)))
    ends = points[near.edges]
    rim = next(int(e) for e in np.flatnonzero(body[near.edges[:, 0]] == 0) if np.allclose(ends[e, :, [0, 2]].T, [[0.5, 0], [0.5, 0]]))
    low = int(np.flatnonzero((near.edges == len(box.points) + np.array([0, 1])).all(axis=1))[0])
    record = pairs(EDGE_EDGE, [rim], [low], near)
    record.sigma[:] = -np.sign(edge_states(points, record).gap)
    assert edge_states(points, record).state[0] == HANDLE and gaps(points, record, near)[0] < 0
    assert not resolved(points, points, record, near, *step_of(tree, points, points)).any()  # it pierces the cube
    end = points.copy()
    end[body == 1] += [-0.02, 1.2, 0]  # beyond the end of the rim
    assert gaps(end, record, near)[0] < 0
    args = (points, end, record, near, *step_of(tree, points, end))
    assert resolved(*args).all() and not resolved(*args, "gap").any()
    deep = points.copy()
    deep[body == 1] = [0, 0, -0.5] + 0.2 * (points[body == 1] - points[body == 1].mean(axis=0))  # wholly inside: pierces nothing
    record = pairs(EDGE_EDGE, [rim], [low], near)
    record.sigma[:] = -np.sign(edge_states(deep, record).gap)
    inner = pairs(VERTEX_FACE, [len(box.points)], [0], near)
    inner.feature_b[:] = next(f for f in range(12) if gaps(deep, pairs(VERTEX_FACE, [len(box.points)], [f], near), near)[0] < 0)
    inner.corners[:, 1:] = near.faces[inner.feature_b]
    held = Records.joined([record, inner])
    both = resolved(deep, deep, held, near, *step_of(tree, deep, deep))
    # the end points of one edge are held by a pair with the cube; the rim, which touches the wedge no more, resolves it all the same
    assert both.tolist() == [True, False]


def test_finish_redefines_before_it_resolves():
    """The valley of above within a whole end of step: by gap alone the vertex would be lost."""
    points, faces, body = join(
        ([[-1, -1, 0], [0, -1, 0], [0, 1, 0], [-1, 1, 0], [1, -1, 1], [1, 1, 1]], [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]]),
        needle((-0.05, 0.01, -0.04)),
    )
    near = Adjacency.of(faces, body)
    tree = FeatureTree.build(points, faces, np.array([0, 4, 8]))
    end = points.copy()
    end[body == 1] += [0.2, 0, 0.1]
    record = pairs(VERTEX_FACE, 6, 1, near)
    kept, counts = finish(points, end, record, near, *step_of(tree, points, end), Redefinition())
    assert len(kept.select(kept.kind == VERTEX_FACE)) == 1 and counts["redefined"] + counts["walked"] == 1
    lost, counts = finish(points, end, record, near, *step_of(tree, points, end), Redefinition(faces="off"))
    assert len(lost) == 0 and counts["resolved"] == 1


def test_exact_shapes_are_left_alone():
    points, near, body, tree, top = cube_and_needle((0.2, 0.1, -0.1))
    record = pairs(VERTEX_FACE, [int(np.flatnonzero(body == 1)[0])], top[:1], near)
    record.kind[:], record.feature_b[:] = VERTEX_SHAPE, -1
    assert not categories(points, record, near).any() and not redefine(points, record, near).changed.any()
    assert not resolved(points, points, record, near, *step_of(tree, points, points)).any()
    assert len(ready(points, record, Redefinition())[0]) == 1


def test_no_pairs_are_no_trouble():
    points, near, _, tree, _ = cube_and_needle((0.2, 0.1, -0.1))
    none = Records.none()
    assert len(admit(points, none, none, near, Redefinition(deep=True))[0]) == 0
    assert len(ready(points, none, Redefinition())[0]) == 0
    assert len(finish(points, points, none, near, *step_of(tree, points, points), Redefinition())[0]) == 0


def test_wrong_rules_are_refused():
    for wrong in (dict(faces="round"), dict(categories="best"), dict(walk=-1)):
        with pytest.raises(PliantError):
            Redefinition(**wrong)
    with pytest.raises(PliantError, match="edges"):
        Redefinition.of({"edge": True})
    assert Redefinition.of(False) == Redefinition.none() and Redefinition.of(True) == Redefinition() and Redefinition.of({"walk": 3}).walk == 3
