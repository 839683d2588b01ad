"""From coarse to fine (theory/quasi-rigid 11): levels of an object, their elastic matrix, and pressure carried to the next finer one.

A level stands for clusters of at most 8, 32, 128, ... samples, each with a representative on the surface. 40 to 100 nodes in contact give
the force to 1-3 %. A cluster carries a constant pressure. Its force acts on the surface as those of its samples together, so that the
matrix is
    K_IJ = sum_i sum_j w_i w_j g(d_ij; tau_i^2 + tau_j^2),   w = A_i / A_I,
which is Galerkin's restriction of the matrix of all samples. Near clusters are summed so; clusters farther apart act as one blob each,
at the centre of area and with the variance of their samples.

One blob of the cluster's area for near clusters too, as for samples, is wrong where pushes cancel: volume preserving with b far below the
size of the contact then loses 14, 24 and 36 % of the force on three levels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array

from pliant.base import Floats, Ints
from pliant.contact.elastic.gaussian_blobs import blobs, node_at, row_at
from pliant.contact.elastic.operators import Dense, Operator, of_blobs
from pliant.contact.elastic.response import Response
from pliant.detect.surfels.clusters import Level
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.near import kd_tree
from pliant.kernels import contiguous, kernel

if TYPE_CHECKING:
    from pliant.contact.elastic.side import Side

CORNERS = 6  # coarse nodes that a fine one takes its pressure from
RIM = 0.1  # of the largest force: less, carried over from coarse nodes, is beyond the rim (else `rest` takes 1.7 times as long)
SIZES = (8, 32, 128, 512)  # samples of a cluster
LEAST = 150  # clusters of the coarsest level
NEAR = 2.5  # spacings: nodes that are neighbours, clusters whose samples are summed, samples of surfaces that cross
MEMBERS = 32  # most parts of a cluster


@dataclass(frozen=True)
class Parts:
    """What the clusters of a level consist of: samples, or in large clusters small clusters of them. In body coordinates."""

    nodes: Floats  # (4, m) blobs: centres of area and variances
    areas: Floats  # (m,) [m^2]
    start: Ints  # (c + 1,) those of each cluster
    known: dict[bytes, csr_array] = field(default_factory=dict, repr=False)  # `near` by response

    def near(self, response: Response) -> csr_array:
        """K between near clusters of the level; computed once, because rigid motions do not change it."""
        key = b"".join(part.tobytes() for part in response.code)
        if key not in self.known:
            total = np.add.reduceat(self.areas, self.start[:-1])
            weight = self.areas / np.repeat(total, np.diff(self.start))
            self.known[key] = near_clusters(Members(self.nodes, weight, self.start, total), response)
        return self.known[key]

    @classmethod
    def of(cls, surface: PointSurface, level: Level, size: int) -> Parts:
        """Of clusters of at most `size` samples."""
        samples, areas = level.samples, surface.areas[level.samples]
        nodes = blobs(surface.points[samples], areas)
        if size <= MEMBERS:
            return cls(nodes, areas, level.start)
        cluster = np.repeat(np.arange(len(level.areas)), np.diff(level.start))
        order = np.arange(len(samples)) - level.start[cluster]
        piece = cluster * size + order // (size // MEMBERS)  # runs of the tree's order, which are near each other
        _, first = np.unique(piece, return_index=True)
        total = np.add.reduceat(areas, first)
        centre = np.add.reduceat(areas * nodes[:3], first, axis=1) / total
        owner = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(piece))))
        spread = areas * (0.5 * np.sum((nodes[:3] - centre[:, owner]) ** 2, axis=0) + nodes[3])
        start = np.searchsorted(first, level.start)
        return cls(contiguous(np.vstack([centre, np.add.reduceat(spread, first) / total])), total, start)


@dataclass(frozen=True)
class Members:
    """The samples of some clusters, one cluster after another."""

    nodes: Floats  # (4, m) blobs
    weight: Floats  # (m,) parts of the clusters' areas
    first: Ints  # (n + 1,)
    area: Floats  # (n,) [m^2]
    level: tuple[Parts, Ints] | None = None  # the clusters in their level, if they are as they are there

    @classmethod
    def of(cls, side: Side, sample: Ints, shift: Floats, halves: int) -> Members:
        """Of nodes of a side, moved by shift (n, 3), with their areas divided by halves; a node of no cluster is its own sample."""
        assert side.nodes is not None
        parts = side.parts
        if parts is None:
            parts = Parts(blobs(side.nodes.points, side.nodes.areas), side.nodes.areas, np.arange(len(side.nodes) + 1))
        count = parts.start[sample + 1] - parts.start[sample]
        first = np.concatenate([[0], np.cumsum(count)])
        chosen = np.arange(first[-1]) + np.repeat(parts.start[sample] - first[:-1], count)
        cluster = np.repeat(np.arange(len(sample)), count)
        area = parts.areas[chosen] / halves
        total = np.bincount(cluster, area, minlength=len(sample)).astype(np.float64)
        points = side.world(parts.nodes[:3, chosen].T) + shift[cluster]
        nodes = contiguous(np.vstack([points.T, parts.nodes[3, chosen]]))
        return cls(nodes, area / total[cluster], first, total, (parts, sample) if halves == 1 and side.parts is not None else None)

    @classmethod
    def joined(cls, one: Members, two: Members) -> Members:
        first = np.concatenate([one.first, one.first[-1] + two.first[1:]])
        nodes = contiguous(np.concatenate([one.nodes, two.nodes], axis=1))
        return cls(nodes, np.concatenate([one.weight, two.weight]), first, np.concatenate([one.area, two.area]))

    def at(self, clusters: Ints) -> Members:
        """Of some of the clusters."""
        count = self.first[clusters + 1] - self.first[clusters]
        first = np.concatenate([[0], np.cumsum(count)])
        chosen = np.arange(first[-1]) + np.repeat(self.first[clusters] - first[:-1], count)
        level = None if self.level is None else (self.level[0], self.level[1][clusters])
        return Members(contiguous(self.nodes[:, chosen]), self.weight[chosen], first, self.area[clusters], level)

    def near(self, response: Response) -> csr_array:
        """K between near clusters."""
        if self.level is None:
            return near_clusters(self, response)
        parts, clusters = self.level
        return parts.near(response)[clusters][:, clusters]

    @cached_property
    def blobs(self) -> Floats:
        """(4, n) one for each cluster: centre of area, and variance."""
        cluster = np.repeat(np.arange(len(self.area)), np.diff(self.first))
        centre = np.stack([np.bincount(cluster, self.weight * x, minlength=len(self.area)) for x in self.nodes[:3]])
        spread = 0.5 * np.sum((self.nodes[:3] - centre[:, cluster]) ** 2, axis=0) + self.nodes[3]
        return contiguous(np.vstack([centre, np.bincount(cluster, self.weight * spread, minlength=len(self.area))]))


def between_clusters(members: Members, response: Response, tolerance: float, ridge: float = 0.0) -> Operator:
    """K of clusters [m/N]."""
    nodes = members.blobs
    K, near = of_blobs(nodes, response, tolerance=tolerance, ridge=ridge), members.near(response).tocoo()
    i, j = near.coords
    if isinstance(K, Dense):
        K.matrix[i, j] = near.data
        K.matrix[np.diag_indices(K.size)] *= 1.0 + ridge
        return K
    distance = np.linalg.norm(nodes[:3, i] - nodes[:3, j], axis=0)
    change = near.data - response.g(distance, nodes[3, i] + nodes[3, j])
    return Corrected(K, coo_array((change, (i, j)), shape=(K.size, K.size)).tocsr())


def near_clusters(members: Members, response: Response) -> csr_array:
    """Sums over the samples of clusters that are near each other."""
    x, spacing = members.blobs[:3], np.sqrt(members.area)
    pairs = kd_tree(x.T).query_pairs(NEAR * float(spacing.max()), output_type="ndarray")
    far = np.linalg.norm(x[:, pairs[:, 0]] - x[:, pairs[:, 1]], axis=0)
    pairs = pairs[far <= NEAR * np.max(spacing[pairs], axis=1)]
    own = np.repeat(np.arange(len(spacing)), 2).reshape(-1, 2)
    all_pairs = contiguous(np.concatenate([own, pairs]), np.int64)
    exact = np.empty(len(all_pairs))
    longest = int(np.max(np.diff(members.first)))
    _summed(members.nodes, members.weight, contiguous(members.first, np.int64), all_pairs, *response.code, np.empty(longest), exact)
    both = np.concatenate([all_pairs, pairs[:, ::-1]]).T
    return coo_array((np.concatenate([exact, exact[len(own) :]]), (both[0], both[1])), shape=(len(spacing),) * 2).tocsr()


@dataclass(frozen=True)
class Corrected:
    """An operator and what is added to some of its entries."""

    K: Operator
    near: csr_array = field(repr=False)

    @property
    def size(self) -> int:
        return self.K.size

    @cached_property
    def diagonal(self) -> Floats:
        return self.K.diagonal + self.near.diagonal()

    def __matmul__(self, force: Floats) -> Floats:
        return np.asarray(self.K @ force + self.near @ force)

    def block(self, nodes: Ints) -> Floats:
        return np.asarray(self.K.block(nodes) + self.near[nodes][:, nodes].toarray())


@kernel
def _summed(nodes, weight, first, pairs, terms, tables, scratch, out):  # type: ignore[no-untyped-def]
    """Weighted sums over the samples of pairs of clusters."""
    for k in range(len(pairs)):
        a, b, total = pairs[k, 0], pairs[k, 1], 0.0
        for i in range(first[a], first[a + 1]):
            row_at(nodes, node_at(nodes, i), terms, tables, first[b], first[b + 1], scratch)
            for j in range(first[b + 1] - first[b]):
                total += weight[i] * weight[first[b] + j] * scratch[j]
        out[k] = total


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


def carried(points: Floats, areas: Floats, force: Floats, finer: Floats, finer_areas: Floats) -> Floats:
    """Forces [N] on finer nodes with the pressure of coarse ones, by Shepard's weights 1/d^2: a start for `solve`."""
    distance, near = kd_tree(points).query(finer, k=min(CORNERS, len(points)), workers=1)
    distance, near = distance.reshape(len(finer), -1), near.reshape(len(finer), -1)
    weight = 1.0 / np.maximum(distance**2, 1e-12 * np.max(distance**2, initial=1e-300))
    coarse = (force / np.broadcast_to(areas, (len(points),)))[near]
    return np.broadcast_to(finer_areas, (len(finer),)) * np.sum(weight * coarse, axis=1) / np.sum(weight, axis=1)


def within_rim(force: Floats) -> Floats:
    """Forces that were carried over, without those beyond the rim of the contact."""
    return np.where(force >= RIM * np.max(force, initial=0.0), force, 0.0)
