"""Scenes with wrong, huge, tiny and missing things: a run of a few steps, or a sentence."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from pliant import asking
from pliant.asking import commands
from pliant.base import PliantError
from pliant.cli.options import parse_settings
from pliant.geometry.shapes import resolve
from pliant.scene import Scene
from pliant.simulate.build import read_meshes
from pliant.simulate.guards import Guard, check_cost, check_start
from pliant.simulate.simulation import Simulation

_spec = importlib.util.spec_from_file_location("fuzz_kit", Path(__file__).with_name("kit.py"))
kit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kit)

FEW = 4000  # tetrahedra, or what costs as much
GROUND = {"name": "ground", "shape": "plane", "model": "static"}
BALL = {"name": "ball", "shape": {"kind": "ball", "radius": 0.1, "edge": 0.1}, "position": [0, 0, 0.11], "velocity": [0.1, 0, -1]}
SCENES = [
    {"name": "soft", "dt": 0.004, "duration": 0.02, "gravity": [0, 0, -9.81], "contact": "auto",
     "bodies": [GROUND, {**BALL, "material": {"youngs_modulus": 5e4, "poisson_ratio": 0.4, "density": 900.0, "stiffness_damping": 0.002},
                         "friction": 0.4, "rotation": [0, 10, 20]}]},
    {"name": "rigid", "dt": 0.005, "duration": 0.02, "contact": {"method": "ground"}, "solver": "cg",
     "bodies": [GROUND, {**BALL, "model": "rigid", "angular_velocity": [0, 3, 0], "loads": [{"kind": "force", "value": [1, 0, 0]}]},
                {"name": "box", "model": "rigid", "shape": {"kind": "box", "size": [0.1, 0.1, 0.1], "edge": 0.1}, "position": [0.3, 0, 0.06]}],
     "pairs": [{"a": "ball", "b": "box", "contact": True, "friction": 0.2}],
     "attachments": [{"kind": "spring", "a": {"body": "ball", "at": [0, 0, 0.2]}, "b": {"at": [0, 0, 0.5]}, "stiffness": 100.0}],
     "changes": [{"set": "gravity", "to": {"times": [0, 0.01], "values": [[0, 0, -9.81], [0, 0, 0]]}}]},
    {"name": "springs", "dt": 0.001, "duration": 0.005, "contact": "penalty",
     "bodies": [GROUND, {**BALL, "model": "springs", "integrator": "symplectic", "fixed": [{"side": "+z"}],
                         "motions": [{"where": {"side": "-x"}, "shift": {"times": [0, 1], "values": [[0, 0, 0], [0.1, 0, 0]]}}]}]},
    {"name": "points", "dt": 0.002, "duration": 0.01, "contact": "point-surface",
     "bodies": [GROUND, {**BALL, "model": "points", "spacing": 0.045, "material": {"youngs_modulus": 1e4, "yield_strain": 0.1}}]},
    {"name": "pressed", "dt": 0.005, "duration": 0.02, "contact": "quasi-rigid",
     "bodies": [GROUND, {**BALL, "model": "quasi-rigid", "spacing": 0.06, "material": {"youngs_modulus": 1e6, "density": 500.0}}]},
    {"name": "patch", "dt": 0.005, "duration": 0.02, "contact": {"method": "patch"},
     "bodies": [{"name": "block", "shape": {"kind": "box", "size": [0.2, 0.2, 0.1], "edge": 0.1}, "position": [0, 0, 0.05]},
                {**BALL, "position": [0, 0, 0.21], "element": "quadratic"}], "pairs": [{"a": "ball", "b": "block", "static_friction": 0.6}]},
    {"name": "several", "dt": 0.004, "duration": 0.02, "contact": {"method": "continuous-penalty"},
     "bodies": [GROUND, BALL, {"name": "wheel", "shape": {"kind": "torus", "major": 0.1, "minor": 0.03, "edge": 0.06}, "position": [0.4, 0, 0.1]}],
     "pairs": [{"a": "wheel", "b": "ground", "method": "ground"}], "solver": "direct"},
]  # fmt: skip


@pytest.fixture(autouse=True)
def as_commands(monkeypatch):
    """What a command refuses unless it is asked is refused here too; what is large already from FEW elements on, as one large body costs
    as much as a thousand small ones, and a step that is too long for the clock."""
    monkeypatch.setattr(asking, "MANY_TETS", FEW)
    monkeypatch.setattr(asking, "LONG_STEP", kit.SLOW / 6)  # three steps, and their estimate may be half of what they take
    with commands():
        yield


def tried(data) -> str:
    """Build a scene and take three steps of it; what became of it in a word."""
    scene = Scene._read(data, "the scene")
    sim = Simulation(read_meshes(scene))
    check_start(sim)
    sim.trial()
    check_cost(sim)
    guard = Guard(sim)
    for _ in range(3):
        report = sim.step()
        guard.after_step(report.dt)
        seen = [sim.state.x, sim.state.v, sim.state.position, sim.points(), report.contacts.force]
        assert all(np.isfinite(part).all() for part in seen), "numbers that are not finite, and nobody said so"
        assert math.isfinite(sim.books().kinetic), "an energy that is not finite, and nobody said so"
    return "runs"


@pytest.mark.parametrize("cases", kit.budgets(60, 20000))
def test_scenes(cases):
    found = kit.judged(cases, 25, lambda rng: tried(kit.mutated(rng, rng.choice(SCENES))))
    assert found["runs"] > 0.1 * cases and found["refused"] > 0.1 * cases


PLACED = {"unit": "mm", "up": "y", "rotation": [0, 0, 1, 90], "edge": 0.5, "fill": "lattice", "holes": True, "place": "on-ground"}
SIZED = {"up": "-x", "size": 0.3, "fit": 0.2, "rotation": [10, 0, 0], "fill": "auto"}


@pytest.mark.parametrize("cases", kit.budgets(150, 5000))
def test_shapes_of_files(cases, tetrahedron):
    """What a scene says of a mesh file that is there: one that is not is refused before anything else is looked at."""

    def case(rng):
        shape = kit.mutated(rng, {"file": tetrahedron, **rng.choice([PLACED, SIZED])})
        scene = Scene._read({"bodies": [{"name": "body", "shape": shape, "model": "static"}]}, "the scene")
        points = resolve(scene.bodies[0].shape, solid=False).surface().points
        assert np.isfinite(points).all(), "numbers that are not finite, and nobody said so"
        return "reads"

    found = kit.judged(cases, 31, case)
    assert found["reads"] > 0.1 * cases and found["refused"] > 0.1 * cases


@pytest.fixture
def tetrahedron(tmp_path) -> str:
    path = tmp_path / "tetrahedron.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    return str(path)


@pytest.mark.parametrize("cases", kit.budgets(150, 5000))
def test_text_of_scenes(cases):
    texts = [Scene._read(scene, "x").to_toml().encode() for scene in SCENES]

    def read(rng):
        Scene.from_toml(kit.damaged_text(rng, rng.choice(texts)).decode("utf-8", "replace"))
        return "reads"

    kit.judged(cases, 26, read)


@pytest.mark.parametrize("cases", kit.budgets(150, 5000))
def test_settings(cases):
    scene = Scene._read(SCENES[1], "x")
    paths = ["dt", "gravity", "gravity[2]", "ball.material.density", "*.friction", "pairs.ball.box.friction", "ball.shape.radius", "contact",
             "contact.method", "box.shape", "bodies", "ball", "", "..", "ball.nothing", "gravity[9]", "changes[0].to", "attachments"]  # fmt: skip

    def change(rng):
        given = f"{rng.choice(paths)}{rng.choice(['=', '=', '=', '', '=='])}{kit.value(rng)!r}"
        scene.with_(parse_settings([given]))
        return "changes"

    kit.judged(cases, 27, change)


# ---- what the fuzzer found, and people before it

FOUND = {
    "a kind that is a table": {"bodies": [{"shape": {"kind": {"kind": "ball"}}}]},
    "a change without times": {"changes": [{"set": "gravity", "to": {"times": False, "values": 3}}], "bodies": [GROUND]},
    "a method that is a list": {"contact": {"method": [math.nan]}, "bodies": [GROUND, BALL]},
    "an edge beyond all": {"bodies": [{"shape": {"kind": "ball", "radius": 0.1, "edge": 1e300}}]},
    "a box that is too long": {"bodies": [{"shape": {"kind": "box", "size": [1e29, 1, 1]}}]},
    "an edge of 1 mm": {"bodies": [{"shape": {"kind": "box", "size": [0.1, 0.1, 0.1], "edge": 0.001}}]},
    "division without end": {"dt": 1000.0, "bodies": [{**BALL, "integrator": "symplectic", "material": {"youngs_modulus": 5e16}}]},
    "a step of minutes": {"dt": 2e-4, "duration": 0.01, "contact": "point-surface", "bodies": [
        GROUND, {**BALL, "model": "points", "spacing": 0.045, "material": {"youngs_modulus": 5e16, "yield_strain": 0.1}}]},
    "a step of half a second": {"dt": 0.5, "bodies": [GROUND, {**BALL, "model": "rigid"}], "contact": "ground"},
    "code of a stranger": {"contact": "os:system", "bodies": [GROUND, BALL]},
    "code of a stranger in a pair": {"bodies": [GROUND, BALL], "pairs": [{"a": "ball", "b": "ground", "method": "os:system"}]},
    "a number of 400 digits": {"dt": 10**400, "bodies": [GROUND]},
    "a radius in seconds": {"bodies": [{"shape": {"kind": "ball", "radius": "5 s"}}]},
    "an angle in centimetres": {"bodies": [{"shape": {"kind": "bowl", "radius": 0.1, "thickness": 0.01, "opening": "5cm"}}]},
    "a length of no known unit": {"bodies": [{"shape": {"kind": "box", "size": [0.1, "5cn", 0.1]}}]},
    "a stiffness in metres": {"contact": {"method": "penalty", "stiffness": "5mm"}, "bodies": [GROUND, BALL]},
    "a share in pascals": {"contact": {"method": "ground", "stiffness": "1kPa"}, "bodies": [GROUND, BALL]},
    "a number that is a word": {"contact": {"method": "ground", "stiffness": "x"}, "bodies": [GROUND, BALL]},
}  # fmt: skip


@pytest.mark.parametrize(
    "said", [{"up": ["z"]}, {"unit": ["m"]}, {"size": {}}, {"size": 10**400}, {"fit": 10**400}, {"rotation": [0, [[]], 1]},
             {"rotation": [math.inf, 0, 0]}, {"rotation": [1e300, 0, 0]}, {"holes": "no"}, {"file": 5}, {"edge": [1]}], ids=str,
)  # fmt: skip
def test_what_was_found_of_files(said, tetrahedron):
    with pytest.raises(PliantError, match=next(iter(said))) as refused:
        tried({"bodies": [GROUND, {"name": "body", "shape": {"file": tetrahedron, **said}, "model": "static"}]})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("said", ["5", '"\\u0000.obj"', f'"{"a" * 300}.obj"', '"."'], ids=["number", "zero byte", "long", "folder"])
def test_what_cannot_name_a_file(said, tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(f'[[bodies]]\nname = "body"\nmodel = "static"\nshape = {{ file = {said} }}\n')
    with pytest.raises(PliantError) as refused:
        Simulation(read_meshes(Scene.load(path)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name):
    with kit.clock(), pytest.raises(PliantError) as refused:
        tried(FOUND[name])
    assert "\n" not in str(refused.value)
