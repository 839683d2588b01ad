"""The command line. Every command imports what it needs when it runs, so that `pliant --help` is quick."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pliant import cli_proof, cli_view

app = typer.Typer(
    help="Contact between soft, quasi-rigid and rigid bodies: simulate it and measure it.\n\n"
    "Start with `pliant demo`, then `pliant scenes` and `pliant run NAME`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of a shipped scene, or a field of a scene file such as gravity=[0,0,-1.6]. Repeatable.",
    ),
]
COLOURS = ("auto", "body", "von_mises", "det_F", "depth", "pressure", "traction", "contact_force", "speed", "displacement",
           "max_displacement", "max_pressure", "wear")  # fmt: skip


def _colour(value: str) -> str:
    """A field that pictures can be coloured by, refused before the run rather than after it."""
    from pliant.geometry.mesh import PliantError
    from pliant.reading import nearest

    if value not in COLOURS:
        raise PliantError(f"Pictures cannot be coloured by '{value}': {nearest(value, COLOURS)}")
    return value


Colour = Annotated[str, typer.Option(callback=_colour, help=f"What colours pictures: {', '.join(COLOURS)}.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")]


def _version(asked: bool) -> None:
    if asked:
        from pliant import __version__

        print(__version__)
        raise typer.Exit


Threads = Annotated[int | None, typer.Option(min=1, help="Threads for large scenes; default all cores. Results do not depend on it.")]


def say(text: str = "") -> None:
    """Print for people."""
    from rich.console import Console

    Console(soft_wrap=True, highlight=False).print(text)


def tell(facts: Any) -> None:
    """Print for programs: JSON has no NaN and no infinity, they become null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    print(json.dumps(plain(facts), indent=2, allow_nan=False))


def _use_threads(threads: int | None) -> None:
    if threads is not None:
        os.environ["PLIANT_THREADS"] = str(threads)


@app.callback()
def _start(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie.")] = True,
) -> None:
    """Drop two soft bodies into a rigid bowl, and show what pliant measures. Under a minute, once compiled."""
    from pliant.terminal import free_name

    scene = _scene("bowl", [], None, None, None)
    _run(scene, free_name((out or Path("runs")) / "demo"), None, 10, pictures, "auto", False)


@app.command()
def run(
    scene: Annotated[str, typer.Argument(help="A scene file (.toml) or the name of a scene that ships with pliant.")],
    dt: Annotated[float | None, typer.Option(help="Length of a step [s], instead of the scene's.")] = None,
    duration: Annotated[float | None, typer.Option(help="Simulated time [s], instead of the scene's.")] = None,
    contact: Annotated[str | None, typer.Option(help="Contact method, instead of the scene's.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run file to write; default runs/NAME.vtkhdf.")] = None,
    every: Annotated[float | None, typer.Option(help="Time between frames [s]; default a 100th of the run; 0: every step.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Frames between checkpoints, from which a run resumes.")] = 10,
    settings: Settings = None,
    threads: Threads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run file if there is one of that name.")] = False,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie at the end.")] = True,
    colour: Colour = "auto",
    as_json: Json = False,
) -> None:
    """Run a scene: progress, a run file that ParaView opens, a picture, a movie and a summary.

    Ctrl-C stops it cleanly; `pliant resume` goes on from there, also after a crash.
    """
    _use_threads(threads)
    made = _scene(scene, settings or [], dt, duration, contact)
    _run(made, out, every, checkpoint_every, pictures, colour, as_json, overwrite)


@app.command()
def resume(
    path: Annotated[Path, typer.Argument(help="A run file that was stopped, killed or failed.")],
    duration: Annotated[float | None, typer.Option(help="Run until this simulated time [s]; default as planned.")] = None,
    threads: Threads = None,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie at the end.")] = True,
    colour: Colour = "auto",
    as_json: Json = False,
) -> None:
    """Go on with a run from its last checkpoint; the result is the same, bit for bit, as without the stop."""
    from pliant import running

    _use_threads(threads)
    over = running.over_at(path, duration)
    if over is not None:
        text = f"It had reached its end; --duration makes it longer. Give one above {over:.4g} s; nothing was done."
        tell({"status": "finished", "message": text, "run": str(path), "time": over}) if as_json else say(text)
        return
    sim, recorder = running.reopen(path, duration)
    if not as_json:
        say(f"Resuming {path} at t = {sim.time:.4g} s of {sim.scene.duration:.4g} s.")
    _finish(sim, recorder, pictures, colour, as_json)


