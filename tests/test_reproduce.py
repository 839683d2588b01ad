"""The frame in which experiments are repeated: verdicts that can fail, workers, pages; and one small experiment through all of it."""

from __future__ import annotations

import ast
import inspect
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant import PliantError
from pliant.cli import app
from pliant.shop import reproduce
from pliant.shop.reproduce import crew, page, spillmann
from pliant.shop.reproduce.costs import COSTS
from pliant.shop.reproduce.experiment import Desk, Experiment, Figure, Scan, scans_from
from pliant.shop.reproduce.keiser import Costs
from pliant.shop.reproduce.verdict import (
    AGREES,
    DIFFERS,
    SHOWN,
    SKIPPED,
    Bar,
    Claim,
    above,
    below,
    between,
    exactly,
    judge,
    near,
    times,
    within,
)

DOCS = Path(__file__).parents[1] / "docs"
EVERY = [(name, i, claim) for name in reproduce.SOURCES for i, each in reproduce.experiments(name).items() for claim in each.claims]
NAMED = [f"{name}-{i}-{claim.key}" for name, i, claim in EVERY]
JUDGED = [each for each in EVERY if each[2].bar is not None]


def right(bar: Bar) -> float:
    """A number inside a bar."""
    if math.isinf(bar.high):
        return bar.low + 1.0
    return bar.high - 1.0 if math.isinf(bar.low) else 0.5 * (bar.low + bar.high)


def wrong(bar: Bar) -> list[float]:
    """Numbers outside: at its ends, beyond them by little and by much, and none at all."""
    ends = [end for end in (bar.low, bar.high) if math.isfinite(end)]
    ways = [(end, -1.0 if end == bar.low else 1.0) for end in ends]
    return [*ends, *(end + way * step for end, way in ways for step in (1e-6 * max(1.0, abs(end)), 1e9)), math.nan]


@pytest.mark.parametrize("name, experiment, claim", JUDGED, ids=[n for n, each in zip(NAMED, EVERY, strict=True) if each[2].bar is not None])
def test_a_wrong_value_is_seen(name, experiment, claim):
    """For every verdict of every source: the right value agrees, each wrong one differs, and the bar is printed."""
    assert claim.bar.low < claim.bar.high
    (line,) = judge([claim], {claim.key: right(claim.bar)})
    assert line.verdict == AGREES and line.agrees is True
    for value in wrong(claim.bar):
        (line,) = judge([claim], {claim.key: value})
        assert line.verdict == DIFFERS and line.agrees is False, value
        assert line.tolerance and line.tolerance in line.text() and line.published in line.text() and line.here in line.text()


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name, i", [(name, i) for name in reproduce.SOURCES for i in reproduce.experiments(name)])
def test_a_wrong_value_makes_its_own_line_differ_on_the_whole_way(name, i, quick, tmp_path, monkeypatch):
    """From what an experiment measures to results.json and the page: one planted number, one line that differs, all others agree."""
    each = reproduce.experiments(name)[i]
    asked = [claim for claim in each.claims if not (quick and claim.whole)]
    good = {claim.key: 0.0 if claim.bar is None else right(claim.bar) for claim in asked}
    (job,) = crew.jobs({name: [i]}, tmp_path, quick)
    for claim in (claim for claim in asked if claim.bar is not None):
        planted = good | {claim.key: wrong(claim.bar)[0]}
        monkeypatch.setitem(reproduce.source(name).EXPERIMENTS, i, replace(each, measure=lambda desk, planted=planted: planted))
        (found,) = crew.run([job])
        (kept,) = crew.found_in(job.folder)
        assert [line.what for line in kept.lines if line.agrees is False] == [claim.what] and not kept.failed
        assert [line.verdict for line in found.lines] == [line.verdict for line in kept.lines]
        assert "1 differs" in page.write_page(name, job.folder).read_text(encoding="utf-8")


@pytest.mark.parametrize("name, experiment, claim", [each for each in EVERY if each[2].bar is None])
def test_what_has_no_published_figure_is_shown_only(name, experiment, claim):
    (line,) = judge([claim], {claim.key: 3.0})
    assert line.verdict == SHOWN and line.agrees is None and not line.tolerance


@pytest.mark.parametrize("name, i", [(name, i) for name in reproduce.SOURCES for i in reproduce.experiments(name)])
def test_every_experiment_is_whole(name, i):
    """It says what it is, its claims and figures have names of their own, something is judged, in the quick form as well."""
    each = reproduce.experiments(name)[i]
    assert each.measure.__doc__ and each.measure.__doc__.splitlines()[0].rstrip().endswith((".", '"'))
    assert len({claim.key for claim in each.claims}) == len(each.claims)
    assert len({claim.what for claim in each.claims}) == len(each.claims)
    assert any(claim.bar is not None and not claim.whole for claim in each.claims)
    assert each.figures and all(figure.file.endswith(".png") and figure.shows for figure in each.figures)
    whole, quick = COSTS[name][i]
    assert 0.0 < quick <= whole


