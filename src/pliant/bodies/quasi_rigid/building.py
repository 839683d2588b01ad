"""Quasi-rigid bodies: a rigid frame, and a surface that gives way only while something presses on it [Pauly, Pai, Guibas 2004].

The skin is made fine enough to carry pressure: triangles are cut to `spacing`, and put onto the exact shape where there is one. Mass
and inertia come from the surface; of a point cloud, or a surface with holes, from its samples by the divergence theorem. Points without
triangles also serve as rigid and static bodies. With a `core` the skin rides in coarse tetrahedra instead of a frame.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.asking import refuse_many
from pliant.base import Floats, PliantError
from pliant.bodies.fem import building as fem
from pliant.bodies.fem.room import FemBody, FemMaterial
from pliant.bodies.parts import BodyParts, placing
from pliant.bodies.quasi_rigid.response import RESPONSES, read_table, table_of
from pliant.bodies.quasi_rigid.room import QuasiRigidBody, ResponseTable
from pliant.bodies.rigid.building import bound, cloud_parts, fixed_frame, moving_frame, sample_mass
from pliant.detect.surfels.carried import LONGEST
from pliant.detect.surfels.clean import merged
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.make import from_mesh
from pliant.geometry.lattice.lines import mass_of_solid
from pliant.geometry.mass import is_closed
from pliant.geometry.mesh import Surface
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve
from pliant.geometry.subdivide import subdivided

SAMPLES = 4000  # of a body unless it says its spacing
FINER = 0.65  # radius b of the response on a core, in mean edges of its tetrahedra: within 7 % of Hertz on top of cores of any edge
SAME_MASS = 0.1  # of the shape's: difference to the mass of a core that is not told; coarse tetrahedra cut corners off
EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


def parts(body: QuasiRigidBody, shape: Shape, inside: bool) -> BodyParts:
    """A body that gives way locally."""
    if body.core is not None:
        found = _cored(body, shape)
    elif shape.name == "plane":
        found = BodyParts(frame=fixed_frame(*placing(body)), analytic=shape.analytic)
    elif shape.cloud is not None:
        found = cloud_parts(body, shape)
    else:
        found = _meshed(body, shape)
    found.gives, found.table = gives_of(body)
    if body.core is not None and body.material.response == "boussinesq":
        found.gives = _on_core(found, found.gives)
    found.modulus = float(np.mean(body.material.youngs_modulus))
    return found


def changed(body: QuasiRigidBody, groups: list[tuple[Any, Any]], model: Any, number: int) -> None:
    gives, model.bodies.tables[number] = gives_of(body)
    if body.core is not None:
        gives[1:3] = model.bodies.gives[number, 1:3]  # which response rides on a core, and how wide it is, is the core's
        fem.changed(_core(body), groups, model, number)
    model.bodies.gives[number] = gives


def _meshed(body: QuasiRigidBody, shape: Shape) -> BodyParts:
    rotation, shift = placing(body)
    fine = _fine(body, shape)
    whole = mass_of_solid(fine) if is_closed(fine) else sample_mass(from_mesh(fine))
    frame = moving_frame(body, whole, shape.analytic is not None, rotation, shift)
    points = fine.points @ rotation.T + shift
    parts = BodyParts(points=points, surface_points=len(points), faces=fine.faces, frame=frame, analytic=shape.analytic)
    return bound(parts, frame)


def _fine(body: QuasiRigidBody, shape: Shape) -> Surface:
    """The skin with triangles that are small enough to carry pressure."""
    skin = shape.surface()
    x = skin.points[skin.faces]
    area = 0.5 * float(np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum())
    if body.spacing is not None:
        # a sample costs as much as a tetrahedron: of 64,000 each takes 3.4 kB and 12 us of a step
        refuse_many(f"spacing = {body.spacing:g} m", area / body.spacing**2, "Use a larger spacing", "samples")
    place = merged(skin.points)  # what shares a place moves together, so that dents do not tear seams
    skin = Surface(skin.points[np.unique(place, return_index=True)[1]], place[skin.faces])
    fine = subdivided(skin, LONGEST * (body.spacing or math.sqrt(area / SAMPLES))).surface
    if shape.analytic is not None:
        fine = Surface(Exact(*shape.analytic).project(fine.points).points, fine.faces)
    return fine


def _cored(body: QuasiRigidBody, shape: Shape) -> BodyParts:
    """A detailed surface that rides in coarse tetrahedra: these carry large deformation, the response what is smaller than they are."""
    if shape.cloud is not None or shape.name == "plane":
        raise PliantError("a `core` needs a shape with triangles that ride in it.")
    core = resolve(body.core, solid=True)
    if core.tets is None:
        raise PliantError("the `core` has no tetrahedra: give a solid shape.")
    fine = _fine(body, shape)
    found = fem.parts(_core(body, fine), core, False)
    found.notes += _core_mass(body, fine, found)
    return found


def _core(body: QuasiRigidBody, skin: Surface | None = None) -> FemBody:
    """The tetrahedra in which the skin rides, as a body of their own."""
    own = {name: value for name, value in body.material.stated().items() if name not in ("response", "layer")}
    same = {name: getattr(body, name) for name in ("position", "rotation", "velocity", "angular_velocity")}
    return FemBody(name=body.name, shape=body.core, skin=skin, material=FemMaterial(**own), **same)


def _core_mass(body: QuasiRigidBody, fine: Surface, parts: BodyParts) -> list[str]:
    """That the core has the mass, where the shape's own would be another."""
    values, tets = parts.elements[0].values, parts.nodes[parts.elements[0].nodes]
    volumes = np.abs(np.linalg.det(tets[:, 1:] - tets[:, :1])) / 6.0
    carried = float(np.sum(values["density"] * volumes))
    whole = mass_of_solid(fine) if is_closed(fine) else sample_mass(from_mesh(fine))
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


def gives_of(body: QuasiRigidBody) -> tuple[Floats, Floats]:
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
