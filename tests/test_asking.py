"""What commands do not do unless they are asked: run code of files, begin what is large or hardly meant, write outside a folder."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from pliant import asking
from pliant.asking import commands
from pliant.base import PliantError
from pliant.bodies.quasi_rigid.building import _fine
from pliant.cli import main
from pliant.disk import file_stem
from pliant.geometry.shapes import make
from pliant.record import Run
from pliant.scene import Scene
from pliant.simulate import running

SCENE = """
name = "block"
dt = 0.005
duration = 0.02
contact = "{contact}"
[[bodies]]
name = "floor"
shape = "plane"
model = "static"
[[bodies]]
name = "block"
shape = {{ kind = "box", size = [0.1, 0.1, 0.1], edge = 0.1 }}
model = "rigid"
position = [0, 0, 0.051]
"""
CODE = """
from pathlib import Path
from pliant.contact.ground import Ground
Path("it-ran").touch()

class Mine(Ground):
    pass

def made(height=0.051):
    from pliant import Scene
    return Scene.load("plain.toml").with_({"block.position[2]": height})
"""


@pytest.fixture
def pliant(tmp_path, monkeypatch, capsys):
    """The command line in a folder of its own, which has scenes and code; exit code, and what was said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "strange.py").write_text(CODE)
    (tmp_path / "plain.toml").write_text(SCENE.format(contact="ground"))
    (tmp_path / "code.toml").write_text(SCENE.format(contact="strange:Mine"))

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["pliant", *map(str, words)])
        sys.modules.pop("strange", None)
        (tmp_path / "it-ran").unlink(missing_ok=True)
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out + said.err, (tmp_path / "it-ran").exists()

    return call


def refused(answer, words) -> bool:
    code, said, ran = answer
    return code == 2 and words in said and not ran and "Traceback" not in said


def test_code_of_a_scene_is_not_run_unasked(pliant, tmp_path):
    assert refused(pliant("run", "code.toml", "--no-pictures"), "--allow-code")
    assert refused(pliant("compare", "code.toml", "--contact", "ground,auto", "--allow-nothing"), "No such option")
    assert not (tmp_path / "runs").exists()
    code, _, ran = pliant("run", "code.toml", "--no-pictures", "--allow-code", "--out", "runs/a")
    assert code == 0 and ran
    assert refused(pliant("resume", "runs/a.vtkhdf", "--duration", "0.03", "--no-pictures"), "--allow-code")
    for command in (("info", "runs/a.vtkhdf"), ("export", "runs/a.vtkhdf", "--to", "csv"), ("contacts", "runs/a.vtkhdf")):
        assert pliant(*command)[::2] == (0, False)
    code, _, ran = pliant("resume", "runs/a.vtkhdf", "--duration", "0.03", "--no-pictures", "--allow-code")
    assert code == 0 and ran
    assert refused(pliant("refine", "code.toml", "--dts", 1, "--edges", 1), "--allow-code")
    assert pliant("refine", "code.toml", "--dts", 1, "--edges", 1, "--allow-code")[2]
    code, _, ran = pliant("run", "plain.toml", "--contact", "strange:Mine", "--no-pictures", "--out", "runs/b")  # who types it means it
    assert code == 0 and ran


def test_code_of_a_study_is_not_run_unasked(pliant, tmp_path):
    sweep = "[parameters]\n\"block.position[2]\" = [0.06]\n[measures]\nenergy = { of = \"kinetic\" }\n"
    for k, scene in enumerate(("strange.py:made", "strange:made", "code.toml")):
        (tmp_path / f"study{k}.toml").write_text(f"scene = \"{scene}\"\n{sweep}")
        assert refused(pliant("study", f"study{k}.toml", "--workers", 0), "--allow-code"), scene


