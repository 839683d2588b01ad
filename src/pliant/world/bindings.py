"""Skin points and the bodies they are bound to: forwards positions, backwards impulses.

A skin point is a weighted sum of nodes, or a place fixed in a rigid frame. The binding gives positions; its transpose
carries impulses, so that forces on the skin and on the body have the same sum and the same moment (theory/elements 4.9).
"""

from __future__ import annotations

from pliant.geometry.quaternions import load4, rotate, rotate_back
from pliant.kernels import add, axpy, cross, kernel, load, parallel, prange, scale, store, sub


@parallel
def skin_positions(start, node, weight, frame, local, x, position, rotation, out):  # type: ignore[no-untyped-def]
    """World positions of all skin points."""
    for p in prange(len(frame)):
        f = frame[p]
        if f >= 0:
            store(out, p, add(load(position, f), rotate(load4(rotation, f), load(local, p))))
        elif start[p + 1] == start[p]:
            store(out, p, load(local, p))
        else:
            u = (0.0, 0.0, 0.0)
            for k in range(start[p], start[p + 1]):
                u = axpy(weight[k], load(x, node[k]), u)
            store(out, p, u)


@kernel
def spread(  # type: ignore[no-untyped-def]
    row_start, row_point, row_weight, at, impulse, alone, start, node, weight, frame, position, slot, touched, on_nodes, on_frames, turning
):
    """Carry row impulses to nodes and frames; frames take them at `at`, so that both sides have the same moment.

    Only some nodes are reached: on_nodes[k] is for node touched[k], and how many there are is the answer. slot (n,) comes and goes as -1.
    """
    used = 0
    for r in range(len(at)):
        i = load(impulse, r)
        for k in range(row_start[r], row_start[r + 1]):
            p, w = row_point[k], row_weight[k]
            if alone[p] >= 0:
                used = _add(slot, touched, on_nodes, used, alone[p], w, i)
            elif frame[p] >= 0:
                f, share = frame[p], scale(w, i)
                store(on_frames, f, add(load(on_frames, f), share))
                arm = sub(load(at, r), load(position, f))
                store(turning, f, add(load(turning, f), cross(arm, share)))
            else:
                for m in range(start[p], start[p + 1]):
                    used = _add(slot, touched, on_nodes, used, node[m], w * weight[m], i)
    for k in range(used):
        slot[touched[k]] = -1
    return used


@kernel
def _add(slot, touched, on_nodes, used, n, w, i):  # type: ignore[no-untyped-def]
    """Add w i to node n, in a new place if it has none; how many places are used then."""
    if slot[n] < 0:
        slot[n], touched[used] = used, n
        store(on_nodes, used, scale(w, i))
        return used + 1
    store(on_nodes, slot[n], axpy(w, i, load(on_nodes, slot[n])))
    return used


@kernel
def kick(node, impulse, mobility, inverse, dt, v, x, on_fixed):  # type: ignore[no-untyped-def]
    """Impulses on some nodes change their velocities and where they end; fixed nodes take them."""
    for k in range(len(node)):
        n, i = node[k], load(impulse, k)
        if inverse[n] == 0.0:
            store(on_fixed, n, add(load(on_fixed, n), i))
        dv = scale(mobility[n], i)
        store(v, n, add(load(v, n), dv))
        store(x, n, axpy(dt, dv, load(x, n)))


@kernel
def point_forces(point, force, place, start, node, weight, frame, position, on_nodes, on_frames, turning):  # type: ignore[no-untyped-def]
    """Carry forces on skin points (at their places) to nodes and frames."""
    for k in range(len(point)):
        p, i = point[k], load(force, k)
        f = frame[p]
        if f >= 0:
            store(on_frames, f, add(load(on_frames, f), i))
            arm = sub(load(place, p), load(position, f))
            store(turning, f, add(load(turning, f), cross(arm, i)))
        else:
            for m in range(start[p], start[p + 1]):
                store(on_nodes, node[m], axpy(weight[m], i, load(on_nodes, node[m])))


@kernel
def row_displacements(  # type: ignore[no-untyped-def]
    row_start, row_point, row_weight, at, begin, x, alone, start, node, weight, local, frame,
    position0, rotation0, position1, rotation1, out,
):  # fmt: skip
    """How far side A of each row moved against side B: nodes by their points, frames by their matter that is at `at` in the end."""
    for r in range(len(at)):
        u = (0.0, 0.0, 0.0)
        for k in range(row_start[r], row_start[r + 1]):
            p, w = row_point[k], row_weight[k]
            if alone[p] >= 0:
                u = axpy(w, sub(load(x, alone[p]), load(begin, p)), u)
            elif frame[p] >= 0:
                f, here = frame[p], load(at, r)
                inside = rotate_back(load4(rotation1, f), sub(here, load(position1, f)))
                u = axpy(w, sub(here, add(load(position0, f), rotate(load4(rotation0, f), inside))), u)
            else:
                end = load(local, p) if start[p + 1] == start[p] else (0.0, 0.0, 0.0)
                for m in range(start[p], start[p + 1]):
                    end = axpy(weight[m], load(x, node[m]), end)
                u = axpy(w, sub(end, load(begin, p)), u)
        store(out, r, u)


@kernel
def row_vectors(row_start, row_point, row_weight, field, out):  # type: ignore[no-untyped-def]
    """Weighted sum of a skin field over each row."""
    for r in range(len(out)):
        u = (0.0, 0.0, 0.0)
        for k in range(row_start[r], row_start[r + 1]):
            u = axpy(row_weight[k], load(field, row_point[k]), u)
        store(out, r, u)


@kernel
def row_velocities(  # type: ignore[no-untyped-def]
    row_start, row_point, row_weight, at, start, node, weight, frame, v, position, velocity, omega, out
):
    """Velocity of side A of each row against side B: nodes by their points, frames by their matter that is at `at`."""
    for r in range(len(at)):
        u = (0.0, 0.0, 0.0)
        for k in range(row_start[r], row_start[r + 1]):
            p, f = row_point[k], frame[row_point[k]]
            if f >= 0:
                turning = cross(load(omega, f), sub(load(at, r), load(position, f)))
                u = axpy(row_weight[k], add(load(velocity, f), turning), u)
            else:
                for m in range(start[p], start[p + 1]):
                    u = axpy(row_weight[k] * weight[m], load(v, node[m]), u)
        store(out, r, u)


@kernel
def row_paths(  # type: ignore[no-untyped-def]
    row_start, row_point, row_weight, at, frame, here, position0, rotation0, there, position1, rotation1, out
):
    """Weighted sums of how far points go from one place to another; on a frame it is what is at the row that goes."""
    for r in range(len(out)):
        u = (0.0, 0.0, 0.0)
        for k in range(row_start[r], row_start[r + 1]):
            p = row_point[k]
            if frame[p] >= 0:
                f = frame[p]
                local = rotate_back(load4(rotation0, f), sub(load(at, r), load(position0, f)))
                end = add(load(position1, f), rotate(load4(rotation1, f), local))
                u = axpy(row_weight[k], sub(end, load(at, r)), u)
            else:
                u = axpy(row_weight[k], sub(load(there, p), load(here, p)), u)
        store(out, r, u)
