"""A body of points as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.elements import Elements
from pliant.bodies.parts import BodyParts, ElementPart, node_skin, placing, start_velocity
from pliant.bodies.points.elements import Points
from pliant.bodies.points.phyxels import kernel_volumes, phyxels, point_values
from pliant.bodies.points.room import PointsBody
from pliant.bodies.points.skin import ride
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
