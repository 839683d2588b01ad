"""Loads: what they do to momentum, dead against following ones, and values over time."""

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.bodies.register import material_for

BOX = dict(kind="box", size=(0.3, 0.2, 0.1), edge=0.1)
MODELS = {
    "rigid": dict(model="rigid"),
    "linear": dict(model="fem", integrator="symplectic"),
    "quadratic": dict(model="fem", element="quadratic", integrator="implicit"),
    "springs": dict(model="springs", integrator="verlet"),
}


def one(dt=1e-3, gravity=(0, 0, 0), **fields):
    scene = Scene(dt=dt, gravity=gravity, contact="none")
    soft = dict(youngs_modulus=1e5, poisson_ratio=0.3, spring_stiffness=2000.0)
    scene.add(**{"name": "b", "shape": BOX, "material": material_for(fields.get("model", "fem"), **soft), **fields})
    return scene


SIDE = dict(side="+x")  # not of a rigid body, on which a force on vertices has an arm; see the test of `at`


@pytest.mark.parametrize("kind, where", [(kind, where) for kind in MODELS for where in (None, SIDE) if kind != "rigid" or where is None])
def test_a_force_is_the_rate_of_momentum(kind, where):
    force = np.array([1.0, -2.0, 3.0])
    sim = one(loads=[dict(value=force, where=where)], **MODELS[kind]).simulate().run(until=0.1)
    dt = 0.5e-3 if MODELS[kind].get("integrator") == "verlet" else 0.0  # Verlet's first kick spans half a step
    assert sim.books().momentum == pytest.approx(force * (0.1 - dt), rel=1e-9)


@pytest.mark.parametrize("kind", MODELS)
def test_a_torque_is_the_rate_of_angular_momentum(kind):
    torque = np.array([0.01, 0.02, -0.03])
    sim = one(loads=[dict(kind="torque", value=torque)], position=(1, 2, 3), **MODELS[kind]).simulate().run(until=0.1)
    dt = 0.5e-3 if MODELS[kind].get("integrator") == "verlet" else 0.0
    books = sim.books()
    assert np.abs(books.momentum).max() < 1e-12
    tolerance = 5e-3 if MODELS[kind].get("integrator") == "implicit" else 1e-9  # implicit Euler loses a little spin
    assert books.angular_momentum == pytest.approx(torque * (0.1 - dt), rel=tolerance, abs=tolerance * 1e-3)


def test_a_force_at_a_point_of_a_rigid_body_rides_with_it():
    """First step: L = r x F dt. The arm turns with the body, so a constant force comes to point along it."""
    at, force = np.array([0.15, 0.0, 0.0]), np.array([0.0, 0.1, 0.0])
    sim = one(model="rigid", loads=[dict(value=force, at=tuple(at))]).simulate()
    sim.step()
    assert sim.state.spin[0] == pytest.approx(1e-3 * np.cross(at, force), rel=1e-12)
    sim.run(until=0.2)
    total = sim.books()
    assert total.momentum == pytest.approx(0.2 * force, rel=1e-9)
    # rate of angular momentum about the origin is (x + r) x F, with r the arm now: integrate the same recurrence
    arm = 0.15 * np.array([np.cos(theta := _angle(sim)), np.sin(theta), 0.0])
    assert 0.0 < theta < np.pi / 2
    before = sim.state.spin[0].copy()
    sim.step()
    assert (sim.state.spin[0] - before) / 1e-3 == pytest.approx(np.cross(arm, force), rel=1e-6, abs=1e-12)


def _angle(sim):
    q = sim.pose("b")[1]
    return 2 * np.arctan2(q[3], q[0])


def test_at_is_refused_for_soft_bodies():
    with pytest.raises(PliantError, match="`at` of a load is for rigid bodies"):
        one(loads=[dict(value=(1, 0, 0), at=(0, 0, 0))]).simulate()


@pytest.mark.parametrize("kind", ["rigid", "linear"])
@pytest.mark.parametrize("how", ["table", "callable"])
def test_values_over_time(kind, how):
    """F = 10 t up to 0.1 s, then constant; the impulse is the sum that the steps make of it, sum dt F(k dt)."""
    value = dict(times=[0, 0.1], values=[[0, 0, 0], [0, 1.0, 0]]) if how == "table" else lambda t: (0, min(10 * t, 1.0), 0)
    scene = one(loads=[dict(value=value)], **MODELS[kind])
    scene.duration = 0.2
    sim = scene.simulate().run(until=0.2)
    steps = 1e-3 * np.arange(200)
    assert sim.books().momentum[1] == pytest.approx(np.sum(1e-3 * np.minimum(10 * steps, 1.0)), rel=1e-9)


