"""What tips carry: what the area around them does not (theory/patch 3.9)."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.patches import Patches, Rims, on_sharp_edge
from pliant.kernels import add, cross, dot, kernel, load, scale, store, sub


def carried_by_area(points: Floats, faces: Ints, skin: Ints, rims: Rims, found: Patches, share: Floats) -> Floats:
    """How deep tips are [m] where the area around them carries all that they would, (r,), 0 of other rows; skin (f, 3): the faces of bodies
    as they are drawn; share (k,): of its area that each pair has been given, where two bodies, or one with itself, are there both ways.

    Around a node there is the area T, a third of that of its faces, seen along the normal n of the row, T = n . sum a / 3. What there is
    of it that overlaps is the volume V = sum b_r a_r x_r over rows at depths x_r, with the node's shape function b: V / T is the depth at
    which all of T would carry as much. Both are linear between nodes. Where bodies lie flat on each other it is how deep they are.
    """
    out = np.zeros(len(found))
    if (found.tip > 0.0).any():
        order = np.argsort(found.pair, kind="stable")
        start = np.searchsorted(found.pair[order], np.arange(len(share) + 1))
        around = np.zeros((len(points), 3))
        _around(points, skin, around)
        _carried(faces, rims, around, order, start, found, share, out)
    return out


@kernel
def _around(points, faces, out):  # type: ignore[no-untyped-def]
    """A third of the area vectors of the faces around each point [m^2]."""
    for f in range(len(faces)):
        o = load(points, faces[f, 0])
        a = scale(1.0 / 6.0, cross(sub(load(points, faces[f, 1]), o), sub(load(points, faces[f, 2]), o)))
        for k in range(3):
            store(out, faces[f, k], add(load(out, faces[f, k]), a))


@kernel
def _volumes(faces, order, first, end, found, volume):  # type: ignore[no-untyped-def]
    """Add what rows of a pair overlap by to the nodes of the slave and of the master, volume (2, p) [m^3]."""
    for k in range(first, end):
        r = order[k]
        if found.tip[r] == 0.0 and found.gap[r] < 0.0:
            part = -found.area[r] * found.gap[r]
            for c in range(3):
                volume[0, faces[found.slave[r], c]] += part * found.weights[r, c]
                if found.master[r] >= 0:
                    volume[1, faces[found.master[r], c]] += part * found.others[r, c]


@kernel
def _carried(faces, rims, around, order, start, found, share, out):  # type: ignore[no-untyped-def]
    total = np.zeros((2, len(around)))
    for p in range(len(start) - 1):
        poked = False
        for k in range(start[p], start[p + 1]):
            poked = poked or found.tip[order[k]] > 0.0
        if not poked:
            continue
        _volumes(faces, order, start[p], start[p + 1], found, total)
        for k in range(start[p], start[p + 1]):
            t = order[k]
            if found.tip[t] == 0.0:
                continue
            mine = found.master[t] < 0 or on_sharp_edge(faces, rims, found.slave, found.weights, t)
            w, f, side = load(found.weights, t), found.slave[t], 0
            if not mine:
                w, f, side = load(found.others, t), found.master[t], 1
            area, volume, n = 0.0, 0.0, load(found.normal, t)
            for c in range(3):
                area += w[c] * dot(load(around, faces[f, c]), n)
                volume += w[c] * total[side, faces[f, c]]
            area = area if mine else -area
            out[t] = volume / (share[p] * area) if area > 0.0 else 0.0
        for k in range(start[p], start[p + 1]):
            r = order[k]
            for c in range(3):
                total[0, faces[found.slave[r], c]] = 0.0
                if found.master[r] >= 0:
                    total[1, faces[found.master[r], c]] = 0.0
