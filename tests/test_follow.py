"""Skins that are bound anew to what flows: surfels, memory of contact and shapes at rest stay, and any state can be recalled."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.point_surface.detection import Prepared
from pliant.contact.point_surface.stiffness import Compliance
from pliant.model import Rest
from pliant.simulate.follow import KEPT
from pliant.world.motion import Touched


def thrown(**material) -> Scene:
    """A plastic bar that falls on its end; with `tear_strain` its halves are thrown apart."""
    scene = Scene(dt=1e-3, duration=0.06, gravity=(0, 0, 0), contact="point-surface")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    scene.add(
        name="bar", shape={"kind": "box", "size": (0.1, 0.1, 0.3), "edge": 0.1}, model="points", spacing=0.04, position=(0, 0, 0.151),
        velocity=(0.5, 0, -3.0), material={"youngs_modulus": 5e4, "density": 1000.0, "yield_strain": 0.02, **material},
    )  # fmt: skip
    return scene


def until_bound(sim) -> np.ndarray:
    """Step until the skin is bound while it touches the ground; its places."""
    places = None
    while sim.time < sim.scene.duration - 1e-9:
        sim.step()
        now = sim.state.elements.get(KEPT, {}).get("places")
        if now is not places and len(sim.report.contacts):
            return now
        places = now
    raise AssertionError("the skin was never bound")


def test_binding_changes_how_points_ride_and_nothing_else():
    """Memory in numbers of surfels, the area at rest and what is a fold stay good; what knows how points ride is made anew."""
    sim = thrown().simulate()
    sim.step()
    before, shape = sim.world.derived(Prepared), sim.world.rest.points.copy()
    weight, points = sim.world.model.skin.weight, len(sim.world.derived(Prepared).carried)
    until_bound(sim)
    world, made = sim.world, sim.world.derived(Prepared)
    skin = world.model.skin
    assert not np.array_equal(skin.weight, weight)
    assert made is before and (world.rest.points == shape).all() and (Rest.of(world.model).points == shape).all()
    memory, count = sim.state.memory["point-surface"], len(world.model.bodies)
    assert len(memory["key"]) and memory["key"].max() // count < points and memory["sample"].max(initial=-1) < points
    assert (made.compliance.give == Compliance(Rest.of(world.model), made.carried).give).all()
    assert (world.derived(Touched).alone == Touched(world.rest).alone).all()
    low, high = world.model.bodies.point_start[1:3]
    now = world.skin_positions(sim.state.x, sim.state.position, sim.state.rotation)[low:high]
    assert now == pytest.approx(sim.state.elements[KEPT]["places"][low:high], abs=1e-9)


@pytest.mark.parametrize("material", [{}, {"tear_strain": 0.3}])
def test_any_state_can_be_recalled_over_one_with_other_skins(material):
    """Before the first binding, and after it: both go on with the bits of the run that was not disturbed."""
    sim, states = thrown(**material).simulate(), []
    if material:
        z = sim.state.x[:, 2]
        sim.state.v[:, 2] = np.where(z > 0.15, 4.0, -4.0)
    sim.step()
    for _ in range(3):
        states.append(sim.state.copy())
        until_bound(sim)
    while material and len(sim.world.model.bodies) == 2 and sim.time < sim.scene.duration:
        sim.step()
    for _ in range(3):
        sim.step()
    assert KEPT not in states[0].elements and KEPT in states[2].elements
    assert not material or len(sim.world.model.bodies) > 2
    last = sim.state.copy()
    for state in (states[0], states[2]):
        sim.recall(state.copy())
        while sim.time < last.time - 1e-9:
            sim.step()
        assert (sim.state.x == last.x).all() and (sim.state.elements[KEPT]["places"] == last.elements[KEPT]["places"]).all()
        assert (sim.points() == sim.world.skin_positions(last.x, last.position, last.rotation)[: len(sim.points())]).all()
