"""Things in a notebook: a card with picture, facts and warnings for each, and the interactive page inside an output.

Cards are plain HTML with the colours of the notebook around them. The page is in an iframe that holds all of it (`srcdoc`), so that it
works in JupyterLab, VS Code and exported HTML, without a server and without a network.
"""

from __future__ import annotations

import base64
import io
import tempfile
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.contact.contacts import Contacts
from pliant.live.html import whole_page
from pliant.live.reel import Reel
from pliant.look import draw, from_run, from_simulation
from pliant.look.plots import axes_of
from pliant.look.source import Picture
from pliant.measure.forces import Forces, headline
from pliant.measure.pairs import per_pair
from pliant.record import Run, human
from pliant.scene import Scene
from pliant.shown import in_notebook
from pliant.simulate.running import one_frame
from pliant.simulate.simulation import Simulation
from pliant.simulate.verdicts import merged

__all__ = ["axes_of", "card", "card_of", "shown"]

SIZE = (640, 480)  # pixels of the picture of a card
LARGEST = 8_000_000  # bytes of a page inside a notebook; of longer runs every second, third ... frame is in it
MOST_NOTES, MOST_ROWS = 6, 12  # of a card
STYLE = {
    "card": "display:flex;flex-wrap:wrap;gap:1.2em;align-items:flex-start;max-width:64em;font-size:13px;line-height:1.45",
    "picture": "width:22em;max-width:100%;border-radius:6px", "facts": "flex:1 1 22em;min-width:0",
    "title": "font-weight:600;font-size:1.15em", "table": "border-collapse:collapse;margin:.4em 0;font-size:inherit",
    "name": "text-align:left;padding:.1em 1em .1em 0;opacity:.7;vertical-align:top",
    "cell": "text-align:left;padding:.1em 1em .1em 0", "note": "margin:.15em 0 .15em 1.1em;padding:0", "quiet": "opacity:.7",
}  # fmt: skip


@dataclass(frozen=True)
class Card:
    """What a thing says of itself."""

    title: str
    facts: Mapping[str, str]
    notes: Sequence[str] = ()
    picture: Callable[[], Picture] | None = None
    heads: Sequence[str] = ()  # of a table of more
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    image: bytes = b""  # a png that is there already
    colour: str = "auto"  # of the picture


def card(what: Card) -> str:
    """The card as HTML."""
    line = lambda k, v: f'<tr><td style="{STYLE["name"]}">{escape(k)}</td><td style="{STYLE["cell"]}">{escape(v)}</td></tr>'
    rows = "".join(line(k, v) for k, v in what.facts.items())
    table = f'<table style="{STYLE["table"]}">{rows}</table>' if rows else ""
    told = what.notes[:MOST_NOTES]
    more = [f"... and {len(what.notes) - len(told)} more."] if len(what.notes) > len(told) else []
    notes = "".join(f'<li style="{STYLE["note"]}">{escape(note)}</li>' for note in [*told, *more])
    image, why = _image(what)
    kind = "png" if what.image else "jpeg"
    picture = f'<img alt="{escape(what.title)}" style="{STYLE["picture"]}" src="data:image/{kind};base64,{image}">' if image else ""
    trouble = f'<div style="{STYLE["quiet"]}">{escape(why)}</div>' if why else ""
    return (
        f'<div style="{STYLE["card"]}">{picture}<div style="{STYLE["facts"]}"><div style="{STYLE["title"]}">{escape(what.title)}</div>'
        f"{table}{_rows(what)}{f'<ul style=padding:0;margin:.3em>{notes}</ul>' if notes else ''}{trouble}</div></div>"
    )


def _rows(what: Card) -> str:
    if not what.rows:
        return ""
    head = "".join(f'<th style="{STYLE["name"]}">{escape(word)}</th>' for word in what.heads)
    lines = ["".join(f'<td style="{STYLE["cell"]}">{escape(word)}</td>' for word in row) for row in what.rows[:MOST_ROWS]]
    left = len(what.rows) - len(lines)
    more = f'<div style="{STYLE["quiet"]}">... and {left} more</div>' if left > 0 else ""
    return f'<table style="{STYLE["table"]}"><tr>{head}</tr>{"".join(f"<tr>{line}</tr>" for line in lines)}</table>{more}'


def _image(what: Card) -> tuple[str, str]:
    """The picture as text, or why there is none."""
    if what.image:
        return base64.b64encode(what.image).decode(), ""
    if what.picture is None:
        return "", ""
    try:
        held = io.BytesIO()
        draw(what.picture(), what.colour, SIZE).save(held, format="jpeg", quality=88)
    except (PliantError, OSError) as error:
        return "", f"No picture: {error}"
    return base64.b64encode(held.getvalue()).decode(), ""


# ------------------------------------------------------------------------------------------------ cards


def card_of(thing: Any) -> str:
    """The card of a scene, simulation, run or contacts; others make their own."""
    made = {Scene: _scene, Simulation: _simulation, Run: _run, Contacts: _contacts}
    return card(next(make for kind, make in made.items() if isinstance(thing, kind))(thing))  # type: ignore[operator]


def _scene(scene: Scene) -> Card:
    facts = {"step": f"{scene.dt:g} s for {scene.duration:g} s", "contact": str(scene.contact), "gravity": f"{tuple(scene.gravity)} m/s²"}
    rows = [[body.name, body.model, _shape(body.shape)] for body in scene.bodies]
    about = [scene.about] if scene.about else []
    picture = (lambda: from_simulation(scene.simulate())) if scene.bodies else None
    return Card(f"Scene {scene.name}", facts, about, picture, ("body", "model", "shape"), rows, colour="body")


