"""What tips carry: what the area around them does not (theory/patch 3.9)."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.patches import Patches, Rims, on_sharp_edge
from pliant.kernels import add, axpy, cross, dot, inline, kernel, load, scale, store, sub


def carried_by_area(points: Floats, faces: Ints, skin: Ints, rims: Rims, found: Patches, count: int) -> Floats:
    """How deep tips are [m] where the area around them carries all that they would, (r,), 0 of other rows; skin (f, 3): the faces of bodies
    as they are drawn; count: of the pairs.

    Around a node there is the area T, a third of that of its faces, seen along the normal n of the row, T = n . sum a / 3. What there is
    of it that overlaps is the volume V = sum b_r a_r x_r over rows at depths x_r, with the node's shape function b: V / T is the depth at
    which all of T would carry as much. Both are linear between nodes. Where bodies lie flat on each other it is how deep they are.
    """
    out = np.zeros(len(found))
    if (found.tip > 0.0).any():
        order = np.argsort(found.pair, kind="stable")
        start = np.searchsorted(found.pair[order], np.arange(count + 1))
        around = np.zeros((len(points), 3))
        _around(points, skin, around)
        _carried(faces, rims, around, order, start, found, out)
    return out


@kernel
def _around(points, faces, out):  # type: ignore[no-untyped-def]
    """A third of the area vectors of the faces around each point [m^2]."""
    for f in range(len(faces)):
        o = load(points, faces[f, 0])
        a = scale(1.0 / 6.0, cross(sub(load(points, faces[f, 1]), o), sub(load(points, faces[f, 2]), o)))
        for k in range(3):
            store(out, faces[f, k], add(load(out, faces[f, k]), a))


@inline
def _shape(faces, f, weights, r, nodes, shares):  # type: ignore[no-untyped-def]
    """Of the function that is linear over faces and has these values at these nodes, at the place with these weights on face f."""
    out = 0.0
    for k in range(3):
        for j in range(3):
            if faces[f, k] == nodes[j]:
                out += weights[r, k] * shares[j]
    return out


@kernel
def _carried(faces, rims, around, order, start, found, out):  # type: ignore[no-untyped-def]
    for i in range(len(order)):
        t = order[i]
        if found.tip[t] == 0.0:
            continue
        p, n = found.pair[t], load(found.normal, t)
        mine = found.master[t] < 0 or on_sharp_edge(faces, rims, found.slave, found.weights, t)
        w = load(found.weights, t) if mine else load(found.others, t)
        f = found.slave[t] if mine else found.master[t]
        nodes = (faces[f, 0], faces[f, 1], faces[f, 2])
        a = axpy(w[0], load(around, nodes[0]), axpy(w[1], load(around, nodes[1]), scale(w[2], load(around, nodes[2]))))
        area, volume = dot(a, n) if mine else -dot(a, n), 0.0
        for k in range(start[p], start[p + 1]):
            r = order[k]
            x = -found.gap[r]
            if x > 0.0 and found.tip[r] == 0.0:
                if mine:
                    volume += found.area[r] * x * _shape(faces, found.slave[r], found.weights, r, nodes, w)
                else:
                    volume += found.area[r] * x * _shape(faces, found.master[r], found.others, r, nodes, w)
        out[t] = volume / area if area > 0.0 else 0.0
