"""Kernels of far_field.py: adaptive cross approximation of a block, and products with near and far blocks."""

from __future__ import annotations

import numpy as np

from pliant.contact.quasi_rigid.galerkin import fill_row
from pliant.kernels import inline, kernel, parallel, prange

RANK = 40  # highest rank of a block
LOOKS = 3  # rows one after another that add nothing, after which a block is known


@kernel
def row_of(nodes, i, terms, tables, start, stop, out):  # type: ignore[no-untyped-def]
    """K between node i and the nodes start..stop; a call of its own, because compiling it takes seconds."""
    fill_row(nodes, (nodes[0, i], nodes[1, i], nodes[2, i], nodes[3, i]), terms, tables, start, stop, out)


@inline
def inner(a, b):  # type: ignore[no-untyped-def]
    """a . b in four running sums, which keeps the arithmetic units busy and the order fixed."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    n = len(b) // 4 * 4
    for j in range(0, n, 4):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
    for j in range(n, len(b)):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


@inline
def axpy_row(c, row, out):  # type: ignore[no-untyped-def]
    for j in range(len(out)):
        out[j] += c * row[j]


@inline
def largest(row, done):  # type: ignore[no-untyped-def]
    """Place of the entry of largest size that is not done, -1 if all are."""
    place, size = -1, -1.0
    for j in range(len(row)):
        if not done[j] and abs(row[j]) > size:
            place, size = j, abs(row[j])
    return place


@inline
def nearest_row(nodes, a, b):  # type: ignore[no-untyped-def]
    """Row of block (a, b) whose node is nearest to the middle of the columns.

    A response that is over within the block would end the search at once in a row that it does not reach.
    """
    x, y, z = np.mean(nodes[0, b[0] : b[1]]), np.mean(nodes[1, b[0] : b[1]]), np.mean(nodes[2, b[0] : b[1]])
    place, least = 0, np.inf
    for i in range(a[0], a[1]):
        d2 = (nodes[0, i] - x) ** 2 + (nodes[1, i] - y) ** 2 + (nodes[2, i] - z) ** 2
        if d2 < least:
            place, least = i - a[0], d2
    return place


@inline
def mark_here(nodes, first, row, count, done):  # type: ignore[no-untyped-def]
    """A row is done, and with it those of nodes at nearly its place: nothing is left of them, whatever is left elsewhere."""
    here = first + row
    for i in range(count):
        at = first + i
        d2 = (nodes[0, at] - nodes[0, here]) ** 2 + (nodes[1, at] - nodes[1, here]) ** 2 + (nodes[2, at] - nodes[2, here]) ** 2
        if d2 <= 0.1 * nodes[3, here]:
            done[i] = True


@inline
def another_row(done, count, tried):  # type: ignore[no-untyped-def]
    """A row that is not done, elsewhere in the block each time; -1 if all are."""
    start = int(0.382 * count * tried) % count
    for i in range(count):
        if not done[(start + i) % count]:
            return (start + i) % count
    return -1


@kernel
def cross(nodes, terms, tables, a, b, floor, tolerance, u, v, done):  # type: ignore[no-untyped-def]
    """Rank of block (a, b), ranges of nodes; its factors go to u, (RANK, na), and v, (RANK, nb).

    It is known when what was added is small and other rows agree.
    """
    na, nb = a[1] - a[0], b[1] - b[0]
    done[:] = False
    row, norm2, k, small = nearest_row(nodes, a, b), 0.0, 0, 0
    while k < RANK and row >= 0 and small < LOOKS:
        row_of(nodes, a[0] + row, terms, tables, b[0], b[1], v[k])
        for l in range(k):
            axpy_row(-u[l, row], v[l], v[k])
        mark_here(nodes, a[0], row, na, done)
        column = largest(v[k], done[na:])
        if column < 0:
            return k
        pivot, enough = v[k, column], tolerance * max(np.sqrt(max(norm2, 0.0) / (na * nb)), floor)
        if abs(pivot) <= 2.0 * enough:
            small += 1
            row = another_row(done, na, small)
            continue
        done[na + column] = True
        for j in range(nb):
            v[k, j] /= pivot
        row_of(nodes, b[0] + column, terms, tables, a[0], a[1], u[k])
        for l in range(k):
            axpy_row(-v[l, column], u[l], u[k])
        size2 = inner(u[k], u[k]) * inner(v[k], v[k])
        norm2 += size2
        for l in range(k):
            norm2 += 2.0 * inner(u[k], u[l]) * inner(v[k], v[l])
        k += 1
        small = small + 1 if size2 <= enough * enough * na * nb else 0
        row = largest(u[k - 1], done[:na]) if small == 0 else another_row(done, na, small)
    return k


@parallel
def compress(nodes, terms, tables, sides, place, floor, tolerance, scratch, done, rank):  # type: ignore[no-untyped-def]
    for k in prange(len(rank)):
        na, nb = sides[k, 1] - sides[k, 0], sides[k, 3] - sides[k, 2]
        u = scratch[place[k] : place[k] + RANK * na].reshape((RANK, na))
        v = scratch[place[k] + RANK * na : place[k] + RANK * (na + nb)].reshape((RANK, nb))
        mark = done[place[k] // RANK : place[k] // RANK + na + nb]
        rank[k] = cross(nodes, terms, tables, (sides[k, 0], sides[k, 1]), (sides[k, 2], sides[k, 3]), floor, tolerance, u, v, mark)


@kernel
def pack(sides, place, rank, scratch, at, out):  # type: ignore[no-untyped-def]
    """Keep the ranks that were found, u then v, in single precision."""
    for k in range(len(rank)):
        na, nb = sides[k, 1] - sides[k, 0], sides[k, 3] - sides[k, 2]
        for j in range(rank[k] * na):
            out[at[k] + j] = scratch[place[k] + j]
        for j in range(rank[k] * nb):
            out[at[k] + rank[k] * na + j] = scratch[place[k] + RANK * na + j]


@parallel
def fill_near(nodes, terms, tables, sides, at, out):  # type: ignore[no-untyped-def]
    for k in prange(len(sides)):
        nb = sides[k, 3] - sides[k, 2]
        row = np.empty(nb)
        for i in range(sides[k, 1] - sides[k, 0]):
            row_of(nodes, sides[k, 0] + i, terms, tables, sides[k, 2], sides[k, 3], row)
            out[at[k] + i * nb : at[k] + (i + 1) * nb] = row


@kernel
def near_product(sides, block, x, ya, yb):  # type: ignore[no-untyped-def]
    """ya = B x_b and yb = B^T x_a; a block on the diagonal is symmetric and counts once."""
    xa, xb = x[sides[0] : sides[1]], x[sides[2] : sides[3]]
    nb = len(xb)
    ya[:] = 0.0
    yb[:] = 0.0
    for i in range(len(xa)):
        row = block[i * nb : (i + 1) * nb]
        axpy_row(xa[i], row, yb)
        if sides[0] != sides[2]:
            ya[i] = inner(row, xb)


@kernel
def far_product(sides, rank, block, x, ya, yb):  # type: ignore[no-untyped-def]
    """ya = U V^T x_b and yb = V U^T x_a."""
    xa, xb = x[sides[0] : sides[1]], x[sides[2] : sides[3]]
    na, nb = len(xa), len(xb)
    ya[:] = 0.0
    yb[:] = 0.0
    for k in range(rank):
        u = block[k * na : (k + 1) * na]
        v = block[rank * na + k * nb : rank * na + (k + 1) * nb]
        axpy_row(inner(v, xb), u, ya)
        axpy_row(inner(u, xa), v, yb)


@parallel
def apply(near, near_at, near_sides, far, far_at, far_sides, rank, x, mine, leaves, first, parts, buffer, out):  # type: ignore[no-untyped-def]
    """K x: every block writes to its own place of the buffer, and every leaf adds up its parts in a fixed order."""
    blocks = len(near_sides)
    for k in prange(blocks + len(far_sides)):
        at = mine[k]
        if k < blocks:
            sides = near_sides[k]
            middle, end = at + sides[1] - sides[0], at + sides[1] - sides[0] + sides[3] - sides[2]
            near_product(sides, near[near_at[k] : near_at[k + 1]], x, buffer[at:middle], buffer[middle:end])
        else:
            sides = far_sides[k - blocks]
            middle, end = at + sides[1] - sides[0], at + sides[1] - sides[0] + sides[3] - sides[2]
            block = far[far_at[k - blocks] : far_at[k - blocks + 1]]
            far_product(sides, rank[k - blocks], block, x, buffer[at:middle], buffer[middle:end])
    for k in prange(len(leaves)):
        total = out[leaves[k, 0] : leaves[k, 1]]
        total[:] = 0.0
        for p in range(first[k], first[k + 1]):
            axpy_row(1.0, buffer[parts[p] : parts[p] + len(total)], total)
