"""The step, on one screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.contact.method import Several
from pliant.contact.passing import Cut
from pliant.kernels import allowed_threads
from pliant.measure.account import PairWork, booked, pair_work
from pliant.measure.balance import Balance, balance, momenta
from pliant.measure.pairs import per_pair
from pliant.measure.scales import Scales, scales_of
from pliant.world.attachments import pull_together
from pliant.world.world import World

if TYPE_CHECKING:
    from pliant.simulate.sleep import Sleep


@dataclass
class StepReport:
    """What one step did."""

    dt: float  # [s] taken
    time: float  # [s] at its end
    step: int
    contacts: Contacts
    balance: Balance  # of contact impulses and momentum
    work: PairWork  # of contact on every two bodies
    max_depth: float  # [m]
    solver_iterations: int  # of implicit bodies, all solves of the step
    reaction: Floats  # [N] (n, 3) that held fixed and prescribed nodes
    damping: Floats  # [1/s] (n,) of nodes
    scales: Scales  # of the bodies
    renewed: bool = False  # have neighbourhoods of phyxels changed?
    more: bool = False  # is it a part of a step that was divided, and not the last?
    cut: tuple[str, str] | None = None  # two bodies that would have passed through each other in a longer step
    points: Floats | None = None  # [m] (p, 3) skin at its end, if the step itself had to know it
    drawn: Floats | Callable[[], Floats] | None = None  # see Answer.shown
    warnings: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)  # [s] per stage

    @cached_property
    def pairs(self) -> dict[str, np.ndarray]:
        """The contacts summed per pair of bodies (`per_pair`), for all who measure this step."""
        return per_pair(self.contacts, self.face)

    @property
    def face(self) -> Floats:
        """Least area over which each contact has a pressure [m^2], (r,)."""
        return self.scales.face(self.contacts.a, self.contacts.b)

    @cached_property
    def shown(self) -> Floats | None:
        """Displacement of skin points that is drawn, never integrated [m], (p, 3)."""
        return self.drawn() if callable(self.drawn) else self.drawn


def depth_of(contacts: Contacts) -> float:
    """The deepest of all [m]."""
    return float(-np.fmin(contacts.gap, 0.0).min(initial=0.0))


def book_pairs(world: World, work: PairWork, contacts: Contacts) -> None:
    """Put the work of a step into the accounts of pairs."""
    scales = scales_of(world)
    window = lambda a, b: scales.window(a, b, world.model.gravity)
    world.state.pairs = booked(world.state.pairs, work, contacts, world.state.time, window)


def step(
    world: World, contact: Several, dt: float, may_cut: bool = True, asked: float | None = None, cut: tuple[str, str] | None = None,
    told: Sequence[str] = (), sleep: Sleep | None = None,
) -> StepReport:  # fmt: skip
    """Advance the world by dt, or by less if a method asks for it, or (may_cut) if bodies would pass through each other: `cut`.

    `asked`: how long a step of this run is if nothing divides it; `told`: why a longer one was given up; `sleep`: who is not in the world.
    """
    allowed_threads()
    clock = [time.perf_counter()]

    def lap() -> None:
        clock.append(time.perf_counter())

    def shorter(sooner: Cut) -> StepReport:
        names = world.model.bodies.names
        return step(world, contact, sooner.part * dt, may_cut, asked or dt, (names[sooner.a], names[sooner.b]), told, sleep)

    motion = world.free_motion(dt)  # every body on its own, by its integrator
    motion.asked = max(dt, asked or 0.0)
    lap()
    pull_together(motion, world.model.attachments)  # springs, strings, welds
    lap()
    before = momenta(motion)
    sooner = contact.passing(motion) if may_cut else None
    if sooner is not None and not sooner.held:
        return shorter(sooner)
    lap()
    answer, memory = contact.respond(motion, world.state.memory)  # look, push, look again
    lap()
    if answer.again is not None:
        return step(world, contact, answer.again, may_cut, asked or dt, cut, [*told, *answer.warnings], sleep)
    if sooner is not None and contact.passing(motion, sooner) is not None:  # contact does not hold them
        return shorter(sooner)
    if sleep is not None and sleep.reached(motion):  # somebody who slept must look, too
        return step(sleep.awake, contact, dt, may_cut, asked, cut, told, sleep)
    checked = balance(motion, before, answer.contacts)
    work, contacts = pair_work(world, motion), answer.contacts
    if sleep is not None:
        work, contacts = sleep.with_pairs(work), sleep.joined(contacts)
    reaction, renewed = world.commit(motion)
    world.state.memory = memory
    world.state.book("friction", answer.contacts.friction_work)
    book_pairs(world, work, contacts)
    lap()
    stages = ("free motion", "attachments", "looking ahead", "contact", "commit")
    system = motion.free.system
    return StepReport(
        dt=dt,
        time=world.state.time,
        step=world.state.step,
        contacts=contacts,
        balance=checked,
        work=work,
        max_depth=depth_of(contacts),
        solver_iterations=system.iterations if system else 0,
        reaction=reaction,
        damping=motion.free.damping,
        scales=scales_of(world),
        renewed=renewed,
        cut=cut,
        points=motion.known_end,
        drawn=answer.shown,
        warnings=[*told, *answer.warnings] + (system.trouble if system else []),
        timings={stage: clock[k + 1] - clock[k] for k, stage in enumerate(stages)},
    )
