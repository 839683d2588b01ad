"""The command line: what it prints for people and for programs, its exit codes, and one sentence for every wrong input."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import meshio
import numpy as np
import pytest

from pliant import PliantError, Scene, cli
from pliant.cli.options import COLOURS, parse_settings
from pliant.detect.surfels.make import wrapped_cloud
from pliant.geometry.shapes import resolve
from pliant.look import fields
from pliant.record import Run
from pliant.simulate import compile_ahead

CUBE = """v 0 0 0
v 1 0 0
v 0 1 0
v 1 1 0
v 0 0 1
v 1 0 1
v 0 1 1
v 1 1 1
f 1 3 4
f 1 4 2
f 5 6 8
f 5 8 7
f 1 2 6
f 1 6 5
f 3 7 8
f 3 8 4
f 1 5 7
f 1 7 3
f 2 4 8
f 2 8 6"""

SCENE = """
dt = 0.005
duration = 0.05

[[bodies]]
name = "ground"
shape = "plane"
model = "static"

[[bodies]]
name = "ball"
shape = {kind = "ball", radius = 0.1, edge = 0.06}
position = [0, 0, 0.1]
material = {youngs_modulus = 1e5}
"""


@pytest.fixture
def pliant(monkeypatch, capsys):
    """Calls the command line in this process: exit code, output, error output."""
    monkeypatch.setenv("PLIANT_THREADS", "1")  # put back afterwards, should an option change it

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["pliant", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return call


@pytest.fixture(scope="module")
def compiled():
    """Kernels of the scene are there: after an edit of one the first command says that it compiles them, above what else it says."""
    compile_ahead.warm(Scene.from_toml(SCENE), quiet=True)


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    """A run made by a process of its own, as a user would."""
    folder = tmp_path_factory.mktemp("run")
    command = [sys.executable, "-m", "pliant", "run", "column", "--duration", "0.1", "--no-pictures", "--out", "column"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and "finished at t = 0.1 s after 10 steps" in done.stdout
    assert os.listdir(folder) == ["column.vtkhdf"]
    return folder / "column.vtkhdf"


def strict(text):
    """JSON as every program reads it: NaN and Infinity are not part of it."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


# -- for programs


def test_scenes_as_json(pliant):
    code, out, _ = pliant("scenes", "--json")
    found = strict(out)
    assert code == 0 and found["bowl"]["parameters"]["edge"] == 0.025 and found["bowl"]["about"].endswith(".")


def test_the_schema_knows_ranges_and_refuses_unknown_keys(pliant, in_folder):
    code, out, err = pliant("schema")
    schema = strict(out)
    assert err == ""
    ratio = schema["$defs"]["FemMaterial"]["properties"]["poisson_ratio"]
    assert code == 0 and (ratio["exclusiveMinimum"], ratio["exclusiveMaximum"], ratio["default"]) == (-1, 0.5, 0.3)
    assert schema["additionalProperties"] is False and schema["$defs"]["FemBody"]["additionalProperties"] is False
    assert pliant("schema", "--out", "scene.json")[0] == 0
    assert json.loads((in_folder / "scene.json").read_text()) == schema


def test_run_as_json_prints_json_and_nothing_else(pliant, in_folder):
    (in_folder / "fall.toml").write_text(SCENE)
    code, out, err = pliant("run", "fall.toml", "--no-pictures", "--json", "--threads", "1")
    facts = strict(out)
    assert (code, err) == (0, "")
    assert facts["status"] == "finished" and facts["steps"] == 10 and facts["run"] == "runs/fall.vtkhdf"
    (pair,) = facts["pairs"]
    assert {pair["a"], pair["b"]} == {"ground", "ball"} and len(pair["force"]) == 3
    code, out, _ = pliant("run", "fall.toml", "--no-pictures", "--json")
    assert strict(out)["run"] == "runs/fall-2.vtkhdf", "nothing is overwritten unasked"


def test_a_failed_run_is_still_json_and_exits_with_1(pliant, in_folder):
    (in_folder / "bang.toml").write_text(SCENE + "loads = [{value = [1e9, 0, 0], where = {ids = [3]}}]\n")
    code, out, err = pliant("run", "bang.toml", "--no-pictures", "--json")
    facts = strict(out)
    assert code == 1 and facts["status"] == "failed" and "'ball' runs away" in facts["message"]
    code, out, err = pliant("run", "bang.toml", "--no-pictures", "--out", "again")
    assert code == 1 and "of body 'ball' runs away" in out and "Traceback" not in out + err
    code, out, _ = pliant("info", "again")
    assert code == 0 and "failed" in out and "It ended with: node" in out


