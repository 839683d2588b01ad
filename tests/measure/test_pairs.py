"""Contacts per pair: sums against the rows, history of a run, and the command that shows them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from pliant import Scene
from pliant.base import PliantError
from pliant.cli.terminal import pair_table as shown_table
from pliant.contact.contacts import Contacts
from pliant.measure.forces import Forces
from pliant.measure.history import History
from pliant.measure.interval import Interval
from pliant.measure.pairs import at_time, of_frame, pair_series, pair_table, per_pair
from pliant.measure.resolution import WORDS, words_of_steps
from pliant.measure.watch import Watch
from pliant.record import Run
from pliant.simulate import running


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A soft box lies on a soft pad that lies on the ground: rows of both bodies in each other."""
    scene = Scene(dt=0.005, duration=0.2, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=2e5, mass_damping=5.0)
    scene.add(name="pad", shape=dict(kind="box", size=(0.3, 0.3, 0.1), edge=0.1), position=(0, 0, 0.05), material=soft)
    scene.add(name="box", shape=dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.1), position=(0.01, 0.02, 0.15), material=soft)
    path = tmp_path_factory.mktemp("run") / "a"
    sim, recorder = running.start(scene, path, every=0.05)
    running.run(sim, recorder)
    return sim, path.with_suffix(".vtkhdf")


def test_sums_of_a_pair_are_those_of_its_rows_in_both_directions(run):
    sim, _ = run
    table = per_pair(sim.contacts())
    names = sim.world.model.bodies.names
    assert len(table["a"]) == 2 and (table["a"] < table["b"]).all()
    for i in range(2):
        rows = sim.contacts(names[table["a"][i]], names[table["b"][i]])
        assert table["force"][i] == pytest.approx(rows.total_force, rel=1e-12, abs=1e-12)
        assert table["torque"][i] == pytest.approx(rows.total_torque(), rel=1e-12, abs=1e-12)
        assert table["centre"][i] == pytest.approx(rows.center_of_pressure, rel=1e-12)
        assert table["area"][i] == pytest.approx(rows.total_area, rel=1e-12)
        assert table["pressure"][i] == pytest.approx(np.nanmax(rows.pressure)) and table["contacts"][i] == len(rows)
        assert table["depth"][i] == pytest.approx(rows.depth.max())
    assert per_pair(sim.contacts().select(np.zeros(len(sim.contacts()), bool))) == {}


def test_history_of_a_pair_turns_with_the_body_asked_for(run):
    sim, path = run
    with Run.open(path) as opened:
        on_box, on_pad = pair_series(opened, "box", "pad"), pair_series(opened, "pad", "box")
        assert on_box["force"] == pytest.approx(-on_pad["force"]) and on_box["area"] == pytest.approx(on_pad["area"])
        assert on_box["force"][-1] == pytest.approx(sim.contacts("box", "pad").total_force, rel=1e-12)
        assert len(on_box["time"]) == 40 and on_box["force"][-1, 2] > 0
        never = pair_series(opened, "box", "ground")
        assert not never["force"].any() and np.isnan(never["centre"]).all()  # there is no centre of nothing
        with pytest.raises(PliantError, match="no body 'bok'"):
            pair_series(opened, "bok", "pad")


