"""What rows of contact say of the surface (theory/patch 6.1, 6.2): force, area and pressure around each node of the slave.

Single quadrature points q press too much here and too little there, for there are more of them than nodes, while the forces on nodes are
right. So the record has one contact for each node i, with the shape functions b_i of the slave's faces, forces F_q and areas w_q of the
points that press,

    F_i = sum_q b_i(q) F_q,      A_i = sum_q b_i(q) w_q,      p_i = n.F_i / A_i,

force over the area that is covered, not over all of the area around the node: sums of forces and areas are exact, and rims are sharp.
At sharp edges the faces on either side make contacts of their own, so that the normals in each differ little.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.contact.contacts import Contacts, Support
from pliant.contact.patch.surface import Pairs
from pliant.detect.patches import FULL, Patches
from pliant.geometry.components import labels
from pliant.geometry.normals import face_crosses
from pliant.kernels import kernel
from pliant.model import Rest
from pliant.world.motion import Motion, Rows


class Cells:
    """Around which nodes contacts are gathered (`motion.kept(Cells)`): corners of faces that meet at no sharp edge are one cell.

    An edge is sharp where its faces turn by more than what still faces the same surface in full.
    """

    def __init__(self, rest: Rest) -> None:
        crosses = face_crosses(rest.points, rest.skin.faces)
        normal = crosses / np.maximum(np.linalg.norm(crosses, axis=1), 1e-300)[:, None]
        self.of_corner, self.count = _cells(rest.skin.faces, normal)  # (f, 3) number of its cell
        self.mark = np.full(len(rest.points), -1, np.int64)  # scratch of `recovered`, -1 between calls


def _cells(faces: Ints, normal: Floats) -> tuple[Ints, int]:
    """Number of the cell of each corner, and how many there are."""
    corner = np.arange(3 * len(faces)).reshape(-1, 3)
    first, second = faces, np.roll(faces, -1, axis=1)  # edge k goes from corner k to the next
    low, high = np.minimum(first, second).ravel(), np.maximum(first, second).ravel()
    order = np.lexsort((high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    one, two = order[:-1][same], order[1:][same]
    smooth = np.einsum("ei,ei->e", normal[one // 3], normal[two // 3]) > FULL
    one, two = one[smooth], two[smooth]
    after = 3 * (corner.ravel() // 3) + (corner.ravel() + 1) % 3
    # the ends of the edge: where the other face goes round the same way, as at a fold of a sheet, corners match in order
    ends = [(one, two), (after[one], after[two]), (one, after[two]), (after[one], two)]
    a, b = np.concatenate([e[0] for e in ends]), np.concatenate([e[1] for e in ends])
    match = faces.ravel()[a] == faces.ravel()[b]
    label = labels(corner.size, np.stack([a[match], b[match]], axis=1))
    return label.reshape(-1, 3), int(label.max(initial=-1)) + 1


def recovered(
    motion: Motion, pairs: Pairs, found: Patches, rows: Rows, force: Floats, friction: Floats, gap: Floats, mu: Floats, sticks: Bools,
    slip: Floats,
) -> Contacts:
    """The record of a step, from the normal forces [N] (r,), friction [N] (r, 3), gaps [m] and so on of the rows."""
    cells, loaded = motion.kept(Cells), force > 0.0
    if not loaded.any():
        return Contacts.none(motion.dt)
    q = np.flatnonzero(loaded | _covered(found, gap, loaded))
    corner = np.repeat(q, 3)
    share = np.maximum(found.weights[q], 0.0)  # points of a face that is covered in pieces may lie beyond its edges
    share = (share / share.sum(axis=1, keepdims=True)).ravel()
    key = found.pair[corner] * cells.count + cells.of_corner[found.slave[q]].ravel()
    some = share > 0.0
    corner, share, key = corner[some], share[some], key[some]
    some = np.isin(key, key[loaded[corner]])  # around nodes that carry no force there is no contact
    corner, share, key = corner[some], share[some], key[some]
    keys, row = np.unique(key, return_inverse=True)
    count = len(keys)

    def total(weight: Floats, value: Floats) -> Floats:
        flat = value[corner].reshape(len(corner), -1)
        out = np.stack([np.bincount(row, weight * flat[:, i], count) for i in range(flat.shape[1])], axis=1)
        return out.reshape(count, *value.shape[1:]).astype(np.float64)

    press = share * force[corner]
    load, area = np.bincount(row, press, count), total(share, found.area)
    normal = total(press, rows.normal)
    length = np.linalg.norm(normal, axis=1)
    order = np.argsort(row, kind="stable")
    begin = np.searchsorted(row[order], np.arange(count + 1))
    room = 6 * len(corner)
    start, point, weight = np.zeros(count + 1, np.int64), np.empty(room, np.int64), np.empty(room)
    used = _support(begin, corner[order], (press / load[row])[order], rows.start, rows.point, rows.weight, cells.mark, start, point, weight)
    first = corner[order[begin[:-1]]]
    normal /= length[:, None]
    force_ = total(share, force[:, None] * rows.normal + friction)
    normal = _within_cone(force_, normal, mu[first])
    along = np.einsum("ri,ri->r", force_, normal)
    return Contacts(
        a=pairs.slave[found.pair[first]], b=pairs.master[found.pair[first]], feature_a=found.slave[first], feature_b=found.master[first],
        point=total(press, rows.at) / load[:, None], normal=normal, gap=total(share * found.area[corner], gap) / area,
        impulse=motion.dt * along, friction_impulse=motion.dt * (force_ - along[:, None] * normal),
        sticking=(total(press, sticks.astype(np.float64)) > 0.5 * load).astype(np.float64), slip=total(press, slip) / load[:, None],
        area=area, dt=motion.dt, support=Support(np.diff(start), point[:used], weight[:used]),
    )  # fmt: skip


def _covered(found: Patches, gap: Floats, loaded: Bools) -> Bools:
    """Open rows that would touch if faces could bend, (r,): on a face that presses, with a gap no wider than its own deviation from flat.

    A ball in a block of flat faces overlaps their middles and leaves their corners open, by the sagitta of its curve over a face; what
    the faces share with it is all of them. The deviation is the largest one of the gaps from the linear function that fits them best.
    """
    out = np.zeros(len(gap), np.bool_)
    _, face = np.unique(found.pair * (found.slave.max(initial=0) + 1) + found.slave, return_inverse=True)
    mixed = (np.bincount(face, loaded) > 0) & (np.bincount(face, ~loaded) > 0)
    rows = np.flatnonzero(mixed[face])
    if len(rows) == 0:
        return out
    faces, face = np.unique(face[rows], return_inverse=True)
    b, area, g = found.weights[rows], found.area[rows], gap[rows]
    total = lambda value: np.bincount(face, area * value, len(faces))
    m = np.stack([np.stack([total(b[:, i] * b[:, j]) for j in range(3)], axis=1) for i in range(3)], axis=1)
    m += 1e-12 * np.trace(m, axis1=1, axis2=2)[:, None, None] * np.eye(3)  # rows on one line leave the slope across it open
    fit = np.linalg.solve(m, np.stack([total(b[:, i] * g) for i in range(3)], axis=1)[:, :, None])[:, :, 0]
    off = np.zeros(len(faces))
    np.maximum.at(off, face, np.abs(np.einsum("ri,ri->r", b, fit[face]) - g))
    out[rows] = ~loaded[rows] & (g <= off[face])
    return out


def _within_cone(force: Floats, normal: Floats, mu: Floats) -> Floats:
    """Normals (c, 3), turned towards the force where it leaves the cone of friction about them.

    Every row keeps its own cone; where normals differ around a node the sum may leave that about their mean, by less than they differ.
    """
    size = np.linalg.norm(force, axis=1, keepdims=True)
    ahead = force / np.maximum(size, 1e-300)
    aside = normal - np.einsum("ci,ci->c", normal, ahead)[:, None] * ahead
    away = np.linalg.norm(aside, axis=1)  # sine of the angle between force and normal
    sine = (mu / np.sqrt(1.0 + mu * mu))[:, None]
    turned = np.sqrt(1.0 - sine * sine) * ahead + sine * aside / np.maximum(away, 1e-300)[:, None]
    return np.where(away[:, None] > sine, turned, normal)


@kernel
def _support(begin, corner, share, row_start, row_point, row_weight, mark, start, point, weight):  # type: ignore[no-untyped-def]
    """Points that carry each contact, with the weights of its rows by their shares; how many entries."""
    used = 0
    for c in range(len(begin) - 1):
        first = used
        for e in range(begin[c], begin[c + 1]):
            for k in range(row_start[corner[e]], row_start[corner[e] + 1]):
                p = row_point[k]
                if mark[p] < first:
                    mark[p] = used
                    point[used], weight[used] = p, 0.0
                    used += 1
                weight[mark[p]] += share[e] * row_weight[k]
        start[c + 1] = used
    for e in range(used):
        mark[point[e]] = -1
    return used
