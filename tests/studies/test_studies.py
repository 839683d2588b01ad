"""Studies in one process: designs, measures, tables that grow and cannot be lost, thresholds and sensitivity, against what theory says."""

from __future__ import annotations

import csv
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant import PliantError, Scene, Study, shapes
from pliant.geometry.mesh import TetMesh
from pliant.measure.windows import taken, window_means
from pliant.studies import plots
from pliant.studies.case import packed, unpack_files, unpacked
from pliant.studies.ledger import Ledger, read_rows
from pliant.studies.sensitivity import unit_samples
from pliant.studies.study import condition_of
from pliant.studies.work import Result

from .conftest import FALL, ball, fallen

SRC = Path(pliant.__file__).parents[1]


def study(**values) -> Study:
    given = {"scene": ball(), "parameters": {"gravity[2]": [-1.0, -2.0]}, "measures": {"fall": FALL}, **values}
    return Study(**given)


# -- measures


def test_a_windowed_peak_does_not_depend_on_the_steps():
    """A push of 10 N s within 1 ms, seen over 10 ms, is a mean of 1000 N, however the steps lie."""
    for dt in (1e-4, 2.5e-4, 1e-3):
        end = np.arange(dt, 0.05 + dt / 2, dt)
        force = np.where((end > 0.02 + dt / 2) & (end < 0.021 + dt / 2), 1e4, 0.0)
        steps = np.full(len(end), dt)
        assert taken("peak", end, steps, force, window=0.01) == pytest.approx(1000.0, rel=1e-9)
        assert taken("peak", end, steps, force) == 1e4 and taken("integral", end, steps, force) == pytest.approx(10.0)


@pytest.mark.parametrize("seed", range(3))
def test_window_means_are_those_of_brute_force(seed):
    random = np.random.default_rng(seed)
    dt = random.uniform(0.01, 0.2, 30)
    end, values, window = np.cumsum(dt), random.normal(size=30), 0.5
    fine = np.linspace(0.0, end[-1], 200001)
    mean = lambda t: values[np.minimum(np.searchsorted(end, fine[(fine > t - window) & (fine <= t)]), 29)].mean()
    ends, means = window_means(end, dt, values, window)
    assert np.allclose([mean(t) for t in ends[::7]], means[::7], atol=2e-3)
    anywhere = [mean(t) for t in random.uniform(window, end[-1], 50)]
    assert max(anywhere) <= means.max() + 2e-3 and min(anywhere) >= means.min() - 2e-3


def test_measures_of_a_resting_box_are_its_weight(tmp_path):
    scene = Scene(dt=0.002, duration=0.4, contact="ground")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    scene.add(name="box", shape={"kind": "box", "size": [0.1, 0.1, 0.1], "edge": 0.1}, model="rigid", position=(0, 0, 0.05), friction=0.5)
    late = {"between": ["0.2s", "0.4s"], "take": "mean"}
    measures = {
        "force": {"of": "force", "pair": ["box", "ground"], "component": "z", **late}, "any": {"of": "normal_force", "pair": ["box"], **late},
        "down": {"of": "force", "pair": ["ground", "box"], "component": "z", **late},
        "impulse": {"of": "force", "pair": ["box", "ground"], "component": "z", "take": "integral"},
        "touches": {"of": "touches", "pair": ["box", "ground"]}, "tears": {"of": "tears"},
        "first": {"of": "touches", "pair": ["box", "ground"], "take": "when"}, "slips": {"of": "slips", "pair": ["box", "ground"], "above": "1mm"},
        "energy": {"of": "kinetic", **late}, "corner": {"of": "position", "body": "box", "at": [0.05, 0.05, 0.1], "component": "z"},
        "relative": {"of": "displacement", "body": "box", "relative_to": "box"}, "speed": {"of": "velocity", "body": "box", **late},
    }  # fmt: skip
    row = Study(scene=scene, measures=measures).run(tmp_path, workers=0, page=False).rows[0]
    weight = 9.81
    assert row["force"] == pytest.approx(weight, rel=0.01) and row["any"] == pytest.approx(weight, rel=0.01) and row["down"] == -row["force"]
    assert row["impulse"] == pytest.approx(0.4 * weight, rel=0.02)  # it is where it was, so all of gravity's momentum was taken up
    assert (row["touches"], row["tears"], row["slips"], row["relative"]) == (1.0, 0.0, 0.0, 0.0) and row["first"] == pytest.approx(0.002)
    assert row["energy"] < 1e-6 and row["corner"] == pytest.approx(0.1, abs=1e-3) and row["speed"] < 1e-3


