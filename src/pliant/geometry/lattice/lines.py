"""Where the lines of a grid cross a closed surface: what is between an entry and an exit is material.

A grid of n[0] x n[1] x n[2] samples has a line through the samples along each axis. Positions along a line are in samples: number k
stands at k + 1/2. And the mass of what a surface encloses that overlaps itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mass import Mass, mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.kernels import contiguous, kernel

# Lines pass this far [samples] beside where they should, so that they miss vertices and edges of tidy meshes.
BESIDE = (1e-7 * math.sqrt(2.0), 1e-7 * math.sqrt(3.0), 1e-7 * math.sqrt(5.0))


class Crossings(NamedTuple):
    """Crossings of the lines along one axis; line (u, v) has number u * count of v + v, u and v being the other axes in order."""

    start: Ints  # (lines + 1,)
    at: Floats  # position along the line, ascending
    face: Ints
    out: Ints  # 1 where the line leaves, -1 where it enters


def crossings(points: Floats, faces: Ints, counts: Ints, axis: int) -> Crossings:
    """Of triangles whose points are in samples."""
    u, v = [a for a in range(3) if a != axis]
    turned = contiguous(points[:, [u, v, axis]] + np.array([BESIDE[u], BESIDE[v], 0.0]))
    sign = 1 if axis != 1 else -1  # (u, v, axis) is a left-handed system for axis 1
    nu, nv = int(counts[u]), int(counts[v])
    start = np.zeros(nu * nv + 1, np.int64)
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    faces = contiguous(faces, np.int64)
    _cross(turned, faces, nu, nv, sign, False, start, nothing, none, none)
    np.cumsum(start, out=start)
    at, face, out = np.empty(start[-1]), np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    _cross(turned, faces, nu, nv, sign, True, start[:-1].copy(), at, face, out)
    _sort(start, at, face, out)
    return Crossings(start, at, face, out)


def backwards(found: Crossings) -> float:
    """How much of the lines [samples] a closed surface winds around less than no times."""
    line = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
    times = -np.cumsum(found.out)[:-1]  # of what is behind each crossing; the crossings of a line cancel
    return float(np.diff(found.at)[(times < 0) & (np.diff(line) == 0)].sum())


@kernel
def _cross(points, faces, nu, nv, sign, fill, start, at, face, out):  # type: ignore[no-untyped-def]
    """Count the crossings of each line into start[line + 1], or write them from start[line] on."""
    for f in range(len(faces)):
        a, b, c = points[faces[f, 0]], points[faces[f, 1]], points[faces[f, 2]]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if area == 0.0:
            continue
        first_u = max(0, int(math.ceil(min(a[0], b[0], c[0]) - 0.5)))
        last_u = min(nu - 1, int(math.floor(max(a[0], b[0], c[0]) - 0.5)))
        first_v = max(0, int(math.ceil(min(a[1], b[1], c[1]) - 0.5)))
        last_v = min(nv - 1, int(math.floor(max(a[1], b[1], c[1]) - 0.5)))
        for i in range(first_u, last_u + 1):
            for j in range(first_v, last_v + 1):
                x, y = i + 0.5, j + 0.5
                u = (b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)
                v = (c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)
                w = (a[0] - x) * (b[1] - y) - (a[1] - y) * (b[0] - x)
                if (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0):
                    line = i * nv + j
                    if fill:
                        k = start[line]
                        start[line] += 1
                        at[k] = (u * a[2] + v * b[2] + w * c[2]) / area
                        face[k] = f
                        out[k] = sign if area > 0.0 else -sign
                    else:
                        start[line + 1] += 1


@kernel
def _sort(start, at, face, out):  # type: ignore[no-untyped-def]
    """By position, and entries before exits at one place; lists are short."""
    for line in range(len(start) - 1):
        for k in range(start[line] + 1, start[line + 1]):
            p, f, o = at[k], face[k], out[k]
            j = k
            while j > start[line] and (at[j - 1] > p or (at[j - 1] == p and out[j - 1] > o)):
                at[j], face[j], out[j] = at[j - 1], face[j - 1], out[j - 1]
                j -= 1
            at[j], face[j], out[j] = p, f, o


# ---- mass of what a surface encloses where it overlaps itself, as parts that were put into one file often do: counted once
#
# The integrals over its faces count a place as often as it is wound around. Where that matters, lines through the surface are followed
# instead: what is between the first entry and the last exit is inside, however often it is entered between them.

OVERLAP = 0.002  # part of the volume that may be counted twice, or with the wrong sign, where the surface overlaps itself
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
