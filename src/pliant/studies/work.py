"""What a worker does: one case from its scene to its row. The same in this process and on a cluster."""

from __future__ import annotations

import inspect
import tempfile
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.measure.watch import Watch
from pliant.measure.windows import inside, largest_mean, taken
from pliant.record import Run
from pliant.simulate import running
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport
from pliant.studies.case import Case, File, cpu, unpack_files, unpacked, version
from pliant.studies.schema import Measure


class TookTooLong(Exception):
    """A case that does not come to its end in the time it has."""


@dataclass
class Result:
    """What is left of a case."""

    key: str
    status: str  # finished, failed, timeout or died
    reason: str = ""
    measures: dict[str, Any] = field(default_factory=dict)
    curves: list[list[float]] = field(default_factory=list)
    seconds: float = 0.0  # of wall time, building included
    steps: int = 0
    stepping: float = 0.0  # [s] in the steps themselves
    version: str = field(default_factory=version)
    cpu: str = field(default_factory=cpu)
    notes: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)  # suffix and content of what is kept


@dataclass
class CaseRun:
    """What a measure that is a function gets: the finished simulation, and the histories of the other measures."""

    simulation: Simulation
    parameters: Mapping[str, Any]
    seed: int
    histories: Mapping[str, tuple[Floats, Floats]]  # ends of steps [s] and values, of each measure

    def history(self, measure: str) -> tuple[Floats, Floats]:
        """Ends of steps [s] and values of another measure."""
        return self.histories[measure]


def work(case: Case, *files: Mapping[str, list[File]]) -> Result:
    """Run a case; whatever goes wrong with it is told in the result."""
    began = time.perf_counter()
    result = Result(case.key, "failed")
    try:
        for each in files:
            unpack_files(each, own_folder())
        _run(case, result, began)
        result.status = "finished"
    except TookTooLong:
        result.status, result.reason = "timeout", f"It was not over after {case.timeout:g} s."
    except PliantError as error:
        result.reason = str(error)
    except Exception as error:  # of a function of the user's, most likely: its own row says so, and others go on
        last = traceback.extract_tb(error.__traceback__)[-1]
        result.reason = f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"
    result.seconds = time.perf_counter() - began
    return result


@cache
def own_folder() -> Path:
    """Where this process keeps the files that came with cases; removed with the process."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="pliant-study-"))
    return Path(_KEPT[-1].name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _call(case: Case, result: Result) -> None:
    """A function instead of a scene."""
    function = case.functions[""]
    scene = unpacked(case.scene, own_folder()) if case.scene != "{}" else None
    more = {name: value for name, value in (("seed", case.seed), ("scene", scene)) if name in inspect.signature(function).parameters}
    found = function(**case.parameters, **more)
    named = found if isinstance(found, Mapping) else {"value": found}
    result.measures = {str(name): _number(str(name), each) for name, each in named.items()}


def _run(case: Case, result: Result, began: float) -> None:
    if "" in case.functions:
        return _call(case, result)
    scene = unpacked(case.scene, own_folder())
    measures = {name: Measure(**data) for name, data in case.measures.items()}
    with tempfile.TemporaryDirectory(prefix="pliant-case-") as folder:
        stem, recorded = Path(folder) / "run", {"run", "picture"} & set(case.keep)
        sim, recorder = running.start(scene, stem, case.every) if recorded else running.start_unrecorded(scene, case.every)
        watches = {name: watch(sim, measure) for name, measure in measures.items()}

        def each(report: StepReport) -> None:
            for watched in watches.values():
                watched.take(report)
            if case.timeout is not None and time.perf_counter() - began > case.timeout:
                raise TookTooLong

        outcome = running.run(sim, recorder, watch=each)
        result.steps, result.notes = outcome.steps, outcome.notes
        result.stepping = sum(seconds for stage, seconds in outcome.timings.items() if stage != "record")
        if outcome.status != "finished":
            raise PliantError(outcome.message or "It was stopped.")
        result.measures = {name: value(measure, watches[name]) for name, measure in measures.items()}
        _functions(case, result, sim, watches)
        result.curves = [_curve(watches, *curve) for curve in case.curves]
        _keep(case, result, outcome.path, watches)


def watch(sim: Simulation, measure: Measure) -> Watch:
    """What follows a measure while it runs."""
    pair = None if measure.pair is None else (measure.pair[0], measure.pair[1] if len(measure.pair) > 1 else None)
    point = dict(body=measure.body, at=measure.at, vertex=measure.vertex, relative_to=measure.relative_to, component=measure.component)
    return Watch(sim, measure.rule()[1], pair, **point)  # type: ignore[arg-type]


def value(measure: Measure, watched: Watch) -> float:
    """The number that a measure is, from its history."""
    end, dt, values = watched.history
    chosen = np.ones(len(end), bool) if measure.between is None else inside(end, dt, measure.between)
    end, dt, values = end[chosen], dt[chosen], values[chosen]
    take, _, above, below = measure.rule()
    if take == "peak" and measure.window is not None and watched.vectors and len(end):  # the mean of a vector, not of its size
        return largest_mean(end, dt, np.array(watched.vectors)[chosen], measure.window)[0]
    return taken(take, end, dt, values, measure.window, above, below)


def _functions(case: Case, result: Result, sim: Simulation, watches: Mapping[str, Watch]) -> None:
    histories = {name: (np.array(each.end), np.array(each.values)) for name, each in watches.items()}
    for name, function in case.functions.items():
        found = function(CaseRun(sim, case.parameters, case.seed, histories))
        if isinstance(found, Mapping):
            result.measures |= {f"{name}.{key}": _number(f"{name}.{key}", each) for key, each in found.items()}
        else:
            result.measures[name] = _number(name, found)


def _number(name: str, found: Any) -> Any:
    """What fits into a cell of a table."""
    if isinstance(found, bool | str | None | int):
        return found
    try:
        return float(found)
    except (TypeError, ValueError):
        raise PliantError(f"The measure '{name}' gave a {type(found).__name__}; it must be a number, or a dictionary of numbers.") from None


def _curve(watches: Mapping[str, Watch], x: str, y: str, at: tuple[float, ...]) -> list[float]:
    """The history of y at some values of x, as far as x rises; x may be time."""
    over = np.array(watches[y].end if x == "time" else watches[x].values)
    values = np.array(watches[y].values)
    rising = np.concatenate([[True], over[1:] > np.maximum.accumulate(over)[:-1]])
    return np.interp(at, over[rising], values[rising]).tolist()


def _keep(case: Case, result: Result, path: Path, watches: Mapping[str, Watch]) -> None:
    """The content of the files that are wanted, to be written where the study is."""
    if "histories" in case.keep and watches:
        first = next(iter(watches.values()))
        rows = np.column_stack([first.end, *(each.values for each in watches.values())])
        head = ",".join(["time", *watches])
        result.files["csv"] = "\n".join([head, *(",".join(repr(float(v)) for v in row) for row in rows)]).encode() + b"\n"
    if "picture" in case.keep:
        from pliant.look import still

        with Run.open(path) as run:
            result.files["png"] = still(run, path.with_suffix(".png")).read_bytes()
    if "run" in case.keep:
        result.files["vtkhdf"] = path.read_bytes()
