"""One scene under several methods: numbers that must come out whatever the method is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant import Scene
from pliant.cli import app
from pliant.measure.compare import COLUMNS, compare


def lying_block(damping: float = 0.0) -> Scene:
    scene = Scene(dt=0.002, duration=0.2)
    scene.add(name="ground", shape=dict(kind="box", size=(1, 1, 0.2), edge=0.5), model="static", position=(0, 0, -0.1))
    box = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05)
    material = dict(youngs_modulus=1e6, mass_damping=damping)
    scene.add(name="box", shape=box, position=(0, 0, 0.05), velocity=(0.5, 0, 0), material=material, friction=0.3)
    return scene


@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_reported_forces_obey_newton_while_the_block_brakes(damping):
    for trial in compare(lying_block(damping), ["ground", "noniterative", "penalty"]):
        assert not trial.failure and len(trial.time) == 100
        found = trial.table
        assert set(found) == set(COLUMNS)
        assert found["force"] < 1e-6 and found["momentum"] < 1e-10 and found["energy"] < 0.02
        assert found["max depth"] > found["mean depth"] >= 0.0
        assert np.linalg.norm(np.mean(trial.support[-20:], axis=0)) > 0.9 * trial.weight


def test_a_method_that_cannot_says_why_and_the_others_go_on(tmp_path):
    ran = CliRunner().invoke(
        app, ["compare", "slope", "--contact", "ground,grund", "--duration", "0.01", "--json", "--out", str(tmp_path / "a.png")]
    )
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.output)
    assert "no contact method 'grund'" in found["grund"]["failure"] and found["ground"]["force"] < 1e-6
    assert (tmp_path / "a.png").stat().st_size > 10_000
