"""Scenes as data: TOML there and back, errors that name the place and the nearest name, the JSON schema."""

import json

import numpy as np
import pytest
from pydantic import BaseModel

from pliant import PliantError, Scene, Surface
from pliant.bodies.register import ROOMS
from pliant.scene import Attachment, Change, End, Load, Motion, Pair, Where
from pliant.shop import scenes as shipped

FULL = """
name = "all"
about = "every kind of table"
gravity = [0.0, 0.0, -1.0]
dt = 0.002
duration = 2.5
solver = "direct"

[contact]
method = "ground"
stiffness = 0.4

[[bodies]]
name = "floor"
shape = "plane"
model = "static"

[[bodies]]
name = "beam"
shape = {kind = "box", size = [1.0, 0.1, 0.1], edge = 0.1}
element = "quadratic"
integrator = "implicit"
position = [0.0, 0.0, 1.0]
rotation = [0.0, 30.0, 0.0]
fixed = [{side = "-x"}, {ids = [0, 1]}]
friction = 0.2
static_friction = 0.4

[bodies.material]
law = "neo-hookean"
youngs_modulus = 2e5
poisson_ratio = 0.45

[[bodies.loads]]
kind = "pressure"
where = {side = "+z", x = [0.0, 1.0]}
value = {times = [0.0, 1.0], values = [0.0, 100.0]}

[[bodies.motions]]
where = {side = "+x"}
shift = {times = [0.0, 1.0], values = [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]}

[[bodies]]
name = "ball"
shape = {kind = "ball", radius = 0.1}
model = "rigid"
rotation = [1.0, 0.0, 0.0, 0.0]
velocity = [1.0, 0.0, 0.0]

[[pairs]]
a = "beam"
b = "ball"
contact = false

[[attachments]]
kind = "string"
a = {at = [0.0, 0.0, 2.0]}
b = {body = "ball", at = [0.0, 0.0, 0.0]}
length = 1.5

[[changes]]
set = "ball.friction"
to = {times = [0.0, 1.0], values = [0.1, 0.5]}
"""


def test_toml_there_and_back():
    scene = Scene.from_toml(FULL)
    text = scene.to_toml()
    assert Scene.from_toml(text) == scene
    assert Scene.from_toml(text).to_toml() == text
    assert scene.bodies[1].loads[0].value(0.5)[0] == 50.0
    assert scene.contact == {"method": "ground", "stiffness": 0.4}


@pytest.mark.parametrize("name", shipped.SCENES)
def test_shipped_scenes_there_and_back(name):
    scene = shipped.make(name)
    assert Scene.from_toml(scene.to_toml()) == scene


def test_a_scene_read_from_toml_runs_like_the_one_it_was_written_from():
    scene = shipped.make("slope", duration=0.1)
    again = Scene.from_toml(scene.to_toml())
    assert np.array_equal(scene.simulate().run().points(), again.simulate().run().points())


def test_what_toml_cannot_hold_is_said():
    scene = Scene()
    scene.add(name="f", shape="plane", loads=[dict(value=lambda t: (0, 0, t))])
    with pytest.raises(PliantError, match=r"scene.bodies\[0\].loads\[0\].value is a Python function"):
        scene.to_toml()
    scene = Scene()
    scene.add(name="s", shape=Surface(np.eye(3), np.array([[0, 1, 2]])))
    with pytest.raises(PliantError, match="save it as a mesh file"):
        scene.to_toml()


def test_scene_file_is_loaded_with_its_neighbours(tmp_path):
    (tmp_path / "s.toml").write_text('[[bodies]]\nshape = {file = "foot.obj"}\n')
    scene = Scene.load(tmp_path / "s.toml")
    assert scene.bodies[0].shape["file"] == str((tmp_path / "foot.obj").resolve())
    with pytest.raises(PliantError, match="no scene file"):
        Scene.load(tmp_path / "t.toml")


