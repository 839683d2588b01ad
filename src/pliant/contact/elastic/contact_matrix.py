"""The elastic matrix of the nodes of a contact.

Opposite sides of a thin part are near through the body, not along the surface: such groups of nodes do not feel each other and have an
elastic matrix each (theory/quasi-rigid 8). On levels coarser than the samples, nodes are clusters of them (coarse_to_fine.py).
"""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic import lcp
from pliant.contact.elastic.coarse_to_fine import NEAR, Members, between_clusters
from pliant.contact.elastic.operators import Blockwise, Operator, elastic
from pliant.contact.elastic.response import Response
from pliant.geometry.components import labels
from pliant.geometry.near import kd_tree
from pliant.kernels import contiguous, dot, kernel, load, sub


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