def pushed() -> Scene:
    scene = ball()
    scene.bodies[0].loads = [{"value": [1, 0, 0]}]
    return scene


WRONG_UNITS = [  # where, and how it is said in each kind of study
    ({"parameters": {"push": {"values": ["0.7N", "0.7kg"], "paths": ["ball.loads[0].value[0]"]}}}, "'0.7kg' cannot be told in N"),
    ({"parameters": {"push": {"linear": ["1mm", "3mm"], "count": 2, "paths": {"ball.loads[0].value[0]": -1}}}}, "'1mm' cannot be told in N"),
    ({"parameters": {"ball.material.density": {"log": [1, "5mm"], "count": 2}}}, "'5mm' cannot be told in kg/m"),
    ({"parameters": {"ball.position[2]": ["5kg"]}}, "'5kg' cannot be told in m"),
    ({"parameters": {"ball.friction": ["0.3kg"]}}, "it has no unit"),
    ({"find": {"parameter": "gravity[2]", "between": ["-5m", "-1m"], "condition": "fall < -1mm", "tolerance": 0.1}}, "cannot be told in m/s"),
    ({"calibrate": {"curves": [], "parameters": {"ball.velocity[2]": {"between": ["1Pa", 2]}}}}, "'1Pa' cannot be told in m/s"),
    ({"design": "table", "table": "cases.csv"}, "'5kg' cannot be told in m/s"),
]


@pytest.mark.parametrize(("asked", "said"), WRONG_UNITS)
def test_parameters_in_a_unit_that_does_not_fit_are_refused_before_anything_runs(tmp_path, asked, said):
    (tmp_path / "cases.csv").write_text("ball.velocity[2]\n1m/s\n5kg\n")
    made = study(**{"scene": pushed(), "parameters": {}, **asked})
    made._folder = tmp_path
    with pytest.raises(PliantError, match="The parameter '.*" + said):
        made.run(tmp_path / "out", workers=0)
    assert not (tmp_path / "out").exists()


def test_parameters_in_any_unit_that_fits_are_taken(tmp_path):
    names = {"push": {"values": ["0.7N", "700mN"], "paths": {"ball.loads[0].value[0]": -1}}, "ball.shape.radius": ["100mm"],
             "ball.material.density": ["1g/cm^3"], "ball.friction": [0.3]}  # fmt: skip
    study(scene=pushed(), parameters=names).check()
    study(scene="slope", parameters={"angle": ["5deg"], "gravity[2]": ["-1m/s^2"]}, measures={}).check()


# -- sweeps and tables


def test_a_sweep_is_what_theory_says_and_its_table_is_on_disk(tmp_path):
    made = study(parameters={"gravity[2]": ["-1m/s^2", -2.0, -4], "ball.velocity[2]": {"linear": ["0m/s", "3.6km/h"], "count": 2}})
    results = made.run(tmp_path, workers=0)
    assert [(r["gravity[2]"], r["ball.velocity[2]"]) for r in results.rows] == [(g, v) for g in (-1.0, -2.0, -4) for v in (0.0, 1.0)]
    for row in results.rows:
        assert row["fall"] == pytest.approx(fallen(-row["gravity[2]"], row["ball.velocity[2]"]), rel=1e-12) and row["status"] == "finished"
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(r["fall"]) for r in rows] == [r["fall"] for r in results.rows]
    frame = results.table
    import pandas

    assert pandas.read_parquet(tmp_path / "table.parquet").equals(frame) and len(frame) == 6
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/png") >= 3 and "gravity[2]" in page and "table.parquet" in page


