"""What a frame shows of a simulation: cells, fields over points and cells, and points that are drawn one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.points.elements import Points
from pliant.bodies.register import room_of
from pliant.contact.pressure import point_pressure
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.measure.history import surface_of
from pliant.record import Cells
from pliant.record.elements import Strained

if TYPE_CHECKING:
    from pliant.model import Model
    from pliant.simulate.simulation import Simulation


def point_fields(sim: Simulation, displacement: Floats) -> dict[str, np.ndarray]:
    """Fields over the skin points, in single precision: they are for looking."""
    world, count = sim.world, len(displacement)
    contacts = sim.contacts()
    velocity = world.skin_velocities()[:count]
    depth, pressure, force = np.zeros(count), np.zeros(count), np.zeros((count, 3))
    if len(contacts):
        points = world.skin_positions(sim.state.x, sim.state.position, sim.state.rotation)
        normal_force = contacts.normal_force[:, None] * contacts.normal
        pressure = np.nan_to_num(point_pressure(points, surface_of(sim), contacts.support, normal_force)[:count])
        support, row = contacts.support, contacts.support.row
        shown = support.point < count  # the centre of an exact ball is not a point of its skin
        np.maximum.at(depth, support.point[shown], np.where(support.weight != 0.0, contacts.depth[row], 0.0)[shown])
        np.add.at(force, support.point[shown], (support.weight[:, None] * contacts.force[row])[shown])
    fields = {"displacement": displacement, "velocity": velocity, "depth": depth, "pressure": pressure, "contact_force": force}
    return {name: values.astype(np.float32) for name, values in fields.items()} | disc_fields(sim, count)


class Behind(NamedTuple):
    """The elements behind the drawn cells of a body, from which they take fields."""

    first: int  # cell
    group: int
    elements: Ints  # (n, k) of its n cells: one for a tet, three for a triangle of a skin that rides in tets


def drawn_cells(sim: Simulation) -> tuple[Cells, list[Behind]]:
    """Tets of soft bodies whose skin is their own, triangles of others, points of those without; and the elements behind them."""
    model = sim.world.model
    skin, bodies = model.skin, model.bodies
    single = np.diff(skin.start)  # embedded skins hang on four nodes
    tets, tet_body, faces, face_body = list[Ints](), list[Ints](), list[Ints](), list[Ints]()
    inside, around, of_tets, of_faces = list[Behind](), list[Behind](), 0, 0
    for body in range(len(bodies)):
        points = slice(bodies.point_start[body], bodies.point_start[body] + bodies.surface[body])
        own = skin.tets[skin.tet_body == body]
        solid = room_of(bodies.kind[body]).solid and len(own) > 0
        if solid and single[points].max(initial=0) < 4:
            group, elements = _elements_of(model, body)
            inside.append(Behind(of_tets, group, np.repeat(elements, len(own) // len(elements))[:, None]))
            tets.append(own)
            of_tets += len(own)
            tet_body.append(np.full(len(own), body))
        else:
            mine = skin.faces[bodies.face_start[body] : bodies.face_start[body + 1]]
            if solid and (single[points] == 4).all():
                group, elements = _elements_of(model, body)
                carrier = _carriers(model.groups[group].nodes[elements], skin.node[skin.start[points.start] : skin.start[points.stop]])
                around.append(Behind(of_faces, group, elements[carrier[mine - points.start]]))
            faces.append(mine)
            of_faces += len(mine)
            face_body.append(np.full(len(mine), body))
    empty = np.zeros(0, np.int64)
    loose, loose_body = loose_points(model)
    cells = Cells(
        tets=np.concatenate(tets) if tets else empty,
        triangles=np.concatenate(faces) if faces else empty,
        vertices=loose,
        body=np.concatenate([*tet_body, *face_body, loose_body]),
        bodies=dict(enumerate(bodies.names)),
        parents={int(b): int(bodies.parent[b]) for b in np.flatnonzero(bodies.parent >= 0)},
    )
    return cells, [*inside, *(each._replace(first=of_tets + each.first) for each in around)]


def _elements_of(model: Model, body: int) -> tuple[int, Ints]:
    """The group of a body's elements, and which of it they are."""
    group = next(i for i, owner in enumerate(model.group_body) if (owner == body).any())
    return group, np.flatnonzero(model.group_body[group] == body)


def _carriers(tets: Ints, nodes: Ints) -> Ints:
    """Which tet each skin point rides in, (p,): the one whose corners it hangs on."""
    both = np.sort(np.concatenate([tets, nodes.reshape(-1, 4)]), axis=1)
    _, first, same = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return first[same.reshape(-1)[len(tets) :]]


def strained(sim: Simulation) -> list[Strained]:
    """Stretch, energy and stress of all elements now, group by group."""
    return [Strained.of(group, sim.state.x) for group in sim.world.model.groups]


def cell_fields(cells: Cells, behind: list[Behind], now: list[Strained]) -> dict[str, np.ndarray]:
    """Von Mises stress [Pa] and det F of every drawn cell, the mean and the least of its elements; NaN and 1 where it has none."""
    stress, volume = np.full(cells.count, np.nan, np.float32), np.ones(cells.count, np.float32)
    for first, group, elements in behind:
        mine, of, alone = slice(first, first + len(elements)), now[group], elements.shape[1] == 1
        if of.stress is not None:
            stress[mine] = of.stress[elements[:, 0]] if alone else of.stress[elements].mean(axis=1)
        volume[mine] = of.stretch[elements[:, 0]] if alone else of.stretch[elements].min(axis=1)
    return {"von_mises": stress, "det_F": volume}


def loose_points(model: Model) -> tuple[Ints, Ints]:
    """Skin points that no triangle joins, and the body of each: the surface of a cloud, all of a speck of phyxels that broke off."""
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
