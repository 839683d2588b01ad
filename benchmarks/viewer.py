"""How fast the page is fed and how it lasts: 50,000 triangles, 50,000 surfels, and a soak with clients that come and go.

    python benchmarks/viewer.py [--seconds 30] [--json FILE]

Sending: frames packed and answered by the server to one plain client, without a browser. Receiving: frames that arrived in headless
Chromium while the run plays as fast as it can. Drawing in it is done by the processor (SwiftShader), on a real graphics card it is free.
Needs playwright and Chromium for the second and for the soak (pip install pliant[test]; Debian: apt install chromium).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pliant.geometry import solids
from pliant.live.reel import serve
from pliant.record import Cells, Recorder, Run

FRAMES, COUNT = 60, 50_000
WAYS = ["--headless=new", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox", "--disable-dev-shm-usage"]


def triangles_run(path: Path) -> tuple[Run, str]:
    """A ball of about 50,000 triangles that wobbles."""
    surface = solids.ball(radius=0.5, edge=0.00985).surface()
    cells = Cells(triangles=surface.faces, body=np.zeros(len(surface.faces), np.int64), bodies={0: "ball"})
    return _recorded(path, cells, surface.points, None), f"{len(surface.faces)} triangles"


def surfels_run(path: Path) -> tuple[Run, str]:
    """50,000 surfels on a sphere that wobbles, on the spiral of Fibonacci."""
    k = np.arange(COUNT) + 0.5
    z, a = 1.0 - 2.0 * k / COUNT, np.pi * (1.0 + 5.0**0.5) * k
    normal = np.stack([np.sqrt(1 - z * z) * np.cos(a), np.sqrt(1 - z * z) * np.sin(a), z], axis=1)
    cells = Cells(vertices=np.arange(COUNT), body=np.zeros(COUNT, np.int64), bodies={0: "cloud"})
    return _recorded(path, cells, 0.5 * normal, normal), f"{COUNT} surfels"


def _recorded(path: Path, cells: Cells, points: np.ndarray, normal: np.ndarray | None) -> Run:
    recorder = Recorder(path, {"name": path.name, "kinds": ["points" if normal is not None else "rigid"]}, every=0.01)
    recorder.topology(cells, len(points))
    for i in range(FRAMES):
        moved = points * (1.0 + 0.1 * np.sin(0.3 * i + 4.0 * points[:, :1]))
        fields = {"velocity": (moved - points).astype(np.float32), "pressure": np.abs(moved[:, 2]).astype(np.float32)}
        if normal is not None:
            fields |= {"normal": normal.astype(np.float32), "radius": np.full(len(points), 0.006, np.float32)}
        recorder.step({"time": 0.01 * i, "dt": 0.01, "contacts": 0, "max_depth": 0.0, "kinetic": 1.0})
        recorder.frame(0.01 * i, i, moved, fields)
    recorder.close("finished")
    return Run.open(path)


def sending(port: int, seconds: float) -> dict[str, float]:
    """Frames that a plain client gets one after the other."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    count, size, began, cpu = 0, 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        link.request("GET", f"/frame?number={count % FRAMES}&field=pressure")
        size += len(link.getresponse().read())
        count += 1
    spent, worked = time.perf_counter() - began, time.process_time() - cpu
    link.close()
    return {"frames/s": count / spent, "frames per second of processor time": count / worked, "MB per frame": size / count / 1e6}


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=WAYS)
        yield browser
        browser.close()


def opened(browser: Any, address: str, width: int = 640, height: int = 420) -> Any:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(address)
    end = time.monotonic() + 120
    while not page.evaluate("!!(window.pliant && pliant.stage.frame)"):
        assert time.monotonic() < end, "the page did not draw"
        page.wait_for_timeout(100)
    return page


def receiving(browser: Any, address: str, seconds: float) -> dict[str, float]:
    """Frames that arrive in the page, and those that are drawn, while it plays; nothing is kept, so each is fetched again."""
    page = opened(browser, address)
    out = page.evaluate(
        """async (seconds) => { const p = pliant.player; p.pause(); p.speed = 1; p.loop = true; pliant.stage.options.field = 'pressure';
        const begun = performance.now(); let got = 0;
        while (performance.now() - begun < 1000 * seconds) { await pliant.source.frame(got % p.count, 'pressure'); got++; }
        const fetched = got / ((performance.now() - begun) / 1000);
        const drawn = pliant.stage.painter.drawn, received = p.received, start = performance.now();
        p.play(); await new Promise((over) => setTimeout(over, 1000 * seconds)); p.pause();
        const spent = (performance.now() - start) / 1000;
        return [fetched, (p.received - received) / spent, (pliant.stage.painter.drawn - drawn) / spent]; }""",
        seconds,
    )
    page.close()
    return {"received frames/s": out[0], "drawn frames/s while playing": out[2]}


def soak(browser: Any, path: Path, seconds: float) -> dict[str, float]:
    """Three clients connect, play and leave, again and again; what is left over in the process of `pliant view` (Linux)."""
    command = [sys.executable, "-m", "pliant", "view", str(path), "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert server.stdout is not None
    address = server.stdout.readline().split()[1]
    told = lambda name: int(re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[1])  # type: ignore[index]
    threads, memory, rounds, before, end = [], [], 0, told("Threads"), time.monotonic() + seconds
    while time.monotonic() < end or rounds < 3:
        pages = [opened(browser, address, 400, 300) for _ in range(3)]
        for page in pages:
            page.evaluate("pliant.player.play()")
        pages[0].wait_for_timeout(500)
        for page in pages:
            page.close()
        rounds += 1
        threads.append(told("Threads"))
        memory.append(told("VmRSS") / 1e3)
    settle = time.monotonic() + 30  # the browser keeps connections for the next page; the server drops those that are silent
    while told("Threads") > before and time.monotonic() < settle:
        time.sleep(0.2)
    after = told("Threads")
    server.terminate()
    server.wait()
    return {
        "rounds of three clients": rounds, "threads before": before, "most threads": max(threads), "threads after": after,
        "MB after the first round": memory[0], "MB after half of them": memory[len(memory) // 2], "MB after the last": memory[-1],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of the soak; measurements take a sixth of it each")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    each, results = options.seconds / 6.0, {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for make in (triangles_run, surfels_run):
            run, what = make(Path(folder) / make.__name__)
            with run, serve(run, "pressure", port=0) as server:
                results[what] = sending(server.port, each) | receiving(browser, server.address, each)
                if make is triangles_run:
                    results["soak"] = soak(browser, run.path, options.seconds)
    for what, numbers in results.items():
        print(what if isinstance(numbers, dict) else f"{what}: {numbers}")
        for name, value in numbers.items() if isinstance(numbers, dict) else ():
            print(f"  {name:40s} {value:10.4g}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
