"""What the command line prints and leaves behind: progress, summary, pictures, facts about runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import PliantError, nearest
from pliant.cli.bars import Update, bar
from pliant.cli.options import say
from pliant.measure.books import ROUNDING
from pliant.measure.forces import Forces, headline, milliseconds
from pliant.measure.pairs import STEP_WORDS, TURNED, at_time, of_frame, pair_series
from pliant.measure.pairs import pair_table as all_pairs
from pliant.record import Recorder, Run, apart, human
from pliant.record.export import write_csv, write_parquet
from pliant.record.orders import Order, from_lowest
from pliant.record.salvage import sift
from pliant.simulate.running import Outcome, Progress, expected_size
from pliant.simulate.simulation import Simulation
from pliant.simulate.verdicts import merged

MOST_PARTED = 8  # pairs that are named
OFTEN_CUT = 10  # steps that were cut short: more than the first touch of a few bodies takes
MOST_WEIGHTS = 12  # bodies whose weight is told
MOST_PEAKS = 8  # pairs in the table of the hardest contacts
VERIFIED = 10**9  # bytes of a run that `info` reads whole without being asked


def size_note(sim: Simulation, recorder: Recorder) -> str:
    """How large the run file will be, in a sentence."""
    frames, size = expected_size(sim, recorder.header["every"], recorder.header["checkpoint_every"])
    return f"{frames} frames, about {human(size)} while it runs and less at its end, in {recorder.path}."


@contextmanager
def progress_bar(hidden: bool = False) -> Iterator[Callable[[Progress], None]]:
    """A bar over simulated time with steps per second, contacts and depth; plain lines where there is no terminal."""
    began, warned = time.monotonic(), False
    with bar("running", hidden) as show:

        def update(now: Progress) -> None:
            nonlocal warned
            at, pace = f"t = {now.time:.3f} of {now.duration:g} s", now.steps / max(time.monotonic() - began, 1e-9)
            cuts = sum(cut.count for cut in now.cuts.values())
            cut = f", cut short {cuts} times" if cuts > 1 else ""
            state = f"{at}  {pace:.2g} steps/s  {now.contacts} contacts  depth {_length(now.max_depth)}{cut}"
            told = _cut_note(now) if cuts >= OFTEN_CUT and not warned else ""
            warned = warned or bool(told)
            show(now.time, now.duration, state, f"{at}, {now.steps} steps{cut}, {now.contacts} contacts", told)

        yield update


def _cut_note(now: Progress) -> str:
    """Why a run has become slow, while there is still something to be done about it."""
    (a, b), most = max(now.cuts.items(), key=lambda item: item[1].count)
    return (
        f"From t = {most.first:.4g} s on steps are cut short where {a} and {b} would get too deep into each other: each goes on in parts, "
        f"so that it takes longer until they move together.{most.remedy}"
    )


@contextmanager
def experiments_bar(times: Any, hidden: bool = False) -> Iterator[Callable[[bool], None]]:
    """How many experiments have ended, which run, and how long the rest will take."""
    whole = sum(times.cost.values())
    with bar("reproducing", hidden) as show:

        def update(ended: bool) -> None:
            done = sum(cost * times.part[key] for key, cost in times.cost.items())
            so_far, running = f"{times.ended} of {len(times.cost)} ended", ", ".join(times.running[:3]) or "none runs"
            show(done, whole, f"{so_far}, about {_minutes(times.left())} left; {running}", f"{so_far}; {running}")

        update(False)
        yield update


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _length(metres: float) -> str:
    return f"{1000 * metres:.2f} mm" if metres < 0.1 else f"{metres:.3f} m"


def leave_pictures(outcome: Outcome, colour: str, say: Callable[[str], None], curve: str | None = None, hidden: bool = False) -> list[Path]:
    """A still, with a curve if one is named, and a short movie beside the run file; a sentence instead if this machine cannot draw."""
    from pliant.look import movie, poster, still

    made: list[Path] = []
    with Run.open(outcome.path) as run, bar("drawing", hidden) as show:
        if run.frames == 0:
            return made
        try:
            say("Drawing ...")
            png = outcome.path.with_suffix(".png")
            made.append(still(run, png, field=colour) if curve is None else poster(run, png, curve, field=colour))
            say(f"Wrote {png}")  # the movie may take as long as the run
            if run.frames > 1:
                made.append(movie(run, outcome.path.with_suffix(".mp4"), field=colour, progress=_drawn(show)))
                say(f"Wrote {made[-1]}")
        except (PliantError, OSError) as error:
            say(f"No {'movie' if made else 'pictures'}: {error}")
        except KeyboardInterrupt:  # what was found is told all the same
            say("Drawing was stopped; the run itself is whole.")
    return made


def _drawn(show: Update) -> Callable[[int, int], None]:
    """How far a movie is, for a bar."""
    return lambda done, total: show(done, total, f"{done} of {total} pictures", f"{done} of {total} pictures of the movie")


def parts_of(sim: Simulation) -> dict[str, int]:
    """Bodies of the scene that came apart, and in how many parts they are."""
    bodies = sim.world.model.bodies
    count = np.bincount(bodies.origin(), minlength=len(bodies))
    return {bodies.names[b]: int(count[b]) for b in np.flatnonzero(count > 1)}


def summary_facts(outcome: Outcome) -> dict[str, Any]:
    """The end of a run, for programs."""
    sim, books = outcome.simulation, outcome.simulation.books()
    pairs = _pair_forces(sim)
    with Run.open(outcome.path) as run:
        forces = Forces(run).all()
    return {
        "headline": headline(forces[0]) if forces else "Nothing touched anything.", "through": outcome.through,
        "status": outcome.status, "message": outcome.message, "run": str(outcome.path),
        "time": sim.time, "steps": sim.state.step, "seconds": outcome.seconds, "max_depth": outcome.max_depth,
        "max_contacts": outcome.max_contacts, "weights": weights(sim),
        "kinetic": books.kinetic, "elastic": books.elastic, "gravity": books.gravity,
        "gravity_from_lowest": _gravity_from_lowest(outcome),
        "contact_work": books.contact, "friction_work": books.friction, "attachment_work": books.attachments,
        "drive_work": books.drives, "load_work": books.loads, "start": books.start, "flow": books.flow, "lost": books.lost,
        "parts": parts_of(sim), "imbalance": outcome.imbalance, "pairs": pairs,
        "forces": [found.facts for found in forces], "accounts": [vars(pair) for pair in books.pairs],
        "notes": outcome.notes, "timings": outcome.timings,
    }  # fmt: skip


def _gravity_from_lowest(outcome: Outcome) -> float:
    """Energy in the field of gravity at the end, counted from the lowest of the run as in all curves [J]."""
    with Run.open(outcome.path) as run:
        series = run.series()
        found = from_lowest(series["time"], series["gravity"], run.orders) if "gravity" in series else np.zeros(0)
    return float(found[-1]) if len(found) else 0.0


def _pair_forces(sim: Simulation) -> list[dict[str, Any]]:
    """Force, contacts and area of every touching pair at the end: means over the last step."""
    return pair_rows(sim.pairs(), dict(enumerate(sim.world.model.bodies.names)))


def weights(sim: Simulation) -> dict[str, Any]:
    """Weight [N] of every body that moves, and what of it all together those that do not move, and what holds fixed points, carry now."""
    bodies, gravity = sim.world.model.bodies, np.asarray(sim.world.model.gravity, float)
    size = float(np.linalg.norm(gravity))
    own = {name: size * mass for name in bodies.names if np.isfinite(mass := sim.mass(name))}
    held, found, force = np.array([name not in own for name in bodies.names], bool), sim.pairs(), sim.reactions.sum(axis=0)
    if found:
        side = held[found["b"]].astype(float) - held[found["a"]]  # forces act on a
        force = force + (side[:, None] * found["force"]).sum(axis=0)
    carried = float(force @ -gravity) / size if size > 0.0 else 0.0
    return {"bodies": own, "all": sum(own.values()), "carried": carried}


def weight_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The same for people."""
    own = found["bodies"]
    if not found["all"] > 0.0:
        return []
    each = ", ".join(f"{name} {weight:.4g}" for name, weight in own.items()) if len(own) <= MOST_WEIGHTS else f"of {len(own)} bodies"
    return [
        ("weight (N)", each + (f"; all {found['all']:.4g}" if len(own) > 1 else "")),
        ("carried (N)", f"{found['carried']:.4g} of {found['all']:.4g} by what is fixed, in the last step"),
    ]


