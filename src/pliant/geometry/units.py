"""Lengths and axes of files: everything inside pliant is in metres with z up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, PliantError
from pliant.geometry.shape import number
from pliant.spec.table import LARGEST

UNITS = {
    "m": 1.0,
    "dm": 0.1,
    "cm": 0.01,
    "mm": 1e-3,
    "um": 1e-6,
    "nm": 1e-9,
    "km": 1e3,
    "in": 0.0254,
    "ft": 0.3048,
    "yd": 0.9144,
}  # [m]

# Proper rotations (no mirroring) that bring the file's upward axis to +z.
UPWARD = {
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "-y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)),
    "-x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
}

Rotation = Sequence[float] | Sequence[Sequence[float]] | Floats


@dataclass(frozen=True)
class Placement:
    """How coordinates of a file become coordinates of the world: x = scale * turn @ x_file."""

    scale: float = 1.0  # [m per unit of the file]
    turn: Floats | None = None  # (3, 3), a rotation

    def points(self, x: Floats) -> Floats:
        return self.scale * self.directions(x)

    def directions(self, n: Floats) -> Floats:
        return n if self.turn is None else n @ self.turn.T


def unit_length(unit: str) -> float:
    """Length of a unit [m]."""
    if not (isinstance(unit, str) and unit in UNITS):
        raise PliantError(f"unit '{unit}' is not known; use one of {', '.join(UNITS)}, or give the size [m] instead.")
    return UNITS[unit]


def rotation_matrix(rotation: Rotation) -> Floats:
    """A 3x3 rotation from a vector (axis times angle, in degrees), from axis and angle in degrees, or from itself."""
    try:
        given = np.asarray(rotation, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PliantError(f"rotation must be numbers, not {rotation!r}.") from None
    if not np.abs(given).max(initial=0.0) <= LARGEST:
        raise PliantError(f"rotation must be finite numbers of at most {LARGEST:g}, not {rotation!r}.")
    if given.shape == (3, 3):
        if not np.allclose(given @ given.T, np.eye(3), atol=1e-6) or np.linalg.det(given) < 0:
            raise PliantError(
                "rotation must be a rotation matrix (orthonormal rows, determinant +1): "
                "this one would stretch or mirror the body. Use size or unit to scale."
            )
        return given
    if given.shape == (3,):
        angle = float(np.linalg.norm(given))
        return _about(given / angle, np.deg2rad(angle)) if angle > 0 else np.eye(3)
    if given.shape == (4,):
        length = float(np.linalg.norm(given[:3]))
        if not length > 0:
            raise PliantError("rotation: the axis (first three numbers) has no length; give e.g. [0, 0, 1, 90].")
        return _about(given[:3] / length, np.deg2rad(given[3]))
    raise PliantError(
        f"rotation has shape {given.shape}; give three numbers (axis times angle in degrees), "
        "four (axis, then angle in degrees) or a 3x3 matrix."
    )


def _about(axis: Floats, angle: float) -> Floats:
    """Rodrigues' formula: R = I + sin(a) K + (1 - cos(a)) K^2."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def placement(points: Floats, unit: str = "m", up: str = "z", size: float | None = None, rotation: Rotation | None = None) -> Placement:
    """The scale and the turn that a file needs; `size` [m] is the largest extent along the file's own axes."""
    if not (isinstance(up, str) and up in UPWARD):
        raise PliantError(f"up = '{up}' is not an axis; use one of {', '.join(UPWARD)}.")
    scale = unit_length(unit)
    if size is not None:
        if unit != "m":
            raise PliantError(f"unit = '{unit}' and size = {size} both set the scale; give only one of them.")
        length = number("the file", "size, a positive length in metres,", size)
        finite = points[np.isfinite(points).all(axis=1)]
        extent = float(np.ptp(finite, axis=0).max()) if len(finite) else 0.0
        if not extent > 0:
            raise PliantError("size cannot be set: all points of the file coincide.")
        scale = length / extent
    turn = np.array(UPWARD[up], dtype=np.float64)
    if rotation is not None:
        turn = rotation_matrix(rotation) @ turn
    return Placement(scale, None if np.array_equal(turn, np.eye(3)) else turn)


LIKELY = (0.002, 5.0)  # [m] sizes of what is usually simulated; others are asked about


def units_asked(size: float) -> list[str]:
    """Whether the unit is right, if the largest extent of a body [m] is unusual."""
    if LIKELY[0] <= size <= LIKELY[1]:
        return []
    said = [f"{unit}: {size * UNITS[unit]:.3g} m" for unit in ("mm", "cm", "in") if LIKELY[0] <= size * UNITS[unit] <= LIKELY[1]]
    hint = f"If its numbers are in another unit, say so ({', '.join(said)})," if said else "Is the unit right? Say it,"
    return [f"it is {size:.3g} m large. {hint} or give its size."]
