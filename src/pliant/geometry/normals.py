"""Normals of triangles and of the vertices between them."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import axpy, cross, dot, inline, kernel, load, norm, scale, store, sub


@inline
def face_cross(points, faces, f):  # type: ignore[no-untyped-def]
    """(b - a) x (c - a) of face f: its normal, as long as twice its area."""
    a = load(points, faces[f, 0])
    return cross(sub(load(points, faces[f, 1]), a), sub(load(points, faces[f, 2]), a))


@inline
def face_normal(points, faces, f):  # type: ignore[no-untyped-def]
    """Unit normal of face f; zero if it has no area."""
    n = face_cross(points, faces, f)
    length = norm(n)
    return scale(1.0 / length if length > 0.0 else 0.0, n)


def face_crosses(points: Floats, faces: Ints) -> Floats:
    """(b - a) x (c - a) of all faces [m^2], (m, 3): normals, as long as twice the area."""
    a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
    return np.asarray(np.cross(b - a, c - a))


def face_normals(points: Floats, faces: Ints) -> Floats:
    """Unit normals of all faces, (m, 3); zero for one without area."""
    n = face_crosses(points, faces)
    length = np.linalg.norm(n, axis=1, keepdims=True)
    return n / np.where(length > 0.0, length, 1.0)


def vertex_area_vectors(points: Floats, faces: Ints) -> Floats:
    """A third of the area vectors of the faces around each point [m^2], (p, 3): normals, as long as the area that a point stands for."""
    third = np.repeat(face_crosses(points, faces) / 6.0, 3, axis=0)
    return np.stack([np.bincount(faces.ravel(), third[:, i], minlength=len(points)) for i in range(3)], axis=1)


@kernel
def angle_normals(points, faces, face_normals, vertex_normals):  # type: ignore[no-untyped-def]
    """Fill in unit face normals and sums of them per vertex, weighted with the angle there (Baerentzen and Aanaes 2005)."""
    vertex_normals[:] = 0.0
    for f in range(len(faces)):
        n = face_cross(points, faces, f)
        length = norm(n)
        if length == 0.0:
            face_normals[f] = 0.0
            continue
        n = (n[0] / length, n[1] / length, n[2] / length)
        store(face_normals, f, n)
        x = (load(points, faces[f, 0]), load(points, faces[f, 1]), load(points, faces[f, 2]))
        for k in range(3):
            e, g = sub(x[(k + 1) % 3], x[k]), sub(x[(k + 2) % 3], x[k])
            angle = math.atan2(norm(cross(e, g)), dot(e, g))
            store(vertex_normals, faces[f, k], axpy(angle, n, load(vertex_normals, faces[f, k])))


@kernel
def area_normals(points, faces, number, face_normals, vertex_normals, numbered):  # type: ignore[no-untyped-def]
    """Fill in unit face normals, and sums of (b - a) x (c - a) per vertex and per `number` (m, 3) of each corner of each face."""
    vertex_normals[:], numbered[:] = 0.0, 0.0
    for f in range(len(faces)):
        n = face_cross(points, faces, f)
        length = norm(n)
        store(face_normals, f, scale(1.0 / length if length > 0.0 else 0.0, n))
        for k in range(3):
            i, j = faces[f, k], number[f, k]
            store(vertex_normals, i, axpy(1.0, n, load(vertex_normals, i)))
            store(numbered, j, axpy(1.0, n, load(numbered, j)))
