"""Parameters from measured curves by least squares, with what is known of their uncertainty.

    minimise S(p) = sum over curves and points of ((y_model - y_measured) / w)^2,

w the noise of the curve, or the size of its largest value if the noise is not known and is to be estimated. Inside, parameters run from
0 to 1 over their range (linear or log). With J the derivatives of the residuals at the optimum and s^2 = S / (n - k) (1 for known noise),
the covariance is s^2 (J^T J)^-1, and the joint region of confidence 1 - a is where
    (p - p*)^T J^T J (p - p*) <= k s^2 F(k, n - k; 1 - a)          (chi squared for known noise).
A profile fits all other parameters again for values of one: where the signed root of (S - S*)/s^2 bends, the region is lopsided.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.live.pack import plain
from pliant.spec.units import in_scene_units
from pliant.studies.ledger import put
from pliant.studies.schema import Calibrate, Curve, Fitted

if TYPE_CHECKING:
    from pliant.studies.bench import Bench
    from pliant.studies.study import Study

ALIKE = 0.95  # correlation of two parameters above which data are said not to tell them apart
WIDE = 0.5  # of a parameter's range: a standard error beyond it says that the data do not see the parameter


@dataclass
class Measured:
    """A measured curve."""

    x: Floats
    y: Floats
    weight: float
    spec: Curve


@dataclass
class Profile:
    """Fits of all other parameters with one held."""

    values: Floats  # of the parameter that is held
    roots: Floats  # signed root of (S - S*)/s^2
    low: float  # bounds of its 95 % interval, by these; NaN: beyond the points
    high: float


@dataclass
class Fit:
    """What was fitted, and how well it is known."""

    names: list[str]
    values: Floats  # (k,)
    errors: Floats  # (k,) standard errors
    covariance: Floats  # (k, k), of the parameters themselves
    correlation: Floats  # (k, k)
    low: Floats  # (k,) 95 % intervals of each parameter by itself
    high: Floats
    spread: float  # s: estimated noise, in parts of each curve's weight
    misfit: float  # S at the optimum
    points: int
    cases: int
    iterations: int
    message: str
    warnings: list[str]
    curves: list[tuple[Measured, Floats]]  # measured, and the fitted model at the same x
    profiles: dict[str, Profile] = field(default_factory=dict)
    covers: Callable[[Sequence[float], float], bool] = field(default=lambda truth, confidence: False, repr=False)

    def facts(self) -> dict[str, Any]:
        """For calibration.json."""
        per = {
            name: {"value": float(self.values[k]), "error": float(self.errors[k]), "low": float(self.low[k]), "high": float(self.high[k])}
            for k, name in enumerate(self.names)
        }
        profiles = {name: vars(each) for name, each in self.profiles.items()}
        kept = ("spread", "misfit", "points", "cases", "iterations", "message", "warnings")
        found = {"parameters": per, "covariance": self.covariance, "correlation": self.correlation, "profiles": profiles}
        return plain(found | {name: getattr(self, name) for name in kept})


# ---- measured curves


def read_curve(curve: Curve, folder: Path) -> Measured:
    """The columns of a csv file or of a mapping."""
    columns = curve.data if isinstance(curve.data, Mapping) else _columns(folder / str(curve.data))
    for name in (curve.x, curve.y):
        if name not in columns:
            raise PliantError(f"{_called(curve)} has no column '{name}': {nearest(name, columns)}")
    x, y = (np.asarray(columns[name], dtype=np.float64) for name in (curve.x, curve.y))
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < 2:
        raise PliantError(f"{_called(curve)} has {int(known.sum())} points of {curve.y} over {curve.x}; a curve needs two or more.")
    order = np.argsort(x[known], kind="stable")
    x, y = x[known][order], y[known][order]
    return Measured(x, y, curve.noise or float(np.abs(y).max()) or 1.0, curve)


def _called(curve: Curve) -> str:
    return str(curve.data) if not isinstance(curve.data, Mapping) else "the measured curve"


def _columns(path: Path) -> dict[str, list[float]]:
    if not path.is_file():
        raise PliantError(f"There is no file {path} with measured data.")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if line.strip() and not line.startswith("#")))
    try:
        return {str(name).strip(): [float(row[name]) for row in rows] for name in (rows[0] if rows else {})}
    except (TypeError, ValueError) as error:
        raise PliantError(f"{path}: every cell below the line of names must be a number: {error}.") from None


def curves_of(asked: Calibrate, folder: Path) -> tuple[tuple[str, str, tuple[float, ...]], ...]:
    """What cases are to give back: y over x at the measured points."""
    return tuple((c.x, c.y, tuple(read_curve(c, folder).x.tolist())) for c in asked.curves)


# ---- fitting


class _Model:
    """Residuals and their derivatives, a batch of cases at a time."""

    def __init__(self, study: Study, bench: Bench, measured: list[Measured]) -> None:
        assert study.calibrate is not None
        self.bench, self.measured, self.asked = bench, measured, study.calibrate
        self.specs: dict[str, Fitted] = study.calibrate.parameters
        self.known: dict[tuple[float, ...], Floats] = {}

    def value(self, name: str, u: float) -> float:
        low, high = self.specs[name].between
        return float(low * (high / low) ** u) if self.specs[name].scale == "log" else float(low + u * (high - low))

    def part(self, name: str, value: float) -> float:
        low, high = self.specs[name].between
        return float(np.log(value / low) / np.log(high / low)) if self.specs[name].scale == "log" else float((value - low) / (high - low))

    def slope(self, name: str, u: float) -> float:
        """Of the value over u."""
        low, high = self.specs[name].between
        return float(self.value(name, u) * np.log(high / low)) if self.specs[name].scale == "log" else float(high - low)

    def residuals(self, batch: Sequence[Floats]) -> list[Floats]:
        """Of several sets of parameters at once."""
        missing = [u for u in batch if tuple(u) not in self.known]
        points = [({name: self.value(name, float(part)) for name, part in zip(self.specs, u, strict=True)}, 0) for u in missing]
        for u, (case, result) in zip(missing, self.bench.do(points), strict=True):
            if result.status != "finished":
                at = ", ".join(f"{name} = {case.parameters[name]:.6g}" for name in self.specs)
                raise PliantError(f"The case at {at} did not finish, so the fit cannot go on: {result.reason} Narrow `between`.")
            misfits = [(np.array(y) - m.y) / m.weight for y, m in zip(result.curves, self.measured, strict=True)]
            self.known[tuple(u)] = np.concatenate(misfits)
        return [self.known[tuple(u)] for u in batch]

    def jacobian(self, u: Floats, free: Sequence[int] | None = None) -> Floats:
        """Central differences, one-sided at the bounds; all cases at the same time."""
        free = range(len(u)) if free is None else free
        h = self.asked.difference
        ends = [(np.clip(u + s * h * np.eye(len(u))[k], 0.0, 1.0)) for k in free for s in (1.0, -1.0)]
        found = self.residuals(ends)
        columns = [(found[2 * i] - found[2 * i + 1]) / (ends[2 * i][k] - ends[2 * i + 1][k]) for i, k in enumerate(free)]
        return np.stack(columns, axis=1)

    def fit(self, start: Floats, free: Sequence[int]) -> Any:
        """The best values of the free ones, with the others as they are."""
        from scipy.optimize import least_squares

        def whole(part: Floats) -> Floats:
            u = start.copy()
            u[list(free)] = part
            return u

        tolerance = self.asked.tolerance
        return least_squares(
            lambda part: self.residuals([whole(part)])[0], start[list(free)], jac=lambda part: self.jacobian(whole(part), free),
            bounds=(0.0, 1.0), xtol=tolerance, ftol=tolerance, gtol=None, max_nfev=40,
        )  # fmt: skip


def calibrate(study: Study, bench: Bench, folder: Path) -> Fit:
    """Fit, and say how well the parameters are known."""
    asked = study.calibrate
    assert asked is not None
    for curve in asked.curves:
        for name in (curve.y, *([] if curve.x == "time" else [curve.x])):
            if name not in study.measures:
                raise PliantError(f"calibrate: there is no measure '{name}' to compare with: {nearest(name, study.measures)}")
    measured = [read_curve(curve, study._folder) for curve in asked.curves]
    model = _Model(study, bench, measured)
    names = list(asked.parameters)
    start = np.clip([model.part(name, _start(study, name, asked.parameters[name])) for name in names], 0.01, 0.99)
    found = model.fit(np.asarray(start, dtype=np.float64), range(len(names)))
    fit = _judged(model, found, names)
    if asked.profile:
        fit.profiles = {name: _profiled(model, fit, found.x, k, asked.profile) for k, name in enumerate(names)}
    fit.cases = len(bench.cases)
    put(folder / "calibration.json", json.dumps(fit.facts(), indent=2).encode())
    return fit


def _start(study: Study, name: str, spec: Fitted) -> float:
    """Where to begin: as said, or the scene's value, or the middle."""
    if spec.start is not None:
        return float(in_scene_units(spec.start))
    low, high = spec.between
    try:
        scene = study.scene_of({})
        assert scene is not None
        value = float(scene.value(next(iter(spec.paths)) if spec.paths else name))
    except (PliantError, TypeError, ValueError):
        value = np.nan
    return value if low < value < high else float(np.sqrt(low * high) if spec.scale == "log" else 0.5 * (low + high))


