"""Overdue depth: what two bodies were already in each other when a contact is first seen, and how slowly it comes out.

A contact that is seen as it comes about is as deep as its bodies went in this step, and closing that stops them. One that was missed (an
edge or a point that nobody looked at, bodies that start in each other) is deeper than that; closing all of it in one step would give its
bodies the speed depth / dt that nothing had before. So the depth d_0 at the start of the step, as far as it is more than what the two
bodies had left in the last step, is overdue: it stays for now and comes out by BETA of it a step, as the stretch of anchors does
(contact/friction.py), and by no more than SHALLOW of an edge. What goes deeper is closed at once as ever.

Where bodies are too deep for any of this, because one is far heavier than what it rests on, it is said (`too_deep`).
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.edge_contacts import last_depths
from pliant.contact.friction import BETA
from pliant.contact.passing import DEEP
from pliant.detect.keys import Memory, recall
from pliant.detect.thickness import Thickness
from pliant.world.motion import Motion, Rows

FEW = 3  # pairs that are named in a step


def overdue(motion: Motion, rows: Rows, key: Ints, a: Ints, b: Ints, depth: Floats, most: Floats, memory: Memory) -> Floats:
    """What of the depth of each row is to stay in this step [m], (r,).

    key, a, b, depth (r,): of the rows; most [m] (r,): that may come out in a step; memory: with what was overdue under each key.
    """
    before = depth + np.einsum("ri,ri->r", motion.slide(rows), rows.normal)  # at the start of the step
    known = recall(memory, "overdue", key)
    new = np.maximum(before - last_depths(motion, a, b, memory) - known, 0.0)
    return np.clip(known - np.minimum(BETA * known, most) + new, 0.0, np.clip(before, 0.0, depth))


def too_deep(motion: Motion, method: str, a: Ints, b: Ints, depth: Floats, help: str) -> list[str]:
    """One sentence, the same in every step, for every two bodies that are deeper in each other than DEEP of half of the thinner one."""
    half, names = motion.kept(Thickness).half, motion.bodies.names
    rows = np.flatnonzero((depth > DEEP * np.minimum(half[a], half[b])) & (a != b))
    if len(rows) == 0:
        return []
    pairs = np.unique(np.minimum(a, b)[rows] * len(names) + np.maximum(a, b)[rows])[:FEW]
    return [
        f"{method}: {names[k // len(names)]} and {names[k % len(names)]} went deeper into each other than an eighth of the thickness of "
        "the thinner one: contact is too soft where a body is far heavier than what carries it, or they began so. "
        f"Use a smaller dt, {help}."
        for k in pairs
    ]
