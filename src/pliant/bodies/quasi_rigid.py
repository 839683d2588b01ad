"""Quasi-rigid bodies: a rigid frame, and a surface that gives way only while something presses on it [Pauly, Pai, Guibas 2004].

The skin is made fine enough to carry pressure: triangles are cut to `spacing`, and put onto the exact shape where there is one. Mass
and inertia come from the surface; of a point cloud, or a surface with holes, from its samples by the divergence theorem. Points without
triangles also serve as rigid and static bodies. With a `core` the skin rides in coarse tetrahedra instead of a frame.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, PliantError
from pliant.bodies.body import SOFT, BodyParts, FramePart, fixed_frame, moving_frame, placing
from pliant.bodies.response_table import read_table, table_of
from pliant.detect.surfels.carried import LONGEST
from pliant.detect.surfels.clean import merged
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.make import from_cloud, from_mesh
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.mass import Mass, is_closed, mass_of_samples, mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve
from pliant.geometry.subdivide import subdivided
from pliant.model import RESPONSES
from pliant.scene import Body, ResponseTable

SAMPLES = 4000  # of a body unless it says its spacing
FINER = 0.65  # radius b of the response on a core, in mean edges of its tetrahedra: within 7 % of Hertz on top of cores of any edge
SAME_MASS = 0.1  # of the shape's: difference to the mass of a core that is not told; coarse tetrahedra cut corners off
EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


def quasi_rigid_parts(body: Body, shape: Shape) -> BodyParts:
    """A body that gives way locally."""
    if body.core is not None:
        parts = _cored(body, shape)
    elif shape.name == "plane":
        rotation, shift = placing(body)
        parts = BodyParts(frame=fixed_frame(rotation, shift), analytic=shape.analytic)
    elif shape.cloud is not None:
        parts = cloud_parts(body, shape)
    else:
        parts = _meshed(body, shape)
    parts.gives, parts.table = gives_of(body)
    if body.core is not None and body.material.response == "boussinesq":
        parts.gives = _on_core(parts, parts.gives)
    return parts


def _meshed(body: Body, shape: Shape) -> BodyParts:
    rotation, shift = placing(body)
    fine = _fine(body, shape)
    whole = mass_of_surface(fine) if is_closed(fine) else _mass(from_mesh(fine))
    frame = moving_frame(body, whole, shape.analytic is not None, rotation, shift)
    points = fine.points @ rotation.T + shift
    parts = BodyParts(points=points, surface_points=len(points), faces=fine.faces, frame=frame, analytic=shape.analytic)
    return _bound(parts, frame)


def _fine(body: Body, shape: Shape) -> Surface:
    """The skin with triangles that are small enough to carry pressure."""
    skin = shape.surface()
    x = skin.points[skin.faces]
    area = 0.5 * float(np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum())
    place = merged(skin.points)  # what shares a place moves together, so that dents do not tear seams
    skin = Surface(skin.points[np.unique(place, return_index=True)[1]], place[skin.faces])
    fine = subdivided(skin, LONGEST * (body.spacing or math.sqrt(area / SAMPLES))).surface
    if shape.analytic is not None:
        fine = Surface(Exact(*shape.analytic).project(fine.points).points, fine.faces)
    return fine


def _cored(body: Body, shape: Shape) -> BodyParts:
    """A detailed surface that rides in coarse tetrahedra: these carry large deformation, the response what is smaller than they are."""
    if shape.cloud is not None or shape.name == "plane":
        raise PliantError("a `core` needs a shape with triangles that ride in it.")
    core = resolve(body.core, solid=True)
    if core.tets is None:
        raise PliantError("the `core` has no tetrahedra: give a solid shape.")
    fine = _fine(body, shape)
    parts = SOFT["fem"](body.model_copy(update={"model": "fem", "skin": fine, "core": None}), core, False)
    parts.notes += _core_mass(body, fine, parts)
    return parts


def _core_mass(body: Body, fine: Surface, parts: BodyParts) -> list[str]:
    """That the core has the mass, where the shape's own would be another."""
    values, tets = parts.elements[0].values, parts.nodes[parts.elements[0].nodes]
    volumes = np.abs(np.linalg.det(tets[:, 1:] - tets[:, :1])) / 6.0
    carried = float(np.sum(values["density"] * volumes))
    whole = mass_of_surface(fine) if is_closed(fine) else _mass(from_mesh(fine))
    own = float(np.mean(values["density"])) * whole.volume
    if abs(carried - own) <= SAME_MASS * own:
        return []
    return [
        f"The mass of '{body.name}' is that of its core, {carried:.3g} kg; filled, its shape would have {own:.3g} kg "
        f"({100.0 * (carried / own - 1.0):+.0f} %). Make the core as large as the shape, or change the density."
    ]


def _on_core(parts: BodyParts, gives: Floats) -> Floats:
    """The response on top of a core: half-space near the force, and no net volume, since what is wider than an edge is the core's.

    Boussinesq's C/r would count that twice: on cores with edges of 2.5 to 10 contact radii a ball met 10 to 33 % less force than Hertz has.
    """
    tets = parts.nodes[parts.elements[0].nodes]
    edge = float(np.mean([np.linalg.norm(tets[:, i] - tets[:, j], axis=1).mean() for i, j in EDGES]))
    out = gives.copy()
    out[1], out[2] = RESPONSES["volume-preserving"], FINER * edge
    return out


def cloud_parts(body: Body, shape: Shape) -> BodyParts:
    """A body with a frame whose skin are the points of a scan."""
    assert shape.cloud is not None
    rotation, shift = placing(body)
    made = from_cloud(shape.cloud, name=shape.name)
    frame = fixed_frame(rotation, shift) if body.model == "static" else moving_frame(body, _mass(made), False, rotation, shift)
    points, normals = made.points @ rotation.T + shift, made.normals @ rotation.T
    parts = BodyParts(points=points, surface_points=len(points), frame=frame)
    parts.normals, parts.areas = frame.local(normals + frame.position), made.areas
    return _bound(parts, frame)


def _bound(parts: BodyParts, frame: FramePart) -> BodyParts:
    """All points fixed in the frame."""
    parts.bind_start, parts.local = np.zeros(len(parts.points) + 1, np.int64), frame.local(parts.points)
    return parts


def _mass(surface: PointSurface) -> Mass:
    return mass_of_samples(surface.points, surface.normals, surface.areas)


def gives_of(body: Body) -> tuple[Floats, Floats]:
    """(C [m^2/N], kind of response, its length [m], damping [s]), and its table (k, 2) if it is one."""
    material, kind = body.material, body.material.response
    if isinstance(material.youngs_modulus, list):
        raise PliantError("a quasi-rigid body has one Young's modulus; give one number.")
    c = (1.0 - material.poisson_ratio**2) / (math.pi * material.youngs_modulus)
    if isinstance(kind, ResponseTable) or kind not in RESPONSES:
        own, rows = read_table(kind) if isinstance(kind, str) else (kind.c, table_of(kind.r, kind.values))
        return np.array([c, RESPONSES["table"], np.inf, material.stiffness_damping]), rows * [1.0, c / own]
    if kind != "boussinesq" and material.layer is None:
        raise PliantError(
            f"response = \"{kind}\" needs `layer` [m]: how far a push is felt; about twice the radius of the contacts to come for flesh "
            "and rubber, the thickness of the layer on a hard core."
        )
    return np.array([c, RESPONSES[kind], material.layer or np.inf, material.stiffness_damping]), np.zeros((0, 2))
