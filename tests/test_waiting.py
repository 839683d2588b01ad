"""What takes long says what it is at; what is quick says nothing."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from pliant import waiting
from pliant.cli import bars, main
from pliant.cli.options import alone
from pliant.waiting import doing, telling


@pytest.fixture
def impatient(monkeypatch):
    """Says something after no time at all."""
    monkeypatch.setattr(waiting, "LOOK", 0.002)
    monkeypatch.setattr(waiting, "SILENT", 0.0)


def heard(said, words: str) -> bool:
    """Whether another thread says this before long."""
    until = time.monotonic() + 20.0
    while not any(words in text for text in said):
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def test_the_innermost_stage_is_told_with_the_time_of_the_outermost(impatient):
    said: list[str] = []
    with telling(said.append):
        with doing("building the scene"), doing("making 'blob'"):
            assert heard(said, "making 'blob', 0 s so far")
        count = len(said)
        time.sleep(0.05)
        assert len(said) <= count + 1  # nothing is being done; one may have been on its way
    assert not [thread for thread in threading.enumerate() if thread.name == "pliant telling"]


def test_lines_become_rarer(monkeypatch):
    """After 5, 10, 20, 40, 80 s, and then every minute."""
    now, said = [100.0], []
    monkeypatch.setattr(waiting, "SILENT", 5.0)
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])

    class Clock:
        """Half a second between two looks, for 300 s."""

        def wait(self, seconds: float) -> bool:
            now[0] += seconds
            return now[0] > 400.0

    with doing("working"):
        waiting._tell(said.append, Clock())
    assert [int(text.split(", ")[1].split()[0]) for text in said] == [5, 10, 20, 40, 80, 140, 200, 260]


def test_stages_of_other_threads_end_in_any_order():
    with doing("a"):
        other = doing("b")
        with doing("c"):
            other.__enter__()
        other.__exit__(None, None, None)
        assert [stage.words for stage in waiting._stages] == ["a"]
    assert not waiting._stages


def test_a_bar_without_a_terminal_speaks_while_nothing_comes(impatient, monkeypatch, capsys):
    """A first step of minutes was silent."""
    said: list[str] = []
    with telling(said.append), bars.bar("running") as show:
        assert heard(said, "running: the first part")
        monkeypatch.setattr(bars, "OFTEN", 0.0)
        show(1.0, 2.0, "", "t = 1 of 2 s")
        assert heard(said, "running: what comes after t = 1 of 2 s")


def test_building_says_whose_body_it_makes(impatient, monkeypatch, tmp_path, capsys):
    """A fine mesh was built for half a minute without a word."""
    from pliant.bodies import parts

    made = parts._made

    def slow(*given):
        assert heard(lines, "Making 'slab', 0 s so far.")
        return made(*given)

    class Lines(list):
        def write(self, text):
            self.append(text)

        def flush(self):
            pass

        def isatty(self):
            return False

    lines = Lines()
    monkeypatch.setattr(parts, "_made", slow)
    monkeypatch.setattr(sys, "stderr", lines)
    scene = tmp_path / "scene.toml"
    scene.write_text(
        'dt = 0.01\nduration = 0.01\ncontact = "ground"\n[[bodies]]\nname = "slab"\nmodel = "rigid"\nshape = { kind = "box", size = [1, 1, 1] }\n'
    )
    monkeypatch.setattr(sys, "argv", ["pliant", "run", str(scene), "--no-pictures", "--out", str(tmp_path / "run")])
    try:
        main()
    except SystemExit as end:
        assert not end.code


def test_json_comes_alone(impatient):
    """Lines of progress went between the lines of JSON where a program reads both."""
    said: list[str] = []
    with telling(said.append):
        with doing("reading"):
            assert heard(said, "reading")
            assert alone(True)
            time.sleep(0.02)  # one may have been on its way
            count = len(said)
            time.sleep(0.05)
            assert len(said) == count
    with telling(said.append), doing("reading again"):  # the next command is told
        assert not alone(False) and heard(said, "reading again")
