"""Regular and hooked pairs (6.2.2 of the thesis; theory/penalty 7.2).

A pair is regular if its contact normal n_c (out of B towards A) opposes the surface of A: some normal n of the span around A's feature
has
    n . n_c <= -sqrt(1/2),                                   Eq. 6.2
else its impulse would be more tangential than normal, and it is hooked. The span of a vertex is the normals of the faces around it and
their normalised average; of an edge, those of its two faces and their average.

Where we differ: for two edges Eq. 6.3 is content if one of the two surfaces agrees. A block whose upright edge runs into an edge of a
triangulated floor then counts as regular and is stopped. We ask both surfaces; the average closes the arc between the
normals of sharp edges, which the two normals alone do not cover. `rule = "printed"` is Eq. 6.3. At exactly 45 degrees
a pair is regular. Normals of open surfaces count in both directions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats
from pliant.contact.penalty.options import BASIC, CATEGORIES, OFF, PRINTED
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.detect.adjacency import Adjacency
from pliant.detect.coplanar_times import PARALLEL
from pliant.detect.penetration import HALF_WAY
from pliant.kernels import add, contiguous, cross, dot, inline, load, norm, parallel, prange, scale, sub, use_threads

HALF = HALF_WAY - 1e-9  # the slack makes the right corner of a box regular in spite of rounding


@inline
def along(total, n):  # type: ignore[no-untyped-def]
    """Part along n of the direction of a sum of normals; 1 (opposes nothing) where they cancel."""
    length = norm(total)
    return dot(total, n) / length if length > 1e-9 else 1.0


@inline
def vertex_opposes(n, v, mesh, normal, rule):  # type: ignore[no-untyped-def]
    """Whether the span of vertex v holds a normal within 45 degrees of -n."""
    total, low = (0.0, 0.0, 0.0), 1.0
    for k in range(mesh.face_start[v], mesh.face_start[v + 1]):
        m = load(normal, mesh.faces_around[k])
        total = add(total, m)
        d = dot(m, n)
        low = min(low, -abs(d) if mesh.two_sided[v] else d)
    mean = along(total, n)
    mean = -abs(mean) if mesh.two_sided[v] else mean
    return (mean if rule == BASIC else min(low, mean)) <= -HALF


@inline
def edge_opposes(n, e, mesh, normal, rule):  # type: ignore[no-untyped-def]
    """The same for edge e."""
    f, g = mesh.edge_faces[e, 0], mesh.edge_faces[e, 1]
    m = load(normal, f)
    o = load(normal, g) if g >= 0 else m
    low, mean = min(dot(m, n), dot(o, n)), along(add(m, o), n)
    if mesh.two_sided[mesh.edges[e, 0]]:
        low, mean = min(-abs(dot(m, n)), -abs(dot(o, n))), -abs(mean)
    return (mean if rule == BASIC else (low if rule == PRINTED else min(low, mean))) <= -HALF


@inline
def edges_regular(n, e, g, mesh, normal, rule):  # type: ignore[no-untyped-def]
    """Whether two edges with contact normal n agree with it; Eq. 6.3 as printed needs only one of them to."""
    if rule == OFF:
        return True
    first = edge_opposes(n, e, mesh, normal, rule)
    if first == (rule == PRINTED):
        return first
    return edge_opposes(scale(-1.0, n), g, mesh, normal, rule)


@inline
def edge_normal(points, corners, i, sigma):  # type: ignore[no-untyped-def]
    """Contact normal of two edges, out of B; zero if they are parallel and have none."""
    e = sub(load(points, corners[i, 1]), load(points, corners[i, 0]))
    f = sub(load(points, corners[i, 3]), load(points, corners[i, 2]))
    n = cross(e, f)
    nn = dot(n, n)
    return scale(sigma / math.sqrt(nn), n) if nn > PARALLEL * dot(e, e) * dot(f, f) else (0.0, 0.0, 0.0)


def categories(
    points: Floats, records: Records, mesh: Adjacency, rule: str = "span", reference: Floats | None = None,
    normals: Floats | None = None,
) -> NDArray[np.bool_]:  # fmt: skip
    """Which pairs are hooked, (r,). Pairs with exact shapes never are.

    rule: as in `Redefinition.categories`. reference: directions out of B that are known from elsewhere, (r, 3), zero where none is: there
    hooked means n_c . reference < sqrt(1/2) (theory/penalty 7.6). normals: `mesh.normals(points)` if at hand.
    """
    hooked = np.zeros(len(records), np.bool_)
    if CATEGORIES[rule] == OFF or len(records) == 0:
        return hooked
    normals = mesh.normals(points) if normals is None else normals
    reference = np.zeros((0, 3)) if reference is None else contiguous(reference)
    use_threads(len(records))
    _categories(contiguous(points), records.columns, mesh, normals, reference, CATEGORIES[rule], hooked)
    return hooked


@parallel
def _categories(points, pairs, mesh, normal, reference, rule, hooked):  # type: ignore[no-untyped-def]
    for i in prange(len(hooked)):
        a, b = pairs.a[i], pairs.b[i]
        if pairs.kind[i] == VERTEX_FACE:
            n = scale(pairs.sigma[i], load(normal, b))
        elif pairs.kind[i] == EDGE_EDGE:
            n = edge_normal(points, pairs.corners, i, pairs.sigma[i])
        else:
            continue
        known = load(reference, i) if len(reference) else (0.0, 0.0, 0.0)
        if dot(known, known) > 0.0:
            hooked[i] = dot(n, known) < HALF
        elif pairs.kind[i] == VERTEX_FACE:
            hooked[i] = not vertex_opposes(n, a, mesh, normal, rule)
        else:
            hooked[i] = not edges_regular(n, a, b, mesh, normal, rule)
