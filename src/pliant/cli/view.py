"""Commands that show runs in the browser and as pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from threading import Event

    from pliant.live.server import Server

from pliant.cli.options import AllowCode, Contact, Dt, RunFile, SceneName, Settings, Yes, allow, say, seconds, wanted_scene
from pliant.waiting import doing

Host = Annotated[str, typer.Option(help="Address to listen at; another than this machine's own shows the page to the network.")]
Port = Annotated[int | None, typer.Option(help="Port; default the first free one from 8700 on, 0: any that is free.")]
Browser = Annotated[bool, typer.Option(help="Open the page in the default browser.")]
Colour = Annotated[str, typer.Option(help="What colours bodies at first: pressure, von_mises, speed, body ...")]


def view(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN...", help="A run file; several are shown beside each other.")],
    html: Annotated[Path | None, typer.Option(help="Write one html file that plays without a server, and stop.")] = None,
    host: Host = "127.0.0.1",
    port: Port = None,
    colour: Colour = "auto",
    browser: Browser = True,
) -> None:
    """Play a run in the browser: time line, fields, contacts, cuts, curves; several beside each other, at one time. Ctrl-C ends it."""
    from pliant.live.html import write_page
    from pliant.live.reel import Reel, serve
    from pliant.record import Run, human

    with ExitStack() as opened:
        runs = [opened.enter_context(Run.open(path)) for path in paths]
        if html is not None:
            reels = [Reel(run, colour) for run in runs]
            written = write_page(reels if len(reels) > 1 else reels[0], html)
            say(f"Wrote {written}, {human(written.stat().st_size)}: open it in any browser, no server and no network needed.")
            return
        with serve(runs, colour, host, port) as server:
            stay(server, browser)


def live(
    scene: SceneName,
    dt: Dt = None,
    contact: Contact = None,
    settings: Settings = None,
    folder: Annotated[Path, typer.Option(help="Where scenes and runs are saved from the page.")] = Path("runs"),
    start: Annotated[bool, typer.Option(help="Begin at once instead of paused.")] = False,
    allow_code: AllowCode = False,
    yes: Yes = False,
    host: Host = "127.0.0.1",
    port: Port = None,
    colour: Colour = "auto",
    browser: Browser = True,
) -> None:
    """Run a scene in the browser: pull at bodies, change settings, drop more, save what was done. Ctrl-C ends it."""
    from pliant.disk import file_stem
    from pliant.live.orders import obey, serve
    from pliant.live.session import GRACE, Session
    from pliant.simulate.compile_ahead import announce, warm

    allow(allow_code, contact, yes)
    made = wanted_scene(scene, settings or [], dt, None, contact)
    file_stem(made.name, "The scene")
    warm(made)
    with announce():
        session = Session(made, folder, colour)
    try:
        with serve(session, host, port) as server:
            if start:
                obey(session, {"do": "start"})
            stay(server, browser, session.busy)
    finally:
        if not session.close(GRACE):
            say("It was in the middle of a step or of compiling, which is given up; what was recorded is saved.")
            leave()


def figure(
    path: RunFile,
    time: Annotated[float | None, typer.Option(parser=seconds, metavar="TIME", help="When, such as 0.3; default the end.")] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="As .pdf, which is the default.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="As .svg.")] = False,
    png: Annotated[bool, typer.Option("--png", help="As .png, 600 dots an inch.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write (.pdf, .svg, .eps, .png); default RUN_figure beside the run.")] = None,
    colour: Colour = "auto",
    size: Annotated[str, typer.Option(help="Width and height in millimetres, such as 85x64.")] = "85x64",
    camera: Annotated[
        str | None, typer.Option(help="AZIMUTH,ELEVATION in degrees; or X,Y,Z,FX,FY,FZ in metres: where it stands and looks.")
    ] = None,
    colours: Annotated[str, typer.Option(help="viridis, cividis, grey or pliant.")] = "viridis",
    limits: Annotated[str | None, typer.Option(help="LOW,HIGH of the colours in SI units, such as 0,20000.")] = None,
    curve: Annotated[str | None, typer.Option(help="A curve beside it: force, energy, depth, or a column of the steps.")] = None,
    transparent: Annotated[bool, typer.Option("--transparent", help="Nothing behind the bodies, no floor.")] = False,
    title: Annotated[bool, typer.Option(help="Name and time in the figure.")] = False,
) -> None:
    """Draw a figure for a paper: vectors in exact millimetres, camera by numbers, colours for any eyes."""
    from pliant.base import PliantError
    from pliant.disk import try_place
    from pliant.look.figure import figure as draw
    from pliant.look.stage import Camera
    from pliant.record import Run

    if pdf + svg + png > 1:
        raise PliantError("--pdf, --svg and --png: choose one")
    place = None if camera is None else tuple(_numbers("camera", camera, (2, 6)))
    view = place if place is None or len(place) == 2 else Camera(place[:3], place[3:])  # type: ignore[arg-type]
    target = out or path.with_name(f"{path.stem}_figure" + (".svg" if svg else ".png" if png else ".pdf"))
    wide, high = _numbers("size", size, (2,), between="x")
    span = None if limits is None else tuple(_numbers("limits", limits, (2,)))
    try_place(target)
    with doing(f"drawing {target}"), Run.open(path) as run:
        written = draw(run, target, time, colour, (wide, high), view, span, colours, transparent, title=title, curve=curve)  # type: ignore[arg-type]
    say(f"Wrote {written}: {wide:g} x {high:g} mm.")


def _numbers(name: str, text: str, counts: tuple[int, ...], between: str = ",") -> list[float]:
    from math import isfinite

    from pliant.base import PliantError

    try:
        found = [float(part) for part in text.replace(between, ",").split(",")]
    except ValueError:
        found = []
    if len(found) not in counts or not all(map(isfinite, found)):
        mark = "commas" if between == "," else f"'{between}'"
        raise PliantError(f"--{name} {text}: give {' or '.join(map(str, counts))} numbers with {mark} between them")
    return found


def leave() -> None:
    """End the process now, whatever its threads do: machine code that is being made cannot be stopped otherwise."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def stay(server: Server, browser: bool, busy: Callable[[], dict[str, Any]] | None = None) -> None:
    """Say the address, open it, and wait for Ctrl-C; a second one ends the process at once. `busy`: what to tell while waiting."""
    import signal
    import threading
    import webbrowser

    over = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: leave() if over.is_set() else over.set())
    say(f"Open {server.address} in a browser. Ctrl-C ends this.")
    if server.host not in ("127.0.0.1", "localhost", "::1"):
        say("  Everybody who knows this address and can reach this machine can see it, and in `live` change it. It is not encrypted.")
    if browser:
        webbrowser.open(server.address)
    if busy is not None:
        wait_telling(over, busy)
    while not over.wait(0.2):  # a wait without end would not hear signals on Windows
        pass
    say("Closed.")


