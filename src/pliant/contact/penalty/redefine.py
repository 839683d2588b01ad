"""Vertices that slide on to another face, and hooked pairs put right (6.2.3 and 6.2.4 of the thesis; theory/penalty 7.3, 7.5).

A vertex V whose foot on its face F has a negative weight looks at the faces around the corners of F with weights that are not negative;
a hooked pair looks at those around all three. A face F_i will do if V is behind it, the pair would be regular, and the weights of the foot
are within
    [-eps_v, 1 + eps_v],   eps_v = max over the weights w of F of (-w if w < 0, w - 1 if w > 1, 0),          Eq. 6.4
because below a concave edge V may be under no face at all. Of several the shallowest is taken; with none the pair stays.

Where we differ, in order of the search:
1. A face that V is really under (weights not negative) goes before one that it is nearly under: on a plane all are equally deep, and
   rounding would choose.
2. If no face around has V under it, V is followed across the edges it has passed, `walk` faces far: a step may be longer than a face.
3. A face that V is only nearly under must be an improvement: shallower than F by more than rounding, unless F is hooked. This is the guard
   against going back and forth between two faces; `before` makes it hold for hooked pairs too.
4. V in front of F but not over it (its foot is outside) is not yet free: behind a concave edge it may be under the next face. So redefine
   first, then ask `resolved`. Only a face that V is really under counts then.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints
from pliant.contact.penalty.category import HALF, vertex_opposes
from pliant.contact.penalty.options import CATEGORIES, OFF, Redefinition
from pliant.contact.penalty.records import VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.detect.coplanar_times import SLACK, row_weights
from pliant.geometry.triangle import closest_on_triangle
from pliant.kernels import contiguous, dot, inline, kernel, load, norm, parallel, prange, scale, sub, use_threads

FINE, MOVED, WALKED, ALONE, REFUSED = 0, 1, 2, 3, 4


@dataclass
class Redefined:
    """Pairs after redefinition."""

    records: Records
    changed: NDArray[np.bool_]  # (r,) rows with a new face; `before` is the old one
    counts: dict[str, int] = field(default_factory=dict)  # redefined, walked, alone (no face found), refused (would go back), merged


@inline
def foot(points, normal, faces, f, p, sigma):  # type: ignore[no-untyped-def]
    """(weights of the foot of p on face f, how far they are outside [0, 1], signed gap); outside is inf for a face without area."""
    a = load(points, faces[f, 0])
    e, g, r = sub(load(points, faces[f, 1]), a), sub(load(points, faces[f, 2]), a), sub(p, a)
    plane, _, w = row_weights(True, e, g, r)
    w = (-w[1], -w[2], -w[3])
    # the weights sum to one, so whatever is above 1 is no further out than the sum of the others is below 0
    out = max(max(0.0, -min(w[0], min(w[1], w[2]))), max(w[0], max(w[1], w[2])) - 1.0)
    return w, out if plane else np.inf, sigma * dot(load(normal, f), r)


class Search(NamedTuple):
    """How vertices look for a face."""

    lost: bool  # those that are not under their face look for another
    caught: bool  # those that are hooked do
    concave: bool  # a face that they are nearly under will do
    walk: int  # faces crossed at most
    rule: int  # of categories
    reproject: bool  # weights follow the foot


@inline
def has(faces, f, v):  # type: ignore[no-untyped-def]
    return faces[f, 0] == v or faces[f, 1] == v or faces[f, 2] == v


@inline
def agrees(n, v, known, mesh, normal, rule):  # type: ignore[no-untyped-def]
    """Whether vertex v with contact normal n would be regular: by the reference direction if there is one, else by its span."""
    if dot(known, known) > 0.0:
        return dot(n, known) >= HALF
    return rule == OFF or vertex_opposes(n, v, mesh, normal, rule)


@inline
def walk_on(points, mesh, normal, f, p, sigma, steps):  # type: ignore[no-untyped-def]
    """The face that p is under, by crossing the edge of its most negative weight again and again; -1 if that ends nowhere."""
    for _ in range(steps):
        w, out, _ = foot(points, normal, mesh.faces, f, p, sigma)
        if out <= SLACK:
            return f
        worst = 0 if w[0] <= w[1] and w[0] <= w[2] else (1 if w[1] <= w[2] else 2)
        e = mesh.face_edges[f, (worst + 1) % 3]
        f = mesh.edge_faces[e, 1] if mesh.edge_faces[e, 0] == f else mesh.edge_faces[e, 0]
        if f < 0:
            return -1
    return f if foot(points, normal, mesh.faces, f, p, sigma)[1] <= SLACK else -1


@inline
def ring(points, mesh, normal, v, f, sigma, known, hooked, before, search):  # type: ignore[no-untyped-def]
    """(face that v is under, face it is nearly under, whether one was refused as a way back) of those around f; -1 for none."""
    faces = mesh.faces
    p = load(points, v)
    w, out, gap = foot(points, normal, faces, f, p, sigma)
    a = load(points, faces[f, 0])
    tiny = SLACK * max(norm(sub(load(points, faces[f, 1]), a)), norm(sub(load(points, faces[f, 2]), a)))
    under, nearly, refused = -1, -1, False
    best, close = -np.inf, -np.inf
    for k in range(3):
        if not hooked and (w[0] if k == 0 else (w[1] if k == 1 else w[2])) < -SLACK:
            continue
        for j in range(mesh.face_start[faces[f, k]], mesh.face_start[faces[f, k] + 1]):
            g = mesh.faces_around[j]
            if g == f or has(faces, g, v):
                continue
            _, off, depth = foot(points, normal, faces, g, p, sigma)
            inside = off <= SLACK
            if depth >= 0.0 or not (inside or (search.concave and off <= out and (hooked or gap < 0.0))):
                continue
            if depth < (best if inside else close) or (depth == (best if inside else close) and g >= (under if inside else nearly)):
                continue
            if not agrees(scale(sigma, load(normal, g)), v, known, mesh, normal, search.rule):
                continue
            if inside:
                best, under = depth, g
            elif depth <= gap + tiny and (not hooked or g == before):
                refused = True
            else:
                close, nearly = depth, g
    return under, nearly, refused


@inline
def find_face(points, mesh, normal, v, f, sigma, known, hooked, before, search):  # type: ignore[no-untyped-def]
    """(status, face) of a vertex that is not under its face, or hooked."""
    under, nearly, refused = ring(points, mesh, normal, v, f, sigma, known, hooked, before, search)
    if under >= 0:
        return MOVED, under
    if search.walk > 0 and not hooked:
        p = load(points, v)
        g = walk_on(points, mesh, normal, f, p, sigma, search.walk)
        if g >= 0 and not has(mesh.faces, g, v) and foot(points, normal, mesh.faces, g, p, sigma)[2] < 0.0:
            if agrees(scale(sigma, load(normal, g)), v, known, mesh, normal, search.rule):
                return WALKED, g
    if nearly >= 0:
        return MOVED, nearly
    return REFUSED if refused else ALONE, f


@parallel
def _redefine(points, pairs, mesh, normal, known, search, status, face, weights):  # type: ignore[no-untyped-def]
    """New face and weights of each row."""
    for i in prange(len(status)):
        if pairs.kind[i] != VERTEX_FACE:
            continue
        v, f, sigma = pairs.a[i], pairs.b[i], pairs.sigma[i]
        p = load(points, v)
        out = foot(points, normal, mesh.faces, f, p, sigma)[1]
        caught = search.caught and pairs.hooked[i]
        if caught or (search.lost and out > SLACK):
            ref = load(known, i) if len(known) else (0.0, 0.0, 0.0)
            status[i], f = find_face(points, mesh, normal, v, f, sigma, ref, caught, pairs.before[i], search)
            face[i] = f
        if f != pairs.b[i] or search.reproject:
            # the foot, or the nearest place of the face if it is outside
            w = closest_on_triangle(p, load(points, mesh.faces[f, 0]), load(points, mesh.faces[f, 1]), load(points, mesh.faces[f, 2]))
            weights[i, 1], weights[i, 2], weights[i, 3] = -w[0], -w[1], -w[2]


def redefine(
    points: Floats, records: Records, mesh: Adjacency, rules: Redefinition | None = None, reference: Floats | None = None,
    normals: Floats | None = None,
) -> Redefined:  # fmt: skip
    """Give vertices the face they are under now, and hooked ones a regular face; one face per vertex and body.

    points: where the records stand: the predicted end of the step for new, hooked pairs, its final end for enduring ones. `records.hooked`
    must be what `categories` said. A row with a new face keeps stretch, stiffness and age; `before` is its old face. Hooked rows that find
    nothing stop pushing with `hooked = "skip"`. reference: as in `categories`.
    """
    rules = rules or Redefinition()
    r, counts = len(records), dict.fromkeys(("redefined", "walked", "alone", "refused", "merged"), 0)
    if r == 0:
        return Redefined(records, np.zeros(0, np.bool_), counts)
    normals = mesh.normals(points) if normals is None else normals
    status, face, weights = np.zeros(r, np.int64), records.feature_b.copy(), records.weights.copy()
    use_threads(r)
    reference = np.zeros((0, 3)) if reference is None else contiguous(reference)
    rule = CATEGORIES[rules.categories]
    search = Search(rules.faces != "off", rules.hooked != "off", rules.faces == "concave", rules.walk, rule, rules.reproject)
    _redefine(contiguous(points), records.columns, mesh, normals, reference, search, status, face, weights)
    for name, code in (("redefined", MOVED), ("walked", WALKED), ("alone", ALONE), ("refused", REFUSED)):
        counts[name] = int(np.count_nonzero(status == code))
    changed = face != records.feature_b
    moved = replace(records, weights=weights)
    if changed.any():
        moved = _moved(moved, mesh, face, changed)
    if rules.hooked == "skip":
        moved.active = moved.active & ~moved.hooked
    keep = np.ones(r, np.bool_)
    _repeated(moved.kind, moved.a, moved.b, moved.feature_a, moved.feature_b, moved.hooked, moved.age, np.full(len(points), -1), keep)
    counts["merged"] = r - int(np.count_nonzero(keep))
    return Redefined(moved.select(keep), changed[keep], counts) if counts["merged"] else Redefined(moved, changed, counts)


def _moved(records: Records, mesh: Adjacency, face: Ints, changed: NDArray[np.bool_]) -> Records:
    corners = records.corners.copy()
    corners[changed, 1:] = mesh.faces[face[changed]]
    return replace(
        records, feature_b=face, corners=corners, before=np.where(changed, records.feature_b, records.before),
        hooked=records.hooked & ~changed, active=records.active | changed,
    )  # fmt: skip


@kernel
def _repeated(kind, a, b, vertex, face, hooked, age, last, keep):  # type: ignore[no-untyped-def]
    """One row per vertex and body (a body with itself: per vertex and face): a regular one before a hooked one, then the oldest."""
    earlier = np.empty(len(kind), np.int64)  # row before this one with the same vertex; `last` begins as -1 for every point
    for i in range(len(kind)):
        if kind[i] != VERTEX_FACE:
            continue
        earlier[i] = last[vertex[i]]
        last[vertex[i]] = i
        j = earlier[i]
        while j >= 0:
            if keep[j] and b[j] == b[i] and (a[i] != b[i] or face[j] == face[i]):
                better = hooked[i] < hooked[j] or (hooked[i] == hooked[j] and age[i] > age[j])
                keep[j if better else i] = False
                break
            j = earlier[j]
