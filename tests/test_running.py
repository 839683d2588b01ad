"""A run through the real loop: stopped, killed, resumed, on one and two threads, it ends with the same bits; VTK sees all of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pliant import Scene, kernels
from pliant.base import DiskError, PliantError
from pliant.bodies.elasticity import von_mises
from pliant.cli import main
from pliant.contact import method
from pliant.contact.contacts import Contacts
from pliant.geometry.shapes import make as make_shape
from pliant.geometry.solids import box
from pliant.measure.pairs import per_pair
from pliant.record import Run, read_journal, runfile
from pliant.record.elements import Strained
from pliant.simulate import running

DT = 0.004
SOFT = dict(youngs_modulus=3e4, poisson_ratio=0.4, stiffness_damping=0.002)


def pile(steps=40):
    """An implicit soft ball between the ground and a tilted rigid brick that slides off it, with friction."""
    scene = Scene(name="pile", dt=DT, duration=steps * DT, contact="ground")
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    ball = dict(kind="ball", radius=0.06, edge=0.04)
    scene.add(name="ball", shape=ball, position=(0, 0, 0.0595), velocity=(0.3, 0, 0), material=SOFT, integrator="implicit")
    brick = dict(kind="box", size=(0.1, 0.1, 0.05), edge=0.05)
    scene.add(name="brick", shape=brick, model="rigid", position=(0.03, 0, 0.15), rotation=(0, 12, 0))
    return scene


def machine(steps=20):
    """Prescribed motion, a weld, a string, loads, and tables that change gravity, friction and an explicit body's stiffness."""
    end = steps * DT
    scene = Scene(name="machine", dt=DT, duration=end, contact="ground")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    rod = dict(kind="box", size=(0.3, 0.04, 0.04), edge=0.04)
    scene.add(name="rod", shape=rod, model="rigid", position=(0, 0.6, 0.4), motions=[dict(turn=dict(times=[0, end], values=[[0, 0, 0], [0, 20, 90]]))])
    cube = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05)
    scene.add(name="rider", shape=cube, position=(0.2, 0.6, 0.4), material=dict(SOFT, youngs_modulus=3e3), integrator="symplectic")
    scene.attach(kind="weld", a=dict(body="rod", at=(0.15, 0.6, 0.4)), b=dict(body="rider", at=(0.15, 0.6, 0.4)))
    scene.pair("rod", "rider", contact=False)
    scene.add(
        name="held", shape=cube, position=(0, 0, 0.3), material=SOFT, integrator="implicit", element="quadratic",
        motions=[dict(where=dict(side="+z"), shift=lambda t: (0.05 * np.sin(20 * t), 0.0, 0.0))],
    )  # fmt: skip
    scene.add(name="brick", shape=cube, model="rigid", position=(-0.3, 0, 0.05), loads=[dict(value=(6.0, 0, 0))], friction=0.5)
    scene.attach(kind="string", a=dict(at=(-0.3, 0.0, 0.5)), b=dict(body="brick", at=(-0.3, 0, 0.1)), stiffness=500.0)
    scene.change("gravity", dict(times=[0, end / 2, end], values=[[0, 0, -9.81], [0, 0, -9.81], [1, 0, -4]]))
    scene.change("rider.material.youngs_modulus", dict(times=[0, end / 2], values=[3e3, 3e4]))
    scene.change("brick.friction", dict(times=[0, end], values=[0.5, 0.1]))
    return scene


def whole_run(scene, path, **options):
    outcome = running.run(*running.start(scene, path, **options))
    assert outcome.status == "finished", outcome.message
    return outcome


def stopped(sim, recorder, after):
    """Press Ctrl-C, once, in the step with this number; parts of a divided step are told too."""
    pressed = []

    def press(now):
        if now.steps >= after and not pressed:
            pressed.append(now.steps)
            signal.raise_signal(signal.SIGINT)

    return running.run(sim, recorder, press)


def column_of(series, name):
    """A column of the step table, without the clock's."""
    return None if name.startswith("seconds") else series[name].tobytes()