def test_a_second_run_does_nothing_and_a_change_does_only_what_is_new(tmp_path):
    first = study().run(tmp_path, workers=0, page=False)
    again = study().run(tmp_path, workers=0, page=False)
    assert again.found == 2 and again.rows == first.rows
    more = study(parameters={"gravity[2]": [-2.0, -3.0, "-1m/s^2"]}).run(tmp_path, workers=0, page=False)
    assert more.found == 2 and [r["gravity[2]"] for r in more.rows] == [-2.0, -3.0, -1.0]
    assert len(read_rows(tmp_path / "rows.jsonl")) == 3
    other = study(measures={"fall": FALL, "top": {"of": "position", "body": "ball", "take": "peak"}}).run(tmp_path, workers=0, page=False)
    assert other.found == 0 and len(read_rows(tmp_path / "rows.jsonl")) == 5


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_row_that_was_cut_off_is_run_again(tmp_path, cut):
    first = study().run(tmp_path, workers=0, page=False)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    again = study().run(tmp_path, workers=0, page=False)
    assert again.found == 1 and [r["fall"] for r in again.rows] == [r["fall"] for r in first.rows]
    assert len(path.read_bytes().splitlines()) == 2


DRIVER = """
import os, signal, sys
from pliant import Study
from pliant.studies.ledger import Ledger
sys.path.insert(0, sys.argv[1])
from conftest import FALL, ball
add, count = Ledger.add, [0]
def then_die(self, result):
    add(self, result)
    count[0] += 1
    if count[0] == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
Ledger.add = then_die
Study(scene=ball(), parameters={"gravity[2]": [-1.0, -2.0, -3.0, -4.0]}, measures={"fall": FALL}).run(sys.argv[2], workers=0, page=False)
"""


def test_a_study_killed_with_9_goes_on_where_it_was(tmp_path, plain_rows):
    command = [sys.executable, "-c", DRIVER, str(Path(__file__).parent), str(tmp_path / "a"), "2"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SRC)}, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(read_rows(tmp_path / "a" / "rows.jsonl")) == 2
    wanted = {"gravity[2]": [-1.0, -2.0, -3.0, -4.0]}
    again = study(parameters=wanted).run(tmp_path / "a", workers=0, page=False)
    whole = study(parameters=wanted).run(tmp_path / "b", workers=0, page=False)
    assert again.found == 2 and plain_rows(again) == plain_rows(whole)
    assert len(read_rows(tmp_path / "a" / "rows.jsonl")) == 4


