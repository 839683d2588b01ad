"""The elastic matrix K_ij = g(d_ij; tau_i^2 + tau_j^2) between Gaussian blobs of force, and its products with forces.

Each node carries a force P [N], spread over its surroundings as a Gaussian of variance tau^2 = (0.5)^2 A / 2 (theory/quasi-rigid 4.1).
The displacement [m] of the blob of node i is u_i = sum_j K_ij P_j. K is symmetric, and positive definite on a plane.

A response is coded as terms (C, 1/b^2, cut-off radius), each
    g = C sqrt(pi/2) exp(-d^2/2S^2) [ b/(s S) I0e(d^2 b^2/(4 s^2 S^2)) - b/S^2 ],  S^2 = s^2 + b^2,  0 beyond the cut-off,
which is Boussinesq's law for 1/b = 0, and tables w(r) of what is added to such a term. w is smooth, so that its mean over a blob is
taken at two radii instead of being integrated, [w(r + s) + w(r - s)]/2 with r^2 = d^2 + s^2 (1 + (pi/2 - 1) s^2/(s^2 + d^2)): right to
second order for d >> s, and exact at d = 0 for w linear in r.

The two special functions have no branches or calls, so that loops over them vectorise:
    I0e(z) = exp(-z) I0(z) = sqrt(y) H(y),  y = 1 / (1 + z),
where H is smooth and lies between H(0) = 1/sqrt(2 pi) and H(1) = 1: short polynomials on equal pieces of y give it to 1e-13. exp(-x) is a
tabulated value times a short polynomial; beyond x = 42, where it is below 1e-18, it stays at that value.

Nodes are an array (4, n) of x, y, z and tau^2, so that the loops over a row vectorise."""

from __future__ import annotations

import math

import numba
import numpy as np
from scipy.special import i0e as exact_i0e

from pliant.base import Floats
from pliant.contact.elastic.response import Response
from pliant.kernels import allowed_threads, contiguous, inline, kernel, parallel, prange

WIDTH = 0.5  # sigma / sqrt(A); wider blobs make the pressure oscillate (theory/quasi-rigid 4.5)
PIECE = 256  # nodes in a piece of a row; fixed, so that threads cannot matter
TILE = 64  # rows that are filled together
HALF_PI_ROOT = math.sqrt(0.5 * math.pi)
PIECES, DEGREE = 64, 6  # of the polynomials of H
FASTEST = 42  # largest x of exp(-x)
FIFTH, SIXTH, SEVENTH = (1.0 / math.factorial(n) for n in (5, 6, 7))  # coefficients of exp
THREADED = 1_000_000  # operations from which threads pay


def blobs(points: Floats, areas: Floats) -> Floats:
    """Nodes (4, n) from points [m], (n, 3), and the areas they stand for [m^2], (n,)."""
    points = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    tau2 = np.broadcast_to(0.5 * WIDTH**2 * np.asarray(areas, dtype=np.float64), (len(points),))
    return contiguous(np.vstack([points.T, tau2]))


def _smooth(y: Floats) -> Floats:
    """H(y); near y = 0 by the asymptotic series of I0, where z does not fit into a float."""
    z = 1.0 / np.maximum(y, 1e-12) - 1.0
    return exact_i0e(z) * np.sqrt(1.0 + z)


def _pieces() -> Floats:
    """Coefficients (PIECES, DEGREE + 1) of H in powers of t in [-1, 1] on each piece, by interpolation at Chebyshev points."""
    t = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    y = (np.arange(PIECES)[:, None] + 0.5 + 0.5 * t) / PIECES
    return np.ascontiguousarray(np.linalg.solve(np.vander(t, increasing=True), _smooth(y).T).T)


H = _pieces()
E = np.exp(-np.arange(8 * FASTEST + 2) / 8.0)


