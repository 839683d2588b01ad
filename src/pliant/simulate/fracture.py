"""A new epoch: bodies whose phyxels have parted become several bodies (theory/point-bodies 8).

Nodes are only put in another order, so mass and momentum are what they were, to the last bit. The largest part keeps the body's number and
name, others come behind all bodies, named after it (head.2, head.3, ...); numbers are never used again. The epoch is made from
the model of the first one and from which body every node is in now, so that a run that is resumed finds the same.

Fixed vertices, prescribed motion, loads on points and faces, and attachments stay with their vertices. A force on a whole body stays
with its largest part. Contact methods start anew: their memory is in numbers of points that are no more. What they keep of whole bodies
of the scene (the accounts of point-surface) stays, so that parts that overlap where they part get nothing for it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.elements import Elements
from pliant.bodies.points.elements import Points
from pliant.bodies.points.fracture import Piece, Whole, cut_off, pieces_of
from pliant.model import CHANGING, Bodies, Model, Nodes, Skin
from pliant.simulate.boundary import joined, starts
from pliant.simulate.build import incidence
from pliant.simulate.follow import KEPT, bind, fullness_of
from pliant.world.pairs import PairTable
from pliant.world.world import World

LASTING = ("pair", "took", "longest")  # what point-surface remembers in numbers of the bodies of the scene


@dataclass(frozen=True)
class Broken:
    """Which body every node is in, in the order of the first epoch, and where fragments come from."""

    owner: Ints  # (n,)
    parent: Ints  # (fragments,) body that each broke off
    gone: Ints  # (k,) faces of the first epoch that were cut off with what was drawn out; of bodies of tets these, behind all faces

    @staticmethod
    def of(memory: dict[str, np.ndarray]) -> Broken:
        return Broken(memory["owner"], memory["parent"], memory.get("gone", np.zeros(0, np.int64)))  # older checkpoints do not have it

    def memory(self) -> dict[str, np.ndarray]:
        """As a checkpoint keeps it."""
        return {"owner": self.owner, "parent": self.parent, "gone": self.gone}


@dataclass(frozen=True)
class Epoch:
    """The first model of a run, what it has broken into, and where the points of the present model come from."""

    first: Model
    broken: Broken
    order: Ints  # (n,) node of the first model
    source: Ints  # (p,) point of the first model, -1: made by a crack

    @cached_property
    def fullness(self) -> Floats:
        """Volume of the skins of the first model over that of their phyxels, (B,)."""
        return fullness_of(self.first)


def whole_epoch(model: Model) -> Epoch:
    """The first epoch of a run."""
    broken = Broken(model.nodes.body.copy(), np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Epoch(model, broken, np.arange(len(model.nodes.mass)), np.arange(len(model.skin)))


def parted(world: World, epoch: Epoch) -> Broken | None:
    """What the world falls into now; None if no body has parted."""
    bodies, owner, parent = len(world.model.bodies), world.model.nodes.body.copy(), epoch.broken.parent.tolist()
    fresh: list[int] = []
    for _, group in world.points:
        parts = group.parts()
        if parts is None:
            continue
        nodes = group.nodes[:, 0]
        for body in np.unique(owner[nodes[parts > 0]]).tolist():
            mine = owner[nodes] == body
            for part in range(1, int(parts[mine].max()) + 1):
                owner[nodes[mine & (parts == part)]] = bodies + len(fresh)
                fresh.append(body)
    if not fresh:
        return None
    first = np.empty_like(owner)
    first[epoch.order] = owner
    broken = Broken(first, np.array([*parent, *fresh], np.int64), epoch.broken.gone)
    return replace(broken, gone=_cut_off(world, epoch, broken))


def break_up(world: World, epoch: Epoch, broken: Broken) -> tuple[World, Epoch]:
    """The world in its next epoch."""
    first, old = epoch.first, world.state
    order = np.argsort(broken.owner, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    pieces = _pieces(world, epoch, broken)
    skin, bodies, source, point_place, face_place = _skin(first, broken, order, place, pieces)
    for name in CHANGING & vars(bodies).keys():  # as it is now, not as it was in the first epoch
        setattr(bodies, name, getattr(world.model.bodies, name)[bodies.origin()])
    now = np.empty_like(order)
    now[epoch.order] = np.arange(len(order))
    move = now[order]  # node of the present world that each of the new one is
    groups, owners, elements = _groups(world, broken, order, move)
    nodes = Nodes(**{f.name: getattr(world.model.nodes, f.name)[move] for f in fields(Nodes)})
    nodes.body = broken.owner[order]
    start, corner, corners = incidence([g.nodes for g in groups], len(order))
    loads = replace(first.loads, point=point_place[first.loads.point], face=face_place[first.loads.face])
    drives = replace(first.drives, node=place[first.drives.node])
    ends = replace(first.attachments, a=point_place[first.attachments.a], b=point_place[first.attachments.b])
    model = Model(
        bodies, nodes, world.model.frames, skin, groups, owners, loads, drives, ends, world.model.gravity, start, corner, corners,
        world.model.notes,
    )  # fmt: skip
    memory = {method: {name: kept[name] for name in LASTING if name in kept} for method, kept in old.memory.items() if "longest" in kept}
    state = replace(old, x=old.x[move], v=old.v[move], memory=memory, starts={}, elements=elements | {"broken": broken.memory()})
    made = World(model, state, _pairs(world.pairs, bodies), world.solver)
    _bind_flowed(world, made, pieces)
    return made, Epoch(first, broken, order, source)


def _pieces(world: World, epoch: Epoch, broken: Broken) -> dict[int, Piece]:
    """The skins of all parts of bodies that have broken."""
    out: dict[int, Piece] = {}
    for body, family in _families(epoch, broken).items():
        out |= dict(zip(family, pieces_of(*_torn(world, epoch, broken, body, family)), strict=True))
    return out


def _cut_off(world: World, epoch: Epoch, broken: Broken) -> Ints:
    """`gone` of what the world falls into now."""
    gone = [broken.gone]
    for body, family in _families(epoch, broken).items():
        whole, label, before, shapes = _torn(world, epoch, broken, body, family)
        if shapes is not None:
            gone.append(_cells(epoch.first, body)[cut_off(whole, label, before, shapes)])
    return np.concatenate(gone)


def _families(epoch: Epoch, broken: Broken) -> dict[int, list[int]]:
    """The bodies of the first epoch that have broken, each with its parts."""
    count = len(epoch.first.bodies)
    ancestor = _ancestors(broken, count)
    return {body: np.flatnonzero(ancestor == body).tolist() for body in np.unique(ancestor[count:]).tolist()}


def _torn(world: World, epoch: Epoch, broken: Broken, body: int, family: list[int]) -> tuple[Whole, Ints, Ints, list[Floats] | None]:
    """What `pieces_of` takes; shapes of bodies that flow as they are now."""
    first = epoch.first
    whole, mine = _whole(first, broken.gone, body), slice(int(first.bodies.node_start[body]), int(first.bodies.node_start[body + 1]))
    label = np.searchsorted(family, broken.owner[mine])
    before = epoch.broken.owner[mine][[int(np.argmax(label == k)) for k in range(len(family))]]  # body that each was a part of
    if not first.bodies.flows[body]:
        return whole, label, before, None
    now = world.skin_positions(world.state.x, world.state.position, world.state.rotation)
    return whole, label, before, [_shape_now(world, epoch, body, whole, int(b), now) for b in before]


def _shape_now(world: World, epoch: Epoch, body: int, whole: Whole, part: int, now: Floats) -> Floats:
    """Where the points of a body of the first model are now [m], (p, 3): as the skin of one of its parts has them, else any other."""
    low, high = (int(epoch.first.bodies.point_start[body + k]) for k in (0, 1))
    known = np.flatnonzero((epoch.source >= low) & (epoch.source < high))
    out = whole.points.copy()
    for some in (known, known[world.model.skin.body[known] == part]):
        out[epoch.source[some] - low] = now[some]
    return out


def _bind_flowed(old: World, new: World, pieces: dict[int, Piece]) -> None:
    """Keep the skins of bodies that flow bound in the shapes that they were bound in, those of their parts as they are now."""
    count, bodies, first = len(new.model.bodies), old.model.bodies, new.model.bodies.point_start
    kept, bound = old.state.elements.get(KEPT, {}), np.zeros(count, bool)
    if kept:
        bound[: len(bodies)] = kept["bound"]
    bound[[b for b in pieces if new.model.bodies.flows[b]]] = True
    if not bound.any():
        return
    places, rest = new.rest.points.copy(), new.rest.points.copy()
    for b in np.flatnonzero(bound).tolist():
        mine = slice(int(first[b]), int(first[b + 1]))
        if b in pieces:
            places[mine] = rest[mine] = pieces[b].places
        else:
            same = slice(int(bodies.point_start[b]), int(bodies.point_start[b + 1]))
            places[mine], rest[mine] = kept["places"][same], kept["rest"][same]
    bind(new, bound, places, rest)


def _groups(world: World, broken: Broken, order: Ints, move: Ints) -> tuple[list[Elements], list[Ints], dict[str, Any]]:
    """Element groups with new node numbers; those of phyxels with new bodies, and what they remember."""
    groups: list[Elements] = []
    owners: list[Ints] = []
    elements: dict[str, Any] = {}
    back = np.empty_like(move)
    back[move] = np.arange(len(move))
    for number, (group, owner) in enumerate(zip(world.model.groups, world.model.group_body, strict=True)):
        if isinstance(group, Points):
            nodes = back[group.nodes[:, 0]]
            turn = np.argsort(nodes, kind="stable")
            mine = broken.owner[order[nodes[turn]]]
            made = group.regrouped(nodes[turn], turn, starts(np.unique(mine, return_counts=True)[1].tolist()))
            groups.append(made)
            owners.append(mine)
            if made.memory():
                elements[str(number)] = made.memory()
        else:
            moved: Any = copy(group)
            moved.nodes = np.ascontiguousarray(back[group.nodes])
            groups.append(moved)
            owners.append(owner)
    return groups, owners, elements


def _skin(first: Model, broken: Broken, order: Ints, place: Ints, pieces: dict[int, Piece]) -> tuple[Skin, Bodies, Ints, Ints, Ints]:
    """The skin of all bodies, the bodies, the first model's point of each point, and where its points and faces went."""
    old, count = first.bodies, len(first.bodies) + len(broken.parent)
    ancestor = _ancestors(broken, len(first.bodies))
    node_start = np.searchsorted(broken.owner[order], np.arange(count + 1))
    parts = [_part(first, body, int(ancestor[body]), pieces.get(body), int(node_start[body]), place) for body in range(count)]
    extra = np.arange(old.point_start[-1], len(first.skin))
    points, faces = starts([len(p["source"]) for p in parts]), starts([len(p["faces"]) for p in parts])
    source = joined([*(p["source"] for p in parts), extra], dtype=np.int64)
    known = np.maximum(source, 0)
    skin = Skin(
        body=joined([np.repeat(np.arange(count), np.diff(points)), np.full(len(extra), -1)], dtype=np.int64),
        start=starts(joined([*(np.diff(p["start"]) for p in parts), np.zeros(len(extra))], dtype=np.int64).tolist()),
        node=joined([p["node"] for p in parts], dtype=np.int64),
        weight=joined([p["weight"] for p in parts]),
        frame=np.where(source < 0, -1, first.skin.frame[known]),
        local=np.where(source[:, None] < 0, 0.0, first.skin.local[known]),
        faces=joined([p["faces"] + s for p, s in zip(parts, points, strict=False)], (3,), np.int64),
        face_body=np.repeat(np.arange(count), np.diff(faces)),
        tets=joined([p["tets"] + s for p, s in zip(parts, points, strict=False)], (4,), np.int64),
        tet_body=np.repeat(np.arange(count), [len(p["tets"]) for p in parts]),
        normal=first.skin.normal[known] if len(first.skin.normal) else first.skin.normal,  # of clouds, which do not break
        area=first.skin.area[known] if len(first.skin.area) else first.skin.area,
    )
    face_source = joined([p["face_source"] for p in parts], dtype=np.int64)
    face_place = np.full(len(first.skin.faces), -1, np.int64)
    face_place[face_source[face_source >= 0]] = np.flatnonzero(face_source >= 0)
    surface = np.array([p["surface"] for p in parts], np.int64)
    home = joined([*(p["home"] for p in parts), np.ones(len(extra), bool)], dtype=bool)
    point_place = np.full(len(first.skin), -1, np.int64)
    point_place[source[home & (source >= 0)]] = np.flatnonzero(home & (source >= 0))
    for part, low in zip(parts, points, strict=False):  # what acts on a point that is cut off acts on the nearest one that is left
        point_place[part["lost"]] = part["stand_in"] + low
    face_of = np.full(len(skin), -1, np.int64)
    face_of[skin.faces] = np.arange(len(skin.faces))[:, None]
    face_place = np.where(face_place < 0, face_of[point_place[first.skin.faces[:, 0]]], face_place)
    bodies = _bodies(old, broken, ancestor, node_start, points, faces, surface)
    bodies.anchor = np.where(bodies.anchor >= 0, point_place[bodies.anchor], -1)
    return skin, bodies, source, point_place, face_place


