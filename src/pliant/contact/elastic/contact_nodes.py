"""The nodes of the contact problem of two objects: which samples can carry force, how the surfaces meet there, and their elastic matrix.

Nodes are samples of one object inside the other and a margin around them, found down the trees of spheres (theory/quasi-rigid 6.1, 8).
Samples whose foot is not on the other surface (in a hole, or lost) are left out, and so are those whose normal does not oppose that of the
foot: n_A.n_B > -0.2 means a steep wall or the far side of a thin part. Both are counted. A response that lifts the surface around a dent
adds nodes to the next problem (theory/quasi-rigid 6.4).

Nodes move, and forces act, along C_B n_A - C_A n_B (theory/quasi-rigid 7.1). Where nodes of both objects take part, each with half its
area (theory/quasi-rigid 7.3), they are moved to where the surfaces will meet.

The elastic matrix of the nodes of a contact.

Opposite sides of a thin part are near through the body, not along the surface: such groups of nodes do not feel each other and have an
elastic matrix each (theory/quasi-rigid 8). On levels coarser than the samples, nodes are clusters of them (coarse_to_fine.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic import lcp
from pliant.contact.elastic.coarse_to_fine import NEAR, Members, between_clusters
from pliant.contact.elastic.gaussian_blobs import blobs, displacement
from pliant.contact.elastic.operators import Blockwise, Operator, elastic
from pliant.contact.elastic.pressure import share_of
from pliant.contact.elastic.response import Response, Sum
from pliant.contact.elastic.side import Side
from pliant.detect.surfels.active import Active, active_against_exact, active_samples
from pliant.detect.surfels.answers import Projection
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.components import labels
from pliant.geometry.near import kd_tree
from pliant.kernels import contiguous, dot, kernel, load, sub

Displaced = Callable[[Floats, Floats, Floats, Response], Floats]
FACING = 0.2  # least cosine between normals of surfaces that face each other
DEEPEST = 0.3  # of the smaller object: how deep in the other and how far above it samples are looked for
MARGIN = 0.5  # of the depth: samples outside that take part at once, where a push can lift the surface
AT_END = 0.8  # of how far was looked: what is found beyond tells to look twice as far
RIDGE = 0.06  # of the diagonal, where nodes of both sides lie among each other: they then share the force
AROUND = 9  # neighbours of a node, and itself
SPIKE = 0.5  # displacement times curvature above which a part is too thin to be trusted
NODE_ARRAYS = ("owner", "sample", "points", "normals", "areas", "gap", "facing", "start", "rise")

Pair = tuple[Side, Side]


@dataclass(frozen=True)
class Nodes:
    """Samples near the other object, with their feet there; all in world coordinates."""

    owner: Ints  # (n,) 0: a sample of A, 1: of B
    sample: Ints  # (n,)
    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3) outward
    areas: Floats  # (n,) [m^2]
    gap: Floats  # (n,) [m] signed distance to the other surface
    facing: Floats  # (n, 3) normals of the other surface at the feet
    start: Ints  # (n,) nearest samples of the feet; -1 for exact shapes
    rise: Floats  # (n,) [m] what `gap` has more than the distance of the node's middle, where nodes of two sizes take part
    steep: int = 0  # overlapping samples left out because they do not face the other surface
    off: int = 0  # overlapping samples left out because their foot is in a hole or undefined

    def __len__(self) -> int:
        return len(self.sample)

    def at(self, chosen: Ints | np.ndarray) -> Nodes:
        """Some of them."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in NODE_ARRAYS})

    @property
    def depth(self) -> float:
        """[m] of the deepest node."""
        return max(float(-np.min(self.gap, initial=0.0)), 0.0)

    def places(self, other: Nodes) -> Ints:
        """Where nodes of another list are in this one, -1 if they are not."""
        return _places(self.owner, self.sample, other)


def _places(owner: Ints, sample: Ints, wanted: Nodes) -> Ints:
    one, two = 2 * sample + owner, 2 * wanted.sample + wanted.owner
    order = np.argsort(one, kind="stable")
    place = np.minimum(np.searchsorted(one[order], two), len(one) - 1)
    return np.where(one[order][place] == two, order[place], -1) if len(one) else np.full(len(two), -1)


def mapped(owner: Ints, sample: Ints, values: Floats, nodes: Nodes) -> Floats:
    """Values known for some samples at nodes, 0 where they are not known."""
    place = _places(owner, sample, nodes)
    return np.where(place >= 0, values[place], 0.0)


