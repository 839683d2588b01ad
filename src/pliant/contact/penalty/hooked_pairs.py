"""Hooked pairs (theory/penalty 7.5): new pairs are told from regular ones, and put right before any impulse.

A vertex looks for a regular face around all corners of its own; with none, and for pairs of edges, the pair rests (`hooked = "skip"`) or
pushes as it is. What is hooked no more at the end of a step pushes again (life_of_records.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats
from pliant.contact.penalty.category import categories
from pliant.contact.penalty.deep_contacts import reference_directions
from pliant.contact.penalty.edges import new_edge_pairs
from pliant.contact.penalty.options import Redefinition
from pliant.contact.penalty.records import VERTEX_FACE, Records
from pliant.contact.penalty.redefine import redefine
from pliant.detect.adjacency import Adjacency

Counts = dict[str, int]


def admit(
    points: Floats, new: Records, known: Records, mesh: Adjacency, rules: Redefinition, outwards: Floats | None = None
) -> tuple[Records, Counts]:  # fmt: skip
    """Categorise new pairs and put hooked ones right, where the step is predicted to end and before any impulse (theory/penalty 7.5).

    known: the pairs there are. outwards: directions out of B that are known (deep_contacts.py), zero where none is; the neighbours' pushes
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
