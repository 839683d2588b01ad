"""From coarse to fine: clusters of samples first, and finer ones only as far as the wanted accuracy needs (2.9 of the methods page).

A level stands for clusters of at most 8, 32, 128, ... samples, each with a representative on the surface; what clusters do to each other
follows from their samples (coarse.py). The pressure found on one level is the start of the next. 40 to 100 nodes in contact give the
force to 1-3 %.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.quasi_rigid.coarse import Parts
from pliant.contact.quasi_rigid.result import ContactResult, Rung
from pliant.contact.quasi_rigid.side import Side
from pliant.detect.surfels.surface import PointSurface

SIZES = (8, 32, 128, 512)  # samples of a cluster
LEAST = 150  # clusters of the coarsest level


def ladder(surface: PointSurface) -> tuple[tuple[PointSurface, Parts | None], ...]:
    """The surface and its coarser levels with their clusters; built once and kept with the surface."""
    if "ladder" not in surface.__dict__:
        found: list[tuple[PointSurface, Parts | None]] = [(surface, None)]
        for size in SIZES:
            if len(surface.spheres.cut(size)) >= LEAST and len(surface) > 2 * size:
                level = surface.level(size)
                found.append((PointSurface(level.points, level.normals, level.areas), Parts.of(surface, level, size)))
        surface.__dict__["ladder"] = tuple(found)
    return surface.__dict__["ladder"]  # type: ignore[no-any-return]


def coarser(side: Side, level: int) -> Side:
    """The same object with fewer nodes; distances to it are still those of all its samples."""
    if level == 0 or side.nodes is None:
        return side
    steps = ladder(side.nodes)
    samples, parts = steps[min(level, len(steps) - 1)]
    return replace(side, samples=samples, parts=parts)


def levels_of(a: Side, b: Side) -> int:
    """How many levels there are."""
    return max(len(ladder(side.nodes)) for side in (a, b) if side.nodes is not None)


def climb(a: Side, b: Side, mode: str, accuracy: float, start: ContactResult | None = None, **options: Any) -> ContactResult:
    """Resolve level after level until the wrench changes by less than `accuracy`; the levels are in the result.

    A start spares the levels coarser than its own.
    """
    from pliant.contact.quasi_rigid.resolve import resolve

    first = levels_of(a, b) - 1 if start is None else start.level
    found, rungs = start, []
    for level in range(first, -1, -1):
        begin = time.process_time()
        last, found = found, resolve(a, b, mode, level=level, start=found, **options)
        change = _change(last, found) if last is not None and (last is not start or level != first) else np.inf
        seconds = time.process_time() - begin
        nodes = sum(len(s.nodes) for s in (coarser(a, level), coarser(b, level)) if s.nodes is not None)
        rungs.append(Rung(nodes, len(found.P), int(found.contact.sum()), found.force, change, found.iterations, seconds))
        if change <= accuracy or (start is not None and level == first):
            break
    assert found is not None
    return replace(found, levels=tuple(rungs))


def _change(one: ContactResult, two: ContactResult) -> float:
    """Difference of two wrenches about the same point, as a part of the force (and of the force times the size of the contact)."""
    if two.force == 0.0:
        return 0.0 if one.force == 0.0 else np.inf
    about = two.centre
    turn = np.sqrt(two.area / np.pi)
    d: Floats = (one.wrench_a(about) - two.wrench_a(about)) / np.array([1.0, 1.0, 1.0, turn, turn, turn])
    return float(np.linalg.norm(d)) / two.force
