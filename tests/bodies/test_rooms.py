"""A body model is one room: its fields are refused elsewhere by its name, and a new one needs no other file than its own."""

import importlib.util
import json
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pliant import Body, Material, PliantError, Scene, register_model
from pliant.bodies.parts import start_velocity
from pliant.bodies.register import ROOMS, register
from pliant.look.report.words import _material
from pliant.simulate.compile_ahead import jobs, needed
from pliant.spec.typed import BodyFields, MaterialFields

BOX = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)
SOME = {  # a value that each field may have, where it is not a positive number
    "law": "linear", "response": "boussinesq", "strain": "green", "flow": "full", "softening": (20.0, 60.0), "element": "linear",
    "skin": BOX, "core": BOX, "network": "tets", "phyxels": "cubic", "volumes": "share", "tangent": "bonds", "integrator": "verlet",
    "unsafe": True, "fixed": [dict(side="-z")], "poisson_ratio": 0.2, "support": 2.0,
}  # fmt: skip
FIELDS = {"body": {n: set(r.body.model_fields) for n, r in ROOMS.items()}, "material": {n: set(r.material.model_fields) for n, r in ROOMS.items()}}
PAIRS = [(part, field, model) for part, known in FIELDS.items() for field in sorted(set().union(*known.values())) for model in ROOMS if field not in known[model]]


@pytest.mark.parametrize("part, field, model", PAIRS)
def test_a_field_of_another_model_is_refused_with_the_models_it_is_for(part, field, model):
    value = SOME.get(field, 1.0)
    given = {field: value} if part == "body" else dict(material={field: value})
    with pytest.raises(PliantError) as refused:
        Scene().add(shape=BOX, model=model, **given)
    said = str(refused.value)
    assert f"{field} is for " in said and f"; this one is {model}." in said
    assert {name for name in ROOMS if f'(model = "{name}")' in said} == {name for name, known in FIELDS[part].items() if field in known}


@pytest.mark.parametrize("model", ROOMS)
def test_a_field_of_its_own_is_taken_also_when_the_material_was_made_before(model):
    for field in sorted(FIELDS["material"][model]):
        if (model, field) != ("quasi-rigid", "law"):  # that of a core
            given = Material(**{field: SOME.get(field, 1.0)})
            assert getattr(Body(shape=BOX, model=model, material=given).material, field) == SOME.get(field, 1.0)


@pytest.mark.parametrize("field", ["integrator", "fixed", "tolerance", "unsafe"])
def test_fields_of_a_core_need_one(field):
    given = {field: SOME.get(field, 1e-3)}
    with pytest.raises(PliantError, match=f"`{field}` is for soft bodies; this one is quasi-rigid: give it a `core`"):
        Body(shape=BOX, model="quasi-rigid", **given)
    assert getattr(Body(shape=BOX, model="quasi-rigid", core=BOX, **given), field)


def test_assignments_are_refused_too_and_a_body_may_become_one_of_another_model():
    body = Scene().add(name="b", shape=BOX, material=dict(density=700.0))
    with pytest.raises(PliantError, match=r'yield_strain is for bodies of points \(model = "points"\); this one is fem'):
        body.material.yield_strain = 0.1
    with pytest.raises(PliantError, match="did you mean friction"):
        body.frictoin = 0.1
    body.model = "rigid"
    assert type(body) is ROOMS["rigid"].body and body.material.density == 700.0
    soft = Body(shape=BOX, element="quadratic")
    with pytest.raises(PliantError, match="element is for finite elements"):
        soft.model = "rigid"
    assert soft.model == "fem" and soft.element == "quadratic"
    assert Scene().add(soft, element="linear", name="c").element == "linear"
    with pytest.raises(PliantError, match="network is for bodies of springs"):
        Scene().add(soft, network="voxels")


def test_no_model_has_all_of_a_mixed_material():
    with pytest.raises(PliantError, match="yield_strain is for bodies of points"):
        Material(yield_strain=0.1, vertex_damping=0.1)


