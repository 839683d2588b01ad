"""Commands that show runs in the browser and as pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from threading import Event

    from pliant.live.server import Server

from pliant.cli.options import AllowCode, Contact, Dt, RunFile, SceneName, Settings, Yes, allow, say, wanted_scene

Host = Annotated[str, typer.Option(help="Address to listen at; another than this machine's own shows the page to the network.")]
Port = Annotated[int | None, typer.Option(help="Port; default the first free one from 8700 on, 0: any that is free.")]
Browser = Annotated[bool, typer.Option(help="Open the page in the default browser.")]
Colour = Annotated[str, typer.Option(help="What colours bodies at first: pressure, von_mises, speed, body ...")]


def view(
    path: RunFile,
    html: Annotated[Path | None, typer.Option(help="Write one html file that plays without a server, and stop.")] = None,
    host: Host = "127.0.0.1",
    port: Port = None,
    colour: Colour = "auto",
    browser: Browser = True,
) -> None:
    """Play a run in the browser: time line, fields, contacts, cuts, curves. Ctrl-C ends it."""
    from pliant.live.html import write_page
    from pliant.live.reel import Reel, serve
    from pliant.record import Run, human

    with Run.open(path) as run:
        if html is not None:
            written = write_page(Reel(run, colour), html)
            say(f"Wrote {written}, {human(written.stat().st_size)}: open it in any browser, no server and no network needed.")
            return
        with serve(run, colour, host, port) as server:
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


def leave() -> None:
    """End the process now, whatever its threads do: machine code that is being made cannot be stopped otherwise."""
    import os
    import sys

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
    from pliant.look.report import report as write
    from pliant.record import Run

    with Run.open(path) as run:
        written = write(run, out or run.path.with_name(run.path.stem + "_report.html"), colour, stills)
    say(f"Wrote {written}.")
