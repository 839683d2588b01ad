"""Rows of the history: all parts of a divided step are in them, and their impulses are the change of momentum."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.measure.pairs import pair_series
from pliant.record import Run
from pliant.simulate import running

SPEED = 1.0  # [m/s]


def thrown(method, dt, **ball):
    """A ball thrown on the ground, without gravity."""
    scene = Scene(dt=dt, duration=0.012, gravity=(0, 0, 0), contact=method)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", position=(0, 0, 0.0505), velocity=(0.2, 0, -SPEED), **ball)
    return scene


SOFT = dict(shape=dict(kind="ball", radius=0.05, edge=0.04), material=dict(youngs_modulus=1e6, poisson_ratio=0.3))
LOCAL = dict(model="quasi-rigid", shape=dict(kind="ball", radius=0.05, edge=0.015), material=dict(youngs_modulus=1e6, poisson_ratio=0.3))


@pytest.mark.parametrize(
    "method, dt, body", [("ground", 2e-3, dict(SOFT, integrator="symplectic")), ("noniterative", 1e-3, SOFT), ("quasi-rigid", 2e-3, LOCAL)]
)
def test_impulses_of_the_history_are_the_change_of_momentum(method, dt, body, tmp_path, monkeypatch):
    """Also where parts are added up: here to rows as long as the time of the ball."""
    monkeypatch.setattr(running, "FINE", 0.5)
    sim, recorder = running.start(thrown(method, dt, **body), tmp_path / "run", every=4e-3)
    parts = []
    running.run(sim, recorder, watch=lambda report: parts.append((report.dt, report.contacts.between(1, 0).total_force)))
    with Run.open(tmp_path / "run") as run:
        found, series = pair_series(run, "ball", "ground"), run.series()
    change = series["momentum"][-1] - sim.mass("ball") * np.array([0.2, 0, -SPEED])
    assert np.linalg.norm(change) > 0.5 * sim.mass("ball") * SPEED
    impulse = sum(length * force for length, force in parts)
    assert found["impulse"].sum(axis=0) == pytest.approx(impulse, rel=1e-12, abs=1e-14)
    assert np.linalg.norm(found["impulse"].sum(axis=0) - change) < 1e-9 * np.linalg.norm(change)
    assert series["dt"].sum() == pytest.approx(0.012, rel=1e-12) and np.allclose(np.cumsum(series["dt"]), series["time"], rtol=1e-12)
    assert found["force"] * series["dt"][:, None] == pytest.approx(found["impulse"], rel=1e-12, abs=1e-15)
    largest = max(np.linalg.norm(force) for _, force in parts)
    assert found["peak"].max() == pytest.approx(largest, rel=1e-12) and (found["peak"] >= 0.999 * np.linalg.norm(found["force"], axis=1)).all()
    assert len(series["time"]) == round(0.012 / dt) and (method == "noniterative" or len(parts) > 3 * len(series["time"]))
