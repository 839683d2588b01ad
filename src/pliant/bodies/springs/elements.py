r"""Springs between pairs of nodes, with a dashpot along the spring, and the networks they are made of (theory/springs 3.4).

    e = x_j - x_i,  l = |e|,  u = e / l:   force on i = (k (l - L) + c u.(v_j - v_i)) u + b K (v_j - v_i), opposite on j
    K = k (u u^T + max(0, 1 - L / l) (1 - u u^T))

K is the tangent without its geometric part when compressed, which would be negative (Choi, Ko 2002). Nodes that
coincide have no direction: no force, and K = 0. Springs carry no mass; the world gives it to their nodes.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.stable_step import stable_step
from pliant.geometry.mesh import TET_EDGES
from pliant.kernels import axpy, contiguous, dot, load, norm, parallel, prange, scale, store, sub

COINCIDENT = 1e-12  # [m]


class Springs:
    """S springs; nodes (S, 2), rest_length [m], stiffness [N/m], damping [N s/m], rayleigh [s]: numbers or (S,).

    The arrays may be changed in place.
    """

    name = "springs"

    def __init__(
        self,
        nodes: Ints,
        rest_length: Floats | float,
        stiffness: Floats | float,
        damping: Floats | float = 0.0,
        rayleigh: Floats | float = 0.0,
    ) -> None:
        self.nodes: Ints = contiguous(nodes, np.int64).reshape(-1, 2)
        self.rest_length, self.spring_stiffness, self.damping, self.rayleigh = (
            np.broadcast_to(np.asarray(a, dtype=np.float64), len(self.nodes)).copy()
            for a in (rest_length, stiffness, damping, rayleigh)
        )
        for what, values, least in (
            ("rest_length", self.rest_length, 0.0),
            ("stiffness", self.spring_stiffness, np.nextafter(0.0, 1.0)),
            ("damping", self.damping, 0.0),
            ("rayleigh", self.rayleigh, 0.0),
        ):
            bad = np.flatnonzero(~(values >= least))
            if bad.size:
                raise PliantError(
                    f"{what} of spring {bad[0]} is {values[bad[0]]:g} ({bad.size} such springs); "
                    f"it must {'not be negative' if least == 0.0 else 'be positive'}"
                )

    @property
    def work(self) -> int:
        return len(self.nodes)

    @property
    def mass(self) -> Floats:
        """Zero, (S, 2) [kg]."""
        return np.zeros(self.nodes.shape)

    def forces(self, x: Floats, v: Floats, out: Floats) -> None:
        """Spring and damping forces into out, (2 S, 3) [N]."""
        spring_forces(self.nodes, self.rest_length, self.spring_stiffness, self.damping, self.rayleigh, x, v, out)

    def lengths(self, x: Floats) -> Floats:
        """Present length of every spring [m], (S,)."""
        return np.linalg.norm(x[self.nodes[:, 1]] - x[self.nodes[:, 0]], axis=1)

    def energy(self, x: Floats) -> Floats:
        """k/2 (l - L)^2 [J], (S,)."""
        return 0.5 * self.spring_stiffness * (self.lengths(x) - self.rest_length) ** 2

    def stiffness(self, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """Blocks (i, i), (i, j), (j, j) of the projected tangent, (S, 3, 3, 3) [N/m], with dashpots c as c / (b + dt)."""
        self.stiffness_of(slice(0, len(self.nodes)), x, out, dt)

    def stiffness_of(self, part: slice, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """The same of some springs only."""
        dashpot = self.damping[part] / (self.rayleigh[part] + dt)
        tangent_blocks(self.nodes[part], self.rest_length[part], self.spring_stiffness[part], dashpot, x, out)

    def stable_dt(self, node_mass: Floats) -> Floats:
        """Largest stable explicit step per spring [s], (S,).

        A node's mass is shared among its springs in proportion to their stiffness; then omega^2 = s_i + s_j with s the
        sum of the stiffness at a node over its mass.
        """
        k = self.spring_stiffness
        total = np.bincount(self.nodes.ravel(), np.repeat(k, 2), minlength=len(node_mass))
        omega2 = (total / node_mass)[self.nodes].sum(axis=1)
        return stable_step(omega2, (self.rayleigh + self.damping / k) * omega2)

    def stretch(self, x: Floats) -> Floats:
        """Length over rest length, (S,)."""
        return self.lengths(x) / np.maximum(self.rest_length, COINCIDENT)


@parallel
def spring_forces(nodes, rest, stiffness, damping, rayleigh, x, v, out):  # type: ignore[no-untyped-def]
    for s in prange(nodes.shape[0]):
        i, j = nodes[s, 0], nodes[s, 1]
        e = sub(load(x, j), load(x, i))
        length = norm(e)
        f = (0.0, 0.0, 0.0)
        if length > COINCIDENT:
            u = scale(1.0 / length, e)
            rate = sub(load(v, j), load(v, i))
            along = dot(u, rate)
            side = rayleigh[s] * stiffness[s] * max(0.0, 1.0 - rest[s] / length)
            pull = stiffness[s] * (length - rest[s]) + (damping[s] + rayleigh[s] * stiffness[s] - side) * along
            f = axpy(pull, u, scale(side, rate))
        store(out, 2 * s, f)
        store(out, 2 * s + 1, scale(-1.0, f))


@parallel
def tangent_blocks(nodes, rest, stiffness, dashpot, x, out):  # type: ignore[no-untyped-def]
    for s in prange(nodes.shape[0]):
        e = sub(load(x, nodes[s, 1]), load(x, nodes[s, 0]))
        length = norm(e)
        along, side = 0.0, 0.0
        if length > COINCIDENT:
            along = (stiffness[s] + dashpot[s]) / (length * length)
            side = stiffness[s] * max(0.0, 1.0 - rest[s] / length)
        for i in range(3):
            for j in range(3):
                k = (along - side / (length * length)) * e[i] * e[j] if along > 0.0 else 0.0
                if i == j:
                    k += side
                out[s, 0, i, j] = k
                out[s, 1, i, j] = -k
                out[s, 2, i, j] = k


def _unique(pairs: Ints) -> Ints:
    return np.unique(np.sort(pairs.reshape(-1, 2), axis=1), axis=0)


def surface_edges(faces: Ints) -> Ints:
    """The edges of triangles (m, 3), each once, (S, 2)."""
    return _unique(np.asarray(faces, dtype=np.int64)[:, [[0, 1], [1, 2], [2, 0]]])


def tet_edges(tets: Ints) -> Ints:
    """The edges of tetrahedra (m, 4), each once, (S, 2)."""
    return _unique(np.asarray(tets, dtype=np.int64)[:, TET_EDGES])


def cell_pairs(cells: Ints) -> Ints:
    """Every two of the eight corners of cells (m, 8), each pair once, (S, 2): a lattice with up to 26 springs at a point."""
    return _unique(np.asarray(cells, dtype=np.int64)[:, np.stack(np.triu_indices(8, 1), axis=1)])


def bending_pairs(faces: Ints) -> Ints:
    """The two vertices opposite to every edge that two triangles share, (S, 2): springs there resist bending."""
    faces = np.asarray(faces, dtype=np.int64)
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    opposite = faces[:, [2, 0, 1]].ravel()
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    edges, opposite = edges[order], opposite[order]
    twin = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1))
    pairs = np.stack([opposite[twin], opposite[twin + 1]], axis=1)
    return _unique(pairs[pairs[:, 0] != pairs[:, 1]])


def vertex_damping(drag: Floats, mass: Floats, elastic: Floats) -> Floats:
    """Damping of each node [1/s], adaptive if wanted (theory/springs 3.3): c / m min(|F| / f, cap), F the elastic force on it [N], (n, 3);
    c / m where f is zero.

    drag (n, 3): c [N s/m], f [N], cap of each node.
    """
    c, reference, cap = drag.T
    size = np.sqrt(np.einsum("ni,ni->n", elastic, elastic))
    factor = np.divide(size, reference, out=np.ones_like(size), where=reference > 0.0)
    return c / mass * np.where(reference > 0.0, np.minimum(factor, cap), 1.0)
