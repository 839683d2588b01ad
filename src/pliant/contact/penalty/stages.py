"""Redefinition in the order of a step (theory/penalty 3.3): new pairs, before impulses, end of the step; and a bound on it.

The bound: no spring begins its life loaded. A pair that moves to another face, or begins where one does, stands for a contact that is
there already. So it can be as deep as the contacts of the two bodies are, or as far as they moved in the step, not more. Without this bound
a vertex that enters a coarse box low on its side is found regular under its top, at the depth of half a box, and is thrown out with an
energy that nobody put in.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.category import categories, reference_normals
from pliant.contact.penalty.edges import CANDIDATE, DISMISS, HANDLE, HELD, edge_states, new_edge_pairs
from pliant.contact.penalty.options import Redefinition
from pliant.contact.penalty.records import EDGE_EDGE, NAMES, VERTEX_FACE, Records
from pliant.contact.penalty.redefine import redefine
from pliant.contact.penalty.resolution import at_rims, exits, gaps, resolved
from pliant.detect.adjacency import Adjacency
from pliant.detect.keys import recalled
from pliant.detect.tree import Tree
from pliant.world.motion import Motion

Counts = dict[str, int]


def admit(
    points: Floats, new: Records, known: Records, mesh: Adjacency, rules: Redefinition, outwards: Floats | None = None
) -> tuple[Records, Counts]:  # fmt: skip
    """Categorise new pairs and put hooked ones right, where the step is predicted to end and before any impulse (theory/penalty 7.5).

    known: the pairs there are. outwards: directions out of B that are known (variants.py), zero where none is; the neighbours' pushes
    stand in for those. Returns the new ones only, and with them the edge pairs that began through redefinition.
    """
    normals = mesh.normals(points)
    reference = _reference(points, new, known, mesh, normals, rules, outwards)
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


def _reference(
    points: Floats, records: Records, known: Records, mesh: Adjacency, normals: Floats, rules: Redefinition, outwards: Floats | None
) -> Floats | None:  # fmt: skip
    """Directions that tell deep from hooked pairs (theory/penalty 7.6): the known ways out, else where neighbouring contacts push."""
    if not rules.deep:
        return None
    pushes = reference_normals(points, records, known, mesh, normals)
    return pushes if outwards is None else np.where((outwards != 0.0).any(axis=1, keepdims=True), outwards, pushes)


def _some(reference: Floats | None, rows: np.ndarray) -> Floats | None:
    return None if reference is None else reference[rows]


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
    reference = _reference(end, records, records, mesh, normals, rules, outwards)
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


# -- the bound


def plausible(motion: Motion, mesh: Adjacency, old: Records, new: Records, known: Records) -> Records:
    """The new records, without the moves and the beginnings among them that would be too deep; `old` is what they were made from.

    A pair that has rested while its bodies sank into each other does not wake up as long as it would be too deep.
    """
    place = new.places_in(old)
    woken = (place >= 0) & new.active
    woken[woken] = ~old.active[place[woken]]
    fresh = (place < 0) | woken
    if not fresh.any():
        return new
    new = new.select(np.arange(len(new)))
    there = Records.joined([old, known])
    there = there.select(there.active & ~there.hooked)
    depth = -gaps(motion.end, new, mesh)
    most = np.maximum(deepest(motion, there, np.nan_to_num(-gaps(motion.end, there, mesh)), new), travel(motion, new))
    wrong = fresh & (depth > most)
    back = np.where(wrong & woken, place, -1)
    moved = wrong & (new.kind == VERTEX_FACE) & (place < 0) & (new.before >= 0)
    back[moved] = replace(new.select(moved), feature_b=new.before[moved]).places_in(old)
    for name in NAMES:
        getattr(new, name)[back >= 0] = getattr(old, name)[back[back >= 0]]
    return new.select(~wrong | (back >= 0))


def deepest(motion: Motion, there: Records, depth: Floats, rows: Records) -> Floats:
    """The largest depth [m] among the records between the same two bodies as each row, -inf for none, (r,)."""
    count = len(motion.bodies)
    pair = np.minimum(there.a, there.b) * count + np.maximum(there.a, there.b)
    keys, which = np.unique(pair, return_inverse=True)
    most = np.full(len(keys), -np.inf)
    np.maximum.at(most, which.reshape(-1), depth)
    wanted = np.minimum(rows.a, rows.b) * count + np.maximum(rows.a, rows.b)
    return recalled(keys, most, wanted, -np.inf)


def travel(motion: Motion, rows: Records) -> Floats:
    """How far the two sides of each row move against each other in the step [m], (r,)."""
    moved = motion.end[rows.corners] - motion.start[rows.corners]
    return np.linalg.norm(np.einsum("rk,rki->ri", rows.weights, moved), axis=1)
