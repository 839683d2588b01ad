"""A run that is killed is readable each time and, resumed, ends like one that was not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pliant.record import vtkhdf
from pliant.record.journal import read_journal
from pliant.record.runfile import Run

TOY = Path(__file__).with_name("toy.py")
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")


def killed_run(path: Path, frames: int, delay: float, *ambush: object) -> int | None:
    """Record until an ambush, or `delay` seconds after the first sign of life; records told, None if it finished."""
    command = [sys.executable, str(TOY), str(path), str(frames), *map(str, ambush)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline()]
    if not ambush:
        time.sleep(delay)
        process.kill()
    told += process.stdout.readlines()
    code = process.wait()
    assert code in (0, -signal.SIGKILL)
    return None if code == 0 else [int(line) for line in told if line.endswith("\n")][-1]


def check_killed(path: Path, told: int) -> int:
    """Nothing that was told is missing, at most one record more is there, all is readable; bytes of a broken tail."""
    dropped = 0
    if path.with_suffix(".journal").exists():
        reader = read_journal(path.with_suffix(".journal"))
        assert told <= len(reader.entries) <= told + 1
        dropped = reader.dropped_bytes
        assert all(record.kind for record in reader)
        reader.close()
    if path.with_suffix(".vtkhdf").exists():
        file, entries = vtkhdf.read(path.with_suffix(".vtkhdf"))
        assert all(entry.record().kind for entry in entries)
        file.close()
    with Run.open(path) as run:
        assert len(run.entries) >= told
        for i in range(run.frames):
            assert len(run.points(i)) == run.frame_meta(i)["counts"]["points"]
    return dropped


def check_ended(path: Path, whole: Path) -> None:
    """One file is left, with the records of a run that was never killed, bit for bit."""
    assert os.listdir(path.parent) == [path.name + ".vtkhdf"], "something is left behind"
    with Run.open(path) as parts, Run.open(whole) as expected:
        assert [entry.kind for entry in parts.entries] == [entry.kind for entry in expected.entries]
        for mine, other in zip(parts.entries, expected.entries, strict=True):
            assert mine.meta == other.meta and mine.specs == other.specs
            for name in mine.specs:
                assert mine.load(name).tobytes() == other.load(name).tobytes(), (mine.kind, name)


def random_kills(toy, folder: Path, count: int, frames: int, longest: float, seed: int) -> None:
    """Kill runs `count` times in all, up to five times each, and end each."""
    dice = random.Random(seed)
    (folder / "whole").mkdir()
    toy.play(folder / "whole" / "run", frames, scale=40)
    done = number = 0
    while done < count:
        number += 1
        assert number <= count, "runs end before they can be killed"
        path = folder / f"killed{number}" / "run"
        path.parent.mkdir()
        for _ in range(min(5, count - done)):
            told = killed_run(path, frames, dice.uniform(0.0, longest))
            if told is None:
                break
            check_killed(path, told)
            done += 1
        toy.play(path, frames, scale=40)
        check_ended(path, folder / "whole" / "run")


def test_five_kills_at_random_moments(toy, tmp_path):
    random_kills(toy, tmp_path, 5, frames=60, longest=0.15, seed=5)


@pytest.mark.slow
def test_fifty_kills_at_random_moments(toy, tmp_path):
    random_kills(toy, tmp_path, 50, frames=400, longest=0.6, seed=11)


@pytest.mark.parametrize("number, fraction", [(2, 0.5), (4, 0.001), (5, 0.999), (18, 0.5), (24, 1.0)])
def test_killed_in_the_middle_of_a_write(toy, tmp_path, number, fraction):
    path = tmp_path / "killed" / "run"
    path.parent.mkdir()
    told = killed_run(path, 10, 0.0, "write", number, fraction)
    assert told is not None
    dropped = check_killed(path, told)
    assert (dropped > 0) == (0 < fraction < 1)
    toy.play(tmp_path / "whole", 10, scale=40)
    toy.play(path, 10, scale=40)
    check_ended(path, tmp_path / "whole")


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 3, -1])
def test_killed_while_publishing(toy, tmp_path, monkeypatch, moment, number):
    whole = tmp_path / "whole"
    publications = []
    take_place = vtkhdf._take_place
    with monkeypatch.context() as patch:
        patch.setattr(vtkhdf, "_take_place", lambda *args: (publications.append(args), take_place(*args)))
        toy.play(whole, 10, scale=40)
    path = tmp_path / "killed" / "run"
    path.parent.mkdir()
    told = killed_run(path, 10, 0.0, moment, number if number > 0 else len(publications))
    assert told is not None
    check_killed(path, told)
    left = sorted(os.listdir(path.parent))
    assert ("run.vtkhdf.part" in left) == (moment == "before") and "run.journal" in left
    toy.play(path, 10, scale=40)
    check_ended(path, whole)
