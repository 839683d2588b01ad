"""A study: one scene, parameters that differ from case to case, and what is measured of each. See docs/studies.md."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from pliant.base import PliantError, nearest
from pliant.disk import read_text
from pliant.paths import check_unit, unit_at
from pliant.scene import Scene, parsed
from pliant.spec.fields import Positive, Spec
from pliant.spec.units import QUANTITY, in_scene_units, is_quantity, read, scene_unit
from pliant.studies.schema import AnyMeasure, AnyParameter, Calibrate, Find, Sensitivity, targets
from pliant.studies.sensitivity import design, grid, table_texts

if TYPE_CHECKING:
    from pandas import DataFrame
    from typing_extensions import Unpack

    from pliant.spec.typed import StudyFields
    from pliant.studies.bench import Bench, Progress
    from pliant.studies.calibrate import Fit
    from pliant.studies.case import Case
    from pliant.studies.find import Threshold
    from pliant.studies.sensitivity import Indices
    from pliant.studies.work import Result

RETRY = ("failed", "timeout", "died")
OF_SCENES = (
    "a study has no bodies and none of the other fields of a scene: it names one, scene = \"FILE.toml\", sets values in it by their paths, "
    "set = { dt = \"1ms\" }, and says which parameters vary and what is measured (docs/studies.md); a scene alone is run by `pliant run`"
)


class Study(Spec):
    """Many runs of a scene: a sweep, a search for thresholds, a calibration or a sensitivity analysis."""

    if TYPE_CHECKING:

        def __init__(self, **values: Unpack[StudyFields]) -> None: ...

    name: str = ""
    """names the folder of the results; empty: the name of the file or of the scene"""
    about: str = ""
    """what is asked"""
    scene: Any = None
    """a scene file, the name of a shipped scene, a function of the parameters ("file.py:name"), or in Python a Scene or a function"""
    call: Any = None
    """instead of a scene: a function of the parameters ("file.py:name") that returns a number or a dictionary of numbers"""
    set: dict[str, Any] = {}
    """values that are the same in all cases, by path"""
    parameters: dict[str, AnyParameter] = {}
    """what differs, by path or by the name of the scene's parameter"""
    design: Literal["grid", "together", "latin-hypercube", "sobol", "table"] = "grid"
    """all combinations; first values, second values, ...; samples of ranges; or the rows of `table`"""
    samples: Annotated[int, Field(ge=1)] | None = None
    """how many samples to draw"""
    table: str | None = None
    """a csv file with a column for each parameter and a row for each case"""
    repeats: Annotated[int, Field(ge=1)] = 1
    """runs of each point, each with a seed of its own, which a function gets as `seed`"""
    seed: int = 0
    """from which the seeds of the cases and the samples follow"""
    measures: dict[str, AnyMeasure] = {}
    """what is measured, by the name of its column"""
    keep: list[Literal["nothing", "histories", "run", "picture"]] | Literal["nothing", "histories", "run", "picture"] = "nothing"
    """of each case: histories of the measures, its run file, a picture of its end"""
    every: Positive | None = None
    """[s] between frames of run files; None: a 100th of the run"""
    find: Find | None = None
    """look for a threshold instead of running all points"""
    calibrate: Calibrate | None = None
    """fit parameters to measured curves"""
    sensitivity: Sensitivity | None = None
    """Sobol indices of the measures over the ranges of the parameters"""

    _folder: Path = PrivateAttr(default_factory=Path)  # from which files are named
    _source: Any = PrivateAttr(default=None)  # of scenes, made when the first is asked for

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        return f"{OF_SCENES}." if key in Scene.model_fields else None

    @model_validator(mode="after")
    def _sense(self) -> Study:
        if (self.scene is None) == (self.call is None):
            raise ValueError("give a `scene`, or a function to `call` instead")
        if self.call is not None and (self.measures or self.set or self.calibrate or self.keep not in ("nothing", ["nothing"])):
            raise ValueError("a function to `call` measures by itself: `measures`, `set`, `keep` and `calibrate` are for scenes")
        if sum(each is not None for each in (self.find, self.calibrate, self.sensitivity)) > 1:
            raise ValueError("ask one thing: `find`, `calibrate` or `sensitivity`")
        taken = {"case", "status", "reason", "seconds", "steps", "stepping", "seed", "version", "cpu", "key", "time"}
        for name in self.measures:
            if name in taken or name in self.parameters:
                raise ValueError(f"a measure cannot be named '{name}', which is a column of the table already")
        if self.find is not None and self.call is None:
            condition_of(self.find.condition, list(self.measures))
        return self

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a study file; files that it names are beside it."""
        path = Path(path)
        if not path.is_file():
            raise PliantError(f"There is no study file {path} (looked from {Path.cwd()}).")
        try:
            study = cls(**parsed(read_text(path), str(path)))
        except PliantError as error:
            raise PliantError(f"In {path}: {error}") from None
        study._folder = path.parent
        study.name = study.name or path.stem
        return study

    def __repr__(self) -> str:
        kind = next((word for word in ("find", "calibrate", "sensitivity") if getattr(self, word) is not None), self.design)
        varied = self.parameters or (self.calibrate.parameters if self.calibrate else {})
        measured = ", ".join(self.measures) or "of its function"
        return f"Study '{self.named()}': {kind} over {', '.join(varied) or 'nothing'}; measures {measured}"

    __str__ = __repr__

    # -- cases

    def _repr_html_(self) -> str:
        from pliant.studies.card import asked  # start-up: only notebooks ask for it

        return asked(self)

    @property
    def _known(self) -> dict[str, Any]:
        """All parameters, those that are fitted too."""
        return {**self.parameters, **(self.calibrate.parameters if self.calibrate else {})}

    def points(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Values of the parameters and number of the repetition, for each case of a sweep."""
        table = None if self.table is None else self._folder / self.table
        for values in design(self.design, self.parameters, self.samples, table, self.seed):
            for repetition in range(self.repeats):
                yield values, repetition

    def scene_of(self, values: Mapping[str, Any], seed: int = 0) -> Scene | None:
        """The scene of a case; None: a function is called instead."""
        if self.call is not None:
            return None
        from pliant.studies.source import Source  # shipped scenes: start-up

        if self._source is None or self._source[0] is not self.scene:
            self._source = (self.scene, Source(self.scene, self._folder))
        placed: dict[str, Any] = dict(self.set)
        for name, value in values.items():
            placed |= targets(name, self._known.get(name), value)
        return self._source[1].make(placed, seed)

    def seed_of(self, values: Mapping[str, Any], repetition: int) -> int:
        """The seed of a case: it follows from the study's seed and the values, so cases that are added change no others."""
        said = json.dumps([self.seed, dict(values), repetition], sort_keys=True, default=str)
        return int(hashlib.sha256(said.encode()).hexdigest()[:8], 16)

    def common(self, timeout: float | None = None) -> dict[str, Any]:
        """What all cases share."""
        from pliant.studies.calibrate import curves_of  # start-up
        from pliant.studies.source import by_value, load_function

        keep = [self.keep] if isinstance(self.keep, str) else self.keep
        functions = {}
        if self.call is not None:
            functions[""] = self.call if callable(self.call) else load_function(self.call, self._folder)
            by_value(functions[""])
        for name, measure in self.measures.items():
            if measure.function:
                functions[name] = measure.of if callable(measure.of) else load_function(measure.of, self._folder)
                by_value(functions[name])
        plain = {name: measure.stated() for name, measure in self.measures.items() if not measure.function}
        curves = curves_of(self.calibrate, self._folder) if self.calibrate else ()
        kept = tuple(sorted({each for each in keep if each != "nothing"}))
        return {"measures": plain, "functions": functions, "curves": curves, "keep": kept, "every": self.every, "timeout": timeout}

    def columns(self) -> list[str]:
        """Names of the measures; those of functions follow from what they return."""
        return [name for name, measure in self.measures.items() if not measure.function]

    # -- running

    def run(
        self,
        out: str | Path | None = None,
        *,
        workers: int | None = None,
        scheduler: str | None = None,
        slurm: Mapping[str, Any] | None = None,
        case_timeout: float | str | None = None,
        retry: str | Iterable[str] = (),
        progress: Callable[[Progress], None] | None = None,
        told: Callable[[str], None] | None = None,
        page: bool = True,
    ) -> Results:
        """Run what is not on disk yet, and say what all cases found. `workers` = 0: in this process, without Dask.

        `case_timeout` [s]; `retry`: statuses (failed, timeout, died) of cases that are to be run again.
        """
        from pliant.studies.bench import Bench  # start-up
        from pliant.studies.crew import hire
        from pliant.studies.ledger import Ledger

        timeout = None if case_timeout is None else read(str(case_timeout), "s")
        again = retried(retry)
        self.check()
        folder = Path(out) if out is not None else Path("runs") / f"{self.named()}.study"
        ledger = Ledger(folder)
        try:
            crew = hire(workers, scheduler, slurm, timeout)
            try:
                if told is not None:
                    told(crew.about)
                bench = Bench(self.scene_of, self.seed_of, self.common(timeout), ledger, crew, again, progress)
                results = self._answered(bench, folder)
            finally:
                crew.close()
            ledger.tables(bench.cases, self.columns(), at_once=True)
        finally:
            ledger.close()
        if page:
            from pliant.studies.page import write_page

            results.page = write_page(results, folder / "report.html")
        return results

    def first_scene(self) -> Scene | None:
        """The scene of the first case."""
        if self.calibrate is not None:
            values = {name: each.between[0] for name, each in self.calibrate.parameters.items()}
        elif self.sensitivity is not None:
            values = {name: each.at(0.5) for name, each in self.parameters.items() if each.bounds is not None}
        elif self.find is not None:
            values = {**next(grid(self), ({}, 0))[0], self.find.parameter: self.find.between[0]}
        else:
            values = next(self.points(), ({}, 0))[0]
        return self.scene_of(values, self.seed_of(values, 0))

    def check(self) -> None:
        """Refuse what cannot work before anything is started: the first scene is made, units fit, and bodies of measures are its bodies."""
        first = self.first_scene()
        if first is not None:
            self._check_units(first)
        names = [] if first is None else [body.name for body in first.bodies]
        for name, measure in self.measures.items():
            for body in (*(measure.pair or ()), measure.body, measure.relative_to):
                if body is not None and body not in names:
                    raise PliantError(f"The measure '{name}' is of a body '{body}', and there is none: {nearest(body, names)}")

    def _check_units(self, scene: Scene) -> None:
        """Refuse values whose unit is not that of the place they go to; what a function takes has no unit that is known."""
        told = [(name, text) for name, each in self._known.items() for text in each.texts]
        told += [(self.find.parameter, text) for text in self.find.texts] if self.find else []
        rows = table_texts(self._folder / self.table) if self.table is not None else []
        told += [(name, str(text).strip()) for row in rows for name, text in row.items() if is_quantity(str(text).strip())]
        tried = set()
        for name, text in told:
            unit = QUANTITY.fullmatch(text)[2]  # type: ignore[index]
            for path in targets(name, self._known.get(name), 0.0):
                if (path, unit) in tried or self._source[1].takes(path):
                    continue
                tried.add((path, unit))
                try:
                    check_unit(scene, path, text)
                except PliantError as error:
                    raise PliantError(f"The parameter '{name}': {error}") from None

    def unit_of(self, name: str, scene: Scene | None) -> str | None:
        """The unit in which values of a parameter are counted; None: none, or it is not known."""
        path = next(iter(targets(name, self._known.get(name), 0.0)))
        if scene is not None and not self._source[1].takes(path):
            return unit_at(scene, path)
        return next((scene_unit(text) for text in (self._known[name].texts if name in self._known else ())), None)

    def named(self) -> str:
        """The name of the study, or of its scene."""
        if self.name:
            return self.name
        from pliant.studies.source import Source

        if self.call is not None:
            return str(getattr(self.call, "__name__", str(self.call).rpartition(":")[2]))
        return Source(self.scene, self._folder).name

    def _answered(self, bench: Bench, folder: Path) -> Results:
        from pliant.studies.calibrate import calibrate
        from pliant.studies.find import search
        from pliant.studies.sensitivity import analyse

        results = Results(self, folder, bench.cases, bench.ledger.results)
        if self.find is not None:
            results.thresholds = search(self, bench, folder)
        elif self.calibrate is not None:
            results.fit = calibrate(self, bench, folder)
        elif self.sensitivity is not None:
            results.indices = analyse(self, bench, folder)
        else:
            points = list(self.points())
            bench.total = len(points)
            bench.do(points)
        results.found = bench.state.found
        return results