def _ancestors(broken: Broken, count: int) -> Ints:
    """The body of the first epoch that each body was a part of."""
    out = list(range(count))
    for parent in broken.parent.tolist():
        out.append(out[parent])
    return np.array(out, np.int64)


def _whole(first: Model, gone: Ints, body: int) -> Whole:
    bodies, skin, nodes = first.bodies, first.skin, first.nodes
    low, high, node = int(bodies.point_start[body]), int(bodies.point_start[body + 1]), int(bodies.node_start[body])
    entry = slice(int(skin.start[low]), int(skin.start[high]))
    owner = np.repeat(np.arange(high - low), np.diff(skin.start[low : high + 1]))
    by_weight = np.lexsort((-np.abs(skin.weight[entry]), owner))
    carrier = skin.node[entry][by_weight[np.searchsorted(owner, np.arange(high - low))]] - node
    rest = nodes.rest[node : int(bodies.node_start[body + 1])]
    places = np.zeros((high - low, 3))
    np.add.at(places, owner, skin.weight[entry][:, None] * rest[skin.node[entry] - node])
    faces = skin.faces[bodies.face_start[body] : bodies.face_start[body + 1]] - low
    shown = ~np.isin(_cells(first, body), gone)
    return Whole(places, int(bodies.surface[body]), faces, skin.tets[skin.tet_body == body] - low, rest, carrier, shown)


