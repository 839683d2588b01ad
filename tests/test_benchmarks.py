"""What the benchmarks measure with: shapes, depth, and which rows count as slower."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    sys.modules.pop(name, None)
    return importlib.import_module(name)


def test_scenes_of_peers_start_apart_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = load("peer_scenes", monkeypatch)
    for name in ("S1", "S2", "stair", "cloth", "pile"):
        task = scenes.task(name)
        turned = np.tile(np.eye(3), (len(task.places), 1, 1))
        found = scenes.measure(task, *((task.places, turned) if task.rigid else (task.start,)))
        assert found["depth"] == 0.0 and found["inverted"] == 0 and found["volume"] == pytest.approx(1.0)
        if len(task.tets):
            corner = task.points[task.faces]
            assert np.einsum("ti,ti->", np.cross(corner[:, 0], corner[:, 1]), corner[:, 2]) / 6 == pytest.approx(task.size**3)


def test_depth_of_blocks_boxes_and_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = load("peer_scenes", monkeypatch)
    task = scenes.task("S2")
    two = task.start[:2].copy()
    two[1] = two[0] + [0.19, 0.01, 0.013]
    assert scenes.measure(task, two)["depth"] == pytest.approx(0.01)
    low = task.start[:1]
    assert scenes.measure(task, low - [0.0, 0.0, low[..., 2].min() + 0.02])["depth"] == pytest.approx(0.02)
    inverted = task.start[:1] * [1.0, 1.0, -1.0]
    assert scenes.measure(task, inverted)["inverted"] == len(task.tets)
    boxes = scenes.task("pile")
    places, turned = np.array([[0.0, 0.0, 0.1], [0.0, 0.01, 0.29]]), np.tile(np.eye(3), (2, 1, 1))
    assert scenes.measure(boxes, places, turned)["depth"] == pytest.approx(0.01)


def test_what_is_slower_than_the_noise_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = load("bench", monkeypatch)
    before = {"same": [1.0, 0.01], "noisy": [1.0, 0.2], "slow": [1.0, 0.01], "little": [1.0, 0.0]}
    now = {"same": [1.02, 0.01], "noisy": [1.3, 0.2], "slow": [1.2, 0.01], "little": [1.04, 0.0], "new": [9.0, 0.0]}
    assert [text.split(":")[0] for text in bench.slower(now, before)] == ["slow"]
