"""Bringing two objects together along a direction, to where they first touch; what is refused, and how they came to stand, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface
from pliant.pressing import quantities

BATCH = 512  # samples that are asked together
CLOSE = 1e-6  # of the object: near enough to count as touching
STEPS = 4000  # on the way, at most
TIPPED = 20.0  # [degree] of turning that is told as tipping over, and refused of one that stood
HARD = 100.0  # moduli of mean pressure that no small dent has; thin layers on wide faces, which cannot give way sideways, have some
DEEP = 0.2  # of the largest extent: dents beyond are no local deformation


def floor_under(a: Side, direction: Floats) -> Side:
    """The plane across the direction that the first sample of A in that direction touches."""
    assert a.nodes is not None
    x = a.world(a.nodes.points)
    first = x[int(np.argmax(x @ direction))]
    return Side(Exact("plane"), rotation=towards(-direction), translation=first)


def towards(z: Floats) -> Floats:
    """A rotation that brings (0, 0, 1) to z."""
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = np.array([1.0, 0.0, 0.0]) if abs(z[2]) > 1.0 - 1e-12 else x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def aligned(a: Side, b: Side, direction: Floats) -> Side:
    """A moved across the direction, its centre in line with that of B."""
    offset = _middle(b) - _middle(a)
    return a.moved(np.eye(3), np.zeros(3), offset - (offset @ direction) * direction)


def touching(a: Side, b: Side, direction: Floats) -> Side:
    """A drawn back, and then moved along the direction until it first touches B.

    A sample cannot touch before it has moved as far as its distance: only those for which that has been used up are asked again.
    """
    mine, other, sign = (a, b, 1.0) if a.nodes is not None else (b, a, -1.0)
    assert mine.nodes is not None
    back = _ends(a, direction)[1] - _ends(b, direction)[0]
    if not np.isfinite(back):
        raise PliantError("A plane has no end to start from: press onto 'plane', which is put where the object first touches it.")
    a = a.moved(np.eye(3), np.zeros(3), -(back + 1e-3 * mine.size) * direction)
    mine, other = (a, b) if sign > 0 else (b, a)
    assert mine.nodes is not None
    far = _ends(b, direction)[1] - _ends(a, direction)[0]
    x, bound = mine.world(mine.nodes.points), np.zeros(len(mine.nodes))
    gone, nearest, close = 0.0, np.inf, CLOSE * mine.size
    for _ in range(STEPS):
        chosen = np.argpartition(bound, BATCH)[:BATCH] if len(bound) > BATCH else np.arange(len(bound))
        bound[chosen] = gone + _clearance(other, x[chosen] + sign * gone * direction)
        least = float(np.min(bound)) - gone
        asked = float(np.min(bound[chosen])) - gone
        nearest = min(nearest, max(asked, 0.0))
        if asked <= close:
            return a.moved(np.eye(3), np.zeros(3), gone * direction)
        gone += max(least, 0.0) if least < asked else max(asked, close)
        if gone > far:
            break
    raise PliantError(
        f"The first object never touches the second on its way; it passes it at {1e3 * nearest:.4g} mm. Align them, or turn the direction."
    )


def _clearance(other: Side, x: Floats) -> Floats:
    """Distance that is surely free: of the surface where it is near, less a spacing of the nearest sample where it is far."""
    shape = other.shape
    if isinstance(shape, Exact):
        return other.project(x).distance
    assert isinstance(shape, PointSurface)
    body = np.ascontiguousarray((x - other.translation) @ other.rotation)
    far, sample = shape.search.nearest(body, 1)
    free, spacing = far[:, 0], shape.spacing[sample[:, 0]]
    near = free < 4.0 * spacing
    out = free - spacing
    if near.any():
        found = other.project(x[near])
        out[near] = np.where(found.valid, found.distance, free[near])
    return out


def _middle(side: Side) -> Floats:
    if side.nodes is None:
        return side.translation
    x = side.world(side.nodes.points)
    return 0.5 * (x.min(axis=0) + x.max(axis=0))


def _ends(side: Side, direction: Floats) -> tuple[float, float]:
    """Lowest and highest place along a direction [m]."""
    if side.nodes is None:
        assert isinstance(side.shape, Exact)
        radius = np.inf if side.shape.kind == "plane" else float(np.linalg.norm(side.shape.sizes))
        middle = float(side.translation @ direction)
        return middle - radius, middle + radius
    along = side.world(side.nodes.points) @ direction
    return float(along.min()), float(along.max())


Extents = tuple[Floats | None, Floats | None]  # (3,) [m] of the boxes of both; None: without an end


def check_depth(depth: float, extents: Extents, cause: str = "depth =") -> None:
    """A dent must be small against the objects; most who ask for more have the wrong unit."""
    for which, extent in zip(("first", "second"), extents, strict=True):
        if extent is not None and depth > DEEP * extent.max():
            size = " x ".join(f"{1e3 * e:.3g}" for e in extent)
            raise PliantError(
                f"{cause} {1e3 * depth:.3g} mm, too much for the {which} object, which is {size} mm large: dents must be small. "
                "Is the unit of the file right? `unit` and `size` set it."
            )


def check_force(force: float, extents: Extents, compliances: Sequence[float | None]) -> None:
    """A pressure far above the modulus is no small dent, whatever the response; said before the search for where it would come to rest."""
    softest = 1.0 / (math.pi * max(c for c in compliances if c is not None))  # [Pa] E / (1 - nu^2)
    for which, extent in zip(("first", "second"), extents, strict=True):
        if extent is None:
            continue
        least = force / float(np.prod(np.sort(extent)[1:]))
        if least > HARD * softest:
            size = " x ".join(f"{1e3 * e:.3g}" for e in extent)
            raise PliantError(
                f"force = {force:.4g} N is too much for the {which} object, which is {size} mm large: even over its whole side it is "
                f"{quantities.pascals(least)}, and the modulus is {quantities.pascals(softest)}. Is the unit of the file right? "
                "`unit` and `size` set it."
            )


def tipped(a: Side, way: Floats) -> list[str]:
    """Whether A turned so far that it stands on another side, and where to."""
    angle, top = angle_of(a.rotation), -a.rotation @ way
    top = top + (top @ -way) * way
    if angle < TIPPED:
        return []
    where = ", ".join(f"{c + 0.0:.2g}" for c in np.round(top / max(float(np.linalg.norm(top)), 1e-300), 3))
    return [f"it does not stand on what touches first: it tips over by {angle:.0f}°, its top towards ({where}), and rests there"]


def check_stance(stood: Floats, now: Floats, way: Floats, beside: float | None = None) -> None:
    """Refuse one that goes on tipping from the stance that it has as a rigid body; rotations (3, 3), how near the load came to balance [m].

    As the surface gives way, the centre of pressure moves inwards from the rims of what the object stands on, and may never come under the
    load, although that is above the rigid support.
    """
    turn = now @ stood.T
    if angle_of(turn) < TIPPED:
        return
    top = -turn @ way
    top = top + (top @ way) * -way
    where = ", ".join(f"{c + 0.0:.2g}" for c in np.round(top / max(float(np.linalg.norm(top)), 1e-300), 3))
    near = "" if beside is None else f"the centre of pressure comes no nearer than {1000 * beside:.3g} mm to the line of the load, and "
    raise PliantError(
        f"It has no balance near where it stands: {near}the object tips over, its top towards ({where}). Hold it (tilt fixed), or let "
        "the load act nearer to the middle of what it stands on (at). One that is much stiffer stands as a rigid one does."
    )


def angle_of(rotation: Floats) -> float:
    """[degree]"""
    return float(np.degrees(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0))))


def why_apart(a: Side, way: Floats, result: ContactResult) -> str:
    if result.off:
        return f"Nothing touches: at all {result.off} samples that overlap, the other surface has a hole."
    if not result.steep:
        return "Nothing touches at this depth."
    if a.nodes is not None:
        along = a.world(a.nodes.points) @ way
        facing = float(np.mean(a.nodes.normals[along > np.max(along) - 0.01 * a.size] @ (a.rotation.T @ way)))
        if facing < -0.2:
            return (
                f"Nothing touches: where the objects overlap ({result.steep} samples), the first one's surface looks away from the second. "
                "Is it an open sheet that is pressed with its back, or are its normals inside out? Press it the other way (direction), or "
                "turn it (up)."
            )
    return (
        f"Nothing touches: at the {result.steep} samples that overlap the surfaces do not face each other, as at the rim of an open "
        "surface. Turn the object (up) or the direction."
    )
