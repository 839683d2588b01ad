"""The page: its pieces in `page/` put into one file, with or without the data of a run inside."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.base import PliantError
from pliant.disk import make_folder, write_text

if TYPE_CHECKING:
    from pliant.live.reel import Reel

SCRIPTS = (
    "unpack", "matrix", "camera", "shaders", "painter", "shapes", "marks", "scene", "plots", "sources", "controls", "movie", "link",
    "themes", "panel", "player", "live", "main",
)  # fmt: skip
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; media-src blob:; connect-src {}"
LARGEST = 400e6  # bytes of a file that a browser still opens


@cache
def _piece(name: str) -> str:
    return (files("pliant.live") / "page" / name).read_text("utf-8")


def page(data: str = "", connect: str = "'self'") -> str:
    """The whole page; `data`: a script that holds a run, instead of a server."""
    script = "\n".join(_piece(f"{name}.js") for name in SCRIPTS)
    parts = {
        "POLICY": POLICY.format(connect), "STYLE": _piece("page.css"), "DATA": data,
        "SCRIPT": f"(() => {{\n'use strict';\n{script}\n}})();",
    }  # fmt: skip
    out = _piece("page.html")
    for name, text in parts.items():
        out = out.replace(f"<!--{name}-->", text)
    return out


def beside(pages: Sequence[str], connect: str = "'self'") -> str:
    """A page that shows several beside each other, linked in time and camera; `pages`: each whole, or empty to ask a server for it."""
    attributes = [f'srcdoc="{escape(text, quote=True)}"' if text else "" for text in pages]
    frames = "\n".join(f'<iframe title="run {k + 1}" {attribute}></iframe>' for k, attribute in enumerate(attributes))
    parts = {"POLICY": f"{POLICY.format(connect)}; frame-src 'self'", "FRAMES": frames}
    out = _piece("beside.html")
    for name, text in parts.items():
        out = out.replace(f"<!--{name}-->", text)
    return out


def write_page(reel: Reel | Sequence[Reel], path: str | Path, progress: Callable[[int, int], object] | None = None) -> Path:
    """A run, or several beside each other, as one html file that plays without a server, with all fields, the curves and the camera."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise PliantError(f"cannot write a page to {path.name}: name it .html")
    make_folder(path.parent)
    if not isinstance(reel, Sequence):
        return write_text(path, whole_page(reel, progress))
    return write_text(path, beside([whole_page(each, progress, k) for k, each in enumerate(reel)], "'none'"))


def whole_page(reel: Reel, progress: Callable[[int, int], object] | None = None, place: int | None = None) -> str:
    """The page with the data of a run inside; `place`: its number among several beside each other."""
    frames, count = [], len(reel.words["times"])
    for i in range(count):
        frames.append(_text(reel.frame(i, reel.fields, small=True, common=True)))
        if sum(map(len, frames)) > LARGEST:
            raise PliantError(
                f"the page would be larger than {LARGEST / 1e6:.0f} MB after {i + 1} of {count} frames, more than a browser opens; "
                "record fewer frames (--every), or use `pliant view` without --html"
            )
        if progress is not None:
            progress(i + 1, count)
    numbers = sorted(set(reel.words["topologies"]))
    held = {
        "manifest": _text(reel.manifest()), "frames": frames,
        "topologies": {number: _text(reel.topology(number)) for number in numbers},
        "hierarchies": {number: _text(reel.hierarchy(number)) for number in numbers},
    }  # fmt: skip
    where = "" if place is None else f"window.PLIANT_BESIDE = {place}; "
    return page(f"<script>{where}const PLIANT_DATA = {json.dumps(held)};</script>", "'none'")


def _text(block: bytes) -> str:
    return base64.b64encode(gzip.compress(block, 6, mtime=0)).decode()
