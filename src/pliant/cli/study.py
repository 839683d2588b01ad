"""The command that runs studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.bars import bar
from pliant.cli.options import AllowCode, Json, Workers, Yes, allow, refuse_other_files, say, seconds, tell

if TYPE_CHECKING:
    from pliant.studies.bench import Progress
    from pliant.studies.study import Results


def study(
    path: Annotated[Path | None, typer.Argument(help="A study file (.toml); see docs/studies.md.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results; default runs/NAME.study.")] = None,
    workers: Workers = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler that is there, such as tcp://host:8786.")] = None,
    slurm: Annotated[
        str | None,
        typer.Option(metavar="OPTIONS", help="Start the workers as SLURM jobs; options such as queue=short,memory=4GB,walltime=01:00:00."),
    ] = None,
    case_timeout: Annotated[
        float | None, typer.Option(parser=seconds, metavar="TIME", help="End a case that takes longer, such as 10min; its row says so.")
    ] = None,
    retry: Annotated[str | None, typer.Option(help="Run cases again that are failed, timeout, died, or all of these.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many cases there are, and how much time and disk they take.")] = False,
    measures: Annotated[bool, typer.Option("--measures", help="List what can be measured, and stop.")] = False,
    allow_code: AllowCode = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run a scene many times: sweeps, thresholds, calibration, sensitivity; a table and a page at the end.

    A case is finished when its row is on disk. Ctrl-C or a crash loses no finished case: run the same command again, and it does only what
    is missing or has changed.
    """
    from pliant.base import PliantError
    from pliant.disk import file_stem, try_place
    from pliant.studies.study import Study

    if measures:
        _list_measures(as_json)
        return
    if path is None:
        raise PliantError("Name a study file: pliant study STUDY.toml. docs/studies.md has some to start from.")
    refuse_other_files(str(path), "study")
    allow(allow_code, yes=yes)
    asked = Study.load(path)
    if out is None:
        file_stem(asked.named(), "The study")
    if dry_run:
        _plan(asked, workers, as_json)
        return
    try_place((out or Path("runs")) / "rows.jsonl")
    _warm(asked, as_json)
    options = None if slurm is None else slurm_options(slurm)
    with _bar(hidden=as_json) as update:
        results = asked.run(
            out, workers=workers, scheduler=scheduler, slurm=options, case_timeout=case_timeout, retry=retry or (), progress=update,
            told=None if as_json else lambda about: say(f"[bold]{asked.named()}[/] {about}."),
        )  # fmt: skip
    tell(_facts(results)) if as_json else _summary(results)
    if any(row["status"] != "finished" for row in results.rows):
        raise typer.Exit(1)


def slurm_options(text: str) -> dict[str, Any]:
    """KEY=VALUE pairs separated by commas; numbers are numbers."""
    from pliant.base import PliantError

    found: dict[str, Any] = {}
    for item in filter(None, text.split(",")):
        key, sign, value = item.partition("=")
        if not sign:
            raise PliantError(f"--slurm takes KEY=VALUE pairs with commas between them, not '{item}'.")
        found[key.strip()] = int(value) if value.strip().isdigit() else value.strip()
    return found


def _warm(asked: Any, quiet: bool) -> None:
    """Compile what the first scene needs before many workers would do so at the same time."""
    from pliant.simulate.compile_ahead import warm

    asked.check()
    first = asked.first_scene()
    if first is not None:
        warm(first, quiet=quiet)


def _plan(asked: Any, workers: int | None, as_json: bool) -> None:
    from pliant.record import human
    from pliant.studies.crew import cores
    from pliant.studies.plan import planned

    asked.check()
    count = cores() if workers is None else max(1, workers)
    plan = planned(asked, count)
    if as_json:
        tell({**vars(plan), "workers": count})
        return
    about = "" if plan.exact else "about "
    hours = f"{60 * plan.hours:.1f} min" if plan.hours < 1.5 else f"{plan.hours:.1f} h"
    each = f"{about}{plan.cases} cases of about {plan.seconds:.2g} s"
    say(f"[bold]{asked.named()}[/]: {each}; {hours} on {count} workers, {human(plan.bytes)}.")
    for note in plan.notes:
        say(f"  {note}")
    say("Nothing was run.")


