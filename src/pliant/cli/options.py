"""Options that commands share, and how they speak: to people in sentences, to programs in JSON."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.waiting import hush

if TYPE_CHECKING:
    from pliant.scene import Scene


RunFile = Annotated[Path, typer.Argument(help="A run file.")]
SceneName = Annotated[str, typer.Argument(help="A scene file (.toml) or the name of a scene that ships with pliant.")]


def seconds(text: str) -> float:
    """A time of the command line, such as 0.002 or 2ms [s]."""
    from pliant.spec.units import read  # start-up

    try:
        return read(str(text), "s")
    except ValueError as error:
        raise typer.BadParameter(f"{error}.") from None


Dt = Annotated[float | None, typer.Option(parser=seconds, metavar="TIME", help="Length of a step, such as 2ms, not the scene's.")]
Duration = Annotated[float | None, typer.Option(parser=seconds, metavar="TIME", help="Simulated time, such as 1.5s, not the scene's.")]
Contact = Annotated[str | None, typer.Option(help="Contact method, instead of the scene's.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of a shipped scene, or a path into the scene, such as gravity[2]=-1.6, ball.material.youngs_modulus=50kPa or "
        "pairs.ball.plate.friction=0.4. Repeatable.",
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
def alone(asked: bool) -> bool:
    """JSON comes alone: who merges what is printed with errors could not read it otherwise."""
    if asked:
        hush()
    return asked


Json = Annotated[bool, typer.Option("--json", callback=alone, help="Print JSON for programs instead of text.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads for large scenes; default all cores. Results do not depend on it.")]


Workers = Annotated[
    int | None, typer.Option(min=0, help="Processes that work side by side; default as many as cores. 0: this process, without Dask.")
]


FillTimeout = Annotated[
    float | None, typer.Option(min=0.0, help="Seconds to wait for tetrahedra that follow a surface; then it is filled with cells.")
]


AllowCode = Annotated[bool, typer.Option("--allow-code", help="Import Python code that a file names, such as contact = \"mine:Method\".")]
Yes = Annotated[bool, typer.Option("--yes", help="Begin also what takes very much memory or time, or has steps that are too long.")]


def allow(code: bool = False, typed: str | None = None, yes: bool = False) -> None:
    """Do what the words of a command ask for; see `pliant.asking`."""
    from pliant.asking import allow as ask  # start-up

    ask(code, typed, yes)


STYLED = re.compile(r"\[(bold red|bold|green|yellow|dim)\](.*?)\[/\]", re.DOTALL)


def say(text: str = "") -> None:
    """Print for people. Words between [bold], [bold red], [green], [yellow] or [dim] and [/] are shown so; all other brackets are text."""
    from rich.console import Console
    from rich.text import Text

    parts = STYLED.split(text)  # plain, style, words, plain, ...
    shown = Text(parts[0])
    for style, words, plain in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        shown.append(words, style).append(plain)
    Console(soft_wrap=True, highlight=False).print(shown)


def tell(facts: Any) -> None:
    """Print for programs: JSON has no NaN and no infinity, they become null."""
    from pliant.live.pack import plain

    print(json.dumps(plain(facts), indent=2, allow_nan=False))


def use_threads(threads: int | None) -> None:
    """Tell the kernels, before they are loaded."""
    if threads is not None:
        os.environ["PLIANT_THREADS"] = str(threads)


def use_fill_timeout(seconds: float | None) -> None:
    """Tell whatever fills surfaces."""
    if seconds is not None:
        os.environ["PLIANT_FILL_TIMEOUT"] = str(seconds)


# ---- the scene that a command is to work on: from a file or by name, with what the command line changes


def wanted_scene(name: str, settings: list[str], dt: float | None, duration: float | None, contact: str | None) -> Scene:
    """A scene from a file or by name, with what the command line changes."""
    from pliant.base import PliantError
    from pliant.scene import Scene
    from pliant.shop import scenes as shipped

    refuse_other_files(name, "scene")
    values = parse_settings(settings)
    if name.endswith(".toml") or "/" in name:
        try:
            scene = Scene.load(name)
        except UnicodeDecodeError:
            raise PliantError(f"{name} is not a text file, so it is no scene.") from None
        if "name" not in scene.model_fields_set:
            scene.name = Path(name).stem
        scene = scene.with_(values)
    else:
        scene = shipped.varied(name, values)
    for key, value in (("dt", dt), ("duration", duration), ("contact", contact)):
        if value is not None:
            setattr(scene, key, value)
    return scene


OTHERS = {
    ".vtkhdf": "a run: go on with it by `pliant resume`, look at it by `pliant view`",
    ".journal": "a run: go on with it by `pliant resume`, look at it by `pliant view`",
}
MESH = "a mesh file: name it in the shape of a body, shape = {{ file = \"{}\" }}, or look at it by `pliant check`"


def refuse_other_files(name: str, wanted: str) -> None:
    """Say what is meant by a file that is no scene or no study, where one is asked for."""
    from pliant.base import PliantError
    from pliant.geometry.files import FORMATS  # with NumPy: start-up time

    ending = Path(name).suffix.lower()
    what = OTHERS.get(ending) or (MESH.format(name) if ending in FORMATS else None)
    if what is not None or Path(name).is_dir():
        what = f"is no {wanted} but {what}" if what is not None else f"is a folder, not a {wanted}"
        listed = ", or names that `pliant scenes` lists" if wanted == "scene" else ", see docs/studies.md"
        raise PliantError(f"{name} {what}. {'Scenes' if wanted == 'scene' else 'Studies'} are files .toml{listed}.")


def parse_settings(items: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs; values are read as TOML, and as text where that fails."""
    import tomlkit

    from pliant.base import PliantError

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


Keep = Annotated[
    str | None, typer.Option(help="What frames keep, such as positions,pressure (names of fields, contacts); default everything.")
]


def reduction(keep: str | None, precision: str | None = None) -> Any:
    """What frames leave out, as it was asked for."""
    from pliant.pressing.quantities import length
    from pliant.record import Reduction

    names = None if keep is None else tuple(name.strip() for name in keep.split(",") if name.strip())
    return Reduction(names, 0.0 if precision is None else length("precision", precision))
