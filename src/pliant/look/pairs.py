"""Feature pairs of the penalty methods as coloured marks: which push, which were redefined, which wait, which are hooked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.penalty.records import EDGE_EDGE, VERTEX_FACE

if TYPE_CHECKING:
    from pliant.simulate.simulation import Simulation

# Colour of each state; the last that holds is shown.
STATES = {"active": (32, 128, 60), "redefined": (30, 96, 200), "candidate": (150, 80, 190), "hooked": (236, 120, 12)}


@dataclass(frozen=True)
class Marks:
    """Vertices as dots and their faces as outlines; pairs of edges as two lines."""

    dots: Floats  # [m] (n, 3)
    dot_state: Ints  # (n,) place in STATES
    lines: Floats  # [m] (m, 2, 3)
    line_state: Ints  # (m,)
    counts: dict[str, int]  # pairs in each state

    @property
    def dot_colours(self) -> np.ndarray:
        return _colours(self.dot_state)

    @property
    def line_colours(self) -> np.ndarray:
        return _colours(self.line_state)


def _colours(state: Ints) -> np.ndarray:
    return np.array(list(STATES.values()), np.uint8)[state]


def marks_of(sim: Simulation) -> Marks:
    """Pairs as they stand after the last step."""
    return marks_in(sim.state.memory, sim.world.skin_positions(sim.state.x, sim.state.position, sim.state.rotation))


def marks_in(memory: Mapping[str, Mapping[str, np.ndarray]], end: Floats) -> Marks:
    """Pairs in the memory of contact methods; `end` [m]: places of the skin points, of those behind it nothing is drawn."""
    known = [m for m in memory.values() if {"kind", "corners", "before", "hooked", "active"} <= m.keys()]
    parts = {k: np.concatenate([m[k] for m in known]) if known else np.zeros(0, bool) for k in ("hooked", "active")}
    before, kind = (np.concatenate([m[k] for m in known]) if known else np.zeros(0, np.int64) for k in ("before", "kind"))
    corners = np.concatenate([m["corners"] for m in known]) if known else np.zeros((0, 4), np.int64)
    flags = [np.ones(len(kind), bool), before >= 0, (kind == EDGE_EDGE) & ~parts["active"], parts["hooked"]]
    state = np.max([i * flag for i, flag in enumerate(flags)], axis=0).astype(np.int64) if len(kind) else kind
    counts = {name: int(np.count_nonzero(state == i)) for i, name in enumerate(STATES)}
    many = (kind == VERTEX_FACE) | (kind == EDGE_EDGE)  # of the others only the vertex is drawn
    seen = np.where(many, (corners < len(end)).all(axis=1), corners[:, 0] < len(end))
    kind, corners, state = kind[seen], corners[seen], state[seen]
    face, edge = kind == VERTEX_FACE, kind == EDGE_EDGE
    outline = corners[face][:, [[1, 2], [2, 3], [3, 1]]].reshape(-1, 2)
    edges = corners[edge].reshape(-1, 2)
    return Marks(
        dots=end[corners[~edge, 0]], dot_state=state[~edge], lines=end[np.concatenate([outline, edges])],
        line_state=np.concatenate([np.repeat(state[face], 3), np.repeat(state[edge], 2)]),
        counts=counts,
    )  # fmt: skip


def show(plotter: Any, marks: Marks | None, before: list[Any], size: int) -> list[Any]:
    """Draw marks in front of the skin that hides them, in place of those before; `size`: pixels of the canvas per pixel of the picture."""
    import pyvista

    for actor in before:
        plotter.remove_actor(actor)
    actors = []
    if marks is not None and len(marks.lines):
        ends = np.arange(2 * len(marks.lines)).reshape(-1, 2)
        mesh = pyvista.PolyData(marks.lines.reshape(-1, 3), lines=np.column_stack([np.full(len(ends), 2), ends]).ravel())
        mesh.cell_data["colour"] = marks.line_colours
        actors.append(plotter.add_mesh(mesh, scalars="colour", rgb=True, line_width=2 * size, lighting=False))
    if marks is not None and len(marks.dots):
        mesh = pyvista.PolyData(marks.dots)
        mesh.point_data["colour"] = marks.dot_colours
        actors.append(plotter.add_mesh(mesh, scalars="colour", rgb=True, point_size=7 * size, lighting=False))
    for actor in actors:
        actor.mapper.SetResolveCoincidentTopologyToPolygonOffset()
        actor.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(0.0, -66000.0)
        actor.mapper.SetRelativeCoincidentTopologyPointOffsetParameter(-66000.0)
    return actors
