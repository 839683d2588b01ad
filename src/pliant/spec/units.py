"""Numbers with units as people write them: "50kPa", "2 mm", "30deg", "1.2 g/cm^3", "5N/mm". A number alone is in the unit that is wanted.

Scales are fractions, so that "2mm" is the same float as 0.002, whatever the number.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
QUANTITY = re.compile(rf"\s*({NUMBER})\s*([A-Za-zµ°1].*?)?\s*")
FACTOR = re.compile(r"([A-Za-zµ°]+|1)(?:\^?(-?\d)|([²³]))?")
SUPERSCRIPTS = {"²": 2, "³": 3}
PREFIXES = {"n": "1e-9", "u": "1e-6", "µ": "1e-6", "m": "1e-3", "c": "1e-2", "d": "1e-1", "h": "1e2", "k": "1e3", "M": "1e6", "G": "1e9"}


class Unit(NamedTuple):
    """A scale and the powers of metre, kilogram, second, angle and degree Celsius; turns of degrees have a factor pi besides."""

    scale: Fraction
    powers: tuple[int, ...]
    pi: int = 0

    def times(self, other: Unit, power: int) -> Unit:
        powers = tuple(a + power * b for a, b in zip(self.powers, other.powers, strict=True))
        return Unit(self.scale * other.scale**power, powers, self.pi + power * other.pi)


def _unit(scale: str, metre: int = 0, kilogram: int = 0, second: int = 0, angle: int = 0, celsius: int = 0) -> Unit:
    return Unit(Fraction(Decimal(scale)), (metre, kilogram, second, angle, celsius))


ONE = _unit("1")
METRIC = {  # take prefixes
    "m": _unit("1", 1), "g": _unit("1e-3", 0, 1), "s": _unit("1", 0, 0, 1), "N": _unit("1", 1, 1, -2), "Pa": _unit("1", -1, 1, -2),
    "J": _unit("1", 2, 1, -2), "W": _unit("1", 2, 1, -3), "Hz": _unit("1", 0, 0, -1),
}  # fmt: skip
DEGREE = Unit(Fraction(1, 180), (0, 0, 0, 1, 0), 1)
OTHERS = {
    "1": ONE, "in": _unit("0.0254", 1), "ft": _unit("0.3048", 1), "yd": _unit("0.9144", 1), "min": _unit("60", 0, 0, 1),
    "h": _unit("3600", 0, 0, 1), "t": _unit("1000", 0, 1), "lb": _unit("0.45359237", 0, 1), "kgf": _unit("9.80665", 1, 1, -2),
    "lbf": _unit("4.4482216152605", 1, 1, -2), "psi": _unit("6894.757293168", -1, 1, -2), "bar": _unit("1e5", -1, 1, -2),
    "rad": _unit("1", 0, 0, 0, 1), "deg": DEGREE, "degree": DEGREE, "°": DEGREE, "degC": _unit("1", 0, 0, 0, 0, 1),
    "°C": _unit("1", 0, 0, 0, 0, 1),
}  # fmt: skip
EXAMPLES = {
    "m": "2mm", "s": "5ms", "Pa": "50kPa", "N": "500N", "degree": "30deg", "m/s": "2m/s", "rad/s": "90deg/s", "kg/m^3": "1.2g/cm^3",
    "N/m": "5N/mm", "m/s^2": "9.81m/s^2", "kg": "20g", "N m": "3N mm", "degree C": "60degC",
}  # fmt: skip


def parse_unit(text: str) -> Unit | None:
    """What "N s/m" or "g/cm^3" stands for; None: nothing known."""
    found, power = ONE, 1
    for part in re.split(r"([ */·])", text.strip().replace("degree C", "degC")):
        if part in ("", " ", "*", "·"):
            continue
        if part == "/":
            power = -1
            continue
        factor = FACTOR.fullmatch(part)
        unit = _named(factor[1]) if factor else None
        if factor is None or unit is None:
            return None
        found = found.times(unit, power * (int(factor[2]) if factor[2] else SUPERSCRIPTS.get(factor[3] or "", 1)))
        power = 1
    return found


def _named(name: str) -> Unit | None:
    if name in OTHERS or name in METRIC:
        return OTHERS.get(name) or METRIC[name]
    base = METRIC.get(name[1:])
    return Unit(base.scale * Fraction(Decimal(PREFIXES[name[0]])), base.powers) if base and name[0] in PREFIXES else None


def read(text: str, unit: str) -> float:
    """A number with or without a unit, in the unit that is wanted; ValueError says what is wrong with it."""
    found = QUANTITY.fullmatch(text)
    example = f"write for instance {EXAMPLES[unit]}" if unit in EXAMPLES else f"it is in {unit}"
    if found is None:
        raise ValueError(f"'{text}' is not a number with a unit; {example}")
    if not found[2]:
        return float(found[1])
    given, wanted = parse_unit(found[2]), parse_unit(unit)
    assert wanted is not None, unit
    if given is None:
        raise ValueError(f"'{text}': the unit '{found[2]}' is not known; {example}")
    if given.powers != wanted.powers:
        if wanted.powers == METRIC["s"].powers and found[2] == "m":
            raise ValueError(f"'{text}': m is a metre; write {found[1]}min for minutes")
        raise ValueError(f"'{text}' cannot be told in {unit}; {example}")
    number = float(Fraction(Decimal(found[1])) * given.scale / wanted.scale)
    return number * math.pi ** (given.pi - wanted.pi) if given.pi != wanted.pi else number


def is_quantity(value: Any) -> bool:
    """Whether it is text that reads as a number with a known unit."""
    found = QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return bool(found and found[2] and parse_unit(found[2]))


def in_scene_units(value: Any) -> Any:
    """Text with units as scenes count where no field says the unit: SI, angles in degrees; lists item by item, all else as it is."""
    if isinstance(value, list | tuple):
        return type(value)(in_scene_units(each) for each in value)
    if not is_quantity(value):
        return value
    unit = parse_unit(QUANTITY.fullmatch(value)[2])  # type: ignore[index,arg-type]
    assert unit is not None
    if unit.powers == DEGREE.powers:
        return read(value, "degree")
    base = " ".join(f"{name}^{power}" for name, power in zip(("m", "kg", "s", "rad", "degC"), unit.powers, strict=True) if power)
    return read(value, base or "1")


def scene_unit(text: str) -> str | None:
    """The name of the unit that `in_scene_units` gives a text in; None: it has none, or no short name."""
    found = QUANTITY.fullmatch(text)
    unit = parse_unit(found[2]) if found and found[2] else None
    return None if unit is None else next((name for name in EXAMPLES if parse_unit(name).powers == unit.powers), None)  # type: ignore[union-attr]


def converted(value: Any, unit: str) -> Any:
    """Text with units as numbers in the unit that is wanted, also inside lists and tables over time; all else as it is."""
    if isinstance(value, str):
        return read(value, unit) if QUANTITY.fullmatch(value) else value
    if isinstance(value, list | tuple):
        return type(value)(converted(each, unit) for each in value) if not hasattr(value, "_fields") else value
    if isinstance(value, dict) and set(value) == {"times", "values"}:
        return {"times": converted(value["times"], "s"), "values": converted(value["values"], unit)}
    return value


def stated_unit(description: str | None) -> str | None:
    """The unit at the beginning of a field's description: "[m/s^2] at rest"."""
    found = re.match(r"\[([^\]]+)\]", description or "")
    return found[1] if found and parse_unit(found[1]) else None