def test_a_full_disk_loses_no_row(tmp_path):
    """A limit on the size of files stands for the disk: the row that does not fit is not there, those before are whole."""
    ledger = Ledger(tmp_path)
    ledger.add(Result("a", "finished", measures={"x": 1.0}))
    size = ledger.path.stat().st_size
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, before[1]))
        with pytest.raises(PliantError, match="make room and run the study again"):
            ledger.add(Result("b", "finished", measures={"x": 2.0}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert ledger.path.stat().st_size == size and list(ledger.results) == ["a"]
    ledger.add(Result("c", "finished"))
    ledger.close()
    assert [row.key for row in read_rows(tmp_path / "rows.jsonl")] == ["a", "c"]


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_study_goes_on_when_a_full_disk_has_room_again(tmp_path, small_disk, plain_rows, workers):
    """A file system that takes some of the cases: those are whole, and none is done twice when it has grown."""
    wanted = {"parameters": {"gravity[2]": [-0.1 * k for k in range(1, 21)]}, "keep": "histories"}
    with small_disk(tmp_path / "disk", 13 * 4096) as disk:
        with pytest.raises(PliantError, match="No space left on device.*[Mm]ake room"):
            study(**wanted).run(disk / "a", workers=workers, page=False)
        there = read_rows(disk / "a" / "rows.jsonl")
        assert 0 < len(there) < 20 and all((disk / "a" / "cases" / f"{row.key}.{kept}").stat().st_size for row in there for kept in row.files)
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        again = study(**wanted).run(disk / "a", workers=workers, page=False)
        assert again.found == len(there) and len(read_rows(disk / "a" / "rows.jsonl")) == 20
        whole = study(**wanted).run(tmp_path / "b", workers=0, page=False)
        assert plain_rows(again) == plain_rows(whole)


def test_two_studies_cannot_share_a_folder(tmp_path):
    ledger = Ledger(tmp_path)
    with pytest.raises(PliantError, match="Another process"):
        Ledger(tmp_path)
    ledger.close()
    Ledger(tmp_path).close()


def explodes(run):
    if run.parameters["gravity[2]"] < -1.5:
        raise RuntimeError("no such sensor")
    return {"g": run.parameters["gravity[2]"], "last": float(run.history("fall")[1][-1])}


def test_a_case_that_fails_is_a_row_with_its_reason_and_can_be_retried(tmp_path):
    made = study(measures={"fall": FALL, "mine": explodes})
    results = made.run(tmp_path, workers=0)
    good, bad = results.rows
    assert good["status"] == "finished" and good["mine.g"] == -1.0 and good["mine.last"] == good["fall"]
    assert bad["status"] == "failed" and "RuntimeError: no such sensor (test_studies.py, line" in bad["reason"]
    assert bad["fall"] == pytest.approx(fallen(2.0)) and math.isnan(bad["mine.g"])  # what was measured before stays
    assert "no such sensor" in (tmp_path / "report.html").read_text()
    assert made.run(tmp_path, workers=0, page=False).found == 2
    again = made.run(tmp_path, workers=0, page=False, retry="failed")
    assert again.found == 1 and len(read_rows(tmp_path / "rows.jsonl")) == 3
    with pytest.raises(PliantError, match="did you mean failed"):
        made.run(tmp_path, workers=0, retry="faild")


def test_a_simulation_that_explodes_and_a_scene_that_cannot_be_are_rows(tmp_path):
    scene = ball().with_({"ball.loads": [{"value": (0, 0, 0)}]})
    results = study(scene=scene, parameters={"ball.loads[0].value[0]": [0.0, "1e9MN"]}).run(tmp_path / "a", workers=0, page=False)
    assert [r["status"] for r in results.rows] == ["finished", "failed"] and "runs away" in results.rows[1]["reason"]
    results = study(parameters={"ball.friction": [0.1, -1.0]}).run(tmp_path / "b", workers=0, page=False)
    assert [r["status"] for r in results.rows] == ["finished", "failed"] and "at least 0" in results.rows[1]["reason"]


def test_a_case_that_takes_too_long_ends_between_steps(tmp_path):
    made = study(scene=ball(dt=1e-5, duration=100.0), parameters={"gravity[2]": [-1.0]})
    began = time.monotonic()
    row = made.run(tmp_path, workers=0, page=False, case_timeout="0.3s").rows[0]
    assert row["status"] == "timeout" and "0.3 s" in row["reason"] and time.monotonic() - began < 60.0


def test_seeds_follow_from_values_and_reach_functions(tmp_path):
    def make(speed, seed):
        return ball().with_({"ball.velocity[2]": speed + np.random.default_rng(seed).normal()})

    made = Study(scene=make, parameters={"speed": [0.0, 1.0]}, repeats=3, measures={"fall": FALL})
    first = made.run(tmp_path / "a", workers=0, page=False).rows
    assert len({r["seed"] for r in first}) == 6 and len({r["fall"] for r in first}) == 6
    wider = Study(scene=make, parameters={"speed": [5.0, 1.0, 0.0]}, repeats=3, measures={"fall": FALL}).run(tmp_path / "b", workers=0, page=False).rows
    assert sorted(r["fall"] for r in wider[3:]) == sorted(r["fall"] for r in first)
    other = Study(scene=make, parameters={"speed": [0.0]}, seed=1, measures={"fall": FALL}).run(tmp_path / "c", workers=0, page=False).rows
    assert other[0]["fall"] not in {r["fall"] for r in first}


def test_samples_fill_their_ranges(tmp_path):
    for kind in ("sobol", "latin-hypercube"):
        points = unit_samples(kind, 3, 16, seed=1)
        assert points.shape == (16, 3) and all(len(np.unique((16 * column).astype(int))) == 16 for column in points.T)
        assert np.array_equal(points, unit_samples(kind, 3, 16, seed=1)) and not np.array_equal(points, unit_samples(kind, 3, 16, seed=2))
    made = study(design="sobol", samples=8, parameters={"ball.material.density": {"log": ["1g/cm^3", "100g/cm^3"]}})
    values = [point["ball.material.density"] for point, _ in made.points()]
    assert all(1e3 <= v <= 1e5 for v in values) and sum(v < 1e4 for v in values) == 4


def test_tables_of_cases_come_from_files(tmp_path):
    (tmp_path / "cases.csv").write_text("gravity[2],ball.velocity[2]\n-1,0\n-2m/s^2,1\n")
    (tmp_path / "s.toml").write_text('scene = "ball.toml"\ndesign = "table"\ntable = "cases.csv"\n[measures]\nfall = {of = "displacement", body = "ball", component = "z"}\n')
    (tmp_path / "ball.toml").write_text(ball().to_toml())
    rows = Study.load(tmp_path / "s.toml").run(tmp_path / "out", workers=0, page=False).rows
    assert [r["fall"] for r in rows] == pytest.approx([fallen(1.0), fallen(2.0, 1.0)])


def test_what_is_kept_of_a_case(tmp_path):
    made = study(keep=["histories", "run"], parameters={"gravity[2]": [-1.0]}, every="20ms")
    results = made.run(tmp_path, workers=0)
    key = results.rows[0]["key"]
    lines = (tmp_path / "cases" / f"{key}.csv").read_text().splitlines()
    assert lines[0] == "time,fall" and len(lines) == 11 and float(lines[-1].split(",")[1]) == results.rows[0]["fall"]
    from pliant.record import Run

    with Run.open(tmp_path / "cases" / f"{key}.vtkhdf") as run:
        assert run.frames == 6 and run.status == "finished"
    bare = study(parameters={"gravity[2]": [-1.0]}, every="20ms").run(tmp_path / "bare", workers=0, page=False)
    assert bare.rows[0]["fall"] == results.rows[0]["fall"] and not list((tmp_path / "bare" / "cases").iterdir())


def test_files_and_meshes_travel_by_content(tmp_path):
    points = "\n".join(f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1))
    faces = "f 1 3 4\nf 1 4 2\nf 5 6 8\nf 5 8 7\nf 1 2 6\nf 1 6 5\nf 3 7 8\nf 3 8 4\nf 1 5 7\nf 1 7 3\nf 2 4 8\nf 2 8 6"
    (tmp_path / "cube.obj").write_text(f"{points}\n{faces}\n")
    scene = Scene(contact="none", duration=0.02, dt=0.01)
    scene.add(name="a", shape={"file": str(tmp_path / "cube.obj")}, model="rigid", position=(3, 0, 0))
    scene.add(name="b", shape=shapes.make("ball", radius=0.1, edge=0.1), position=(0, 0, 1))
    files = {}
    data, names = packed(scene, files)
    assert len(names) == len(files) == 2 and json.dumps(data)
    unpack_files(files, tmp_path / "worker")
    (tmp_path / "cube.obj").unlink()
    back = unpacked(json.dumps(data), tmp_path / "worker").simulate().run()
    there = np.sort(back.points("b"), axis=0)
    assert np.allclose(np.ptp(back.points("a"), axis=0), 1.0) and there.shape == scene.bodies[1].shape.tets.points.shape
    with pytest.raises(PliantError, match="no file"):
        packed(scene, {})


def test_regions_and_groups_travel_with_their_bodies(tmp_path):
    """A bone by a second surface, a group of tetrahedra by its name, and a surface with how it is to be filled: the same masses there."""
    block = shapes.make("box", size=(0.2, 0.1, 0.1), edge=0.05).tets
    left = (block.points[block.tets].mean(axis=1)[:, 0] < 0.0).astype(np.int64)
    grouped = TetMesh(block.points, block.tets, left, (("rest", 0), ("heavy", 1)))
    bone = shapes.make("ball", radius=0.03, edge=0.02).surface()
    scene = Scene(contact="none", duration=0.01, dt=0.01)
    heavy = [{"group": "heavy", "material": {"density": 5000.0}}]
    scene.add(name="a", shape=grouped, regions=heavy)
    inner = [{"shape": bone, "material": {"density": 3000.0, "youngs_modulus": 1e7}}]
    flesh = {"mesh": shapes.make("ball", radius=0.08, edge=0.03).surface(), "fill": "lattice", "edge": 0.02}
    scene.add(name="b", shape=flesh, position=(0, 0, 1), regions=inner)
    files = {}
    data, names = packed(scene, files)
    unpack_files(files, tmp_path)
    there, here = unpacked(json.dumps(data), tmp_path).simulate(), scene.simulate()
    assert len(names) == 3 and np.array_equal(there.world.model.nodes.mass, here.world.model.nodes.mass)
    assert here.mass("a") == pytest.approx(0.002 * 3000.0, rel=1e-9)  # half of it is heavy


def test_maps_show_what_was_run_and_no_more(tmp_path, monkeypatch):
    """Cells end at the outer cases, each case is a dot, axes have units; pictures of the page are files beside it."""
    drawn = []
    monkeypatch.setattr(plots, "encoded", lambda made, keep=plots.encoded: drawn.append(made) or keep(made))
    values = {"fall": {"values": ["-1m/s^2", -2, -4], "paths": ["gravity[2]"]}, "ball.velocity[2]": [0.0, 1.0], "dt": ["10ms"]}
    study(parameters=values, measures={"way": FALL}).run(tmp_path, workers=0)
    axes = next(figure.axes[0] for figure in drawn if figure.axes[0].collections)
    assert axes.get_xlabel() == "fall [m/s^2]" and axes.get_ylabel() == "ball.velocity[2] [m/s]"
    (dots,) = axes.lines
    assert sorted(zip(*dots.get_data(), strict=True)) == [(g, v) for g in (-4.0, -2.0, -1.0) for v in (0.0, 1.0)]
    corners = axes.collections[0].get_coordinates().reshape(-1, 2)
    assert corners.min(axis=0).tolist() == [-4.0, 0.0] and corners.max(axis=0).tolist() == [-1.0, 1.0]
    assert {"map.png", "curves.png"} <= {path.name for path in tmp_path.iterdir()}


# -- thresholds and sensitivity


def test_bisection_finds_the_angle_of_friction(tmp_path):
    """A box slips where tan(angle) > mu; where the range does not hold the threshold the search says so."""
    def make(angle, mu):
        scene = Scene(dt=0.005, duration=0.25, contact="ground", gravity=(9.81 * math.sin(math.radians(angle)), 0, -9.81 * math.cos(math.radians(angle))))
        scene.add(name="ground", shape="plane", model="static", friction=mu)
        scene.add(name="box", shape={"kind": "box", "size": [0.4, 0.4, 0.1], "edge": 0.4}, model="rigid", position=(0, 0, 0.05), friction=mu)
        return scene

    find = {"parameter": "angle", "between": ["2deg", "40deg"], "condition": "slips", "tolerance": "0.5deg"}
    made = Study(scene=make, parameters={"mu": [0.3, 2.0]}, measures={"slips": {"of": "slips", "pair": ["box"], "above": "10mm"}}, find=find)
    found = made.run(tmp_path, workers=0).thresholds
    for each, mu in zip(found[:1], (0.3,), strict=True):
        assert each.status == "found" and each.high - each.low <= 0.5 and each.holds_above
        # above the threshold it needs an excess of 2 s / t^2 to go 10 mm in the time
        assert math.degrees(math.atan(mu)) - 0.3 < each.high and each.low < math.degrees(math.atan(mu)) + math.degrees(0.32 / 9.81) + 0.3
    assert found[1].status == "never" and math.isnan(found[1].value)
    assert len((tmp_path / "thresholds.csv").read_text().splitlines()) == 3 and "Where" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("text", "values", "expected"), [
    ("drop > 5mm", {"drop": 0.006}, True), ("drop<=5mm", {"drop": 0.006}, False), ("slips", {"slips": 1.0}, True),
    ("not slips", {"slips": 1.0}, False), ("drop > -1", {"drop": math.nan}, False), ("not slips", {"slips": math.nan}, True),
])  # fmt: skip
def test_conditions(text, values, expected):
    assert condition_of(text, list(values))(values) is expected


