"""Commands that run scenes, go on with runs, and press surfaces together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.options import (
    AllowCode,
    Colour,
    Contact,
    Dt,
    Duration,
    FillTimeout,
    Json,
    Keep,
    SceneName,
    Settings,
    Threads,
    Yes,
    allow,
    reduction,
    say,
    seconds,
    tell,
    use_fill_timeout,
    use_threads,
    wanted_scene,
)  # fmt: skip

THROUGH = 3  # exit code of a run that reached its end, but in which bodies went through each other


def demo(
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie.")] = True,
) -> None:
    """Press a foot into a soft mat, and show what pliant measures: the pressure under it, and the force. Under a minute, once compiled."""
    from pliant.record.run import free_name

    scene = wanted_scene("footprint", [], None, None, None)
    _run(scene, free_name((out or Path("runs")) / "demo"), None, 10, pictures, "max_pressure", False, curve="force")


def run(
    scene: SceneName,
    dt: Dt = None,
    duration: Duration = None,
    contact: Contact = None,
    out: Annotated[Path | None, typer.Option(help="Run file to write; default runs/NAME.vtkhdf.")] = None,
    every: Annotated[
        float | None, typer.Option(parser=seconds, metavar="TIME", help="Time between frames; default a 100th of the run; 0: every step.")
    ] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Frames between checkpoints, from which a run resumes.")] = 10,
    keep: Keep = None,
    settings: Settings = None,
    fill_timeout: FillTimeout = None,
    threads: Threads = None,
    allow_code: AllowCode = False,
    yes: Yes = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run file if there is one of that name.")] = False,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie at the end.")] = True,
    colour: Colour = "auto",
    as_json: Json = False,
) -> None:
    """Run a scene: progress, a run file that ParaView opens, a picture, a movie and a summary.

    Ctrl-C stops it cleanly; `pliant resume` goes on from there, also after a crash.
    """
    use_threads(threads)
    use_fill_timeout(fill_timeout)
    allow(allow_code, contact, yes)
    made = wanted_scene(scene, settings or [], dt, duration, contact)
    _run(made, out, every, checkpoint_every, pictures, colour, as_json, overwrite, reduction(keep))


def resume(
    path: Annotated[Path, typer.Argument(help="A run file that was stopped, killed or failed.")],
    duration: Annotated[
        float | None, typer.Option(parser=seconds, metavar="TIME", help="Run until this simulated time; default as planned.")
    ] = None,
    threads: Threads = None,
    allow_code: AllowCode = False,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie at the end.")] = True,
    colour: Colour = "auto",
    as_json: Json = False,
) -> None:
    """Go on with a run from its last checkpoint; the result is the same, bit for bit, as without the stop."""
    from pliant.record.run import run_paths
    from pliant.simulate import running

    use_threads(threads)
    allow(allow_code)
    kept = run_paths(path)[1].exists()
    over = running.over_at(path, duration)
    if over is not None:
        done = f"{path} was written from its journal" if kept else "nothing was done"
        text = f"It had reached its end; --duration makes it longer. Give one above {over:.4g} s; {done}."
        tell({"status": "finished", "message": text, "run": str(path), "time": over}) if as_json else say(text)
        return
    sim, recorder = running.reopen(path, duration)
    if not as_json:
        for note in recorder.notes:
            say(f"  {note}")
        if recorder.left_out:
            say(f"  Its last record was not complete ({recorder.left_out} bytes) and is left out.")
        say(f"Resuming {path} at t = {sim.time:.4g} s of {sim.scene.duration:.4g} s.")
    _finish(sim, recorder, pictures, colour, as_json)


def _run(
    scene: Any,
    out: Path | None,
    every: float | None,
    checkpoint_every: int,
    pictures: bool,
    colour: str,
    as_json: bool,
    overwrite: bool = False,
    reduced: Any = None,
    curve: str | None = None,
) -> None:
    from pliant.cli.terminal import size_note
    from pliant.disk import file_stem
    from pliant.record.run import free_name
    from pliant.simulate import running
    from pliant.simulate.compile_ahead import announce, warm
    from pliant.simulate.guards import check_cost
    from pliant.simulate.verdicts import merged

    target = out or free_name(Path("runs") / file_stem(scene.name, "The scene"))
    warm(scene, quiet=as_json)
    if not as_json:
        _show_log()
    with announce(quiet=as_json):
        sim, recorder = running.start(scene, target, every, checkpoint_every, overwrite, check_cost, reduced or running.EVERYTHING)
    if not as_json:
        say(f"[bold]{scene.name}[/]: {len(scene.bodies)} bodies, {len(sim.state.x)} nodes, dt = {sim.dt:g} s, {sim.scene.duration:g} s.")
        for note in [*merged(sim.notes), size_note(sim, recorder)]:
            say(f"  {note}")
    _finish(sim, recorder, pictures, colour, as_json, curve)


def _show_log() -> None:
    """What the library has to say while it reads and fills meshes."""
    import logging

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("  %(message)s"))
    logging.getLogger("pliant").addHandler(handler)
    logging.getLogger("pliant").setLevel(logging.INFO)


def _finish(sim: Any, recorder: Any, pictures: bool, colour: str, as_json: bool, curve: str | None = None) -> None:
    """Run to the end with a progress bar, print the summary, make pictures, exit with the right code."""
    from pliant.base import DiskError
    from pliant.cli.terminal import leave_pictures, progress_bar, summary_facts, summary_table
    from pliant.simulate import running
    from pliant.simulate.compile_ahead import announce

    with announce(quiet=as_json), progress_bar(hidden=as_json) as update:
        outcome = running.run(sim, recorder, update)
    facts = summary_facts(outcome)
    if not as_json:
        summary_table(outcome, facts)  # before anything is drawn, which may take as long as the run
    wanted = pictures and outcome.status != "interrupted"  # who stops a run does not want to wait for a movie
    made = leave_pictures(outcome, colour, say=(lambda text: None) if as_json else say, curve=curve, hidden=as_json) if wanted else []
    if as_json:
        tell(facts | {"pictures": [str(path) for path in made]})
    if outcome.trouble:
        raise DiskError(outcome.trouble)
    if outcome.status != "finished":
        raise typer.Exit({"interrupted": 130, "failed": 1}[outcome.status])
    if outcome.through:
        raise typer.Exit(THROUGH)


EXACT = ("ball:10cm", "box:10cmx8cmx5cm", "cylinder:2cm,5cm", "capsule:2cm,5cm", "torus:8cm,2cm")  # radii, lengths; docs/press.md


def press(
    a: Annotated[str, typer.Argument(help=f"A mesh or point cloud file; or a shape: {', '.join(EXACT)} (exact), foot, bunny ...")],
    b: Annotated[str, typer.Argument(help="What it is pressed onto: a file, a shape as above, or plane.")] = "plane",
    depth: Annotated[str | None, typer.Option(help="How far A goes on after the first touch, such as 2mm; or")] = None,
    force: Annotated[str | None, typer.Option(help="the force it goes on to, such as 500N.")] = None,
    direction: Annotated[str, typer.Option(help="The way A moves, three numbers.")] = "0,0,-1",
    tilt: Annotated[str, typer.Option(help="fixed, or free: under a force, A turns until its load is balanced.")] = "fixed",
    at: Annotated[str | None, typer.Option(help="Where the force acts on A [m], three numbers; default the centre of its volume.")] = None,
    response: Annotated[str, typer.Option(help="boussinesq, volume-preserving (flesh, rubber), layer, or a table (.csv).")] = "boussinesq",
    layer: Annotated[str | None, typer.Option(help="How far a push is felt, such as 15mm; default twice the contact's radius.")] = None,
    young: Annotated[str, typer.Option(help="Young's modulus of A, such as 200kPa; rigid; or a file with one for each vertex.")] = "1MPa",
    poisson: Annotated[float, typer.Option(help="Poisson's ratio of A.")] = 0.45,
    young_b: Annotated[str, typer.Option(help="Young's modulus of B; rigid.")] = "rigid",
    poisson_b: Annotated[float, typer.Option(help="Poisson's ratio of B.")] = 0.45,
    unit: Annotated[str, typer.Option(help="Unit of the numbers in the files: m, cm, mm, in ...")] = "m",
    up: Annotated[str, typer.Option(help="Axis that points up in the files: x, y, z, -y ...")] = "z",
    size: Annotated[str | None, typer.Option(help="Instead of a unit: the largest extent of each file, such as 25cm.")] = None,
    unit_b: Annotated[str | None, typer.Option(help="Unit of B's file, if it differs.")] = None,
    up_b: Annotated[str | None, typer.Option(help="Axis that points up in B's file, if it differs.")] = None,
    size_b: Annotated[str | None, typer.Option(help="Largest extent of B's file, if it differs.")] = None,
    spacing: Annotated[str | None, typer.Option(help="Of cells or samples, such as 1mm; default: until the peak holds.")] = None,
    align: Annotated[bool, typer.Option("--align", help="Bring the middles of both in line first.")] = False,
    crop: Annotated[str | None, typer.Option(help="The part of A that is used, such as z<50mm,x>-2cm.")] = None,
    crop_b: Annotated[str | None, typer.Option(help="The part of B that is used.")] = None,
    cell: Annotated[str | None, typer.Option(help="Files hold heights in rows, in cells of this size, such as 1um.")] = None,
    tangential: Annotated[str | None, typer.Option(help="A load across the contact, carried by friction, such as 20N.")] = None,
    along: Annotated[str, typer.Option(help="Its direction, three numbers.")] = "1,0,0",
    friction: Annotated[float | None, typer.Option(help="Coefficient of friction.")] = None,
    nodes: Annotated[str, typer.Option(help="auto, cells (of a grid), samples (of the surfaces).")] = "auto",
    sensor: Annotated[str | None, typer.Option(help="Cells of the pressure map, such as 37x13.")] = None,
    measured: Annotated[Path | None, typer.Option(help="A measured map (rows of numbers) to compare with.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for pictures, map and surfaces.")] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Press one object onto another: contact area, pressure, centre of pressure, stiffness, and a picture."""
    from pliant.disk import try_place
    from pliant.pressing.output import numbers, report, sensor_shape
    from pliant.pressing.tool import press as press_together
    from pliant.simulate.compile_ahead import announce

    use_threads(threads)
    shape = sensor_shape(sensor, measured)
    if out is not None:
        try_place(out / "facts.json")
    with announce(quiet=as_json):
        found = press_together(
            a, b, depth=depth, force=force, direction=numbers("direction", direction), tilt=tilt,
            at=None if at is None else numbers("at", at), response=response, layer=layer,
            young=None if young == "rigid" else young, poisson=poisson, young_b=None if young_b == "rigid" else young_b,
            poisson_b=poisson_b, unit=unit, up=up, size=size, unit_b=unit_b, up_b=up_b, size_b=size_b, spacing=spacing, align=align,
            crop=crop, crop_b=crop_b, cell=cell, tangential=tangential, along=numbers("along", along), friction=friction, nodes=nodes,
        )  # fmt: skip
    facts, text = report(found, shape, measured)
    if out is not None:
        facts["files"] = [str(path) for path in found.save(out, shape)]
    tell(facts) if as_json else say(text)
    if out is not None and not as_json:
        say(f"Wrote {', '.join(Path(path).name for path in facts['files'])} in {out}.")


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
    from pliant.pressing.response_tables import tabulated
    from pliant.simulate.compile_ahead import announce

    use_threads(threads)
    with announce(quiet=as_json):
        facts, text = tabulated(out, thickness, measured, load, young, poisson)
    tell(facts) if as_json else say(text)
