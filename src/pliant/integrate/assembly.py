"""From the stiffness of elements to a block matrix, without races and without keeping a block of any element.

Elements are taken in parts of PART. Of a part, what the blocks are made of is written first: turned gradients where the law is Hooke's in a
frame (`Tets.turned`), else the blocks themselves. Then every stored block that the part reaches adds its contributions
(element, corner a, corner b) in the order of elements: threads each fill their own blocks, and the sum depends neither on
how many there are nor on the size of a part. With h_a the turned gradients and V the volume, a linear tet has

    K_ab = V (lam h_a h_b^T + mu h_b h_a^T + mu (h_a.h_b) 1)

and a quadratic one a weighted sum of these over the at most two gradients behind each of its control points (`Tets.support`,
`Tets.products`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.elements import couple_rayleigh, couples
from pliant.integrate.blocks import BlockMatrix, BlockPattern, Indices, add_diagonal
from pliant.kernels import contiguous, inline, kernel, parallel, prange, use_threads

PART = 8192  # elements at a time: what is written of them stays in the cache, and starting threads costs next to nothing
TURNED = 14  # numbers of an element: four turned gradients, and V lam and V mu times the element's share of the matrix


class Share(NamedTuple):
    """What a group of elements adds to the matrix."""

    bounds: list[tuple[slice, int, int]]  # of each part: its elements, first and last of `slot`
    slot: Indices  # (k, 2) a stored block (row, column), row <= column, and its mirror image; the same on the diagonal
    start: Indices  # (k + 1,) first contribution to it
    code: Indices  # contributions: element of the part << 10 | corner of the row << 5 | corner of the column


class Assembly:
    """Groups of elements and the pattern of the matrix that they make. Elements of bodies that are not implicit are left out."""

    def __init__(self, groups: Sequence[Any], body_start: Ints, implicit: NDArray[np.bool_] | None = None) -> None:
        start = np.asarray(body_start, dtype=np.int64)
        wanted = np.ones(len(start) - 1, dtype=bool) if implicit is None else np.asarray(implicit, dtype=bool)
        owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self.groups, n = groups, int(start[-1])
        own = np.flatnonzero(wanted[owner])
        found = []
        for number, group in enumerate(groups):
            nodes = couples(group)
            _check(nodes, owner, number)
            used = wanted[owner[nodes[:, 0]]] if nodes.size else np.zeros(len(nodes), bool)
            found.append(_sorted_contributions(nodes, used, _part(group), n))
        upper = np.unique(np.concatenate([own * (n + 1), *(key for key, _, _, _ in found)]))  # a node without elements has a diagonal
        self.pattern, place = _pattern(upper, n, own, start, wanted)
        self.shares = [Share(bounds, place[np.searchsorted(upper, key)], first, code) for key, first, code, bounds in found]
        self._turned = np.empty((0, TURNED))  # room for what is written of a part
        self._blocks = np.empty((0, 3, 3))

    def matrix(self, x: Floats, lumped: Floats, dt: float = np.inf) -> BlockMatrix:
        """diag(lumped) + sum over elements e of s_e K_e at positions x; s_e = 1, or in a step of dt  dt b_e + dt^2.

        Implicit Euler, A = M + dt C + dt^2 K with C = a M + b K: lumped = m (1 + dt a), the same in x, y, z.
        """
        values = np.empty((len(self.pattern.indices), 3, 3))
        self.stiffness(x, values, dt)
        return self.with_lumped(values, lumped)

    def stiffness(self, x: Floats, values: Floats, dt: float = np.inf, forces: Sequence[Floats] = ()) -> None:
        """Write the sum over elements into values (nnz, 3, 3).

        forces: for each group that `turns`, which finds them in the same pass, room for the elastic forces on its corners; empty if they
        are not wanted.
        """
        values[:] = 0.0
        for number, (group, share) in enumerate(zip(self.groups, self.shares, strict=True)):
            if turns(group):
                self._add_turned(group, share, x, dt, values, forces[number] if forces else NO_FORCES)
            else:
                self._add_blocks(group, share, x, dt, values)

    def with_lumped(self, values: Floats, lumped: Floats) -> BlockMatrix:
        """The matrix that is made of these values and masses along its diagonal, in place."""
        if lumped.shape != (self.pattern.n,):
            raise PliantError(f"assembly got lumped {lumped.shape}; this pattern has {self.pattern.n} nodes")
        add_diagonal(values, self.pattern.diagonal, contiguous(lumped))
        return BlockMatrix(self.pattern, values, lumped)

    def _add_turned(self, group: Any, share: Share, x: Floats, dt: float, values: Floats, forces: Floats) -> None:
        for part, lo, hi in share.bounds:
            count = part.stop - part.start
            if len(self._turned) < count:
                self._turned = np.empty((count, TURNED))
            use_threads(count)
            group.turned(x, part, dt, self._turned[:count], forces)
            _add_turned(share.slot[lo:hi], share.start[lo : hi + 1], share.code, self._turned, group.support, group.products, values)

    def _add_blocks(self, group: Any, share: Share, x: Floats, dt: float, values: Floats) -> None:
        nodes, rayleigh = couples(group), couple_rayleigh(group)
        each = nodes.shape[1] * (nodes.shape[1] + 1) // 2
        scale = np.ones(len(nodes)) if np.isinf(dt) else dt * rayleigh + dt * dt
        for part, lo, hi in share.bounds:
            count = part.stop - part.start
            if len(self._blocks) < count * each:
                self._blocks = np.empty((count * each, 3, 3))
            blocks = self._blocks[: count * each]
            use_threads(count)
            if hasattr(group, "stiffness_of"):
                group.stiffness_of(part, x, blocks.reshape(count, each, 3, 3), dt)
            else:
                group.stiffness(x, blocks.reshape(count, each, 3, 3), dt)
            _add_blocks(share.slot[lo:hi], share.start[lo : hi + 1], share.code, blocks, nodes.shape[1], scale[part], values)


NO_FORCES = np.zeros((0, 3))


def turns(group: Any) -> bool:
    """Whether a group has turned gradients."""
    return bool(getattr(group, "turns", False))


def _part(group: Any) -> int:
    """How many elements of a group are taken at a time; all, if it cannot do with less."""
    return PART if hasattr(group, "stiffness_of") else max(len(couples(group)), 1)


def _sorted_contributions(
    nodes: Ints, used: NDArray[np.bool_], size: int, n: int
) -> tuple[Ints, Indices, Indices, list[tuple[slice, int, int]]]:
    """Stored blocks row * n + column of each part, first contribution of each, contributions, and the bounds of the parts."""
    if size > 2**22 or nodes.shape[1] > 32:
        raise PliantError(f"{size} elements of {nodes.shape[1]} corners: a matrix can take {2**22} of up to 32 at a time")
    each = nodes.shape[1] * (nodes.shape[1] + 1) // 2
    code = np.empty(np.count_nonzero(used) * each, np.uint32)
    keys, starts, bounds, at, blocks = [], [], [], 0, 0
    for begin in range(0, len(nodes), size):
        part = slice(begin, min(begin + size, len(nodes)))
        element = np.flatnonzero(used[part])
        if len(element):
            key, first, code[at : at + each * len(element)] = _sorted_part(nodes[part], element, n)
            keys.append(key)
            starts.append((first + at).astype(np.uint32))
            bounds.append((part, blocks, blocks + len(key)))
            at, blocks = at + each * len(element), blocks + len(key)
    return np.concatenate([np.zeros(0, np.int64), *keys]), np.concatenate([*starts, [at]]).astype(np.uint32), code, bounds


def _sorted_part(nodes: Ints, element: Ints, n: int) -> tuple[Ints, Ints, Indices]:
    """Stored blocks, first contribution of each, and contributions, of some elements."""
    first, second = np.triu_indices(nodes.shape[1])
    key, code = np.empty((len(element), len(first)), np.int64), np.empty((len(element), len(first)), np.uint32)
    for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one, other = nodes[element, a], nodes[element, b]
        key[:, k] = np.minimum(one, other) * n + np.maximum(one, other)
        code[:, k] = (element << 10) | np.where(one <= other, a << 5 | b, b << 5 | a)
    order = np.argsort(key.ravel(), kind="stable")  # stable: contributions stay in the order of elements
    blocks = key.ravel()[order]
    start = np.flatnonzero(np.concatenate([[True], blocks[1:] != blocks[:-1]]))
    return blocks[start], start, code.ravel()[order]


def _pattern(upper: Ints, n: int, own: Ints, start: Ints, wanted: NDArray[np.bool_]) -> tuple[BlockPattern, Indices]:
    """The pattern of both triangles, and where each upper block (row * n + column, sorted) and its mirror image went, (U, 2)."""
    row, column = upper // n if n else upper, upper % n if n else upper
    off = row != column
    rows, columns = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
    order = np.argsort(rows * n + columns)
    at = np.empty(len(order), dtype=np.uint32)
    at[order] = np.arange(len(order), dtype=np.uint32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.uint32)
    place = np.empty((len(upper), 2), np.uint32)
    place[:, 0] = place[:, 1] = at[: len(upper)]
    place[off, 1] = at[len(upper) :]
    diagonal = np.full(n, -1, dtype=np.int32)
    diagonal[own] = place[~off, 0]
    return BlockPattern(start, wanted, indptr, columns[order].astype(np.uint32), diagonal), place


def _check(nodes: Ints, owner: Ints, group: int) -> None:
    """Refuse elements that repeat a node, name one that is not there, or couple two bodies."""
    if not len(nodes):
        return
    if nodes.min() < 0 or nodes.max() >= len(owner):
        raise PliantError(f"element group {group} names a node outside 0..{len(owner) - 1}")
    ordered = np.sort(nodes, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(twice):
        raise PliantError(
            f"element {twice[0]} of group {group} uses a node twice ({nodes[twice[0]].tolist()}): it has no volume or "
            f"length and no stiffness; remove it from the mesh"
        )
    across = np.flatnonzero((owner[nodes] != owner[nodes[:, :1]]).any(axis=1))
    if len(across):
        raise PliantError(
            f"element {across[0]} of group {group} joins bodies {np.unique(owner[nodes[across[0]]]).tolist()}: bodies "
            f"are solved one by one, so joining them takes an attachment"
        )


@inline
def _hooke(m, lam, mu, g, h):  # type: ignore[no-untyped-def]
    """m + lam g h^T + mu h g^T + mu (g.h) 1."""
    even = mu * (g[0] * h[0] + g[1] * h[1] + g[2] * h[2])
    return (
        m[0] + ((lam + mu) * g[0] * h[0] + even),
        m[1] + (lam * g[0] * h[1] + mu * h[0] * g[1]),
        m[2] + (lam * g[0] * h[2] + mu * h[0] * g[2]),
        m[3] + (lam * g[1] * h[0] + mu * h[1] * g[0]),
        m[4] + ((lam + mu) * g[1] * h[1] + even),
        m[5] + (lam * g[1] * h[2] + mu * h[1] * g[2]),
        m[6] + (lam * g[2] * h[0] + mu * h[2] * g[0]),
        m[7] + (lam * g[2] * h[1] + mu * h[2] * g[1]),
        m[8] + ((lam + mu) * g[2] * h[2] + even),
    )


@inline
def _three(t, e, m):  # type: ignore[no-untyped-def]
    return t[e, 3 * m], t[e, 3 * m + 1], t[e, 3 * m + 2]


@inline
def _add_both(values, slot, u, m):  # type: ignore[no-untyped-def]
    """Add a block where it is stored and its transpose where its mirror image is."""
    v = values[slot[u, 0]]
    a, b, c, d, e, f, g, h, i = (
        v[0, 0] + m[0], v[0, 1] + m[1], v[0, 2] + m[2], v[1, 0] + m[3], v[1, 1] + m[4], v[1, 2] + m[5], v[2, 0] + m[6], v[2, 1] + m[7],
        v[2, 2] + m[8],
    )  # fmt: skip
    w = values[slot[u, 1]]
    w[0, 0], w[0, 1], w[0, 2], w[1, 0], w[1, 1], w[1, 2], w[2, 0], w[2, 1], w[2, 2] = a, d, g, b, e, h, c, f, i
    v[0, 0], v[0, 1], v[0, 2], v[1, 0], v[1, 1], v[1, 2], v[2, 0], v[2, 1], v[2, 2] = a, b, c, d, e, f, g, h, i


ZERO = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@parallel
def _add_turned(slot, start, code, turned, support, products, values):  # type: ignore[no-untyped-def]
    """Add the contributions of elements whose law is Hooke's; turned: see TURNED."""
    for u in prange(len(slot)):
        m = ZERO
        for k in range(start[u], start[u + 1]):
            e, a, b = code[k] >> np.uint32(10), (code[k] >> np.uint32(5)) & np.uint32(31), code[k] & np.uint32(31)
            lam, mu = turned[e, 12], turned[e, 13]
            if products.shape[0] <= 4:
                m = _hooke(m, lam, mu, _three(turned, e, a), _three(turned, e, b))
            else:
                p, q = _three(turned, e, support[b, 0]), _three(turned, e, support[b, 1])
                for s in range(2):
                    v, w = products[a, b, s, 0], products[a, b, s, 1]
                    mixed = (v * p[0] + w * q[0], v * p[1] + w * q[1], v * p[2] + w * q[2])
                    m = _hooke(m, lam, mu, _three(turned, e, support[a, s]), mixed)
        _add_both(values, slot, u, m)


