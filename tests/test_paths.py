"""Paths into scenes, and numbers with units: wherever a scene has a number it can be reached and told in the unit of one's choice."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant import PliantError, Scene
from pliant.paths import all_paths
from pliant.spec.units import in_scene_units, parse_unit, read


def scene() -> Scene:
    made = Scene(dt="2ms", gravity=(0, 0, "-9.81m/s^2"))
    made.add(name="plate", shape="plane", model="static")
    made.add(name="ball", shape={"kind": "ball", "radius": "10cm"}, loads=[dict(value=(1, 0, 0))], position=(0, 0, 0.2))
    made.add(name="box.2", shape={"kind": "box", "size": [0.1, 0.1, 0.1]}, model="rigid")
    return made


UNITS = [("50kPa", "Pa", 5e4), ("2mm", "m", 0.002), ("30deg", "degree", 30.0), ("1.2 g/cm^3", "kg/m^3", 1200.0), ("5N/mm", "N/m", 5000.0),
         ("90deg/s", "rad/s", math.pi / 2), ("36km/h", "m/s", 10.0), ("3 N mm", "N m", 0.003), ("1e-3MPa", "Pa", 1000.0), ("7", "s", 7.0),
         ("2N·s/mm", "N s/m", 2000.0), ("1/s", "1/s", None), ("60°C", "degree C", 60.0), ("1in", "m", 0.0254), ("4/ms", "1/s", None)]  # fmt: skip


@pytest.mark.parametrize(("text", "unit", "expected"), UNITS)
def test_numbers_with_units(text, unit, expected):
    if expected is None:
        with pytest.raises(ValueError, match="not"):
            read(text, unit)
    else:
        assert read(text, unit) == expected


def test_metres_for_minutes_are_answered_with_minutes():
    """A remedy that works: what the sentence says to write is read as 14 minutes."""
    with pytest.raises(ValueError, match="m is a metre; write 14min for minutes"):
        read("14m", "s")
    assert read("14min", "s") == 840.0


@given(st.decimals(min_value=-1000, max_value=1000, places=4), st.sampled_from([("mm", 3), ("um", 6), ("cm", 2), ("km", -3), ("m", 0)]))
def test_a_length_is_the_float_that_one_would_write_in_metres(number, unit):
    """"2.3mm" is 0.0023 to the last bit, so a study finds its cases again however they were written."""
    name, digits = unit
    assert read(f"{number}{name}", "m") == float(f"{number}e{-digits}")


def test_every_unit_of_a_field_can_be_read():
    from pliant.bodies.register import ROOMS
    from pliant.scene import Attachment, Load, Motion

    specs = [Scene, Attachment, Load, Motion, *(room.body for room in ROOMS.values()), *(room.material for room in ROOMS.values())]
    stated = [field.description for spec in specs for field in spec.model_fields.values() if (field.description or "").startswith("[")]
    assert len(stated) > 60
    assert all(parse_unit(text[1 : text.index("]")]) is not None for text in stated), stated


@pytest.mark.parametrize(("value", "words"), [("2mm", "cannot be told in Pa"), ("5 foo", "'foo'"), (-3, "above 0"), ("soft", "number")])
def test_a_wrong_unit_is_a_sentence_with_the_path(value, words):
    with pytest.raises(PliantError, match=r"ball\.material\.youngs_modulus") as error:
        scene().with_({"ball.material.youngs_modulus": value})
    assert words in str(error.value)


def test_values_reach_every_kind_of_place_and_leave_the_scene_alone():
    first = scene()
    before = first.to_toml()
    values = {
        "ball.material.youngs_modulus": "50kPa", "pairs.plate.ball.friction": 0.7, "ball.shape.edge": "2mm", "contact.sweeps": 4,
        "gravity[2]": "-1.6m/s^2", "*.friction": 0.9, "*.material.density": "5g/cm^3", "ball.loads[0].value[2]": "2kN",
        "box.2.shape.size[1]": "3cm", "bodies[1].velocity": ("1km/h", 0, 0), "bodies.plate.position[0]": 1,
    }  # fmt: skip
    made = first.with_(values, dt="1ms")
    plate, ball, box = made.bodies
    assert (ball.material.youngs_modulus, made.pairs[0].friction, ball.shape["edge"]) == (5e4, 0.7, 0.002)
    assert made.contact == {"method": "auto", "sweeps": 4} and made.gravity == (0.0, 0.0, -1.6) and made.dt == 0.001
    assert {b.friction for b in made.bodies} == {0.9} and ball.material.density == box.material.density == 5000.0
    assert ball.loads[0].value.values.tolist() == [[1.0, 0.0, 2000.0]] and box.shape["size"] == [0.1, 0.03, 0.1]
    assert ball.velocity[0] == read("1km/h", "m/s") and plate.position == (1.0, 0.0, 0.0)
    assert first.to_toml() == before
    assert Scene.from_toml(made.to_toml()).to_toml() == made.to_toml()


def test_every_path_reads_and_writes_itself():
    made = scene().with_({"pairs.ball.plate.friction": 0.4})
    for path in all_paths(made):
        assert made.with_({path: made.value(path)}).to_toml() == made.to_toml(), path


WRONG = {
    "ball.material.young": "ball.material.youngs_modulus", "bal.friction": "ball.friction", "ball.materal.density": "ball.material.density",
    "ball.loads[3].value": "ball.loads[0].value", "pairs.plate.bll.friction": "ball", "ball.shape.edg": "ball.shape.edge", "gravty": "gravity",
    "ball.position[3]": "ball.position", "plate.material.youngs_modulus": "ball.material.youngs_modulus", "*.frction": "friction", "ball..x": "looks like",
}  # fmt: skip


@pytest.mark.parametrize("path", WRONG)
def test_an_unknown_path_names_the_nearest(path):
    with pytest.raises(PliantError, match=path.split(".")[0].replace("*", r"\*").replace("[", r"\[")) as error:
        scene().with_({path: 1})
    assert WRONG[path] in str(error.value)


def test_changes_take_paths_and_units():
    """Lighter gravity by a path and by hand: a ball falls g t^2 / 2; patterns and pairs reach the arrays."""
    made = Scene(dt=0.01, duration=1.0, contact="none")
    for name in ("a", "b"):
        made.add(name=name, shape={"kind": "ball", "radius": 0.1}, model="rigid", friction=0.1)
    made.pair("a", "b", friction=0.2)
    made.change("gravity[2]", {"times": ["0ms", "500ms"], "values": ["-2m/s^2", "-2000mm/s^2"]})
    sim = made.simulate()
    sim.run(until=0.5)
    fallen = sum(2.0 * 0.01 * 0.01 * k for k in range(1, 51))  # of the symplectic scheme
    assert sim.centre("a")[2] == pytest.approx(-fallen, rel=1e-12)
    sim.set("*.friction", 0.6)
    sim.set("pairs.b.a.friction", 0.3)
    sim.set("a.material.mass_damping", "2Hz")
    assert sim.world.model.bodies.friction.tolist() == [0.6, 0.6] and sim.world.pairs.mu_d.tolist() == [0.3]
    assert sim.state.values["*.friction"] == 0.6
    with pytest.raises(PliantError, match="cannot be changed during a run"):
        sim.set("a.position", (0, 0, 1))


def test_scene_files_hold_units(tmp_path):
    text = 'dt = "1ms"\n[[bodies]]\nname = "b"\nshape = {kind = "box", size = ["10cm", "2cm", "1in"]}\nmaterial = {youngs_modulus = "3MPa"}\n'
    (tmp_path / "s.toml").write_text(text + 'rotation = [0, "90deg", 0]\n')
    made = Scene.load(tmp_path / "s.toml")
    assert made.dt == 0.001 and made.bodies[0].shape["size"] == [0.1, 0.02, 0.0254] and made.bodies[0].material.youngs_modulus == 3e6
    assert made.bodies[0].rotation == (0.0, 90.0, 0.0) and in_scene_units(["1rad", "x", 3]) == [math.degrees(1.0), "x", 3]