def assert_same_run(path, other, steps=True):
    """The same frames, contacts and last checkpoint, bit for bit; and, unless told, the same step table."""
    with Run.open(path) as mine, Run.open(other) as theirs:
        assert mine.status == theirs.status == "finished"
        assert mine.times.tobytes() == theirs.times.tobytes()
        for i in range(theirs.frames):
            a, b = mine._frame(i).record(), theirs._frame(i).record()
            assert a.meta == b.meta and a.arrays.keys() == b.arrays.keys()
            for name in a.arrays:
                assert a.arrays[name].tobytes() == b.arrays[name].tobytes(), (i, name)
        a, b = mine.state(), theirs.state()
        assert a.meta == b.meta and a.arrays.keys() == b.arrays.keys()
        for name in a.arrays:
            assert a.arrays[name].tobytes() == b.arrays[name].tobytes(), name
        for table in (Run.series, Run.pairs) if steps else ():
            a, b = table(mine), table(theirs)
            assert a.keys() == b.keys()
            assert all(column_of(a, name) == column_of(b, name) for name in a)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Runs that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    return {make: whole_run(make(), folder / make.__name__, every=5 * DT, checkpoint_every=2) for make in (pile, machine)}


# -- stop and go on


def test_the_scenes_touch_stick_and_slide(whole):
    """What follows would prove little on a scene in which nothing happens."""
    with Run.open(whole[pile].path) as run:
        assert run.frames == 9
        assert {name.split("/", 1)[0] for name in run.state().arrays} >= {"x", "rotation", "memory"}
        assert len(run.state().arrays["memory/ground/key"]) > 3
        sticking = np.concatenate([run.contact_rows(i).get("sticking", np.zeros(0)) for i in range(run.frames)])
        assert 0 < np.nanmean(sticking) < 1
    assert whole[machine].max_contacts >= 4


@pytest.mark.parametrize("make, n", [(pile, 1), (pile, 5), (pile, 22), (pile, 39), (machine, 4), (machine, 10), (machine, 17)])
def test_n_steps_and_the_rest_are_all_steps(make, n, whole, tmp_path):
    path = tmp_path / "run"
    first = stopped(*running.start(make(), path, every=5 * DT, checkpoint_every=2), after=n)
    assert first.status == "interrupted" and n <= first.steps < n + 10  # parts of a step that is divided all count
    rest = running.run(*running.reopen(path))
    assert (rest.status, rest.steps) == ("finished", whole[make].steps - first.steps)
    assert_same_run(path, whole[make].path)
    assert os.listdir(tmp_path) == ["run.vtkhdf"]


def test_stopped_again_and_again(whole, tmp_path):
    path = tmp_path / "run"
    stopped(*running.start(pile(), path, every=5 * DT, checkpoint_every=2), after=3)
    for after in (1, 9, 2, 5):
        assert stopped(*running.reopen(path), after).status == "interrupted"
    running.run(*running.reopen(path))
    assert_same_run(path, whole[pile].path)


def test_a_run_that_lost_frames_goes_on_in_its_steps(whole, tmp_path):
    """Frames were counted, so that the next one was due now, or before: a step of 0 s."""

    def full(report):
        if report.time > 22.5 * DT:
            raise DiskError("The disk is full.")

    path = tmp_path / "run"
    with pytest.raises(DiskError):
        running.run(*running.start(pile(), path, every=5 * DT, checkpoint_every=2), watch=full)
    journal = path.with_suffix(".journal")
    data = bytearray(journal.read_bytes())
    with Run.open(whole[pile].path) as run:
        times = run.times.tolist()
        for lost in (1, 2):
            at = data.find(run._frame(lost).record().arrays["points"].tobytes())
            assert at > 0
            data[at] ^= 4
    path.with_suffix(".vtkhdf").unlink(missing_ok=True)
    journal.write_bytes(data)
    outcome = running.run(*running.reopen(path))
    assert outcome.status == "finished", outcome.message
    with Run.open(path) as run, Run.open(whole[pile].path) as other:
        assert run.times.tolist() == [times[0], *times[3:]]
        assert run.points(run.frames - 1).tobytes() == other.points(other.frames - 1).tobytes()


