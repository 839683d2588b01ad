"""Sobol indices by SciPy: the part of a measure's variance that is due to each parameter alone (first order), and with others (total)."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.studies.ledger import write_tables

if TYPE_CHECKING:
    from pliant.studies.bench import Bench
    from pliant.studies.study import Study


@dataclass
class Indices:
    """Of one measure."""

    measure: str
    parameters: list[str]
    first: Floats  # (d,)
    total: Floats  # (d,)
    first_low: Floats  # bounds of the confidence intervals
    first_high: Floats
    total_low: Floats
    total_high: Floats
    confidence: float


def analyse(study: Study, bench: Bench, folder: Path) -> dict[str, Indices]:
    """The indices of every measure; the cases of all are the same."""
    from scipy import stats

    asked = study.sensitivity
    assert asked is not None
    names = list(study.parameters)
    for name, each in study.parameters.items():
        if each.bounds is None:
            raise PliantError(f"sensitivity draws from ranges, and the parameter '{name}' has none: give `linear = [from, to]` or `log`.")
    if asked.samples & (asked.samples - 1):
        raise PliantError(f"sensitivity: samples = {asked.samples} must be a power of two, as Sobol sequences are balanced only then.")
    if not names:
        raise PliantError("sensitivity needs parameters with ranges.")
    bench.total = asked.samples * (len(names) + 2)
    measures = asked.measures or study.columns()
    if not measures:
        raise PliantError("sensitivity: say of which measures, `measures = [...]`: those of a function are not known before it is called.")

    def function(x: Floats) -> Floats:
        """(d, n) points of the unit cube to (s, n) measures."""
        points = [{name: study.parameters[name].at(float(u)) for name, u in zip(names, column, strict=True)} for column in x.T]
        done = bench.do([(point, 0) for point in points])
        failed = [(case, result) for case, result in done if result.status != "finished"]
        if failed:
            raise PliantError(
                f"{len(failed)} of {len(done)} cases did not finish, so there are no indices; the first: {failed[0][1].reason} "
                "Narrow the ranges, or mend what fails and use --retry failed."
            )
        return np.array([[float(result.measures[name]) for _, result in done] for name in measures])

    word = "rng" if "rng" in inspect.signature(stats.sobol_indices).parameters else "random_state"
    found: Any = stats.sobol_indices(func=function, n=asked.samples, dists=[stats.uniform()] * len(names), **{word: study.seed})
    with warnings.catch_warnings():  # a parameter without any effect has no spread to speak of
        warnings.simplefilter("ignore")
        spread = found.bootstrap(confidence_level=asked.confidence)
    rows = len(measures)
    shape = lambda values: np.asarray(values, dtype=np.float64).reshape(rows, len(names))
    first, total = shape(found.first_order), shape(found.total_order)
    bounds = lambda index, values: (np.where(np.isnan(low := shape(end)), values, low) for end in index.confidence_interval)
    (first_low, first_high), (total_low, total_high) = bounds(spread.first_order, first), bounds(spread.total_order, total)
    all_indices = {
        name: Indices(name, names, first[k], total[k], first_low[k], first_high[k], total_low[k], total_high[k], asked.confidence)
        for k, name in enumerate(measures)
    }
    table = [
        {"measure": name, "parameter": parameter, "first": i.first[k], "first_low": i.first_low[k], "first_high": i.first_high[k],
         "total": i.total[k], "total_low": i.total_low[k], "total_high": i.total_high[k]}
        for name, i in all_indices.items() for k, parameter in enumerate(names)
    ]  # fmt: skip
    write_tables(folder / "sensitivity", {column: [row[column] for row in table] for column in table[0]})
    return all_indices
