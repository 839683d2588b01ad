"""Points in tetrahedra: golden numbers, the set that looking at all pairs gives, whatever the cells, the table and the threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.detect import brute_force, points_in_tets
from pliant.detect.spatial_hashing import cell_hash


def pairs(found):
    return np.stack([found.point, found.tet], axis=1)


def cloud(seed, points, tets):
    """Points and random tetrahedra in the unit cube, inverted ones and ones with a corner twice among them."""
    rng = np.random.default_rng(seed)
    return rng.random((points, 3)), rng.random((30, 3)), rng.integers(0, 30, (tets, 4))


def test_G1_hash_of_cells():
    assert cell_hash(np.array([[1, 2, 3], [-1, 0, 5], [0, 0, 0]]), 1009).tolist() == [59, 920, 0]
    assert cell_hash(np.array([[10, -7, 4]]), 99991).tolist() == [94646]


def test_G2_barycentric_weights():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    found = points_in_tets(np.array([[0.2, 0.3, 0.4]]), corners, np.array([[0, 1, 2, 3]]))
    assert found.weights[0] == pytest.approx([0.5166666667, 0.2, 0.15, 0.1333333333], abs=1e-9)


@given(st.integers(0, 2**31), st.integers(0, 80), st.integers(0, 40), st.sampled_from([None, 0.004, 0.05, 0.3, 7.0]), st.sampled_from([None, 1, 13, 1009]))
@settings(max_examples=60, deadline=None)
def test_points_in_tets_equal_brute_force_whatever_the_cell_and_the_table(seed, n, m, cell, hashed):
    x, corners, tets = cloud(seed, n, m)
    found = points_in_tets(x, corners, tets, cell=cell, hashed=hashed)
    assert np.array_equal(pairs(found), brute_force.points_in_tets(x, corners, tets))
    assert np.allclose(np.einsum("hk,hkd->hd", found.weights, corners[tets[found.tet]]), x[found.point], atol=1e-9)
    assert found.weights.min(initial=0.0) >= -1e-12 and np.allclose(found.weights.sum(axis=1), 1.0)


@pytest.mark.parametrize("hashed", [None, 997])
def test_translation_by_cells_changes_nothing(hashed):
    x, corners, tets = cloud(5, 400, 100)
    x, corners = np.round(x * 1024) / 1024, np.round(corners * 1024) / 1024  # so that shifts are exact
    wanted = points_in_tets(x, corners, tets, cell=0.25, hashed=hashed)
    assert len(wanted) > 200
    for shift in ([-3.0, 0.25, 77.5], [-(2.0**20), 2.0**22, -1.5]):  # beyond the 21 bits of a packed key too
        found = points_in_tets(x + shift, corners + shift, tets, cell=0.25, hashed=hashed)
        assert np.array_equal(pairs(found), pairs(wanted)) and np.array_equal(found.weights, wanted.weights)


@pytest.mark.parametrize("hashed", [None, 101])
def test_borders_belong_to_both_sides_and_once_keeps_one(hashed):
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
    tets = np.array([[0, 1, 2, 3], [0, 2, 1, 4]])
    x = np.array([[0.25, 0.25, 0.0], [0.0, 0.0, 0.0], [0.25, 0.25, 0.25], [0.5, 0.5, 1e-6]])
    found = points_in_tets(x, corners, tets, hashed=hashed)
    assert pairs(found).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]]
    assert pairs(found.once(np.array([7, 7]))).tolist() == [[0, 0], [1, 0], [2, 0]]
    assert pairs(found.once(np.array([7, 8]))).tolist() == pairs(found).tolist()


def test_flat_tetrahedra_are_skipped_and_named():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0.3, 0.3, 1e-14]])
    tets = np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 2], [0, 1, 2, 5], [1, 0, 2, 4]])
    x = np.array([[0.3, 0.3, 0.0], [0.1, 0.1, 0.1]])
    found = points_in_tets(x, corners, tets)
    assert found.flat.tolist() == [0, 2, 3]
    assert pairs(found).tolist() == [[0, 1], [0, 4], [1, 1], [1, 4]]  # the last is inverted, which does not matter
    assert points_in_tets(np.zeros((0, 3)), corners, tets).flat.tolist() == [0, 2, 3]


@given(st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_vertices_are_not_in_their_own_tetrahedra_nor_in_those_of_their_group(seed):
    _, corners, tets = cloud(seed, 0, 60)
    rng = np.random.default_rng(seed)
    every = brute_force.points_in_tets(corners, corners, tets)
    other = every[~(tets[every[:, 1]] == every[:, :1]).any(axis=1)]
    assert np.array_equal(pairs(points_in_tets(corners, corners, tets, same=True)), other)
    point_group, tet_group = rng.integers(-1, 3, len(corners)), rng.integers(-1, 3, len(tets))
    found = points_in_tets(corners, corners, tets, same=True, point_group=point_group, tet_group=tet_group)
    p, t = point_group[other[:, 0]], tet_group[other[:, 1]]
    assert np.array_equal(pairs(found), other[(p != t) | (p < 0)])


def test_one_huge_tetrahedron_among_tiny_ones():
    x, corners, tets = cloud(2, 200, 50)
    small = 1e-4 * corners
    big = 1e5 * np.array([[-1.0, -1, -1], [3, -1, -1], [-1, 3, -1], [-1, -1, 3]])
    every = np.concatenate([small, big])
    found = points_in_tets(1e-4 * x, every, np.concatenate([tets, [[30, 31, 32, 33]]]), cell=2e-5)
    assert (found.tet == 50).sum() == 200
    assert np.array_equal(pairs(found)[found.tet < 50], brute_force.points_in_tets(1e-4 * x, small, tets))


def test_more_hits_than_slots():
    tet = np.tile(np.arange(4), (300, 1))
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    x = np.full((50, 3), 0.2)
    assert len(points_in_tets(x, corners, tet)) == 300 * 50


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    rng = np.random.default_rng(3)
    base = rng.random((25_000, 1, 3))
    corners = (base + 0.03 * rng.random((25_000, 4, 3))).reshape(-1, 3)
    x, tets, found = rng.random((20_000, 3)), np.arange(100_000).reshape(-1, 4), []
    for threads in ("1", "2"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        found.append(points_in_tets(x, corners, tets))
    assert np.array_equal(pairs(found[0]), pairs(found[1])) and np.array_equal(found[0].weights, found[1].weights)
    assert len(found[0]) > 150


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_input_is_refused(bad):
    x, corners, tets = cloud(1, 10, 5)
    spoilt = x.copy()
    spoilt[7, 0] = bad
    with pytest.raises(PliantError, match="points .* 7"):
        points_in_tets(spoilt, corners, tets)
    corners[3, 1] = bad
    with pytest.raises(PliantError, match="points .* 3"):
        points_in_tets(x, corners, tets)
    with pytest.raises(PliantError, match="above zero"):
        points_in_tets(x, x, tets, cell=0.0)
    with pytest.raises(PliantError, match="above zero"):
        points_in_tets(x, x, tets, hashed=0)
