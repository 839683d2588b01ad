"""Edges that cross edges as contacts: what is remembered of them and how they push. They are found in detect/sharp_edges.py."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.keys import Memory, recalled
from pliant.detect.penetration import body_boxes
from pliant.detect.sharp_edges import Crossed, SharpEdges, each_place_once
from pliant.detect.tree import Tree
from pliant.world.motion import Motion, Rows


def crossed_edges(motion: Motion, tree: Tree, memory: Memory) -> Crossed:
    """Edges that cross, each place once: those that have come together just now, and those that are as deep as their bodies were.

    tree: over all faces, fit to the end of the motion.
    """
    edges = motion.kept(SharpEdges)
    if len(edges.bodies) < 2:
        return Crossed.none()
    found = edges.find(motion.start, motion.end, *body_boxes(tree, motion.shapes), motion.pairs.meet)
    if len(found) == 0:
        return found
    pair = found.a * len(motion.bodies) + found.b
    depth = recalled(memory.get("rim_pair", np.zeros(0, np.int64)), memory.get("rim_depth", np.zeros(0)), pair)
    return each_place_once(found, motion.end, edges.width, depth)


def remember_depths(motion: Motion, a: Ints, b: Ints, depth: Floats) -> Memory:
    """How deep pairs of bodies are in each other, for the next step."""
    if len(motion.kept(SharpEdges).bodies) < 2:
        return {}
    pair, place = np.unique(np.minimum(a, b) * len(motion.bodies) + np.maximum(a, b), return_inverse=True)
    deepest = np.zeros(len(pair))
    np.maximum.at(deepest, place, depth)
    return {"rim_pair": pair, "rim_depth": deepest}


def edge_key(motion: Motion, edges: Crossed) -> Ints:
    """A number for each pair of edges, the same in every step, behind those of points in bodies."""
    count = len(motion.kept(SharpEdges).ends)
    return len(motion.skin) * len(motion.bodies) + edges.edge[:, 0] * count + edges.edge[:, 1]


def features(point: Ints, face: Ints, edges: Crossed) -> tuple[Ints, Ints]:
    """Skin points of A and faces of B, of points and then of edges: the nearer end of A's edge, and no face."""
    end = edges.points[np.arange(len(edges)), (edges.place[:, 0] > 0.5).astype(np.int64)]
    return np.append(point, end), np.append(face, np.full(len(edges), -1))


def edge_rows(motion: Motion, edges: Crossed) -> Rows:
    """Four points a row: the ends of both edges; the impulse acts half way between them."""
    s, t = edges.place.T
    return Rows.dense(edges.points, np.stack([1.0 - s, s, t - 1.0, -t], axis=1), edges.normal, edges.middle(motion.end))
