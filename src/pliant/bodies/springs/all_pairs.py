r"""Springs between every two vertices of a body, without a list of them (Motheram, Tribble; Kenwright, Davison;
theory/springs 3.1).

    e = x_j - x_i,  l = |e|,  L the same at rest:   force on i = k_ij (l - L) e / l = k_ij (1 - sqrt(L^2 / l^2)) e, opposite on j
    k_ij = sqrt(k_i k_j)

The second form has one root and one division per spring and is exactly zero at rest. L is computed anew from rest positions, so memory
grows with the vertices, not with their square. Dashpots and Rayleigh damping are those of `springs`, along every pair.

A bound that holds at rest and in any deformed state: K <= Laplacian of the weights k_ij = diag(w_i W) - w w^T, with w = sqrt(k), W = sum w.
So omega^2 <= max_i w_i W / m_i, which is k n / m exactly (the breathing mode) where k and m are uniform (theory/springs 3.2).

A body is cut into an even number of bands of rows; a job does one band from the top and the one that mirrors it from the bottom, so all
jobs of a body are equally long, and sums in a copy of its own. The cut depends on the body alone: threads change no bit.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.stable_step import stable_step
from pliant.kernels import contiguous, inline, parallel, prange

LANES = 16
# Rows of a block of 16 vertices: place, rest place, w = sqrt(k), sums, velocity. With one base pointer and constant
# rows the compiler sees that loads and stores cannot collide: 5000 vertices take 21 ms so, 35 ms with an array per field.
X, REST, WEIGHT, SUM, V = 0, 3, 6, 7, 10
BLOCK = 13 * LANES
ROWS_PER_JOB, MOST_JOBS = 256, 16
COINCIDENT2 = 1e-24  # [m^2]
ELASTIC, DAMPED, ENERGY, STRETCH = 0, 1, 2, 3  # what a pass over all pairs sums


class AllPairs:
    """One element per vertex: `nodes` (n, 1); body b has the elements start[b] ... start[b + 1] - 1.

    rest (n, 3) [m]; stiffness k_i [N/m], damping of every dashpot [N s/m] and rayleigh [s] are numbers or (n,), the latter two the same
    all over a body. The arrays may be changed in place.
    """

    name = "all-pairs springs"

    def __init__(
        self,
        nodes: Ints,
        start: Ints,
        rest: Floats,
        stiffness: Floats | float,
        damping: Floats | float = 0.0,
        rayleigh: Floats | float = 0.0,
    ) -> None:
        self.nodes: Ints = contiguous(nodes, np.int64).reshape(-1, 1)
        self.start: Ints = contiguous(start, np.int64)
        self.rest: Floats = contiguous(rest).reshape(-1, 3)
        self.spring_stiffness, self.damping, self.rayleigh = (
            np.broadcast_to(np.asarray(a, dtype=np.float64), len(self.nodes)).copy() for a in (stiffness, damping, rayleigh)
        )
        bad = np.flatnonzero(~(self.spring_stiffness > 0))
        if bad.size:
            raise PliantError(f"stiffness of vertex {bad[0]} is {self.spring_stiffness[bad[0]]:g}; it must be positive")
        sizes = np.diff(self.start)
        self.work = int(np.sum(sizes * (sizes - 1)) // 16)
        self._jobs, self._copies = _jobs(self.start)
        self._pack = np.zeros(int(self._copies[-1, 2]))
        self._lanes = np.zeros((len(self._jobs), 3 * LANES))

    @property
    def mass(self) -> Floats:
        """Zero, (n, 1) [kg]."""
        return np.zeros(self.nodes.shape)

    def forces(self, x: Floats, v: Floats, out: Floats) -> None:
        """All spring and damping forces on each vertex into out, (n, 3) [N]."""
        self._pass(x, v, DAMPED if self.damping.any() or self.rayleigh.any() else ELASTIC, out)

    def energy(self, x: Floats) -> Floats:
        """Half of the energy k/2 (l - L)^2 of every spring at a vertex [J], (n,)."""
        return self._measured(x, ENERGY)

    def stretch(self, x: Floats) -> Floats:
        """Mean of length / rest length over the springs at a vertex, (n,)."""
        sizes = np.diff(self.start)
        return self._measured(x, STRETCH) / np.repeat(np.maximum(sizes - 1, 1), sizes)

    def _measured(self, x: Floats, what: int) -> Floats:
        out = np.empty((len(self.nodes), 3))
        self._pass(x, x, what, out)
        return out[:, 0].copy()

    def _pass(self, x: Floats, v: Floats, what: int, out: Floats) -> None:
        over_pairs(
            self._jobs, self.nodes, self.rest, self.spring_stiffness, self.damping, self.rayleigh, x, v, what, self._lanes, self._pack
        )
        add_up(self._copies, self.start, self._pack, out)

    def stiffness(self, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """Refused: the matrix would be full."""
        raise PliantError(
            "all-pairs springs have a full stiffness matrix, which is never formed, so there are no implicit steps and no static "
            "equilibrium: use integrator = \"verlet\" (the default), or network = \"tets\", \"surface\" or \"voxels\"."
        )

    def stable_dt(self, node_mass: Floats) -> Floats:
        """Largest stable explicit step per vertex [s], (n,), from omega^2 <= w_i W / m_i; exact for uniform k and m."""
        w, sizes, mass = np.sqrt(self.spring_stiffness), np.diff(self.start), node_mass[self.nodes[:, 0]]
        owner = np.repeat(np.arange(len(sizes)), sizes)
        omega2 = w * np.bincount(owner, w, minlength=len(sizes))[owner] / mass
        return stable_step(omega2, self.rayleigh * omega2 + self.damping * sizes[owner] / mass)


def _jobs(start: Ints) -> tuple[Ints, Ints]:
    """Jobs as rows (first vertex, vertices, two bands as four row numbers, begin and end of its copy), and copies per body.

    Copies are (copies, floats per copy, end of the last) with the begin of the first in front, (B + 1, 3). Jobs are dealt out
    such that any equal parts of the list, which is how threads take them, cost about the same.
    """
    sizes = np.diff(start)
    count = np.clip(sizes // ROWS_PER_JOB, 1, MOST_JOBS)
    floats = -(-sizes // LANES) * BLOCK
    ends = np.concatenate([[0], np.cumsum(count * floats)])
    body = np.repeat(np.arange(len(sizes)), count)
    number = np.arange(len(body)) - np.repeat(np.cumsum(count) - count, count)
    n, bands = sizes[body], 2 * count[body]
    cuts = [n * k // bands for k in (number, number + 1, bands - number - 1, bands - number)]
    begin = ends[body] + number * floats[body]
    table = np.stack([start[body], n, *cuts, begin, begin + floats[body]], axis=1).astype(np.int64)
    by_cost = np.argsort(-n * n // count[body], kind="stable")
    bits = max(1, (len(body) - 1).bit_length())
    turned = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(len(body))]  # neighbours in cost go to far ends of the list
    copies = np.stack([np.append(count, 0), np.append(floats, 0), ends], axis=1).astype(np.int64)
    return table[by_cost[np.argsort(turned)]], copies


@parallel
def over_pairs(jobs, nodes, rest, stiffness, damping, rayleigh, x, v, what, lanes, pack):  # type: ignore[no-untyped-def]
    """Every pair of vertices of every body once; each job leaves its sums in its copy."""
    for job in prange(len(jobs)):
        first, count = jobs[job, 0], jobs[job, 1]
        mine, s = pack[jobs[job, 6] : jobs[job, 7]], lanes[job]
        for e in range(count):
            at = e // LANES * BLOCK + e % LANES
            for a in range(3):
                mine[at + (X + a) * LANES] = x[nodes[first + e, 0], a]
                mine[at + (REST + a) * LANES] = rest[first + e, a]
                mine[at + (V + a) * LANES] = v[nodes[first + e, 0], a]
                mine[at + (SUM + a) * LANES] = 0.0
            mine[at + WEIGHT * LANES] = math.sqrt(stiffness[first + e])
        for half in range(2):
            low, high = jobs[job, 2 + 2 * half], jobs[job, 3 + 2 * half]
            for j in range(low // LANES * LANES, low):
                mine[j // LANES * BLOCK + j % LANES + WEIGHT * LANES] = 0.0
            for i in range(low, high):
                row(mine, i, what, damping[first], rayleigh[first], s)


@inline
def row(pack, i, what, damping, rayleigh, s):  # type: ignore[no-untyped-def]
    """Pairs of vertex i with all later ones. Weights of earlier ones in its block, and its own from now on, are zero."""
    at, here = i // LANES * BLOCK + i % LANES, i // LANES
    w = pack[at + WEIGHT * LANES]
    pack[at + WEIGHT * LANES] = 0.0
    for l in range(3 * LANES):
        s[l] = 0.0
    for b in range(here, len(pack) // BLOCK):
        block = pack[b * BLOCK : (b + 1) * BLOCK]
        if what == ELASTIC:
            elastic(block, pack, at, w, s)
        elif what == DAMPED:
            damped(block, pack, at, w, damping, rayleigh, s)
        elif what == ENERGY:
            energies(block, pack, at, w, s)
        else:
            stretches(block, pack, at, w, s)
    for a in range(3):
        total = 0.0
        for l in range(LANES):
            total += s[a * LANES + l]
        pack[at + (SUM + a) * LANES] += total


@inline
def apart(block, l, row, x, y, z):  # type: ignore[no-untyped-def]
    """From (x, y, z) to lane l of the block."""
    return block[row * LANES + l] - x, block[(row + 1) * LANES + l] - y, block[(row + 2) * LANES + l] - z


@inline
def both(block, l, s, px, py, pz):  # type: ignore[no-untyped-def]
    """Add to the row's sums and take from those of lane l."""
    block[SUM * LANES + l] -= px
    block[(SUM + 1) * LANES + l] -= py
    block[(SUM + 2) * LANES + l] -= pz
    s[l] += px
    s[LANES + l] += py
    s[2 * LANES + l] += pz


