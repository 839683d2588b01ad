"""The server shows what it shows and nothing else, and survives its clients."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time

import pytest

from pliant.base import PliantError
from pliant.live.server import KEY, LARGEST_ORDER, MOST_CLIENTS, Rate, Room, Server


@pytest.fixture
def server():
    def fail(asked):
        raise KeyError("number")

    def obey(order):
        return {"heard": order["do"]}

    with Server({"/": lambda asked: ("text/html", b"hello"), "/fail": fail}, obey, port=0) as opened:
        yield opened


def asked(server, path, method="GET", body=None, headers=None):
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        link.request(method, path, body, headers or {})
        answer = link.getresponse()
        return answer.status, answer.read()
    finally:
        link.close()


def raw(server, data: bytes) -> bytes:
    """What a client that does not know HTTP gets."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
        link.sendall(data)
        link.shutdown(socket.SHUT_WR)
        out = b""
        while part := link.recv(65536):
            out += part
        return out


def test_only_the_table_is_served(server):
    assert asked(server, "/") == (200, b"hello")
    for path in (
        "/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/etc/passwd", "/./", "/index.html",
        "/..\\..\\etc\\passwd", "/do", "http://127.0.0.1/etc/passwd", "/pliant/live/server.py", "/fail/../etc", "/%00",
    ):  # fmt: skip
        status, body = asked(server, path)
        assert status in (400, 403, 404), path
        assert b"root:" not in body and b"import" not in body
    assert asked(server, "/fail")[0] == 400


def own(server, **more):
    """Headers as the page of a server sends them."""
    return {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{server.port}", KEY: server.key} | more


def test_other_sites_cannot_reach_it_through_the_browser(server):
    order = json.dumps({"do": "start"})
    json_ = {"Content-Type": "application/json", KEY: server.key}
    assert asked(server, "/", headers={"Host": "evil.example"})[0] == 403
    assert asked(server, "/", headers={"Host": f"evil.example:{server.port}"})[0] == 403
    assert asked(server, "/do", "POST", order, json_ | {"Origin": "http://evil.example"})[0] == 403
    assert asked(server, "/do", "POST", order, json_ | {"Origin": "null"})[0] == 403
    assert asked(server, "/do", "POST", order, json_)[0] == 403  # without saying where it comes from
    assert asked(server, "/", headers={"Origin": "http://evil.example"})[0] == 403
    assert asked(server, "/", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert asked(server, "/do", "POST", order, own(server) | {"Content-Type": "text/plain"})[0] == 400
    assert asked(server, "/do", "POST", order, own(server)) == (200, b'{"ok": true, "heard": "start"}')


def test_orders_take_the_key_of_the_address(server):
    order = json.dumps({"do": "start"})
    assert server.address.endswith(f"/?key={server.key}") and len(server.key) >= 20
    without = {name: value for name, value in own(server).items() if name != KEY}
    for headers in (without, own(server, **{KEY: ""}), own(server, **{KEY: server.key[:-1]}), own(server, **{KEY: "é" * 22})):
        if all(value.isascii() for value in headers.values()):
            assert asked(server, "/do", "POST", order, headers)[0] == 403
    assert asked(server, f"/do?key={server.key}", "POST", order, without)[0] == 200
    with Server({}, port=0) as other:
        assert other.key != server.key


def test_eighty_silent_clients_do_not_keep_others_out(server):
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(2 * MOST_CLIENTS)]
    for k, link in enumerate(held[::2]):
        link.sendall(b"POST /do HTTP/1.1\r\nContent-Length: 50\r\n" if k % 2 else b"GET / HT")  # half of a request
    for _ in range(3):
        assert asked(server, "/") == (200, b"hello")
    for link in held:
        link.close()


def test_those_at_work_are_not_closed_for_others():
    room = Room(2)
    a, b = socket.socketpair()
    c, d = socket.socketpair()
    assert room.enter(a) and room.enter(c)
    with room.working(a):
        assert room.enter(b)  # c had to go
        with room.working(b):
            assert not room.enter(d)
    for link in (a, b):
        room.leave(link)
    assert room.enter(d)
    for link in (a, b, c, d):
        link.close()


def test_rates_are_limited_and_recover(server):
    server.orders = Rate(5.0)
    seen = [asked(server, "/do", "POST", json.dumps({"do": "x"}), own(server))[0] for _ in range(25)]
    assert seen.count(200) >= 5 and seen[-1] == 429
    server.orders.since -= 10.0  # later
    assert asked(server, "/do", "POST", json.dumps({"do": "x"}), own(server))[0] == 200


def test_bad_orders_are_answered_and_forgotten(server):
    json_ = own(server)
    for body in ("", "{", "[1]", "7", "{}", '"x"', "[" * 50000, '{"do": ', "\x00"):
        status, answer = asked(server, "/do", "POST", body, json_)
        assert status == 400 or json.loads(answer)["ok"] is False
    assert asked(server, "/do", "POST", "x" * (LARGEST_ORDER + 1), json_)[0] == 400
    assert asked(server, "/do", "POST", "{}", json_ | {"Content-Length": "-5"})[0] == 400
    assert asked(server, "/", "POST", "{}", json_)[0] == 404
    assert asked(server, "/", "DELETE")[0] == 501
    assert asked(server, "/") == (200, b"hello")


def test_nonsense_silence_and_vanishing_clients_are_survived(server):
    chance = random.Random(1)
    for data in (
        b"", b"\x00" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a" * 70000, b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n", b"POST /do HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
        b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\xff\x00", bytes(chance.randrange(256) for _ in range(5000)),
    ):  # fmt: skip
        assert b"Traceback" not in raw(server, data)
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]  # say nothing
    for _ in range(20):  # vanish in the middle of a request
        link = socket.create_connection(("127.0.0.1", server.port))
        link.sendall(b"GET / HT")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        link.close()
    assert asked(server, "/") == (200, b"hello")
    for link in held:
        link.close()


