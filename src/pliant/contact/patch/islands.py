"""From rows over skin points to the problem of each island (theory/patch 4.3): unknowns, matrix, rows over unknowns, rigid motions."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.patch.problem import Contact, Islands, System
from pliant.contact.patch.row_law import ROW
from pliant.geometry.quaternions import inverse_inertia_times, load4
from pliant.geometry.union_find import join
from pliant.kernels import inline, kernel, load, store
from pliant.model import IMPLICIT, Rest
from pliant.world.motion import Motion, Rows


class Movable:
    """Which bodies can move, and how (`motion.kept(Movable)`)."""

    def __init__(self, rest: Rest) -> None:
        nodes, frames, count = rest.nodes, rest.frames, len(rest.bodies)
        loose, driven = nodes.inverse > 0.0, frames.inverse == 0.0
        some = lambda body: np.bincount(body, minlength=count) > 0
        implicit, rigid = some(nodes.body[loose & (nodes.scheme == IMPLICIT)]), rest.bodies.frame >= 0
        self.moving = some(nodes.body[loose]) | some(frames.body[~driven])  # (B,) bool
        self.together = implicit | rigid  # (B,) bool: all of it is unknown, not only what touches
        self.whole = self.moving & (rigid | (implicit & ~some(nodes.body[~loose])))  # (B,) bool: it can move as a whole
        self.free = np.append(loose, np.repeat(~driven, 2))  # (N,) bool
        self.bind(rest)

    def bind(self, rest: Rest) -> None:
        """Know how points ride on nodes."""
        self.most = int(np.diff(rest.skin.start).max(initial=1))  # nodes of a point


def system(motion: Motion) -> System:
    """A of everything that moves."""
    frames = motion.frames
    diagonal = np.empty((len(motion.x) + 2 * len(frames.mass), 6))
    _diagonal(motion.inertia, frames.mass, motion.rotation, frames.inertia, diagonal)
    matrix = motion.matrix
    if matrix is None:
        return System(np.zeros(1, np.uint32), np.zeros(0, np.uint32), np.zeros((0, 3, 3)), diagonal)
    _take_diagonal(matrix.pattern.diagonal, matrix.values, diagonal)
    first, column, where = matrix.pattern.above
    values = np.empty((len(where), 3, 3))
    _take(where, matrix.values, values)
    return System(first, column, values, diagonal)


@kernel
def _take(where, values, out):  # type: ignore[no-untyped-def]
    for k in range(len(where)):
        out[k] = values[where[k]]


@kernel
def _take_diagonal(where, values, diagonal):  # type: ignore[no-untyped-def]
    """xx, xy, xz, yy, yz, zz of the diagonal blocks that there are."""
    for i in range(len(where)):
        if where[i] >= 0:
            v = values[where[i]]
            diagonal[i] = (v[0, 0], v[0, 1], v[0, 2], v[1, 1], v[1, 2], v[2, 2])


@kernel
def _diagonal(inertia, mass, rotation, moments, out):  # type: ignore[no-untyped-def]
    """Of nodes that are pushed alone, and m and R I R^T of frames [kg m^2]."""
    n = len(inertia)
    for i in range(n):
        out[i] = (inertia[i], 0.0, 0.0, inertia[i], 0.0, inertia[i])
    for f in range(len(mass)):
        out[n + 2 * f] = (mass[f], 0.0, 0.0, mass[f], 0.0, mass[f])
        out[n + 2 * f + 1] = _turned(rotation, moments, f)


@inline
def _turned(rotation, inertia, f):  # type: ignore[no-untyped-def]
    """xx, xy, xz, yy, yz, zz of R I R^T of a frame; R diag(d) R^T v is the same for inertia as for its inverse."""
    q, i = load4(rotation, f), load(inertia, f)
    x, y = inverse_inertia_times(q, i, (1.0, 0.0, 0.0)), inverse_inertia_times(q, i, (0.0, 1.0, 0.0))
    return x[0], x[1], x[2], y[1], y[2], inverse_inertia_times(q, i, (0.0, 0.0, 1.0))[2]


def divided(motion: Motion, rows: Rows, pair: Ints, a: Ints, b: Ints) -> tuple[Ints, Islands, Contact]:
    """Order of the rows by island, the islands, and the rows over unknowns; the columns of `row` are to be filled in.

    pair (r,): which pair of bodies a, b (k,) each row is of.
    """
    can, count = motion.kept(Movable), len(motion.bodies)
    order, first_row, (body, of_body, number) = np.empty(len(pair), np.int64), np.zeros(count + 1, np.int64), np.empty((3, count), np.int64)
    used, islands = _divide(pair, a, b, can.moving, can.whole, order, body, of_body, number, first_row)
    body, of_body = body[:used], of_body[:used]

    start, entry_dof, weight = _entries(motion, rows, order)
    dof, end = np.empty(len(can.free), np.int64), np.zeros(used + 1, np.int64)
    _unknowns(body, motion.bodies.node_start, motion.bodies.frame, can.free, can.together, entry_dof, dof, end)
    bounds, run, side = np.empty((islands + 1, 3), np.int64), np.empty((used, 2), np.int64), np.empty((len(pair), 2), np.int64)
    whole = _bound(pair, a, b, order, first_row, body, of_body, can.whole, number, end, bounds, run, side)
    parts = Islands(bounds, dof[: end[-1]], run[: len(whole)], *_whole(motion, whole, number))
    return order, parts, Contact(start, entry_dof, weight, motion.position, np.empty((len(order), ROW)), side)


@kernel
def _divide(pair, a, b, moving, whole, order, body, of_body, number, first_row):  # type: ignore[no-untyped-def]
    """Number the islands by their lowest body and sort the rows and the bodies that are touched by them; in each island those that can move
    as a whole come first. How many bodies and islands there are; first_row: where the rows of each begin."""
    bodies, rows_of = len(moving), np.zeros(len(a), np.int64)
    for p in pair:
        rows_of[p] += 1
    label, linked, links = np.arange(bodies), np.empty((len(a), 2), np.int64), 0
    for p in range(len(a)):
        if moving[a[p]] and moving[b[p]] and rows_of[p] > 0:
            linked[links, 0], linked[links, 1] = a[p], b[p]
            links += 1
    join(label, linked[:links])
    island, touched = np.full(bodies, -1, np.int64), np.zeros(bodies, np.bool_)
    for p in range(len(a)):
        if rows_of[p] > 0:
            touched[a[p]] = touched[b[p]] = True
            island[label[a[p] if moving[a[p]] else b[p]]] = 0
    islands = 0
    for k in range(bodies):  # labels rise
        if island[k] >= 0:
            island[k] = islands
            islands += 1
    for p in range(len(a)):
        first_row[island[label[a[p] if moving[a[p]] else b[p]]] + 1] += rows_of[p]
    for k in range(islands):
        first_row[k + 1] += first_row[k]
    at = first_row.copy()
    for r in range(len(pair)):
        p = pair[r]
        k = island[label[a[p] if moving[a[p]] else b[p]]]
        order[at[k]] = r
        at[k] += 1
    many = np.zeros((islands, 2), np.int64)
    for i in range(bodies):
        number[i] = -1
        if touched[i] and moving[i]:
            many[island[label[i]], 0 if whole[i] else 1] += 1
    used = 0
    for k in range(islands):
        first, second = used, used + many[k, 0]
        used = second + many[k, 1]
        many[k, 0], many[k, 1] = first, second
    for i in range(bodies):
        if touched[i] and moving[i]:
            k, c = island[label[i]], 0 if whole[i] else 1
            body[many[k, c]], of_body[many[k, c]] = i, k
            many[k, c] += 1
    return used, islands


@kernel
def _bound(pair, a, b, order, first_row, body, of_body, can, number, end, bounds, run, side):  # type: ignore[no-untyped-def]
    """Where rows, unknowns and bodies that move as a whole of each island begin; these bodies, their unknowns, and those of each row."""
    whole, islands, k = np.empty(len(body), np.int64), len(bounds) - 1, 0
    used = 0
    for i in range(islands + 1):
        bounds[i, 0] = first_row[i]
        while k < len(body) and of_body[k] < i:
            k += 1
        bounds[i, 1] = end[k]
    at = 0
    for i in range(islands):
        bounds[i, 2] = used
        while at < len(body) and of_body[at] == i:
            if can[body[at]]:
                whole[used], number[body[at]] = body[at], used
                run[used, 0], run[used, 1] = end[at] - bounds[i, 1], end[at + 1] - bounds[i, 1]
                used += 1
            at += 1
    bounds[islands, 2] = used
    for n in range(len(order)):
        p = pair[order[n]]
        side[n, 0], side[n, 1] = number[a[p]], number[b[p]]
    return whole[:used]


@kernel
def _unknowns(body, node_start, frame, free, together, entry_dof, dof, end):  # type: ignore[no-untyped-def]
    """Unknowns of the bodies, one after the other: all that is free, or of bodies that move node by node what rows reach."""
    nodes = node_start[-1]
    reached = np.zeros(len(free), np.bool_)
    for i in entry_dof:
        reached[i] = True
    used = 0
    for k in range(len(body)):
        b = body[k]
        for i in range(node_start[b], node_start[b + 1]):
            if reached[i] or (free[i] and together[b]):
                dof[used] = i
                used += 1
        first = nodes + 2 * frame[b]
        if frame[b] >= 0 and free[first]:
            dof[used], dof[used + 1] = first, first + 1
            used += 2
        end[k + 1] = used


def _whole(motion: Motion, bodies: Ints, number: Ints) -> tuple[Floats, Floats, Floats]:
    """Mass and inertia (b, 7), centre (b, 3), and arms of nodes, of bodies moving as a whole."""
    nodes, frames, count = motion.nodes, motion.frames, len(bodies)
    whole, centre, arm = np.zeros((count, 7)), np.zeros((count, 3)), np.zeros((len(motion.x), 3))
    of_frames = frames.body, frames.mass, frames.inertia, motion.position, motion.rotation
    _inertia(nodes.body, nodes.mass, motion.x, *of_frames, number, whole, centre, arm)
    return whole, centre, arm


@kernel
def _inertia(  # type: ignore[no-untyped-def]
    body, mass, x, frame_body, frame_mass, inertia, position, rotation, number, whole, centre, arm
):  # fmt: skip
    """Mass, centre and moments of inertia of bodies of nodes, and those of frames."""
    for i in range(len(body)):
        b = number[body[i]]
        if b >= 0:
            whole[b, 0] += mass[i]
            for k in range(3):
                centre[b, k] += mass[i] * x[i, k]
    for b in range(len(whole)):
        for k in range(3):
            centre[b, k] /= whole[b, 0] if whole[b, 0] > 0.0 else 1.0
    for i in range(len(body)):
        b = number[body[i]]
        if b >= 0:
            for k in range(3):
                arm[i, k] = x[i, k] - centre[b, k]
            p, q, s, m = arm[i, 0], arm[i, 1], arm[i, 2], mass[i]
            whole[b, 1] += m * (q * q + s * s)
            whole[b, 2] -= m * p * q
            whole[b, 3] -= m * p * s
            whole[b, 4] += m * (p * p + s * s)
            whole[b, 5] -= m * q * s
            whole[b, 6] += m * (p * p + q * q)
    for f in range(len(frame_body)):
        b = number[frame_body[f]]
        if b >= 0:
            whole[b, 0] = frame_mass[f]
            whole[b, 1], whole[b, 2], whole[b, 3], whole[b, 4], whole[b, 5], whole[b, 6] = _turned(rotation, inertia, f)
            store(centre, b, load(position, f))


def _entries(motion: Motion, rows: Rows, order: Ints) -> tuple[Ints, np.ndarray, Floats]:
    """Rows over unknowns, without what does not move: (start, dof, weight)."""
    skin, nodes = motion.skin, motion.nodes
    room = len(rows.point) * motion.kept(Movable).most
    start, dof, weight = np.zeros(len(rows) + 1, np.int64), np.empty(room, np.int32), np.empty(room)
    mark = np.full(len(motion.x) + 2 * len(motion.position), -1, np.int64)
    used = _fill(
        order, rows.start, rows.point, rows.weight, skin.start, skin.node, skin.weight, skin.frame, nodes.inverse, motion.frames.inverse,
        mark, start, dof, weight,
    )  # fmt: skip
    return start, dof[:used], weight[:used]


@kernel
def _fill(  # type: ignore[no-untyped-def]
    order, row_start, point, row_weight, start, node, point_weight, frame, inverse, frame_inverse, mark, out_start, dof, weight
):  # fmt: skip
    used, nodes = 0, len(inverse)
    for k in range(len(order)):
        r = order[k]
        first = used
        for e in range(row_start[r], row_start[r + 1]):
            p, w = point[e], row_weight[e]
            f = frame[p]
            for m in range(start[p], start[p + 1] if f < 0 else start[p] + 1):
                i = node[m] if f < 0 else nodes + 2 * f
                if w == 0.0 or (inverse[i] == 0.0 if f < 0 else frame_inverse[f] == 0.0):
                    continue
                if mark[i] < first:
                    mark[i] = used
                    dof[used], weight[used] = i, 0.0
                    used += 1
                weight[mark[i]] += w * point_weight[m] if f < 0 else w
        out_start[k + 1] = used
    return used