def test_steps_that_do_not_fit_into_frames(tmp_path):
    """Frames every 2.5 steps make shorter steps; stopping must not change how they are divided."""
    whole_run(pile(20), tmp_path / "whole", every=2.5 * DT)
    for n in (1, 8, 17):
        stopped(*running.start(pile(20), tmp_path / f"{n}", every=2.5 * DT), after=n)
        running.run(*running.reopen(tmp_path / f"{n}"))
        assert_same_run(tmp_path / f"{n}", tmp_path / "whole")


def test_what_was_set_by_hand_survives(tmp_path):
    """sim.set before the run, and the divided step of a stiffer explicit body that follows from it."""

    def begin(name):
        scene = Scene(dt=DT, duration=20 * DT, contact="none")
        scene.add(name="bar", shape=dict(kind="box", size=(0.3, 0.1, 0.1), edge=0.1), fixed=[dict(side="-x")], integrator="symplectic", material=SOFT)
        sim, recorder = running.start(scene, tmp_path / name, every=2 * DT, checkpoint_every=1)
        sim.set("bar.material.youngs_modulus", 1e6)
        sim.set("gravity", (0.0, 1.0, -5.0))
        return sim, recorder

    sim, recorder = begin("whole")
    running.run(sim, recorder)
    first = stopped(*begin("parts"), after=7)
    again, recorder = running.reopen(first.path)
    assert again._pieces == sim._pieces > 1 and again.scene.gravity == (0.0, 1.0, -5.0)
    assert running.run(again, recorder).status == "finished"
    assert_same_run(tmp_path / "parts", tmp_path / "whole")


def test_meshes_from_files_and_from_python_are_in_the_run(tmp_path):
    """The run goes on when the file is gone; exact shapes stay exact."""
    import meshio

    def scene():
        mesh = box((0.1, 0.1, 0.1), edge=0.05)
        made = Scene(dt=DT, duration=20 * DT)
        made.add(name="ground", shape="plane", model="static")
        made.add(name="cube", shape=dict(file=str(file), unit="cm"), position=(0, 0, 0.049), material=SOFT, integrator="implicit")
        made.add(name="stone", shape=dict(file=str(file), unit="cm"), model="rigid", position=(0.3, 0, 0.05))
        made.add(name="dice", shape=mesh, position=(0.6, 0, 0.049), material=SOFT, integrator="implicit")
        made.add(name="knob", shape=make_shape("ball", radius=0.05, edge=0.03), model="static", position=(0, 0, 0.1485))
        made.pair("cube", "knob", friction=0.1)
        return made

    file = tmp_path / "cube.msh"
    mesh = box((10, 10, 10), edge=5.0).tets
    meshio.write(file, meshio.Mesh(mesh.points, [("tetra", mesh.tets)]), file_format="gmsh")
    whole_run(scene(), tmp_path / "whole", every=2 * DT)
    stopped(*running.start(scene(), tmp_path / "parts", every=2 * DT), after=9)
    file.unlink()
    sim, recorder = running.reopen(tmp_path / "parts")
    running.run(sim, recorder)
    assert len(sim.contacts("cube", "ground")) and len(sim.contacts("stone", "ground"))
    assert_same_run(tmp_path / "parts", tmp_path / "whole")


def test_a_finished_run_goes_on_for_longer(tmp_path, whole):
    path = tmp_path / "run"
    whole_run(pile(30), path, every=5 * DT, checkpoint_every=2)
    sim, recorder = running.reopen(path, duration=40 * DT)
    stopped(sim, recorder, after=2)  # the new end is remembered
    assert running.run(*running.reopen(path)).status == "finished"
    assert_same_run(path, whole[pile].path, steps=False)
    before = path.with_suffix(".vtkhdf").read_bytes()
    assert running.run(*running.reopen(path)).steps == 0
    with Run.open(path) as run:
        assert run.status == "finished" and len(run.entries) > 0
    assert abs(len(path.with_suffix(".vtkhdf").read_bytes()) - len(before)) < 2000, "resuming a finished run adds to it"  # the index is there twice


