"""Changing gravity, friction and materials between steps: the arrays of the model are rewritten, the state is not touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.base import PliantError, nearest
from pliant.bodies.room import ROOMS, find_room
from pliant.scene import Body, Change, Scene
from pliant.world.world import World


def value_at(change: Change, time: float) -> Any:
    """The value that a table of changes has at a time, as the user would write it."""
    value = change.to(time)
    return float(value[0]) if change.to.scalar else tuple(float(x) for x in value)


def apply_change(world: World, scene: Scene, path: str, value: Any) -> None:
    """Set what the path names, in the scene (so that it is recorded) and in the world."""
    parts = path.split(".")
    if path == "gravity":
        scene.gravity = value
        world.model.gravity[:] = scene.gravity
    elif parts[0] == "pair" and len(parts) == 4:
        _pair(world, scene, parts[1], parts[2], parts[3], value)
    elif len(parts) == 2 and parts[1] in ("friction", "static_friction"):
        _friction(world, _body(scene, parts[0]), parts[1], value)
    elif len(parts) == 3 and parts[1] == "material":
        _material(world, _body(scene, parts[0]), parts[2], value)
    else:
        material = dict.fromkeys(name for room in ROOMS.values() for name in room.changes)
        raise PliantError(
            f"'{path}' cannot be changed during a run. What can: gravity, BODY.friction, BODY.static_friction, "
            f"pair.A.B.friction, BODY.material.X with X one of {', '.join(material)}."
        )


def _body(scene: Scene, name: str) -> Body:
    for body in scene.bodies:
        if body.name == name:
            return body
    raise PliantError(f"There is no body '{name}': {nearest(name, [b.name for b in scene.bodies])}")


def _friction(world: World, body: Body, name: str, value: float) -> None:
    setattr(body, name, value)
    bodies = world.model.bodies
    i = bodies.family(bodies.names.index(body.name))
    bodies.friction[i] = body.friction
    bodies.static_friction[i] = body.friction if body.static_friction is None else body.static_friction


def _pair(world: World, scene: Scene, a: str, b: str, name: str, value: float) -> None:
    if name not in ("friction", "static_friction"):
        raise PliantError(f"'{name}' of a pair cannot be changed during a run; friction and static_friction can.")
    _body(scene, a), _body(scene, b)
    pair = next((p for p in scene.pairs if {p.a, p.b} == {a, b}), None)
    if pair is None:
        raise PliantError(f"The pair {a} and {b} is not stated in the scene: add it with scene.pair(...) to be able to change it.")
    setattr(pair, name, value)
    bodies, table = world.model.bodies, world.pairs
    origin, wanted = bodies.origin(), sorted((bodies.names.index(a), bodies.names.index(b)))
    ends = np.sort([origin[table.key // len(bodies)], origin[table.key % len(bodies)]], axis=0)
    rows = np.flatnonzero((ends[0] == wanted[0]) & (ends[1] == wanted[1]))  # of all that broke off them, too
    mu_d, mu_s = table.mu_d.copy(), table.mu_s.copy()
    (mu_d if name == "friction" else mu_s)[rows] = value
    if pair.static_friction is None and pair.friction is not None:
        mu_s[rows] = pair.friction
    world.pairs = replace(table, mu_d=mu_d, mu_s=mu_s)


def _material(world: World, body: Body, name: str, value: Any) -> None:
    room = find_room(body.model)
    if name not in room.changes:
        known = nearest(name, room.changes) if room.changes else "nothing of a static body's can."
        raise PliantError(f"'{name}' of the material of a {body.model} body cannot be changed during a run: {known}")
    setattr(body.material, name, value)
    model, i = world.model, world.model.bodies.names.index(body.name)
    family = model.bodies.family(i)
    damping = body.material.mass_damping
    model.nodes.damping[np.isin(model.nodes.body, family)] = damping
    if model.bodies.frame[i] >= 0:
        model.frames.damping[model.bodies.frame[i]] = damping
    groups = [(group, np.isin(owner, family)) for group, owner in zip(model.groups, model.group_body, strict=True)]
    room.built.changed(body, [(group, mine) for group, mine in groups if mine.any()], model, i)
