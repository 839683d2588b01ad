"""The account of every two bodies against closed forms: what a bounce takes, gives back, and makes."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from pliant import Scene, register_method
from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer
from pliant.measure.account import PairWork, booked, ends_of, gain_warnings, key_of
from pliant.simulate import running
from pliant.world.motion import Rows

SPEED, RADIUS = 2.0, 0.05


@dataclass
class Bouncing:
    """A floor at z = 0 that sends body 1 back with `bounce` of its speed."""

    bounce: float = 0.0
    needs: ClassVar[frozenset[str]] = frozenset()

    def respond(self, motion, memory):
        frame = motion.bodies.frame[1]
        if motion.position[frame, 2] >= RADIUS or motion.velocity_frames[frame, 2] >= 0.0:
            return Answer(Contacts.none(motion.dt))
        point = np.array([[motion.bodies.anchor[1], motion.bodies.anchor[0]]])
        normal, at = np.array([[0.0, 0.0, 1.0]]), motion.position[[frame]]
        rows = Rows.dense(point, np.array([[1.0, -1.0]]), normal, at)
        impulse = -(1.0 + self.bounce) * motion.frames.mass[frame] * motion.velocity_frames[frame, 2:3]
        motion.push(rows, impulse[:, None] * normal)
        contacts = Contacts.unknown(1, motion.dt)
        contacts.a[:], contacts.b[:], contacts.normal[:], contacts.impulse[:], contacts.gap[:] = 1, 0, normal, impulse, 0.0
        contacts.friction_impulse[:] = 0.0
        return Answer(contacts)


register_method("bouncing", Bouncing)


def thrown(bounce, turn=0.0):
    scene = Scene(dt=1e-3, duration=0.05, gravity=(0, 0, 0), contact=dict(method="bouncing", bounce=bounce))
    scene.add(name="ground", shape="plane", model="static")
    ball = dict(kind="ball", radius=RADIUS)
    scene.add(name="ball", model="rigid", shape=ball, position=(0, 0, 0.06), velocity=(0.7, 0, -SPEED), material=dict(density=1000.0))
    return scene


@pytest.mark.parametrize("bounce", [0.0, 0.6, 1.0, 1.3])
def test_work_along_the_normal_of_a_bounce(bounce, tmp_path):
    """-(1 - e^2) m v^2 / 2; above zero it is a gain, and the run says which pair, how much, when and which share."""
    sim, recorder = running.start(thrown(bounce), tmp_path / "run", every=0.01)
    outcome = running.run(sim, recorder)
    (pair,) = sim.books().pairs
    energy = 0.5 * sim.mass("ball") * SPEED**2
    before = 0.5 * sim.mass("ball") * (SPEED**2 + 0.49)
    assert {pair.a, pair.b} == {"ground", "ball"} and pair.touches == 1
    assert pair.normal == pytest.approx(-(1 - bounce**2) * energy, rel=1e-12, abs=1e-12) and abs(pair.friction) < 1e-12
    assert pair.before == pytest.approx(before, rel=1e-12) and pair.after == pytest.approx(before + pair.normal, rel=1e-12)
    assert sim.books().contact == pytest.approx(pair.normal + pair.friction, rel=1e-12, abs=1e-12)
    said = [note for note in outcome.notes if "gave back more than it took" in note]
    if bounce > 1.0:
        gain = (bounce**2 - 1) * energy
        assert pair.gain == pytest.approx(gain, rel=1e-9) and pair.when == pytest.approx(0.005, abs=1e-9)
        assert f"'ground' and 'ball' {gain:.3g} J (most of it up to t = 0.005 s)" in said[0]
        assert f"{gain / (before + gain):.1%}" in said[0]
    else:
        assert pair.gain < 1e-12 and not said


def test_friction_that_turns_with_a_blow_has_made_no_energy(tmp_path):
    """A rod that comes down askew: the blow turns the slip of its foot round, friction opposes that, and against the mean it works forwards."""
    scene = Scene(dt=1e-3, duration=0.02, gravity=(0, 0, 0), contact="patch")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    rod = dict(kind="box", size=(0.02, 0.02, 0.2))
    scene.add(name="rod", shape=rod, model="rigid", friction=0.5, position=(0, 0, 0.12), rotation=(0, 35, 0), velocity=(0.7, 0, -2.0))
    sim, recorder = running.start(scene, tmp_path / "run", every=0.01)
    start = sim.books().kinetic
    outcome = running.run(sim, recorder)
    (pair,) = sim.books().pairs
    assert pair.friction > 0.02 * start and pair.normal < -0.5 * start
    assert not [note for note in outcome.notes if "can only take energy" in note], outcome.notes


def test_friction_that_works_forwards_on_what_rests_is_told():
    """As far as it gave more than the normals took in the same step; an account from before there was such a column is filled."""
    names, pair = SimpleNamespace(names=["ground", "box"], origin=lambda: np.arange(2)), np.array([key_of(np.array([0]), np.array([1]))[0]])
    contacts, window = Contacts.none(1e-3), lambda a, b: np.full(len(a), 0.01)
    work = lambda normal, friction: PairWork(pair, *(np.array([each]) for each in (normal, friction, 1.0, 1.0)))
    accounts = booked({}, work(-1.0, 0.3), contacts, 1e-3, window)
    assert accounts["friction"] == [0.3] and accounts["rubbed"] == [0.0] and gain_warnings(accounts, names, 1.0, 0.01) == []
    del accounts["rubbed"]
    accounts = booked(accounts, work(-0.1, 0.3), contacts, 2e-3, window)
    assert accounts["friction"] == [0.6] and accounts["rubbed"] == pytest.approx([0.2])
    assert "Friction between 'ground' and 'box' added 0.2 J" in gain_warnings(accounts, names, 1.0, 0.01)[0]


def test_accounts_of_all_pairs_are_the_contact_account_of_the_books():
    scene = Scene(dt=2e-3, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=2e4, density=500.0)
    for k in range(2):
        shape = dict(kind="box", size=(0.1, 0.1, 0.05), edge=0.05)
        scene.add(name=f"box{k}", shape=shape, position=(0.01 * k, 0, 0.03 + 0.06 * k), rotation=(0, 5, 10 * k), material=soft)
    sim = scene.simulate().run(until=0.1)
    books = sim.books()
    assert {(p.a, p.b) for p in books.pairs} == {("ground", "box0"), ("box0", "box1")}
    assert sum(p.normal + p.friction for p in books.pairs) == pytest.approx(books.contact, rel=1e-9) and books.contact < 0.0


def test_keys_of_pairs_know_their_bodies():
    a, b = np.array([3, 0, -1, 2]), np.array([1, 5, 4, 2])
    low, high = ends_of(key_of(a, b))
    assert low.tolist() == [1, 0, -1, 2] and high.tolist() == [3, 5, 4, 2]
    assert (key_of(a, b) == key_of(b, a)).all()
