"""The bench where cases are done: it makes them, leaves out those that are on disk, and writes down what comes back."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pliant.base import PliantError
from pliant.studies.case import Case, File, make_case, version
from pliant.studies.crew import Crew, Todo
from pliant.studies.ledger import Ledger
from pliant.studies.work import Result

Point = dict[str, Any]  # values of parameters by name


@dataclass
class Progress:
    """How far a study is."""

    done: int  # cases, those found on disk included
    found: int  # on disk
    wrong: int  # failed, timeout or died
    total: int | None  # None: not known yet
    seconds: float  # of work in the cases that were run now
    workers: int


@dataclass
class Bench:
    """Does cases, each once."""

    scene_of: Callable[[Point, int], Any]  # parameters, seed
    seed_of: Callable[[Point, int], int]  # parameters, number of the repetition
    common: Mapping[str, Any]  # of all cases: measures, functions, curves, keep, every, timeout
    ledger: Ledger
    crew: Crew
    retry: frozenset[str] = frozenset()  # statuses that do not count as done
    progress: Callable[[Progress], None] | None = None
    total: int | None = None
    cases: list[Case] = field(default_factory=list)  # so far, without what only a worker needs
    files: dict[str, list[File]] = field(default_factory=dict)
    state: Progress = field(default_factory=lambda: Progress(0, 0, 0, None, 0.0, 1))
    repetitions: list[int] = field(default_factory=list)  # of each case
    _renewed: set[str] = field(default_factory=set)  # done by this bench, whatever is to be tried again

    def do(
        self, points: Iterable[tuple[Point, int]], then: Callable[[Case, Result], Iterable[tuple[Point, int]]] | None = None
    ) -> list[tuple[Case, Result]]:
        """Run points (parameters, number of repetition) that are not on disk; `then` may answer a result with more of them.

        Results are in the order of the points.
        """
        more: deque[tuple[Point, int]] = deque()
        coming = iter(points)
        out: dict[str, list[Case]] = {}  # cases that wait for a key
        done: dict[int, tuple[Case, Result]] = {}

        def over(case: Case, result: Result) -> None:
            done[case.number] = (case, result)
            self._count(result)
            if then is not None:
                more.extend(then(case, result))
            self.ledger.tables(self.cases, list(self.common["measures"]))

        def fetch() -> Case | None:
            while True:
                point = more.popleft() if more else next(coming, None)
                if point is None:
                    return None
                case, failure = self._case(*point)
                if failure is not None:
                    self.ledger.add(failure)
                known = self._known(case.key)
                if known is not None:
                    self.state.found += failure is None and case.key not in self._renewed
                    over(self._noted(case, point[1]), known)
                    continue
                waiting = out.setdefault(case.key, [])
                waiting.append(self._noted(case, point[1]))
                if len(waiting) == 1:
                    return case

        for case, result in self.crew.run(Todo(fetch), self.files):
            self.ledger.add(result)
            self._renewed.add(result.key)
            self.state.seconds += result.seconds
            for each in out.pop(case.key):
                over(each, result)
        return [done[number] for number in sorted(done)]

    def _known(self, key: str) -> Result | None:
        """What is on disk of a case, unless it is to be tried again."""
        result = self.ledger.results.get(key)
        return None if result is None or (result.status in self.retry and key not in self._renewed) else result

    def _case(self, point: Point, repetition: int) -> tuple[Case, Result | None]:
        """A case, and its result if its scene cannot be made; the first one's mistakes are everybody's, and are raised."""
        seed, number = self.seed_of(point, repetition), len(self.cases)
        given = {"number": number, "parameters": point, "seed": seed, **self.common}
        try:
            return make_case(self.scene_of(point, seed), self.files, **given), None
        except PliantError as error:
            if number == 0:
                raise
            said = json.dumps([point, seed, version()], sort_keys=True, default=str)
            key = hashlib.sha256(said.encode()).hexdigest()[:20]
            return Case(**{**given, "scene": "", "content": (), "key": key}), Result(key, "failed", str(error))

    def repetition_of(self, case: Case) -> int:
        return self.repetitions[case.number]

    def _noted(self, case: Case, repetition: int) -> Case:
        light = replace(case, scene="", content=(), measures={}, functions={}, curves=())
        self.repetitions.append(repetition)
        self.cases.append(light)
        return light

    def _count(self, result: Result) -> None:
        self.state.done += 1
        self.state.wrong += result.status != "finished"
        self.state.total, self.state.workers = self.total, self.crew.workers
        if self.progress is not None:
            self.progress(self.state)
