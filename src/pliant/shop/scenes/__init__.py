"""The scenes that ship with pliant, one per file, each with what it expects to see.

A scene file has a docstring (its first line is what `pliant scenes` prints), a function `make` whose keyword parameters are the
scene's parameters, and a function `expect` that looks at the finished simulation and returns sentences with measured figures;
it raises AssertionError if what should be seen is not.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from pliant.base import PliantError, nearest
from pliant.scene import Scene

SCENES = {
    "bowl": "pliant.shop.scenes.bowl",
    "cradle": "pliant.shop.scenes.cradle",
    "flattened-head": "pliant.shop.scenes.flattened_head",
    "pile": "pliant.shop.scenes.pile",
    "rider": "pliant.shop.scenes.rider",
    "slope": "pliant.shop.scenes.slope",
    "column": "pliant.shop.scenes.column",
    "cantilever": "pliant.shop.scenes.cantilever",
    "tumble": "pliant.shop.scenes.tumble",
    "pendulum": "pliant.shop.scenes.pendulum",
    "hooked": "pliant.shop.scenes.hooked",
    "two-spheres": "pliant.shop.scenes.two_spheres",
    "soft-meets-hard": "pliant.shop.scenes.soft_meets_hard",
    "sphere-and-bunny": "pliant.shop.scenes.sphere_and_bunny",
    "bunny-and-teapot": "pliant.shop.scenes.bunny_and_teapot",
    "three-spheres": "pliant.shop.scenes.three_spheres",
    "two-bunnies": "pliant.shop.scenes.two_bunnies",
    "squeezed-bars": "pliant.shop.scenes.squeezed_bars",
    "soft-cube-stiff-bars": "pliant.shop.scenes.soft_cube_stiff_bars",
    "archway": "pliant.shop.scenes.archway",
    "chess-500": "pliant.shop.scenes.chess_500",
    "chained-tori": "pliant.shop.scenes.chained_tori",
    "folding-strip": "pliant.shop.scenes.folding_strip",
    "two-free-cubes": "pliant.shop.scenes.two_free_cubes",
    "particle-on-plane": "pliant.shop.scenes.particle_on_plane",
    "bar-on-cube": "pliant.shop.scenes.bar_on_cube",
    "cube-on-bar": "pliant.shop.scenes.cube_on_bar",
    "bunny-in-bowl": "pliant.shop.scenes.bunny_in_bowl",
    "cloth-on-ball": "pliant.shop.scenes.cloth_on_ball",
    "ball-on-plane": "pliant.shop.scenes.ball_on_plane",
    "spinning-ball": "pliant.shop.scenes.spinning_ball",
    "foot-on-ground": "pliant.shop.scenes.foot_on_ground",
    "ball-joint": "pliant.shop.scenes.ball_joint",
    "head-in-room": "pliant.shop.scenes.head_in_room",
    "bust-kiss": "pliant.shop.scenes.bust_kiss",
    "hanging-bar": "pliant.shop.scenes.hanging_bar",
    "melting-bust": "pliant.shop.scenes.melting_bust",
    "torn-head": "pliant.shop.scenes.torn_head",
}


def module(name: str) -> Any:
    """The module of a scene by its name."""
    if name not in SCENES:
        raise PliantError(f"There is no scene '{name}': {nearest(name, SCENES)}")
    return importlib.import_module(SCENES[name])


def parameters(name: str) -> dict[str, Any]:
    """The parameters of a scene and their defaults."""
    return {k: p.default for k, p in inspect.signature(module(name).make).parameters.items()}


def make(name: str, **values: Any) -> Scene:
    """A scene by its name; unknown parameters list the known ones."""
    known = parameters(name)
    for key in values:
        if key not in known:
            raise PliantError(f"The scene '{name}' has no parameter '{key}': {nearest(key, known)}")
    scene = module(name).make(**values)
    scene.name = name
    return scene