def test_type_checkers_know_the_fields_of_all_models():
    assert set(BodyFields.__annotations__) == set().union(*FIELDS["body"].values())
    assert set(MaterialFields.__annotations__) == set().union(*FIELDS["material"].values())


def test_bodies_of_a_model_of_your_own_get_any_material_and_no_field_that_does_nothing():
    register_model("mine", lambda tets, rest, material: None)
    body = Body(shape=BOX, model="mine", integrator="verlet", material=dict(spring_stiffness=3.0, yield_strain=0.1, law="mine", layer=0.1))
    assert body.material.yield_strain == 0.1 and body.material.youngs_modulus == 1e5
    with pytest.raises(PliantError, match="network is for bodies of springs.*this one is of a model of your own"):
        Body(shape=BOX, model="mine", network="tets")
    del ROOMS["mine"]


def test_a_run_file_from_before_is_read_without_the_fields_that_did_nothing():
    text = """
        [[bodies]]
        shape = "ball"
        model = "rigid"
        network = "voxels"
        material = {youngs_modulus = 1e6, density = 500.0}
        [[bodies]]
        shape = "ball"
        model = "quasi-rigid"
        integrator = "verlet"
        material = {law = "stvk", youngs_modulus = 1e6, yield_strain = 0.1}
    """
    rigid, quasi = Scene.recorded(text).bodies
    assert rigid.material.stated() == {"density": 500.0} and quasi.material.stated() == {"youngs_modulus": 1e6} and quasi.integrator == "auto"
    with pytest.raises(PliantError, match="network is for"):
        Scene.from_toml(text)
    with pytest.raises(PliantError, match="In the scene in the run file: bodies.*unknown key 'nettwork'"):
        Scene.recorded(text.replace("network", "nettwork"))


def model_of_the_page() -> dict[str, Any]:
    """What docs/extend.md shows, from a file, because sentences about fields are read from the text of their class."""
    page = (Path(__file__).parents[2] / "docs" / "extend.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "jelly_of_the_page.py")
        file.write_text(re.search(r"```python\n(# room.py.*?)```", page, re.S)[1])
        module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location(file.stem, file))
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
    return vars(module)


SHOWN = model_of_the_page()
JELLY, jelly_parts, jelly_changed = SHOWN["JELLY"], SHOWN["parts"], SHOWN["changed"]


def test_a_new_model_costs_its_room_and_one_line():
    register(JELLY)
    try:
        scene = Scene(dt=0.001, contact="ground")
        scene.add(name="ground", shape="plane", model="static")
        scene.add(name="j", shape=BOX, model="jelly", flavour="cherry", position=(0, 0, 0.11), material=dict(wobble=200.0, mass_damping=5.0))
        scene.add(name="k", shape=BOX, model="jelly", position=(1, 0, 0.11), material=dict(wobble=300.0))
        assert Scene.from_toml(scene.to_toml()) == scene
        sim = scene.simulate()
        assert "j is integrated with the verlet scheme: cherry jelly is never in a hurry." in sim.notes
        (group,) = sim.world.model.groups  # bodies of one kind share a group
        assert set(group.spring_stiffness) == {200.0, 300.0}
        sim.set("j.material.wobble", 250.0)
        assert set(group.spring_stiffness) == {250.0, 300.0}
        with pytest.raises(PliantError, match="'density' of the material of a jelly body cannot be changed during a run"):
            sim.set("j.material.density", 3.0)
        sim.run(until=0.2)
        assert sim.contacts("j", "ground").total_force[2] > 0.0
        assert _material(scene.bodies[1]) == "cherry, 200 N/m"
        assert "jelly" in needed(scene) and "jelly" in jobs()
        schema = json.loads(json.dumps(Scene.model_json_schema()))
        assert {"$ref": "#/$defs/JellyBody"} in schema["properties"]["bodies"]["items"]["oneOf"]
        assert schema["$defs"]["JellyBody"]["properties"]["flavour"]["description"] == "how it tastes"
        with pytest.raises(PliantError, match=r'flavour is for bodies of jelly \(model = "jelly"\); this one is rigid.'):
            scene.add(shape=BOX, model="rigid", flavour="lime")
    finally:
        del ROOMS["jelly"]