def _shape(shape: Any) -> str:
    if isinstance(shape, str):
        return shape
    if not isinstance(shape, dict):
        return type(shape).__name__
    name = shape.get("kind") or shape.get("file") or "mesh"
    plain = [key for key, value in shape.items() if isinstance(value, float | int | str | list | tuple) and key not in ("kind", "file")]
    return ", ".join([str(name), *(f"{key} {shape[key]}" for key in plain)])


def _simulation(sim: Simulation) -> Card:
    books = sim.books()
    names = sim.world.model.bodies.names
    facts = {
        "time": f"{sim.time:.4g} s, step {sim.state.step}, dt = {sim.dt:g} s", "nodes": str(len(sim.state.x)),
        "energy": f"kinetic {books.kinetic:.3g} J, elastic {books.elastic:.3g} J",
    }  # fmt: skip
    heads, rows = _pairs(sim.contacts(), dict(enumerate(names)))
    return Card(f"Simulation {sim.scene.name}", facts, merged(sim.notes), lambda: from_simulation(sim), heads, rows)


def _run(run: Run) -> Card:
    span = f"{run.frames} frames from {run.times[0]:.4g} to {run.times[-1]:.4g} s" if run.frames else "no frames"
    size = sum(p.stat().st_size for p in (run.path, run.path.with_suffix(".journal")) if p.exists())
    found = Forces(run).all() if run.frames else []
    facts = {"file": f"{run.path} ({human(size)})", "status": run.status + (f": {run.message}" if run.message else ""), "time": span}
    if run.frames:
        facts["bodies"] = ", ".join(run.cells(-1).bodies.values())
        facts["fields"] = ", ".join(run.fields(-1))
    if found:
        facts["hardest"] = headline(found[0])
    picture = (lambda: from_run(run, -1)) if run.frames else None
    return Card(f"Run {run.header.get('name') or run.path.stem}", facts, [*run.damage, *run.notes], picture)


def _contacts(contacts: Contacts) -> Card:
    facts = {"rows": str(len(contacts))}
    if len(contacts):
        force, area = contacts.total_force, contacts.total_area
        facts |= {
            "total force on a": f"({', '.join(f'{x:.4g}' for x in force)}) N, {np.linalg.norm(force):.4g} N",
            "area": f"{1e4 * area:.4g} cm²" if np.isfinite(area) else "not known",
            "deepest": f"{1e3 * np.nanmax(contacts.depth):.3g} mm" if np.isfinite(contacts.depth).any() else "not known",
            "centre of pressure": f"({', '.join(f'{x:.4g}' for x in contacts.center_of_pressure)}) m",
        }  # fmt: skip
    heads, rows = _pairs(contacts, {})
    return Card("Contacts", facts, (), None, heads, rows)


def _pairs(contacts: Contacts, names: Mapping[int, str]) -> tuple[tuple[str, ...], list[list[str]]]:
    """What touches what: heads and rows."""
    pairs = per_pair(contacts)
    if not pairs:
        return (), []
    called = lambda number: names.get(int(number), f"body {number}")
    rows = []
    for k in range(len(pairs["a"])):
        area, force = float(pairs["area"][k]), float(np.linalg.norm(pairs["force"][k]))
        size = f"{1e4 * area:.3g} cm²" if area > 0.0 else "-"
        peak = f"{1e-3 * pairs['pressure'][k]:.3g} kPa" if area > 0.0 else "-"
        rows.append([called(pairs["a"][k]), called(pairs["b"][k]), f"{force:.4g} N", size, peak, f"{1e3 * pairs['depth'][k]:.3g} mm"])
    return ("force on", "from", "force", "area", "pressure of one contact, largest", "depth"), rows


# ------------------------------------------------------------------------------------------------ the page


def shown(thing: Any, field: str = "auto", height: int = 560) -> Any:
    """The page of a run, of a simulation as it is now, or of a scene as it begins."""
    if isinstance(thing, Run):
        text = _page(thing, field)
    elif isinstance(thing, Scene | Simulation):
        sim = thing.simulate() if isinstance(thing, Scene) else thing
        with tempfile.TemporaryDirectory() as folder, one_frame(sim, Path(folder) / "now") as run:
            text = _page(run, field)
    else:
        raise PliantError(f"There is no page of {type(thing).__name__}: show the run or the simulation it comes from.")
    if in_notebook():
        return Frame(framed(text, height))
    path = Path(tempfile.mkdtemp(prefix="pliant-")) / "shown.html"
    path.write_text(text, "utf-8")
    webbrowser.open(path.as_uri())
    return path


@dataclass(frozen=True)
class Frame:
    """A page in a cell."""

    html: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return "the page, shown in notebooks"


def framed(text: str, height: int) -> str:
    """A page inside a page, which may run its own scripts and nothing else."""
    style = f"width:100%;height:{int(height)}px;border:1px solid #8884;border-radius:6px"
    return f'<iframe sandbox="allow-scripts allow-downloads" style="{style}" srcdoc="{escape(text, quote=True)}"></iframe>'


def _page(run: Run, field: str) -> str:
    """The page, with as many frames as a notebook holds without becoming slow."""
    frames = list(range(run.frames))
    while True:
        reel = Reel(run, field, frames)
        one = len(reel.frame(len(frames) // 2, reel.fields, small=True, common=True))
        step = max(1, -(-one * len(frames) // LARGEST))  # before it is compressed, which makes up for base64
        if step == 1:
            return whole_page(reel)
        frames = frames[::step]
