"""Bodies with a frame as arrays: rigid and static ones, of a surface, of tetrahedra or of the points of a scan."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.bodies.parts import BodyParts, FramePart, node_skin, placing
from pliant.bodies.room import find_room
from pliant.bodies.schema import Body
from pliant.detect.surfels.make import from_cloud
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.lattice.lines import mass_of_solid
from pliant.geometry.mass import Mass, mass_of_samples, mass_of_surface, principal
from pliant.geometry.quaternions import matrix_to_quaternion
from pliant.geometry.shape import Shape


def parts(body: Body, shape: Shape, inside: bool) -> BodyParts:
    """A rigid or static body: its surface, and tetrahedra inside if they are asked for."""
    rotation, shift = placing(body)
    if shape.cloud is not None:
        return cloud_parts(body, shape)
    if shape.name == "plane":
        if find_room(body.model).moves:
            raise PliantError("a plane has no end and no mass: use model = \"static\".")
        return BodyParts(frame=fixed_frame(rotation, shift), analytic=shape.analytic)
    if find_room(body.model).moves:
        whole = (mass_of_surface if shape.skin is None else mass_of_solid)(shape.surface())  # shapes by code do not overlap themselves
        frame = moving_frame(body, whole, shape.analytic is not None, rotation, shift)
    else:
        frame = fixed_frame(rotation, shift)
    if inside and shape.weights is not None:
        assert shape.tets is not None
        surface = shape.surface().moved(shift, rotation)
        found = BodyParts(surface_points=len(surface.points), faces=surface.faces, tets=shape.tets.tets + len(surface.points))
        found.points = np.concatenate([surface.points, shape.tets.points @ rotation.T + shift])
    elif inside:
        assert shape.tets is not None
        found = node_skin(shape.tets.points @ rotation.T + shift, shape.tets.boundary, shape.tets.tets)
    else:
        surface = shape.surface().moved(shift, rotation)
        found = BodyParts(points=surface.points, surface_points=len(surface.points), faces=surface.faces)
    found.nodes, found.bind_node, found.bind_weight = np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0)
    found.bind_start = np.zeros(len(found.points) + 1, np.int64)
    found.local, found.frame, found.analytic = frame.local(found.points), frame, shape.analytic
    return found


def changed(body: Body, groups: list[tuple[Any, Any]], model: Any, number: int) -> None:
    """Nothing but the damping of its frame, which every body has."""


def cloud_parts(body: Body, shape: Shape) -> BodyParts:
    """A body with a frame whose skin are the points of a scan."""
    assert shape.cloud is not None
    rotation, shift = placing(body)
    made = from_cloud(shape.cloud, name=shape.name)
    frame = moving_frame(body, sample_mass(made), False, rotation, shift) if find_room(body.model).moves else fixed_frame(rotation, shift)
    points, normals = made.points @ rotation.T + shift, made.normals @ rotation.T
    parts = BodyParts(points=points, surface_points=len(points), frame=frame)
    parts.normals, parts.areas = frame.local(normals + frame.position), made.areas
    return bound(parts, frame)


def bound(parts: BodyParts, frame: FramePart) -> BodyParts:
    """All points fixed in the frame."""
    parts.bind_start, parts.local = np.zeros(len(parts.points) + 1, np.int64), frame.local(parts.points)
    return parts


def sample_mass(surface: PointSurface) -> Mass:
    """Of a surface that may have holes, from its samples by the divergence theorem."""
    return mass_of_samples(surface.points, surface.normals, surface.areas)


def fixed_frame(rotation: Floats, shift: Floats) -> FramePart:
    zero = np.zeros(3)
    return FramePart(shift, matrix_to_quaternion(rotation), zero, zero, 1.0, np.ones(3), True, 0.0)


def moving_frame(body: Body, whole: Mass, exact: bool, rotation: Floats, shift: Floats) -> FramePart:
    """Frame at the centre of mass along the principal axes; shapes known exactly keep their own axes."""
    density = body.material.density
    if isinstance(density, list):
        raise PliantError("a rigid body has one density; give one number.")
    moments, axes = principal(whole.inertia)
    centre = whole.centre
    if exact:  # symmetric about their axes, and the signed distance is written in them
        moments, axes, centre = np.diag(whole.inertia).copy(), np.eye(3), np.zeros(3)
    turned = rotation @ axes
    omega = np.array(body.angular_velocity)
    moments = density * moments
    return FramePart(
        position=rotation @ centre + shift,
        rotation=matrix_to_quaternion(turned),
        velocity=np.array(body.velocity),
        spin=turned @ (moments * (turned.T @ omega)),
        mass=density * whole.volume,
        moments=moments,
        fixed=bool(body.motions),
        damping=body.material.mass_damping,
    )
