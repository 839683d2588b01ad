"""Bodies at rest sleep: islands of them are not looked at, solved or moved until something wakes them.

An island is a set of bodies whose boxes overlap, or that attachments join. It falls asleep when none of its bodies as a whole was faster
than STILL of the speed that a step of free fall brings, g dt, for LONG: what contact leaves at rest is less (TOLERANCE and ANSWER of the
solvers, some 1e-4 of what a step changes), and a force of more than STILL dt / LONG of its weight that nothing balances would have made it
faster. Single nodes may tremble up to TREMBLE of it, as they do for ever under `noniterative`. Without gravity only what stands still
altogether sleeps.

Those who sleep are held: the others step in a world in which they have no elements and no inverse mass and do not meet what stands still,
with the same numbers of nodes, points and faces, so that keys of memories stay good. As boxes of an island and of what is awake do not
overlap, nothing awake can touch it before it is woken: whenever, at the end of a step, the path of a body led through the box of one that
sleeps, its island is woken and the step taken anew. Contacts, reactions and what methods remember of them as they fell asleep are in the
state, and are reported with every step. Loads, prescribed motions and attachments that change, `sim.set`, changes of the scene and
velocities that somebody gives them wake them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact import remembered
from pliant.contact.contacts import Contacts
from pliant.contact.method import Several
from pliant.detect.body_pairs import overlapping, swept_boxes
from pliant.detect.shapes import widen_boxes
from pliant.detect.thickness import Thickness
from pliant.geometry.components import labels
from pliant.kernels import kernel
from pliant.measure.account import Owner, PairWork, key_of
from pliant.measure.balance import Balance
from pliant.measure.scales import scales_of
from pliant.model import SYMPLECTIC, Model
from pliant.simulate.build import incidence
from pliant.simulate.step import StepReport, book_pairs, depth_of, step
from pliant.world.motion import Motion
from pliant.world.world import World

STILL = 1e-3  # [1] of g dt, the speed that a step of free fall brings: bodies that move slower are still; ten times what solvers leave
TREMBLE = 1e-2  # [1] of g dt: nodes of soft bodies that move slower are still; five times what `noniterative` leaves
LONG = 0.5  # [s] for which all of an island must be still
NEAR = 1e-6  # [1] of its size, by which the box of a body is widened: contact is found up to rounding apart
SAME = 1e-12  # [1] of the largest value of a table: less is rounding between its rows


class Sleep:
    """Who sleeps in a world, and the world of the others."""

    def __init__(self, world: World, contact: Several) -> None:
        other = [name for name, method in contact.methods.items() if not hasattr(method, "tables")]
        if other:
            raise PliantError(
                f"sleep = true, but contact = \"{other[0]}\" cannot say which bodies its memory belongs to: patch, noniterative and ground "
                "can."
            )
        if world.points:
            raise PliantError("sleep = true, but bodies of points flow and tear, and do not sleep: leave it out.")
        self.world, self.contact = world, contact
        nodes, frames = world.model.nodes, world.model.frames
        self.moves = np.zeros(len(world.model.bodies), bool)  # bodies that can move by themselves
        self.moves[nodes.body[nodes.inverse > 0.0]] = True
        self.moves[frames.body[frames.inverse > 0.0]] = True
        self.driven = np.zeros(len(self.moves), bool)  # bodies that the scene moves in this step
        self.asked = 0.0  # [s] how long steps are if nothing divides them
        self._made: tuple[Any, ...] = ()  # what the next three were made from
        self.awake, self._contacts, self._pairs = world, Contacts.none(), np.zeros(0, np.int64)
        self._ends: tuple[Any, Floats] = world.model.attachments, np.zeros((0, 3))

    @property
    def island(self) -> Ints:
        """The island in which each body sleeps, -1 of those who are awake, (B,)."""
        return self.world.state.asleep["island"]

    @property
    def asleep(self) -> np.ndarray:
        """Bodies that sleep, (B,) bool."""
        return self.island >= 0

    def step(self, dt: float, may_cut: bool, asked: float) -> StepReport:
        """One step of those who are awake."""
        state, count = self.world.state, len(self.world.model.bodies)
        self.asked = max(dt, asked)
        if not state.asleep:
            state.asleep = {"island": np.full(count, -1), "quiet": np.zeros(count)}
        self.driven = self._driven(dt)
        disturbed = self.driven | self._loaded() | self._pulled() | self._pushed()
        self.wake(disturbed)
        self._make()
        if self.asleep.any() and not (self.moves & ~self.asleep).any() and not self.driven.any():
            return self._idle(dt)
        report = step(self.awake, self.contact, dt, may_cut, asked, sleep=self)
        report.reaction = self._with_reactions(report.reaction)
        self._watch(report, disturbed)
        return report

    def _idle(self, dt: float) -> StepReport:
        """A step in which nobody is awake."""
        state, count = self.world.state, len(self.world.model.bodies)
        state.time, state.step, state.last_dt = state.time + dt, state.step + 1, dt
        contacts, still = self._held(dt), np.zeros((count, 3))
        work = self.with_pairs(PairWork(np.zeros(0, np.int64), *np.zeros((4, 0))))
        book_pairs(self.world, work, contacts)
        return StepReport(
            dt=dt, time=state.time, step=state.step, contacts=contacts, balance=Balance(still, still, 0.0, 0.0),
            work=work, max_depth=depth_of(contacts), solver_iterations=0,
            reaction=self._with_reactions(np.zeros_like(state.x)), damping=self.world.model.nodes.damping,
            scales=scales_of(self.world),
        )  # fmt: skip

    # -- what wakes

    def wake(self, bodies: np.ndarray | None = None) -> None:
        """Wake the islands of some bodies, (B,) bool, or all."""
        state = self.world.state
        if not state.asleep:
            return
        island = self.island
        risen = self.asleep if bodies is None else np.isin(island, island[bodies & self.asleep])
        if not risen.any():
            return
        stays, kept, contacts = self.asleep & ~risen, state.asleep, _contacts(state.asleep)
        new = {"island": np.where(risen, -1, island), "quiet": np.where(risen, 0.0, kept["quiet"])}
        new |= _arrays(contacts.select(stays[contacts.a] | stays[contacts.b]))
        new["reaction"] = np.where(stays[self.world.model.nodes.body][:, None], kept["reaction"], 0.0)
        for name, method in self.contact.methods.items():
            slept = _memory(kept, name)
            back, others = remembered.divided(slept, method.tables(slept, self.world), risen)  # type: ignore[attr-defined]
            state.memory[name] = remembered.joined(state.memory.get(name, {}), back, method.tables(back, self.world))  # type: ignore[attr-defined]
            new |= {f"memory/{name}/{key}": array for key, array in others.items()}
        state.asleep = new

    def _driven(self, dt: float) -> np.ndarray:
        """Bodies of which anything is moved by the scene in this step, (B,) bool."""
        out, drives, time = np.zeros(len(self.moves), bool), self.world.model.drives, self.world.state.time
        if len(drives.node) + len(drives.frame):
            moving = _differs(drives.shift(time), drives.shift(time + dt)) | _differs(drives.turn(time), drives.turn(time + dt))
            out[self.world.model.nodes.body[drives.node[moving[drives.node_motion]]]] = True
            out[self.world.model.frames.body[drives.frame[moving[drives.frame_motion]]]] = True
        return out

    def _loaded(self) -> np.ndarray:
        """Bodies whose loads are others than in the last step, (B,) bool."""
        out, model, state = np.zeros(len(self.moves), bool), self.world.model, self.world.state
        loads = model.loads
        if len(loads.tables.start) > 1:
            changed = _differs(loads.tables(state.time), loads.tables(state.time - state.last_dt))
            out[self.world.derived(Owner).body[loads.point[changed[loads.point_table]]]] = True
            out[model.skin.face_body[loads.face[changed[loads.face_table]]]] = True
            out[loads.body[changed[loads.body_table]]] = True
        return out

    def _pulled(self) -> np.ndarray:
        """Bodies with attachments that are new or gone (then all), or whose end in the world has moved, as a hand does, (B,) bool."""
        model, out = self.world.model, np.zeros(len(self.moves), bool)
        ends = model.attachments
        last, where = self._ends
        points = np.concatenate([ends.a, ends.b])
        self._ends = ends, model.skin.local[points]
        if last is not ends:
            out[:] = True
        elif len(points) and len(where):
            owner = self.world.derived(Owner).body
            moved = (self._ends[1] != where).any(axis=1).reshape(2, -1).any(axis=0)
            for side in (ends.a, ends.b):
                out[owner[side[moved]][owner[side[moved]] >= 0]] = True
        return out

    def _pushed(self) -> np.ndarray:
        """Bodies to which somebody gave a velocity while they slept, (B,) bool."""
        out, state, model = np.zeros(len(self.moves), bool), self.world.state, self.world.model
        asleep = self.asleep
        if asleep.any():
            held = asleep[model.nodes.body] & (model.nodes.inverse > 0.0)
            out[model.nodes.body[held & state.v.any(axis=1)]] = True
            out[model.frames.body[(state.velocity.any(axis=1) | state.spin.any(axis=1)) & asleep[model.frames.body]]] = True
        return out

    def reached(self, motion: Motion) -> bool:
        """Wake islands through whose boxes somebody came in this step; whether there were any."""
        asleep = self.asleep
        if not asleep.any():
            return False
        poses = (motion.position_start, motion.rotation_start), (motion.position, motion.rotation)
        low, high = self._boxes(motion.start, motion.end, *poses)
        a, b = overlapping(low, high).T
        comes = (self.moves | self.driven) & ~asleep
        met = ((comes[a] & asleep[b]) | (comes[b] & asleep[a])) & self.world.pairs.meet(a, b)
        if not met.any():
            return False
        out = np.zeros_like(asleep)
        out[a[met]] = out[b[met]] = True
        self.wake(out)
        self._make()
        return True

    def _boxes(self, start: Floats, end: Floats, *poses: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Of every body on its way, (B, 3) twice."""
        bodies = self.world.model.bodies
        low, high = swept_boxes(bodies.point_start[:-1], bodies.point_start[1:], start, end)
        for pose in poses:
            one, other = low.copy(), high.copy()
            widen_boxes(bodies.shapes(*pose), one, other)
            low, high = np.minimum(low, one), np.maximum(high, other)
        wide = np.where(np.isfinite(high - low), NEAR * (high - low), 0.0)
        return low - wide, high + wide

    # -- what stays reported

    def joined(self, contacts: Contacts) -> Contacts:
        """The contacts of a step with those of bodies that sleep."""
        held = self._held(contacts.dt)
        return Contacts.joined([contacts, held]) if len(held) else contacts

    def with_pairs(self, work: PairWork) -> PairWork:
        """The work of a step, with that of pairs that sleep, which is none: they go on touching."""
        pair = np.append(work.pair, np.setdiff1d(self._pairs, work.pair))
        order, none = np.argsort(pair, kind="stable"), np.zeros(len(pair) - len(work.pair))
        return PairWork(pair[order], *(np.append(each, none)[order] for each in (work.normal, work.friction, work.before, work.after)))

    def _held(self, dt: float) -> Contacts:
        """Contacts of those who sleep, as impulses over this step."""
        held = self._contacts
        if len(held) and held.dt != dt:
            held = held.select(np.ones(len(held), bool))
            held.impulse, held.friction_impulse, held.dt = held.impulse * (dt / held.dt), held.friction_impulse * (dt / held.dt), dt
        return held

    def _with_reactions(self, reaction: Floats) -> Floats:
        """With what held nodes of those who sleep."""
        asleep = self.asleep
        if not asleep.any() or len(reaction) == 0:
            return reaction
        return np.where(asleep[self.world.model.nodes.body][:, None], self.world.state.asleep["reaction"], reaction)

    # -- falling asleep

    def _watch(self, report: StepReport, disturbed: np.ndarray) -> None:
        """Count how long bodies have been still, and let islands fall asleep."""
        world, state = self.world, self.world.state
        nodes, count = world.model.nodes, len(self.moves)
        speed, most, mass, momentum = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros((count, 3))
        _speeds(nodes.body, nodes.mass, state.v, most, mass, momentum)
        soft = mass > 0.0
        speed[soft] = np.linalg.norm(momentum[soft], axis=1) / mass[soft]
        frames, turning = world.model.frames, world.angular_velocities(state.rotation, state.spin)
        reach = world.derived(Thickness).reach[frames.body] + world.model.bodies.ball_radius[frames.body]
        np.maximum.at(speed, frames.body, np.linalg.norm(state.velocity, axis=1) + reach * np.linalg.norm(turning, axis=1))
        fall = float(np.linalg.norm(world.model.gravity)) * self.asked
        still = (speed <= STILL * fall) & (most <= TREMBLE * fall) & ~disturbed
        quiet = np.where(still, state.asleep["quiet"] + report.dt, 0.0)
        state.asleep["quiet"] = quiet
        ready = self.moves & ~self.asleep & (quiet >= LONG)
        if ready.any():
            self._settle(report, ready)

    def _settle(self, report: StepReport, ready: np.ndarray) -> None:
        """Let islands sleep of which every body is ready."""
        state, model = self.world.state, self.world.model
        points = self.world.skin_positions(state.x, state.position, state.rotation)
        low, high = self._boxes(points, points, (state.position, state.rotation))
        a, b = overlapping(low, high).T
        near = self.world.pairs.meet(a, b)
        owner, ends = self.world.derived(Owner).body, model.attachments
        pairs = [(a[near], b[near]), (report.contacts.a, report.contacts.b), (owner[ends.a], owner[ends.b])]
        joined = np.concatenate([np.stack(each, axis=1) for each in pairs])
        counts = np.append((self.moves | self.driven) & ~self.asleep, False)  # the last for the world
        label = labels(len(self.moves), joined[counts[joined].all(axis=1)])
        restless = np.bincount(label[counts[:-1] & ~ready], minlength=len(label)) > 0
        falls = ready & ~restless[label]
        if falls.any():
            self._put(report, falls, label)

    def _put(self, report: StepReport, falls: np.ndarray, label: Ints) -> None:
        """Keep what is to be reported of these, and take the rest of their speed."""
        state, model, asleep = self.world.state, self.world.model, self.asleep
        first = np.full(len(label), len(label))
        np.minimum.at(first, label, np.arange(len(label)))
        new = {"island": np.where(falls, first[label], self.island), "quiet": state.asleep["quiet"]}
        sleeps = falls | asleep
        contacts = report.contacts.select(sleeps[report.contacts.a] | sleeps[report.contacts.b])
        contacts.slip = np.zeros_like(contacts.slip)
        new |= _arrays(contacts)
        new["reaction"] = np.where(sleeps[model.nodes.body][:, None], report.reaction, 0.0)
        for name, method in self.contact.methods.items():
            known = state.memory.get(name, {})
            mine, state.memory[name] = remembered.divided(known, method.tables(known, self.world), falls)  # type: ignore[attr-defined]
            before = _memory(state.asleep, name)
            mine = remembered.joined(before, mine, method.tables(mine, self.world))  # type: ignore[attr-defined]
            new |= {f"memory/{name}/{key}": array for key, array in mine.items()}
        state.asleep = new
        state.v = np.where(falls[model.nodes.body][:, None], 0.0, state.v)
        framed = falls[model.frames.body][:, None]
        state.velocity, state.spin = np.where(framed, 0.0, state.velocity), np.where(framed, 0.0, state.spin)

    def _make(self) -> None:
        """The world of those who are awake, as the state has them."""
        state, model = self.world.state, self.world.model
        made = state, state.asleep["island"], model, model.skin, model.attachments
        if len(self._made) == len(made) and all(a is b for a, b in zip(self._made, made, strict=True)):
            return
        self._made, self._contacts = made, _contacts(state.asleep)
        self._pairs = np.unique(key_of(self._contacts.a, self._contacts.b))
        asleep = self.asleep
        if not asleep.any():
            self.awake = self.world
            return
        scales_of(self.world)  # of all bodies: it is kept for both
        pairs = replace(self.world.pairs, movable=self.world.pairs.movable & ~asleep)
        self.awake = World(_without(model, asleep), state, pairs, self.world.solver)
        self.awake.kept, self.awake.rest = self.world.kept, self.world.rest  # made from what is the same for both


