"""Where a body stands and how it moves as a whole, in the words of a scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.bodies.parts import body_parts
from pliant.geometry.rotations import matrix_to_quaternion, quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.scene import Body
from pliant.simulate.simulation import Simulation


def standing(body: Body, sim: Simulation) -> dict[str, Any]:
    """position, rotation, velocity and angular_velocity of a body that began as the scene says."""
    model, state, i = sim.world.model, sim.state, sim.index(body.name)
    began = _matrix(body.rotation)
    frame = int(model.bodies.frame[i])
    if frame >= 0:
        first = body_parts(body).frame
        assert first is not None
        turn = quaternion_to_matrix(state.rotation[frame]) @ quaternion_to_matrix(first.rotation).T
        middle, there, velocity = first.position, state.position[frame], state.velocity[frame]
        omega = sim.world.angular_velocities(state.rotation, state.spin)[frame]
    else:
        mine = sim.nodes(body.name)
        mass = model.nodes.mass[mine]
        turn, middle, there = fitted(mass, model.nodes.rest[mine], state.x[mine])
        velocity, omega = _whole(mass, state.x[mine], state.v[mine])
    place = turn @ (np.array(body.position) - middle) + there
    quaternion = matrix_to_quaternion(turn @ began)
    return {
        "position": tuple(place.tolist()), "rotation": tuple(quaternion.tolist()), "velocity": tuple(np.asarray(velocity).tolist()),
        "angular_velocity": tuple(omega.tolist()),
    }  # fmt: skip


def fitted(mass: Floats, rest: Floats, now: Floats) -> tuple[Floats, Floats, Floats]:
    """The rotation R, and middles c and d, with the least sum of mass |R (rest - c) + d - now|^2 [Kabsch 1976]."""
    c, d = mass @ rest / mass.sum(), mass @ now / mass.sum()
    u, _, vt = np.linalg.svd((now - d).T @ (mass[:, None] * (rest - c)))
    sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    return u @ sign @ vt, c, d


def _whole(mass: Floats, x: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Velocity of the centre, and the angular velocity of a rigid body with this angular momentum."""
    centre, velocity = mass @ x / mass.sum(), mass @ v / mass.sum()
    arm = x - centre
    momentum = (mass[:, None] * np.cross(arm, v - velocity)).sum(axis=0)
    inertia = (mass * np.einsum("ni,ni->n", arm, arm)).sum() * np.eye(3) - (mass[:, None] * arm).T @ arm
    return velocity, np.linalg.lstsq(inertia, momentum, rcond=None)[0]


def _matrix(rotation: tuple[float, ...]) -> Floats:
    turn = np.array(rotation, np.float64)
    return quaternion_to_matrix(rotation_vector_to_quaternion(np.radians(turn)) if len(turn) == 3 else turn / np.linalg.norm(turn))