@app.command()
def info(path: Annotated[Path, typer.Argument(help="A run file.")], as_json: Json = False) -> None:
    """Say what is in a run file: scene, frames, fields, how it ended."""
    from pliant.terminal import run_facts, run_text

    facts = run_facts(path)
    tell(facts) if as_json else say(run_text(facts))


@app.command()
def export(
    path: Annotated[Path, typer.Argument(help="A run file.")],
    to: Annotated[str, typer.Option(help="vtu, ply, csv, png, mp4 or gif.")] = "vtu",
    out: Annotated[Path | None, typer.Option(help="Where to write; default beside the run file.")] = None,
    body: Annotated[str | None, typer.Option(help="Only this body (ply).")] = None,
    colour: Colour = "auto",
    at: Annotated[float | None, typer.Option(help="Time of the picture [s] (png); default the end.")] = None,
    as_json: Json = False,
) -> None:
    """Write a run in another format: VTU series, PLY sequence, CSV of the time series, picture or movie."""
    from pliant.record import Run
    from pliant.terminal import export_run

    with Run.open(path) as opened:
        written = export_run(opened, to, out, body, colour, at)
    if as_json:
        tell([str(path) for path in written])
        return
    say(f"Wrote {written[0]}" + (f" and {len(written) - 1} more." if len(written) > 1 else "."))


@app.command()
def contacts(
    path: Annotated[Path, typer.Argument(help="A run file.")],
    pair: Annotated[tuple[str, str] | None, typer.Option(help="Two bodies; what acts on the first is shown.")] = None,
    at: Annotated[float | None, typer.Option(help="Time [s]; default the end.")] = None,
    to: Annotated[str, typer.Option(help="The history as csv or parquet (needs pandas and pyarrow).")] = "csv",
    out: Annotated[Path | None, typer.Option(help="Stem of the table and png; default RUN_contacts.")] = None,
    as_json: Json = False,
) -> None:
    """Say what touched what, how hard and over which area; write the history as a table and as a plot."""
    from rich.console import Console

    from pliant.record import Run
    from pliant.terminal import contact_facts, pair_table, parted_text

    with Run.open(path) as opened:
        facts = contact_facts(opened, pair, at, out, to)
    if as_json:
        tell(facts)
        return
    if facts["pairs"]:
        Console(highlight=False).print(pair_table(facts["pairs"], f"contact at t = {facts['time']:.4g} s"))
    else:
        say(f"{f'{pair[0]} and {pair[1]} do not touch' if pair else 'Nothing touches'} at t = {facts['time']:.4g} s.")
    if facts["parted"]:
        say(parted_text(facts["parted"]))
    elif pair and not facts["pairs"]:
        say("They did not touch before.")
    say("\n".join(f"Wrote {p}" for p in facts["wrote"]))


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="A mesh or point cloud file.")],
    unit: Annotated[str, typer.Option(help="Unit of the numbers in the file: m, cm, mm, in ...")] = "m",
    up: Annotated[str, typer.Option(help="Axis that points up in the file: x, y, z, -y ...")] = "z",
    size: Annotated[str | None, typer.Option(help="Instead of a unit: the largest extent of the file, such as 25cm.")] = None,
    as_json: Json = False,
) -> None:
    """Say in sentences what is wrong with a mesh file, and what pliant will do about it."""
    from pliant.geometry.check import check_file
    from pliant.pressing.quantities import length

    _, report = check_file(path, unit=unit, up=up, size=None if size is None else length("size", size))
    tell(report.as_dict()) if as_json else say(report.text())
    if report.refused:
        raise typer.Exit(1)


