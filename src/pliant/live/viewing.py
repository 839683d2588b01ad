"""`pliant view`: a recorded run in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.live.html import page
from pliant.live.reel import Reel
from pliant.live.server import BYTES, Asked, Server

if TYPE_CHECKING:
    from pliant.record import Run


def serve(run: Run, field: str = "auto", host: str = "127.0.0.1", port: int | None = None) -> Server:
    """A server that shows a run until it is closed."""
    reel = Reel(run, field)
    return Server(
        {
            "/": lambda asked: ("text/html; charset=utf-8", page().encode()),
            "/manifest": lambda asked: (BYTES, reel.manifest()),
            "/topology": lambda asked: (BYTES, reel.topology(int(asked["number"]))),
            "/hierarchy": lambda asked: (BYTES, reel.hierarchy(int(asked["number"]))),
            "/frame": lambda asked: (BYTES, reel.frame(int(asked["number"]), _chosen(asked), common=asked.get("common") == "1")),
        },
        host=host,
        port=port,
    )


def _chosen(asked: Asked) -> list[str]:
    field = asked.get("field", "body")
    return [] if field == "body" else [field]
