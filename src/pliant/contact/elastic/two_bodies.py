"""The static contact of two objects that give way locally [Pauly, Pai, Guibas 2004, sections 3 and 4]; theory/quasi-rigid 7.2, 7.3.

    resolve(Side(foot, VolumePreserving(c, b)), Side(Exact("plane")))

Modes:
    master   one set of nodes, that of the finer surface, carries forces that both objects feel: action is reaction. The default.
    merged   nodes of both, each with half its area; the paper's equation (10)
    split    the paper's practical version: a problem for each surface against the other as it is by now, three times. The two sums of
             forces may drift apart (`sides`), because only the sum of both displacements is determined; the mean is reported.

Nodes move, and forces act, along the contact normal C_B n_A - C_A n_B: a rigid partner's own normal, the paper's mean normal for equal
materials. In split they move along their own normals, as in the paper. What the straight motion leaves of the overlap is put into the
next round: q = s - K P with s the true distance of the moved nodes.

Small problems are solved several times, with more nodes each time, until none is lifted into the partner. With thousands of nodes that
costs too much: forces of coarser levels come first, which tell who takes part and start one problem of these nodes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.contact.elastic import lcp
from pliant.contact.elastic.coarse_to_fine import carried, coarser, levels_of, within_rim
from pliant.contact.elastic.contact_nodes import (
    AT_END,
    MARGIN,
    Nodes,
    Pair,
    Problem,
    gather,
    joint_response,
    lifted,
    mapped,
    master,
    ringed,
    shares,
    slant,
    spikes,
)
from pliant.contact.elastic.gaussian_blobs import blobs, displacement
from pliant.contact.elastic.operators import Operator
from pliant.contact.elastic.response import Response
from pliant.contact.elastic.result import ContactResult, Rung
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.trees import tree_displacement

MODES = ("master", "split", "merged")
EXACT = 1e-9  # of the depth: overlap of other nodes that counts in the end
FEW = 200  # nodes that are solved exactly at once
COARSE = 300  # nodes of a coarse level beyond which gradients are good enough, and that tell it to start from a coarser one
GROWTH = 20  # enlargements at most
ROUNDS, SPLIT = 8, 3  # at most with the surfaces where they came to be; in split


@dataclass(frozen=True)
class Task:
    """Two objects and how their contact is solved; see `resolve`."""

    whole: Pair  # with all their samples
    mode: str
    level: int
    margin: float | None
    rounds: int
    tolerance: float
    start: ContactResult | None

    @cached_property
    def sides(self) -> Pair:
        """The two objects on this level."""
        return coarser(self.whole[0], self.level), coarser(self.whole[1], self.level)

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """Sides whose nodes carry forces."""
        return (0, 1) if self.mode == "merged" else (master(*self.sides),)

    @cached_property
    def response(self) -> Response:
        """Of both."""
        return joint_response(self.sides)

    def nodes(self, margin: float) -> Nodes:
        """All nodes nearer than margin [m]."""
        return gather(self.sides, self.owners, margin)

    def problem(self, nodes: Nodes) -> Problem:
        return Problem.of(self.sides, nodes, self.response, len(self.owners))

    def started(self, nodes: Nodes) -> Floats | None:
        """Forces of the last result at these nodes: of the same samples, or carried over from another level."""
        last = self.start
        if last is None or not np.any(last.contact):
            return None
        if last.level == self.level:
            return mapped(last.owner, last.sample, last.P, nodes)
        return within_rim(carried(last.points, last.areas, last.P, nodes.points, nodes.areas))

    def reached(self, depth: float) -> float:
        """How far out the last contact reached, and a bit, as a part of the depth; 0 if there was none."""
        return 0.0 if self.start is None else float(np.max(self.start.gap[self.start.contact], initial=0.0)) / (AT_END * depth)


def resolve(
    a: Side, b: Side, mode: str = "master", *, level: int = 0, accuracy: float | None = None, start: ContactResult | None = None,
    margin: float | None = None, rounds: int | None = None, tolerance: float = lcp.ROUGH,
) -> ContactResult:  # fmt: skip
    """Forces, displacements and load of two objects at their positions.

    level      0: all samples; 1, 2, ...: clusters of them (coarse_to_fine.py)
    accuracy   instead of a level: from coarse to fine until the wrench changes by less than this part
    start      result of the last step, of the same surfaces
    margin     of the depth: samples outside that are nodes too; None: none if pushes never lift, else half and what proves necessary
    rounds     with the surfaces where they came to be; None: 3 in split, else until `tolerance`, at most 8
    tolerance  overlap left, as a part of the depth
    """
    if mode not in MODES:
        raise PliantError(f"There is no mode '{mode}': {nearest(mode, MODES)}")
    if a.response is None and b.response is None:
        raise PliantError("Both objects are rigid: at least one must give way; give it a response.")
    task = Task((a, b), mode, level, margin, rounds or (SPLIT if mode == "split" else ROUNDS), tolerance, start)
    if accuracy is not None:
        return _climbed(task, accuracy)
    return _split(task) if mode == "split" else _shared(task)


def _climbed(task: Task, accuracy: float) -> ContactResult:
    """Resolve level after level until the wrench changes by less than `accuracy`; the levels are in the result.

    The pressure found on one level is the start of the next. A start spares the levels coarser than its own.
    """
    start = task.start
    first = levels_of(*task.whole) - 1 if start is None else start.level
    found, rungs = start, []
    for level in range(first, -1, -1):
        begin = time.process_time()
        here = replace(task, level=level, start=found)
        last, found = found, _split(here) if task.mode == "split" else _shared(here)
        change = _change(last, found) if last is not None and (last is not start or level != first) else np.inf
        seconds = time.process_time() - begin
        nodes = sum(len(side.nodes) for side in here.sides if side.nodes is not None)
        rungs.append(Rung(nodes, len(found.P), int(found.contact.sum()), found.force, change, found.iterations, seconds))
        if change <= accuracy or (start is not None and level == first):
            break
    assert found is not None
    return replace(found, levels=tuple(rungs))


def _change(one: ContactResult, two: ContactResult) -> float:
    """Difference of two wrenches about the same point, as a part of the force (and of the force times the size of the contact)."""
    if two.force == 0.0:
        return 0.0 if one.force == 0.0 else np.inf
    about = two.centre
    turn = np.sqrt(two.area / np.pi)
    d: Floats = (one.wrench_a(about) - two.wrench_a(about)) / np.array([1.0, 1.0, 1.0, turn, turn, turn])
    return float(np.linalg.norm(d)) / two.force


# ------------------------------------------------------------------------------------------------------------------- nodes that both feel


def _shared(task: Task) -> ContactResult:
    """Modes master and merged. Where the response is positive no nodes beyond those that overlap are needed (theory/quasi-rigid 6.2)."""
    positive, nodes = task.response.positive, task.nodes(0.0)
    depth = nodes.depth
    if len(nodes) == 0:
        return apart(nodes, task)
    inner = task.margin if task.margin is not None else 0.0 if positive else MARGIN
    wide = inner if positive else max(inner, MARGIN, task.reached(depth))
    if wide > 0.0:
        nodes = task.nodes(wide * depth)
    if len(nodes) > (COARSE if task.level else lcp.ACTIVE_SET):
        return _many(task, nodes, wide)
    force, grown, iterations = task.started(nodes), 0, 0
    within = np.flatnonzero((nodes.gap <= inner * depth) | (False if force is None else force > 0.0))
    rough = not positive  # who takes part is found roughly first, and checked exactly in the end
    problem: Problem | None = None
    while True:
        if problem is None:
            problem = task.problem(nodes.at(within))
        found = _solved(problem, None if force is None else force[within], rough)
        iterations += found.iterations
        if positive or (grown >= GROWTH and not rough):
            break
        force = np.zeros(len(nodes))
        force[within] = found.P
        more, far = lifted(problem, found, nodes, within, (lcp.ROUGH if rough else EXACT) * depth, wide * depth)
        if grown >= GROWTH or (len(more) == len(within) and not far):
            if not rough:
                break
            rough = False
            continue
        grown += 1
        if far:
            wide *= 2.0
            nodes, more, force = farther(task, wide * depth, nodes, more, force)
        within, problem = more, None
    return settled(problem, found, task, grown, iterations, depth)


def farther(task: Task, margin: float, nodes: Nodes, within: Ints, force: Floats) -> tuple[Nodes, Ints, Floats]:
    """(nodes, within, force) of nodes within a larger margin [m]."""
    more = task.nodes(margin)
    return more, np.flatnonzero(nodes.at(within).places(more) >= 0), mapped(nodes.owner, nodes.sample, force, more)


def _solved(problem: Problem, start: Floats | None, rough: bool) -> lcp.Solution:
    """Forces; only nearly right if rough, and then quicker."""
    if rough and len(problem.nodes) > FEW:
        return lcp.solve(problem.K, problem.nodes.gap, "conjugate-gradients", start, tolerance=lcp.CLOSE)
    return exactly(problem.K, problem.nodes.gap, start)


def exactly(K: Operator, q: Floats, start: Floats | None) -> lcp.Solution:
    """Forces to rounding, or of many nodes, whose matrix is compressed too, to 1e-5 of the depth."""
    return lcp.solve(K, q, start=start, tolerance=1e-8 if K.size <= lcp.ACTIVE_SET else lcp.NEARLY)


def settled(problem: Problem, found: lcp.Solution, task: Task, grown: int, iterations: int, depth: float) -> ContactResult:
    """Go on until the moved nodes lie on the other surface."""
    nodes, q, facing, rounds = problem.nodes, problem.nodes.gap, problem.nodes.facing, 1
    of_a = nodes.owner == 0
    while True:
        raised = found.s - q
        u = raised - problem.added(found.P)
        n, y, u_a, u_b = problem.met(found.P, u, facing)
        distance, normals, valid = problem.feet(y)
        s = np.where(valid, distance / slant(n, normals) + np.where(of_a, u_b, u_a) + nodes.rise, found.s)
        left = float(max(-np.min(s, initial=0.0), np.max(np.abs(s[found.contact]), initial=0.0))) / depth
        if left <= task.tolerance or rounds >= task.rounds:
            break
        q, facing, rounds = s - raised, np.where(valid[:, None], normals, facing), rounds + 1
        found = exactly(problem.K, q, found.P)
        iterations += found.iterations
    total = (np.sum(found.P[of_a]), np.sum(found.P[~of_a])) if task.mode == "merged" else (found.P.sum(),) * 2
    return ContactResult(
        nodes.owner, nodes.sample, nodes.points, y, n, problem.areas, nodes.gap - nodes.rise, found.P, s, u_a, u_b, found.status, task.mode,
        iterations, rounds, grown, left, (float(total[0]), float(total[1])),
        spikes(problem.sides, nodes.owner, nodes.sample, np.where(of_a, u_a, u_b), found.contact),
        nodes.steep, nodes.off, ((np.arange(len(nodes)), problem.K),), level=task.level,
    )  # fmt: skip


def apart(nodes: Nodes, task: Task) -> ContactResult:
    """Nothing touches."""
    none = np.zeros(0)
    return ContactResult(
        nodes.owner, nodes.sample, nodes.points, nodes.points, nodes.normals, nodes.areas, nodes.gap, none, none, none, none, lcp.APART,
        task.mode, 0, 0, 0, 0.0, (0.0, 0.0), np.zeros(0, np.int64), nodes.steep, nodes.off, level=task.level,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------- thousands of nodes


def _many(task: Task, nodes: Nodes, wide: float) -> ContactResult:
    """Forces on the nodes, of which all nearer than `wide` of the depth are given."""
    depth, iterations, grown = nodes.depth, 0, 0
    force = task.started(nodes)
    if force is None:
        known = sketch(task, wide * depth, task.level + 2)
        if known is not None and known.margin > wide * depth:
            wide = known.margin / depth
            nodes = task.nodes(known.margin)
        force = np.zeros(len(nodes)) if known is None else within_rim(known.on(nodes, len(task.owners)))
    within = np.flatnonzero((nodes.gap <= 0.0) | (force > 0.0))
    if not task.response.positive:
        within = ringed(task.sides, nodes, ringed(task.sides, nodes, within))
    while True:
        problem = task.problem(nodes.at(within))
        tolerance = lcp.NEARLY * depth / float(np.max(np.abs(problem.nodes.gap)))  # of the depth, not of the widest gap
        found = lcp.solve(problem.K, problem.nodes.gap, "conjugate-gradients", force[within], tolerance=tolerance)
        iterations += found.iterations
        if task.response.positive or grown >= GROWTH:
            break
        more, far = lifted(problem, found, nodes, within, lcp.ROUGH * depth, wide * depth, tree_displacement)
        if len(more) == len(within) and not far:
            break
        force = np.zeros(len(nodes))
        force[within] = found.P
        grown, within = grown + 1, more
        if far:
            wide *= 2.0
            nodes, within, force = farther(task, wide * depth, nodes, within, force)
    return settled(problem, found, task, grown, iterations, depth)


@dataclass(frozen=True)
class Sketch:
    """Forces on a coarse level."""

    points: Floats
    areas: Floats
    P: Floats
    margin: float  # [m] within which samples may take part

    def on(self, nodes: Nodes, halves: int) -> Floats:
        """Forces on finer nodes."""
        return carried(self.points, self.areas, self.P, nodes.points, nodes.areas / halves)


def sketch(task: Task, margin: float, level: int) -> Sketch | None:
    """Forces on a coarser level, and how far out they reach; None if there are no such levels."""
    if level >= levels_of(*task.whole):
        return None
    sides, halves = (coarser(task.whole[0], level), coarser(task.whole[1], level)), len(task.owners)
    known = sketch(task, margin, level + 1) if len(gather(sides, task.owners, margin)) > COARSE else None
    margin = margin if known is None else known.margin
    while True:
        nodes = gather(sides, task.owners, margin)
        if len(nodes) == 0 or nodes.depth == 0.0:
            return None
        problem = Problem.of(sides, nodes, task.response, halves)
        start = None if known is None else known.on(nodes, halves)
        found = lcp.solve(problem.K, nodes.gap, "conjugate-gradients", start, tolerance=lcp.ROUGH)
        known = Sketch(nodes.points, problem.areas, found.P, margin)
        top = float(np.max(nodes.gap[found.contact], initial=0.0))
        if task.response.positive or top <= AT_END * margin or margin > nodes.depth * 2.0**GROWTH:
            return known if found.solved else None
        margin *= 2.0


# ------------------------------------------------------------------------------------------------------- the paper's variant: mode split


def _split(task: Task) -> ContactResult:
    """A problem on each surface, with the other one where it came to be, three times [Pauly, Pai, Guibas 2004, 4.2];
    theory/quasi-rigid 7.2. The mean of both forces."""
    if task.sides[0].nodes is None or task.sides[1].nodes is None:
        raise PliantError("Mode split solves a problem on either surface, so both need samples: use master with an exact shape.")
    halves = [_half(task, i) for i in (0, 1)]
    if min(len(h.nodes) for h in halves) == 0:
        return apart(halves[0].nodes, task)
    q, depth = [h.nodes.gap for h in halves], max(h.nodes.depth for h in halves)
    found: list[lcp.Solution] = []
    iterations, rounds = 0, 0
    while True:
        found = [lcp.solve(h.K, q[i], start=found[i].P if found else task.started(h.nodes)) for i, h in enumerate(halves)]
        iterations, rounds = iterations + found[0].iterations + found[1].iterations, rounds + 1
        state = [_moved(halves, found, q, i) for i in (0, 1)]
        s = [each[0] for each in state]
        left = max(float(max(-np.min(s[i]), np.max(np.abs(s[i][found[i].contact]), initial=0.0))) / depth for i in (0, 1))
        if left <= task.tolerance or rounds >= task.rounds:
            break
        q = [s[i] - (found[i].s - q[i]) for i in (0, 1)]
    return replace(_mean(task, halves, found, state), iterations=iterations, rounds=rounds, penetration=left)


def _half(task: Task, i: int) -> Problem:
    nodes = gather(task.sides, (i,), 0.0)
    margin = task.margin if task.margin is not None else 0.0 if task.response.positive else MARGIN
    if margin > 0.0 and len(nodes):
        nodes = gather(task.sides, (i,), margin * nodes.depth)
    return Problem.of(task.sides, nodes, task.response, 1)


def _moved(halves: list[Problem], found: list[lcp.Solution], q: list[Floats], i: int) -> tuple[Floats, ...]:
    """(separation, moved nodes, contact normals, own displacement, partner's) of the nodes of side i, moved along their own normals."""
    mine, other, sides = halves[i], halves[1 - i], halves[i].sides
    here, there = found[i], found[1 - i]
    pair = sides if i == 0 else (sides[1], sides[0])
    u = shares(pair, here.s - q[i], mine.blobs, here.P)[0]
    y = mine.nodes.points - u[:, None] * mine.nodes.normals
    feet = sides[1 - i].project(y, mine.nodes.start)
    u_other, response = np.zeros(len(y)), sides[1 - i].response
    if response is not None:
        source = np.ascontiguousarray(other.blobs[:, there.contact])
        u_other = displacement(blobs(feet.points, mine.areas), source, there.P[there.contact], response)
    s = np.where(feet.valid, feet.distance + u_other, here.s)
    n = mine.nodes.normals - np.where(feet.valid[:, None], feet.normals, mine.nodes.facing)
    n *= (1.0 if i == 0 else -1.0) / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
    return s, y, n, u, u_other


def _mean(task: Task, halves: list[Problem], found: list[lcp.Solution], state: list[tuple[Floats, ...]]) -> ContactResult:
    """Both answers with half their forces and areas: pressures are those found, the wrench is the mean, (w_A - w_B)/2."""
    one, two = halves[0].nodes, halves[1].nodes
    join = lambda pick: np.concatenate([pick(0), pick(1)])
    owner, sample = (np.concatenate([getattr(one, name), getattr(two, name)]) for name in ("owner", "sample"))
    contact, own = join(lambda i: found[i].contact), join(lambda i: state[i][3])
    status = next((f.status for f in found if not f.solved), found[0].status)
    places = np.arange(len(owner))
    return ContactResult(
        owner, sample, join(lambda i: halves[i].nodes.points), join(lambda i: state[i][1]), join(lambda i: state[i][2]),
        0.5 * join(lambda i: halves[i].areas), join(lambda i: halves[i].nodes.gap), 0.5 * join(lambda i: found[i].P),
        join(lambda i: state[i][0]), np.concatenate([state[0][3], state[1][4]]), np.concatenate([state[0][4], state[1][3]]), status,
        "split", 0, 0, 0, 0.0, (float(found[0].P.sum()), float(found[1].P.sum())),
        spikes(task.sides, owner, sample, own, contact), one.steep + two.steep, one.off + two.off,
        ((places[owner == 0], halves[0].K), (places[owner == 1], halves[1].K)), level=task.level,
    )  # fmt: skip