def _judged(model: _Model, found: Any, names: list[str]) -> Fit:
    """Uncertainty from the derivatives at the optimum."""
    from scipy import stats

    u, r, jacobian = found.x, found.fun, model.jacobian(found.x)
    n, k = jacobian.shape
    known_noise = all(m.spec.noise is not None for m in model.measured)
    if n <= k and not known_noise:
        raise PliantError(f"{n} measured points cannot tell {k} parameters and the noise: measure more, or say the noise of each curve.")
    misfit = float(r @ r)
    variance = 1.0 if known_noise else misfit / (n - k)
    normal = jacobian.T @ jacobian
    inverse = np.linalg.pinv(normal, hermitian=True)
    blind = np.diag(normal) <= 1e-12 * np.diag(normal).max(initial=0.0)
    scaled = variance * inverse
    errors = np.where(blind, np.inf, np.sqrt(np.maximum(np.diag(scaled), 0.0)))
    slopes = np.array([model.slope(name, float(part)) for name, part in zip(names, u, strict=True)])
    size = np.sqrt(np.outer(np.diag(scaled), np.diag(scaled)))
    correlation = np.divide(scaled, size, out=np.eye(k), where=size > 0.0)
    t = stats.norm.ppf(0.975) if known_noise else stats.t.ppf(0.975, n - k)
    low, high = ([model.value(name, float(np.clip(u[i] + s * t * errors[i], 0.0, 1.0))) for i, name in enumerate(names)] for s in (-1, 1))

    def covers(truth: Sequence[float], confidence: float = 0.95) -> bool:
        away = np.array([model.part(name, value) for name, value in zip(names, truth, strict=True)]) - u
        limit = stats.chi2.ppf(confidence, k) if known_noise else k * stats.f.ppf(confidence, k, n - k)
        return bool(away @ normal @ away <= variance * limit)

    splits = np.cumsum([len(m.y) for m in model.measured])[:-1]
    fitted = [m.y + m.weight * part for m, part in zip(model.measured, np.split(r, splits), strict=True)]
    return Fit(
        names, np.array([model.value(name, float(part)) for name, part in zip(names, u, strict=True)]), errors * slopes,
        scaled * np.outer(slopes, slopes), correlation, np.array(low), np.array(high), float(np.sqrt(variance)), misfit, n, 0,
        int(found.nfev), str(found.message), _warned(names, u, errors, correlation), list(zip(model.measured, fitted, strict=True)),
        covers=covers,
    )  # fmt: skip