def _cells(first: Model, body: int) -> Ints:
    """Numbers of the tets of a body among all faces and then tets of the first model, or of its faces if it has no tets."""
    tets = np.flatnonzero(first.skin.tet_body == body) + len(first.skin.faces)
    return tets if len(tets) else np.arange(first.bodies.face_start[body], first.bodies.face_start[body + 1])


def _part(first: Model, body: int, ancestor: int, piece: Piece | None, node_start: int, place: Ints) -> dict[str, Any]:
    """Skin arrays of one body: of a piece, or as they were with nodes in their new places."""
    bodies, skin = first.bodies, first.skin
    low, face = int(bodies.point_start[ancestor]), int(bodies.face_start[ancestor])
    if piece is not None:
        return {
            "source": np.where(piece.source < 0, -1, piece.source + low), "surface": piece.surface, "faces": piece.faces,
            "home": piece.home,
            "face_source": np.where(piece.face_source < 0, -1, piece.face_source + face), "tets": piece.tets,
            "start": piece.start, "node": piece.node + node_start, "weight": piece.weight,
            "lost": piece.lost + low, "stand_in": piece.stand_in,
        }  # fmt: skip
    high, end = int(bodies.point_start[body + 1]), int(bodies.face_start[body + 1])
    entry = slice(int(skin.start[low]), int(skin.start[high]))
    return {
        "source": np.arange(low, high), "surface": int(bodies.surface[body]), "faces": skin.faces[face:end] - low,
        "home": np.ones(high - low, bool),
        "face_source": np.arange(face, end), "tets": skin.tets[skin.tet_body == body] - low,
        "start": skin.start[low : high + 1] - skin.start[low], "node": place[skin.node[entry]], "weight": skin.weight[entry],
        "lost": np.zeros(0, np.int64), "stand_in": np.zeros(0, np.int64),
    }  # fmt: skip