def test_one_and_two_threads_record_the_same(tmp_path, monkeypatch, whole):
    import numba

    if numba.config.NUMBA_NUM_THREADS < 2 or kernels.BOUNDSCHECK:
        pytest.skip("this machine has one thread")
    monkeypatch.setattr(kernels, "SMALL", 0)
    for threads in ("1", "2"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        whole_run(pile(), tmp_path / threads, every=5 * DT, checkpoint_every=2)
        assert numba.get_num_threads() == int(threads)
        assert_same_run(tmp_path / threads, whole[pile].path)
    numba.set_num_threads(1)


# -- what is recorded


def test_the_record_is_what_the_simulation_did(tmp_path):
    outcome = whole_run(pile(10), tmp_path / "run", every=0)
    sim = pile(10).simulate()
    with Run.open(outcome.path) as run:
        series = run.series()
        assert run.frames == 11 and run.header["name"] == "pile"
        for i in range(1, 11):
            report = sim.step(float(series["dt"][i - 1]))
            assert np.array_equal(run.points(i), sim.points())
            assert np.array_equal(run.contact_rows(i)["impulse"], report.contacts.impulse) if len(report.contacts) else True
            books = sim.books()
            for name in ("kinetic", "elastic", "gravity"):
                assert series[name][i - 1] == getattr(books, name)
            assert np.array_equal(series["momentum"][i - 1], books.momentum)
            assert series["contacts"][i - 1] == len(report.contacts)
        last = run.pairs()["row"] == 9
        total = run.pairs()["force"][last].sum(axis=0)
        assert np.allclose(total, per_pair(sim.contacts())["force"].sum(axis=0), rtol=1e-12, atol=1e-12)
        assert {"seconds free motion", "seconds contact"} <= series.keys()


def test_vtk_reads_every_frame(whole):
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    vtk = vtkHDFReader()
    vtk.SetFileName(str(whole[machine].path))
    vtk.UpdateInformation()
    with Run.open(whole[machine].path) as run:
        assert vtk.GetNumberOfSteps() == run.frames == 5
        for i in range(run.frames):
            vtk.SetStep(i)
            vtk.Update()
            grid = vtk.GetOutput()
            assert vtk.GetTimeValue() == run.times[i]
            assert np.array_equal(vtk_to_numpy(grid.GetPoints().GetData()), run.points(i))
            assert grid.GetNumberOfCells() == run.cells(i).count
            assert np.array_equal(vtk_to_numpy(grid.GetPointData().GetArray("displacement")), run.field("displacement", i))
            stress = vtk_to_numpy(grid.GetCellData().GetArray("von_mises"))
            assert np.array_equal(stress, run.field("von_mises", i), equal_nan=True)


def test_the_size_is_foretold(tmp_path):
    scene = pile(30)
    scene.bodies[1].shape["edge"] = 0.02
    sim, recorder = running.start(scene, tmp_path / "run")
    expected = running.expected_size(sim, recorder.header["every"])[1]
    size = running.run(sim, recorder).path.stat().st_size
    assert 0.5 < expected / size < 1.5


# -- SIGKILL

DRIVER = """
import os, signal, sys
from pliant.record.journal import JournalWriter
told, number, fraction = open(sys.argv[1], "a"), int(sys.argv[2]), float(sys.argv[3])
append, write, count = JournalWriter.append, JournalWriter._write, [0]
def telling(self, *args):
    entry = append(self, *args)
    print(len(self.entries), file=told, flush=True)
    return entry
def partly(self, buffer):
    count[0] += 1
    if count[0] == number:
        self._file.write(memoryview(buffer)[: int(fraction * len(buffer))])
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, buffer)
JournalWriter.append, JournalWriter._write = telling, partly
sys.argv = ["pliant", *sys.argv[4:]]
from pliant.cli import main
main()
"""


class Killer:
    """Runs the command line in a process of its own and kills it; keeps what it said it had recorded."""

    def __init__(self, folder, seed):
        self.path, self.told, self.scene = folder / "run", folder / "told", folder.parent / "pile.toml"
        folder.mkdir()
        self.scene.write_text(pile(120).to_toml())
        self.dice = random.Random(seed)

    def command(self, number=0, fraction=0.0):
        """Start the run, or go on with it if it exists."""
        exists = self.path.with_suffix(".journal").exists() or self.path.with_suffix(".vtkhdf").exists()
        begin = ["run", str(self.scene), "--out", str(self.path), "--every", str(2 * DT), "--checkpoint-every", "3"]
        arguments = ["resume", str(self.path)] if exists else begin
        self.told.write_text("")
        driver = [sys.executable, "-c", DRIVER, str(self.told), str(number), str(fraction)]
        return subprocess.Popen([*driver, *arguments, "--no-pictures"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def kill(self, during_a_write):
        """End a process without warning; False if it was done before."""
        number = self.dice.randint(1, 40) if during_a_write else 0
        process = self.command(number, self.dice.random())
        if not number:
            before = self.told.read_text()
            while process.poll() is None and self.told.read_text() == before:  # until it records
                time.sleep(0.002)
            time.sleep(self.dice.uniform(0.0, 0.7))
            process.kill()
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said
        self.check()
        return process.returncode != 0

    def check(self):
        """All that was told is there, and at most one record more; everything can be read."""
        lines = [int(line) for line in self.told.read_text().splitlines(keepends=True) if line.endswith("\n")]
        journal = self.path.with_suffix(".journal")
        if not journal.exists():
            assert self.path.with_suffix(".vtkhdf").exists() or len(lines) <= 3, "the run is gone"
            return
        if lines:
            reader = read_journal(journal)
            assert lines[-1] <= len(reader.entries) <= lines[-1] + 1
            reader.close()
        with Run.open(self.path) as run:
            for entry in run.entries:
                assert entry.record().arrays.keys() == entry.specs.keys()
            assert run.state().arrays["x"].shape[1] == 3

    def finish(self):
        process = self.command()
        _, said = process.communicate()
        assert process.returncode == 0, said
        return self.path


def killed_runs(folder, kills, seed):
    """Kill runs so many times in all, a quarter of them during a write, and let each end."""
    expected = whole_run(pile(120), folder / "expected", every=2 * DT, checkpoint_every=3).path
    done = number = 0
    while done < kills:
        number += 1
        assert number <= kills + 2, "runs end before they can be killed"
        killer = Killer(folder / f"killed{number}", seed + number)
        while done < kills and killer.kill(during_a_write=done % 4 == 1):
            done += 1
        path = killer.finish()
        assert_same_run(path, expected)
        assert sorted(os.listdir(path.parent)) == ["run.vtkhdf", "told"]


needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")


@needs_sigkill
def test_two_kills(tmp_path):
    """One at any moment, one during a write."""
    killed_runs(tmp_path, 2, seed=1)


@needs_sigkill
@pytest.mark.slow
def test_fifty_kills(tmp_path):
    killed_runs(tmp_path, 50, seed=100)


def test_killed_between_the_last_record_and_the_run_file(tmp_path, monkeypatch, capsys):
    expected = whole_run(pile(6), tmp_path / "expected").path

    def killed(writer, path):
        path.with_name(path.name + ".part").write_bytes(b"half")
        writer.close()

    with monkeypatch.context() as patch:
        patch.setattr(runfile, "absorb", killed)
        whole_run(pile(6), tmp_path / "run")
    assert (tmp_path / "run.journal").exists()
    monkeypatch.setattr(sys, "argv", ["pliant", "resume", str(tmp_path / "run")])
    for done in ("was written from its journal", "nothing was done"):
        with pytest.raises(SystemExit, match="0"):
            main()
        assert f"Give one above {6 * DT:.4g} s" in (said := capsys.readouterr().out) and done in said
    assert_same_run(tmp_path / "run", expected)
    assert sorted(path.name for path in tmp_path.glob("run.*")) == ["run.vtkhdf"]


# -- Ctrl-C and failure


@needs_sigkill
def test_ctrl_c_ends_cleanly_and_the_run_goes_on(tmp_path):
    scene = tmp_path / "pile.toml"
    scene.write_text(pile(4000).to_toml())
    command = [sys.executable, "-m", "pliant", "run", str(scene), "--out", str(tmp_path / "run"), "--every", str(DT)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (tmp_path / "run.vtkhdf").exists():
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said
    assert "interrupted at t =" in out and "pliant resume" in out
    assert sorted(os.listdir(tmp_path)) == ["pile.toml", "run.vtkhdf"]
    with Run.open(tmp_path / "run") as run:
        assert run.status == "interrupted"
        steps = int(run.state().meta["step"])
        assert 0 < steps < 4000
    sim, recorder = running.reopen(tmp_path / "run", duration=(steps + 5) * DT)
    assert running.run(sim, recorder).status == "finished" and sim.state.step == steps + 5


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    sim, recorder = running.start(pile(), tmp_path / "run")

    def press(now):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        running.run(sim, recorder, press)
    recorder._writer.close()  # as the end of the process would
    assert running.run(*running.reopen(tmp_path / "run")).status == "finished"


def test_a_run_that_fails_is_readable_and_can_be_tried_again(tmp_path, monkeypatch):
    class Broken:
        needs = frozenset()

        def respond(self, motion, memory):
            if motion.time > 6.5 * DT:
                motion.x[3] = np.nan
            return method.Answer(Contacts.none(motion.dt))

    monkeypatch.setitem(method._REGISTERED, "broken", Broken)
    scene = pile()
    scene.contact = "broken"
    outcome = running.run(*running.start(scene, tmp_path / "run", every=DT, checkpoint_every=3))
    assert outcome.status == "failed" and "'ball'" in outcome.message and "step 8" in outcome.message
    with Run.open(Path(outcome.path)) as run:
        assert run.status == "failed" and run.frames == 8 and np.isfinite(run.points(-1)).all()
        assert run.message == outcome.message
    again, _ = running.reopen(outcome.path)
    assert again.state.step == 6 and np.isfinite(again.state.x).all()


@pytest.mark.parametrize("element", ["linear", "quadratic"])
@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean"])
def test_the_recorded_stress_is_that_of_the_elements(law, element):
    """From forces (the virial) as from the law; turned and shifted far from the origin, with damping that does not show."""
    scene = Scene(contact="none")
    material = dict(SOFT, law=law)
    scene.add(shape=dict(kind="box", size=(0.2, 0.1, 0.1), edge=0.05), position=(5, -3, 8), rotation=(20, 50, 10), element=element, material=material)
    sim = scene.simulate()
    (group,) = sim.world.model.groups
    x = sim.state.x + 0.004 * np.random.default_rng(4).standard_normal(sim.state.x.shape)
    now = Strained.of(group, x)
    stretch, stress = now.stretch, now.stress
    expected = von_mises(group.stress(x))
    assert expected.max() > 1e3 and np.ptp(stretch) > 0.1
    assert np.allclose(stress, expected, rtol=1e-9, atol=1e-9 * expected.max())
    assert np.allclose(stretch, group.stretch(x), rtol=0, atol=1e-11)
    assert np.array_equal(now.energy, group.energy(x))


def test_contacts_of_a_run_are_those_of_the_simulation(tmp_path):
    """Force, torque, pressure and what carries them, read back at a time; turned towards the body that is asked for."""
    scene = Scene(dt=0.01, duration=0.1)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", shape=dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.1), position=(0, 0, 0.05), integrator="implicit")
    sim, recorder = running.start(scene, tmp_path / "a", every=0.02)
    running.run(sim, recorder)
    now = sim.contacts("box", "ground")
    with Run.open(tmp_path / "a.vtkhdf") as opened:
        read = opened.contacts("box", "ground")
        assert np.array_equal(read.force, now.force) and np.array_equal(read.support.point, now.support.point)
        assert read.total_torque() == pytest.approx(now.total_torque(), abs=1e-12)
        assert (read.pressure * read.area).sum() == pytest.approx(read.normal_force.sum(), rel=1e-12)
        assert opened.contacts("ground", "box").total_force == pytest.approx(-now.total_force, abs=1e-12)
        assert read.center_of_pressure == pytest.approx([0, 0, 0], abs=2e-3)
        assert len(opened.contacts(t=0.0)) == 0 and opened.frame_at(0.05) == 2
        with pytest.raises(PliantError, match="no body 'boks'"):
            opened.contacts("boks")
        with pytest.raises(PliantError, match="no frame at or before"):
            opened.contacts(t=-1.0)
