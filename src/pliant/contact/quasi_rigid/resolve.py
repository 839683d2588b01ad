"""The static contact of two objects that give way locally [Pauly, Pai, Guibas 2004, sections 3 and 4]; 2.4-2.8 of the methods page.

    resolve(Side(foot, VolumePreserving(c, b)), Side(Exact("plane")))

Modes:
    master   one set of nodes, that of the finer surface, carries forces that both objects feel: action is reaction. The default.
    merged   nodes of both, each with half its area; the paper's equation (10)
    split    the paper's practical version: a problem for each surface against the other as it is by now, three times. The two sums of
             forces may drift apart (`sides`), because only the sum of both displacements is determined; the mean is reported.

Nodes move, and forces act, along the contact normal C_B n_A - C_A n_B: a rigid partner's own normal, the paper's mean normal for equal
materials. In split they move along their own normals, as in the paper. What the straight motion leaves of the overlap is put into the
next round: q = s - K P with s the true distance of the moved nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.contact.quasi_rigid import lcp
from pliant.contact.quasi_rigid.active import NODE_ARRAYS, Nodes, active, around
from pliant.contact.quasi_rigid.coarse import Members
from pliant.contact.quasi_rigid.galerkin import blobs, displacement
from pliant.contact.quasi_rigid.operators import Operator
from pliant.contact.quasi_rigid.patches import operator
from pliant.contact.quasi_rigid.response import Response, Sum
from pliant.contact.quasi_rigid.result import ContactResult
from pliant.contact.quasi_rigid.side import Side
from pliant.contact.quasi_rigid.traction import carried

MODES = ("master", "split", "merged")
INNER, WIDE = 0.3, 0.5  # of the depth: nodes of the first problem, and those looked at around it, where a push can lift
ROUGH, EXACT = 1e-3, 1e-9  # of the depth: overlap of other nodes that counts, while looking for nodes and in the end
FEW = 200  # nodes that are solved exactly at once
COARSE = 300  # nodes of a coarse level beyond which gradients are good enough
GROWTH = 20  # enlargements at most
ROUNDS, SPLIT = 8, 3
RIDGE = 5e-3  # of the diagonal, where nodes of both sides may lie at one place: they then share the force equally
AROUND = 9  # neighbours of a node, and itself
SLANT = 0.3  # least cosine between the normals of a contact and of a foot
SPIKE = 0.5  # displacement times curvature

Pair = tuple[Side, Side]


@dataclass(frozen=True)
class Options:
    """How to solve; see `resolve`."""

    margin: float | None
    rounds: int
    tolerance: float
    start: ContactResult | None
    level: int
    whole: Pair  # the two objects with all their samples


def resolve(
    a: Side,
    b: Side,
    mode: str = "master",
    *,
    level: int = 0,
    accuracy: float | None = None,
    start: ContactResult | None = None,
    margin: float | None = None,
    rounds: int | None = None,
    tolerance: float = 1e-3,
) -> ContactResult:
    """Forces, displacements and load of two objects at their positions.

    level      0: all samples; 1, 2, ...: clusters of them (levels.py)
    accuracy   instead of a level: from coarse to fine until the wrench changes by less than this part
    start      result of the last step, of the same surfaces
    margin     of the depth: samples outside that are nodes too; None: none if pushes never lift, else 0.3 and what proves necessary
    rounds     with the surfaces where they came to be; None: 3 in split, else until `tolerance`, at most 8
    tolerance  overlap left, as a part of the depth
    """
    if mode not in MODES:
        raise PliantError(f"There is no mode '{mode}': {nearest(mode, MODES)}")
    if a.response is None and b.response is None:
        raise PliantError("Both objects are rigid: at least one must give way; give it a response.")
    if accuracy is not None:
        from pliant.contact.quasi_rigid.levels import climb

        return climb(a, b, mode, accuracy, start=start, margin=margin, rounds=rounds, tolerance=tolerance)
    from pliant.contact.quasi_rigid.levels import coarser

    sides = coarser(a, level), coarser(b, level)
    options = Options(margin, rounds or (SPLIT if mode == "split" else ROUNDS), tolerance, start, level, (a, b))
    if mode == "split":
        from pliant.contact.quasi_rigid.split import split

        return split(sides, options)
    if mode == "merged":
        return _shared(sides, (0, 1), options, mode)
    return _shared(sides, (master(*sides),), options, mode)


def master(a: Side, b: Side) -> int:
    """Which side's nodes carry the forces: the finer, or the only one that has samples."""
    if a.nodes is None and b.nodes is None:
        raise PliantError("Neither object has samples: at least one must be a PointSurface, or have `samples`.")
    if a.nodes is None or b.nodes is None:
        return 1 if a.nodes is None else 0
    return int(b.nodes.area / len(b.nodes) < a.nodes.area / len(a.nodes))


