r"""The stiffness of phyxels, -df/dx of `forces`: every two phyxels that share a neighbour are coupled (theory/point-bodies 6). `Bonds`
stand for it in less time.

With g_a = w_ia A_i^-1 X_ia (and g_i = -sum_a g_a) the gradient of phyxel i is F = sum_a x_a g_a^T, so its energy gives, for every two
phyxels a, b of its neighbourhood,

    K_ab = v { F (mu (g_a.g_b) 1 + mu g_b g_a^T + lam g_a g_b^T) F^T + (g_a.S g_b) 1 }  +  U'' v^2 / V (cof F g_a) (cof F g_b)^T
           + a { near_a [a = b] - near_a g_b.X_a - near_b g_a.X_b + g_a.B g_b } 1

The last term (hourglass) is exact. S enters without its negative eigenvalues, and pressure of the volume term not at all, so that K is
positive semi-definite; at rest and without stress K is exact. Blocks with i itself follow from sum_b K_ab = 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.matrix3 import cofactor, combined, determinant, product, projected, transposed
from pliant.bodies.points.strain import add_outer, gradient, green, hooke, load9, times
from pliant.bodies.springs.elements import tangent_blocks
from pliant.kernels import dot, inline, kernel, load, scale, sub

if TYPE_CHECKING:
    from pliant.bodies.points.elements import Points


class Tangent:
    """Pairs of phyxels of some bodies of a group that share a neighbour, each once, and the blocks between them."""

    def __init__(self, points: Points, chosen: np.ndarray) -> None:
        from scipy.sparse import csr_array  # start-up

        around, count = points.around, len(points.nodes)
        graph = csr_array((np.ones(len(around.other), np.int32), around.other, around.start), shape=(count, count))
        graph.setdiag(1)
        both = (graph @ graph).tocoo()
        mine = (both.row < both.col) & chosen[both.row]
        order = np.lexsort((both.col[mine], both.row[mine]))
        self.a, self.b = both.row[mine][order].astype(np.int64), both.col[mine][order].astype(np.int64)
        self.start: Ints = np.searchsorted(self.a, np.arange(count + 1))
        self.nodes: Ints = np.ascontiguousarray(np.stack([points.nodes[self.a, 0], points.nodes[self.b, 0]], axis=1))
        self.chosen = chosen

    def stiffness(self, points: Points, x: Floats, out: Floats) -> None:
        """Blocks (a, a), (a, b), (b, b) of every pair, (P, 3, 3, 3) [N/m]; those of one phyxel add up to its diagonal block."""
        most = int(np.diff(points.around.start).max(initial=0)) + 1
        out[:] = 0.0
        _assemble(points.seen, points.matter, x, self.chosen, self.start, self.b, np.empty((most, 3)), np.empty((most, 9)), out)
        out[:, 0], out[:, 2] = -out[:, 1], -np.swapaxes(out[:, 1], 1, 2)


@kernel
def _assemble(seen, matter, x, chosen, pair_start, pair_other, g, own, out):  # type: ignore[no-untyped-def]
    """Add what every phyxel's energy couples to the blocks (a, b), a < b, of `out`."""
    start, other, weight, near, inverse, spread, projector, nodes, rest = seen
    volume, whole, lam, mu, bulk, crush, stiff, plastic = matter
    for i in range(len(nodes)):
        if not chosen[i]:
            continue
        f, t = gradient(seen, x, i), load9(projector, i)
        s = hooke(combined(1.0, green(f, t), -1.0, load9(plastic, i)), lam[i], mu[i], t)
        p = projected((s[0], s[4], s[8], s[1], s[2], s[5]))
        s = (p[0], p[3], p[4], p[3], p[1], p[5], p[4], p[5], p[2])
        inv, B, Xi, first, count = load9(inverse, i), load9(spread, i), load(rest, i), start[i], start[i + 1] - start[i]
        for k in range(count):
            d = times(inv, scale(weight[first + k], sub(load(rest, other[first + k]), Xi)))
            g[k, 0], g[k, 1], g[k, 2] = d
            for c in range(9):
                own[k, c] = 0.0
        cof, low = cofactor(f), min(determinant(f) * volume[i] / whole[i] - 1.0, 0.0)
        push = (bulk[i] - 2.0 * crush[i] * low) * volume[i] * volume[i] / whole[i]
        for k in range(count):
            a, ga = other[first + k], load(g, k)
            Fa, Sa, Ba, Ca, Xa = times(f, ga), times(s, ga), times(B, ga), times(cof, ga), sub(load(rest, a), Xi)
            slot = pair_start[a]
            for m in range(k, count):
                b, gb = other[first + m], load(g, m)
                even = volume[i] * dot(Sa, gb) + stiff[i] * (
                    dot(Ba, gb) - near[first + k] * dot(gb, Xa) - near[first + m] * dot(ga, sub(load(rest, b), Xi))
                )
                if m == k:
                    even += stiff[i] * near[first + k]
                block = _block(f, ga, gb, Fa, volume[i] * lam[i], volume[i] * mu[i], even)
                if push > 0.0:
                    block = add_outer(block, push, Ca, times(cof, gb))
                for c in range(9):
                    own[k, c] += block[c]
                if m == k:
                    continue
                back = transposed(block)
                for c in range(9):
                    own[m, c] += back[c]
                while pair_other[slot] != b:
                    slot += 1
                _add(out, slot, block, 1.0)
        for k in range(count):  # blocks with i itself
            a, block = other[first + k], load9(own, k)
            slot = pair_start[min(a, i)]
            while pair_other[slot] != max(a, i):
                slot += 1
            _add(out, slot, block if a < i else transposed(block), -1.0)


