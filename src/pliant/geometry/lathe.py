"""Solids of revolution: a profile in the (r, z) half-plane becomes a grid of rings and layers, and the grid tets.

The cross-section of a body is a disc of hexagonal rings (blocks.disc) in every layer. A wide part of the profile has
more rings than a narrow one; the count changes where the profile has a shelf (a horizontal piece). A profile that ends
on the axis is closed by a dome: six tetrahedra around the axis, cut into layers, so that the pole has no thin elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Bools, Floats, Ints, PliantError
from pliant.geometry.blocks import disc, disc_xy, prisms, ring_node, split_octahedra, tet_lattice
from pliant.geometry.shape import Shape, cells, edge_length, solid

CORNER = np.cos(np.radians(20.0))  # a profile that turns more than this at a point keeps the point as a node
DOME = 1.8  # a dome is about as long from rim to pole as a hemisphere (pi / 2 of its radius)


@dataclass(frozen=True)
class HalfPlane:
    """Where the nodes of rings and layers lie in the half-plane."""

    rings: Ints  # (layers,) rings of each layer
    rz: Floats  # [m], (layers + 1, most rings + 1, 2); NaN where there is no node
    dome: Floats | None = None  # [m], (n + 1, n + 1, 2): shell k, row j <= k from the pole; row k is the top plane


def revolve(half: HalfPlane, keep: Bools | None = None, both_ends: bool = False) -> tuple[Floats, Ints]:
    """Points and tets of the body swept by the half-plane.

    ``keep`` (layers, triangles of the disc) leaves prisms out; ``both_ends`` repeats the dome mirrored at the bottom.
    """
    most = int(half.rings.max(initial=0 if half.dome is None else len(half.dome) - 1))
    ring, place, triangles, colour = disc(most)
    xy = disc_xy(ring, place)
    inside = ring[triangles].max(axis=1) <= half.rings[:, None]
    tets = [prisms(xy, triangles, colour, len(half.rings), keep=inside if keep is None else inside & keep)]
    points = [_swept(half.rz[:, ring], ring, place).reshape(-1, 3)]
    ends = [] if half.dome is None else [(half.dome, len(half.rings) * len(ring), False)]
    if half.dome is not None and both_ends:
        ends.append((half.dome * [1.0, -1.0], 0, True))
    for rz, base, mirrored in ends:
        shell, row, at, small, octahedra = _dome(len(rz) - 1)
        x = _swept(rz[shell, row], row, at)
        more = np.concatenate([small, split_octahedra(octahedra, x)])
        number = np.where(row == shell, base + ring_node(row, at), sum(map(len, points)) + np.arange(len(x)))
        tets.append(number[more[:, [0, 2, 1, 3]] if mirrored else more])
        points.append(x)
    return np.concatenate(points), np.concatenate(tets)


def _swept(rz: Floats, ring: Ints, place: Ints) -> Floats:
    """Half-plane points (..., 2) turned to the angle of their place in the ring."""
    angle = 2.0 * np.pi * place / np.maximum(6 * ring, 1)
    return np.stack([rz[..., 0] * np.cos(angle), rz[..., 0] * np.sin(angle), rz[..., 1]], axis=-1)


def _dome(n: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Six tetrahedra (centre, two neighbours on the rim, pole) cut into n layers.

    Returns shell, row and place of each node, small tets, octahedra.
    """
    weights, tets, octahedra = tet_lattice(n)
    shell, row = n - weights[:, 0], weights[:, 1] + weights[:, 2]
    sector = np.arange(6)[:, None]
    place = (sector * row + weights[:, 2]) % np.maximum(6 * row, 1)
    key = (shell * (n + 1) + row) * (6 * n + 1) + place
    unique, first, number = np.unique(key, return_index=True, return_inverse=True)
    number = number.reshape(key.shape)
    at = first % len(weights)
    return shell[at], row[at], place.ravel()[first], number[:, tets].reshape(-1, 4), number[:, octahedra].reshape(-1, 6)


