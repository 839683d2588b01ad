"""The elastic contact problem: forces P >= 0 and separations s = K P + q >= 0 with s P = 0 [Pauly, Pai, Guibas 2004, (9)].

q [m] is the separation of the undeformed surfaces, negative where they overlap; K [m/N] the elastic matrix. For K symmetric and positive
definite this is min 1/2 P'KP + q'P over P >= 0, and has exactly one solution: theory/quasi-rigid 6.3.

    solve(operator, q)                            at a given position
    solve_load(operator, gap, rows, load)         at a given load: the position is found too (lcp_load.py)

Solvers: `active-set` (exact; up to 3000 nodes), `conjugate-gradients` (Polonsky-Keer; any size); `auto` chooses between these two by size.
For comparison, as the paper and its kin solve it: `gauss-seidel` (a few sweeps) and `lemke` (small oracle, takes unsymmetric matrices).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.contact.elastic.cholesky import Factor
from pliant.contact.elastic.operators import Dense, Operator
from pliant.contact.elastic.preconditioner import nearly_inverse
from pliant.kernels import kernel

SOLVED, APART, STALLED = "solved", "apart", "not solved: iterations used up"
INDEFINITE = "not solved: the matrix is not positive definite"
ROUGH = 1e-3  # residual, or part of the depth, that counts as nothing while nodes are looked for, on coarse levels and of motions
CLOSE = 1e-4  # residual, or part of a force, that counts as nothing in first guesses and between rounds; error of compressed blocks
NEARLY = CLOSE / 10  # residual that is enough where many nodes take part: a compressed matrix multiplies so much better than its blocks
ACTIVE_SET = 3000  # nodes up to which `auto` takes the active set
SETS = 50  # tried at most
NEAR_SET = 24  # nodes that a set may differ by from the one that was factored
FACTORED = 300  # nodes up to which factoring again is cheaper
REFRESH = 25  # gradients after which K P is computed anew, so that rounding does not pile up
PRECONDITIONED = 200  # gradients after which they go on as the original
RELAXATION = 1.3  # of Gauss-Seidel sweeps
PIVOTED = 1500  # most nodes of Lemke's method: a pivot costs 4 n^2 operations, and there are about as many as nodes in contact


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


def judged(K: Operator, q: Floats, force: Floats, count: int, method: str, tolerance: float) -> Solution:
    """These forces as a solution, which solves the problem if its residual is within the tolerance."""
    s = K @ force + q
    error = residual(K.diagonal, q, force, s)
    return Solution(force, s, SOLVED if error <= tolerance else STALLED, count, error, method)


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


# --------------------------------------------------------------------------------------------------------------------- conjugate gradients


def dot(a: Floats, b: Floats) -> float:
    """Not BLAS, whose last digits depend on its threads."""
    return float(np.sum(a * b))


def conjugate_gradients(
    K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None, total: float | None = None
) -> Solution:
    """Conjugate gradients with P >= 0 [Polonsky, Keer 1999], for any operator that multiplies (theory/quasi-rigid 9.2).

    Gradients run over the loaded nodes; forces that would pull are cut to zero; unloaded nodes that overlap get a force by steepest
    descent, which restarts the conjugation. With a `total` force [N] instead of a position, the mean of s over the loaded nodes is removed
    (it is the unknown approach, returned as position) and P rescaled.

    Many nodes are preconditioned (preconditioner.py), which the original does not do; directions are then conjugated after Polak and
    Ribiere, who need no restart when single nodes come and go. A product K t is reused for the separations wherever nothing was cut, so
    most iterations cost one product and not two.
    """
    force, u = _first(K, q, start, total)  # u are the displacements K P
    inverse = nearly_inverse(K, force > 0.0) if total is None else None
    scaled = 1.0 if inverse is None else 1.0 / K.diagonal  # of steepest descent, in the units of the gradients
    fresh = 0  # iterations since u was computed from P
    t, old, conjugate, status, count = np.zeros(K.size), math.inf, 0.0, STALLED, 0
    before = t
    limit = 1000 if most is None else most
    while True:
        loaded = force > 0.0
        approach = float(np.mean((u + q)[loaded])) if total is not None else 0.0
        s = u + q - approach
        error = residual(K.diagonal, q - approach, force, s)
        if fresh and (error <= tolerance or fresh >= REFRESH or count >= limit):
            u, fresh = K @ force, 0
            continue
        if error <= tolerance or count >= limit:
            status = SOLVED if error <= tolerance else STALLED
            break
        if count == PRECONDITIONED:  # very uneven nodes come and go too much
            inverse, scaled, conjugate = None, 1.0, 0.0
        gradient = np.where(loaded, s, 0.0)
        down = gradient if inverse is None else np.where(loaded, inverse @ gradient, 0.0)
        size = dot(gradient, down)
        turn = conjugate * size / old if inverse is None else max(dot(gradient - before, down) / old, 0.0)
        t, before = np.where(loaded, down + turn * t, 0.0), gradient
        give = K @ t
        bend = dot(give - np.mean(give[loaded]) if total is not None else give, t)
        if not bend > 0.0:
            status = INDEFINITE if bend < 0.0 else STALLED
            break
        step, old = dot(gradient, t) / bend, size
        moved = force - step * t
        after = np.maximum(moved, 0.0)
        overlapping = (after == 0.0) & (s < 0.0)
        after[overlapping] = -step * (scaled * s)[overlapping]
        conjugate = 0.0 if overlapping.any() else 1.0
        cut = after - moved
        u = u - step * give + (K @ cut if cut.any() else 0.0)
        scale = 1.0 if total is None else total / float(np.sum(after))
        force, u, fresh, count = scale * after, scale * u, fresh + 1, count + 1
    return Solution(force, s, status, count, error, "conjugate-gradients", None if total is None else np.array([approach]))


def _first(K: Operator, q: Floats, start: Floats | None, total: float | None) -> tuple[Floats, Floats]:
    """Forces to begin with and their displacements: given, or as the overlap, scaled to the least energy or to the total."""
    if start is not None and np.any(start > 0.0):
        scale = 1.0 if total is None else total / float(np.sum(start))
        return scale * start, scale * (K @ start)
    level = 0.0 if total is None else 0.5 * float(np.min(q) + np.mean(q))
    force = np.maximum(level - q, 0.0) / K.diagonal
    force = force if np.any(force > 0.0) else np.ones(K.size)
    u = K @ force
    work = dot(force, u)
    scale = total / float(np.sum(force)) if total is not None else -dot(q, force) / work if work > 0.0 else 1.0
    return scale * force, scale * u


# ----------------------------------------------------------------------------------------------------------------------------- active sets


def active_set(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None) -> Solution:
    """Primal-dual active set (theory/quasi-rigid 9.1): guess who touches, solve for their forces exactly, correct the guess,

        K_cc P_c = -q_c,   c <- { P - s / K_ii > 0 }.

    Without a start, a few conjugate gradients make the first guess, which is then right but for a few nodes; they are counted as
    iterations, as sets are. The first set is solved with a Cholesky factor; while later sets differ from it by few nodes, that factor
    preconditions conjugate gradients, which need about one product for each such node.

    Not globally convergent for every positive definite K: a set that comes back, or too many sets, hand over to conjugate gradients on
    the whole problem.
    """
    guess, before = start, 0  # gradients that were needed to guess
    if guess is None or not np.any(guess > 0.0):
        first = conjugate_gradients(K, q, None, ROUGH, 60)
        guess, before = first.P, first.iterations
    contact = guess > 0.0
    factored: Factored | None = None
    seen = set()
    for count in range(1, (SETS if most is None else most) + 1):
        nodes = np.flatnonzero(contact)
        if factored is None or not factored.near(nodes):
            factored = Factored.of(K, nodes)
            if factored is None:
                return Solution(guess, K @ guess + q, INDEFINITE, before + count, np.inf, "active-set")
        force = factored.forces(K, nodes, -q)
        s = K @ force + q
        after = force - np.where(contact, 0.0, s) / K.diagonal > 0.0
        if np.array_equal(after, contact):
            found = judged(K, q, force, before + count, "active-set", tolerance)
            for _ in range(3):  # where K multiplies only nearly as its blocks say (hierarchical.py)
                if found.solved:
                    break
                force = np.maximum(force - factored.forces(K, nodes, found.s), 0.0)
                found = judged(K, q, force, before + count, "active-set", tolerance)
            return found
        seen.add(contact.tobytes())
        contact = after
        if contact.tobytes() in seen:
            break
    found = conjugate_gradients(K, q, np.maximum(force, 0.0), tolerance, None)
    count += before + found.iterations
    return Solution(found.P, found.s, found.status, count, found.residual, "active-set, then conjugate-gradients")


@dataclass(frozen=True)
class Factored:
    """A set of nodes and the factor of its matrix."""

    nodes: Ints
    factor: Factor

    @classmethod
    def of(cls, K: Operator, nodes: Ints) -> Factored | None:
        factor = Factor.of(K.block(nodes))
        return None if factor is None else cls(nodes, factor)

    def near(self, nodes: Ints) -> bool:
        """True if a set differs so little that it need not be factored."""
        return len(nodes) > FACTORED and len(np.setxor1d(nodes, self.nodes, assume_unique=True)) <= NEAR_SET

    def forces(self, K: Operator, nodes: Ints, b: Floats) -> Floats:
        """P = K_cc^-1 b_c on the nodes, zero elsewhere: directly for the set that was factored, else by conjugate gradients."""
        if np.array_equal(nodes, self.nodes):
            return self._solved(K.size, b)
        here, there = np.zeros(K.size, bool), np.zeros(K.size, bool)
        here[nodes], there[self.nodes] = True, True
        added = here & ~there
        x, r = np.zeros(K.size), np.where(here, b, 0.0)
        end, t, size = 1e-28 * dot(r, r), np.zeros(K.size), 1.0
        for _ in range(4 * NEAR_SET):
            if dot(r, r) <= end:
                break
            z = np.where(here, self._solved(K.size, np.where(there, r, 0.0)), 0.0) + np.where(added, r / K.diagonal, 0.0)
            before, size = size, dot(r, z)
            t = z + size / before * t
            give = np.where(here, K @ t, 0.0)
            step = size / dot(t, give)
            x, r = x + step * t, r - step * give
        return x

    def _solved(self, size: int, b: Floats) -> Floats:
        out = np.zeros(size)
        out[self.nodes] = self.factor.solve(b[self.nodes])
        return out


# ----------------------------------------------------------------------------------------------------------------- variants for comparison


@kernel
def _sweep(matrix, relaxation, force, s):  # type: ignore[no-untyped-def]
    """One pass over all nodes in place; s = K P + q is kept up to date."""
    n = len(force)
    for i in range(n):
        row = matrix[i]
        change = max(-relaxation * s[i] / row[i], -force[i])
        if change != 0.0:
            force[i] += change
            for j in range(n):
                s[j] += change * row[j]


def gauss_seidel(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None) -> Solution:
    """Projected Gauss-Seidel with over-relaxation (theory/quasi-rigid 9.3): a few sweeps where a rough answer will do, 60 to 100 for 1e-8.

    Every sweep lowers the energy 1/2 P'KP + q'P.
    """
    K = Dense(K.block(np.arange(K.size)))
    force = np.zeros(K.size) if start is None else start.copy()
    s = K @ force + q
    error, count, limit = np.inf, 0, 200 if most is None else most
    while error > tolerance and count < limit:
        _sweep(K.matrix, RELAXATION, force, s)
        count += 1
        error = residual(K.diagonal, q, force, s)
    return judged(K, q, force, count, "gauss-seidel", tolerance)


@kernel
def _pivot(table, row, column):  # type: ignore[no-untyped-def]
    scale = 1.0 / table[row, column]
    for j in range(table.shape[1]):
        table[row, j] *= scale
    for i in range(table.shape[0]):
        c = table[i, column]
        if i != row and c != 0.0:
            for j in range(table.shape[1]):
                table[i, j] -= c * table[row, j]


@kernel
def _lemke(table, basis, most):  # type: ignore[no-untyped-def]
    """Pivot until z0 leaves. Columns: w, z, z0, right-hand side. Returns (pivots, status): 0 solved, 1 ray, 2 too many."""
    n = table.shape[0]
    z0, rhs = 2 * n, 2 * n + 1
    row = 0
    for i in range(n):
        if table[i, rhs] < table[row, rhs]:
            row = i
    entering = z0
    for count in range(1, most + 1):
        leaving = basis[row]
        _pivot(table, row, entering)
        basis[row] = entering
        if leaving == z0:
            return count, 0
        entering = leaving + n if leaving < n else leaving - n
        row, best = -1, np.inf
        for i in range(n):
            if table[i, entering] > 1e-12:
                ratio = table[i, rhs] / table[i, entering]
                if row < 0 or ratio < best - 1e-14 * abs(best) or (ratio <= best + 1e-14 * abs(best) and basis[i] == z0):
                    row, best = i, ratio
        if row < 0:
            return count, 1
    return most, 2


def lemke(K: Operator, q: Floats, start: Floats | None, tolerance: float, most: int | None) -> Solution:
    """Lemke's complementary pivoting on a dense tableau with the covering vector e (theory/quasi-rigid 9.4): exact, slow, takes any matrix.

    Ends with a solution for every strictly copositive matrix (Boussinesq: all entries positive) and every positive definite one. If it
    ends on a ray there is no solution to be found, and that is an error with the facts.
    """
    n = K.size
    if n > PIVOTED:
        raise PliantError(f"Lemke's method is for small problems: {n} nodes are more than {PIVOTED}. Use 'active-set' instead.")
    K = Dense(K.block(np.arange(n)))
    unit, size = float(np.max(K.diagonal)), float(np.max(np.abs(q)))  # lengths in units of q, forces of q / K
    table = np.hstack([np.eye(n), -K.matrix / unit, -np.ones((n, 1)), q[:, None] / size])
    basis = np.arange(n)
    count, status = _lemke(table, basis, 50 * n if most is None else most)
    if status == 1:
        raise PliantError(
            f"Lemke's method ended on a ray after {count} pivots: the problem has no solution that it can reach. "
            f"Smallest separation {q.min():.3g}, asymmetry {np.max(np.abs(K.matrix - K.matrix.T)):.3g}, "
            f"smallest diagonal {K.diagonal.min():.3g}. Is the matrix positive definite?"
        )
    force = np.zeros(n)
    inside = (basis >= n) & (basis < 2 * n)
    force[basis[inside] - n] = np.maximum(table[inside, -1], 0.0) * size / unit
    return judged(K, q, force, int(count), "lemke", tolerance if status == 0 else -1.0)


SOLVERS = {"active-set": active_set, "conjugate-gradients": conjugate_gradients, "gauss-seidel": gauss_seidel, "lemke": lemke}


def solve(
    operator: Operator | Floats, q: Floats, method: str = "auto", start: Floats | None = None, tolerance: float = 1e-8,
    most: int | None = None,
) -> Solution:  # fmt: skip
    """Solve the contact problem.

    `start` are forces to begin with, as those of the last step (their support is the first active set). `tolerance` bounds the residual,
    `most` the iterations (by default 50 sets, 1000 gradients, 200 sweeps, 50 n pivots). A problem that is not solved within them says so
    in `status`.
    """
    K, q = checked(operator, q)
    if method == "auto":
        method = "active-set" if K.size <= ACTIVE_SET else "conjugate-gradients"
    if method not in SOLVERS:
        raise PliantError(f"There is no solver '{method}': {nearest(method, ['auto', *SOLVERS])}")
    if np.all(q >= 0.0):
        return Solution(np.zeros(K.size), q.copy(), APART, 0, 0.0, method)
    if start is not None:
        start = np.maximum(np.ascontiguousarray(start, dtype=np.float64), 0.0)
        if start.shape != q.shape:
            raise PliantError(f"The starting forces have shape {start.shape}, but there are {K.size} nodes.")
    return SOLVERS[method](K, q, start, tolerance, most)
