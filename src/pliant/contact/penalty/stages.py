"""The rules of `Redefinition` in the order of a step (7.2 of the methods page): new pairs, before impulses, end of the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.category import categories, reference_normals
from pliant.contact.penalty.edges import CANDIDATE, DISMISS, HANDLE, HELD, edge_states, new_edge_pairs
from pliant.contact.penalty.neighbours import Neighbours
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE, Records
from pliant.contact.penalty.redefine import redefine
from pliant.contact.penalty.resolve import exits, resolved
from pliant.contact.penalty.rims import at_rims
from pliant.contact.penalty.rules import Redefinition
from pliant.detect.tree import Tree

Counts = dict[str, int]


def admit(
    points: Floats, new: Records, known: Records, neighbours: Neighbours, rules: Redefinition, ways: Floats | None = None
) -> tuple[Records, Counts]:  # fmt: skip
    """Categorise new pairs and put hooked ones right, where the step is predicted to end and before any impulse (11.5).

    known: the pairs there are. ways: directions out of B that are known (deep.py), zero where none is; the neighbours' pushes stand in
    for those. Returns the new ones only, and with them the edge pairs that began through redefinition.
    """
    normals = neighbours.normals(points)
    reference = _reference(points, new, known, neighbours, normals, rules, ways)
    new = replace(new, hooked=categories(points, new, neighbours, rules.categories, reference, normals))
    counts = {"hooked": int(np.count_nonzero(new.hooked))}
    if rules.hooked == "off":
        return new, counts
    late = new.hooked & (new.kind == VERTEX_FACE)
    done = redefine(points, new.select(late), neighbours, rules, _some(reference, late), normals)
    rest = new.select(~late)
    if rules.hooked == "skip":
        rest.active &= ~rest.hooked
    parts = [rest, done.records]
    if rules.edges:
        there = Records.joined([known, rest, done.records])
        changed = np.concatenate([np.zeros(len(known) + len(rest), bool), done.changed])
        parts.append(new_edge_pairs(points, there, changed, neighbours, rules.categories, normals=normals))
        counts["new edges"] = len(parts[2])
    return Records.joined(parts), counts | done.counts


def _reference(
    points: Floats, records: Records, known: Records, neighbours: Neighbours, normals: Floats, rules: Redefinition, ways: Floats | None
) -> Floats | None:  # fmt: skip
    """Directions that tell deep from hooked pairs (11.6-1): the known ways out, else where neighbouring contacts push."""
    if not rules.deep:
        return None
    pushes = reference_normals(points, records, known, neighbours, normals)
    return pushes if ways is None else np.where((ways != 0.0).any(axis=1, keepdims=True), ways, pushes)


def _some(reference: Floats | None, rows: np.ndarray) -> Floats | None:
    return None if reference is None else reference[rows]


def ready(points: Floats, records: Records, rules: Redefinition, dismiss: bool = True) -> tuple[Records, Counts]:
    """Before impulses: pairs of edges that do not overlap wait as candidates, those far apart are dismissed (11.4)."""
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
    start: Floats, end: Floats, records: Records, neighbours: Neighbours, tree: Tree, vertex_face: Ints, rules: Redefinition,
    ways: Floats | None = None,
) -> tuple[Records, Counts]:  # fmt: skip
    """At the end of a step, when positions are final: redefine, begin new edge pairs, drop what is resolved.

    Arguments as of `resolved` and `admit`.
    Pairs that are hooked no more push again; regular ones stay regular, because the push of an enduring contact must not come and go.
    """
    normals = neighbours.normals(end)
    reference = _reference(end, records, records, neighbours, normals, rules, ways)
    freed = records.hooked & ~categories(end, records, neighbours, rules.categories, reference, normals)
    records = replace(records, hooked=records.hooked & ~freed, active=records.active | freed)
    done = redefine(end, records, neighbours, rules, reference, normals)
    records, counts = done.records, done.counts
    if rules.edges:
        new = new_edge_pairs(end, records, done.changed, neighbours, rules.categories, normals=normals)
        records = Records.joined([records, new])
        counts["new edges"] = len(new)
    out = exits(start, end, records, neighbours, vertex_face) if rules.resolution == "advanced" else None
    if rules.edges and out is not None:
        new = heirs(end, records, out, neighbours, rules, normals)
        records, out = at_rims(end, records, out, neighbours, normals)
        out = np.concatenate([out, np.full(len(new), -1)])
        records = ready(end, Records.joined([records, new]), rules, dismiss=False)[0]
    over = resolved(start, end, records, neighbours, tree, vertex_face, rules.resolution, normals, out)
    counts["resolved"] = int(np.count_nonzero(over))
    return records.select(~over), counts


def heirs(end: Floats, records: Records, out: Ints, neighbours: Neighbours, rules: Redefinition, normals: Floats) -> Records:
    """Pairs of edges that take over from vertices that leave a body sideways, over its rim, while they still press on it.

    Such a vertex drags its edges across the rim. They are behind each other already, so that no search along the motion sees them enter.
    """
    leaves = out >= 0
    gone = replace(records, before=np.where(leaves, records.feature_b, records.before), feature_b=np.where(leaves, out, records.feature_b))
    return new_edge_pairs(end, gone, leaves, neighbours, rules.categories, normals=normals, leaves=True)
