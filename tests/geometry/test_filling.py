"""Filling with tetrahedra is a process that can be watched and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import logging, sys
from pliant.geometry.shapes import make
from pliant.geometry.tetrahedralise import fill
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
print("ready", flush=True)
fill(make("bunny", edge=0.006).surface(), 0.004, log_progress=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_stops_it_at_once(tmp_path: Path) -> None:
    """The process that fills ends with the one that asked for it, and leaves nothing behind."""
    environment = os.environ | {"PLIANT_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    asked = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert asked.stdout is not None
    said = ""
    for line in asked.stdout:
        said += line
        if "filling" in line:
            break
    assert "triangles with tetrahedra, about" in said and "Ctrl-C stops it" in said
    while not list(tmp_path.glob("pliant-tets-*/words.txt")):  # the child has been started
        time.sleep(0.05)
    asked.send_signal(signal.SIGINT)
    asked.wait(timeout=60)
    assert asked.returncode != 0
    assert not list(tmp_path.glob("pliant-tets-*"))  # its folder is gone, and so is the child that wrote there
