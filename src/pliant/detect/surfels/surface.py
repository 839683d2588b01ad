"""Surfaces given by samples: points with outward normals and areas.

Pauly, Pai, Guibas 2004 (section 4) and Keiser et al. 2004 (sections 3 and 5) rest on these (theory/point-surfaces). See
docs/point-surfaces.md for what each query costs and where it fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.hash_grid import HashGrid, as_queries
from pliant.detect.penetration import ACROSS
from pliant.detect.surfels.answers import MEDIAL, OFF, Projection
from pliant.detect.surfels.areas import rims
from pliant.detect.surfels.clean import LEAST
from pliant.detect.surfels.clusters import Level, Spheres, level_of
from pliant.detect.surfels.creases import AMONG, SIDES, Creases, creases, ended, met, smooth
from pliant.detect.surfels.neighbours import KDTree, Neighbours
from pliant.detect.surfels.projection import BLUR, OPPOSITE, QUADRIC, STEPS, SURE, Samples, implicit_all, project_all
from pliant.detect.surfels.scan_normals import suspects, unit
from pliant.detect.surfels.signed_distance import in_front, signed_distance
from pliant.detect.surfels.winding import Moments, winding_number
from pliant.kernels import contiguous, use_threads

NEIGHBOURS = 52  # samples within 4 spacings of a sample on a regular surface
OPPOSED_AMONG = 8  # nearest samples among which opposed ones are looked for
METHODS = ("mls", "rounded", "aa")


@dataclass(frozen=True)
class PointSurface:
    """Samples of a surface, in the coordinates of their body. Queries (m, 3) are in the same; `Posed` asks in the world's."""

    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3) outward, length 1
    areas: Floats  # (n,) [m^2] that each sample stands for
    width: float = 1.0  # h = width * spacing, the width of the weights exp(-d^2 / 2 h^2)
    source: Ints | None = None  # (n,) row of the input that each sample came from
    variation: Floats | None = None  # (n,) surface variation, where normals were estimated
    notes: tuple[str, ...] = ()  # what making it had to decide
    moving: bool = False  # samples move: search with a grid in place of a k-d tree
    given: Ints | None = field(default=None, repr=False)  # (n, K) neighbours, if they are known already
    first: PointSurface | None = field(default=None, repr=False)  # the same samples before they moved, which know the sharp edges

    def __post_init__(self) -> None:
        points, normals = contiguous(self.points).reshape(-1, 3), contiguous(self.normals).reshape(-1, 3)
        areas = contiguous(self.areas).reshape(-1)
        if not len(points) == len(normals) == len(areas):
            raise PliantError(f"{len(points)} points of a surface need as many normals and areas, not {len(normals)} and {len(areas)}.")
        if len(points) < LEAST:
            raise PliantError(f"a point surface needs at least {LEAST} different points, not {len(points)}.")
        if not np.isfinite(points).all() or not (np.isfinite(areas) & (areas > 0.0)).all():
            raise PliantError("a point surface has points or areas that are not finite, or areas that are not above zero.")
        if not self.width > 0.0:
            raise PliantError(f"the width of the weights must be above zero spacings, not {self.width}.")
        for name, value in (("points", points), ("normals", unit(normals, "a point surface")), ("areas", areas)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.points)

    # Built when first asked for ---------------------------------------------------------------------------------------

    @cached_property
    def search(self) -> Neighbours:
        return HashGrid(self.points) if self.moving else KDTree(self.points)

    @cached_property
    def graph(self) -> Ints:
        """(n, K) each sample and its K - 1 nearest, by distance."""
        return self.given if self.given is not None else self.search.nearest(self.points, min(NEIGHBOURS, len(self)))[1]

    @cached_property
    def spacing(self) -> Floats:
        """(n,) [m] l = sqrt(A)."""
        return np.sqrt(self.areas)

    @cached_property
    def reach(self) -> Floats:
        """(n,) [m] distance of the farthest of a sample's neighbours."""
        return np.linalg.norm(self.points[self.graph[:, -1]] - self.points, axis=1)

    @cached_property
    def sag(self) -> Floats:
        """(n,) [m] how far the nearest neighbours of a sample are off its plane, at most: so far may the surface between them be."""
        way = self.points[self.graph[:, 1:AMONG]] - self.points[:, None]
        return np.asarray(np.abs(np.einsum("nkj,nj->nk", way, self.normals)).max(axis=1, initial=0.0))

    def _samples(self, own: np.ndarray) -> Samples:
        return Samples(self.points, self.normals, self.spacing, self.reach, self.graph, own, float(self.width))

    @cached_property
    def _smooth(self) -> Creases:
        return smooth(self.graph)

    @cached_property
    def _rims(self) -> tuple[np.ndarray, Floats]:
        return rims(self.points, self.normals, self.graph)

    @property
    def rim(self) -> np.ndarray:
        """(n,) whether a sample lies on the rim of a hole or of the surface."""
        return self._rims[0]

    @cached_property
    def suspect(self) -> np.ndarray:
        """(n,) whether a normal is opposed to those of most neighbours."""
        return suspects(self.normals, self.graph)

    @cached_property
    def creases(self) -> Creases:
        """The sharp edges, as they were where samples were given first."""
        return creases(self.points, self.normals, self.graph, self._foretold) if self.first is None else self.first.creases

    @property
    def sharp(self) -> np.ndarray:
        """(n,) whether a sample lies on a sharp edge, so that its normal is a mean of two sides, or right beside one."""
        return self.creases.sharp

    @cached_property
    def spheres(self) -> Spheres:
        return Spheres.build(self.points)

    @cached_property
    def _moments(self) -> Moments:
        return Moments.of(self.spheres, self.points, self.normals, self.areas)

    @property
    def area(self) -> float:
        """[m^2]"""
        return float(self.areas.sum())

    @property
    def volume(self) -> float:
        """[m^3] sum A x.n / 3 about the centroid; the enclosed volume if the surface is closed."""
        centre = np.average(self.points, axis=0, weights=self.areas)
        return float(self.areas @ np.einsum("ij,ij->i", self.points - centre, self.normals)) / 3.0

    def moved(self, points: Floats, normals: Floats | None = None, areas: Floats | None = None) -> PointSurface:
        """The same samples elsewhere: neighbours and the tree are kept, spheres refitted, searches go through a grid."""
        normals = self.normals if normals is None else normals
        areas = self.areas if areas is None else areas
        new = replace(self, points=points, normals=normals, areas=areas, given=self.graph, moving=True, first=self.first or self)
        if "spheres" in self.__dict__:
            new.__dict__["spheres"] = self.spheres.refitted(new.points)
        return new

    def level(self, size: int) -> Level:
        """Clusters of at most `size` samples, each with a representative on the surface."""
        return level_of(self, size)

    # Queries ----------------------------------------------------------------------------------------------------------

    def nearest(self, points: Floats) -> Ints:
        """(m,) nearest sample."""
        return self.search.nearest(points, 1)[1][:, 0]

    def project(
        self,
        points: Floats,
        method: str = "mls",
        step: str = "almost orthogonal",
        *,
        start: Ints | None = None,
        width: float = 0.0,
        medial: bool = False,
    ) -> Projection:
        """Feet of queries on the surface.

        method   mls: quadric moving least squares, sides of sharp edges one by one; rounded: across edges, as published; aa: Alexa and
                 Adamson's implicit surface
        step     of aa: simple, almost orthogonal, orthogonal
        start    (m,) `sample` of the last projection of the same queries: no search, and feet stay on the sheet they were on
        width    [m] a constant width h in place of one that follows the spacing
        medial   also look for queries that another part of the surface is as near to (one search by radius)
        """
        points = as_queries(points)
        if method not in METHODS or step not in STEPS:
            raise PliantError(f"projection '{method}', '{step}' is not known; methods: {', '.join(METHODS)}; steps: {', '.join(STEPS)}.")
        edges = self.creases if method == "mls" else self._smooth
        found = self._fitted(points, *self._first(points, start), edges.own, width, STEPS[step] if method == "aa" else QUADRIC)
        beside = np.flatnonzero(edges.sides[found.sample, 0] >= 0)
        if len(beside):
            near = self._between_sides(points[beside], edges.sides[found.sample[beside]], edges, width)
            good = near.valid | ~found.valid[beside]  # sides of tips that are sampled coarsely may have no foot
            for name in ("points", "normals", "distance", "sample", "flags"):
                getattr(found, name)[beside[good]] = getattr(near, name)[good]
        if medial:
            found.flags[self._medial(points, found.points, found.normals)] |= MEDIAL
        return found

    def _fitted(
        self, points: Floats, sample: Ints, foot: Floats, own: np.ndarray, width: float = 0.0, mode: int = QUADRIC, left: Ints | None = None
    ) -> Projection:
        """Feet on the side of edges that samples (m,) are on; iteration begins at `foot`, samples `left` (m,) have no say."""
        normals, flags, taken = np.empty_like(points), np.empty(len(points), np.int64), np.empty(len(points), np.int64)
        use_threads(50 * len(points))
        left = np.full(len(points), -1) if left is None else left
        project_all(self._samples(own), self._rims[1], float(width), mode, points, left, foot, sample, normals, flags, taken)
        return Projection(foot, normals, in_front(points, foot, normals), sample, flags, taken)

    def _between_sides(self, points: Floats, side: Ints, edges: Creases, width: float = 0.0, left: Ints | None = None) -> Projection:
        """Feet on the solid between the sides that some samples (m, 3) are on, -1 for none."""
        there, side = side >= 0, np.where(side >= 0, side, side[:, :1])
        found = [self._fitted(points, *self._first(points, side[:, k]), edges.own, width, left=left) for k in range(SIDES)]
        first, foot, normals, edge, outwards = met(found, points, self.points[side], self.normals[side], there)
        if left is None:
            near, turn = self.graph[self.nearest(points)][:, : AMONG + 1], outwards[:, None]
            ends = edges.ends[near] & (turn != 0)
            far = outwards * in_front(points, foot, normals)
            row, place = ended(points, self.points[near], turn[..., None] * self.normals[near], ends, far)
            end = near[row, place]
            foot[row] = points[row] - in_front(points[row], self.points[end], self.normals[end])[:, None] * self.normals[end]
            normals[row], edge[row] = self.normals[end], True
        flags, sample = np.stack([each.flags for each in found], axis=1)[np.arange(len(points)), first], self.nearest(foot)
        beyond, spacing = foot - self.points[sample], self.spacing[sample]  # of any sample, also one on the edge or of another side
        far = (np.einsum("ij,ij->i", beyond, self._rims[1][sample]) > BLUR * spacing) | (np.linalg.norm(beyond, axis=1) > SURE * spacing)
        flags = np.where(edge, 0, flags & ~OFF) + np.where(far, OFF, 0)
        return Projection(foot, normals, in_front(points, foot, normals), sample, flags, found[0].iterations)

    def left_out(self) -> PointSurface:
        """The same samples where the others say that the surface is; those of which they do not say stay."""
        found = self._others(np.arange(len(self)), self.creases)
        return replace(self, points=np.where(found.valid[:, None], found.points, self.points), given=self.graph)

    def _foretold(self, rows: Ints, edges: Creases) -> Floats:
        """(m,) [m] how far some samples are from where the others say that the surface is; a spacing where they do not say."""
        found = self._others(rows, edges)
        return np.where(found.valid, np.linalg.norm(found.points - self.points[rows], axis=1), self.spacing[rows])

    def _others(self, rows: Ints, edges: Creases) -> Projection:
        """Feet of some samples on the surface of the others."""
        points, near = self.points[rows], self.graph[rows]
        same = edges.own[rows] & (np.einsum("ij,ikj->ik", self.normals[rows], self.normals[near]) > OPPOSITE)
        same[:, 0] = False
        other = near[np.arange(len(rows)), same.argmax(axis=1)]  # the nearest on its side
        found = self._fitted(points, *self._first(points, other), edges.own, left=rows)
        beside = np.flatnonzero(edges.sides[rows, 0] >= 0)
        if len(beside):
            side = edges.sides[rows[beside]]
            side = np.where(side == rows[beside, None], other[beside, None], side)
            between = self._between_sides(points[beside], side, edges, left=rows[beside])
            for name in ("points", "normals", "distance", "sample", "flags"):
                getattr(found, name)[beside] = getattr(between, name)
        return found

    def _first(self, points: Floats, start: Ints | None) -> tuple[Ints, Floats]:
        """(samples, feet) to start from: on the planes of the nearest samples, or of the last ones."""
        if start is None:
            sample = self._facing(points) if self._thin else self.nearest(points)
        elif len(start) != len(points) or (len(start) and not (0 <= start.min() and start.max() < len(self))):
            raise PliantError(f"{len(points)} queries cannot start from these {len(start)} samples of a surface of {len(self)}.")
        else:
            sample = np.array(start, dtype=np.int64)
        normal = self.normals[sample]
        return sample, points - np.einsum("ij,ij->i", points - self.points[sample], normal)[:, None] * normal

    @cached_property
    def _thin(self) -> bool:
        """Whether any sample has an opposed one among its nearest."""
        near = self.graph[:, 1 : OPPOSED_AMONG + 1]
        return bool((np.einsum("ij,ikj->ik", self.normals, self.normals[near]) <= OPPOSITE).any())

    def _facing(self, points: Floats) -> Ints:
        """(m,) nearest sample, or the nearest opposed one if their planes disagree on the side and its plane is nearer.

        Where a sheet or a crevice is thinner than the spacing, the nearest sample may be on the wrong side of it.
        """
        near = self.search.nearest(points, min(OPPOSED_AMONG, len(self)))[1]
        normals = self.normals[near]
        height = np.einsum("ikj,ikj->ik", points[:, None] - self.points[near], normals)
        opposed = np.einsum("ikj,ij->ik", normals, normals[:, 0]) <= OPPOSITE
        other, row = opposed.argmax(axis=1), np.arange(len(points))
        swap = opposed[row, other] & (height[:, 0] * height[row, other] < 0.0) & (np.abs(height[row, other]) < np.abs(height[:, 0]))
        return np.where(swap, near[row, other], near[:, 0])

    def _medial(self, points: Floats, foot: Floats, normals: Floats) -> np.ndarray:
        """Whether samples with a quite different normal are nearly as near as the foot: two feet, so the distance has a kink."""
        distance = np.linalg.norm(points - foot, axis=1)
        slack = BLUR * self.spacing[self.nearest(foot)]
        start, found = self.search.within(points, distance + slack)
        row = np.repeat(np.arange(len(points)), np.diff(start))
        other = np.einsum("ij,ij->i", self.normals[found], normals[row]) < ACROSS
        deep = distance[row] > slack[row]  # nearer the foot is plainly the nearest
        return np.bincount(row[other & deep], minlength=len(points)) > 0

    def implicit(self, points: Floats, width: float = 0.0) -> tuple[Floats, Floats]:
        """f (m,) [m] and its gradient (m, 3) of Alexa and Adamson's implicit surface, h held fixed; NaN beyond all weights."""
        points = as_queries(points)
        value, gradient = np.empty(len(points)), np.empty_like(points)
        implicit_all(self._samples(self._smooth.own), float(width), points, self.nearest(points), value, gradient)
        return value, gradient

    def fast_distance(self, points: Floats) -> Floats:
        """(m,) [m] in front of the plane of the nearest sample: error about l^2 / R, wrong sides near sharp edges."""
        points = as_queries(points)
        sample = self.nearest(points)
        return in_front(points, self.points[sample], self.normals[sample])

    def winding(self, points: Floats, opening: float | None = None) -> Floats:
        """(m,) generalised winding number: 1 inside, 0 outside; only beyond two spacings from the surface."""
        return winding_number(self.spheres, self._moments, self.points, self.normals, self.areas, points, opening)

    def signed_distance(self, points: Floats) -> Floats:
        """(m,) [m] by projection; beyond two spacings, and where the foot is not on the surface, the winding number decides the side."""
        return signed_distance(self, points)
