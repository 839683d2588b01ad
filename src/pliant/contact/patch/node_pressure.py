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
from pliant.detect import bent
from pliant.detect.merged import Merged
from pliant.detect.patches import Shape
from pliant.detect.penetration import ACROSS
from pliant.detect.shapes import PLANE
from pliant.geometry.components import labels
from pliant.geometry.normals import face_crosses
from pliant.kernels import kernel
from pliant.model import Rest
from pliant.world.motion import Motion, Rows

LOAD, AREA, GAP, NORMAL, FORCE, AT, SLIP, STICKS, SUMS = 0, 1, 2, 3, 6, 9, 12, 15, 16  # columns of the sums over the rows of a contact


class Cells:
    """Around which nodes contacts are gathered (`motion.kept(Cells)`): corners of faces that meet at no sharp edge are one cell.

    An edge is sharp where its faces turn by more than what still faces the same surface in full.
    """

    def __init__(self, rest: Rest) -> None:
        crosses = face_crosses(rest.points, rest.skin.faces)
        normal = crosses / np.maximum(np.linalg.norm(crosses, axis=1), 1e-300)[:, None]
        self.of_corner, self.count = _cells(rest.skin.faces, normal)  # (f, 3) number of its cell
        self.mark = np.full(len(rest.points), -1, np.int64)  # scratch of `recovered`, -1 between calls
        self.first = np.full(self.count, -1, np.int64)  # the same


