"""What a press leaves behind: pictures, the pressure map, deformed surfaces, facts; and what the command `press` reads and prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.deformed_surface import deformed, displacements
from pliant.contact.elastic.pressure import pressure
from pliant.contact.elastic.resting_pose import across
from pliant.contact.elastic.side import Side
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface
from pliant.disk import write_text
from pliant.pressing.maps import compared, draw_map, read_measured
from pliant.pressing.quantities import pascals
from pliant.record.export import write_ply

if TYPE_CHECKING:
    from pliant.pressing.pressed import Pressed

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
    write_text(made[-1], json.dumps(facts, indent=2) + "\n")
    return made


def surface_of(found: Pressed, which: int) -> tuple[Floats, Ints, dict[str, Any], Floats]:
    """(points, faces, fields, normals) of a side after contact, in world coordinates."""
    side, result = (found.a, found.b)[which], found.result
    sampled = side.nodes
    if sampled is None:
        points, faces, normals, areas = _exact_patch(side, found)
        u, way = displacements(points, normals, areas, side.response, result, which)
        points = points + u[:, None] * way
    else:
        points, u = deformed(side, result, which)
        faces, normals, areas = found.things[which].faces, sampled.normals @ side.rotation.T, sampled.areas
        mine = result.contact & (result.owner == which) & (result.sample >= 0)
        normals[result.sample[mine]] = (1.0 if which == 0 else -1.0) * result.normals[mine]
    on = np.zeros(len(points))
    touching = result.contact
    if touching.any():
        outward = (1.0 if which == 0 else -1.0) * result.normals[touching]
        x, spacing = result.deformed[touching], np.sqrt(result.areas[touching])
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
    axes = side.rotation[:, :2].T if flat else across(found.direction)
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


def numbers(name: str, text: str) -> Floats:
    """Three numbers, separated by commas or spaces."""
    try:
        found = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        found = np.zeros(0)
    if found.shape != (3,):
        raise PliantError(f"{name} = '{text}': it needs three numbers, such as 0,0,-1.")
    return found


def sensor_shape(sensor: str | None, measured: Path | None) -> tuple[int, int] | None:
    """Rows and columns of a sensor, such as 37x13; those of a measured map unless given."""
    if sensor is None:
        if measured is None:
            return None
        rows, columns = read_measured(measured).shape
        return int(rows), int(columns)
    words = sensor.lower().replace("×", "x").split("x")
    if len(words) != 2 or not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise PliantError(f"sensor = '{sensor}': write rows and columns, such as 37x13.")
    one, two = (int(word) for word in words)
    return max(one, two), min(one, two)


def report(found: Pressed, sensor: tuple[int, int] | None, measured: Path | None) -> tuple[dict[str, Any], str]:
    """(facts for programs, lines for people)."""
    grid = found.map(sensor)
    facts = found.facts() | {"map": grid.facts()}
    x, y, z = (1e3 * c for c in found.centre)
    (rows, columns), (tall, wide) = grid.values.shape, 1e3 * grid.cell
    lines = [
        f"[bold]{facts['a']}[/] on [bold]{facts['b']}[/]: {facts['status']}, {facts['touching']} of {facts['nodes']} nodes touch.",
        f"  force          {found.force:.5g} N at a depth of {1e3 * found.depth:.4g} mm",
        f"  area           {1e4 * found.area:.4g} cm²",
        f"  pressure       mean {pascals(found.mean)}, peak {pascals(found.peak)} at a sample",
        f"  map            {rows} x {columns} cells of {tall:.3g} x {wide:.3g} mm, peak {pascals(grid.peak)} in a cell",
        f"  centre         ({x:.4g}, {y:.4g}, {z:.4g}) mm",
        f"  stiffness      {1e-3 * found.stiffness:.4g} N/mm",
    ]
    if found.tilt > 0.0:
        lines.append(f"  tilt           {found.tilt:.3g}°")
    if measured is not None:
        facts["measured"] = compared(grid, read_measured(measured))
        m = facts["measured"]
        lines.append(
            f"  measured       correlation {m['correlation']:.3f}, peak {100 * m['peak_error']:+.0f} %, "
            f"area {100 * m['area_error']:+.0f} %, centre {1e3 * m['centre_error']:.2g} mm away"
        )
        for turn, correlation in m["better"].items():
            lines.append(f"  note: {turn}, the measured map correlates better ({correlation:.3f}): was it written from another side?")
    return facts, "\n".join([*lines, *(f"  note: {note}" for note in found.notes)])
