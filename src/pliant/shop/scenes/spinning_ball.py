"""A spinning ball on an incline slips, rolls at the time and speed of theory, and rolls back (Pauly, Pai, Guibas 2004, Fig. 8)."""

from __future__ import annotations

import math

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

GRAVITY = 9.81


def make(
    angle: float = 10.0, spin: float = 10.0, friction: float = 0.3, radius: float = 1.0, youngs_modulus: float = 4e7,
    spacing: float = 0.02, dt: float = 0.01, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """angle [degree] of the incline, spin [rad/s] that drives the ball up, spacing [m] of the skin."""
    scene = Scene(dt=dt, duration=duration, contact="quasi-rigid", about="Friction over the patch turns slipping into rolling.")
    normal = np.array([-math.sin(math.radians(angle)), 0.0, math.cos(math.radians(angle))])
    density = 1000.0
    load = density * 4 / 3 * math.pi * radius**3 * GRAVITY * float(normal[2])
    sunk = (3 * load / (4 * youngs_modulus * math.sqrt(radius))) ** (2 / 3)  # Hertz: it begins where it would rest
    scene.add(name="incline", shape="plane", model="static", rotation=(0, -angle, 0), friction=friction)
    scene.add(
        name="ball", shape=dict(kind="ball", radius=radius), model="quasi-rigid", spacing=spacing, friction=friction,
        position=tuple((radius - sunk) * normal), angular_velocity=(0, spin, 0),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.0, density=density),
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """Slip ends at t = r w / ((1 + q) mu g cos - g sin), q = r^2 / (0.4 R^2), with v = (mu g cos - g sin) t; then a = -g sin q / (1 + q).

    r = R - depth is the lever of the ground, which the ball sinks into; for r = R these are the formulas of a rigid ball.
    """
    incline, ball = sim.scene.bodies
    turn, mu, spin = math.radians(-incline.rotation[1]), ball.friction, ball.angular_velocity[1]
    radius, now = float(ball.shape["radius"]), sim.time
    g_t, g_n = GRAVITY * math.sin(turn), GRAVITY * math.cos(turn)
    lever = radius - float(np.max(sim.contacts("ball").depth, initial=0.0))
    q = lever**2 / (0.4 * radius**2)
    rolls = lever * spin / ((1 + q) * mu * g_n - g_t)
    ideal = radius * spin / (3.5 * mu * g_n - g_t)
    assert abs(rolls - ideal) < 0.01 * ideal, f"the ball sinks in so far that it slips until {rolls:.4f} s, a rigid one until {ideal:.4f} s"
    speed = (mu * g_n - g_t) * rolls
    up = np.array([math.cos(turn), 0.0, math.sin(turn)])
    way = float((sim.centre("ball") - np.array(ball.position)) @ up)
    later = now - rolls
    assert later > 0.0, f"the ball slips until {rolls:.3f} s: run longer"
    wanted = 0.5 * speed * rolls + speed * later - 0.5 * g_t * q / (1 + q) * later**2
    frame = sim.world.model.bodies.frame[sim.index("ball")]
    v, w = float(sim.state.velocity[frame] @ up), float(sim.world.angular_velocities(sim.state.rotation, sim.state.spin)[frame, 1])
    after = speed - g_t * q / (1 + q) * later
    assert abs(v - after) < 0.01 * speed, f"speed {v:.4f} m/s at {now:g} s, theory {after:.4f} m/s"
    assert abs(way - wanted) < 0.01 * (0.5 * speed * rolls + speed * later), f"way {way:.4f} m, theory {wanted:.4f} m"
    return [
        f"At {now:g} s the ball rolls at {v:.4f} m/s (theory {after:.4f}) and turns with {w:.4f} rad/s.",
        f"It is {way:.4f} m up the incline (theory {wanted:.4f}).",
        f"In theory it slips until {rolls:.4f} s, when it is at {speed:.4f} m/s.",
    ]
