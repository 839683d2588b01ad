"""How much stiffer a response is than the half-space (theory/quasi-rigid 3.4): a sphere pressed into both."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.elastic.lcp import Solution, solve
from pliant.contact.elastic.operators import elastic
from pliant.contact.elastic.response import Boussinesq, Response

ACROSS = 8  # nodes per Hertz radius


def hexagonal(spacing: float, half: float) -> tuple[Floats, Floats]:
    """Points (n, 3) of a hexagonal lattice in |x|, |y| <= half with one at the origin, and their areas (n,)."""
    j = np.arange(-math.ceil(2.0 * half / (math.sqrt(3.0) * spacing)) - 1, math.ceil(2.0 * half / (math.sqrt(3.0) * spacing)) + 2)
    i = np.arange(-math.ceil(half / spacing) - 1, math.ceil(half / spacing) + 2)
    x = (i[None] + 0.5 * (j[:, None] % 2)) * spacing
    y = np.broadcast_to(j[:, None] * spacing * math.sqrt(3.0) / 2.0, x.shape)
    inside = (np.abs(x) <= half * (1.0 + 1e-9)) & (np.abs(y) <= half * (1.0 + 1e-9))
    points = np.column_stack([x[inside], y[inside], np.zeros(np.count_nonzero(inside))])
    return points, np.full(len(points), math.sqrt(3.0) / 2.0 * spacing**2)


def hertz(response: Response, radius: float, half: float, across: int = ACROSS) -> Solution:
    """A sphere pressed so deep that its contact with a half-space would have this radius [m]; curvature and depth in units of it."""
    points, areas = hexagonal(radius / across, half * radius)
    q = np.sum(points**2, axis=1) / (2.0 * radius) - radius  # forces are linear in q: any sphere will do
    return solve(elastic(points, areas, response), q)


def stiffening(response: Response, contact_radius: float) -> float:
    """Force with the response over force with Boussinesq's of the same C, for a sphere whose Hertz contact has this radius [m].

    1 for a response that is felt beyond the diameter of the contact, 1.35 for a layer cut at the contact radius, 4.9 for volume
    preservation with b = a.
    """
    if not contact_radius > 0.0:
        raise PliantError(f"contact_radius = {contact_radius}: it must be positive.")
    c = float(np.sum(response.code[0][:, 0]))
    ours, hard = hertz(response, contact_radius, 2.0), hertz(Boussinesq(c), contact_radius, 2.0)
    return float(np.sum(ours.P) / np.sum(hard.P))