def _warned(names: list[str], u: Floats, errors: Floats, correlation: Floats) -> list[str]:
    """Where the data cannot tell."""
    said = []
    for k, name in enumerate(names):
        if not errors[k] <= WIDE:
            said.append(f"The data do not see {name}: its standard error is wider than half its range. Measure something that it changes.")
        if u[k] < 1e-3 or u[k] > 1.0 - 1e-3:
            said.append(f"{name} ended at the {'lower' if u[k] < 0.5 else 'upper'} end of its range: widen `between`.")
        for j in range(k):
            if abs(correlation[k, j]) > ALIKE:
                how = "the sum" if correlation[k, j] < 0 else "the difference"
                said.append(
                    f"The data cannot tell {names[j]} and {name} apart (correlation {correlation[k, j]:+.3f}): {how} of their changes is "
                    "known, not each. Hold one of them, or add a measurement that they change differently."
                )
    return said


def _profiled(model: _Model, fit: Fit, best: Floats, k: int, points: int) -> Profile:
    """Hold one parameter at standard errors away from its best value, and fit the others again."""
    from scipy import stats

    others = [j for j in range(len(best)) if j != k]
    error = float(fit.errors[k] / model.slope(fit.names[k], float(best[k])))
    known_noise = all(m.spec.noise is not None for m in model.measured)
    t = stats.norm.ppf(0.975) if known_noise else stats.t.ppf(0.975, fit.points - len(best))
    steps = np.linspace(-1.3 * t, 1.3 * t, 2 * points + 1)
    values, roots = [], []
    for step in steps:
        u = best.copy()
        u[k] = np.clip(best[k] + step * error, 0.0, 1.0)
        if step == 0.0:
            misfit = fit.misfit
        elif others:
            misfit = float(2.0 * model.fit(u, others).cost)
        else:
            misfit = float(np.sum(model.residuals([u])[0] ** 2))
        values.append(model.value(fit.names[k], float(u[k])))
        roots.append(np.sign(step) * np.sqrt(max(misfit - fit.misfit, 0.0)) / fit.spread)
    found, order = np.array(roots), np.argsort(roots, kind="stable")
    ends = np.interp([-t, t], found[order], np.array(values)[order], left=np.nan, right=np.nan)
    return Profile(np.array(values), found, float(ends[0]), float(ends[1]))
