"""A hand that pulls at a body: a damped spring from a place in the world to a point of its skin.

The spring is an attachment like those of a scene, taken at the end of the step, so no stiffness makes it unstable. The place it ends at
is one more skin point of the world, nailed to nothing but itself. There is no device that feels the force: it is only reported.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.bodies.register import room_of
from pliant.model import Attachments
from pliant.record.orders import Order
from pliant.simulate.fracture import whole_epoch
from pliant.simulate.simulation import Simulation
from pliant.world.world import World

GRAVITY = 9.81  # [m/s^2] weight is counted with it, also where there is none
SAG = 0.1  # of the body's size: how far the spring is stretched when it carries the body
DAMPING = 0.5  # of the critical damping of body and spring
STRONGEST = 20.0  # weights of the body: the hand follows the pointer only so far that it does not pull harder


def with_hand(sim: Simulation) -> Simulation:
    """Give a fresh simulation the skin point that the hand will be."""
    skin, one = sim.world.model.skin, np.zeros((1, 3))
    sim.world.model.skin = replace(
        skin, body=np.append(skin.body, -1), start=np.append(skin.start, skin.start[-1]), frame=np.append(skin.frame, -1),
        local=np.concatenate([skin.local, one]), normal=np.concatenate([skin.normal, one[: len(skin.area)]]),
        area=np.append(skin.area, np.zeros(len(skin.area[:1]))),
    )  # fmt: skip
    sim.epoch = whole_epoch(sim.world.model)  # so that the point outlives a fracture
    return sim


@dataclass
class Hand:
    """What holds a point of a body now."""

    world: World
    point: int  # skin point
    body: str
    target: Floats  # [m] where the pointer is
    stiffness: float  # [N/m]
    damping: float  # [N s/m]
    most: float  # [N]
    without: Attachments  # of the scene
    orders: deque[float]  # when the pointer was heard of
    since: float = 0.0  # [s] simulated time at which it began
    began: Floats = field(default_factory=lambda: np.zeros(3))  # [m] where
    peak: float = 0.0  # [N] the largest force so far

    @staticmethod
    def grab(sim: Simulation, point: int, strength: float = 1.0) -> Hand:
        """Take hold of a skin point; `strength`: times the usual stiffness."""
        model = sim.world.model
        if not 0 <= point < model.bodies.point_start[-1]:
            raise PliantError(f"there is no point {point} to grab")
        body = int(model.skin.body[point])
        name, frame = model.bodies.names[body], int(model.bodies.frame[body])
        if not room_of(model.bodies.kind[body]).moves or (frame >= 0 and model.frames.inverse[frame] == 0.0):
            raise PliantError(f"{name} cannot be pulled: it is held in place")
        if not (np.isfinite(strength) and 0.001 <= strength <= 1000.0):
            raise PliantError(f"strength = {strength}: give a factor from 0.001 to 1000")
        mass = float(model.frames.mass[frame]) if frame >= 0 else float(model.nodes.mass[model.nodes.body == body].sum())
        size = float(np.ptp(sim.points(name), axis=0).max())
        stiffness = strength * mass * GRAVITY / (SAG * size)
        damping = DAMPING * 2.0 * float(np.sqrt(stiffness * mass))
        most = STRONGEST * strength * mass * GRAVITY
        hand = Hand(sim.world, point, name, _place(sim.world, point), stiffness, damping, most, model.attachments, deque())
        hand.count_from(sim.time)
        model.attachments = hand._spring()
        hand.reach()
        return hand

    def _spring(self) -> Attachments:
        old, end = self.without, len(self.world.model.skin) - 1
        return Attachments(
            a=np.append(old.a, self.point), b=np.append(old.b, end), stiffness=np.append(old.stiffness, self.stiffness),
            damping=np.append(old.damping, self.damping), length=np.append(old.length, 0.0), one_sided=np.append(old.one_sided, 0),
        )  # fmt: skip

    def move(self, target: Any) -> None:
        """The pointer is somewhere else."""
        place = np.asarray(target, np.float64)
        if place.shape != (3,) or not np.isfinite(place).all():
            raise PliantError(f"a place has three finite numbers, not {target}")
        self.target = place
        self.orders.append(time.perf_counter())

    def reach(self) -> None:
        """Before a step: the end of the spring goes to the pointer, as far as the strongest pull allows."""
        here = _place(self.world, self.point)
        away = self.target - here
        far = float(np.linalg.norm(away))
        self.world.model.skin.local[-1] = here + away * min(1.0, self.most / (self.stiffness * far)) if far > 0.0 else here

    def feel(self) -> float:
        """After a step: the size of the force [N]; the largest is remembered."""
        size = float(np.linalg.norm(self.force))
        self.peak = max(self.peak, size)
        return size

    def count_from(self, time: float) -> None:
        """Begin to count what is told of this pull [s]."""
        self.since, self.began, self.peak = time, _place(self.world, self.point), 0.0

    def told(self, time: float) -> Order:
        """The pull up to now [s], as it is recorded."""
        place = lambda at: f"({', '.join(f'{v:.3g}' for v in at)}) m"
        return Order(self.since, f"pull at {self.body}", place(self.began), f"{place(self.target)}, at most {self.peak:.3g} N", time)

    @property
    def force(self) -> Floats:
        """Of the spring on the body as it stands [N], (3,)."""
        return self.stiffness * (self.world.model.skin.local[-1] - _place(self.world, self.point))

    @property
    def rate(self) -> float:
        """How often the pointer was heard of in the last second [1/s]."""
        now = time.perf_counter()
        while self.orders and self.orders[0] < now - 1.0:
            self.orders.popleft()
        return float(len(self.orders))

    def release(self) -> None:
        """Let go."""
        self.world.model.attachments = replace(self.without)


def _place(world: World, point: int) -> Floats:
    state = world.state
    return world.skin_positions(state.x, state.position, state.rotation)[point].copy()
