"""A contact of thousands of nodes: forces of coarser levels first, which tell who takes part, then one problem of these nodes.

`resolve` solves small problems several times, with more nodes each time, until none is lifted into the partner. With many nodes that costs
too much; the coarser levels know nearly all of them, and start the forces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.quasi_rigid import lcp
from pliant.contact.quasi_rigid.active import Nodes
from pliant.contact.quasi_rigid.levels import coarser, levels_of
from pliant.contact.quasi_rigid.resolve import GROWTH, ROUGH, Options, Pair, Problem, farther, gather, lifted, ring, settled, started
from pliant.contact.quasi_rigid.response import Response
from pliant.contact.quasi_rigid.result import ContactResult
from pliant.contact.quasi_rigid.traction import carried
from pliant.contact.quasi_rigid.tree_sum import tree_displacement

SKETCHED = 1e-3  # residual on coarser levels
FEW = 300  # nodes of a level that needs no coarser one
SMALL = 0.005  # of the largest force: what is carried over from a coarser level and is less, is beyond the rim
METHOD = "conjugate-gradients"
around_sum = partial(tree_displacement, opening=0.2)


def many(
    sides: Pair, owners: tuple[int, ...], options: Options, mode: str, owner: Ints, nodes: Nodes, response: Response, wide: float
) -> ContactResult:
    """Forces on the nodes, of which all nearer than `wide` of the depth are given."""
    depth, iterations, grown = nodes.depth, 0, 0
    force = started(options, owner, nodes)
    if force is None:
        known = sketch(options, owners, response, wide * depth, options.level + 2)
        if known is not None and known.margin > wide * depth:
            wide = known.margin / depth
            owner, nodes = gather(sides, owners, known.margin)
        force = np.zeros(len(nodes)) if known is None else known.on(nodes, len(owners))
    force[force < SMALL * np.max(force, initial=0.0)] = 0.0
    within = np.flatnonzero((nodes.gap <= 0.0) | (force > 0.0))
    if not response.positive:
        within = ring(sides, owner, nodes, ring(sides, owner, nodes, within))
    while True:
        problem = Problem.of(sides, owner[within], nodes.at(within), response, len(owners))
        tolerance = lcp.NEARLY * depth / float(np.max(np.abs(problem.nodes.gap)))  # of the depth, not of the widest gap
        found = lcp.solve(problem.K, problem.nodes.gap, METHOD, force[within], tolerance=tolerance)
        iterations += found.iterations
        if response.positive or grown >= GROWTH:
            break
        more, far = lifted(problem, found, sides, owner, nodes, within, response, depth, wide, ROUGH, around_sum)
        if len(more) == len(within) and not far:
            break
        force = np.zeros(len(nodes))
        force[within] = found.P
        grown, within = grown + 1, more
        if far:
            wide *= 2.0
            owner, nodes, within, force = farther(sides, owners, wide * depth, owner, nodes, within, force)
    return settled(problem, found, options, mode, grown, iterations, depth)


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


def sketch(options: Options, owners: tuple[int, ...], response: Response, margin: float, level: int) -> Sketch | None:
    """Forces on a coarser level, and how far out they reach; None if there are no such levels."""
    if level >= levels_of(*options.whole):
        return None
    sides = coarser(options.whole[0], level), coarser(options.whole[1], level)
    known = sketch(options, owners, response, margin, level + 1) if len(gather(sides, owners, margin)[0]) > FEW else None
    margin = margin if known is None else known.margin
    while True:
        owner, nodes = gather(sides, owners, margin)
        if len(nodes) == 0 or nodes.depth == 0.0:
            return None
        problem = Problem.of(sides, owner, nodes, response, len(owners))
        start = None if known is None else known.on(nodes, len(owners))
        found = lcp.solve(problem.K, nodes.gap, METHOD, start, tolerance=SKETCHED)
        known = Sketch(nodes.points, problem.areas, found.P, margin)
        top = float(np.max(nodes.gap[found.contact], initial=0.0))
        if response.positive or top <= 0.8 * margin or margin > nodes.depth * 2.0**GROWTH:
            return known if found.solved else None
        margin *= 2.0