def test_info(pliant, run_file):
    code, out, _ = pliant("info", run_file, "--json")
    facts = strict(out)
    assert code == 0 and facts["status"] == "finished" and facts["scene"] == "column" and facts["frames"] == 11
    assert facts["bodies"] == ["ground", "column"] and facts["fields"]["von_mises"] == "cell"
    assert facts["bytes"] == run_file.stat().st_size
    code, text, _ = pliant("info", run_file)
    assert code == 0 and "11 frames from t = 0 s to 0.1 s, 10 steps." in text


@pytest.mark.parametrize(
    ("use", "code", "words"),
    [
        ("soft", 0, "soft: closed, filled with tetrahedra that follow it"),
        ("rigid", 0, "rigid: its 12 triangles touch"),
        ("points", 0, "points: filled with about 400 points"),
        ("press", 0, "press: its 8 points carry the pressure"),
        ("cake", 2, "--as cake"),
    ],
)
def test_check_says_what_becomes_of_a_file(pliant, in_folder, use, code, words):
    Path("cube.obj").write_text(CUBE)
    found, out, err = pliant("check", "cube.obj", "--as", use)
    assert found == code and words in out + err
    if code == 0:
        assert "box (0, 0, 0) to (1, 1, 1) m; the origin is 0.866 m from its middle" in out
        assert "volume 1 m^3 (1e+03 kg of water), centre of mass (0.5, 0.5, 0.5) m" in out


def test_check_of_an_open_file(pliant, in_folder):
    Path("open.obj").write_text("\n".join(CUBE.split("\n")[:-1]))
    code, out, _ = pliant("check", "open.obj", "--as", "rigid")
    assert code == 1 and "holes = true closes it" in out
    code, out, _ = pliant("check", "open.obj", "--as", "soft", "--edge", "20cm", "--json")
    told = json.loads(out)["outlook"]
    assert code == 0 and told["works"] and "1 hole closed with lids" in told["lines"][-1] and told["volume"] == pytest.approx(1.0)
    assert "volume 1 m^3 (1e+03 kg of water), centre of mass (0.5, 0.5, 0.5) m, with what is open closed." in told["lines"]


def test_check_wraps_a_cloud_as_a_run_does(pliant, in_folder):
    """It promised every cloud a body, flat ones too."""
    n = np.random.default_rng(3).standard_normal((1500, 3))
    np.savetxt("ball.xyz", 0.1 * n / np.linalg.norm(n, axis=1, keepdims=True))
    np.savetxt("flat.xyz", np.column_stack([n[:, :2], np.zeros(len(n))]))
    told = json.loads(pliant("check", "ball.xyz", "--as", "soft", "--edge", "2cm", "--json")[1])["outlook"]
    assert told["works"] and told["volume"] == pytest.approx(4 / 3 * np.pi * 1e-3, rel=0.02)
    made = resolve({"file": "ball.xyz", "edge": 0.02}, solid=True, cells=True, wrap=wrapped_cloud)
    assert told["elements"] == pytest.approx(len(made.tets.tets), rel=0.25)
    code, out, _ = pliant("check", "flat.xyz", "--as", "soft")
    assert code == 1 and "soft: no." in out


def test_check_and_run_give_the_same_reason_for_cells(pliant, in_folder):
    """The same surface, simplified alike: they named different times."""
    from pliant.geometry.inside import Filling, why_cells
    from pliant.geometry.mesh import Surface
    from pliant.geometry.solids import ball
    from pliant.geometry.subdivide import subdivided

    coarse = ball(radius=0.1, edge=0.05).surface()
    fine = subdivided(coarse, 0.006).surface
    fine = Surface(0.1 * fine.points / np.linalg.norm(fine.points, axis=1, keepdims=True), fine.faces)
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in fine.points] + [f"f {a} {b} {c}" for a, b, c in fine.faces + 1]
    Path("ball.obj").write_text("\n".join(lines))
    why, seconds = why_cells(fine, Filling(cells=True, edge=0.01))
    out = pliant("check", "ball.obj", "--as", "soft", "--edge", "1cm")[1]
    assert seconds > 5.0 and why in out


