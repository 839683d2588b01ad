"""How stiff a contact is per area (theory/patch 5): one number for all of what a pair shares, so that pressure goes with depth alone.

Only corners and rims harden as they go deeper.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.patch.surface import Pairs, Surfaces
from pliant.detect.merged import Merged
from pliant.world.motion import Motion

LAYER = 40.0  # of E/h, the stiffness per area of a layer of elements: with 100 the impact of a soft ball peaks at 1.34 times its mean
HARDENS = 0.1  # of the strain of that layer: beyond it the pressure of corners and rims rises with its cube
TANGENTIAL = 0.1  # stiffness along the surface, in that along the normal: with 1 sticking and slipping change places in every step
SLIVER = 1e-9  # of the surface of the slave: rounding, no area to divide by
RIGID = 2000.0  # k dt^2 / m of rigid bodies on each other: they rest g dt^2 / 2000 deep


def stiffness(motion: Motion, surfaces: Surfaces, pairs: Pairs, found: Merged) -> tuple[Floats, Floats]:
    """Stiffness of contact per area of each pair [Pa/m], along the normal and across it, (k,) each.

    Two soft bodies give way like a layer of 1 / LAYER of an element each. Elements of width h yield to a force on a corner by some
    F / (E h), however small the area it acts on; so a pair that shares less than h^2 is as stiff as if it were that much. Rigid
    bodies have the stiffness at which the lighter one would sink g dt^2 / RIGID deep under its own weight; springs, which have no modulus
    and give way themselves, g dt^2.
    """
    bodies, frames = motion.bodies, motion.frames
    soft = np.isfinite(bodies.modulus) & (bodies.frame < 0)
    give = np.where(soft, surfaces.layer / (LAYER * np.where(soft, bodies.modulus, 1.0)), 0.0)
    mass = np.bincount(motion.nodes.body, motion.nodes.mass, len(bodies))
    mass = np.where(mass > 0.0, mass, np.inf)
    mass[frames.body] = np.where(frames.inverse > 0, RIGID * frames.mass, np.inf)
    closed = np.bincount(found.pair, np.where(found.gap <= 0.0, found.area, 0.0), len(pairs))
    area = np.where(closed > 0.0, closed, np.bincount(found.pair, found.area, len(pairs)))
    a, b = pairs.slave, pairs.master
    total = give[a] + give[b]
    edge = np.minimum(np.where(soft[a], surfaces.layer[a], np.inf), np.where(soft[b], surfaces.layer[b], np.inf))
    least = np.where(total > 0.0, edge, 0.0) ** 2
    area = np.maximum(area, np.where(surfaces.area[a] > 0.0, surfaces.area[a], 1.0) * SLIVER)
    hard = np.minimum(mass[a], mass[b]) / (motion.dt**2 * area)
    layer = 1.0 / np.where(total > 0.0, total, 1.0)
    normal = np.where(total > 0.0, np.maximum(np.maximum(1.0, least / area) * layer, pairs.apart * hard), hard)
    return normal, TANGENTIAL * np.where(total > 0.0, layer, hard)


def hardening(motion: Motion, surfaces: Surfaces, pairs: Pairs, found: Merged) -> Floats:
    """c [1/m^2] of each row, (r,): how its stiffness grows with depth; only at corners and rims of implicit bodies."""
    bodies, width = motion.bodies, np.array(surfaces.layer)
    width[~np.isfinite(bodies.modulus) | (bodies.frame >= 0)] = 0.0
    width[motion.nodes.body[motion.explicit]] = np.inf
    deep = (HARDENS / LAYER * (width[pairs.slave] + width[pairs.master]))[found.pair]  # [m]
    harder = np.divide(found.rim, deep * deep, out=np.zeros(len(found)), where=deep > 0.0)
    return harder * (1.0 - pairs.apart[found.pair])  # what comes apart is not to be thrown