@inline
def smooth_i0e(y):  # type: ignore[no-untyped-def]
    """H(y) for 0 <= y <= 1."""
    x = y * PIECES
    k = np.uint32(min(x, PIECES - 1.0))
    t = 2.0 * (x - k) - 1.0
    low = H[k, 0] + t * H[k, 1]
    high = H[k, 4] + t * (H[k, 5] + t * H[k, 6])
    return low + t * t * (H[k, 2] + t * (H[k, 3] + t * high))


@inline
def decay(x):  # type: ignore[no-untyped-def]
    """exp(-x) for x >= 0, to 1e-14."""
    x = min(x, FASTEST)
    k = np.uint32(8.0 * x + 0.5)
    r = k / 8.0 - x
    r2 = r * r
    low = 1.0 + r + r2 * (0.5 + r * (1.0 / 6.0))
    high = 1.0 / 24.0 + r * FIFTH + r2 * (SIXTH + r * SEVENTH)
    return E[k] * (low + r2 * r2 * high)


@inline
def fill_row(nodes, at, terms, tables, start, stop, out):  # type: ignore[no-untyped-def]
    """K between a blob `at` = (x, y, z, tau^2) and the nodes start..stop, into out[0..stop - start]."""
    for j in range(stop - start):
        out[j] = 0.0
    for t in range(terms.shape[0]):
        add_term(nodes, at, terms[t], start, stop, out)
    for t in range(tables.shape[0]):
        add_table(nodes, at, tables[t], start, stop, out)


@inline
def add_term(nodes, at, term, start, stop, out):  # type: ignore[no-untyped-def]
    """One closed form; with beta = 1/b^2 and m = 1/(s^2 (1 + beta s^2)), so that 1/b = 0 needs no case of its own."""
    x, y, z, tau2 = at
    c, beta, cut2 = term[0] * HALF_PI_ROOT, term[1], term[2] * term[2]
    root = math.sqrt(beta)
    for j in range(stop - start):
        dx, dy, dz = nodes[0, start + j] - x, nodes[1, start + j] - y, nodes[2, start + j] - z
        d2 = dx * dx + dy * dy + dz * dz
        s2 = nodes[3, start + j] + tau2
        m = 1.0 / (s2 * (1.0 + beta * s2))
        v = 1.0 / (1.0 + 0.25 * d2 * m)
        rho = s2 * m
        g = c * decay(0.5 * beta * rho * d2) * (math.sqrt(m * v) * smooth_i0e(v) - rho * root)
        out[j] += g if d2 <= cut2 else 0.0


@inline
def look_up(table, r):  # type: ignore[no-untyped-def]
    """w(r) from a table (step, far, w(-step), w(0), w(step), ...): cubic between its values, far / r beyond them."""
    last = len(table) - 5
    x = r / table[0]
    k = np.uint32(min(x, last - 1.0))
    t = x - k
    a, b, c, d = table[k + 2], table[k + 3], table[k + 4], table[k + 5]
    w = b + 0.5 * t * (c - a + t * (2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a)))
    return w if x <= last else table[1] / r


@inline
def add_table(nodes, at, table, start, stop, out):  # type: ignore[no-untyped-def]
    """The mean of a tabulated w over a blob."""
    x, y, z, tau2 = at
    for j in range(stop - start):
        dx, dy, dz = nodes[0, start + j] - x, nodes[1, start + j] - y, nodes[2, start + j] - z
        d2 = dx * dx + dy * dy + dz * dz
        s2 = nodes[3, start + j] + tau2
        r = math.sqrt(d2 + s2 * (1.0 + (0.5 * math.pi - 1.0) * s2 / (s2 + d2)))
        s = math.sqrt(s2)
        out[j] += 0.5 * (look_up(table, r + s) + look_up(table, r - s))


@inline
def balanced(k, count):  # type: ignore[no-untyped-def]
    """Long and short tasks in turn, for loops whose tasks shrink: threads take equal runs of k."""
    return k // 2 if k % 2 == 0 else count - 1 - k // 2


