"""The surface that an exact ball shares with another exact shape (theory/patch 3.4), without facets, so that it rolls.

About the point of the shape that is closest to the ball's centre both surfaces are paraboloids, and the gap between them is
    g(u, v) = D + (k1 u^2 + k2 v^2) / 2,   k = 1 / R + curvature of the shape,
u and v along its principal directions. Where g <= 0 this is an ellipse of area -2 pi D / sqrt(k1 k2). Both bodies are rigid and give way
nowhere: they touch in the closest point, and one row there, at the gap D, has the force. Rows spread over the ellipse would hold back a
ball that rolls, and with the mean gap D / 2 a step would end half as deep as it was looked at.
"""

from __future__ import annotations

import math

from pliant.base import Floats, Ints
from pliant.detect.patches import Patches, empty, first
from pliant.detect.shape_patches import SPOT, Shape
from pliant.detect.shapes import BALL, CAPSULE, CYLINDER, TORUS, signed_distance
from pliant.geometry.quaternions import load4, rotate, rotate_back
from pliant.kernels import axpy, inline, kernel, load, scale, store, sub


def of_balls(centre: Floats, radius: Floats, face: Ints, pair: Ints, shape: Shape, high: Floats) -> Patches:
    """Patches of balls on exact shapes, (k,) each; `face`: one of the ball's that stands for it, `high` [m]: gaps up to this are seen."""
    out = empty(len(pair))
    kind, parameters, position, rotation = shape
    return first(out, _of_balls(centre, radius, face, pair, kind, parameters, position, rotation, high, out))


@inline
def _curvature(kind, a, b, p):  # type: ignore[no-untyped-def]
    """Principal curvatures [1/m] of the shape at its point closest to p, positive where it bulges. Edges of cylinders count as side."""
    radial = math.sqrt(p[0] * p[0] + p[1] * p[1])
    if kind == BALL:
        return 1.0 / a, 1.0 / a
    if kind == CAPSULE:
        return (1.0 / a if abs(p[2]) > b else 0.0), 1.0 / a
    if kind == CYLINDER and radial - a > abs(p[2]) - b:
        return 0.0, 1.0 / a
    if kind == TORUS and radial > 0.0:
        out = (radial - a) / math.sqrt((radial - a) ** 2 + p[2] * p[2]) if p[2] != 0.0 or radial != a else 1.0
        return out / (a + b * out), 1.0 / b
    return 0.0, 0.0


@kernel
def _of_balls(centre, radius, face, pair, kind, parameters, position, rotation, high, out):  # type: ignore[no-untyped-def]
    used = 0
    for c in range(len(pair)):
        q = load4(rotation, c)
        x = load(centre, c)
        p = rotate_back(q, sub(x, load(position, c)))
        distance, m = signed_distance(kind[c], parameters[c, 0], parameters[c, 1], parameters[c, 2], p)
        gap = distance - radius[c]
        if gap > high[c] or distance <= 0.0:
            continue
        k1, k2 = _curvature(kind[c], parameters[c, 0], parameters[c, 1], p)
        k1, k2 = k1 + 1.0 / radius[c], k2 + 1.0 / radius[c]
        m = rotate(q, m)
        tall = max(-gap if gap < 0.0 else high[c] - gap, SPOT * radius[c])  # without overlap what lies below `high`
        out.slave[used], out.master[used], out.pair[used] = face[c], -1, pair[c]
        for i in range(3):
            out.weights[used, i] = out.others[used, i] = 1.0 if i == 0 else 0.0
        store(out.normal, used, scale(-1.0, m))
        area = 4.0 * math.pi * radius[c] * radius[c]  # all of it, in a hollow that fits
        if k1 > 0.0 and k2 > 0.0:
            area = min(area, 2.0 * math.pi * tall / math.sqrt(k1 * k2))
        out.gap[used], out.area[used] = gap, area
        store(out.at, used, axpy(-(radius[c] + 0.5 * gap), m, x))
        used += 1
    return used