def _cells(faces: Ints, normal: Floats) -> tuple[Ints, int]:
    """Number of the cell of each corner, and how many there are."""
    corner = np.arange(3 * len(faces)).reshape(-1, 3)
    first, second = faces, np.roll(faces, -1, axis=1)  # edge k goes from corner k to the next
    low, high = np.minimum(first, second).ravel(), np.maximum(first, second).ravel()
    order = np.lexsort((high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    one, two = order[:-1][same], order[1:][same]
    smooth = np.einsum("ei,ei->e", normal[one // 3], normal[two // 3]) > ACROSS
    one, two = one[smooth], two[smooth]
    after = 3 * (corner.ravel() // 3) + (corner.ravel() + 1) % 3
    # the ends of the edge: where the other face goes round the same way, as at a fold of a sheet, corners match in order
    ends = [(one, two), (after[one], after[two]), (one, after[two]), (after[one], two)]
    a, b = np.concatenate([e[0] for e in ends]), np.concatenate([e[1] for e in ends])
    match = faces.ravel()[a] == faces.ravel()[b]
    label = labels(corner.size, np.stack([a[match], b[match]], axis=1))
    return label.reshape(-1, 3), int(label.max(initial=-1)) + 1


def recovered(
    motion: Motion, pairs: Pairs, found: Merged, rows: Rows, force: Floats, friction: Floats, gap: Floats, mu: Floats, sticks: Bools,
    slip: Floats,
) -> Contacts:
    """The record of a step, from the normal forces [N] (r,), friction [N] (r, 3), gaps [m] and so on of the rows."""
    cells, loaded = motion.kept(Cells), force > 0.0
    if not loaded.any():
        return Contacts.none(motion.dt)
    q = np.append(np.flatnonzero(loaded), np.flatnonzero(_covered(found, gap, loaded)))
    room = 3 * len(q)
    cell, share, key = np.full(room, -1, np.int64), np.empty(room), np.empty(room, np.int64)
    count = _contacts(q, loaded, found.pair, found.slave, found.weights, cells.of_corner, cells.count, cells.first, key, cell, share)
    rank = np.argsort(key[:count])
    place, some = np.argsort(rank), np.flatnonzero(cell >= 0)  # around nodes that carry no force there is no contact
    order = some[np.argsort(place[cell[some]], kind="stable")]
    corner, share = q[order // 3], share[order]
    begin = np.searchsorted(place[cell[order]], np.arange(count + 1))
    total = np.zeros((count, SUMS))
    _sum(begin, corner, share, force, friction, rows.normal, rows.at, found.area, gap, sticks, slip, total)
    load, area, first = total[:, LOAD], total[:, AREA], corner[begin[:-1]]
    room = int(np.diff(rows.start)[corner].sum())
    start, point, weight = np.zeros(count + 1, np.int64), np.empty(room, np.int64), np.empty(room)
    used = _support(begin, corner, share, force, load, rows.start, rows.point, rows.weight, cells.mark, start, point, weight)
    area = area + _behind_curves(motion, pairs, found, cells, key[:count][rank])
    normal, force_ = total[:, NORMAL : NORMAL + 3], total[:, FORCE : FORCE + 3]
    normal = _within_cone(force_, normal / np.linalg.norm(normal, axis=1)[:, None], mu[first])
    along = np.einsum("ri,ri->r", force_, normal)
    mean = total[:, AT:] / load[:, None]
    return Contacts(
        a=pairs.slave[found.pair[first]], b=pairs.master[found.pair[first]], feature_a=found.slave[first], feature_b=found.master[first],
        point=mean[:, :3], normal=normal, gap=total[:, GAP] / total[:, AREA], impulse=motion.dt * along,
        friction_impulse=motion.dt * (force_ - along[:, None] * normal), sticking=(mean[:, 6] > 0.5).astype(np.float64),
        slip=mean[:, 3:6], area=area, dt=motion.dt, support=Support(np.diff(start), point[:used], weight[:used]),
    )  # fmt: skip


@kernel
def _contacts(q, loaded, pair, slave, weights, of_corner, cells, first, key, cell, share):  # type: ignore[no-untyped-def]
    """Number the contacts, by pair and cell, of the three corners of each row of q, those that press first; returns how many.

    key of each contact; cell (3 q,): the contact of each corner, -1 for none; share (3 q,): what it has of the row.
    """
    count, after = 0, np.empty(len(key), np.int64)  # contacts of one cell with several bodies, one after the other
    for k in range(len(q)):
        r = q[k]
        whole = max(weights[r, 0], 0.0) + max(weights[r, 1], 0.0) + max(weights[r, 2], 0.0)
        for c in range(3):  # points of a face that is covered in pieces may lie beyond its edges
            share[3 * k + c] = max(weights[r, c], 0.0) / whole
            if share[3 * k + c] <= 0.0:
                continue
            i = of_corner[slave[r], c]
            here, number = first[i], pair[r] * cells + i
            while here >= 0 and key[here] != number:
                here = after[here]
            if here < 0 and loaded[r]:
                here, key[count], after[count] = count, number, first[i]
                first[i] = count
                count += 1
            cell[3 * k + c] = here
    for k in range(count):
        first[key[k] % cells] = -1
    return count


@kernel
def _sum(begin, corner, share, force, friction, normal, at, area, gap, sticks, slip, total):  # type: ignore[no-untyped-def]
    """Sums over the rows of each contact, by its shares."""
    for c in range(len(total)):
        for e in range(begin[c], begin[c + 1]):
            r, w = corner[e], share[e]
            press = w * force[r]
            total[c, LOAD] += press
            total[c, AREA] += w * area[r]
            total[c, GAP] += w * area[r] * gap[r]
            total[c, STICKS] += press if sticks[r] else 0.0
            for i in range(3):
                total[c, NORMAL + i] += press * normal[r, i]
                total[c, FORCE + i] += w * (force[r] * normal[r, i] + friction[r, i])
                total[c, AT + i] += press * at[r, i]
                total[c, SLIP + i] += press * slip[r, i]


def _covered(found: Merged, gap: Floats, loaded: Bools) -> Bools:
    """Open rows that would touch if faces could bend, (r,): on a face that presses, with a gap no wider than its own deviation from flat.

    A round mesh in a block of flat faces overlaps their middles and leaves their corners open, by the sagitta of its curve over a face;
    what the faces share with it is all of them. The deviation is the largest one of the gaps from the linear function that fits them best.
    """
    out = np.zeros(len(gap), np.bool_)
    _, face = np.unique(found.pair * (found.slave.max(initial=0) + 1) + found.slave, return_inverse=True)
    mixed = (np.bincount(face, loaded) > 0) & (np.bincount(face, ~loaded) > 0)
    mixed[face[found.master < 0]] = False  # exact shapes are known between rows: `_behind_curves`
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


def _behind_curves(motion: Motion, pairs: Pairs, found: Merged, cells: Cells, key: Ints) -> Floats:
    """The same on exact shapes, where it is an area [m^2] of each contact, (c,): what they cover of the faces around its node that is open.

    key (c,): of the contacts, rising: pair and cell.
    """
    bodies, place, out = motion.bodies, motion.there(), np.zeros(len(key))
    curved = (found.master < 0) & ((bodies.analytic[pairs.master] != PLANE) & (bodies.frame[pairs.slave] < 0))[found.pair]
    if not curved.any():
        return out
    faces = len(motion.skin.faces)
    of, face = np.divmod(np.unique(found.pair[curved] * faces + found.slave[curved]), faces)
    number = of[:, None] * cells.count + cells.of_corner[face]
    at = np.minimum(np.searchsorted(key, number), len(key) - 1)
    some = key[at] == number
    near = some.any(axis=1)  # faces with a corner that carries something
    body = pairs.master[of[near]]
    frame = bodies.frame[body]
    shape = Shape(bodies.analytic[body], bodies.parameters[body], place.position[frame], place.rotation[frame])
    area = bent.covered(place.points, motion.skin.faces, face[near], np.arange(len(body)), shape)
    np.add.at(out, at[near][some[near]], area[some[near]])
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
def _support(begin, corner, share, force, load, row_start, row_point, row_weight, mark, start, point, weight):  # type: ignore[no-untyped-def]
    """Points that carry each contact, with the weights of its rows by what they have of its load; how many entries."""
    used = 0
    for c in range(len(begin) - 1):
        first = used
        for e in range(begin[c], begin[c + 1]):
            part = share[e] * force[corner[e]] / load[c]
            for k in range(row_start[corner[e]], row_start[corner[e] + 1]):
                p = row_point[k]
                if mark[p] < first:
                    mark[p] = used
                    point[used], weight[used] = p, 0.0
                    used += 1
                weight[mark[p]] += part * row_weight[k]
        start[c + 1] = used
    for e in range(used):
        mark[point[e]] = -1
    return used