def wide_console(table: Any) -> Any:
    """A console that is wide enough for a table: a cut table has wrong numbers."""
    from rich.console import Console

    wide = Console(highlight=False, markup=False)
    wide.width = max(wide.width, Console(width=1000, markup=False).measure(table).maximum)
    return wide


def pair_rows(pairs: dict[str, np.ndarray], names: dict[int, str]) -> list[dict[str, Any]]:
    """One dictionary of plain numbers per pair, with the names of its bodies."""
    rows = [dict(zip(pairs, values, strict=True)) for values in zip(*(v.tolist() for v in pairs.values()), strict=True)]
    return [{**row, "a": names[row["a"]], "b": names[row["b"]]} for row in rows]


def _judged(row: dict[str, Any], history: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    """The row with how well that step was resolved."""
    known = history.get((row["a"], row["b"]), {})
    return row | {name: str(known[name]) for name in STEP_WORDS if name in known}


def turned(row: dict[str, Any]) -> dict[str, Any]:
    """The same pair, with what acts on the other body."""
    opposite = {name: [-x for x in row[name]] for name in TURNED if name in row}
    return {**row, **opposite, "a": row["b"], "b": row["a"]}


def pair_table(pairs: list[dict[str, Any]], title: str) -> Any:
    """What touches what, for people."""
    from rich.table import Table

    heads = (
        "force on", "from", "contacts", "force\n(N)", "friction\n(N)", "sum along\nnormals\n(N)", "area\n(cm²)",
        "mean\npressure\n(kPa)", "largest\n(kPa)", "depth", "resolved in\ndepth, time, space",
    )  # fmt: skip
    judged = any("in_depth" in pair for pair in pairs)
    table = Table(*(heads if judged else heads[:-1]), title=title, box=None, title_justify="left", pad_edge=False)
    for pair in pairs:
        area = pair["area"]
        pressures = [f"{1e-3 * pair[name]:.3g}" if area > 0.0 else "-" for name in ("mean_pressure", "pressure")]
        if pair["over_a_face"]:
            pressures[0] += "*"
            table.caption, table.caption_justify = "* over a face of an element, which is more than the area", "left"
        sizes = [f"{np.linalg.norm(pair[name]):.3g}" for name in ("force", "friction")] + [f"{pair['normal_force']:.3g}"]
        cm2 = f"{1e4 * area:.3g}" if area > 0.0 else "-"
        words = [", ".join(pair.get(name) or "-" for name in STEP_WORDS)] if judged else []
        table.add_row(pair["a"], pair["b"], str(pair["contacts"]), *sizes, cm2, *pressures, _length(pair["depth"]), *words)
    return table


def peak_table(forces: list[dict[str, Any]]) -> Any:
    """The hardest contact of each pair, for people."""
    from rich.table import Table

    heads = ("hardest", "with", "force\n(N)", "mean over", "until\n(s)", "one step\n(N)", "resolved in depth, time, space")
    table = Table(*heads, title="hardest contact of each pair", box=None, title_justify="left", pad_edge=False)
    for found in forces[:MOST_PEAKS]:
        told = found["resolution"]
        words = ", ".join(told[name] or "-" for name in ("in_depth", "in_time", "in_space"))
        numbers = (f"{found[name]:.4g}" for name in ("at", "peak"))
        table.add_row(found["a"], found["b"], f"{found['mean']:.4g}", milliseconds(found["window"]), *numbers, words)
    return table


def summary_table(outcome: Outcome, facts: dict[str, Any]) -> None:
    """The end of a run, for people."""
    from rich.console import Console
    from rich.table import Table

    wide = lambda table: wide_console(table).print(table)
    if outcome.message:
        say(f"[bold red]{outcome.status}[/]: {outcome.message}")
    if outcome.through:
        say(f"[bold red]{outcome.through}[/]")
    say(facts["headline"])
    said = {outcome.through, *merged(outcome.simulation.notes)}
    for note in [note for note in outcome.notes if note not in said]:
        say(f"  {note}")
    if facts["forces"]:
        wide(peak_table(facts["forces"]))
    if facts["pairs"]:
        wide(pair_table(facts["pairs"], "contact at the end"))
    table = Table(box=None, show_header=False)
    rate = outcome.steps / outcome.seconds if outcome.seconds > 0 else math.inf
    pace = f"{rate:.0f}" if rate >= 10.0 else f"{rate:.2g}"
    took = f"{facts['steps']} steps, {outcome.seconds:.1f} s, {pace} steps/s"
    table.add_row("end", f"{outcome.status} at t = {facts['time']:.4g} s after {took}")
    table.add_row("deepest contact", f"{_length(facts['max_depth'])}, up to {facts['max_contacts']} contacts")
    now = {"kinetic": "kinetic", "elastic": "elastic", "gravity_from_lowest": "gravity, from its lowest,"}
    works = {"contact_work": "contact", "friction_work": "friction of that", "attachment_work": "attachments",
             "drive_work": "prescribed motion", "load_work": "loads"}  # fmt: skip
    damped = facts["lost"] - facts["flow"]
    known = {name: facts[name] for name in (*now, *works, "flow")} | {"damped": damped}
    least = ROUNDING * max(abs(value) for value in known.values())  # below it is rounding, and told as 0
    told = {name: f"{0.0 if abs(value) < least else value:.3g}" for name, value in known.items()}
    for row in weight_rows(facts["weights"]):
        table.add_row(*row)
    table.add_row("energy (J)", ", ".join(f"{name} {told[key]}" for key, name in now.items()))
    for name, count in facts["parts"].items():
        table.add_row("came apart", f"{name} into {count} parts ({name}, {name}.2{', ...' if count > 2 else ''})")
    done = [f"{name} {told[key]}" for key, name in works.items() if told[key] != "0"]
    flow = [f"taken by flow and tears {told['flow']}"] if told["flow"] != "0" else []
    table.add_row("work so far (J)", ", ".join([*done, *flow, f"lost by damping and integration {told['damped']}"]))
    table.add_row("contact impulses", f"account for the momentum of every body to {facts['imbalance']:.1g}")
    table.add_row("time spent", ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in outcome.timings.items()))
    table.add_row("wrote", facts["run"])
    Console(highlight=False, markup=False).print(table)
    if outcome.status == "interrupted":
        say(f"Go on with: pliant resume {facts['run']}")


