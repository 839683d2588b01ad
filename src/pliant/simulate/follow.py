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
from pliant.geometry.enclosed import volumes
from pliant.kernels import add, cross, kernel, load, scale, store, sub
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
    whole, room = matter(world, fullness)
    apart = np.abs(volumes(now, model.skin.faces, model.skin.face_body, len(model.bodies)) - room)
    skinned = np.diff(model.bodies.face_start) > 0
    stale = model.bodies.flows & skinned & (apart > APART * whole) & (apart < np.inf)
    if stale.any():
        kept = state.elements.get(KEPT, {"places": world.rest.points, "bound": np.zeros(len(model.bodies), bool)})
        places, mine = kept["places"].copy(), np.flatnonzero(stale[owners(model)])
        places[mine] = filled(model, now, stale, room)[mine]
        world.bind(riding(world, stale, places))
        state.elements |= {KEPT: {"bound": kept["bound"] | stale, "places": places, "rest": world.rest.points}}


def matter(world: World, fullness: Floats) -> tuple[Floats, Floats]:
    """What skins of bodies of phyxels are to enclose [m^3]: at the start and now, (B,) each; 0 of others. `fullness`: see `fullness_of`."""
    whole, room = np.zeros(len(world.model.bodies)), np.zeros(len(world.model.bodies))
    for _, group in world.points:
        body = world.model.nodes.body[group.nodes[group.start[:-1], 0]]
        whole[body] = np.add.reduceat(group.whole, group.start[:-1])
        room[body] = np.add.reduceat(group.stretch(world.state.x) * group.whole, group.start[:-1])
    full = fullness[world.model.bodies.origin()]
    return full * whole, full * room


def fullness_of(first: Model) -> Floats:
    """Volume of the skin over that of the phyxels at the start, (B,); 1 but where a body has a skin or volumes of its own."""
    out, inside = np.ones(len(first.bodies)), volumes(Rest.of(first).points, first.skin.faces, first.skin.face_body, len(first.bodies))
    for group in first.groups:
        if isinstance(group, Points):
            body = first.nodes.body[group.nodes[group.start[:-1], 0]]
            out[body] = inside[body] / np.add.reduceat(group.whole, group.start[:-1])
    return out


def owners(model: Model) -> Ints:
    """Body of each point that a body shows, (p,): others (a hand of a live run) come behind them."""
    return np.repeat(np.arange(len(model.bodies)), np.diff(model.bodies.point_start))


def filled(model: Model, points: Floats, which: np.ndarray, volume: Floats) -> Floats:
    """Points (p, 3) of skins, those of bodies (B,) bool moved by one length each along their normals so that volumes (B,) [m^3] are inside.

    Newton's method: with g_p = dV / dx_p, a third of the area vectors of the faces around p, the length is (volume - V) / sum |g_p|.
    """
    body = owners(model)
    out = points[: len(body)].copy()
    slope = np.empty_like(out)
    for _ in range(ROUNDS):
        _slopes(out, model.skin.faces, model.bodies.face_start, which, slope)
        size = np.linalg.norm(slope, axis=1)
        total = np.bincount(body, size, minlength=len(which))
        missing = volume - volumes(out, model.skin.faces, model.skin.face_body, len(which))
        length = np.divide(missing, total, out=np.zeros(len(which)), where=which & (total > 0.0))
        out += (length[body] / np.maximum(size, 1e-300))[:, None] * slope
    return out


@kernel
def _slopes(points, faces, first, which, out):  # type: ignore[no-untyped-def]
    """dV / dx of the points of some bodies, (p, 3) [m^2]."""
    out[:] = 0.0
    for k in range(len(which)):
        for f in range(first[k], first[k + 1] if which[k] else first[k]):
            i, j, m = faces[f, 0], faces[f, 1], faces[f, 2]
            a, b, c = load(points, i), load(points, j), load(points, m)
            area = scale(1.0 / 6.0, cross(sub(b, a), sub(c, a)))  # a third of it; for a closed skin the sum is that of b x c / 6
            for p in (i, j, m):
                store(out, p, add(load(out, p), area))


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