def dome_grid(curve: Floats, n: int) -> Floats:
    """Shells of a dome: its curve from pole to rim, shrunk towards the middle of the rim's disc."""
    centre = np.array([0.0, curve[-1, 1]])
    shell, row = np.indices((n + 1, n + 1))
    s = np.minimum(row / np.maximum(shell, 1), 1.0)
    length = _arc_length(curve)
    at = np.stack([np.interp(s, length / length[-1], curve[:, c]) for c in range(2)], axis=-1)
    return centre + (shell / n)[..., None] * (at - centre)


def _arc_length(curve: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])


def _resampled(curve: Floats, edge: float) -> Floats:
    """Equally spaced points on a curve, about one edge apart, ends kept."""
    length = _arc_length(curve)
    s = np.linspace(0.0, length[-1], cells(length[-1], edge) + 1)
    return np.stack([np.interp(s, length, curve[:, c]) for c in range(2)], axis=1)


def _pieces(profile: Floats) -> list[Floats]:
    """The profile cut at its corners and at the ends of its shelves."""
    step = np.diff(profile, axis=0)
    step = step / np.linalg.norm(step, axis=1, keepdims=True)
    level = np.abs(step[:, 1]) < 1e-9
    turn = ((step[1:] * step[:-1]).sum(axis=1) < CORNER) | (level[1:] != level[:-1])
    cuts = [0, *(np.flatnonzero(turn) + 1), len(profile) - 1]
    return [profile[a : b + 1] for a, b in zip(cuts[:-1], cuts[1:], strict=True)]


def _cut_dome(section: list[Floats]) -> tuple[list[Floats], Floats]:
    """Take the dome off the end of a section that closes on the axis: (what is left, curve from pole to rim).

    It starts after the last corner, at the widest point or higher, where the rest is about as slender as a hemisphere.
    """
    last = section[-1]
    widest = len(last) - 1 - int(np.argmax(last[::-1, 0]))
    length = _arc_length(last)
    slender = (length[-1] - length[:-1]) / last[:-1, 0]
    good = np.flatnonzero(slender[widest:] <= DOME)
    start = widest + (int(good[0]) if good.size else 0)
    return section[:-1] + ([last[: start + 1]] if start else []), last[start:][::-1]


@dataclass(frozen=True)
class _Section:
    """A part of the profile between two shelves."""

    outline: Floats  # [m], (layers + 1, 2)
    rings: int


def half_plane(profile: Floats, edge: float) -> HalfPlane:
    """Rings and layers for a checked profile."""
    sections: list[list[Floats]] = [[]]
    for piece in _pieces(profile):
        if abs(piece[0, 1] - piece[-1, 1]) < 1e-9 * abs(edge):
            sections.append([])
        else:
            sections[-1].append(piece)
    closed = profile[-1, 0] == 0.0
    curve = None
    if closed and sections[-1]:
        sections[-1], curve = _cut_dome(sections[-1])
    elif closed:  # the profile runs in along a flat top
        sections.pop()
    outlines = [_outline(s, edge) for s in sections if s]
    if curve is not None and not sections[-1]:
        outlines.append(curve[-1:])
    made = _ringed(outlines, edge)
    grid, rings = _planes(made, curve is not None)
    return HalfPlane(rings, grid, None if curve is None else dome_grid(curve, made[-1].rings))


def _outline(pieces: list[Floats], edge: float) -> Floats:
    parts = [_resampled(piece, edge) for piece in pieces]
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])


def _ringed(outlines: list[Floats], edge: float) -> list[_Section]:
    """Choose ring counts: by radius where a section is narrow; the wider side of a shelf adds the shelf's rings."""
    rings = [cells(float(o[:, 0].mean() + o[:, 0].max()) / 2.0, edge) for o in outlines]
    step = [float(b[0, 0] - a[-1, 0]) for a, b in zip(outlines[:-1], outlines[1:], strict=True)]  # outwards > 0
    for s in range(1, len(outlines) - 1):
        if step[s - 1] > 0 > step[s] and abs(step[s - 1] + step[s]) < 0.25 * outlines[s][:, 0].max():
            rings[s - 1] = rings[s + 1] = max(rings[s - 1], rings[s + 1])  # else rings would lean inside a thin collar
    for _ in outlines:  # as often as a wide section can follow from another one
        for s in range(len(outlines)):
            sides = [(s - 1, step[s - 1])] if s > 0 else []
            sides += [(s + 1, -step[s])] if s < len(step) else []
            rings[s] = max([rings[n] + cells(width, edge) for n, width in sides if width > 0], default=rings[s])
    return [_Section(o, n) for o, n in zip(outlines, rings, strict=True)]


