"""Commands that run scenes, and go on with runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.options import Colour, Contact, Dt, Duration, Json, SceneName, Settings, Threads, say, tell, use_threads
from pliant.cli.scene import wanted_scene


def demo(
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie.")] = True,
) -> None:
    """Drop two soft bodies into a rigid bowl, and show what pliant measures. Under a minute, once compiled."""
    from pliant.cli.terminal import free_name

    scene = wanted_scene("bowl", [], None, None, None)
    _run(scene, free_name((out or Path("runs")) / "demo"), None, 10, pictures, "auto", False)


def run(
    scene: SceneName,
    dt: Dt = None,
    duration: Duration = None,
    contact: Contact = None,
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
    use_threads(threads)
    made = wanted_scene(scene, settings or [], dt, duration, contact)
    _run(made, out, every, checkpoint_every, pictures, colour, as_json, overwrite)


def resume(
    path: Annotated[Path, typer.Argument(help="A run file that was stopped, killed or failed.")],
    duration: Annotated[float | None, typer.Option(help="Run until this simulated time [s]; default as planned.")] = None,
    threads: Threads = None,
    pictures: Annotated[bool, typer.Option(help="Make a picture and a movie at the end.")] = True,
    colour: Colour = "auto",
    as_json: Json = False,
) -> None:
    """Go on with a run from its last checkpoint; the result is the same, bit for bit, as without the stop."""
    from pliant.simulate import running

    use_threads(threads)
    over = running.over_at(path, duration)
    if over is not None:
        text = f"It had reached its end; --duration makes it longer. Give one above {over:.4g} s; nothing was done."
        tell({"status": "finished", "message": text, "run": str(path), "time": over}) if as_json else say(text)
        return
    sim, recorder = running.reopen(path, duration)
    if not as_json:
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
) -> None:
    from pliant.cli.terminal import free_name, size_note
    from pliant.simulate import running
    from pliant.simulate.compile_ahead import announce, warm

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
    from pliant.cli.terminal import leave_pictures, progress_bar, summary_facts, summary_table
    from pliant.simulate import running
    from pliant.simulate.compile_ahead import announce

    with announce(quiet=as_json), progress_bar(sim, hidden=as_json) as update:
        outcome = running.run(sim, recorder, update)
    wanted = pictures and outcome.status != "interrupted"  # who stops a run does not want to wait for a movie
    made = leave_pictures(outcome, colour, say=(lambda text: None) if as_json else say) if wanted else []
    facts = summary_facts(outcome, made)
    tell(facts) if as_json else summary_table(outcome, facts)
    if outcome.status != "finished":
        raise typer.Exit({"interrupted": 130, "failed": 1}[outcome.status])
