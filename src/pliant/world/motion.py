"""Motion: all that a contact method sees of the world, and the three verbs by which it answers.

`start` and `end` are the skin points at both ends of the step. `push` carries impulses to the bodies and predicts `end` anew,
`give` says how readily contacts yield, `rewind` puts owners of points back. Formulas are written once, for rows:
a contact is a few (skin point, signed weight) pairs that sum to zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pliant.base import Bools, Floats, Ints, PliantError
from pliant.bodies.rigid.motion import angular_velocities, fly
from pliant.integrate.blocks import BlockMatrix
from pliant.integrate.implicit_euler import FEW_DIGITS, REMEMBERED, Push
from pliant.kernels import kernel, load, store, sub
from pliant.world import bindings
from pliant.world.give import explicit_give

if TYPE_CHECKING:
    from pliant.detect.shapes import Shapes
    from pliant.integrate.implicit_euler import System
    from pliant.model import Rest
    from pliant.world.pairs import PairTable
    from pliant.world.world import World

Kind = TypeVar("Kind")


@dataclass
class Rows:
    """Contacts as sparse rows over skin points (CSR); weights of a row sum to zero, the positive side is body A.

    A row of one point pushes against the world.
    """

    start: Ints  # (r + 1,)
    point: Ints
    weight: Floats
    normal: Floats  # (r, 3) unit, out of B towards A
    at: Floats  # [m] (r, 3) where the impulse acts on rigid bodies, the same for both sides

    def __len__(self) -> int:
        return len(self.at)

    @staticmethod
    def dense(points: Ints, weights: Floats, normal: Floats, at: Floats) -> Rows:
        """Rows that all have the same number of points, given as (r, k) arrays."""
        r, k = points.shape
        flat = np.ascontiguousarray(points, np.int64).ravel(), np.ascontiguousarray(weights, np.float64).ravel()
        return Rows(k * np.arange(r + 1), *flat, np.ascontiguousarray(normal), np.ascontiguousarray(at))

    @staticmethod
    def joined(parts: list[Rows]) -> Rows:
        """Rows one after the other."""
        some = [part for part in parts if len(part)]
        if len(some) < 2:
            return (some or parts)[0]
        point, weight, normal, at = (np.concatenate([getattr(p, name) for p in some]) for name in ("point", "weight", "normal", "at"))
        return Rows(np.concatenate([[0], np.cumsum(np.concatenate([np.diff(p.start) for p in some]))]), point, weight, normal, at)

    def sums(self, field: Floats) -> Floats:
        """Weighted sum of a skin field over each row, (r, 3): relative position or velocity of A and B."""
        out = np.empty((len(self), 3))
        bindings.row_vectors(self.start, self.point, self.weight, field, out)
        return out


class Touched:
    """What pushes look up: made once (`motion.kept(Touched)`)."""

    def __init__(self, rest: Rest) -> None:
        count = len(rest.nodes.mass)
        self.slot = np.full(count, -1, np.int64)  # of each node in the other two; -1 between pushes
        self.node, self.impulse = np.empty(count, np.int64), np.empty((count, 3))  # room for those that a push reaches
        self.bind(rest)

    def bind(self, rest: Rest) -> None:
        """Know how points ride on nodes."""
        skin = rest.skin
        first = np.minimum(skin.start[:-1], max(len(skin.node) - 1, 0))
        alone = (skin.frame < 0) & (np.diff(skin.start) == 1)
        alone[alone] = skin.weight[first[alone]] == 1.0
        self.alone = np.full(len(skin), -1, np.int64)  # the node of each point that is just this node, as most are; else -1
        self.alone[alone] = skin.node[first[alone]]


@dataclass(frozen=True)
class Place:
    """Where everything is."""

    points: Floats  # [m] (p, 3) skin points
    position: Floats  # [m] (f, 3) frames
    rotation: Floats  # (f, 4)


@dataclass(frozen=True)
class Free:
    """Every body on its own for one step: where that leaves it, and what contact must know of the way."""

    dt: float  # [s]
    x: Floats  # [m] (n, 3) nodes
    v: Floats  # [m/s] (n, 3)
    velocity: Floats  # [m/s] (f, 3) frames
    spin: Floats  # [kg m^2/s] (f, 3)
    force: Floats  # [N] (n, 3) on nodes at the start of the step; on those of Runge-Kutta bodies the mean over it
    damping: Floats  # [1/s] (n,) of nodes
    mobility: Floats  # [1/kg] (n,) velocity per impulse of nodes that are pushed one by one, 0 where they move together
    system: System | None  # how the nodes of implicit bodies move together


class Motion:
    """One step as the bodies would take it, open to be pushed."""

    def __init__(self, world: World, free: Free) -> None:
        model, state = world.model, world.state
        self._world, self.free = world, free
        self.dt = free.dt
        self.asked = free.dt  # [s] how long steps are if nothing divides them
        self.time = state.time
        self.skin = model.skin
        self.bodies = model.bodies
        self.nodes = model.nodes
        self.frames = model.frames
        self.pairs: PairTable = world.pairs
        self.gravity = model.gravity  # [m/s^2] (3,)
        self.x, self.v = free.x, free.v  # nodes at the end of the step
        self.velocity_frames, self.spin = free.velocity, free.spin
        self.position_start, self.rotation_start = state.position, state.rotation  # frames at the start of the step
        self.position, self.rotation = np.empty_like(state.position), np.empty_like(state.rotation)  # and at its end
        self._fly()
        self.start = world.skin_positions(state.x, state.position, state.rotation)
        self._slid: tuple[Rows, Floats] | None = None  # the last answer of `slide`
        self._turning: Floats | None = None  # that of `angular_velocity`
        self.account = "contact"  # where pushes are booked
        self.pushed: dict[str, list[tuple[Ints, Floats, Floats, Floats]]] = {}  # nodes, impulses on them and on frames, turning, by account
        self.contact_rows: list[tuple[Rows, Floats]] = []  # what contact pushed, as it was asked for: for the account of each pair
        self._gave: tuple[Rows | None, Floats] = None, np.zeros(0)  # the last answer of `give`
        self._stored: tuple[Floats | None, Floats] = None, np.zeros(0)  # the last answer of `potential`
        self.rewound = 0.0  # [J] potential energy moved by `rewind`
        self.impulse_on_fixed = np.zeros((len(model.nodes.mass), 3))  # [N s] pushes that fixed nodes took
        self._mobility, self._system = free.mobility, free.system  # what impulses on nodes go through
        self._sweeping = False  # meanwhile `roughly`
        self._rough: tuple[list[Push], Floats] | None = None  # pushes that were answered roughly, and dv found for them
        self._answered = 0  # pushes on implicit bodies so far
        self.unsolved = np.zeros_like(free.x)  # [m/s] that implicit nodes got `by_mass`, of which their systems do not know

    def _fly(self) -> None:
        state, frames = self._world.state, self._world.model.frames
        fly(
            state.position, state.rotation, self.velocity_frames, self.spin, frames.inverse, frames.inverse_inertia,
            self.dt, self.position, self.rotation,
        )  # fmt: skip
        self._world.drive_frames(self.time + self.dt, self.position, self.rotation)

    @cached_property
    def end(self) -> Floats:
        """Skin points at the end of the step [m], (p, 3)."""
        return self._world.skin_positions(self.x, self.position, self.rotation)

    @property
    def known_end(self) -> Floats | None:
        """`end`, if it was asked for since the last push."""
        return self.__dict__.get("end")

    @property
    def shapes(self) -> Shapes:
        """The exact shapes of all bodies as they are at the end of the step."""
        return self.bodies.shapes(self.position, self.rotation)

    @property
    def velocity(self) -> Floats:
        """Mean velocity of the skin points over the step [m/s], (p, 3)."""
        return (self.end - self.start) / self.dt

    @property
    def explicit(self) -> np.ndarray:
        """Nodes that impulses move one by one, (n,) bool; those of implicit bodies move together."""
        return self._mobility > 0.0

    @cached_property
    def ways(self) -> Bools:
        """Bodies with nodes that impulses move one by one, and bodies with nodes that move together, (2, B) bool."""
        out = np.zeros((2, len(self.bodies)), np.bool_)
        _ways(self.nodes.body, self.nodes.inverse, self.free.mobility, out)
        return out

    @contextmanager
    def by_mass(self) -> Iterator[None]:
        """Meanwhile impulses move the nodes of implicit bodies one by one, by their masses, not all together through their system."""
        free = self.free
        self._mobility, self._system = np.where(free.mobility > 0.0, free.mobility, self.nodes.inverse), None
        try:
            yield
        finally:
            self._mobility, self._system = free.mobility, free.system

    @contextmanager
    def roughly(self) -> Iterator[None]:
        """Meanwhile impulses on implicit bodies are answered to a few digits, for sweeps that try them; in the end all together exactly."""
        if self._system is None or self._sweeping:
            yield
            return
        self._sweeping = True
        try:
            yield
        finally:
            self._sweeping = False
            dv = self._answer([], False)
            self.v += dv
            self.x += self.dt * dv
            self._moved()

    def _answer(self, pushes: list[Push], rough: bool) -> Floats:
        """How implicit nodes answer impulses, (n, 3) [m/s]: to a few digits, or exactly, together with all that were answered roughly."""
        assert self._system is not None
        start = self._system.starts.get(f"push {self._answered}")
        before, found = self._rough if self._rough is not None else ([], None)
        if rough:
            dv = self._system.respond(pushes, start, FEW_DIGITS)
            self._rough = before + pushes, dv if found is None else found + dv
        else:
            if found is not None:
                start = found if start is None else found + start
            dv, self._rough = self._system.respond(before + pushes, start), None
            if found is not None:
                dv -= found
        if self._answered < REMEMBERED:
            self._system.found[f"push {self._answered}"] = dv
        self._answered += 1
        return dv

    @cached_property
    def inertia(self) -> Floats:
        """Impulse per velocity of each node that is pushed alone, its damper included [kg], (n,); its mass where it is held."""
        mobility = self.free.mobility
        damped = np.where(self.nodes.inverse > 0.0, self.nodes.mass * (1.0 + self.dt * self.free.damping), self.nodes.mass)
        return np.divide(1.0, mobility, out=damped, where=mobility > 0.0)

    @property
    def coupled(self) -> bool:
        """Whether an impulse along one direction also moves matter along another: implicit bodies."""
        return self._system is not None

    def slide(self, rows: Rows) -> Floats:
        """How far side A of each row moves against side B in the step, where they touch [m], (r, 3)."""
        if self._slid is not None and self._slid[0] is rows:
            return self._slid[1]  # nothing was pushed since the last time
        state, skin, out = self._world.state, self.skin, np.empty((len(rows), 3))
        bindings.row_displacements(
            rows.start, rows.point, rows.weight, rows.at, self.start, self.x, self.kept(Touched).alone, skin.start, skin.node, skin.weight,
            skin.local, skin.frame, state.position, state.rotation, self.position, self.rotation, out,
        )  # fmt: skip
        self._slid = (rows, out)
        return out

    def row_velocity(self, rows: Rows, start: bool = False) -> Floats:
        """How fast side A of each row moves against side B at the end of the step, where they touch [m/s], (r, 3).

        With `start` true `rows.at` are places at the start of the step, as in `push`.
        """
        skin, out = self.skin, np.empty((len(rows), 3))
        position, rotation = (self.position_start, self.rotation_start) if start else (self.position, self.rotation)
        bindings.row_velocities(
            rows.start, rows.point, rows.weight, rows.at, skin.start, skin.node, skin.weight, skin.frame, self.v, position,
            self.velocity_frames, self._world.angular_velocities(rotation, self.spin) if start else self.angular_velocity(), out,
        )  # fmt: skip
        return out

    def row_velocity_before(self, rows: Rows, start: bool = False) -> Floats:
        """The same before anything acted in this step, with the same levers [m/s], (r, 3)."""
        state, skin, out = self._world.state, self.skin, np.empty((len(rows), 3))
        bindings.row_velocities(
            rows.start, rows.point, rows.weight, rows.at, skin.start, skin.node, skin.weight, skin.frame, state.v,
            self.position_start if start else self.position, state.velocity, self.turning_start, out,
        )  # fmt: skip
        return out

    @property
    def matrix(self) -> BlockMatrix | None:
        """A = M + dt C + dt^2 K of the implicit bodies, if there are any."""
        return None if self.free.system is None else self.free.system.matrix

    def still(self) -> Floats:
        """The change of velocity with which all would go on as at the start of the step, (n + 2 f, 3): of nodes, then of each frame that of
        its velocity and of its turning; zero for what is prescribed."""
        state, out = self._world.state, np.empty((len(self.x) + 2 * len(self.position), 3))
        _still(
            self.nodes.inverse, state.v, self.v, self.frames.inverse, state.velocity, self.velocity_frames, self.turning_start,
            self.angular_velocity(), out,
        )  # fmt: skip
        return out

    def place_with(self, w: Floats) -> Place:
        """Where everything would be with these changes of velocity, (n + 2 f, 3)."""
        state, n, frames = self._world.state, len(self.x), self.frames
        if not len(self._world.flying):
            return Place(self._world.skin_positions(self.x + self.dt * w[:n], self.position, self.rotation), self.position, self.rotation)
        position, rotation = np.empty_like(self.position), np.empty_like(self.rotation)
        spin = np.empty_like(self.spin)
        angular_velocities(self.rotation, np.ascontiguousarray(w[n + 1 :: 2]), frames.inertia, spin)  # R I R^T of turning
        spin = self.spin + spin * (frames.inverse > 0.0)[:, None]
        velocity = self.velocity_frames + w[n::2]
        fly(state.position, state.rotation, velocity, spin, frames.inverse, frames.inverse_inertia, self.dt, position, rotation)
        self._world.drive_frames(self.time + self.dt, position, rotation)
        return Place(self._world.skin_positions(self.x + self.dt * w[:n], position, rotation), position, rotation)

    def here(self) -> Place:
        """Where everything is at the start of the step."""
        return Place(self.start, self.position_start, self.rotation_start)

    def there(self) -> Place:
        """Where everything is at its end."""
        return Place(self.end, self.position, self.rotation)

    def row_paths(self, rows: Rows, place: Place, to: Place) -> Floats:
        """How far side A of each row goes against side B from `place`, where rows.at are, to another [m], (r, 3)."""
        out, skin = np.empty((len(rows), 3)), self.skin
        bindings.row_paths(
            rows.start, rows.point, rows.weight, rows.at, skin.frame, place.points, place.position, place.rotation, to.points, to.position,
            to.rotation, out,
        )  # fmt: skip
        return out

    def push(
        self, rows: Rows, impulses: Floats, move: bool = True, start: bool = False, response: Floats | None = None, rough: bool = False
    ) -> None:
        """Carry impulses [N s], (r, 3), on side A (and their opposites on B) to the bodies and predict `end` anew.

        With `move` false they act at the end of the step: velocities change, `end` does not. With `start` true `rows.at` are places at
        the start of the step, and so are the levers that turn frames: together they keep angular momentum to rounding. `response`: what
        implicit nodes answer, (n, 3) [m/s], where the caller has solved for it; only the momentum of whole bodies is set right. With
        `rough` true implicit bodies answer to a few digits, until the next push that is not rough answers for both.
        """
        if len(rows) == 0:
            return
        skin, touched = self.skin, self.kept(Touched)
        on_frames, turning = np.zeros_like(self.position), np.zeros_like(self.position)
        count = bindings.spread(
            rows.start, rows.point, rows.weight, rows.at, np.ascontiguousarray(impulses), touched.alone, skin.start, skin.node, skin.weight,
            skin.frame, self.position_start if start else self.position, touched.slot, touched.node, touched.impulse, on_frames, turning,
        )  # fmt: skip
        node, impulse, moved = touched.node[:count].copy(), touched.impulse[:count].copy(), self.dt if move else 0.0
        bindings.kick(node, impulse, self._mobility, self.nodes.inverse, moved, self.v, self.x, self.impulse_on_fixed)
        if self._system is not None:
            if response is not None:
                dv = self._system.with_momentum((node, impulse), response)
            else:
                dv = self._answer([(node, impulse)], rough or self._sweeping)
            self.v += dv
            self.x += moved * dv
        elif self.free.system is not None:
            self.unsolved[node] += (self._mobility - self.free.mobility)[node, None] * impulse
        free = self._world.flying
        if len(free):
            self.velocity_frames[free] += on_frames[free] * self.frames.inverse[free, None]
            self.spin[free] += turning[free]
            self._turning = None
            if move:
                self._fly()
        if move:
            self._moved()
        self.pushed.setdefault(self.account, []).append((node, impulse, on_frames, turning))
        if self.account == "contact":
            self.contact_rows.append((rows, np.array(impulses)))

    def _moved(self) -> None:
        """Forget what was known of the end of the step."""
        self.__dict__.pop("end", None)
        self._slid = self._turning = None

    def work(self) -> dict[str, float]:
        """Work of all pushes on the bodies [J], by account: impulse times the mean of the velocities before and after the step.

        Summed over everything that acts this is the change of kinetic energy; at rest it is nothing.
        """
        state, out = self._world.state, dict.fromkeys(self.pushed, 0.0)
        moving = len(self._world.flying) + len(self._world.model.drives.frame) > 0
        velocity, omega = self.mean_velocity_of_frames() if moving else (self.position, self.position)
        for account, pushes in self.pushed.items():
            for node, impulse, on_frames, turning in pushes:
                out[account] += float(np.sum(impulse * (0.5 * (state.v[node] + self.v[node]))))
                if moving:
                    out[account] += float(np.sum(on_frames * velocity) + np.sum(turning * omega))
        return out

    def work_on_driven(self) -> float:
        """The part of that work that prescribed frames took [J]."""
        driven = self._world.model.drives.frame
        if len(driven) == 0:
            return 0.0
        velocity, omega = self.mean_velocity_of_frames()
        pushes = [push for account in self.pushed.values() for push in account]
        return float(sum(np.sum((f * velocity)[driven]) + np.sum((turning * omega)[driven]) for _, _, f, turning in pushes))

    def mean_velocity_of_frames(self) -> tuple[Floats, Floats]:
        """Of both ends of the step: centre [m/s] and turning [rad/s], (f, 3) each."""
        state = self._world.state
        return 0.5 * (state.velocity + self.velocity_frames), 0.5 * (self.turning_start + self.angular_velocity())

    def give(self, rows: Rows, direction: Floats | None = None) -> Floats:
        """How readily each contact yields [1/kg], (r,): the absolute row sum D of the Delassus matrix.

        One sweep of impulses b / D cannot overshoot as a whole. `direction` is the row's normal unless given.
        """
        direction = rows.normal if direction is None else np.ascontiguousarray(direction)
        world, frames, skin = self._world, self._world.model.frames, self.skin
        if not world.directed and self._gave[0] is rows:
            return self._gave[1]
        out = np.zeros(len(rows))
        explicit_give(
            rows.start, rows.point, rows.weight, direction, rows.at, self.kept(Touched).alone, skin.start, skin.node, skin.weight,
            skin.frame, self._mobility, self.position, self.rotation, frames.inverse, frames.inverse_inertia,
            np.zeros(len(self.x)), np.zeros(len(self.position)), np.zeros(len(self.position)), out,
        )  # fmt: skip
        if self._system is not None:
            out += self._system.give(self, rows, direction)
        self._gave = rows, out
        return out

    def rewind(self, points: Ints) -> None:
        """Put the owners of skin points back to where they started: the node if the point is one node, else the body.

        Velocities stay; the potential energy that this moves is booked. What is prescribed stays where it belongs. A later push
        that moves moves owners again, so rewind last.
        """
        world, state, skin = self._world, self._world.state, self.skin
        before = self.potential()
        points = np.asarray(points, np.int64)
        count = skin.start[points + 1] - skin.start[points]
        back = np.zeros(len(self.x), bool)
        back[skin.node[skin.start[points[count == 1]]]] = True
        back |= np.isin(world.model.nodes.body, skin.body[points[count > 1]])
        back &= world.model.nodes.inverse > 0.0
        self.x[back] = state.x[back]
        framed = np.unique(skin.frame[points])
        framed = framed[framed >= 0]
        framed = framed[self.frames.inverse[framed] > 0.0]
        self.position[framed], self.rotation[framed] = state.position[framed], state.rotation[framed]
        self._moved()
        self.rewound += float((self.potential() - before).sum())

    def potential(self) -> Floats:
        """Elastic energy and energy in the field of gravity of each body at the end of the step [J], (B,)."""
        if self._stored[0] is not self.end:  # something has moved since the last time
            self._stored = self.end, self._world.potential_energy(self.x, self.position)
        return self._stored[1]

    def kept(self, kind: type[Kind]) -> Kind:
        """Something derived from the model and the shape at rest alone (a tree, an adjacency), made once per epoch as kind(rest)."""
        return self._world.derived(kind)

    def refuse_self_contact(self, method: str) -> None:
        """For methods that know none: a sentence about the first body that is to meet itself."""
        every = np.arange(len(self.bodies))
        own = np.flatnonzero(self.pairs.meet(every, every))
        if len(own):
            name = self.bodies.names[own[0]]
            raise PliantError(
                f"Body '{name}' is to meet itself, but the method `{method}` knows no self-contact: state another method for the pair "
                f"('{name}', '{name}'), \"patch\" or \"continuous-penalty\", or drop it."
            )

    def angular_velocity(self) -> Floats:
        """Angular velocity of all frames [rad/s], (f, 3)."""
        if self._turning is None:
            self._turning = self._world.angular_velocities(self.rotation, self.spin)
        return self._turning

    @cached_property
    def turning_start(self) -> Floats:
        """The same at the start of the step."""
        state = self._world.state
        return self._world.angular_velocities(state.rotation, state.spin)



@kernel
def _still(inverse, v0, v, frame_inverse, velocity0, velocity, turning0, turning, out):  # type: ignore[no-untyped-def]
    for i in range(len(v)):
        store(out, i, sub(load(v0, i), load(v, i)) if inverse[i] > 0.0 else (0.0, 0.0, 0.0))
    for f in range(len(velocity)):
        k, free = len(v) + 2 * f, frame_inverse[f] > 0.0
        store(out, k, sub(load(velocity0, f), load(velocity, f)) if free else (0.0, 0.0, 0.0))
        store(out, k + 1, sub(load(turning0, f), load(turning, f)) if free else (0.0, 0.0, 0.0))


@kernel
def _ways(body, inverse, mobility, out):  # type: ignore[no-untyped-def]
    for i in range(len(body)):
        if mobility[i] > 0.0:
            out[0, body[i]] = True
        elif inverse[i] > 0.0:
            out[1, body[i]] = True