BAD = {
    "unknown key of a scene": ("gravty = [0, 0, 0]", "unknown key 'gravty': did you mean gravity"),
    "unknown key of a body": ("[[bodies]]\nfricton = 1", r"bodies\[0\].*unknown key 'fricton': did you mean friction"),
    "unknown key of a material": ("[[bodies]]\nmaterial = {young_modulus = 1e5}", "did you mean youngs_modulus"),
    "unknown key that is no name": ('[[bodies]]\n"young-modulus" = 1', "young-modulus"),
    "poisson ratio of one half": ("[[bodies]]\nmaterial = {poisson_ratio = 0.5}", "poisson_ratio = 0.5: must be above -1.* and below 0.5"),
    "negative stiffness": ("[[bodies]]\nmaterial = {youngs_modulus = -1}", "youngs_modulus = -1: must be above 0"),
    "negative stiffness of one element": ("[[bodies]]\nmaterial = {youngs_modulus = [1, -1]}", r"youngs_modulus\[1\] = -1: must be above 0"),
    "no step": ("dt = 0", "dt = 0: must be above 0"),
    "negative friction": ("[[bodies]]\nfriction = -0.1", "friction = -0.1: must be at least 0"),
    "static below sliding friction": ('[[bodies]]\nshape = "plane"\nfriction = 0.5\nstatic_friction = 0.2', "static_friction 0.2 is below friction 0.5"),
    "unknown model": ('[[bodies]]\nmodel = "femm"', "'fem'"),
    "not a number": ("dt = nan", "dt"),
    "two numbers": ("gravity = [0, 1]", "gravity"),
    "shape without a kind": ("[[bodies]]\nshape = {radius = 1}", "`kind` or `file`"),
    "times that are none": ('[[changes]]\nset = "gravity"\nto = {times = false, values = [[0, 0, 0]]}', "`times` needs numbers, not false"),
    "descending times": ('[[changes]]\nset = "gravity"\nto = {times = [1, 0], values = [[0, 0, 0], [0, 0, 0]]}', "times must ascend"),
    "static body with a load": ('[[bodies]]\nshape = "plane"\nmodel = "static"\nloads = [{value = [0, 0, 1]}]', "no velocity and no loads"),
    "not TOML": ("a = [", "is not valid TOML"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_name_the_place_and_the_remedy(case):
    text, message = BAD[case]
    with pytest.raises(PliantError, match=message) as raised:
        Scene.from_toml(text, "scene.toml")
    assert "scene.toml" in str(raised.value) and "constrained" not in str(raised.value)


def test_two_bodies_of_one_name_and_names_from_shapes():
    scene = Scene()
    assert [scene.add(shape=dict(kind="ball", radius=0.1)).name for _ in range(3)] == ["ball", "ball2", "ball3"]
    with pytest.raises(PliantError, match="two bodies named 'ball2'"):
        scene.add(name="ball2", shape="plane")


def test_assignments_are_checked_too():
    scene = Scene.from_toml(FULL)
    with pytest.raises(PliantError, match="must be above"):
        scene.bodies[1].material.poisson_ratio = 0.7
    with pytest.raises(PliantError, match="must be above 0"):
        scene.dt = -1.0


@pytest.mark.parametrize(
    "fields, message",
    [
        (dict(shape="bal"), "did you mean ball"),
        (dict(shape=dict(kind="ball", radus=0.1)), "no parameter 'radus', did you mean radius"),
        (dict(shape=dict(kind="ball")), "needs radius"),
        (dict(shape=dict(kind="ball", radius=-1.0)), "radius must be"),
        (dict(shape=dict(kind="box", size=(1, 1, 1), edge=0.5), material=dict(youngs_modulus=[1e5, 1e5])), "2 values for 40 elements"),
        (dict(shape=dict(kind="box", size=(1, 1, 1), edge=0.5), material=dict(law="neohookean")), "neo-hookean"),
        (dict(shape=dict(kind="box", size=(1, 1, 1), edge=0.5), fixed=[dict(ids=[27])]), "vertices 0 to 26"),
        (dict(shape=dict(kind="box", size=(1, 1, 1), edge=0.5), fixed=[dict(ids=[-1])]), "vertices 0 to 26"),
        (dict(shape="plane", model="rigid"), "use model = \"static\""),
        (dict(shape=dict(kind="box", size=(1, 1, 1), edge=0.5), rotation=(0, 0, 0, 0)), "quaternion is zero"),
    ],
)  # fmt: skip
def test_errors_of_the_build_name_the_body(fields, message):
    scene = Scene(contact="none")
    scene.add(name="thing", **fields)
    with pytest.raises(PliantError, match=message) as raised:
        scene.simulate()
    assert "thing" in str(raised.value)


def test_errors_of_scene_and_simulation():
    with pytest.raises(PliantError, match="has no bodies"):
        Scene().simulate()
    with pytest.raises(PliantError, match="no option 'untill'"):
        Scene().simulate(untill=3)
    scene = Scene(contact="grund")
    scene.add(name="b", shape=dict(kind="ball", radius=0.1), model="rigid")
    scene.add(name="c", shape="plane", model="static")
    with pytest.raises(PliantError, match="did you mean ground"):
        scene.simulate()
    with pytest.raises(PliantError, match="has no option 'stifness': did you mean stiffness"):
        scene.simulate(contact=dict(method="ground", stifness=1))
    with pytest.raises(PliantError, match="below 4/3"):
        scene.simulate(contact=dict(method="ground", stiffness=1.5))
    sim = scene.simulate(contact="auto")
    with pytest.raises(PliantError, match="There is no body 'd'"):
        sim.points("d")
    scene.pair("b", "cc", contact=False)
    with pytest.raises(PliantError, match="names the body 'cc'"):
        scene.simulate(contact="auto")
    scene.pairs[0].b = "c"
    scene.pair("c", "b", friction=0.1)
    with pytest.raises(PliantError, match="stated twice"):
        scene.simulate(contact="auto")
    with pytest.raises(PliantError, match="There is no scene 'bowll': did you mean bowl"):
        shipped.make("bowll")
    with pytest.raises(PliantError, match="no parameter 'egde': did you mean edge"):
        shipped.make("bowl", egde=1)


@pytest.mark.parametrize("options", [dict(dt=0.001), dict(gravity=(0, 0, 1.0)), dict(contact="none"), dict(solver="direct"), dict(duration=3.0)])
def test_options_of_simulate_override_the_scene_and_leave_it(options):
    scene = shipped.make("tumble")
    before = scene.to_toml()
    sim = scene.simulate(**options)
    for name, value in options.items():
        assert getattr(sim.scene, name) == value
    assert scene.to_toml() == before


def test_callables_are_sampled_at_the_steps():
    scene = Scene(dt=0.1, duration=1.0)
    scene.add(name="b", shape="plane", loads=[dict(value=lambda t: (t * t, 0, 0))])
    table = scene.sampled().bodies[0].loads[0].value
    assert table.function is None and len(table.times) == 11
    assert table.values[:, 0] == pytest.approx(np.linspace(0, 1, 11) ** 2)


def test_schema_is_json_and_mentions_every_field():
    text = json.dumps(Scene.model_json_schema())
    schema = json.loads(text)
    definitions = {"Scene": schema, **schema["$defs"]}
    by_model = [each for room in ROOMS.values() for each in (room.body, room.material)]
    for model in (Scene, *by_model, Where, Load, Motion, Pair, End, Attachment, Change):
        assert issubclass(model, BaseModel)
        assert set(definitions[model.__name__]["properties"]) == set(model.model_fields)
        assert definitions[model.__name__]["additionalProperties"] is False
        assert all(field.description for field in model.model_fields.values())
        assert all(definitions[model.__name__]["properties"][name]["description"] for name in model.model_fields), model
    branches = {branch["$ref"].rsplit("/", 1)[-1] for branch in schema["properties"]["bodies"]["items"]["oneOf"]}
    assert branches == {*(room.body.__name__ for room in ROOMS.values()), "OwnBody"}
