"""A small web server: a table of paths, each with a function; nothing of the disk can be asked for.

It answers only requests that name it by an address of its own, so that a page of another site cannot reach it through the browser, and
takes orders only as JSON, from its own page, with the key that is in the address it was opened with; where it is opened to the
network everything takes the key. Clients that send nonsense get an error; those that are silent make room for others. docs/security.md.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pliant.base import PliantError

SILENCE = 20.0  # [s] after which a client that says nothing is dropped
LARGEST_ORDER = 65536  # bytes of a request's body
MOST_CLIENTS = 64  # connections at once
MOST_REQUESTS = 500.0  # [1/s] that are answered, for a second twice as many
MOST_ORDERS = 100.0  # [1/s] likewise
LOCAL = ("127.0.0.1", "localhost", "::1")
KEY = "X-Pliant-Key"  # the header in which the page sends the key of its address
FIRST_PORT, PORTS = 8700, 50  # tried in turn unless one is asked for

Asked = Mapping[str, str]
Answer = tuple[str, bytes]  # kind of content, content
Show = Callable[[Asked], Answer]
Obey = Callable[[dict[str, Any]], dict[str, Any]]

BYTES = "application/octet-stream"
HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer",
}  # fmt: skip


class Server:
    """Serves a table of paths until it is closed; `obey` takes what the page posts to /do."""

    def __init__(self, shows: Mapping[str, Show], obey: Obey | None = None, host: str = "127.0.0.1", port: int | None = None) -> None:
        self.shows, self.obey, self.host = dict(shows), obey, host
        self.key = secrets.token_urlsafe(16)
        self.room, self.requests, self.orders = Room(MOST_CLIENTS), Rate(MOST_REQUESTS), Rate(MOST_ORDERS)
        self._http = _bound(host, port, _handler_of(self))
        self.port = int(self._http.server_address[1])
        self._names = _names(host)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, name="pliant web server", daemon=True)
        self._thread.start()

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOCAL

    @property
    def address(self) -> str:
        """What to type into the browser; with the key where one is needed."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?key={self.key}" if self.obey is not None or not self.local else "")

    def names_me(self, host: str) -> bool:
        """Whether the Host of a request is an address of this server: a name of its own, or any number if it was opened to the network.

        A page that has its own name point here (DNS rebinding) comes with that name.
        """
        name, sign, port = host.rpartition(":")
        if not sign or port != str(self.port):
            return False
        return name.lower() in self._names or (not self.local and _is_number(name))

    def knows(self, key: str) -> bool:
        """Whether a request has the key."""
        return hmac.compare_digest(key.encode("utf-8", "replace"), self.key.encode())

    def close(self) -> None:
        """Stop answering and give the address back."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _names(host: str) -> set[str]:
    """Names by which requests may call a server that listens at an address."""
    own = {"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host.lower()}
    if host not in LOCAL:
        own |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return own


def _is_number(name: str) -> bool:
    """Whether a host is an IP address, which nobody can make point elsewhere."""
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name.strip("[]")))
    return False


class Rate:
    """So many a second, and for a moment twice as many."""

    def __init__(self, most: float) -> None:
        self.most, self.left, self.since = most, 2.0 * most, time.monotonic()
        self._lock = Lock()

    def take(self) -> bool:
        """Whether one more is within it."""
        with self._lock:
            now = time.monotonic()
            self.left = min(2.0 * self.most, self.left + (now - self.since) * self.most)
            self.since = now
            self.left -= 1.0 if self.left >= 1.0 else 0.0
            return self.left >= 1.0


class Room:
    """Connections that are open: those that wait for their client make room for new ones, longest waiting first; those at work do not."""

    def __init__(self, most: int) -> None:
        self.most, self._lock = most, Lock()
        self._waiting: dict[socket.socket, None] = {}
        self._working: set[socket.socket] = set()

    def enter(self, link: socket.socket) -> bool:
        """Let a connection in, if need be for another."""
        with self._lock:
            if len(self._waiting) + len(self._working) >= self.most:
                if not self._waiting:
                    return False
                oldest = next(iter(self._waiting))
                del self._waiting[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread wakes up and ends
            self._waiting[link] = None
            return True

    def leave(self, link: socket.socket) -> None:
        """It is closed."""
        with self._lock:
            self._waiting.pop(link, None)
            self._working.discard(link)

    @contextmanager
    def working(self, link: socket.socket) -> Iterator[None]:
        """While it is answered it is not to be closed."""
        with self._lock:
            self._waiting.pop(link, None)
            self._working.add(link)
        try:
            yield
        finally:
            with self._lock:
                self._working.discard(link)
                self._waiting[link] = None


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
        if not self.owner.room.enter(self.connection):
            return  # the connection is closed; the browser tries again
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            pass
        finally:
            self.owner.room.leave(self.connection)

    def _trespass(self, asked: Mapping[str, str], order: bool) -> tuple[int, str] | None:
        """Why a request is not answered: status and words."""
        owner, host, origin = self.owner, self.headers.get("Host", ""), self.headers.get("Origin")
        if not owner.names_me(host):
            return 403, "This server answers only under its own address."
        foreign = origin is not None and origin.lower() != f"http://{host.lower()}"
        if foreign or (order and origin is None) or self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return 403, "Orders are taken only from the page itself, and nothing is shown to others."
        if (order or not owner.local) and not owner.knows(self.headers.get(KEY) or asked.get("key", "")):
            return 403, "The key is missing or wrong: open the address that pliant has printed."
        if not owner.requests.take() or (order and not owner.orders.take()):
            return 429, "Too many requests; try again in a second."
        return None

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = dict(parse_qsl(asked.query))
        if (refused := self._trespass(query, order=False)) is not None:
            return self._refuse(*refused)
        show = self.owner.shows.get(asked.path)
        if show is None:
            return self._refuse(404, "There is nothing here.")
        try:
            with self.owner.room.working(self.connection):
                kind, content = show(query)
        except (PliantError, ValueError, KeyError, OverflowError) as error:
            return self._refuse(400, str(error))
        self._send(200, kind, content)

    def do_POST(self) -> None:
        asked = urlsplit(self.path)
        if (refused := self._trespass(dict(parse_qsl(asked.query)), order=True)) is not None:
            return self._refuse(*refused)
        length = self.headers.get("Content-Length", "")
        if self.owner.obey is None or asked.path != "/do":
            return self._refuse(404, "There is nothing here.")
        digits = length.isascii() and length.isdigit() and len(length) < 9
        if not digits or int(length) > LARGEST_ORDER or self.headers.get("Content-Type") != "application/json":
            return self._refuse(400, "An order is JSON, and short.")
        try:
            order = json.loads(self.rfile.read(int(length)))
            if not isinstance(order, dict):
                raise ValueError("An order is a JSON object.")
            with self.owner.room.working(self.connection):
                answer = self.owner.obey(order)
        except (PliantError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            return self._send(200, "application/json", json.dumps({"ok": False, "say": str(error)}).encode())
        self._send(200, "application/json", json.dumps({"ok": True, **answer}).encode())

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request is refused in words of the standard: those that the library would add are the client's own."""
        self._refuse(code, f"{HTTPStatus(code).phrase}.")

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
