"""Rigid bodies: golden numbers G27 and G28 (theory/elements 7), free spin, free fall."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import Scene
from pliant.bodies.rigid.motion import angular_velocities, fly
from pliant.geometry.quaternions import matrix_to_quaternion, quaternion_to_matrix, rotation_vector_to_quaternion  # fmt: skip


def test_G27_impulse_at_an_arm():
    q = rotation_vector_to_quaternion(2 * np.array([0.1, 0.2, 0.3]))  # exp(v) turns by 2 |v|
    assert q == pytest.approx([0.9308128651, 0.0976829457, 0.1953658913, 0.2930488370], abs=1e-9)
    arm, impulse = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0])
    omega = np.empty((1, 3))
    angular_velocities(q[None], np.cross(arm, impulse)[None], np.array([[1, 1 / 2, 1 / 3]]), omega)
    assert omega[0] == pytest.approx([-0.5661192630, 0.2929160815, 0.4079723206], abs=1e-9)
    turn = np.cross(arm, [0, 0, 1.0])
    angular_velocities(q[None], turn[None], np.array([[1, 1 / 2, 1 / 3]]), omega)
    assert 1 / 2 + turn @ omega[0] == pytest.approx(0.6172915608, abs=1e-9)


def test_G28_torque_free_spin():
    position, velocity = np.zeros((1, 3)), np.zeros((1, 3))
    rotation = np.array([[1.0, 0, 0, 0]])
    spin = np.array([[0.01, 10.0, 0.03]])
    inverse_inertia = np.array([[1, 1 / 2, 1 / 3]])
    for _ in range(10):
        new = np.empty_like(position), np.empty_like(rotation)
        fly(position, rotation, velocity, spin, np.ones(1), inverse_inertia, 0.01, *new)
        position, rotation = new
    omega = np.empty((1, 3))
    angular_velocities(rotation, spin, inverse_inertia, omega)
    assert omega[0] == pytest.approx([0.005254533404, 5.000005083035, 0.009886981779], abs=1e-7)


def test_intermediate_axis_keeps_energy_and_angular_momentum():
    scene = Scene(dt=0.01, gravity=(0, 0, 0))
    scene.add(shape=dict(kind="box", size=(3, 2, 1), edge=1.0), model="rigid", angular_velocity=(0.01, 5, 0.01))
    sim = scene.simulate()
    first, energies = sim.books(), []
    sim.run(until=20.0, each=lambda report: energies.append(sim.books().kinetic / first.kinetic - 1))
    error = np.abs(energies)
    assert error.max() < 2e-4  # of order dt^2 while the axis turns over
    assert error[1000:].max() < 1.05 * error[:1000].max()  # and it does not grow
    assert np.array_equal(sim.books().angular_momentum, first.angular_momentum)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_rotation_conversions_agree(vector):
    q = rotation_vector_to_quaternion(np.array(vector))
    matrix = quaternion_to_matrix(q)
    assert np.abs(matrix @ matrix.T - np.eye(3)).max() < 1e-14
    back = matrix_to_quaternion(matrix)
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 1e-12


@pytest.mark.parametrize("model", ["rigid", "fem", "springs"])
def test_projectile(model):
    """Free flight of any body: x = x0 + v t - g t (t + dt) / 2 exactly, the discrete law of symplectic Euler."""
    scene = Scene(dt=0.01, contact="none")
    scene.add(name="b", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), model=model, velocity=(2, 0, 3))
    sim = scene.simulate()
    sim.run(until=0.5)
    t = sim.time
    expected = np.array([2 * t, 0, 3 * t - 9.81 * t * (t + 0.01) / 2])
    assert sim.centre("b") == pytest.approx(expected, abs=1e-10)


def test_torque_turns_a_rigid_body_by_half_a_t_squared():
    scene = Scene(dt=1e-3, gravity=(0, 0, 0))
    scene.add(
        name="b", shape=dict(kind="box", size=(1, 1, 1), edge=1.0), model="rigid", material=dict(density=6.0),
        loads=[dict(kind="torque", value=(0, 0, 2.0))],
    )  # fmt: skip
    sim = scene.simulate().run(until=0.5)  # I = m / 6 = 1
    assert sim.world.state.spin[0] == pytest.approx([0, 0, 1.0], rel=1e-9)
    q = sim.pose("b")[1]
    assert 2 * np.arctan2(q[3], q[0]) == pytest.approx(0.5 * 2 * 0.5**2, rel=5e-3)


@pytest.mark.parametrize("rate", [60.0, 1000.0])
def test_a_thin_rod_that_spins_fast_keeps_its_plane_and_its_energy(rate):
    """Its inertia about its axis is a thousandth: iterations for the whole step diverge, and it was thrown about at 600 times the rate."""
    inertia, rng = np.array([[6.5e-4, 6.5e-4, 5.2e-7]]), np.random.default_rng(3)
    rotation = rotation_vector_to_quaternion(1e-9 * rng.normal(size=(1, 3)))
    spin, still = np.array([[0.0, rate * inertia[0, 1], 1e-18]]), np.zeros((1, 3))
    for _ in range(50):
        new = np.empty((1, 3)), np.empty((1, 4))
        fly(still, rotation, still, spin, np.ones(1), 1.0 / inertia, 0.004, *new)
        rotation, omega = new[1], np.empty((1, 3))
        angular_velocities(rotation, spin, 1.0 / inertia, omega)
        assert omega[0] == pytest.approx([0.0, rate, 0.0], abs=1e-3 * rate)
    turned = quaternion_to_matrix(rotation)[0][:, 2]
    assert np.arctan2(turned[0], turned[2]) == pytest.approx((50 * 0.004 * rate + np.pi) % (2.0 * np.pi) - np.pi, abs=1e-5)
