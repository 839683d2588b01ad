"""What an experiment is: numbers that it measures, claims that judge them, figures that it draws; and the desk it works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pliant.base import PliantError, nearest
from pliant.shop.reproduce.verdict import Claim

Measured = dict[str, float]

# What a user's own surface can stand for; those made by code stand for the scans of the sources.
PARTS = {
    "head": "a bust or head that looks along +x", "other-head": "the second of two heads", "foot": "a foot, sole down",
    "ball": "the ball of a joint", "socket": "the socket of a joint, open upwards", "bunny": "a soft body of free form",
    "teapot": "a second one",
}  # fmt: skip


@dataclass(frozen=True)
class Scan:
    """A user's own surface."""

    file: str
    unit: str = "m"
    up: str = "z"

    def shape(self, **more: Any) -> dict[str, Any]:
        """As a scene names it."""
        return dict(file=self.file, unit=self.unit, up=self.up, **more)


@dataclass(frozen=True)
class Desk:
    """Where an experiment works and what it was given."""

    folder: Path
    quick: bool = False
    scans: Mapping[str, Scan] = field(default_factory=dict)  # by part
    heard: Callable[[float], object] = lambda part: None

    def at(self, part: float) -> None:
        """Tell how much is done, 0 to 1."""
        self.heard(min(max(part, 0.0), 1.0))

    def path(self, name: str) -> Path:
        """A file of this experiment."""
        return self.folder / name

    def either(self, whole: Any, quick: Any) -> Any:
        """One value for the whole experiment, another for the quick one."""
        return quick if self.quick else whole


@dataclass(frozen=True)
class Figure:
    """A picture that the experiment makes, beside what the source has there."""

    file: str
    shows: str
    source: str = ""  # which figure, and what it shows
    whole: bool = False  # not drawn with --quick


@dataclass(frozen=True)
class Experiment:
    """A published experiment. The docstring of `measure` says what is done and what the source left open."""

    measure: Callable[[Desk], Measured]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...] = ()
    parts: tuple[str, ...] = ()  # that a user's own surface can stand for

    @property
    def about(self) -> str:
        return " ".join((self.measure.__doc__ or "").split())


def scans_from(given: list[str], unit: str, up: str) -> dict[str, Scan]:
    """PART=FILE pairs of the command line."""
    found = {}
    for item in given:
        part, sign, file = item.partition("=")
        if not sign or not file:
            raise PliantError(f"--scan takes PART=FILE, not '{item}'; parts are {', '.join(PARTS)}.")
        if part not in PARTS:
            raise PliantError(f"--scan {item}: no experiment has a part '{part}': {nearest(part, PARTS)}")
        if not Path(file).exists():
            raise PliantError(f"--scan {item}: there is no file {file}.")
        found[part] = Scan(str(Path(file).resolve()), unit, up)
    return found
