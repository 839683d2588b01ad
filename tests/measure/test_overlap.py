"""The length that depths are told in."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.geometry.mesh import TET_EDGES
from pliant.measure.overlap import mean_edge


@pytest.mark.parametrize("model", ["fem", "springs"])
def test_the_mean_edge_is_that_of_tets_or_of_springs(model):
    """Of finite elements by tets, which count an edge once each; of springs, which are an edge each."""
    scene = Scene()
    scene.add(name="box", model=model, shape=dict(kind="box", size=(0.3, 0.2, 0.1), edge=0.05), rotation=(10, 20, 30))
    sim = scene.simulate()
    edges = np.sort(sim.world.model.skin.tets[:, TET_EDGES].reshape(-1, 2), axis=1)
    edges = edges if model == "fem" else np.unique(edges, axis=0)
    x = sim.points()
    assert mean_edge(sim.world) == pytest.approx(np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1).mean(), rel=1e-9)
