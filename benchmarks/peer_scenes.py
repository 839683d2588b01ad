"""Scenes that other packages and pliant run side by side, and how what comes out is measured. NumPy alone: every environment imports it.

S1: a soft cube of 5000 tetrahedra falls 0.1 m. S2: 27 soft cubes, a stack that is a little untidy. S3: 125 soft cubes fall into a box.
pile: 30 rigid boxes in three layers. stair: a soft block falls on three steps. cloth: a square of cloth falls on a ball.
All: E = 1e5 Pa, nu = 0.35, 1000 kg/m^3, friction 0.5, 9.81 m/s^2, and dt, damping and stiffness of contact as each package's own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

YOUNG, POISSON, DENSITY, FRICTION, GRAVITY = 1e5, 0.35, 1000.0, 0.5, 9.81
LOOK = 0.05  # [s] between two looks at the shapes
CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
# a cube as five tetrahedra, by numbers of CORNERS; neighbouring cubes are mirror images, so that their diagonals meet
EVEN = np.array([(0, 6, 5, 3), (4, 6, 0, 5), (2, 0, 6, 3), (1, 5, 0, 3), (7, 6, 3, 5)])


@dataclass
class Task:
    """What is run: equal soft blocks or rigid boxes at places, walls that are boxes, or a sheet over a ball."""

    name: str
    duration: float = 1.0  # [s]
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))  # [m] of one block, or of the sheet
    tets: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    places: np.ndarray = field(default_factory=lambda: np.zeros((1, 3)))  # [m] lower corners of blocks, centres of rigid boxes
    size: float = 0.2  # [m] edge of a block or box
    walls: list[tuple[tuple[float, ...], tuple[float, ...]]] = field(default_factory=list)  # centre and half sizes [m]
    ball: float = 0.0  # [m] radius of a fixed one in the origin
    rigid: bool = False

    @property
    def start(self) -> np.ndarray:
        """Places of all points of all blocks at the start [m], (b, p, 3)."""
        return np.asarray(self.points[None] + self.places[:, None])

    @property
    def weight(self) -> float:
        """Of all that falls [N]; of the sheet 0.2 kg/m^2."""
        if self.ball:
            return 0.2 * GRAVITY * float(np.ptp(self.points[:, 0]) ** 2)
        return DENSITY * GRAVITY * self.size**3 * len(self.places)


def block(cells: tuple[int, int, int], size: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and tetrahedra of a cube."""
    n = np.array(cells)
    grid = np.stack(np.meshgrid(*(np.arange(k + 1) for k in n), indexing="ij"), axis=-1).reshape(-1, 3)
    number = lambda c: (c[..., 0] * (n[1] + 1) + c[..., 1]) * (n[2] + 1) + c[..., 2]
    tets = []
    for cell in np.ndindex(*cells):
        corner = np.array(cell) + np.where(np.sum(cell) % 2, CORNERS * [-1, 1, 1] + [1, 0, 0], CORNERS)
        tets.append(number(corner)[EVEN])
    points, out = grid * (size / n), np.concatenate(tets)
    turned = volumes(points, out) < 0
    out[turned] = out[turned][:, [0, 2, 1, 3]]
    return points, out


