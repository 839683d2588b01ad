"""What an exact shape that is curved covers of flat faces (theory/patch 6.2).

Faces that are pressed against a curve touch it in the mean: it bulges into their middles and leaves their corners open. With the gaps
at the corners and the middles of the edges, m_k the latter less the mean of the ends of edge k, the gap is quadratic,

    g = sum_i g_i b_i + 4 sum_k m_k b_i b_j,      i, j the ends of edge k,

and its best linear fit over the face (least squares) is below it at corner i by

    o_i = (m_i'' - 3 m_i - 3 m_i') / 5,          of the two edges at the corner, and of the third one.

Were the corners on the curve, as those of exact contact are, all gaps would be less by o, the largest of the three: what is open by no more
is touched. Where the gap is linear, as on a plane, o = 0.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.patches import CORNERS, FACING, cut, frame_of, moments
from pliant.detect.penetration import ACROSS
from pliant.detect.shape_patches import PARTS, Shape, shape_distance
from pliant.geometry.quaternions import load4, rotate
from pliant.kernels import axpy, dot, kernel, load, sub


def covered(points: Floats, faces: Ints, which: Ints, of: Ints, shape: Shape) -> Floats:
    """Area [m^2] of the faces `which` (f,) that the shapes `of` (f,) cover though it is open: shares of the corners, (f, 3)."""
    out = np.zeros((len(which), 3))
    _covered(points, faces, which, of, *shape, out)
    return out


@kernel
def _covered(points, faces, which, of, kind, parameters, position, rotation, out):  # type: ignore[no-untyped-def]
    g, room = np.empty((PARTS + 1, PARTS + 1)), np.empty((3, CORNERS, 2))
    poly, piece, spare, half = room[0], room[1], room[2], PARTS // 2
    for k in range(len(which)):
        f, c = which[k], of[k]
        o, n, _, _, twice = frame_of(points, faces, f)
        if twice == 0.0:
            continue
        q, x1, x2 = load4(rotation, c), sub(load(points, faces[f, 1]), o), sub(load(points, faces[f, 2]), o)
        for i in range(PARTS + 1):
            for j in range(PARTS + 1 - i):
                g[i, j], _ = shape_distance(kind, parameters, position, q, c, axpy(i / PARTS, x1, axpy(j / PARTS, x2, o)))
        a, b, d = g[0, 0], g[PARTS, 0], g[0, PARTS]
        ab, bd, da = g[half, 0] - 0.5 * (a + b), g[half, half] - 0.5 * (b + d), g[0, half] - 0.5 * (d + a)
        open_ = max(bd - 3.0 * (ab + da), da - 3.0 * (ab + bd), ab - 3.0 * (bd + da)) / 5.0
        if open_ <= 0.0:
            continue
        _, m = shape_distance(kind, parameters, position, q, c, axpy(1.0 / 3.0, x1, axpy(1.0 / 3.0, x2, o)))
        share = min(1.0, max(0.0, (-dot(rotate(q, m), n) - FACING) / (ACROSS - FACING))) * twice  # areas are in weights: half is the whole
        for i in range(PARTS):
            for j in range(PARTS - i):
                for other in range(2 if i + j + 2 <= PARTS else 1):
                    if other == 0:
                        ia, ja, ib, jb, ic, jc = i, j, i + 1, j, i, j + 1
                    else:
                        ia, ja, ib, jb, ic, jc = i + 1, j + 1, i, j + 1, i + 1, j
                    ga, gb, gc = g[ia, ja], g[ib, jb], g[ic, jc]
                    if max(ga, gb, gc) <= 0.0 or min(ga, gb, gc) > open_:
                        continue
                    poly[0, 0], poly[0, 1] = ia / PARTS, ja / PARTS
                    poly[1, 0], poly[1, 1] = ib / PARTS, jb / PARTS
                    poly[2, 0], poly[2, 1] = ic / PARTS, jc / PARTS
                    ux, uy, vx, vy = poly[1, 0] - poly[0, 0], poly[1, 1] - poly[0, 1], poly[2, 0] - poly[0, 0], poly[2, 1] - poly[0, 1]
                    det = ux * vy - uy * vx
                    gu = ((gb - ga) * vy - (gc - ga) * uy) / det
                    gv = ((gc - ga) * ux - (gb - ga) * vx) / det
                    g0 = ga - gu * poly[0, 0] - gv * poly[0, 1]
                    area, mu, mv, _, _, _ = moments(spare, cut(piece, cut(poly, 3, g0, gu, gv, piece), open_ - g0, -gu, -gv, spare))
                    out[k, 0] += share * (area - mu - mv)
                    out[k, 1] += share * mu
                    out[k, 2] += share * mv