def wait_telling(over: Event, busy: Callable[[], dict[str, Any]]) -> None:
    """Wait, with a line about what a live simulation is busy with."""
    from pliant.simulate.compile_ahead import line

    told = ""
    with line() as show:
        while not over.wait(0.2):
            words = busy_words(busy())
            if words != told:
                show(words)
            told = words


def busy_words(busy: dict[str, Any]) -> str:
    """A line about what keeps a live simulation from going on; empty for the first seconds, and if nothing does."""
    if not busy["doing"] or busy["seconds"] < 2.0:
        return ""
    waiting = f"; queued: {', '.join(busy['waiting'])}" if busy["waiting"] else ""
    return f"{busy['doing'].capitalize()}, {5 * int(busy['seconds'] / 5)} s so far{waiting}."


def report(
    path: RunFile,
    out: Annotated[Path | None, typer.Option(help="The page to write; default RUN_report.html.")] = None,
    stills: Annotated[int, typer.Option(min=1, max=40, help="Pictures along the time line.")] = 6,
    colour: Colour = "auto",
) -> None:
    """Write one html page about a run: scene, pictures, curves, pressure map, pairs, warnings, how to do it again."""
    from pliant.disk import try_place
    from pliant.look.report import report as write
    from pliant.record import Run

    with doing(f"drawing the pictures of {path}"), Run.open(path) as run:
        target = out or run.path.with_name(run.path.stem + "_report.html")
        try_place(target)
        written = write(run, target, colour, stills)
    say(f"Wrote {written}.")
