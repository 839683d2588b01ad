"""The paper's practical version of a contact: a problem on each surface, with the other one where it came to be, three times
[Pauly, Pai, Guibas 2004, 4.2]; 2.5 of the methods page. `resolve(..., mode="split")`."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.quasi_rigid import lcp
from pliant.contact.quasi_rigid.galerkin import blobs, displacement
from pliant.contact.quasi_rigid.resolve import WIDE, Options, Pair, Problem, apart, gather, shares, spikes, started, together
from pliant.contact.quasi_rigid.response import Response
from pliant.contact.quasi_rigid.result import ContactResult


def split(sides: Pair, options: Options) -> ContactResult:
    """Both problems in turn; the mean of their forces."""
    if sides[0].nodes is None or sides[1].nodes is None:
        raise PliantError("Mode split solves a problem on either surface, so both need samples: use master with an exact shape.")
    response = together(sides)
    halves = [_half(sides, i, response, options) for i in (0, 1)]
    if min(len(h.nodes) for h in halves) == 0:
        return apart(halves[0].nodes, halves[0].owner, "split", options.level)
    q, depth = [h.nodes.gap for h in halves], max(h.nodes.depth for h in halves)
    found: list[lcp.Solution] = []
    iterations, rounds = 0, 0
    while True:
        found = [lcp.solve(h.K, q[i], start=found[i].P if found else started(options, h.owner, h.nodes)) for i, h in enumerate(halves)]
        iterations, rounds = iterations + found[0].iterations + found[1].iterations, rounds + 1
        state = [_moved(halves, found, q, i) for i in (0, 1)]
        s = [each[0] for each in state]
        left = max(float(max(-np.min(s[i]), np.max(np.abs(s[i][found[i].contact]), initial=0.0))) / depth for i in (0, 1))
        if left <= options.tolerance or rounds >= options.rounds:
            break
        q = [s[i] - (found[i].s - q[i]) for i in (0, 1)]
    return _mean(sides, halves, found, state, iterations, rounds, left, options)


def _half(sides: Pair, i: int, response: Response, options: Options) -> Problem:
    owner, nodes = gather(sides, (i,), 0.0)
    margin = options.margin if options.margin is not None else 0.0 if response.positive else WIDE
    if margin > 0.0 and len(nodes):
        owner, nodes = gather(sides, (i,), margin * nodes.depth)
    return Problem.of(sides, owner, nodes, response, 1)


def _moved(halves: list[Problem], found: list[lcp.Solution], q: list[Floats], i: int) -> tuple[Floats, ...]:
    """(separation, moved nodes, contact normals, own displacement, partner's) of the nodes of side i, moved along their own normals."""
    mine, other, sides = halves[i], halves[1 - i], halves[i].sides
    here, there = found[i], found[1 - i]
    pair = sides if i == 0 else (sides[1], sides[0])
    u = shares(pair, here.s - q[i], mine.blobs, here.P)[0]
    y = mine.nodes.points - u[:, None] * mine.nodes.normals
    feet = sides[1 - i].project(y, mine.nodes.start)
    u_other = np.zeros(len(y))
    if sides[1 - i].response is not None:
        source = np.ascontiguousarray(other.blobs[:, there.contact])
        u_other = displacement(blobs(feet.points, mine.areas), source, there.P[there.contact], sides[1 - i].response)  # type: ignore[arg-type]
    s = np.where(feet.valid, feet.distance + u_other, here.s)
    n = mine.nodes.normals - np.where(feet.valid[:, None], feet.normals, mine.nodes.facing)
    n *= (1.0 if i == 0 else -1.0) / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
    return s, y, n, u, u_other


def _mean(
    sides: Pair, halves: list[Problem], found: list[lcp.Solution], state: list[tuple[Floats, ...]], iterations: int, rounds: int,
    left: float, options: Options,
) -> ContactResult:  # fmt: skip
    """Both answers with half their forces and areas: pressures are those found, the wrench is the mean, (w_A - w_B)/2."""
    one, two = halves
    join = lambda pick: np.concatenate([pick(0), pick(1)])
    owner, contact = np.concatenate([one.owner, two.owner]), join(lambda i: found[i].contact)
    sample, own = join(lambda i: halves[i].nodes.sample), join(lambda i: state[i][3])
    status = next((f.status for f in found if not f.solved), found[0].status)
    places = np.arange(len(owner))
    return ContactResult(
        owner, sample, join(lambda i: halves[i].nodes.points), join(lambda i: state[i][1]), join(lambda i: state[i][2]),
        0.5 * join(lambda i: halves[i].areas), join(lambda i: halves[i].nodes.gap), 0.5 * join(lambda i: found[i].P),
        join(lambda i: state[i][0]), np.concatenate([state[0][3], state[1][4]]), np.concatenate([state[0][4], state[1][3]]), status,
        "split", iterations, rounds, 0, left, (float(found[0].P.sum()), float(found[1].P.sum())),
        spikes(sides, owner, sample, own, contact), one.nodes.steep + two.nodes.steep, one.nodes.off + two.nodes.off,
        ((places[owner == 0], one.K), (places[owner == 1], two.K)), level=options.level,
    )  # fmt: skip
