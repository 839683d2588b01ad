"""Who runs the cases: this process, or the workers of a Dask cluster (local, one that exists, or through SLURM).

Both take cases from a `Todo` and give back results as they come. A cluster may lose workers, and even its scheduler: cases that were
with them are given out again, and one that takes three workers with it, when nothing else is on them the last time, is told as the cause.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Protocol

from pliant.base import PliantError, unbroken
from pliant.studies.case import Case, File
from pliant.studies.work import Result, work

if TYPE_CHECKING:
    from distributed import Client, Future

TOPIC = "pliant-study"  # of the messages with which workers say what they begin
AHEAD = 2  # cases given out for each thread, so that none waits for the next
GRACE = 5.0  # [s] a case has after its time is up to end by itself, before its worker is restarted
PATIENCE = 120.0  # [s] to wait for a scheduler that is gone to come back
DEATHS = 2  # workers lost by a case (or by one beside it) after which it is tried alone


QUIET = {  # of Dask's settings: a case that takes a worker with it is known soon, and workers do not watch themselves at work
    "distributed.scheduler.allowed-failures": DEATHS - 1,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
}


class Todo:
    """Cases that are still to be done: those that were given back first, then what `fetch` has; None: nothing at the moment."""

    def __init__(self, fetch: Callable[[], Case | None]) -> None:
        self._fetch = fetch
        self._back: deque[Case] = deque()

    def push(self, case: Case) -> None:
        self._back.append(case)

    def take(self) -> Case | None:
        return self._back.popleft() if self._back else self._fetch()


class Crew(Protocol):
    """Runs cases."""

    about: str
    workers: int

    def run(self, todo: Todo, files: Mapping[str, list[File]]) -> Iterator[tuple[Case, Result]]:
        """Results as they come, until nothing is left to do."""
        ...

    def close(self) -> None: ...


class Alone:
    """This process, one case after the other."""

    about = "in this process"
    workers = 1

    def run(self, todo: Todo, files: Mapping[str, list[File]]) -> Iterator[tuple[Case, Result]]:
        while (case := todo.take()) is not None:
            yield case, work(case, {name: files[name] for name in case.content})

    def close(self) -> None:
        pass


class Cluster:
    """The workers of a Dask cluster."""

    def __init__(self, connect: Callable[[], Client], end: Callable[[], Any], about: str, workers: int, timeout: float | None) -> None:
        self._connect, self._end = connect, end
        self.timeout, self.workers = timeout, workers
        self._begun: dict[str, tuple[float, str]] = {}  # when and where each case was begun
        self._held: dict[str, Future] = {}  # files that the scheduler knows
        self._alive: dict[str, int] = {}  # threads of each worker
        self._asked = -1.0  # when
        self._lonely = time.monotonic()  # since when there is none
        self._tries = 0  # how often cases were given out
        self._open()
        shown = self.client.dashboard_link if find_spec("bokeh") else "needs bokeh: pip install 'pliant[studies]'"
        self.about = f"{about}; dashboard {shown}"

    def _open(self) -> None:
        self.client = self._connect()
        self.client.subscribe_topic(TOPIC, self._heard)

    def _heard(self, event: Any) -> None:
        message = event[1]
        self._begun[message["key"]] = (time.monotonic(), message["worker"])

    def run(self, todo: Todo, files: Mapping[str, list[File]]) -> Iterator[tuple[Case, Result]]:
        out: dict[str, tuple[Future, Case]] = {}  # given out, by key
        over: queue.SimpleQueue[Future] = queue.SimpleQueue()
        alone: list[Case] = []  # suspected to take workers with them
        deaths: Counter[str] = Counter()
        while True:
            connected = self.client.status == "running"
            while connected and len(out) < AHEAD * self._threads() and (case := todo.take()) is not None:
                connected = self._give(case, files, over, out, todo)
            if connected and not out:
                if not alone:
                    return
                self._give(alone.pop(), files, over, out, todo)
            try:
                future = over.get(timeout=0.2)
            except queue.Empty:
                self._wait_for_workers()
                yield from self._overdue(out)
                if self.client.status not in ("running", "connecting"):
                    self._reopen(out, todo)
                continue
            key = str(future.key).removeprefix("case-").partition("/")[0]
            if key not in out or out[key][0] is not future:
                continue
            case = out.pop(key)[1]
            result = self._result(future, case)
            if result is None:  # the scheduler is gone, or was: the next one gets it
                self._held.clear()
                todo.push(case)
                continue
            if result.status == "died":
                deaths[key] += 1
                if deaths[key] < DEATHS:
                    alone.append(case)
                    continue
            self._begun.pop(key, None)
            yield case, result

    def _wait_for_workers(self) -> None:
        """Say once a minute that there are none: jobs may be queued, or refused."""
        if self._alive:
            self._lonely = time.monotonic()
        elif time.monotonic() > self._lonely + PATIENCE / 2:
            self._lonely = time.monotonic()
            said = "There is no worker yet: see whether jobs wait or were refused (squeue, the log of the scheduler)."
            print(said, file=sys.stderr, flush=True)

    def _threads(self) -> int:
        """How many cases can run at a time, asked at most once a second."""
        now = time.monotonic()
        if now > self._asked + 1.0:
            try:
                self._alive = dict(self.client.nthreads())
            except Exception:  # no scheduler at the moment
                self._alive = {}
            self._asked = now
        return max(1, sum(self._alive.values()))

    def _give(
        self, case: Case, files: Mapping[str, list[File]], over: queue.SimpleQueue[Future], out: dict[str, tuple[Future, Case]], todo: Todo
    ) -> bool:
        """Give a case out; False: there is no scheduler at the moment, and it goes back."""
        import cloudpickle  # start-up; it comes with Dask

        code = cloudpickle.dumps(case.functions)  # ours, for Dask would name the user's modules, which workers may not have
        self._tries += 1
        name = f"case-{case.key}/{self._tries}"
        try:
            needed = [self._file(each, files) for each in case.content]
            future = self.client.submit(on_worker, replace(case, functions={}), code, *needed, key=name, pure=False)
        except Exception:
            if self.client.status == "running":
                raise
            todo.push(case)
            return False
        future.add_done_callback(over.put)
        out[case.key] = (future, case)
        return True

    def _file(self, name: str, files: Mapping[str, list[File]]) -> Future:
        """Content that the scheduler remembers how to make again, should the worker that has it die."""
        if name not in self._held:
            self._held[name] = self.client.submit(dict, {name: files[name]}, key=f"file-{name}", pure=False)
        return self._held[name]

    def _result(self, future: Future, case: Case) -> Result | None:
        """What became of a case; None: nothing, through no fault of its own."""
        if future.status in ("cancelled", "lost"):
            return None
        try:
            return future.result()
        except Exception as error:
            name = type(error).__name__
            if name == "KilledWorker":
                return Result(case.key, "died", "The worker process died while it ran it: out of memory, or a crash of machine code.")
            if name in ("CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError") or isinstance(error, OSError):
                return None
            return Result(case.key, "failed", f"{name}: {error}")

    def _overdue(self, out: dict[str, tuple[Future, Case]]) -> Iterator[tuple[Case, Result]]:
        """End what had its time and did not end by itself, with the worker that it is on."""
        if self.timeout is None:
            return
        self._threads()
        for key, (_, worker) in list(self._begun.items()):
            if worker not in self._alive:  # it died, and the case waits to be begun again
                del self._begun[key]
        for key in [k for k in out if k in self._begun and time.monotonic() - self._begun[k][0] > self.timeout + GRACE]:
            (future, case), (_, worker) = out.pop(key), self._begun.pop(key)
            future.cancel(force=True)
            threading.Thread(target=self._restart, args=(worker,), daemon=True).start()
            yield case, Result(key, "timeout", f"It was not over after {self.timeout:g} s, and did not hear: its worker was restarted.",
                               seconds=self.timeout)  # fmt: skip

    def _restart(self, worker: str) -> None:
        try:
            self.client.restart_workers([worker], timeout=60, raise_for_error=False)
        except Exception as error:  # a worker without a nanny, or one that is gone already
            print(f"The worker {worker} could not be restarted: {error}", file=sys.stderr, flush=True)

    def _reopen(self, out: dict[str, tuple[Future, Case]], todo: Todo) -> None:
        """Wait for the scheduler to come back, and give everything out again."""
        for _, case in out.values():
            todo.push(case)
        out.clear()
        self._held.clear()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._open()
            except (OSError, TimeoutError) as error:
                if time.monotonic() > deadline:
                    raise PliantError(
                        f"The Dask scheduler has been gone for {PATIENCE:.0f} s: {error}. Finished cases are on disk; run the study again."
                    ) from None
                time.sleep(1.0)

    def close(self) -> None:
        self.client.close(timeout=5)
        self._end()


def on_worker(case: Case, code: bytes, *files: Mapping[str, list[File]]) -> Result:
    """Runs on a worker: says that it begins, so that its time can be taken, and works."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(TOPIC, {"key": case.key, "worker": worker.address})
    return work(replace(case, functions=pickle.loads(code)), *files)


