"""Rotations as unit quaternions (w, x, y, z): helpers for kernels, where they are tuples, and the same on arrays."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats
from pliant.kernels import inline


@inline
def quaternion_exp(v):  # type: ignore[no-untyped-def]
    """exp of a pure quaternion v: (cos |v|, sinc |v| v)."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    s = math.sin(angle) / angle if angle > 1e-8 else 1.0 - angle * angle / 6.0
    return math.cos(angle), s * v[0], s * v[1], s * v[2]


@inline
def quaternion_product(a, b):  # type: ignore[no-untyped-def]
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@inline
def quaternion_unit(q):  # type: ignore[no-untyped-def]
    s = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return s * q[0], s * q[1], s * q[2], s * q[3]


@inline
def rotate(q, u):  # type: ignore[no-untyped-def]
    """R(q) u."""
    w, x, y, z = q
    tx, ty, tz = 2 * (y * u[2] - z * u[1]), 2 * (z * u[0] - x * u[2]), 2 * (x * u[1] - y * u[0])
    return u[0] + w * tx + y * tz - z * ty, u[1] + w * ty + z * tx - x * tz, u[2] + w * tz + x * ty - y * tx


@inline
def rotate_back(q, u):  # type: ignore[no-untyped-def]
    """R(q)^T u."""
    return rotate((q[0], -q[1], -q[2], -q[3]), u)


@inline
def load4(a, i):  # type: ignore[no-untyped-def]
    return a[i, 0], a[i, 1], a[i, 2], a[i, 3]


@inline
def inverse_inertia_times(q, inverse, u):  # type: ignore[no-untyped-def]
    """R J^-1 R^T u with J^-1 diagonal in the frame."""
    b = rotate_back(q, u)
    return rotate(q, (inverse[0] * b[0], inverse[1] * b[1], inverse[2] * b[2]))


def rotation_vector_to_quaternion(vector: Floats) -> Floats:
    """Unit quaternions (w, x, y, z) of rotation vectors [rad], (..., 3) to (..., 4)."""
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1)


def quaternion_to_matrix(q: Floats) -> Floats:
    """Rotation matrices of unit quaternions, (..., 4) to (..., 3, 3)."""
    q = np.asarray(q)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    out = np.empty((*q.shape[:-1], 3, 3))  # filled in place: stacking takes two to three times as long, and a step asks often
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    return out


def matrix_to_quaternion(matrix: Floats) -> Floats:
    """Unit quaternion with w >= 0 of a rotation matrix, from its largest component, so that nothing cancels.

    Not SciPy's: that takes 0.2 s to load, and every run with a rigid body would wait for it.
    """
    m = np.asarray(matrix, np.float64)
    trace = float(np.trace(m))
    i = int(np.argmax([*np.diag(m), trace]))
    if i == 3:
        out = np.array([1.0 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    else:
        j, k, out = (i + 1) % 3, (i + 2) % 3, np.empty(4)
        out[0], out[1 + i], out[1 + j], out[1 + k] = m[k, j] - m[j, k], 1.0 - trace + 2.0 * m[i, i], m[j, i] + m[i, j], m[k, i] + m[i, k]
    return np.asarray(math.copysign(1.0, out[0]) / np.linalg.norm(out) * out)


def product(a: Floats, b: Floats) -> Floats:
    """Quaternion products a b, (..., 4)."""
    return np.stack(getattr(quaternion_product, "py_func", quaternion_product)(np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)), axis=-1)
