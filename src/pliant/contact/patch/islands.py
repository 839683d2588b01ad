"""From rows over skin points to the problem of each island (theory/patch 4.3): unknowns, matrix, rows over unknowns, rigid motions."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.patch.problem import PLACE, ROW, Contact, Islands, System
from pliant.geometry.components import labels
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.kernels import kernel
from pliant.world.motion import Motion, Rows

UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])  # xx, xy, xz, yy, yz, zz of a symmetric 3x3 matrix


def system(motion: Motion) -> System:
    """A of everything that moves."""
    n, frames = len(motion.x), motion.frames
    diagonal = np.zeros((n + 2 * len(frames.mass), 6))
    diagonal[:n, [0, 3, 5]] = motion.inertia[:, None]
    diagonal[n::2, [0, 3, 5]] = frames.mass[:, None]
    diagonal[n + 1 :: 2] = _moments(motion)
    matrix = motion.matrix
    if matrix is None:
        return System(np.zeros(1, np.uint32), np.zeros(0, np.uint32), np.zeros((0, 3, 3)), diagonal)
    own = np.flatnonzero(matrix.pattern.diagonal >= 0)
    diagonal[own] = matrix.values[matrix.pattern.diagonal[own]][:, UPPER[0], UPPER[1]]
    return System(matrix.pattern.indptr, matrix.pattern.indices, matrix.values, diagonal)


def _moments(motion: Motion) -> Floats:
    """R I R^T of all frames [kg m^2], (f, 6)."""
    turn = quaternion_to_matrix(motion.rotation)
    return np.einsum("fij,fj,fkj->fik", turn, motion.frames.inertia, turn)[:, UPPER[0], UPPER[1]]


def divided(motion: Motion, rows: Rows, a: Ints, b: Ints) -> tuple[Ints, Islands, Contact]:
    """Order of the rows by island, the islands, and the rows over unknowns; stiffness and the like are to be filled in."""
    bodies, nodes, frames, n = motion.bodies, motion.nodes, motion.frames, len(motion.x)
    count = len(bodies)
    moving = np.zeros(count, bool)
    moving[nodes.body[nodes.inverse > 0]] = True
    moving[frames.body[frames.inverse > 0]] = True
    linked = moving[a] & moving[b]
    label = labels(count, np.stack([a[linked], b[linked]], axis=1))
    mine = label[np.where(moving[a], a, b)]
    used = np.flatnonzero(np.bincount(mine))
    island = np.searchsorted(used, mine)
    order = np.argsort(island, kind="stable")
    island = island[order]
    touched = np.zeros(count, bool)
    touched[a], touched[b] = True, True
    touched &= moving
    of_body = np.full(count, -1, np.int64)
    of_body[touched] = np.searchsorted(used, label[touched])

    implicit = np.zeros(count, bool)
    implicit[nodes.body[(nodes.inverse > 0) & ~motion.explicit]] = True
    held = np.zeros(count, bool)
    held[nodes.body[nodes.inverse == 0]] = True
    rigid = bodies.frame >= 0
    whole = touched & (rigid | (implicit & ~held))  # can move as a whole

    start, entry_dof, weight = _entries(motion, rows, order)
    dof_body = np.concatenate([nodes.body, np.repeat(frames.body, 2)])
    free = np.concatenate([nodes.inverse > 0, np.repeat(frames.inverse > 0, 2)])
    wanted = free & touched[dof_body] & (implicit | rigid)[dof_body]
    wanted[entry_dof[entry_dof < n]] = True
    dof = np.flatnonzero(wanted)
    body = dof_body[dof]
    rank = np.lexsort((dof, body, ~whole[body], of_body[body]))
    dof, body = dof[rank], body[rank]
    dofs = np.searchsorted(of_body[body], np.arange(len(used) + 1))
    list_ = np.flatnonzero(whole)
    list_ = list_[np.lexsort((list_, of_body[list_]))]
    number = np.full(count, -1, np.int64)
    number[list_] = np.arange(len(list_))
    some = np.flatnonzero(whole[body])
    first = some[np.searchsorted(number[body[some]], np.arange(len(list_)))] - dofs[of_body[list_]]
    run = np.stack([first, first + np.bincount(number[body[some]], minlength=len(list_))], axis=1)
    numbers = np.arange(len(used) + 1)
    bounds = np.stack([np.searchsorted(island, numbers), dofs, np.searchsorted(of_body[list_], numbers)], axis=1)
    islands = Islands(bounds, dof, run, *_whole(motion, list_, number))
    row = np.zeros((len(order), ROW))
    row[:, :3], row[:, PLACE : PLACE + 3] = rows.normal[order], rows.at[order]
    side = np.stack([number[a[order]], number[b[order]]], axis=1)
    return order, islands, Contact(start, entry_dof, weight, motion.position, row, side)


def _whole(motion: Motion, bodies: Ints, number: Ints) -> tuple[Floats, Floats, Floats]:
    """Mass and inertia (b, 7), centre (b, 3), and arms of nodes, of bodies moving as a whole."""
    nodes, frames, count = motion.nodes, motion.frames, len(bodies)
    whole, centre, arm = np.zeros((count, 7)), np.zeros((count, 3)), np.zeros((len(motion.x), 3))
    _inertia(nodes.body, nodes.mass, motion.x, number, whole, centre, arm)
    framed = np.flatnonzero(number[frames.body] >= 0)
    which = number[frames.body[framed]]
    whole[which, 0], whole[which, 1:], centre[which] = frames.mass[framed], _moments(motion)[framed], motion.position[framed]
    return whole, centre, arm


@kernel
def _inertia(body, mass, x, number, whole, centre, arm):  # type: ignore[no-untyped-def]
    """Mass, centre and moments of inertia of bodies of nodes."""
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


def _entries(motion: Motion, rows: Rows, order: Ints) -> tuple[Ints, np.ndarray, Floats]:
    """Rows over unknowns, without what does not move: (start, dof, weight)."""
    skin, nodes = motion.skin, motion.nodes
    room = len(rows.point) * int(np.diff(skin.start).max(initial=1))
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
