"""A body of springs as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.elements import Elements
from pliant.bodies.parts import BodyParts, ElementPart, embedded_skin, node_skin, per_element, placing, start_velocity
from pliant.bodies.springs.all_pairs import AllPairs
from pliant.bodies.springs.elements import Springs
from pliant.bodies.springs.networks import network
from pliant.bodies.springs.room import SpringsBody
from pliant.geometry.mesh import TetMesh
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve


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
