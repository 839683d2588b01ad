"""`pliant view`, `pliant live` and `pliant report` as a user types them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from pliant.cli import app


def typed(*words: str):
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def test_a_page_is_written(run_file, tmp_path):
    result = typed("view", str(run_file), "--html", str(tmp_path / "a.html"))
    assert result.exit_code == 0 and "no server" in result.output
    assert (tmp_path / "a.html").stat().st_size > 50000


@pytest.mark.slow
def test_a_report_is_written(run_file, tmp_path):
    result = typed("report", str(run_file), "--out", str(tmp_path / "b.html"), "--stills", "1")
    assert result.exit_code == 0 and (tmp_path / "b.html").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_the_address_is_said_and_freed_at_the_end(run_file, number):
    command = [sys.executable, "-m", "pliant", "view", str(run_file), "--no-browser", "--port", "0"]
    begin = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}, preexec_fn=begin) as process:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert address is not None
        assert urllib.request.urlopen(address[0], timeout=20).status == 200
        process.send_signal(number)
        assert process.wait(30) == 0
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", int(address[1])))


def test_looking_needs_no_browser_library():
    code = "import sys, pliant.cli, pliant.live.orders, pliant.live.reel; print(*[m for m in ('viser', 'playwright', 'pyvista') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""