def test_sobol_indices_are_those_of_theory(tmp_path):
    """fall = v t n - g (n + 1) n t^2 / 2 is linear in both: the parts of the variance are known, and there is no interaction."""
    ranges = {"gravity[2]": {"linear": [-50.0, 0.0]}, "ball.velocity[2]": {"linear": [0.0, 1.0]}, "ball.friction": {"linear": [0.1, 0.9]}}
    made = study(scene=ball(duration=0.02), parameters=ranges, sensitivity={"samples": 64})
    results = made.run(tmp_path, workers=0)
    indices = results.indices["fall"]
    slopes = np.array([50.0 * fallen(-1.0, steps=2), fallen(0.0, 1.0, steps=2), 0.0])
    assert len(results.rows) == 64 * 5
    assert np.allclose(indices.first, slopes**2 / np.sum(slopes**2), atol=0.06) and np.allclose(indices.total, indices.first, atol=0.06)
    assert np.all(indices.total_low <= indices.total + 1e-12) and np.all(indices.total <= indices.total_high + 1e-12)
    assert "sensitivity.csv" in (tmp_path / "report.html").read_text()


# -- mistakes


def test_in_a_shell_it_is_one_line():
    asked = study()
    assert repr(asked) == str(asked) == "Study 'ball': grid over gravity[2]; measures fall"
    assert str(asked.scene) == repr(asked.scene) == "Scene 'ball': ball; dt = 0.01 s, duration = 0.1 s"


