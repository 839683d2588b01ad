"""What linear and quadratic tetrahedra have in common: all but their shape functions.

The gradient of an element in an evaluation point is that of a linear tet whose corners are weighted sums of control
points (see `blocks`): `weights` and `controls` of a subclass say which. Built-in laws run in compiled kernels,
any other law in NumPy over the same points (`any_law`).

Damping is -b K v with K the *projected* tangent, the very matrix that `stiffness` writes, so it never adds energy
and explicit and implicit schemes agree. Material arrays may be changed in place; nothing is derived from them ahead of
time.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numba
import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.fem import any_law, stiffness
from pliant.bodies.fem.blocks import COROTATED, LANES, LINEAR, ROWS
from pliant.bodies.fem.forces import evaluate_hooke, evaluate_hyperelastic
from pliant.bodies.fem.laws.corotated import proper_rotation
from pliant.bodies.fem.materials import find_law
from pliant.bodies.stable_step import frequency_bound, stable_step
from pliant.geometry.mesh import TET_EDGES
from pliant.kernels import contiguous

NOTHING = np.empty(0)
NO_FORCES = np.empty((0, 3))
NO_GRADIENTS = np.empty((0, 14))


class Tets:
    """Tetrahedra of one kind and one law; every array is per element and may be changed in place.

    nodes (E, c) world node numbers; rest [m]: positions of all nodes (n, 3) or of every corner (E, c, 3);
    lam, mu [Pa], density [kg/m^3], rayleigh [s]: numbers or (E,). Of an element that a surface cuts, `filled` is the part that is inside,
    and `share` (E, 4) the mass of its corners over that of the whole element.
    """

    kind: ClassVar[str]
    corners: ClassVar[int]
    weights: ClassVar[Floats]  # (points + centroid, 4); (1, 4) for linear tets
    controls: ClassVar[Ints]  # (4, 4) control point of the corner m and the coordinate k
    watched: ClassVar[Floats]  # weights of the points where `stretch` looks
    support: ClassVar[Ints]  # (c, 2) the gradients g_m behind the gradient of each shape function
    products: ClassVar[Floats]  # (c, c, 2, 2) mean over the points of the products of what they are multiplied with

    def __init__(
        self,
        nodes: Ints,
        rest: Floats,
        lam: Floats | float,
        mu: Floats | float,
        density: Floats | float,
        rayleigh: Floats | float = 0.0,
        law: str = "corotated",
        filled: Floats | float = 1.0,
        share: Floats | None = None,
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
        self.whole: Floats = np.linalg.det(edges) / 6.0  # [m^3] at rest
        self.volume: Floats = self.whole * filled  # [m^3] of it that is there
        self._share = share
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

    def some(self, which: np.ndarray) -> Tets:
        """Some of the elements, (E,) bool, as they are now."""
        out = copy(self)
        for name in ("nodes", "lam", "mu", "density", "rayleigh", "whole", "volume"):
            setattr(out, name, getattr(self, name)[which])
        out.inverse = contiguous(self.inverse[:, which])
        out._share = None if self._share is None else self._share[which]
        return out

    @property
    def work(self) -> int:
        return len(self.nodes)

    @property
    def mass(self) -> Floats:
        """Lumped mass per corner [kg], (E, c): the same for every corner, unless shares were given."""
        if self._share is not None:
            return (self.density * self.whole)[:, None] * self._share
        share = self.density * self.volume / self.corners
        return np.repeat(share[:, None], self.corners, axis=1)

    def forces(self, x: Floats, v: Floats | None, out: Floats, energy: Floats = NOTHING) -> None:
        """Elastic forces plus damping -b K v, if there are velocities, into out, (E c, 3) [N]; with `energy` (E,) [J] in the same pass."""
        if v is not None and not self.rayleigh.any():
            v = None
        if self._code is None:
            out[:] = any_law.forces(self, x, v)
            energy[:] = any_law.energy(self, x) if len(energy) else 0.0
        else:
            self._evaluate(x, x if v is None else v, v is not None, out, energy)

    def energy(self, x: Floats) -> Floats:
        """Elastic energy [J], (E,)."""
        if self._code is None:
            return any_law.energy(self, x)
        out = np.empty(len(self.nodes))
        self._evaluate(x, x, False, NO_FORCES, out)
        return out

    def _evaluate(self, x: Floats, v: Floats, rate: bool, out: Floats, energy: Floats) -> None:
        if self.turns:
            evaluate_hooke(self._code, self._tets, 0, len(self.nodes), x, v, rate, np.inf, out, energy, NO_GRADIENTS, self._scratch)
        else:
            evaluate_hyperelastic(self._code, self._tets, x, v, rate, out, energy, self._scratch)

    @property
    def _tets(self) -> tuple[Any, ...]:
        return self.nodes, self.inverse, self.volume, self.lam, self.mu, self.rayleigh, self.weights, self.controls

    @property
    def turns(self) -> bool:
        """Whether the tangent is Hooke's in a frame R of each element, so that `turned` says all about it."""
        return self._code in (LINEAR, COROTATED)

    def turned(self, x: Floats, part: slice, dt: float, out: Floats, forces: Floats) -> None:
        """R g_m of some elements, then V lam and V mu times dt b + dt^2 (or 1, if dt is infinite), (elements, 14).

        In the same pass the elastic forces on their corners, if `forces` is (E c, 3) and not empty.
        """
        evaluate_hooke(self._code, self._tets, part.start, part.stop, x, x, False, dt, forces, NOTHING, out, self._scratch)

    def stiffness(self, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """Upper blocks of the tangent -df/dx, made positive semi-definite, (E, c (c + 1) / 2, 3, 3) [N/m]."""
        for part in any_law.batches(len(self.nodes)):
            self.stiffness_of(part, x, out[part])

    def stiffness_of(self, part: slice, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """The same of some elements only."""
        if self._code is None:
            for few in any_law.batches(part.stop, part.start):
                any_law.stiffness(self, x, few, out[few.start - part.start : few.stop - part.start])
        else:
            self._stiffness(self._code, x, part, out)

    def _stiffness(self, code: int, x: Floats, part: slice, out: Floats) -> None:
        stiffness.stiffness(
            code, self.nodes[part], contiguous(self.inverse[:, part]), self.volume[part], self.lam[part], self.mu[part],
            self.weights, self.controls, x, out, self._small,
        )  # fmt: skip

    def _rest_stiffness(self, x: Floats, part: slice) -> Floats:
        """Stiffness at rest of some elements; that of every built-in law is the linear one, for any x."""
        out = np.empty((len(self.nodes[part]), self.corners * (self.corners + 1) // 2, 3, 3))
        if self._code is None:
            any_law.stiffness(self, None, part, out)
        else:
            self._stiffness(LINEAR, x, part, out)
        return out

    def stretch(self, x: Floats) -> Floats:
        """Smallest det F of each element, (E,): 1 at rest, <= 0 inverted."""
        out = np.empty(len(self.nodes))
        stiffness.least_stretch(self.nodes, self.inverse, self.watched, self.controls, x, out)
        return out

    def stress(self, x: Floats) -> Floats:
        """Cauchy stress P F^T / det F, mean over the points, (E, 3, 3) [Pa]; `linear`: the small-strain stress."""
        F = any_law.gradients(self, x)
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
        """Largest stable explicit step per element at rest, damping included [s], (E,); see `elasticity`.

        A node's mass is shared among its elements in proportion to the masses they brought.
        """
        own = self.mass
        total = np.bincount(self.nodes.ravel(), own.ravel(), minlength=len(node_mass))
        share = own * (node_mass / np.where(total > 0.0, total, 1.0))[self.nodes]
        somewhere = np.zeros((len(node_mass), 3))
        omega2 = np.empty(len(self.nodes))
        for part in any_law.batches(len(self.nodes)):
            omega2[part] = frequency_bound(self._rest_stiffness(somewhere, part), share[part])
        return stable_step(omega2, self.rayleigh * omega2)


class Tet4(Tets):
    r"""Linear tetrahedra: four corners, constant strain.

    With the edge matrix D = [x1 - x0, x2 - x0, x3 - x0] the deformation gradient is F = D D_rest^-1; the corners 1 to 3 get
    the forces -V P D_rest^-T, the corner 0 minus their sum. Stiffness of `linear` and, turned by R, of `corotated`
    (theory/elements 4.1, 4.3):

        K_ab = V (lam g_a g_b^T + mu g_b g_a^T + mu (g_a.g_b) 1),   g_1..3 the rows of D_rest^-1, g_0 minus their sum

    Lumped mass density V / 4 per corner.

    Limitations: too stiff in bending and when nearly incompressible (locking); use `Tet10` or a finer mesh.
    """

    kind: ClassVar[str] = "tet4"
    corners: ClassVar[int] = 4
    weights: ClassVar[Floats] = np.array([[1.0, 0.0, 0.0, 0.0]])
    controls: ClassVar[Ints] = np.repeat(np.arange(4, dtype=np.int64)[:, None], 4, axis=1)
    watched: ClassVar[Floats] = weights
    support: ClassVar[Ints] = np.repeat(np.arange(4, dtype=np.int64)[:, None], 2, axis=1)
    products: ClassVar[Floats] = np.broadcast_to(np.array([[1.0, 0.0], [0.0, 0.0]]), (4, 4, 2, 2)).copy()


NEAR, FAR = (5.0 + 3.0 * np.sqrt(5.0)) / 20.0, (5.0 - np.sqrt(5.0)) / 20.0
POINTS = np.full((4, 4), FAR) + (NEAR - FAR) * np.eye(4)  # barycentric coordinates of the quadrature


def elevated(corners: Floats) -> Floats:
    """Control points (E, 10, 3) of straight tetrahedra with corners (E, 4, 3)."""
    return np.concatenate([corners, corners[:, TET_EDGES].mean(axis=2)], axis=1)


def _control_table() -> Ints:
    """Number of the control point e_m + e_k."""
    table = np.diag(np.arange(4, dtype=np.int64))
    table[TET_EDGES[:, 0], TET_EDGES[:, 1]] = table[TET_EDGES[:, 1], TET_EDGES[:, 0]] = np.arange(4, 10)
    return table


def _products(weights: Floats) -> tuple[Ints, Floats]:
    """`support` and `products` of quadratic tets: a corner m has the gradient 2 l_m g_m, an edge (m, n) 2 l_n g_m + 2 l_m g_n."""
    ends = np.concatenate([np.repeat(np.arange(4)[:, None], 2, axis=1), TET_EDGES]).astype(np.int64)
    factor = np.stack([weights[:, ends[:, 1]], weights[:, ends[:, 0]]], axis=2)  # (points, 10, 2)
    factor[:, :4, 1] = 0.0
    return ends, np.einsum("qas,qbt->abst", factor, factor) / len(weights)


class Tet10(Tets):
    r"""Quadratic Bernstein-Bezier tetrahedra: ten control points, linear strain.

    Control points: the four corners, then the six edges in the order of TET_EDGES. Edge points pull the edge towards them
    and lie on it only where it is straight. At rest the element is straight: edge points are the midpoints.

        x(l) = sum_I B_I(l) b_I,  B = l_m^2 for corners and 2 l_m l_n for edges
        F(l) = sum_m z_m g_m^T,   z_m = 2 sum_k l_k b_(m,k)              (a linear tet in every point, see `blocks`)

    Quadrature: four points (l = 0.585, 0.138, 0.138, 0.138 and permutations), weight V/4, exact for polynomials of degree
    2. That is what the stiffness at rest is, so it is exact; strains in four points are 24 numbers = 30 - 6 rigid modes, so
    there is no spurious zero mode, with the fewest points possible; shape gradients are of degree 1, so the patch test is
    passed.

    `corotated` has one rotation per element, that of F in the centroid, and the exact K_e (theory/elements 4.2, 4.3):
    f = -R K_e (R^T x - x_rest). Where we differ: that force is not the gradient of its energy 1/2 u.K_e u, because R
    changes with the nodes, and leaves a torque of second order in the strain. We add what is missing, so that angular
    momentum and energy are kept: with S = R^T F_c, T = tr(S) 1 - S, N = sum_q V/4 R^T F_q sigma_q and the axial vector
    n = (N_yz - N_zy, ...), a stress R [skew of T^-1 n] in the centroid. The tangent stays R K_e R^T.

    Lumped mass density V / 10 per control point: the row sums of M_IJ = density V prod_m C(i_m + j_m, i_m) / 210, all equal
    and positive (Lagrange nodes would give -density V / 20 at the corners).
    """

    kind: ClassVar[str] = "tet10"
    corners: ClassVar[int] = 10
    weights: ClassVar[Floats] = 2.0 * np.concatenate([POINTS, np.full((1, 4), 0.25)])
    controls: ClassVar[Ints] = _control_table()
    watched: ClassVar[Floats] = 2.0 * np.concatenate([POINTS, np.eye(4)])
    support, products = _products(2.0 * POINTS)

    def _check_rest(self, corners: Floats) -> None:
        straight = elevated(corners[:, :4])
        size = np.ptp(corners[:, :4], axis=1).max(axis=1, initial=0.0)
        bent = np.flatnonzero(np.abs(corners - straight).max(axis=(1, 2), initial=0.0) > 1e-6 * size)
        if bent.size:
            raise PliantError(
                f"{bent.size} quadratic tetrahedra are curved at rest (first: {bent[:5].tolist()}); "
                "edge control points must be edge midpoints at rest; make them with `elevated`"
            )
