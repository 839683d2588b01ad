"""The scenes that ship with pliant, one per file, each with what it expects to see.

A scene file has a docstring (its first line is what `pliant scenes` prints), a function `make` whose keyword parameters are the
scene's parameters, and a function `expect` that looks at the finished simulation and returns sentences with measured figures;
it raises AssertionError if what should be seen is not.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from pliant.geometry.mesh import PliantError
from pliant.reading import nearest
from pliant.scene import Scene

SCENES = {
    "bowl": "pliant.scenes.bowl",
    "cradle": "pliant.scenes.cradle",
    "flattened-head": "pliant.scenes.flattened_head",
    "pile": "pliant.scenes.pile",
    "rider": "pliant.scenes.rider",
    "slope": "pliant.scenes.slope",
    "column": "pliant.scenes.column",
    "cantilever": "pliant.scenes.cantilever",
    "tumble": "pliant.scenes.tumble",
    "pendulum": "pliant.scenes.pendulum",
    "hooked": "pliant.scenes.hooked",
    "two-spheres": "pliant.scenes.two_spheres",
    "soft-meets-hard": "pliant.scenes.soft_meets_hard",
    "sphere-and-bunny": "pliant.scenes.sphere_and_bunny",
    "bunny-and-teapot": "pliant.scenes.bunny_and_teapot",
    "three-spheres": "pliant.scenes.three_spheres",
    "two-bunnies": "pliant.scenes.two_bunnies",
    "squeezed-bars": "pliant.scenes.squeezed_bars",
    "soft-cube-stiff-bars": "pliant.scenes.soft_cube_stiff_bars",
    "archway": "pliant.scenes.archway",
    "chess-500": "pliant.scenes.chess_500",
    "chained-tori": "pliant.scenes.chained_tori",
    "folding-strip": "pliant.scenes.folding_strip",
    "two-free-cubes": "pliant.scenes.two_free_cubes",
    "particle-on-plane": "pliant.scenes.particle_on_plane",
    "bar-on-cube": "pliant.scenes.bar_on_cube",
    "cube-on-bar": "pliant.scenes.cube_on_bar",
    "bunny-in-bowl": "pliant.scenes.bunny_in_bowl",
    "cloth-on-ball": "pliant.scenes.cloth_on_ball",
    "ball-on-plane": "pliant.scenes.ball_on_plane",
    "spinning-ball": "pliant.scenes.spinning_ball",
    "foot-on-ground": "pliant.scenes.foot_on_ground",
    "ball-joint": "pliant.scenes.ball_joint",
    "head-in-room": "pliant.scenes.head_in_room",
    "bust-kiss": "pliant.scenes.bust_kiss",
    "hanging-bar": "pliant.scenes.hanging_bar",
    "melting-bust": "pliant.scenes.melting_bust",
    "torn-head": "pliant.scenes.torn_head",
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
