"""What a picture is made of: plain arrays, taken from a simulation as it is now or from a frame of a recorded run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.register import room_of
from pliant.geometry.quaternions import quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.model import Rest
from pliant.record.export import skin
from pliant.record.run import Cells

if TYPE_CHECKING:
    from pliant.look.pairs import Marks
    from pliant.record import Run
    from pliant.scene import Scene
    from pliant.simulate.simulation import Simulation

NO_POINTS = np.zeros(0, np.int64)
NO_TETS = np.zeros((0, 4, 3))
CRUMB = 5  # discs: a body of fewer is a crumb


@dataclass(frozen=True)
class Plane:
    """An endless plane, drawn as a finite floor."""

    point: Floats  # [m] (3,)
    axes: Floats  # (3, 3) rows: two directions in it, and its normal
    body: int = -1  # its number


@dataclass(frozen=True)
class Picture:
    """One moment of a scene, ready to be drawn."""

    points: Floats  # [m] (P, 3)
    triangles: Ints  # (F, 3)
    triangle_body: Ints  # (F,)
    names: Mapping[int, str]  # of each body
    kinds: Mapping[int, str]  # of each body: fem, springs, points, rigid, static
    point_fields: Mapping[str, np.ndarray] = field(default_factory=dict)  # (P,) or (P, 3)
    time: float = 0.0  # [s]
    title: str = ""
    surfels: Ints = field(default_factory=lambda: NO_POINTS)  # (S,) points with fields `normal` and `radius`
    surfel_body: Ints = field(default_factory=lambda: NO_POINTS)  # (S,)
    inverted: Floats = field(default_factory=lambda: NO_TETS)  # [m] (K, 4, 3) corners of elements turned inside out
    planes: tuple[Plane, ...] = ()
    marks: Marks | None = None  # feature pairs to draw

    def moving(self, body: Ints) -> np.ndarray:
        """Whether the body of each number can move."""
        static = [number for number, kind in self.kinds.items() if not room_of(kind).moves]
        return ~np.isin(body, static)

    def movable_points(self) -> Floats:
        """Points drawn of bodies that can move, or of all if none can [m]. Crumbs of torn bodies may fly anywhere: they do not count."""
        whole = np.bincount(self.surfel_body)[self.surfel_body] >= CRUMB if len(self.surfels) else np.zeros(0, bool)
        seen = [self.triangles[self.moving(self.triangle_body)].ravel(), self.surfels[self.moving(self.surfel_body) & whole]]
        used = among(len(self.points), *seen)
        if len(used) == 0:
            used = among(len(self.points), self.triangles.ravel(), self.surfels)
        points = self.points[used]
        return points[np.isfinite(points).all(axis=1)]


def among(count: int, *chosen: Ints) -> Ints:
    """Which of so many points are chosen, ascending: each once."""
    used = np.zeros(count, bool)
    for each in chosen:
        used[each] = True
    return np.flatnonzero(used)


def planes_of(scene: Scene) -> tuple[Plane, ...]:
    """The planes among the bodies of a scene."""
    found = []
    for number, body in enumerate(scene.bodies):
        shape = body.shape
        if shape == "plane" or (isinstance(shape, dict) and shape.get("kind") == "plane"):
            turn = np.array(body.rotation, np.float64)
            if len(turn) == 3:
                turn = rotation_vector_to_quaternion(np.radians(turn))
            axes = quaternion_to_matrix(turn / np.linalg.norm(turn)).T
            found.append(Plane(np.array(body.position, np.float64), axes, number))
    return tuple(found)


# ------------------------------------------------------------------------------------------------ a simulation


def from_simulation(sim: Simulation) -> Picture:
    """A simulation as it is now; displacements are from the rest shape, and zero for rigid bodies."""
    # start-up: a run is drawn without the code that steps
    from pliant.simulate.drawn import cell_fields, drawn_cells, point_fields, strained

    model, state = sim.world.model, sim.world.state
    points, shown = sim.points(), sim.report.shown if sim.report else None
    if shown is not None:
        points = points + shown[: len(points)]
    rest = sim.world.skin_positions(model.nodes.rest, state.position, state.rotation)[: len(points)]
    if len(model.skin.places):  # bound to nodes that had flowed: where it is from, or where it was made
        source, own = sim.epoch.source[: len(points)], model.skin.frame[: len(points)] < 0
        first = Rest.of(sim.epoch.first).points[np.maximum(source, 0)]
        rest = np.where(own[:, None], np.where(source[:, None] < 0, model.skin.places[: len(points)], first), rest)
    fields = point_fields(sim, points - rest)
    cells, where = drawn_cells(sim)
    now = strained(sim)
    for name, values in cell_fields(cells, where, now).items():
        fields[name] = averaged(cells, values, len(points))
    tet_groups = [g for g, group in enumerate(model.groups) if group.name.startswith("tet")]
    turned = [state.x[model.groups[g].nodes[now[g].stretch <= 0.0, :4]] for g in tet_groups]
    return Picture(
        points=points,
        triangles=model.skin.faces,
        triangle_body=model.skin.face_body,
        names=dict(enumerate(model.bodies.names)),
        kinds=dict(enumerate(model.bodies.kind)),
        point_fields=fields,
        time=sim.time,
        title=sim.scene.name,
        surfels=cells.vertices,
        surfel_body=cells.body[len(cells.body) - len(cells.vertices) :],
        inverted=np.concatenate([NO_TETS, *turned]),
        planes=planes_of(sim.scene),
    )


# ------------------------------------------------------------------------------------------------ a run


def from_run(run: Run, i: int, fields: Collection[str] | None = None) -> Picture:
    """Frame i of a run, with all of its fields or some of them."""
    return Film(run).picture(i, fields)


class Film:
    """The frames of a run as pictures; what only depends on the topology is worked out once."""

    def __init__(self, run: Run) -> None:
        if run.frames == 0:
            raise PliantError(f"{run.path} has no frames to draw: the run ended before its first one")
        self.run = run
        self.title = str(run.header.get("name") or run.path.stem)
        self.planes = _recorded_planes(run.header)
        self._number, self._cells = -1, Cells()  # of the topology that was read last
        self._skin = (np.zeros((0, 3), np.int64), NO_POINTS)
        self._kinds: dict[int, str] = {}

    def fields(self, i: int) -> set[str]:
        """Names of the fields of a frame."""
        return set(self.run.fields(i))

    def near(self, time: float | None) -> Picture:
        """The frame nearest to a time [s], the last unless it is given."""
        if time is None:
            return self.picture(self.run.frames - 1)
        self.run.refuse_time(time)
        return self.picture(int(np.argmin(np.abs(self.run.times - time))))

    def picture(self, i: int, fields: Collection[str] | None = None) -> Picture:
        """Frame i, with all of its fields or some of them."""
        run, points, recorded = self.run, self.run.points(i), self.run.fields(i)
        cells = self._topology(i)
        wanted = [name for name in recorded if fields is None or name in fields]
        values = {name: run.field(name, i) for name in wanted}
        if len(cells.vertices):
            values |= {name: run.field(name, i) for name in ("normal", "radius") if name in recorded}
        over_points = {n: v if recorded[n] == "point" else averaged(cells, v, len(points)) for n, v in values.items()}
        return Picture(
            points=points,
            triangles=self._skin[0],
            triangle_body=self._skin[1],
            names=cells.bodies,
            kinds=self._kinds,
            point_fields=over_points,
            time=float(run.frame_meta(i)["time"]),
            title=self.title,
            surfels=cells.vertices,
            surfel_body=cells.body[len(cells.body) - len(cells.vertices) :],
            inverted=self._inverted(i, points, cells),
            planes=self.planes,
        )

    def _topology(self, i: int) -> Cells:
        number = self.run.topology_number(i)
        if number != self._number:
            cells = self.run.cells(i)
            if self._number < 0 or not _same(cells, self._cells):
                self._cells, self._kinds, triangles = cells, self._kinds_of(cells), skin(cells)
                self._skin = (triangles, _point_body(cells, self.run.points(i))[triangles[:, 0]])
            self._number = number
        return self._cells

    def _kinds_of(self, cells: Cells) -> dict[int, str]:
        """Kinds as recorded (one per body in order); a fragment is of its parent's kind."""
        recorded = dict(enumerate(self.run.header.get("kinds", [])))
        soft = np.unique(cells.body[: len(cells.tets) + len(cells.tets10)])
        kinds = {}
        for body in cells.bodies:
            oldest = body
            while oldest in cells.parents:
                oldest = cells.parents[oldest]
            kinds[body] = recorded.get(oldest, "fem" if body in soft else "rigid")
        return kinds

    def _inverted(self, i: int, points: Floats, cells: Cells) -> Floats:
        corners = np.concatenate([cells.tets, cells.tets10[:, :4]])
        if "det_F" in self.run.fields(i):
            turned = self.run.field("det_F", i)[: len(corners)] <= 0.0
        else:
            x = points[corners]
            turned = np.linalg.det(x[:, 1:] - x[:, :1]) <= 0.0
        return points[corners[turned]]


