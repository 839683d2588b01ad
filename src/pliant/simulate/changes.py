"""Changing gravity, friction and materials between steps: the arrays of the model are rewritten, the state is not touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.base import PliantError, nearest
from pliant.bodies.all_pairs import AllPairs
from pliant.bodies.materials import lame
from pliant.bodies.phyxels import point_values
from pliant.bodies.points import Points
from pliant.bodies.quasi_rigid import gives_of
from pliant.bodies.springs import Springs
from pliant.bodies.tets import Tets
from pliant.scene import Body, Change, Material, Scene
from pliant.simulate.build import drag_of
from pliant.world.world import World

MATERIAL = ("youngs_modulus", "poisson_ratio", "mass_damping", "stiffness_damping", "spring_stiffness", "spring_damping",
            "vertex_damping", "adaptive_force", "adaptive_cap", "hourglass", "crush", "volume_stiffness", "yield_strain", "creep_time",
            "max_plastic_strain", "tear_strain", "temperature")  # fmt: skip


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
        raise PliantError(
            f"'{path}' cannot be changed during a run. What can: gravity, BODY.friction, BODY.static_friction, "
            f"pair.A.B.friction, BODY.material.X with X one of {', '.join(MATERIAL)}."
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
    if name not in MATERIAL:
        raise PliantError(f"'{name}' of a material cannot be changed during a run: {nearest(name, MATERIAL)}")
    setattr(body.material, name, value)
    material: Material = body.material
    model, i = world.model, world.model.bodies.names.index(body.name)
    family = model.bodies.family(i)
    own = np.isin(model.nodes.body, family)
    model.nodes.damping[own] = material.mass_damping
    model.nodes.drag[own] = drag_of(body)
    if model.bodies.frame[i] >= 0:
        model.frames.damping[model.bodies.frame[i]] = material.mass_damping
    if body.model == "quasi-rigid":
        gives, model.bodies.tables[i] = gives_of(body)
        if body.core is not None:
            gives[1:3] = model.bodies.gives[i, 1:3]  # which response rides on a core, and how wide it is, is the core's
        model.bodies.gives[i] = gives
    for group, owner in zip(model.groups, model.group_body, strict=True):
        mine = np.isin(owner, family)
        if not mine.any():
            continue
        group.rayleigh[mine] = material.stiffness_damping
        if isinstance(group, Springs | AllPairs):
            group.spring_stiffness[mine] = material.spring_stiffness
            group.damping[mine] = material.spring_damping
        elif isinstance(group, Points):
            for key, array in point_values(material, int(mine.sum())).items():
                if key != "density":
                    getattr(group, key)[mine] = array
        elif isinstance(group, Tets):
            group.lam[mine], group.mu[mine] = lame(np.asarray(material.youngs_modulus, np.float64), material.poisson_ratio)
