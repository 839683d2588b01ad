"""Which way deep contacts come out, `redefinition: deep = true` (theory/penalty 7.6): directions that tell them from hooked ones.

Where B has tetrahedra the penetration direction r of Heidelberger et al. 2004 (detect/solid_penetration.py) is known for every vertex of a
group that has sunk in together, layer by layer from the ones that are still near the surface. It does not depend on which face a vertex
came through, so it tells a deep contact from a hooked one better than the neighbours' pushes do. Elsewhere these are all there is:
    n_ref = unit(sum of n_u / |x_u - x_V|^2)     over the neighbours u of V that have an active, regular pair with B.

Hooked pairs (theory/penalty 7.5): new pairs are told from regular ones, and put right before any impulse.

A vertex looks for a regular face around all corners of its own; with none, and for pairs of edges, the pair rests (`hooked = "skip"`) or
pushes as it is. What is hooked no more at the end of a step pushes again (life_of_records.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.edges import new_edge_pairs
from pliant.contact.penalty.options import Redefinition
from pliant.contact.penalty.records import VERTEX_FACE, Records
from pliant.contact.penalty.redefine import redefine
from pliant.detect.adjacency import Adjacency
from pliant.detect.consistent_depth import RESOLVED
from pliant.detect.keys import find
from pliant.detect.solid_penetration import SolidPenetration
from pliant.kernels import axpy, contiguous, dot, kernel, load, norm, scale, store, sub
from pliant.world.motion import Motion


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


def reference_normals(
    points: Floats, records: Records, known: Records, mesh: Adjacency, normals: Floats | None = None
) -> Floats:  # fmt: skip
    """Where neighbouring contacts push (theory/penalty 7.6), (r, 3); zero where no neighbour is in contact.

    For the vertex V of a pair with body B: n_ref = normalise(sum of n_u / |x_u - x_V|^2) over the vertices u that an edge joins to V and
    that have an active, regular pair with a face of B among the `known`.
    """
    out = np.zeros((len(records), 3))
    use = known.select((known.kind == VERTEX_FACE) & known.active & ~known.hooked)
    if len(use) == 0 or len(records) == 0:
        return out
    normals = mesh.normals(points) if normals is None else normals
    bodies = int(mesh.body.max()) + 2
    key = use.feature_a * bodies + use.b
    order = np.argsort(key, kind="stable")
    push = (use.sigma[:, None] * normals[use.feature_b])[order]
    _reference(contiguous(points), records.kind, records.feature_a, records.b, bodies, key[order], push, mesh, out)
    return out


@kernel
def _reference(points, kind, a, b, bodies, key, push, mesh, out):  # type: ignore[no-untyped-def]
    for i in range(len(kind)):
        if kind[i] != VERTEX_FACE:
            continue
        total = (0.0, 0.0, 0.0)
        for k in range(mesh.edge_start[a[i]], mesh.edge_start[a[i] + 1]):
            e = mesh.edges_around[k]
            u = mesh.edges[e, 1] if mesh.edges[e, 0] == a[i] else mesh.edges[e, 0]
            j = np.searchsorted(key, u * bodies + b[i])
            if j < len(key) and key[j] == u * bodies + b[i]:
                way = sub(load(points, u), load(points, a[i]))
                total = axpy(1.0 / max(dot(way, way), 1e-300), load(push, j), total)
        length = norm(total)
        if length > 0.0:
            store(out, i, scale(1.0 / length, total))


def reference_directions(
    points: Floats, records: Records, known: Records, mesh: Adjacency, normals: Floats, rules: Redefinition, outwards: Floats | None
) -> Floats | None:  # fmt: skip
    """Directions that tell deep from hooked pairs (theory/penalty 7.6): the known ways out, else where neighbouring contacts push."""
    if not rules.deep:
        return None
    pushes = reference_normals(points, records, known, mesh, normals)
    return pushes if outwards is None else np.where((outwards != 0.0).any(axis=1, keepdims=True), outwards, pushes)


Counts = dict[str, int]


def admit(
    points: Floats, new: Records, known: Records, mesh: Adjacency, rules: Redefinition, outwards: Floats | None = None
) -> tuple[Records, Counts]:  # fmt: skip
    """Categorise new pairs and put hooked ones right, where the step is predicted to end and before any impulse (theory/penalty 7.5).

    known: the pairs there are. outwards: directions out of B that are known (`directions_out`), zero where none is; the neighbours' pushes
    stand in for those. Returns the new ones only, and with them the edge pairs that began through redefinition.
    """
    normals = mesh.normals(points)
    reference = reference_directions(points, new, known, mesh, normals, rules, outwards)
    new = replace(new, hooked=categories(points, new, mesh, rules.categories, reference, normals))
    counts = {"hooked": int(np.count_nonzero(new.hooked))}
    if rules.hooked == "off":
        return new, counts
    late = new.hooked & (new.kind == VERTEX_FACE)
    done = redefine(points, new.select(late), mesh, rules, _some(reference, late), normals)
    rest = new.select(~late)
    if rules.hooked == "skip":
        rest.active &= ~rest.hooked
    parts = [rest, done.records]
    if rules.edges:
        there = Records.joined([known, rest, done.records])
        changed = np.concatenate([np.zeros(len(known) + len(rest), bool), done.changed])
        parts.append(new_edge_pairs(points, there, changed, mesh, rules.categories, normals=normals))
        counts["new edges"] = len(parts[2])
    return Records.joined(parts), counts | done.counts


def _some(reference: Floats | None, rows: np.ndarray) -> Floats | None:
    return None if reference is None else reference[rows]
