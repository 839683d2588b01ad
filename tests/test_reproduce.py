"""The frame in which experiments are repeated, and one small experiment through all of it."""

from __future__ import annotations

import json

import pytest

from pliant import PliantError
from pliant.shop import reproduce
from pliant.shop.reproduce import Line, spillmann


def test_a_line_says_published_here_and_verdict():
    assert Line("contacts", "400", "410", True).text() == "contacts: published 400 / here 410 / agrees"
    assert Line("a", "b", "c", False, "because").text().endswith("differs (because)")
    assert "no figure published" in Line("a", "b", "c", None).text()


@pytest.mark.parametrize("name", reproduce.SOURCES)
def test_every_source_and_experiment_says_what_it_is(name):
    assert reproduce.source(name).__doc__.splitlines()[0].endswith(".")
    for experiment, run in reproduce.experiments(name).items():
        assert run.__doc__ and run.__doc__.splitlines()[0].endswith("."), experiment


def test_wrong_names_get_the_nearest():
    with pytest.raises(PliantError, match="no source 'spilman'"):
        reproduce.source("spilman")
    with pytest.raises(PliantError, match="no experiment 'S9'"):
        reproduce.experiments("spillmann", ["S9"])


def test_results_are_kept_and_those_of_others_stay(tmp_path, monkeypatch):
    monkeypatch.setitem(spillmann.EXPERIMENTS, "S1", lambda folder: [Line("a", "1", "2", False)])
    (tmp_path / "results.json").write_text(json.dumps({"S9": []}))
    found = dict(reproduce.reproduce("spillmann", ["S1"], tmp_path))
    assert found["S1"][0].here == "2"
    assert json.loads((tmp_path / "results.json").read_text()).keys() == {"S1", "S9"}


def test_a_small_experiment_runs_and_draws(tmp_path):
    lines = spillmann._squeezed("squeezed-bars", "S1", "bars", tmp_path, squeeze=0.15, layers=1, edge=0.02, dt=0.0003, duration=0.2)
    assert lines[0].agrees is True and "edge" in lines[0].here
    assert {p.name for p in tmp_path.iterdir()} == {"S1.png", "S1_1.png", "S1_2.png", "S1_3.png"}
    assert all(p.stat().st_size > 2000 for p in tmp_path.iterdir())
