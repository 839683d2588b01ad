"""From parameters to cases: grids, lists, samples, tables from files.

`analyse`: Sobol indices by SciPy, the part of a measure's variance that is due to each parameter alone (first order), and with others
(total).
"""

from __future__ import annotations

import csv
import inspect
import itertools
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.spec.units import in_scene_units
from pliant.studies.ledger import write_tables
from pliant.studies.schema import Parameter

if TYPE_CHECKING:
    from pliant.studies.bench import Bench
    from pliant.studies.study import Study


def design(
    kind: str, parameters: Mapping[str, Parameter], samples: int | None, table: Path | None, seed: int
) -> list[dict[str, Any]]:
    """The values of all parameters, a dictionary for each point of the design."""
    if kind == "table" or table is not None:
        if table is None:
            raise PliantError('design = "table" needs `table`, a csv file with a column for each parameter.')
        return read_table(table)
    if kind in ("latin-hypercube", "sobol"):
        return _sampled(kind, parameters, samples, seed)
    for name, each in parameters.items():
        if each.values is None and each.bounds is None:
            raise PliantError(f"The parameter '{name}' has no values: give `values`, or `linear` or `log` with `count`.")
        if each.bounds is not None and each.count is None:
            raise PliantError(f"The parameter '{name}' has a range but no `count`; only samples (design = \"sobol\") need none.")
    columns = [each.points() for each in parameters.values()]
    if kind == "together":
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(f"{name} {len(column)}" for name, column in zip(parameters, columns, strict=True))
            raise PliantError(f'"together" takes the first values of all, then the second, and there are not equally many: {counts}.')
        return [dict(zip(parameters, row, strict=True)) for row in zip(*columns, strict=True)]
    return [dict(zip(parameters, row, strict=True)) for row in itertools.product(*columns)]


def grid(study: Study) -> Iterator[tuple[dict[str, Any], int]]:
    """The points at which a threshold is looked for, with the number of the repetition: those of the other parameters."""
    assert study.find is not None
    others = {name: each for name, each in study.parameters.items() if name != study.find.parameter}
    table = None if study.table is None else study._folder / study.table
    for point in design(study.design, others, study.samples, table, study.seed):
        for repetition in range(study.repeats):
            yield point, repetition


def _sampled(kind: str, parameters: Mapping[str, Parameter], samples: int | None, seed: int) -> list[dict[str, Any]]:
    if not samples:
        raise PliantError(f'design = "{kind}" needs `samples`, how many cases to draw.')
    lacking = [name for name, each in parameters.items() if each.bounds is None]
    if lacking:
        raise PliantError(f'design = "{kind}" draws from ranges, and {lacking[0]} has none: give `linear = [from, to]` or `log`.')
    parts = unit_samples(kind, len(parameters), samples, seed)
    return [{name: each.at(float(u)) for (name, each), u in zip(parameters.items(), row, strict=True)} for row in parts]


def unit_samples(kind: str, width: int, samples: int, seed: int) -> Floats:
    """Points in the unit cube, (samples, width)."""
    from scipy.stats import qmc  # start-up

    make = qmc.Sobol if kind == "sobol" else qmc.LatinHypercube
    word = "rng" if "rng" in inspect.signature(make).parameters else "seed"  # as SciPy calls it since 1.15, and before
    sampler = make(width, **{word: seed})
    if kind == "sobol":
        power = max(0, (samples - 1).bit_length())
        return sampler.random_base2(power)[:samples]
    return sampler.random(samples)


def read_table(path: Path) -> list[dict[str, Any]]:
    """The rows of a csv file, with numbers read (units allowed)."""
    where = lambda k, name: f"{path}, line {k + 2}, {name}"
    return [{name: _number(value, where(k, name)) for name, value in row.items()} for k, row in enumerate(table_texts(path))]


def table_texts(path: Path) -> list[dict[str, str | None]]:
    """The rows of a csv file as they are written."""
    if not path.is_file():
        raise PliantError(f"There is no table {path} (looked from {Path.cwd()}).")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise PliantError(f"{path} has no rows: it needs a line with the names of parameters, and one line for each case.")
    return [{str(name).strip(): value for name, value in row.items()} for row in rows]


def _number(text: str | None, where: str) -> Any:
    if text is None or not text.strip():
        raise PliantError(f"{where}: there is no value.")
    try:
        return float(text)
    except ValueError:
        return in_scene_units(text.strip())


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