def run_facts(path: Path, verify: bool = False) -> dict[str, Any]:
    """What is in a run file; `verify`: all of it is read, also if it is large."""
    with Run.open(path) as opened:
        size = sum(p.stat().st_size for p in (opened.path, opened.path.with_suffix(".journal")) if p.exists())
        deep = verify or size <= VERIFIED
        sifted = sift(opened.entries, deep=deep)
        run = Run(sifted.entries, opened.path)
        advice = f"`pliant repair {path}` makes a run file of what is whole"
        damage = [f"{path} is damaged: {sifted.words}. {advice}."] if sifted.lost else opened.damage
        if not damage and opened.path.exists() and not apart.opens(opened.path):
            damage.append(f"all records of {path} are whole, but other programs cannot read it: its HDF5 structure is damaged. {advice}.")
        if opened.dropped_bytes:
            damage.append(f"Its last record is not complete ({opened.dropped_bytes} bytes), as a kill leaves it, and is left out.")
        cells = run.cells(run.frames - 1) if run.frames else None
        return {
            "run": str(run.path), "status": run.status, "message": run.message, "scene": run.header.get("name", ""),
            "pliant": run.header.get("pliant", ""), "created": run.header.get("created", ""), "frames": run.frames,
            "from": float(run.times[0]) if run.frames else None, "to": float(run.times[-1]) if run.frames else None,
            "steps": int(run.steps[-1]) if run.frames else 0, "bodies": list(cells.bodies.values()) if cells else [],
            "points": len(run.points(run.frames - 1)) if run.frames else 0, "cells": cells.count if cells else 0,
            "fields": run.fields(run.frames - 1) if run.frames else {}, "series": list(run.series()) if run.frames else [],
            "orders": [order.meta for order in run.orders], "notes": run.notes, "damage": damage, "resumable": run.resumable,
            "bytes": size, "verified": deep,
        }  # fmt: skip


