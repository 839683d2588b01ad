"""Lengths, forces and pressures as people write and read them: 2mm, 500 N, 1.2MPa; a number alone is in SI units."""

from __future__ import annotations

import math

from pliant.base import PliantError
from pliant.spec.units import read

PRESSURES = {"GPa": 1e9, "MPa": 1e6, "kPa": 1e3}  # [Pa] in which pressures are told


def length(name: str, value: float | str) -> float:
    """[m]"""
    return _positive(name, value, "m")


def force(name: str, value: float | str) -> float:
    """[N]"""
    return _positive(name, value, "N")


def pressure(name: str, value: float | str) -> float:
    """[Pa]"""
    return _positive(name, value, "Pa")


def scale_of(value: float) -> tuple[float, str]:
    """(its size in Pa, its name) of the unit in which a pressure is told."""
    return next(((PRESSURES[name], name) for name in PRESSURES if value >= (1.0 - 1e-9) * PRESSURES[name]), (1.0, "Pa"))


def pascals(value: float) -> str:
    """A pressure [Pa] in words."""
    size, name = scale_of(value)
    return f"{value / size:.4g} {name}"


LENGTHS = {"m": 1.0, "mm": 1e-3, "µm": 1e-6, "nm": 1e-9}  # [m] in which lengths are told


def scale_of_length(value: float) -> tuple[float, str]:
    """(its size in m, its name) of the unit in which a length is told: millimetres down to a hundredth."""
    return next(((LENGTHS[name], name) for name in ("mm", "µm") if value >= 1e-2 * LENGTHS[name]), (LENGTHS["nm"], "nm"))


def metres(value: float, digits: int = 4) -> str:
    """A length [m] in words."""
    size, name = scale_of_length(abs(value))
    return f"{value / size:.{digits}g} {name}"


def square_metres(value: float) -> str:
    """An area [m^2] in words."""
    size, name = next(((s, n) for s, n in ((1e-4, "cm²"), (1e-6, "mm²"), (1e-12, "µm²")) if value >= 1e-2 * s), (1e-18, "nm²"))
    return f"{value / size:.4g} {name}"


def _positive(name: str, value: float | str, unit: str) -> float:
    try:
        number = read(str(value), unit)
    except ValueError as error:
        raise PliantError(f"{name}: {error}.") from None
    if not (math.isfinite(number) and number > 0.0):
        raise PliantError(f"{name} = {value}: it must be above zero.")
    return number
