"""Every shape pliant can make, by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from pliant.geometry import chess, solids, vessels
from pliant.geometry.lathe import lathe
from pliant.geometry.mesh import PliantError
from pliant.geometry.organic import ORGANIC
from pliant.geometry.shape import Shape

SHAPES: dict[str, Callable[..., Shape]] = {
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
    "bowl": vessels.bowl,
    "socket": vessels.socket,
    "chain": vessels.chain,
    "lathe": lathe,
    "pawn": chess.pawn,
    "rook": chess.rook,
    "bishop": chess.bishop,
    "queen": chess.queen,
    **ORGANIC,
}


def make(kind: str, **parameters: Any) -> Shape:
    """A shape by name; parameters as in its function."""
    if kind not in SHAPES:
        near = difflib.get_close_matches(str(kind), SHAPES, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise PliantError(f"unknown shape '{kind}': {hint}known shapes: {', '.join(sorted(SHAPES))}")
    allowed = inspect.signature(SHAPES[kind]).parameters
    listing = ", ".join(n if p.default is p.empty else f"{n} = {p.default!r}" for n, p in allowed.items())
    for name in parameters:
        if name not in allowed:
            near = difflib.get_close_matches(name, allowed, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            raise PliantError(f"shape '{kind}' has no parameter '{name}'{hint} It takes: {listing}")
    missing = [n for n, p in allowed.items() if p.default is p.empty and n not in parameters]
    if missing:
        raise PliantError(f"shape '{kind}' needs {' and '.join(missing)}. It takes: {listing}")
    return SHAPES[kind](**parameters)
