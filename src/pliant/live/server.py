"""A small web server: a table of paths, each with a function; nothing of the disk can be asked for.

It answers only requests that name it by its own address, so that a page of another site cannot reach it through the browser, and
takes orders only as JSON from its own page. Clients that send nonsense get an error, clients that are silent are dropped.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pliant.base import PliantError

SILENCE = 20.0  # [s] after which a client that says nothing is dropped
LARGEST_ORDER = 65536  # bytes of a request's body
MOST_CLIENTS = 64  # connections at once
FIRST_PORT, PORTS = 8700, 50  # tried in turn unless one is asked for

Asked = Mapping[str, str]
Answer = tuple[str, bytes]  # kind of content, content
Show = Callable[[Asked], Answer]
Obey = Callable[[dict[str, Any]], dict[str, Any]]

BYTES = "application/octet-stream"
HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
}  # fmt: skip


class Server:
    """Serves a table of paths until it is closed; `obey` takes what the page posts to /do."""

    def __init__(self, shows: Mapping[str, Show], obey: Obey | None = None, host: str = "127.0.0.1", port: int | None = None) -> None:
        self.shows, self.obey, self.host = dict(shows), obey, host
        self.room = BoundedSemaphore(MOST_CLIENTS)
        self._http = _bound(host, port, _handler_of(self))
        self.port = int(self._http.server_address[1])
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, name="pliant web server", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """What to type into the browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"

    def names_me(self, host: str) -> bool:
        """Whether the Host of a request is this server; any if it was opened to the network on purpose."""
        if self.host not in ("127.0.0.1", "localhost", "::1"):
            return True
        return host in {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    def close(self) -> None:
        """Stop answering and give the address back."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that is being waited for must not hold the end up
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients come and go; only what is wrong here is worth a line."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError | ValueError):
            print(f"The page's server met {type(error).__name__}: {error}", file=sys.stderr)


def _bound(host: str, port: int | None, handler: type[BaseHTTPRequestHandler]) -> _Http:
    tried = range(FIRST_PORT, FIRST_PORT + PORTS) if port is None else (port,)
    kind = type("_Http6", (_Http,), {"address_family": socket.AF_INET6}) if ":" in host else _Http
    reason = ""
    for number in tried:
        try:
            return kind((host, number), handler)
        except OSError as error:
            reason = error.strerror or str(error)
        except OverflowError:
            raise PliantError(f"port = {number}: ports are 0 (any that is free) to 65535.") from None
    where = f"port {port}" if port is not None else f"any port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1}"
    raise PliantError(f"The page cannot be served at {host}, {where}: {reason}. Choose another with --port, or 0 for any that is free.")


def _handler_of(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        owner = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    owner: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "pliant", ""
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    timeout = SILENCE  # type: ignore[assignment]

    def handle(self) -> None:
        if not self.owner.room.acquire(blocking=False):
            return  # the connection is closed; the browser tries again
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            pass
        finally:
            self.owner.room.release()

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        show = self.owner.shows.get(asked.path)
        if not self.owner.names_me(self.headers.get("Host", "")):
            return self._refuse(403, "This server answers only under its own address.")
        if show is None:
            return self._refuse(404, "There is nothing here.")
        try:
            kind, content = show(dict(parse_qsl(asked.query)))
        except (PliantError, ValueError, KeyError) as error:
            return self._refuse(400, str(error))
        self._send(200, kind, content)

    def do_POST(self) -> None:
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        length = self.headers.get("Content-Length", "")
        if not self.owner.names_me(host) or (origin is not None and urlsplit(origin).netloc != host):
            return self._refuse(403, "Orders are taken only from the page itself.")
        if self.owner.obey is None or urlsplit(self.path).path != "/do":
            return self._refuse(404, "There is nothing here.")
        if not length.isdigit() or int(length) > LARGEST_ORDER or self.headers.get("Content-Type") != "application/json":
            return self._refuse(400, "An order is JSON, and short.")
        try:
            order = json.loads(self.rfile.read(int(length)))
            if not isinstance(order, dict):
                raise ValueError("An order is a JSON object.")
            answer = self.owner.obey(order)
        except (PliantError, ValueError, KeyError, TypeError, RecursionError) as error:
            return self._send(200, "application/json", json.dumps({"ok": False, "say": str(error)}).encode())
        self._send(200, "application/json", json.dumps({"ok": True, **answer}).encode())

    def _refuse(self, status: int, words: str) -> None:
        self.close_connection = True
        self._send(status, "text/plain; charset=utf-8", words.encode())

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not worth a line each."""