def _bodies(old: Bodies, broken: Broken, ancestor: Ints, nodes: Ints, points: Ints, faces: Ints, surface: Ints) -> Bodies:
    names, seen = list(old.names), np.ones(len(old), np.int64)
    for body in ancestor[len(old) :].tolist():
        seen[body] += 1
        names.append(f"{old.names[body]}.{seen[body]}")
    per_body = (
        "frame", "friction", "static_friction", "restitution",
        "analytic", "parameters", "anchor", "tolerance", "unsafe", "modulus", "flows", "tears", "gives",
    )  # fmt: skip
    return Bodies(
        names=names,
        kind=[old.kind[a] for a in ancestor],
        node_start=nodes,
        point_start=points,
        surface=surface,
        face_start=faces,
        tables=[old.tables[a] for a in ancestor],
        parent=np.concatenate([np.full(len(old), -1), broken.parent]).astype(np.int64),
        **{name: getattr(old, name)[ancestor] for name in per_body},
    )


def _pairs(old: PairTable, bodies: Bodies) -> PairTable:
    """The table with a row for every two parts of bodies that had one; parts of one body meet each other as any two bodies do."""
    before = len(old.sliding)
    family = np.arange(len(bodies))
    for body in range(before, len(bodies)):
        family[body] = family[bodies.parent[body]]
    keys, rows = [], []
    for row, (a, b) in enumerate(zip(old.key // before, old.key % before, strict=True)):
        for i in np.flatnonzero(family == a).tolist():
            for j in np.flatnonzero(family == b).tolist() if a != b else [i]:
                keys.append(min(i, j) * len(bodies) + max(i, j))
                rows.append(row)
    order = np.argsort(np.array(keys, np.int64), kind="stable")
    pick = np.array(rows, np.int64)[order]
    return replace(
        old, sliding=bodies.friction, sticking=bodies.static_friction, lively=bodies.restitution,  # the same arrays: both change
        movable=old.movable[family], group=old.group[family], key=np.array(keys, np.int64)[order], contact=old.contact[pick],
        method=old.method[pick], mu_d=old.mu_d[pick], mu_s=old.mu_s[pick], e=old.e[pick],
    )  # fmt: skip
