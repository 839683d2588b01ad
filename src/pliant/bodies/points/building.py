"""A body of points as arrays: where its phyxels are, how large, and what they are made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.elasticity import lame
from pliant.bodies.elements import Elements
from pliant.bodies.parts import BodyParts, ElementPart, node_skin, per_element, placing, start_velocity
from pliant.bodies.points.elements import Points
from pliant.bodies.points.neighbourhoods import mean_distance
from pliant.bodies.points.room import PointsBody, PointsMaterial
from pliant.bodies.points.skin import ride
from pliant.geometry.filling import fill
from pliant.geometry.near import kd_tree
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve


def parts(body: PointsBody, shape: Shape, inside: bool) -> BodyParts:
    """Phyxels, and the surface (with tets inside if contact needs them) riding on them; phyxels follow as interior points."""
    rotation, shift = placing(body)
    places, volume = phyxels(body, shape)
    skin = None if body.skin is None else resolve(body.skin, solid=False).surface()
    tets = np.zeros((0, 4), np.int64)
    if skin is None and inside and shape.tets is not None:
        whole = node_skin(shape.tets.points, shape.tets.boundary, shape.tets.tets)
        points, surface, faces, tets = whole.points, whole.surface_points, whole.faces, whole.tets
    else:
        skin = shape.surface() if skin is None else skin
        points, surface, faces = skin.points, len(skin.points), skin.faces
    riding, count = ride(points, places), np.arange(len(places))
    values = point_values(body.material, len(places))
    if body.volumes == "sph":
        volume, crowding = kernel_volumes(places, body.support)
        values["density"] = values["density"] * crowding
    same = {"support": body.support, "exact": float(body.tangent == "exact")}  # all over the body
    values |= {"volume": volume} | {name: np.full(len(places), value) for name, value in same.items()}
    nodes = places @ rotation.T + shift
    return BodyParts(
        points=np.concatenate([points @ rotation.T + shift, nodes]),
        surface_points=surface,
        faces=faces,
        tets=tets,
        bind_start=np.concatenate([riding.start, riding.start[-1] + 1 + count]),
        bind_node=np.concatenate([riding.node, count]),
        bind_weight=np.concatenate([riding.weight, np.ones(len(places))]),
        local=np.zeros((len(points) + len(places), 3)),
        nodes=nodes,
        node_mass=np.zeros(len(places)),
        velocity=start_velocity(body, nodes, values["density"] * volume),
        elements=[ElementPart("points", "points", count[:, None], values, _make)],
        modulus=float(np.mean(body.material.youngs_modulus)),
        flows=body.material.yield_strain is not None,
        tears=body.material.tear_strain is not None,
    )


def _make(nodes: Ints, start: Ints, rest: Floats, values: dict[str, Floats]) -> Elements:
    return Points(nodes, start, rest[nodes[:, 0]], **values)


def changed(body: PointsBody, groups: list[tuple[Any, Any]], model: Any, number: int) -> None:
    for group, mine in groups:
        for key, array in point_values(body.material, int(mine.sum())).items():
            if key != "density":
                getattr(group, key)[mine] = array


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
