"""What a press leaves behind: pictures, the pressure map, deformed surfaces, facts; and what the command `press` reads and prints."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import distance_transform_edt, map_coordinates

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.deformed_surface import displacements, eased
from pliant.contact.elastic.pressure import pressure
from pliant.contact.elastic.resting_pose import across
from pliant.contact.elastic.side import Side
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.make import from_mesh
from pliant.detect.surfels.surface import PointSurface
from pliant.disk import write_text
from pliant.geometry.mesh import Surface
from pliant.geometry.near import kd_tree
from pliant.geometry.subdivide import subdivided
from pliant.pressing.cells import ROOM, STEEPEST
from pliant.pressing.maps import compared, draw_map, read_measured
from pliant.pressing.objects import LONGEST, between_samples
from pliant.pressing.quantities import metres, pascals, scale_of_length, square_metres
from pliant.pressing.relief import Grid, Heights
from pliant.record.export import write_ply

if TYPE_CHECKING:
    from pliant.pressing.pressed import Pressed

GRID = 120  # cells along a side of a plane that is written
SHOWN = 1.5  # cells between vertices that are drawn where they touch, or
MOST = 120  # of them along the contact
FOLDS = 3.0  # depths behind the surface over which what lies there gives way less and less: within 1.5 of them it would fold
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
    if side.nodes is None:
        points, faces, normals, areas = _exact_patch(side, found)
    else:
        points, faces, normals, areas = _drawn(found, which)
    u, way = displacements(points, normals, areas, side.response, result, which)
    moved, on, touching = u[:, None] * way, np.zeros(len(points)), result.contact
    if found.cells is not None:
        over, more, on = _on_grid(found, which, points, normals, moved, u)
        if side.response is not None:
            moved, u = over, more
    points = points + moved
    if touching.any():
        outward = (1.0 if which == 0 else -1.0) * result.normals[touching]
        x, spacing = result.deformed[touching], np.sqrt(result.areas[touching])
        far, nearest = kd_tree(x).query(points, workers=1)
        facing = np.sum(normals * outward[nearest], axis=1)
        normals = np.where((far < 0.7 * spacing[nearest])[:, None] & (facing > 0.0)[:, None], outward[nearest], normals)
        near = np.flatnonzero((far < 3.0 * spacing[nearest]) & (facing > 0.0))
        if found.cells is None:
            on[near] = pressure(x, result.areas[touching], result.P[touching], points[near])
    return points, faces, {"pressure": on, "displacement": u, "normal": normals, "radius": DISC * np.sqrt(areas)}, normals


def _drawn(found: Pressed, which: int) -> tuple[Floats, Ints, Floats, Floats]:
    """(points, faces, normals, areas) of a side before contact, finer where it touches."""
    thing, side, result = found.things[which], (found.a, found.b)[which], found.result
    assert side.nodes is not None
    sampled, faces = side.nodes, thing.faces
    if len(faces) and found.cells is not None and isinstance(thing.form, Surface | Exact | PointSurface):
        mesh = thing.mesh if isinstance(thing.form, Exact) else thing.form
        assert mesh is not None
        fine = Surface(mesh.points, faces) if isinstance(mesh, PointSurface) else thing.finer(mesh, None)
        touch = np.concatenate([result.points[result.contact], result.deformed[result.contact]])  # as it was before, too: dents are deep
        low, high = touch.min(axis=0), touch.max(axis=0)
        step = LONGEST * max(SHOWN * math.sqrt(float(result.areas[0])), float(np.max(high - low)) / MOST)

        def longest(middle: Floats) -> Floats:
            """Edges grow with their distance from the contact, so that none has vertices on one side only."""
            at = side.world(middle)
            return np.maximum(step, np.linalg.norm(np.maximum(np.maximum(low - at, at - high), 0.0), axis=1))

        cut = subdivided(fine, longest).surface
        moved = cut.points
        if isinstance(thing.form, PointSurface):  # those between samples; what has no foot stays
            foot = thing.form.project(between := cut.points[len(fine.points) :])
            moved = np.concatenate([fine.points, np.where(foot.valid[:, None], foot.points, between)])
        elif isinstance(thing.form, Exact):
            moved = thing.form.project(cut.points).points
        sampled = from_mesh(Surface(moved, cut.faces), name=thing.name)
        faces = between_samples(Surface(moved, cut.faces), sampled)
    return side.world(sampled.points), faces, sampled.normals @ side.rotation.T, sampled.areas


def _on_grid(found: Pressed, which: int, points: Floats, normals: Floats, moved: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
    """(moved (n, 3) [m], u (n,) [m], pressure (n,) [Pa]) of points above the cells as they were found there, along the contact normal.

    What lies behind the surface that touches, as flanks do, goes with its column, less and less the farther behind it is, and walls, above
    which cells have no surface, with the nearest that has: else they would stay in front of a deep dent. Walls below something else
    end where the surfaces meet. What faces the partner has the pressure of the cells around.
    """
    assert found.cells is not None
    best, sign = found.cells.best, 1.0 if which == 0 else -1.0
    grid, normal = best.grid, best.pair.normal
    local = (points - grid.origin) @ grid.axes.T
    at = [(local[:, k] - grid.corner[k]) / grid.cell - 0.5 for k in (0, 1)]
    height = (best.a, best.b)[which]
    beside = tuple(distance_transform_edt(~np.isfinite(height), return_distances=False, return_indices=True))
    ends = _goes_on(best.pair.reliefs[which].shadow(best.pair.poses[which], grid), grid)
    to_end = np.full(len(points), np.inf)  # of the side of the grid
    for c, n, (before, beyond) in zip(at, grid.shape, ends, strict=True):
        to_end = np.minimum(to_end, c / n if before else np.inf)
        to_end = np.minimum(to_end, 1.0 - (c + 1.0) / n if beyond else np.inf)
    inside = np.all([(c > -1.0) & (c < n) for c, n in zip(at, grid.shape, strict=True)], axis=0) & (to_end > 0.0)
    behind = np.abs(map_coordinates(height[beside], at, order=0, mode="nearest") - local[:, 2])
    deep = (behind - STEEPEST * grid.cell) / (FOLDS * found.depth)
    seen, over = np.flatnonzero(inside & (deep < 1.0)), np.flatnonzero(inside)
    mine = (found.result.u_a, found.result.u_b)[which].sum() / max(float((found.result.u_a + found.result.u_b).sum()), 1e-300)
    part = np.minimum(to_end[seen] * (1.0 + 2.0 * ROOM) / ROOM, 1.0) * (1.0 - eased(deep[seen]))
    there = [c[seen] for c in at]
    on_cell = mine * map_coordinates(best.u[beside], there, order=1, mode="nearest")
    moved, u, on = moved.copy(), u.copy(), np.zeros(len(points))
    moved[seen] = -sign * (part * on_cell)[:, None] * normal + (1.0 - part[:, None]) * moved[seen]
    u[seen] = part * on_cell + (1.0 - part) * u[seen]
    met = ((best.b, best.a)[which] + sign * (1.0 - mine) * best.u)[beside]
    ahead = sign * (local[over, 2] + moved[over] @ grid.axes[2] - map_coordinates(met, [c[over] for c in at], order=1, mode="nearest"))
    back = np.where((ahead > 0.0) & (ahead < 2.0 * found.depth), ahead, 0.0)
    moved[over] -= sign * back[:, None] * normal
    u[over] += back
    facing = (deep[seen] <= 0.0) & (sign * (normals[seen] @ normal) > 0.0)
    on[seen] = np.where(facing, map_coordinates(best.P, there, order=1, mode="nearest") / grid.cell**2, 0.0)
    return moved, u, on


def _goes_on(shadow: tuple[Floats, Floats], grid: Grid) -> list[tuple[bool, bool]]:
    """Whether a surface goes on beyond the first and the last cell along both axes: there displacements of cells have to end."""
    low, high = shadow[0] < grid.corner - grid.cell, shadow[1] > grid.corner + grid.size + grid.cell
    return [(bool(low[k]), bool(high[k])) for k in (0, 1)]


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
    return f"{found.things[0].name} on {found.things[1].name}: {found.force:.4g} N, {square_metres(found.area)}"


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


def blurred(blur: float) -> str:
    """What a map of samples is."""
    return "" if blur == 0.0 else f", forces spread over {metres(blur, 3)} around each sample"


def theory(found: Pressed) -> str:
    """What no error knows of: the bodies taken for deep and wide against their contact."""
    sizes = []
    for which, thing, modulus in zip("AB", found.things, found.softness.moduli, strict=True):
        if modulus is not None:
            extent = thing.extent[:2] if isinstance(thing.form, Heights) and thing.extent is not None else thing.extent
            sizes.append(f"{which} {'is without end' if extent is None else 'over ' + ' x '.join(metres(e, 3) for e in extent)}")
    return f"half-spaces. The contact extends over {metres(found.width, 3)}, {', '.join(sizes)}: what that changes is in no ±"


def report(found: Pressed, sensor: tuple[int, int] | None, measured: Path | None) -> tuple[dict[str, Any], str]:
    """(facts for programs, lines for people)."""
    grid = found.map(sensor)
    facts = found.facts() | {"map": grid.facts()}
    size, unit = scale_of_length(float(np.max(np.abs(found.centre), initial=found.width)))
    x, y, z = (c / size for c in found.centre)
    (rows, columns), (tall, wide) = grid.values.shape, (metres(c, 3) for c in grid.cell)
    on = f"{facts['touching']} of {facts['nodes']} samples touch"
    if found.cells is not None:
        side = found.cells.best.grid
        on = f"{facts['touching']} of {side.shape[0]} x {side.shape[1]} cells of {metres(side.cell, 3)} touch"
    off = {name: f" ± {100.0 * part:.2g} %" if part > 0.0 else "" for name, part in found.errors.items()}
    lines = [
        f"[bold]{facts['a']}[/] on [bold]{facts['b']}[/]: {facts['status']}, {on}.",
        f"  force          {found.force:.5g} N{off['force']}",
        f"  depth          {metres(found.depth)}{off['depth']}, from {found.depth_from}",
        f"  area           {square_metres(found.area)}{off['area']}",
        f"  pressure       mean {pascals(found.mean)}, peak {pascals(found.peak)}{off['peak']}",
        f"  map            {rows} x {columns} squares of {tall} x {wide}, the highest {pascals(grid.peak)}{blurred(grid.blur)}",
        f"  centre         ({x:.4g}, {y:.4g}, {z:.4g}) {unit}",
        f"  stiffness      {1e-3 * found.stiffness:.4g} N/mm",
    ]
    if found.sheared is not None:
        held = found.sheared
        stuck = 100.0 * held.stick / max(found.area, 1e-300)
        end = "it slides" if held.slides else f"{stuck:.0f} % of the area sticks, it gives way by {1e6 * held.displacement:.4g} µm"
        lines.append(f"  tangential     {held.force:.4g} N carried, {end}")
    if found.tilt > 0.0:
        lines.append(f"  tilt           {found.tilt:.3g}°")
    lines += [f"  material       {found.softness.words()}", f"  theory         {theory(found)}"]
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
