"""Where the phyxels of a body are, how large, and what they are made of."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.bodies.elasticity import lame
from pliant.bodies.parts import per_element
from pliant.bodies.points.neighbourhoods import mean_distance
from pliant.bodies.points.room import PointsBody, PointsMaterial
from pliant.geometry.filling import fill
from pliant.geometry.near import kd_tree
from pliant.geometry.shape import Shape


def phyxels(body: PointsBody, shape: Shape) -> tuple[Floats, Floats]:
    """Places [m] and volumes [m^3] of the phyxels of a body, in the coordinates of its shape."""
    if not body.on_mesh:
        return fill(shape.surface(), body.spacing, body.phyxels)
    assert shape.tets is not None
    mesh = shape.tets
    if body.phyxels == "centres":
        return mesh.points[mesh.tets].mean(axis=1), mesh.volumes
    share = np.bincount(mesh.tets.ravel(), np.repeat(mesh.volumes / 4.0, 4), minlength=len(mesh.points)).astype(np.float64)
    used = share > 0.0
    return mesh.points[used], share[used]


def kernel_volumes(places: Floats, support: float) -> tuple[Floats, Floats]:
    """Volumes [m^3] of phyxels as published, and their densities over that of the material (`volumes = "sph"`; Müller et al. 2004).

    m_i = s r_i^3 rho,   rho_i = sum_j m_j W(|X_j - X_i|, h_ij),   v_i = m_i / rho_i,   W(r, h) = 315 / (64 pi h^9) (h^2 - r^2)^3

    with one s that makes the mean of rho_i the density rho. Kernel sums miss what is not there beyond the surface: volumes are too large
    near it, and do not add up to that of the body (theory/point-bodies 3.2).
    """
    reach = mean_distance(places)
    radius = support * reach
    pairs = kd_tree(places).query_pairs(float(radius.max()), output_type="ndarray")
    i, j = np.concatenate([pairs, pairs[:, ::-1], np.tile(np.arange(len(places)), (2, 1)).T]).T  # each phyxel is its own neighbour
    square, h2 = ((places[j] - places[i]) ** 2).sum(axis=1), (0.5 * (radius[i] + radius[j])) ** 2
    W = 315.0 / (64.0 * np.pi) * np.maximum(h2 - square, 0.0) ** 3 / h2**4.5
    mass = reach**3
    density = np.bincount(i, mass[j] * W, minlength=len(places))
    return mass / density, density / density.mean()


def point_values(material: PointsMaterial, count: int) -> dict[str, Floats]:
    """What each phyxel is made of, at the temperature of the material."""
    modulus = per_element(material.youngs_modulus, count, "youngs_modulus", "phyxel")
    left = np.ones(count)
    if material.softening is not None:
        cold, hot = material.softening
        share = np.clip((material.temperature - cold) / (hot - cold), 0.0, 1.0)
        left = (1.0 - share) + share * material.soft_modulus / modulus
    lam, mu = lame(modulus * left, material.poisson_ratio)
    numbers = {
        "rayleigh": material.stiffness_damping,
        "hourglass": material.hourglass,
        "crush": material.crush,
        "yield_strain": material.yield_strain or np.inf,
        "creep_time": material.creep_time,
        "max_plastic_strain": material.max_plastic_strain or np.inf,
        "tear_strain": material.tear_strain or np.inf,
        "shape_only": float(material.flow == "shape"),
    }
    if material.strain == "mkn04":  # strain F^T F - 1: that of Green with four times the moduli, and yield strains of half the size
        lam, mu = 4.0 * lam, 4.0 * mu
        numbers |= {name: numbers[name] / 2.0 for name in ("yield_strain", "max_plastic_strain")}
        numbers["hourglass"] /= 4.0
    values = {name: np.full(count, value, np.float64) for name, value in numbers.items()}
    density = per_element(material.density, count, "density", "phyxel")
    return values | {"lam": lam, "mu": mu, "bulk": material.volume_stiffness * left, "density": density}
