"""Connected components against scipy's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pliant.geometry.components import labels


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_components_are_those_of_scipy_numbered_by_first_appearance(count, many, seed):
    pairs = np.random.default_rng(seed).integers(0, count, (many, 2))
    graph = coo_array((np.ones(many), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    found = labels(count, pairs)
    assert np.array_equal(found, connected_components(graph, directed=False)[1])
    assert np.array_equal(np.unique(found, return_index=True)[1], np.sort(np.unique(found, return_index=True)[1]))


def test_nothing_joined_and_nothing_there():
    assert labels(3, np.zeros((0, 2), np.int64)).tolist() == [0, 1, 2]
    assert len(labels(0, np.zeros((0, 2), np.int64))) == 0
