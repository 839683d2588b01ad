"""Loads, prescribed motion and attachments of a scene, turned into the numbers of points, faces, nodes and frames."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.bodies.parts import BodyParts
from pliant.model import Attachments, Drives, Loads
from pliant.scene import Attachment, End, Load, Scene, Where
from pliant.spec.table import Table, Tables

Place = tuple[int, Floats]  # a skin point and where it is at the start


@dataclass
class Draft:
    """Arrays under construction: lists that are joined at the end."""

    parts: list[BodyParts]
    node_start: Ints
    point_start: Ints
    extra_body: list[int] = field(default_factory=list)  # points no body shows: body that carries them, -1 the world
    extra_frame: list[int] = field(default_factory=list)
    extra_local: list[Floats] = field(default_factory=list)
    frames: dict[int, int] = field(default_factory=dict)  # body -> frame

    def point_in_frame(self, body: int, local: Floats) -> int:
        """A new skin point fixed in a body's frame, or in the world (body -1)."""
        self.extra_body.append(body)
        self.extra_frame.append(self.frames.get(body, -1))
        self.extra_local.append(np.asarray(local, np.float64))
        return int(self.point_start[-1]) + len(self.extra_body) - 1


def starts(counts: list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def joined(arrays: list[np.ndarray], shape: tuple[int, ...] = (), dtype: type = np.float64) -> np.ndarray:
    """One contiguous array of all; an empty one of the right shape if there is none."""
    return np.ascontiguousarray(np.concatenate(arrays) if arrays else np.zeros((0, *shape)), dtype=dtype)


def chosen(where: Where, points: Floats, name: str) -> Ints:
    """Numbers of the points that fulfil all conditions."""
    keep = np.ones(len(points), bool)
    if where.ids is not None:
        if len(where.ids) and (min(where.ids) < 0 or max(where.ids) >= len(points)):
            raise PliantError(f"Body '{name}' has vertices 0 to {len(points) - 1}; `ids` names {max(where.ids)} or a negative one.")
        keep &= np.isin(np.arange(len(points)), where.ids)
    if where.side is not None:
        axis, sign = "xyz".index(where.side[1]), 1.0 if where.side[0] == "+" else -1.0
        along = sign * points[:, axis]
        keep &= along >= along.max() - 1e-6 * np.ptp(points, axis=0).max()
    for axis, bounds in enumerate((where.x, where.y, where.z)):
        if bounds is not None:
            keep &= (points[:, axis] >= bounds[0]) & (points[:, axis] <= bounds[1])
    if not keep.any():
        low, high = points.min(axis=0), points.max(axis=0)
        raise PliantError(f"`where` chooses no vertex of body '{name}', which spans {low.round(4)} to {high.round(4)} m at the start.")
    return np.flatnonzero(keep)


def wire_loads(scene: Scene, draft: Draft) -> Loads:
    tables: list[Table] = []
    point: list[tuple[Ints, int, Floats]] = []
    face: list[tuple[Ints, int, int, Floats]] = []
    whole: list[tuple[int, int, int]] = []
    face_start = starts([len(p.faces) for p in draft.parts])
    for i, body in enumerate(scene.bodies):
        part = draft.parts[i]
        for load in body.loads:
            tables.append(load.value)
            table = len(tables) - 1
            if load.kind in ("traction", "pressure"):
                some, area = _loaded_faces(load, part, body.name)
                face.append((face_start[i] + some, table, int(load.kind == "pressure"), area))
            elif load.at is not None:
                if part.frame is None:
                    raise PliantError(f"`at` of a load is for rigid bodies; '{body.name}' is soft: choose vertices with `where`.")
                point.append((np.array([draft.point_in_frame(i, part.frame.local(np.array(load.at)))]), table, np.ones(1)))
            elif load.where is not None and load.kind == "force":
                some = chosen(load.where, part.points, body.name)
                point.append((draft.point_start[i] + some, table, np.full(len(some), 1.0 / len(some))))
            elif load.where is not None:
                raise PliantError(f"A torque acts on the whole of body '{body.name}': leave out `where`.")
            else:
                whole.append((i, table, int(load.kind == "torque")))
    return Loads(
        tables=Tables.of(tables),
        point=joined([p for p, _, _ in point], dtype=np.int64),
        point_table=joined([np.full(len(p), t) for p, t, _ in point], dtype=np.int64),
        point_share=joined([s for _, _, s in point]),
        face=joined([f for f, _, _, _ in face], dtype=np.int64),
        face_table=joined([np.full(len(f), t) for f, t, _, _ in face], dtype=np.int64),
        face_follows=joined([np.full(len(f), k) for f, _, k, _ in face], dtype=np.int64),
        face_area=joined([a for _, _, _, a in face]),
        body=np.array([b for b, _, _ in whole], np.int64),
        body_table=np.array([t for _, t, _ in whole], np.int64),
        body_is_torque=np.array([k for _, _, k in whole], np.int64),
    )


def _loaded_faces(load: Load, part: BodyParts, name: str) -> tuple[Ints, Floats]:
    """Faces all of whose corners are chosen, and their areas."""
    on = np.zeros(len(part.points), bool)
    on[chosen(load.where or Where(), part.points, name)] = True
    some = np.flatnonzero(on[part.faces].all(axis=1))
    if len(some) == 0:
        raise PliantError(f"The {load.kind} on body '{name}' chooses vertices but no whole face: widen `where`.")
    a, b, c = (part.points[part.faces[some, k]] for k in range(3))
    return some, 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def wire_drives(scene: Scene, draft: Draft) -> Drives:
    node: list[Ints] = []
    node_motion: list[Ints] = []
    frame, frame_motion, base_p, base_r = [], [], [], []
    shift: list[Table] = []
    turn: list[Table] = []
    about: list[Floats] = []
    for i, body in enumerate(scene.bodies):
        part = draft.parts[i]
        for motion in body.motions:
            number = len(shift)
            shift.append(motion.shift)
            turn.append(motion.turn)
            if part.frame is not None:
                if motion.where is not None or len(body.motions) > 1:
                    raise PliantError(f"The {body.model} body '{body.name}' moves as a whole: give one motion without `where`.")
                frame.append(draft.frames[i])
                frame_motion.append(number)
                base_p.append(part.frame.position)
                base_r.append(part.frame.rotation)
                centre = part.frame.position
            else:
                some = chosen(motion.where or Where(), part.nodes, body.name)
                node.append(draft.node_start[i] + some)
                node_motion.append(np.full(len(some), number))
                centre = part.nodes[some].mean(axis=0)
            about.append(np.array(motion.about) if motion.about is not None else centre)
    return Drives(
        node=joined(node, dtype=np.int64),
        node_motion=joined(node_motion, dtype=np.int64),
        frame=np.array(frame, np.int64),
        frame_motion=np.array(frame_motion, np.int64),
        shift=Tables.of(shift),
        turn=Tables.of(turn),
        about=np.array(about).reshape(-1, 3),
        base_position=np.array(base_p).reshape(-1, 3),
        base_rotation=np.array(base_r).reshape(-1, 4),
    )


def wire_attachments(scene: Scene, draft: Draft) -> Attachments:
    names = [b.name for b in scene.bodies]
    rows: list[tuple[int, int, float, float, float, int]] = []

    def add(first: Place, second: Place, k: float, c: float, rest: float, pulls: int) -> None:
        rows.append((first[0], second[0], k, c, rest, pulls))

    for item in scene.attachments:
        ends = _end(item.a, draft, names), _end(item.b, draft, names)
        distance = float(np.linalg.norm(ends[0][1] - ends[1][1]))
        if item.kind != "weld":
            rest = distance if item.length is None else item.length
            add(*ends, item.stiffness, item.damping, rest, int(item.kind == "string"))
        elif _framed(item.a, names, draft) and _framed(item.b, names, draft):
            # two rigid bodies keep their orientation too: weld four points around the middle
            middle = 0.5 * (ends[0][1] + ends[1][1])
            size = 0.5 * max(_extent(draft, e, names) for e in (item.a, item.b))
            for corner in size * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3):
                pair = [_end(End(body=e.body, at=tuple(middle + corner)), draft, names) for e in (item.a, item.b)]
                add(pair[0], pair[1], np.inf, 0.0, 0.0, 0)
        else:
            if distance > 0:
                ends = _meet(item, ends, draft, names)
            add(*ends, np.inf, 0.0, 0.0, 0)
    columns = np.array(rows, np.float64).reshape(-1, 6).T
    a, b, one_sided = (np.ascontiguousarray(columns[i], np.int64) for i in (0, 1, 5))
    return Attachments(a, b, columns[2].copy(), columns[3].copy(), columns[4].copy(), one_sided)


