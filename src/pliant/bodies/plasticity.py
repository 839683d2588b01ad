r"""Plastic flow of phyxels (3.5 of the methods page): strain beyond the yield strain becomes permanent.

Each phyxel has a plastic strain e_p; its elastic strain is e - e_p. With c = 1 - exp(-dt / creep_time), so that results do not depend on
the step (1 for creep_time = 0):

    volume kept  d = dev(e - e_p), |d| = sqrt(2/3 d:d):   e_p += c (1 - y / |d|) d   where |d| > y   (radial return)
    as published |e - e_p| = sqrt(e:e):                   e_p += c (e - e_p)         where it is > y  (Müller et al. 2004)

then e_p is shortened to max_plastic_strain. When it has grown large the present shape becomes the reference, X <- x, v <- v det F, and
e_p is such that the Cauchy stress stays what it was, -C^-1 (F S F^T / det F); the source turns the elastic strain by the rotation of F,
which is the same where the elastic stretch is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.matrix3 import IDENTITY, combined, inner
from pliant.bodies.point_forces import gradient, green, hooke, load9, store9
from pliant.geometry.mesh import Floats
from pliant.kernels import dot, kernel, load, sub

if TYPE_CHECKING:
    from pliant.bodies.points import Points


def crept(points: Points, x: Floats, dt: float) -> tuple[Floats, float]:
    """Plastic strain after dt, (m, 9), and the elastic energy that the flow took [J]."""
    n, out, lost = points.around, np.empty_like(points.plastic), np.zeros(len(points.nodes))
    with np.errstate(divide="ignore", over="ignore"):
        share = np.where(points.creep_time > 0.0, -np.expm1(-dt / points.creep_time), 1.0)
    _creep(
        n.start, n.other, n.weight, n.inverse, n.projector, points.nodes, points.rest, points.volume, points.lam, points.mu,
        points.yield_strain, share, points.max_plastic_strain, points.past, points.shape_only, points.plastic, x, out, lost,
    )  # fmt: skip
    return out, float(lost.sum())


@dataclass(frozen=True)
class Reference:
    """Phyxels with their present shape as reference."""

    rest: Floats
    volume: Floats
    plastic: Floats
    past: Floats


def rereferenced(points: Points, x: Floats) -> Reference:
    """The present shape as reference, with the stress that is there now."""
    F = points.gradients(x)
    T = points.around.projector.reshape(-1, 3, 3)
    e = 0.5 * (np.swapaxes(F, 1, 2) @ F - T) - points.plastic.reshape(-1, 3, 3)
    lam, mu = points.lam[:, None, None], points.mu[:, None, None]
    S = 2.0 * mu * e + lam * np.trace(e, axis1=1, axis2=2)[:, None, None] * T
    J = np.linalg.det(F)
    full = J > 1e-3  # flat and inverted ones keep their volume
    J = np.where(full, J, 1.0)
    sigma = F @ S @ np.swapaxes(F, 1, 2) / J[:, None, None]
    trace = np.trace(sigma, axis1=1, axis2=2)[:, None, None]
    elastic = (sigma - lam / (3.0 * lam + 2.0 * mu) * trace * np.eye(3)) / (2.0 * mu)
    size = np.sqrt(np.einsum("ij,ij->i", points.plastic, points.plastic))
    place, plastic = np.ascontiguousarray(x[points.nodes[:, 0]]), np.ascontiguousarray(-elastic.reshape(-1, 9))
    return Reference(place, points.volume * J, plastic, points.past + size)


@kernel
def _creep(  # type: ignore[no-untyped-def]
    start, other, weight, inverse, projector, nodes, rest, volume, lam, mu, limit, share, most, past, shape_only, plastic, x, out, lost
):
    for i in range(len(out)):
        before, t = load9(plastic, i), load9(projector, i)
        after = before
        if limit[i] < math.inf:
            strain = green(gradient(start, other, weight, inverse, nodes, rest, x, i), t)
            elastic = combined(1.0, strain, -1.0, before)
            moved, scale = elastic, 1.0
            if shape_only[i] > 0.0:
                moved = combined(1.0, elastic, -(elastic[0] + elastic[4] + elastic[8]) / 3.0, IDENTITY)
                scale = 2.0 / 3.0
            size = math.sqrt(scale * inner(moved, moved))
            if size > limit[i]:
                after = combined(1.0, before, share[i] * (1.0 - limit[i] / size if shape_only[i] > 0.0 else 1.0), moved)
                reached, allowed = math.sqrt(scale * inner(after, after)), max(most[i] - past[i], 0.0)
                if reached > allowed:
                    after = combined(allowed / reached, after, 0.0, IDENTITY)
                left = combined(1.0, strain, -1.0, after)
                stored = inner(elastic, hooke(elastic, lam[i], mu[i], t)) - inner(left, hooke(left, lam[i], mu[i], t))
                lost[i] = 0.5 * volume[i] * stored
        store9(out, i, after)


@kernel
def overstretched(start, other, nodes, origin, limit, x, out):  # type: ignore[no-untyped-def]
    """Which slots (lower number first) hold a pair longer than at the start by more than the lower tear strain of the two."""
    for i in range(len(nodes)):
        for s in range(start[i], start[i + 1]):
            j = other[s]
            most = 1.0 + min(limit[i], limit[j])
            if j > i and most < math.inf:
                now, then = sub(load(x, nodes[j, 0]), load(x, nodes[i, 0])), sub(load(origin, j), load(origin, i))
                out[s] = dot(now, now) > most * most * dot(then, then)
