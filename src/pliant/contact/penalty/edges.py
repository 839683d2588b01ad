"""Pairs of edges while they slide: which push, which wait, which end, and new ones (6.2.3 of the thesis; theory/penalty 7.4).

Seen along the contact normal n the lines of two edges cross at s of the first and t of the second:
    a + s (b - a) - c - t (d - c) = gap n,     gap = sigma P / |N|.
Both within [0, 1]: the pair pushes. Within [-0.3, 1.3]: it waits as a candidate. Else, or if the edges have become parallel, it is
dismissed. A pair that pushes goes on to do so up to [-0.05, 1.05] (ours): at the very end of an edge its push moves it out, without
the push it comes back, and the force would come and go with every step.

New pairs come with vertices that change their face: edges at the vertex against edges at the corners that the old and the new face share
(all corners of the new face if they share none). They are kept if regular, penetrating and within the relaxed interval. Their
normal is turned to the side of the old face's normal n_ref.

Where we differ: if the new face is turned by more than 45 degrees against the old one (a hooked pair that was put right), n_ref is the new
face's normal. Edges with n . n_ref = 0 have no side that it could tell and are left out. So are edges between two faces in one plane: they
are no edges of the shape, and what they would do the vertices around them do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.category import HALF, edges_regular
from pliant.contact.penalty.options import CATEGORIES
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.detect.adjacency import FLAT, Adjacency
from pliant.detect.coplanar_times import SLACK, row_weights
from pliant.detect.time_of_impact import corners_of, frame
from pliant.kernels import contiguous, cross, dot, inline, kernel, load, norm, scale, sub

RELAXED = 0.3  # eps_E of the thesis: how far beyond its features a contact may slide, in their sizes, before it is given up
HELD = 0.05  # of an edge: how far beyond its ends a pair that pushes goes on to push
HANDLE, CANDIDATE, DISMISS = 0, 1, 2


@dataclass
class EdgeStates:
    """Where pairs of edges stand; other kinds of pairs are HANDLE with NaN."""

    state: Ints  # (r,) HANDLE, CANDIDATE or DISMISS
    s: Floats  # (r,) place along the first edge
    t: Floats  # (r,) along the second
    gap: Floats  # [m] (r,) negative: penetrating

    @property
    def beyond(self) -> Floats:
        """(r,) how far the crossing is beyond the nearest end of an edge, in its lengths; not above 0: within both."""
        return np.maximum(np.maximum(-self.s, self.s - 1.0), np.maximum(-self.t, self.t - 1.0))

    @property
    def weights(self) -> Floats:
        """(r, 4) signed weights as in `Records.weights`, of the nearest places on the edges."""
        s, t = np.clip(self.s, 0.0, 1.0), np.clip(self.t, 0.0, 1.0)
        return np.stack([1.0 - s, s, t - 1.0, -t], axis=1)


@inline
def edge_state(s, t, relaxed):  # type: ignore[no-untyped-def]
    """HANDLE, CANDIDATE or DISMISS."""
    beyond = max(max(-s, s - 1.0), max(-t, t - 1.0))
    return HANDLE if beyond <= 0.0 else (CANDIDATE if beyond <= relaxed else DISMISS)


@inline
def edge_place(e, f, r):  # type: ignore[no-untyped-def]
    """(not parallel, s, t, gap along N = e x f)."""
    plane, _, w = row_weights(False, e, f, r)
    n = cross(e, f)
    return plane, w[1], -w[3], dot(n, r) / norm(n) if plane else 0.0


def edge_states(points: Floats, records: Records, relaxed: float = RELAXED) -> EdgeStates:
    """State of every pair of edges where the points are now."""
    r = len(records)
    out = EdgeStates(np.zeros(r, np.int64), np.full(r, np.nan), np.full(r, np.nan), np.full(r, np.nan))
    _states(contiguous(points), records.kind, records.corners, records.sigma, relaxed, out.state, out.s, out.t, out.gap)
    return out


@kernel
def _states(points, kind, corners, sigma, relaxed, state, s, t, gap):  # type: ignore[no-untyped-def]
    for i in range(len(kind)):
        if kind[i] == EDGE_EDGE:
            e, f, r = frame(False, corners_of(points, corners, i))
            plane, s[i], t[i], height = edge_place(e, f, r)
            state[i] = edge_state(s[i], t[i], relaxed) if plane else DISMISS
            gap[i] = sigma[i] * height


def new_edge_pairs(
    points: Floats, records: Records, changed: np.ndarray, mesh: Adjacency, rule: str = "span", relaxed: float = RELAXED,
    normals: Floats | None = None, leaves: bool = False,
) -> Records:  # fmt: skip
    """Pairs of edges that begin where vertices changed their face, without those there are.

    changed: rows of the records with a new face (`Redefined.changed`): from `before` to `feature_b`. leaves: the new faces are those by
    which vertices leave the body, and the old ones tell the sides, whatever the angle between them. The lower edge is the first, as in
    `FeatureTree.candidates`. Stiffness is 0: not chosen yet.
    """
    moved = records.select(changed & (records.kind == VERTEX_FACE) & (records.before >= 0))
    if len(moved) == 0:
        return Records.none()
    normals = mesh.normals(points) if normals is None else normals
    most = _tests(moved.feature_a, moved.feature_b, mesh)
    pair, sign, state = np.empty((most, 2), np.int64), np.empty(most), np.empty(most, np.int64)
    count = _new(contiguous(points), moved.columns, mesh, normals, CATEGORIES[rule], relaxed, leaves, pair, sign, state)
    return _as_records(points, mesh, pair[:count], sign[:count], state[:count] == HANDLE, records)


def _as_records(points: Floats, mesh: Adjacency, pair: Ints, sigma: Floats, active: np.ndarray, there: Records) -> Records:
    key = pair[:, 0] << 32 | pair[:, 1]
    old = there.kind == EDGE_EDGE
    first = np.unique(key, return_index=True)[1]
    first = first[~np.isin(key[first], there.feature_a[old] << 32 | there.feature_b[old])]
    e, g = pair[first].T.copy()
    corners = np.concatenate([mesh.edges[e], mesh.edges[g]], axis=1)
    made = Records.new(
        EDGE_EDGE, mesh.body[corners[:, 0]], mesh.body[corners[:, 2]], e, g, corners, np.zeros((len(e), 4)), sigma[first]
    )
    made.active, made.weights = active[first], edge_states(points, made).weights
    return made


@inline
def shared(faces, f, g):  # type: ignore[no-untyped-def]
    """(whether each corner of face g is one of f); all three where none is."""
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    p, q, r = faces[g, 0], faces[g, 1], faces[g, 2]
    x, y, z = p == a or p == b or p == c, q == a or q == b or q == c, r == a or r == b or r == c
    none = not (x or y or z)
    return x or none, y or none, z or none


@kernel
def _tests(vertex, face, mesh):  # type: ignore[no-untyped-def]
    """At most so many pairs of edges are to be tested."""
    total, start = 0, mesh.edge_start
    for i in range(len(vertex)):
        near = 0
        for k in range(3):
            corner = mesh.faces[face[i], k]
            near += start[corner + 1] - start[corner]
        total += near * (start[vertex[i] + 1] - start[vertex[i]])
    return total


@inline
def is_flat(e, mesh, normal):  # type: ignore[no-untyped-def]
    """Whether both faces of an edge lie in one plane."""
    g = mesh.edge_faces[e, 1]
    return g >= 0 and dot(load(normal, mesh.edge_faces[e, 0]), load(normal, g)) > 1.0 - FLAT


@inline
def new_pair(points, mesh, normal, e, g, ref, rule, relaxed):  # type: ignore[no-untyped-def]
    """(state, sigma) of edges e and g as a pair that may begin; DISMISS if it may not."""
    a, b, c, d = mesh.edges[e, 0], mesh.edges[e, 1], mesh.edges[g, 0], mesh.edges[g, 1]
    if a == c or a == d or b == c or b == d or is_flat(g, mesh, normal):
        return DISMISS, 1.0
    x, z = load(points, a), load(points, c)
    u, v, r = sub(load(points, b), x), sub(load(points, d), z), sub(x, z)
    plane, s, t, gap = edge_place(u, v, r)
    n = cross(u, v)
    lean = dot(n, ref) / math.sqrt(dot(n, n)) if plane else 0.0
    sigma = 1.0 if lean > 0.0 else -1.0
    if abs(lean) < SLACK or sigma * gap >= 0.0:
        return DISMISS, sigma
    state = edge_state(s, t, relaxed)
    if state != DISMISS and not edges_regular(scale(sigma / norm(n), n), e, g, mesh, normal, rule):
        state = DISMISS
    return state, sigma


@kernel
def _new(points, moved, mesh, normal, rule, relaxed, leaves, pair, sign, states):  # type: ignore[no-untyped-def]
    count = 0
    for i in range(len(moved.a)):
        v, old, new = moved.a[i], moved.before[i], moved.b[i]
        turned = not leaves and dot(load(normal, old), load(normal, new)) < HALF
        ref = scale(moved.sigma[i], load(normal, new if turned else old))
        common = shared(mesh.faces, old, new)
        for k in range(3):
            if not (common[0] if k == 0 else (common[1] if k == 1 else common[2])):
                continue
            w = mesh.faces[new, k]
            for j in range(mesh.edge_start[w], mesh.edge_start[w + 1]):
                g = mesh.edges_around[j]
                for m in range(mesh.edge_start[v], mesh.edge_start[v + 1]):
                    e = mesh.edges_around[m]
                    if is_flat(e, mesh, normal):
                        continue
                    state, side = new_pair(points, mesh, normal, e, g, ref, rule, relaxed)
                    if state == DISMISS:
                        continue
                    # exchanging the edges turns N and r both, so sigma stays
                    pair[count, 0], pair[count, 1] = min(e, g), max(e, g)
                    sign[count], states[count] = side, state
                    count += 1
    return count
