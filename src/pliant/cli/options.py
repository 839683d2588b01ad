"""Options that commands share, and how they speak: to people in sentences, to programs in JSON."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer

RunFile = Annotated[Path, typer.Argument(help="A run file.")]
SceneName = Annotated[str, typer.Argument(help="A scene file (.toml) or the name of a scene that ships with pliant.")]
Dt = Annotated[float | None, typer.Option(help="Length of a step [s], instead of the scene's.")]
Duration = Annotated[float | None, typer.Option(help="Simulated time [s], instead of the scene's.")]
Contact = Annotated[str | None, typer.Option(help="Contact method, instead of the scene's.")]
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


def coloured_by(value: str) -> str:
    """A field that pictures can be coloured by, refused before the run rather than after it."""
    from pliant.base import PliantError, nearest

    if value not in COLOURS:
        raise PliantError(f"Pictures cannot be coloured by '{value}': {nearest(value, COLOURS)}")
    return value


Colour = Annotated[str, typer.Option(callback=coloured_by, help=f"What colours pictures: {', '.join(COLOURS)}.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")]
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


def use_threads(threads: int | None) -> None:
    """Tell the kernels, before they are loaded."""
    if threads is not None:
        os.environ["PLIANT_THREADS"] = str(threads)
