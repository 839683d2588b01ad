"""Elements of all bodies, joined into one group per element type and material law."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.body import BodyParts, ElementPart
from pliant.bodies.elements import Elements
from pliant.bodies.fem.tets import Tet4, Tet10
from pliant.bodies.points.elements import Points
from pliant.bodies.springs.all_pairs import AllPairs
from pliant.bodies.springs.elements import Springs


def element_groups(parts: list[BodyParts], node_start: Ints, staged: list[str]) -> tuple[list[Elements], list[Ints]]:
    """Groups in the order in which their kind first appears, and the body of each of their elements.

    Bodies with a Runge-Kutta scheme, which asks for forces many times a step, are `staged` and do not share groups with others.
    """
    found: dict[tuple[str, str, str], list[tuple[int, ElementPart]]] = {}
    for body, part in enumerate(parts):
        for element in part.elements:
            found.setdefault((element.kind, element.law, staged[body]), []).append((body, element))
    rest = np.concatenate([p.nodes for p in parts] or [np.zeros((0, 3))])
    groups: list[Elements] = []
    owners: list[Ints] = []
    for (kind, law, _), members in found.items():
        nodes = np.concatenate([e.nodes + node_start[b] for b, e in members]).astype(np.int64)
        values = {k: np.concatenate([e.values[k] for _, e in members]) for k in members[0][1].values}
        start = np.concatenate([[0], np.cumsum([len(e.nodes) for _, e in members])]).astype(np.int64)
        make = members[0][1].make
        if make is not None:  # a model from outside: a group for each body, as its `law` is the body's name
            groups.append(make(nodes, rest))
            owners.append(np.full(len(groups[-1].nodes), members[0][0], np.int64))
            continue
        groups.append(_group(kind, law, nodes, start, rest, values))
        owners.append(np.repeat([b for b, _ in members], [len(e.nodes) for _, e in members]).astype(np.int64))
    return groups, owners


def _group(kind: str, law: str, nodes: Ints, start: Ints, rest: Floats, values: dict[str, Floats]) -> Elements:
    if kind == "all-pairs":
        return AllPairs(nodes, start, rest[nodes[:, 0]], **values)
    if kind == "points":
        return Points(nodes, start, rest[nodes[:, 0]], **values)
    if kind == "springs":
        length = np.linalg.norm(rest[nodes[:, 1]] - rest[nodes[:, 0]], axis=1)
        return Springs(nodes, length, **values)
    cls = Tet4 if kind == "tet4" else Tet10
    return cls(nodes, rest, **values, law=law)
