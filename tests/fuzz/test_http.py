"""Requests that no browser sends: each is answered or the connection closed, and the server goes on."""

from __future__ import annotations

import importlib.util
import json
import socket
from pathlib import Path

import pytest

from pliant.live import server as module
from pliant.live.orders import BOUNDS, ORDERS, Desk
from pliant.live.server import KEY, Server
from pliant.scene import Scene

_spec = importlib.util.spec_from_file_location("fuzz_kit", Path(__file__).with_name("kit.py"))
kit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kit)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "MOST_REQUESTS", 1e9)
    monkeypatch.setattr(module, "MOST_ORDERS", 1e9)
    monkeypatch.setattr(module, "SILENCE", 2.0)

    def frame(asked):
        return "text/plain", str(int(asked["number"])).encode()

    with Server({"/": lambda asked: ("text/html", b"hello"), "/frame": frame}, lambda order: {"heard": str(order["do"])[:20]}, port=0) as opened:
        yield opened


def request(rng, server) -> bytes:
    """A request as a page sends it, of which a few things differ."""
    body = json.dumps({"do": "start", "to": 1}).encode()
    post = rng.random() < 0.5
    head = [f"{'POST /do' if post else 'GET ' + rng.choice(['/', '/frame?number=1', '/frame?number=x', '/../etc/passwd'])} HTTP/1.1"]
    head += [f"Host: 127.0.0.1:{server.port}", f"{KEY}: {server.key}", f"Origin: http://127.0.0.1:{server.port}", "Connection: close"]
    head += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if post else []
    odd = ["Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: ٣", "Transfer-Encoding: chunked", "Host: evil.example",
           "Origin: null", f"{KEY}: wrong", "Expect: 100-continue", "X: " + "y" * 70000, "Range: bytes=0-1", ": x", "Host:", "\x00: 1"]  # fmt: skip
    for _ in range(rng.choice([0, 0, 1, 2])):
        head.insert(rng.randrange(len(head) + 1), rng.choice(odd))
    if rng.random() < 0.15:
        del head[rng.randrange(len(head))]
    text = "\r\n".join(head).encode("utf-8") + b"\r\n\r\n" + (body if post else b"")
    return text if rng.random() < 0.5 else kit.damaged_bytes(rng, text)


@pytest.mark.parametrize("cases", kit.budgets(150, 10000))
def test_requests(cases, server, capfd):
    def case(rng):
        data = request(rng, server)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
            out = b""
            try:
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
                while part := link.recv(65536):
                    out += part
            except TimeoutError:
                raise
            except OSError:  # the server had seen enough
                return "closed"
        assert b"Traceback" not in out and b"root:" not in out and b"yyyy" not in out, "what the client said is sent back"
        if not out.startswith(b"HTTP/1."):
            assert len(out) < 5000, out[:100]  # words alone: HTTP/0.9 has no status
            return "words" if out else "closed"
        return f"status {out[9:12].decode()}"

    found = kit.judged(cases, 31, case)
    assert found["status 200"] > 0 and found["status 403"] > 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:  # it still serves
        link.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode())
        assert link.recv(65536).startswith(b"HTTP/1.1 200")
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    with capfd.disabled():
        print(said.out)


def test_words_of_a_client_are_not_sent_back(server):
    """A line that is no request came back whole, in a page of the library."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
        link.sendall(b"X: " + b"y" * 6000 + b"\r\n\r\n")
        link.shutdown(socket.SHUT_WR)
        assert (out := link.recv(65536)) and b"yyyy" not in out and b"Bad Request." in out


@pytest.mark.parametrize("cases", kit.budgets(80, 2000))
def test_orders(cases, tmp_path):
    """What a page may ask of a live simulation, with any values."""
    from pliant.live.session import Session

    scene = Scene(dt=0.005)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", shape={"kind": "box", "size": [0.1, 0.1, 0.1], "edge": 0.1}, position=(0, 0, 0.051),
              material={"youngs_modulus": 1e5})  # fmt: skip
    scene.contact = "ground"
    session = Session(scene, tmp_path)
    desk = Desk(session)
    good = [{"do": "dt", "to": 0.004}, {"do": "gravity", "to": [0, 0, -9.81]}, {"do": "friction", "body": "box", "to": 0.3},
            {"do": "stiffness", "body": "box", "to": 1e5}, {"do": "grab", "point": 0, "strength": 1.0}, {"do": "pull", "to": [0, 0, 0.2]},
            {"do": "release"}, {"do": "step"}, {"do": "reset"}, {"do": "pause"}]  # fmt: skip

    def case(rng):
        order = rng.choice(good)
        desk.take(kit.mutated(rng, order) if rng.random() < 0.8 else order)
        return "done"

    def judged(rng):
        try:
            return case(rng)
        except (KeyError, TypeError, OverflowError, ValueError):  # the server answers these with words
            return "refused"

    try:
        kit.judged(cases, 32, judged)
        assert 1e-7 <= session.sim.dt <= 10.0 and set(BOUNDS) and set(ORDERS)
        desk.take({"do": "reset"})
        session.order(dict)  # it still takes orders
        assert session.sim.dt == 0.005
        assert session.sim.scene.bodies[1].material.youngs_modulus == 1e5
    finally:
        session.close(20.0)
