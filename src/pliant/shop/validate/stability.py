"""Stability: what stands by friction and shape alone."""

from __future__ import annotations

import math

import numpy as np

from pliant import Scene
from pliant.shop.scenes.spillmann import upright
from pliant.shop.validate import Check, problem
from pliant.shop.validate.friction import EDGES, REVERSAL
from pliant.simulate.simulation import Simulation


@problem("leaning-card", "17", refused=EDGES | REVERSAL)
def leaning_card(method: str, quick: bool) -> list[Check]:
    """A card leans at 30 degrees on a smooth wall, half a tent of cards: it stands if mu of the floor is above tan(30°)/2 - t/(2 l)."""
    length, thick, lean = 0.2, 0.01, math.radians(30.0)
    least = math.tan(lean) / 2 - thick / (2 * length)  # its weight acts half its thickness outside of the line from foot to top
    middle = 0.5 * length * np.array([math.sin(lean), math.cos(lean)]) + 0.5 * thick * np.array([-math.cos(lean), math.sin(lean)])
    down = {}
    for part in (0.9, 1.1):
        scene = Scene(dt=1e-3, duration=0.5, contact=method)
        scene.add(name="floor", shape="plane", model="static", friction=part * least)
        wall = dict(kind="box", size=(0.2, 0.4, 0.4), edge=0.2)
        scene.add(name="wall", shape=wall, model="static", position=(0.1, 0.0, 0.19), friction=0.0)
        card = dict(kind="box", size=(thick, 0.1, length), edge=0.05)
        place = (middle[0] - length * math.sin(lean), 0.002, middle[1])
        scene.add(name="card", shape=card, model="rigid", position=place, rotation=(0, 30.0, 0), friction=part * least)
        scene.pair("card", "wall", friction=0.0)
        down[part] = 1.0 - float(Simulation(scene).run().centre("card")[2]) / middle[1]
    return [
        Check("stands with 1.1 of the least mu: way down, of its height", 0.0, down[1.1], 0.05, scale=1.0),
        Check("falls with 0.9 of the least mu: 1 yes", 1.0, float(0.2 < down[0.9] < 1.0), 0.0),
    ]


def fallen(way: float) -> Check:
    """An arch that folds comes down and stays above the ground; one that is thrown up, or falls through it, has not folded."""
    what = "the arch with t/r = 0.08 falls: way down of the crown, of its height, from 0.1 to 1"
    return Check(what, 0.55, way, 0.45, scale=1.0)


@problem("arch", "18", refused=EDGES | REVERSAL)
def arch(method: str, quick: bool) -> list[Check]:
    """A round arch of 11 rigid stones with mu = 0.6 stands if it is thicker than 0.1074 of its radius, and folds at hinges if thinner."""
    radius, stones, crown = 0.5, 11, {}
    for ratio in (0.08, 0.14, 0.2):
        scene = Scene(dt=5e-4, duration=0.6 if quick else 2.0, contact=method)
        scene.add(name="ground", shape="plane", model="static", friction=0.6)
        inner, outer, angle = radius * (1 - ratio / 2), radius * (1 + ratio / 2), 180.0 / stones
        stone = dict(kind="arch_stone", inner=inner, outer=outer, angle=angle, depth=0.3, edge=0.15)
        for k in range(stones):
            place = (0.0, 0.004 * (k % 2), 0.0)
            scene.add(name=f"stone {k}", shape=stone, model="rigid", position=place, rotation=upright((k + 0.5) * angle), friction=0.6)
        sim = Simulation(scene)
        high = sim.centre(f"stone {stones // 2}")[2]
        crown[ratio] = 1.0 - float(sim.run().centre(f"stone {stones // 2}")[2] / high)
    return [
        fallen(crown[0.08]),
        Check("way down of the crown, of its height, where t/r = 0.14", 0.0, crown[0.14], 0.05, scale=1.0),
        Check("the same, where t/r = 0.2", 0.0, crown[0.2], 0.05, scale=1.0),
    ]