def constants_given(source: str, keys: set[str]) -> list[str]:
    """Numbers written out where functions of a file give one of these keys its value, in a dict or by an assignment."""
    found = []
    for function in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)):
        given: list[tuple[ast.expr | None, ast.expr]] = []
        for node in ast.walk(function):
            if isinstance(node, ast.Dict):
                given += zip(node.keys, node.values, strict=True)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                given.append((node.targets[0].slice, node.value))
        for key, value in given:
            mine = key.value in keys if isinstance(key, ast.Constant) else isinstance(key, ast.JoinedStr)
            if mine and isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
                found.append(f"{ast.unparse(key)}: {ast.unparse(value)}")  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("name, i", [(name, i) for name in reproduce.SOURCES for i in reproduce.experiments(name)])
def test_no_measured_number_is_a_constant(name, i):
    """No literal is given as a measured number by any function of the file that measures."""
    each = reproduce.experiments(name)[i]
    assert not constants_given(Path(inspect.getfile(each.measure)).read_text(encoding="utf-8"), {claim.key for claim in each.claims})


@pytest.mark.parametrize("line", ['return {"a": 1.0}', 'found["a"] = True', 'found |= {f"{name} a": 0}'])
def test_a_constant_in_place_of_a_measured_number_is_seen(line):
    assert constants_given(f"def helper(found, name):\n    {line}\n", {"a"})
    assert not constants_given(f"def helper(found, name, value):\n    {line.rsplit(' ', 1)[0]} value{'}' if '}' in line else ''}\n", {"a"})


def test_figures_of_a_source_have_names_of_their_own():
    for name in reproduce.SOURCES:
        files = [figure.file for each in reproduce.experiments(name).values() for figure in each.figures]
        assert len(set(files)) == len(files)


@pytest.mark.parametrize("name", reproduce.SOURCES)
def test_pages_say_why_a_figure_differs(name):
    """Every row that differs has its reason in the same cell, long enough to be one."""
    rows = [row for row in (DOCS / f"reproduce-{name}.md").read_text(encoding="utf-8").splitlines() if row.startswith("|")]
    for row in rows:
        if "differs" in row.rsplit("|", 2)[1]:
            assert re.search(r"\*\*differs\*\*: \S.{20}", row.rsplit("|", 2)[1]), row


@pytest.mark.parametrize("name", reproduce.SOURCES)
def test_pages_have_the_lines_that_are_asked_now(name):
    """Every line of every experiment, with the range that its claim has, and the verdict that this gives the number in the row."""
    table = (DOCS / f"reproduce-{name}.md").read_text(encoding="utf-8").split("<!-- measured")[1].split("| figure |")[0]
    rows, last = {}, ""
    for row in (row for row in table.splitlines()[3:] if row.startswith("| ")):
        first, what, published, here, asked, verdict = (cell.strip() for cell in row[1:-1].split(" | "))
        last = first.split(" ")[0] or last
        rows[last, what] = published, here, asked, verdict
    for i, each in reproduce.experiments(name).items():
        assert {what for of, what in rows if of == i} == {claim.what for claim in each.claims}
        for claim in each.claims:
            published, here, asked, verdict = rows[i, claim.what]
            (line,) = judge([claim], {claim.key: float(here.split(" ")[0])})
            assert (published, asked) == (claim.published, line.tolerance or "-") and line.verdict in verdict, claim.what


def test_bars_hold_what_they_say():
    assert below(2.0).holds(1.999) and not below(2.0).holds(2.0) and above(0).holds(1) and not above(0).holds(0)
    assert near(100.0, 0.1).holds(109.9) and not near(100.0, 0.1).holds(110.1) and near(-2.0, 0.1).holds(-2.1)
    assert within(1.0, 0.5).holds(1.4) and not within(1.0, 0.5).holds(1.6) and exactly(375).holds(375) and not exactly(375).holds(374)
    assert times(10.0, 2.0).holds(19.0) and times(10.0, 2.0).holds(5.1) and not times(10.0, 2.0).holds(4.9)
    assert between(1.0, 2.0).holds(1.5) and not between(1.0, 2.0).holds(math.inf) and above(10.0).holds(math.inf)
    for bar in (below(1.0), above(1.0), between(0.0, 1.0), near(1.0, 0.1), within(1.0, 0.1), exactly(1), times(1.0, 2.0)):
        assert not bar.holds(math.nan) and bar.text


