"""What runs say about themselves at their end: depth and remedies that help, bodies that went through, volumes, notes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant import Scene, register_method
from pliant.cli import app
from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer, make_method
from pliant.detect.thickness import Thickness
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.measure.account import key_of
from pliant.measure.forces import Forces
from pliant.measure.resolution import ACROSS, DENT, WORDS, rounded_down, worded
from pliant.record import Run
from pliant.shop import scenes
from pliant.simulate import running
from pliant.simulate.verdicts import FAILED, Closed, Cuts, Depths, Matter, Notes, Through, merged


@dataclass(frozen=True)
class Idle:
    """A method that sees nothing: whatever falls goes through."""

    needs: ClassVar[frozenset[str]] = frozenset()
    follows: ClassVar[str] = "everything"

    def respond(self, motion, memory):
        return Answer(Contacts.none(motion.dt))


register_method("idle", Idle)


def test_notes_that_differ_in_numbers_are_one():
    notes = ["stone1 is stable up to 0.3 s.", "stone2 is stable up to 0.3 s.", "All is well.", "stone9 is stable up to 0.3 s.", "All is well."]
    assert merged(notes) == ["one of stone1 to stone9 is stable up to 0.3 s. (3 such notes.)", "All is well."]
    told = merged([f"box{a} and box{b} met at {t} s." for a, b, t in ((0, 3, 0.1), (3, 5, 0.2), (4, 5, 0.3))])
    assert told == ["one of box0 to box4 and box3 or box5 met at 0.1 to 0.3 s. (3 such notes.)"]
    assert merged(["body # is far", "body 3 is far"]) == ["body # is far", "body 3 is far"]
    assert merged(["1 of 2", "3 of 2"]) == ["1 and 3 of 2 (2 such notes.)"] and merged([]) == []


def falling(contact):
    scene = Scene(name="falls", dt=2e-3, duration=0.12, contact=contact)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", model="rigid", shape=dict(kind="box", size=(0.04,) * 3), position=(0, 0, 0.03))
    return scene


def test_a_warning_of_every_step_takes_no_room():
    notes = Notes()
    for step in range(3000):
        notes.add(f"no depth for {step % 700} points at step {step}")
        notes.add("said in every step")
    assert notes.told() == ["no depth for 0 to 699 points at step 0 to 2999 (3000 such notes.)", "said in every step"]
    assert max(len(known) for kind in notes._kinds.values() for known in kind.ranges) <= 3


def watched():
    """A marble that a sheet stops within a step, a soft cube that lands hard, and a body that falls through everything: most kinds of notes."""
    scene = Scene(name="watched", dt=4e-3, duration=0.12)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="sheet", model="static", shape=dict(kind="box", size=(0.2, 0.2, 0.004)), position=(0, 0, 0.1))
    scene.add(name="marble", model="rigid", shape=dict(kind="ball", radius=0.01), position=(0, 0, 0.2), velocity=(0, 0, -20.0))
    cube = dict(kind="box", size=(0.1,) * 3, edge=0.05)
    soft = dict(youngs_modulus=2e3, density=300.0)
    scene.add(name="cube", shape=cube, position=(1, 0, 0.06), velocity=(0, 0, -1.5), material=soft)
    scene.add(name="sunk", shape=cube, position=(3, 0, 0.0495), material=soft)
    scene.add(name="ghost", model="rigid", shape=cube, position=(2, 0, 0.06))
    scene.pair("ghost", "ground", method="idle")
    scene.pair("cube", "ground", method="ground")
    return scene


@pytest.mark.parametrize("stop", [0.0, 0.04, 0.08])
def test_a_run_that_is_resumed_says_what_it_says_in_one_piece(stop, tmp_path):
    whole = running.run(*running.start(watched(), tmp_path / "whole", every=4e-3))
    scene = watched()
    scene.duration = stop or scene.duration
    sim, recorder = running.start(scene, tmp_path / "parts", every=4e-3)
    if stop == 0.0:  # killed before the first frame
        recorder.abandon()
    else:
        running.run(sim, recorder)
    parts = running.run(*running.reopen(tmp_path / "parts", watched().duration))
    assert parts.notes == whole.notes and parts.wrong == whole.wrong and whole.through
    assert any("cut short" in note for note in whole.notes) and any("in depth" in note for note in whole.notes)
    assert parts.max_depth == whole.max_depth and parts.max_contacts == whole.max_contacts


def test_a_body_that_went_through_ends_the_run_with_a_code_and_a_first_line(tmp_path):
    (tmp_path / "falls.toml").write_text(falling("idle").to_toml())
    given = ["run", str(tmp_path / "falls.toml"), "--no-pictures", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 3, done.output
    assert f"{FAILED}bodies went through each other" in done.output and "box and ground" in done.output
    with Run.open(tmp_path / "run") as run:
        assert run.notes[0].startswith(FAILED) and run.status == "finished"
    outcome = running.run(*running.start(falling("idle"), tmp_path / "again"))
    assert outcome.wrong == [outcome.through] and outcome.through in outcome.notes, "and nothing else of the same bodies"
    for method in ("none", "continuous-penalty"):  # asked for, and held
        outcome = running.run(*running.start(falling(method), tmp_path / method))
        assert outcome.through == "", method


def test_what_nothing_pushes_apart_is_told_before_it_is_through(tmp_path):
    """Depth is read from contacts; where there are none it is looked for."""
    outcome = running.run(*running.start(falling("idle").with_({"duration": 0.06}), tmp_path / "run"))
    assert outcome.through == "" and outcome.max_depth == 0.0
    assert [note for note in outcome.wrong if note.startswith("Contact pushed nothing apart") and "box and ground to 8.25 mm" in note], outcome.notes
    held = running.run(*running.start(falling("continuous-penalty"), tmp_path / "held"))
    assert "pushed nothing" not in "".join(held.notes)


@pytest.mark.parametrize(("shift", "fails"), [((0.001, 0.002, 0.003), True), ((0.0, 0.0, 0.04), True), ((0.0, 0.0, 0.06), False)])
def test_bodies_that_fill_the_same_place_have_failed(shift, fails):
    """Two cubes of 0.1 m, nearly in the same place: no point is far from the surface of the other; and up to the middle of each other."""
    scene = Scene(contact="idle", gravity=(0, 0, 0))
    cube = dict(shape=dict(kind="box", size=(0.1,) * 3, edge=0.03))
    scene.add(name="left", **cube)
    scene.add(name="right", position=shift, rotation=(5, 3, 2), **cube)
    through = Through(scene.simulate())
    through.look()
    assert list(through.pairs) == ([("left", "right")] if fails else [])


def loaded(method, **changes):
    """A heavy rigid block on a light soft one on the ground."""
    scene = Scene(dt=4e-3, duration=0.16, contact=method)
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=3e4, density=500.0)
    scene.add(name="light", shape=dict(kind="box", size=(0.1,) * 3, edge=0.05), position=(0, 0, 0.0501), material=soft)
    block = dict(kind="box", size=(0.08,) * 3, edge=0.08)
    scene.add(name="heavy", model="rigid", shape=block, position=(0, 0, 0.141), rotation=(0, 0, 20), material=dict(density=4000.0))
    return scene.with_(changes)


@pytest.mark.parametrize("method", ["ground", pytest.param("noniterative", marks=pytest.mark.slow)])
def test_steel_that_falls_through_foam_ends_the_run_with_a_code(method, tmp_path):
    """What these methods cannot carry at this step (docs/methods/noniterative.md, heavy on light) is never silent."""
    scene = Scene(name="steel", dt=5e-3, duration=0.17, contact=method)
    scene.add(name="ground", shape="plane", model="static")
    cube = dict(kind="box", size=(0.1,) * 3, edge=0.05)
    foam = dict(youngs_modulus=5e4, poisson_ratio=0.0, density=30.0, mass_damping=20.0)
    scene.add(name="foam", shape=cube, position=(0, 0, 0.05), material=foam)
    scene.add(name="steel", shape=cube, position=(0, 0, 0.15), model="rigid", material=dict(density=7850.0))
    (tmp_path / "steel.toml").write_text(scene.to_toml())
    done = CliRunner().invoke(app, ["run", str(tmp_path / "steel.toml"), "--no-pictures", "--out", str(tmp_path / "run")])
    assert done.exit_code == 3, done.output
    with Run.open(tmp_path / "run") as run:
        assert run.notes[0].startswith(f"{FAILED}bodies went through each other") and "foam and steel" in run.notes[0]
        assert any("far heavier than what carries it" in note and 'contact = "patch"' in note for note in run.notes)


@pytest.mark.parametrize("method", ["ground", "noniterative"])
def test_a_remedy_that_is_named_helps(method, tmp_path):
    sim, recorder = running.start(loaded(method), tmp_path / "before")
    outcome = running.run(sim, recorder)
    (note,) = [note for note in outcome.notes if note.startswith("Contact is ")]
    assert "light and heavy" in note
    from pliant.simulate.verdicts import Depths

    depths = Depths(sim)
    again = loaded(method).simulate()
    depths.sim = again
    again.run(until=0.16, each=depths.take)
    worst = int(np.argmax(depths.worst[:, 0]))
    remedy = depths.remedy(worst)
    assert remedy.text in note
    better = running.run(*running.start(loaded(method, **remedy.settings), tmp_path / "after"))
    words = []
    for each in (outcome, better):
        with Run.open(each.path) as run:
            words.append(Forces(run).of("light", "heavy").resolution)
    assert WORDS.index(words[1].in_depth) < WORDS.index(words[0].in_depth), (words[0].depth, words[1].depth, remedy)


def test_the_step_that_is_named_for_rigid_bodies_under_patch_makes_them_less_deep(tmp_path):
    """A spinning box thrown at a light one: 2.9 mm deep with 5 ms, 1.3 mm with half of it, 0.3 mm with the 1.1 ms that are named."""

    def thrown(dt):
        scene, box = Scene(dt=dt, duration=0.05, contact="patch"), dict(kind="box", size=(0.05,) * 3, edge=0.05)
        scene.add(name="ground", shape="plane", model="static")
        scene.add(name="light", model="rigid", shape=box, position=(0, 0, 0.026), material=dict(density=100.0))
        heavy = dict(position=(0.005, 0.004, 0.1), velocity=(0, 0, -3.0), rotation=(42, 20, 4), angular_velocity=(0, 80, 0))
        scene.add(name="heavy", model="rigid", shape=box, material=dict(density=1000.0), **heavy)
        outcome = running.run(*running.start(scene, tmp_path / f"{dt}"))
        with Run.open(outcome.path) as run:
            return Forces(run).of("light", "heavy").resolution.in_depth, [note for note in outcome.notes if note.startswith("Contact is")]

    word, (note,) = thrown(5e-3)
    named = re.findall(r"use dt = ([0-9.e-]+)\.", note)
    assert word == "coarse" and len(named) == 1, note
    assert thrown(float(named[0]))[0] == "resolved"


def test_the_step_that_is_named_for_springs_on_implicit_bodies_makes_them_less_deep(tmp_path):
    """A steel ball on foam: 27 % of an element at 4 ms, 6 % with the fifth that is named; the root, right for explicit bodies, 13 %."""

    def thrown(dt):
        scene = Scene(dt=dt, duration=0.05, contact="penalty")
        scene.add(name="floor", shape="plane", model="static")
        foam = dict(youngs_modulus=5e4, poisson_ratio=0.1, stiffness_damping=0.01, density=30.0)
        slab = dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.03)
        scene.add(name="foam", shape=slab, position=(0, 0, 0.05), material=foam)
        ball = dict(position=(0.01, 0.02, 0.131), velocity=(0, 0, -0.6), material=dict(density=7800.0))
        scene.add(name="ball", model="rigid", shape=dict(kind="ball", radius=0.03), **ball)
        outcome = running.run(*running.start(scene, tmp_path / f"{dt}"))
        return [note for note in outcome.notes if note.startswith("Contact is")]

    (note,) = thrown(4e-3)
    named = re.findall(r"use dt = ([0-9.e-]+)\.", note)
    assert "Contact is not resolved in depth: foam and ball" in note and len(named) == 1
    less = thrown(float(named[0]))
    assert [each for each in less if "coarse" not in each or int(re.findall(r"([0-9]+)% of an element", each)[0]) > 7] == [], less


@pytest.mark.parametrize(("bears", "named"), [("alone", "contact = "), ("step", "dt = "), ("given", ""), ("dent", ""), ("layer", "")])
def test_a_method_says_itself_what_its_depth_follows(bears, named, monkeypatch):
    monkeypatch.setattr(Idle, "bears", bears, raising=False)
    depths = Depths(loaded("idle").simulate())
    names = depths.sim.world.model.bodies.names
    depths.pair = key_of(*(np.array([names.index(name)]) for name in ("light", "heavy")))
    depths.worst = np.array([[0.5, 0.01, 0.1, 4e-3]])
    assert bool(depths.remedy(0).settings) == bool(named) and named in depths.remedy(0).text


def test_springs_that_were_asked_for_are_not_stiffer_in_a_shorter_step():
    for method in ("penalty", "continuous-penalty", "point-surface"):
        assert [make_method(method, given).bears for given in ({}, {"stiffness": 1e3})] == ["step", "given"]


def clay(speed=3.0, youngs_modulus=5e4, dt=1e-3):
    """A rigid ball is thrown at one of clay."""
    scene = Scene(dt=dt, duration=0.02, gravity=(0, 0, 0), contact="point-surface")
    soft = dict(youngs_modulus=youngs_modulus, density=1000.0, yield_strain=0.03)
    ball = dict(kind="ball", radius=0.05, edge=0.04)
    scene.add(name="clay", shape=ball, model="points", spacing=0.022, material=soft)
    scene.add(name="ball", shape=ball, model="rigid", position=(0, 0, 0.1003), velocity=(0, 0, -speed))
    return scene


def heavy_ball(edge=0.05, dt=4e-3):
    """A heavy ball sinks into a soft block: its depth is held against what elasticity explains."""
    scene = Scene(dt=dt, duration=0.12, contact="patch")
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=3e3, density=500.0, mass_damping=5.0)
    scene.add(name="block", shape=dict(kind="box", size=(0.2, 0.2, 0.1), edge=edge), position=(0, 0, 0.0501), material=soft)
    ball = dict(kind="ball", radius=0.04)
    scene.add(name="ball", model="rigid", shape=ball, position=(0.003, 0.002, 0.141), material=dict(density=4000.0))
    return scene


def thrown_dent(youngs_modulus=3e5, speed=0.6, dt=5e-3):
    """A ball whose surface gives way meets a plane."""
    scene = Scene(dt=dt, duration=0.05, contact="quasi-rigid", gravity=(0, 0, 0))
    scene.add(name="plane", shape="plane", model="static")
    ball = dict(shape=dict(kind="ball", radius=0.1), model="quasi-rigid", spacing=0.03, material=dict(youngs_modulus=youngs_modulus))
    scene.add(name="ball", position=(0, 0, 0.101), velocity=(0, 0, -speed), **ball)
    return scene


def block(method, size=0.1, dt=4e-3, edge=0.05, **options):
    """A soft block lies on the ground."""
    scene = Scene(dt=dt, duration=0.08, contact=dict(method=method, **options))
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=1e6, mass_damping=20.0)
    scene.add(name="block", shape=dict(kind="box", size=(size,) * 3, edge=edge), position=(0, 0, 0.5 * size), material=soft)
    return scene


@pytest.mark.parametrize(
    ("make_scene", "says", "helps", "no_use"),
    [
        pytest.param(
            thrown_dent, "a stiffer material, or a smaller load or speed", [dict(youngs_modulus=1.2e6), dict(speed=0.3)], dict(dt=1.25e-3),
            marks=pytest.mark.slow,
        ),
        (heavy_ball, "finer ones make it less deep", [dict(edge=0.025)], dict(dt=2e-3)),
        pytest.param(
            clay, "A stiffer material makes it less deep, a smaller dt does not", [dict(youngs_modulus=4e5)], dict(dt=5e-4),
            marks=pytest.mark.slow,
        ),
        (partial(block, "penalty", stiffness=150.0), "a larger stiffness makes it less", [dict(stiffness=1500.0)], dict(dt=1e-3)),
    ],
)  # fmt: skip
def test_remedies_in_words_help_against_depth_and_others_do_not(make_scene, says, helps, no_use, tmp_path):
    def worst(name, **changes):
        outcome = running.run(*running.start(make_scene(**changes), tmp_path / name))
        with Run.open(outcome.path) as run:
            deepest = max((peak.resolution for peak in Forces(run).all()), key=lambda found: found.depth)
        return deepest, [note for note in outcome.notes if note.startswith("Contact is ")]

    before, notes = worst("before")
    assert before.in_depth != "resolved" and says in notes[0], (before, notes)
    for k, change in enumerate(helps):
        after, notes = worst(f"after {k}", **change)
        assert WORDS.index(after.in_depth) < WORDS.index(before.in_depth) and (notes == []) == (after.in_depth == "resolved"), (after, change)
    assert worst("no use", **no_use)[0].deepest > 0.95 * before.deepest


@pytest.mark.parametrize(
    ("make_scene", "change"),
    [
        (partial(block, "patch", edge=0.1), dict(edge=0.05)), (partial(block, "penalty", dt=2e-3), dict(dt=1e-3)),
        (partial(block, "penalty", stiffness=1e5), dict(stiffness=1e6)),
    ],
)  # fmt: skip
def test_what_makes_springs_of_contact_shorter_shares_out_the_pressure_better(make_scene, change, tmp_path):
    before, after = (told(make_scene(**each), tmp_path / f"{len(each)}", ("ground", "block")) for each in ({}, change))
    grades = [WORDS.index(worded(each.resolution.dent, DENT)) for each in (before, after)]
    assert grades[1] < grades[0], (before.resolution.dent, after.resolution.dent)
    assert any("springs of contact share out the pressure" in each for each in before.advice)


@pytest.mark.parametrize(("speed", "height", "nearer"), [(0.0, 1.0, True), (6.0, 0.02, False)])
def test_to_start_nearer_is_advised_only_to_what_falls(speed, height, nearer, tmp_path):
    """A thin plate that falls by 1 m is cut; one that is thrown is as fast from anywhere."""
    scene = Scene(dt=0.01, duration=0.5 if nearer else 0.02, contact="patch")
    scene.add(name="ground", shape=dict(kind="box", size=(0.4, 0.4, 0.01), edge=0.2), model="static")
    plate = dict(kind="box", size=(0.1, 0.1, 0.01), edge=0.1)
    scene.add(name="plate", shape=plate, model="rigid", position=(0, 0, 0.01 + height), velocity=(0, 0, -speed))
    outcome = running.run(*running.start(scene, tmp_path / "run"))
    (note,) = [each for each in outcome.notes if each.startswith("Steps were cut short")]
    assert ("start nearer" in note) == nearer, note


def test_to_start_nearer_is_not_advised_to_what_has_touched():
    scene = Scene(dt=0.01, contact="patch")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="rigid", position=(0, 0, 0.1))
    sim = scene.simulate()
    for advised in (True, False):  # in the step in which they meet, and in the next, which begins where that touch has not ended
        cuts = Cuts(sim)
        sim.step()
        sim.state.velocity[1, 2] = -3.0
        assert sim.state.pairs["touches"] == [1] and sim.state.pairs["last"] == [sim.time]
        cuts.take(SimpleNamespace(cut=("ground", "ball"), time=sim.time, dt=sim.dt))
        assert bool(cuts.pairs["ground", "ball"].remedy) == advised


def test_what_is_under_a_cloth_is_not_in_it():
    through = Through(scenes.make("cloth-on-ball", edge=0.05, dt=0.004).simulate())
    while through.sim.time < 0.08:
        through.sim.step(each=through.take)
        through.look()
    assert len(through.sim.contacts("cloth", "ball")) > 0 and through.notes() == []


def told(scene, path, pair):
    """What is said of a pair after a run."""
    running.run(*running.start(scene, path))
    with Run.open(path) as run:
        return Forces(run).of(*pair)


def lying(edge, dt=5e-3):
    """A rigid box lies on a soft mat."""
    scene = Scene(dt=dt, duration=0.05, contact="patch")
    scene.add(name="ground", shape="plane", model="static")
    mat = dict(kind="box", size=(0.07, 0.07, 0.02), edge=edge)
    scene.add(name="mat", shape=mat, position=(0, 0, 0.01), material=dict(youngs_modulus=1e5, density=500.0))
    box = dict(kind="box", size=(0.05,) * 3, edge=0.05)
    scene.add(name="box", model="rigid", shape=box, position=(0.001, 0.002, 0.0451), material=dict(density=2000.0))
    return scene


@pytest.mark.parametrize(("k", "word"), [(0, "coarse"), pytest.param(1, "resolved", marks=pytest.mark.slow)])
def test_elements_as_fine_as_is_named_resolve_the_contact_in_space(k, word, tmp_path):
    before = told(lying(0.01), tmp_path / "before", ("mat", "box"))
    assert before.resolution.in_space == "not resolved" and before.resolution.across < 6.0
    finer = [float(factor) for factor in re.findall(r"([\d.]+) times finer", before.advice[-1])]
    assert len(finer) == 2 and f"{1e3 * before.resolution.finer_edge:.2g} mm in the mean" in before.advice[-1], before.advice
    after = told(lying(0.01 / finer[k]), tmp_path / "after", ("mat", "box"))
    assert worded(after.resolution.across, ACROSS) == word, after.resolution
    assert "".join(after.advice).count("times finer") == 1 - k


def test_elements_as_fine_as_is_named_resolve_a_corner_which_finer_ones_let_give_way(tmp_path):
    """A soft cube on its corner: within an element the corner touches with too little for its load, and how wide it will be is foretold."""

    def standing(edge):
        scene = Scene(dt=4e-3, duration=0.08, contact="patch")
        scene.add(name="ground", shape="plane", model="static")
        soft = dict(youngs_modulus=1e4, poisson_ratio=0.3, density=5000.0, law="neo-hookean")
        down = tuple(np.degrees(np.arccos(-(3**-0.5))) * np.array([-1.0, 1.0, 0.0]) / np.sqrt(2.0))  # (1, 1, 1) to (0, 0, -1)
        cube = dict(kind="box", size=(0.06,) * 3, edge=edge)
        scene.add(name="cube", shape=cube, position=(0, 0, 0.03 * 3**0.5), rotation=down, material=soft, integrator="implicit")
        return scene

    before = told(standing(0.02), tmp_path / "before", ("ground", "cube"))
    finer = float(re.findall(r"([\d.]+) times finer", before.advice[-1])[0])
    assert before.resolution.in_space == "not resolved" and finer < 0.7 * 7.0 / before.resolution.across, "as the width is now"
    after = told(standing(0.02 / finer), tmp_path / "after", ("ground", "cube"))
    assert worded(after.resolution.across, ACROSS) == "coarse"
    wide = lambda each: each.across * each.edge
    assert wide(after.resolution) > 1.3 * wide(before.resolution) and 17.0 * before.resolution.finer_edge == pytest.approx(wide(after.resolution), rel=0.15)


def test_a_step_that_is_named_resolves_the_contact_in_time(tmp_path):
    def thrown(dt):
        scene = Scene(dt=dt, duration=0.03, gravity=(0, 0, 0), contact="noniterative")
        scene.add(name="ground", shape="plane", model="static")
        soft = dict(youngs_modulus=1e6, poisson_ratio=0.3)
        ball = dict(kind="ball", radius=0.05, edge=0.04)
        scene.add(name="ball", shape=ball, position=(0, 0, 0.0505), velocity=(0, 0, -1), material=soft)
        return scene

    before = told(thrown(3e-3), tmp_path / "before", ("ground", "ball"))
    assert before.resolution.in_time == "not resolved" and f"dt = {rounded_down(before.resolution.finer_dt)} s" in before.advice[0]
    assert before.resolution.finer_dt == pytest.approx(0.05 * before.window)  # of its own window, which is shorter than two of these steps
    after = told(thrown(before.resolution.finer_dt), tmp_path / "after", ("ground", "ball"))
    assert after.resolution.in_time == "resolved" and after.window == before.window


@pytest.mark.slow
def test_round_bodies_that_roll_from_face_to_face_make_energy_until_their_elements_are_finer(tmp_path):
    """A soft cylinder falls across another and rolls off: 1.9 % from nowhere with 12 faces around, at a quarter of dt as well."""

    def crossing(edge):
        scene = Scene(name="crossing", dt=3e-3, duration=1.2)
        scene.add(name="floor", shape="plane", model="static")
        soft = dict(youngs_modulus=2e5, poisson_ratio=0.3, stiffness_damping=0.01, density=1000.0)
        rod = dict(kind="cylinder", radius=0.05, height=0.4, edge=edge)
        scene.add(name="low", shape=rod, position=(0, 0, 0.0501), rotation=(90, 0, 0), material=soft)
        scene.add(name="high", shape=rod, position=(0, 0, 0.17), rotation=(0, 90, 0), material=soft)
        return scene

    for edge in (0.025, 0.0125):
        outcome = running.run(*running.start(crossing(edge), tmp_path / f"{edge}"))
        said = [note for note in outcome.wrong if note.startswith("Contact gave back")]
        assert bool(said) == (edge == 0.025), said
        assert all("'low' and 'high'" in note and "half the edge" in note for note in said)


def test_volumes_of_skins_that_shrink_or_turn_inside_out_are_told():
    scene = Scene(gravity=(0, 0, 0))
    scene.add(name="lump", shape=dict(kind="ball", radius=0.05, edge=0.05), position=(1, 2, 3), material=dict(youngs_modulus=1e4, poisson_ratio=0.4))
    sim = scene.simulate()
    matter, centre = Matter(sim), sim.centre("lump")
    assert sim.world.derived(Closed).volume[0] == pytest.approx(4 / 3 * np.pi * 0.05**3, rel=0.4)
    start = sim.state.x.copy()
    matter.look()
    assert matter.notes() == []
    sim.state.x[:] = centre + 0.97 * (start - centre)  # 9 %: such a material can be squeezed by a tenth
    matter.look()
    assert matter.notes() == []
    sim.state.x[:] = centre + 0.9 * (start - centre)
    matter.look()
    assert matter.notes() == ["The volume of the skin of lump changed by -27%, most at t = 0 s."]
    sim.state.x[:] = centre - 1.01 * (start - centre)
    matter.look()
    assert "lump turned inside out (-203%)" in matter.notes()[0]


def test_skins_of_torn_parts_are_held_against_the_matter_of_their_phyxels():
    """What was drawn out between them is cut off when they part, and skins are filled at once: that was told as a gain of 32 %."""
    scene = Scene(dt=1e-3, duration=0.1, gravity=(0, 0, 0), contact="none")
    soft = dict(youngs_modulus=5e4, density=1000.0, yield_strain=0.02, tear_strain=1.0)
    scene.add(name="bar", shape=dict(kind="box", size=(0.1, 0.1, 0.3), edge=0.05), model="points", spacing=0.04, material=soft)
    sim = scene.simulate()
    sim.state.v[:, 2] = 2.0 * np.sign(sim.state.x[:, 2])
    while len(sim.world.model.bodies) == 1 and sim.time < 0.1:
        sim.step()
    assert sim.world.model.bodies.names == ["bar", "bar.2"]
    matter = Matter(sim)
    matter.look()
    assert matter.notes() == []
    sim.state.x *= 0.9
    matter.look()
    assert sorted(matter.volumes) == ["bar", "bar.2"] and all(change == pytest.approx(-0.27, abs=0.05) for change, _ in matter.volumes.values())


@pytest.mark.parametrize(("model", "named"), [("fem", {}), ("rigid", {"dt"})])
def test_no_shorter_step_is_named_where_contact_is_as_stiff_as_elements(model, named):
    scene = Scene(dt=0.004, contact="patch")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1), model=model, position=(0, 0, 0.05))
    depths = Depths(scene.simulate(), key_of(np.array([0]), np.array([1])), np.array([[0.2, 0.01, 0.1, 0.004]]))
    assert depths.remedy(0).settings.keys() == set(named)


@pytest.mark.parametrize(("speed", "flows"), [(3.0, True), (1.0, False)])
def test_no_shorter_step_is_named_where_phyxels_are_hit(speed, flows):
    """At 3 m/s it is 7.0 and 7.0 mm deep with dt of 1 and 1/2 ms, at 1 m/s 4.1 and 4.3 mm with 1 and 1/4 ms: a layer of phyxels gives way."""
    sim = clay(speed).simulate()
    depths = Depths(sim)
    while not depths.met:
        sim.step(each=depths.take)
    depths.pair, depths.worst = key_of(np.array([0]), np.array([1])), np.array([[0.3, 0.006, 0.006, 1e-3]])
    remedy = depths.remedy(0)
    assert remedy.settings == {} and ("clay flows as it is hit" in remedy.text and "1.5e+03 Pa" in remedy.text) == flows
    assert ("no stiffer than a layer" in remedy.text) == (not flows)
    assert list(depths.met.values()) == [pytest.approx(speed, rel=0.1)]


def block_and_film() -> Surface:
    """A block with a film beside it, a third of its surface."""
    block, film = make("box", size=(0.1, 0.1, 0.05), edge=0.05).surface(), make("box", size=(0.1, 0.1, 1e-5), edge=0.05).surface()
    return Surface(np.concatenate([block.points, film.points + [0.2, 0, 0]]), np.concatenate([block.faces, film.faces + len(block.points)]))


def test_thin_parts_do_not_fail_on_a_plane():
    """Deeper in the ground than the film is thick is not through it."""
    scene = Scene(contact="none")
    scene.add(name="ground", shape="plane", model="static", position=(0, 0, -0.0251))
    scene.add(name="body", shape=block_and_film(), model="rigid")
    sim = scene.simulate()
    through, pair, up = Through(sim), (np.array([1]), np.array([0])), np.array([[0.0, 0.0, 1.0]])
    assert sim.world.derived(Thickness).half[1] == pytest.approx(5e-6)
    through._note(*pair, np.array([0.02]), 0.0 * up, up, 0.0)
    assert not through.notes()
    through._note(*pair, np.array([0.03]), 0.0 * up, up, 0.0)
    assert through.notes()


@pytest.mark.parametrize(("place", "fails"), [((0.0, 0.0, 0.049), False), ((0.0, 0.0, 0.01), True), ((0.2, 0.0, 0.0), True)])
def test_what_is_thin_elsewhere_is_no_middle(place, fails):
    """A millimetre of a block of 50 is not through it, though its film is thinner; 40 of them are, and so is the film."""
    scene = Scene(contact="idle")
    scene.add(name="body", shape=block_and_film(), model="static")
    scene.add(name="box", shape=dict(kind="box", size=(0.05, 0.05, 0.05), edge=0.01), model="rigid", position=place)
    through = Through(scene.simulate())
    through.look()
    assert bool(through.notes()) == fails