def test_check_does_not_contradict_what_it_says_of_a_use(pliant, in_folder):
    Path("open.obj").write_text("\n".join(CUBE.split("\n")[:-1]))
    assert "pliant does nothing about it." in pliant("check", "open.obj")[1]
    out = pliant("check", "open.obj", "--as", "soft", "--edge", "20cm")[1]
    assert "does nothing" not in out and "As it is, it has no inside." in out
    assert out.index("see below for what becomes of it (soft)") < out.index("1 hole closed with lids")
    assert "count as rims" not in out
    Path("fin.obj").write_text(CUBE.rstrip() + "\nv 2 2 2\nf 1 2 9\n")  # a third face at an edge of the cube
    assert "edges of three faces and more count as rims" in pliant("check", "fin.obj", "--as", "soft", "--edge", "20cm")[1]


def test_the_picture_of_a_check_has_no_holes_where_seams_are_welded(in_folder):
    from pliant.geometry.check import diagnose, repair
    from pliant.geometry.mesh import Surface
    from pliant.geometry.solids import box
    from pliant.geometry.topology import Edges
    from pliant.look import defects

    whole = box(size=(1.0, 1.0, 1.0), edge=0.5).surface()
    apart = Surface(whole.points[whole.faces].reshape(-1, 3), np.arange(3 * len(whole.faces)).reshape(-1, 3)[1:])  # every face by itself, one missing
    assert diagnose(apart).count("boundary-edges") == 3
    joined = defects.joined_surface(apart)
    assert (Edges(joined.faces).count == 1).sum() == 3 and len(joined.faces) == len(repair(apart, diagnose(apart)).faces)


def test_check_draws_what_is_wrong(pliant, in_folder):
    Path("open.obj").write_text("\n".join(CUBE.split("\n")[:-1]))
    code, out, err = pliant("check", "open.obj", "--picture", "marked.png")
    if "pictures cannot be drawn here" in err:
        pytest.skip("no driver for pictures")
    assert code == 0 and "3 edges of holes (red)" in out
    from PIL import Image

    colours = np.asarray(Image.open("marked.png").convert("RGB")).reshape(-1, 3).astype(int)
    assert ((colours[:, 0] > 150) & (colours[:, 1] < 90) & (colours[:, 2] < 90)).sum() > 100  # the rim is there


def test_cache_lists_and_clears_fillings(pliant, in_folder, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(Path.cwd()))
    kept = Path("pliant/tets")
    kept.mkdir(parents=True)
    np.savez(kept / "0123456789abcdef.npz", points=np.eye(3), tets=np.zeros((7, 4), int), about=[0.01, 12, 3.0])
    (kept / "damaged.npz").write_bytes(b"no zip")
    out = pliant("cache")[1]
    assert "2 filled surfaces" in out and "0123456789ab  7 tetrahedra of 0.01 m in 12 triangles, made in 3 s" in out and "damaged" in out
    assert pliant("cache", "--clear", "cake")[0] == 2
    code, out, _ = pliant("cache", "--clear", "tets", "--json")
    assert code == 0 and json.loads(out)["tets"]["fillings"] == [] and not list(kept.iterdir())


@pytest.mark.parametrize("given", ["tets.msh", "nothing.obj"])
def test_check_as_json(pliant, in_folder, given):
    from pliant.geometry.solids import box

    mesh = box((1, 1, 1), edge=1.0).tets
    meshio.write("tets.msh", meshio.Mesh(mesh.points, [("tetra", mesh.tets)]), file_format="gmsh")
    code, out, err = pliant("check", given, "--json")
    if given == "tets.msh":
        assert code == 0 and strict(out)
        assert "0.25 x 0.25 x 0.25 m" in pliant("check", given, "--size", "25cm")[1]
    else:
        assert code == 2 and out == "" and "nothing.obj does not exist" in err


# -- export


def test_export_vtu(pliant, run_file, in_folder):
    code, out, _ = pliant("export", run_file, "--to", "vtu", "--out", "series/column", "--json")
    written = strict(out)
    assert code == 0 and written[0] == "series/column.pvd" and len(written) == 12
    with Run.open(run_file) as run:
        for i, name in enumerate(written[1:]):
            mesh = meshio.read(in_folder / name)
            assert np.array_equal(mesh.points, run.points(i))
            assert np.array_equal(mesh.point_data["displacement"], run.field("displacement", i))
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

    reader = vtkXMLUnstructuredGridReader()
    reader.SetFileName(written[-1])
    reader.Update()
    assert reader.GetOutput().GetNumberOfPoints() == 40


