"""The books: momentum and impulses agree, energies close, and what is wrong is said."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer, register_method
from pliant.measure.balance import Newton
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


def pressed(contact: str, integrator: str) -> Scene:
    """A block whose upper side is driven down onto the ground: both contact and what drives it hold it."""
    scene = drop(contact, integrator)
    down = dict(times=[0.0, 1.0], values=[(0, 0, 0), (0.1, 0, -0.3)])
    box = scene.bodies[1].model_copy(update=dict(velocity=(0, 0, 0), damping=0.0))
    scene.bodies[1] = box
    return scene.with_({"box.motions": [dict(where=dict(side="+z"), shift=down)]}, dt=4e-3, duration=0.1)


@pytest.mark.parametrize("integrator", ["symplectic", "implicit"])  # forces of Verlet span half of two steps
@pytest.mark.parametrize("contact", ["ground", "patch"])
def test_impulses_on_a_body_that_is_held_are_in_the_balance(contact, integrator, tmp_path):
    """The contacts of a driven body account for it to rounding, and with what drives it for its momentum; a liar is found out."""
    register_method("liar", Liar)
    sim = Simulation(pressed(contact, integrator))
    newton, told, worst, size = Newton(sim.world), np.zeros(3), 0.0, 0.0

    def add(report):
        nonlocal worst, size
        newton.add(report.dt, report.damping)
        force = sim.contacts("box", "ground").total_force
        told[:] += report.dt * (force + report.reaction.sum(axis=0))
        worst, size = max(worst, report.balance.error), size + report.dt * float(np.linalg.norm(force))

    for _ in range(25):
        sim.step(each=add)
    assert size > 0.1 and worst < 1e-12
    assert np.abs(told - newton.impulse).max() < (1e-4 if integrator == "implicit" else 1e-12) * size  # ANSWER of its solves
    lying = running.run(*running.start(pressed("liar", integrator), tmp_path / "run"))
    assert any("miss the change of momentum" in note for note in lying.notes)


def test_forces_of_a_step_that_is_divided_are_means_over_its_parts():
    """`pairs` and `reactions` after a step have its impulses; what its last part says alone differs."""
    sim = Simulation(pressed("ground", "verlet"))
    sim.run(until=0.04)
    parts = []
    sim.step(each=lambda report: parts.append((report.dt, sim.contacts("box", "ground").total_force, report.reaction.sum(axis=0))))
    dt = np.array([part[0] for part in parts])
    assert len(parts) > 2 and dt.sum() == pytest.approx(sim.dt)
    for told, k in ((-sim.pairs()["force"][0], 1), (sim.reactions.sum(axis=0), 2)):  # of pairs it acts on the ground
        assert told == pytest.approx(dt @ np.array([part[k] for part in parts]) / dt.sum(), rel=1e-12)
        assert abs(told[2] / parts[-1][k][2] - 1.0) > 1e-3


def test_energy_from_nowhere_is_said(tmp_path):
    """A body that is kicked by hand between steps has energy that nothing gave it."""
    sim, recorder = running.start(drop("ground", "verlet"), tmp_path / "a")
    sim.step()
    sim.state.v[:] *= 3.0
    assert any("came from nowhere" in note for note in running.run(sim, recorder).notes)
