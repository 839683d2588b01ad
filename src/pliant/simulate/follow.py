"""Skins of bodies of points that flow are bound to their phyxels anew as these move among each other (theory/point-bodies 9).

A skin point is a fixed weighted sum of the phyxels that were around it when it was bound, exact for affine motion of these. What flows
moves its phyxels among each other, and after a while the sum means nothing. So a body whose skin encloses more or less than its phyxels
have binds it in the shape that both have: where it is, but for one length along all normals that makes the volumes equal. A body that
flows and breaks binds the skins of its parts so.

Only how points ride on phyxels changes: which points and surfels there are, and what contact takes for the shape at rest, is that of the
epoch, so that its memory stays good and a fold stays a fold. Where points were bound is in the state ("skin"): a resumed run makes the
same weights from it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.points.elements import Points
from pliant.bodies.points.skin import ride
from pliant.model import Model, Rest, Skin, State
from pliant.simulate.boundary import starts
from pliant.world.world import World

KEPT = "skin"  # of State.elements
APART = 0.01  # of its volume at the start, by which a skin may enclose more or less than its phyxels have
ROUNDS = 3  # of Newton's method: each squares the error, which is some percent


def follow(world: World, fullness: Floats) -> None:
    """Bind the skins of bodies that flow and enclose more or less than their phyxels have; `fullness`: see `fullness_of`."""
    model, state = world.model, world.state
    if not model.bodies.flows.any():
        return
    now = world.skin_positions(state.x, state.position, state.rotation)
    kept = state.elements.get(KEPT, {"places": world.rest.points, "bound": np.zeros(len(model.bodies), bool)})
    places, stale = kept["places"].copy(), np.zeros(len(model.bodies), bool)
    for _, group in world.points:
        body = model.nodes.body[group.nodes[group.start[:-1], 0]]
        full = fullness[model.bodies.origin()[body]]
        room = full * np.add.reduceat(group.stretch(state.x) * group.whole, group.start[:-1])
        most = APART * full * np.add.reduceat(group.whole, group.start[:-1])
        for k in np.flatnonzero(model.bodies.flows[body]).tolist():
            b = int(body[k])
            mine, faces = slice(*model.bodies.point_start[b : b + 2].tolist()), faces_of(model, b)
            if len(faces) and most[k] < abs(volume_of(now[mine], faces) - room[k]) < np.inf:
                places[mine], stale[b] = filled(now[mine], faces, float(room[k])), True
    if stale.any():
        world.bind(riding(world, stale, places))
        state.elements |= {KEPT: {"bound": kept["bound"] | stale, "places": places, "rest": world.rest.points}}


def fullness_of(first: Model) -> Floats:
    """Volume of the skin over that of the phyxels at the start, (B,); 1 but where a body has a skin or volumes of its own."""
    out, points = np.ones(len(first.bodies)), Rest.of(first).points
    for group in first.groups:
        if isinstance(group, Points):
            for low, high in zip(group.start[:-1], group.start[1:], strict=True):
                b = int(first.nodes.body[group.nodes[low, 0]])
                mine = slice(*first.bodies.point_start[b : b + 2].tolist())
                out[b] = volume_of(points[mine], faces_of(first, b)) / group.whole[low:high].sum()
    return out


def faces_of(model: Model, body: int) -> Ints:
    """Triangles of a body's skin in numbers of its own points, (m, 3)."""
    bodies = model.bodies
    return model.skin.faces[bodies.face_start[body] : bodies.face_start[body + 1]] - bodies.point_start[body]


def volume_of(points: Floats, faces: Ints) -> float:
    """Of a closed skin [m^3]."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def filled(points: Floats, faces: Ints, volume: float) -> Floats:
    """Points (p, 3) of a closed skin, each moved by the same length along its normal so that it encloses a volume [m^3].

    Newton's method: with g_p = dV / dx_p, a third of the area vectors of the faces around p, the length is (volume - V) / sum |g_p|.
    """
    out = points.copy()
    for _ in range(ROUNDS if len(faces) else 0):
        a, b, c = (out[faces[:, k]] for k in range(3))
        slope = np.zeros_like(out)
        for k, area in ((0, np.cross(b, c)), (1, np.cross(c, a)), (2, np.cross(a, b))):
            np.add.at(slope, faces[:, k], area / 6.0)
        size = np.linalg.norm(slope, axis=1)
        out += (volume - volume_of(out, faces)) / size.sum() * slope / np.maximum(size, 1e-300)[:, None]
    return out


def forget(world: World) -> None:
    """Let no skin be bound but as its epoch begins: another state is recalled."""
    state = world.state
    world.state = replace(state, elements={name: kept for name, kept in state.elements.items() if name != KEPT})


def recall(world: World, state: State) -> None:
    """Bind skins as a state says that they are."""
    if KEPT in state.elements:
        bind(world, **state.elements[KEPT])


def bind(world: World, bound: np.ndarray, places: Floats, rest: Floats) -> None:
    """Begin an epoch whose skins have the shape `rest` at rest, those of bodies (B,) bool bound at `places`, and remember it.

    Both (p, 3) [m]; points behind those of bodies (a hand of a live run) need not be in them.
    """
    count = int(world.model.bodies.point_start[-1])
    behind = world.model.skin.local[count:]
    world.begin(replace(riding(world, bound, places), places=np.concatenate([rest[:count], behind])))
    world.state.elements |= {KEPT: {"bound": bound, "places": np.concatenate([places[:count], behind]), "rest": world.rest.points}}


def riding(world: World, which: np.ndarray, places: Floats) -> Skin:
    """The skin with the points of bodies (B,) bool bound to their phyxels, both where `places` (p, 3) [m] says; others ride as they do."""
    skin, first = world.model.skin, world.model.bodies.point_start
    nodes = np.diff(world.model.bodies.node_start)
    count, node, weight, done = [], [], [], 0
    for b in np.flatnonzero(which).tolist():
        low, high = int(first[b]), int(first[b + 1])
        shown, own = slice(low, high - int(nodes[b])), np.arange(nodes[b])  # behind its skin a body shows each of its phyxels
        made = ride(places[shown], places[shown.stop : high])
        before = slice(int(skin.start[done]), int(skin.start[low]))
        count += [np.diff(skin.start[done : low + 1]), np.diff(made.start), np.ones(len(own), np.int64)]
        node += [skin.node[before], np.concatenate([made.node, own]) + int(world.model.bodies.node_start[b])]
        weight += [skin.weight[before], made.weight, np.ones(len(own))]
        done = high
    count.append(np.diff(skin.start[done:]))
    node.append(skin.node[skin.start[done] :])
    weight.append(skin.weight[skin.start[done] :])
    start = starts(np.concatenate(count).tolist())
    return replace(skin, start=start, node=np.concatenate(node), weight=np.concatenate(weight), places=world.rest.points)