# ------------------------------------------------------------------------------------------------------------------------ finding nodes


def master(a: Side, b: Side) -> int:
    """Which side's nodes carry the forces: the finer, or the only one that has samples."""
    if a.nodes is None and b.nodes is None:
        raise PliantError("Neither object has samples: at least one must be a PointSurface, or have `samples`.")
    if a.nodes is None or b.nodes is None:
        return 1 if a.nodes is None else 0
    return int(b.nodes.area / len(b.nodes) < a.nodes.area / len(a.nodes))


def gather(sides: Pair, owners: tuple[int, ...], margin: float) -> Nodes:
    """Nodes of some sides nearer than margin [m] to the inside of the other."""
    found = [active(sides[i], sides[1 - i], margin, i) for i in owners]
    joined = {name: np.concatenate([getattr(each, name) for each in found]) for name in NODE_ARRAYS}
    nodes = Nodes(**joined, steep=sum(n.steep for n in found), off=sum(n.off for n in found))
    if len(owners) == 1 or any(side.parts is not None for side in sides):
        return nodes
    rise = _over_blobs(sides, nodes)
    return replace(nodes, gap=nodes.gap + rise, rise=rise)


def _over_blobs(sides: Pair, nodes: Nodes) -> Floats:
    """(n,) [m] by how much the mean distance over the blob of a node exceeds that of its middle: tau²/2 times the Laplacian of the
    distance, which is the divergence of the normals of both surfaces.

    Displacements are means over blobs. If distances are not, coarse nodes are pressed deeper than fine ones beside them, and take their
    force.
    """
    out = np.zeros(len(nodes))
    for i, side in enumerate(sides):
        mine = np.flatnonzero(nodes.owner == i)
        one, two = mine[_beside(side, nodes.sample[mine])].T
        way, spread = nodes.points[two] - nodes.points[one], nodes.normals + nodes.facing
        along = np.bincount(one, np.sum(way * (spread[two] - spread[one]), axis=1), len(nodes))
        square = np.bincount(one, np.sum(way * way, axis=1), len(nodes))
        out[mine] = (blobs(nodes.points, nodes.areas)[3] * along / np.maximum(square, 1e-300))[mine]
    return out


def active(mine: Side, other: Side, margin: float, owner: int = 0) -> Nodes:
    """Nodes of one side nearer than `margin` [m] to the inside of the other."""
    if mine.nodes is None:
        raise PliantError("an exact shape has no samples that could carry forces: give it `samples`, or let the other object carry them.")
    turn, shift = other.rotation.T @ mine.rotation, other.rotation.T @ (mine.translation - other.translation)
    if isinstance(other.shape, Exact):
        found = active_against_exact(mine.nodes, other.shape, rotation=turn, translation=shift, margin=margin)
    else:
        found = _inside(mine, other, turn, shift, margin)
    sample = found.sample
    points, normals = mine.world(mine.nodes.points[sample]), mine.normals(sample)
    feet = other.project(points)
    facing = np.sum(normals * feet.normals, axis=1) <= -FACING
    inside = feet.distance < 0.0
    known = feet.valid
    if isinstance(other.shape, PointSurface):  # a side that goes on beyond its edge can be anywhere: neighbours bound where the surface is
        known = known & (feet.distance >= found.distance - (1.0 + lcp.CLOSE) * other.shape.sag[found.nearest])
    points, normals, areas, gap, towards = _at_edges(mine, other, sample, points, normals, feet)
    nodes = Nodes(
        np.full(len(sample), owner), sample, points, normals, areas, gap, towards, feet.sample, np.zeros(len(sample)),
        int(np.count_nonzero(inside & ~facing)), int(np.count_nonzero(inside & facing & ~known)),
    )  # fmt: skip
    return nodes.at(np.flatnonzero(facing & known & (gap < margin)))