def run_text(facts: dict[str, Any]) -> str:
    """The facts of a run in sentences."""
    made = f"{human(facts['bytes'])}, pliant {facts['pliant']}, {facts['created']}"
    lines = [f"[bold]{facts['run']}[/]: scene {facts['scene']}, {facts['status']}, {made}."]
    if facts["message"]:
        lines.append(f"It ended with: {facts['message']}")
    for sentence in facts["damage"]:
        lines.append(f"[bold red]Damage[/]: {sentence}")
    if not facts["verified"]:
        lines.append("Its frames were not read, for it is large: pliant info --verify reads all of it and says what is damaged.")
    if facts["frames"]:
        lines.append(f"{facts['frames']} frames from t = {facts['from']:.4g} s to {facts['to']:.4g} s, {facts['steps']} steps.")
        lines.append(f"Bodies: {', '.join(facts['bodies'])}; {facts['points']} points, {facts['cells']} cells.")
        lines.append(f"Fields: {', '.join(f'{k} ({v})' for k, v in facts['fields'].items())}.")
        lines.append(f"Per step: {', '.join(facts['series'])}.")
    if facts["orders"]:
        lines.append("Changed by hand, so its scene alone does not repeat it:")
        lines += [f"  {Order(**order).words}" for order in facts["orders"]]
    if facts["notes"]:
        lines.append("Notes of the run:")
        lines += [f"  {note}" for note in facts["notes"]]
    if facts["status"] != "finished" and facts["resumable"]:
        lines.append(f"Go on with: pliant resume {facts['run']}")
    return "\n".join(lines)


