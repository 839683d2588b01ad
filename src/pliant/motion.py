"""Motion: all that a contact method sees of the world, and the three verbs by which it answers.

`start` and `end` are the skin points at both ends of the step. `push` carries impulses to the bodies and predicts `end` anew,
`give` says how readily contacts yield, `rewind` puts owners of points back. Formulas are written once, for rows:
a contact is a few (skin point, signed weight) pairs that sum to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pliant import bindings
from pliant.bodies.rigid import fly
from pliant.geometry.mesh import Floats, Ints

if TYPE_CHECKING:
    from pliant.pairs import PairTable
    from pliant.world import World

Kept = TypeVar("Kept")


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

    def sums(self, field: Floats) -> Floats:
        """Weighted sum of a skin field over each row, (r, 3): relative position or velocity of A and B."""
        out = np.empty((len(self), 3))
        bindings.row_vectors(self.start, self.point, self.weight, field, out)
        return out


class Motion:
    """One step as the bodies would take it, open to be pushed."""

    def __init__(self, world: World, dt: float, x: Floats, v: Floats, velocity: Floats, spin: Floats) -> None:
        model, state = world.model, world.state
        self._world = world
        self.dt = dt
        self.time = state.time
        self.skin = model.skin
        self.bodies = model.bodies
        self.nodes = model.nodes
        self.frames = model.frames
        self.pairs: PairTable = world.pairs
        self.gravity = model.gravity  # [m/s^2] (3,)
        self.x, self.v = x, v  # nodes at the end of the step
        self.velocity_frames, self.spin = velocity, spin
        self.position_start, self.rotation_start = state.position, state.rotation  # frames at the start of the step
        self.position, self.rotation = np.empty_like(state.position), np.empty_like(state.rotation)  # and at its end
        self._fly()
        self.start = world.skin_positions(state.x, state.position, state.rotation)
        self._slid: tuple[Rows, Floats, Floats] | None = None  # the last answer of `slide`
        self.account = "contact"  # where pushes are booked
        self.pushed: dict[str, tuple[Floats, Floats, Floats]] = {}  # impulses on nodes, frames, and turning, by account
        self._gave: tuple[Rows | None, Floats] = None, np.zeros(0)  # the last answer of `give`
        self.rewound = 0.0  # [J] potential energy moved by `rewind`
        self.impulse_on_fixed = np.zeros((len(model.nodes.mass), 3))  # [N s] pushes that fixed nodes took

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
    def velocity(self) -> Floats:
        """Mean velocity of the skin points over the step [m/s], (p, 3)."""
        return (self.end - self.start) / self.dt

    @property
    def explicit(self) -> np.ndarray:
        """Nodes that impulses move one by one, (n,) bool; those of implicit bodies move together."""
        return self._world.explicit_mobility > 0.0

    def slide(self, rows: Rows) -> Floats:
        """How far side A of each row moves against side B in the step, where they touch [m], (r, 3)."""
        if self._slid is not None and self._slid[0] is rows and self._slid[1] is self.end:
            return self._slid[2]  # nothing was pushed since the last time
        state, out = self._world.state, np.empty((len(rows), 3))
        bindings.row_displacements(
            rows.start, rows.point, rows.weight, rows.at, self.start, self.end, self.skin.frame, state.position, state.rotation,
            self.position, self.rotation, out,
        )  # fmt: skip
        self._slid = (rows, self.end, out)
        return out

    def row_velocity(self, rows: Rows) -> Floats:
        """How fast side A of each row moves against side B at the end of the step, where they touch [m/s], (r, 3)."""
        skin, out = self.skin, np.empty((len(rows), 3))
        bindings.row_velocities(
            rows.start, rows.point, rows.weight, rows.at, skin.start, skin.node, skin.weight, skin.frame, self.v, self.position,
            self.velocity_frames, self.angular_velocity(), out,
        )  # fmt: skip
        return out

    def _spread(self, rows: Rows, impulses: Floats, frames: Floats) -> tuple[Floats, Floats, Floats]:
        skin = self.skin
        on_nodes, on_frames = np.zeros_like(self.x), np.zeros_like(self.position)
        turning = np.zeros_like(self.position)
        bindings.spread(
            rows.start, rows.point, rows.weight, rows.at, np.ascontiguousarray(impulses), skin.start, skin.node, skin.weight,
            skin.frame, frames, on_nodes, on_frames, turning,
        )  # fmt: skip
        return on_nodes, on_frames, turning

    def push(self, rows: Rows, impulses: Floats, move: bool = True, start: bool = False) -> None:
        """Carry impulses [N s], (r, 3), on side A (and their opposites on B) to the bodies and predict `end` anew.

        With `move` false they act at the end of the step: velocities change, `end` does not. With `start` true `rows.at` are places at
        the start of the step, and so are the levers that turn frames: together they keep angular momentum to rounding.
        """
        if len(rows) == 0:
            return
        world, frames = self._world, self._world.model.frames
        on_nodes, on_frames, turning = self._spread(rows, impulses, self.position_start if start else self.position)
        moved = self.dt if move else 0.0
        bindings.kick(on_nodes, world.explicit_mobility, self.nodes.inverse, moved, self.v, self.x, self.impulse_on_fixed)
        if world.implicit is not None:
            dv = world.implicit.respond(on_nodes)
            self.v += dv
            self.x += moved * dv
        free = frames.inverse > 0.0
        self.velocity_frames[free] += on_frames[free] * frames.inverse[free, None]
        self.spin[free] += turning[free]
        if move:
            self._fly()
            self.__dict__.pop("end", None)
        if self.account not in self.pushed:
            self.pushed[self.account] = (on_nodes, on_frames, turning)
            return
        for total, part in zip(self.pushed[self.account], (on_nodes, on_frames, turning), strict=True):
            total += part

    def work(self) -> dict[str, float]:
        """Work of all pushes on the bodies [J], by account: impulse times the mean of the velocities before and after the step.

        Summed over everything that acts this is the change of kinetic energy; at rest it is nothing.
        """
        state = self._world.state
        v, velocity = 0.5 * (state.v + self.v), 0.5 * (state.velocity + self.velocity_frames)
        omega = 0.5 * (self._world.angular_velocities(state.rotation, state.spin) + self.angular_velocity())
        return {
            account: float(np.sum(on_nodes * v) + np.sum(on_frames * velocity) + np.sum(turning * omega))
            for account, (on_nodes, on_frames, turning) in self.pushed.items()
        }

    def give(self, rows: Rows, direction: Floats | None = None) -> Floats:
        """How readily each contact yields [1/kg], (r,): the absolute row sum D of the Delassus matrix.

        One sweep of impulses b / D cannot overshoot as a whole. `direction` is the row's normal unless given.
        """
        direction = rows.normal if direction is None else np.ascontiguousarray(direction)
        world, frames, skin = self._world, self._world.model.frames, self.skin
        if not world.directed and self._gave[0] is rows:
            return self._gave[1]
        out = np.zeros(len(rows))
        bindings.explicit_give(
            rows.start, rows.point, rows.weight, direction, rows.at, skin.start, skin.node, skin.weight, skin.frame,
            world.explicit_mobility, self.position, self.rotation, frames.inverse, frames.inverse_inertia,
            np.zeros(len(self.x)), np.zeros(len(self.position)), np.zeros(len(self.position)), out,
        )  # fmt: skip
        if world.implicit is not None:
            out += world.implicit.give(self, rows, direction)
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
        self.__dict__.pop("end", None)
        self.rewound += float((self.potential() - before).sum())

    def potential(self) -> Floats:
        """Elastic energy and energy in the field of gravity of each body at the end of the step [J], (B,)."""
        return self._world.potential_energy(self.x, self.position)

    def kept(self, kind: type[Kept]) -> Kept:
        """Something derived from the model alone (a tree, an adjacency), made once per epoch as kind(motion)."""
        kept = self._world.kept
        if kind not in kept:
            kept[kind] = kind(self)  # type: ignore[call-arg]
        return kept[kind]

    def angular_velocity(self) -> Floats:
        """Angular velocity of all frames [rad/s], (f, 3)."""
        return self._world.angular_velocities(self.rotation, self.spin)