@app.command()
def press(
    a: Annotated[str, typer.Argument(help="A mesh or point cloud file, or the name of a shape.")],
    b: Annotated[str, typer.Argument(help="What it is pressed onto: a file, the name of a shape, or plane.")] = "plane",
    depth: Annotated[str | None, typer.Option(help="How far A goes on after the first touch, such as 2mm; or")] = None,
    force: Annotated[str | None, typer.Option(help="the force it goes on to, such as 500N.")] = None,
    direction: Annotated[str, typer.Option(help="The way A moves, three numbers.")] = "0,0,-1",
    tilt: Annotated[str, typer.Option(help="fixed, or free: under a force, A turns until its load is balanced.")] = "fixed",
    at: Annotated[str | None, typer.Option(help="Where the force acts on A [m], three numbers; default the centre of its volume.")] = None,
    response: Annotated[str, typer.Option(help="boussinesq, volume-preserving (flesh, rubber), layer, or a table (.csv).")] = "boussinesq",
    layer: Annotated[str | None, typer.Option(help="How far a push is felt, such as 15mm; default twice the contact's radius.")] = None,
    young: Annotated[str, typer.Option(help="Young's modulus of A, such as 200kPa; rigid.")] = "1MPa",
    poisson: Annotated[float, typer.Option(help="Poisson's ratio of A.")] = 0.45,
    young_b: Annotated[str, typer.Option(help="Young's modulus of B; rigid.")] = "rigid",
    poisson_b: Annotated[float, typer.Option(help="Poisson's ratio of B.")] = 0.45,
    unit: Annotated[str, typer.Option(help="Unit of the numbers in the files: m, cm, mm, in ...")] = "m",
    up: Annotated[str, typer.Option(help="Axis that points up in the files: x, y, z, -y ...")] = "z",
    size: Annotated[str | None, typer.Option(help="Instead of a unit: the largest extent of each file, such as 25cm.")] = None,
    unit_b: Annotated[str | None, typer.Option(help="Unit of B's file, if it differs.")] = None,
    up_b: Annotated[str | None, typer.Option(help="Axis that points up in B's file, if it differs.")] = None,
    size_b: Annotated[str | None, typer.Option(help="Largest extent of B's file, if it differs.")] = None,
    spacing: Annotated[str | None, typer.Option(help="Of samples on meshes, such as 1mm.")] = None,
    align: Annotated[bool, typer.Option("--align", help="Bring the middles of both in line first.")] = False,
    crop: Annotated[str | None, typer.Option(help="The part of A that is used, such as z<50mm,x>-2cm.")] = None,
    crop_b: Annotated[str | None, typer.Option(help="The part of B that is used.")] = None,
    sensor: Annotated[str | None, typer.Option(help="Cells of the pressure map, such as 37x13.")] = None,
    measured: Annotated[Path | None, typer.Option(help="A measured map (rows of numbers) to compare with.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for pictures, map and surfaces.")] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Press one object onto another: contact area, pressure, centre of pressure, stiffness, and a picture."""
    from pliant.pressing.report import numbers, report, sensor_shape
    from pliant.pressing.tool import press as press_together
    from pliant.warm import announce

    _use_threads(threads)
    shape = sensor_shape(sensor, measured)
    with announce(quiet=as_json):
        found = press_together(
            a, b, depth=depth, force=force, direction=numbers("direction", direction), tilt=tilt,
            at=None if at is None else numbers("at", at), response=response, layer=layer,
            young=None if young == "rigid" else young, poisson=poisson, young_b=None if young_b == "rigid" else young_b,
            poisson_b=poisson_b, unit=unit, up=up, size=size, unit_b=unit_b, up_b=up_b, size_b=size_b, spacing=spacing, align=align,
            crop=crop, crop_b=crop_b,
        )  # fmt: skip
    facts, text = report(found, shape, measured)
    if out is not None:
        facts["files"] = [str(path) for path in found.save(out, shape)]
    tell(facts) if as_json else say(text)
    if out is not None and not as_json:
        say(f"Wrote {', '.join(Path(path).name for path in facts['files'])} in {out}.")


@app.command()
def response(
    out: Annotated[Path, typer.Argument(help="The table to write, a .csv file for `pliant press --response`.")],
    thickness: Annotated[str | None, typer.Option(help="Compute it: a layer on rigid ground, such as 20mm; or")] = None,
    measured: Annotated[Path | None, typer.Option(help="take it from rows of radius [m], displacement [m].")] = None,
    load: Annotated[str, typer.Option(help="The force that the measured displacements belong to.")] = "1N",
    young: Annotated[str, typer.Option(help="Young's modulus, such as 200kPa.")] = "1MPa",
    poisson: Annotated[float, typer.Option(help="Poisson's ratio.")] = 0.45,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Tabulate how a surface gives way around a force, with finite elements or from measurements."""
    from pliant.pressing.tabulate import tabulated
    from pliant.warm import announce

    _use_threads(threads)
    with announce(quiet=as_json):
        facts, text = tabulated(out, thickness, measured, load, young, poisson)
    tell(facts) if as_json else say(text)


def _scene(name: str, settings: list[str], dt: float | None, duration: float | None, contact: str | None) -> Any:
    """A scene from a file or by name, with what the command line changes."""
    from pliant import scenes as shipped
    from pliant.geometry.mesh import PliantError
    from pliant.reading import nearest
    from pliant.scene import Scene

    values = parse_settings(settings)
    if name.endswith(".toml") or "/" in name:
        try:
            scene = Scene.load(name)
        except UnicodeDecodeError:
            raise PliantError(f"{name} is not a text file, so it is no scene.") from None
        if "name" not in scene.model_fields_set:
            scene.name = Path(name).stem
        for key, value in values.items():
            if key not in Scene.model_fields:
                raise PliantError(f"A scene has no field '{key}': {nearest(key, Scene.model_fields)}")
            setattr(scene, key, value)
    else:
        _check_numbers(values, shipped.parameters(name))
        scene = shipped.make(name, **values)
    for key, value in (("dt", dt), ("duration", duration), ("contact", contact)):
        if value is not None:
            setattr(scene, key, value)
    return scene


def _check_numbers(values: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Refuse text where a scene wants a number, and take a number where it wants text."""
    from pliant.geometry.mesh import PliantError

    for key, value in values.items():
        if isinstance(defaults.get(key), str) and isinstance(value, int | float) and not isinstance(value, bool):
            values[key] = str(value)  # figure=6.1 is a name that looks like a number
        if isinstance(defaults.get(key), float) and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise PliantError(f"--set {key}={value}: {key} is a number, {defaults[key]:g} unless given.")


def _run(
    scene: Any,
    out: Path | None,
    every: float | None,
    checkpoint_every: int,
    pictures: bool,
    colour: str,
    as_json: bool,
    overwrite: bool = False,
) -> None:
    from pliant import running
    from pliant.terminal import free_name, size_note
    from pliant.warm import announce, warm

    warm(scene, quiet=as_json)
    if not as_json:
        _show_log()
    with announce(quiet=as_json):
        sim, recorder = running.start(scene, out or free_name(Path("runs") / scene.name), every, checkpoint_every, overwrite)
    if not as_json:
        say(f"[bold]{scene.name}[/]: {len(scene.bodies)} bodies, {len(sim.state.x)} nodes, dt = {sim.dt:g} s, {sim.scene.duration:g} s.")
        for note in [*sim.notes, size_note(sim, recorder)]:
            say(f"  {note}")
    _finish(sim, recorder, pictures, colour, as_json)


def _show_log() -> None:
    """What the library has to say while it reads and fills meshes."""
    import logging

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("  %(message)s"))
    logging.getLogger("pliant").addHandler(handler)
    logging.getLogger("pliant").setLevel(logging.INFO)


def _finish(sim: Any, recorder: Any, pictures: bool, colour: str, as_json: bool) -> None:
    """Run to the end with a progress bar, make pictures, print the summary, exit with the right code."""
    from pliant import running
    from pliant.terminal import leave_pictures, progress_bar, summary_facts, summary_table
    from pliant.warm import announce

    with announce(quiet=as_json), progress_bar(sim, hidden=as_json) as update:
        outcome = running.run(sim, recorder, update)
    wanted = pictures and outcome.status != "interrupted"  # who stops a run does not want to wait for a movie
    made = leave_pictures(outcome, colour, say=(lambda text: None) if as_json else say) if wanted else []
    facts = summary_facts(outcome, made)
    tell(facts) if as_json else summary_table(outcome, facts)
    if outcome.status != "finished":
        raise typer.Exit({"interrupted": 130, "failed": 1}[outcome.status])


@app.command()
def scenes(as_json: Json = False) -> None:
    """List the scenes that ship with pliant, with their parameters."""
    from rich.console import Console
    from rich.table import Table

    from pliant import scenes as shipped

    found = {n: (shipped.module(n).__doc__.splitlines()[0], shipped.parameters(n)) for n in shipped.SCENES}
    if as_json:
        tell({n: {"about": about, "parameters": p} for n, (about, p) in found.items()})
        return
    table = Table("scene", "what happens", "parameters (--set NAME=VALUE)", box=None, pad_edge=False)
    for name, (about, parameters) in found.items():
        table.add_row(f"[bold]{name}[/]", about, ", ".join(f"{k}={v}" for k, v in parameters.items()))
    Console().print(table)


@app.command()
def reproduce(
    source: Annotated[str, typer.Argument(help="Which source; without one, list them and their experiments.")] = "",
    experiments: Annotated[list[str] | None, typer.Argument(help="Ids of experiments; default all.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for plots, pictures and results.json; default runs/SOURCE.")] = None,
    as_json: Json = False,
) -> None:
    """Compute the experiments of the papers again: plots, and lines "published / here / agrees"."""
    from pliant import reproduce as again

    if not source:
        for name in again.SOURCES:
            say(f"[bold]{name}[/]: {(again.source(name).__doc__ or '').splitlines()[0]}")
            for i, run in again.experiments(name).items():
                say(f"  {i}: {(run.__doc__ or '').splitlines()[0]}")
        return
    folder = out or Path("runs") / source
    found = {}
    for i, lines in again.reproduce(source, experiments, folder):
        found[i] = [vars(line) for line in lines]
        if not as_json:
            say(f"[bold]{i}[/]")
            for line in lines:
                say(f"  {line.text()}")
    tell(found) if as_json else say(f"Plots and pictures are in {folder}.")


@app.command()
def schema(out: Annotated[Path | None, typer.Option(help="Write to this file instead of the screen.")] = None) -> None:
    """Print the JSON schema of scene files, for completion and checks in editors."""
    import warnings

    from pliant.scene import Scene

    with warnings.catch_warnings():  # a default that is a table over time has no JSON; its description says what it is
        warnings.simplefilter("ignore")
        text = json.dumps(Scene.model_json_schema(), indent=2)
    if out is None:
        print(text)
    else:
        out.write_text(text + "\n")
        say(f"Wrote {out}.")


@app.command(hidden=True)
def warm() -> None:
    """Compile all kernels into the cache, with a progress line."""
    from pliant.warm import warm as compile_all

    compile_all()


cli_proof.register(app)
cli_view.register(app)


def main() -> None:
    """Run the command line; errors of input are sentences, not tracebacks."""
    from pliant.geometry.mesh import PliantError

    try:
        app(prog_name="pliant")
    except PliantError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


def parse_settings(items: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs; values are read as TOML, and as text where that fails."""
    import tomlkit

    from pliant.geometry.mesh import PliantError

    values: dict[str, Any] = {}
    for item in items:
        key, sign, text = item.partition("=")
        if not sign or not key:
            raise PliantError(f"--set takes NAME=VALUE, not '{item}'.")
        try:
            values[key] = tomlkit.parse(f"value = {text}").unwrap()["value"]
        except Exception:
            values[key] = text
    return values


if __name__ == "__main__":
    main()
