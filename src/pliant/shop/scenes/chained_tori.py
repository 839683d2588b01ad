"""A chain of two hundred soft rings, laid out in a spiral, falls onto an elastic membrane and comes to rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.geometry.rotations import matrix_to_quaternion
from pliant.measure.overlap import overlap
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

MAJOR, MINOR, PLAY = 0.02, 0.006, 0.0015  # [m]
INNERMOST = 0.09  # [m] radius where the spiral begins
PITCH = 0.058  # [m] between its turns
RESTS = 2.0  # [s] after which it lies still


def make(
    links: int = 200, youngs_modulus: float = 1.5e4, membrane_modulus: float = 3e4, height: float = 0.05, friction: float = 0.3,
    dt: float = 0.0002, duration: float = 4.0,
) -> Scene:  # fmt: skip
    """links: rings of the chain; height [m] over the membrane at the start; moduli [Pa] of rings and membrane.

    Rings of 360 tets, radii 20 and 6 mm, 500 kg/m^3: rho g H / E = 0.033 for a heap 0.1 m high. The membrane is a plate 10 mm
    thick, held at its rim. Rayleigh damping of 4 / s (rings), 8 / s (membrane) and 0.1 ms brings them to rest.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="A chain on a membrane that gives way: many contacts that rest.")
    places = spiral(links)
    wide = 2.0 * (max(float(np.abs(p[:2]).max()) for p, _ in places) + 0.06)
    cells = max(8, 2 * round(wide / 0.02 / 2))
    common: dict[str, Any] = dict(integrator="verlet", friction=friction)
    edges = [{"side": s} for s in ("-x", "+x", "-y", "+y")]
    scene.add(
        name="membrane", shape=dict(kind="plate", size=(wide, wide), thickness=0.01, edge=wide / cells), position=(0, 0, -0.005),
        material=dict(youngs_modulus=membrane_modulus, poisson_ratio=0.3, density=200.0, mass_damping=8.0, stiffness_damping=1e-4),
        fixed=edges, **common,
    )  # fmt: skip
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=500.0, mass_damping=4.0, stiffness_damping=1e-4)
    for k, (place, turn) in enumerate(places):
        scene.add(
            name=f"ring{k + 1}", shape=dict(kind="torus", major=MAJOR, minor=MINOR, edge=0.006), rotation=turn, material=material,
            position=(float(place[0]), float(place[1]), float(height + MAJOR + MINOR)), **common,
        )  # fmt: skip
    return scene


def spiral(links: int) -> list[tuple[np.ndarray, tuple[float, float, float, float]]]:
    """Centre and orientation of rings along a flat spiral, every other one upright."""
    step = 2.0 * (MAJOR - MINOR) - PLAY
    angle, found = 0.0, []
    for k in range(links):
        radius = INNERMOST + PITCH * angle / (2 * math.pi)
        out = np.array([math.cos(angle), math.sin(angle), 0.0])
        along = np.array([-out[1], out[0], 0.0]) + PITCH / (2 * math.pi) / radius * out
        along /= np.linalg.norm(along)
        up = np.array([0.0, 0.0, 1.0])
        across = np.cross(up, along)
        tilt = math.radians(45.0 if k % 2 else -45.0)  # neither lies nor stands: all touch the membrane alike
        axis = math.cos(tilt) * up + math.sin(tilt) * across
        axes = np.stack([along, np.cross(axis, along), axis], axis=1)
        found.append((radius * out, tuple(matrix_to_quaternion(axes).tolist())))
        angle += step / math.hypot(radius, PITCH / (2 * math.pi))
    return found


def expect(sim: Simulation) -> list[str]:
    """All rings lie on the membrane, still linked; after two seconds nothing moves any more."""
    rings = [b.name for b in sim.scene.bodies[1:]]
    centres = np.array([sim.centre(n) for n in rings])
    apart = np.linalg.norm(np.diff(centres, axis=0), axis=1)
    assert apart.max(initial=0.0) < 2.0 * MAJOR + MINOR, f"two neighbours are {1000 * apart.max():.1f} mm apart: the chain is torn"
    sheet = sim.points("membrane")
    assert centres[:, 2].min() > sheet[:, 2].min(), "a ring has gone through the membrane"
    found, books = overlap(sim), sim.books()
    nodes, first = sim.world.model.nodes, sim.nodes(rings[0]).start
    fall = 9.81 * float(nodes.mass[first:].sum() * nodes.rest[first:, 2].min())  # [J] what the chain had when it met the membrane
    assert sim.time < RESTS or books.kinetic < 1e-4 * fall, f"kinetic energy {books.kinetic:.1e} J of {fall:.1e} J: no rest"
    return [
        f"The membrane sags by {-1000 * sheet[:, 2].min():.0f} mm; {len(sim.contacts())} contacts; kinetic energy {books.kinetic:.2e} J.",
        f"The deepest point is {100 * found.worst:.1f} % of an edge inside another body; "
        f"neighbours are at most {1000 * apart.max(initial=0.0):.1f} mm apart.",
    ]