@pytest.fixture
def jelly():
    """Jelly whose building a test may change, known meanwhile."""
    change = SimpleNamespace(of=lambda parts: None)

    def parts(body, shape, inside):
        found = jelly_parts(body, shape, inside)
        change.of(found)
        return found

    register(replace(JELLY, building=SimpleNamespace(parts=parts, changed=jelly_changed)))
    yield change
    del ROOMS["jelly"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("node_mass", np.zeros(0), r"its model jelly gives `node_mass` the shape \(0,\); of 27 nodes it must be \(27,\), zero where elements"),
        ("velocity", np.zeros((0, 3)), r"`velocity` the shape \(0, 3\); of 27 nodes it must be \(27, 3\), see start_velocity"),
        ("local", np.zeros((0, 3)), r"`local` the shape \(0, 3\)"),
        ("bind_start", np.zeros(1, np.int64), r"`bind_start` the shape \(1,\)"),
    ],
)
def test_an_array_that_a_model_forgot_is_named(jelly, name, value, words):
    jelly.of = lambda parts: setattr(parts, name, value)
    with pytest.raises(PliantError, match=f"Body 'j': .*{words}"):
        Scene(bodies=[dict(name="j", shape=BOX, model="jelly")]).simulate()


def test_weights_without_mass_have_no_centre():
    with pytest.raises(PliantError, match="the weights sum to zero.*give volumes"):
        start_velocity(Body(shape=BOX), np.zeros((3, 3)), np.zeros(3))


@pytest.mark.parametrize("wrong", [dict(changes=("wobble", "woble")), dict(stiffness="woble")])
def test_a_room_that_names_a_field_its_material_has_not_is_refused(wrong):
    with pytest.raises(PliantError, match="body model 'jelly': 'woble' is no field of JellyMaterial: did you mean wobble"):
        register(replace(JELLY, **wrong))
    assert "jelly" not in ROOMS


def test_what_to_do_without_tetrahedra_fits_the_model(jelly):
    jelly.of = lambda parts: setattr(parts, "tets", np.zeros((0, 4), np.int64))
    for model, words in (("jelly", "the model jelly makes no tetrahedra, choose another contact method"), ("springs", r"\(network = \"tets\"\)")):
        body = dict(name="j", shape=BOX, model=model, **(dict(network="surface") if model == "springs" else {}))
        with pytest.raises(PliantError, match=f"Body 'j': the contact method needs tetrahedra inside, and this body has none: .*{words}"):
            Scene(contact="noniterative", bodies=[body]).simulate()


def test_a_scene_compiles_what_its_bodies_call():
    assert needed(Scene(bodies=[dict(shape=BOX, name="a")])) == ["tets", "solver"]
    assert needed(Scene(bodies=[dict(shape=BOX, model="points", integrator="dop853")])) == ["points", "stages"]
    networks = [dict(shape=BOX, model="springs", network=each) for each in ("tets", "voxels")]
    assert [needed(Scene(bodies=[each])) for each in networks] == [["springs", "solver"], ["springs", "networks", "solver"]]
    both = Scene(contact="ground", bodies=[dict(shape=BOX, model="rigid"), dict(shape="plane", model="static", name="g")])
    assert needed(both) == ["contact ground", "fast bodies"]
    soft = Scene(bodies=[dict(shape=BOX, name="a"), dict(shape=BOX, name="b", model="static")])
    assert needed(soft) == ["tets", "solver", "contact patch", "fast bodies"]  # not what it would need if its steps were explicit
    assert set(needed(both)) <= set(jobs())
    with pytest.raises(PliantError, match="Body 'a': nowhere.obj does not exist"):  # told before anything is compiled
        needed(Scene(bodies=[dict(shape=dict(file="nowhere.obj"), name="a")]))
