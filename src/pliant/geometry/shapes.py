"""Every shape pliant can make, by name."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from pliant.base import PliantError
from pliant.geometry import lathe, solids
from pliant.geometry.shape import Shape

# Shapes of the shop are named, not imported: the library does not need it, and loads of it only what is asked for.
SHAPES: dict[str, Callable[..., Shape] | str] = {
    "box": solids.box,
    "ball": solids.ball,
    "ellipsoid": solids.ellipsoid,
    "cylinder": solids.cylinder,
    "capsule": solids.capsule,
    "torus": solids.torus,
    "plate": solids.plate,
    "membrane": solids.membrane,
    "wedge": solids.wedge,
    "arch_stone": solids.arch_stone,
    "lathe": lathe.lathe,
    **{name: f"pliant.shop.sculpt.vessels:{name}" for name in ("bowl", "socket", "chain")},
    **{name: f"pliant.shop.sculpt.chess:{name}" for name in ("pawn", "rook", "bishop", "queen")},
    **{name: f"pliant.shop.sculpt.organic:{name}" for name in ("teapot", "bunny", "bust", "foot", "mouth", "room")},
}


def maker(kind: str) -> Callable[..., Shape]:
    """The function that makes a shape."""
    if kind not in SHAPES:
        near = difflib.get_close_matches(str(kind), SHAPES, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise PliantError(f"unknown shape '{kind}': {hint}known shapes: {', '.join(sorted(SHAPES))}")
    found = SHAPES[kind]
    if isinstance(found, str):
        module, name = found.split(":")
        return getattr(importlib.import_module(module), name)
    return found


def make(kind: str, **parameters: Any) -> Shape:
    """A shape by name; parameters as in its function."""
    function = maker(kind)
    allowed = inspect.signature(function).parameters
    listing = ", ".join(n if p.default is p.empty else f"{n} = {p.default!r}" for n, p in allowed.items())
    for name in parameters:
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            raise PliantError(f"shape '{kind}' has no parameter '{name}'{hint} It takes: {listing}")
    missing = [n for n, p in allowed.items() if p.default is p.empty and n not in parameters]
    if missing:
        raise PliantError(f"shape '{kind}' needs {' and '.join(missing)}. It takes: {listing}")
    return function(**parameters)
