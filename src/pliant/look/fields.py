"""Fields that colour a picture: which there are, what they are called, their unit, and their range."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, PliantError
from pliant.bodies.register import room_of
from pliant.look.source import Picture, among

TITLES = {
    "von_mises": ("von Mises stress", "Pa"),
    "depth": ("contact depth", "m"),
    "pressure": ("contact pressure", "Pa"),
    "speed": ("speed", "m/s"),
    "velocity": ("speed", "m/s"),
    "displacement": ("displacement", "m"),
    "contact_force": ("contact force", "N"),
    "max_displacement": ("largest displacement so far", "m"),
    "max_pressure": ("largest pressure so far", "Pa"),
    "wear": ("pressure times slip so far", "J/m²"),
    "traction": ("contact traction", "Pa"),
    "shown": ("drawn displacement", "m"),
}
FROM = {"speed": "velocity", "traction": "contact_force"}  # made from another recorded field
ELEMENTS_ONLY = {"von_mises", "det_F"}  # rigid bodies have none
TOUCHING = {"depth", "pressure", "contact_force", "traction", "max_pressure", "wear"}  # zero where nothing touches
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
HIDDEN = {"normal", "radius"}  # shape of surfels, not a quantity


GRAVITY, WATER = 9.81, 1000.0  # [m/s^2], [kg/m^3]: the scales of floors


def floors(size: float) -> dict[str, tuple[float, float]]:
    """By unit: what bodies of a size [m] have by themselves, and the part of it below which a value is rounding or unrest.

    Weight presses with rho g L, a fall over the body's own size ends at sqrt(g L), the body is L large. What a solver or its
    tolerance leaves is some 1e-9 to 1e-7 of that, what can be seen or measured is far above 1e-6.
    """
    press, fall = WATER * GRAVITY * size, float(np.sqrt(GRAVITY * size))
    own = {"Pa": press, "m": size, "m/s": fall, "N": press * size**2, "J/m²": press * size}
    return {unit: (value, 1e-6 * value) for unit, value in own.items()}


def extent(points: Floats) -> float:
    """How large what is drawn is [m]: the diagonal of the box around it."""
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 1.0


def touches(*pictures: Picture) -> bool:
    """Whether bodies press each other in any of the pictures, by more than what counts as nothing."""
    found = [(p.point_fields["pressure"], floors(extent(p.movable_points()))["Pa"][1]) for p in pictures if "pressure" in p.point_fields]
    return any(bool((np.nan_to_num(pressure) > floor).any()) for pressure, floor in found)


def choose(field: str, available: Collection[str], kinds: Mapping[int, str], contact: bool = False) -> str:
    """The field to draw: one that is there, or `body` for plain colours; `auto`: pressure where there is contact, else what tells most."""
    names = offered(available)
    if field == "auto":
        if contact and "pressure" in names:
            return "pressure"
        if "von_mises" in names and any(room_of(kind).solid for kind in kinds.values()):
            return "von_mises"
        return next((name for name in ("speed", "displacement") if name in names), "body")
    if field not in names:
        raise PliantError(f"there is no field {field!r} to colour by; this picture has {', '.join(names)} (or auto)")
    return field


def offered(available: Collection[str]) -> list[str]:
    """Names a picture can be coloured by."""
    made = {name for name, source in FROM.items() if source in available}
    return sorted((set(available) | made) - HIDDEN) + ["body"]


def source_of(field: str, available: Collection[str]) -> str:
    """The recorded field behind a name."""
    return field if field in available else FROM.get(field, field)


def values(picture: Picture, field: str) -> Floats:
    """Magnitude of a field at the points, (P,); NaN where it is not known."""
    name = source_of(field, picture.point_fields)
    if name not in picture.point_fields:
        return np.full(len(picture.points), np.nan)
    rows = np.asarray(picture.point_fields[name], np.float64)
    rows = rows if rows.ndim == 1 else np.linalg.norm(rows.reshape(len(rows), -1), axis=1)
    if field == "traction" and name == "contact_force":
        area = point_areas(picture)
        rows = np.divide(rows, area, out=np.zeros_like(rows), where=area > 0.0)
    return np.nan_to_num(rows) if field in TOUCHING else rows


def triangle_areas(picture: Picture) -> Floats:
    """[m^2] (F,)."""
    x = picture.points[picture.triangles]
    return np.asarray(0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1))


def point_areas(picture: Picture) -> Floats:
    """A third of the triangles around each point, and the disc of each surfel [m^2], (P,)."""
    each = np.repeat(triangle_areas(picture) / 3.0, 3)
    total = np.bincount(picture.triangles.ravel(), each, minlength=len(picture.points)).astype(np.float64)
    if "radius" in picture.point_fields:
        radius = np.asarray(picture.point_fields["radius"], np.float64)[picture.surfels]
        np.add.at(total, picture.surfels, np.pi * radius**2)
    return total


def coloured_bodies(picture: Picture, field: str) -> set[int]:
    """Bodies that show the field; the others keep a plain colour."""
    if field == "body":
        return set()
    rooms = {body: room_of(picture.kinds.get(body)) for body in picture.names}
    return {body for body, room in rooms.items() if room.moves and not (room.hard and field in ELEMENTS_ONLY)}


def sample(picture: Picture, field: str) -> Floats:
    """Values that are seen, for the range of colours."""
    bodies = list(coloured_bodies(picture, field))
    seen = [
        picture.triangles[np.isin(picture.triangle_body, bodies)].ravel(),
        picture.surfels[np.isin(picture.surfel_body, bodies)],
    ]
    found = values(picture, field)[among(len(picture.points), *seen)]
    return found[np.isfinite(found)]


def limits_of(samples: Floats) -> tuple[float, float]:
    """Range of colours: from 0 (or the lowest negative) to where all but 4 % of what is not zero lies, rounded up."""
    positive = samples[samples > 0.0]
    top = round_up(float(np.quantile(positive, 0.96))) if len(positive) else 1.0
    low = float(samples.min(initial=0.0))
    return (-round_up(-low) if low < 0.0 else 0.0), top


def scale(field: str, samples: Floats, size: float) -> Scale:
    """The colour scale of a field over bodies of a size [m]; where all is below the floor it is drawn as zero, on the bodies' own scale."""
    own, floor = floors(size).get(TITLES.get(field, ("", ""))[1], (1.0, 0.0))
    if len(samples) and float(np.abs(samples).max()) <= floor:
        return Scale(field, 0.0, round_up(own), nothing=floor)
    low, high = limits_of(np.where(np.abs(samples) > floor, samples, 0.0))
    return Scale(field, low, high, largest=float(samples.max(initial=0.0)))