# ---- clusters


def hire(
    workers: int | None = None, scheduler: str | None = None, slurm: Mapping[str, Any] | None = None, timeout: float | None = None
) -> Crew:
    """The crew that is asked for: by default as many local workers as cores, or this process if Dask is not there or `workers` is 0."""
    if workers == 0 and not scheduler and slurm is None:
        return Alone()
    try:
        import distributed
    except ImportError:
        if scheduler or slurm is not None or workers:
            raise PliantError("Workers need Dask: pip install 'pliant[studies]'. With --workers 0 a study runs in this process.") from None
        return Alone()
    if scheduler:
        return _existing(distributed, scheduler, timeout)
    if slurm is not None:
        return _slurm(distributed, workers or 1, slurm, timeout)
    return _local(distributed, workers or cores(), timeout)


def cores() -> int:
    """Of this machine, as far as this process may use them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _local(distributed: Any, workers: int, timeout: float | None) -> Cluster:
    import dask  # start-up

    dask.config.set(QUIET)
    with unbroken(), _deaf():
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, silence_logs=logging.CRITICAL, dashboard_address=_free_port(),
            env={"PLIANT_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    about = f"on {workers} local worker{'s' if workers > 1 else ''}"
    return Cluster(lambda: distributed.Client(cluster), cluster.close, about, workers, timeout)


@contextmanager
def _deaf() -> Iterator[None]:
    """Threads that are born inside, and the workers that they start then or later, do not hear Ctrl-C, which reaches all that belong to
    a terminal: who started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # else the first thread that needs it starts it, and hears again after that
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _free_port() -> str:
    """8787, where people look for Dask's dashboard, or any that is free."""
    import socket

    with socket.socket() as probe:
        return ":0" if probe.connect_ex(("127.0.0.1", 8787)) == 0 else ":8787"


