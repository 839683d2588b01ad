"""From rows over skin points to the problem of each island: unknowns, matrix, rows over unknowns, rigid motions."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from pliant.base import Floats, Ints
from pliant.contact.patch.problem import Contact, Islands, System
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.kernels import kernel
from pliant.world.motion import Motion, Rows


def system(motion: Motion) -> System:
    """A of everything that moves."""
    n, frames = len(motion.x), motion.frames
    size = n + 2 * len(frames.mass)
    diagonal, own = np.zeros((size, 3, 3)), np.zeros(size, bool)
    diagonal[:n] = motion.inertia[:, None, None] * np.eye(3)
    turn = quaternion_to_matrix(motion.rotation)
    diagonal[n::2] = frames.mass[:, None, None] * np.eye(3)
    diagonal[n + 1 :: 2] = np.einsum("fij,fj,fkj->fik", turn, frames.inertia, turn)
    matrix = motion.matrix
    if matrix is None:
        return System(np.zeros(1, np.uint32), np.zeros(0, np.uint32), np.zeros((0, 3, 3)), diagonal, own, n)
    own[:n] = matrix.pattern.diagonal >= 0
    return System(matrix.pattern.indptr, matrix.pattern.indices, matrix.values, diagonal, own, n)


def divided(motion: Motion, rows: Rows, a: Ints, b: Ints) -> tuple[Ints, Islands, Contact]:
    """Order of the rows by island, the islands, and the rows over unknowns; stiffness and the like are to be filled in."""
    bodies, nodes, frames, n = motion.bodies, motion.nodes, motion.frames, len(motion.x)
    count = len(bodies)
    moving = np.zeros(count, bool)
    moving[nodes.body[nodes.inverse > 0]] = True
    moving[frames.body[frames.inverse > 0]] = True
    linked = moving[a] & moving[b]
    graph = coo_matrix((np.ones(linked.sum()), (a[linked], b[linked])), shape=(count, count))
    label = connected_components(graph, directed=False)[1]
    mine = label[np.where(moving[a], a, b)]
    used, island = np.unique(mine, return_inverse=True)
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

    entries = _entries(motion, rows, order)
    dof_body = np.concatenate([nodes.body, np.repeat(frames.body, 2)])
    free = np.concatenate([nodes.inverse > 0, np.repeat(frames.inverse > 0, 2)])
    wanted = free & touched[dof_body] & (implicit | rigid)[dof_body]
    wanted[entries[1][entries[1] < n]] = True
    dof = np.flatnonzero(wanted)
    body = dof_body[dof]
    rank = np.lexsort((dof, body, ~whole[body], of_body[body]))
    dof, body = dof[rank], body[rank]
    dofs = np.searchsorted(of_body[body], np.arange(len(used) + 1))
    list_ = np.flatnonzero(whole)
    list_ = list_[np.lexsort((list_, of_body[list_]))]
    number = np.full(count, -1, np.int64)
    number[list_] = np.arange(len(list_))
    first = np.full(len(list_) + 1, len(dof))
    at = number[body]
    some = at >= 0
    run = np.zeros((len(list_), 2), np.int64)
    np.minimum.at(first, at[some], np.flatnonzero(some))
    run[:, 0] = first[:-1]
    run[:, 1] = first[:-1] + np.bincount(at[some], minlength=len(list_))
    centre, inertia, arm = _whole(motion, list_, number)
    side = np.stack([number[a[order]], number[b[order]]], axis=1)
    lever = rows.at[order][:, None] - centre[np.maximum(side, 0)]
    starts = np.searchsorted(island, np.arange(len(used) + 1))
    islands = Islands(starts, dofs, dof, np.searchsorted(of_body[list_], np.arange(len(used) + 1)), run, inertia, arm)
    r = len(order)
    room = (np.empty(r), np.empty((r, 3)), np.empty(r), np.empty(r), np.empty(r))
    contact = Contact(*entries, np.ascontiguousarray(rows.normal[order]), *room, side, lever)
    return order, islands, contact


def _whole(motion: Motion, bodies: Ints, number: Ints) -> tuple[Floats, Floats, Floats]:
    """Centre, inertia (b, 6, 6) about it, and arms of nodes, of bodies moving as a whole."""
    nodes, frames, count = motion.nodes, motion.frames, len(bodies)
    size = len(motion.x) + 2 * len(motion.frames.mass)
    mass, centre = np.zeros(count), np.zeros((max(count, 1), 3))
    inertia, arm = np.zeros((count, 6, 6)), np.zeros((size, 3))
    of = number[nodes.body]
    mine = np.flatnonzero(of >= 0)
    np.add.at(mass, of[mine], nodes.mass[mine])
    np.add.at(centre, of[mine], nodes.mass[mine, None] * motion.x[mine])
    soft = mass > 0
    centre[:count][soft] /= mass[soft, None]
    arm[mine] = motion.x[mine] - centre[of[mine]]
    r = arm[mine]
    moment = nodes.mass[mine, None, None] * (np.einsum("ni,ni->n", r, r)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :])
    np.add.at(inertia[:, 3:, 3:], of[mine], moment)
    framed = np.flatnonzero(number[frames.body] >= 0)
    which = number[frames.body[framed]]
    turn = quaternion_to_matrix(motion.rotation[framed])
    inertia[which, 3:, 3:] = np.einsum("fij,fj,fkj->fik", turn, frames.inertia[framed], turn)
    mass[which], centre[which] = frames.mass[framed], motion.position[framed]
    inertia[:, [0, 1, 2], [0, 1, 2]] = mass[:, None]
    return centre, inertia, arm


def _entries(motion: Motion, rows: Rows, order: Ints) -> tuple[Ints, Ints, Floats, Floats]:
    """Rows over unknowns, without what does not move: (start, dof, weight, lever)."""
    skin, n = motion.skin, len(motion.x)
    width = int(np.diff(skin.start).max(initial=1))
    room = len(rows.point) * width
    start, dof, weight = np.zeros(len(rows) + 1, np.int64), np.empty(room, np.int64), np.empty(room)
    lever = np.zeros((room, 3))
    used = _fill(
        order, rows.start, rows.point, rows.weight, rows.at, skin.start, skin.node, skin.weight, skin.frame, motion.nodes.inverse,
        motion.frames.inverse, motion.position, n, start, dof, weight, lever,
    )  # fmt: skip
    return start, dof[:used], weight[:used], lever[:used]


@kernel
def _fill(  # type: ignore[no-untyped-def]
    order, row_start, point, row_weight, at, start, node, weight, frame, inverse, frame_inverse, position, nodes, out_start, dof, out, lever
):
    used = 0
    for k in range(len(order)):
        r = order[k]
        first = used
        for e in range(row_start[r], row_start[r + 1]):
            p, w = point[e], row_weight[e]
            if w == 0.0:
                continue
            if frame[p] >= 0:
                f = frame[p]
                if frame_inverse[f] == 0.0:
                    continue
                same = -1
                for q in range(first, used):
                    if dof[q] == nodes + 2 * f:
                        same = q
                if same >= 0:
                    out[same] += w
                    continue
                dof[used], out[used] = nodes + 2 * f, w
                for m in range(3):
                    lever[used, m] = at[r, m] - position[f, m]
                used += 1
                continue
            for m in range(start[p], start[p + 1]):
                i = node[m]
                if inverse[i] == 0.0:
                    continue
                same = -1
                for q in range(first, used):
                    if dof[q] == i:
                        same = q
                if same >= 0:
                    out[same] += w * weight[m]
                    continue
                dof[used], out[used] = i, w * weight[m]
                used += 1
        out_start[k + 1] = used
    return used
