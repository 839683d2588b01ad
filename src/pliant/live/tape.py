"""A run recorded while the page drives the simulation."""

from __future__ import annotations

from pathlib import Path

from pliant.measure.pairs import per_pair
from pliant.record import Recorder
from pliant.record.elements import element_stretch
from pliant.record.snapshot import pack_scene
from pliant.running import cell_fields, drawn_cells, point_fields, step_values
from pliant.simulation import Simulation
from pliant.step import StepReport

EVERY = 1.0 / 30.0  # [s] simulated time between frames


class Tape:
    """Steps and frames from now on. It holds no checkpoints: what a hand did cannot be done again."""

    def __init__(self, sim: Simulation, path: Path) -> None:
        text, _ = pack_scene(sim.scene)
        header = {"scene": text, "name": sim.scene.name, "kinds": sim.world.model.bodies.kind, "live": True}
        path.parent.mkdir(parents=True, exist_ok=True)
        self.every = max(EVERY, sim.dt)
        self.recorder = Recorder(path, header, self.every)
        self.due = sim.time
        self.take(sim)

    def take(self, sim: Simulation) -> None:
        """Another simulation goes on from here, with other bodies perhaps."""
        self.cells, self.where = drawn_cells(sim)
        self.rest = sim.points()
        self.recorder.topology(self.cells, len(self.rest))
        self.due = sim.time

    def step(self, sim: Simulation, report: StepReport) -> None:
        """One step, and a frame if one is due."""
        at_frame = sim.time >= self.due - 1e-9
        self.recorder.step(step_values(sim, report, elastic=at_frame), per_pair(report.contacts))
        if at_frame:
            self.frame(sim)
            self.due += self.every

    def frame(self, sim: Simulation) -> None:
        """What is to be seen now."""
        stretches = [element_stretch(group, sim.state.x) for group in sim.world.model.groups]
        points = sim.points()
        shown = sim.report.shown[: len(points)] if sim.report is not None and sim.report.shown is not None else None
        if shown is not None:
            points = points + shown
        fields = point_fields(sim, points - self.rest)
        cells = cell_fields(sim, self.cells, self.where, stretches)
        self.recorder.frame(sim.time, sim.state.step, points, fields, cells, sim.contacts().arrays(), shown)

    def close(self, notes: list[str]) -> Path:
        """The run file."""
        return self.recorder.close("finished", "recorded in the browser", notes)
