"""The trees that detection searches, to be looked at: boxes around triangles, spheres around surfels.

They are built over what is drawn as the methods build theirs (`detect/tree.py`, `detect/surfels/clusters.py`). Only which points a node
holds is sent, once for each topology; boxes and spheres around them are worked out in the page, for every frame.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.register import room_of
from pliant.detect.surfels.clusters import Spheres
from pliant.detect.tree import Tree
from pliant.look.source import Picture


def hierarchy(picture: Picture) -> dict[str, np.ndarray]:
    """Nodes of all trees: the run of `tree/points` each holds, how far below its root, whether it is a leaf, a sphere, and whose."""
    points = np.nan_to_num(picture.points)
    round_ = [body for body, kind in picture.kinds.items() if room_of(kind).surfels]
    boxed = ~np.isin(picture.triangle_body, round_)
    order = np.flatnonzero(boxed)[np.argsort(picture.triangle_body[boxed], kind="stable")]
    parts = [_boxes(points, picture.triangles[order], picture.triangle_body[order])] if len(order) else []
    for body in picture.names:
        mine = np.unique(picture.triangles[picture.triangle_body == body]) if body in round_ else np.zeros(0, np.int64)
        mine = np.union1d(mine, picture.surfels[picture.surfel_body == body])
        if len(mine):
            parts.append(_spheres(points, mine, body))
    shift = np.cumsum([0, *(len(part["points"]) for part in parts)])
    row = {body: k for k, body in enumerate(picture.names)}
    joined = {name: np.concatenate([part[name] for part in parts]) if parts else np.zeros(0, np.int64) for name in NAMES}
    place = np.repeat(shift[:-1], [len(part["begin"]) for part in parts])
    joined["begin"], joined["end"] = joined["begin"] + place, joined["end"] + place
    joined["body"] = np.array([row[body] for body in joined["body"].tolist()], np.int64)
    narrow = {"depth": np.uint8, "leaf": np.uint8, "round": np.uint8}
    return {f"tree/{name}": values.astype(narrow.get(name, np.uint32)) for name, values in joined.items()}


NAMES = ("points", "begin", "end", "depth", "leaf", "round", "body")


def _boxes(points: Floats, triangles: Ints, body: Ints) -> dict[str, np.ndarray]:
    ids = np.unique(body)
    tree = Tree.build(points, triangles, np.searchsorted(body, np.append(ids, ids[-1] + 1)))
    count, levels = len(tree.first), np.diff(tree.level)
    begin, end, height = tree.first.copy(), tree.first + tree.count, np.repeat(np.arange(len(levels)), levels)
    for k in range(1, len(levels)):  # nodes of a level hold what those of the level below hold
        mine = slice(tree.level[k], tree.level[k + 1])
        begin[mine], end[mine] = begin[tree.first[mine]], end[tree.first[mine] + tree.count[mine] - 1]
    owner = np.searchsorted(tree.start, begin, side="right") - 1
    return {
        "points": tree.corners.ravel(), "begin": 3 * begin, "end": 3 * end, "depth": height[tree.root[owner]] - height,
        "leaf": np.arange(count) < tree.level[1], "round": np.zeros(count, bool), "body": ids[owner],
    }  # fmt: skip


def _spheres(points: Floats, mine: Ints, body: int) -> dict[str, np.ndarray]:
    tree = Spheres.build(points[mine])
    depth = np.zeros(len(tree.begin), np.int64)
    for node in range(1, len(depth)):  # parents come first
        depth[node] = depth[tree.parent[node]] + 1
    every = np.ones(len(depth), bool)
    return {
        "points": mine[tree.order], "begin": tree.begin, "end": tree.end, "depth": depth, "leaf": tree.left < 0, "round": every,
        "body": np.full(len(depth), body),
    }  # fmt: skip