def test_a_bound_of_slip_names_the_event():
    with pytest.raises(PliantError, match='or of = "slips"'):
        study(measures={"s": {"of": "slip", "pair": ["ball"], "above": "1mm"}})



WRONG = {
    "path": (dict(parameters={"bal.friction": [1.0]}), "did you mean ball.friction"),
    "body of a measure": (dict(measures={"x": {**FALL, "body": "bll"}}), "did you mean ball"),
    "quantity": (dict(measures={"x": {"of": "fource", "pair": ["ball"]}}), "did you mean force"),
    "no bound": (dict(measures={"x": {"of": "slips", "pair": ["ball"]}}), "needs a bound"),
    "name twice": (dict(measures={"gravity[2]": FALL}), "column of the table already"),
    "two questions": (dict(sensitivity={}, find={"parameter": "dt", "between": [1, 2], "condition": "fall > 1", "tolerance": 1}), "ask one thing"),
    "condition": (dict(find={"parameter": "dt", "between": [1, 2], "condition": "fll > 1", "tolerance": 1}), "did you mean fall"),
    "no count": (dict(parameters={"dt": {"linear": [1, 2]}}), "no `count`"),
    "lengths": (dict(design="together", parameters={"dt": [1, 2], "duration": [1]}), "not equally many"),
    "no samples": (dict(design="sobol", parameters={"dt": {"linear": [1, 2]}}), "needs `samples`"),
    "scene": (dict(scene="bowll"), "did you mean bowl"),
    "shipped parameter": (dict(scene="column", parameters={"heigth": [1.0]}, measures={}), "did you mean height"),
    "key": (dict(measure={}), "did you mean measures"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_told_before_anything_runs(name, tmp_path):
    values, words = WRONG[name]
    with pytest.raises(PliantError) as error:
        study(**values).run(tmp_path / "out", workers=0)
    assert words in str(error.value) and not (tmp_path / "out").exists()


# -- functions instead of scenes, and the command


def adds(a, b, seed):
    return {"sum": a + b, "seeded": seed > 0}


def test_a_function_can_be_called_instead_of_a_scene(tmp_path):
    made = Study(call=adds, parameters={"a": [1.0, "2mm"], "b": [10.0]})
    results = made.run(tmp_path, workers=0)
    assert [row["sum"] for row in results.rows] == [11.0, 10.002] and all(row["seeded"] for row in results.rows)
    assert made.run(tmp_path, workers=0, page=False).found == 2
    with pytest.raises(PliantError, match="`scene`, or a function to `call`"):
        Study(parameters={})


def test_the_command_runs_plans_lists_and_tells(tmp_path, monkeypatch, capsys):
    from pliant.cli import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball.toml").write_text(ball().to_toml())
    (tmp_path / "s.toml").write_text('scene = "ball.toml"\nparameters = { "gravity[2]" = [-1, -2] }\n[measures]\nfall = { of = "displacement", body = "ball" }\n')

    def pliant(*arguments):
        try:
            app(arguments, standalone_mode=False)
        finally:
            out = capsys.readouterr().out
        return out

    assert "2 cases of about" in pliant("study", "s.toml", "--dry-run") and not (tmp_path / "runs").exists()
    out = pliant("study", "s.toml", "--workers", "0")
    assert "2 cases: 2 finished" in out and (tmp_path / "runs" / "s.study" / "report.html").exists()
    facts = json.loads(pliant("study", "s.toml", "--workers", "0", "--json"))
    assert facts["found"] == 2 and [row["fall"] for row in facts["rows"]] == pytest.approx([-fallen(1.0), -fallen(2.0)])
    listed = pliant("study", "--measures")
    assert "normal_force" in listed and "integral" in listed


EXAMPLES = sorted((SRC.parent / "examples" / "studies").glob("*.toml"))


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.name != "gripper.toml"], ids=lambda path: path.stem)
def test_the_examples_are_studies_that_can_begin(path):
    """Their scenes can be made, their measures are of bodies that are there, and the documentation names them."""
    made = Study.load(path)
    made.check()
    assert path.name in (SRC.parent / "docs" / "studies.md").read_text()
    assert (made.first_scene() is None) == (path.stem == "foot") and made.common()


