"""The same scene with shorter steps and finer elements: what its numbers tend to, how fast, and how far off they are.

Values f1, f2, f3 at steps h, h / 2, h / 4 that approach a limit as f + c h^p have the observed order p = log2((f1 - f2) / (f2 - f3)), and
Richardson's estimate of the limit is f3 + (f3 - f2) / (2^p - 1). Two values alone are taken for order 1. Differences that grow one way
are the beginning of something, however small they are: what steps far too long lose is all that there is to lose, and changes little
between two of them. Where differences do not shrink, the scene is run again with disturbances of a tenth, a hundredth and a thousandth
of what gravity does in a step. If these change a number as much as the steps do, and the least of them not a hundredth as much as the
largest, as where all follows smoothly from the start, it is chaotic, and no step will settle it.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.measure.forces import Forces
from pliant.measure.pairs import pair_series
from pliant.measure.scales import scales_of
from pliant.measure.windows import taken
from pliant.model import SCHEMES, State
from pliant.record import Run
from pliant.record.snapshot import thaw, unpack_scene
from pliant.scene import Scene
from pliant.simulate import running
from pliant.simulate.build import read_meshes
from pliant.simulate.simulation import Simulation

MEASURES = {
    "force": ("N", "mean of the normal force over the last tenth of the time"),
    "peak": ("N", "largest mean force over the window"),
    "area": ("m^2", "largest mean area over the window"),
    "pressure": ("Pa", "largest mean over the window of the largest pressure"),
    "depth": ("m", "largest mean over the window of the largest depth"),
    "energy": ("J", "that contact, damping and integration took"),
}
CONVERGED = 0.05  # part by which the finest value may be off to be called converged
SMALL = 0.01  # change by the last halving below which a number counts as settled, unless it goes one way in steps that do not shrink
NOTHING = 5e-4  # change that is told as 0.0 %
FORMAL = 2.0  # largest order of what is refined: a larger one that is observed is luck, and is not used
SLOW = 0.5  # observed order below which nothing is extrapolated: an estimate would be a multiple of the last change
DISTURBED = 3  # runs
TINY = 0.1  # of the velocity that gravity gives in a step: size of the first disturbance, each further one is a tenth of that before
FADES = 0.1  # part of the largest change by disturbances that the least one must make: in proportion it would be a hundredth


@dataclass(frozen=True)
class Limit:
    """What a sequence of values tends to."""

    value: float  # Richardson's estimate; NaN where values do not settle
    order: float  # observed; the estimate uses FORMAL at most; 1 if it had to be assumed
    first: float  # part by which the first value is off
    last: float  # part by which the last one is, or by which the last halving changed it where values do not settle
    settled: bool
    assumed: bool  # from two values


def limit_of(values: Sequence[float]) -> Limit:
    """Of values at h, h / 2, h / 4 ...; the last three count."""
    f = np.asarray(values, np.float64)
    scale = float(np.abs(f).max(initial=0.0))
    if not np.isfinite(f).all() or len(f) < 2:
        return Limit(np.nan, np.nan, np.nan, np.nan, False, True)
    if scale == 0.0 or np.abs(np.diff(f)).max() <= 1e-12 * scale:
        return Limit(float(f[-1]), np.nan, 0.0, 0.0, True, False)
    change, before = float(f[-1] - f[-2]), float(f[-2] - f[-3]) if len(f) > 2 else np.nan
    ratio = before / change if change != 0.0 else np.inf
    if len(f) == 2:
        value, order = float(f[-1] + change), 1.0
    elif 2.0**SLOW < ratio < np.inf:
        order = math.log2(ratio)
        value = float(f[-1] + change / (2.0 ** min(order, FORMAL) - 1.0))
    elif abs(change) <= NOTHING * scale or (abs(change) <= SMALL * scale and ratio <= 0.0):
        return Limit(float(f[-1]), np.nan, abs(f[0] - f[-1]) / scale, abs(change) / scale, True, False)
    elif ratio > 1.0 and abs(change) / (ratio - 1.0) <= CONVERGED * scale:  # slowly: as far again as a series of this ratio goes
        rest = change / (ratio - 1.0)
        return Limit(float(f[-1]), math.log2(ratio), abs(f[0] - f[-1] - rest) / scale, abs(rest) / scale, True, False)
    else:
        return Limit(np.nan, np.nan, np.nan, abs(change) / scale, False, False)
    size = max(abs(value), scale)  # what tends to nothing is measured against what it was
    return Limit(value, order, abs(f[0] - value) / size, abs(f[-1] - value) / size, True, len(f) == 2)


@dataclass(frozen=True)
class Level:
    """One run."""

    dt: float  # [s]
    edge: float  # of the edges of the scene
    values: dict[str, float]
    seconds: float
    wrong: list[str] = field(default_factory=list)  # what the run says that makes its numbers doubtful


@dataclass(frozen=True)
class Row:
    """A measure along steps or along edges."""

    measure: str
    along: str  # dt or edge
    values: list[float]
    limit: Limit
    disturbed: list[float] = field(default_factory=list)  # with the first step, as it is and with less and less disturbances, if tried

    @property
    def spread(self) -> float:
        """Largest minus smallest over disturbances."""
        return float(np.ptp(self.disturbed)) if self.disturbed else np.nan

    @property
    def chaotic(self) -> bool:
        """Whether disturbances change it as much as the last halving did, and not in proportion to their size."""
        if self.limit.settled or len(self.values) < 3 or not self.spread >= 0.5 * abs(self.values[-1] - self.values[-2]) > 0.0:
            return False
        change = np.abs(np.array(self.disturbed[1:]) - self.disturbed[0])
        return bool(change[-1] >= FADES * change.max())

    @property
    def verdict(self) -> str:
        """In words."""
        if self.chaotic:
            least, most, unit = min(self.disturbed), max(self.disturbed), MEASURES[self.measure][0]
            return f"chaotic: {least:.3g} to {most:.3g} {unit} in {len(self.disturbed)} runs with tiny disturbances"
        if not np.isfinite(self.limit.last):
            return "unknown"
        if not any(self.values):
            return "zero"
        if self.limit.settled:
            how = "converged to" if self.limit.last <= CONVERGED else "converging, finest off by"
            return f"{how} {self.limit.last:.1%}; scene off by {self.limit.first:.1%}"
        f = self.values
        grows = " more and more," if len(f) > 2 and 0.0 < (f[-2] - f[-3]) / (f[-1] - f[-2]) < 1.0 else ""
        return f"not converged: changed{grows} by {self.limit.last:.1%} with the last halving"


@dataclass
class Refined:
    """What a refinement found."""

    name: str
    pair: tuple[str, str]
    window: float  # [s]
    between: tuple[float, float]  # [s]
    levels: list[Level]
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        told = "; ".join(f"{row.measure} along {row.along} {row.verdict}" for row in self.rows)
        return f"Refinement of {self.name} in {len(self.levels)} runs: {told}"

    def _repr_html_(self) -> str:
        from pliant.studies.card import refined  # start-up: only notebooks ask for it

        return refined(self)

    def row(self, measure: str, along: str = "dt") -> Row:
        """One row of the table."""
        return next(row for row in self.rows if row.measure == measure and row.along == along)

    @property
    def facts(self) -> dict[str, Any]:
        """For programs."""
        told = lambda row: {"limit": vars(row.limit), "spread": row.spread, "chaotic": row.chaotic, "verdict": row.verdict}
        rows = [vars(row) | told(row) for row in self.rows]
        return {**vars(self), "levels": [vars(level) for level in self.levels], "rows": rows}

    def plot(self, path: str | Path) -> Path:
        """Each measure over dt and over edges as parts of the scene's, with Richardson's estimate."""
        from pliant.studies.plots import colour, figure  # matplotlib: start-up

        names = list(dict.fromkeys(row.measure for row in self.rows))
        made, panels = figure(len(names), wide=3)
        for axes, name in zip(panels, names, strict=True):
            for row in (row for row in self.rows if row.measure == name):
                k, along = ("dt", "edge").index(row.along), {"dt": "dt", "edge": "edge of elements"}[row.along]
                parts = 0.5 ** np.arange(len(row.values))
                axes.plot(parts, row.values, "o-", color=colour(k), label=along, linewidth=1.2)
                if row.disturbed:
                    some = row.disturbed[1:]
                    axes.plot(np.ones(len(some)), some, "x", color=colour(2), label="disturbed")
                if np.isfinite(row.limit.value):
                    axes.plot([0.0, parts[-1]], [row.limit.value, row.values[-1]], ":", color=colour(k))
                    axes.plot([0.0], [row.limit.value], "*", color=colour(k), markersize=10)
            axes.set_title(f"{name} [{MEASURES[name][0]}]", fontsize=9, loc="left")
            _widen(axes)
            axes.set_xlim(-0.05, 1.05)
            axes.set_xlabel("over that of the scene; star: estimate", fontsize=8)
            axes.legend(frameon=False, fontsize=8)
        made.suptitle(f"{self.name}: {self.pair[0]} and {self.pair[1]}", fontsize=10)
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.savefig(path)
        return path


def _widen(axes: Any) -> None:
    """Let changes that count as none look like it: no axis shows less than SMALL of its values."""
    low, high = axes.get_ylim()
    least, middle = SMALL * max(abs(low), abs(high)), 0.5 * (low + high)
    if high - low < least:
        axes.set_ylim(middle - 0.5 * least, middle + 0.5 * least)
    axes.ticklabel_format(axis="y", useOffset=False)


def refine(
    source: Scene | str | Path,
    dts: int = 3,
    edges: int = 2,
    pair: tuple[str, str] | None = None,
    measures: Sequence[str] | None = None,
    since: float = 0.0,
    until: float | None = None,
    window: float | None = None,
    told: Callable[[str], Any] | None = None,
) -> Refined:
    """Run a scene, or a stretch of a recorded run, at dt, dt/2, dt/4 ... and with edges h, h/2 ...

    pair: whose contact is measured; default the one that presses hardest. since, until [s]: where it begins and ends; what is before
    is run once, or taken from the run's checkpoints, and is the same for all steps. Then edges stay as they are.
    """
    wanted = list(measures or MEASURES)
    for name in wanted:
        if name not in MEASURES:
            raise PliantError(f"There is no measure '{name}' to refine: {nearest(name, MEASURES)}")
    if dts < 1 or edges < 1:
        raise PliantError(f"{dts} steps and {edges} edges: there must be at least one of each.")
    made = _Refinement.of(source, since, until)
    say = told or (lambda text: None)
    levels, notes = [made.level(1.0, 1.0, pair, window, say)], list[str]()

    def more(dt: float, edge: float, seed: int = 0) -> list[Level]:
        """A run like the first one, if it comes to its end: what others say counts without it."""
        try:
            return [made.level(dt, edge, made.pair, window, say, seed)]
        except Unfinished as error:
            notes.append(str(error))
            return []

    for k in range(1, dts):
        levels += more(0.5**k, 1.0)
    finer = list[Level]()
    if edges > 1 and (made.start is not None or not made.edges):
        why = "it begins from a state" if made.start is not None else "nothing in it has elements with an edge to choose"
        notes.append(f"Edges were not refined: {why}.")
    elif edges > 1:
        finer = [level for k in range(1, edges) for level in more(1.0, 0.5**k)]
    rows = [_row(name, "dt", levels) for name in wanted] if len(levels) > 1 else []
    rows += [_row(name, "edge", [levels[0], *finer]) for name in wanted] if finer else []
    if any(row.along == "dt" and not row.limit.settled and row.limit.last > SMALL for row in rows):
        say(f"Some numbers do not settle: {DISTURBED} runs with disturbances ...")
        others = [levels[0], *(level for k in range(DISTURBED) for level in more(1.0, 1.0, seed=k + 1))]
        rows = [replace(row, disturbed=[each.values[row.measure] for each in others]) if row.along == "dt" else row for row in rows]
        notes += [f"Disturbed: {text}" for level in others[1:] for text in level.wrong]
    notes += [f"At dt = {level.dt:g} s, edges {level.edge:g}: {text}" for level in [*levels, *finer] for text in level.wrong]
    assert made.pair is not None
    return Refined(made.scene.name, made.pair, made.window, (made.since, made.until), [*levels, *finer], rows, notes)


def _row(measure: str, along: str, levels: Sequence[Level]) -> Row:
    values = [level.values[measure] for level in levels]
    return Row(measure, along, values, limit_of(values))


class Unfinished(PliantError):
    """A run ended before its time."""


@dataclass
class _Refinement:
    """What is run again and again."""

    scene: Scene
    start: State | None  # where it begins, if not at the start of the scene
    since: float  # [s]
    until: float  # [s]
    edges: dict[str, float]  # [m] paths and values
    pair: tuple[str, str] | None = None  # found by the first run
    window: float = np.nan  # [s] also

    @staticmethod
    def of(source: Scene | str | Path, since: float, until: float | None) -> _Refinement:
        scene, start = _opened(source, since)
        scene = read_meshes(scene)
        first = Simulation(scene)
        model, scales = first.world.model, scales_of(first.world)
        codes = {code: name for name, code in SCHEMES.items()}
        update = {}
        for b, body in enumerate(scene.bodies):  # what "auto" chose for this dt stays for shorter ones
            if getattr(body, "integrator", None) == "auto" and model.bodies.node_start[b + 1] > model.bodies.node_start[b]:
                update[f"{body.name}.integrator"] = codes[int(model.nodes.scheme[model.bodies.node_start[b]])]
        scene = scene.with_(update)
        end = scene.duration if until is None else until
        if start is None and since > 0.0:
            start = Simulation(scene).run(until=since).state
        begin = 0.0 if start is None else start.time
        if not end > begin:
            raise PliantError(f"From t = {begin:g} s until {end:g} s there is nothing to run.")
        edges = {}
        for b, body in enumerate(scene.bodies):
            if isinstance(body.shape, dict) and np.isfinite(scales.edge[b]):
                edges[f"{body.name}.shape.edge"] = float(body.shape.get("edge") or scales.edge[b])
        return _Refinement(scene, start, begin, end, edges)

    def level(
        self, dt: float, edge: float, pair: tuple[str, str] | None, window: float | None, say: Callable[[str], Any], seed: int = 0
    ) -> Level:
        """One run, and its numbers."""
        began = time.perf_counter()
        changes: dict[str, Any] = {"dt": dt * self.scene.dt, "duration": self.until}
        changes |= {path: edge * value for path, value in self.edges.items()} if edge != 1.0 else {}
        sim = Simulation(read_meshes(self.scene.with_(changes)))
        if self.start is not None:
            sim.recall(self.start.copy())
        if seed:
            _disturb(sim, seed)
        with tempfile.TemporaryDirectory(prefix="pliant-refine-") as folder:
            before = sim.books()
            outcome = running.run(sim, running.recorded(sim, Path(folder) / "run", self.until - self.since))
            if outcome.status == "interrupted":
                raise KeyboardInterrupt
            if outcome.status != "finished":
                raise Unfinished(f"The run at dt = {sim.dt:g} s, edges {edge:g}, did not finish: {outcome.message}")
            with Run.open(outcome.path) as run:
                values = self._numbers(run, pair, window)
            after = sim.books()
        given = after.given - after.contact - before.given + before.contact
        values["energy"] = before.total + given - after.total
        level = Level(sim.dt, edge, values, time.perf_counter() - began, outcome.wrong)
        what = "disturbed, " if seed else ""
        say(f"{what}dt = {sim.dt:g} s, edges {edge:g}: {outcome.steps} steps in {level.seconds:.1f} s")
        return level

    def _numbers(self, run: Run, pair: tuple[str, str] | None, window: float | None) -> dict[str, float]:
        forces = Forces(run)
        found = forces.strongest(window) if pair is None else forces.of(*pair, window)
        if found is None:
            if pair is None:
                raise PliantError("Nothing touches anything, so there is no contact to refine.")
            return dict.fromkeys(MEASURES, 0.0)
        if self.pair is None:
            self.pair, self.window = (found.a, found.b), found.window
        history, end, dt = pair_series(run, *self.pair), forces.time, forces.dt
        last = end > end[-1] - 0.1 * (end[-1] - end[0] + dt[0])
        top = lambda name: taken("peak", end, dt, history[name], self.window)
        force = float(np.sum((history["normal_force"] * dt)[last]) / dt[last].sum())
        peak = found.mean if found.window == self.window else forces.of(*self.pair, self.window).mean  # type: ignore[union-attr]
        return {"force": force, "peak": peak} | {name: top(name) for name in ("area", "pressure", "depth")}


def _opened(source: Scene | str | Path, since: float) -> tuple[Scene, State | None]:
    """The scene, and the state that it begins with if it is a recorded run."""
    if isinstance(source, Scene):
        return source, None
    with Run.open(source) as run:
        frame = run.frame_at(since) if since > 0.0 else 0
        record, model = run.state(frame), run.model(frame)
        text = (model.meta.get("scene") if model else None) or run.header["scene"]
        scene = unpack_scene(text, dict(model.arrays) if model else {})
        state = thaw(dict(record.arrays), record.meta)
    return scene, state if state.step > 0 else None


def _disturb(sim: Simulation, seed: int) -> None:
    """Velocities that differ a little from what they were."""
    random, state, model = np.random.default_rng(seed), sim.state, sim.world.model
    speed = float(max(np.abs(state.v).max(initial=0.0), np.abs(state.velocity).max(initial=0.0)))
    size = TINY * 0.1 ** (seed - 1) * (float(np.linalg.norm(model.gravity)) * sim.dt or 1e-2 * speed)
    body: Floats = size * random.standard_normal((len(model.bodies), 3))  # of whole bodies: elements would damp what differs within them
    state.v += np.where((model.nodes.inverse > 0.0)[:, None], body[model.nodes.body], 0.0)
    state.velocity += np.where((model.frames.inverse > 0.0)[:, None], body[model.frames.body], 0.0)
