"""Every scene that ships runs in a small version through the run loop, without alarms, and shows what it promises."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from pliant import PliantError, Scene
from pliant.look.report.words import CHOICES
from pliant.record import Run
from pliant.shop import scenes
from pliant.shop.scenes import basics, corners
from pliant.simulate import running

SMALL = {
    "bowl": dict(edge=0.05, duration=1.2),
    "footprint": dict(edge=0.015, detail=0.02, dt=0.01),
    "slope": dict(dt=0.005),
    "column": dict(duration=0.6),
    "cantilever": dict(edge=0.1, duration=2.0),
    "tumble": dict(duration=1.0),
    "pendulum": dict(edge=0.06, duration=0.4),
    "hooked": dict(),
    "two-spheres": dict(integrator="verlet", duration=0.3),
    "soft-meets-hard": dict(integrator="verlet"),
    "sphere-and-bunny": dict(integrator="verlet", dt=0.004),
    "bunny-and-teapot": dict(integrator="verlet", dt=0.008),
    "three-spheres": dict(integrator="verlet", dt=0.004),
    "two-bunnies": dict(integrator="verlet", dt=0.004, duration=0.4),
    "squeezed-bars": dict(squeeze=0.15, layers=1, edge=0.02, dt=0.0003, duration=0.3),
    "soft-cube-stiff-bars": dict(edge=0.05, squeeze=0.1, dt=0.0002, duration=0.2),
    "archway": dict(drop=0, duration=0.15),
    "chess-500": dict(count=8, across=2, duration=0.08),
    "chained-tori": dict(links=3, height=0.003, duration=0.06),
    "folding-strip": dict(length=0.1, width=0.02, duration=0.4),
    "two-free-cubes": dict(dt=0.0002, duration=0.1),
    "particle-on-plane": dict(),
    "bar-on-cube": dict(duration=1.5),
    "cube-on-bar": dict(duration=0.3),
    "bunny-in-bowl": dict(dt=0.002, duration=0.8),
    "cloth-on-ball": dict(edge=0.05, duration=0.5),
    "ball-on-plane": dict(spacing=0.008),
    "spinning-ball": dict(youngs_modulus=3e7, spacing=0.03, duration=1.3),
    "foot-on-ground": dict(spacing=0.006, duration=0.3),
    "ball-joint": dict(dt=0.004),
    "head-in-room": dict(spacing=0.04, walls="hard", duration=0.4),
    "bust-kiss": dict(spacing=0.006, speed=0.5, youngs_modulus=2e5, duration=0.06),
    "cradle": dict(balls=2, dt=0.02),
    "flattened-head": dict(edge=0.02, press=0.03, dt=0.001, duration=0.5),
    "pile": dict(busts=1, edge=0.026, spacing=0.035, duration=0.05),
    "rider": dict(edge=0.015, gap=0.05, duration=0.04),
    "corner-cases": dict(),
    "stepped-block": dict(edge=0.025, press=0.008),
    "heavy-on-light": dict(duration=0.6),
    "hanging-bar": dict(spacing=0.0625),
    "melting-bust": dict(edge=0.025, spacing=0.026, dt=0.002, duration=2.5),
    "torn-head": dict(edge=0.025, spacing=0.024, drop=0.1, duration=0.7),
}
LONG = {
    "bunny-in-bowl", "torn-head", "head-in-room", "spinning-ball", "ball-joint", "melting-bust",  # ten seconds and more, even small
    "archway", "folding-strip", "squeezed-bars", "soft-cube-stiff-bars", "two-spheres", "two-bunnies", "bunny-and-teapot",  # five
    "flattened-head", "sphere-and-bunny", "chess-500", "pile", "rider", "cube-on-bar", "footprint", "bust-kiss",  # three to eight; quicker ones stand for them
    "stepped-block", "heavy-on-light",  # the solver of `patch` takes half a minute to compile
}  # fmt: skip
OTHER = [
    ("slope", dict(model="fem", dt=0.005)),
    ("slope", dict(angle=25.0, friction=0.3, dt=0.005)),  # slides back
    ("column", dict(youngs_modulus=1e8, duration=0.5)),
    ("bowl", dict(edge=0.05, youngs_modulus=2e5, duration=1.2)),
    ("pendulum", dict(length=0.3, edge=0.06, duration=0.3)),
    ("corner-cases", dict(case="wedge-in-crack", duration=0.2)),
    ("corner-cases", dict(case="cliff-edge", model="soft")),
]


def run_and_expect(name, values, folder):
    outcome = running.run(*running.start(scenes.make(name, **values), folder / name))
    assert outcome.status == "finished", outcome.message
    assert not [note for note in outcome.notes if "overlap" in note or "inverted" in note], outcome.notes
    said = scenes.find(name).expect(outcome.simulation)
    assert said and all(isinstance(sentence, str) and sentence.endswith(".") for sentence in said)
    with Run.open(outcome.path) as run:
        assert run.status == "finished" and run.frames > 20
        assert abs(run.times[-1] - outcome.simulation.scene.duration) < 1e-9
        moved = float(run.series()["kinetic"].max())
    return outcome, moved


def explained():
    """How warnings begin that docs/trust.md explains, by scene."""
    found = {}
    text = (Path(__file__).parents[1] / "docs" / "trust.md").read_text().split("## What shipped scenes say")[1].split("\n## ")[0]
    for name, begins, why in re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE):
        assert name in scenes.SCENES and len(why) > 20, name
        found.setdefault(name, []).append(begins)
    return found


def test_warnings_of_scenes_are_explained_by_name():
    assert "Contact is coarse in depth" in explained()["cradle"] and len(explained()) > 5


def test_every_scene_has_a_small_version():
    assert SMALL.keys() == scenes.SCENES.keys()


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in scenes.SCENES])
def test_the_small_version_keeps_its_promise(name, tmp_path):
    run_and_expect(name, SMALL[name], tmp_path)


@pytest.mark.parametrize("name, values", OTHER)
def test_so_do_other_parameters(name, values, tmp_path):
    run_and_expect(name, values, tmp_path)


MISSED = {("wedge-in-crack", "soft"): "carried", ("internal-edges", "rigid"): "held it back"}  # by `patch`


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rigid", "soft"])
@pytest.mark.parametrize("case", corners.CASES)
def test_corner_cases_under_contact_over_the_common_surface(case, model):
    sim = scenes.make("corner-cases", case=case, model=model, contact=basics.PATCH).simulate().run()
    if (case, model) in MISSED:
        with pytest.raises(AssertionError, match=MISSED[case, model]):
            corners.expect_corner_cases(sim)
    else:
        assert corners.expect_corner_cases(sim)


def test_a_corner_case_that_does_not_exist_is_named():
    with pytest.raises(PliantError, match="no corner case 'spike-on-spikes': did you mean spike-on-spike"):
        scenes.make("corner-cases", case="spike-on-spikes")
    with pytest.raises(PliantError, match="model is 'stiff'"):
        scenes.make("corner-cases", model="stiff")


@pytest.mark.slow
@pytest.mark.parametrize("name", scenes.SCENES)
def test_the_whole_scene_keeps_its_promise_and_its_warnings_are_explained(name, tmp_path):
    outcome, moved = run_and_expect(name, {}, tmp_path)
    warnings = [note for note in outcome.notes if not note.startswith(CHOICES[0]) and CHOICES[1] not in note]
    assert not [note for note in warnings if not note.startswith(tuple(explained().get(name, ("\0",))))], warnings
    told = any("from nowhere" in note for note in warnings)
    assert told or outcome.simulation.books().lost > -0.01 * moved, "a silent gain of energy"


@pytest.mark.parametrize("name", scenes.SCENES)
def test_a_scene_says_what_it_is_and_survives_toml(name):
    shipped = scenes.find(name)
    assert shipped.about.endswith(".") and len(shipped.make.__doc__.splitlines()) > 1 and shipped.expect.__doc__
    defaults = scenes.parameters(name)
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(shipped.make).parameters.values())
    assert {"dt", "duration"} <= defaults.keys()
    scene = scenes.make(name)
    assert scene.name == name and scene.about
    text = scene.to_toml()
    assert Scene.from_toml(text).to_toml() == text


@pytest.mark.parametrize("name", scenes.SCENES)
def test_a_spoilt_state_breaks_the_promise(name):
    """`expect` looks at the state, it does not only talk."""
    sim = scenes.make(name, **SMALL[name]).simulate()
    sim.run(until=2 * sim.dt)
    state = sim.state
    state.x[:, 2] *= -3.0
    state.v *= 0.0
    state.position[:] += (7.0, 0, -9.0)
    state.spin *= 0.5
    with pytest.raises(AssertionError):
        scenes.find(name).expect(sim)


def test_wrong_names_get_the_nearest():
    with pytest.raises(PliantError, match="no scene 'bowls': did you mean bowl"):
        scenes.make("bowls")
    with pytest.raises(PliantError, match="'bowl' has no parameter 'edges': did you mean edge"):
        scenes.make("bowl", edges=3)