# ------------------------------------------------------------------------------------------------ the two objects together


def together(sides: Pair) -> Response:
    """The response of both."""
    found = [side.response for side in sides if side.response is not None]
    return found[0] if len(found) == 1 else Sum(tuple(found))


def shares(sides: Pair, u: Floats, nodes: Floats, force: Floats) -> tuple[Floats, Floats]:
    """How far each of the two gave way of u [m] together."""
    a, b = sides
    if a.response is None or b.response is None:
        return (np.zeros_like(u), u) if a.response is None else (u, np.zeros_like(u))
    (one, no), (two, none) = a.response.code, b.response.code
    if len(no) == len(none) == 0 and one.shape == two.shape and np.array_equal(one[:, 1:], two[:, 1:]):
        part = a.compliance / (a.compliance + b.compliance)
        if np.allclose(one[:, 0], part * (one[:, 0] + two[:, 0]), rtol=1e-12):
            return part * u, (1.0 - part) * u
    mine = displacement(nodes, np.ascontiguousarray(nodes[:, force > 0.0]), force[force > 0.0], a.response)
    return mine, u - mine


def contact_normals(sides: Pair, owner: Ints, mine: Floats, facing: Floats) -> Floats:
    """Unit vectors from A to B, C_B n_A - C_A n_B: the softer takes the shape of the harder."""
    of_b = (owner == 1)[:, None]
    n_a, n_b = np.where(of_b, facing, mine), np.where(of_b, mine, facing)
    n = sides[1].compliance * n_a - sides[0].compliance * n_b
    return n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)


def slant(n: Floats, facing: Floats) -> Floats:
    """Cosine between contact normals and those at the feet: a distance over it is the way along the contact normal, which nodes go."""
    return np.maximum(np.abs(np.sum(n * facing, axis=1)), SLANT)


def feet_of(sides: Pair, owner: Ints, points: Floats, start: Ints) -> tuple[Floats, Floats, np.ndarray]:
    """(distance, normals, valid) of points on the surface opposite to their owner's."""
    distance, normals, valid = np.empty(len(points)), np.empty_like(points), np.ones(len(points), bool)
    for i in (0, 1):
        mine = np.flatnonzero(owner == i)
        if len(mine):
            found = sides[1 - i].project(points[mine], start[mine])
            distance[mine], normals[mine], valid[mine] = found.distance, found.normals, found.valid
    return distance, normals, valid


# ------------------------------------------------------------------------------------------------ nodes that both feel


def gather(sides: Pair, owners: tuple[int, ...], margin: float) -> tuple[Ints, Nodes]:
    """Nodes of some sides nearer than margin [m] to the other: (owner, nodes)."""
    found = [active(sides[i], sides[1 - i], margin) for i in owners]
    owner = np.repeat(owners, [len(each) for each in found])
    joined = {name: np.concatenate([getattr(each, name) for each in found]) for name in NODE_ARRAYS}
    return owner, Nodes(**joined, steep=sum(n.steep for n in found), off=sum(n.off for n in found))


