"""Commands that prove things: validation against theory, methods against each other, experiments of the papers."""

from __future__ import annotations

import json
import math
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.options import (
    AllowCode,
    Contact,
    Dt,
    Duration,
    Json,
    SceneName,
    Settings,
    Workers,
    Yes,
    allow,
    say,
    seconds,
    tell,
    wanted_scene,
)

COMPARED = "ground,noniterative,penalty,continuous-penalty"  # unless others are named


def validate(
    names: Annotated[list[str] | None, typer.Argument(help="Problems; default all. `pliant validate --list` lists them.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only this contact method. Repeatable.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer settings and coarser meshes: minutes instead of many.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the problems and stop.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results.json, validation.md and plots; what it has already is not computed again.")
    ] = None,
    within: Annotated[
        float | None, typer.Option(parser=seconds, metavar="TIME", help="With --out: begin no problem after this, as 1h; 0s only writes.")
    ] = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Compare pliant with theory: static contact, friction, impact, elasticity, under every method that can be asked.

    Exits with 1 if anything fails.
    """
    from pliant.base import PliantError
    from pliant.disk import try_place
    from pliant.shop import validate as proof

    allow(typed=",".join(method or ()))
    from pliant.shop.validate import output
    from pliant.studies.case import version
    from pliant.studies.ledger import read_rows
    from pliant.studies.tasks import Found, do_all

    if listed:
        for each in proof.problems(names).values():
            say(f"[bold]{each.name}[/]: {each.about} ({', '.join(each.methods)})")
        return
    chosen = proof.asked(names, method)
    found: dict[tuple[str, str], proof.Result] = {}

    def over(task: Found) -> None:
        name, under = task.given["problem"], task.given["method"]
        said = task.value or {"method": under, "checks": [], "seconds": task.seconds, "failure": task.reason, "quick": quick}
        result = found[name, under] = proof.recalled(known[name], said, version())
        if not as_json:
            verdict = "[green]pass[/]" if result.passed else "[bold red]FAIL[/]"
            say(f"[bold]{name}[/] under {under}: {verdict}, {result.seconds:.1f} s")
            for what, reference, here, error, _, verdict in output.lines(result):
                say(f"    {what}: reference {reference}, here {here}, error {error}: {verdict}")

    known = {each.name: each for each, _ in chosen}
    if within is not None and out is None:
        raise PliantError("--within is for --out FOLDER: what is not reached is done when it is started again.")
    calls = [{"problem": each.name, "method": under, "quick": quick} for each, under in chosen]
    if out is not None:
        try_place(out / "results.json")
    rows = None if out is None else out / "rows"
    tell_crew = None if as_json or len(calls) < 2 else lambda about: say(about)
    began, work = time.monotonic(), partial(do_all, "pliant.shop.validate:attempted", out=rows, each=over, told=tell_crew)
    if within is None:
        work(calls, workers=workers)
    for call in calls:  # one by one: what is begun comes to its end
        if within is not None and time.monotonic() - began < within:
            work([call])
    if within is None or rows is None:
        results = [found[each.name, under] for each, under in chosen]
    else:
        ended = [(row.version, json.loads(row.measures["found"])) for row in read_rows(rows / "rows.jsonl") if row.status == "finished"]
        kept = [proof.recalled(known[said["problem"]], said, of) for of, said in ended if said["problem"] in known]
        results = proof.best(kept, chosen, version())
    written = output.write(results, out, version()) if out is not None else []
    if not results:
        refused = [(p.name, *why) for p in proof.problems(names).values() for why in p.refused.items() if why[0] in (method or ())]
        asked = [f"{name} is not asked of {other}: {why}" for name, other, why in refused]
        raise PliantError("; ".join(asked) or "No problem is asked of these methods: `pliant validate --list` says which are.")
    passed = sum(r.passed for r in results)
    if as_json:
        tell(output.facts(results))
    else:
        say(f"{passed} of {len(results)} pass.")
        for path in written:
            say(f"Wrote {path}")
    if passed < len(results):
        raise typer.Exit(1)


def refine(
    scene: Annotated[str, typer.Argument(help="A scene file, the name of a scene that ships with pliant, or a run file.")],
    dts: Annotated[int, typer.Option(min=1, help="How many steps: dt, dt/2, dt/4 ...")] = 3,
    edges: Annotated[int, typer.Option(min=1, help="How many sizes of elements: h, h/2 ...; 1: as they are.")] = 2,
    pair: Annotated[tuple[str, str] | None, typer.Option(help="Two bodies; default those that press each other hardest.")] = None,
    measures: Annotated[str | None, typer.Option(help="Some of force, peak, area, pressure, depth, energy; with commas.")] = None,
    since: Annotated[float, typer.Option("--from", parser=seconds, metavar="TIME", help="Begin here: what is before is run once.")] = 0.0,
    until: Annotated[float | None, typer.Option(parser=seconds, metavar="TIME", help="End here; default the end of the scene.")] = None,
    window: Annotated[float | None, typer.Option(parser=seconds, metavar="TIME", help="Average over this; default the pair's own.")] = None,
    dt: Dt = None,
    contact: Contact = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(help="The plot; default runs/SCENE_refine.png.")] = None,
    allow_code: AllowCode = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run a scene with shorter steps and finer elements: what its numbers tend to, and how far off they are.

    Exits with 1 if any of them is not converged.
    """
    from rich.table import Table

    from pliant.base import PliantError, nearest
    from pliant.cli.terminal import wide_console  # with all that runs: start-up time
    from pliant.disk import try_place
    from pliant.studies.refine import MEASURES
    from pliant.studies.refine import refine as refined

    allow(allow_code, contact, yes)
    recorded = scene.endswith((".vtkhdf", ".journal"))
    if recorded and (settings or dt is not None or contact is not None):
        raise PliantError("A run file is refined as it was run: --set, --dt and --contact are for scenes.")
    source = Path(scene) if recorded else wanted_scene(scene, settings or [], dt, None, contact)
    wanted = None if measures is None else [name.strip() for name in measures.split(",")]
    known = [] if isinstance(source, Path) else [body.name for body in source.bodies]
    for name in pair or ():
        if known and name not in known:
            raise PliantError(f"There is no body '{name}': {nearest(name, known)}")
    try_place(out or Path("runs") / "refine.png")
    found = refined(source, dts, edges, pair, wanted, since, until, window, None if as_json else lambda text: say(f"  {text}"))
    path = found.plot(out or Path("runs") / f"{found.name}_refine.png") if found.rows else None
    if as_json:
        tell(found.facts | {"plot": str(path)})
    else:
        a, b = found.pair
        say(f"{a} and {b} from t = {found.between[0]:g} s to {found.between[1]:g} s, means over {1e3 * found.window:.3g} ms:")
        table = Table("measure", "along", "values, coarse to fine", "tends to", "order", "verdict", box=None, pad_edge=False)
        for row in found.rows:
            order = "-" if row.limit.order != row.limit.order else f"{row.limit.order:.2g}" + (", assumed" if row.limit.assumed else "")
            values = "  ".join(f"{value:.4g}" for value in row.values)
            ends = f"{row.limit.value:.4g}" if row.limit.value == row.limit.value else "-"
            table.add_row(f"{row.measure} ({MEASURES[row.measure][0]})", row.along, values, ends, order, row.verdict)
        wide_console(table).print(table)
        say("\n".join(found.notes + ([f"Wrote {path}"] if path else [])))
    if any(not row.limit.settled for row in found.rows):
        raise typer.Exit(1)


def compare(
    scene: SceneName,
    contact: Annotated[str | None, typer.Option(help=f"Methods, with commas between; default {COMPARED}.")] = None,
    dt: Dt = None,
    duration: Duration = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(help="The plot; default runs/SCENE_compare.png.")] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that run methods side by side; 0: one after the other, so that times can be compared.")
    ] = 0,
    allow_code: AllowCode = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run the same scene under several contact methods: one table and one plot of time, depth, energy, momentum, jitter and force.

    Exits with 1 if a method that was named cannot do the scene.
    """
    from rich.table import Table

    from pliant.base import PliantError
    from pliant.cli.terminal import wide_console  # with all that runs: start-up time
    from pliant.contact.method import find_method
    from pliant.disk import file_stem, try_place
    from pliant.shop.compare import COLUMNS, Trial, plot
    from pliant.studies.tasks import Found, do_all

    names = [name.strip() for name in (COMPARED if contact is None else contact).split(",")]
    if not all(names):
        raise PliantError(f"--contact \"{contact}\": give names of methods with commas between them, such as {COMPARED}.")
    allow(allow_code, contact, yes)
    for name in names:
        if name != "auto":
            find_method(name)  # a mistake is told before anything is computed
    made = wanted_scene(scene, settings or [], dt, duration, None)
    target = out or Path("runs") / f"{file_stem(made.name, 'The scene')}_compare.png"
    try_place(target)
    trials: list[Trial] = []

    def over(task: Found) -> None:
        trial = Trial(**task.value) if task.value else Trial(task.given["method"], math.nan, failure=task.reason)
        trials.append(trial)
        if not as_json:
            say(f"{trial.method}: " + (trial.failure or f"{len(trial.time)} steps in {trial.seconds:.1f} s"))

    do_all("pliant.shop.compare:tried", [{"method": name} for name in names], scene=made, workers=workers, each=over)
    trials.sort(key=lambda trial: names.index(trial.method))
    done = [t for t in trials if not t.failure]
    path = plot(done, f"{made.name} under several methods", target) if done else None
    if as_json:
        tell({t.method: {"failure": t.failure} if t.failure else t.table for t in trials})
    failed = not done or (contact is not None and len(done) < len(trials))  # of those that were named all are wanted
    if as_json or not done:
        raise typer.Exit(1 if failed else 0)
    table = Table(box=None, pad_edge=False)
    for head in ("method", *COLUMNS):
        table.add_column(head, no_wrap=True, overflow="ignore")  # a number without its exponent is a wrong one
    for trial in done:
        table.add_row(trial.method, *(f"{value:.2g}" for value in trial.table.values()))
    wide_console(table).print(table)
    say("\n".join(f"[dim]{name}: {what}[/]" for name, what in COLUMNS.items()))
    if path is not None:
        say(f"Wrote {path}")
    if failed:
        raise typer.Exit(1)


def reproduce(
    source: Annotated[str, typer.Argument(help="Which source, or `all`; without one, list them and their experiments.")] = "",
    experiments: Annotated[list[str] | None, typer.Argument(help="Ids of experiments; default all.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and shorter: `all` within ten minutes of two cores.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the experiments.")] = 1,
    scan: Annotated[
        list[str] | None, typer.Option(help="PART=FILE: your own surface in place of one made by code, as head=me.ply. Repeatable.")
    ] = None,
    unit: Annotated[str, typer.Option(help="Unit of your own surfaces.")] = "m",
    up: Annotated[str, typer.Option(help="Axis that is up in your own surfaces.")] = "z",
    out: Annotated[Path | None, typer.Option(help="Folder; each source has a folder in it. Default runs/reproduce.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after a stop: leave out what the folder has in this form.")] = False,
    as_json: Json = False,
) -> None:
    """Compute the experiments of the papers again: lines "published / here / agrees", and a page with every figure for each source.

    Exits with 1 if an experiment does not end; lines that differ from what was published are told, and are no failure.
    """
    from pliant.base import PliantError
    from pliant.cli.terminal import experiments_bar
    from pliant.shop import reproduce as again
    from pliant.shop.reproduce import crew, page
    from pliant.shop.reproduce.experiment import scans_from
    from pliant.shop.reproduce.verdict import SKIPPED
    from pliant.studies.tasks import do_all

    if not source:
        for name in again.SOURCES:
            say(f"[bold]{name}[/]: {(again.source(name).__doc__ or '').splitlines()[0]}")
            for i, each in again.experiments(name).items():
                parts = f" [dim](--scan {', '.join(each.parts)})[/]" if each.parts else ""
                say(f"  {i}: {(each.measure.__doc__ or '').splitlines()[0]}{parts}")
        return
    if source == again.ALL and experiments:
        raise PliantError("`pliant reproduce all` runs all experiments; name a source to choose some.")
    wanted = dict.fromkeys(again.SOURCES) if source == again.ALL else {source: experiments}
    folder = out or Path("runs") / "reproduce"
    todo = crew.jobs(wanted, folder, quick, scans_from(scan or [], unit, up))
    before, todo = crew.parted(todo) if resume else ([], todo)
    times = crew.Times(todo, workers)
    with experiments_bar(times, hidden=as_json) as show:

        def over(result: crew.Found) -> None:
            show(True)
            if not as_json:
                say(f"[bold]{result.source} {result.id}[/] [dim]{result.seconds:.0f} s of CPU{page.compiling(result)}[/]")
                lines = [line.text() for line in result.lines if line.verdict != SKIPPED] or [f"did not end: {result.failed}"]
                for line in lines:
                    say(f"  {line}")

        tell_crew = None if as_json else lambda about: say(about)
        found = before + crew.run(todo, workers, times, lambda: show(False), over, partial(do_all, told=tell_crew))
    pages = [page.write_page(name, folder / name) for name in wanted]
    pages += [page.write_index(folder, list(wanted))] if len(wanted) > 1 else []
    if as_json:
        tell({each.source + " " + each.id: vars(each) | {"lines": [vars(line) for line in each.lines]} for each in found})
    else:
        say(page.summary(found))
        for path in pages:
            say(f"Wrote {path}")
    if any(each.failed for each in found):
        raise typer.Exit(1)
