"""Static equilibrium of deformable bodies: internal + external force = 0 on free nodes, without time stepping.

Newton's method with the positive semi-definite tangent of the elements, K dx = f(x), and a step length t per body: halved
until the work f(x + t dx).dx shows that the step does not end far beyond balance along dx and, unless forces have no
energy (follower pressure), until the potential energy falls (Armijo, E(x + t dx) <= E(x) - c t f.dx). No step
is longer than the body. Where the tangent is singular (slack springs) or its step leads nowhere, a growing multiple of
the unit matrix is added (Levenberg). A body for which all this fails goes back to its last equilibrium and takes a
smaller part of its load; parts grow again when they succeed. Line search by work and automatic increments: Crisfield
1991, "Non-linear finite element analysis of solids and structures", vol. 1, ch. 9.

Every scalar belongs to one body: bodies neither wait for each other nor change each other's result.

Limitations: it finds one stable equilibrium near the path of growing load; buckling is passed by only where the energy
leads. The stiffness of follower loads is not in the tangent, so these converge linearly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.components import labels
from pliant.integrate import cg, direct
from pliant.integrate.blocks import BlockMatrix, BlockPattern

Bools = NDArray[np.bool_]

ARMIJO = 1e-4  # part of the promised decrease that a step must bring
OVERSHOOT = 0.5  # for a quadratic energy, f.dx of a step that is half as long again as the best one
HALVINGS = 20  # of one step before Newton counts as failed
LEAST_SHIFT, MOST_SHIFT = 1e-8, 100.0  # of the tangent, over the mean stiffness of a node
STAGE = 100  # iterations at one part of the load before Newton counts as failed
RUNAWAY = 20.0  # sizes of the body that a part of the load may move it before Newton counts as failed
SMALLEST = 1 / 256  # part of the load below which a body counts as without equilibrium
ROUNDING = 16 * np.finfo(float).eps  # forces come from differences of positions: their rounding is this times K |x|
NOISE = 1e-13  # of an energy, relative
CG_ITERATIONS = 20000
SOLVERS = {"auto": 3000, "direct": np.inf, "cg": -1}  # number of nodes up to which a body is factorised


@dataclass(frozen=True)
class StaticProblem:
    """What is to be in equilibrium, as functions of all node positions x (n, 3)."""

    pattern: BlockPattern
    internal: Callable[[Floats], Floats]  # x -> elastic force (n, 3) [N]
    external: Callable[[Floats], Floats]  # x -> full applied force (n, 3) [N]: weight, loads, pressure
    tangent: Callable[[Floats], BlockMatrix]  # x -> stiffness -d internal / dx, positive semi-definite [N/m]
    energy: Callable[[Floats, Floats], Floats] | None = None  # x, load (B,) -> elastic + load * potential, (B,) [J]


@dataclass(frozen=True)
class Equilibrium:
    """Where the bodies came to rest, and how well."""

    x: Floats  # [m] (n, 3)
    converged: Bools  # (B,); False for a body that failed: it stays at its last equilibrium, under `load`
    iterations: Ints  # (B,) Newton iterations
    residual: Floats  # [N] (B,) largest force left on a free node
    relative: Floats  # (B,) the same over the largest applied or support force
    load: Floats  # (B,) part of the load that is carried: 1 if converged
    halvings: Ints  # (B,) how often the load was cut into smaller parts

    def complaint(self, names: Sequence[str] | None = None) -> str:
        """One sentence for each body that failed; empty if all converged."""
        lines = []
        for body in np.flatnonzero(~self.converged).tolist():
            lines.append(
                f"{_name(body, names)} found no static equilibrium beyond {100 * self.load[body]:.3g} % of its load, "
                f"after {self.iterations[body]} iterations: it may buckle, turn about its fixed vertices or be too "
                f"soft; reduce the load, fix more vertices or step through time with damping"
            )
        return "\n".join(lines)


def _name(body: int, names: Sequence[str] | None) -> str:
    return f"body {body}" if names is None else f'body "{names[body]}"'


def solve_static(
    problem: StaticProblem,
    x0: Floats,
    free: Bools,
    active: Bools | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    solver: Literal["auto", "direct", "cg"] = "auto",
    names: Sequence[str] | None = None,
) -> Equilibrium:
    """Move the free nodes (n,) of the active bodies (B,) to equilibrium; other nodes stay where x0 (n, 3) has them.

    tolerance: largest residual force over the largest force applied to a node or held by a fixed one, per body.
    solver: "auto" factorises bodies of up to 3000 nodes and uses conjugate gradients for larger ones.
    Refuses bodies with a part that nothing holds (by their names); other failures are told in the result.
    """
    pattern = problem.pattern
    bodies = pattern.implicit if active is None else np.asarray(active, dtype=bool)
    loose = np.asarray(free, dtype=bool)
    if solver not in SOLVERS:
        raise PliantError(f'static equilibrium: unknown solver "{solver}"; there are {", ".join(SOLVERS)}')
    check_held(problem.tangent(x0), loose, bodies, names)
    walk = _Walk(problem, np.array(x0, dtype=np.float64), loose, bodies, tolerance)
    while walk.running.any():
        step, found, broken = walk.direction(solver)
        walk.advance(step, found)
        walk.settle(broken, max_iterations)
    end = walk.forces
    return Equilibrium(
        x=walk.x,
        converged=~walk.failed,
        iterations=walk.iterations,
        residual=end.residual,
        relative=np.divide(end.residual, end.scale, out=np.zeros_like(end.scale), where=end.scale > 0),
        load=walk.carried,
        halvings=walk.halvings,
    )


def check_held(matrix: BlockMatrix, free: Bools, active: Bools, names: Sequence[str] | None = None) -> None:
    """Refuse bodies with a connected part that has neither a fixed node nor a spring to the ground (`lumped`)."""
    pattern = matrix.pattern
    row = np.repeat(np.arange(pattern.n), np.diff(pattern.indptr))
    part = labels(pattern.n, np.stack([row, pattern.indices.astype(np.int64)], axis=1))
    held = np.zeros(part.max(initial=-1) + 1, dtype=bool)
    held[part[~free | (matrix.lumped > 0)]] = True
    body = cg.owners(pattern.body_start)
    adrift = np.unique(body[~held[part] & active[body]])
    if len(adrift):
        raise PliantError(
            f"no static equilibrium of {', '.join(_name(body, names) for body in adrift.tolist())}: "
            f"nothing holds it or a part of it, so any load sets that moving and without load it may be anywhere; fix "
            f"vertices of it (three that are not in line stop every rigid motion), or step through time instead"
        )


@dataclass(frozen=True)
class _Forces:
    """What positions x mean under a load."""

    free: Floats  # [N] (n, 3) on free nodes, zero elsewhere
    residual: Floats  # [N] (B,) largest of them
    scale: Floats  # [N] (B,) largest force applied to a node or held by a fixed one
    energy: Floats  # [J] (B,) potential energy, zero where there is none


class _Walk:
    """Every body on its way to equilibrium; arrays are per body unless said otherwise."""

    def __init__(self, problem: StaticProblem, x: Floats, free: Bools, active: Bools, tolerance: float) -> None:
        count = len(active)
        self.problem, self.free, self.tolerance = problem, free, tolerance
        self.owner = cg.owners(problem.pattern.body_start)  # (n,)
        self.x, self.good = x, x.copy()  # (n, 3) positions now and at the last equilibrium
        self.running, self.failed = active.copy(), np.zeros(count, dtype=bool)
        self.load, self.carried = np.ones(count), np.zeros(count)  # part of the load now and at the last equilibrium
        self.cut = np.zeros(count, dtype=bool)  # the last part of the load was too much
        self.size = np.array([np.ptp(x[a:b], axis=0).max(initial=0) for a, b in pairwise(problem.pattern.body_start)])
        self.shift = np.zeros(count)  # of the tangent, over the mean stiffness of a node
        self.iterations = np.zeros(count, dtype=np.int64)
        self.stage = np.zeros(count, dtype=np.int64)  # iterations since the load changed
        self.halvings = np.zeros(count, dtype=np.int64)
        self.rounding = np.zeros(count)  # [N] forces below this are rounding
        self.forces = self.evaluate(x)

    def evaluate(self, x: Floats) -> _Forces:
        inside, outside = self.problem.internal(x), self.load[self.owner][:, None] * self.problem.external(x)
        free = np.where(self.free[:, None], inside + outside, 0.0)
        square = np.einsum("ij,ij->i", free, free)
        held = np.where(self.free, 0.0, np.linalg.norm(inside, axis=1))
        energy = self.problem.energy
        return _Forces(
            free=free,
            residual=np.sqrt(self.largest(square)),
            scale=self.largest(np.maximum(np.linalg.norm(outside, axis=1), held)),
            energy=np.zeros(len(self.load)) if energy is None else energy(x, self.load),
        )

    def work(self, forces: _Forces, step: Floats) -> Floats:
        """f . step of each body [J]."""
        return self.total(np.einsum("ij,ij->i", forces.free, step))

    def total(self, values: Floats) -> Floats:
        """Sum of a nodal quantity (n,) over each body."""
        return np.bincount(self.owner, values, minlength=len(self.load)).astype(np.float64)

    def largest(self, values: Floats) -> Floats:
        """Maximum of a non-negative nodal quantity (n,) over each body."""
        out = np.zeros(len(self.load))
        np.maximum.at(out, self.owner, values)
        return out

    def direction(self, solver: str) -> tuple[Floats, Bools, Bools]:
        """Newton step (n, 3), bodies for which it was found, and bodies with forces that are not finite."""
        matrix = self.problem.tangent(self.x)
        stiffness = matrix.trace()
        self.rounding = ROUNDING * self.largest(stiffness) * self.largest(np.abs(self.x).max(axis=1))
        if self.shift.any():
            sizes = np.maximum(np.bincount(self.owner, minlength=len(self.load)), 1)
            matrix = matrix.shifted((self.shift * self.total(stiffness) / sizes)[self.owner])
        step, status = _linear(matrix, self.forces.free, self.free, self.running, solver)
        singular = self.running & (status == cg.NOT_POSITIVE)
        found = self.running & (status <= cg.OUT_OF_ITERATIONS)
        self.stiffen(singular)
        return step, found, self.running & (status == cg.NOT_FINITE)

    def stiffen(self, bodies: Bools) -> None:
        """Add more to the tangent of these bodies: their step was not found or led nowhere."""
        self.shift[bodies] = np.maximum(100.0 * self.shift[bodies], LEAST_SHIFT)

    def advance(self, step: Floats, found: Bools) -> None:
        """Go along the step as far as it helps; where it does not help, the next one is shorter and steeper."""
        length = np.zeros(len(self.load))
        waiting = found.copy()
        for by_energy in (True, False) if self.problem.energy else (False,):
            waiting = self.search(step, length, waiting, by_energy)
        if (length > 0).any():
            self.x = self.x + length[self.owner][:, None] * step
            self.forces = self.evaluate(self.x)
        self.stiffen(waiting)
        whole = length == 1.0
        self.shift[whole] *= np.where(self.shift[whole] > LEAST_SHIFT, 0.1, 0.0)

    def search(self, step: Floats, length: Floats, waiting: Bools, by_energy: bool) -> Bools:
        """Find `length` of the waiting bodies by halving; returns those still waiting."""
        old = self.forces
        slope = self.work(old, step)
        longest = self.largest(np.linalg.norm(step, axis=1))
        trial = np.divide(self.size, longest, out=np.ones_like(longest), where=longest > self.size)
        for _ in range(HALVINGS):
            if not waiting.any():
                break
            new = self.evaluate(self.x + trial[self.owner][:, None] * step)
            good = self.work(new, step) >= -OVERSHOOT * slope
            if by_energy:
                noise = NOISE * (np.abs(old.energy) + np.abs(new.energy))
                good &= new.energy <= old.energy - ARMIJO * trial * slope + noise
            good &= waiting & np.isfinite(new.residual) & (slope > 0)
            length[good] = trial[good]
            waiting = waiting & ~good
            trial[waiting] *= 0.5
        return waiting

    def settle(self, broken: Bools, max_iterations: int) -> None:
        """Decide for each running body: done, more load, less load from the last equilibrium, or failed."""
        self.iterations[self.running] += 1
        self.stage[self.running] += 1
        calm = self.running & self.calm()
        away = self.largest(np.linalg.norm(self.x - self.good, axis=1)) > RUNAWAY * self.size
        late = away | (self.stage >= STAGE) | (self.iterations >= max_iterations)
        stuck = self.running & ~calm & (broken | late | (self.shift > MOST_SHIFT))
        nodes = calm[self.owner]
        self.good[nodes] = self.x[nodes]
        part = self.load - self.carried
        self.carried[calm] = self.load[calm]
        self.running &= ~(calm & (self.load >= 1.0))
        self.load[calm] = np.minimum(1.0, (self.load + np.where(self.cut, 1.0, 2.0) * part)[calm])
        nodes = stuck[self.owner]
        self.x[nodes] = self.good[nodes]
        self.load[stuck] = (self.carried + 0.5 * part)[stuck]
        self.halvings[stuck] += 1
        self.cut = (self.cut & ~calm) | stuck
        self.failed |= stuck & ((0.5 * part < SMALLEST) | (self.iterations >= max_iterations))
        self.running &= ~self.failed
        changed = stuck | (calm & self.running)
        self.stage[changed] = 0
        self.shift[changed] = 0.0
        self.load[self.failed] = self.carried[self.failed]
        if changed.any():
            self.forces = self.evaluate(self.x)

    def calm(self) -> Bools:
        """Bodies in equilibrium under their present load."""
        return self.forces.residual <= self.tolerance * self.forces.scale + self.rounding


def _linear(matrix: BlockMatrix, rhs: Floats, free: Bools, active: Bools, solver: str) -> tuple[Floats, Ints]:
    """Solution (n, 3) and status (B,), by the solver of each body."""
    sizes = np.diff(matrix.pattern.body_start)
    factorised = active & (sizes <= SOLVERS[solver])
    zero = np.zeros_like(rhs)
    step, status = zero, np.zeros(len(active), dtype=np.int64)
    if factorised.any():
        found = direct.solve(matrix, rhs, zero, free, factorised)
        step, status = found.x, found.status
    if (active & ~factorised).any():
        found = cg.solve(matrix, rhs, zero, free, active & ~factorised, max_iterations=CG_ITERATIONS)
        step, status = step + found.x, status + found.status
    return step, status
