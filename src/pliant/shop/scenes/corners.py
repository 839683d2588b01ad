"""Corner cases of contact: spikes, wedges, cracks, cliffs, and features that meet exactly [Erleben 2018; Li 2020].

Two bodies meet where normals, closest features or both are not defined. One scene has them all as values of a parameter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import PliantError, nearest
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

SIDE = 0.1  # [m] of cubes
SPIKE = dict(kind="lathe", profile=[[0.04, 0.0], [0.0, 0.1]], edge=0.02)  # stands on z = 0, its tip at 0.1 m
WEDGE = dict(kind="wedge", size=(0.1, 0.1, 0.08), ridge=0.5, edge=0.05)
RAMP = dict(kind="wedge", size=(0.1, 0.1, 0.05), ridge=1.0, edge=0.05)  # two of them, back to back at a distance, are a notch
CUBE = dict(kind="box", size=(SIDE,) * 3, edge=0.05)
HALF = dict(kind="box", size=(0.1, 0.1, 0.08), edge=0.05)
TILE = dict(kind="box", size=(SIDE, SIDE, 0.04), edge=0.05)
DOWN, ACROSS, ON_EDGE, BACK = (180.0, 0.0, 0.0), (0.0, 0.0, 90.0), (0.0, 45.0, 0.0), (0.0, 0.0, 180.0)
CORNER = (-math.degrees(math.atan(math.sqrt(2.0))) / math.sqrt(2.0), math.degrees(math.atan(math.sqrt(2.0))) / math.sqrt(2.0), 0.0)
DIAGONAL, UP = math.sqrt(2.0) * SIDE, math.sqrt(3.0) * SIDE  # of a face and of the cube

Placed = tuple[dict[str, Any], tuple[float, float, float], tuple[float, float, float]]  # shape, where its origin is [m], how it is turned


@dataclass(frozen=True)
class Case:
    """What lies below, what comes from above and just touches, and whether it can stay there."""

    below: list[Placed]
    above: Placed
    stays: bool
    speed: float = 0.0  # [m/s] along x


def _cube(z: float, turn: tuple[float, float, float] = (0.0, 0.0, 0.0), x: float = 0.0) -> Placed:
    return CUBE, (x, 0.0, z), turn


def _rotation(turn: Sequence[float]) -> Rotation:
    from scipy.spatial.transform import Rotation  # start-up

    return Rotation.from_rotvec(turn, degrees=True)


def _turned(turn: tuple[float, float, float], more: tuple[float, float, float]) -> tuple[float, float, float]:
    """A turn, then another about z, as one rotation vector [degree]."""
    x, y, z = (_rotation(more) * _rotation(turn)).as_rotvec(degrees=True)
    return float(x), float(y), float(z)


NOTCH: list[Placed] = [(RAMP, (0.05, 0.0, 0.025), (0.0, 0.0, 0.0)), (RAMP, (-0.05, 0.0, 0.025), BACK)]
CRACK: list[Placed] = [(HALF, (0.06, 0.0, 0.04), (0.0, 0.0, 0.0)), (HALF, (-0.06, 0.0, 0.04), (0.0, 0.0, 0.0))]  # 20 mm wide
LIES: Placed = (WEDGE, (0.0, 0.0, 0.04), (0.0, 0.0, 0.0))
TILES: list[Placed] = [(TILE, (SIDE * k, 0.0, 0.02), (0.0, 0.0, 0.0)) for k in range(5)]
CASES: dict[str, Case] = {
    "spike-on-spike": Case([(SPIKE, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))], (SPIKE, (0.0, 0.0, 0.2), DOWN), False),
    "spike-on-wedge": Case([LIES], (SPIKE, (0.0, 0.0, 0.18), DOWN), False),
    "spike-in-wedge": Case(NOTCH, (SPIKE, (0.0, 0.0, 0.1), DOWN), False),
    "spike-in-crack": Case(CRACK, (SPIKE, (0.0, 0.0, 0.155), DOWN), False),
    "wedge-on-wedge": Case([LIES], (WEDGE, (0.0, 0.0, 0.12), _turned(DOWN, ACROSS)), False),
    "wedge-in-wedge": Case(NOTCH, (WEDGE, (0.0, 0.0, 0.04), DOWN), False),
    "wedge-in-crack": Case(CRACK, (WEDGE, (0.0, 0.0, 0.104), DOWN), True),
    "vertex-on-vertex": Case([_cube(0.5 * UP, CORNER)], _cube(1.5 * UP, CORNER), False),
    "edge-on-edge": Case([_cube(0.5 * DIAGONAL, ON_EDGE)], _cube(1.5 * DIAGONAL, _turned(ON_EDGE, ACROSS)), False),
    "parallel-edges": Case([_cube(0.5 * DIAGONAL, ON_EDGE)], _cube(1.5 * DIAGONAL, ON_EDGE), False),
    "aligned-cubes": Case([_cube(0.5 * SIDE)], _cube(1.5 * SIDE), True),
    "cliff-edge": Case([_cube(0.5 * SIDE)], _cube(1.5 * SIDE, x=0.4 * SIDE), True),
    "internal-edges": Case(TILES, (TILE, (0.0, 0.0, 0.06), (0.0, 0.0, 0.0)), True, 0.5),
}


def corner_cases(
    case: str = "aligned-cubes", model: str = "rigid", gap: float = 0.001, youngs_modulus: float = 1e6, friction: float = 0.3,
    contact: str = "auto", turn: Sequence[float] = (0.0, 0.0, 0.0), dt: float = 0.004, duration: float = 0.5,
) -> Scene:  # fmt: skip
    """Bodies meet where normals are not defined: spikes, wedges, cracks, cliffs, and features that meet exactly.

    case: spike-on-spike, spike-on-wedge, spike-in-wedge, spike-in-crack, wedge-on-wedge, wedge-in-wedge, wedge-in-crack, vertex-on-vertex,
    edge-on-edge, parallel-edges, aligned-cubes, cliff-edge or internal-edges; model: rigid (on static) or soft; gap [m] at the start;
    turn: rotation vector [degree] of the whole world, gravity too; of soft bodies, which are held at their lowest side, about z only.

    What is below is held; what comes from above has 1000 kg/m^3. Inner edges are those of five tiles side by side, without friction.
    """
    if case not in CASES:
        raise PliantError(f"There is no corner case '{case}': {nearest(case, CASES)}")
    if model not in ("rigid", "soft"):
        raise PliantError(f"model is '{model}'; corner cases are rigid or soft.")
    if model == "soft" and any(turn[:2]):
        raise PliantError(f"turn is {list(turn)}; soft corner cases are held at their lowest side, so that they turn about z only.")
    chosen, rub = CASES[case], 0.0 if case == "internal-edges" else friction
    scene = Scene(dt=dt, duration=duration, contact=contact, about=f"{case.replace('-', ' ').capitalize()}: where normals are not defined.")
    world = _rotation(turn)
    scene.gravity = (9.81 * world.apply((0.0, 0.0, -1.0))).tolist()
    scene.add(name="ground", shape="plane", model="static", friction=rub, rotation=turn)
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, stiffness_damping=0.002)
    soft: dict[str, Any] = dict(integrator="implicit", material=material)
    for k, (shape, place, own) in enumerate(chosen.below):
        held = dict(model="static") if model == "rigid" else dict(soft, fixed=[dict(side="-z")])
        scene.add(name=f"below {k + 1}", shape=shape, friction=rub, **_placed(world, place, own), **held)
    if model == "soft":  # what is held needs no contact to stay apart
        held_ones = ["ground", *(f"below {k + 1}" for k in range(len(chosen.below)))]
        for a, b in combinations(held_ones, 2):
            scene.pair(a, b, contact=False)
    shape, (x, y, z), own = chosen.above
    moves = dict(model="rigid") if model == "rigid" else soft
    speed = world.apply((chosen.speed, 0.0, 0.0)).tolist()
    scene.add(name="above", shape=shape, velocity=speed, friction=rub, **_placed(world, (x, y, z + gap), own), **moves)
    return scene


def _placed(world: Rotation, place: Sequence[float], turn: Sequence[float]) -> dict[str, Any]:
    """Where a body is in a world that is turned."""
    if not world.magnitude():
        return dict(position=place, rotation=turn)  # to all digits
    return dict(position=world.apply(place).tolist(), rotation=(world * _rotation(turn)).as_rotvec(degrees=True).tolist())


def expect_corner_cases(sim: Simulation) -> list[str]:
    """It is not inside anything, has no more energy than it began with, and what can stay has stayed and is carried."""
    case = next(each for each in CASES.values() if _is(each, sim.scene))
    fresh, back = sim.scene.simulate(), _rotation(sim.scene.bodies[0].rotation).inv()  # of a world that is turned
    low, deep = float(back.apply(sim.points("above"))[:, 2].min()), sim.report.max_depth if sim.report else 0.0
    weight, gained = 9.81 * sim.mass("above"), sim.books().total - fresh.books().total
    ahead, _, down = back.apply(sim.centre("above") - fresh.centre("above"))
    fell = float(case.above[1][2] - back.apply(sim.scene.bodies[-1].position)[2] - down)
    carried = sum(float(back.apply(sim.contacts("above", body.name).total_force)[2]) for body in sim.scene.bodies[:-1])
    assert low > -2e-3, f"it is {-1000 * low:.1f} mm below the ground"
    assert deep < 2e-3, f"the deepest contact is {1000 * deep:.1f} mm deep"
    assert gained < 0.01 * weight * SIDE, f"{gained:.2e} J came from nowhere, where {weight * SIDE:.2e} J are at stake"
    if case.stays:
        assert abs(fell) < 5e-3, f"it should stay and went down by {1000 * fell:.1f} mm"
        assert abs(carried / weight - 1.0) < 0.05, f"carried are {carried:.3f} N of {weight:.3f} N"
    if case.speed:
        held = case.speed * sim.time - float(ahead)
        assert abs(held) < 0.02 * case.speed * sim.time, f"inner edges held it back by {1000 * held:.1f} mm"
    return [
        f"It is {1000 * fell:.2f} mm below where it touched; the deepest contact is {1000 * deep:.3f} mm deep.",
        f"{carried:.3f} N of its {weight:.3f} N are carried.",
    ]


def _is(case: Case, scene: Scene) -> bool:
    """Whether a scene is of a case: as many bodies, of the same shapes, placed and turned alike."""
    placed, back = [*case.below, case.above], _rotation(scene.bodies[0].rotation).inv()
    return len(placed) == len(scene.bodies) - 1 and all(
        body.shape["kind"] == shape["kind"]
        and np.allclose(back.apply(body.position), place, atol=0.01)
        and (back * _rotation(body.rotation) * _rotation(turn).inv()).magnitude() < 1e-6
        for (shape, place, turn), body in zip(placed, scene.bodies[1:], strict=True)
    )
