"""What a press leaves behind: pictures, the pressure map, deformed surfaces, facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.quasi_rigid.side import Side
from pliant.contact.quasi_rigid.surface import deformed, displacements
from pliant.contact.quasi_rigid.traction import pressure
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface
from pliant.pressing.map_picture import draw_map
from pliant.record.export import write_ply

if TYPE_CHECKING:
    from pliant.pressing.tool import Pressed

GRID = 120  # cells along a side of a plane that is written
DISC = 0.75  # radius of the disc drawn for a sample, in spacings


def save(found: Pressed, folder: Path, sensor: tuple[int, int] | None) -> list[Path]:
    """Write everything; a machine that cannot draw leaves the pictures out and says so in facts.json."""
    folder.mkdir(parents=True, exist_ok=True)
    grid = found.map(sensor)
    facts, made = found.facts() | {"map": grid.facts()}, []
    for which, name in ((0, "a"), (1, "b")):
        points, faces, fields, _ = surface_of(found, which)
        made.append(folder / f"{name}.ply")
        write_ply(made[-1], points, faces, fields)
    grid.write(folder / "map.csv")
    draw_map(grid, folder / "map.png", title_of(found), found.peak)
    made += [folder / "map.csv", folder / "map.png"]
    try:
        picture(found, folder / "press.png")
        made.append(folder / "press.png")
    except PliantError as error:
        facts["notes"].append(f"no picture: {error}")
    made.append(folder / "facts.json")
    made[-1].write_text(json.dumps(facts, indent=2) + "\n")
    return made


def surface_of(found: Pressed, which: int) -> tuple[Floats, Ints, dict[str, Any], Floats]:
    """(points, faces, fields, normals) of a side after contact, in world coordinates."""
    side, result = (found.a, found.b)[which], found.result
    sampled = side.shape if isinstance(side.shape, PointSurface) else None
    if sampled is None:
        points, faces, normals, areas = _exact_patch(side, found)
        u, way = displacements(points, normals, areas, side.response, result, which)
        points = points + u[:, None] * way
    else:
        points, u = deformed(side, result, which)
        faces, normals, areas = found.things[which].faces, sampled.normals @ side.rotation.T, sampled.areas
        mine = result.contact & (result.owner == which)
        normals[result.sample[mine]] = (1.0 if which == 0 else -1.0) * result.normals[mine]
    on = np.zeros(len(points))
    touching = result.contact
    if touching.any():
        outward = (1.0 if which == 0 else -1.0) * result.normals[touching]
        x, spacing = result.deformed[touching], np.sqrt(result.areas[touching])
        from scipy.spatial import cKDTree

        far, nearest = cKDTree(x).query(points, workers=1)
        near = np.flatnonzero((far < 3.0 * spacing[nearest]) & (np.sum(normals * outward[nearest], axis=1) > 0.0))
        on[near] = pressure(x, result.areas[touching], result.P[touching], points[near])
    return points, faces, {"pressure": on, "displacement": u, "normal": normals, "radius": DISC * np.sqrt(areas)}, normals


def _exact_patch(side: Side, found: Pressed) -> tuple[Floats, Ints, Floats, Floats]:
    """A square grid on a plane under the other object, or feet of such a grid on another exact shape."""
    other = found.a if side is found.b else found.b
    assert other.nodes is not None and isinstance(side.shape, Exact)
    x = other.world(other.nodes.points)
    middle, half = found.result.centre, 0.6 * float(np.linalg.norm(np.ptp(x, axis=0)))
    flat = side.shape.kind == "plane"
    axes = side.rotation[:, :2].T if flat else _axes(found.direction)
    half = half if flat else min(half, 0.9 * max(side.shape.sizes))
    steps = np.linspace(-half, half, GRID + 1)
    u, v = np.meshgrid(steps, steps, indexing="ij")
    points = middle + u.ravel()[:, None] * axes[0] + v.ravel()[:, None] * axes[1]
    feet = side.project(points)
    i = np.arange(GRID)
    first = (i[:, None] * (GRID + 1) + i).ravel()
    right, above = first + GRID + 1, first + 1
    faces = np.concatenate([np.stack([first, right, right + 1], axis=1), np.stack([first, right + 1, above], axis=1)])
    return feet.points, faces, feet.normals, np.full(len(points), (2.0 * half / GRID) ** 2)


def _axes(direction: Floats) -> Floats:
    u = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
    u /= np.linalg.norm(u)
    return np.stack([u, np.cross(direction, u)])


# ------------------------------------------------------------------------------------------------ pictures


def title_of(found: Pressed) -> str:
    return f"{found.things[0].name} on {found.things[1].name}: {found.force:.4g} N, {1e4 * found.area:.3g} cm²"


def picture(found: Pressed, path: Path) -> None:
    """A's pressed side, coloured by pressure: A is turned over so that this side is seen from above."""
    from pliant.look.draw import draw  # start-up: a picture is drawn only when a result is saved
    from pliant.look.fields import round_up  # start-up
    from pliant.look.source import NO_POINTS, Picture  # start-up

    points, faces, fields, _ = surface_of(found, 0 if found.a.nodes is not None else 1)
    turn = _turned_over(found.direction if found.a.nodes is not None else -found.direction, points)
    points, fields = points @ turn.T, {**fields, "normal": fields["normal"] @ turn.T}
    surfels = NO_POINTS if len(faces) else np.arange(len(points))
    image = draw(
        Picture(
            points, faces, np.zeros(len(faces), np.int64), {0: found.things[0].name}, {0: "rigid"},
            fields, float("nan"), title_of(found), surfels, np.zeros(len(surfels), np.int64),
        ),
        field="pressure", camera=(-60.0, 58.0), limits=(0.0, round_up(float(np.max(fields["pressure"])))),
    )  # fmt: skip
    image.save(path)


def _turned_over(direction: Floats, points: Floats) -> Floats:
    """A rotation that brings the direction to +z, and the longer side of the points to x."""
    z = direction
    spread = points - points.mean(axis=0)
    spread = spread - (spread @ z)[:, None] * z
    x = np.linalg.eigh(spread.T @ spread)[1][:, -1]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z])
