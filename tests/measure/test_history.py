"""Largest pressure and displacement, and wear, over a run: against closed forms and against the steps themselves."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.measure.history import FIELDS, History
from pliant.record import Run
from pliant.simulate import running
from pliant.simulate.simulation import Simulation


def sliding_block(speed: float = 1.0, duration: float = 0.2) -> Scene:
    scene = Scene(dt=0.002, duration=duration, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    size = (0.2, 0.1, 0.05)
    scene.add(name="block", shape=dict(kind="box", size=size), model="rigid", position=(0, 0, 0.025), velocity=(speed, 0, 0),
              material=dict(density=500.0), friction=0.3)  # fmt: skip
    return scene


def test_wear_of_a_sliding_block_is_its_pressure_times_its_path():
    """The mean over the base of p |slip| is m g / A times the path, however the pressure is spread."""
    sim = Simulation(sliding_block())
    history, start = History(sim), sim.centre("block")[0]
    while sim.time < 0.15:
        sim.step(each=lambda report: history.take(report))
    path = sim.centre("block")[0] - start
    weight = 500.0 * 0.2 * 0.1 * 0.05 * 9.81
    bottom = np.flatnonzero(history.wear > 0.0)
    assert np.abs(sim.points()[bottom, 2]).max() < 1e-3
    areas, corners = np.zeros(len(sim.points())), sim.world.model.skin.faces
    below = corners[np.isin(corners, bottom).all(axis=1)]
    a, b, c = (sim.points()[below[:, k]] for k in range(3))
    np.add.at(areas, below, np.linalg.norm(np.cross(b - a, c - a), axis=1)[:, None] / 6)  # a third of each face around a corner
    assert (history.wear * areas).sum() == pytest.approx(weight * path, rel=0.01)
    assert history.max_displacement[bottom].max() == pytest.approx(path, rel=1e-3)


def test_largest_values_are_those_of_the_steps():
    sim = Simulation(sliding_block())
    history, pressures = History(sim), []
    for _ in range(20):
        report = sim.step(each=lambda part: history.take(part))
        pressures.append(np.nanmax(report.contacts.pressure, initial=0.0))
    assert history.max_pressure.max() == pytest.approx(max(pressures), rel=1e-9)


def test_a_run_has_the_fields_and_a_resumed_one_has_the_same(tmp_path):
    for name, stops in (("whole", (0.04,)), ("parts", (0.02, 0.04))):
        sim, recorder = running.start(sliding_block(duration=stops[0]), tmp_path / name, every=0.02)
        running.run(sim, recorder)
        for until in stops[1:]:
            running.run(*running.reopen(tmp_path / f"{name}.vtkhdf", until))
    with Run.open(tmp_path / "whole") as whole, Run.open(tmp_path / "parts") as parts:
        for field in FIELDS:
            assert np.array_equal(whole.field(field, -1), parts.field(field, -1)) and whole.field(field, -1).max() > 0.0
