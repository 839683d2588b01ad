"""Points in bodies and edges that cross edges as contacts: how they push, and what is remembered of edges (detect/sharp_edges.py).

Overdue depth is what two bodies were already in each other when a contact is first seen, and how slowly it comes out.

A contact that is seen as it comes about is as deep as its bodies went in this step, and closing that stops them. One that was missed (an
edge or a point that nobody looked at, bodies that start in each other) is deeper than that; closing all of it in one step would give its
bodies the speed depth / dt that nothing had before. So the depth d_0 at the start of the step, as far as it is more than what the two
bodies had left in the last step, is overdue: it stays for now and comes out by BETA of it a step, as the stretch of anchors does
(contact/friction.py), and by no more than SHALLOW of an edge. What goes deeper is closed at once as ever.

Where bodies are too deep for any of this, because one is far heavier than what it rests on, it is said (`too_deep`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.friction import BETA
from pliant.contact.passing import DEEP
from pliant.contact.remembered import Table
from pliant.detect.keys import Memory, recall, recalled
from pliant.detect.penetration import body_boxes
from pliant.detect.sharp_edges import Crossed, SharpEdges, each_place_once
from pliant.detect.thickness import Thickness
from pliant.detect.tree import Tree
from pliant.kernels import axpy, kernel, load, store
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.world.world import World


def crossed_edges(motion: Motion, tree: Tree, memory: Memory) -> Crossed:
    """Edges that cross, each place once: those that have come together just now, and those that are as deep as their bodies were.

    tree: over all faces, fit to the end of the motion.
    """
    edges = motion.kept(SharpEdges)
    if len(edges.bodies) < 2:
        return Crossed.none()
    behind = len(motion.skin) * len(motion.bodies)
    known = memory.get("key", np.zeros(0, np.int64))
    last = known[np.searchsorted(known, behind) :] - behind
    found = edges.find(motion.start, motion.end, *body_boxes(tree, motion.shapes), motion.pairs.meet, last)
    if len(found) == 0:
        return found
    return each_place_once(found, motion.end, edges.width, last_depths(motion, found.a, found.b, memory))


def remember_depths(motion: Motion, a: Ints, b: Ints, depth: Floats) -> Memory:
    """How deep pairs of bodies are in each other, for the next step."""
    pair, place = np.unique(np.minimum(a, b) * len(motion.bodies) + np.maximum(a, b), return_inverse=True)
    deepest = np.zeros(len(pair))
    np.maximum.at(deepest, place, depth)
    return {"deep_pair": pair, "deepest": deepest}


def last_depths(motion: Motion, a: Ints, b: Ints, memory: Memory) -> Floats:
    """How deep the two bodies of each row were in each other in the last step [m], (r,)."""
    pair = np.minimum(a, b) * len(motion.bodies) + np.maximum(a, b)
    return recalled(memory.get("deep_pair", np.zeros(0, np.int64)), memory.get("deepest", np.zeros(0)), pair)


def edge_key(motion: Motion, edges: Crossed) -> Ints:
    """A number for each pair of edges, the same in every step, behind those of points in bodies."""
    return len(motion.skin) * len(motion.bodies) + motion.kept(SharpEdges).key(edges.edge)


def row_bodies(world: World, key: Ints, point: Ints, body: Ints) -> tuple[Ints, Ints]:
    """The two bodies of rows by key: of points in bodies, as the method finds them in its keys, and of the edges behind them."""
    edges, skin, behind = world.derived(SharpEdges), world.model.skin, len(world.model.skin) * len(world.model.bodies)
    of_edge, crossing = skin.body[edges.ends[:, 0]], key >= behind
    a, b = skin.body[np.where(crossing, 0, point)], body.copy()
    first, second = np.divmod(key[crossing] - behind, max(len(edges.ends), 1))
    a[crossing], b[crossing] = of_edge[first], of_edge[second]
    return a, b


def deep_table(world: World, memory: Memory) -> Table:
    """Of `remember_depths`."""
    return Table("deep_pair", ("deepest",), *np.divmod(memory["deep_pair"], len(world.model.bodies)))


def features(point: Ints, face: Ints, edges: Crossed) -> tuple[Ints, Ints]:
    """Skin points of A and faces of B, of points and then of edges: the nearer end of A's edge, and no face."""
    end = edges.points[np.arange(len(edges)), (edges.place[:, 0] > 0.5).astype(np.int64)]
    return np.append(point, end), np.append(face, np.full(len(edges), -1))


def point_rows(motion: Motion, point: Ints, body: Ints, face: Ints, weights: Floats, normal: Floats, way: Floats) -> Rows:
    """Four points a row: the point, and the corners of the face with its weights, or the anchor of an exact shape (face < 0).

    way [m]: from the point out of the body. Both sides take the impulse half way, so that no moment is made.
    """
    points, shares, at = np.empty((len(point), 4), np.int64), np.empty((len(point), 4)), np.empty((len(point), 3))
    _fill_rows(point, body, face, weights, normal, way, motion.end, motion.skin.faces, motion.bodies.anchor, points, shares, at)
    return Rows.dense(points, shares, normal, at)


@kernel
def _fill_rows(point, body, face, share, normal, way, end, faces, anchor, points, weights, at):  # type: ignore[no-untyped-def]
    for r in range(len(point)):
        points[r, 0], weights[r, 0] = point[r], 1.0
        for k in range(3):
            points[r, k + 1] = faces[face[r], k] if face[r] >= 0 else anchor[body[r]]
            weights[r, k + 1] = -share[r, k] if face[r] >= 0 else (-1.0 if k == 0 else 0.0)
        store(at, r, axpy(0.5 * way[r], load(normal, r), load(end, point[r])))


def edge_rows(motion: Motion, edges: Crossed) -> Rows:
    """Four points a row: the ends of both edges; the impulse acts half way between them."""
    s, t = edges.place.T
    return Rows.dense(edges.points, np.stack([1.0 - s, s, t - 1.0, -t], axis=1), edges.normal, edges.middle(motion.end))


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