def _shared(sides: Pair, owners: tuple[int, ...], options: Options, mode: str) -> ContactResult:
    response = together(sides)
    owner, nodes = gather(sides, owners, 0.0)
    depth = nodes.depth
    if len(nodes) == 0:
        return apart(nodes, owner, mode, options.level)
    inner = options.margin if options.margin is not None else 0.0 if response.positive else INNER
    wide = inner if response.positive else max(inner, WIDE, _reached(options.start, depth))
    if wide > 0.0:
        owner, nodes = gather(sides, owners, wide * depth)
    if len(nodes) > (COARSE if options.level else lcp.ACTIVE_SET):
        from pliant.contact.quasi_rigid.many import many

        return many(sides, owners, options, mode, owner, nodes, response, wide)
    force, grown, iterations = started(options, owner, nodes), 0, 0
    within = np.flatnonzero((nodes.gap <= inner * depth) | (False if force is None else force > 0.0))
    rough = not response.positive  # who takes part is found roughly first, and checked exactly in the end
    problem: Problem | None = None
    while True:
        if problem is None:
            problem = Problem.of(sides, owner[within], nodes.at(within), response, len(owners))
        found = _solved(problem, None if force is None else force[within], rough)
        iterations += found.iterations
        if response.positive or (grown >= GROWTH and not rough):
            break
        force = np.zeros(len(owner))
        force[within] = found.P
        low = ROUGH if rough else EXACT
        more, far = lifted(problem, found, sides, owner, nodes, within, response, depth, wide, low)
        if grown >= GROWTH or (len(more) == len(within) and not far):
            if not rough:
                break
            rough = False
            continue
        grown += 1
        if far:
            wide *= 2.0
            owner, nodes, more, force = farther(sides, owners, wide * depth, owner, nodes, more, force)
        within, problem = more, None
    return settled(problem, found, options, mode, grown, iterations, depth)


def farther(
    sides: Pair, owners: tuple[int, ...], margin: float, owner: Ints, nodes: Nodes, within: Ints, force: Floats
) -> tuple[Ints, Nodes, Ints, Floats]:
    """(owner, nodes, within, force) of nodes within a larger margin [m]."""
    chosen, known = (owner[within], nodes.sample[within]), (owner, nodes.sample, force)
    owner, nodes = gather(sides, owners, margin)
    return owner, nodes, np.flatnonzero(_same(chosen, (owner, nodes.sample)) >= 0), mapped(known, owner, nodes.sample)


def _solved(problem: Problem, start: Floats | None, rough: bool) -> lcp.Solution:
    """Forces; only nearly right if rough, and then quicker."""
    if rough and len(problem.nodes) > FEW:
        return lcp.solve(problem.K, problem.nodes.gap, "conjugate-gradients", start, tolerance=0.1 * ROUGH)
    return exactly(problem.K, problem.nodes.gap, start)


def exactly(K: Operator, q: Floats, start: Floats | None) -> lcp.Solution:
    """Forces to rounding, or of many nodes, whose matrix is compressed too, to 1e-5 of the depth."""
    return lcp.solve(K, q, start=start, tolerance=1e-8 if K.size <= lcp.ACTIVE_SET else lcp.NEARLY)


def lifted(
    problem: Problem, found: lcp.Solution, sides: Pair, owner: Ints, nodes: Nodes, within: Ints, response: Response, depth: float,
    wide: float, tolerance: float, displaced: Callable[[Floats, Floats, Floats, Response], Floats] = displacement,
) -> tuple[Ints, bool]:  # fmt: skip
    """Nodes of the next problem: those that the contact lifts into the partner, and a ring; and whether to look farther out."""
    rest = np.setdiff1d(np.arange(len(nodes)), within, assume_unique=True)
    at_end = bool(np.any(found.contact & (problem.nodes.gap > 0.8 * wide * depth)))
    if len(rest) == 0:
        return within, at_end
    loaded, target = found.contact, blobs(nodes.points[rest], nodes.areas[rest])
    source = np.ascontiguousarray(problem.blobs[:, loaded])
    s = nodes.gap[rest] + displaced(target, source, found.P[loaded], response)
    low = rest[s < -tolerance * depth]
    if len(low) == 0:
        return within, at_end
    return np.union1d(within, ring(sides, owner, nodes, low)), at_end or bool(np.any(nodes.gap[low] > 0.8 * wide * depth))