@pytest.mark.parametrize("element", ["linear", "quadratic"])
def test_pressure_on_a_closed_surface_has_no_resultant(element):
    """For any shape: the area vectors of a closed surface sum to zero, and so do their moments about any point."""
    sim = one(shape=dict(kind="torus", major=0.1, minor=0.04, edge=0.04), element=element, loads=[dict(kind="pressure", value=500.0)],
              integrator="symplectic", material=dict(youngs_modulus=1e4)).simulate()  # fmt: skip
    rng = np.random.default_rng(1)
    sim.state.x = sim.state.x + rng.uniform(-0.004, 0.004, sim.state.x.shape)
    empty = np.zeros((0, 3)), np.zeros((0, 4))
    force = sim.world.forces(sim.state.x, sim.state.v, *empty, 0.0)[0]
    still = sim.world.model.loads.tables.values
    still[:] = 0.0
    force = force - sim.world.forces(sim.state.x, sim.state.v, *empty, 0.0)[0]
    assert np.abs(force).max() > 1e-2
    assert np.abs(force.sum(axis=0)).max() < 1e-12 * np.abs(force).sum()
    if element == "linear":  # the four flat triangles of a curved 10-node face are not closed in moments
        assert np.abs(np.cross(sim.state.x, force).sum(axis=0)).max() < 1e-12 * np.abs(force).sum()


@pytest.mark.parametrize("element", ["linear", "quadratic"])
def test_ball_under_pressure_shrinks_evenly(element):
    """Strain p (1 - 2 nu) / E everywhere: a uniform state that every element can hold, on any mesh."""
    E, nu, p = 1e6, 0.3, 1e3
    scene = one(
        dt=0.02, shape=dict(kind="ball", radius=0.1, edge=0.05), element=element, integrator="implicit",
        material=dict(law="neo-hookean", youngs_modulus=E, poisson_ratio=nu, mass_damping=20.0),
        loads=[dict(kind="pressure", value=p)],
    )  # fmt: skip
    sim = scene.simulate()
    first = sim.points("b").copy()
    sim.run(until=4.0)
    # the loads of flat faces are consistent with a uniform stress, so the state is exact up to p / E
    assert sim.points("b") == pytest.approx(first * (1 - p * (1 - 2 * nu) / E), abs=0.1 * 2e-6)


def test_a_dead_traction_keeps_its_direction_and_a_pressure_follows():
    """A cantilever under a load on its top, bent far: the support holds t A0, or -p times the area vector as it is now."""

    def bent(**load):
        scene = one(
            shape=dict(kind="box", size=(1.0, 0.1, 0.1), edge=0.1), element="quadratic", fixed=[dict(side="-x")],
            loads=[dict(where=dict(side="+z"), **load)], material=dict(law="neo-hookean", youngs_modulus=1e6, poisson_ratio=0.0),
        )  # fmt: skip
        return scene.simulate().equilibrium(), scene.simulate().points("b")

    sim, _ = bent(kind="traction", value=(0, 0, -100.0))
    assert sim.reaction("b") == pytest.approx([0, 0, 10.0], abs=1e-6)
    sim, first = bent(kind="pressure", value=100.0)
    faces = sim.faces("b")
    a, b, c = (sim.points("b")[faces[(first[faces, 2] > 0.05 - 1e-9).all(axis=1), k]] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a).sum(axis=0)
    assert sim.reaction("b") == pytest.approx(100.0 * area, abs=1e-5)
    assert abs(area[0]) > 0.1 * area[2]


def test_torque_on_chosen_vertices_is_refused():
    with pytest.raises(PliantError, match="whole of body 'b'"):
        one(loads=[dict(kind="torque", value=(1, 0, 0), where=dict(side="+x"))]).simulate()


def test_a_traction_that_covers_no_face_is_refused():
    with pytest.raises(PliantError, match="no whole face"):
        one(loads=[dict(kind="traction", value=(1, 0, 0), where=dict(ids=[0]))]).simulate()


def test_widths_of_values_are_checked():
    with pytest.raises(PliantError, match="a pressure needs a number"):
        one(loads=[dict(kind="pressure", value=(1, 0, 0))])
    with pytest.raises(PliantError, match="a force needs three numbers"):
        one(loads=[dict(value=2.0)])


def test_a_load_that_grows_does_the_work_that_a_rigid_body_moves_with():
    """Booked as force times way it missed dt/2 v dF, which counted as energy from nowhere when the body came to rest."""
    ramp = dict(times=[0.0, 0.1, 1.0], values=[(0, 0, 0), (30, 0, -10), (30, 0, -10)])
    sim = one(dt=0.01, loads=[dict(value=ramp), dict(kind="torque", value=(0.02, 0, 0.01))], **MODELS["rigid"]).simulate().run(until=0.15)
    books = sim.books()
    assert books.loads == pytest.approx(books.kinetic, rel=1e-3) and books.kinetic > 0.1  # the rest is that of turning axes