def _at_edges(
    mine: Side, other: Side, sample: Ints, points: Floats, normals: Floats, feet: Projection
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """(points, normals, areas, distances, normals at the feet) of nodes: a sample on a sharp edge has no normal of its own, but that of the
    surface opposite.

    Its own is a mean of two sides, along which a rigid punch would push outwards at its rim. What faces the partner of the area that it
    stands for is A cos²: both sides have half of it, as seen along the mean. Its middle is not on the edge: a strip half a spacing wide
    has it a quarter inside, a square in a corner a quarter along both edges (theory/quasi-rigid 7.5).
    """
    assert mine.nodes is not None
    areas, gap, towards = mine.nodes.areas[sample], feet.distance, feet.normals
    edge, blunt = mine.nodes.sharp[sample], np.ones(len(sample), bool)
    if isinstance(other.shape, PointSurface):
        blunt = ~other.shape.sharp[feet.sample]
        towards = np.where((~blunt & ~edge)[:, None], -normals, feet.normals)
    edge &= blunt  # where both are sharp neither has a normal to lend
    cosine = -np.sum(normals * feet.normals, axis=1)
    rim = np.flatnonzero(edge & (cosine > FACING))
    if len(rim):
        points, gap = points.copy(), gap.copy()
        tangent = normals[rim] / cosine[rim, None] + feet.normals[rim]
        points[rim] -= 0.25 * np.sqrt(areas[rim, None]) * tangent
        gap[rim] = other.project(points[rim], feet.sample[rim]).distance
        areas = np.where(edge, areas * cosine**2, areas)
        normals = np.where(edge[:, None], -feet.normals, normals)
    return points, normals, areas, gap, towards


def _inside(mine: Side, other: Side, turn: Floats, shift: Floats, margin: float) -> Active:
    """Samples inside a sampled surface: looked for twice as deep as long as some are nearly as deep as was looked.

    The first look must find the rim of a deep overlap, so it is some spacings wide. It goes by the plane of the nearest sample, which the
    surface may be off by as much as its neighbours are: what overlaps is known from the feet, later.
    """
    assert mine.nodes is not None and isinstance(other.shape, PointSurface)
    most = DEEPEST * min(mine.size, other.size)
    reach = min(NEAR * sum(math.sqrt(surface.area / len(surface)) for surface in (mine.nodes, other.shape)), most)
    while True:
        found = active_samples(mine.nodes, other.shape, reach + margin, rotation=turn, translation=shift, margin=margin + other.shape.sag)
        if -np.min(found.distance, initial=0.0) < AT_END * reach or reach >= most:
            return found
        reach *= 2.0


def ringed(sides: Pair, nodes: Nodes, chosen: Ints) -> Ints:
    """Chosen nodes and those next to them on their surface."""
    found = [chosen]
    for i, side in enumerate(sides):
        mine, around = np.flatnonzero(nodes.owner == i), chosen[nodes.owner[chosen] == i]
        if len(mine):
            assert side.nodes is not None
            near = np.zeros(len(side.nodes), bool)
            near[side.nodes.graph[nodes.sample[around], :AROUND]] = True
            found.append(mine[near[nodes.sample[mine]]])
    return np.unique(np.concatenate(found))


# ------------------------------------------------------------------------------------------------------------ the two objects together


def joint_response(sides: Pair) -> Response:
    """The response of both."""
    found = [side.response for side in sides if side.response is not None]
    return found[0] if len(found) == 1 else Sum(tuple(found))


def shares(sides: Pair, u: Floats, nodes: Floats, force: Floats) -> tuple[Floats, Floats]:
    """How far each of the two gave way of u [m] together."""
    a, b = sides
    if a.response is None or b.response is None:
        return (np.zeros_like(u), u) if a.response is None else (u, np.zeros_like(u))
    (one, no), (two, none) = a.response.code, b.response.code
    if len(no) == len(none) == 0 and one.shape == two.shape and np.array_equal(one[:, 1:], two[:, 1:]):
        part = a.compliance / (a.compliance + b.compliance)
        if np.allclose(one[:, 0], part * (one[:, 0] + two[:, 0]), rtol=1e-12):
            return part * u, (1.0 - part) * u
    mine = displacement(nodes, np.ascontiguousarray(nodes[:, force > 0.0]), force[force > 0.0], a.response)
    return mine, u - mine


def contact_normals(sides: Pair, owner: Ints, mine: Floats, facing: Floats) -> Floats:
    """Unit vectors from A to B, C_B n_A - C_A n_B: the softer takes the shape of the harder."""
    of_b = (owner == 1)[:, None]
    n_a, n_b = np.where(of_b, facing, mine), np.where(of_b, mine, facing)
    n = sides[1].compliance * n_a - sides[0].compliance * n_b
    return n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)


def slant(n: Floats, facing: Floats) -> Floats:
    """Cosine between contact normals and those at the feet: a distance over it is the way along the contact normal, which nodes go."""
    return np.maximum(np.abs(np.sum(n * facing, axis=1)), FACING)


