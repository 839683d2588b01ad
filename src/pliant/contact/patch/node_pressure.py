"""What rows of contact say of the surface (theory/patch 6.1, 6.2): force, area and pressure around each node of the slave.

Single quadrature points q press too much here and too little there, for there are more of them than nodes, while the forces on nodes are
right. So the record has one contact for each node i, with the shape functions b_i of the slave's faces, forces F_q and areas w_q of the
points that press,

    F_i = sum_q b_i(q) F_q,      A_i = sum_q b_i(q) w_q,      p_i = n.F_i / A_i,

force over the area that is covered, not over all of the area around the node: sums of forces and areas are exact, and rims are sharp.
At sharp edges the faces on either side make contacts of their own, so that the normals in each differ little.

Flat sides of rigid bodies have few rows (theory/patch 3.7), and each of them is a contact. They press with what is linear over the polygon;
so the nodes in it carry them as that linear function has it, each with the area around it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.contact.contacts import Contacts, Support
from pliant.contact.patch.surface import Pairs
from pliant.detect import bent
from pliant.detect.flats import Sides
from pliant.detect.merged import Merged
from pliant.detect.penetration import ACROSS
from pliant.detect.shape_patches import Shape
from pliant.detect.shapes import PLANE
from pliant.geometry.components import labels
from pliant.geometry.normals import face_crosses
from pliant.kernels import axpy, cross, dot, inline, kernel, load, norm, scale, store, sub
from pliant.model import Rest
from pliant.world.motion import Motion, Rows

LEAST = 1e-100  # [N] less than any force; its square is a number still
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
        self.face = np.full(len(rest.skin.faces), -1, np.int64)  # the same


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


class Near(NamedTuple):
    """Which nodes flat sides have, where these are, and how far [m] (B,) beside a polygon they count: as far as rows may have moved."""

    sides: Sides
    points: Floats
    slack: Floats


class Spread(NamedTuple):
    """Nodes that carry the rows of a polygon of two flat sides."""

    of: Ints  # (r,) polygon of each row, -1 of others
    start: Ints
    point: Ints
    weight: Floats


class Columns(NamedTuple):
    """Of the record, to be filled."""

    normal: Floats
    across: Floats  # [N s] friction
    along: Floats  # [N s]
    gap: Floats
    sticking: Floats
    at: Floats
    slip: Floats
    numbers: Ints  # (4, k) bodies, faces


def recovered(
    motion: Motion, pairs: Pairs, found: Merged, rows: Rows, force: Floats, friction: Floats, gap: Floats, mu: Floats, sticks: Bools,
    slip: Floats, near: Near,
) -> Contacts:
    """The record of a step, from the normal forces [N] (r,), friction [N] (r, 3), gaps [m] and so on of the rows."""
    # open rows may hold what their load of friction was left at (theory/patch 4.1): they count, with next to no weight in means, since
    # a mean place is that of pressure (weighed by all that rows carry the centre of pressure of a cube that is pulled was 1.2 % off)
    force = np.where((force == 0.0) & friction.any(axis=1), LEAST, force)
    cells, many = motion.kept(Cells), len(force)
    counts = np.empty(many, np.int64)  # first what each row is, then those that count
    key, cell, share = np.empty(3 * many, np.int64), np.empty(3 * many, np.int64), np.empty(3 * many)
    taken, count = _group(
        found.pair, found.slave, found.master, found.weights, found.area, found.spot, gap, force, cells.face, counts, cells.of_corner,
        cells.count, cells.first, key, cell, share,
    )  # fmt: skip
    if count == 0:
        return Contacts.none(motion.dt)
    rank = key[:count].argsort()
    total, (normal, across, at, slid), (along, mean_gap, sticking) = (
        np.zeros((count, SUMS)), np.empty((4, count, 3)), np.empty((3, count)),
    )  # fmt: skip
    numbers, spread = np.empty((4, count), np.int64), _nodes(motion, pairs, found, rows, force, near)
    many, point, weight = _record(
        rank, counts, cell[: 3 * taken], share, force, friction, rows.normal, rows.at, found.area, gap, sticks, slip, rows.start,
        rows.point, rows.weight, spread, cells.mark, mu, found.pair, found.slave, found.master, pairs.slave, pairs.master, motion.dt, total,
        Columns(normal, across, along, mean_gap, sticking, at, slid, numbers),
    )  # fmt: skip
    return Contacts(
        a=numbers[0], b=numbers[1], feature_a=numbers[2], feature_b=numbers[3], point=at, normal=normal, gap=mean_gap, impulse=along,
        friction_impulse=across, sticking=sticking, slip=slid,
        area=total[:, AREA] + _behind_curves(motion, pairs, found, cells, key[:count][rank]), dt=motion.dt,
        support=Support(many, point, weight),
    )  # fmt: skip


@kernel
def _group(  # type: ignore[no-untyped-def]
    pair, slave, master, weights, area, spot, gap, force, head, rank, of_corner, cells, first, key, cell, share
):  # fmt: skip
    """Which rows count, and the contacts that they make: see `_contacts`."""
    _open_rows(pair, slave, master, weights, area, spot, gap, force, head, rank)
    return _contacts(pair, slave, weights, spot, rank, of_corner, cells, first, key, cell, share)


@kernel
def _record(  # type: ignore[no-untyped-def]
    order, listed, cell, share, force, friction, row_normal, row_at, area, row_gap, sticks, row_slip, row_start, row_point, row_weight,
    spread, mark, mu, pair, slave, master, a, b, dt, total, out,
):  # fmt: skip
    """Sums and columns of the contacts, in the given order; how many points carry each, these, and their weights."""
    begin, corner, part = np.zeros(len(order) + 1, np.int64), np.empty(len(cell), np.int64), np.empty(len(cell))
    _sort(order, listed, cell, share, begin, corner, part)
    _sum(begin, corner, part, force, friction, row_normal, row_at, area, row_gap, sticks, row_slip, total)
    _tell(total, begin, corner, mu, pair, slave, master, a, b, dt, out)
    return _support(begin, corner, part, force, total, row_start, row_point, row_weight, spread, mark)


@kernel
def _open_rows(pair, slave, master, weights, area, spot, gap, force, head, rank):  # type: ignore[no-untyped-def]
    """rank (r,): 1 for rows that press, 2 for open ones that would touch if faces could bend, else 0; head (f,): scratch, -1 between calls.

    The latter lie on a face that presses, with a gap no wider than the face's own deviation from flat. A round mesh in a block of flat
    faces overlaps their middles and leaves their corners open, by the sagitta of its curve over a face; what the faces share with it is all
    of them. The deviation is the largest one of the gaps from the linear function that fits them best. Exact shapes are known between rows:
    `_behind_curves`.
    """
    count = 0  # faces of pairs
    leader, after, after_row = np.empty(len(pair), np.int64), np.empty(len(pair), np.int64), np.full(len(pair), -1, np.int64)
    last, kinds = np.empty(len(pair), np.int64), np.zeros(len(pair), np.int64)
    for r in range(len(pair)):
        rank[r] = 1 if force[r] > 0.0 else 0
        if spot[r] >= 0:
            continue
        here = head[slave[r]]
        while here >= 0 and pair[leader[here]] != pair[r]:
            here = after[here]
        if here < 0:
            here, leader[count], after[count] = count, r, head[slave[r]]
            head[slave[r]] = count
            count += 1
        else:
            after_row[last[here]] = r
        last[here] = r
        kinds[here] |= (1 if force[r] > 0.0 else 2) | (4 if master[r] < 0 else 0)
    for c in range(count):
        head[slave[leader[c]]] = -1
        if kinds[c] != 3:
            continue
        xx = xy = xz = yy = yz = zz = x = y = z = 0.0
        r = leader[c]
        while r >= 0:
            b, w, g = load(weights, r), area[r], gap[r]
            xx, xy, xz = xx + w * b[0] * b[0], xy + w * b[0] * b[1], xz + w * b[0] * b[2]
            yy, yz, zz = yy + w * b[1] * b[1], yz + w * b[1] * b[2], zz + w * b[2] * b[2]
            x, y, z = x + w * b[0] * g, y + w * b[1] * g, z + w * b[2] * g
            r = after_row[r]
        small = 1e-12 * (xx + yy + zz)  # rows on one line leave the slope across it open
        xx, yy, zz = xx + small, yy + small, zz + small
        yy, yz, zz = yy - xy * xy / xx, yz - xy * xz / xx, zz - xz * xz / xx
        y, z = y - xy / xx * x, z - xz / xx * x
        w = (z - yz / yy * y) / (zz - yz * yz / yy)
        v = (y - yz * w) / yy
        u = (x - xy * v - xz * w) / xx
        most, r = 0.0, leader[c]
        while r >= 0:
            most = max(most, abs(weights[r, 0] * u + weights[r, 1] * v + weights[r, 2] * w - gap[r]))
            r = after_row[r]
        r = leader[c]
        while r >= 0:
            if rank[r] == 0 and gap[r] <= most:
                rank[r] = 2
            r = after_row[r]


@kernel
def _contacts(pair, slave, weights, spot, rank, of_corner, cells, first, key, cell, share):  # type: ignore[no-untyped-def]
    """Number the contacts, by pair and cell, of the three corners of each row that counts, those that press first; how many rows, contacts.

    key of each contact; of row k in this order cell (3 k,): the contact of each corner, -1 for none; share (3 k,): what it has of the row.
    Rows of flat sides are contacts of their own.
    `rank` becomes the list of these rows.
    """
    count, after = 0, np.empty(len(key), np.int64)  # contacts of one cell with several bodies, one after the other
    taken, listed, behind = 0, np.empty(len(rank), np.int64), (pair.max() + 1) * cells if len(pair) > 0 else 0
    for kind in (1, 2):
        for r in range(len(rank)):
            if rank[r] != kind:
                continue
            if spot[r] >= 0:
                key[count], cell[3 * taken], cell[3 * taken + 1], cell[3 * taken + 2] = behind + r, count, -1, -1
                share[3 * taken], listed[taken] = 1.0, r
                count, taken = count + 1, taken + 1
                continue
            whole = max(weights[r, 0], 0.0) + max(weights[r, 1], 0.0) + max(weights[r, 2], 0.0)
            for c in range(3):  # points of a face that is covered in pieces may lie beyond its edges
                at = 3 * taken + c
                share[at], cell[at] = max(weights[r, c], 0.0) / whole, -1
                if share[at] <= 0.0:
                    continue
                i = of_corner[slave[r], c]
                here, number = first[i], pair[r] * cells + i
                while here >= 0 and key[here] != number:
                    here = after[here]
                if here < 0 and kind == 1:
                    here, key[count], after[count] = count, number, first[i]
                    first[i] = count
                    count += 1
                cell[at] = here  # around nodes that carry no force there is no contact
            listed[taken] = r
            taken += 1
    for k in range(count):
        if key[k] < behind:
            first[key[k] % cells] = -1
    rank[:taken] = listed[:taken]
    return taken, count


@kernel
def _sort(order, listed, cell, share, begin, corner, part):  # type: ignore[no-untyped-def]
    """Rows and shares of each contact, these in the given order: begin (c + 1,), corner and part one after the other."""
    place = np.empty(len(order), np.int64)
    for k in range(len(order)):
        place[order[k]] = k
    for e in range(len(corner)):
        if cell[e] >= 0:
            begin[place[cell[e]] + 1] += 1
    for k in range(len(order)):
        begin[k + 1] += begin[k]
    at = begin.copy()
    for e in range(len(corner)):
        if cell[e] >= 0:
            k = place[cell[e]]
            corner[at[k]], part[at[k]] = listed[e // 3], share[e]
            at[k] += 1


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


@kernel
def _tell(total, begin, corner, mu, pair, slave, master, a, b, dt, out):  # type: ignore[no-untyped-def]
    """The columns of the record, from the sums.

    Normals are turned towards the force where it leaves the cone of friction about them. Every row keeps its own cone; where normals
    differ around a node the sum may leave that about their mean, by less than they differ.
    """
    for c in range(len(total)):
        r, t = corner[begin[c]], total[c]
        force, n = (t[FORCE], t[FORCE + 1], t[FORCE + 2]), (t[NORMAL], t[NORMAL + 1], t[NORMAL + 2])
        n, ahead = scale(1.0 / norm(n), n), scale(1.0 / max(norm(force), 1e-300), force)
        aside = axpy(-dot(n, ahead), ahead, n)
        away, sine = norm(aside), mu[r] / math.sqrt(1.0 + mu[r] * mu[r])  # away: sine of the angle between force and normal
        if away > sine:
            n = axpy(math.sqrt(1.0 - sine * sine), ahead, scale(sine / away, aside))
        press = dot(force, n)
        store(out.normal, c, n)
        store(out.across, c, scale(dt, axpy(-press, n, force)))
        store(out.at, c, scale(1.0 / t[LOAD], (t[AT], t[AT + 1], t[AT + 2])))
        store(out.slip, c, scale(1.0 / t[LOAD], (t[SLIP], t[SLIP + 1], t[SLIP + 2])))
        out.along[c], out.gap[c] = dt * press, t[GAP] / t[AREA] if t[AREA] > 0.0 else 0.0
        out.sticking[c] = 1.0 if t[STICKS] > 0.5 * t[LOAD] else 0.0
        out.numbers[0, c], out.numbers[1, c], out.numbers[2, c], out.numbers[3, c] = a[pair[r]], b[pair[r]], slave[r], master[r]


def _behind_curves(motion: Motion, pairs: Pairs, found: Merged, cells: Cells, key: Ints) -> Floats:
    """The same on exact shapes, where it is an area [m^2] of each contact, (c,): what they cover of the faces around its node that is open.

    key (c,): of the contacts, rising: pair and cell.
    """
    bodies, out = motion.bodies, np.zeros(len(key))
    bent_ = (bodies.analytic[pairs.master] != PLANE) & (bodies.frame[pairs.slave] < 0)
    curved = (found.master < 0) & bent_[found.pair] if bent_.any() else bent_
    if not curved.any():
        return out
    place, faces = motion.there(), len(motion.skin.faces)
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


@kernel
def _support(begin, corner, share, force, total, row_start, row_point, row_weight, spread, mark):  # type: ignore[no-untyped-def]
    """Points that carry each contact, with the weights of its rows by what they have of its load: (how many, point, weight)."""
    room = 0
    for e in range(begin[-1]):
        g = spread.of[corner[e]]
        room += row_start[corner[e] + 1] - row_start[corner[e]] if g < 0 else spread.start[g + 1] - spread.start[g]
    many, point, weight = np.empty(len(begin) - 1, np.int64), np.empty(room, np.int64), np.empty(room)
    used = 0
    for c in range(len(begin) - 1):
        first, g = used, spread.of[corner[begin[c]]]
        if g >= 0:
            for k in range(spread.start[g], spread.start[g + 1]):
                point[used], weight[used] = spread.point[k], spread.weight[k]
                used += 1
            many[c] = used - first
            continue
        for e in range(begin[c], begin[c + 1]):
            part = share[e] * force[corner[e]] / total[c, LOAD]
            for k in range(row_start[corner[e]], row_start[corner[e] + 1]):
                p = row_point[k]
                if mark[p] < first:
                    mark[p] = used
                    point[used], weight[used] = p, 0.0
                    used += 1
                weight[mark[p]] += part * row_weight[k]
        many[c] = used - first
    for e in range(used):
        mark[point[e]] = -1
    return many, point[:used].copy(), weight[:used].copy()


def _nodes(motion: Motion, pairs: Pairs, found: Merged, rows: Rows, force: Floats, near: Near) -> Spread:
    """Nodes that carry the rows of flat sides."""
    of, sides = np.full(len(found), -1), near.sides
    if not (found.spot >= 0).any():
        return Spread(of, np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))
    start = np.zeros(len(found) + 1, np.int64)
    count, point, weight = _spread(
        found, force, rows.start, rows.point, sides, near.points, near.slack, pairs.slave, pairs.master, of, start,
    )  # fmt: skip
    return Spread(of, start[: count + 1], point, weight)


@inline
def _in_plane(x, frame):  # type: ignore[no-untyped-def]
    """Place (u, v) of a point in a frame."""
    d = sub(x, frame[0])
    return dot(d, frame[1]), dot(d, frame[2])


@kernel
def _pressed(at, area, force, first, end, frame):  # type: ignore[no-untyped-def]
    """(p, pu, pv): the linear function p + pu u + pv v that has the force and the moments of these rows, (u, v) from their mean place."""
    whole = total = uu = uv = vv = fu = fv = 0.0
    for r in range(first, end):
        u, v = _in_plane(load(at, r), frame)
        whole, total, uu, uv, vv = whole + area[r], total + force[r], uu + area[r] * u * u, uv + area[r] * u * v, vv + area[r] * v * v
        fu, fv = fu + force[r] * u, fv + force[r] * v
    det = uu * vv - uv * uv
    if det <= 1e-12 * (uu + vv) ** 2:
        return total / whole, 0.0, 0.0
    return total / whole, (fu * vv - fv * uv) / det, (fv * uu - fu * uv) / det


@kernel
def _spread(found, force, row_start, row_point, sides, points, slack, a, b, of, start):  # type: ignore[no-untyped-def]
    """Number the polygons, rows with force of one after the other, corners first; their nodes. How many polygons, nodes, weights."""
    polygons = used = 0
    pair, slave, master, spot, at, area = found.pair, found.slave, found.master, found.spot, found.at, found.area
    point, weight = np.empty(256, np.int64), np.empty(256)
    r = 0
    while r < len(pair):
        if spot[r] < 0:
            r += 1
            continue
        first, corners, total = r, 0, 0.0
        while r < len(pair) and spot[r] >= 0 and pair[r] == pair[first] and slave[r] == slave[first] and master[r] == master[first]:
            if spot[r] % 2 == 0 and corners < r - first:
                break  # the corners of the next polygon
            corners += 1 if spot[r] % 2 == 0 else 0
            total += force[r]
            r += 1
        if not total > 0.0:
            continue
        whole, c, n = 0.0, (0.0, 0.0, 0.0), load(found.normal, first)
        for k in range(first, r):
            whole, c = whole + area[k], axpy(area[k], load(at, k), c)
        c = scale(1.0 / whole, c)
        t = sub(load(at, first), c)
        t = axpy(-dot(t, n), n, t)
        t = scale(1.0 / norm(t), t)
        frame = (c, t, cross(n, t))
        p, pu, pv = _pressed(at, area, force, first, r, frame)
        for k in range(first, r):
            of[k] = polygons
        for side in range(2):
            face, sign, wide = (slave[first], 1.0, slack[a[pair[first]]]) if side == 0 else (master[first], -1.0, slack[b[pair[first]]])
            s = sides.of[face] if face >= 0 else -1
            many = sides.first[s + 1] - sides.first[s] if s >= 0 else 1
            while used + many > len(point):
                point, weight = np.append(point, point), np.append(weight, weight)
            if s < 0:
                point[used], weight[used] = row_point[row_start[first + 1] - 1], sign
                used += 1
                continue
            begin, sum_, nearest, least = used, 0.0, -1, np.inf
            for k in range(sides.first[s], sides.first[s + 1]):
                u, v = _in_plane(load(points, sides.point[k]), frame)
                if u * u + v * v < least:
                    nearest, least = sides.point[k], u * u + v * v
                w = sides.part[k] * (p + pu * u + pv * v)
                if w > 0.0 and _inside(at, first, corners, frame, u, v, wide):
                    point[used], weight[used] = sides.point[k], w
                    used, sum_ = used + 1, sum_ + w
            if used == begin:
                point[used], weight[used], sum_ = nearest, 1.0, 1.0
                used += 1
            for k in range(begin, used):
                weight[k] *= sign / sum_
        polygons += 1
        start[polygons] = used
    return polygons, point[:used].copy(), weight[:used].copy()


@inline
def _inside(at, first, corners, frame, u, v, wide):  # type: ignore[no-untyped-def]
    """Whether a place is in a polygon, or no farther beside it than `wide`."""
    x, y = _in_plane(load(at, first + corners - 1), frame)
    for k in range(first, first + corners):
        x0, y0 = x, y
        x, y = _in_plane(load(at, k), frame)
        if (x - x0) * (v - y0) - (y - y0) * (u - x0) < -wide * math.hypot(x - x0, y - y0):
            return False
    return True
