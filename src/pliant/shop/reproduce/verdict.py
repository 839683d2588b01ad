"""What is published, what was measured, and whether they agree: a pure function of measured numbers.

A claim names a measured number, what the source says of it, and a bar: the range in which the number must lie to agree, which is printed.
A claim without a bar is shown only. Experiments measure (`Experiment.measure`), this file judges; nothing here runs anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pliant.base import PliantError

AGREES, DIFFERS, SHOWN, SKIPPED = "agrees", "differs", "shown only", "not asked in --quick"


@dataclass(frozen=True)
class Bar:
    """An open range; what is not a number is outside."""

    low: float
    high: float
    text: str

    def holds(self, value: float) -> bool:
        """Whether a number is inside."""
        return self.low < value and (value < self.high or math.isinf(self.high))


def below(high: float) -> Bar:
    """Less than a number."""
    return Bar(-math.inf, high, f"below {high:.10g}")


def above(low: float) -> Bar:
    """More than a number."""
    return Bar(low, math.inf, f"above {low:.10g}")


def between(low: float, high: float) -> Bar:
    """Between two numbers."""
    return Bar(low, high, f"{low:g} to {high:g}")


def near(value: float, part: float) -> Bar:
    """A number, within a part of it."""
    room = part * abs(value)
    return Bar(value - room, value + room, f"{value:.6g} within {100 * part:g} %")


def within(value: float, room: float) -> Bar:
    """A number, give or take some."""
    return Bar(value - room, value + room, f"{value:.10g} within {room:g}")


def exactly(count: int) -> Bar:
    """A count."""
    return Bar(count - 0.5, count + 0.5, f"exactly {count}")


def times(value: float, factor: float) -> Bar:
    """A number, within a factor."""
    return Bar(value / factor, value * factor, f"{value:.6g} within a factor of {factor:g}")


@dataclass(frozen=True)
class Claim:
    """One published statement, and how it is judged."""

    key: str  # of the measured number
    what: str
    published: str  # in the source's words or numbers
    bar: Bar | None = None  # None: the source has nothing to compare with
    unit: str = ""
    why: str = ""  # what the source left open, or why it may differ
    whole: bool = False  # only asked of the whole experiment, not with --quick


@dataclass(frozen=True)
class Line:
    """A claim, judged."""

    what: str
    published: str
    here: str
    tolerance: str
    verdict: str
    why: str = ""
    value: float = math.nan

    @property
    def agrees(self) -> bool | None:
        """None where nothing was judged."""
        return {AGREES: True, DIFFERS: False}.get(self.verdict)

    def text(self) -> str:
        bar = f" (asked: {self.tolerance})" if self.tolerance else ""
        return f"{self.what}: published {self.published} / here {self.here} / {self.verdict}{bar}" + (f"; {self.why}" if self.why else "")


def judge(claims: Iterable[Claim], measured: Mapping[str, float], quick: bool = False) -> list[Line]:
    """A line for each claim. A number that no claim asks for, or a claim without its number, is a mistake of the experiment."""
    claims = list(claims)
    known = {claim.key for claim in claims}
    for key in measured:
        if key not in known:
            raise PliantError(f"'{key}' was measured, and no claim asks for it.")
    return [_line(claim, measured, quick) for claim in claims]


def _line(claim: Claim, measured: Mapping[str, float], quick: bool) -> Line:
    bar = "" if claim.bar is None else claim.bar.text
    if claim.key not in measured:
        if not (quick and claim.whole):
            raise PliantError(f"'{claim.key}' was not measured: {claim.what}.")
        return Line(claim.what, claim.published, "-", bar, SKIPPED, claim.why)
    value = float(measured[claim.key])
    verdict = SHOWN if claim.bar is None else AGREES if claim.bar.holds(value) else DIFFERS
    narrow = claim.bar is not None and claim.bar.high - claim.bar.low < 1e-6
    here = f"{value:.10g}" if narrow or (abs(value) < 1e6 and value == round(value)) else f"{value:.4g}"  # counts in full
    return Line(claim.what, claim.published, f"{here} {claim.unit}".strip(), bar, verdict, claim.why, value)
