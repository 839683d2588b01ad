"""Calls of a function as the cases of a study: on workers, each once, on disk when it is over. For what is computed many times and is no
sweep of one scene: validation problems, methods that are compared, entries of a matrix, experiments."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.scene import Scene
from pliant.studies.bench import Bench, Progress
from pliant.studies.case import Case
from pliant.studies.crew import hire
from pliant.studies.ledger import Ledger
from pliant.studies.study import RETRY
from pliant.studies.work import Result


@dataclass(frozen=True)
class Found:
    """What a call gave."""

    given: dict[str, Any]
    value: Any  # as JSON holds it: data classes are dictionaries, arrays lists; None where it failed
    reason: str  # why it failed; empty if it did not
    seconds: float  # of wall time


def do_all(
    function: str,
    calls: Iterable[Mapping[str, Any]],
    *,
    scene: Scene | None = None,
    out: Path | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    each: Callable[[Found], None] | None = None,
    told: Callable[[str], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[Found]:
    """Call "module:function" with each of some sets of plain values; `each` hears of a call when it is over, the list is in their order.

    out: folder of the rows; run again with the same, what is there is not called again unless it failed or pliant has changed; None:
    nothing is kept. workers: processes, None as many as cores, 0 this one; a single call needs none. scene: goes to a parameter of this
    name, with its meshes, wherever the call is made.
    """
    points = [{"function": function, **call} for call in calls]
    heard: dict[int, Found] = {}
    with ExitStack() as stack:
        folder = out if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pliant-tasks-")))
        ledger = Ledger(folder)
        stack.callback(ledger.close)
        crew = hire(0 if len(points) < 2 else workers, timeout=timeout)
        stack.callback(crew.close)
        if told is not None:
            told(crew.about)
        common = {"measures": {}, "functions": {"": called}, "curves": (), "keep": (), "every": None, "timeout": timeout}
        retry = frozenset(RETRY)
        bench = Bench(lambda point, seed: scene, lambda point, seed: 0, common, ledger, crew, retry, progress, total=len(points))

        def over(case: Case, result: Result) -> Sequence[tuple[dict[str, Any], int]]:
            found = _found(case, result)
            heard[case.number] = found
            if each is not None:
                each(found)
            return ()

        bench.do([(point, 0) for point in points], over)
        if out is not None:
            ledger.tables(bench.cases, [], at_once=True)
    return [heard[number] for number in sorted(heard)]


def _found(case: Case, result: Result) -> Found:
    given = {name: value for name, value in case.parameters.items() if name != "function"}
    value = json.loads(result.measures["found"]) if result.status == "finished" else None
    return Found(given, value, "" if result.status == "finished" else result.reason, result.seconds)


def called(function: str, scene: Scene | None = None, **given: Any) -> dict[str, Any]:
    """Runs on a worker: the function by its name."""
    place, _, name = function.rpartition(":")
    call = getattr(importlib.import_module(place), name)
    more = {"scene": scene} if "scene" in inspect.signature(call).parameters else {}
    return {"found": json.dumps(_plain(call(**given, **more)))}


def _plain(value: Any) -> Any:
    """As JSON holds it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value
