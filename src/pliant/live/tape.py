"""A run recorded while the page drives the simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock

import numpy as np

from pliant.measure.history import History
from pliant.measure.interval import Interval
from pliant.record import Record, Recorder
from pliant.record.elements import Strained
from pliant.record.orders import Order
from pliant.record.snapshot import pack_scene
from pliant.simulate.drawn import cell_fields, drawn_cells, point_fields, strained
from pliant.simulate.running import checkpoint, step_values
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

EVERY = 1.0 / 30.0  # [s] simulated time between frames


class Tape:
    """Steps, frames and checkpoints from now on. A run that is resumed goes on as if the hand had let go."""

    def __init__(self, sim: Simulation, path: Path, before: Sequence[Order] = ()) -> None:
        """`before`: what was changed by hand before the recording began."""
        self._lock, self._over = RLock(), False  # one thread writes, another may have to cut the recording off
        text, meshes = pack_scene(sim.scene)
        header = {"scene": text, "name": sim.scene.name, "kinds": sim.world.model.bodies.kind, "live": True}
        path.parent.mkdir(parents=True, exist_ok=True)
        self.every = sim.dt * max(1, round(EVERY / sim.dt))  # whole steps, so that a run that goes on takes them too
        self.history, self.interval = History(sim), Interval()
        self.recorder = Recorder(path, header, self.every, begin=[Record("model", {"scene": text}, meshes), checkpoint(sim, self.history)])
        for order in before:
            self.order(replace(order, early=True))
        self.show(sim)

    def order(self, order: Order) -> None:
        """Something was changed by hand."""
        with self._lock:
            if not self._over:
                self.recorder.order(order)

    def show(self, sim: Simulation) -> None:
        """What is drawn from now on, beginning with a frame."""
        self.epoch = sim.epoch
        self.history.follow()
        self.cells, self.behind = drawn_cells(sim)
        self.recorder.topology(self.cells, len(self.history.rest))
        self.frame(sim, strained(sim))
        self.due = sim.time + self.every

    def take(self, sim: Simulation) -> None:
        """Another simulation goes on from here, with other settings or with more bodies behind the others."""
        with self._lock:
            if not self._over:
                self._take(sim)

    def _take(self, sim: Simulation) -> None:
        before = self.history
        self.history = History(sim, np.concatenate([before.first, sim.points()[len(before.first) :]]))
        self.history.restore({n: np.concatenate([v, np.zeros(len(self.history.rest) - len(v))]) for n, v in before.fields.items()})
        text, meshes = pack_scene(sim.scene)
        self.recorder.model(meshes, {"scene": text})
        self.show(sim)
        self.save(sim)  # a checkpoint of the scene before would not fit this one

    def part(self, report: StepReport) -> None:
        """One step, or a part of one that had to be divided."""
        self.history.take(report)
        self.interval.take(report)

    def step(self, sim: Simulation, pull: float = 0.0) -> None:
        """One step, with the force of the hand [N], and a frame if one is due."""
        with self._lock:
            if not self._over:
                self._step(sim, pull)

    def _step(self, sim: Simulation, pull: float) -> None:
        if sim.epoch is not self.epoch:
            self.show(sim)
        at_frame = sim.time >= self.due - 1e-9
        now = strained(sim) if at_frame else None
        self.recorder.step(step_values(sim, self.interval, now) | {"pull": pull}, self.interval.pairs(sim.world))
        self.interval = Interval()
        if now is not None:
            self.frame(sim, now)
            self.due += self.every
            if self.recorder.checkpoint_due:
                self.save(sim)

    def save(self, sim: Simulation) -> None:
        """A checkpoint, with the places from which displacements count: bodies may have come after the first frame."""
        record = checkpoint(sim, self.history)
        self.recorder.state(sim.time, sim.state.step, {**record.arrays, "history/first": self.history.first}, record.meta)

    def frame(self, sim: Simulation, now: list[Strained]) -> None:
        """What is to be seen now."""
        points = sim.points()
        shown = sim.report.shown[: len(points)] if sim.report is not None and sim.report.shown is not None else None
        if shown is not None:
            points = points + shown
        fields = point_fields(sim, points - self.history.rest) | {n: v.astype(np.float32) for n, v in self.history.fields.items()}
        cells = cell_fields(self.cells, self.behind, now)
        self.recorder.frame(sim.time, sim.state.step, points, fields, cells, sim.contacts().arrays(), shown)

    def close(self, sim: Simulation, notes: list[str]) -> Path:
        """The run file, ending with a checkpoint."""
        with self._lock:
            if self._over:
                return self.recorder.path
            self._over = True
            self.save(sim)
            return self.recorder.close("finished", "recorded in the browser", notes)

    def cut_off(self, notes: list[str]) -> Path:
        """The run file as far as it goes, from another thread than the one that is stepping: there is no state to save."""
        with self._lock:
            if self._over:
                return self.recorder.path
            self._over = True
            return self.recorder.close("interrupted", "recorded in the browser; ended in the middle of a step", notes)