def test_the_command_shows_and_writes_them(run, tmp_path, capsys):
    from typer.testing import CliRunner

    from pliant.cli import app

    _, path = run
    stem = tmp_path / "out"
    done = CliRunner().invoke(app, ["contacts", str(path), "--pair", "box", "pad", "--out", str(stem), "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.output)
    assert facts["pairs"][0]["a"] == "box" and facts["pairs"][0]["force"][2] > 0
    rows = list(csv.DictReader(stem.with_suffix(".csv").open()))
    assert len(rows) == 40 and float(rows[-1]["force_z"]) == pytest.approx(facts["pairs"][0]["force"][2], rel=1e-9)
    assert stem.with_suffix(".png").stat().st_size > 10_000
    done = CliRunner().invoke(app, ["contacts", str(path), "--out", str(stem)])
    assert done.exit_code == 0 and "ground" in done.output
    rows = list(csv.DictReader(stem.with_suffix(".csv").open()))
    assert {(r["a"], r["b"]) for r in rows} == {("ground", "pad"), ("pad", "box")}


def test_the_same_history_as_pandas_and_parquet(run, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from typer.testing import CliRunner

    from pliant.cli import app

    sim, path = run
    with Run.open(path) as opened:
        one, everything = opened.pandas("box", "pad"), opened.pandas()
    assert one["force_z"].iloc[-1] == pytest.approx(sim.contacts("box", "pad").total_force[2], rel=1e-12) and len(one) == 40
    assert set(zip(everything["a"], everything["b"], strict=True)) == {("ground", "pad"), ("pad", "box")}
    done = CliRunner().invoke(app, ["contacts", str(path), "--pair", "box", "pad", "--to", "parquet", "--out", str(tmp_path / "x")])
    assert done.exit_code == 0, done.output
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "x.parquet"), one)


def test_pairs_that_parted_are_told_with_their_last_touch(tmp_path):
    scene = Scene(name="bounce", dt=0.002, duration=0.3, gravity=(0, 0, 0), contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    ball = dict(kind="ball", radius=0.05, edge=0.05)
    scene.add(name="ball", model="rigid", shape=ball, position=(0, 0, 0.052), velocity=(0, 0, -1.0))
    running.run(*running.start(scene.copy_with(contact="penalty"), tmp_path / "bounce", every=0.01))
    with Run.open(tmp_path / "bounce") as run:
        force, time = pair_series(run, "ball", "ground"), run.series()["time"]
        size = np.linalg.norm(force["force"], axis=1)
        touched = np.flatnonzero(size > 0)
        assert 0 < len(touched) and touched[-1] < len(time) - 1, "it left the ground again"
        forces = Forces(run)
        assert forces.parted(0.0) == [] and forces.parted(float(time[touched[0]])) == []
        (row,) = forces.parted(float(time[-1]))
        assert {row.a, row.b} == {"ground", "ball"} and row.peak == pytest.approx(size.max())
        assert row.last >= time[touched[-1]] and row.peak_at == pytest.approx(time[np.argmax(size)])


def test_a_sliver_has_no_pressure_of_its_own():
    """A soft ball that falls on a plane: the first patch is 1e-4 of a face, with 40 times the pressure that its elements can tell."""
    scene = Scene(dt=0.002, duration=0.11)
    scene.add(name="ground", shape="plane", model="static")
    shape = dict(kind="ball", radius=0.05, edge=0.02)
    scene.add(name="ball", shape=shape, position=(0, 0, 0.1), material=dict(youngs_modulus=1e5), integrator="implicit")
    sim, history = scene.simulate(), []
    watch = Watch(sim, "pressure", pair=("ball", "ground"))
    raw, field = 0.0, History(sim)
    for _ in range(55):
        interval = Interval()
        report = sim.step(each=lambda part, interval=interval: (interval.take(part), watch.take(part), field.take(part)))
        raw = max(raw, np.nanmax(report.contacts.pressure, initial=0.0))
        history.append(interval.pairs(sim.world).get("pressure", np.zeros(1)).max())
    true = field.max_pressure.max()
    assert raw > 3.0 * true > 1e4  # the case is one
    assert true < max(history) < 2.0 * true and max(watch.values) == max(history)


def test_a_sliver_is_told_with_what_is_nearest_to_it():
    """Three faces of 2, 1 and 1 cm², and at the rim of the last a sliver of 1 mm² with 30 times their pressure."""
    rows, face = Contacts.unknown(5, 1e-3), np.full(5, 1e-4)
    rows.a, rows.b = np.array([1, 0, 0, 0, 2]), np.array([0, 1, 1, 1, 0])
    rows.point = np.array([[0, 0, 0], [0.02, 0, 0], [0.04, 0, 0], [0.045, 0, 0], [0.045, 0, 0]], float)
    rows.normal = np.tile([0.0, 0.0, 1.0], (5, 1))
    rows.area, force = np.array([2e-4, 1e-4, 1e-4, 1e-6, 1e-6]), np.array([2.2, 1.0, 0.9, 0.3, 0.3])
    rows.impulse = rows.dt * force
    assert rows.pressure.max() == pytest.approx(3e5) and per_pair(rows)["pressure"] == pytest.approx([3e5, 3e5])
    told = per_pair(rows, face)
    assert told["pressure"] == pytest.approx([1.2 / 1.01e-4, 0.3 / 1e-4])  # with the face beside it; alone, over a face
    assert told["normal_force"] == pytest.approx([4.4, 0.3]) and told["area"] == pytest.approx([4.01e-4, 1e-6])
    assert told["mean_pressure"] == pytest.approx([4.4 / 4.01e-4, 0.3 / 1e-4])  # of a sliver alone not 3e5, far above the largest
    assert per_pair(rows)["mean_pressure"] == pytest.approx([4.4 / 4.01e-4, 3e5])
    assert told["over_a_face"].tolist() == [0, 1] and per_pair(rows)["over_a_face"].tolist() == [0, 0]
    pairs = [{name: told[name][k] for name in told} | {"a": "ball", "b": "ground"} for k in range(2)]
    shown = shown_table(pairs, "")
    assert [each.endswith("*") for each in shown.columns[7]._cells] == [False, True] and "over a face" in str(shown.caption)
    assert shown_table(pairs[:1], "").caption is None and list(shown.columns[5]._cells) == ["4.4", "0.3"]
    order = [3, 2, 4, 0, 1]
    assert per_pair(rows.select(order), face)["pressure"] == pytest.approx(told["pressure"])
    assert per_pair(rows, np.zeros(5))["pressure"] == pytest.approx([3e5, 3e5])  # bodies without elements have no face


@pytest.mark.parametrize("pair", [("low", "ground"), ("ground", "low"), ("low", None), ("high", "low")])
def test_what_is_watched_is_the_sum_over_the_rows_of_a_pair(pair):
    scene = Scene(dt=0.004)
    scene.add(name="ground", shape="plane", model="static")
    box = dict(shape=dict(kind="box", size=(0.1, 0.1, 0.1)), model="rigid", velocity=(0.5, 0.1, 0))
    scene.add(name="low", position=(0, 0, 0.05), **box)
    scene.add(name="high", position=(0.01, 0, 0.15), **(box | dict(velocity=(0, 0, 0))))
    sim = scene.simulate()
    watches = {of: Watch(sim, of, pair=pair) for of in ("force", "friction", "normal_force", "slip")}
    slid = 0.0
    for _ in range(8):
        contacts = sim.step(each=lambda report: [watch.take(report) for watch in watches.values()]).contacts
        chosen, turn = watches["force"].rows(contacts)
        pressed = np.maximum(contacts.normal_force[chosen], 0.0)
        slid += np.sum(pressed * np.linalg.norm(contacts.slip[chosen], axis=1)) / max(pressed.sum(), 1e-300)
    assert pressed.sum() > 1.0 and slid > 1e-4
    for of, column in (("force", contacts.force), ("friction", contacts.friction)):
        assert watches[of].vectors[-1] == pytest.approx(np.sum(turn[:, None] * column[chosen], axis=0), rel=1e-12, abs=1e-12)
    assert watches["normal_force"].values[-1] == pytest.approx(contacts.normal_force[chosen].sum(), rel=1e-12)
    assert watches["slip"].values[-1] == pytest.approx(slid, rel=1e-12)


def test_a_frame_tells_the_pressures_of_the_history(run):
    _, path = run
    with Run.open(path) as opened:
        frame, row = of_frame(opened, opened.contacts(t=0.2)), at_time(opened, 0.2)["pad", "box"]
        assert of_frame(opened, opened.contacts(t=0.2).select(np.zeros(0, np.int64))) == {}
    for name in ("normal_force", "area", "mean_pressure", "pressure"):
        assert frame[name][1] == pytest.approx(row[name], rel=1e-6)  # after that of ground and pad
    assert 0.0 < row["mean_pressure"] == pytest.approx(row["normal_force"] / max(row["area"], 0.25 * 3**0.5 * row["edge"] ** 2))


def test_every_step_of_a_pair_has_its_words(run):
    _, path = run
    with Run.open(path) as opened:
        table, one = pair_table(opened), pair_series(opened, "box", "pad")
        rest, between = at_time(opened, 0.2), at_time(opened, 0.2012)
    mine = table["a"] == "pad"
    for name in ("in_depth", "in_time", "in_space"):
        assert set(table[name]) <= {*WORDS, ""} and list(one[name][-np.count_nonzero(mine) :]) == list(table[name][mine])
    assert table["in_time"][mine][-1] == "resolved" and table["in_space"][mine][-1] == "not resolved"  # 3 elements across, at rest
    assert rest["pad", "box"]["in_time"] == "resolved" and between == {}


def test_a_spike_of_one_step_is_not_resolved_and_its_neighbours_are():
    count = 100
    rows = {"row": np.arange(5, 5 + count), "area": np.full(count, 1e-2), "edge": np.full(count, 1e-3), "length": np.full(count, 1e-3)}
    rows |= {"depth": np.linspace(0, 4e-4, count), "elastic": np.full(count, np.nan), "force": np.zeros((count, 3))}
    rows["force"][:, 2] = 10.0 * np.sin(np.pi * np.arange(1, count + 1) / (count + 1))
    smooth = words_of_steps(rows, 10.0)
    assert set(smooth["in_time"]) == {"resolved"} and set(smooth["in_space"]) == {"resolved"}
    assert [list(smooth["in_depth"]).index(word) for word in WORDS] == [0, 13, 62]  # beyond 5 and 25 % of 1 mm
    rows["force"][40, 2] *= 9.0
    assert list(np.flatnonzero(words_of_steps(rows, 10.0)["in_time"] == "not resolved")) == [40, 41]
    few = {name: values[:3] for name, values in rows.items()}  # a touch of three steps
    few["force"] = 10.0 * np.sin(0.25 * np.pi * np.arange(1, 4))[:, None] * [0, 0, 1.0]
    assert list(words_of_steps(few, 10.0)["in_time"]) == ["not resolved", "resolved", "resolved"]  # 7, 3 and 3 N from step to step
