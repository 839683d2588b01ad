"""Along which directions nodes of a moving contact push: the gradients of their distances, so that forces and energy agree.

The elastic energy of the problem s = K P + q is U(q), and by the envelope theorem dU = -P.dq: whatever q is, forces return the energy that
they took if they act along grad q. Exact shapes have the gradient for their normal. The foot of a sampled one has the normal of a
polynomial fitted there, which misses the gradient of the very distance by up to 8 % where samples are a seventh of a wave: a ball lost
15 % of its energy on it. So the slope along the surface is measured, by central differences.

Where both bodies give way the direction is C_A grad q - C_B n_A, as in resolve.py: a node that is not quite where two round surfaces meet
has a normal that errs one way and a foot that errs the other. That is right to second order, but returns energy to a few percent only,
which returned.py bounds.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.quasi_rigid.levels import coarser
from pliant.contact.quasi_rigid.result import ContactResult
from pliant.contact.quasi_rigid.side import Side
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface

APART = 0.05  # spacings of the two places whose distances are compared
STEEPEST = 0.5  # slopes above this are jumps from one part of the surface to another


def directions(sides: tuple[Side, Side], result: ContactResult, chosen: Ints) -> Floats:
    """(k, 3) unit vectors out of the surface that each chosen node meets, towards its own."""
    out = np.empty((len(chosen), 3))
    for i in (0, 1):
        mine = np.flatnonzero(result.owner[chosen] == i)
        if len(mine):
            nodes, own, met = chosen[mine], sides[i], sides[1 - i]
            out[mine] = own.compliance * gradients(met, result.points[nodes])
            if met.compliance > 0.0:
                out[mine] -= met.compliance * coarser(own, result.level).normals(result.sample[nodes])
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-300)


def gradients(side: Side, points: Floats) -> Floats:
    """(n, 3) unit gradients of the distance to a shape."""
    feet = side.project(points)
    n = feet.normals
    if isinstance(side.shape, Exact) or len(points) == 0:
        return n
    assert isinstance(side.shape, PointSurface)
    helper = np.where(np.abs(n[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    one = np.cross(n, helper)
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    step = APART * side.shape.spacing[feet.sample][:, None]
    across = np.stack([one, np.cross(n, one)])
    places = np.stack([points + step * across, points - step * across])
    found = side.project(places.reshape(-1, 3), np.tile(feet.sample, 4)).distance.reshape(2, 2, -1)
    slope = (found[0] - found[1]) / (2.0 * step[:, 0])
    slope = np.where(np.abs(slope) < STEEPEST, slope, 0.0)
    gradient = n + np.sum(slope[:, :, None] * across, axis=0)
    return gradient / np.linalg.norm(gradient, axis=1, keepdims=True)
