"""The same bits: on one and two threads, beside a far-away body, and from a copy of the state."""

import copy
from dataclasses import fields

import numpy as np
import pytest

from pliant import Scene, kernels

SCHEMES = ["symplectic", "implicit", *(pytest.param(scheme, marks=pytest.mark.slow) for scheme in ("verlet", "cooper-verner", "dop853"))]
ARRAYS = ("x", "v", "position", "rotation", "velocity", "spin")


def mixed(integrator="auto", far=False, dt=0.004, weld=True):
    """Soft, spring and rigid bodies that touch the ground and each other, with a weld."""
    scene = Scene(dt=dt, contact="ground")
    soft = dict(youngs_modulus=1e4, poisson_ratio=0.4, stiffness_damping=0.002)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ring", shape=dict(kind="torus", major=0.09, minor=0.04, edge=0.04), position=(0, 0, 0.042), material=soft, integrator=integrator)
    scene.add(name="ball", shape=dict(kind="ball", radius=0.06, edge=0.04), position=(0.03, 0, 0.14), element="quadratic", material=soft, integrator=integrator)
    scene.add(name="net", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05), model="springs", position=(0.2, 0, 0.052), material=dict(stiffness_damping=0.002, spring_stiffness=200.0), integrator=integrator)
    scene.add(name="brick", shape=dict(kind="box", size=(0.1, 0.1, 0.05), edge=0.05), model="rigid", position=(0.2, 0.01, 0.13), rotation=(5, 3, 0))
    if weld:
        scene.add(name="tail", shape=dict(kind="box", size=(0.05, 0.05, 0.05), edge=0.05), model="rigid", position=(0.275, 0.01, 0.13))
        scene.attach(kind="weld", a=dict(body="brick", at=(0.25, 0.01, 0.13)), b=dict(body="tail", at=(0.25, 0.01, 0.13)))
        scene.pair("brick", "tail", contact=False)
    if far:
        scene.add(name="far", shape=dict(kind="ball", radius=0.07, edge=0.03), position=(50, 0, 0.1), material=dict(soft, youngs_modulus=3e4), integrator=integrator)
        scene.add(name="far2", shape=dict(kind="ball", radius=0.07, edge=0.03), model="rigid", position=(60, 0, 0.069))
    return scene


def bits(state):
    return [getattr(state, name) for name in ARRAYS]


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip(bits(a), bits(b), strict=True))


@pytest.mark.parametrize("integrator", SCHEMES)
def test_one_and_two_threads(integrator, monkeypatch):
    import numba

    if numba.config.NUMBA_NUM_THREADS < 2 or kernels.BOUNDSCHECK:
        pytest.skip("this machine has one thread")
    monkeypatch.setattr(kernels, "SMALL", 0)
    ends = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        sim = mixed(integrator).simulate().run(until=0.04)
        assert numba.get_num_threads() == int(threads)
        ends.append(sim)
    numba.set_num_threads(1)
    assert len(ends[0].report.contacts) > 4
    assert same(ends[0].state, ends[1].state)
    assert np.array_equal(ends[0].report.contacts.impulse, ends[1].report.contacts.impulse)


def test_one_and_two_threads_in_the_static_solve(monkeypatch):
    import numba

    if numba.config.NUMBA_NUM_THREADS < 2 or kernels.BOUNDSCHECK:
        pytest.skip("this machine has one thread")
    monkeypatch.setattr(kernels, "SMALL", 0)
    ends = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        scene = Scene(contact="none")
        scene.add(name="b", shape=dict(kind="box", size=(0.3, 0.1, 0.1), edge=0.1), element="quadratic", fixed=[dict(side="-x")], material=dict(law="neo-hookean"))
        ends.append(scene.simulate().equilibrium().state)
    numba.set_num_threads(1)
    assert same(*ends)


@pytest.mark.parametrize("integrator", SCHEMES)
def test_a_far_away_body_changes_no_bit(integrator):
    alone = mixed(integrator).simulate()
    beside = mixed(integrator, far=True).simulate()
    steps = 15
    pieces = max(alone._pieces, beside._pieces)  # all bodies share the step, so give both the same one
    alone._pieces = beside._pieces = pieces
    for _ in range(steps):
        alone.step()
        beside.step()
    assert len(alone.report.contacts) > 4
    nodes, frames = len(alone.state.x), len(alone.state.position)
    assert np.array_equal(alone.state.x, beside.state.x[:nodes]) and np.array_equal(alone.state.v, beside.state.v[:nodes])
    for name in ("position", "rotation", "velocity", "spin"):
        assert np.array_equal(getattr(alone.state, name), getattr(beside.state, name)[:frames])


def test_a_far_away_body_changes_no_bit_of_an_equilibrium():
    def scene(far):
        scene = Scene(contact="none")
        scene.add(name="b", shape=dict(kind="box", size=(0.5, 0.1, 0.1), edge=0.1), fixed=[dict(side="-x")], material=dict(youngs_modulus=1e5))
        if far:
            scene.add(name="c", shape=dict(kind="ball", radius=0.1, edge=0.05), position=(9, 0, 0), fixed=[dict(side="+z")])
        return scene.simulate().equilibrium().state.x

    alone = scene(False)
    assert np.array_equal(alone, scene(True)[: len(alone)])


@pytest.mark.parametrize("integrator", ["symplectic", pytest.param("verlet", marks=pytest.mark.slow), "implicit"])
def test_a_copy_of_the_state_continues_bit_for_bit(integrator):
    whole = mixed(integrator).simulate()
    for _ in range(12):
        whole.step()
    saved = copy.deepcopy({f.name: getattr(whole.state.copy(), f.name) for f in fields(whole.state)})
    for _ in range(6):
        whole.step()
    resumed = mixed(integrator).simulate()
    resumed.world.state = type(whole.state)(**saved)
    for _ in range(6):
        resumed.step()
    assert len(whole.report.contacts) > 4
    assert same(whole.state, resumed.state)
    assert whole.state.books == resumed.state.books and whole.time == resumed.time


def test_a_copy_of_the_state_shares_nothing():
    sim = mixed().simulate()
    sim.step()
    state, before = sim.state.copy(), sim.state.x.copy()
    state.x += 1.0
    state.values["a"] = 1
    assert np.array_equal(sim.state.x, before) and not sim.state.values