@inline
def elastic(block, pack, at, w, s):  # type: ignore[no-untyped-def]
    """Springs between vertex `at` and a block. Branch free."""
    x, y, z = pack[at], pack[at + LANES], pack[at + 2 * LANES]
    rx, ry, rz = pack[at + REST * LANES], pack[at + (REST + 1) * LANES], pack[at + (REST + 2) * LANES]
    for l in range(LANES):
        dx, dy, dz = apart(block, l, X, x, y, z)
        ex, ey, ez = apart(block, l, REST, rx, ry, rz)
        now, then = dx * dx + dy * dy + dz * dz, ex * ex + ey * ey + ez * ez
        pull = w * block[WEIGHT * LANES + l] * (1.0 - math.sqrt(then / max(now, COINCIDENT2)))
        pull = pull if now > COINCIDENT2 else 0.0
        both(block, l, s, pull * dx, pull * dy, pull * dz)


@inline
def damped(block, pack, at, w, damping, rayleigh, s):  # type: ignore[no-untyped-def]
    """The same with a dashpot along the spring and Rayleigh's b K v, as in `springs`."""
    x, y, z = pack[at], pack[at + LANES], pack[at + 2 * LANES]
    rx, ry, rz = pack[at + REST * LANES], pack[at + (REST + 1) * LANES], pack[at + (REST + 2) * LANES]
    vx, vy, vz = pack[at + V * LANES], pack[at + (V + 1) * LANES], pack[at + (V + 2) * LANES]
    for l in range(LANES):
        dx, dy, dz = apart(block, l, X, x, y, z)
        ex, ey, ez = apart(block, l, REST, rx, ry, rz)
        ux, uy, uz = apart(block, l, V, vx, vy, vz)
        now, then = dx * dx + dy * dy + dz * dz, ex * ex + ey * ey + ez * ez
        near, k = max(now, COINCIDENT2), w * block[WEIGHT * LANES + l]
        slack = 1.0 - math.sqrt(then / near)
        side = rayleigh * k * max(0.0, slack)
        dashpot = damping if k > 0.0 else 0.0
        along = (dashpot + rayleigh * k - side) * (ux * dx + uy * dy + uz * dz) / near
        pull = k * slack + along
        pull, side = (pull, side) if now > COINCIDENT2 else (0.0, 0.0)
        both(block, l, s, pull * dx + side * ux, pull * dy + side * uy, pull * dz + side * uz)


