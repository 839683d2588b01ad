"""A recorded run: the loop that steps, records, watches, shows progress, and can be stopped, killed and resumed."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from pliant.base import DiskError, Floats, PliantError
from pliant.disk import file_stem, make_folder
from pliant.measure.account import gain_warnings
from pliant.measure.books import books
from pliant.measure.history import FIELDS, History
from pliant.measure.interval import FINE, Interval
from pliant.measure.scales import scales_of
from pliant.record import Record, Recorder, Run, Unrecorded, estimate_bytes, fold, resume_writer
from pliant.record.elements import Strained, element_stretch
from pliant.record.reduce import EVERYTHING, Reduction
from pliant.record.run import free_name, run_paths
from pliant.record.snapshot import freeze, pack_scene, thaw, unpack_scene
from pliant.scene import Scene
from pliant.shown import Bar, in_notebook
from pliant.simulate.build import read_meshes
from pliant.simulate.contact_rule import classic_if_old
from pliant.simulate.drawn import cell_fields, drawn_cells, point_fields, strained
from pliant.simulate.guards import Guard, check_start
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport
from pliant.simulate.verdicts import Cut, Cuts, Depths, Matter, Notes, Through, merged, packed, unpack

FRAMES = 100  # of a run, unless `every` is given
FIELD_BYTES = {"point/fields": 56, "cell/fields": 8}  # of what is recorded in every frame
STEP_BYTES = 300  # of a step's row in the tables
UNBALANCED = 1e-6  # part of all contact impulses by which they may miss the change of momentum
FROM_NOWHERE = 0.01  # part of the energy that moved by which it may grow without a reason


@dataclass
class Progress:
    """What the progress bar shows, updated after every step and every part of one."""

    time: float
    duration: float
    steps: int
    contacts: int
    max_depth: float
    cuts: dict[tuple[str, str], Cut] = field(default_factory=dict)  # who had steps cut


@dataclass
class Outcome:
    """How a run ended."""

    status: str  # finished, interrupted or failed
    message: str
    path: Path
    simulation: Simulation
    steps: int  # taken by this call
    seconds: float  # of wall time
    max_depth: float  # [m]
    max_contacts: int
    imbalance: float = 0.0  # largest part of the contact impulses of a step that the momenta of the bodies miss
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # of these what makes numbers doubtful: contact that failed, books that miss
    timings: dict[str, float] = field(default_factory=dict)  # [s] per stage
    through: str = ""  # who went through whom, in a sentence
    trouble: str = ""  # why the run is still in its journal, instead of the run file


def start(
    scene: Scene,
    out: str | Path,
    every: float | None = None,
    checkpoint_every: int = 10,
    overwrite: bool = False,
    check: Callable[[Simulation], None] | None = None,
    reduction: Reduction = EVERYTHING,
) -> tuple[Simulation, Recorder]:
    """Build a scene and open its run file, which from then on holds all that is needed to go on.

    `check` looks at what was built before there is a file, and may refuse it.
    """
    sim, every = _built(scene, every)
    if check is not None:
        check(sim)
    if reduction.keep is not None:  # before there is a file
        seen = point_fields(sim, np.zeros_like(sim.points())) | cell_fields(*drawn_cells(sim), strained(sim))
        reduction.refuse_unknown({*seen, *FIELDS})
    return sim, recorded(sim, out, every, checkpoint_every, overwrite, reduction)


def recorded(
    sim: Simulation, out: str | Path, every: float, checkpoint_every: int = 10, overwrite: bool = False, reduction: Reduction = EVERYTHING
) -> Recorder:
    """A run file for a simulation, which need not be at its beginning."""
    text, meshes = pack_scene(sim.given)
    header = {"scene": text, "name": sim.given.name, "kinds": sim.world.model.bodies.kind, "auto": "pairs"}
    run_paths(out)  # refuses what cannot be a run
    make_folder(Path(out).parent)
    begin = [Record("model", {}, meshes), checkpoint(sim, History(sim), {"notes": sim.notes})]
    return Recorder(out, header, every, checkpoint_every, overwrite, begin=begin, reduction=reduction)


def one_frame(sim: Simulation, out: str | Path) -> Run:
    """A simulation as it is now as a run of one frame, to be looked at."""
    recorder = recorded(sim, out, every=sim.dt)
    _Loop(sim, recorder, None, None).record()
    return Run.open(recorder.close("finished", notes=merged(sim.notes)))


def record(scene: Scene, out: str | Path | None = None, every: float | None = None, overwrite: bool = False) -> Run:
    """Run a scene to its end and open what was recorded; with a progress bar in a notebook. Default NAME.vtkhdf in runs/, a new name."""
    sim, recorder = start(scene, out or free_name(Path("runs") / file_stem(scene.name, "The scene")), every, overwrite=overwrite)
    bar = Bar(sim.time, sim.scene.duration) if in_notebook() else None
    outcome = run(sim, recorder, None if bar is None else lambda now: bar.update(now.time, now.contacts))
    if bar is not None:
        bar.close(sim.time)
    if outcome.status == "failed":
        raise PliantError(f"{outcome.message} What was recorded is in {outcome.path}.")
    return Run.open(outcome.path)


def start_unrecorded(scene: Scene, every: float | None = None) -> tuple[Simulation, Unrecorded]:
    """Build a scene for a run that leaves no file: it takes the same steps as one that is recorded every so often."""
    sim, every = _built(scene, every)
    return sim, Unrecorded(every)


def _built(scene: Scene, every: float | None) -> tuple[Simulation, float]:
    """A simulation whose start was looked at, and the time between its frames [s]."""
    sim = Simulation(read_meshes(scene))
    sim.notes += check_start(sim)
    sim.trial()
    if every is None:  # whole steps, so that dt stays what it is
        every = scene.dt * max(1, round(scene.duration / FRAMES / scene.dt))
    return sim, every


def expected_size(sim: Simulation, every: float, checkpoint_every: int = 10) -> tuple[int, int]:
    """How many frames a whole run will have, and how large its file will be [bytes], without contact rows."""
    frames, points = math.ceil(sim.scene.duration / (every or sim.dt) - 1e-6) + 1, int(sim.world.model.bodies.point_start[-1])
    cells = {name: len(block) for name, block in drawn_cells(sim)[0].blocks.items()}
    held = 8 * sum(a.size for a in (sim.state.x, sim.state.v, sim.state.position, sim.state.rotation))
    size = estimate_bytes(points, cells, FIELD_BYTES, frames, math.ceil(frames / checkpoint_every) + 1, held)
    return frames, size + math.ceil(sim.scene.duration / sim.dt) * STEP_BYTES


def checkpoint(sim: Simulation, history: History, seen: dict[str, Any] | None = None) -> Record:
    """All that is needed to go on from here; `seen`: what watched the run has seen so far."""
    arrays, meta = freeze(sim.state)
    arrays |= {f"history/{name}": values for name, values in history.fields.items()}
    meta |= {"time": sim.time, "step": sim.state.step, "duration": sim.scene.duration, "seen": seen or {}}
    return Record("state", meta, arrays)


def over_at(path: str | Path, duration: float | None = None) -> float | None:
    """Time [s] at which a run has finished, if nothing is left to do of it until `duration` (default as planned).

    A kill between its last record and its run file left the journal: the run file is written then.
    """
    with Run.open(path) as run:
        meta, finished = run.state().meta, run.status == "finished"
    end = meta["duration"] if duration is None else duration
    if not finished or meta["time"] < end:
        return None
    fold(path)
    return float(meta["time"])


def reopen(path: str | Path, duration: float | None = None) -> tuple[Simulation, Recorder]:
    """The simulation of a run file as it was at its last checkpoint, ready to go on."""
    recorder, record = resume_writer(path)
    model = recorder.run().model()
    text = model.meta.get("scene") if model else None  # a run recorded in the browser may have changed its scene
    scene = unpack_scene(text or recorder.header["scene"], dict(model.arrays) if model else {})
    sim = Simulation(classic_if_old(scene, recorder.header))
    sim.recall(thaw(dict(record.arrays), record.meta))
    sim.scene.duration = record.meta["duration"] if duration is None else duration
    sim.notes = list(dict.fromkeys([*record.meta.get("seen", {}).get("notes", ()), *sim.notes, *recorder.notes]))
    return sim, recorder


def run(
    sim: Simulation,
    recorder: Recorder | Unrecorded,
    progress: Callable[[Progress], None] | None = None,
    watch: Callable[[StepReport], None] | None = None,
) -> Outcome:
    """Step to the scene's duration and record. Ctrl-C and errors end with a run file that can be read and resumed.

    `watch` is called after every step, or part of one that had to be divided. A disk that takes no more is an error; all that was
    recorded before is in the journal, from which the run resumes.
    """
    loop = _Loop(sim, recorder, progress, watch)
    began = time.perf_counter()
    status, message = "finished", ""
    with _Interruptible() as asked:
        try:
            status = loop.go(asked)
        except DiskError:
            recorder.abandon()
            raise
        except PliantError as error:
            status, message = "failed", str(error)
    try:
        return _ended(loop, status, message, began)
    except DiskError:
        recorder.abandon()
        raise


def _ended(loop: _Loop, status: str, message: str, began: float) -> Outcome:
    """Close the books and the run file."""
    sim, recorder = loop.sim, loop.recorder
    if status != "failed":  # a state that failed would fail again; resume goes back to the one before
        loop.save()
    through, accounts = loop.through.notes(), [*loop.through.missed(), *loop.accounts()]
    notes = merged([
        *through, *sim.notes, *loop.notes.told(), *loop.cuts.notes(), *loop.depths.notes(), *accounts, *loop.matter.notes(),
        *loop.guard.notes,
    ])  # fmt: skip
    path = recorder.close(status, message, notes)
    seconds = time.perf_counter() - began
    return Outcome(
        status, message, path, sim, loop.steps, seconds, loop.max_depth, loop.max_contacts, loop.imbalance, notes,
        [*through, *accounts], loop.timings, through[0] if through else "", recorder.trouble,
    )  # fmt: skip


class _Interruptible:
    """Turns Ctrl-C into a question that the loop asks between steps; a second one does not wait for the step to end."""

    def __enter__(self) -> Callable[[], bool]:
        self.stop = False
        try:
            self.before = signal.signal(signal.SIGINT, self._note)
        except ValueError:  # not in the main thread: nobody can interrupt
            self.before = None
        return lambda: self.stop

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.stop:
            raise KeyboardInterrupt
        self.stop = True

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)


class _Loop:
    def __init__(
        self,
        sim: Simulation,
        recorder: Recorder | Unrecorded,
        progress: Callable[[Progress], None] | None,
        watch: Callable[[StepReport], None] | None,
    ) -> None:
        self.sim, self.recorder, self.progress, self.watch = sim, recorder, progress, watch
        self.guard, self.depths, self.through, self.matter, self.cuts = Guard(sim), Depths(sim), Through(sim), Matter(sim), Cuts(sim)
        last = recorder.run().state() if recorder.frames else None
        saved = last.arrays if last is not None else {}
        first = np.array(saved["history/first"]) if "history/first" in saved else recorder.run().points(0) if recorder.frames else None
        self.history = History(sim, first)
        if recorder.frames:
            self.history.restore({name: np.array(saved[f"history/{name}"]) for name in FIELDS})
        self.steps, self.max_depth, self.max_contacts, self.imbalance = 0, 0.0, 0, 0.0
        self.interval = Interval()
        self.looked: tuple[Floats, list[Strained]] | None = None  # see `strains`
        self.moved = 0.0  # [J] most energy that was kinetic, or was given or lost by bodies, also by what moves or loads them
        self.notes = Notes()
        self.timings: dict[str, float] = {}
        seen = last.meta.get("seen", {}) if last is not None else {}
        if "most" in seen:  # not in run files of before, nor in those of `live`, nor before the first frame
            self.max_depth, self.max_contacts, self.imbalance, self.moved = seen["most"]
            for name, watcher in self.watchers().items():
                unpack(watcher, seen[name])
        self.show()

    def watchers(self) -> dict[str, Any]:
        """What looks at steps and frames, and speaks at the end."""
        return {
            "guard": self.guard, "depths": self.depths, "through": self.through, "matter": self.matter, "cuts": self.cuts,
            "told": self.notes,
        }  # fmt: skip

    def seen(self) -> dict[str, Any]:
        """What they have seen so far."""
        most = [self.max_depth, self.max_contacts, self.imbalance, self.moved]
        return {"notes": self.sim.notes, "most": most, **{name: packed(watcher) for name, watcher in self.watchers().items()}}

    def show(self) -> None:
        """What is drawn from now on."""
        self.epoch = self.sim.epoch
        if not self.recorder.keeps:
            return
        self.history.follow()
        self.cells, self.behind = drawn_cells(self.sim)
        self.recorder.topology(self.cells, len(self.history.rest))

    def go(self, asked: Callable[[], bool]) -> str:
        """Frame by frame to the end; "interrupted" if asked to stop."""
        sim, recorder = self.sim, self.recorder
        if recorder.frames == 0:
            self.record()
        end = sim.scene.duration
        while sim.time < end - 1e-9 * sim.dt:
            if asked():
                return "interrupted"
            due = recorder.next_frame_time if recorder.header["every"] > 0 else sim.time + sim.dt
            until = end if due > end - 1e-6 * sim.dt else due
            for left in range(max(1, math.ceil((until - sim.time) / sim.dt - 1e-9)), 0, -1):
                report = sim.step((until - sim.time) / left, each=self.part)
                self.take(report, at_frame=left == 1)
                if left > 1 and asked():
                    return "interrupted"
            self.record()
        return "finished"

    def part(self, report: StepReport) -> None:
        """Account for one step, or for a part of one that had to be divided."""
        self.steps += 1
        self.max_depth = max(self.max_depth, report.max_depth)
        self.max_contacts = max(self.max_contacts, len(report.contacts))
        self.imbalance = max(self.imbalance, report.balance.error)
        self.interval.take(report, self.recorder.keeps)
        self.depths.take(report)
        self.through.take(report)
        self.cuts.take(report)
        for stage, seconds in report.timings.items():
            self.timings[stage] = self.timings.get(stage, 0.0) + seconds
        for warning in report.warnings:
            self.notes.add(warning)
        if self.recorder.keeps:
            self.history.take(report)
        if self.watch is not None:
            self.watch(report)
        if self.progress is not None:
            end = self.sim.scene.duration
            self.progress(Progress(report.time, end, self.steps, len(report.contacts), report.max_depth, self.cuts.pairs))
        if report.more and FINE * self.interval.dt >= scales_of(self.sim.world).finest:
            self.row(at_frame=False)

    def row(self, at_frame: bool) -> None:
        """A row of the history; the elastic energy is in those of frames."""
        if self.recorder.keeps or at_frame:
            values = step_values(self.sim, self.interval, self.strains() if at_frame and self.recorder.keeps else None)
            flows = ("contact_work", "drive_work", "load_work", "attachment_work")
            self.moved = max(self.moved, values["kinetic"], *(abs(values[name]) for name in flows))
        if self.recorder.keeps:
            self.recorder.step(values, self.interval.pairs(self.sim.world))
        self.interval = Interval()

    def take(self, report: StepReport, at_frame: bool) -> None:
        """Watch and record one step of the scene."""
        if self.sim.epoch is not self.epoch:
            self.guard = Guard(self.sim, inverted=self.guard.inverted)
            self.show()
        self.guard.after_step(report.dt)
        self.row(at_frame)

    def record(self) -> None:
        """A frame, and a checkpoint if one is due."""
        sim, began = self.sim, time.perf_counter()
        if self.recorder.keeps:
            stretches = [each.stretch for each in self.strains()]
            self.frame(self.recorder)
        else:
            stretches = [element_stretch(group, sim.state.x) for group in sim.world.model.groups]
            self.recorder.frame(sim.time)
        self.through.look()
        self.matter.look()
        self.guard.at_frame(stretches)  # after the frame, so that what went wrong can be seen, and before its checkpoint
        if self.recorder.checkpoint_due:
            self.save()
        self.timings["record"] = self.timings.get("record", 0.0) + time.perf_counter() - began

    def strains(self) -> list[Strained]:
        """What all elements are in, looked at once for the row and the frame of a moment."""
        if self.looked is None or self.looked[0] is not self.sim.state.x:
            self.looked = self.sim.state.x, strained(self.sim)
        return self.looked[1]

    def frame(self, recorder: Recorder) -> None:
        """What is seen now, into the run file."""
        sim = self.sim
        points = sim.points()
        contacts = sim.contacts()
        shown = sim.report.shown if sim.report else None
        if shown is not None:
            shown = shown[: len(points)]
            points = points + shown
        fields = point_fields(sim, points - self.history.rest) | {n: v.astype(np.float32) for n, v in self.history.fields.items()}
        cells = cell_fields(self.cells, self.behind, self.strains())
        recorder.frame(sim.time, sim.state.step, points, fields, cells, contacts.arrays(), shown)

    def save(self) -> None:
        """A checkpoint, unless this moment has one."""
        if self.recorder.keeps and self.recorder.saved_step != self.sim.state.step:
            record = checkpoint(self.sim, self.history, self.seen())
            self.recorder.state(self.sim.time, self.sim.state.step, record.arrays, record.meta)

    def accounts(self) -> list[str]:
        """What is wrong with the books of this run, in sentences."""
        wrong, now = [], self.sim.books()
        if self.imbalance > UNBALANCED:
            solved = " Was their solve said to end early?" if self.sim.world.implicit is not None else ""
            wrong.append(
                f"The contacts reported miss the change of momentum of a body by {self.imbalance:.2g} of their impulses in the worst step: "
                f"forces of this run are wrong by as much.{solved}"
            )
        scale = max(self.moved, abs(now.start - now.total))
        if -now.lost > FROM_NOWHERE * scale:
            wrong.append(
                f"Energy of {-now.lost:.3g} J came from nowhere, {-now.lost / scale:.1%} of what moved in this run: "
                "the step is too long. Use a smaller dt, or integrator = \"implicit\"."
            )
        return wrong + gain_warnings(self.sim.state.pairs, self.sim.world.model.bodies, scale, FROM_NOWHERE)


def step_values(sim: Simulation, interval: Interval, strains: list[Strained] | None = None) -> dict[str, Any]:
    """Numbers of one row for the run file; the elastic energy is NaN unless it is known what the elements are in."""
    now = books(sim.world, strains is not None, [each.energy for each in strains or ()])
    return {
        "time": sim.time, "dt": interval.dt, "kinetic": now.kinetic, "elastic": now.elastic, "gravity": now.gravity,
        "contact_work": now.contact, "friction_work": now.friction, "attachment_work": now.attachments, "drive_work": now.drives,
        "load_work": now.loads, "lost": now.lost, "imbalance": interval.imbalance,
        "momentum": now.momentum, "angular_momentum": now.angular_momentum,
        "contacts": interval.contacts, "max_depth": interval.max_depth, "iterations": interval.iterations,
        **{f"seconds {stage}": seconds for stage, seconds in interval.timings.items()},
    }  # fmt: skip
