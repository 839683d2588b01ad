"""The scenes that ship with pliant, in one file for each source, each with what it expects to see.

A scene is a function of its name in the file that SCENES says, `two_spheres` for "two-spheres": its keyword parameters are those of the
scene, the first line of its docstring is what `pliant scenes` prints. Beside it `expect_two_spheres` looks at the finished simulation and
returns sentences with measured figures; it raises AssertionError if what should be seen is not.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pliant.base import PliantError, nearest
from pliant.scene import Scene
from pliant.spec.units import in_scene_units

SCENES = {
    "bowl": "basics",
    "footprint": "basics",
    "cradle": "keiser",
    "flattened-head": "keiser",
    "pile": "keiser",
    "rider": "keiser",
    "slope": "basics",
    "column": "basics",
    "cantilever": "basics",
    "tumble": "basics",
    "pendulum": "basics",
    "hooked": "hooked",
    "two-spheres": "motheram",
    "soft-meets-hard": "motheram",
    "sphere-and-bunny": "motheram",
    "bunny-and-teapot": "motheram",
    "three-spheres": "motheram",
    "two-bunnies": "motheram",
    "squeezed-bars": "spillmann",
    "soft-cube-stiff-bars": "spillmann",
    "archway": "spillmann",
    "chess-500": "spillmann",
    "chained-tori": "spillmann",
    "folding-strip": "spillmann",
    "two-free-cubes": "spillmann",
    "particle-on-plane": "thesis",
    "bar-on-cube": "thesis",
    "cube-on-bar": "thesis",
    "bunny-in-bowl": "thesis",
    "cloth-on-ball": "thesis",
    "ball-on-plane": "pauly",
    "spinning-ball": "pauly",
    "foot-on-ground": "pauly",
    "ball-joint": "pauly",
    "head-in-room": "pauly",
    "bust-kiss": "pauly",
    "corner-cases": "corners",
    "stepped-block": "basics",
    "heavy-on-light": "basics",
    "hanging-bar": "keiser",
    "melting-bust": "keiser",
    "torn-head": "keiser",
}


@dataclass(frozen=True)
class Shipped:
    """A scene that ships."""

    about: str  # one line
    make: Callable[..., Scene]
    expect: Callable[[Any], list[str]]  # of the finished simulation


def find(name: str) -> Shipped:
    """A scene by its name."""
    if name not in SCENES:
        raise PliantError(f"There is no scene '{name}': {nearest(name, SCENES)}")
    module, function = importlib.import_module(f"pliant.shop.scenes.{SCENES[name]}"), name.replace("-", "_")
    make = getattr(module, function)
    return Shipped(make.__doc__.splitlines()[0], make, getattr(module, f"expect_{function}"))


def parameters(name: str) -> dict[str, Any]:
    """The parameters of a scene and their defaults."""
    return {k: p.default for k, p in inspect.signature(find(name).make).parameters.items()}


def make(name: str, **values: Any) -> Scene:
    """A scene by its name; unknown parameters list the known ones."""
    known = parameters(name)
    for key in values:
        if key not in known:
            raise PliantError(f"The scene '{name}' has no parameter '{key}': {nearest(key, known)}")
    scene = find(name).make(**values)
    scene.name = name
    return scene


def varied(name: str, values: Mapping[str, Any]) -> Scene:
    """A scene by its name, with values for its parameters and at paths into it."""
    known = parameters(name)
    inside = {key: value for key, value in values.items() if key not in known and (key in Scene.model_fields or "." in key or "[" in key)}
    given = {key: _fitting(key, value, known.get(key)) for key, value in values.items() if key not in inside}
    return make(name, **given).with_(inside)


def _fitting(key: str, value: Any, default: Any) -> Any:
    """Text where a scene wants text, a number where it wants a number."""
    number = lambda found: isinstance(found, int | float) and not isinstance(found, bool)
    if isinstance(default, str):
        return str(value) if number(value) else value  # figure=6.1 is a name that looks like a number
    value = in_scene_units(value)
    if isinstance(default, float) and not number(value):
        raise PliantError(f"{key}={value}: {key} is a number, {default:g} unless given.")
    return value
