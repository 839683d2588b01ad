"""Contact divided into islands, and the product of its solver, against the plain way of doing it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pliant.contact.patch.islands import _divide
from pliant.contact.patch.problem import _multiply
from pliant.geometry.components import labels


@given(st.integers(0, 10**6))
def test_islands_are_what_hangs_together_and_rows_keep_their_order(seed):
    rng = np.random.default_rng(seed)
    count, pairs = int(rng.integers(2, 12)), int(rng.integers(1, 15))
    moving = rng.random(count) < 0.8
    moving[0] = True
    whole = moving & (rng.random(count) < 0.6)
    a, b = rng.integers(0, count, (2, pairs))
    a = np.where(moving[a] | moving[b], a, 0)  # of two that stand still there is no row
    pair = np.repeat(np.arange(pairs), rng.integers(0, 4, pairs))  # some have none
    rows_of = np.bincount(pair, minlength=pairs)
    linked = moving[a] & moving[b] & (rows_of > 0)
    label = labels(count, np.stack([a[linked], b[linked]], axis=1))
    order, body, of_body, number = np.full((4, max(count, len(pair))), -1)
    first = np.zeros(count + 1, np.int64)
    used, islands = _divide(pair, a, b, moving, whole, order[: len(pair)], body[:count], of_body[:count], number[:count], first)
    order, body, of_body = order[: len(pair)], body[:used], of_body[:used]

    mine = label[np.where(moving[a], a, b)][pair]  # the plain way: sort rows by the lowest body of what they hang together with
    assert order.tolist() == np.argsort(mine, kind="stable").tolist()
    assert islands == len(np.unique(mine))
    assert np.diff(first[: islands + 1]).tolist() == np.unique(mine, return_counts=True)[1].tolist()
    touched = np.unique(np.append(a[pair], b[pair]))
    touched = touched[moving[touched]]
    wanted = sorted(touched, key=lambda i: (label[i], not whole[i], i))
    assert body.tolist() == wanted
    assert of_body.tolist() == np.searchsorted(np.unique(mine), label[wanted]).tolist()


@given(st.integers(0, 10**6))
def test_one_triangle_of_a_symmetric_matrix_makes_its_product(seed):
    rng = np.random.default_rng(seed)
    n, frames = int(rng.integers(1, 9)), int(rng.integers(0, 3))
    blocks = np.where(rng.random((n, n, 1, 1)) < 0.5, rng.normal(size=(n, n, 3, 3)), 0.0)
    upper = np.triu(np.any(blocks != 0.0, axis=(2, 3)), 1)
    diagonal = rng.normal(size=(n + 2 * frames, 6))  # xx, xy, xz, yy, yz, zz
    dense = np.zeros((n + 2 * frames, 3, n + 2 * frames, 3))
    for i, (xx, xy, xz, yy, yz, zz) in enumerate(diagonal):
        dense[i, :, i] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    for i, j in zip(*np.nonzero(upper), strict=True):
        dense[i, :, j], dense[j, :, i] = blocks[i, j], blocks[i, j].T
    row, column = np.nonzero(upper)
    first = np.append(0, np.cumsum(np.bincount(row, minlength=n))).astype(np.uint32)
    some = np.sort(rng.permutation(n + 2 * frames)[: int(rng.integers(1, n + 2 * frames + 1))])  # the unknowns of an island
    x, out = np.zeros((n + 2 * frames, 3)), np.full((n + 2 * frames, 3), np.nan)
    x[some] = rng.normal(size=(len(some), 3))
    _multiply(first, column.astype(np.uint32), np.ascontiguousarray(blocks[row, column]), diagonal, some, x, out)
    np.testing.assert_allclose(out[some], np.einsum("ikjl,jl->ik", dense, x)[some], atol=1e-12)