@inline
def _block(f, ga, gb, Fa, lam, mu, even):  # type: ignore[no-untyped-def]
    """F (mu (g_a.g_b) 1 + mu g_b g_a^T + lam g_a g_b^T) F^T + even 1."""
    Fb = times(f, gb)
    m = combined(mu * dot(ga, gb), product(f, transposed(f)), 0.0, f)
    m = add_outer(add_outer(m, mu, Fb, Fa), lam, Fa, Fb)
    return m[0] + even, m[1], m[2], m[3], m[4] + even, m[5], m[6], m[7], m[8] + even


@inline
def _add(out, slot, block, sign):  # type: ignore[no-untyped-def]
    for r in range(3):
        for c in range(3):
            out[slot, 1, r, c] += sign * block[3 * r + c]


class Bonds:
    r"""The pairs of neighbours of some bodies of a group of phyxels, each once: what an implicit step knows of their stiffness.

    `Tangent` couples every two phyxels that share a neighbour, several hundred each. Here each pair of neighbours
    is a bond along its present direction u, K = k_ij u u^T, with

        k_ij = w_ij (k_i + k_j),   k_i = 5 G v_i |A_i^-1|,   3 G = lam + 2 mu + k_v,

    which for an even neighbourhood is an isotropic solid with lam = mu = G, as fast as the body for waves of compression; where a
    neighbourhood is lopsided the largest eigenvalue of A^-1 makes it stiffer than it is. Implicit steps of any length are stable if the
    exact stiffness is at most twice this one; lattices of 24 to 125 phyxels have at most 1.55 (and 0.05 at least, 0.2 in the mean:
    motions that a step does not resolve are slower than they should be). Forces stay exact, so what is at rest is at rest in the right
    place, and the error is of the order of the step, as that of implicit Euler is. Rigid motions feel nothing.
    """

    def __init__(self, points: Points, chosen: np.ndarray) -> None:
        around = points.around
        own = np.repeat(np.arange(len(points.nodes)), np.diff(around.start))
        self.slot: Ints = np.flatnonzero((own < around.other) & chosen[own])
        self.a, self.b = own[self.slot], around.other[self.slot]
        self.nodes: Ints = np.ascontiguousarray(np.stack([points.nodes[self.a, 0], points.nodes[self.b, 0]], axis=1))
        self.weight = around.weight[self.slot]
        self.size = np.linalg.eigvalsh(around.inverse.reshape(-1, 3, 3))[:, 2]

    def stiffness(self, points: Points, x: Floats, out: Floats) -> None:
        """Blocks (i, i), (i, j), (j, j) of every bond, (P, 3, 3, 3) [N/m]."""
        lam, bulk, _ = points.moduli
        modulus = (lam + 2.0 * points.mu + bulk) / 3.0
        own = 5.0 * modulus * points.volume * self.size
        along = self.weight * (own[self.a] + own[self.b])
        tangent_blocks(self.nodes, np.full(len(along), np.inf), along, np.zeros(len(along)), x, out)
