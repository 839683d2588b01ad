"""Five small scenes in which enduring contacts go wrong without the rules that keep feature pairs plausible.

They are the illustrations 6.1-6.4 and 6.9 of the thesis on continuous penalty forces, in three dimensions; `rule = false` switches off
the one rule that each is about (docs/methods/redefinition.md).

6.1  a needle enters a cube from above and leaves through its side: without the rule the cube pushes on
6.2  a block slides over a flat floor of irregular triangles without friction: without the rule the floor stops it
6.3  a block slides over a soft bed: without the rule the bed is pressed where the block has been
6.4  a block has slid on to the next triangles when those it came from are turned: without the rule it falls through
6.9  a block of small triangles sinks deep into the floor: without the rule the vertices of its sides do not help
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from pliant.base import PliantError
from pliant.geometry.mesh import Surface
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

# What is switched off, and on, for each figure.
RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "6.1": ({"resolution": "gap"}, {}),
    "6.2": ({"categories": "off"}, {}),
    "6.3": ({"faces": "off"}, {}),
    "6.4": ({"faces": "off"}, {}),
    "6.9": ({"deep": False}, {"deep": True}),
}
SPEED = 2.0  # [m/s] of the block of 6.2


def hooked(figure: str = "6.4", rule: bool = True, dt: float = 0.002, duration: float | None = None) -> Scene:
    """Five small scenes in which enduring contacts go wrong without the rules that keep feature pairs plausible.

    figure: 6.1, 6.2, 6.3, 6.4 or 6.9; rule: whether the rule it is about is on.
    """
    if figure not in RULES:
        raise PliantError(f"figure = '{figure}': there are {', '.join(RULES)}.")
    build, time = {
        "6.1": (_needle, 0.12), "6.2": (_floor, 0.4), "6.3": (_bed, 0.08), "6.4": (_turned, 0.36), "6.9": (_deep, 0.04),
    }[figure]  # fmt: skip
    stiffness = {"6.1": {"s": 0.002}, "6.9": {"stiffness": 2000.0}}.get(figure, {})
    contact = {"method": "continuous-penalty", "implicit": False, "redefinition": RULES[figure][int(rule)], **stiffness}
    scene = Scene(dt=dt, duration=time if duration is None else duration, contact=contact, about=f"Fig. {figure} of the thesis.")
    build(scene)
    return scene


def _needle(scene: Scene) -> None:
    scene.gravity = (0.0, 0.0, 0.0)
    scene.add(name="cube", shape=dict(kind="box", size=(1, 1, 1), edge=0.5), model="static", position=(0, 0, -0.5), friction=0.0)
    turn = np.radians([0, 120, 240])
    base = np.stack([0.02 * np.cos(turn), 0.02 * np.sin(turn), np.full(3, 0.4)], axis=1)
    shape = Surface(np.concatenate([np.zeros((1, 3)), base]), np.array([[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]]))
    scene.add(name="needle", shape=shape, model="rigid", position=(0.3, 0.07, 0.01), velocity=(4.0, 0.0, -0.8), friction=0.0)


def _floor(scene: Scene) -> None:
    scene.add(name="floor", shape=irregular(1.6), model="static", friction=0.0)
    scene.add(
        name="block", shape=dict(kind="box", size=(0.4, 0.4, 0.2), edge=0.1), model="rigid", position=(-0.4, 0.02, 0.1),
        rotation=(0, 0, 17), velocity=(SPEED, 0, 0), friction=0.0, material=dict(density=500.0),
    )  # fmt: skip


def _bed(scene: Scene) -> None:
    soft = dict(youngs_modulus=5e4, poisson_ratio=0.3, density=1000.0, stiffness_damping=0.01)
    scene.add(
        name="bed", shape=dict(kind="box", size=(1.2, 0.4, 0.2), edge=0.1), position=(0.4, 0, -0.1), material=soft, friction=0.0,
        fixed=[dict(side="-z")],
    )  # fmt: skip
    scene.add(name="block", shape=small(), model="rigid", position=(0, 0.02, 0.025), velocity=(SPEED, 0, 0), friction=0.0)


def _turned(scene: Scene) -> None:
    lift = dict(times=[0.0, 0.3, 0.4], values=[(0, 0, 0), (0, 0, 0), (0, 0, 0.1)])
    scene.add(
        name="bed", shape=dict(kind="box", size=(1.2, 0.4, 0.2), edge=0.2), position=(0.4, 0, -0.1), friction=0.0,
        fixed=[dict(x=(-0.1, 2.0))], motions=[dict(where=dict(side="-x"), shift=lift)],
    )  # fmt: skip
    scene.add(name="block", shape=small(), model="rigid", position=(-0.1, 0.03, 0.025), velocity=(1.0, 0, 0), friction=0.0)


def _deep(scene: Scene) -> None:
    points = np.array([[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]], float)
    scene.add(name="floor", shape=Surface(points, np.array([[0, 1, 2], [0, 2, 3]])), model="static", friction=0.0)
    scene.add(
        name="block", shape=dict(kind="box", size=(0.4, 0.4, 0.4), edge=0.05), model="rigid", position=(0.1, -0.3, 0.201),
        velocity=(0, 0, -4.0), friction=0.0,
    )  # fmt: skip


def small() -> dict[str, Any]:
    """A block smaller than the triangles it slides on."""
    return dict(kind="box", size=(0.05, 0.05, 0.05), edge=0.05)


def irregular(size: float, points: int = 400, seed: int = 1) -> Surface:
    """A flat square of irregular triangles, facing up."""
    rng = np.random.default_rng(seed)
    side = np.linspace(-0.5 * size, 0.5 * size, 12)
    rim = np.array([(x, y) for x in side for y in side if x in side[[0, -1]] or y in side[[0, -1]]])
    xy = np.concatenate([rim, rng.uniform(-0.48 * size, 0.48 * size, (points, 2))])
    faces = Delaunay(xy).simplices.astype(np.int64)
    e, f = xy[faces[:, 1]] - xy[faces[:, 0]], xy[faces[:, 2]] - xy[faces[:, 0]]
    down = e[:, 0] * f[:, 1] < e[:, 1] * f[:, 0]
    return Surface(np.column_stack([xy, np.zeros(len(xy))]), np.where(down[:, None], faces[:, ::-1], faces))


def expect_hooked(sim: Simulation) -> list[str]:
    """What each figure shows, with its rule and without it."""
    figure = sim.scene.about.split()[1]
    contact = sim.scene.contact
    redefinition = contact["redefinition"] if isinstance(contact, dict) else None
    said, right = {"6.1": _left, "6.2": _kept, "6.3": _pressed, "6.4": _stays, "6.9": _helped}[figure](sim)
    assert right == (redefinition == RULES[figure][1]), f"Fig. {figure} with {redefinition}: {said}"
    return [said]


def _speed(sim: Simulation, body: str) -> np.ndarray:
    return sim.state.velocity[sim.world.model.bodies.frame[sim.index(body)]]


def _left(sim: Simulation) -> tuple[str, bool]:
    pushes = float(np.abs(sim.contacts("needle").total_force).max()) if len(sim.contacts()) else 0.0
    up = float(_speed(sim, "needle")[2])
    return f"The needle goes {up:.2f} m/s upwards, having left the cube; the cube pushes it with {pushes:.3g} N.", up < 0.3


def _kept(sim: Simulation) -> tuple[str, bool]:
    lost, z = float(np.abs(_speed(sim, "block")[:2] - [SPEED, 0.0]).max()) / SPEED, float(sim.centre("block")[2])
    return f"The block has lost {lost:.2g} of its tangential momentum.", lost < 1e-3 and abs(z - 0.1) < 0.005


def _pressed(sim: Simulation) -> tuple[str, bool]:
    far = apart(sim, "block")
    return f"The block is pushed from places up to {1000 * far:.0f} mm from its corners.", far < 0.02


def _stays(sim: Simulation) -> tuple[str, bool]:
    z = float(sim.centre("block")[2])
    return f"The block's centre is {1000 * z:.1f} mm above the bed.", z > 0.015


def _helped(sim: Simulation) -> tuple[str, bool]:
    memory = sim.state.memory["continuous-penalty"]
    idle = int(np.count_nonzero(memory["hooked"] & ~memory["active"]))
    return f"{idle} of {len(memory['hooked'])} pairs are hooked and do not push; the block is {sim.centre('block')[2]:.3f} m up.", idle == 0


def apart(sim: Simulation, body: str) -> float:
    """The longest distance of a vertex of a body from the place of the face that pushes it [m]."""
    memory, points = sim.state.memory["continuous-penalty"], sim.points()
    rows = (memory["kind"] == 0) & (memory["a"] == sim.index(body)) & memory["active"]
    if not rows.any():
        return 0.0
    corners, weights = memory["corners"][rows], memory["weights"][rows]
    return float(np.linalg.norm(np.einsum("rk,rki->ri", weights, points[corners]), axis=1).max())