def test_export_ply(pliant, run_file, in_folder):
    code, out, _ = pliant("export", run_file, "--to", "ply", "--body", "column", "--out", "skin")
    assert code == 0 and out.strip() == "Wrote skin_0000.ply and 10 more."
    mesh = meshio.read("skin_0010.ply")
    faces = mesh.cells_dict["triangle"]
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all(), "the skin is closed"
    a, b, c = (mesh.points[faces[:, k]] for k in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(1 / 81, rel=0.1)


def test_export_csv(pliant, run_file, in_folder):
    assert pliant("export", run_file, "--to", "csv", "--out", "steps")[0] == 0
    with open("steps.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10 and float(rows[-1]["time"]) == pytest.approx(0.1)
    with Run.open(run_file) as run:
        assert [float(row["kinetic"]) for row in rows] == run.series()["kinetic"].tolist()


def test_export_for_programs_that_play(pliant, run_file, in_folder):
    """glTF by either name, a smaller copy, a figure: what they say, and that frames and speed arrive."""
    code, out, _ = pliant("export", run_file, "--to", "gltf", "--out", "a", "--frames", "::2", "--speed", "0.5", "--colour", "body")
    assert code == 0 and out.strip() == "Wrote a.glb."
    data = (in_folder / "a.glb").read_bytes()
    facts = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])["asset"]["extras"]
    assert facts["frames"] == 6 and facts["played at"] == 0.5 and facts["colours"] == "by body"
    code, out, _ = pliant("export", run_file, "--to", "vtkhdf", "--out", "copy", "--keep", "pressure", "--precision", "1um")
    assert code == 0 and "cannot be resumed" in out
    with Run.open("copy.vtkhdf") as copy:
        assert set(copy.fields(0)) == {"pressure"} and copy.header["precision"] == 1e-6
    code, out, _ = pliant("figure", run_file, "--time", "0.05", "--svg", "--size", "50x40", "--camera=-30,20", "--out", "f.svg")
    assert code == 0 and out.strip() == "Wrote f.svg: 50 x 40 mm." and 'width="141.732283pt"' in (in_folder / "f.svg").read_text()


@pytest.mark.parametrize("words, said", [
    (["--to", "gltff"], "did you mean glb"), (["--to", "glb", "--at", "0.1"], "--frames 50:51"), (["--to", "csv", "--frames", "0:1"], "every step"),
    (["--to", "vtu", "--speed", "2"], "glb, usd"), (["--to", "nc", "--body", "column"], "holds all bodies"), (["--to", "glb", "--frames", "50:"], "chooses none"),
    (["--to", "glb", "--frames", "a:b"], "FIRST:END:STEP"), (["--to", "glb", "--keep", "pressure"], "--to vtkhdf"),
])  # fmt: skip
def test_export_refuses_what_would_do_nothing(pliant, run_file, in_folder, words, said):
    code, _, err = pliant("export", run_file, *words)
    assert code == 2 and said in err


@pytest.mark.parametrize("colour", COLOURS)
def test_the_colours_on_offer_are_those_that_can_be_drawn(colour, run_file):
    with Run.open(run_file) as run:
        assert fields.choose(colour, run.fields(0), {0: "static", 1: "fem"})


# -- for people


def test_help_lists_every_command(pliant):
    code, out, _ = pliant("--help")
    assert code == 0
    for name in ("demo", "run", "resume", "info", "export", "check", "scenes", "schema"):
        assert f" {name} " in out


def test_run_says_what_it_does(pliant, in_folder):
    code, out, err = pliant("run", "slope", "--set", "angle=5", "--dt", "0.01", "--duration", "0.1", "--no-pictures")
    assert code == 0
    assert "slope: 2 bodies, 0 nodes, dt = 0.01 s, 0.1 s." in out and "11 frames, about" in out
    assert "finished at t = 0.1 s after 10 steps" in out and "runs/slope.vtkhdf" in out
    assert "t = 0.100 of 0.1 s, 10 steps" in err, "progress in a log"


