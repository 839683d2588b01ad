"""Pictures of contact in panels, as the paper has them: objects as surfaces, nodes between them, what they displace, how they press."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic.pressure import pressure
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.geometry.near import kd_tree
from pliant.look import draw
from pliant.look.source import NO_POINTS, Picture

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE = (640, 520)  # pixels of a panel
DISC = 0.4  # radius of the disc of a node, in spacings


@dataclass(frozen=True)
class Shown:
    """Surfaces to draw, of one object or of two."""

    points: Floats  # (n, 3) [m]
    normals: Floats  # (n, 3)
    faces: Ints  # (m, 3)
    body: Ints  # (m,) which object

    @classmethod
    def of(cls, side: Side, faces: Ints, points: Floats | None = None) -> Shown:
        """One object, displaced to other points [m] if given."""
        assert side.nodes is not None
        x = side.world(side.nodes.points) if points is None else points
        return cls(x, side.nodes.normals @ side.rotation.T, faces, np.zeros(len(faces), np.int64))

    def beside(self, other: Shown) -> Shown:
        """Both."""
        return Shown(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.faces, other.faces + len(self.points)]),
            np.concatenate([self.body, other.body + 1]),
        )

    def turned(self, rotation: Floats) -> Shown:
        """As seen by one who turns it."""
        return Shown(self.points @ rotation.T, self.normals @ rotation.T, self.faces, self.body)

    def panel(self, title: str, camera: tuple[float, float], field: str = "body", values: Floats | None = None) -> Image:
        """The surfaces, coloured by a field of their points or as objects."""
        return self._drawn(title, camera, field, {} if values is None else {field: values}, NO_POINTS)

    def with_nodes(self, title: str, camera: tuple[float, float], nodes: Ints, spacing: Floats) -> Image:
        """The surfaces, and on them discs where nodes are."""
        lifted = self.points[nodes] + (DISC * spacing)[:, None] * self.normals[nodes]  # in front of the triangles
        some = Shown(np.concatenate([self.points, lifted]), np.concatenate([self.normals, self.normals[nodes]]), self.faces, self.body)
        radius = np.concatenate([np.zeros(len(self.points)), DISC * spacing])
        return some._drawn(title, camera, "body", {"radius": radius}, len(self.points) + np.arange(len(nodes)))

    def _drawn(self, title: str, camera: tuple[float, float], field: str, fields: dict[str, Floats], surfels: Ints) -> Image:
        names = {0: "one", 1: "other", 2: "nodes"}
        picture = Picture(
            self.points, self.faces, self.body, names, dict.fromkeys(names, "rigid"), {**fields, "normal": self.normals},
            float("nan"), title, surfels, np.full(len(surfels), 2),
        )  # fmt: skip
        return draw(picture, field, SIZE, camera)


def pressed(shown: Shown, found: ContactResult, of: int) -> Floats:
    """Pressure [Pa] at the points of a surface that face what touches them."""
    out, touching = np.zeros(len(shown.points)), found.contact
    x, outward = found.deformed[touching], (1.0 if of == 0 else -1.0) * found.normals[touching]
    far, nearest = kd_tree(x).query(shown.points, workers=1)
    near = np.flatnonzero((far < 3.0 * np.sqrt(found.areas[touching])[nearest]) & (np.sum(shown.normals * outward[nearest], axis=1) > 0.0))
    out[near] = pressure(x, found.areas[touching], found.P[touching], shown.points[near])
    return out


def tiled(path: Path, panels: list[Image], columns: int) -> None:
    """Panels in rows."""
    from PIL import Image as Pixels

    wide, high = SIZE
    sheet = Pixels.new("RGB", (columns * wide, -(-len(panels) // columns) * high), "white")
    for k, panel in enumerate(panels):
        sheet.paste(panel.resize(SIZE), (k % columns * wide, k // columns * high))
    sheet.save(path)