def test_numbers_without_claims_and_claims_without_numbers_are_mistakes():
    claims = [Claim("a", "what", "1", near(1.0, 0.1)), Claim("b", "more", "2", near(2.0, 0.1), whole=True)]
    with pytest.raises(PliantError, match="'c' was measured"):
        judge(claims, {"a": 1.0, "b": 2.0, "c": 3.0})
    with pytest.raises(PliantError, match="'b' was not measured"):
        judge(claims, {"a": 1.0})
    assert [line.verdict for line in judge(claims, {"a": 1.0}, quick=True)] == [AGREES, SKIPPED]
    with pytest.raises(PliantError, match="'a' was not measured"):
        judge(claims, {}, quick=True)


def test_wrong_names_get_the_nearest():
    with pytest.raises(PliantError, match="no source 'spilman'"):
        reproduce.source("spilman")
    with pytest.raises(PliantError, match="no experiment 'S9'"):
        reproduce.experiments("spillmann", ["S9"])


def fake(measure, **more):
    return Experiment(measure, (Claim("a", "a thing", "1", near(1.0, 0.1)),), (Figure("F.png", "nothing."),), **more)


def broken(desk):
    """Breaks."""
    raise ValueError("it broke")


def calm(desk):
    """Measures one thing."""
    desk.at(0.5)
    return {"a": 0.5 + 0.5 * len(desk.scans)}


def test_results_are_kept_and_one_that_fails_stops_no_other(tmp_path, monkeypatch):
    monkeypatch.setitem(spillmann.EXPERIMENTS, "S1", fake(broken))
    monkeypatch.setitem(spillmann.EXPERIMENTS, "S2", fake(calm))
    (tmp_path / "spillmann").mkdir()
    (tmp_path / "spillmann" / "results.json").write_text(json.dumps({"S9": {"source": "spillmann", "id": "S9", "lines": []}}))
    (tmp_path / "spillmann" / "F.png").write_bytes(b"of an earlier run")
    todo = crew.jobs({"spillmann": ["S1", "S2"]}, tmp_path)
    times, shown = crew.Times(todo, 1), []
    found = {each.id: each for each in crew.run(todo, 1, times, lambda: shown.append(dict(times.part)))}
    assert shown[0][todo[0].source, todo[0].id] == pytest.approx(0.0, abs=1e-6) and times.left() == 0.0
    assert found["S1"].failed == "ValueError: it broke" and not found["S1"].lines
    assert found["S2"].lines[0].agrees is False and found["S2"].lines[0].here == "0.5"
    assert set(crew.kept(tmp_path / "spillmann")) == {"S1", "S2", "S9"}
    text = page.write_page("spillmann", tmp_path / "spillmann").read_text()
    assert "it broke" in text and "1 within 10 %" in text and "differs" in text and "was not drawn" in text and "Not run: S3" in text
    assert "1 differs" in page.summary(found.values()) and "did not end: S1" in page.summary(found.values())


def test_what_has_ended_is_left_out_when_going_on(tmp_path, monkeypatch):
    """Kept: what ended in this form and on these surfaces. Done again: what broke, the other form, another surface."""
    monkeypatch.setitem(spillmann.EXPERIMENTS, "S1", fake(broken))
    monkeypatch.setitem(spillmann.EXPERIMENTS, "S2", fake(calm, parts=("head",)))
    todo = crew.jobs({"spillmann": ["S1", "S2", "S3"]}, tmp_path)
    crew.run([job for job in todo if job.id != "S3"])
    kept, left = crew.parted(todo)
    assert [found.id for found in kept] == ["S2"] and kept[0].lines[0].here == "0.5"
    assert {job.id for job in left} == {"S1", "S3"}
    assert not crew.parted(crew.jobs({"spillmann": ["S2"]}, tmp_path, quick=True))[0]
    other = crew.jobs({"spillmann": ["S2"]}, tmp_path, scans={"head": Scan("me.ply")})
    assert not crew.parted(other)[0]
    crew.run(other)
    assert crew.parted(other)[0] and not crew.parted(crew.jobs({"spillmann": ["S2"]}, tmp_path))[0]
    assert "head is me.ply" in page.write_page("spillmann", tmp_path / "spillmann").read_text()


