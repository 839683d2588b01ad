"""The life of records in the order of a step (theory/penalty 3.3): before impulses, and at the end of the step, where pairs move to other
faces (theory/penalty 7.3), begin (theory/penalty 7.4) and end (theory/penalty 7.1). New ones are admitted by hooked_and_deep_pairs.py.

A pair ends, or is resolved (6.2.1 of the thesis; theory/penalty 7.1), when its gap at the end of the step is not negative. Besides:
* vertex-face: when the last of B's faces that the vertex crosses in the step is another one, and it crosses it outwards, unless that one
  looks the other way: then the vertex is through a thin body;
* edge-edge: when one of the two edges no longer touches the other body: no pair of its end points with that body is left, and it pierces
  none of its faces.
Pairs of a vertex with another part of its own body end by their gap alone, as a body has no outside towards itself. Pairs with exact shapes
are never resolved here: only the shape knows their gap.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pliant.base import Floats, Ints
from pliant.contact.penalty.bounds import at_rims, edges_at_rims
from pliant.contact.penalty.category import HALF, categories
from pliant.contact.penalty.depth_integral import gaps
from pliant.contact.penalty.edges import CANDIDATE, DISMISS, HANDLE, HELD, edge_states, new_edge_pairs
from pliant.contact.penalty.hooked_and_deep_pairs import Counts, reference_directions
from pliant.contact.penalty.options import Redefinition
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.contact.penalty.redefine import redefine
from pliant.detect.adjacency import Adjacency
from pliant.detect.coplanar_times import Crossings, crossings
from pliant.detect.keys import find
from pliant.detect.piercing import pierces_body
from pliant.detect.tree import Tree


def ready(points: Floats, records: Records, rules: Redefinition, dismiss: bool = True) -> tuple[Records, Counts]:
    """Before impulses: pairs of edges that do not overlap wait as candidates, those far apart are dismissed (theory/penalty 7.4)."""
    if not rules.edges:
        return records, {}
    states = edge_states(points, records)
    edge = records.kind == EDGE_EDGE
    held = (states.state == CANDIDATE) & records.active & (states.beyond <= HELD)
    on = ((states.state == HANDLE) | held) & ~(records.hooked & (rules.hooked == "skip"))
    out = replace(records, active=np.where(edge, on, records.active))
    if rules.reproject:
        out.weights = np.where(edge[:, None], states.weights, records.weights)
    keep = (states.state != DISMISS) | (not dismiss)
    waiting = int(np.count_nonzero(states.state == CANDIDATE))
    return out if keep.all() else out.select(keep), {"dismissed": int(np.count_nonzero(~keep)), "candidates": waiting}


def finish(
    start: Floats, end: Floats, records: Records, mesh: Adjacency, tree: Tree, vertex_face: Ints, rules: Redefinition,
    outwards: Floats | None = None,
) -> tuple[Records, Counts]:  # fmt: skip
    """At the end of a step, when positions are final: redefine, begin new edge pairs, drop what is resolved.

    Arguments as of `resolved` and `admit`.
    Pairs that are hooked no more push again; regular ones stay regular, because the push of an enduring contact must not come and go.
    """
    normals = mesh.normals(end)
    reference = reference_directions(end, records, records, mesh, normals, rules, outwards)
    freed = records.hooked & ~categories(end, records, mesh, rules.categories, reference, normals)
    records = replace(records, hooked=records.hooked & ~freed, active=records.active | freed)
    done = redefine(end, records, mesh, rules, reference, normals)
    records, counts = done.records, done.counts
    if rules.edges:
        new = new_edge_pairs(end, records, done.changed, mesh, rules.categories, normals=normals)
        records = Records.joined([records, new])
        counts["new edges"] = len(new)
    out = exits(start, end, records, mesh, vertex_face) if rules.resolution == "advanced" else None
    if rules.edges and out is not None:
        new = edges_taking_over(end, records, out, mesh, rules, normals)
        records, out = at_rims(end, records, out, mesh, normals)
        out = np.concatenate([out, np.full(len(new), -1)])
        records = ready(end, Records.joined([records, new]), rules, dismiss=False)[0]
    over = resolved(start, end, records, mesh, tree, vertex_face, rules.resolution, normals, out)
    counts["resolved"] = int(np.count_nonzero(over))
    return records.select(~over), counts


def edges_taking_over(end: Floats, records: Records, out: Ints, mesh: Adjacency, rules: Redefinition, normals: Floats) -> Records:
    """Pairs of edges that take over from vertices that leave a body sideoutwards, over its rim, while they still press on it.

    Such a vertex drags its edges across the rim. They are behind each other already, so that no search along the motion sees them enter.
    """
    leaves = out >= 0
    gone = replace(records, before=np.where(leaves, records.feature_b, records.before), feature_b=np.where(leaves, out, records.feature_b))
    return new_edge_pairs(end, gone, leaves, mesh, rules.categories, normals=normals, leaves=True)


def resolved(
    start: Floats, end: Floats, records: Records, mesh: Adjacency, tree: Tree, vertex_face: Ints, rule: str = "advanced",
    normals: Floats | None = None, out: Ints | None = None,
) -> NDArray[np.bool_]:  # fmt: skip
    """Which pairs end with the step, (r,).

    tree: over all faces, with boxes that hold them where they end (those of the last `FeatureTree.candidates` do). vertex_face: the pairs
    (k, 2) of vertices and faces that may cross during the step, of the same call. rule: as in `Redefinition.resolution`. out: `exits` of
    the records, if at hand.
    """
    done = gaps(end, records, mesh, normals) >= 0.0
    if rule == "gap" or len(records) == 0:
        return done
    done |= (exits(start, end, records, mesh, vertex_face) if out is None else out) >= 0
    edge = np.flatnonzero((records.kind == EDGE_EDGE) & ~done & ~edges_at_rims(end, records, edge_states(end, records)))
    touching = records.select(~done & (records.kind != EDGE_EDGE))
    for feature, other in ((records.feature_a[edge], records.b[edge]), (records.feature_b[edge], records.a[edge])):
        done[edge] |= _free(end, feature, other, touching, mesh, tree)
    return done


def exits(start: Floats, end: Floats, records: Records, mesh: Adjacency, vertex_face: Ints) -> Ints:
    """The face by which a vertex leaves B in the step: that of its last crossing, if it leads out and is not the pair's; else -1, (r,)."""
    out = np.full(len(records), -1, np.int64)
    rows = np.flatnonzero((records.kind == VERTEX_FACE) & (records.a != records.b))
    bodies = int(mesh.body.max(initial=0)) + 2
    key = records.feature_a[rows] * bodies + records.b[rows]
    wanted = vertex_face[:, 0] * bodies + mesh.body[mesh.faces[vertex_face[:, 1], 0]]
    of = np.isin(wanted, key)
    if not of.any():
        return out
    pair, wanted = vertex_face[of], wanted[of]
    found = crossings(start, end, np.concatenate([pair[:, :1], mesh.faces[pair[:, 1]]], axis=1), True)
    turn = _ends(found)
    row, which = np.nonzero(found.inside & (turn != 0))
    # of crossings at the same time (through an edge) the one inwards counts last, so that no pair is lost
    order = np.lexsort((turn[row, which], found.roots[row, which], wanted[row]))
    row, which = row[order], which[order]
    last = np.flatnonzero(np.append(wanted[row][1:] != wanted[row][:-1], True)) if len(row) else row
    place = find(wanted[row[last]], key)
    known = place >= 0
    event = last[place[known]]
    at = rows[known]
    outwards = turn[row[event], which[event]] * records.sigma[at] < 0.0
    way_out = pair[row[event], 1]
    # out on the far side of a thin body is through it, not free of it
    normals = mesh.normals(start)
    through = records.sigma[at] * np.einsum("ij,ij->i", normals[way_out], normals[records.feature_b[at]]) < -HALF
    out[at] = np.where(outwards & (way_out != records.feature_b[at]) & ~through, way_out, -1)
    return out


def _ends(found: Crossings) -> Ints:
    """Turns, also of vertices that are on the plane when the step begins or ends: from the side they were on, or to the one they go to."""
    before, after = np.sign(found.cubic[:, 0]).astype(np.int64), np.sign(found.cubic.sum(axis=1)).astype(np.int64)
    at = np.where(found.roots == 1.0, before[:, None], np.where(found.roots == 0.0, -after[:, None], 0))
    return np.where(found.turn == 0, at, found.turn)


def _free(points: Floats, edge: Ints, body: Ints, touching: Records, mesh: Adjacency, tree: Tree) -> NDArray[np.bool_]:
    """Edges without an end point in contact with a body and without a face of it pierced."""
    bodies = int(mesh.body.max(initial=0)) + 2
    held = np.isin(mesh.edges[edge] * bodies + body[:, None], touching.feature_a * bodies + touching.b).any(axis=1)
    apart, free = np.flatnonzero(~held), np.zeros(len(edge), np.bool_)
    free[apart] = ~pierces_body(points, mesh, tree, edge[apart], body[apart])
    return free