def _planes(sections: list[_Section], domed: bool) -> tuple[Floats, Ints]:
    """Level planes of nodes. A ring that carries a shelf keeps its place through the wider section.

    Planes that bend to meet a slanted outline squarely were tried; they fold at sharp inner corners under refinement.
    """
    rings = np.concatenate([np.full(len(s.outline) - 1, s.rings) for s in sections]).astype(np.int64)
    rz = np.full((len(rings) + 1, max(s.rings for s in sections) + 1, 2), np.nan)
    plane = 0
    for n, section in enumerate(sections):
        even = np.linspace(0.0, 1.0, section.rings + 1)
        low = _spread(section, 0, sections[n - 1]) if n > 0 else None
        high = _spread(section, -1, sections[n + 1]) if n + 1 < len(sections) else even if domed else None
        low = high if low is None else low
        high = low if high is None else high
        t = np.linspace(0.0, 1.0, len(section.outline))[:, None]
        here = rz[plane : plane + len(t), : section.rings + 1]
        here[..., 0] = section.outline[:, :1] * (even if low is None or high is None else (1.0 - t) * low + t * high)
        here[..., 1] = section.outline[:, 1:]
        plane += len(t) - 1
    return rz, rings


def _spread(section: _Section, end: int, other: _Section) -> Floats:
    """Radii of the rings over that of the outer one, at the shelf towards another section; even if that is wider."""
    narrow = other.outline[-1 - end, 0] / section.outline[end, 0]
    if narrow >= 1.0:
        return np.linspace(0.0, 1.0, section.rings + 1)
    shelf = np.linspace(narrow, 1.0, section.rings - other.rings + 1)
    return np.concatenate([np.linspace(0.0, narrow, other.rings + 1), shelf[1:]])


def lathe(profile: Any, edge: float | None = None, name: str = "lathe") -> Shape:
    """A solid of revolution about z. The origin is that of the profile.

    profile: (n, 2) radius and height [m] of the outline, from the rim of the flat base upwards; it ends on the axis
        (radius 0) or at the rim of a flat top. Heights never decrease; level pieces are shelves.
    edge: target edge length [m]; None: a fifth of the largest radius.
    """
    outline = checked_profile(profile, name)
    widest = float(outline[:, 0].max())
    height = float(np.ptp(outline[:, 1]))
    h = edge_length(name, widest / 5.0 if edge is None else edge, widest, np.pi * widest**2 * height)
    return solid(name, *revolve(half_plane(outline, h)))


def checked_profile(profile: Any, name: str) -> Floats:
    """The profile as a float array, or the reason why it cannot be turned."""
    try:
        outline = np.array(profile, dtype=np.float64)
    except (TypeError, ValueError):
        raise PliantError(f"{name}: profile must be pairs (radius, height) in metres") from None
    if outline.ndim != 2 or outline.shape[1:] != (2,) or len(outline) < 2 or not np.isfinite(outline).all():
        raise PliantError(f"{name}: profile must be two or more finite pairs (radius, height), shape {outline.shape}")
    step = np.diff(outline, axis=0)
    for fault, bad in {
        "has a radius that is not positive (only the last point may be on the axis)": outline[:-1, 0] <= 0,
        "ends at a negative radius": outline[-1:, 0] < 0,
        "goes down (an overhang cannot be turned)": step[:, 1] < 0,
        "repeats a point": (step == 0).all(axis=1),
    }.items():
        if bad.any():
            raise PliantError(f"{name}: the profile {fault}, at point {int(np.argmax(bad))}")
    if outline[-1, 1] <= outline[0, 1]:
        raise PliantError(f"{name}: the profile has no height")
    return outline
