"""`pliant live`: a simulation in the browser."""

from __future__ import annotations

import json
from typing import Any

from pliant.contact.method import METHODS
from pliant.live.desk import Desk
from pliant.live.html import page
from pliant.live.pack import pack, plain
from pliant.live.server import BYTES, Asked, Server
from pliant.live.session import Session


def serve(session: Session, host: str = "127.0.0.1", port: int | None = None) -> Server:
    """A server that shows a live simulation and takes orders, until it is closed."""
    return Server(
        {
            "/": lambda asked: ("text/html; charset=utf-8", page().encode()),
            "/manifest": lambda asked: (BYTES, pack(_words(session), {})),
            "/topology": lambda asked: (BYTES, session.moment.topology),
            "/hierarchy": lambda asked: (BYTES, session.hierarchy()),
            "/next": lambda asked: (BYTES, session.next(int(asked["after"]), _chosen(asked), asked.get("common") == "1")),
            "/curves": lambda asked: ("application/json", _curves(session)),
            "/busy": lambda asked: ("application/json", json.dumps(session.busy()).encode()),
        },
        Desk(session).take,
        host,
        port,
    )


def _words(session: Session) -> dict[str, Any]:
    """What the page must know; the methods it may choose, with the scene's own."""
    words = session.moment.words
    return words | {"methods": list(dict.fromkeys([*METHODS, words["method"]]))}


def _curves(session: Session) -> bytes:
    names = list(session.moment.picture.names.values())
    return json.dumps(plain(session.history.curves(names, list(session.log)))).encode()


def _chosen(asked: Asked) -> list[str]:
    return [asked.get("field", "body")]