def test_scans_go_where_they_fit(tmp_path, monkeypatch):
    monkeypatch.setitem(spillmann.EXPERIMENTS, "S2", fake(calm, parts=("head",)))
    (tmp_path / "me.ply").write_text("ply")
    scans = scans_from([f"head={tmp_path / 'me.ply'}"], "mm", "y")
    assert scans["head"].shape(size=1.0) == {"file": str(tmp_path / "me.ply"), "unit": "mm", "up": "y", "size": 1.0}
    (job,) = crew.jobs({"spillmann": ["S2"]}, tmp_path, scans=scans)
    assert crew.work(job).lines[0].agrees is True
    with pytest.raises(PliantError, match="none of these experiments has such a part"):
        crew.jobs({"spillmann": ["S1"]}, tmp_path, scans={"head": Scan("x")})
    for given, why in (("head", "takes PART=FILE"), ("hat=x", "no experiment has a part 'hat'"), ("head=nowhere.ply", "there is no file")):
        with pytest.raises(PliantError, match=why):
            scans_from([given], "m", "z")


def test_the_time_left_follows_what_was_seen(monkeypatch):
    todo = [crew.Job("s", str(k), None, False, {}, cost) for k, cost in enumerate((100.0, 50.0, 50.0))]
    now = [0.0]
    monkeypatch.setattr(crew.time, "monotonic", lambda: now[0])
    times = crew.Times(todo, 2)
    assert times.left() == pytest.approx(100.0)  # two workers, 200 s
    now[0] = 100.0
    times.tell(("s", "0"), 1.0)  # one worker needed twice as long as thought
    assert times.ended == 1 and 50.0 < times.left() < 100.0 * 2
    times.tell(("s", "1"), 0.5)
    assert times.running == ["s 1 50 %"]


def test_a_small_experiment_runs_and_draws(tmp_path, monkeypatch):
    small = replace(spillmann.EXPERIMENTS["S1"], measure=lambda desk: spillmann._squeezed(desk, "S1", spillmann.scenes.make(
        "squeezed-bars", squeeze=0.15, layers=1, edge=0.02, dt=0.0003, duration=0.2), ("press",)))  # fmt: skip
    measured = small.measure(Desk(tmp_path, quick=True))
    lines = judge(small.claims, measured, quick=True)
    assert lines[0].agrees is True and "edge" in lines[0].here
    assert {p.name for p in tmp_path.iterdir()} == {figure.file for figure in small.figures}
    assert all(p.stat().st_size > 2000 for p in tmp_path.iterdir())


@pytest.mark.parametrize("figures", [["Fig3"], pytest.param(["Fig3", "Fig4"], marks=pytest.mark.slow)])  # one needs no second process
def test_the_command_runs_workers_and_writes_a_page(tmp_path, figures):
    done = CliRunner().invoke(app, ["reproduce", "pauly", *figures, "--workers", "2", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "f(2 r) / f(r): published 1/2 / here 0.5 / agrees" in done.output and "asked: 0.5 within 1e-09" in done.output
    assert (tmp_path / "pauly" / "page.html").stat().st_size > 10_000
    done = CliRunner().invoke(app, ["reproduce", "all", "S1"])
    assert done.exit_code != 0 and isinstance(done.exception, PliantError)


def test_contact_time_that_follows_surfels_correlates_through_the_noise_of_single_steps():
    """A fifth of the steps take twice as long; and the whole correlates less where surfels cost less on the way back."""
    hits = np.concatenate([np.zeros(5), np.arange(1, 121), np.arange(120, 60, -1)]).astype(float)
    back = np.arange(len(hits)) >= 125
    contact = 1e-3 + 1e-5 * hits * np.where(back, 0.8, 1.0)
    contact[::5] *= 2.0
    first, slope, together, approach = Costs(contact, contact, hits, hits).slope
    assert approach > 0.999 > together > 0.9
    assert first == pytest.approx(1e-3, abs=2e-4) and 0.8e-5 < slope < 1.1e-5


def test_response_is_timed_from_kept_states_in_turns():
    """Each state gives the contacts that it has, whatever came before it; times are those of the response alone."""
    scene = spillmann.scenes.make("squeezed-bars", layers=2, edge=0.02, dt=0.0002, duration=0.3)
    sim, seen = spillmann.watch(Desk(Path()), scene.copy_with(duration=0.12), every=50, more=20)
    few, many = seen.states[0], seen.states[-1]
    assert len(seen.states) >= 2 and few.time < many.time
    contacts, response = spillmann.clock(sim, [many, few])
    assert contacts[0] >= contacts[1] + 20 and (response > 0.0).all() and (response < 1.0).all()


def test_the_method_to_the_letter_is_what_s8_runs(monkeypatch):
    seen = []
    monkeypatch.setattr(spillmann, "_squeezed", lambda desk, label, scene, clear: seen.append(scene.contact) or {})
    found = spillmann.s8(Desk(Path(), quick=True))
    assert seen == [spillmann.LETTER] and spillmann.LETTER["mode"] == "paper" and spillmann.LETTER["overdue"] == "at once"
    assert found["momentum0"] < 1e-12 and found["turned0"] > 5.0  # Newton's third law holds, the moment does not
