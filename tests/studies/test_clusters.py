"""Studies on real Dask clusters of two processes: whatever happens to workers, cases and the scheduler, no finished case is lost or done
twice, and the table is that of an undisturbed study."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pliant
from pliant import Study
from pliant.studies.ledger import read_rows

from .conftest import FALL, ball

distributed = pytest.importorskip("distributed")

SRC = Path(pliant.__file__).parents[1]
HERE = Path(__file__).parent
GRAVITIES = [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]


def waits(run):
    """Half a second in each case, so that there is time to disturb it."""
    time.sleep(0.5)
    return run.parameters["gravity[2]"]


def troubled(run):
    """One case hangs and does not hear, one raises, one takes its process with it."""
    g = run.parameters["gravity[2]"]
    if g == -2.0:
        while True:
            time.sleep(1.0)
    if g == -3.0:
        raise RuntimeError("no such sensor")
    if g == -4.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return g


def study(function, gravities=GRAVITIES) -> Study:
    return Study(scene=ball(), parameters={"gravity[2]": gravities}, measures={"fall": FALL, "mine": function})


def workers_of(parent: int) -> list[int]:
    """Process ids of Dask's workers below a process."""
    found, below = [], {parent}
    for _ in range(3):
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
                command = (entry.parent / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) in below and (b"spawn_main" in command or b"dask" in command or b"nanny" in command):
                below.add(int(entry.parent.name))
                found.append(int(entry.parent.name))
    return sorted(set(found))


def test_results_are_the_same_bits_on_workers_and_a_killed_worker_costs_nothing(tmp_path, plain_rows):
    """Two workers, one of which is killed with -9 while it is at a case."""
    alone = study(waits).run(tmp_path / "alone", workers=0, page=False)
    killed = []

    def kill(progress):
        if progress.done == 2 and not killed:
            killed.append(max(workers_of(os.getpid())))
            os.kill(killed[0], signal.SIGKILL)

    together = study(waits).run(tmp_path / "together", workers=2, page=False, progress=kill)
    assert killed and plain_rows(together) == plain_rows(alone)
    keys = [row.key for row in read_rows(tmp_path / "together" / "rows.jsonl")]
    assert len(keys) == len(set(keys)) == len(GRAVITIES)


@pytest.mark.slow
def test_cases_that_hang_raise_and_kill_are_rows_and_the_others_finish(tmp_path):
    results = study(troubled).run(tmp_path, workers=2, page=False, case_timeout=12.0)
    status = {row["gravity[2]"]: row["status"] for row in results.rows}
    assert status == {-1.0: "finished", -2.0: "timeout", -3.0: "failed", -4.0: "died", -5.0: "finished", -6.0: "finished"}
    reasons = {row["gravity[2]"]: row["reason"] for row in results.rows}
    assert "worker was restarted" in reasons[-2.0] and "no such sensor" in reasons[-3.0] and "process died" in reasons[-4.0]
    assert len(read_rows(tmp_path / "rows.jsonl")) == len(GRAVITIES)


MASTER = """
import sys
sys.path.insert(0, sys.argv[1])
from conftest import FALL, ball
from pliant import Study
if __name__ == "__main__":
    made = Study(scene=ball(), parameters={"gravity[2]": [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]}, measures={"fall": FALL, "mine": "waits.py:waits"})
    made._folder = __import__("pathlib").Path(sys.argv[1])
    made.run(sys.argv[2], workers=2, page=False, progress=lambda p: print(p.done, flush=True))
"""


@pytest.mark.slow
def test_a_study_on_workers_killed_with_9_goes_on_where_it_was(tmp_path, plain_rows):
    (tmp_path / "waits.py").write_text("import time\ndef waits(run):\n    time.sleep(0.5)\n    return run.parameters['gravity[2]']\n")
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "master.py").write_text(MASTER)
    command = [sys.executable, str(tmp_path / "master.py"), str(tmp_path), str(tmp_path / "a")]
    master = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SRC)}, stdout=subprocess.PIPE, text=True)
    while int(master.stdout.readline() or 99) < 3:
        pass
    master.kill()
    master.wait()
    done = len(read_rows(tmp_path / "a" / "rows.jsonl"))
    assert 3 <= done < 6
    made = study(waits)
    made.measures = {"fall": FALL, "mine": "waits.py:waits"}
    made._folder = tmp_path
    again = made.run(tmp_path / "a", workers=0, page=False)
    whole = made.run(tmp_path / "b", workers=0, page=False)
    assert again.found == done and plain_rows(again) == plain_rows(whole)
    keys = [row.key for row in read_rows(tmp_path / "a" / "rows.jsonl")]
    assert len(keys) == len(set(keys)) == 6


def start(*arguments) -> subprocess.Popen:
    command = [sys.executable, "-m", "distributed.cli." + arguments[0], *map(str, arguments[1:])]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": f"{SRC}:{HERE}"}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.slow
def test_a_scheduler_that_is_restarted_costs_nothing(tmp_path, plain_rows):
    """Scheduler and workers in processes of their own; the scheduler is killed in the middle and started again at the same address."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    begin = lambda: start("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    scheduler = begin()
    workers = [start("dask_worker", address, "--nthreads", 1, "--no-dashboard", "--death-timeout", 120, "--local-directory", tmp_path) for _ in range(2)]
    ended = []

    def restart(progress):
        nonlocal scheduler
        if progress.done == 2 and not ended:
            ended.append(scheduler)
            scheduler.kill()
            scheduler.wait()

            def again():
                nonlocal scheduler, workers
                time.sleep(1.0)
                scheduler = begin()
                workers += [start("dask_worker", address, "--nthreads", 1, "--no-dashboard", "--local-directory", tmp_path) for _ in range(2)]

            threading.Thread(target=again).start()

    try:
        results = study(waits).run(tmp_path / "a", scheduler=address, page=False, progress=restart)
    finally:
        for each in (*workers, scheduler):
            each.terminate()
        for each in (*workers, scheduler):
            each.wait(30)
    whole = study(waits).run(tmp_path / "b", workers=0, page=False)
    assert ended and plain_rows(results) == plain_rows(whole)
    keys = [row.key for row in read_rows(tmp_path / "a" / "rows.jsonl")]
    assert len(keys) == len(set(keys)) == len(GRAVITIES)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows knows no masks of signals")
def test_ctrl_c_waits_while_workers_start_and_they_do_not_hear_it():
    """Workers that were just being born left tracebacks, and so did Dask when it closed what was half begun."""
    from pliant.studies import crew

    ask = [sys.executable, "-c", "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"]
    said = []

    class Dask:
        @staticmethod
        def LocalCluster(**options):
            signal.raise_signal(signal.SIGINT)
            thread = threading.Thread(target=lambda: said.append(subprocess.run(ask, capture_output=True, text=True, check=True).stdout))
            thread.start()
            thread.join()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a library of clusters puts its own there
    try:
        with pytest.raises(KeyboardInterrupt):
            crew._local(Dask, 1, None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert said == ["True\n"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
