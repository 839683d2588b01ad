"""The books: momentum and impulses agree, energies close, and what is wrong is said."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer, register_method
from pliant.simulate import running
from pliant.simulate.simulation import Simulation
from pliant.world.motion import Motion, Rows


def drop(contact: str, integrator: str) -> Scene:
    scene = Scene(dt=0.001, duration=0.1, contact=contact)
    scene.add(name="ground", shape=dict(kind="box", size=(1, 1, 0.2), edge=0.5), model="static", position=(0, 0, -0.1))
    material = dict(youngs_modulus=1e5, density=1000.0)
    box = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05)
    scene.add(name="box", shape=box, material=material, position=(0, 0, 0.0505), velocity=(0.2, 0, -0.5), integrator=integrator)
    return scene


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "implicit"])
def test_energy_is_somewhere(integrator):
    """Start plus all work is what is there plus what was lost; without damping little is lost, and nothing appears."""
    scene = drop("ground", integrator)
    scene.dt = 2e-4
    sim = Simulation(scene).run(until=0.04)
    books = sim.books()
    assert books.lost == pytest.approx(books.start + books.given - books.total, abs=1e-15)
    kinetic = 0.5 * 1.0 * (0.5**2 + 0.2**2)
    assert -0.02 * kinetic < books.lost < (0.3 if integrator == "implicit" else 0.02) * kinetic
    assert books.friction < 0.0 and books.contact < books.friction + 0.01 * kinetic


def test_work_of_loads_and_of_changed_gravity_is_booked():
    """A free ball pushed by F over a path gains F s; gravity switched off at height h takes m g h away."""
    scene = Scene(dt=0.001, duration=1.0, contact="none")
    push = [dict(value=(3.0, 0.0, 0.0))]
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="rigid", position=(0, 0, 2.0), loads=push)
    sim = Simulation(scene).run(until=0.1)
    moved = sim.centre("ball")
    mass = sim.world.model.frames.mass[0]
    books = sim.books()
    assert books.loads == pytest.approx(0.5 * mass * sim.world.state.velocity[0, 0] ** 2, rel=1e-12)
    assert books.loads == pytest.approx(3.0 * moved[0], rel=0.011)  # the way of 100 symplectic steps is a hundredth too long
    assert abs(books.lost) < 0.02 * books.kinetic
    sim.set("gravity", (0.0, 0.0, 0.0))
    assert sim.books().changes == pytest.approx(-mass * 9.81 * moved[2], rel=1e-3)
    sim.run(until=0.15)
    assert abs(sim.books().lost) < 0.02 * sim.books().kinetic


class Liar:
    """Holds what is below z = 0 and reports half of what it pushed."""

    needs: frozenset[str] = frozenset()

    def respond(self, motion: Motion, memory: dict) -> Answer:
        below = np.flatnonzero((motion.end[:, 2] < 0) & (motion.skin.body > 0))
        contacts = Contacts.unknown(len(below), motion.dt)
        if len(below):
            normal = np.tile([0.0, 0.0, 1.0], (len(below), 1))
            floor = np.full(len(below), motion.bodies.anchor[0])
            rows = Rows.dense(np.stack([below, floor], 1), np.tile([1.0, -1.0], (len(below), 1)), normal, motion.end[below])
            impulse = -motion.end[below, 2] / (motion.dt * motion.give(rows))
            motion.push(rows, impulse[:, None] * normal)
            contacts.a[:], contacts.b[:] = motion.skin.body[below], 0
            contacts.normal[:], contacts.impulse[:], contacts.gap[:] = normal, 0.5 * impulse, motion.end[below, 2]
            contacts.point[:] = motion.end[below]
        return Answer(contacts)


def test_a_method_that_reports_wrong_forces_is_found_out(tmp_path):
    register_method("liar", Liar)
    scene = drop("liar", "verlet")
    sim, recorder = running.start(scene, tmp_path / "a")
    outcome = running.run(sim, recorder)
    assert outcome.imbalance > 0.3 and any("miss the change of momentum" in note for note in outcome.notes)
    sim, recorder = running.start(drop("ground", "verlet"), tmp_path / "b")
    honest = running.run(sim, recorder)
    assert honest.imbalance < 1e-10 and not any("momentum" in note or "nowhere" in note for note in honest.notes)


def test_energy_from_nowhere_is_said(tmp_path):
    """A body that is kicked by hand between steps has energy that nothing gave it."""
    sim, recorder = running.start(drop("ground", "verlet"), tmp_path / "a")
    sim.step()
    sim.state.v[:] *= 3.0
    assert any("came from nowhere" in note for note in running.run(sim, recorder).notes)