def _recorded_planes(header: Mapping[str, Any]) -> tuple[Plane, ...]:
    from pliant.scene import Scene  # start-up: simulations are drawn, and plots made, without reading scenes

    try:
        return planes_of(Scene.recorded(header["scene"]))
    except (KeyError, PliantError):  # a run of another program, or of a scene that this version cannot read
        return ()


def _same(a: Cells, b: Cells) -> bool:
    blocks = (np.array_equal(a.blocks[name], b.blocks[name]) for name in a.blocks)
    return a.bodies == b.bodies and np.array_equal(a.body, b.body) and all(blocks)


def _point_body(cells: Cells, points: Floats) -> Ints:
    """Body of each point; points belong to one body."""
    owner = np.full(len(points), -1, np.int64)
    start = 0
    for block in cells.blocks.values():
        body = cells.body[start : start + len(block)]
        owner[block] = body if block.ndim == 1 else body[:, None]
        start += len(block)
    return owner


def averaged(cells: Cells, values: np.ndarray, count: int) -> Floats:
    """A cell field at the points: mean over the cells around each that know it (NaN where none does)."""
    rows = np.asarray(values, np.float64).reshape(cells.count, -1)
    rows = rows[:, 0] if rows.shape[1] == 1 else np.linalg.norm(rows, axis=1)
    total, number = np.zeros(count), np.zeros(count)
    start = 0
    for block in cells.blocks.values():
        mine = rows[start : start + len(block)]
        start += len(block)
        known = np.isfinite(mine)
        nodes, corners = block[known].ravel(), 1 if block.ndim == 1 else block.shape[1]
        total += np.bincount(nodes, np.repeat(mine[known], corners), minlength=count)
        number += np.bincount(nodes, minlength=count)
    with np.errstate(invalid="ignore"):
        return total / number
