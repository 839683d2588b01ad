"""Where the phyxels of a body are, how large, and what they are made of."""

from __future__ import annotations

import numpy as np

from pliant.bodies.materials import lame
from pliant.bodies.networks import per_element
from pliant.geometry.filling import fill
from pliant.geometry.mesh import Floats
from pliant.geometry.shape import Shape
from pliant.scene import Body, Material


def phyxels(body: Body, shape: Shape) -> tuple[Floats, Floats]:
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


def point_values(material: Material, count: int) -> dict[str, Floats]:
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
        "yield_strain": material.yield_strain or np.inf,
        "creep_time": material.creep_time,
        "max_plastic_strain": material.max_plastic_strain or np.inf,
        "tear_strain": material.tear_strain or np.inf,
        "shape_only": float(material.flow == "shape"),
    }
    values = {name: np.full(count, value, np.float64) for name, value in numbers.items()}
    density = per_element(material.density, count, "density", "phyxel")
    return values | {"lam": lam, "mu": mu, "bulk": material.volume_stiffness * left, "density": density}