def volumes(points: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Of tetrahedra [m^3]; below zero they are inverted."""
    a, b, c, d = (points[..., tets[:, k], :] for k in range(4))
    return np.einsum("...i,...i->...", np.cross(b - a, c - a), d - a) / 6.0


def skin(tets: np.ndarray) -> np.ndarray:
    """Faces that one tetrahedron alone has, outwards."""
    every = np.concatenate([tets[:, order] for order in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))])
    _, where, count = np.unique(np.sort(every, axis=1), axis=0, return_inverse=True, return_counts=True)
    return every[count[where.ravel()] == 1]


def _layers(shape: tuple[int, int, int], pitch: float, size: float, jitter: float) -> np.ndarray:
    """Lower corners of blocks in layers from 0.05 m up, each moved aside by up to `jitter`."""
    x, y, z = np.meshgrid(*(np.arange(k) for k in shape), indexing="ij")
    middle = (np.array(shape[:2]) - 1) / 2
    out = np.stack([x - middle[0], y - middle[1], z], axis=-1).reshape(-1, 3) * pitch - [size / 2, size / 2, -0.05]
    out[:, :2] += np.random.default_rng(11).uniform(-jitter, jitter, (len(out), 2))
    return out


def task(name: str) -> Task:
    """A scene by name."""
    if name in ("S1", "S2", "S3"):
        cells, size = {"S1": ((10, 10, 10), 0.2), "S2": ((5, 5, 5), 0.2), "S3": ((3, 3, 4), 0.1)}[name]
        points, tets = block(cells, size)
        places = np.array([[-0.1, -0.1, 0.1]])
        if name == "S2":
            places = _layers((3, 3, 3), 0.25, size, 0.02)
        elif name == "S3":
            places = _layers((5, 5, 5), 0.13, size, 0.012)
        aside, half = 0.36 + 0.05, (0.05, 0.46, 0.5)
        walls = [((s * aside, 0.0, 0.5), half) for s in (-1, 1)] + [((0.0, s * aside, 0.5), (half[1], half[0], half[2])) for s in (-1, 1)]
        return Task(name, 1.0, points, tets, skin(tets), places, size, walls if name == "S3" else [])
    if name == "pile":
        return Task(name, 1.0, places=_layers((5, 2, 3), 0.23, 0.2, 0.015) + [0.1, 0.1, 0.06], size=0.2, rigid=True)
    if name == "stair":
        points, tets = block((8, 8, 8), 0.2)
        steps = [((0.2 * k, 0.0, 0.05 * (3 - k)), (0.1, 0.3, 0.05 * (3 - k))) for k in range(3)]
        return Task(name, 1.0, points, tets, skin(tets), np.array([[-0.08, -0.1, 0.35]]), 0.2, steps)
    if name == "cloth":
        n, wide = 24, 0.6
        x, y = np.meshgrid(np.linspace(-wide / 2, wide / 2, n + 1), np.linspace(-wide / 2, wide / 2, n + 1), indexing="ij")
        points = np.stack([x.ravel(), y.ravel(), np.full(x.size, 0.25)], axis=1)
        corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
        faces = np.concatenate([np.stack([corner, corner + n + 1, corner + n + 2], 1), np.stack([corner, corner + n + 2, corner + 1], 1)])
        return Task(name, 1.0, points, faces=faces, ball=0.2)
    raise SystemExit(f"There is no scene '{name}': S1, S2, S3, pile, stair and cloth are.")


# -- measuring


def measure(scene: Task, shapes: np.ndarray, turned: np.ndarray | None = None) -> dict[str, float]:
    """Depth [m], inverted tetrahedra and the least volume over that at rest, of places (b, p, 3), or of boxes with rotations (b, 3, 3)."""
    if not np.isfinite(shapes).all():
        return {"depth": np.inf, "inverted": np.inf, "volume": np.nan}
    if scene.rigid:
        assert turned is not None
        corners = shapes[:, None] + scene.size * np.einsum("bij,kj->bki", turned, CORNERS - 0.5)
        edges = corners[:, [(i, j) for i in range(8) for j in range(8) if i < j and np.abs(CORNERS[i] - CORNERS[j]).sum() == 1]]
        some = np.concatenate([corners, *(edges[:, :, 0] * (1 - t) + edges[:, :, 1] * t for t in np.linspace(0.1, 0.9, 9))], axis=1)
        inside = lambda b, p: scene.size / 2 - np.abs((p - shapes[b]) @ turned[b]).max(axis=1)
        return {"depth": max(_walls(scene, corners), _between(some, inside)), "inverted": 0, "volume": 1.0}
    out = {"depth": _walls(scene, shapes), "inverted": 0, "volume": 1.0}
    if len(scene.tets):
        volume = volumes(shapes, scene.tets)
        out["inverted"] = int((volume <= 0).sum())
        out["volume"] = float((volume.sum(axis=1) / volumes(scene.points, scene.tets).sum()).min())
        surface = np.unique(scene.faces)
        out["depth"] = max(out["depth"], _between(shapes[:, surface], lambda b, p: _in_block(scene, shapes[b], p)))
    return out


def _walls(scene: Task, points: np.ndarray) -> float:
    """Deepest point in the ground, walls and ball [m]."""
    flat = points.reshape(-1, 3)
    deep = [0.0]
    if scene.ball:
        return max(0.0, float((scene.ball - np.linalg.norm(flat, axis=1)).max()))
    deep.append(float(-flat[:, 2].min()))
    for centre, half in scene.walls:
        deep.append(float((np.array(half) - np.abs(flat - centre)).min(axis=1).max()))
    return max(deep)


def _between(points: np.ndarray, inside: Callable[[int, np.ndarray], np.ndarray]) -> float:
    """Deepest point of a body in another [m]; inside(b, places) says how deep places are in body b."""
    low, high, worst = points.min(axis=1), points.max(axis=1), 0.0
    for b in range(len(points)):
        for a in np.flatnonzero((low <= high[b]).all(axis=1) & (high >= low[b]).all(axis=1)):
            near = points[a][((points[a] >= low[b]) & (points[a] <= high[b])).all(axis=1)] if a != b else points[a][:0]
            if len(near):
                worst = max(worst, float(inside(b, near).max()))
    return worst


def _in_block(scene: Task, shape: np.ndarray, places: np.ndarray) -> np.ndarray:
    """How deep places are in a soft block [m]: distance to its skin of those that are in a tetrahedron, else 0."""
    corner = shape[scene.tets]
    edges = np.swapaxes(corner[:, 1:] - corner[:, :1], 1, 2)
    good = np.abs(np.linalg.det(edges)) > 1e-18
    share = np.einsum("tij,ptj->pti", np.linalg.inv(edges[good]), places[:, None] - corner[good][:, 0])
    within = ((share > 1e-9).all(axis=2) & (share.sum(axis=2) < 1 - 1e-9)).any(axis=1)
    out = np.zeros(len(places))
    if within.any():
        out[within] = _to_skin(places[within], shape[scene.faces])
    return out


def _to_skin(places: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distance to the nearest of some triangles [m]: to its plane where the foot is within, else to an edge."""
    a, b, c = (triangles[:, k] for k in range(3))
    best = np.full(len(places), np.inf)
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-30)[:, None]
    for k, p in enumerate(places):
        high = np.einsum("ti,ti->t", p - a, normal)
        foot = p - high[:, None] * normal
        inner = np.ones(len(a), bool)
        for one, other in ((a, b), (b, c), (c, a)):
            way = other - one
            inner &= np.einsum("ti,ti->t", np.cross(way, foot - one), normal) >= 0
            part = np.clip(np.einsum("ti,ti->t", p - one, way) / np.maximum(np.einsum("ti,ti->t", way, way), 1e-30), 0, 1)
            best[k] = min(best[k], np.linalg.norm(p - one - part[:, None] * way, axis=1).min())
        if inner.any():
            best[k] = min(best[k], np.abs(high[inner]).min())
    return best


