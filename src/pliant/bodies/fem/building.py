"""A body of finite elements as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.elasticity import lame
from pliant.bodies.elements import Elements
from pliant.bodies.fem.materials import find_law
from pliant.bodies.fem.room import FemBody, FemMaterial, Region
from pliant.bodies.fem.tets import Tet4, Tet10
from pliant.bodies.parts import BodyParts, ElementPart, embedded_skin, node_skin, per_element, placing, start_velocity
from pliant.geometry.embed import Embedding, part_in_group, part_inside
from pliant.geometry.mesh import TetMesh
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve
from pliant.geometry.topology import elevate, split_eight, subdivided_skin


def parts(body: FemBody, shape: Shape, inside: bool) -> BodyParts:
    assert shape.tets is not None
    rotation, shift = placing(body)
    mesh = shape.tets.moved(shift, rotation)
    material, count, law = body.material, len(mesh.tets), body.material.law
    find_law(law)
    values = _values(material, count)
    for region in body.regions:
        _mix(values, region, material, shape.tets)
    quadratic, weights = body.element == "quadratic", shape.weights
    if weights is not None:
        _refuse_on_lattice(body)
    values["filled"] = np.ones(count) if weights is None else weights.filled
    if not quadratic:
        values["share"] = np.full((count, 4), 0.25) if weights is None else weights.share

    def make(nodes: Ints, start: Ints, rest: Floats, values: dict[str, Floats]) -> Elements:
        return (Tet10 if quadratic else Tet4)(nodes, rest, **values, law=law)

    found = _quadratic_skin(mesh) if quadratic else node_skin(mesh.points, mesh.boundary, mesh.tets)
    nodes = elevate(mesh)[1] if quadratic else mesh.tets
    found.elements = [ElementPart("tet10" if quadratic else "tet4", law, nodes, values, make)]
    if weights is not None:
        embedded_skin(found, shape.surface().moved(shift, rotation), mesh, Embedding(weights.ride, weights.ride_weights))
    elif body.skin is not None:
        if quadratic:
            raise PliantError("an embedded `skin` rides in 4-node elements; use element = \"linear\".")
        embedded_skin(found, resolve(body.skin, solid=False).surface().moved(shift, rotation), mesh)
    found.node_mass, mass = np.zeros(len(found.nodes)), np.zeros(len(found.nodes))
    share = 1.0 if weights is None else weights.share
    np.add.at(mass, nodes, (values["density"] * mesh.volumes)[:, None] * share)
    found.velocity = start_velocity(body, found.nodes, mass)
    found.modulus = float(np.mean(material.youngs_modulus))
    return found


def _values(material: FemMaterial, count: int) -> dict[str, Floats]:
    """What elements of a material need to know, one by one."""
    lam, mu = lame(per_element(material.youngs_modulus, count, "youngs_modulus"), material.poisson_ratio)
    return {
        "lam": np.broadcast_to(lam, count).astype(np.float64),
        "mu": np.broadcast_to(mu, count).astype(np.float64),
        "density": per_element(material.density, count, "density"),
        "rayleigh": np.full(count, material.stiffness_damping),
    }


def _mix(values: dict[str, Floats], region: Region, material: FemMaterial, mesh: TetMesh) -> None:
    """Elements take the values of a region by the part of them that is in it: strain is the same all over an element (Voigt's mean)."""
    stated = {name: value for name, value in region.material.stated().items() if value is not None}
    own = _values(FemMaterial(**(material.stated() | stated)), len(mesh.tets))
    if region.group is not None:
        part = part_in_group(mesh, region.group)
    else:
        part = part_inside(mesh, resolve(region.shape, solid=False).surface())
    for name, value in own.items():
        values[name] += part * (value - values[name])


def _refuse_on_lattice(body: FemBody) -> None:
    if body.element == "quadratic":
        raise PliantError("cells that a surface cuts are 4-node elements; use element = \"linear\", or fill = \"conforming\".")
    if body.skin is not None:
        raise PliantError("with fill = \"lattice\" the surface itself is the skin; leave out `skin`, or use fill = \"conforming\".")


def changed(body: FemBody, groups: list[tuple[Any, Any]], model: Any, number: int) -> None:
    material = body.material
    if body.regions:
        raise PliantError(f"the material of '{body.name}' cannot change while it runs: it has regions.")
    for group, mine in groups:
        group.rayleigh[mine] = material.stiffness_damping
        group.lam[mine], group.mu[mine] = lame(np.asarray(material.youngs_modulus, np.float64), material.poisson_ratio)


def _quadratic_skin(mesh: TetMesh) -> BodyParts:
    """Corners and edge middles of 10-node elements, with curved faces split in four and tets in eight."""
    nodes, elements = elevate(mesh)
    skin = subdivided_skin(elements, len(nodes))
    points = np.zeros((len(skin.offsets) - 1, 3))
    owner = np.repeat(np.arange(len(points)), np.diff(skin.offsets))
    np.add.at(points, owner, skin.weights[:, None] * nodes[skin.nodes])
    return BodyParts(
        points=points,
        surface_points=skin.n_surface,
        faces=skin.faces,
        tets=skin.point_of_node[split_eight(elements, nodes)],
        bind_start=skin.offsets,
        bind_node=skin.nodes,
        bind_weight=skin.weights,
        local=np.zeros((len(points), 3)),
        nodes=nodes,
    )