@kernel
def _add_blocks(slot, start, code, blocks, corners, scale, values):  # type: ignore[no-untyped-def]
    """Add the contributions of elements that wrote their upper blocks, (elements corners (corners + 1) / 2, 3, 3)."""
    each = corners * (corners + 1) // 2
    for u in range(len(slot)):
        m = ZERO
        for k in range(start[u], start[u + 1]):
            c = np.int64(code[k])
            e, a, b = c >> 10, (c >> 5) & 31, c & 31
            s, low, high = scale[e], min(a, b), max(a, b)
            t = blocks[e * each + low * corners - low * (low - 1) // 2 + high - low]
            if a <= b:
                m = (
                    m[0] + s * t[0, 0], m[1] + s * t[0, 1], m[2] + s * t[0, 2], m[3] + s * t[1, 0], m[4] + s * t[1, 1], m[5] + s * t[1, 2],
                    m[6] + s * t[2, 0], m[7] + s * t[2, 1], m[8] + s * t[2, 2],
                )  # fmt: skip
            else:
                m = (
                    m[0] + s * t[0, 0], m[1] + s * t[1, 0], m[2] + s * t[2, 0], m[3] + s * t[0, 1], m[4] + s * t[1, 1], m[5] + s * t[2, 1],
                    m[6] + s * t[0, 2], m[7] + s * t[1, 2], m[8] + s * t[2, 2],
                )  # fmt: skip
        _add_both(values, slot, u, m)
