"""Five hundred soft chess pieces are poured into a container."""

from __future__ import annotations

import numpy as np

from pliant.measure.overlap import overlap
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

PIECES = (("pawn", 0.06), ("rook", 0.06), ("bishop", 0.075), ("queen", 0.085))  # [m]
ROOM = 0.043  # [m] across for one piece at the start


def make(
    count: int = 500, across: int = 10, youngs_modulus: float = 1e4, friction: float = 0.3, seed: int = 1, dt: float = 0.00011,
    duration: float = 0.5,
) -> Scene:  # fmt: skip
    """count: pieces; across: how many of them fit side by side into the container; seed: of how they are turned.

    Pieces of 101 or 105 points and 174 or 180 tets, together 51,000 and 87,750; density 200 kg/m^3: rho g H / E = 0.03 for the
    whole pile of about 0.15 m. Rayleigh damping of 2 / s and 0.015 ms calms them.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="Many soft bodies: contacts grow while the container fills.")
    wide = across * ROOM
    tall = 0.3 * count / 500 * (7 / across) ** 2 + 0.05
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    for k, (x, y) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
        scene.add(
            name=f"wall{k + 1}", shape=dict(kind="box", size=(0.03, wide + 0.06, tall) if x else (wide + 0.06, 0.03, tall), edge=0.1),
            model="static", position=(x * (0.5 * wide + 0.015), y * (0.5 * wide + 0.015), 0.5 * tall), friction=friction,
        )  # fmt: skip
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=200.0, mass_damping=2.0, stiffness_damping=1.5e-5)
    random = np.random.default_rng(seed)
    for i in range(count):
        layer, place = divmod(i, across * across)
        kind, height = PIECES[(i + layer) % 4]
        x, y = ((np.array(divmod(place, across)) + 0.5) * ROOM - 0.5 * wide).tolist()
        scene.add(
            name=f"{kind}{i + 1}", shape=dict(kind=kind, height=height, sides=5), position=(x, y, 0.01 + 0.09 * layer), material=material,
            rotation=(*(random.uniform(-3.0, 3.0, 2)).tolist(), float(random.uniform(0, 360))), friction=friction, integrator="verlet",
        )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """All pieces are in the container and hardly inside each other."""
    points = sim.points()
    skin = sim.world.model.skin.body[: len(points)]
    soft = points[np.array([k == "fem" for k in sim.world.model.bodies.kind])[skin]]
    wall = sim.scene.bodies[1]
    half = wall.position[0] - 0.5 * wall.shape["size"][0]
    found = overlap(sim)
    low = soft[soft[:, 2] < wall.shape["size"][2]]
    assert soft[:, 2].min() > -0.005 and np.abs(low[:, :2]).max() < half + 0.005, "a piece has gone through the container"
    assert np.median(found.depth) < 0.05 * found.edge if len(found.depth) else True, "the pieces are inside each other"
    books = sim.books()
    return [
        f"{len(sim.contacts())} contacts; the pile is {1000 * soft[:, 2].max():.0f} mm high; kinetic energy {books.kinetic:.2e} J.",
        f"Half of the points inside others are less than {100 * np.median(found.depth) / found.edge if len(found.depth) else 0.0:.2f} % "
        f"of an edge deep, the deepest {100 * found.worst:.1f} %.",
    ]
