"""What `pliant export` does: which format takes which options."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from pliant.base import PliantError, nearest
from pliant.disk import try_place
from pliant.record import Reduction, Run, export, human, reduced_copy
from pliant.record.export import SKINS, STEPS, WRITERS

ANIMATED = {"glb": ".glb", "usd": ".usdc"}  # formats with time and colours, and how their files end
PICTURES = ("png", "mp4", "gif")
OTHER_NAMES = {"gltf": "glb", "usdc": "usd", "usda": "usd", "netcdf": "nc", "pvd": "vtu"}
COPY = "vtkhdf"
KNOWN = (*ANIMATED, COPY, *WRITERS, *PICTURES)


def export_run(
    run: Run, to: str, out: Path | None, body: str | None, colour: str, at: float | None, frames: str | None = None, speed: float = 1.0,
    reduced: Reduction | None = None, glass: str | None = None, view: str | None = None,
) -> tuple[list[Path], list[str]]:
    """Write a run in another format; returns what was written, and what there is to say of it."""
    asked, to = to, OTHER_NAMES.get(to, to)
    if to not in KNOWN:
        raise PliantError(f"A run cannot be exported to '{asked}': {nearest(asked, KNOWN)}")
    _refuse(to, body, at, frames, speed)
    if (glass is not None or view is not None) and to not in PICTURES:
        raise PliantError(f"--glass and --from are for pictures ({', '.join(PICTURES)}), not for {to}")
    if reduced is not None and to != COPY:
        raise PliantError(f"--keep and --precision are for copies of run files (--to {COPY}), not for {to}")
    chosen = None if frames is None else list(_slice(frames, run.frames))
    if to == COPY:
        made = reduced_copy(run, out or run.path.with_name(f"{run.path.stem}-copy"), reduced or Reduction(), chosen)
        sizes = [human(path.stat().st_size) for path in (run.path, made)]
        return [made], [f"{sizes[1]} instead of {sizes[0]}. A copy is for drawing and has no checkpoints: it cannot be resumed."]
    if to in ANIMATED:
        from pliant.formats import write_glb, write_usd  # start-up: drawing

        ending = f".{asked}" if asked in ("usda", "usdc") else ANIMATED[to]
        target = (out or run.path).with_suffix(out.suffix if out is not None and out.suffix else ending)
        write = write_glb if to == "glb" else write_usd
        written, notes = write(run, target, chosen, colour, speed, body)
        return [written], notes
    if to in PICTURES:
        try_place(out or run.path.with_suffix(f".{to}"))  # before anything is drawn
    seen: dict[str, Any] = {"camera": _view(view), "transparent": _named(run, glass)}
    if to == "png":
        from pliant.look import still

        return [still(run, out or run.path.with_suffix(".png"), time=at, field=colour, **seen)], []
    if to in PICTURES:
        from pliant.look import movie

        return [movie(run, out or run.path.with_suffix("." + to), field=colour, frames=chosen, **seen)], []
    return export(run, to, out or run.path.with_suffix(""), frames=chosen, body=body), []


def _refuse(to: str, body: str | None, at: float | None, frames: str | None, speed: float) -> None:
    """An option that would do nothing is an error."""
    if at is not None and to != "png":
        raise PliantError(f"--at is the time of a picture (png); {to} takes --frames, such as --frames 50:51")
    if frames is not None and to in ("png", *STEPS):
        raise PliantError(f"--frames does nothing for {to}: " + ("--at is the time of a picture" if to == "png" else "it holds every step"))
    if speed != 1.0 and to not in ANIMATED:
        raise PliantError(f"--speed is for formats that are played ({', '.join(ANIMATED)}), not for {to}")
    if body is not None and to not in (*ANIMATED, *SKINS):
        raise PliantError(f"--body is for {', '.join((*ANIMATED, *SKINS))}; {to} holds all bodies")


def _view(text: str | None) -> tuple[float, float] | None:
    """Azimuth and elevation [degree]."""
    if text is None:
        return None
    try:
        azimuth, elevation = (float(part) for part in text.split(","))
        if not (math.isfinite(azimuth) and math.isfinite(elevation)):
            raise ValueError
    except ValueError:
        raise PliantError(f"--from {text}: azimuth and elevation in degrees, such as 30,-20 for a look from below") from None
    return azimuth, elevation


def _named(run: Run, glass: str | None) -> list[str] | None:
    """Names of bodies, given with commas between."""
    if glass is None:
        return None
    names, known = [name.strip() for name in glass.split(",")], list(run.cells(-1).bodies.values())
    for name in names:
        if name not in known:
            raise PliantError(f"There is no body '{name}': {nearest(name, known)}")
    return names


def _slice(text: str, count: int) -> range:
    """Frames named as in Python: FIRST:END:STEP, or one number."""
    try:
        parts = [int(part) if part.strip() else None for part in text.split(":")]
        if len(parts) == 1 and parts[0] is not None:
            first = range(count)[parts[0]]
            return range(first, first + 1)
        if not 2 <= len(parts) <= 3:
            raise ValueError
        found = range(count)[slice(*parts)]
    except (ValueError, IndexError):
        raise PliantError(f"--frames {text}: give FIRST:END:STEP as in Python, of frames 0 to {count - 1}; ::5 is every fifth") from None
    if len(found) == 0:
        raise PliantError(f"--frames {text} chooses none of the frames 0 to {count - 1}")
    return found
