"""Points that no triangle joins and that are drawn one by one: clouds, and specks of phyxels that broke off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Ints
from pliant.bodies.points.elements import Points
from pliant.geometry.quaternions import quaternion_to_matrix

if TYPE_CHECKING:
    from pliant.model import Model
    from pliant.simulate.simulation import Simulation


def loose_points(model: Model) -> tuple[Ints, Ints]:
    """Skin points without triangles and the body of each: the surface of a cloud, all of a body that has no surface."""
    bodies = model.bodies
    bare = np.flatnonzero(np.diff(bodies.face_start) == 0)
    count = np.where(bodies.surface > 0, bodies.surface, np.diff(bodies.point_start))[bare]
    points = [np.arange(low, low + n) for low, n in zip(bodies.point_start[bare], count, strict=True)]
    return np.concatenate([np.zeros(0, np.int64), *points]), np.repeat(bare, count)


def disc_fields(sim: Simulation, count: int) -> dict[str, np.ndarray]:
    """`normal` (count, 3) and `radius` (count,) [m] of loose points, zero for others; a normal of zero faces whoever looks.

    Discs have the area of their point, balls the volume of their phyxel.
    """
    model, state = sim.world.model, sim.world.state
    at, body = loose_points(model)
    if len(at) == 0:
        return {}
    skin, normal, radius = model.skin, np.zeros((count, 3)), np.zeros(count)
    if len(skin.area):
        radius[at] = np.sqrt(skin.area[at] / np.pi)
        for b in np.unique(body[skin.frame[at] >= 0]).tolist():
            mine = at[body == b]
            normal[mine] = skin.normal[mine] @ quaternion_to_matrix(state.rotation[model.bodies.frame[b]]).T
    room = np.zeros(len(model.nodes.mass))
    for group in model.groups:
        if isinstance(group, Points):
            room[group.nodes[:, 0]] = group.whole
    alone = at[(radius[at] == 0.0) & (np.diff(skin.start)[at] == 1)]  # phyxels: balls of their volume
    radius[alone] = np.cbrt(0.75 / np.pi * room[skin.node[skin.start[alone]]])
    return {"normal": normal.astype(np.float32), "radius": radius.astype(np.float32)}
