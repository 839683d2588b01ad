"""The momentum of whole bodies, exact whatever the tolerance of a solve.

A solution x of A x = b may be changed by a rigid motion of each body that nothing holds, x_i += v + w x d_i with d_i the arm from its
centre, so that what is left of b has neither a sum nor a moment: W^T (b - A x) = 0 for the six rigid motions W. Stiffness does not
feel a translation, so v is the missing sum over the sum of `lumped`. It does feel a turn where bodies are strained; A W is therefore
found once for every matrix, and with it w = (W^T A W)^-1 W^T (b - A x).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints
from pliant.integrate.blocks import BlockMatrix
from pliant.kernels import contiguous, cross, kernel, load, sub

LEAST = 1e-10  # of the cube of its trace: the determinant of W^T A W of a body that can turn in every way; nodes on a line cannot


class RigidPart:
    """What a matrix does to the turns of bodies without fixed nodes, at positions x (n, 3)."""

    def __init__(self, matrix: BlockMatrix, body: Ints, x: Floats, free: NDArray[np.bool_]) -> None:
        pattern, count = matrix.pattern, len(matrix.pattern.body_start) - 1
        self.matrix, self.x = matrix, contiguous(x)
        self.centre, self.inverse = np.zeros((count, 4)), np.zeros((count, 6))  # mass and centre; 0 where something is fixed
        self.turned = np.empty((pattern.n, 3, 3))  # A times the turns about x, y and z
        _turn(
            pattern.body_start, pattern.indptr, pattern.indices, matrix.values, matrix.lumped, body, contiguous(free, np.uint8), self.x,
            self.centre, self.turned, self.inverse,
        )  # fmt: skip

    def match(self, bodies: Ints, rhs: Floats, x: Floats) -> None:
        """Change x of some bodies, in place, so that nothing of rhs - A x is left that would move one as a whole."""
        start = self.matrix.pattern.body_start
        _match(bodies, start, self.matrix.lumped, self.x, self.centre, self.turned, self.inverse, contiguous(rhs), x)


@kernel
def _turn(body_start, indptr, indices, values, lumped, body, free, x, centre, turned, inverse):  # type: ignore[no-untyped-def]
    for b in range(len(centre)):
        for i in range(body_start[b], body_start[b + 1]):
            if indptr[i] == indptr[i + 1] or not free[i]:
                centre[b] = 0.0
                break
            centre[b, 0] += lumped[i]
            for c in range(3):
                centre[b, 1 + c] += lumped[i] * x[i, c]
        if centre[b, 0] > 0.0:
            for c in range(3):
                centre[b, 1 + c] /= centre[b, 0]
    for i in range(len(turned)):
        a = centre[body[i]]
        if a[0] > 0.0:
            t = turned[i]
            t[:] = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                d0, d1, d2 = x[j, 0] - a[1], x[j, 1] - a[2], x[j, 2] - a[3]
                for c in range(3):
                    p, q, r = values[k, c, 0], values[k, c, 1], values[k, c, 2]
                    t[0, c] += r * d1 - q * d2
                    t[1, c] += p * d2 - r * d0
                    t[2, c] += q * d0 - p * d1
    for b in range(len(centre)):
        if centre[b, 0] > 0.0:
            inverse[b] = 0.0
            xx = yy = zz = yz = xz = xy = 0.0
            for i in range(body_start[b], body_start[b + 1]):
                t, d = turned[i], sub(load(x, i), (centre[b, 1], centre[b, 2], centre[b, 3]))
                xx += t[0, 2] * d[1] - t[0, 1] * d[2]
                yy += t[1, 0] * d[2] - t[1, 2] * d[0]
                zz += t[2, 1] * d[0] - t[2, 0] * d[1]
                yz += t[1, 1] * d[0] - t[1, 0] * d[1]
                xz += t[0, 1] * d[0] - t[0, 0] * d[1]
                xy += t[0, 0] * d[2] - t[0, 2] * d[0]
            c0, c1, c2 = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - yy * xz
            det = xx * c0 + xy * c1 + xz * c2
            if det > LEAST * (xx + yy + zz) ** 3:
                inverse[b, 0], inverse[b, 1], inverse[b, 2] = c0 / det, (xx * zz - xz * xz) / det, (xx * yy - xy * xy) / det
                inverse[b, 3], inverse[b, 4], inverse[b, 5] = (xy * xz - xx * yz) / det, c2 / det, c1 / det


@kernel
def _match(bodies, body_start, lumped, x, centre, turned, inverse, rhs, out):  # type: ignore[no-untyped-def]
    for b in bodies:
        mass, at, w = centre[b, 0], (centre[b, 1], centre[b, 2], centre[b, 3]), inverse[b]
        if not mass > 0.0:
            continue
        m0 = m1 = m2 = 0.0
        for i in range(body_start[b], body_start[b + 1]):
            m, t = cross(sub(load(x, i), at), load(rhs, i)), turned[i]
            m0 += m[0] - (t[0, 0] * out[i, 0] + t[0, 1] * out[i, 1] + t[0, 2] * out[i, 2])
            m1 += m[1] - (t[1, 0] * out[i, 0] + t[1, 1] * out[i, 1] + t[1, 2] * out[i, 2])
            m2 += m[2] - (t[2, 0] * out[i, 0] + t[2, 1] * out[i, 1] + t[2, 2] * out[i, 2])
        turn = (w[0] * m0 + w[5] * m1 + w[4] * m2, w[5] * m0 + w[1] * m1 + w[3] * m2, w[4] * m0 + w[3] * m1 + w[2] * m2)
        m0 = m1 = m2 = 0.0
        for i in range(body_start[b], body_start[b + 1]):
            u = cross(turn, sub(load(x, i), at))
            for c in range(3):
                out[i, c] += u[c]
            m0 += rhs[i, 0] - lumped[i] * out[i, 0]
            m1 += rhs[i, 1] - lumped[i] * out[i, 1]
            m2 += rhs[i, 2] - lumped[i] * out[i, 2]
        for i in range(body_start[b], body_start[b + 1]):
            out[i, 0] += m0 / mass
            out[i, 1] += m1 / mass
            out[i, 2] += m2 / mass