def test_resume_says_where_it_goes_on(pliant, in_folder):
    (in_folder / "fall.toml").write_text(SCENE)
    pliant("run", "fall.toml", "--no-pictures", "--out", "fall")
    code, out, _ = pliant("resume", "fall", "--no-pictures")
    assert code == 0 and "It had reached its end; --duration makes it longer." in out and "nothing was done" in out and "after" not in out
    code, out, _ = pliant("resume", "fall.vtkhdf", "--duration", "0.06", "--no-pictures")
    assert code == 0 and "Resuming fall.vtkhdf at t = 0.05 s of 0.06 s." in out and "after 12 steps" in out


def test_overwriting_is_asked_for(pliant, in_folder):
    (in_folder / "fall.toml").write_text(SCENE)
    for duration, more, code in (("0.02", [], 0), ("0.03", [], 2), ("0.04", ["--overwrite"], 0)):
        got, _, err = pliant("run", "fall.toml", "--no-pictures", "--out", "fall", "--duration", duration, *more)
        assert got == code and (code == 0 or "fall.vtkhdf exists" in err and "--overwrite" in err)
    with Run.open("fall") as run:
        assert run.times[-1] == pytest.approx(0.04)


def test_pictures_are_left_beside_the_run(pliant, in_folder):
    (in_folder / "fall.toml").write_text(SCENE)
    code, out, _ = pliant("run", "fall.toml", "--every", "0.025", "--json")
    facts = strict(out)
    if not facts["pictures"]:
        pytest.skip("this machine cannot draw")
    assert code == 0 and facts["pictures"] == ["runs/fall.png", "runs/fall.mp4"]
    assert (in_folder / "runs/fall.png").read_bytes()[:4] == b"\x89PNG" and (in_folder / "runs/fall.mp4").stat().st_size > 1000


def test_the_summary_is_told_before_anything_is_drawn(pliant, in_folder, monkeypatch):
    """Drawing may take as long as the run."""
    def draws(*_, **__):
        print("it draws")
        raise PliantError("enough was seen")

    monkeypatch.setattr("pliant.look.still", draws)
    (in_folder / "fall.toml").write_text(SCENE)
    code, out, _ = pliant("run", "fall.toml")
    assert code == 0 and 0 < out.index("contact impulses") < out.index("it draws")


