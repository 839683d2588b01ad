r"""Plastic flow of phyxels (theory/point-bodies 7): strain beyond the yield strain becomes permanent.

Each phyxel has a plastic strain e_p; its elastic strain is e - e_p. With c = 1 - exp(-dt / creep_time), so that results do not depend on
the step (1 for creep_time = 0):

    volume kept  d = dev(e - e_p), |d| = sqrt(2/3 d:d):   e_p += c (1 - y / |d|) d   where |d| > y   (radial return)
    as published |e - e_p| = sqrt(e:e):                   e_p += c (e - e_p)         where it is > y  (Müller et al. 2004)

then what it has grown by is shortened to max_plastic_strain. When a plastic body is strained far the present shape becomes the
reference, X <- x, v <- v det F, and e_p <- -R (e - e_p) R^T with the rotation R of F: the elastic energy of each phyxel stays what it
was (but for det F), and its stress where the elastic stretch is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.base import Floats
from pliant.bodies.matrix3 import IDENTITY, combined, inner, product, transposed
from pliant.bodies.points.strain import gradient, green, hooke, load9, store9, symmetric
from pliant.kernels import kernel

if TYPE_CHECKING:
    from pliant.bodies.points.elements import Points


ROUNDING = 1.0 + 1e-12  # strain that has flowed back to the yield strain stays there
SQUASHED = 0.1  # det F below which a phyxel that becomes its own reference forgets strain and keeps its volume


def crept(points: Points, x: Floats, dt: float, ahead: Floats) -> tuple[Floats, Floats, float]:
    """Plastic strain after dt, (m, 9), the size of the whole strain, (m,), and the elastic energy that the flow took [J].

    It took what it did from the strain where velocities are, `ahead` (n, 3) [m] before x.
    """
    out, lost, size = np.empty_like(points.plastic), np.zeros(len(points.nodes)), np.zeros(len(points.nodes))
    with np.errstate(divide="ignore", over="ignore"):
        share = np.where(points.creep_time > 0.0, -np.expm1(-dt / points.creep_time), 1.0)
    flow = Flow(points.yield_strain, share, points.max_plastic_strain, points.past, points.shape_only, points.base)
    _creep(points.seen, points.matter._replace(lam=points.lam), flow, x, ahead, out, size, lost)
    return out, size, float(lost.sum())


class Flow(NamedTuple):
    """When phyxels flow, and how far they have, (m,) each."""

    limit: Floats  # yield strain
    share: Floats  # of what is beyond it that goes within the step
    most: Floats  # plastic strain
    past: Floats  # size of that before the reference in use
    shape_only: Floats  # 1, or 0 where volume flows too
    base: Floats  # (m, 9) plastic strain when the reference was taken


@dataclass(frozen=True)
class Reference:
    """Phyxels with their present shape as reference."""

    rest: Floats
    volume: Floats
    plastic: Floats
    past: Floats


def rereferenced(points: Points, x: Floats) -> Reference:
    """The present shape as reference, with the elastic strain that is there now."""
    F = points.gradients(x)
    T = points.around.projector.reshape(-1, 3, 3)
    e = 0.5 * (np.swapaxes(F, 1, 2) @ F - T) - points.plastic.reshape(-1, 3, 3)
    J = np.linalg.det(F)
    full = J > SQUASHED
    U, _, V = np.linalg.svd(F)
    R = np.where(full[:, None, None], U @ V, np.eye(3))
    elastic = np.where(full[:, None, None], R @ e @ np.swapaxes(R, 1, 2), 0.0)
    flat = np.trace(T, axis1=1, axis2=2) < 2.5  # had no volume that could change: its thickness, which nothing sees, has kept it
    volume = np.where(flat, points.whole, points.volume * np.where(full, J, 1.0))
    grown = points.plastic - points.base
    size = np.sqrt(np.where(points.shape_only > 0.0, 2.0 / 3.0, 1.0) * np.einsum("ij,ij->i", grown, grown))
    place, plastic = np.ascontiguousarray(x[points.nodes[:, 0]]), np.ascontiguousarray(-elastic.reshape(-1, 9))
    return Reference(place, volume, plastic, points.past + size)


@kernel
def _creep(seen, matter, flow, x, ahead, out, whole, lost):  # type: ignore[no-untyped-def]
    volume, lam, mu, plastic = matter.volume, matter.lam, matter.mu, matter.plastic
    limit, share, most, past, shape_only, base = flow
    for i in range(len(out)):
        before, t = load9(plastic, i), load9(seen.projector, i)
        after = before
        if limit[i] < math.inf:
            f = gradient(seen, x, i)
            strain = green(f, t)
            whole[i] = math.sqrt(inner(strain, strain))
            elastic = combined(1.0, strain, -1.0, before)
            moved, scale = elastic, 1.0
            if shape_only[i] > 0.0:
                moved = combined(1.0, elastic, -(elastic[0] + elastic[4] + elastic[8]) / 3.0, IDENTITY)
                scale = 2.0 / 3.0
            size = math.sqrt(scale * inner(moved, moved))
            if size > limit[i] * ROUNDING:
                after = combined(1.0, before, share[i] * (1.0 - limit[i] / size if shape_only[i] > 0.0 else 1.0), moved)
                grown = combined(1.0, after, -1.0, load9(base, i))
                reached, allowed = math.sqrt(scale * inner(grown, grown)), max(most[i] - past[i], 0.0)
                if reached > allowed:
                    after = combined(1.0, load9(base, i), allowed / reached, grown)
                late = symmetric(product(transposed(f), gradient(seen, ahead, i)))
                elastic, left = combined(1.0, elastic, -1.0, late), combined(1.0, combined(1.0, strain, -1.0, after), -1.0, late)
                stored = inner(elastic, hooke(elastic, lam[i], mu[i], t)) - inner(left, hooke(left, lam[i], mu[i], t))
                lost[i] = 0.5 * volume[i] * stored
        store9(out, i, after)