def _meet(item: Attachment, ends: tuple[Place, Place], draft: Draft, names: list[str]) -> tuple[Place, Place]:
    """A weld of points that are apart: the framed side moves to where the vertex is; two vertices must coincide."""
    for k, end in enumerate((item.a, item.b)):
        if _framed(end, names, draft):
            fixed = _end(End(body=end.body, at=tuple(ends[1 - k][1])), draft, names)
            return (fixed, ends[1]) if k == 0 else (ends[0], fixed)
    gap = float(np.linalg.norm(ends[0][1] - ends[1][1]))
    size = min(_extent(draft, e, names) for e in (item.a, item.b))
    if gap > 1e-6 * size:
        raise PliantError(
            f"The weld between '{item.a.body}' and '{item.b.body}' joins vertices that are {gap:.3g} m apart: "
            "move the bodies together, or use a spring."
        )
    return ends


def _framed(end: End, names: list[str], draft: Draft) -> bool:
    """Whether an end is on a rigid or static body or in the world."""
    return end.body is None or draft.parts[_index(end.body, names)].frame is not None


def _extent(draft: Draft, end: End, names: list[str]) -> float:
    """Size of the body at an end [m]; 0 for the world and for planes."""
    if end.body is None:
        return 0.0
    points = draft.parts[_index(end.body, names)].points
    return float(np.ptp(points, axis=0).max()) if len(points) else 0.0


def _index(name: str, names: list[str]) -> int:
    if name not in names:
        raise PliantError(f"There is no body '{name}' in the scene: {nearest(name, names)}")
    return names.index(name)


def _end(end: End, draft: Draft, names: list[str]) -> tuple[int, Floats]:
    """Skin point of an end and where it is at the start."""
    if end.body is None:
        place = np.array(end.at)
        return draft.point_in_frame(-1, place), place
    index = _index(end.body, names)
    part, first = draft.parts[index], int(draft.point_start[index])
    if end.vertex is not None:
        if not 0 <= end.vertex < len(part.points):
            raise PliantError(f"Body '{end.body}' has vertices 0 to {len(part.points) - 1}, not {end.vertex}.")
        return first + end.vertex, part.points[end.vertex]
    place = np.array(end.at)
    if part.frame is not None:
        return draft.point_in_frame(index, part.frame.local(place)), place
    vertex = int(np.argmin(np.linalg.norm(part.points - place, axis=1)))
    return first + vertex, part.points[vertex]


