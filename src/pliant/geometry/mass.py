"""Volume, mass, centre and inertia tensor of solids, by exact integrals over tetrahedra (theory/elements 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.mesh import Surface
from pliant.geometry.topology import Edges

RIGHT = 1e-12  # of the sum of the squares of the sides: a right angle, by rounding
FLAT = 1e-9  # of the volume that its faces sweep: a surface that encloses less is flat


@dataclass(frozen=True)
class Mass:
    """What a rigid motion of a solid needs to know about it."""

    volume: float  # [m^3]
    mass: float  # [kg]
    centre: Floats  # [m], (3,) centre of mass
    inertia: Floats  # [kg m^2], (3, 3) about the centre of mass, in the axes of the points


def mass_of_surface(surface: Surface, density: float = 1.0) -> Mass:
    """Mass of the solid inside a closed surface, as signed tets between its faces and one point.

    density: [kg/m^3]
    """
    check_closed(surface)
    apex = surface.points[np.unique(surface.faces)].mean(axis=0)  # near the solid, so that little cancels
    x = np.empty((len(surface.faces), 4, 3))
    x[:, 0] = apex
    x[:, 1:] = surface.points[surface.faces]
    volumes = np.linalg.det(x[:, 1:] - apex) / 6.0
    if not volumes.sum() > FLAT * np.abs(volumes).sum():
        flat = not volumes.sum() < -FLAT * np.abs(volumes).sum()
        what = "it is flat; give it a thickness" if flat else "it is inside out; reverse the order of its faces"
        raise PliantError(f"the surface encloses {volumes.sum():.3g} m^3: {what}")
    return _integrated(x, volumes, float(density))


def mass_of_samples(points: Floats, normals: Floats, areas: Floats, density: float = 1.0) -> Mass:
    """Mass of the solid inside a surface given by samples, by the divergence theorem; holes count as flat lids seen from the middle.

    V = 1/3 sum A x.n, int x_i dV = 1/2 sum A x_i^2 n_i, int x_i x_j dV = 1/3 sum A x_i^3 n_i if i = j, else the mean of
    1/2 sum A x_i^2 x_j n_i and the same with i and j exchanged.
    """
    middle = np.sum(areas[:, None] * points, axis=0) / areas.sum()
    x, weighted = points - middle, areas[:, None] * normals
    volume = float(np.sum(weighted * x)) / 3.0
    if not volume > 1e-3 * float(areas.sum()) ** 1.5 / (6.0 * np.sqrt(np.pi)):
        raise PliantError(
            f"the samples enclose {volume:.3g} m^3: too little to have a mass. The surface is open, or its normals do not all point out"
        )
    centre = 0.5 * np.sum(weighted * x**2, axis=0) / volume
    y = x - centre
    cross = 0.5 * np.einsum("ni,ni,nj->ij", weighted, y**2, y)
    second = 0.5 * (cross + cross.T)
    np.fill_diagonal(second, np.sum(weighted * y**3, axis=0) / 3.0)
    inertia = density * (np.trace(second) * np.eye(3) - second)
    if np.linalg.eigvalsh(inertia)[0] <= 0.0:
        raise PliantError("the samples enclose a solid without inertia: the surface has large holes, or normals that point inwards")
    return Mass(volume, density * volume, middle + centre, inertia)


def is_closed(surface: Surface) -> bool:
    """Whether it encloses a volume."""
    try:
        check_closed(surface)
    except PliantError:
        return False
    return True


def check_closed(surface: Surface) -> None:
    """Every edge must be run through as often one way as the other; that is what the integrals need."""
    if not len(surface.faces):
        raise PliantError("the surface has no faces, so it encloses nothing")
    edges = Edges(surface.faces)
    faulty = np.flatnonzero(edges.balance)
    if faulty.size:
        single = int((edges.count == 1).sum())
        what = f"is open: {single} boundary edges" if single else f"turns over: {faulty.size} edges join unlike sides"
        raise PliantError(
            f"the surface {what} (first: between points {edges.ends[faulty[0]].tolist()}), so it encloses no volume; "
            f"{'holes = true in the shape closes it' if single else 'orient the faces alike'}"
        )


def _integrated(x: Floats, volumes: Floats, density: float) -> Mass:
    """Sum over tets (m, 4, 3); int x dV = V/4 S, int x x^T dV = V/20 (sum_i x_i x_i^T + S S^T) with S = sum_i x_i."""
    rho_v = density * volumes
    mass = float(rho_v.sum())
    if not mass > 0:
        raise PliantError(f"the mass is {mass:.3g} kg; it must be positive, check density and orientation")
    centre = (rho_v[:, None] * x.sum(axis=1)).sum(axis=0) / (4.0 * mass)
    y = x - centre
    total = y.sum(axis=1)
    second = np.einsum("m,mai,maj->ij", rho_v, y, y) + np.einsum("m,mi,mj->ij", rho_v, total, total)
    second /= 20.0
    return Mass(float(volumes.sum()), mass, centre, np.trace(second) * np.eye(3) - second)


def principal(inertia: Floats) -> tuple[Floats, Floats]:
    """Principal moments (3,) [kg m^2], ascending, and a right-handed R (3, 3): inertia = R diag(moments) R^T."""
    inertia = np.asarray(inertia, dtype=np.float64)
    moments, axes = np.linalg.eigh(0.5 * (inertia + inertia.T))
    if np.linalg.det(axes) < 0:
        axes[:, 2] = -axes[:, 2]
    return moments, axes


def vertex_areas(points: Floats, faces: Ints) -> Floats:
    """A third of the area of the faces around each point [m^2], (p,)."""
    if len(faces) == 0:
        return np.zeros(len(points))
    a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return np.bincount(faces.ravel(), np.repeat(area / 3.0, 3), minlength=len(points)).astype(np.float64)


def nearest_areas(points: Floats, faces: Ints) -> Floats:
    """(p,) [m^2] of the part of the faces that is nearer to each point than to the other corners; of an obtuse face half for the corner
    there and a quarter for the others [Meyer 2003, 3.3]. On a square lattice it is the same everywhere, however the squares are cut; thirds
    are 2/3 to 4/3 of it.
    """
    x = points[faces]
    side = np.stack([np.sum((x[:, (k + 2) % 3] - x[:, (k + 1) % 3]) ** 2, axis=1) for k in range(3)], axis=1)  # opposite to each corner
    area = 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)[:, None]
    whole = side.sum(axis=1, keepdims=True)
    part = side * (whole - 2.0 * side) / np.where(area > 0.0, 4.0 * area, np.inf)  # |e|^2 cot
    share = (part.sum(axis=1, keepdims=True) - part) / 8.0
    obtuse = 2.0 * side > (1.0 + RIGHT) * whole
    share = np.where(obtuse.any(axis=1)[:, None], np.where(obtuse, 0.5, 0.25) * area, share)
    return np.bincount(faces.ravel(), share.ravel(), minlength=len(points)).astype(np.float64)
