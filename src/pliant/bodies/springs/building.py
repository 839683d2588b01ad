"""The networks a body of springs can be: which vertices there are, which pairs of them are joined, and what each weighs; and such a
body as arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.elements import Elements
from pliant.bodies.parts import BodyParts, ElementPart, embedded_skin, node_skin, per_element, placing, start_velocity
from pliant.bodies.springs.all_pairs import AllPairs
from pliant.bodies.springs.elements import Springs, bending_pairs, cell_pairs, surface_edges, tet_edges
from pliant.bodies.springs.room import SpringsBody
from pliant.geometry.filling import lattice
from pliant.geometry.mass import mass_of_surface, vertex_areas
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.near import kd_tree
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve


@dataclass
class Network:
    """Vertices joined by springs, in the coordinates of the shape."""

    points: Floats  # [m] (n, 3)
    faces: Ints  # the surface
    mass: Floats  # [kg] (n,)
    pairs: Ints | None  # (S, 2); None: all of them
    tets: Ints = field(default_factory=lambda: np.zeros((0, 4), np.int64))  # inside
    skin: Surface | None = None  # rides in the tets


def network(body: SpringsBody, shape: Shape, skin: Surface | None, inside: bool) -> Network:
    """The network of a body of springs; `skin` is a finer surface that rides in its tets; `inside`: contact needs tets."""
    if skin is not None and body.network != "tets":
        raise PliantError("an embedded `skin` needs tetrahedra to ride in; use network = \"tets\".")
    net = NETWORKS[body.network](body, shape, inside)
    if skin is not None:
        net.skin = skin
    if body.material.vertex_mass is not None:
        net.mass = per_element(body.material.vertex_mass, len(net.points), "vertex_mass", "vertex")
    if net.pairs is None:
        _refuse_coincident(net.points)
    return net


def _tets(body: SpringsBody, shape: Shape, inside: bool) -> Network:
    assert shape.tets is not None
    mesh = shape.tets
    return Network(mesh.points, mesh.boundary, _tet_mass(mesh, body.material.density), tet_edges(mesh.tets), mesh.tets)


def _surface(body: SpringsBody, shape: Shape, inside: bool) -> Network:
    surface = shape.surface()
    pairs = np.concatenate([surface_edges(surface.faces), bending_pairs(surface.faces)])
    return Network(surface.points, surface.faces, _surface_mass(surface, body), pairs)


def _every_pair(body: SpringsBody, shape: Shape, inside: bool) -> Network:
    """The vertices of the surface, or of the tets if the contact method needs these and had them made."""
    if inside:
        assert shape.tets is not None
        mesh = shape.tets
        return Network(mesh.points, mesh.boundary, _tet_mass(mesh, body.material.density), None, mesh.tets)
    surface = shape.surface()
    return Network(surface.points, surface.faces, _surface_mass(surface, body), None)


def _voxels(body: SpringsBody, shape: Shape, inside: bool) -> Network:
    surface = shape.surface()
    volume = mass_of_surface(surface).volume  # refuses an open surface
    found = lattice(surface, body.spacing)
    share = np.bincount(found.cells.ravel(), np.repeat(found.filled, 8), minlength=len(found.mesh.points))
    mass = _one_density(body.material.density) * volume * share / share.sum()
    return Network(found.mesh.points, found.mesh.boundary, mass, cell_pairs(found.cells), found.mesh.tets, surface)


NETWORKS: dict[str, Callable[[SpringsBody, Shape, bool], Network]] = {
    "tets": _tets,
    "surface": _surface,
    "all-pairs": _every_pair,
    "voxels": _voxels,
}


def _tet_mass(mesh: TetMesh, density: Any) -> Floats:
    share = per_element(density, len(mesh.tets), "density") * mesh.volumes / 4.0
    return np.bincount(mesh.tets.ravel(), np.repeat(share, 4), minlength=len(mesh.points)).astype(np.float64)


def _surface_mass(surface: Surface, body: SpringsBody) -> Floats:
    """Mass of each point: of the volume inside a closed surface, or of an open sheet, shared by area."""
    density = _one_density(body.material.density)
    area = vertex_areas(surface.points, surface.faces)
    try:
        total = density * mass_of_surface(surface).volume
    except PliantError:  # open: a sheet
        total = density * body.material.thickness * float(area.sum())
    return total * area / area.sum()


def _one_density(density: Any) -> float:
    if isinstance(density, list):
        raise PliantError("this network has no elements with volume: give density as one number, or vertex_mass as a list.")
    return float(density)


def _refuse_coincident(points: Floats) -> None:
    """A spring between two vertices at one place has no direction, and its length cannot be zero again."""
    size = float(np.ptp(points, axis=0).max(initial=0.0))
    twins = kd_tree(points).query_pairs(1e-9 * size, output_type="ndarray")
    if len(twins):
        a, b = sorted(twins.tolist())[0]
        raise PliantError(
            f"vertices {a} and {b} are at one place ({len(twins)} such pairs), where the spring between them has no direction: "
            "join them (`pliant check FILE --repair`), or use network = \"surface\"."
        )


def parts(body: SpringsBody, shape: Shape, inside: bool) -> BodyParts:
    rotation, shift = placing(body)
    material = body.material
    net = network(body, shape, None if body.skin is None else resolve(body.skin, solid=False).surface(), inside)
    found = node_skin(net.points @ rotation.T + shift, net.faces, net.tets)
    if net.skin is not None:
        embedded_skin(found, net.skin.moved(shift, rotation), TetMesh(found.nodes, net.tets))
    listed = net.pairs is not None
    ends = net.pairs if net.pairs is not None else np.arange(len(net.points))[:, None]
    values = {
        "stiffness": per_element(material.spring_stiffness, len(ends), "spring_stiffness", "spring" if listed else "vertex"),
        "damping": np.full(len(ends), material.spring_damping),
        "rayleigh": np.full(len(ends), material.stiffness_damping),
    }
    found.elements = [ElementPart("springs" if listed else "all-pairs", "springs", ends, values, _springs if listed else _all_pairs)]
    found.node_mass = net.mass
    found.velocity = start_velocity(body, found.nodes, found.node_mass)
    found.drag = _drag(body)
    faces = found.points[found.faces] if len(found.faces) else np.ones((1, 3, 3))
    length = np.linalg.norm(faces[:, 1] - faces[:, 0], axis=1).mean()
    found.modulus = float(np.mean(material.spring_stiffness) / max(length, 1e-300))
    return found


def _springs(nodes: Ints, start: Ints, rest: Floats, values: dict[str, Floats]) -> Elements:
    return Springs(nodes, np.linalg.norm(rest[nodes[:, 1]] - rest[nodes[:, 0]], axis=1), **values)


def _all_pairs(nodes: Ints, start: Ints, rest: Floats, values: dict[str, Floats]) -> Elements:
    return AllPairs(nodes, start, rest[nodes[:, 0]], **values)


def _drag(body: SpringsBody) -> tuple[float, float, float]:
    material = body.material
    return material.vertex_damping, material.adaptive_force or 0.0, material.adaptive_cap


def changed(body: SpringsBody, groups: list[tuple[Any, Any]], model: Any, number: int) -> None:
    material = body.material
    model.nodes.drag[np.isin(model.nodes.body, model.bodies.family(number))] = _drag(body)
    for group, mine in groups:
        group.rayleigh[mine] = material.stiffness_damping
        group.spring_stiffness[mine] = material.spring_stiffness
        group.damping[mine] = material.spring_damping
