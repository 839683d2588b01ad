"""A run and a picture to draw, shared by the tests of this folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def falling():
    """The module falling.py beside this file."""
    spec = importlib.util.spec_from_file_location("look_falling", Path(__file__).with_name("falling.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run(falling, tmp_path_factory):
    """Six frames of a sinking box beside a ball."""
    return falling.record(tmp_path_factory.mktemp("look") / "falling")


@pytest.fixture(scope="session")
def can_draw():
    """Whether this machine can draw off screen; why not, if it cannot."""
    from pliant.base import PliantError
    from pliant.look.draw import hidden_plotter

    try:
        hidden_plotter((16, 16)).close()
    except PliantError as error:
        return str(error)
    return ""


@pytest.fixture(autouse=True)
def skip_where_nothing_can_be_drawn(request, can_draw):
    """Tests that make pictures need a driver, which only the system can bring."""
    if can_draw and request.module.__name__.endswith(("test_draw", "test_movie")):
        pytest.skip(can_draw)
