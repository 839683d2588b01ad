"""What every integration scheme must do, with every body model that has elements."""

import numpy as np
import pytest

from pliant import Scene

SCHEMES = ("symplectic", "verlet", "implicit", "cooper-verner", "dop853")
KINDS = {
    "tet4": dict(),
    "tet4 neo-hookean": dict(material=dict(law="neo-hookean")),
    "tet10": dict(element="quadratic"),
    "springs": dict(model="springs", material=dict(spring_stiffness=2000.0)),
    "all-pairs springs": dict(model="springs", network="all-pairs", material=dict(spring_stiffness=200.0)),
    "voxel springs": dict(model="springs", network="voxels", spacing=0.1, material=dict(spring_stiffness=2000.0)),
}
CASES = [(kind, scheme) for kind in KINDS for scheme in SCHEMES if (kind, scheme) != ("all-pairs springs", "implicit")]
ONCE = {("tet4", "implicit"), ("tet4 neo-hookean", "symplectic"), ("tet10", "verlet"), ("springs", "cooper-verner"), ("all-pairs springs", "verlet"), ("voxel springs", "dop853")}
IMPLICIT = [kind for kind in KINDS if kind != "all-pairs springs"]
SOME = [case if case in ONCE else pytest.param(*case, marks=pytest.mark.slow) for case in CASES]  # of each kind one scheme; the others are slow
BALANCED = [(kind, scheme) for kind, scheme in CASES if kind != "all-pairs springs"]  # which have a static solve


def held(kind, scheme, gravity=(0, 0, 0), dt=1e-3, solver="cg", **more):
    scene = Scene(dt=dt, gravity=gravity, contact="none", solver=solver)
    fields = {**KINDS[kind], **more}
    scene.add(name="b", shape=dict(kind="box", size=(0.3, 0.1, 0.1), edge=0.1), fixed=[dict(side="-x")], integrator=scheme, **fields)
    return scene


@pytest.mark.parametrize("kind, scheme", CASES)
def test_what_is_at_rest_without_load_stays_to_rounding(kind, scheme):
    sim = held(kind, scheme).simulate()
    first = sim.state.x.copy()
    sim.run(until=0.05)
    assert np.abs(sim.state.x - first).max() < 1e-14


@pytest.mark.parametrize("kind, scheme", BALANCED)
def test_equilibrium_is_a_place_of_rest(kind, scheme):
    """Started from the static solve, nothing moves under any scheme: all of them balance the same forces."""
    sim = held(kind, scheme, gravity=(0, 0, -1.0)).simulate().equilibrium(tolerance=1e-11)
    first = sim.state.x.copy()
    bent = np.abs(first - sim.world.model.nodes.rest).max()
    sim.run(until=0.1)
    assert np.abs(sim.state.x - first).max() < 1e-7 * bent


@pytest.mark.parametrize("kind, scheme", CASES)
def test_time_is_what_was_asked_for(kind, scheme):
    """`run` takes equal steps that end at the time given; `step` takes any dt."""
    sim = held(kind, scheme, gravity=(0, 0, -1.0)).simulate()
    sim.run(until=0.0105)
    assert sim.time == pytest.approx(0.0105, rel=1e-12)
    sim.step(0.0003)
    assert sim.time == pytest.approx(0.0108, rel=1e-12)
    sim.run(until=0.0108)
    assert sim.time == pytest.approx(0.0108, rel=1e-12)


@pytest.mark.parametrize("kind, scheme", SOME)
def test_a_step_that_changes_keeps_the_order(kind, scheme):
    """Steps that go up and down by half converge to the same motion; Verlet stays of second order, and Runge-Kutta is exact by then."""
    pattern = np.array([0.5, 1.5, 1.0, 0.75, 1.25])

    def end(dt, uneven):
        sim = held(kind, scheme, gravity=(0, 0, -3.0), dt=dt).simulate()
        sim.dt = 2 * dt
        for _ in range(round(0.05 / dt / 5)):
            for part in pattern if uneven else np.ones(5):
                sim.step(part * dt)
        return sim.state.x

    sizes = [5e-4, 2.5e-4]
    if scheme in ("cooper-verner", "dop853"):
        assert np.abs(end(5e-4, True) - end(2.5e-4, False)).max() < 1e-8
        return
    exact = end(6.25e-5, False) if scheme == "verlet" else 2 * end(5e-5, False) - end(1e-4, False)
    errors = [np.abs(end(dt, True) - exact).max() for dt in sizes]
    assert np.log2(errors[0] / errors[1]) > (1.5 if scheme == "verlet" else 0.75)


@pytest.mark.parametrize("kind", IMPLICIT)
def test_direct_and_iterative_solvers_agree(kind):
    ends = [held(kind, "implicit", gravity=(0, 0, -9.81), dt=0.01, solver=s).simulate().run(until=0.2).state.x for s in ("cg", "direct")]
    assert np.abs(ends[0] - ends[1]).max() < 1e-7


@pytest.mark.parametrize("kind, scheme", SOME)
def test_gravity_as_a_load_is_gravity(kind, scheme):
    """m g as a force on the whole body, shared by mass, does what gravity does."""
    one = held(kind, scheme, gravity=(0, 0, -2.0)).simulate()
    mass = one.world.model.nodes.mass.sum()
    other = held(kind, scheme, loads=[dict(value=(0, 0, -2.0 * mass))]).simulate()
    assert one.run(until=0.05).state.x == pytest.approx(other.run(until=0.05).state.x, abs=1e-12)