def contact_facts(
    run: Run, pair: tuple[str, str] | None, at: float | None, out: Path | None, to: str = "csv", window: float | None = None
) -> dict[str, Any]:
    """Contacts of a run at a time, per pair, its history of one pair or of all as csv or parquet and plot, and its largest forces.

    window [s]: over which these are averaged, instead of the time that belongs to each pair.
    """
    from pliant.look.plots import plot_forces, plot_pair

    writers = {"csv": write_csv, "parquet": write_parquet}
    if to not in writers:
        raise PliantError(f"Contacts cannot be written as '{to}': {nearest(to, writers)}")

    frame = run.frame_at(at)
    contacts = run.contacts(t=at) if pair is None else run.contacts(*pair, t=at)
    stem = out or run.path.with_name("_".join([run.path.stem, "contacts", *(pair or ())]).replace("/", "-"))
    stem.parent.mkdir(parents=True, exist_ok=True)
    table, png = stem.with_name(f"{stem.name}.{to}"), stem.with_name(stem.name + ".png")
    names, written = run.cells(frame).bodies, []
    if pair is not None:
        written = [writers[to](table, pair_series(run, *pair, window)), plot_pair(run, *pair, png, window)]
    elif "row" in run.pairs():
        written = [writers[to](table, all_pairs(run)), plot_forces(run, png)]
    rows = [_judged(row, at_time(run, float(run.times[frame]))) for row in pair_rows(of_frame(run, contacts), names)]
    if pair is not None:  # on the first of the two, however they are numbered
        rows = [r if r["a"] == pair[0] else turned(r) for r in rows]
    time, forces = float(run.times[frame]), Forces(run)
    of_both = lambda found: pair is None or {found.a, found.b} == set(pair)
    apart = [found.facts for found in forces.parted(time) if of_both(found)]
    peaks = [found for found in forces.all(window) if of_both(found)]
    return {
        "headline": headline(peaks[0]) if peaks else "", "time": time, "forces": [found.facts for found in peaks], "pairs": rows,
        "parted": apart, "wrote": [str(p) for p in written],
    }  # fmt: skip


def parted_text(rows: list[dict[str, Any]]) -> str:
    """Sentences about pairs that touch no more."""
    shown = [
        f"{r['a']} and {r['b']} parted after t = {r['last']:.4g} s; their largest force was {r['mean']:.4g} N "
        f"(mean over {milliseconds(r['window'])}) at {r['at']:.4g} s."
        for r in rows[:MOST_PARTED]
    ]
    return "\n".join(shown + ([f"{len(rows) - MOST_PARTED} more pairs parted."] if len(rows) > MOST_PARTED else []))
