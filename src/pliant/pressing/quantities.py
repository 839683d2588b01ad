"""Lengths, forces and pressures as people write and read them: 2mm, 500 N, 1.2MPa; a number alone is in SI units."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from pliant.base import PliantError
from pliant.geometry.units import UNITS

FORCES = {"N": 1.0, "mN": 1e-3, "kN": 1e3, "MN": 1e6, "kgf": 9.80665, "lbf": 4.4482216152605}  # [N]
PRESSURES = {"Pa": 1.0, "hPa": 1e2, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "psi": 6894.757293168}  # [Pa]


def length(name: str, value: float | str) -> float:
    """[m]"""
    return _read(name, value, UNITS, "2mm")


def force(name: str, value: float | str) -> float:
    """[N]"""
    return _read(name, value, FORCES, "500N")


def pressure(name: str, value: float | str) -> float:
    """[Pa]"""
    return _read(name, value, PRESSURES, "200kPa")


def scale_of(value: float) -> tuple[float, str]:
    """(its size in Pa, its name) of the unit in which a pressure is told."""
    return next(((PRESSURES[name], name) for name in ("GPa", "MPa", "kPa") if value >= PRESSURES[name]), (1.0, "Pa"))


def pascals(value: float) -> str:
    """A pressure [Pa] in words."""
    size, name = scale_of(value)
    return f"{value / size:.4g} {name}"


def _read(name: str, value: float | str, units: Mapping[str, float], example: str) -> float:
    found = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)\s*", str(value))
    if found is None:
        raise PliantError(f"{name} = '{value}' is not a number with a unit; write for instance {example}.")
    if found[2] and found[2] not in units:
        raise PliantError(f"{name} = '{value}': the unit '{found[2]}' is not known here; use one of {', '.join(units)}.")
    number = float(found[1]) * (units[found[2]] if found[2] else 1.0)
    if not (math.isfinite(number) and number > 0.0):
        raise PliantError(f"{name} = {value}: it must be above zero.")
    return number
