"""Plain solids as structured tetrahedra. Lengths in metres, angles in degrees; ``edge`` is the target edge length."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.blocks import brick, disc, disc_xy, prisms, split_octahedra, tet_lattice, triangle_lattice
from pliant.geometry.lathe import HalfPlane, dome_grid, revolve
from pliant.geometry.mesh import Surface
from pliant.geometry.shape import Shape, cells, edge_length, number, numbers, solid


def box(size: Any, edge: float | None = None) -> Shape:
    """A box. Origin: its centre.

    size: lengths along x, y, z [m]
    """
    lengths = numbers("box", "size", size, 3)
    h = edge_length("box", edge, min(lengths), float(np.prod(lengths)))
    return _brick("box", lengths, h)


def _brick(name: str, lengths: tuple[float, ...], edge: float) -> Shape:
    points, tets = brick(*(cells(length, edge) for length in lengths))
    return solid(name, (points - 0.5) * lengths, tets, ("box", tuple(0.5 * length for length in lengths)))


def plate(size: Any, thickness: float, edge: float | None = None) -> Shape:
    """A flat box. Origin: its centre.

    size: lengths along x, y [m]; thickness: along z [m]
    edge: None: an eighth of the shorter side, but at most three times the thickness, so that the tets are not too flat
    """
    lengths = (*numbers("plate", "size", size, 2), number("plate", "thickness", thickness))
    wanted = min(min(lengths[:2]) / 8.0, 3.0 * lengths[2]) if edge is None else edge
    return _brick("plate", lengths, edge_length("plate", wanted, lengths[2], float(np.prod(lengths))))


def membrane(size: Any, edge: float | None = None) -> Shape:
    """A flat sheet of triangles in the xy plane, a surface without tets, facing +z. Origin: its centre.

    size: lengths along x, y [m]
    edge: None: a sixteenth of the shorter side
    """
    lx, ly = numbers("membrane", "size", size, 2)
    h = min(lx, ly) / 16.0 if edge is None else number("membrane", "edge", edge)
    h = edge_length("membrane", h, h, lx * ly * h)
    nx, ny = cells(lx, h), cells(ly, h)
    x, y = np.meshgrid(np.linspace(-lx / 2, lx / 2, nx + 1), np.linspace(-ly / 2, ly / 2, ny + 1), indexing="ij")
    i, j = np.indices((nx, ny)).reshape(2, -1)
    a = i * (ny + 1) + j
    b, c, d = a + ny + 1, a + ny + 2, a + 1
    odd = ((i + j) % 2 == 1)[:, None]  # diagonals alternate, so that no direction is stiffer
    halves = [
        np.where(odd, np.stack([a, b, d], axis=1), np.stack([a, b, c], axis=1)),
        np.where(odd, np.stack([b, c, d], axis=1), np.stack([a, c, d], axis=1)),
    ]
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    return Shape("membrane", None, Surface(points, np.concatenate(halves)))


# Corners of an icosahedron: five around each pole, half a step apart.
_FIVE = 2.0 * np.pi * np.arange(5) / 5.0
_BELT = [[2 * np.cos(a), 2 * np.sin(a), 1.0] for a in _FIVE] + [
    [2 * np.cos(a), 2 * np.sin(a), -1.0] for a in _FIVE + np.pi / 5.0
]
ICOSAHEDRON = np.array([[0, 0, np.sqrt(5.0)], *_BELT, [0, 0, -np.sqrt(5.0)]]) / np.sqrt(5.0)
_NEXT = [(k, (k + 1) % 5) for k in range(5)]
ICOSAHEDRON_FACES = np.array(
    [[0, 1 + k, 1 + m] for k, m in _NEXT]
    + [[1 + k, 6 + k, 1 + m] for k, m in _NEXT]
    + [[1 + m, 6 + k, 6 + m] for k, m in _NEXT]
    + [[11, 6 + m, 6 + k] for k, m in _NEXT]
)


def unit_ball(layers: int) -> tuple[Floats, Ints]:
    """Twenty tetrahedra from the centre to the faces of an icosahedron, in layers, each blown up to a sphere."""
    weights, tets, octahedra = tet_lattice(layers)
    corners = np.column_stack([np.full(20, 12), ICOSAHEDRON_FACES])  # 12 is the centre
    key = np.zeros((20, len(weights), 13), dtype=np.int64)
    np.put_along_axis(key, np.broadcast_to(corners[:, None], (20, len(weights), 4)), weights[None], axis=2)
    unique, numbering = np.unique(key.reshape(-1, 13), axis=0, return_inverse=True)
    numbering = numbering.reshape(20, -1)
    direction = unique[:, :12] @ ICOSAHEDRON
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    points = direction / np.where(length == 0, 1.0, length) * (1.0 - unique[:, 12:] / layers)
    inner = split_octahedra(numbering[:, octahedra].reshape(-1, 6), points)
    return points, np.concatenate([numbering[:, tets].reshape(-1, 4), inner])


def ball(radius: float, edge: float | None = None) -> Shape:
    """A ball. Origin: its centre.

    radius: [m]
    """
    r = number("ball", "radius", radius)
    h = edge_length("ball", edge, 2 * r, 4.0 / 3.0 * np.pi * r**3)
    points, tets = unit_ball(cells(r, h))
    return solid("ball", r * points, tets, ("ball", (r,)))


def ellipsoid(radii: Any, edge: float | None = None) -> Shape:
    """An ellipsoid, a stretched ball; beyond 4 : 1 its tets get flat. Origin: its centre.

    radii: half axes along x, y, z [m]
    """
    a = numbers("ellipsoid", "radii", radii, 3)
    h = edge_length("ellipsoid", edge, 2 * min(a), 4.0 / 3.0 * np.pi * float(np.prod(a)))
    points, tets = unit_ball(cells(float(np.prod(a)) ** (1.0 / 3.0), h))
    return solid("ellipsoid", points * a, tets, ("ball", a[:1]) if a[0] == a[1] == a[2] else None)


def cylinder(radius: float, height: float, edge: float | None = None) -> Shape:
    """A cylinder along z. Origin: its centre.

    radius, height: [m]
    """
    r, height = number("cylinder", "radius", radius), number("cylinder", "height", height)
    h = edge_length("cylinder", edge, min(2 * r, height), np.pi * r**2 * height)
    rings, layers = cells(r, h), cells(height, h)
    half = _straight(r, -height / 2, height / 2, rings, layers)
    return solid("cylinder", *revolve(half), ("cylinder", (r, height / 2)))


def _straight(radius: float, low: float, high: float, rings: int, layers: int) -> HalfPlane:
    r, z = np.meshgrid(np.linspace(0.0, radius, rings + 1), np.linspace(low, high, layers + 1))
    return HalfPlane(np.full(layers, rings), np.stack([r, z], axis=-1))


def capsule(radius: float, length: float, edge: float | None = None) -> Shape:
    """A cylinder along z with round ends. Origin: its centre.

    radius: [m]; length: of the straight part, between the centres of the ends [m]; the whole is length + 2 radius long
    """
    r, length = number("capsule", "radius", radius), number("capsule", "length", length)
    h = edge_length("capsule", edge, 2 * r, np.pi * r**2 * (length + 4.0 / 3.0 * r))
    body = _straight(r, -length / 2, length / 2, cells(r, h), cells(length, h))
    angle = np.linspace(0.0, np.pi / 2, 24 * cells(r, h) + 1)
    curve = np.stack([r * np.sin(angle), length / 2 + r * np.cos(angle)], axis=1)
    half = HalfPlane(body.rings, body.rz, dome_grid(curve, cells(r, h)))
    return solid("capsule", *revolve(half, both_ends=True), ("capsule", (r, length / 2)))


def torus(major: float, minor: float, edge: float | None = None) -> Shape:
    """A ring around z. Origin: its centre.

    major: radius of the circle in the middle of the tube [m]; minor: radius of the tube [m], smaller than major
    """
    big = number("torus", "major", major)
    r = number("torus", "minor", minor, below=big)
    h = edge_length("torus", edge, 2 * r, 2 * np.pi**2 * big * r**2)
    rings, turns = cells(r, h), 2 * cells(np.pi * big, h, least=4)
    ring, place, triangles, colour = disc(rings)
    xy = disc_xy(ring, place) * r / rings
    tets = prisms(xy, triangles, colour, turns, periodic=True)
    angle = np.repeat(2 * np.pi * np.arange(turns) / turns, len(xy))
    out, up = np.tile(xy, (turns, 1)).T
    points = np.stack([(big + out) * np.cos(angle), (big + out) * np.sin(angle), up], axis=1)
    return solid("torus", points, tets[:, [0, 1, 3, 2]], ("torus", (big, r)))  # (out, up, forward) is left-handed


def wedge(size: Any, ridge: float = 1.0, edge: float | None = None) -> Shape:
    """A triangular prism: a ramp or a splitting wedge. Its base is level, its ridge runs along y. Origin: centre of its
    bounding box.

    size: lengths along x, y, z [m]
    ridge: where the ridge stands over the base, 0 (at -x) to 1 (at +x, an upright end); 0.5 is symmetric
    """
    lx, ly, lz = numbers("wedge", "size", size, 3)
    at = number("wedge", "ridge", ridge, above=-1e-12, below=1.0 + 1e-12)
    h = edge_length("wedge", edge, min(lx, ly, lz), 0.5 * lx * ly * lz)
    n, layers = cells(np.sqrt(lx * lz), h), cells(ly, h)
    uv, triangles, colour = triangle_lattice(n)
    u, v = uv.T
    tets = prisms(uv, triangles, colour, layers)
    x = np.tile((u + at * v - 0.5) * lx, layers + 1)
    z = np.tile((v - 0.5) * lz, layers + 1)
    y = np.repeat(np.linspace(ly / 2, -ly / 2, layers + 1), len(u))  # x, z, -y is right-handed
    return solid("wedge", np.stack([x, y, z], axis=1), tets)


def arch_stone(inner: float, outer: float, angle: float, depth: float, edge: float | None = None) -> Shape:
    """A stone of a round arch: a piece of a ring, symmetric about the xz plane, its middle along +x. Origin: the centre
    of the arch, half-way through its depth, so stones of one arch only differ by a rotation about z.

    inner, outer: radii of the arch [m]; angle: that the stone spans [degree]; depth: along z [m]
    """
    r1 = number("arch_stone", "outer", outer)
    r0 = number("arch_stone", "inner", inner, below=r1)
    span = np.radians(number("arch_stone", "angle", angle, below=180.0 + 1e-9))
    deep = number("arch_stone", "depth", depth)
    middle = 0.5 * span * (r0 + r1)
    h = edge_length("arch_stone", edge, min(r1 - r0, middle, deep), middle * (r1 - r0) * deep)
    points, tets = brick(cells(r1 - r0, h), cells(middle, h), cells(deep, h))
    r, turn, z = r0 + (r1 - r0) * points[:, 0], span * (points[:, 1] - 0.5), deep * (points[:, 2] - 0.5)
    return solid("arch_stone", np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1), tets)