def test_a_run_whose_drawing_is_stopped_tells_what_it_found(pliant, in_folder, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.look.still", stopped)
    (in_folder / "fall.toml").write_text(SCENE)
    code, out, told = pliant("run", "fall.toml")
    assert code == 0 and "Drawing was stopped" in out + told and "kinetic" in out + told


# -- wrong input: exit code 2, one sentence


def changed(old, new):
    assert SCENE.count(old) == 1
    return SCENE.replace(old, new)


WRONG_FILES = {
    "key of a material": (changed("youngs_modulus", "youngs_modulos"), ["wrong.toml", "youngs_modulos", "did you mean youngs_modulus"]),
    "key of the scene": (changed("duration", "duratoin"), ["wrong.toml", "duratoin", "did you mean duration?"]),
    "poisson_ratio 0.5": (changed("youngs_modulus = 1e5", "poisson_ratio = 0.5"), ["wrong.toml", "poisson_ratio = 0.5", "above -1", "below 0.5"]),
    "missing mesh": (changed('kind = "ball", radius = 0.1, edge = 0.06', 'file = "foot.obj"'), ["'ball'", "foot.obj does not exist", "looked"]),
    "broken TOML": (changed("dt = 0.005", "dt = = 0.005"), ["wrong.toml", "not valid TOML", "line 2"]),
    "negative dt": (changed("dt = 0.005", "dt = -0.005"), ["wrong.toml", "dt = -0.005", "above 0"]),
    "unknown shape": (changed('"ball", radius', '"bal", radius'), ["'ball'", "unknown shape 'bal'", "did you mean ball"]),
    "parameter of a shape": (changed("radius", "radios"), ["'ball'", "radios", "did you mean radius?"]),
    "unknown model": (changed('"static"', '"statik"'), ["wrong.toml", "model", "statik", "static"]),
    "two bodies of a name": (changed('"ground"', '"ball"'), ["wrong.toml", "two bodies named 'ball'"]),
    "position of two numbers": (changed("[0, 0, 0.1]", "[0, 0]"), ["wrong.toml", "position"]),
    "position in words": (changed("[0, 0, 0.1]", '"up"'), ["wrong.toml", "position", "up"]),
    "overlap": (changed("[0, 0, 0.1]", "[0, 0, 0.05]"), ["ball and ground overlap by 0.05 m", "move ball by (0, 0, 0.05) m"]),
    "no bodies": ("dt = 0.01\n", ["no bodies", "[[bodies]]"]),
    "unknown contact": (changed("dt = 0.005", 'dt = 0.005\ncontact = "grond"'), ["no contact method 'grond'", "did you mean ground?"]),
    "not text": ("\0\x01\udcff\udcfe", ["wrong.toml"]),
}


def assert_sentence(answer, words):
    code, out, err = answer
    assert code == 2, (code, out, err)
    assert err.startswith("Error: ") and err.count("\n") == 1 and "Traceback" not in err, err
    for word in words:
        assert word in err, err


@pytest.mark.parametrize("mistake", WRONG_FILES)
def test_a_mistake_in_a_file_gets_a_sentence(mistake, pliant, in_folder, compiled):
    text, words = WRONG_FILES[mistake]
    (in_folder / "wrong.toml").write_bytes(text.encode(errors="surrogateescape"))
    assert_sentence(pliant("run", "wrong.toml", "--no-pictures"), words)
    assert os.listdir(in_folder) == ["wrong.toml"], "a run that cannot start leaves nothing"


WRONG_COMMANDS = {
    "unknown scene": (["run", "bowll"], ["no scene 'bowll'", "did you mean bowl?"]),
    "no such file": (["run", "nope.toml"], ["no scene file nope.toml", "looked from"]),
    "unknown parameter": (["run", "bowl", "--set", "edg=3"], ["'bowl' has no parameter 'edg'", "did you mean edge?"]),
    "text for a number": (["run", "column", "--set", "height=tall"], ["height=tall", "number"]),
    "number out of range": (["run", "bowl", "--set", "edge=-1"], ["edge", "above 0", "-1"]),
    "setting without value": (["run", "bowl", "--set", "edge"], ["NAME=VALUE", "'edge'"]),
    "unknown contact": (["run", "column", "--contact", "grond"], ["'grond'", "did you mean ground?"]),
    "negative dt": (["run", "column", "--dt", "-1"], ["dt = -1", "above 0"]),
    "no duration": (["run", "column", "--duration", "0"], ["duration = 0", "above 0"]),
    "negative every": (["run", "column", "--every", "-1"], ["every = -1", "seconds"]),
    "field of a file": (["run", "good.toml", "--set", "gravty=[0,0,0]"], ["'gravty'", "did you mean gravity?"]),
    "value of a field": (["run", "good.toml", "--set", "gravity=5"], ["gravity"]),
    "colour": (["run", "column", "--colour", "dept"], ["'dept'", "did you mean depth"]),
    "colour that is like none": (["run", "column", "--colour", "red"], ["'red'", "did you mean speed? If not, known are auto, body"]),
    "folder that cannot be": (["run", "column", "--out", "good.toml/run"], ["good.toml"]),
    "info on nothing": (["info", "nothing"], ["no run nothing", "nothing.vtkhdf"]),
    "info on a scene": (["info", "good.toml"], ["good.toml is not a run"]),
    "resume of a scene": (["resume", "good.toml"], ["good.toml is not a run"]),
    "false run file": (["info", "false.vtkhdf"], ["false.vtkhdf cannot be read"]),
    "other HDF5": (["info", "other.vtkhdf"], ["other.vtkhdf", "not a run of pliant"]),
    "export format": (["export", "RUN", "--to", "vtuu"], ["'vtuu'", "did you mean vtu?"]),
    "export of a body": (["export", "RUN", "--to", "ply", "--body", "colum"], ["colum"]),
    "view that is no number": (["export", "RUN", "--to", "png", "--from", "nan,0"], ["--from nan,0", "degrees"]),
    "camera that is no number": (["figure", "RUN", "--camera", "nan,0"], ["--camera nan,0", "numbers"]),
    "study that is a scene": (["study", "good.toml"], ["good.toml: a study has no bodies", "scene = \"FILE.toml\"", "`pliant run`"]),
    "scene that is a study": (["run", "study.toml"], ["study.toml: a scene has no parameters", "`pliant study FILE`"]),
    "study that is a run": (["study", "RUN"], ["is no study but a run", "`pliant view`"]),
    "scene that is a folder": (["run", "."], [". is a folder, not a scene", ".toml"]),
    "refined pair": (["refine", "good.toml", "--pair", "ball", "grund"], ["no body 'grund'", "did you mean ground?"]),
    "mesh format": (["check", "good.toml"], ["good.toml", ".toml", ".obj"]),
}


@pytest.mark.parametrize("mistake", WRONG_COMMANDS)
def test_a_mistake_on_the_command_line_gets_a_sentence(mistake, pliant, in_folder, run_file):
    import h5py

    (in_folder / "good.toml").write_text(SCENE)
    (in_folder / "false.vtkhdf").write_text("no HDF5")
    (in_folder / "study.toml").write_text('scene = "good.toml"\nparameters = { dt = [0.001] }\nmeasures = { x = { of = "depth" } }\n')
    h5py.File(in_folder / "other.vtkhdf", "w").close()
    arguments, words = WRONG_COMMANDS[mistake]
    assert_sentence(pliant(*[str(run_file) if a == "RUN" else a for a in arguments]), words)


@pytest.mark.parametrize("arguments", [["run"], ["frobnicate"], ["run", "column", "--dt", "x"], ["run", "column", "--threads", "0"]])
def test_wrong_usage_exits_with_2_and_points_to_the_help(arguments, pliant):
    code, _, err = pliant(*arguments)
    assert code == 2 and "--help" in err and "Traceback" not in err


def test_settings_are_read_as_toml_and_as_text():
    values = parse_settings(["a=1", "b=2.5", "c=[0, 0, 1]", "d=fem", 'e="x y"', "f=true", "g=a=b"])
    assert values == {"a": 1, "b": 2.5, "c": [0, 0, 1], "d": "fem", "e": "x y", "f": True, "g": "a=b"}
    with pytest.raises(PliantError, match="NAME=VALUE"):
        parse_settings(["=3"])


def test_a_name_that_looks_like_a_number_is_a_name(pliant, tmp_path):
    code, out, err = pliant("run", "hooked", "--set", "figure=6.1", "--duration", "0.004", "--no-pictures", "--out", str(tmp_path / "a"))
    assert code == 0, out + err


@pytest.mark.parametrize("words", [["run", "SCENE", "--keep", "presure"], ["compare", "SCENE", "--contact", ""]], ids=["keep", "compare"])
def test_names_that_are_wrong_are_refused_before_anything_is_written(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("scene.toml").write_text(
        'dt = 0.005\nduration = 0.01\ncontact = "ground"\n[[bodies]]\nname = "ground"\nshape = "plane"\nmodel = "static"\n'
        '[[bodies]]\nname = "ball"\nmodel = "rigid"\nshape = { kind = "ball", radius = 0.1, edge = 0.1 }\nposition = [0, 0, 0.1]\n'
    )
    monkeypatch.setattr(sys, "argv", ["pliant", *(word.replace("SCENE", "scene.toml") for word in words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2 and capsys.readouterr().err.splitlines()[-1].startswith("Error: ")
    assert os.listdir(tmp_path) == ["scene.toml"]


# ---- Ctrl-C at any time


def test_ctrl_c_ends_a_command_in_a_word_also_while_it_loads(monkeypatch, capsys):
    from pliant.__main__ import main as command

    def pressed(*_):
        raise KeyboardInterrupt

    for where, what in (("pliant.cli._print_anything", pressed), ("pliant.shop.scenes.find", pressed)):  # before typer begins, and inside
        with monkeypatch.context() as patched, pytest.raises(SystemExit) as left:
            patched.setattr(sys, "argv", ["pliant", "scenes"])
            patched.setattr(where, what)
            command()
        assert left.value.code == 130 and capsys.readouterr().err == "Stopped.\n"


def test_processes_that_compile_leave_ctrl_c_to_the_one_that_started_them():
    from pliant.simulate.compile_ahead import _deaf

    ask = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"]
    with _deaf():
        inside = subprocess.run(ask, capture_output=True, text=True, check=True)
    outside = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert (inside.stdout, outside.stdout) == ("True\n", "False\n")


def test_ctrl_c_waits_while_vtk_loads():
    """It crashed there, with a segmentation fault."""
    from pliant.base import unbroken

    done, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)  # libraries of clusters put their own there
    try:
        with pytest.raises(KeyboardInterrupt), unbroken():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")
        assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
