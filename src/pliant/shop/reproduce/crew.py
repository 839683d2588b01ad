"""Runs experiments, here or in several processes, keeps what they found, and tells how far they are."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pliant.base import PliantError
from pliant.compiler import clocked
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
    seconds: float = 0.0  # of CPU, compiling included
    compiling: float = 0.0  # of them
    quick: bool = False
    failed: str = ""  # why it did not end
    scans: dict[str, str] = field(default_factory=dict)  # files of the user's own surfaces, by part


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


def parted(todo: list[Job]) -> tuple[list[Found], list[Job]]:
    """What an earlier call has brought to its end in the same form and on the same surfaces, and the jobs that are left."""
    kept, left = list[Found](), list[Job]()
    for job in todo:
        found = {each.id: each for each in found_in(job.folder)}.get(job.id)
        if found is not None and not found.failed and (found.quick, found.scans) == (job.quick, _files(job)):
            kept.append(found)
        else:
            left.append(job)
    return kept, left


def _files(job: Job) -> dict[str, str]:
    """The user's own surfaces that an experiment takes."""
    return {part: scan.file for part, scan in job.scans.items() if part in experiments(job.source)[job.id].parts}


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


def run(
    todo: list[Job],
    workers: int = 1,
    times: Times | None = None,
    show: Callable[[], object] = lambda: None,
    over: Callable[[Found], object] = lambda found: None,
    do_all: Callable[..., object] | None = None,
) -> list[Found]:
    """All results; `over` hears each as it comes, `show` is called now and then in between. One that fails does not stop the others.

    do_all: how calls are shared among several workers (`studies.tasks.do_all`, which is built on what is here); None: one after the other.
    """
    times, ended = times or Times(todo, workers), []

    def end(job: Job, found: Found) -> None:
        times.tell((job.source, job.id), 1.0)
        _keep(job.folder, found)
        ended.append(found)
        over(found)

    if workers > 1 and do_all is not None:
        _spread(todo, workers, times, show, end, do_all)
    else:
        for job in reversed(todo):  # the shortest first: a stop loses least
            end(job, work(job, Telling(times, (job.source, job.id), show)))
    return ended


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


def _spread(
    todo: list[Job],
    workers: int,
    times: Times,
    show: Callable[[], object],
    end: Callable[[Job, Found], None],
    do_all: Callable[..., object],
) -> None:
    """The experiments as calls of a study, on its workers; each writes into a file how far it is."""
    by_key = {(job.source, job.id): job for job in todo}

    def over(found: Any) -> None:
        job = by_key[found.given["source"], found.given["id"]]
        end(job, told(found.value) if found.value is not None else Found(job.source, job.id, quick=job.quick, failed=found.reason))

    with tempfile.TemporaryDirectory(prefix="pliant-reproduce-") as folder:
        parts = Path(folder)
        still, listener = threading.Event(), threading.Thread(target=lambda: _listen(parts, times, show, still))
        listener.start()
        try:
            calls = [
                dict(source=job.source, id=job.id, folder=str(job.folder.absolute()), quick=job.quick, parts=folder,
                     scans={part: asdict(scan) for part, scan in job.scans.items()})
                for job in todo
            ]  # fmt: skip
            do_all("pliant.shop.reproduce.crew:worked", calls, workers=workers, each=over)
        finally:
            still.set()
            listener.join()


def _listen(parts: Path, times: Times, show: Callable[[], object], still: threading.Event) -> None:
    """Look now and then how far the workers are, until it is still."""
    while not still.wait(ASK):
        for key in [key for key, part in times.part.items() if part < 1.0]:
            try:
                part = float((parts / " ".join(key)).read_text(encoding="ascii"))
            except (OSError, ValueError):  # not begun, or just being written
                continue
            if times.part[key] < 1.0:
                times.tell(key, min(max(part, 1e-9), 0.999))
        show()


def worked(source: str, id: str, folder: str, quick: bool, parts: str, scans: Mapping[str, Any]) -> Found:
    """What a worker does."""
    mine = Path(parts) / f"{source} {id}"
    job = Job(source, id, Path(folder), quick, {part: Scan(**scan) for part, scan in scans.items()}, 0.0)
    mine.write_text("0", encoding="ascii")
    return work(job, lambda part: mine.write_text(f"{part}", encoding="ascii"))


def work(job: Job, heard: Callable[[float], object] = lambda part: None) -> Found:
    """Run one experiment and judge what it measured."""
    make_folder(job.folder)
    compiled = clocked()
    began, before = time.process_time(), compiled.seconds
    experiment = experiments(job.source)[job.id]
    scans = {part: scan for part, scan in job.scans.items() if part in experiment.parts}
    for figure in experiment.figures:
        (job.folder / figure.file).unlink(missing_ok=True)  # the page must not show one of an earlier run
    try:
        measured = experiment.measure(Desk(job.folder, job.quick, scans, heard))
        lines, failed = judge(experiment.claims, measured, job.quick), ""
    except Exception as error:  # whatever it was, the others go on and it is told
        lines, failed = [], f"{type(error).__name__}: {error}"
    seconds = time.process_time() - began
    return Found(job.source, job.id, lines, seconds, compiled.seconds - before, job.quick, failed, _files(job))


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
    return [told(each) for each in kept(folder).values()]


def told(said: Mapping[str, Any]) -> Found:
    """A result from plain data."""
    return Found(**{**said, "lines": [Line(**line) for line in said["lines"]]})
