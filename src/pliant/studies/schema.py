"""What a study says besides its scene: parameters, measures, and the questions it can ask. Plain checked data, as in scenes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

from pliant.base import nearest
from pliant.spec.fields import Positive, Spec, Vector
from pliant.spec.units import in_scene_units, is_quantity

EVENTS = {"touches": ("contacts", 0.0), "tears": ("pieces", 0.0), "slips": ("slip", None)}  # quantity, and what it is above then
Between = tuple[float, float]


def _range(value: Any) -> Any:
    return in_scene_units(list(value)) if isinstance(value, list | tuple) else value


Range = Annotated[Between, BeforeValidator(_range)]
"""two numbers, with units if need be"""


class Told(Spec):
    """What has values with units; the text is kept, for which unit fits is known when there is a scene."""

    _texts: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _keep_texts(cls, given: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        made = handler(given)
        if isinstance(given, Mapping):
            rows = [given.get(name) for name in ("values", "linear", "log", "between", "start")]
            each = [value for row in rows for value in (row if isinstance(row, list | tuple) else [row])]
            made._texts = tuple(value for value in each if is_quantity(value))
        return made

    @property
    def texts(self) -> tuple[str, ...]:
        """All its values that were written with a unit."""
        return self._texts


class Parameter(Told):
    """What differs from case to case: a list of values, or a range."""

    values: list[Any] | None = None
    """one after the other; numbers may have units"""
    linear: Range | None = None
    """from, to: `count` values at equal distances, or the range that a sample is drawn from"""
    log: Range | None = None
    """the same with equal ratios"""
    count: Annotated[int, Field(ge=1)] | None = None
    """how many of a range"""
    paths: dict[str, float] | list[str] | None = None
    """where in the scene the value goes, with factors if need be: {"left.loads[0].value[0]" = 1, "right.loads[0].value[0]" = -1}; None:
    the name of the parameter is the path"""

    @model_validator(mode="after")
    def _one(self) -> Parameter:
        if sum(each is not None for each in (self.values, self.linear, self.log)) > 1:
            raise ValueError("give one of `values`, `linear` and `log`")
        if self.log is not None and min(self.log) <= 0.0:
            raise ValueError("equal ratios need bounds above 0")
        return self

    @property
    def bounds(self) -> Between | None:
        """The range, if it has one."""
        return self.linear or self.log

    def at(self, part: float) -> float:
        """The value at a part (0 to 1) of the range."""
        assert self.bounds is not None
        low, high = self.bounds
        if part in (0.0, 1.0):  # no rounding at the ends
            return high if part else low
        return low * (high / low) ** part if self.log else low + part * (high - low)

    def points(self) -> list[Any]:
        """All its values, for a grid."""
        if self.values is not None:
            return [in_scene_units(value) for value in self.values]
        count = self.count or 1
        return [self.at(k / (count - 1) if count > 1 else 0.5) for k in range(count)]


def _parameter(value: Any) -> Any:
    return {"values": value} if isinstance(value, list | tuple) else value


class Measure(Spec):
    """One number of a run."""

    of: Any
    """a quantity (see `pliant study --measures`), an event (touches, slips, tears), or a function of the run, "file.py:name" """
    pair: list[str] | None = None
    """two bodies, the first of which feels the force; one: it and anything"""
    body: str | None = None
    """the body of a point"""
    at: Vector | None = None
    """[m] the skin point of the body that is nearest at the start; without it or `vertex` the centre of mass"""
    vertex: int | None = None
    """or a skin point by its number"""
    relative_to: str | None = None
    """a body: motion as seen from its centre of mass"""
    component: Literal["x", "y", "z", "size"] = "size"
    """of a vector"""
    take: Literal["last", "first", "peak", "lowest", "mean", "integral", "when", "ever"] | None = None
    """what of its history; None: "last", for events "ever" """
    window: Positive | None = None
    """[s] take it of means over this time"""
    between: tuple[float, float] | None = None
    """[s] only of the steps between these times"""
    above: Any = None
    """for "when" and "ever": a bound, with a unit if need be"""
    below: Any = None
    """the same"""

    @model_validator(mode="after")
    def _sense(self) -> Measure:
        from pliant.measure.watch import QUANTITIES  # NumPy kernels: start-up

        if callable(self.of) or ":" in str(self.of):
            return self
        if self.of not in QUANTITIES and self.of not in EVENTS:
            raise ValueError(f"there is no quantity '{self.of}': {nearest(str(self.of), [*QUANTITIES, *EVENTS])}")
        if self.pair is not None and not 1 <= len(self.pair) <= 2:
            raise ValueError("pair is one or two bodies")
        take, _, above, below = self.rule()
        if take in ("when", "ever") and above is None and below is None:
            raise ValueError(f"take = \"{take}\" of {self.of} needs a bound: `above` or `below`")
        if take not in ("when", "ever") and (above is not None or below is not None) and self.of not in EVENTS:
            event = next((f', or of = "{name}"' for name, (quantity, _) in EVENTS.items() if quantity == self.of), "")
            raise ValueError('`above` and `below` are for take = "when" and take = "ever"' + event)
        return self

    @property
    def function(self) -> bool:
        """Whether it is a function of the run."""
        return callable(self.of) or ":" in str(self.of)

    def rule(self) -> tuple[str, str, float | None, float | None]:
        """What is taken, of which quantity, and its bounds in SI units."""
        quantity, least = EVENTS.get(self.of, (self.of, None))
        bound = in_scene_units(self.above)
        above = least if bound is None else bound
        return self.take or ("ever" if self.of in EVENTS else "last"), quantity, above, in_scene_units(self.below)


class Find(Told):
    """Where a yes-or-no condition changes, by bisection."""

    parameter: str
    """what is varied: a name of the study's parameters, or a path"""
    between: Range
    """where to look; the condition must differ at its ends"""
    condition: str
    """a measure compared with a number, "drop > 5mm", or a measure that is 1 or 0, "slips" or "not slips" """
    tolerance: Any
    """width of the bracket at which to stop; "2%" is meant of the threshold"""
    scale: Literal["linear", "log"] = "linear"
    """halve differences or ratios"""


