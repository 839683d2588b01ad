"""Variants of the papers, off unless an option names them: friction by anchors, blended normals, spread impulses, known ways out.

`friction = "yamane-nakamura"` is the model of the thesis (5.3; theory/penalty 6): f_s = k_FP (p_ref - p) - k_FD v sticks
while |f_s| <= mu_s f_n, else f_d = -mu_d f_n w(|v|) v / |v|, w(x) = 1 - exp(-k_w x), and the anchor starts anew. The sliding force is
clamped so that it cannot turn the slip around within the step; without that k_w = 10000 needs steps of 0.2 ms.

`blend` turns the normal of a face towards that of the vertex (theory/penalty 5.9).

`spread = true` (theory/penalty 5.8) is for bodies whose nodes are stepped explicitly: a vertex that is pushed alone is pushed out of its
surface before its neighbours know. Its impulse I goes to the vertices u of its ring (itself and those an edge joins to it) in shares
    w_u = (1 + g . y_u) / n,     y_u: place of u across the normal, from the mean of the ring,
with g such that sum w_u = 1 and sum w_u y_u is the place of the vertex itself. So force and moment are those of I, exactly. Shares that
would pull are set to zero and g is found anew; a vertex on the rim spreads along the rim, a corner keeps all. Where we differ:
theory/penalty 5.8 also has a form that turns the single forces to balance the moment; shares of one direction keep a contact one row, so
its yield is known. Friction is not spread, as its moment would be that of the height of the vertex over its ring. Implicit bodies spread
every impulse through their stiffness anyhow; rigid ones need none.

`redefinition: deep = true` (11.6-1, the stronger form) asks which way deep vertices come out of bodies with tetrahedra. The penetration
direction r of Heidelberger et al. 2004 (detect/solid_penetration.py) is known for every vertex of a group that has sunk in together,
layer by layer from the ones that are still near the surface. It does not depend on which face a vertex came through, so it tells a deep
contact from a hooked one better than the neighbours' pushes do. Bodies without tetrahedra have only those.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.friction import Friction, tangential
from pliant.contact.penalty.options import Options
from pliant.contact.penalty.records import VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.detect.consistent_depth import RESOLVED
from pliant.detect.keys import find
from pliant.detect.solid_penetration import SolidPenetration
from pliant.geometry.normals import angle_normals
from pliant.kernels import cross, dot, kernel, load, norm, scale, sub
from pliant.world.motion import Motion, Rows

STRAIGHT = 1e-9  # of its size squared: how straight a ring is that counts as a line, to rounding
TRIES = 8  # how often shares that pull are taken out


def yamane_nakamura(
    stretch: Floats, velocity: Floats, force: Floats, mu_s: Floats, mu_d: Floats, k_fp: float, k_fd: float, k_omega: float
) -> tuple[Floats, np.ndarray]:
    """Friction forces [N] (r, 3) and whether each sticks. stretch: p - p_ref, velocity: of the slip, force: normal force [N] (r,)."""
    stick = -k_fp * stretch - k_fd * velocity
    sticks = np.linalg.norm(stick, axis=1) <= mu_s * force
    speed = np.linalg.norm(velocity, axis=1)
    onset = np.where(speed > 0.0, -np.expm1(-k_omega * speed) / np.where(speed > 0.0, speed, 1.0), k_omega)  # w(x) / x
    slide = -(mu_d * force * onset)[:, None] * velocity
    return np.where(sticks[:, None], stick, slide), sticks


def anchor_friction(options: Options, motion: Motion, rows: Rows, impulse: Floats, mu_s: Floats, mu_d: Floats, stretch: Floats) -> Friction:
    """The impulses of that model for the predicted motion; not pushed yet."""
    slip = tangential(motion.slide(rows), rows.normal)
    speed = np.linalg.norm(slip, axis=1) / motion.dt
    held, velocity = tangential(stretch, rows.normal), slip / motion.dt
    given = (options.k_fp, options.k_fd, options.k_omega)
    force, sticks = yamane_nakamura(held, velocity, impulse / motion.dt, mu_s, mu_d, *given)
    give = motion.give(rows, np.divide(slip, motion.dt * speed[:, None], out=np.zeros_like(slip), where=speed[:, None] > 0.0))
    size, most = motion.dt * np.linalg.norm(force, axis=1), np.divide(speed, give, out=np.zeros_like(speed), where=give > 0.0)
    fade = np.where(sticks, 1.0, np.minimum(1.0, most / np.where(size > 0.0, size, 1.0)))
    return Friction(motion.dt * fade[:, None] * force, sticks, np.zeros_like(slip))


def inward_vertex_normals(motion: Motion, batch: Records) -> Floats:
    """Inward normals of the vertices of vertex-face records, towards which blended normals are turned; zero for others, (r, 3)."""
    faces, skin = motion.skin.faces, motion.skin
    face_normal, vertex_normal = np.zeros((len(faces), 3)), np.zeros((len(skin), 3))
    angle_normals(motion.end, faces, face_normal, vertex_normal)
    own = -vertex_normal[np.where(batch.kind == VERTEX_FACE, batch.feature_a, 0)]
    length = np.linalg.norm(own, axis=1, keepdims=True)
    unit = np.divide(own, length, out=np.zeros_like(own), where=length > 0.0)
    return np.where((batch.kind == VERTEX_FACE)[:, None], unit, 0.0)


def over_rings(motion: Motion, mesh: Adjacency, rows: Rows) -> Rows:
    """The rows with every vertex that may spread replaced by its ring; normal and place stay."""
    explicit = spreading(motion)
    size = np.where(explicit[rows.point], 1 + np.diff(mesh.edge_start)[rows.point], 1)
    begin = np.concatenate([[0], np.cumsum(size)])
    point, weight = np.empty(begin[-1], np.int64), np.zeros(begin[-1])
    row = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    _shares(row, rows.point, rows.weight, rows.normal, explicit, begin, mesh, motion.end, point, weight)
    return Rows(begin[rows.start], point, weight, rows.normal, rows.at)


def spreading(motion: Motion) -> np.ndarray:
    """Which skin points may spread, (p,) bool: those bound to nodes that move by themselves."""
    skin, free = motion.skin, motion.explicit
    count = np.diff(skin.start)
    held = np.concatenate([[0], np.cumsum(free[skin.node])])
    return (count > 0) & (held[skin.start[1:]] - held[skin.start[:-1]] == count)


@kernel
def _shares(row, vertex, weight, normal, explicit, begin, mesh, points, point, share):  # type: ignore[no-untyped-def]
    """Points and signed shares of each entry of the rows."""
    for k in range(len(vertex)):
        v, first = vertex[k], begin[k]
        point[first], share[first] = v, weight[k]
        count = begin[k + 1] - first
        if not explicit[v] or weight[k] == 0.0:
            point[first : first + count] = v
            continue
        n = load(normal, row[k])
        t = (1.0, 0.0, 0.0) if abs(n[0]) < abs(n[1]) else (0.0, 1.0, 0.0)
        t = cross(n, t)
        t = scale(1.0 / norm(t), t)
        o = cross(n, t)
        y, use = np.zeros((count, 2)), np.ones(count, np.bool_)
        for i in range(1, count):
            e = mesh.edges_around[mesh.edge_start[v] + i - 1]
            point[first + i] = mesh.edges[e, 1] if mesh.edges[e, 0] == v else mesh.edges[e, 0]
            way = sub(load(points, point[first + i]), load(points, v))
            y[i, 0], y[i, 1] = dot(way, t), dot(way, o)
        parts = np.zeros(count)
        for _ in range(TRIES):
            if _solve(y, use, parts):
                for i in range(count):
                    share[first + i] = weight[k] * parts[i]
                break


@kernel
def _solve(y, use, parts):  # type: ignore[no-untyped-def]
    """Shares of the vertices in use, whose mean is the origin; false: some would pull, and are out of use now."""
    count, mx, my = 0, 0.0, 0.0
    for i in range(len(use)):
        if use[i]:
            count, mx, my = count + 1, mx + y[i, 0], my + y[i, 1]
    mx, my = mx / count, my / count
    a, b, c = 0.0, 0.0, 0.0
    for i in range(len(use)):
        if use[i]:
            u, v = y[i, 0] - mx, y[i, 1] - my
            a, b, c = a + u * u / count, b + u * v / count, c + v * v / count
    gx, gy, det = 0.0, 0.0, a * c - b * b
    if det > STRAIGHT * (a + c) ** 2:
        gx, gy = -(c * mx - b * my) / det, -(a * my - b * mx) / det
    elif a + c > 0.0:  # all in one line, which then goes through the vertex
        gx, gy = -mx / (a + c), -my / (a + c)
    good = True
    for i in range(1, len(use)):
        parts[i] = (1.0 + gx * (y[i, 0] - mx) + gy * (y[i, 1] - my)) / count if use[i] else 0.0
        if parts[i] < 0.0:
            use[i], good = False, False
    parts[0] = 1.0 - parts[1:].sum()
    good = good and parts[0] >= 0.0
    if good and abs((parts * y[:, 0]).sum()) + abs((parts * y[:, 1]).sum()) > STRAIGHT**1.5 * np.sqrt(a + c):
        parts[:], parts[0] = 0.0, 1.0  # nearly, but not quite, in one line: no shares that are exact
    return good


def directions_out(motion: Motion, records: Records) -> Floats:
    """Unit directions out of B at the end of the motion, (r, 3); zero for pairs that have none."""
    out = np.zeros((len(records), 3))
    rows = np.flatnonzero((records.kind == VERTEX_FACE) & np.isin(records.b, motion.skin.tet_body))
    if len(rows) == 0:
        return out
    found, _ = motion.kept(SolidPenetration).find(motion.end, motion.shapes, motion.pairs.meet)
    found = found.select((found.status == RESOLVED) & (found.face >= 0))
    count = len(motion.bodies)
    key = found.point * count + found.b
    order = np.argsort(key, kind="stable")
    at = find(key[order], records.feature_a[rows] * count + records.b[rows])
    out[rows[at >= 0]] = found.normal[order[at[at >= 0]]]
    return out
