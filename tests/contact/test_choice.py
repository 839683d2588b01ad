"""What `contact = "auto"` stands for: a method for each pair of bodies."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.contact.choice import Kind, of_pair
from pliant.geometry.mesh import Surface
from pliant.simulate.contact_rule import classic_if_old, contact_of, methods_of

CUBE = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05)
SHEET = Surface(np.array([(0.0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]), np.array([(0, 1, 2), (0, 2, 3)]))
SOFT, SHORT, HARD, FLOOR = Kind("fem", implicit=True), Kind("fem"), Kind("rigid"), Kind("static")


@pytest.mark.parametrize(
    ("a", "b", "method"),
    [
        (SOFT, SOFT, "patch"), (SOFT, HARD, "patch"), (SOFT, FLOOR, "patch"), (HARD, HARD, "patch"), (HARD, FLOOR, "patch"),
        (SHORT, SOFT, "noniterative"), (SHORT, FLOOR, "noniterative"), (FLOOR, FLOOR, "none"),
        (Kind("springs", implicit=True), SOFT, "continuous-penalty"), (SOFT, Kind("static", rim=True), "continuous-penalty"),
        (Kind("points"), SOFT, "point-surface"), (Kind("points"), Kind("quasi-rigid"), "point-surface"),
        (Kind("quasi-rigid"), HARD, "quasi-rigid"), (Kind("quasi-rigid"), Kind("springs"), "quasi-rigid"),
        (Kind("of my own"), SOFT, "continuous-penalty"),
    ],
)  # fmt: skip
def test_a_pair_has_the_method_that_suits_both(a, b, method):
    assert of_pair(a, b) == of_pair(b, a) == method


def test_what_cannot_bend_cannot_meet_itself():
    scene = Scene(dt=0.004)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="hard", shape=CUBE, model="rigid", position=(0, 0, 0.05))
    scene.pair("hard", "hard")
    with pytest.raises(PliantError, match="'hard' is to meet itself, but it is rigid: .* Drop the pair"):
        scene.simulate()


def mixed() -> Scene:
    scene = Scene(dt=0.004)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="soft", shape=CUBE, position=(0, 0, 0.05), material=dict(youngs_modulus=1e6))
    scene.add(name="hard", shape=CUBE, model="rigid", position=(0, 0, 0.15))
    scene.add(name="skin", shape=dict(kind="ball", radius=0.05), model="quasi-rigid", position=(0.3, 0, 0.05))
    return scene


def test_a_scene_has_the_methods_of_its_pairs_and_says_so():
    sim = mixed().simulate()
    assert list(sim.contact.methods) == ["patch", "quasi-rigid"]
    notes = [note for note in sim.notes if note.startswith("contact =")]
    assert notes[0].startswith("contact = \"auto\": patch between fem and static, rigid and static, fem and rigid, since ")
    assert notes[1].startswith("contact = \"auto\": quasi-rigid between quasi-rigid and static, ")
    table, (a, b) = sim.world.pairs, np.array([[0, 0, 1, 2, 1], [1, 3, 2, 3, 1]])
    assert table.for_method(0).meet(a, b).tolist() == [True, False, True, False, False]
    assert table.for_method(1).meet(a, b).tolist() == [False, True, False, True, False]


def test_each_pair_carries_its_weight_under_its_method():
    sim = mixed().simulate().run(until=0.3)
    loads: dict[tuple[str, str], list[float]] = {("hard", "soft"): [], ("soft", "ground"): [], ("skin", "ground"): []}
    while sim.time < 0.6:
        sim.step()
        for pair, load in loads.items():
            load.append(sim.contacts(*pair).total_force[2])
    weight = {name: 9.81 * sim.mass(name) for name in ("soft", "hard", "skin")}
    assert np.mean(loads["hard", "soft"]) == pytest.approx(weight["hard"], rel=0.01)
    assert np.mean(loads["soft", "ground"]) == pytest.approx(weight["hard"] + weight["soft"], rel=0.01)
    assert np.mean(loads["skin", "ground"]) == pytest.approx(weight["skin"], rel=0.1)  # it still bounces a little


def test_schemes_decide_and_a_stated_method_of_a_pair_stays():
    scene = Scene(dt=1e-4)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="soft", shape=CUBE, position=(0, 0, 0.05))
    assert methods_of(scene) == ["patch", "noniterative"]  # it may turn out either way
    assert list(scene.simulate().contact.methods) == ["noniterative"]
    scene.pair("soft", "ground", method="ground")
    assert list(scene.simulate().contact.methods) == ["noniterative", "ground"]
    assert list(scene.simulate(dt=0.01).contact.methods) == ["patch", "ground"]


def test_a_body_alone_meets_nothing():
    scene = Scene(dt=1e-4)
    scene.add(name="soft", shape=CUBE)
    assert methods_of(scene) == list(scene.simulate().contact.methods) == ["none"]


def test_a_sheet_is_met_along_the_path():
    scene = Scene(dt=0.004)
    scene.add(name="sheet", shape=SHEET, model="static")
    scene.add(name="cube", shape=CUBE, model="rigid", position=(0.5, 0.5, 0.05))
    assert list(scene.simulate().contact.methods) == ["continuous-penalty"]


def test_classic_is_one_method_for_all():
    scene = Scene(dt=0.004, contact="classic")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="soft", shape=CUBE, position=(0, 0, 0.05))
    sim = scene.simulate()
    assert list(sim.contact.methods) == ["noniterative"]
    assert any(note.startswith("contact = \"classic\": noniterative, since ") for note in sim.notes)


def test_runs_from_before_go_on_as_they_began():
    scene = mixed()
    assert classic_if_old(scene, {"auto": "pairs"}) is scene
    assert classic_if_old(scene, {}).contact == "classic"
    assert classic_if_old(scene.with_(contact="ground"), {}).contact == "ground"


def test_patch_says_that_it_knows_no_sheets():
    """Its normal points one way: what it falls on from the other side was passed without a word."""
    notes = {}
    for contact in ("patch", "auto"):
        scene = Scene(dt=5e-3, contact=contact)
        scene.add(name="floor", shape="plane", model="static")
        cloth = dict(spring_stiffness=40.0, spring_damping=0.01, vertex_mass=1e-3)
        scene.add(name="cloth", shape=SHEET, position=(0, 0, 0.1), model="springs", network="surface", material=cloth)
        notes[contact] = scene.simulate().notes
    assert any(note.startswith("'cloth': patch knows no sheets") for note in notes["patch"])
    assert not any("knows no sheets" in note for note in notes["auto"])


def test_auto_takes_no_options():
    with pytest.raises(PliantError, match=r'contact = "auto" stands for several methods and takes no options \(sweeps\): name the method'):
        contact_of(mixed().with_(contact={"method": "auto", "sweeps": 2}))


def test_what_can_come_apart_meets_itself():
    """The parts of a body of points that tears are bodies, though the scene has only one."""
    scene = Scene()
    scene.add(name="bar", model="points", shape=dict(kind="box", size=(0.4, 0.1, 0.1), edge=0.05), material=dict(tear_strain=0.3))
    assert methods_of(scene) == list(scene.simulate().contact.methods) == ["point-surface"]
    whole = scene.with_({"bar.material.tear_strain": None})
    assert methods_of(whole) == list(whole.simulate().contact.methods) == ["none"]
