"""The whole of a scene turned: what is measured must not know where up is, nor which way the meshes of boxes run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pliant.base import Floats
from pliant.bodies.parts import placing
from pliant.bodies.schema import Body, Where
from pliant.geometry.quaternions import matrix_to_quaternion
from pliant.scene import Scene
from pliant.simulate.boundary import chosen
from pliant.simulate.simulation import Simulation
from pliant.spec.table import Table

SEED = 18


@dataclass(frozen=True)
class Turned:
    """A simulation of a scene that was turned, and the way back."""

    sim: Simulation
    turn: Floats  # (3, 3), from the scene as written to the simulation

    def back(self, vectors: Floats) -> Floats:
        """Vectors or places of the simulation in the axes of the scene as it was written, (..., 3)."""
        return np.asarray(vectors) @ self.turn

    def centre(self, body: str) -> Floats:
        """Of mass, in the axes of the scene as written [m]."""
        return self.back(self.sim.centre(body))

    def points(self, body: str) -> Floats:
        """Its skin, likewise [m]."""
        return self.back(self.sim.points(body))

    def force(self, a: str, b: str) -> Floats:
        """Contact force on the first from the second, likewise [N]."""
        return self.back(self.sim.contacts(a, b).total_force)


def random_turn(seed: int = SEED) -> Floats:
    """A rotation matrix, any with the same chance."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return np.asarray(q * np.linalg.det(q))


def turned(scene: Scene, seed: int = SEED) -> Turned:
    """Everything in a scene turned about the origin at random: bodies, gravity, velocities, loads, motion."""
    turn = random_turn(seed)
    plain = Simulation(scene) if any(_selects(body) for body in scene.bodies) else None
    for body in scene.bodies:
        skin, nodes = np.zeros((0, 3)), np.zeros((0, 3))
        if plain is not None:
            skin, nodes = plain.points(body.name), plain.world.model.nodes.rest[plain.nodes(body.name)]
        _turn(body, turn, skin, nodes)
    scene.gravity = _vector(turn, scene.gravity)
    for change in scene.changes:
        if change.set == "gravity":
            change.to = _table(turn, change.to)
    return Turned(Simulation(scene), turn)


def _selects(body: Body) -> bool:
    """Whether vertices are chosen by where they are."""
    where = [load.where for load in body.loads] + [motion.where for motion in body.motions]
    return bool(getattr(body, "fixed", [])) or any(each is not None for each in where)


def _turn(body: Body, turn: Floats, skin: Floats, nodes: Floats) -> None:
    """A body and what is done to it; what was chosen by place is chosen by number, loads on its skin, what is held among its nodes."""

    def by_number(where: Where | None, places: Floats) -> Where | None:
        return where and Where(ids=chosen(where, places, body.name).tolist())

    body.rotation = tuple(matrix_to_quaternion(turn @ placing(body)[0]))
    for name in ("position", "velocity", "angular_velocity"):
        setattr(body, name, _vector(turn, getattr(body, name)))
    if getattr(body, "fixed", []):
        body.fixed = [by_number(where, nodes) for where in body.fixed]
    for load in body.loads:
        load.where = by_number(load.where, skin)
        load.at = load.at and _vector(turn, load.at)
        if load.value.width == 3:
            load.value = _table(turn, load.value)
    for motion in body.motions:
        motion.where = by_number(motion.where, nodes)
        motion.about = motion.about and _vector(turn, motion.about)
        motion.shift, motion.turn = _table(turn, motion.shift), _table(turn, motion.turn)


def _vector(turn: Floats, vector: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = turn @ np.array(vector)
    return float(x), float(y), float(z)


def _table(turn: Floats, table: Table) -> Table:
    """Rows of a table turned; functions of time are not used here."""
    return replace(table, values=table.values @ turn.T)
