"""One scene under several methods: numbers that must come out whatever the method is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from pliant import Scene, register_method
from pliant.bodies.register import material_for
from pliant.cli import app
from pliant.contact.ground import Ground
from pliant.shop.compare import COLUMNS, tried


def lying_block(damping: float = 0.0) -> Scene:
    scene = Scene(dt=0.002, duration=0.2)
    scene.add(name="ground", shape=dict(kind="box", size=(1, 1, 0.2), edge=0.5), model="static", position=(0, 0, -0.1))
    box = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05)
    material = dict(youngs_modulus=1e6, mass_damping=damping)
    scene.add(name="box", shape=box, position=(0, 0, 0.05), velocity=(0.5, 0, 0), material=material, friction=0.3)
    return scene


@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_reported_forces_obey_newton_while_the_block_brakes(damping):
    for method in ("ground", "noniterative", "penalty"):
        trial = tried(lying_block(damping), method)
        assert not trial.failure and len(trial.time) == 100
        found = trial.table
        assert set(found) == set(COLUMNS)
        assert found["force"] < 1e-6 and found["momentum"] < 1e-10 and found["energy"] < 0.02
        assert found["max depth"] > found["mean depth"] >= 0.0
        assert np.linalg.norm(np.mean(trial.support[-20:], axis=0)) > 0.9 * trial.weight


BODIES = {
    "verlet": dict(integrator="verlet"), "symplectic": dict(integrator="symplectic"), "implicit": dict(integrator="implicit"),
    "rigid": dict(model="rigid"), "loaded": dict(integrator="implicit", loads=[dict(value=(3.0, 0.0, -20.0))]),
}  # fmt: skip


def damped_fall(**body) -> Scene:
    """A damped box that falls 2 mm and bounces."""
    scene = Scene(dt=0.002, duration=0.06)
    scene.add(name="ground", shape="plane", model="static")
    box, material = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1), dict(youngs_modulus=1e6, mass_damping=20.0)
    scene.add(**{"name": "box", "shape": box, "position": (0, 0, 0.052), "material": material_for(body.get("model", "fem"), **material), "friction": 0.3, **body})
    return scene


@pytest.mark.parametrize("kind", BODIES)
def test_newtons_law_holds_in_every_step_while_damped_and_loaded_bodies_accelerate(kind):
    trial = tried(damped_fall(**BODIES[kind]), "ground")
    support, expected = np.array(trial.support), np.array(trial.expected)
    assert np.abs(support - expected).max() < 1e-10 * trial.weight
    assert support[0] == pytest.approx([0, 0, 0], abs=1e-10) and support[:, 2].max() > 1.5 * trial.weight  # it falls, and it hits


@dataclass(frozen=True)
class Boasts:
    """Reports a tenth more than it pushes with."""

    needs: ClassVar[frozenset[str]] = Ground.needs

    def respond(self, motion, memory):
        answer = Ground().respond(motion, memory)
        answer.contacts.impulse[:] *= 1.1
        return answer


def test_a_method_that_reports_too_much_is_found_out():
    register_method("boasts", Boasts)
    trial = tried(damped_fall(model="rigid", position=(0, 0, 0.05)), "boasts")
    assert 0.02 < trial.table["force"] < 0.5 and trial.table["momentum"] == pytest.approx(0.1 / 1.1, rel=1e-3)


def test_what_hangs_has_no_force_to_compare():
    scene = damped_fall(model="rigid")
    scene.attach(a=dict(body="box", at=(0.0, 0.0, 0.1)), b=dict(at=(0.0, 0.0, 0.5)), stiffness=100.0)
    trial = tried(scene, "ground")
    assert np.isnan(trial.table["force"]) and not trial.failure


def test_a_method_that_cannot_says_why_and_the_others_go_on(tmp_path):
    ran = CliRunner().invoke(
        app, ["compare", "slope", "--contact", "ground,quasi-rigid", "--duration", "0.01", "--json", "--out", str(tmp_path / "a.png")]
    )
    assert ran.exit_code == 1, ran.output
    found = json.loads(ran.output)
    assert "needs at least one of them to be quasi-rigid" in found["quasi-rigid"]["failure"] and found["ground"]["force"] < 1e-6
    assert (tmp_path / "a.png").stat().st_size > 10_000