def test_clients_that_come_and_go_leave_no_thread(server):
    before = threading.active_count()
    for _ in range(5):
        links = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=10) for _ in range(12)]
        for link in links:
            link.request("GET", "/")
            assert link.getresponse().read() == b"hello"
        for link in links:
            link.close()
    end = time.monotonic() + 20.0
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_the_address_is_freed_and_a_taken_one_is_refused_with_a_sentence():
    before = threading.active_count()
    first = Server({}, port=0)
    with pytest.raises(PliantError, match=rf"port {first.port}: .*--port"):
        Server({}, port=first.port)
    first.close()
    Server({}, port=first.port).close()
    assert threading.active_count() == before
    with pytest.raises(PliantError, match="ports are 0"):
        Server({}, port=70000)


def test_it_listens_to_this_machine_only_unless_told():
    with Server({}, port=0) as server:
        assert server.address == f"http://127.0.0.1:{server.port}/"
        assert server._http.socket.getsockname()[0] == "127.0.0.1"
        assert not server.names_me("192.168.1.5:8700")
    with Server({"/": lambda asked: ("text/html", b"x")}, host="0.0.0.0", port=0) as server:
        key = {KEY: server.key}
        assert server.address.endswith(f"/?key={server.key}")
        for name in ("my-desktop", "evil.example", "127.0.0.1.evil.example"):  # a name that somebody made point here
            assert asked(server, "/", headers=key | {"Host": f"{name}:{server.port}"})[0] == 403
        for name in ("127.0.0.1", "192.168.1.5", "[fe80::1]", "localhost", socket.gethostname()):
            assert asked(server, "/", headers=key | {"Host": f"{name}:{server.port}"})[0] == 200, name
            assert asked(server, f"/?key={server.key}", headers={"Host": f"{name}:{server.port}"})[0] == 200
            assert asked(server, "/", headers={"Host": f"{name}:{server.port}"})[0] == 403  # on a network nothing is shown without the key
        assert asked(server, "/", headers=key | {"Host": "127.0.0.1:1"})[0] == 403
