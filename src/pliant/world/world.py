"""World: a scene as flat arrays, the free motion of all bodies, and the end of a step."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.base import Floats
from pliant.bodies.fem.tets import Tets
from pliant.bodies.points.elements import Points
from pliant.bodies.rigid.motion import angular_velocities, kick_frames
from pliant.bodies.springs.elements import vertex_damping
from pliant.geometry.quaternions import product, quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.integrate.assembly import NO_FORCES, turns
from pliant.integrate.explicit import kick_nodes
from pliant.integrate.implicit_euler import ImplicitEuler
from pliant.integrate.runge_kutta import RungeKutta
from pliant.kernels import axpy, load, parallel, prange, store, use_threads
from pliant.model import IMPLICIT, STAGED, SYMPLECTIC, VERLET, Model, Rest, Skin, State
from pliant.world import bindings
from pliant.world.loads import add_loads
from pliant.world.motion import Free, Kind, Motion

if TYPE_CHECKING:
    from pliant.world.pairs import PairTable


class Forces(NamedTuple):
    """What acts at a moment, gravity apart."""

    on_nodes: Floats  # [N] (n, 3)
    on_frames: Floats  # [N] (f, 3)
    torque: Floats  # [N m] (f, 3)
    damping: Floats  # [1/s] (n,) of each node, with that of its vertex under these forces


class World:
    """All bodies of a scene: Model (fixed for an epoch), State (the moment) and how they move on their own."""

    def __init__(self, model: Model, state: State, pairs: PairTable, solver: str = "cg") -> None:
        self.model, self.state, self.pairs, self.solver = model, state, pairs, solver
        nodes = model.nodes
        self.implicit = ImplicitEuler(model, solver) if (nodes.scheme == IMPLICIT).any() else None
        self.staged = RungeKutta(self) if np.isin(nodes.scheme, STAGED).any() else None
        self.size = sum(g.work for g in model.groups) + len(model.skin)  # how much work a step is, in items
        self.kept: dict[type, Any] = {}  # what is derived from `rest`, once per epoch: made anew it is the same
        self.flying = np.flatnonzero(model.frames.inverse > 0.0)  # frames that can be pushed
        self.directed = self.implicit is not None or len(self.flying) > 0  # do contacts yield by direction?
        self._held = np.flatnonzero(nodes.inverse == 0.0)
        implicit = nodes.scheme == IMPLICIT  # such bodies damp with the velocity at the end of the step, through their matrix
        self._still = [isinstance(group, Tets) and bool(implicit[group.nodes].all()) for group in model.groups]
        self._corner = np.empty((model.corners, 3))  # room for forces on the corners of elements
        ends = np.cumsum([group.nodes.size for group in model.groups]).tolist()
        self._corners = [self._corner[end - group.nodes.size : end] for end, group in zip(ends, model.groups, strict=True)]
        self.points = [(number, group) for number, group in enumerate(model.groups) if isinstance(group, Points)]
        self._remember()

    @cached_property
    def rest(self) -> Rest:
        """What kept things are made from."""
        return Rest.of(self.model)

    def begin(self, skin: Skin) -> None:
        """Take another skin of the same points; what was kept of the old one is made anew."""
        self.model, self.kept = replace(self.model, skin=skin), {}
        self.__dict__.pop("rest", None)

    def bind(self, skin: Skin) -> None:
        """Go on with a skin of the same points and shape at rest that rides on nodes in another way; what is kept hears of it."""
        self.model, self.rest = replace(self.model, skin=skin), replace(self.rest, skin=skin)
        for made in self.kept.values():
            if hasattr(made, "bind"):
                made.bind(self.rest)

    def derived(self, kind: type[Kind]) -> Kind:
        """kind(rest), made once per epoch."""
        if kind not in self.kept:
            self.kept[kind] = kind(self.rest)  # type: ignore[call-arg]
        return self.kept[kind]  # type: ignore[no-any-return]

    # -- what acts

    def forces(
        self,
        x: Floats,
        v: Floats,
        position: Floats,
        rotation: Floats,
        time: float | Floats,
        scheme: int | None = None,
        known: Container[int] = (),
    ) -> Forces:
        """Elastic forces, dashpots (but of implicit bodies) and loads (gravity apart). A time may be given for each table of loads.

        `scheme`: forces are asked for on bodies with this Runge-Kutta scheme alone; those on others mean nothing. `known`: groups whose
        forces on corners are there already.
        """
        model = self.model
        use_threads(self.size)
        for number, (group, still, out) in enumerate(zip(model.groups, self._still, self._corners, strict=True)):
            if number not in known and (scheme is None or model.nodes.scheme[group.nodes[0, 0]] == scheme):
                group.forces(x, None if still else v, out)  # type: ignore[arg-type]
        on_nodes, on_frames, torque = np.empty_like(x), np.zeros_like(position), np.zeros_like(position)
        gather(model.corner_start, model.corner, self._corner, on_nodes)
        damping = self._damping(on_nodes)
        add_loads(self, x, position, rotation, time, on_nodes, on_frames, torque)
        return Forces(on_nodes, on_frames, torque, damping)

    def elastic_forces(self, x: Floats) -> Floats:
        """Elastic forces alone [N], (n, 3): the gradient of the elastic energy."""
        model, still, out = self.model, np.zeros_like(x), np.empty_like(x)
        use_threads(self.size)
        for group, on_corners in zip(model.groups, self._corners, strict=True):
            group.forces(x, still, on_corners)
        gather(model.corner_start, model.corner, self._corner, out)
        return out

    def _damping(self, elastic: Floats) -> Floats:
        """Damping of each node [1/s]: a of the body, and that of the vertex."""
        nodes = self.model.nodes
        if not nodes.drag[:, 0].any():
            return nodes.damping
        return nodes.damping + vertex_damping(nodes.drag, nodes.mass, elastic)

    def elastic_energy(self, x: Floats, known: Sequence[Floats] | None = None) -> Floats:
        """Elastic energy of each body [J], (B,); `known`: that of the elements of each group, where somebody has it."""
        out = np.zeros(len(self.model.bodies))
        energies = [group.energy(x) for group in self.model.groups] if known is None else known
        for energy, body in zip(energies, self.model.group_body, strict=True):
            out += np.bincount(body, energy, minlength=len(out))
        return out

    def potential_energy(self, x: Floats, position: Floats) -> Floats:
        """Elastic energy and energy in the field of gravity of each body [J], (B,)."""
        nodes, frames, g = self.model.nodes, self.model.frames, self.model.gravity
        count, moving = len(self.model.bodies), np.where(frames.inverse > 0, frames.mass, 0.0)
        # sums, not BLAS: its last digits depend on its threads
        weight = np.bincount(nodes.body, np.sum(nodes.mass[:, None] * x * g, axis=1), count).astype(np.float64)  # integers if empty
        weight += np.bincount(frames.body, np.sum(moving[:, None] * position * g, axis=1), count)
        return self.elastic_energy(x) - weight

    # -- how bodies move on their own

    def free_motion(self, dt: float) -> Motion:
        """Every body on its own, by its integrator, for one step."""
        model, state, nodes = self.model, self.state, self.model.nodes
        v_damping, mobility, known = state.v, nodes.inverse.copy(), set[int]()
        if self.implicit is not None:
            mobility[self.implicit.mine] = 0.0
            known = {k for k in self.implicit.groups if self._still[k] and turns(model.groups[k])}
            self.implicit.begin(state.x, dt, [self._corners[k] if k in known else NO_FORCES for k in self.implicit.groups])
            if not all(self._still):
                v_damping = np.where(self.implicit.mine[:, None], 0.0, state.v)
        force, on_frames, torque, damping = self.forces(state.x, v_damping, state.position, state.rotation, state.time, known=known)
        x, v, system = np.empty_like(state.x), np.empty_like(state.v), None
        kick_nodes(
            nodes.scheme, nodes.inverse, damping, model.gravity, force, state.x, state.v, dt, state.last_dt, x, v,
        )  # fmt: skip
        self.drive_nodes(state.time + dt, dt, x, v)
        if self.implicit is not None:
            system = self.implicit.step(state, force, damping, dt, x, v)
        if self.staged is not None:
            force, damping = self.staged.step(force, damping, dt, x, v)
            mobility = np.where(self.staged.mine, nodes.inverse / (1.0 + dt * damping), mobility)
        velocity, spin = np.empty_like(state.velocity), np.empty_like(state.spin)
        frames = model.frames
        kick_frames(
            state.velocity, state.spin, frames.inverse, frames.damping, on_frames, torque, model.gravity, dt, velocity, spin
        )
        return Motion(self, Free(dt, x, v, velocity, spin, force, damping, mobility, system))

    def standing(self) -> Motion:
        """The bodies as they stand: a step that takes no time, to look at and not to be pushed."""
        state, nodes = self.state, self.model.nodes
        where = (state.x.copy(), state.v.copy(), state.velocity.copy(), state.spin.copy())
        return Motion(self, Free(0.0, *where, np.zeros_like(state.x), nodes.damping, nodes.inverse, None))

    def drive_nodes(self, time: float, dt: float, x: Floats, v: Floats) -> None:
        """Put prescribed nodes where they belong at this time."""
        drives, nodes = self.model.drives, self.model.nodes
        v[self._held] = 0.0
        if len(drives.node) == 0:
            return
        turn, shift = self._driven(time)
        k, about = drives.node_motion, drives.about[drives.node_motion]
        there = about + np.einsum("kij,kj->ki", quaternion_to_matrix(turn[k]), nodes.rest[drives.node] - about) + shift[k]
        v[drives.node] = (there - self.state.x[drives.node]) / dt
        x[drives.node] = there

    def drive_frames(self, time: float, position: Floats, rotation: Floats) -> None:
        """Put prescribed frames where they belong at this time."""
        drives = self.model.drives
        if len(drives.frame) == 0:
            return
        k = drives.frame_motion
        turn, shift = self._driven(time)
        about = drives.about[k]
        moved = np.einsum("kij,kj->ki", quaternion_to_matrix(turn[k]), drives.base_position - about)
        position[drives.frame] = about + moved + shift[k]
        rotation[drives.frame] = product(turn[k], drives.base_rotation)

    def _driven(self, time: float) -> tuple[Floats, Floats]:
        """Quaternions (m, 4) and shifts (m, 3) of all motions."""
        drives = self.model.drives
        return rotation_vector_to_quaternion(np.radians(drives.turn(time))), drives.shift(time)

    # -- what contact asks

    def skin_positions(self, x: Floats, position: Floats, rotation: Floats) -> Floats:
        """Places of all skin points [m], (p, 3)."""
        skin = self.model.skin
        out = np.empty((len(skin), 3))
        bindings.skin_positions(skin.start, skin.node, skin.weight, skin.frame, skin.local, x, position, rotation, out)
        return out

    def angular_velocities(self, rotation: Floats, spin: Floats) -> Floats:
        """Of all frames [rad/s], (f, 3)."""
        out = np.empty_like(spin)
        angular_velocities(rotation, spin, self.model.frames.inverse_inertia, out)
        return out

    def skin_velocities(self) -> Floats:
        """Velocities of all skin points now [m/s], (p, 3)."""
        skin, state = self.model.skin, self.state
        omega = self.angular_velocities(state.rotation, state.spin)
        # the binding is linear: nodes' velocities go where their positions would, and frames turn about themselves
        carried = self.skin_positions(state.v, np.zeros_like(state.position), state.rotation)
        framed = skin.frame >= 0
        f = skin.frame[framed]
        carried[framed] = state.velocity[f] + np.cross(omega[f], carried[framed])
        carried[~framed & (np.diff(skin.start) == 0)] = 0.0
        return carried

    # -- the end of a step

    def commit(self, motion: Motion) -> tuple[Floats, bool]:
        """The motion, as pushed, becomes the state.

        Forces that hold fixed and prescribed nodes [N], (n, 3), and whether neighbourhoods of phyxels have changed.
        """
        state, dt, reaction = self.state, motion.dt, self._reactions(motion)
        frames = self.model.drives.frame
        if len(frames):
            motion.velocity_frames[frames] = (motion.position - state.position)[frames] / dt
        for account, work in (motion.work() | {"rewound": motion.rewound, "loads": self._work_of_loads(motion)}).items():
            state.book(account, work)
        # what is pushed against a prescribed frame is taken by what moves it
        held = float(np.sum(reaction * self._way(motion))) if len(self._held) else 0.0
        state.book("drives", held - motion.work_on_driven())
        state.starts = {} if motion.free.system is None else motion.free.system.found
        state.x, state.v = motion.x, motion.v
        state.position, state.rotation = motion.position, motion.rotation
        state.velocity, state.spin = motion.velocity_frames, motion.spin
        state.time += dt
        state.step += 1
        state.last_dt = dt
        return reaction, self._flow(dt)

    def _flow(self, dt: float) -> bool:
        """Let what is plastic flow and what is overstretched tear; the energy that this takes is booked.

        Whether neighbourhoods of phyxels have changed; what hangs on them follows.
        """
        if not self.points:
            return False
        before, nodes = [group.around for _, group in self.points], self.model.nodes
        late = 0.5 * dt * np.isin(nodes.scheme, (SYMPLECTIC, VERLET))[:, None]  # see measure/books
        for _, group in self.points:
            lost = group.flow(self.state.x, dt, late * self.state.v)
            v = group.stiffened(self.state.x, self.state.v, nodes.inverse)
            if v is not self.state.v:
                lost += float(np.sum(0.5 * nodes.mass[:, None] * (self.state.v**2 - v**2)))
                lost += group.work_over(self.state.x, late * (self.state.v - v))
                self.state.v = v
            if lost != 0.0:
                self.state.book("plastic", -lost)
        self._remember()
        changed = any(group.around is not old for (_, group), old in zip(self.points, before, strict=True))
        if changed and self.implicit is not None:
            self.implicit = ImplicitEuler(self.model, self.solver)
        return changed

    def _remember(self) -> None:
        """Put into the state what phyxels remember: groups hold the same arrays, which are replaced and never written to."""
        self.state.elements |= {str(number): kept for number, group in self.points if (kept := group.memory())}

    def recall(self, state: State) -> None:
        """Go on from a state that was saved."""
        self.state = state
        for number, group in self.points:
            if str(number) in state.elements:
                group.recall(state.elements[str(number)])
        if self.points and self.implicit is not None:
            self.implicit = ImplicitEuler(self.model, self.solver)

    def _work_of_loads(self, motion: Motion) -> float:
        """Work of the scene's loads over the step [J], with the forces they had at its start."""
        state = self.state
        if len(self.model.loads.tables.start) == 1:
            return 0.0
        on_nodes, on_frames, torque = np.zeros_like(state.x), np.zeros_like(state.position), np.zeros_like(state.position)
        add_loads(self, state.x, state.position, state.rotation, state.time, on_nodes, on_frames, torque)
        velocity, omega = motion.mean_velocity_of_frames()
        return float(np.sum(on_nodes * self._way(motion)) + motion.dt * (np.sum(on_frames * velocity) + np.sum(torque * omega)))

    def _way(self, motion: Motion) -> Floats:
        """What the force on a node at the start of the step is to be multiplied with for its work [m], (n, 3).

        With explicit schemes, as on frames, the time that it pushes for times the mean of the velocities before and after, as contact is
        booked: impulse times mean velocity is the change of kinetic energy. Force times way would add dt/2 F dv (measure/books).
        """
        nodes, state, dt = self.model.nodes, self.state, motion.dt
        spans = np.where((nodes.scheme == VERLET) & (nodes.inverse > 0.0), 0.5 * (dt + state.last_dt), dt)[:, None]
        return np.where((nodes.scheme <= VERLET)[:, None], 0.5 * spans * (state.v + motion.v), motion.x - state.x)

    def _reactions(self, motion: Motion) -> Floats:
        """Forces that hold fixed and prescribed nodes: what their acceleration needs beyond what acts on them [N]."""
        nodes, state, dt, held = self.model.nodes, self.state, motion.dt, self._held
        out = np.zeros_like(state.x)
        if len(held) == 0:
            return out
        v = motion.v[held]
        free = motion.free
        acceleration = (v - state.v[held]) / dt - self.model.gravity + free.damping[held, None] * v
        needed = nodes.mass[held, None] * acceleration - free.force[held]
        if free.system is not None:
            soft = free.system.residual(state.v, free.force, motion.v - motion.unsolved)
            needed = np.where((nodes.scheme[held] == IMPLICIT)[:, None], soft[held], needed)
        out[held] = needed - motion.impulse_on_fixed[held] / dt
        return out


@parallel
def gather(start, corner, force, out):  # type: ignore[no-untyped-def]
    """Sum corner forces at each node, in the order of the incidence list."""
    for i in prange(len(out)):
        u = (0.0, 0.0, 0.0)
        for k in range(start[i], start[i + 1]):
            u = axpy(1.0, load(force, corner[k]), u)
        store(out, i, u)
