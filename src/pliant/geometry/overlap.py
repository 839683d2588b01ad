"""Mass of what a closed surface encloses where it overlaps itself, as parts that were put into one file often do: counted once.

The integrals over its faces count a place as often as it is wound around. Where that matters, lines through the surface are followed
instead: what is between the first entry and the last exit is inside, however often it is entered between them.
"""

from __future__ import annotations

import numpy as np

from pliant.geometry.lattice.build import OVERLAP
from pliant.geometry.lattice.lines import crossings
from pliant.geometry.mass import Mass, mass_of_surface
from pliant.geometry.mesh import Surface

LINES = 256  # along each side of the box: two balls that overlap have their volume to 2e-5, with half as many lines to 1e-4


def mass_of_solid(surface: Surface, density: float = 1.0) -> Mass:
    """Mass [kg] of what a closed surface winds around at least once; density [kg/m^3]."""
    whole = mass_of_surface(surface, density)  # refuses an open one
    low, size = surface.points.min(axis=0), np.ptp(surface.points, axis=0)
    found = crossings(LINES * (surface.points - low) / size, surface.faces, np.full(3, LINES), 2)
    line = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
    times, length = -np.cumsum(found.out)[:-1], np.where(np.diff(line) == 0, np.diff(found.at), 0.0)
    inside = np.flatnonzero((times > 0) & (length > 0.0))
    wrong = length[times > 1] @ (times[times > 1] - 1) - length[times < 0] @ times[times < 0]
    if not wrong > OVERLAP * length[inside].sum():
        return whole
    step = size / LINES
    x, y = step[0] * (line[inside] // LINES + 0.5), step[1] * (line[inside] % LINES + 0.5)
    a, b = step[2] * found.at[inside], step[2] * found.at[inside + 1]
    part = density * step[0] * step[1] * (b - a)  # [kg] of each piece of a line
    mass = float(part.sum())
    at = np.stack([x, y, 0.5 * (a + b)], axis=1)
    centre = part @ at / mass
    second = (at - centre).T @ (part[:, None] * (at - centre))
    second[2, 2] += part @ (b - a) ** 2 / 12.0
    return Mass(mass / density, mass, low + centre, np.trace(second) * np.eye(3) - second)
