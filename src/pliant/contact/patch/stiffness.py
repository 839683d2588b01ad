"""How stiff a contact is per area (theory/patch 5): one number for all of what a pair shares, so that pressure goes with depth alone."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats
from pliant.contact.patch.surface import LAYER, Pairs, Surfaces
from pliant.detect.merged import Merged
from pliant.kernels import inline, kernel
from pliant.world.motion import Motion

TANGENTIAL = 0.1  # stiffness along the surface, in that along the normal: with 1 sticking and slipping change places in every step
SLIVER = 1e-9  # of the surface of the slave: rounding, no area to divide by
RIGID = 2000.0  # k dt^2 / m of rigid bodies on each other: they rest g dt^2 / 2000 deep


def stiffness(motion: Motion, surfaces: Surfaces, pairs: Pairs, found: Merged) -> tuple[Floats, Floats, Floats]:
    """Stiffness of contact per area of each pair [Pa/m], along the normal and across it, (k,) each; the area that the stiffness of each
    row stands for [m^2], (r,).

    Two soft bodies give way like a layer of 1 / LAYER of an element each. Elements of width h yield to a force on a corner by some
    F / (E h), however small the area it acts on; so a pair that shares less than h^2 is as stiff as if it were that much, and so is a tip,
    with what the area around it leaves of that. Rigid bodies have the stiffness at which the lighter one would sink
    g dt^2 / RIGID deep under its own weight; springs, which have no modulus and give way themselves, g dt^2.
    """
    bodies, frames, nodes = motion.bodies, motion.frames, motion.nodes
    give, mass = np.zeros((2, len(bodies)))
    _of_bodies(surfaces.layer, bodies.modulus, bodies.frame, frames.body, frames.mass, frames.inverse, nodes.body, nodes.mass, give, mass)
    (normal, across), span = np.empty((2, len(pairs))), np.empty(len(found))
    _of_pairs(
        give, mass, surfaces.layer, surfaces.node, surfaces.area, pairs.slave, pairs.master, pairs.apart, found.pair, found.gap, found.area,
        found.tip, pairs.springy, motion.dt, normal, across, span,
    )  # fmt: skip
    return normal, across, span


@kernel
def _of_bodies(layer, modulus, frame, frame_body, frame_mass, inverse, body, node_mass, give, mass):  # type: ignore[no-untyped-def]
    """Way under a unit of pressure [m/Pa], 0 of what gives no way, and mass to push against [kg]."""
    for b in range(len(give)):
        if math.isfinite(modulus[b]) and frame[b] < 0:
            give[b] = layer[b] / (LAYER * modulus[b])
    for i in range(len(body)):
        mass[body[i]] += node_mass[i]
    for b in range(len(give)):
        mass[b] = mass[b] if mass[b] > 0.0 else np.inf
    for f in range(len(frame_body)):
        mass[frame_body[f]] = RIGID * frame_mass[f] if inverse[f] > 0.0 else np.inf


@inline
def _edge(give, layer, a, b):  # type: ignore[no-untyped-def]
    """Of the finer elements of two bodies [m]."""
    return min(layer[a] if give[a] > 0.0 else np.inf, layer[b] if give[b] > 0.0 else np.inf)


@kernel
def _of_pairs(give, mass, layer, node, surface, slave, master, apart, pair, gap, area, tip, spring, dt, normal, across, span):  # type: ignore[no-untyped-def]
    closed, shared = np.zeros(len(slave)), np.zeros(len(slave))
    for r in range(len(pair)):
        shared[pair[r]] += area[r]
        if gap[r] <= 0.0:
            closed[pair[r]] += area[r]
    for p in range(len(slave)):
        a, b = slave[p], master[p]
        touched = max(closed[p] if closed[p] > 0.0 else shared[p], (surface[a] if surface[a] > 0.0 else 1.0) * SLIVER)
        hard, total = min(mass[a], mass[b]) / (dt * dt * touched), give[a] + give[b]
        if not total > 0.0:
            normal[p], across[p] = hard, TANGENTIAL * hard
            continue
        edge = _edge(give, layer, a, b)
        normal[p] = max((1.0 if spring[p] else max(1.0, edge * edge / touched)) / total, apart[p] * hard if apart[p] > 0.0 else 0.0)
        across[p] = TANGENTIAL / total
    for r in range(len(pair)):
        span[r] = area[r]
        if tip[r] > 0.0:  # what comes apart is not to be thrown
            p, a, b = pair[r], slave[pair[r]], master[pair[r]]
            edge = _edge(give, node, a, b)
            span[r] = tip[r] * (1.0 - apart[p]) * edge * edge / (normal[p] * (give[a] + give[b]))
