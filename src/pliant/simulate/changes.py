"""Changing gravity, friction and materials between steps: the arrays of the model are rewritten, the state is not touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant import paths
from pliant.base import PliantError, nearest
from pliant.bodies.room import ROOMS, find_room
from pliant.scene import Body, Change, Pair, Scene
from pliant.world.world import World


def value_at(change: Change, time: float) -> Any:
    """The value that a table of changes has at a time, as the user would write it."""
    value = change.to(time)
    return float(value[0]) if change.to.scalar else tuple(float(x) for x in value)


def apply_change(world: World, scene: Scene, path: str, value: Any) -> Any:
    """Set what the path names, in the scene (so that it is recorded) and in the world; returns the value, as a number in SI units."""
    if path.startswith(("pair.", "pairs.")) and len(path.split(".")) == 4:
        _stated_pair(scene, *path.split(".")[1:3])
    for steps in paths.find(scene, path):
        if steps[0] == "gravity":
            scene.gravity = scene.with_({path: value}).gravity
            world.model.gravity[:] = scene.gravity
        elif steps[0] == "pairs" and len(steps) == 3:
            _pair(world, scene, scene.pairs[int(steps[1])], str(steps[2]), value)
        elif steps[0] == "bodies" and steps[2:] in (("friction",), ("static_friction",)):
            _friction(world, scene.bodies[int(steps[1])], str(steps[2]), value)
        elif steps[0] == "bodies" and len(steps) == 4 and steps[2] == "material":
            _material(world, scene.bodies[int(steps[1])], str(steps[3]), value)
        else:
            material = dict.fromkeys(name for room in ROOMS.values() for name in room.changes)
            raise PliantError(
                f"'{path}' cannot be changed during a run. What can: gravity, BODY.friction, BODY.static_friction, "
                f"pairs.A.B.friction, BODY.material.X with X one of {', '.join(material)}."
            )
    return scene.value(path)


def _stated_pair(scene: Scene, a: str, b: str) -> None:
    """Refuse a pair that the scene does not state: its row would have to be made in the middle of the run."""
    names = [body.name for body in scene.bodies]
    for name in (a, b):
        if name not in names and "*" not in name:
            raise PliantError(f"There is no body '{name}': {nearest(name, names)}")
    if not any({p.a, p.b} == {a, b} for p in scene.pairs) and "*" not in a + b:
        raise PliantError(f"The pair {a} and {b} is not stated in the scene: add it with scene.pair(...) to be able to change it.")


def _friction(world: World, body: Body, name: str, value: float) -> None:
    setattr(body, name, value)
    bodies = world.model.bodies
    i = bodies.family(bodies.names.index(body.name))
    bodies.friction[i] = body.friction
    bodies.static_friction[i] = body.friction if body.static_friction is None else body.static_friction


def _pair(world: World, scene: Scene, pair: Pair, name: str, value: float) -> None:
    if name not in ("friction", "static_friction"):
        raise PliantError(f"'{name}' of a pair cannot be changed during a run; friction and static_friction can.")
    setattr(pair, name, value)
    a, b = pair.a, pair.b
    bodies, table = world.model.bodies, world.pairs
    origin, wanted = bodies.origin(), sorted((bodies.names.index(a), bodies.names.index(b)))
    ends = np.sort([origin[table.key // len(bodies)], origin[table.key % len(bodies)]], axis=0)
    rows = np.flatnonzero((ends[0] == wanted[0]) & (ends[1] == wanted[1]))  # of all that broke off them, too
    mu_d, mu_s = table.mu_d.copy(), table.mu_s.copy()
    (mu_d if name == "friction" else mu_s)[rows] = getattr(pair, name)
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
