"""Body models by name, and models of your own: elements over the tetrahedra of a shape.

A model of your own is a function `make(tets, rest, material) -> Elements` (bodies/elements.py says what these are): tets (t, 4) are
world node numbers, rest (n, 3) the places of all nodes of the world at the start [m], material the body's. The elements give the nodes
of the body their mass; every node needs some.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.elements import Elements

SHIPPED = ("fem", "springs", "points", "rigid", "quasi-rigid", "static")
Make = Callable[[Ints, Floats, Any], Elements]
OWN: dict[str, Make] = {}


def register_model(name: str, make: Make) -> None:
    """Make a body model of your own known by a name, for `Scene.add(model=name)`; the names of pliant's are refused."""
    if name in SHIPPED:
        raise PliantError(f"body model '{name}' is one of pliant's own; choose another name")
    if not callable(make):
        raise PliantError(f"body model '{name}' is not callable; it needs to be a function make(tets, rest, material) -> elements")
    OWN[name] = make


def known(name: str) -> str:
    """The name, if there is such a model; for the scene."""
    if name not in SHIPPED and name not in OWN:
        names = [f"'{each}'" for each in (*SHIPPED, *OWN)]
        raise ValueError(f"there is no '{name}'; it should be {', '.join(names[:-1])} or {names[-1]}")
    return name
