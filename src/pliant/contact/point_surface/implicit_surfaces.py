"""The implicit surfaces of bodies, f(x) = n(x).(x - a(x)), negative inside (Alexa, Adamson 2004; (1) of Keiser et al. 2004;
theory/point-surface-contact 4.2).

`Neighbourhoods` is made once from samples at rest; `Surfaces` is one moment of a step. Both are made from plain arrays.

Where we differ: the plain f is not zero on the samples themselves, it is about h^2 / R there, so that a ball is felt too small by that
(theory/point-surfaces 5.2, 5.5).
What f is at each sample at rest (`lift`) is taken off again with the same weights. Samples lose weight as they face another way than the
nearest one, and those on creases have none, so that a face is flat up to its edge. Of two faces the nearer sample decides, which at a
convex edge is the greater distance, at a concave one the smaller.

Creases: the area vector of a surfel is the sum of a third of those of the triangles around it. Where it is much shorter than their areas
the surfel lies on a sharp edge: no plane of the body passes there along its normal, and what it shows along a direction is the part of its
area vector, not of its area.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.penetration import ACROSS
from pliant.detect.shapes import NO_SHAPE, Shapes, distance_to
from pliant.detect.surfels.neighbours import KDTree, squared
from pliant.detect.surfels.projection import CUT, OPPOSITE, SUPPORT
from pliant.geometry.normals import face_crosses, vertex_area_vectors
from pliant.geometry.quaternions import load4, rotate
from pliant.kernels import axpy, contiguous, dot, inline, kernel, load, norm, parallel, prange, scale, store, sub, use_threads

AROUND = 52  # samples within four spacings of one on a regular surface, itself included
COST = 40  # a field costs so many items of `use_threads`
CHUNK = 64
LOST, FOUND, DEEP = 0, 1, 2  # no field there; a good one; a sample is near, but beyond the support of the weights
CREASED = 0.85  # length of the area vector over the area: below it faces lean more than 32 degrees away from the normal


class Field(NamedTuple):
    """What kernels take: samples of all bodies with their neighbours."""

    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3)
    spacing: Floats  # (n,) [m]
    reach: Floats  # (n,) [m]
    lift: Floats  # (n,) [m]
    graph: Ints  # (n, K)


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

    @staticmethod
    def of(
        rest: Floats, normals: Floats, areas: Floats, start: Ints, lifted: bool = True, sharp: np.ndarray | None = None
    ) -> Neighbourhoods:
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
        rest, body = contiguous(rest), np.repeat(np.arange(count), np.diff(start))
        if lifted:
            plain, spacing = np.zeros(len(rest)), np.sqrt(contiguous(areas))
            _lifts(Field(rest, contiguous(normals), spacing, reach, plain, graph), lift)
        return Neighbourhoods(contiguous(start, np.int64), body, around, graph, reach, rest, lift)

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
    shapes: Shapes  # of bodies that are known exactly, and frames of all

    @staticmethod
    def still(
        points: Floats, normals: Floats, areas: Floats, start: Ints, lifted: bool = True, shapes: Shapes | None = None
    ) -> Surfaces:
        """Samples where they are at rest."""
        fixed = Neighbourhoods.of(points, normals, areas, start, lifted)
        exact = no_shapes(len(fixed)) if shapes is None else shapes
        return Surfaces(fixed, contiguous(points), contiguous(normals), contiguous(areas), exact)

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
    def field(self) -> Field:
        """As kernels take it."""
        fixed = self.fixed
        return Field(self.points, self.normals, self.spacing, fixed.reach, fixed.lift, fixed.graph)

    def distances(self, queries: Floats, other: Ints, sample: Ints) -> tuple[Floats, Floats, Ints, Ints]:
        """(f (m,) [m], n (m, 3), state (m,), sample (m,)) of body `other` at each query, starting from a sample of it."""
        queries, sample = contiguous(queries), np.array(sample, np.int64)
        gap, normal, state = np.empty(len(queries)), np.empty_like(queries), np.empty(len(queries), np.int64)
        use_threads(COST * len(queries))
        _distances(self.field, self.shapes, queries, contiguous(other, np.int64), sample, gap, normal, state)
        return gap, normal, state, sample


def no_shapes(count: int) -> Shapes:
    """Of bodies none of which is known exactly."""
    none = np.full(count, NO_SHAPE, np.int64)
    return Shapes(none, np.zeros((count, 3)), none, np.zeros((0, 3)), np.zeros((0, 4)))


class Creases:
    """Area vectors of all surfels at rest, in their frame if they have one."""

    def __init__(self, faces: Ints, rest: Floats, framed: np.ndarray) -> None:
        """`faces` (m, 3) between surfels, `rest` (n, 3) [m], `framed` (n,) bool: carried by a frame."""
        self.vector = vertex_area_vectors(rest, faces)  # (n, 3) [m^2]
        size = np.repeat(np.linalg.norm(face_crosses(rest, faces) / 6.0, axis=1), 3)
        whole = np.bincount(faces.ravel(), size, minlength=len(rest))
        bare = whole == 0.0  # no triangles: points with normals
        self.flat = np.where(bare, 1.0, np.linalg.norm(self.vector, axis=1) / np.where(bare, 1.0, whole))  # (n,) 1: not on a crease
        self.turned = framed & ~bare  # (n,) bool: shows what its area vector shows, turned with its frame

    @property
    def sharp(self) -> np.ndarray:
        """(n,) bool"""
        return self.flat < CREASED

    def facing(self, surfaces: Surfaces, surfel: Ints, along: Floats) -> Floats:
        """Area of each surfel that faces against the unit vectors `along` (r, 3) [m^2], (r,): all of it up to 60 degrees, none at 90.

        Two round surfaces lean away from each other twice: if area were seen in perspective, pressure between two balls would grow with
        less than the square of their overlap.
        """
        out, body, shapes = np.empty(len(surfel)), surfaces.fixed.body, surfaces.shapes
        _facing(surfel, self.turned, self.vector, self.flat, surfaces.normals, surfaces.areas, body, shapes, along, out)
        return out


def smooth_graph(graph: Ints, sharp: np.ndarray) -> Ints:
    """The neighbours without those on creases, in the same order, -1 behind them; a row that would be empty stays as it is."""
    keep = (graph >= 0) & ~sharp[np.maximum(graph, 0)]
    keep[~keep.any(axis=1)] = True
    order = np.argsort(~keep, axis=1, kind="stable")
    return np.where(np.take_along_axis(keep, order, 1), np.take_along_axis(graph, order, 1), -1)


# -- kernels


@inline
def _around(field, s, q, square):  # type: ignore[no-untyped-def]
    """Walk from sample s to the one nearest to q on the same sheet; `square` (K,) gets the squared distances of its neighbours."""
    points, normals, graph = field.points, field.normals, field.graph
    for _ in range(64):
        best, to, n = np.inf, s, load(normals, s)
        for c in range(graph.shape[1]):
            j = graph[s, c]
            if j < 0:
                square[c] = np.inf
                continue
            d = squared(points, j, q)
            square[c] = d
            if d < best and dot(load(normals, j), n) > OPPOSITE:
                best, to = d, j
        if to == s:
            break
        s = to
    return s


@inline
def _blended(field, s, q, square):  # type: ignore[no-untyped-def]
    """(state, f, n) at q from the neighbours of sample s, whose squared distances are in `square`; it then holds the weights."""
    points, normals, spacing, graph = field.points, field.normals, field.spacing, field.graph
    top, total, far = 0.0, 0.0, field.reach[s] * field.reach[s]
    for c in range(graph.shape[1]):
        w = max(1.0 - square[c] / far, 0.0)
        w = w * w * w
        top += w * spacing[graph[s, c]]
        total += w
    h, nearest = top / total if total > 0.0 else spacing[s], square[0]
    mean, side, own, raised, total = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), load(normals, s), 0.0, 0.0
    for c in range(graph.shape[1]):
        theta, j = 0.0, graph[s, c]
        if square[c] < CUT * CUT * h * h:
            n = load(normals, j)
            like = dot(n, own)
            if like > 0.0:
                theta = like * math.exp(-0.5 * square[c] / (h * h))
                total += theta
                mean, side = axpy(theta, sub(load(points, j), q), mean), axpy(theta, n, side)
                raised += theta * field.lift[j]
        square[c] = theta
    if not total > 1e-12:  # normals that have a weight have a common side
        return LOST, dot(sub(q, load(points, s)), own), own
    n = scale(1.0 / norm(side), side)
    return (FOUND if nearest <= SUPPORT * SUPPORT * h * h else DEEP), -(dot(mean, n) + raised) / total, n


@inline
def distance(field, shapes, s, b, q, square):  # type: ignore[no-untyped-def]
    """(state, f, n, sample) of body b at q: exact, or from the samples around s."""
    if shapes.kind[b] != NO_SHAPE:
        d, n = distance_to(shapes, b, q)
        return FOUND, d, n, s
    if s < 0:
        return LOST, np.inf, (0.0, 0.0, 1.0), s
    s = _around(field, s, q, square)
    state, f, n = _blended(field, s, q, square)
    return state, f, n, s


@parallel
def _distances(field, shapes, queries, other, sample, gap, normal, state):  # type: ignore[no-untyped-def]
    """f and n of body `other` at each query; `sample` holds where to start (-1: no surfel is near) and where it ended."""
    count = len(queries)
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        square = np.empty(field.graph.shape[1])
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, count)):
            state[i], gap[i], n, sample[i] = distance(field, shapes, sample[i], other[i], load(queries, i), square)
            store(normal, i, n)


@kernel
def _lifts(field, lift):  # type: ignore[no-untyped-def]
    """f at the samples themselves."""
    square = np.empty(field.graph.shape[1])
    for i in range(len(lift)):
        s = _around(field, i, load(field.points, i), square)
        state, f, _ = _blended(field, s, load(field.points, i), square)
        lift[i] = f if state == FOUND else 0.0


@kernel
def _facing(surfel, turned, vector, flat, normals, areas, body, shapes, along, out):  # type: ignore[no-untyped-def]
    for r in range(len(surfel)):
        i = surfel[r]
        v = scale(areas[i] * flat[i], load(normals, i))
        if turned[i]:
            v = rotate(load4(shapes.rotation, shapes.frame[body[i]]), load(vector, i))
        shown = max(-dot(v, load(along, r)), 0.0)
        out[r] = shown if flat[i] < CREASED else min(shown / ACROSS, norm(v))