class Curve(Spec):
    """A measured curve, and what it is compared with."""

    data: Any
    """a csv file with a line of names above its columns, or in Python a mapping of names to numbers"""
    y: str
    """a column, and the measure whose history it is compared with"""
    x: str = "time"
    """a column, and the measure over which it is drawn (as far as it rises); or time [s]"""
    noise: Positive | None = None
    """standard deviation of y; None: estimated from the misfit, as a part of the largest y of each curve"""


class Fitted(Told):
    """A parameter to be fitted."""

    start: Any = None
    """where to begin; None: the scene's value, or the middle of the range"""
    between: Range
    """bounds"""
    scale: Literal["linear", "log"] = "linear"
    """log: fitted as its logarithm, for what may differ by powers of ten"""
    paths: dict[str, float] | list[str] | None = None
    """as of any parameter"""


class Calibrate(Spec):
    """Parameters fitted to measured curves by least squares."""

    curves: list[Curve]
    """what was measured"""
    parameters: dict[str, Fitted]
    """what is fitted"""
    profile: Annotated[int, Field(ge=0)] = 0
    """points on each side at which the others are fitted again, to see whether the uncertainty is lopsided; 0: none"""
    difference: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    """of the range (or of the logarithm's unit): step of the finite differences"""
    tolerance: Positive = 1e-4
    """relative change of parameters or misfit at which to stop"""


class Sensitivity(Spec):
    """Sobol indices: how much of the scatter of each measure is due to each parameter."""

    samples: Annotated[int, Field(ge=2)] = 64
    """a power of two; cases are samples times (parameters + 2)"""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """of the bars"""
    measures: list[str] | None = None
    """which; None: all"""


AnyParameter = Annotated[Parameter, BeforeValidator(_parameter)]


def _measure(value: Any) -> Any:
    return {"of": value} if isinstance(value, str) or callable(value) else value


AnyMeasure = Annotated[Measure, BeforeValidator(_measure)]


def targets(name: str, parameter: Parameter | Fitted | None, value: Any) -> Mapping[str, Any]:
    """Where in the scene a value of a parameter goes, and what goes there."""
    paths = None if parameter is None else parameter.paths
    if not paths:
        return {name: value}
    return {path: value for path in paths} if isinstance(paths, list) else {path: factor * value for path, factor in paths.items()}
