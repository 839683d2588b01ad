"""Which bodies to look through: hard containers that hide what is inside them."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.bodies.register import room_of
from pliant.look.source import Picture
from pliant.look.stage import Camera, scattered

PIXELS = 160
HIDDEN = 0.3  # share of a body's points behind the container


def containers(picture: Picture, camera: Camera) -> set[str]:
    """Names of rigid and static bodies around the middle of another, smaller body that hide much of it."""
    drawn = np.unique(picture.triangle_body)
    boxes = {int(body): _box(picture, int(body)) for body in drawn}
    seen = _seen(picture.points, camera)
    found = set()
    for body in boxes:
        low, high = boxes[body]
        if not room_of(picture.kinds.get(body)).hard:
            continue
        inside = [
            other for other, (a, b) in boxes.items()
            if other != body and (0.5 * (a + b) > low).all() and (0.5 * (a + b) < high).all()
            and np.linalg.norm(b - a) < 0.8 * np.linalg.norm(high - low)
        ]  # fmt: skip
        if inside and max(_hidden(picture, seen, body, other) for other in inside) > HIDDEN:
            found.add(picture.names[body])
    return found


def _box(picture: Picture, body: int) -> tuple[Floats, Floats]:
    points = picture.points[np.unique(picture.triangles[picture.triangle_body == body])]
    return points.min(axis=0), points.max(axis=0)


def _seen(points: Floats, camera: Camera) -> Floats:
    """Place in the picture, about -1 to 1 from edge to edge of its height, and distance, (P, 3)."""
    ahead = np.array(camera.focus) - np.array(camera.position)
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, np.array(camera.up))
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(right, ahead), ahead])
    turned = (points - np.array(camera.position)) @ axes.T
    depth = np.maximum(turned[:, 2:], 1e-9)
    return np.hstack([turned[:, :2] / depth / np.tan(np.radians(camera.angle) / 2.0), turned[:, 2:]])


def _hidden(picture: Picture, seen: Floats, body: int, other: int) -> float:
    """Share of the points of a body that lie behind the triangles of another, on a coarse screen."""
    screen = lambda rows: np.column_stack([(0.5 + 0.25 * rows[:, :2]) * PIXELS, rows[:, 2]])
    rows = screen(seen)
    at, _ = scattered(rows[picture.triangles[picture.triangle_body == body]])
    front = np.full((PIXELS, PIXELS), np.inf)
    at = at[((at[:, :2] >= 0) & (at[:, :2] < PIXELS)).all(axis=1)]
    np.minimum.at(front, tuple(at[:, :2].astype(np.int64).T), at[:, 2])
    mine = rows[np.unique(picture.triangles[picture.triangle_body == other])]
    pixel = np.clip(mine[:, :2], 0, PIXELS - 1).astype(np.int64)
    return float(np.mean(front[pixel[:, 0], pixel[:, 1]] < mine[:, 2]))
