"""What the page shows of a picture: topology, fields and contacts as arrays; and what stays the same, as words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.register import room_of
from pliant.contact.contacts import Contacts
from pliant.detect.surfels.clusters import Spheres
from pliant.detect.tree import Tree
from pliant.look import fields
from pliant.look.pairs import STATES, Marks
from pliant.look.source import NO_POINTS, Picture
from pliant.look.stage import AZIMUTH, BACKGROUND, COLOURS, ELEVATION, TILES, VIEW_ANGLE, extremes, framed, plain_colours, shown_part
from pliant.look.surface import Shading, surfel_shapes
from pliant.measure.intersection import Intersection, intersection

NOISE = {"Pa": 1e-3, "m": 1e-9, "m/s": 1e-7, "N": 1e-7, "J/m²": 1e-9}  # values below are not worth a colour, by their unit
NO_TETS = np.zeros((0, 4), np.int64)
WINDOW = (1000, 700)  # the page's canvas, roughly, for the first camera
MOST_ROWS = 20000  # contacts drawn
MOST_PAIRS = 8  # whose common volume is told


class Most(NamedTuple):
    """A largest value, and where it is."""

    value: float
    body: str
    time: float  # [s]


@dataclass(frozen=True)
class Survey:
    """What is known of all frames: where things are, and the range of each field."""

    around: Floats  # [m] (n, 3) points that must be seen
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    most: dict[str, Most] = field(default_factory=dict)  # the largest value, which may lie above the range


def survey(pictures: Sequence[Picture], names: Collection[str]) -> Survey:
    """Range of fields over some pictures."""
    around = np.concatenate([extremes(picture.movable_points()) for picture in pictures])
    ranges, most = {}, {}
    for name in names:
        if name != "body":
            found = np.concatenate([fields.sample(picture, name) for picture in pictures])
            ranges[name], most[name] = limits(found, name), max(_largest(picture, name) for picture in pictures)
    return Survey(around, ranges, most)


def _largest(picture: Picture, name: str) -> Most:
    """The largest value of a field that is seen in a picture."""
    bodies = list(fields.coloured_bodies(picture, name))
    points = np.concatenate([picture.triangles.ravel(), picture.surfels])
    owner = np.concatenate([np.repeat(picture.triangle_body, 3), picture.surfel_body])
    found = np.where(np.isin(owner, bodies), np.nan_to_num(fields.values(picture, name)[points]), -np.inf)
    k = int(np.argmax(found)) if len(found) else -1
    if k < 0 or not found[k] > 0.0:
        return Most(0.0, "", picture.time)
    return Most(float(found[k]), picture.names.get(int(owner[k]), ""), picture.time)


def limits(values: Floats, name: str) -> tuple[float, float]:
    """Range of colours of a field; what is only rounding noise counts as zero."""
    noise = NOISE.get(fields.TITLES.get(name, ("", ""))[1], 0.0)
    return fields.limits_of(np.where(np.abs(values) > noise, values, 0.0))


def words(picture: Picture, known: Survey, glass: Collection[str] = ()) -> dict[str, Any]:
    """What the page must know before the first frame: bodies, fields, floors, camera, colours."""
    plain = {by_field: plain_colours(picture, by_field) for by_field in (False, True)}
    offered = [name for name in fields.offered(picture.point_fields) if name in known.ranges]
    camera = framed(known.around, WINDOW, AZIMUTH, ELEVATION)
    return {
        "title": picture.title,
        "bodies": [
            {"id": body, "name": name, "kind": picture.kinds.get(body, ""), "colour": plain[False][body], "quiet": plain[True][body],
             "glass": name in glass}
            for body, name in picture.names.items()
        ],
        "fields": [_field(picture, name, known.ranges[name]) | {"most": known.most[name]._asdict()} for name in offered],
        "floors": [_floor(plane, known.around) for plane in picture.planes],
        "camera": {"position": camera.position, "focus": camera.focus, "angle": VIEW_ANGLE, "aspect": WINDOW[0] / WINDOW[1]},
        "size": float(np.linalg.norm(np.ptp(known.around, axis=0))),
        "colours": {"ramp": COLOURS, "background": BACKGROUND, "tiles": TILES, "states": dict(STATES)},
    }  # fmt: skip


def _field(picture: Picture, name: str, limits: tuple[float, float]) -> dict[str, Any]:
    title, unit = fields.TITLES.get(name, (name.replace("_", " "), ""))
    bodies = sorted(fields.coloured_bodies(picture, name))
    return {"name": name, "title": title, "unit": unit, "low": limits[0], "high": limits[1], "bodies": bodies}


def _floor(plane: Any, around: Floats) -> dict[str, Any]:
    tile, half, centre = shown_part(plane, around)
    return {"body": plane.body, "point": plane.point, "axes": plane.axes, "centre": centre, "half": half, "tile": tile}


# ------------------------------------------------------------------------------------------------ arrays


def topology(picture: Picture, tets: Ints = NO_TETS, tet_body: Ints = NO_POINTS) -> dict[str, np.ndarray]:
    """Triangles with shared normals, the body of each point, tets for cuts, surfels, sharp edges."""
    owner = np.zeros(len(picture.points), np.int64)
    row = np.zeros(max(picture.names, default=0) + 1, np.int64)  # place of each body in the list
    row[list(picture.names)] = np.arange(len(picture.names))
    owner[tets] = row[tet_body][:, None]
    owner[picture.surfels] = row[picture.surfel_body]
    owner[picture.triangles] = row[picture.triangle_body][:, None]
    points = np.nan_to_num(picture.points)
    shading = Shading.of(points, picture.triangles)
    return {
        "point": shading.point, "triangles": shading.triangles, "owner": owner.astype(np.uint16 if len(row) < 65536 else np.uint32),
        "tets": tets, "surfels": picture.surfels, "creases": shading.creases,
    }  # fmt: skip


def frame(
    picture: Picture, chosen: Collection[str], contacts: Contacts | None = None, common: Intersection | None = None
) -> dict[str, np.ndarray]:
    """Points, values of the chosen fields, surfels, contacts, feature pairs and what bodies have in common."""
    out: dict[str, np.ndarray] = {"points": _near_zero(picture.points)}
    for name in chosen:
        if name != "body":
            out[f"field/{name}"] = fields.values(picture, name)
    if len(picture.surfels):
        out |= _surfels(picture)
    if contacts is not None and len(contacts):
        out |= _contacts(contacts, len(picture.points))
    if picture.marks is not None:
        out |= _marks(picture.marks)
    if common is not None:
        out["common/corners"] = common.corners.reshape(-1, 3)
    return out


def in_common(picture: Picture) -> Intersection:
    """Where closed bodies overlap."""
    planes = [(plane.body, plane.point, plane.axes[2]) for plane in picture.planes]
    still = [body for body, kind in picture.kinds.items() if not room_of(kind).moves]
    return intersection(np.nan_to_num(picture.points), picture.triangles, picture.triangle_body, planes, still)


def volumes(picture: Picture, common: Intersection) -> list[list[Any]]:
    """Names of pairs and what they have in common [m^3], the largest first."""
    largest = sorted(common.volume.items(), key=lambda item: -item[1])
    return [[f"{picture.names.get(a, a)} – {picture.names.get(b, b)}", volume] for (a, b), volume in largest[:MOST_PAIRS]]


def _near_zero(points: Floats) -> Floats:
    """Places that are not finite would hide everything else."""
    known = np.isfinite(points)
    return points if known.all() else np.where(known, points, 0.0)


def _surfels(picture: Picture) -> dict[str, np.ndarray]:
    """Normal in 127ths (none: they face the viewer) and radius [m] of each surfel."""
    normal, radius = surfel_shapes(picture)
    if normal is None:
        return {"surfel/radius": radius}
    return {"surfel/normal": np.rint(127.0 * normal).astype(np.int8), "surfel/radius": radius}


def _contacts(contacts: Contacts, count: int) -> dict[str, np.ndarray]:
    """Rows of contacts, and the skin points that carry them; of `count` points, those behind are in no body."""
    carrying = np.unique(contacts.support.point[contacts.support.weight != 0.0])
    if len(contacts) > MOST_ROWS:
        contacts = contacts.select(np.argsort(-contacts.normal_force, kind="stable")[:MOST_ROWS])
    turn = np.where(contacts.a < contacts.b, -1.0, 1.0)[:, None]  # rows are of the force on a; shown is that on the later of the two
    return {
        "contact/point": _near_zero(contacts.point), "contact/normal": _near_zero(turn * contacts.normal),
        "contact/carrying": carrying[carrying < count], "contact/force": _near_zero(turn * contacts.force),
        "contact/sticking": np.nan_to_num(contacts.sticking, nan=0.5),
    }  # fmt: skip


def _marks(marks: Marks) -> dict[str, np.ndarray]:
    return {
        "mark/dots": marks.dots, "mark/dot_state": marks.dot_state, "mark/lines": marks.lines.reshape(-1, 3),
        "mark/line_state": marks.line_state,
    }  # fmt: skip


# The trees that detection searches, to be looked at: boxes around triangles, spheres around surfels.
#
# They are built over what is drawn as the methods build theirs (`detect/tree.py`, `detect/surfels/clusters.py`). Only which points a node
# holds is sent, once for each topology; boxes and spheres around them are worked out in the page, for every frame.



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