def ring(sides: Pair, owner: Ints, nodes: Nodes, chosen: Ints) -> Ints:
    """Chosen nodes and those next to them."""
    found = [chosen]
    for i in (0, 1):
        mine = np.flatnonzero(owner == i)
        found.append(mine[around(sides[i], nodes.sample[chosen[owner[chosen] == i]], nodes.sample[mine])] if len(mine) else mine)
    return np.unique(np.concatenate(found))


@dataclass(frozen=True)
class Problem:
    """Nodes whose forces both objects feel."""

    sides: Pair
    owner: Ints
    nodes: Nodes
    areas: Floats  # half of the samples' areas where nodes of both sides take part
    blobs: Floats
    K: Operator

    @classmethod
    def of(cls, sides: Pair, owner: Ints, nodes: Nodes, response: Response, parts: int) -> Problem:
        """Each side's forces are spread over the whole areas of its samples, so that they cover the surface wherever the other's lie."""
        areas, at = nodes.areas / parts, nodes.points
        if parts == 2:  # where the surfaces will meet
            c = np.array([sides[0].compliance, sides[1].compliance])
            n = contact_normals(sides, owner, nodes.normals, nodes.facing)
            step = np.where(owner == 0, 1.0, -1.0) * c[owner] / c.sum() * nodes.gap / slant(n, nodes.facing)
            at = at + step[:, None] * n
        outward = np.where((owner == 1)[:, None], -nodes.normals, nodes.normals)
        near, ridge = _neighbours(sides, owner, nodes), RIDGE if parts == 2 else 0.0
        if all(side.parts is None for side in sides):
            K = operator(at, outward, nodes.areas, response, near=near, ridge=ridge)
            return cls(sides, owner, nodes, areas, blobs(at, nodes.areas), K)
        members = [Members.of(sides[i], nodes.sample[owner == i], (at - nodes.points)[owner == i], parts) for i in np.unique(owner)]
        both = members[0] if len(members) == 1 else Members.joined(*members)
        return cls(sides, owner, nodes, areas, both.blobs, operator(at, outward, nodes.areas, response, both, near, ridge))

    def met(self, force: Floats, u: Floats, facing: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """(contact normals, moved nodes, u_A, u_B)."""
        u_a, u_b = shares(self.sides, u, self.blobs, force)
        n = contact_normals(self.sides, self.owner, self.nodes.normals, facing)
        step = np.where(self.owner == 0, -u_a, u_b)
        return n, self.nodes.points + step[:, None] * n, u_a, u_b


def _neighbours(sides: Pair, owner: Ints, nodes: Nodes) -> Ints | None:
    """(p, 2) pairs of nodes that are neighbours on their surface; None if nodes of both take part."""
    side = sides[int(owner[0])] if len(owner) else None
    if side is None or side.nodes is None or owner[0] != owner[-1]:
        return None
    place = np.full(len(side.nodes), -1)
    place[nodes.sample] = np.arange(len(nodes))
    near = place[side.nodes.graph[nodes.sample, 1:AROUND]]
    one = np.broadcast_to(np.arange(len(nodes))[:, None], near.shape)
    return np.stack([one[near >= 0], near[near >= 0]], axis=1)


def settled(
    problem: Problem, found: lcp.Solution, options: Options, mode: str, grown: int, iterations: int, depth: float
) -> ContactResult:
    """Go on until the moved nodes lie on the other surface."""
    nodes, q, facing, rounds = problem.nodes, problem.nodes.gap, problem.nodes.facing, 1
    while True:
        u = found.s - q
        n, y, u_a, u_b = problem.met(found.P, u, facing)
        distance, normals, valid = feet_of(problem.sides, problem.owner, y, nodes.start)
        s = np.where(valid, distance / slant(n, normals) + np.where(problem.owner == 0, u_b, u_a), found.s)
        left = float(max(-np.min(s, initial=0.0), np.max(np.abs(s[found.contact]), initial=0.0))) / depth
        if left <= options.tolerance or rounds >= options.rounds:
            break
        q, facing, rounds = s - u, np.where(valid[:, None], normals, facing), rounds + 1
        found = exactly(problem.K, q, found.P)
        iterations += found.iterations
    total = tuple(float(np.sum(found.P[problem.owner == i])) for i in (0, 1)) if mode == "merged" else (found.P.sum(),) * 2
    return ContactResult(
        problem.owner, nodes.sample, nodes.points, y, n, problem.areas, nodes.gap, found.P, s, u_a, u_b, found.status, mode, iterations,
        rounds, grown, left, (float(total[0]), float(total[1])),
        spikes(problem.sides, problem.owner, nodes.sample, np.where(problem.owner == 0, u_a, u_b), found.contact),
        nodes.steep, nodes.off, ((np.arange(len(nodes)), problem.K),), level=options.level,
    )  # fmt: skip


def apart(nodes: Nodes, owner: Ints, mode: str, level: int) -> ContactResult:
    """Nothing touches."""
    none = np.zeros(0)
    return ContactResult(
        owner, nodes.sample, nodes.points, nodes.points, nodes.normals, nodes.areas, nodes.gap, none, none, none, none, lcp.APART, mode,
        0, 0, 0, 0.0, (0.0, 0.0), np.zeros(0, np.int64), nodes.steep, nodes.off, level=level,
    )  # fmt: skip


def spikes(sides: Pair, owner: Ints, sample: Ints, u: Floats, contact: np.ndarray) -> Ints:
    """Nodes in contact whose displacement exceeds half the radius of curvature, from the normals of their neighbours."""
    found = []
    for i in (0, 1):
        side, mine = sides[i], np.flatnonzero((owner == i) & contact)
        if len(mine) and side.nodes is not None:
            near = side.nodes.graph[sample[mine], 1:7]
            turn = np.linalg.norm(side.nodes.normals[near] - side.nodes.normals[sample[mine]][:, None], axis=2)
            far = np.linalg.norm(side.nodes.points[near] - side.nodes.points[sample[mine]][:, None], axis=2)
            curvature = np.mean(turn / np.maximum(far, 1e-300), axis=1)
            found.append(mine[u[mine] * curvature > SPIKE])
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


# ------------------------------------------------------------------------------------------------ the last step


def started(options: Options, owner: Ints, nodes: Nodes) -> Floats | None:
    """Forces of the last result at these nodes: of the same samples, or carried over from another level."""
    last = options.start
    if last is None or not np.any(last.contact):
        return None
    if last.level == options.level:
        return mapped((last.owner, last.sample, last.P), owner, nodes.sample)
    force = carried(last.points, last.areas, last.P, nodes.points, nodes.areas)
    return np.where(force > 0.05 * np.max(force, initial=0.0), force, 0.0)


def _reached(last: ContactResult | None, depth: float) -> float:
    """How far out the last contact reached, and a bit, as a part of the depth; 0 if there was none."""
    return 0.0 if last is None else 1.4 * float(np.max(last.gap[last.contact], initial=0.0)) / depth


def _same(known: tuple[Ints, Ints], wanted: tuple[Ints, Ints]) -> Ints:
    """Places of wanted (owner, sample) among the known ones, -1 if they are not there."""
    one, two = 2 * known[1] + known[0], 2 * wanted[1] + wanted[0]
    order = np.argsort(one, kind="stable")
    place = np.minimum(np.searchsorted(one[order], two), len(one) - 1)
    return np.where(one[order][place] == two, order[place], -1) if len(one) else np.full(len(two), -1)


def mapped(known: tuple[Ints, Ints, Floats], owner: Ints, sample: Ints) -> Floats:
    """Values known for some (owner, sample) at others, 0 where they are not known."""
    place = _same(known[:2], (owner, sample))
    return np.where(place >= 0, known[2][place], 0.0)