def test_modules_of_the_working_folder_are_not_imported(tmp_path):
    """`python -m` and processes that Python starts look there first: a folder of a stranger may have modules of any name."""
    for name in ("typer", "h5py", "multiprocessing"):
        (tmp_path / f"{name}.py").write_text("open('it-ran', 'w').close()\n")
    command = [sys.executable, "-m", "pliant", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not (tmp_path / "it-ran").exists(), done.stderr


def test_programs_need_no_flag(pliant, tmp_path):
    scene = Scene.load(tmp_path / "code.toml")
    assert scene.simulate().step().step == 1
    with commands(), pytest.raises(PliantError, match="--allow-code"):
        scene.simulate()


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a/b", "", ".hidden", "a" * 400, "x\0y", "c:evil", "a\\b"])
def test_names_stay_in_their_folder(name):
    with pytest.raises(PliantError, match="cannot name a file"):
        file_stem(name, "The scene")
    assert file_stem("a good name-2.1 (é)", "x") == "a good name-2.1 (é)"


def test_a_scene_cannot_write_outside_its_folder(pliant, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "evil.toml").write_text(SCENE.format(contact="ground").replace('"block"', '"../evil"', 1))
    for command in (("run", "evil.toml", "--no-pictures"), ("compare", "evil.toml", "--contact", "ground")):
        assert refused(pliant(*command), "cannot name a file")
    assert not list(tmp_path.rglob("evil.vtkhdf")) and not list(tmp_path.rglob("evil_compare*"))
    assert pliant("run", "evil.toml", "--no-pictures", "--out", "in/a")[0] == 0


def test_what_is_large_or_hardly_meant_is_asked_about(pliant, tmp_path):
    assert refused(pliant("run", "plain.toml", "--no-pictures", "--set", "block.shape.edge=0.0005", "--set", "block.model=fem"), "--yes")
    answer = pliant("run", "plain.toml", "--no-pictures", "--dt", "0.5", "--duration", "1")
    assert refused(answer, "dt = 0.5 s is too long") and not (tmp_path / "runs").exists()
    assert pliant("run", "plain.toml", "--no-pictures", "--dt", "0.5", "--duration", "1", "--yes", "--out", "runs/long")[0] == 3  # it goes, and goes through
    assert refused(pliant("run", "plain.toml", "--no-pictures", "--duration", "1e7"), "days")


def test_a_method_that_cannot_do_a_scene_leaves_no_file(pliant, tmp_path):
    code, said, _ = pliant("run", "plain.toml", "--contact", "quasi-rigid", "--no-pictures")
    assert code == 2 and "quasi-rigid" in said and not (tmp_path / "runs").exists()


def test_comparing_says_with_its_exit_code_what_failed(pliant):
    assert refused(pliant("compare", "plain.toml", "--contact", "nope,auto"), "no contact method 'nope'")
    code, said, _ = pliant("compare", "plain.toml", "--contact", "ground,quasi-rigid", "--out", "c.png")
    assert code == 1 and "Wrote c.png" in said
    assert pliant("compare", "plain.toml", "--contact", "ground", "--out", "c.png")[0] == 0


def test_a_look_ahead_changes_nothing(tmp_path, monkeypatch):
    """The step that is tried before there is a file leaves no trace in the run."""
    for method in ("ground", "penalty", "noniterative", "patch", "point-surface"):
        scene = Scene.from_toml(SCENE.format(contact=method)).with_({"block.model": "fem"})
        ends = []
        for name in ("with", "without"):
            with monkeypatch.context() as patch:
                if name == "without":
                    patch.setattr("pliant.simulate.simulation.Simulation.trial", lambda self: None)
                sim, recorder = running.start(scene, tmp_path / f"{method}-{name}")
            running.run(sim, recorder)
            with Run.open(tmp_path / f"{method}-{name}") as run:
                ends.append(run.points(-1).tobytes() + run.state().arrays["v"].tobytes())
        assert ends[0] == ends[1], method


def test_samples_cost_as_much_as_tetrahedra():
    """Two busts of 50,000 samples run in seconds, and were asked about: a sample was counted as 20 elements."""
    box = make("box", size=(0.1, 0.1, 0.1))
    with commands():
        assert len(_fine(SimpleNamespace(spacing=1e-3), box).points) > 40_000
        with pytest.raises(PliantError, match=r"would make as many as 1.5e\+06 samples: about 4.5 GB .* Use a larger spacing, or add --yes"):
            _fine(SimpleNamespace(spacing=2e-4), box)


def test_memory_is_counted(monkeypatch):
    monkeypatch.setattr(asking, "memory", lambda: 10**9)
    with commands(), pytest.raises(PliantError, match="this machine has 1 GB"):
        asking.refuse_large(900_000, 1.0, 10, 1)
    asking.refuse_large(10**9, 1.0, 1e9, 1000)  # programs are not asked


def test_time_is_counted_by_what_takes_it():
    """Explicit elements are cheap and many bodies are not: each run is asked about where it takes more than a day."""
    assert asking.step_seconds(0, 10_000, 2) < 0.5 * asking.step_seconds(10_000, 0, 2)
    with commands(), pytest.raises(PliantError, match="1.2 days in all"):
        asking.refuse_large(0, asking.step_seconds(0, 0, 50), 2e7, 1)
    with commands():
        asking.refuse_large(10_000, asking.step_seconds(0, 10_000, 2), 1e6, 8)  # eight hours


def test_a_step_of_minutes_is_asked_about():
    """A step of 43,000 parts took three minutes, and the run of 50 less than a day."""
    with commands(), pytest.raises(PliantError, match="each divided into 43017 because .* about 174 s for each step"):
        asking.refuse_large(20, asking.step_seconds(0, 20, 2), 50, 43017)
    with commands():
        asking.refuse_large(20, asking.step_seconds(0, 20, 2), 50, 1000)
