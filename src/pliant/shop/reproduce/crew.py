"""Runs experiments, here or in several processes, keeps what they found, and tells how far they are."""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pliant.base import PliantError
from pliant.disk import make_folder, write_text
from pliant.shop.reproduce import experiments
from pliant.shop.reproduce.costs import COSTS
from pliant.shop.reproduce.experiment import Desk, Scan
from pliant.shop.reproduce.verdict import Line, judge

KEPT = "results.json"
ASK = 0.5  # [s] between two looks at what workers say


@dataclass(frozen=True)
class Job:
    """An experiment to run."""

    source: str
    id: str
    folder: Path
    quick: bool
    scans: Mapping[str, Scan]
    cost: float  # [s] CPU that it is expected to take


@dataclass(frozen=True)
class Found:
    """What became of a job."""

    source: str
    id: str
    lines: list[Line] = field(default_factory=list)
    seconds: float = 0.0  # of CPU
    quick: bool = False
    failed: str = ""  # why it did not end


def jobs(wanted: Mapping[str, list[str] | None], folder: Path, quick: bool = False, scans: Mapping[str, Scan] | None = None) -> list[Job]:
    """Experiments of sources, each source in a folder of its own; the longest first, so that no worker waits for it in the end."""
    found = [
        Job(name, i, folder / name, quick, scans or {}, COSTS[name][i][quick])
        for name, ids in wanted.items() for i in experiments(name, ids)
    ]  # fmt: skip
    usable = {part for job in found for part in experiments(job.source)[job.id].parts}
    for part in scans or {}:
        if part not in usable:
            raise PliantError(f"--scan {part}=...: none of these experiments has such a part" + _with(usable))
    return sorted(found, key=lambda job: -job.cost)


def _with(parts: set[str]) -> str:
    return f"; they have {', '.join(sorted(parts))}." if parts else "."


class Times:
    """How much is done and how long the rest will take, by what experiments are expected to take and what they took so far."""

    def __init__(self, todo: list[Job], workers: int) -> None:
        self.cost = {(job.source, job.id): job.cost for job in todo}
        self.part = dict.fromkeys(self.cost, 0.0)
        self.workers, self.began = max(1, min(workers, len(todo))), time.monotonic()

    def tell(self, key: tuple[str, str], part: float) -> None:
        self.part[key] = part

    @property
    def running(self) -> list[str]:
        return [f"{source} {i} {100 * part:.0f} %" for (source, i), part in self.part.items() if 0.0 < part < 1.0]

    @property
    def ended(self) -> int:
        return sum(part >= 1.0 for part in self.part.values())

    def left(self) -> float:
        """[s] of wall time: what the rest costs, but not less than the longest of it, at the pace of what is done."""
        done = sum(self.cost[key] * part for key, part in self.part.items())
        rest = {key: self.cost[key] * (1.0 - part) for key, part in self.part.items()}
        expected = max(sum(rest.values()) / self.workers, max(rest.values(), default=0.0))
        passed = time.monotonic() - self.began
        trust = done / (done + 0.1 * sum(self.cost.values()) + 1e-9)  # in the pace seen: little at first
        pace = passed * self.workers / done if done > 0.0 else 1.0
        return expected * (trust * pace + (1.0 - trust))


def run(todo: list[Job], workers: int = 1, times: Times | None = None, show: Callable[[], object] = lambda: None) -> Iterator[Found]:
    """Results as they come; `show` is called now and then in between. One that fails does not stop the others."""
    times = times or Times(todo, workers)
    if workers > 1:
        yield from _spread(todo, workers, times, show)
        return
    for job in todo:
        found = work(job, Telling(times, (job.source, job.id), show))
        times.tell((job.source, job.id), 1.0)
        _keep(job.folder, found)
        yield found


class Telling:
    """Hears how far an experiment is, and shows it, not too often."""

    def __init__(self, times: Times, key: tuple[str, str], show: Callable[[], object]) -> None:
        self.times, self.key, self.show, self.last = times, key, show, -ASK
        self(0.0)

    def __call__(self, part: float) -> None:
        self.times.tell(self.key, min(max(part, 1e-9), 0.999))
        if time.monotonic() - self.last >= ASK:
            self.last = time.monotonic()
            self.show()


def _spread(todo: list[Job], workers: int, times: Times, show: Callable[[], object]) -> Iterator[Found]:
    context = multiprocessing.get_context("spawn")
    said = context.Manager().Queue()
    before = os.environ.get("PLIANT_THREADS")
    os.environ["PLIANT_THREADS"] = str(max(1, (os.cpu_count() or 1) // workers))  # workers inherit it; results do not depend on it
    try:
        with ProcessPoolExecutor(workers, context) as pool:
            running = {pool.submit(_work, job, said): job for job in todo}
            try:
                while running:
                    over, _ = wait(running, ASK, FIRST_COMPLETED)
                    _listen(said, times)
                    show()
                    for future in over:
                        job = running.pop(future)
                        times.tell((job.source, job.id), 1.0)
                        found = _result(future, job)
                        _keep(job.folder, found)
                        yield found
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        if before is None:
            os.environ.pop("PLIANT_THREADS", None)
        else:
            os.environ["PLIANT_THREADS"] = before


def _listen(said: Any, times: Times) -> None:
    while True:
        try:
            key, part = said.get_nowait()
        except queue.Empty:
            return
        times.tell(key, min(part, 0.999))


def _result(future: Future[Found], job: Job) -> Found:
    try:
        return future.result()
    except BrokenProcessPool:
        return Found(job.source, job.id, quick=job.quick, failed="a worker was ended from outside, by lack of memory perhaps")


def _work(job: Job, said: Any) -> Found:
    key = (job.source, job.id)
    said.put((key, 1e-9))
    return work(job, lambda part: said.put((key, part)))


def work(job: Job, heard: Callable[[float], object] = lambda part: None) -> Found:
    """Run one experiment and judge what it measured."""
    make_folder(job.folder)
    began = time.process_time()
    experiment = experiments(job.source)[job.id]
    scans = {part: scan for part, scan in job.scans.items() if part in experiment.parts}
    for figure in experiment.figures:
        (job.folder / figure.file).unlink(missing_ok=True)  # the page must not show one of an earlier run
    try:
        measured = experiment.measure(Desk(job.folder, job.quick, scans, heard))
        lines, failed = judge(experiment.claims, measured, job.quick), ""
    except Exception as error:  # whatever it was, the others go on and it is told
        lines, failed = [], f"{type(error).__name__}: {error}"
    return Found(job.source, job.id, lines, time.process_time() - began, job.quick, failed)


def _keep(folder: Path, found: Found) -> None:
    """In FOLDER/results.json; those of other experiments stay there."""
    results = kept(folder)
    results[found.id] = asdict(found)
    make_folder(folder)
    write_text(folder / KEPT, json.dumps(results, indent=2))


def kept(folder: Path) -> dict[str, Any]:
    """What FOLDER/results.json has, by experiment."""
    path = folder / KEPT
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def found_in(folder: Path) -> list[Found]:
    """The results that are kept in a folder."""
    return [Found(**{**each, "lines": [Line(**line) for line in each["lines"]]}) for each in kept(folder).values()]
