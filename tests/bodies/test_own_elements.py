"""Elements of a model of one's own are looked at when a body is made of them, and what is wrong with them is told."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pliant import PliantError, Scene, register_model
from pliant.bodies.room import ROOMS


@pytest.fixture(autouse=True)
def only_here():
    """Models that are registered are gone after the test."""
    before = dict(ROOMS)
    yield
    ROOMS.clear()
    ROOMS.update(before)


class Edges:
    """A spring along every edge of the tetrahedra."""

    name = "edges"

    def __init__(self, tets, rest, material):
        pairs = np.concatenate([tets[:, pair] for pair in itertools.combinations(range(4), 2)])
        self.nodes = np.unique(np.sort(pairs, axis=1), axis=0)
        self.length = np.linalg.norm(rest[self.nodes[:, 1]] - rest[self.nodes[:, 0]], axis=1)
        self.k = 500.0
        self.mass = np.full(self.nodes.shape, 0.01)
        self.rayleigh = np.full(len(self.nodes), material.stiffness_damping)
        self.work = len(self.nodes)

    def _along(self, x):
        d = x[self.nodes[:, 1]] - x[self.nodes[:, 0]]
        length = np.linalg.norm(d, axis=1)
        return d / length[:, None], length

    def forces(self, x, v, out):
        n, length = self._along(x)
        fast = np.sum(n * (v[self.nodes[:, 1]] - v[self.nodes[:, 0]]), axis=1)
        pull = self.k * (length - self.length + self.rayleigh * fast)[:, None] * n
        out[0::2], out[1::2] = pull, -pull

    def energy(self, x):
        return 0.5 * self.k * (self._along(x)[1] - self.length) ** 2

    def stiffness(self, x, out, dt=np.inf):
        n, _ = self._along(x)
        block = self.k * n[:, :, None] * n[:, None, :]
        out[:, 0], out[:, 1], out[:, 2] = block, -block, block

    def stable_dt(self, node_mass):
        rate = 2.0 * self.k / np.maximum(self.mass[:, 0], 1e-30)
        damping = self.rayleigh * rate
        return 4.0 / (damping + np.sqrt(damping**2 + 4.0 * rate))

    def stretch(self, x):
        return self._along(x)[1] / self.length


def body(make):
    register_model("edges", make)
    scene = Scene(dt=0.001, contact="none")
    scene.add(name="box", shape={"kind": "box", "size": (0.2, 0.2, 0.2), "edge": 0.2}, model="edges", material={"stiffness_damping": 0.002})
    return scene.simulate()


def changed(**members):
    """The same with some of its members as given: a function gets the right one's answer."""

    def make(*args):
        elements = Edges(*args)
        for name, value in members.items():
            right = getattr(elements, name)
            setattr(elements, name, value(right) if not callable(right) else (lambda *a, f=value, r=right: f(r, *a)))
        return elements

    return make


def test_what_is_right_runs():
    assert np.isfinite(body(Edges).run(until=0.01).points("box")).all()


def _backwards(right, x, v, out):
    right(x, v, out)
    out *= -1.0


@pytest.mark.parametrize(("make", "says"), [
    (lambda *a: None, "is None; does its function return"),
    (lambda *a: object(), "has no `name`, `nodes`, `mass`"),
    (changed(nodes=lambda n: n.ravel()), "`nodes` as an array (36,) of int64"),
    (changed(nodes=lambda n: n + 3), "`nodes` from 3 to 10, but the world has nodes 0 to 7"),
    (changed(mass=lambda m: m.sum(axis=1)), "`mass` is an array (18,) of float64; of 18 elements with 2 corners it must be floats (18, 2)"),
    (changed(mass=lambda m: 0.0 * m), "neither `mass` of the elements of its model 'edges' nor `node_mass`"),
    (changed(rayleigh=lambda b: 0.02), "`rayleigh` is float 0.02"),
    (changed(energy=lambda right, x: right(x).sum()), "`energy(x)` gives is float64"),
    (changed(stable_dt=lambda right, m: 1e-3), "`stable_dt(node_mass)` gives is float 0.001"),
    (changed(stable_dt=lambda right, m: 4.0 * right(m)), "they are not beyond"),
    (changed(forces=lambda right, x, v, out: np.zeros_like(out)), "left 108 of 108 numbers unwritten"),
    (changed(forces=_backwards), "not the slope of its energy"),
    (changed(stiffness=lambda right, x, out: None), "`stiffness(x, out, dt)` failed when it was tried"),
])  # fmt: skip
def test_what_is_wrong_is_named(make, says):
    with pytest.raises(PliantError) as error:
        body(make)
    assert says in str(error.value) and "'edges'" in str(error.value)


def test_an_explicit_step_that_forgets_damping_is_refused():
    """2 / omega, the step without damping, is three times too long with b = 0.02 s."""
    with pytest.raises(PliantError, match="Damping shortens steps"):
        body(changed(rayleigh=lambda b: b + 0.02, stable_dt=lambda right, m: np.full(18, 2.0 / np.sqrt(1e5))))