def _existing(distributed: Any, address: str, timeout: float | None) -> Cluster:
    try:
        first = distributed.Client(address, timeout=20)
        first.close()
    except OSError as error:
        raise PliantError(f"There is no Dask scheduler at {address}: {error}.") from None
    return Cluster(lambda: distributed.Client(address, timeout=10), lambda: None, f"on the cluster at {address}", 1, timeout)


def _slurm(distributed: Any, workers: int, options: Mapping[str, Any], timeout: float | None) -> Cluster:
    """Jobs with one thread for each of their cores; `options` as dask_jobqueue.SLURMCluster takes them."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise PliantError("SLURM needs dask-jobqueue: pip install 'pliant[studies]'.") from None
    given = {"cores": 1, "memory": "2GB", **options}
    given.setdefault("processes", given["cores"])
    prologue = ["export PLIANT_THREADS=1", "export OMP_NUM_THREADS=1", *given.pop("job_script_prologue", [])]
    try:
        cluster = SLURMCluster(job_script_prologue=prologue, **given)
    except (TypeError, ValueError) as error:
        known = "queue, account, walltime, memory, cores ..."
        raise PliantError(f"--slurm: {error}. Options are those of dask_jobqueue.SLURMCluster: {known}") from None
    cluster.adapt(minimum=workers, maximum=workers)  # not scale: a job that is cancelled is started again
    return Cluster(lambda: distributed.Client(cluster), cluster.close, f"on {workers} workers through SLURM", workers, timeout)
