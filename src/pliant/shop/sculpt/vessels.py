"""Shells with a cavity (bowl, socket) and bodies made of several parts (chain)."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.lathe import HalfPlane, revolve
from pliant.geometry.mesh import TetMesh
from pliant.geometry.shape import Shape, cells, edge_length, number, solid, whole
from pliant.geometry.solids import torus

Placed = tuple[Shape, Floats, Floats]  # a shape, its offset (3,) [m] and its rotation (3, 3)

FOOT = 0.4  # [rad], half angle of the flat foot under a bowl, seen from the centre of the cavity
SKIRT = 0.65  # [rad], where the foot's side has run into the sphere


def bowl(radius: float, thickness: float, opening: float = 90.0, edge: float | None = None) -> Shape:
    """A round shell with a flat foot, open at the top. It stands on z = 0; origin: the middle of its foot.

    radius: outer [m]; thickness: of the wall [m]
    opening: half angle of the mouth, seen from the centre of the sphere [degree]; 90 is a hemisphere, more is a dish
    """
    outer = number("bowl", "radius", radius)
    wall = number("bowl", "thickness", thickness, below=outer)
    points, tets = _shell("bowl", outer - wall, wall, opening, edge)
    return solid("bowl", points + [0.0, 0.0, outer], tets)


def socket(radius: float, thickness: float, opening: float = 60.0, edge: float | None = None) -> Shape:
    """A shell that wraps round a ball and holds it, with a flat foot below. Origin: the centre of the cavity, so a ball
    placed at the same point fits; the foot is at z = -(radius + thickness).

    radius: of the cavity [m]; thickness: of the wall [m]
    opening: half angle of the mouth, seen from the centre [degree]; below 90 the ball cannot fall out
    """
    r, wall = number("socket", "radius", radius), number("socket", "thickness", thickness)
    return solid("socket", *_shell("socket", r, wall, opening, edge))


def _shell(kind: str, inner: float, wall: float, opening: float, edge: float | None) -> tuple[Floats, Ints]:
    """Rings of equal angle from the foot to the mouth, straight lines from the outer to the inner face."""
    outer = inner + wall
    reach = np.radians(180.0 - number(kind, "opening", opening, above=6.0, below=174.0 - np.degrees(SKIRT)))
    volume = 2.0 / 3.0 * np.pi * (outer**3 - inner**3) * (1.0 - np.cos(reach))
    h = edge_length(kind, min(max(wall, outer / 8.0), 3.0 * wall) if edge is None else edge, wall, volume)
    middle = 0.5 * (inner + outer)
    marks = [0.0, FOOT, SKIRT, reach]
    parts = [np.linspace(a, b, cells((b - a) * middle, h) + 1) for a, b in zip(marks[:-1], marks[1:], strict=True)]
    angle = np.concatenate([parts[0], parts[1][1:], parts[2][1:]])
    face = np.where(angle <= FOOT, outer / np.cos(np.minimum(angle, FOOT)), outer)
    skirt = (angle > FOOT) & (angle < SKIRT)
    face[skirt] = _chord(outer / np.cos(FOOT), outer, (angle[skirt] - FOOT), SKIRT - FOOT)
    layers = cells(wall, h)
    s = np.linspace(1.0, 0.0, layers + 1)[:, None]
    distance = inner + s * (face - inner)
    rz = np.stack([distance * np.sin(angle), -distance * np.cos(angle)], axis=-1)
    return revolve(HalfPlane(np.full(layers, len(angle) - 1), rz))


def _chord(a: float, b: float, turn: Floats, total: float) -> Floats:
    """Distance from the centre of a straight line that is a away at turn 0 and b away at the total turn."""
    return a * b * np.sin(total) / (a * np.sin(turn) + b * np.sin(total - turn))


def chain_links(
    count: int, major: float, minor: float, edge: float | None = None, gap: float | None = None
) -> list[Placed]:
    """Rings that hang in one another along x, every other one upright. Origin: the middle of the chain.

    count: links; major, minor: radii of each ring [m]; edge: None: half of minor
    gap: play between neighbours when the chain is laid out [m]; None: a quarter of minor
    """
    links = whole("chain", "count", count)
    major, minor = number("chain", "major", major), number("chain", "minor", minor)
    link = torus(major, minor, 0.5 * minor if edge is None else edge)
    play = number("chain", "gap", 0.25 * minor if gap is None else gap)
    if major < 3.0 * minor + play:
        raise PliantError(
            f"chain: major = {major:g} leaves no room for three tubes of minor = {minor:g} and a gap of {play:g}; "
            f"major must be at least {3.0 * minor + play:g}"
        )
    step = 2.0 * (major - minor) - play
    upright = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    start = -0.5 * step * (links - 1)
    return [(link, np.array([start + step * n, 0.0, 0.0]), upright if n % 2 else np.eye(3)) for n in range(links)]


def chain(
    links: int = 5, major: float = 0.02, minor: float = 0.004, edge: float | None = None, gap: float | None = None
) -> Shape:
    """All links of ``chain_links`` in one shape, not joined to each other. Origin: the middle of the chain.

    links: how many; major, minor: radii of each ring [m]; gap: play between neighbours [m]; None: a quarter of minor
    """
    return joined("chain", chain_links(links, major, minor, edge, gap))


def joined(name: str, parts: list[Placed]) -> Shape:
    """Several placed solids as one shape with separate pieces."""
    meshes = [shape.tets.moved(offset, rotation) for shape, offset, rotation in parts if shape.tets is not None]
    start = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    tets = np.concatenate([mesh.tets + first for mesh, first in zip(meshes, start, strict=False)])
    return Shape(name, TetMesh(np.concatenate([mesh.points for mesh in meshes]), tets))
