"""Tetrahedra of any law in NumPy: the path of laws that have no compiled kernel, and the oracle of those that have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.fem.materials import projected_tangent

if TYPE_CHECKING:
    from pliant.bodies.fem.tets import Tets

BATCH = 1024  # elements at a time: a tangent takes 81 numbers per point, and what bounds frequencies 432 per element


def spread(weights: Floats, controls: Ints) -> Floats:
    """T (points, 4, c): corners of the linear tet of each point from the control points; the centroid is left out."""
    points = max(len(weights) - 1, 1)
    T = np.zeros((points, 4, int(controls.max()) + 1))
    for m in range(4):
        for k in range(4):
            T[:, m, controls[m, k]] += weights[:points, k]
    return T


def shape_gradients(group: Tets, part: slice) -> Floats:
    """Gradients of the shape functions in every point, (E, points, c, 3) [1/m]."""
    rows = group.inverse[:, part].T.reshape(-1, 3, 3)
    g = np.concatenate([-rows.sum(axis=1, keepdims=True), rows], axis=1)
    return np.einsum("qma,emk->eqak", spread(group.weights, group.controls), g)


def gradients(group: Tets, x: Floats, part: slice = slice(None)) -> Floats:
    """F in every point, (E, points, 3, 3); of velocities: dF/dt."""
    return np.einsum("eai,eqak->eqik", x[group.nodes[part]], shape_gradients(group, part))


def _constants(group: Tets, part: slice, points: int) -> tuple[Floats, Floats]:
    return np.repeat(group.lam[part], points), np.repeat(group.mu[part], points)


def energy(group: Tets, x: Floats) -> Floats:
    """Energy per element [J], (E,)."""
    F = gradients(group, x)
    points = F.shape[1]
    psi = group.law.energy(F.reshape(-1, 3, 3), *_constants(group, slice(None), points))
    return group.volume * np.reshape(psi, (-1, points)).mean(axis=1)


def forces(group: Tets, x: Floats, v: Floats | None) -> Floats:
    """Corner forces (E c, 3) [N], with damping if velocities are given."""
    out = np.empty((*group.nodes.shape, 3))
    for part in batches(len(group.nodes)):
        F = gradients(group, x, part)
        points = F.shape[1]
        lam, mu = _constants(group, part, points)
        P = np.reshape(group.law.stress(F.reshape(-1, 3, 3), lam, mu), F.shape)
        if v is not None:
            rate = gradients(group, v, part) * group.rayleigh[part][:, None, None, None]
            H = projected_tangent(group.law, F.reshape(-1, 3, 3), lam, mu)
            P = P + np.einsum("nij,nj->ni", H, rate.reshape(-1, 9)).reshape(F.shape)
        w = -group.volume[part] / points
        out[part] = np.einsum("e,eqik,eqak->eai", w, P, shape_gradients(group, part))
    return out.reshape(-1, 3)


def stiffness(group: Tets, x: Floats | None, part: slice, out: Floats) -> None:
    """Upper blocks of the projected tangent of some elements, at rest if there are no positions."""
    g = shape_gradients(group, part)
    points, corners = g.shape[1:3]
    F = np.tile(np.eye(3), (len(g), points, 1, 1)) if x is None else gradients(group, x, part)
    H = projected_tangent(group.law, F.reshape(-1, 3, 3), *_constants(group, part, points))
    H = H.reshape(-1, points, 3, 3, 3, 3)
    w = group.volume[part] / points
    half = np.einsum("eqikjl,eqbl->eqikbj", H, g)
    K = np.einsum("e,eqak,eqikbj->eabij", w, g, half, optimize=True)
    first, second = np.triu_indices(corners)
    out[:] = K[:, first, second]


def batches(end: int, first: int = 0) -> list[slice]:
    return [slice(i, min(i + BATCH, end)) for i in range(first, end, BATCH)]
