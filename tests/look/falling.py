"""A small scene without physics: a box falls towards a bowl-like shell, a static block stands beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.geometry import solids
from pliant.geometry.mesh import TetMesh
from pliant.look.source import Picture, Plane
from pliant.record import Cells, Recorder, Run

SCENE = """
name = "falling"
[[bodies]]
name = "ground"
model = "static"
shape = {kind = "plane"}
[[bodies]]
name = "soft"
shape = {kind = "box", size = [0.2, 0.2, 0.2], edge = 0.1}
[[bodies]]
name = "ball"
model = "rigid"
shape = {kind = "ball", radius = 0.1, edge = 0.05}
"""
GROUND = Plane(np.zeros(3), np.eye(3))


def box(size: float = 0.2, edge: float = 0.1) -> TetMesh:
    """Tetrahedra of a box around the origin."""
    tets = solids.box(size=(size, size, size), edge=edge).tets
    assert tets is not None
    return tets


def picture(**changes: object) -> Picture:
    """A soft box (body 1) on the ground, with a field that grows along x."""
    mesh = box()
    points = mesh.points + [0.0, 0.0, 0.12]
    values = dict(
        points=points,
        triangles=mesh.boundary,
        triangle_body=np.ones(len(mesh.boundary), np.int64),
        names={0: "ground", 1: "soft"},
        kinds={0: "static", 1: "fem"},
        point_fields={"von_mises": 5e4 * (points[:, 0] + 0.1), "velocity": np.tile([0.0, 0.0, -2.0], (len(points), 1))},
        time=0.25,
        title="one box",
        planes=(GROUND,),
    )
    return Picture(**(values | changes))  # type: ignore[arg-type]


def record(path: Path, frames: int = 6, planes: bool = True) -> Run:
    """A run in which a soft box sinks and a rigid ball stands still; fields as `pliant run` records them."""
    mesh, ball = box(), solids.ball(radius=0.1, edge=0.05).surface()
    count = len(mesh.points)
    cells = Cells(
        tets=mesh.tets,
        triangles=ball.faces + count,
        body=np.concatenate([np.full(len(mesh.tets), 1), np.full(len(ball.faces), 2)]),
        bodies={0: "ground", 1: "soft", 2: "ball"},
    )
    header = {"name": "falling", "kinds": ["static", "fem", "rigid"], "scene": SCENE if planes else ""}
    recorder = Recorder(path, header, every=0.1)
    recorder.topology(cells, count + len(ball.points))
    for i in range(frames):
        points = np.concatenate([mesh.points + [0, 0, 0.5 - 0.05 * i], ball.points + [0.3, 0, 0.1]])
        velocity = np.zeros_like(points)
        velocity[:count, 2] = -0.5
        stress = np.full(cells.count, np.nan)
        stress[: len(mesh.tets)] = 1000.0 * (1 + i)
        pairs = {"a": np.array([1, 2]), "b": np.array([2, 1]), "force": np.array([[0.0, 0, 3.0], [0.0, 0, -1.0]])}
        recorder.step(
            {"time": 0.1 * i, "kinetic": 1.0 + i, "gravity": 5.0 - i, "contacts": i, "max_depth": 1e-3 * i, "contact_work": 0.0},
            pairs if i else None,
        )
        recorder.frame(0.1 * i, i, points, {"velocity": velocity, "depth": np.zeros(len(points))}, {"von_mises": stress})
    recorder.close("finished")
    return Run.open(path)
