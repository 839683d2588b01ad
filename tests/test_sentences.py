"""Mistakes that careless people made at the command line: each is refused in a sentence that helps."""

from __future__ import annotations

import pytest

from pliant import PliantError, Scene
from pliant.cli.options import wanted_scene
from pliant.cli.view import _numbers


@pytest.mark.parametrize(
    "given, said",
    [
        ('dt = "soon"', "dt = 'soon': it must be a number."), ("bodies = 3", "bodies = 3: it must be a list."),
        ("gravity = 9.81", "gravity = 9.81: it must be a list."), ('sleep = "maybe"', "sleep = 'maybe': it must be true or false."),
        ("dt = nan", "dt = nan: it must be a finite number."), ('solver = "magic"', "solver = 'magic': it must be 'cg' or 'direct'."),
        ("name = 5", "name = 5: it must be a text."), ("bodies = [3]", "bodies[0] = 3: it must be a table."),
        ('[[bodies]]\nshape = "plane"\nmaterial = { youngs_modulus = "x" }', "youngs_modulus = 'x': it must be a number or a list."),
        (f"bodies = '{'long ' * 1000}'", "long ...: it must be a list."),
    ],
)  # fmt: skip
def test_values_of_another_type_are_told_in_words_of_a_scene(given, said):
    """A library's "Input should be a valid number, unable to parse string as a number" was told, twice where a list would do as well."""
    with pytest.raises(PliantError) as refused:
        Scene.from_toml(given)
    assert said in str(refused.value) and "Input" not in str(refused.value) and len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "name, said", [("runs/box.vtkhdf", "pliant resume"), ("box.journal", "pliant resume"), ("head.STL", "pliant check"), ("here.toml", "is a folder")]
)
def test_a_file_that_is_no_scene_is_told_from_an_unknown_name(name, said, tmp_path, monkeypatch):
    """`pliant run box.vtkhdf` listed fifty scenes."""
    (tmp_path / "here.toml").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PliantError, match=said) as refused:
        wanted_scene(name, [], None, None, None)
    assert "archway" not in str(refused.value)


def test_a_size_of_a_figure_is_told_as_it_was_typed():
    with pytest.raises(PliantError, match="--size axb: give 2 numbers with 'x' between them"):
        _numbers("size", "axb", (2,), between="x")
    assert _numbers("size", "85x64", (2,), between="x") == _numbers("size", "85,64", (2,)) == [85.0, 64.0]


def test_a_body_that_is_named_like_another_is_refused():
    """`--set box.name=ground` ran: what was told of "ground" was of either."""
    scene = Scene(dt=0.01, duration=0.01, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", shape={"kind": "ball", "radius": 0.1, "edge": 0.1}, model="rigid", position=(0, 0, 1))
    with pytest.raises(PliantError, match="two bodies named 'ground'"):
        scene.with_({"ball.name": "ground"}).simulate()
