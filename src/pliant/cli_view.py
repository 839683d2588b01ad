"""Commands that show runs in the browser and as pages; `cli.py` adds them to the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunFile = Annotated[Path, typer.Argument(help="A run file.")]
Colour = Annotated[str, typer.Option(help="What colours bodies at first: pressure, von_mises, speed, body ...")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (report,):
        app.command()(command)


def report(
    path: RunFile,
    out: Annotated[Path | None, typer.Option(help="The page to write; default RUN_report.html.")] = None,
    stills: Annotated[int, typer.Option(min=1, max=40, help="Pictures along the time line.")] = 6,
    colour: Colour = "auto",
) -> None:
    """Write one html page about a run: scene, pictures, curves, pressure map, pairs, warnings, how to do it again."""
    from pliant.cli import say
    from pliant.look.report import report as write
    from pliant.record import Run

    with Run.open(path) as run:
        written = write(run, out or run.path.with_name(run.path.stem + "_report.html"), colour, stills)
    say(f"Wrote {written}.")
