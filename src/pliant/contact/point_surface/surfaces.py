"""The surfaces of all bodies as flat arrays: samples with the neighbours of rest, and exact shapes.

`Neighbourhoods` is made once; `Surfaces` is one moment of a step. Tests and foreign callers make both from plain arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.creases import smooth_graph
from pliant.contact.point_surface.field import distances, lifts
from pliant.detect.surfels.neighbours import KDTree
from pliant.kernels import contiguous, use_threads

AROUND = 52  # samples within four spacings of one on a regular surface, itself included
COST = 40  # a field costs so many items of `use_threads`


@dataclass
class Neighbourhoods:
    """What does not change while bodies deform."""

    start: Ints  # (B + 1,) samples of body b: start[b] to start[b + 1]
    body: Ints  # (n,)
    around: Ints  # (n, K) each sample and its nearest at rest, by distance; -1 behind those of a body with few
    graph: Ints  # (n, K) the same without samples on creases, which no field is made of
    reach: Floats  # (n,) [m] of the neighbours at rest
    rest: Floats  # (n, 3) [m] samples at rest
    lift: Floats  # (n,) [m] f at the sample at rest, zero for the surface as published
    kind: Ints  # (B,) exact shape, -1 for none
    sizes: Floats  # (B, 3) [m] of exact shapes

    @staticmethod
    def of(
        rest: Floats, normals: Floats, areas: Floats, start: Ints, kind: Ints | None = None, sizes: Floats | None = None,
        lifted: bool = True, sharp: np.ndarray | None = None,
    ) -> Neighbourhoods:  # fmt: skip
        """From samples at rest, body after body; `sharp` (n,) bool: those on creases."""
        count = len(start) - 1
        around, reach = np.full((len(rest), AROUND), -1, np.int64), np.empty(len(rest))
        for b in range(count):
            mine = slice(int(start[b]), int(start[b + 1]))
            k = min(AROUND, mine.stop - mine.start)
            if k:
                far, near = KDTree(rest[mine]).nearest(rest[mine], k)
                around[mine, :k], reach[mine] = near + start[b], np.maximum(far[:, -1], 1e-300)
        graph, lift = around if sharp is None or not sharp.any() else smooth_graph(around, sharp), np.zeros(len(rest))
        rest, normals, spacing = contiguous(rest), contiguous(normals), np.sqrt(contiguous(areas))
        if lifted:
            lifts(rest, normals, spacing, reach, graph, lift)
        kind = np.full(count, -1, np.int64) if kind is None else contiguous(kind, np.int64)
        sizes = np.zeros((count, 3)) if sizes is None else contiguous(sizes)
        body = np.repeat(np.arange(count), np.diff(start))
        return Neighbourhoods(contiguous(start, np.int64), body, around, graph, reach, rest, lift, kind, sizes)

    def __len__(self) -> int:
        """How many bodies there are."""
        return len(self.start) - 1


@dataclass
class Surfaces:
    """All bodies at one moment."""

    fixed: Neighbourhoods
    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3)
    areas: Floats  # (n,) [m^2]
    position: Floats  # (B, 3) [m] of exact shapes
    rotation: Floats  # (B, 4)

    @staticmethod
    def still(
        points: Floats, normals: Floats, areas: Floats, start: Ints, kind: Ints | None = None, sizes: Floats | None = None,
        position: Floats | None = None, lifted: bool = True,
    ) -> Surfaces:  # fmt: skip
        """Samples where they are at rest; exact shapes unturned."""
        fixed = Neighbourhoods.of(points, normals, areas, start, kind, sizes, lifted)
        where = np.zeros((len(fixed), 3)) if position is None else contiguous(position)
        turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(fixed), 1))
        return Surfaces(fixed, contiguous(points), contiguous(normals), contiguous(areas), where, turn)

    @cached_property
    def spacing(self) -> Floats:
        """(n,) [m]"""
        return np.sqrt(self.areas)

    @cached_property
    def wide(self) -> Floats:
        """Largest spacing of each body [m], (B,); zero where it has no samples."""
        out = np.zeros(len(self.fixed))
        np.maximum.at(out, self.fixed.body, self.spacing)
        return out

    @property
    def numbers(self) -> tuple[Any, ...]:
        """What the kernels of fields take first."""
        fixed = self.fixed
        return (
            self.points, self.normals, self.spacing, fixed.reach, fixed.lift, fixed.graph, fixed.kind, fixed.sizes, self.position,
            self.rotation,
        )  # fmt: skip

    def distances(self, queries: Floats, other: Ints, sample: Ints) -> tuple[Floats, Floats, Ints, Ints]:
        """(f (m,) [m], n (m, 3), state (m,), sample (m,)) of body `other` at each query, starting from a sample of it."""
        queries, sample = contiguous(queries), np.array(sample, np.int64)
        gap, normal, state = np.empty(len(queries)), np.empty_like(queries), np.empty(len(queries), np.int64)
        use_threads(COST * len(queries))
        distances(*self.numbers, queries, contiguous(other, np.int64), sample, gap, normal, state)
        return gap, normal, state, sample
