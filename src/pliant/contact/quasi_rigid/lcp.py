"""The elastic contact problem: forces P >= 0 and separations s = K P + q >= 0 with s P = 0 [Pauly, Pai, Guibas 2004, (9)].

q [m] is the separation of the undeformed surfaces, negative where they overlap; K [m/N] the elastic matrix. For K symmetric and positive
definite this is min 1/2 P'KP + q'P over P >= 0, and has exactly one solution. Section 2.7 of the methods page.

    solve(operator, q)                            at a given position
    solve_load(operator, gap, rows, load)         at a given load: the position is found too (load.py)

Methods: `active-set` (exact; up to 3000 nodes), `conjugate-gradients` (Polonsky-Keer; any size), `gauss-seidel` (a few sweeps), `lemke`
(small oracle, takes unsymmetric matrices). `auto` chooses between the first two by size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.quasi_rigid.operators import Dense, Operator

SOLVED, APART, STALLED = "solved", "apart", "not solved: iterations used up"
INDEFINITE = "not solved: the matrix is not positive definite"
NEARLY = 1e-5  # residual that is enough where many nodes take part, whose matrix is compressed
ACTIVE_SET = 3000  # nodes up to which `auto` takes the active set


@dataclass(frozen=True)
class Solution:
    """Forces, separations, and how well they fit."""

    P: Floats  # [N], (n,) nodal forces, >= 0
    s: Floats  # [m], (n,) separations
    status: str  # "solved", "apart" (nothing overlaps), or "not solved: why"
    iterations: int
    residual: float  # max |min(P K_ii, s)| / max |q|
    method: str
    position: Floats | None = None  # of solve_load: what the load made of the approach [m] and tilts [rad]

    @property
    def solved(self) -> bool:
        return self.status in (SOLVED, APART)

    @property
    def contact(self) -> np.ndarray:
        """(n,) true where force is carried."""
        return self.P > 0.0

    def energy(self, q: Floats) -> float:
        """1/2 P'KP + q'P [J], which the solution makes least."""
        return float(np.sum(0.5 * self.P * (self.s + q)))


def residual(diagonal: Floats, q: Floats, force: Floats, s: Floats) -> float:
    """max |min(P K_ii, s)| / max |q|: zero exactly at a solution."""
    scale = float(np.max(np.abs(q), initial=0.0))
    return float(np.max(np.abs(np.minimum(force * diagonal, s)), initial=0.0)) / scale if scale > 0.0 else 0.0


def checked(operator: Operator | Floats, q: Floats) -> tuple[Operator, Floats]:
    """The operator (a plain matrix is wrapped) and q as arrays that fit, or the reason why not."""
    K = Dense(operator) if isinstance(operator, np.ndarray) else operator
    q = np.ascontiguousarray(q, dtype=np.float64)
    if q.shape != (K.size,):
        raise PliantError(f"The elastic matrix has {K.size} nodes, but the separations have shape {q.shape}.")
    if not np.all(np.isfinite(q)):
        raise PliantError(f"Separation {int(np.flatnonzero(~np.isfinite(q))[0])} is not a finite number.")
    if not np.all(K.diagonal > 0.0):
        raise PliantError("The elastic matrix has a diagonal that is not positive: at least one of the bodies must give way (C > 0).")
    return K, q


def solve(
    operator: Operator | Floats,
    q: Floats,
    method: str = "auto",
    start: Floats | None = None,
    tolerance: float = 1e-8,
    most: int | None = None,
) -> Solution:
    """Solve the contact problem.

    `start` are forces to begin with, as those of the last step (their support is the first active set). `tolerance` bounds the residual,
    `most` the iterations (by default 50 sets, 1000 gradients, 200 sweeps, 50 n pivots). A problem that is not solved within them says so
    in `status`.
    """
    from pliant.contact.quasi_rigid import active_set, gauss_seidel, lemke, polonsky_keer

    methods = {
        "active-set": active_set.solve,
        "conjugate-gradients": polonsky_keer.solve,
        "gauss-seidel": gauss_seidel.solve,
        "lemke": lemke.solve,
    }
    K, q = checked(operator, q)
    if method == "auto":
        method = "active-set" if K.size <= ACTIVE_SET else "conjugate-gradients"
    if method not in methods:
        raise PliantError(f"There is no solver '{method}': {nearest(method, ['auto', *methods])}")
    if np.all(q >= 0.0):
        return Solution(np.zeros(K.size), q.copy(), APART, 0, 0.0, method)
    if start is not None:
        start = np.maximum(np.ascontiguousarray(start, dtype=np.float64), 0.0)
        if start.shape != q.shape:
            raise PliantError(f"The starting forces have shape {start.shape}, but there are {K.size} nodes.")
    return methods[method](K, q, start, tolerance, most)
