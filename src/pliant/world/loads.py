"""Loads of a scene, turned into forces on nodes and frames at a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.model import Skin
from pliant.world import bindings

if TYPE_CHECKING:
    from pliant.world.world import World


def add_loads(
    world: World, x: Floats, position: Floats, rotation: Floats, time: float | Floats, on_nodes: Floats, on_frames: Floats, torque: Floats
) -> None:
    """Add all loads of the scene at this time, or each table's at its own."""
    loads, skin = world.model.loads, world.model.skin
    if len(loads.tables.start) == 1:
        return
    values = loads.tables(time)
    if len(loads.point) or len(loads.face):
        place = world.skin_positions(x, position, rotation)
        points, forces = [loads.point], [values[loads.point_table] * loads.point_share[:, None]]
        if len(loads.face):
            corners = skin.faces[loads.face]
            value = values[loads.face_table]
            a, b, c = place[corners[:, 0]], place[corners[:, 1]], place[corners[:, 2]]
            # pressure [Pa] pushes against the outward normal of the face as it is now; a traction keeps direction and area
            push = -0.5 * value[:, :1] * np.cross(b - a, c - a)
            force = np.where(loads.face_follows[:, None] == 1, push, value * loads.face_area[:, None])
            points.append(corners.ravel())
            forces.append((_shares(skin, corners)[:, :, None] * force[:, None, :]).reshape(-1, 3))
        bindings.point_forces(
            np.concatenate(points), np.ascontiguousarray(np.concatenate(forces)), place, skin.start, skin.node, skin.weight,
            skin.frame, position, on_nodes, on_frames, torque,
        )  # fmt: skip
    if len(loads.body):
        _on_whole_bodies(world, x, values, on_nodes, on_frames, torque)


def _shares(skin: Skin, corners: Ints) -> Floats:
    """Part of a face's force that each corner takes, (f, 3).

    A 10-node face is drawn as four triangles over its corners and edge middles. A uniform load has the consistent forces of
    the element if it all acts at the middles (the rule of three edge middles is exact for degree 2), a third of the face each.
    """
    middle = (skin.start[corners + 1] - skin.start[corners] > 1).astype(np.float64)
    total = middle.sum(axis=1, keepdims=True)
    return np.where(total > 0, middle / np.maximum(total, 1.0), 1.0 / 3.0)


def _on_whole_bodies(world: World, x: Floats, values: Floats, on_nodes: Floats, on_frames: Floats, torque: Floats) -> None:
    """Forces shared by mass; torques as the forces m alpha x r of a rigid turn with that moment."""
    loads, bodies, nodes = world.model.loads, world.model.bodies, world.model.nodes
    count = len(bodies)
    force, moment = np.zeros((count, 3)), np.zeros((count, 3))
    turning = loads.body_is_torque == 1
    np.add.at(force, loads.body[~turning], values[loads.body_table[~turning]])
    np.add.at(moment, loads.body[turning], values[loads.body_table[turning]])
    framed = np.flatnonzero(bodies.frame >= 0)
    on_frames[bodies.frame[framed]] += force[framed]
    torque[bodies.frame[framed]] += moment[framed]
    if len(nodes.mass) == 0:
        return
    mass = np.bincount(nodes.body, nodes.mass, minlength=count)
    on_nodes += (nodes.mass / mass[nodes.body])[:, None] * force[nodes.body]
    if turning.any():
        weighted = nodes.mass[:, None] * x
        centre = np.stack([np.bincount(nodes.body, weighted[:, i], minlength=count) for i in range(3)], axis=1)
        arm = x - (centre / np.where(mass > 0, mass, 1.0)[:, None])[nodes.body]
        square = np.einsum("ni,ni->n", arm, arm)[:, None, None] * np.eye(3) - arm[:, :, None] * arm[:, None, :]
        inertia = np.zeros((count, 3, 3))
        np.add.at(inertia, nodes.body, nodes.mass[:, None, None] * square)
        soft = mass > 0
        alpha = np.zeros((count, 3))
        alpha[soft] = np.linalg.solve(inertia[soft], moment[soft][:, :, None])[:, :, 0]
        on_nodes += nodes.mass[:, None] * np.cross(alpha[nodes.body], arm)