def spikes(sides: Pair, owner: Ints, sample: Ints, u: Floats, contact: np.ndarray) -> Ints:
    """Nodes in contact whose displacement exceeds half the radius of curvature, from the normals of their neighbours."""
    found = [np.zeros(0, np.int64)]
    for i in (0, 1):
        side, mine = sides[i], np.flatnonzero((owner == i) & contact)
        if len(mine) and side.nodes is not None:
            near = side.nodes.graph[sample[mine], 1:7]
            turn = np.linalg.norm(side.nodes.normals[near] - side.nodes.normals[sample[mine]][:, None], axis=2)
            far = np.linalg.norm(side.nodes.points[near] - side.nodes.points[sample[mine]][:, None], axis=2)
            curvature = np.mean(turn / np.maximum(far, 1e-300), axis=1)
            found.append(mine[u[mine] * curvature > SPIKE])
    return np.sort(np.concatenate(found))


@dataclass(frozen=True)
class Problem:
    """Nodes whose forces both objects feel."""

    sides: Pair
    nodes: Nodes
    areas: Floats  # half of the samples' areas where nodes of both sides take part
    blobs: Floats
    K: Operator
    ridge: float = 0.0  # part of the diagonal of K that was added to it

    @classmethod
    def of(cls, sides: Pair, nodes: Nodes, response: Response, parts: int) -> Problem:
        """Each side's forces are spread over the whole areas of its samples, so that they cover the surface wherever the other's lie."""
        owner, areas, at = nodes.owner, nodes.areas / parts, nodes.points
        if parts == 2:  # where the surfaces will meet
            c = np.array([sides[0].compliance, sides[1].compliance])
            n = contact_normals(sides, owner, nodes.normals, nodes.facing)
            step = np.where(owner == 0, 1.0, -1.0) * c[owner] / c.sum() * nodes.gap / slant(n, nodes.facing)
            at = at + step[:, None] * n
        outward = np.where((owner == 1)[:, None], -nodes.normals, nodes.normals)
        near, ridge = _neighbours(sides, nodes), RIDGE if parts == 2 else 0.0
        if all(side.parts is None for side in sides):
            K = operator(at, outward, nodes.areas, response, near=near, ridge=ridge)
            return cls(sides, nodes, areas, blobs(at, nodes.areas), K, ridge)
        members = [Members.of(sides[i], nodes.sample[owner == i], (at - nodes.points)[owner == i], parts) for i in np.unique(owner)]
        both = members[0] if len(members) == 1 else Members.joined(*members)
        return cls(sides, nodes, areas, both.blobs, operator(at, outward, nodes.areas, response, both, near, ridge), ridge)

    def added(self, force: Floats) -> Floats:
        """(n,) [m] what the ridge adds to the displacement by forces that are shared: it is to hold back only what differs from them."""
        if self.ridge == 0.0:
            return np.zeros_like(force)
        shared = share_of(np.ascontiguousarray(self.blobs[:3].T), self.areas, force)
        return self.ridge / (1.0 + self.ridge) * self.K.diagonal * shared

    def met(self, force: Floats, u: Floats, facing: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """(contact normals, moved nodes, u_A, u_B)."""
        owner = self.nodes.owner
        u_a, u_b = shares(self.sides, u, self.blobs, force)
        n = contact_normals(self.sides, owner, self.nodes.normals, facing)
        step = np.where(owner == 0, -u_a, u_b)
        return n, self.nodes.points + step[:, None] * n, u_a, u_b

    def feet(self, points: Floats) -> tuple[Floats, Floats, np.ndarray]:
        """(distance, normals, valid) of the nodes, moved to these points, on the surface opposite to their owner's."""
        distance, normals, valid = np.empty(len(points)), np.empty_like(points), np.ones(len(points), bool)
        for i in (0, 1):
            mine = np.flatnonzero(self.nodes.owner == i)
            if len(mine):
                found = self.sides[1 - i].project(points[mine], self.nodes.start[mine])
                distance[mine], normals[mine], valid[mine] = found.distance, found.normals, found.valid
        return distance, normals, valid


def _neighbours(sides: Pair, nodes: Nodes) -> Ints | None:
    """(p, 2) pairs of nodes that are neighbours on their surface; None if nodes of both take part."""
    if len(nodes) == 0 or nodes.owner[0] != nodes.owner[-1]:
        return None
    return _beside(sides[int(nodes.owner[0])], nodes.sample)


def _beside(side: Side, sample: Ints) -> Ints:
    """(p, 2) places in a list of samples of those that are neighbours on their surface."""
    assert side.nodes is not None
    place = np.full(len(side.nodes), -1)
    place[sample] = np.arange(len(sample))
    near = place[side.nodes.graph[sample, 1:AROUND]]
    one = np.broadcast_to(np.arange(len(sample))[:, None], near.shape)
    return np.stack([one[near >= 0], near[near >= 0]], axis=1)


def lifted(
    problem: Problem, found: lcp.Solution, nodes: Nodes, within: Ints, overlap: float, margin: float, displaced: Displaced = displacement
) -> tuple[Ints, bool]:
    """Nodes of the next problem: those that the contact lifts into the partner by more than `overlap` [m], and a ring; and whether to look
    farther out than the margin [m]."""
    rest = np.setdiff1d(np.arange(len(nodes)), within, assume_unique=True)
    at_end = bool(np.any(found.contact & (problem.nodes.gap > AT_END * margin)))
    if len(rest) == 0:
        return within, at_end
    loaded, target = found.contact, blobs(nodes.points[rest], nodes.areas[rest])
    source = np.ascontiguousarray(problem.blobs[:, loaded])
    s = nodes.gap[rest] + displaced(target, source, found.P[loaded], joint_response(problem.sides))
    low = rest[s < -overlap]
    if len(low) == 0:
        return within, at_end
    return np.union1d(within, ringed(problem.sides, nodes, low)), at_end or bool(np.any(nodes.gap[low] > AT_END * margin))


def operator(
    points: Floats, normals: Floats, areas: Floats, response: Response, members: Members | None = None, near: Ints | None = None,
    ridge: float = 0.0,
) -> Operator:  # fmt: skip
    """K of the nodes, or of the clusters that they stand for; in blocks where patches face opposite ways."""
    found = groups(points, normals, areas, near)
    parts = tuple(_one(points, areas, response, members, None if len(found) == 1 else group, ridge) for group in found)
    return parts[0] if len(parts) == 1 else Blockwise(tuple(found), parts)


def _one(points: Floats, areas: Floats, response: Response, members: Members | None, group: Ints | None, ridge: float) -> Operator:
    """K of a group; None: of all."""
    if members is not None:
        return between_clusters(members if group is None else members.at(group), response, lcp.CLOSE, ridge)
    if group is not None:
        points, areas = points[group], areas[group]
    return elastic(points, areas, response, tolerance=lcp.CLOSE, ridge=ridge)


def groups(points: Floats, normals: Floats, areas: Floats, near: Ints | None = None) -> list[Ints]:
    """Nodes by patch; patches are together if their mean normals are within 90 degrees, or both are with a third one.

    near  (p, 2) pairs of neighbours, if they are known
    """
    mean = np.sum(areas[:, None] * normals, axis=0)
    if len(points) < 2 or np.min(normals @ mean) > math.sqrt(0.5) * np.linalg.norm(mean):  # all within 45 degrees: one patch for sure
        return [np.arange(len(points))]
    spacing = np.sqrt(areas)
    pairs = kd_tree(points).query_pairs(NEAR * float(spacing.max()), output_type="ndarray") if near is None else near
    label = np.arange(len(points))
    _connect(contiguous(points), contiguous(normals), spacing, contiguous(pairs, np.int64), label)
    label = np.unique(label, return_inverse=True)[1]
    count = int(label.max()) + 1
    mean = np.stack([np.bincount(label, areas * normals[:, k], minlength=count) for k in range(3)], axis=1)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    joined = labels(count, np.argwhere(mean @ mean.T > 0.0))
    return [np.flatnonzero(joined[label] == i) for i in range(int(joined.max()) + 1)]


@kernel
def _connect(points, normals, spacing, pairs, label):  # type: ignore[no-untyped-def]
    """Label nodes by the first node of their patch: neighbours that are near and face the same way are of one patch."""
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        d = sub(load(points, i), load(points, j))
        reach = NEAR * max(spacing[i], spacing[j])
        if dot(d, d) <= reach * reach and dot(load(normals, i), load(normals, j)) > 0.0:
            while label[i] != i:
                label[i] = label[label[i]]
                i = label[i]
            while label[j] != j:
                label[j] = label[label[j]]
                j = label[j]
            label[max(i, j)] = min(i, j)
    for i in range(len(label)):  # a label is never above its node, so that those before it are final
        label[i] = label[label[i]]
