"""What linear and quadratic tetrahedra have in common: all but their shape functions.

The gradient of an element in an evaluation point is that of a linear tet whose corners are weighted sums of control
points (see `tet_blocks`): `weights` and `controls` of a subclass say which. Built-in laws run in compiled kernels,
any other law in NumPy over the same points (`pointwise`).

Damping is -b K v with K the *projected* tangent, the very matrix that `stiffness` writes, so it never adds energy
and explicit and implicit schemes agree. Material arrays may be changed in place; nothing is derived from them ahead of
time.
"""

from __future__ import annotations

from typing import ClassVar

import numba
import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies import pointwise, tet_stiffness
from pliant.bodies.lanes import COROTATED, LANES, LINEAR, ROWS
from pliant.bodies.laws.corotated import proper_rotation
from pliant.bodies.materials import find_law
from pliant.bodies.stable import frequency_bound, stable_step
from pliant.bodies.tet_hooke import evaluate_hooke
from pliant.bodies.tet_hyperelastic import evaluate_hyperelastic
from pliant.kernels import contiguous

NOTHING = np.empty(0)
NO_FORCES = np.empty((0, 3))


class Tets:
    """Tetrahedra of one kind and one law; every array is per element and may be changed in place.

    nodes (E, c) world node numbers; rest [m]: positions of all nodes (n, 3) or of every corner (E, c, 3);
    lam, mu [Pa], density [kg/m^3], rayleigh [s]: numbers or (E,).
    """

    kind: ClassVar[str]
    corners: ClassVar[int]
    weights: ClassVar[Floats]  # (points + centroid, 4); (1, 4) for linear tets
    controls: ClassVar[Ints]  # (4, 4) control point of the corner m and the coordinate k
    watched: ClassVar[Floats]  # weights of the points where `stretch` looks

    def __init__(
        self,
        nodes: Ints,
        rest: Floats,
        lam: Floats | float,
        mu: Floats | float,
        density: Floats | float,
        rayleigh: Floats | float = 0.0,
        law: str = "corotated",
    ) -> None:
        self.nodes: Ints = contiguous(nodes, np.int64).reshape(-1, self.corners)
        self.law = find_law(law)
        self.name = f"{self.kind} {law}"
        count = len(self.nodes)
        self.lam, self.mu, self.density, self.rayleigh = (
            np.broadcast_to(np.asarray(a, dtype=np.float64), count).copy() for a in (lam, mu, density, rayleigh)
        )
        rest = np.asarray(rest, dtype=np.float64)
        corners = rest if rest.ndim == 3 else rest[self.nodes]
        self._check_rest(corners)
        edges = np.swapaxes(corners[:, 1:4] - corners[:, :1], 1, 2)
        self.volume: Floats = np.linalg.det(edges) / 6.0  # [m^3]
        flat = np.flatnonzero(~(self.volume > 0.0))
        if flat.size:
            raise PliantError(
                f"{flat.size} of {count} tetrahedra have no positive rest volume (first: {flat[:5].tolist()}); "
                "they cannot be strained; remove flat ones, and swap two corners of inverted ones"
            )
        self.inverse: Floats = contiguous(np.linalg.inv(edges).reshape(-1, 9).T)  # [1/m], (9, E)
        code = getattr(self.law, "code", None)
        self._code: int | None = code  # None: no compiled kernel
        chunks = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        self._scratch = np.empty((chunks, ROWS * LANES))
        self._small = np.empty((chunks, 4, 4, 3, 3))

    def _check_rest(self, corners: Floats) -> None:
        """Raise if the rest shape is one that this kind of element cannot have."""

    @property
    def work(self) -> int:
        return len(self.nodes)

    @property
    def mass(self) -> Floats:
        """Lumped mass per corner [kg], (E, c): the same for every corner."""
        share = self.density * self.volume / self.corners
        return np.repeat(share[:, None], self.corners, axis=1)

    def forces(self, x: Floats, v: Floats, out: Floats) -> None:
        """Elastic forces plus damping -b K v into out, (E c, 3) [N]."""
        rate = bool(self.rayleigh.any())
        if self._code is None:
            out[:] = pointwise.forces(self, x, v if rate else None)
        else:
            self._evaluate(x, v if rate else x, rate, out, NOTHING)

    def energy(self, x: Floats) -> Floats:
        """Elastic energy [J], (E,)."""
        if self._code is None:
            return pointwise.energy(self, x)
        out = np.empty(len(self.nodes))
        self._evaluate(x, x, False, NO_FORCES, out)
        return out

    def _evaluate(self, x: Floats, v: Floats, rate: bool, out: Floats, energy: Floats) -> None:
        tets = (
            self.nodes, self.inverse, self.volume, self.lam, self.mu, self.rayleigh, self.weights, self.controls
        )  # fmt: skip
        evaluate = evaluate_hooke if self._code in (LINEAR, COROTATED) else evaluate_hyperelastic
        evaluate(self._code, tets, x, v, rate, out, energy, self._scratch)

    def stiffness(self, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """Upper blocks of the tangent -df/dx, made positive semi-definite, (E, c (c + 1) / 2, 3, 3) [N/m]."""
        if self._code is None:
            for part in pointwise.batches(len(self.nodes)):
                pointwise.stiffness(self, x, part, out[part])
        else:
            self._stiffness(self._code, x, slice(None), out)

    def _stiffness(self, code: int, x: Floats, part: slice, out: Floats) -> None:
        tet_stiffness.stiffness(
            code, self.nodes[part], contiguous(self.inverse[:, part]), self.volume[part], self.lam[part], self.mu[part],
            self.weights, self.controls, x, out, self._small,
        )  # fmt: skip

    def _rest_stiffness(self, x: Floats, part: slice) -> Floats:
        """Stiffness at rest of some elements; that of every built-in law is the linear one, for any x."""
        out = np.empty((len(self.nodes[part]), self.corners * (self.corners + 1) // 2, 3, 3))
        if self._code is None:
            pointwise.stiffness(self, None, part, out)
        else:
            self._stiffness(LINEAR, x, part, out)
        return out

    def stretch(self, x: Floats) -> Floats:
        """Smallest det F of each element, (E,): 1 at rest, <= 0 inverted."""
        out = np.empty(len(self.nodes))
        tet_stiffness.least_stretch(self.nodes, self.inverse, self.watched, self.controls, x, out)
        return out

    def stress(self, x: Floats) -> Floats:
        """Cauchy stress P F^T / det F, mean over the points, (E, 3, 3) [Pa]; `linear`: the small-strain stress."""
        F = pointwise.gradients(self, x)
        points = F.shape[1]
        lam, mu = np.repeat(self.lam, points), np.repeat(self.mu, points)
        flat = F.reshape(-1, 3, 3)
        if self._code == COROTATED:  # one rotation per element, from its centroid
            R = np.repeat(proper_rotation(F.mean(axis=1)), points, axis=0)
            P = R @ find_law("linear").stress(np.swapaxes(R, 1, 2) @ flat, lam, mu)
        else:
            P = self.law.stress(flat, lam, mu)
        if self._code != LINEAR:
            J = np.linalg.det(flat)
            J = np.where(np.abs(J) < 1e-9, 1e-9, J)  # a flattened element: large, but a number that can be drawn
            P = P @ np.swapaxes(flat, 1, 2) / J[:, None, None]
        sigma = P.reshape(F.shape).mean(axis=1)
        return 0.5 * (sigma + np.swapaxes(sigma, 1, 2))

    def stable_dt(self, node_mass: Floats) -> Floats:
        """Largest stable explicit step per element at rest, damping included [s], (E,); see `stable`.

        A node's mass is shared among its elements in proportion to the masses they brought.
        """
        own = self.mass
        total = np.bincount(self.nodes.ravel(), own.ravel(), minlength=len(node_mass))
        share = own * (node_mass / np.where(total > 0.0, total, 1.0))[self.nodes]
        somewhere = np.zeros((len(node_mass), 3))
        omega2 = np.empty(len(self.nodes))
        for part in pointwise.batches(len(self.nodes)):
            omega2[part] = frequency_bound(self._rest_stiffness(somewhere, part), share[part])
        return stable_step(omega2, self.rayleigh * omega2)
