"""The life of records in the order of a step (theory/penalty 3.3): before impulses, and at the end of the step, where pairs move to other
faces (theory/penalty 7.3), begin (theory/penalty 7.4) and end (theory/penalty 7.1). New ones are admitted by hooked_pairs.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.bounds import at_rims
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.deep_contacts import reference_directions
from pliant.contact.penalty.edges import CANDIDATE, DISMISS, HANDLE, HELD, edge_states, new_edge_pairs
from pliant.contact.penalty.hooked_pairs import Counts
from pliant.contact.penalty.options import Redefinition
from pliant.contact.penalty.records import EDGE_EDGE, Records
from pliant.contact.penalty.redefine import redefine
from pliant.contact.penalty.resolution import exits, resolved
from pliant.detect.adjacency import Adjacency
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