def _list_measures(as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from pliant.measure.watch import QUANTITIES
    from pliant.measure.windows import TAKES
    from pliant.studies.schema import EVENTS

    if as_json:
        quantities = {name: {"unit": q.unit, "needs": q.needs, "about": q.about} for name, q in QUANTITIES.items()}
        tell({"quantities": quantities, "takes": TAKES, "events": list(EVENTS)})
        return
    table = Table("of", "unit", "needs", "what", box=None, pad_edge=False)
    for name, quantity in QUANTITIES.items():
        unit, needs = (word.replace(empty, "") for word, empty in ((quantity.unit, "1"), (quantity.needs, "nothing")))
        table.add_row(f"[bold]{name}[/]", unit, needs, quantity.about)
    Console().print(table)
    table = Table("take", "what of its history", box=None, pad_edge=False)
    for name, about in TAKES.items():
        table.add_row(f"[bold]{name}[/]", about)
    Console().print(table)
    say("Events, 1 or 0: touches, tears, and slips (with `above`, how far).")


@contextmanager
def _bar(hidden: bool) -> Iterator[Callable[[Progress], None]]:
    """A bar over the cases with an estimate."""
    with bar("cases", hidden) as show:

        def update(now: Progress) -> None:
            more = [f"{now.found} on disk before"] if now.found else []
            more += [f"{now.wrong} not finished"] if now.wrong else []
            line = ", ".join([f"{now.done} of {now.total or '?'} cases", *more])
            show(now.done, now.total, line, line)

        yield update


def _facts(results: Results) -> dict[str, Any]:
    thresholds = [each.row() for each in results.thresholds]
    fit = None if results.fit is None else results.fit.facts()
    indices = {name: vars(each) for name, each in results.indices.items()}
    return {"folder": str(results.folder), "page": str(results.page), "found": results.found, "rows": results.rows,
            "thresholds": thresholds, "fit": fit, "sensitivity": indices}  # fmt: skip


def _summary(results: Results) -> None:
    from collections import Counter

    rows = results.rows
    states = Counter(row["status"] for row in rows)
    already = f", {results.found} of them on disk before" if results.found else ""
    say(f"{len(rows)} cases{already}: " + ", ".join(f"{count} {status}" for status, count in states.most_common()) + ".")
    for row in [row for row in rows if row["status"] != "finished"][:5]:
        say(f"  case {row['case']} {row['status']}: {row['reason']}")
    find = results.study.find
    for each in results.thresholds:
        words = (f"{name} = {value:.5g}" if isinstance(value, float) else f"{name} = {value}" for name, value in each.point.items())
        where, what = ", ".join(words), f"{each.value:.5g} (between {each.low:.5g} and {each.high:.5g})"
        what = what if each.status == "found" else f"{each.status}: {each.reason}"
        say(f"  {f'{where}: ' if where else ''}{find.parameter if find else ''} {what}")
    if results.fit is not None:
        for k, name in enumerate(results.fit.names):
            say(f"  {name} = {results.fit.values[k]:.5g} ± {results.fit.errors[k]:.2g}")
        for warning in results.fit.warnings:
            say(f"  [yellow]{warning}[/]")
    for each_index in results.indices.values():
        parts = ", ".join(f"{name} {value:.2f}" for name, value in zip(each_index.parameters, each_index.total, strict=True))
        say(f"  {each_index.measure} depends on: {parts} (total order)")
    say(f"Wrote table.csv{', table.parquet' if (results.folder / 'table.parquet').exists() else ''} and report.html in {results.folder}.")