@inline
def node_at(nodes, i):  # type: ignore[no-untyped-def]
    """(x, y, z, tau^2) of a node."""
    return nodes[0, i], nodes[1, i], nodes[2, i], nodes[3, i]


@kernel
def row_at(nodes, at, terms, tables, start, stop, out):  # type: ignore[no-untyped-def]
    """`fill_row` as a call, because compiling it takes seconds."""
    fill_row(nodes, at, terms, tables, start, stop, out)


@parallel
def _assemble(nodes, terms, tables, out):  # type: ignore[no-untyped-def]
    n = nodes.shape[1]
    tiles = (n + TILE - 1) // TILE
    for k in prange(tiles):
        first = balanced(k, tiles) * TILE
        for i in range(first, min(first + TILE, n)):
            row_at(nodes, node_at(nodes, i), terms, tables, first, n, out[i, first:])
        for start in range(first, n, TILE):
            for i in range(first, min(first + TILE, n)):
                for j in range(start, min(start + TILE, n)):
                    out[j, i] = out[i, j]


@parallel
def _direct(targets, sources, force, terms, tables, scratch, out):  # type: ignore[no-untyped-def]
    m = targets.shape[1]
    for k in prange(scratch.shape[0]):
        start = k * PIECE
        stop = min(start + PIECE, m)
        for j in range(sources.shape[1]):
            if force[j] != 0.0:
                row_at(targets, node_at(sources, j), terms, tables, start, stop, scratch[k])
                for i in range(stop - start):
                    out[start + i] += force[j] * scratch[k, i]


@parallel
def _multiply(matrix, loaded, force, out):  # type: ignore[no-untyped-def]
    """A symmetric matrix times the forces of the loaded nodes, four columns at a time."""
    n, fours = len(out), len(loaded) // 4 * 4
    for k in prange((n + PIECE - 1) // PIECE):
        start, stop = k * PIECE, min((k + 1) * PIECE, n)
        for j in range(0, fours, 4):
            a, b, c, d = loaded[j], loaded[j + 1], loaded[j + 2], loaded[j + 3]
            fa, fb, fc, fd = force[a], force[b], force[c], force[d]
            for i in range(start, stop):
                out[i] += (fa * matrix[a, i] + fb * matrix[b, i]) + (fc * matrix[c, i] + fd * matrix[d, i])
        for j in range(fours, len(loaded)):
            a, fa = loaded[j], force[loaded[j]]
            for i in range(start, stop):
                out[i] += fa * matrix[a, i]


def _threads(operations: float) -> None:
    """All threads where they pay."""
    numba.set_num_threads(1 if operations < THREADED else allowed_threads())


def assemble(nodes: Floats, response: Response, ridge: float = 0.0) -> Floats:
    """The dense symmetric matrix K [m/N], (n, n); its diagonal is raised by the part `ridge` of itself."""
    n = nodes.shape[1]
    out = np.empty((n, n))
    _threads(n * n)
    _assemble(nodes, *response.code, out)
    out[np.diag_indices(n)] *= 1.0 + ridge
    return out


def multiply(matrix: Floats, force: Floats) -> Floats:
    """K P for a dense symmetric K; nodes that carry no force cost nothing."""
    out = np.zeros(len(force))
    loaded = np.flatnonzero(force)
    _threads(0.5 * len(loaded) * len(force))
    _multiply(matrix, loaded, contiguous(force), out)
    return out


def displacement(targets: Floats, sources: Floats, force: Floats, response: Response) -> Floats:
    """What forces [N] on the source blobs displace the target blobs by [m], without a matrix."""
    m = targets.shape[1]
    out = np.zeros(m)
    _threads(float(np.count_nonzero(force)) * m)
    scratch = np.empty(((m + PIECE - 1) // PIECE, PIECE))
    _direct(targets, sources, contiguous(force), *response.code, scratch, out)
    return out