@inline
def energies(block, pack, at, w, s):  # type: ignore[no-untyped-def]
    """Half of each spring's energy to both ends, with (l - L)^2 = (l^2 - L^2)^2 / (l^2 + L^2 + 2 sqrt(l^2 L^2)): one root, no loss."""
    x, y, z = pack[at], pack[at + LANES], pack[at + 2 * LANES]
    rx, ry, rz = pack[at + REST * LANES], pack[at + (REST + 1) * LANES], pack[at + (REST + 2) * LANES]
    for l in range(LANES):
        dx, dy, dz = apart(block, l, X, x, y, z)
        ex, ey, ez = apart(block, l, REST, rx, ry, rz)
        now, then = dx * dx + dy * dy + dz * dz, ex * ex + ey * ey + ez * ez
        sum2 = now + then + 2.0 * math.sqrt(now * then)
        half = 0.25 * w * block[WEIGHT * LANES + l] * (now - then) * (now - then) / max(sum2, COINCIDENT2)
        block[SUM * LANES + l] += half
        s[l] += half


@inline
def stretches(block, pack, at, w, s):  # type: ignore[no-untyped-def]
    """Length over rest length to both ends."""
    x, y, z = pack[at], pack[at + LANES], pack[at + 2 * LANES]
    rx, ry, rz = pack[at + REST * LANES], pack[at + (REST + 1) * LANES], pack[at + (REST + 2) * LANES]
    for l in range(LANES):
        dx, dy, dz = apart(block, l, X, x, y, z)
        ex, ey, ez = apart(block, l, REST, rx, ry, rz)
        now, then = dx * dx + dy * dy + dz * dz, ex * ex + ey * ey + ez * ez
        ratio = math.sqrt(now / max(then, 1e-300)) if w * block[WEIGHT * LANES + l] > 0.0 else 0.0
        block[SUM * LANES + l] += ratio
        s[l] += ratio


@parallel
def add_up(copies, start, pack, out):  # type: ignore[no-untyped-def]
    """Sums of all copies of a body, in their order, to (n, 3)."""
    for body in prange(len(start) - 1):
        for e in range(start[body + 1] - start[body]):
            at = copies[body, 2] + e // LANES * BLOCK + e % LANES + SUM * LANES
            for a in range(3):
                total = 0.0
                for copy in range(copies[body, 0]):
                    total += pack[at + copy * copies[body, 1] + a * LANES]
                out[start[body] + e, a] = total