# -- running


def drive(
    name: str, version: str, scene: Task, dt: float, step: Callable[[], Any], shapes: Callable[[], Any], budget: float,
    force: Callable[[], float] | None = None, settings: str = "",
) -> None:  # fmt: skip
    """Step until the scene or the budget of CPU seconds is over, and print one line of JSON.

    shapes(): places (b, p, 3), of boxes (places, rotations); force(): on the ground now [N], of packages that say it.
    """
    step()  # what is compiled or allocated at first is not counted
    done, cpu, looks, forces, next_look, trouble = 1, 0.0, [], [], LOOK, ""
    while done * dt < scene.duration - 1e-9 and cpu < budget:
        began = time.process_time()
        try:
            step()
        except Exception as error:
            trouble = f"{type(error).__name__}: {error}"[:120]
            break
        cpu += time.process_time() - began
        done += 1
        if done * dt >= next_look - 1e-9:
            next_look += LOOK
            seen = shapes()
            looks.append(measure(scene, *(seen if scene.rigid else (np.asarray(seen, float),))))
        if force is not None and done * dt > scene.duration - 0.1:
            forces.append(force())
    row = {"peer": name, "version": version, "scene": scene.name, "dt": dt, "reached": done * dt, "cpu": cpu, "settings": settings}
    row["rate"] = cpu / max((done - 1) * dt, 1e-9)  # CPU seconds a simulated second
    for key, worst in (("depth", max), ("inverted", max), ("volume", min)):
        row[key] = worst((look[key] for look in looks), default=None)
    row["force"] = float(np.mean(forces) / scene.weight - 1.0) if forces and not scene.ball else None
    print(json.dumps(row | {"trouble": trouble}), flush=True)
