"""Quasi-rigid bodies at rest on each other: impulses of all pairs at once, any step and stiffness, and whole steps once nothing moves."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.elastic.lcp import solve
from pliant.contact.quasi_rigid.node_impulses import Levers, solve_impulses
from pliant.simulate.simulation import Simulation

IMPLICIT = dict(method="quasi-rigid", integration="implicit")


@pytest.mark.parametrize("seed", range(8))
def test_impulses_of_all_pairs_are_those_of_the_whole_problem(seed):
    """Three pairs on two frames, against Lemke's pivots on K / beta + G M^-1 G^T in one matrix; some rows do not push."""
    rng = np.random.default_rng(seed)
    counts, columns = (5, 8, 3), [np.arange(6), np.arange(12), np.arange(6, 12)]
    K = []
    for n in counts:
        half = rng.normal(size=(n, n))
        K.append(0.1 * half @ half.T + 0.2 * np.eye(n))
    along = [rng.normal(size=(n, len(c))) for n, c in zip(counts, columns, strict=True)]
    q = [rng.normal(size=n) - 0.3 for n in counts]
    half = rng.normal(size=(12, 12))
    inertia = half @ half.T + np.eye(12)
    G = np.zeros((sum(counts), 12))
    A, first = np.zeros((sum(counts), sum(counts))), 0
    for k, n in enumerate(counts):
        G[first : first + n, columns[k]] = along[k]
        A[first : first + n, first : first + n] = K[k]
        first += n
    A += G @ np.linalg.solve(inertia, G.T)
    expected = solve(A, np.concatenate(q), "lemke").P
    found = solve_impulses(K, Levers(columns, along, inertia), q, [each < 0.0 for each in q])
    assert np.concatenate(found) == pytest.approx(expected, rel=1e-8, abs=1e-10)
    assert (expected == 0.0).any() and (expected > 0.0).any()


def cube_scene(dt, youngs, count=1) -> Scene:
    """Cubes of 0.1 m on each other, the lowest on the floor."""
    scene = Scene(dt=dt, contact=IMPLICIT)
    scene.add(name="floor", shape="plane", model="static", friction=0.5)
    material = dict(youngs_modulus=youngs, poisson_ratio=0.3, density=1000.0)
    for k in range(count):
        box, place = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05), (0.002 * k, 0.001 * k, 0.05 + 0.1 * k)
        scene.add(name=f"cube {k}", shape=box, model="quasi-rigid", position=place, material=material, friction=0.5)
    return scene


LONG = pytest.mark.slow


@pytest.mark.parametrize(
    ("dt", "youngs"), [pytest.param(1e-3, 1e8, marks=LONG), (2e-2, 1e8), pytest.param(2e-2, 1e5, marks=LONG)]
)
def test_a_cube_at_rest_is_carried_whatever_step_and_stiffness(dt, youngs):
    """Flat on flat, hundreds of nodes: a long step is thousands of periods of a stiff contact."""
    sim = Simulation(cube_scene(dt, youngs)).run(until=40 * dt if youngs > 1e6 else 1.0)
    contacts = sim.contacts("cube 0", "floor")
    assert contacts.total_force == pytest.approx([0, 0, 9.81], rel=1e-3, abs=1e-3)
    assert (contacts.impulse >= 0.0).all() and sim.centre("cube 0")[2] == pytest.approx(0.05, abs=2e-3 if youngs < 1e6 else 1e-5)


@LONG
def test_every_cube_of_a_stack_carries_those_above_it():
    sim = Simulation(cube_scene(1e-2, 1e7, count=3)).run(until=0.3)
    names = ["floor", *(f"cube {k}" for k in range(3))]
    forces = [sim.contacts(a, b).total_force[2] for a, b in zip(names[1:], names[:-1], strict=True)]
    assert forces == pytest.approx([29.43, 19.62, 9.81], rel=1e-3)


@LONG
def test_what_has_come_to_rest_takes_whole_steps_until_it_is_moved():
    """Symplectic steps while it moves, a fiftieth of its contact; at rest one for each step of the scene; pushed, short ones again."""
    scene = Scene(dt=5e-3, contact="quasi-rigid")
    scene.add(name="floor", shape="plane", model="static", friction=0.5)
    material = dict(youngs_modulus=1e6, density=1000.0, stiffness_damping=1e-2)
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="quasi-rigid", position=(0, 0, 0.1), material=material, spacing=0.02)
    sim, counts = Simulation(scene), []
    while sim.time < 0.22:
        taken = []
        sim.step(each=taken.append)
        counts.append(len(taken))
    assert max(counts) > 3 and counts[-5:] == [1] * 5
    assert sim.contacts("ball", "floor").total_force[2] == pytest.approx(9.81 * sim.world.model.frames.mass[1], rel=1e-4)
    sim.state.velocity[1, 2] = 0.05
    for _ in range(4):
        taken = []
        sim.step(each=taken.append)
        counts.append(len(taken))
    assert max(counts[-4:]) > 3


def pile(**options) -> Scene:
    """A ball whose surface rises around dents falls on one that lies on the floor; if implicit, something soft lies on top."""
    scene = Scene(dt=2e-3, contact=dict(method="quasi-rigid", **options))
    material = dict(youngs_modulus=1e5, poisson_ratio=0.3, stiffness_damping=1e-3)
    ball = dict(shape=dict(kind="ball", radius=0.1), model="quasi-rigid", spacing=0.015, friction=0.4)
    scene.add(name="floor", shape="plane", model="static", friction=0.5)
    scene.add(name="low", position=(0, 0, 0.099), material=material, **ball)
    lifting = material | dict(response="volume-preserving", layer=0.03)
    scene.add(name="high", position=(0.01, 0, 0.3), velocity=(0.1, 0, -0.5), material=lifting, **ball)
    if options.get("integration") == "implicit":
        soft = dict(kind="box", size=(0.2, 0.2, 0.05), edge=0.1)
        scene.add(name="soft", shape=soft, position=(0.02, 0.01, 0.424), material=dict(youngs_modulus=1e5))
        scene.pair("soft", "floor", contact=False)
    return scene


@pytest.mark.parametrize("options", [{}, dict(integration="implicit"), dict(accuracy=0.2), dict(level=1)], ids=str)
def test_a_run_resumed_at_any_step_of_a_contact_has_the_same_bits(options):
    """What is kept between steps (resolved contacts, rows, responses) is made anew after a resume, and changes nothing."""
    scene = pile(**options)
    straight, resumed = scene.simulate(), None
    for step in range(10):
        straight.step()
        if resumed is not None:
            resumed.step()
            assert_same(straight, resumed)
        if step % 3 != 2:  # go on with what was resumed for a step or two, then resume anew
            resumed = scene.simulate()
            resumed.world.state = straight.state.copy()
    assert len(straight.report.contacts) > 3


def assert_same(one: Simulation, two: Simulation) -> None:
    """Everything that a checkpoint holds."""
    for name in ("x", "v", "position", "rotation", "velocity", "spin"):
        assert np.array_equal(getattr(one.state, name), getattr(two.state, name)), name
    for name, values in one.state.memory["quasi-rigid"].items():
        assert np.array_equal(values, two.state.memory["quasi-rigid"][name]), name