@dataclass
class Results:
    """What a study found."""

    study: Study
    folder: Path
    cases: list[Case]
    results: Mapping[str, Result]
    thresholds: list[Threshold] = field(default_factory=list)
    fit: Fit | None = None
    indices: dict[str, Indices] = field(default_factory=dict)
    found: int = 0  # cases that were on disk already
    page: Path | None = None

    def __repr__(self) -> str:
        return f"Results of {self.study.name or self.folder.name}: {len(self.cases)} cases in {self.folder}"

    def _repr_html_(self) -> str:
        from pliant.studies.card import results  # start-up: only notebooks ask for it

        return results(self)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The table by columns."""
        from pliant.studies.ledger import table

        return table(self.cases, self.results, self.study.columns())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table by rows."""
        columns = self.columns
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @property
    def table(self) -> DataFrame:
        """The table for pandas."""
        from pliant.studies.ledger import frame

        return frame(self.columns)


def retried(retry: str | Iterable[str]) -> frozenset[str]:
    """Statuses that are to be tried again; "all": whatever did not finish."""
    asked = {retry} if isinstance(retry, str) else {*retry}
    if "all" in asked:
        return frozenset(RETRY)
    for status in asked:
        if status not in RETRY:
            raise PliantError(f"Cases that are '{status}' cannot be retried: {nearest(status, [*RETRY, 'all'])}")
    return frozenset(asked)


def condition_of(text: str, measures: list[str] | None) -> Callable[[Mapping[str, Any]], bool]:
    """A yes-or-no question about the measures of a case: "drop > 5mm", "slips", "not slips"."""
    found = re.fullmatch(r"\s*(not\s+)?([\w.\- ]+?)\s*(?:(<=|>=|<|>)\s*(\S.*?))?\s*", text)
    if found is None or (found[1] and found[3]):
        raise ValueError(f"condition '{text}' should compare a measure with a number, as in \"drop > 5mm\", or name one that is 1 or 0")
    name, sign = found[2], found[3]
    if measures is not None and name not in measures:
        raise ValueError(f"condition '{text}': there is no measure '{name}': {nearest(name, measures)}")
    try:
        limit = float(in_scene_units(found[4])) if sign else 0.5
    except (TypeError, ValueError):
        raise ValueError(f"condition '{text}': '{found[4]}' is not a number") from None

    def holds(values: Mapping[str, Any]) -> bool:
        value = float(values[name])
        if math.isnan(value):
            return bool(found[1])  # an event that never came
        if not sign:
            return (value > limit) != bool(found[1])
        return {"<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit}[sign]

    return holds