# -- calls as cases


def test_calls_are_made_once_and_told_in_their_order(tmp_path):
    """Values come back as plain data, failures with their reason; a second time only what failed is called again."""
    from pliant.studies.tasks import do_all

    calls, heard = [{"values": [3.0, 4.0]}, {"values": "no"}, {"values": [6.0, 8.0]}], []
    found = do_all("numpy.linalg:norm", [{"x": each["values"]} for each in calls], out=tmp_path, workers=0, each=heard.append)
    assert [task.value for task in found] == [5.0, None, 10.0] and found == heard
    assert found[1].reason and not found[0].reason and found[2].given == {"x": [6.0, 8.0]}
    before = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [task.value for task in do_all("numpy.linalg:norm", [{"x": each["values"]} for each in calls], out=tmp_path, workers=0)] == [5.0, None, 10.0]
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == len(before) + 1


def test_a_scene_goes_with_a_call():
    """What `pliant compare` does: the same numbers as without the machinery."""
    from pliant.shop.compare import Trial, tried
    from pliant.studies.tasks import do_all

    scene = Scene(dt=0.005, duration=0.05)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", shape=shapes.make("ball", radius=0.1, edge=0.08), position=(0, 0, 0.1), model="rigid")
    found = do_all("pliant.shop.compare:tried", [{"method": "ground"}, {"method": "quasi-rigid"}], scene=scene, workers=0)
    here = tried(scene, "ground")
    assert Trial(**found[0].value).depth == here.depth and here.depth and np.array_equal(found[0].value["support"], here.support)
    assert "quasi-rigid" in found[1].value["failure"]
