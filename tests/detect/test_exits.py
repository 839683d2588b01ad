"""Where places come out of a body along a line: by the tree as by looking at all faces."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant.detect.deep_overlap import Inside, _exits, ways_out
from pliant.detect.tree import Tree
from pliant.geometry.shapes import make


def brute(points, faces, place, way):
    """The nearest face along the way that looks the same way, and how far it is."""
    o, e, g = points[faces[:, 0]], points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]]
    across = np.cross(way, g)
    det = np.einsum("fi,fi->f", e, across)
    with np.errstate(all="ignore"):
        r = place - o
        u, t = np.einsum("fi,fi->f", r, across) / det, np.einsum("fi,fi->f", g, np.cross(r, e)) / det
        v = np.einsum("i,fi->f", way, np.cross(r, e)) / det
        inside = (det < 0) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
    t = np.where(inside, t, np.inf)
    return (int(np.argmin(t)), t.min()) if np.isfinite(t.min()) else (-1, np.inf)


@pytest.mark.parametrize("axis", [False, True])
def test_exits_by_the_tree(axis):
    """Two bodies; lines in all directions, and along the axes next to corners, where boxes are just touched."""
    rng = np.random.default_rng(3)
    torus, box = make("torus", major=0.2, minor=0.06, edge=0.03).surface(), make("box", size=(0.3, 0.2, 0.1), edge=0.05).surface()
    points, faces = np.concatenate([torus.points, box.points]), np.concatenate([torus.faces, box.faces + len(torus.points)])
    start = np.array([0, len(torus.faces), len(faces)])
    tree = Tree.build(points, faces, start)
    count = 300
    places, way, body = rng.uniform(-0.25, 0.25, (count, 3)), rng.normal(size=(count, 3)), rng.integers(0, 2, count)
    if axis:
        way = np.eye(3)[rng.integers(0, 3, count)] * rng.choice([-1.0, 1.0], (count, 1))
        places = points[rng.integers(0, len(points), count)] - 0.5 * way + rng.uniform(-1e-6, 1e-6, (count, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    face, weights, depth = np.empty(count, np.int64), np.zeros((count, 3)), np.empty(count)
    _exits(tree.nodes, points, faces, places, way, body, face, weights, depth)
    for k in range(count):
        first, last = start[body[k]], start[body[k] + 1]
        own, far = brute(points, faces[first:last], places[k], way[k])
        assert face[k] == (own + first if own >= 0 else -1)
        assert depth[k] == pytest.approx(far, rel=1e-9)
    assert 50 < (face >= 0).sum() < count


def test_a_body_wholly_behind_a_tilted_plane_leaves_it_along_the_normal_of_the_plane():
    """A plane has no middle to be apart from."""
    points, faces = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    normal, bodies = np.array([0.6, 0.0, 0.8]), SimpleNamespace(surface=np.array([4, 0]), point_start=np.array([0, 4]))
    every = np.arange(4)
    inside = Inside(every, 0 * every, np.ones(4, bool), 5.0 - points @ normal, np.tile(normal, (4, 1)))
    one, other = np.array([0]), np.array([1])
    assert ways_out(bodies, points, faces, inside, one, other)[0] == pytest.approx(normal[None])
    assert ways_out(bodies, points, faces, inside._replace(first=~inside.first), other, one)[0] == pytest.approx(-normal[None])
