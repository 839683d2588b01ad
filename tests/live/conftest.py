"""A small run, a real browser, and a folder for what it showed (PLIANT_SHOTS keeps it)."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from pliant.scene import Scene
from pliant.simulate.running import run as carry_out
from pliant.simulate.running import start

WAYS = ["--headless=new", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox", "--disable-dev-shm-usage"]


def small_scene() -> Scene:
    """A soft ball falls onto a box that stands on the ground; quick to build and to step."""
    scene = Scene(name="small", dt=0.004, duration=0.16, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", shape=dict(kind="box", size=[0.2, 0.2, 0.1], edge=0.1), model="rigid", position=(0, 0, 0.051))
    soft = dict(youngs_modulus=5e4, stiffness_damping=0.005)
    scene.add(name="ball", shape=dict(kind="ball", radius=0.06, edge=0.04), position=(0, 0, 0.175), velocity=(0, 0, -0.5), material=soft)
    return scene


@pytest.fixture(scope="session")
def scene() -> Scene:
    return small_scene()


@pytest.fixture(scope="session")
def run_file(tmp_path_factory) -> Path:
    """Nine frames of the small scene under the penalty method, with a checkpoint at every frame."""
    path = tmp_path_factory.mktemp("live") / "small"
    sim, recorder = start(small_scene().copy_with(contact="penalty"), path, every=0.02, checkpoint_every=1)
    assert carry_out(sim, recorder).status == "finished"
    return path.with_suffix(".vtkhdf")


@pytest.fixture(scope="session")
def shots(tmp_path_factory) -> Path:
    """Where screenshots go."""
    kept = os.environ.get("PLIANT_SHOTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium, or a skip that says what is missing."""
    pytest.importorskip("playwright", reason="playwright is not installed: pip install pliant[test]")
    from playwright.sync_api import Error, sync_playwright

    found = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)
    with sync_playwright() as play:
        try:
            opened = play.chromium.launch(executable_path=found, args=WAYS)
        except Error as error:
            pytest.skip(f"there is no Chromium to drive (Debian: apt install chromium): {str(error).splitlines()[0]}")
        yield opened
        opened.close()


class Tab:
    """A page of the browser that remembers what went wrong in it."""

    def __init__(self, browser, address: str, size=(760, 480)) -> None:
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]}, accept_downloads=True)
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.goto(address)
        self.until("!!(window.pliant && pliant.stage.frame)")

    def until(self, condition: str, seconds: float = 60.0) -> None:
        """Wait; the page's own rules forbid playwright's way of doing this."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"{condition} did not come true; the page said {self.wrong}"
            self.page.wait_for_timeout(50)

    def value(self, expression: str):
        return self.page.evaluate(expression)

    def pixels(self) -> list[int]:
        """Colours of the canvas, every 7th pixel, after a fresh drawing."""
        return self.page.evaluate(
            """() => { pliant.stage.draw(); const gl = pliant.stage.painter.gl, w = gl.drawingBufferWidth, h = gl.drawingBufferHeight;
            const all = new Uint8Array(4 * w * h); gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, all);
            const out = []; for (let i = 0; i < w * h; i += 7) out.push((all[4 * i] << 16) | (all[4 * i + 1] << 8) | all[4 * i + 2]); return out; }"""
        )

    def place_of(self, body: str) -> tuple[float, float]:
        """Where the middle of a body is in the window."""
        x, y = self.page.evaluate(
            """(name) => { const s = pliant.stage, c = s.centre(s.frame, s.bodies.findIndex((b) => b.name === name)), m = s.painter.project;
            const v = [0, 1, 3].map((r) => m[r] * c[0] + m[4 + r] * c[1] + m[8 + r] * c[2] + m[12 + r]), box = s.canvas.getBoundingClientRect();
            return [box.left + (v[0] / v[2] + 1) / 2 * box.width, box.top + (1 - v[1] / v[2]) / 2 * box.height]; }""",
            body,
        )
        return x, y

    def height_of(self, body: str) -> float:
        return self.page.evaluate(
            "(name) => { const s = pliant.stage; return s.centre(s.frame, s.bodies.findIndex((b) => b.name === name))[2]; }", body
        )

    def close(self) -> None:
        self.page.close()


@pytest.fixture
def tab(browser):
    """Opens pages; all are closed at the end of the test."""
    opened: list[Tab] = []

    def opener(address: str, **options) -> Tab:
        opened.append(Tab(browser, address, **options))
        return opened[-1]

    yield opener
    for one in opened:
        one.close()
