"""What stands or falls, by friction and shape alone: what is about to tip, cards, arches, overhangs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from pliant.geometry.mesh import TetMesh
from pliant.scene import Scene
from pliant.shop.scenes.spillmann import upright
from pliant.shop.validate import Check, G, contact_of, gives_way, problem
from pliant.shop.validate.carried import QUIET, SIDE, cube, named
from pliant.shop.validate.friction import REVERSAL, leaning
from pliant.shop.validate.turning import turned
from pliant.simulate.simulation import Simulation

ROCKS = {
    "ground": "its springs are as soft as dt is long: the block rocks on them, by a tenth of this at half the step; its foot stays",
    "quasi-rigid": "samples on rims face outwards and carry nothing: it stands on 0.0875 m of its 0.1 m, and tips over from 23.6 degrees",
}
EDGES = {"quasi-rigid": "not done: what stands or balances on edges is beyond its responses, which are those of a smooth half-space"}
SHAKES = EDGES | {"reversal": "it chatters and has no friction: what is balanced on an edge is shaken off, at 0.9 too"}
STONES, LIMIT = 11, 0.104910  # t/r below which no forces between so many stones balance their weights: theory/validation-problems 14
SLIPPERY = 0.145270  # the same for mu = 0.35
HEXAHEDRON = np.array([(0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)])  # tetrahedra about 0 to 6


@problem("tipping-angle", "theory/validation-problems 12", refused=QUIET)
def tipping_angle(method: str, quick: bool) -> list[Check]:
    """A block 0.1 m wide and 0.25 m high, leant slowly, tips over at atan(0.4): 0.3 degrees before it stands, 0.3 beyond it lies down."""
    limit, checks = math.atan(0.4), []
    for modulus in (None, 1e8):
        for dt in (5e-3,) if quick else (2e-3, 5e-3):
            for more in (-0.3, 0.3):
                scene = Scene(dt=dt, duration=1.8, contact=method)
                leans = np.linspace(0.0, limit + math.radians(more), 21)
                pulls = [(G * math.sin(lean), 0.0, -G * math.cos(lean)) for lean in leans]
                scene.change("gravity", dict(times=np.linspace(0.0, 0.5, 21), values=pulls))
                scene.add(name="plane", shape="plane", model="static", friction=1.0)
                body = cube(modulus) | dict(shape=dict(kind="box", size=(SIDE, SIDE, 0.25), edge=0.5 * SIDE))
                scene.add(name="block", position=(0, 0, 0.125), friction=1.0, **body)
                world = turned(scene)
                world.sim.run()
                what = f"height of the block at {more:+g} degrees, {named(modulus)}, dt = {1e3 * dt:g} ms"
                high = float(world.centre("block")[2])
                checks.append(Check(what, 0.125 if more < 0.0 else 0.05, high, 0.002 if more < 0.0 else 0.02, "m", scale=1.0))
    return checks


@problem("tip-or-slide", "theory/validation-problems 12", refused=REVERSAL, limits=ROCKS)
def tip_or_slide(method: str, quick: bool) -> list[Check]:
    """A block 0.1 m wide and 0.2 m high slides down a slope if mu < 1/2 and tips over if the slope exceeds atan(1/2) and mu is large."""
    found = {}
    for mu, degrees in ((0.3, 24.0), (0.9, 24.0), (0.9, 29.0)):
        scene = Scene(dt=2e-3, duration=1.0, contact=contact_of(method), gravity=leaning(degrees))
        scene.add(name="floor", shape=dict(kind="box", size=(4.0, 2.0, 0.2), edge=1.0), model="static", position=(0, 0, -0.1), friction=mu)
        tall = dict(kind="box", size=(0.1, 0.1, 0.2), edge=0.1)
        model: dict[str, Any] = dict(model="rigid")
        if method == "quasi-rigid":
            model = dict(gives_way(method, 0.02), material=dict(youngs_modulus=1e7))
        scene.add(name="block", shape=tall, position=(0.013, 0.007, 0.1), friction=mu, **model)
        sim = Simulation(scene).run(until=0.4)
        before = sim.centre("block")[0]
        height = np.ptp(sim.run(until=0.8).points("block")[:, 2])
        found[mu, degrees] = sim.centre("block")[0] - before, height
    return [
        Check("height of the block that slides (mu 0.3, 24 degrees)", 0.2, float(found[0.3, 24.0][1]), 0.02, "m"),
        Check("path after 0.4 s of the block that stands (mu 0.9, 24 degrees)", 0.0, float(found[0.9, 24.0][0]), 0.01, "m", scale=0.1),
        Check("lies down (mu 0.9, 29 degrees): 1 yes", 1.0, float(found[0.9, 29.0][1] < 0.15), 0.0),
    ]


@problem("overhang", "theory/validation-problems 15", refused=SHAKES)
def overhang(method: str, quick: bool) -> list[Check]:
    """Three blocks on each other, the k-th from above sticking out by L/(2 k): with 0.9 of it they stand, with 1.1 of it the top falls."""
    length, high, fallen = 0.2, 0.05, {}
    for part in (0.9, 1.1):
        scene = Scene(dt=5e-4, duration=0.5, contact=method)
        scene.add(name="floor", shape=dict(kind="box", size=(4.0, 2.0, 0.2), edge=1.0), model="static", position=(0, 0, -0.1), friction=0.6)
        for k, x in enumerate(np.cumsum([0.0, part * length / 4.0, part * length / 2.0])):
            block, place = dict(kind="box", size=(length, 0.1, high), edge=0.05), (float(x), 0.002 * (k % 2), (k + 0.5) * high)
            scene.add(name=f"block {k}", shape=block, model="rigid", position=place, friction=0.6)
        fallen[part] = float(2.5 * high - Simulation(scene).run().centre("block 2")[2])
    return [
        Check("fall of the top block at 0.9", 0.0, fallen[0.9], 0.05, "m", scale=high),
        Check("the top block falls at 1.1: 1 yes", 1.0, float(0.2 * high < fallen[1.1] < 2.5 * high), 0.0),
    ]


@problem("leaning-card", "theory/validation-problems 13", refused=EDGES | REVERSAL)
def leaning_card(method: str, quick: bool) -> list[Check]:
    """A card leans at 30 degrees on a smooth wall, half a tent of cards: it stands if mu of the floor is above tan(30°)/2 - t/(2 l)."""
    length, thick, lean = 0.2, 0.01, math.radians(30.0)
    least = math.tan(lean) / 2 - thick / (2 * length)  # its weight acts half its thickness outside of the line from foot to top
    middle = 0.5 * length * np.array([math.sin(lean), math.cos(lean)]) + 0.5 * thick * np.array([-math.cos(lean), math.sin(lean)])
    down = {}
    for part in (0.99, 1.01):
        scene = Scene(dt=1e-3, duration=1.2, contact=method)
        scene.add(name="floor", shape="plane", model="static", friction=1.0)
        wall = dict(kind="box", size=(0.2, 0.4, 0.4), edge=0.2)
        scene.add(name="wall", shape=wall, model="static", position=(0.1, 0.0, 0.19), friction=0.0)
        card = dict(kind="box", size=(thick, 0.1, length), edge=0.05)
        place = (middle[0] - length * math.sin(lean), 0.002, middle[1])
        scene.add(name="card", shape=card, model="rigid", position=place, rotation=(0, 30.0, 0), friction=1.0)
        scene.pair("card", "wall", friction=0.0)
        world = turned(scene)
        world.sim.run(until=0.2)  # it comes to rest first
        for body in ("floor", "card"):
            world.sim.set(f"{body}.friction", part * least)
        world.sim.run()
        down[part] = 1.0 - float(world.centre("card")[2]) / middle[1]
    return [
        Check("stands with 1.01 of the least mu: way down, of its height", 0.0, down[1.01], 0.05, scale=1.0),
        Check("falls with 0.99 of the least mu: 1 yes", 1.0, float(0.2 < down[0.99] < 1.0), 0.0),
    ]


@problem("arch", "theory/validation-problems 14; [Cocchetti 2020]", refused=EDGES | REVERSAL)
def arch(method: str, quick: bool) -> list[Check]:
    """A round arch of 11 rigid stones with mu = 0.6 stands if it is thicker than 0.1049 of its radius, and folds at hinges if thinner."""
    crown = {part: way_down(round_arch(method, part * LIMIT, 0.6, 1.0 if quick else 3.0)) for part in (0.95, 1.05)}
    return [fallen(crown[0.95]), stands("way down of the crown 5 % above the limit", crown[1.05])]


@problem("arch-friction", "theory/validation-problems 14; [Cocchetti 2020]", methods=("patch",))
def arch_friction(method: str, quick: bool) -> list[Check]:
    """The same with less friction: with mu = 0.35 it must be thicker than 0.1453 of its radius, with mu = 0.28 nothing is thick enough."""
    time = 1.0 if quick else 3.0
    crown = {part: way_down(round_arch(method, part * SLIPPERY, 0.35, time)) for part in (0.95, 1.05)}
    return [
        fallen(crown[0.95]),
        stands("way down of the crown 5 % above the limit of mu = 0.35", crown[1.05]),
        fallen(way_down(round_arch(method, 0.25, 0.28, time)), "the arch of 0.25 of its radius falls with mu = 0.28"),
    ]


def round_arch(method: str, ratio: float, friction: float, duration: float) -> Scene:
    """Rigid stones side by side, a part `ratio` of the radius of 0.5 m thick."""
    scene, radius, angle = Scene(dt=1e-3, duration=duration, contact=method), 0.5, 180.0 / STONES
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    stone = dict(kind="arch_stone", inner=radius * (1 - ratio / 2), outer=radius * (1 + ratio / 2), angle=angle, depth=0.3, edge=0.15)
    for k in range(STONES):
        place = (0.0, 0.004 * (k % 2), 0.0)
        scene.add(name=f"stone {k}", shape=stone, model="rigid", position=place, rotation=upright((k + 0.5) * angle), friction=friction)
    return scene


def way_down(scene: Scene) -> float:
    """Of the crown of an arch at its end, of its height."""
    world, crown = turned(scene), f"stone {(len(scene.bodies) - 1) // 2}"
    high = world.centre(crown)[2]
    world.sim.run()
    return 1.0 - float(world.centre(crown)[2] / high)


def fallen(way: float, what: str = "the arch 5 % too thin falls") -> Check:
    """An arch that folds comes down and stays above the ground; one that is thrown up, or falls through it, has not folded."""
    return Check(f"{what}: way down of the crown, of its height, from 0.1 to 1", 0.55, way, 0.45, scale=1.0)


def stands(what: str, way: float) -> Check:
    return Check(f"{what}, of its height", 0.0, way, 0.05, scale=1.0)


@problem("masonry-arch", "theory/validation-problems 14; [Li 2020]", methods=("patch",))
def masonry_arch(method: str, quick: bool) -> list[Check]:
    """An arch of 25 stones as stiff as stone (20 GPa, mu = 0.5), cut across the curve of a chain that hangs, stands for 20 s."""
    scene, count = Scene(dt=5e-3, duration=0.5 if quick else 20.0, contact=method), 25
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    for k, (mesh, place) in enumerate(chain_of_stones(count)):
        stone = dict(youngs_modulus=20e9, poisson_ratio=0.2, density=2300.0)
        scene.add(name=f"stone {k}", shape=mesh, material=stone, position=place, friction=0.5, integrator="implicit")
    return [stands(f"way down of the crown after {scene.duration:g} s", way_down(scene))]


def chain_of_stones(count: int, wide: float = 2.0, high: float = 1.5, thick: float = 0.3, deep: float = 0.4) -> list[tuple[TetMesh, Any]]:
    """Stones of equal length along z = c (1 + H - cosh(x / c)), across which they are cut, and where their centres are [m]."""
    c = brentq(lambda c: c * (math.cosh(0.5 * wide / c) - 1.0) - high, 0.05, 10.0)
    along = np.linspace(-1.0, 1.0, count + 1) * c * math.sinh(0.5 * wide / c)  # length of the curve from its top
    x = c * np.arcsinh(along / c)
    z, slope = high - c * (np.cosh(x / c) - 1.0), -np.sinh(x / c)
    out = np.stack([-slope, np.ones_like(slope)], axis=1) / np.hypot(1.0, slope)[:, None]
    out[[0, -1]] = [[-1.0, 0.0], [1.0, 0.0]]  # the lowest stand on the ground
    stones = []
    for k in range(count):
        ring = [np.array([x[j], z[j]]) + side * 0.5 * thick * out[j] for j, side in ((k, -1), (k, 1), (k + 1, 1), (k + 1, -1))]
        corner = np.array([[p[0], y, p[1]] for y in (-0.5 * deep, 0.5 * deep) for p in ring])
        centre = corner.mean(axis=0)
        x0, *others = (corner[HEXAHEDRON[:, i]] for i in range(4))
        turned_over = np.linalg.det(np.stack([other - x0 for other in others], axis=1)) < 0.0
        tets = np.where(turned_over[:, None], HEXAHEDRON[:, [0, 2, 1, 3]], HEXAHEDRON)
        stones.append((TetMesh(corner - centre, tets), tuple(float(value) for value in centre + [0.0, 0.004 * (k % 2), 0.0])))
    return stones