def _differs(one: Floats, other: Floats) -> np.ndarray:
    """Tables whose values are not the same, (k,) bool."""
    return np.asarray((np.abs(one - other) > SAME * np.maximum(np.abs(one), np.abs(other)).max(initial=0.0)).any(axis=1))


def _without(model: Model, asleep: np.ndarray) -> Model:
    """The model in which these bodies have no elements and cannot move, with the same numbers."""
    nodes, frames = model.nodes, model.frames
    held, framed = asleep[nodes.body], asleep[frames.body]
    groups, owners = [], []
    for group, body in zip(model.groups, model.group_body, strict=True):
        some = ~asleep[body]
        if some.any():
            part = not some.all() and hasattr(group, "some")  # one that cannot be divided is kept whole
            groups.append(group.some(some) if part else group)  # type: ignore[attr-defined]
            owners.append(body[some] if part else body)
    start, corner, corners = incidence([g.nodes for g in groups], len(nodes.mass))
    return replace(
        model,
        nodes=replace(nodes, inverse=np.where(held, 0.0, nodes.inverse), scheme=np.where(held, SYMPLECTIC, nodes.scheme)),
        frames=replace(
            frames, inverse=np.where(framed, 0.0, frames.inverse), inverse_inertia=np.where(framed[:, None], 0.0, frames.inverse_inertia)
        ),
        groups=groups, group_body=owners, corner_start=start, corner=corner, corners=corners,
    )  # fmt: skip


def _arrays(contacts: Contacts) -> dict[str, np.ndarray]:
    return {f"contacts/{name}": array for name, array in contacts.arrays().items()}


def _contacts(asleep: dict[str, np.ndarray]) -> Contacts:
    return Contacts.of_arrays({name.removeprefix("contacts/"): a for name, a in asleep.items() if name.startswith("contacts/")})


def _memory(asleep: dict[str, np.ndarray], method: str) -> dict[str, np.ndarray]:
    prefix = f"memory/{method}/"
    return {name.removeprefix(prefix): a for name, a in asleep.items() if name.startswith(prefix)}


@kernel
def _speeds(body, mass, v, most, total, momentum):  # type: ignore[no-untyped-def]
    """The largest speed of the nodes of each body, their mass and momentum."""
    for i in range(len(body)):
        b, square = body[i], 0.0
        for c in range(3):
            square += v[i, c] * v[i, c]
            momentum[b, c] += mass[i] * v[i, c]
        total[b] += mass[i]
        if not square <= most[b] * most[b]:
            most[b] = np.sqrt(square)
