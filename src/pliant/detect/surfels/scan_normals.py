"""Normals of raw scans: principal axes of neighbourhoods, then one orientation for all of them (theory/point-surfaces 4.1, 4.2).

Hoppe et al. 1992: the normal is the axis along which the k nearest samples spread least; orientation spreads over a spanning tree of the
neighbourhood graph that crosses creases last. Where we differ: an edge is judged by normals mirrored to it as well (`_votes`), and clusters
of samples join by the sum of their votes, not by one edge; on a foot of 1000 points 0.8 % of the normals come out wrong in place of 9 %
(docs/point-surfaces.md). A part's sign is that of the volume sum A x.n / 3 it encloses about its centre, or the one that faces the scanner.

Limitations: nothing here can tell the two sides of a sheet thinner than the spacing, nor a crease sharper than the neighbourhood resolves;
`suspects` points at samples that disagree with most of their neighbours. An open, nearly flat patch encloses no volume: its top keeps
n_z > 0. A cavity inside a solid is turned outwards like a solid of its own.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.detect.surfels.projection import smallest_axis
from pliant.geometry.components import labels
from pliant.kernels import kernel, load, store, sub

SMOOTH, RAW = 16, 32  # neighbours for clean and for noisy scans
NOISY = 0.05  # median surface variation above which neighbourhoods of a scan are not flat, but noisy or thick
LINKS = 12  # neighbours in the graph that carries the orientation
UNSURE = 1e-9  # weight of a vote where the two opinions on a pair differ: it decides only where there is no other
FLAT = 1e-2  # |volume| / area^1.5 below which a component encloses nothing


def principal_normals(points: Floats, graph: Ints, k: int | None = None) -> tuple[Floats, Floats]:
    """(normals (n, 3) of either sign, surface variation (n,)) from the k nearest samples; None: 16, or 32 where the scan is noisy."""
    normals, variation = np.empty_like(points), np.empty(len(points))
    _principal(points, graph, min(k or SMOOTH, graph.shape[1]), normals, variation)
    if k is None and np.median(variation) > NOISY:
        wide, flatter = np.empty_like(points), np.empty(len(points))
        _principal(points, graph, min(RAW, graph.shape[1]), wide, flatter)
        if np.median(flatter) < np.median(variation):  # noise fades in a larger neighbourhood, curvature grows
            return wide, flatter
    return normals, variation


def links(graph: Ints) -> Ints:
    """Pairs (e, 2) of samples joined in the graph that carries the orientation."""
    near = graph[:, 1 : LINKS + 1]
    return np.stack([np.repeat(np.arange(len(graph)), near.shape[1]), near.ravel()], axis=1)


def oriented(points: Floats, normals: Floats, graph: Ints, areas: Floats, eyes: Floats | None = None) -> tuple[Floats, list[str]]:
    """Normals (n, 3) that agree with each other and point outwards, and what could not be decided.

    `eyes` [m]: where the scanner stood, one point or one per sample; preferred to the enclosed volume.
    """
    pairs = links(graph)
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    part, out, notes = labels(len(points), pairs), normals * _agreed(len(points), pairs, _votes(points, normals, pairs))[:, None], []
    for p in range(int(part.max()) + 1):
        own = np.flatnonzero(part == p)
        top = out[own[np.argmax(points[own, 2])], 2]
        out[own] *= -1.0 if top < 0.0 else 1.0
        sign, sure = _side(points[own], out[own], areas[own], None if eyes is None else np.broadcast_to(eyes, points.shape)[own])
        out[own] *= sign
        if not sure:
            notes.append(f"part {p} ({len(own)} points) encloses no volume: the side of its normals is a guess (upwards)")
    return out, notes


def _votes(points: Floats, normals: Floats, pairs: Ints) -> Floats:
    """(e,) how surely two normals point to one side (above zero) or not (below).

    Two opinions: n_i.n_j, and n_i against n_j mirrored across the middle between the samples, which is 1 for any two samples of a circle,
    however strong its curvature, and on both sides of a sheet. Where they differ little is known.
    """
    ni, nj = normals[pairs[:, 0]], normals[pairs[:, 1]]
    e = points[pairs[:, 1]] - points[pairs[:, 0]]
    along = np.einsum("ij,ij->i", nj, e) / np.einsum("ij,ij->i", e, e)
    plain, mirrored = np.einsum("ij,ij->i", ni, nj), np.einsum("ij,ij->i", ni, nj - 2.0 * along[:, None] * e)
    agreed = np.sign(mirrored) * np.minimum(np.abs(plain), np.abs(mirrored)) ** 4
    return np.asarray(np.where(plain * mirrored > 0.0, agreed, UNSURE * mirrored))


def _agreed(count: int, pairs: Ints, votes: Floats) -> Floats:
    """Signs (n,) by Boruvka's spanning tree: clusters join the neighbour with which the sum of votes is clearest, until all are joined."""
    sign, cluster = np.ones(count), np.arange(count)
    while True:
        a, b = cluster[pairs[:, 0]], cluster[pairs[:, 1]]
        across = np.flatnonzero(a != b)
        if not len(across):
            return sign
        low, high = np.minimum(a[across], b[across]), np.maximum(a[across], b[across])
        key, place = np.unique(low * count + high, return_inverse=True)
        total = np.bincount(place, votes[across] * sign[pairs[across, 0]] * sign[pairs[across, 1]]).astype(np.float64)
        to, turn = _partners(count, key // count, key % count, total)
        sign, cluster = sign * turn[cluster], to[cluster]


def _partners(count: int, low: Ints, high: Ints, total: Floats) -> tuple[Ints, Floats]:
    """(root, sign against it) of each cluster after every one has joined its clearest neighbour."""
    one, other, edge = np.concatenate([low, high]), np.concatenate([high, low]), np.tile(np.arange(len(low)), 2)
    order = np.lexsort((edge, -np.abs(total[edge]), one))
    order = order[np.diff(one[order], prepend=-1) > 0]
    to, turn = np.arange(count), np.ones(count)
    to[one[order]], turn[one[order]] = other[order], np.where(total[edge[order]] >= 0.0, 1.0, -1.0)
    root = (to[to] == np.arange(count)) & (np.arange(count) < to)  # of two that chose each other the first is the root
    to[root], turn[root] = np.flatnonzero(root), 1.0
    while not np.array_equal(to, to[to]):
        to, turn = to[to], turn * turn[to]
    return to, turn


def _side(points: Floats, normals: Floats, areas: Floats, eyes: Floats | None) -> tuple[float, bool]:
    """(sign, certain) of one component."""
    if eyes is not None:
        seen = np.einsum("ij,ij->i", normals, eyes - points) > 0.0
        return (1.0, True) if 2 * seen.sum() >= len(seen) else (-1.0, True)
    volume = float(areas @ np.einsum("ij,ij->i", points - np.average(points, axis=0, weights=areas), normals)) / 3.0
    if abs(volume) < FLAT * areas.sum() ** 1.5:
        return 1.0, False
    return float(np.sign(volume)), True


def suspects(normals: Floats, graph: Ints) -> np.ndarray:
    """Samples (n,) whose normal is opposed to more than half of their neighbours': where orientation may have failed."""
    near = graph[:, 1 : LINKS + 1]
    return np.asarray((np.einsum("ij,ikj->ik", normals, normals[near]) < 0.0).mean(axis=1) > 0.5)


def unit(normals: Floats, what: str) -> Floats:
    """Normals of length 1; refused if one has no direction."""
    length = np.linalg.norm(normals, axis=1)
    bad = np.flatnonzero(~(np.isfinite(length) & (length > 0.0)))
    if len(bad):
        raise PliantError(
            f"{what}: {len(bad)} normals have no direction (the first is that of point {bad[0]}). Without any normals they are estimated."
        )
    return normals / length[:, None]


@kernel
def _principal(points, graph, k, normals, variation):  # type: ignore[no-untyped-def]
    """C = sum (x_j - m)(x_j - m)^T over the k nearest; n its smallest axis, variation l0 / (l0 + l1 + l2)."""
    for i in range(len(points)):
        x = load(points, i)
        mx = my = mz = xx = xy = xz = yy = yz = zz = 0.0
        for c in range(k):
            d = sub(load(points, graph[i, c]), x)
            mx, my, mz = mx + d[0], my + d[1], mz + d[2]
            xx, xy, xz = xx + d[0] * d[0], xy + d[0] * d[1], xz + d[0] * d[2]
            yy, yz, zz = yy + d[1] * d[1], yz + d[1] * d[2], zz + d[2] * d[2]
        values, n = smallest_axis(
            xx - mx * mx / k, xy - mx * my / k, xz - mx * mz / k, yy - my * my / k, yz - my * mz / k, zz - mz * mz / k
        )
        store(normals, i, n)
        total = values[0] + values[1] + values[2]
        variation[i] = max(values[0], 0.0) / total if total > 0.0 else 0.0
