"""The seam where bodies touch: a contact method of thirty lines by a user, and an implicit column on the ground."""

import numpy as np
import pytest

from pliant import Answer, Contacts, Rows, Scene, register_method
from pliant.bodies.register import material_for


class Floor:
    """A user's method, plain NumPy: points below z = 0 are put back onto it, without friction."""

    needs = frozenset()

    def respond(self, motion, memory):
        below = np.flatnonzero((motion.end[:, 2] < 0) & (motion.skin.body > 0))
        if len(below) == 0:
            return Answer(Contacts.none(motion.dt))
        floor = np.full(len(below), motion.bodies.anchor[0])
        normal = np.tile([0.0, 0.0, 1.0], (len(below), 1))
        rows = Rows.dense(np.stack([below, floor], 1), np.tile([1.0, -1.0], (len(below), 1)), normal, motion.end[below])
        impulse = -motion.end[below, 2] / (motion.dt * motion.give(rows))
        motion.push(rows, impulse[:, None] * normal)
        contacts = Contacts.unknown(len(below), motion.dt)
        contacts.a[:], contacts.b[:] = motion.skin.body[below], 0
        contacts.normal[:], contacts.impulse[:], contacts.gap[:] = normal, impulse, motion.end[below, 2]
        return Answer(contacts, {"touched": below})


@pytest.mark.parametrize("model", ["rigid", "fem", "springs"])
def test_a_user_method_carries_the_weight(model):
    register_method("floor", Floor)
    scene = Scene(dt=0.002, contact="floor")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(
        name="b", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), model=model, position=(0, 0, 0.101),
        material=material_for(model, youngs_modulus=1e5, mass_damping=8.0, spring_stiffness=3000.0),
    )  # fmt: skip
    sim = scene.simulate().run(until=1.5)
    forces = []
    sim.run(until=2.0, each=lambda report: forces.append(sim.contacts("b", "ground").total_force[2]))
    assert np.mean(forces) == pytest.approx(8.0 * 9.81, rel=1e-3)
    assert sim.points("b")[:, 2].min() > -1e-3
    assert "touched" in sim.state.memory["floor"]


@pytest.mark.parametrize("youngs_modulus", [3e6, 1e7, 1e9])
@pytest.mark.parametrize("dt", [0.002, 0.01, 0.03])
def test_implicit_column_of_40_nodes_stands_on_the_ground(youngs_modulus, dt):
    """The contact node stays within half an element of the ground at any stiffness and step; the ground carries the weight."""
    height = 0.9
    scene = Scene(dt=dt)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(
        name="column", shape=dict(kind="box", size=(0.1, 0.1, height), edge=0.1), position=(0, 0, height / 2),
        integrator="implicit", material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, mass_damping=1.0),
    )  # fmt: skip
    sim = scene.simulate()
    assert len(sim.state.x) == 40
    lowest = []
    sim.run(until=2.0, each=lambda report: lowest.append(sim.points("column")[:, 2].min()))
    assert min(lowest) > -0.05
    weight = 9.81 * sim.world.model.nodes.mass.sum()
    assert sim.contacts("column", "ground").total_force[2] == pytest.approx(weight, rel=1e-3)


def test_work_of_contact_is_nothing_at_rest_and_what_was_lost_before():
    scene = Scene(dt=0.002)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="b", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.2), model="rigid", position=(0, 0, 0.2))
    sim = scene.simulate()
    first = sim.books()
    sim.run(until=0.5)
    rest = sim.books()
    assert rest.contact == pytest.approx(rest.total - first.total, rel=0.02)
    sim.run(until=0.7)
    assert sim.books().contact == pytest.approx(rest.contact, rel=1e-6)


class Freeze:
    """Puts everything back to where it started; velocities go on growing."""

    needs = frozenset()

    def respond(self, motion, memory):
        motion.rewind(np.flatnonzero(motion.skin.body >= 0))
        return Answer(Contacts.none(motion.dt))


@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_rewind_puts_owners_back_and_books_the_energy(model):
    register_method("freeze", Freeze)
    scene = Scene(dt=0.01, contact="freeze")
    scene.add(name="b", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), model=model, position=(0, 0, 1))
    sim = scene.simulate()
    before = sim.points("b")
    for _ in range(5):
        sim.step()
    assert np.abs(sim.points("b") - before).max() < 1e-15
    mass = sim.world.model.nodes.mass
    v = sim.state.velocity[0] if model == "rigid" else mass @ sim.state.v / mass.sum()
    assert v == pytest.approx([0, 0, -0.4905], abs=1e-12)
    lifted = 8.0 * 9.81 * 0.01 * 9.81 * 0.01 * (1 + 2 + 3 + 4 + 5)  # m g times what each step would have fallen
    assert sim.state.books["rewound"] == pytest.approx(lifted, rel=1e-9)