def round_up(value: float) -> float:
    """The next number of the series 1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10, which all divide by four neatly."""
    if not value > 1e-300:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
    return float(power * steps[np.searchsorted(steps, value / power * (1 - 1e-9))])


@dataclass(frozen=True)
class Scale:
    """What a colour bar says."""

    field: str
    low: float
    high: float
    colours: str = "pliant"  # name of a map of `stage.py`
    nothing: float = 0.0  # all values are below this, which counts as zero
    largest: float = 0.0  # of the values that the range was chosen from; few of them have no colour of their own

    @property
    def note(self) -> str:
        """A line under the bar where all is zero, or where values lie above it."""
        if self.nothing:
            return f"all below {self._worded(self.nothing, 2)}"
        return f"largest {self._worded(self.largest, 3)}" if self.largest > self.high * (1.0 + 1e-9) else ""

    def _worded(self, value: float, figures: int) -> str:
        """A value with so many figures and its unit."""
        unit = TITLES.get(self.field, ("", ""))[1]
        size, letter = next((p for p in PREFIXES if value >= 0.9999 * p[0]), PREFIXES[-1]) if unit else (1.0, "")
        return f"{value / size:.{figures}g} {letter}{unit}".strip()

    @property
    def _prefix(self) -> tuple[float, str]:
        """Factor and letter that make the numbers short; only for fields with a unit."""
        if not TITLES.get(self.field, ("", ""))[1]:
            return 1.0, ""
        largest = max(abs(self.low), abs(self.high))
        return next((p for p in PREFIXES if largest >= 0.9999 * p[0]), PREFIXES[-1])

    @property
    def title(self) -> str:
        name, unit = TITLES.get(self.field, (self.field.replace("_", " "), ""))
        return f"{name} [{self._prefix[1]}{unit}]" if unit else name

    @property
    def plain_title(self) -> str:
        """The same with the unit of `low` and `high`, and of values in files."""
        name, unit = TITLES.get(self.field, (self.field.replace("_", " "), ""))
        return f"{name} [{unit}]" if unit else name

    def labels(self, count: int = 5) -> list[str]:
        """Numbers at equal distances from low to high."""
        ticks = np.linspace(self.low, self.high, count) / self._prefix[0]
        return [f"{tick:.4g}" for tick in ticks]

    def fraction(self, values: Floats) -> Floats:
        """Where values lie in the range, 0 to 1; NaN stays."""
        return np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
