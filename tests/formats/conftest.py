"""A run with everything that formats must carry: a soft box that stretches, a rigid ball that flies and turns, a floor, contacts."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.contact.contacts import Contacts
from pliant.geometry import solids
from pliant.geometry.quaternions import quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.record import Cells, Recorder, Run

SCENE = """
name = "two bodies"
gravity = [0.0, 0.0, -9.81]
[[bodies]]
name = "ground"
model = "static"
shape = {kind = "plane"}
[[bodies]]
name = "soft box"
shape = {kind = "box", size = [0.2, 0.2, 0.2], edge = 0.1}
[[bodies]]
name = "ball"
model = "rigid"
friction = 0.25
shape = {kind = "ball", radius = 0.1, edge = 0.05}
"""
FRAMES = 6


def pose(i: int) -> tuple[np.ndarray, np.ndarray]:
    """Turn and shift of the ball in frame i; past half a turn, where quaternions change their sign."""
    return quaternion_to_matrix(rotation_vector_to_quaternion(np.array([0.3, -0.2, 0.9]) * i)), np.array([0.3 - 0.1 * i, 0.05 * i, 0.1])


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    mesh, ball = solids.box(size=(0.2, 0.2, 0.2), edge=0.1).tets, solids.ball(radius=0.1, edge=0.05).surface()
    count = len(mesh.points)
    cells = Cells(
        tets=mesh.tets, triangles=ball.faces + count, bodies={0: "ground", 1: "soft box", 2: "ball"},
        body=np.concatenate([np.full(len(mesh.tets), 1), np.full(len(ball.faces), 2)]),
    )  # fmt: skip
    header = {"name": "two bodies", "kinds": ["static", "fem", "rigid"], "scene": SCENE}
    recorder = Recorder(tmp_path_factory.mktemp("formats") / "two", header, every=0.01)
    recorder.topology(cells, count + len(ball.points))
    for i in range(FRAMES):
        turn, shift = pose(i)
        points = np.concatenate([mesh.points * [1 + 0.1 * i, 1, 1 - 0.05 * i] + [0, 0, 0.2], ball.points @ turn.T + shift])
        fields = {"pressure": (1e4 * i * np.maximum(0.0, points[:, 0])).astype(np.float32), "velocity": (points * i).astype(np.float32)}
        stress = np.full(cells.count, np.nan, np.float32)
        stress[: len(mesh.tets)] = 100.0 * (1 + i) * np.arange(len(mesh.tets))
        rows = Contacts.unknown(i, 0.01)  # as many as the number of the frame
        rows.a[:], rows.b[:] = 1, 2
        rows.point[:], rows.normal[:] = points[:i], [0.0, 0.0, 1.0]
        rows.impulse[:], rows.friction_impulse[:] = np.linspace(0.01, 0.02, i), [1e-3, 0.0, 0.0]
        rows.area = np.full(i, 1e-4)
        recorder.step({"time": 0.01 * i, "dt": 0.01, "kinetic": 1.0 + i, "momentum": np.arange(3.0) * i})
        recorder.frame(0.01 * i, i, points, fields, {"von_mises": stress}, rows.arrays())
    recorder.close("finished")
    with Run.open(recorder.path) as opened:
        yield opened
