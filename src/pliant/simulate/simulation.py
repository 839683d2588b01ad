"""A simulation: a scene's world and its contact, stepped by the user; plain numpy arrays out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.contact.contacts import Contacts
from pliant.measure.books import Books, books
from pliant.measure.interval import Interval
from pliant.model import State
from pliant.scene import Scene
from pliant.shown import Bar, Shown, in_notebook
from pliant.simulate.build import build, explicit_limit, stable_steps
from pliant.simulate.changes import apply_change, value_at
from pliant.simulate.follow import follow, forget
from pliant.simulate.follow import recall as recall_skins
from pliant.simulate.fracture import Broken, break_up, parted, whole_epoch
from pliant.simulate.set_down import set_down
from pliant.simulate.sleep import Sleep
from pliant.simulate.step import StepReport, step
from pliant.waiting import doing
from pliant.world.attachments import pull_together
from pliant.world.world import World

MOST_PARTS = 100_000  # of a step for explicit bodies: more take longer than anybody waits, and come from a wrong unit
MOST_CUTS = 1000  # of a step: an impact takes tens, on a soft sheet hundreds; what needs more has run away


class Simulation(Shown):
    """Step with `step()` or `run(until=...)`; ask for positions, contacts and energies at any time."""

    def __init__(self, scene: Scene) -> None:
        scene = set_down(scene)
        self.given = scene.sampled()  # as it was given; with the values of the state all that a resumed run is built from
        self.scene = scene.sampled()  # as it is now, with what was changed
        self.world: World
        self.world, self.contact = build(self.scene)
        self.dt = scene.dt
        self._sleep = Sleep(self.world, self.contact) if scene.sleep else None
        self.report: StepReport | None = None
        self._parts = Interval()  # of the last step, if it was divided
        self.reactions: Floats = np.zeros_like(self.state.x)  # [N] (n, 3) that held fixed and prescribed nodes in the last step
        self.notes = list(self.world.model.notes)
        self.epoch = whole_epoch(self.world.model)
        self._apply_changes()
        self._pieces = self._divide()  # of the model as it is: kept because it takes long to find, found anew whenever that changes
        self._shortened: dict[int, str | None] = {}  # bodies that made steps shorter as they flowed, and what is still to be said of them

    def __repr__(self) -> str:
        bodies = ", ".join(self.world.model.bodies.names)
        return f"Simulation '{self.scene.name}' at t = {self.time:.4g} s, step {self.state.step}: {bodies}"

    # -- moving on

    def _divide(self) -> int:
        """Into how many parts an explicit body's stable step divides each step."""
        limit = explicit_limit(self.world.model)
        parts = max(1.0, self.dt / limit - 1e-9) if math.isfinite(limit) else 1.0
        if not parts <= MOST_PARTS:
            raise PliantError(
                f"Steps of dt = {self.dt:g} s would be divided into {parts:.3g} parts: explicit bodies are stable up to {limit:.3g} s; "
                f"at most {MOST_PARTS} are done. Use a smaller dt, a softer or coarser body, or integrator = \"implicit\"."
            )
        return math.ceil(parts)

    @property
    def parts(self) -> int:
        """Into how many each step is divided."""
        return self._pieces

    @doing("looking at contact for the first time")
    def trial(self) -> None:
        """Let the contact methods look at a first step that is not taken: one that cannot do this scene refuses it here."""
        motion = self.world.free_motion(self.dt / self._pieces)
        pull_together(motion, self.world.model.attachments)
        self.contact.respond(motion, self.state.memory)

    def step(self, dt: float | None = None, each: Callable[[StepReport], Any] | None = None) -> StepReport:
        """One step of dt (the scene's unless given), divided if explicit bodies need it; `each` is called after every part."""
        left = self.dt if dt is None else dt
        if not (math.isfinite(left) and left > 0):
            raise PliantError(f"A step of {left} s: it must be above 0.")
        piece = left / max(1, math.ceil(left / (self.dt / self._pieces) - 1e-9))
        if "start" not in self.state.books:
            self.state.books["start"] = books(self.world, coming=piece).total
        cuts, self._parts = 0, Interval()
        while left > 1e-9 * piece:
            self._apply_changes()
            self.report = self._advance(min(piece, left), cuts < MOST_CUTS, piece)
            cuts += self.report.cut is not None
            self._tell(self.report)
            if cuts == MOST_CUTS and self.report.cut is not None:
                a, b = self.report.cut
                self.report.warnings.append(
                    f"A step was cut {MOST_CUTS} times so that {a} and {b} would not pass through each other, and then let go: contact "
                    "does not stop them. Use a smaller dt, or stiffer bodies."
                )
            left -= self.report.dt
            self.report.more = left > 1e-9 * piece
            self._add_part(self.report)
            if each is not None:
                each(self.report)
            if self.report.renewed:
                piece = min(piece, self._break_up())
            follow(self.world, self.epoch.fullness)
        assert self.report is not None
        self._check_finite()
        return self.report

    def _add_part(self, report: StepReport) -> None:
        """Forces of a step that is divided are means over it: what its last part says alone may be a fifth off."""
        before = self._parts.dt
        if report.more or before > 0.0:
            self._parts.take(report)
        share = report.dt / (before + report.dt)
        self.reactions = report.reaction if before == 0.0 else self.reactions + share * (report.reaction - self.reactions)

    def _advance(self, dt: float, may_cut: bool, asked: float) -> StepReport:
        """One part of a step."""
        if self._sleep is not None:
            return self._sleep.step(dt, may_cut, asked)
        return step(self.world, self.contact, dt, may_cut, asked)

    def wake(self) -> None:
        """Wake all bodies that sleep: after you have written to `sim.state` yourself."""
        if self._sleep is not None:
            self._sleep.wake()

    @property
    def asleep(self) -> list[str]:
        """Names of the bodies that sleep (`sleep = true`)."""
        island = self.state.asleep.get("island", np.zeros(0, np.int64))
        return [self.world.model.bodies.names[body] for body in np.flatnonzero(island >= 0)]

    def _break_up(self) -> float:
        """Make bodies of what has parted; the longest step that all bodies now take [s]."""
        broken = parted(self.world, self.epoch)
        if broken is not None:
            self.world, self.epoch = break_up(self.world, self.epoch, broken)
            assert self.report is not None
            self.report.contacts, self.report.shown = Contacts.none(self.report.dt), None  # in numbers of points that are no more
            self.report.pairs, self._parts = {}, Interval()
            self.reactions = np.zeros_like(self.state.x)
        before, self._pieces = self._pieces, self._divide()
        if self._pieces > before:
            self._shorten()
        return self.dt / self._pieces

    def _shorten(self) -> None:
        """Note which body has made steps shorter, once for each of the scene."""
        model = self.world.model
        limit = np.where(model.bodies.unsafe, np.inf, stable_steps(model))
        body = int(np.argmin(limit))
        self._shortened.setdefault(
            int(model.bodies.origin()[body]),
            f"From t = {self.time:.4g} s on {model.bodies.names[body]} is stable only up to dt = {limit[body]:.2g} s or less, "
            f"and steps of {self.dt:g} s are divided: as it flows and tears phyxels come close to each other or keep few neighbours, and "
            "are stiff for their mass. A larger `spacing`, `yield_strain` or `tear_strain`, a smaller youngs_modulus or volume_stiffness, "
            "or integrator = \"implicit\" avoid it.",
        )

    def _tell(self, report: StepReport) -> None:
        """Say in this report what is still to be said of shorter steps."""
        report.warnings += [text for text in self._shortened.values() if text is not None]
        self._shortened = dict.fromkeys(self._shortened)

    def recall(self, state: State) -> None:
        """Go on from a state of this scene that was saved, here or by another process."""
        for path, value in state.values.items():
            if self.state.values.get(path) != value:
                self._set(path, value)
        broken = Broken.of(state.elements["broken"]) if "broken" in state.elements else whole_epoch(self.epoch.first).broken
        if not np.array_equal(broken.owner, self.epoch.broken.owner) or len(self.world.model.skin.places):
            forget(self.world)
            self.world, self.epoch = break_up(self.world, self.epoch, broken)
        self.world.recall(state)
        recall_skins(self.world, state)
        self.report, self.reactions, self._pieces = None, np.zeros_like(state.x), self._divide()
        self._parts = Interval()

    def run(self, until: float | None = None, each: Callable[[StepReport], Any] | None = None) -> Simulation:
        """Step until a time [s] (the scene's duration unless given); `each` is called after every step."""
        until = self.scene.duration if until is None else until
        if not until >= self.time - 1e-9 * self.dt:
            raise PliantError(f"The simulation is at t = {self.time:.6g} s and cannot run until {until:.6g} s.")
        steps = max(0, math.ceil((until - self.time) / self.dt - 1e-9))
        bar = Bar(self.time, until) if in_notebook() else None
        for left in range(steps, 0, -1):  # equal steps: a short last one would kick what is at rest
            report = self.step((until - self.time) / left)
            if each is not None:
                each(report)
            if bar is not None:
                bar.update(self.time, len(report.contacts))
        if bar is not None:
            bar.close(self.time)
        return self

    def _check_finite(self) -> None:
        state, model = self.world.state, self.world.model
        if np.isfinite(state.x).all() and np.isfinite(state.position).all():
            return
        bad = np.flatnonzero(~np.isfinite(state.x).all(axis=1))
        frames = np.flatnonzero(~np.isfinite(state.position).all(axis=1))
        if len(bad) or len(frames):
            body = model.nodes.body[bad[0]] if len(bad) else model.frames.body[frames[0]]
            raise PliantError(
                f"Body '{model.bodies.names[body]}' has positions that are not finite after step {state.step} (t = {state.time:.4g} s). "
                "Likely the step is too long for its stiffness or speed: use a smaller dt, or integrator = \"implicit\"."
            )

    # -- what is true now

    @property
    def time(self) -> float:
        return self.world.state.time

    @property
    def state(self) -> State:
        return self.world.state

    def index(self, body: str) -> int:
        """Number of a body by its name."""
        names = self.world.model.bodies.names
        if body not in names:
            raise PliantError(f"There is no body '{body}': {nearest(body, names)}")
        return names.index(body)

    def points(self, body: str | None = None) -> Floats:
        """Skin points of a body (surface first, then inside) or of all bodies [m], (p, 3)."""
        state, bodies = self.world.state, self.world.model.bodies
        everything = self.world.skin_positions(state.x, state.position, state.rotation)
        if body is None:
            return everything[: bodies.point_start[-1]]
        i = self.index(body)
        return everything[bodies.point_start[i] : bodies.point_start[i + 1]]

    def faces(self, body: str) -> Ints:
        """Triangles of a body's surface, in its own point numbers, (m, 3)."""
        bodies, i = self.world.model.bodies, self.index(body)
        return self.world.model.skin.faces[bodies.face_start[i] : bodies.face_start[i + 1]] - bodies.point_start[i]

    def nodes(self, body: str) -> slice:
        """Where a soft body's nodes are in `state.x` and `state.v`."""
        bodies, i = self.world.model.bodies, self.index(body)
        return slice(int(bodies.node_start[i]), int(bodies.node_start[i + 1]))

    def pose(self, body: str) -> tuple[Floats, Floats]:
        """Centre of mass [m] and orientation (quaternion of the principal axes) of a rigid or static body."""
        frame = self.world.model.bodies.frame[self.index(body)]
        if frame < 0:
            raise PliantError(f"Body '{body}' is soft and has no pose; ask for its points.")
        return self.world.state.position[frame].copy(), self.world.state.rotation[frame].copy()

    def centre(self, body: str) -> Floats:
        """Centre of mass [m], (3,)."""
        i, model = self.index(body), self.world.model
        if model.bodies.frame[i] >= 0:
            return self.pose(body)[0]
        mine = self.nodes(body)
        mass = model.nodes.mass[mine]
        return np.sum(mass[:, None] * self.world.state.x[mine], axis=0) / mass.sum()

    def mass(self, body: str) -> float:
        """Mass [kg]; infinite for what is static."""
        i, model = self.index(body), self.world.model
        frame = model.bodies.frame[i]
        if frame < 0:
            return float(model.nodes.mass[self.nodes(body)].sum())
        return float(model.frames.mass[frame]) if model.frames.inverse[frame] > 0.0 else np.inf

    def contacts(self, a: str | None = None, b: str | None = None) -> Contacts:
        """Contacts of the last step: all of them, those of body a, or those of a with b (forces act on a).

        Of a step that was divided they are those of its last part, as it ended; `pairs` has means over all of it.
        """
        ids = [None if body is None else self.index(body) for body in (a, b)]
        everything = Contacts.none(self.dt) if self.report is None else self.report.contacts
        return everything if ids[0] is None else everything.between(ids[0], ids[1])

    def pairs(self) -> dict[str, np.ndarray]:
        """One row for every two bodies that touched in the last step, as in the history of a run: forces are means over all of its parts,
        where it was divided, depth and pressure the largest of any. Forces act on `a`."""
        found = self._parts
        if found.dt == 0.0 and self.report is not None:
            found = Interval()
            found.take(self.report)
        return found.pairs(self.world)

    def reaction(self, body: str) -> Floats:
        """Force that held a soft body's fixed and prescribed vertices in the last step [N], (3,); a mean over its parts."""
        return self.reactions[self.nodes(body)].sum(axis=0)

    def books(self) -> Books:
        """Energies and momenta now, and what was gained or lost so far."""
        return books(self.world)

    # -- changing things

    def set(self, path: str, value: Any) -> None:
        """Change gravity, friction or a material from now on: sim.set("ball.material.youngs_modulus", 2e5)."""
        if any(change.set == path for change in self.scene.changes):
            raise PliantError(f"'{path}' follows a table of the scene (`changes`), which would undo this at the next step.")
        self._set(path, value)

    def _set(self, path: str, value: Any) -> None:
        booked = "start" in self.state.books and (path.startswith("gravity") or ".material." in path)  # friction stores no energy
        before = self._potential() if booked else 0.0
        value = apply_change(self.world, self.scene, path, value)
        self.wake()
        if booked:
            self.state.book("changes", self._potential() - before)
        self.world.state.values[path] = value
        if ".material." in path:
            self._pieces = self._divide()

    def _potential(self) -> float:
        """Elastic energy and energy in the field of gravity [J]."""
        now = self.books()
        return now.elastic + now.gravity

    def _apply_changes(self) -> None:
        """Values that the scene's tables have at this time."""
        for change in self.scene.changes:
            value = value_at(change, self.world.state.time)
            if self.world.state.values.get(change.set) != value:
                self._set(change.set, value)

    def equilibrium(self, tolerance: float = 1e-8) -> Simulation:
        """Put every soft body where its forces balance under gravity and loads (no contact, no time), at rest."""
        from pliant.simulate.statics import settle  # SciPy's solvers: start-up

        self.wake()
        self.reactions = settle(self.world, tolerance)
        return self
