"""Coarse boxes whose rims are aligned: contacts at a rim are handed over between vertices and edges, and none is lost."""

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from pliant import Scene
from pliant.contact.penalty.bounds import HOLD
from pliant.contact.penalty.edges import edge_states
from pliant.contact.penalty.life_of_records import finish
from pliant.contact.penalty.options import Redefinition
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.detect.feature_pairs import FeatureTree
from pliant.geometry.shapes import make

SIZES = st.floats(-8.0, -3.0).map(lambda exponent: 10.0**exponent)
SHIFT = st.one_of(st.just(0.0), SIZES, SIZES.map(lambda size: -size))
SHIFTS = st.tuples(SHIFT, SHIFT)


def rest(method: str, shift: tuple[float, float], gap: float) -> None:
    """One cube of 0.1 m on another, aligned but for the shift, carries its weight and stays."""
    scene = Scene(dt=2e-3, duration=0.3, contact=method)
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    cube = dict(kind="box", size=(0.1,) * 3, edge=0.1)
    scene.add(name="lower", shape=cube, position=(0, 0, 0.05), model="rigid", friction=0.5)
    scene.add(name="upper", shape=cube, position=(*shift, 0.15 + gap), model="rigid", friction=0.5)
    sim = scene.simulate()
    sim.run()
    weight = 9.81  # 1000 kg/m^3 over 0.1 m cubed
    moved = sim.centre("upper") - [*shift, 0.15]
    assert abs(sim.contacts("upper", "lower").total_force[2]) == pytest.approx(weight, rel=0.01)
    assert np.abs(moved[:2]).max() < 1e-4 and -5e-4 < moved[2] < 0.0


@example((1e-3, 0.0), 0.0)
@example((1e-7, 1e-7), 0.0)
@given(SHIFTS, st.sampled_from((0.0, 1e-3)))
@settings(deadline=None, phases=[Phase.explicit])  # those above; the slow test draws others
def test_cubes_with_aligned_rims_rest(shift, gap):
    rest("continuous-penalty", shift, gap)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["continuous-penalty", "penalty"])
@given(SHIFTS, st.sampled_from((0.0, 1e-3)))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_cubes_with_aligned_rims_rest_wherever(method, shift, gap):
    rest(method, shift, gap)


def crossing(beyond: float) -> Records:
    """What is left of a pair of a corner with the top of a cube, 1e-3 deep, when the corner leaves over the rim so far."""
    cube = make("box", size=(1, 1, 1), edge=1.0).surface()
    points = np.concatenate([cube.points, cube.points + [0.3, 0.0, 0.999]])
    faces = np.concatenate([cube.faces, cube.faces + len(cube.points)])
    body = np.repeat([0, 1], len(cube.points))
    near = Adjacency.of(faces, body)
    tree = FeatureTree.build(points, faces, np.array([0, len(cube.faces), len(faces)]))
    x = points - [0.3, 0.0, 0.999]
    v = int(np.flatnonzero((body == 1) & np.isclose(x, [-0.5, 0.5, -0.5]).all(axis=1))[0])
    normals = near.normals(points)
    top = [f for f in np.flatnonzero(body[faces[:, 0]] == 0) if normals[f, 2] > 0.9]
    face = next(f for f in top if np.count_nonzero(np.isclose(points[faces[f], 1], 0.5)) == 2)  # the one at the rim y = 0.5
    start, end = points.copy(), points.copy()
    start[body == 1] -= [0, 1e-5, 0]
    end[body == 1] += [0, beyond, 0]
    one, none = np.ones(1), np.full(1, -1)
    record = Records(
        np.full(1, VERTEX_FACE), np.full(1, 1), np.full(1, 0), np.full(1, v), np.full(1, face), np.array([[v, *faces[face]]]),
        np.array([[1.0, -1 / 3, -1 / 3, -1 / 3]]), one, np.zeros(1, bool), np.ones(1, bool), one, np.zeros((1, 3)), none, none + 1,
    )  # fmt: skip
    found = tree.candidates(start, end, np.array([[0, 1]]))
    kept, _ = finish(start, end, record, near, tree.tree, found.vertex_face, Redefinition())
    edges = kept.select((kept.kind == EDGE_EDGE) & kept.active)  # another one waits beyond the end of its edge
    states = edge_states(end, edges)
    assert len(edges) == 1 and states.gap[0] == pytest.approx(-1e-3)
    return kept


@pytest.mark.parametrize("times, vertices", [(0.1, 1), (0.9, 1), (1.1, 0), (20.0, 0)])
def test_a_vertex_that_leaves_over_a_rim_hands_over_to_its_edge(times, vertices):
    """The pair of edges begins at once and at the same depth; the vertex goes on within HOLD of the depth."""
    kept = crossing(times * HOLD * 1e-3)
    assert np.count_nonzero(kept.kind == VERTEX_FACE) == vertices
    assert (kept.before[kept.kind == VERTEX_FACE] <= -2).all()  # marked as outside
