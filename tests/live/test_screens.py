"""The page on screens of all sizes, its themes, and several runs beside each other."""

from __future__ import annotations

import time

import pytest

from pliant.live import reel
from pliant.live.html import write_page
from pliant.live.reel import Reel
from pliant.record import Run

pytestmark = pytest.mark.browser

# Pairs of words that cover each other; what is inside another counts once.
OVERLAPS = """() => {
  const seen = (e) => e.getClientRects().length && e.textContent.trim() && getComputedStyle(e).visibility !== "hidden";
  const words = [...document.querySelectorAll("#title, #clock, #bar-title, #bar-labels, #bar-now div, #menu, .plot h4 > *, .plot .legend, #timeline > *, #legend > div")].filter(seen);
  const out = [];
  words.forEach((a, i) => words.slice(i + 1).forEach((b) => {
    if (a.contains(b) || b.contains(a)) return;
    const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
    if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 2) out.push([a.textContent, b.textContent]);
  }));
  return out; }"""


def test_nothing_covers_anything_and_themes_change_colours(run_file, tab, shots, tmp_path):
    with Run.open(run_file) as run:
        page = tab(write_page(Reel(run, "pressure"), tmp_path / "run.html").as_uri(), size=(400, 800))
    page.value("pliant.player.seek(4)")
    page.until("pliant.stage.frame.meta.frame === 4")
    for wide, high in ((400, 800), (800, 900), (1440, 900), (2560, 1440)):
        page.page.set_viewport_size({"width": wide, "height": high})
        page.until(f"innerWidth === {wide}")
        page.page.wait_for_timeout(150)
        assert page.value(OVERLAPS) == [], wide
        assert page.value("document.documentElement.scrollWidth") <= wide
        assert page.value("document.getElementById('canvas').clientHeight") > 0.25 * high
        assert page.page.is_visible("#panel") == (wide > 704)
        page.page.screenshot(path=shots / f"screen-{wide}.png")
        if wide == 400:
            page.page.click("#menu")
            assert page.page.is_visible("#field")
            page.page.click("#menu")
    page.page.set_viewport_size({"width": 900, "height": 500})
    colour = lambda: sum(map(int, page.value("getComputedStyle(document.getElementById('panel')).backgroundColor").strip("rgb()").split(",")))
    assert colour() > 700
    page.page.select_option("#theme", "dark")
    assert colour() < 300 and sum(page.value("pliant.stage.words.colours.background")) < 100
    page.page.select_option("#map", "cividis")
    assert "rgb(254, 232, 56)" in page.value("document.getElementById('bar-ramp').style.background")
    assert page.value("[...pliant.stage.painter.ramp.slice(15)].map((x) => Math.round(255 * x))") == [254, 232, 56]
    page.page.select_option("#theme", "print")
    assert page.value("pliant.stage.words.colours.background") == [255, 255, 255] and colour() > 700
    assert page.wrong == []


@pytest.mark.parametrize("served", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_two_runs_beside_each_other_share_time_and_camera(run_file, browser, tmp_path, shots, served):
    with Run.open(run_file) as one, Run.open(run_file) as two:
        if served:
            with reel.serve([one, two], "speed", port=0) as server:
                _linked(browser, server.address, shots)
        else:
            _linked(browser, write_page([Reel(one), Reel(two)], tmp_path / "two.html").as_uri(), shots)


def _linked(browser, address, shots) -> None:
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": 1200, "height": 700})
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    try:
        page.goto(address)
        until = lambda frame, what: _until(page, frame, what, wrong)
        frames = page.frames[1:]
        assert len(frames) == 2
        for frame in frames:
            until(frame, "!!(window.pliant && pliant.stage.frame)")
        camera = "[...pliant.stage.camera.position, ...pliant.stage.camera.focus]"
        until(frames[0], f"{camera}.join() === '{','.join(map(repr, frames[1].evaluate(camera)))}'")  # before anybody turns it
        frames[0].evaluate("pliant.player.seek(5)")
        until(frames[1], "pliant.stage.frame.meta.frame === 5")
        frames[1].evaluate("pliant.stage.camera.orbit(120, 10); pliant.redraw()")
        wanted = frames[1].evaluate("pliant.stage.camera.position")
        until(frames[0], f"Math.hypot(...pliant.stage.camera.position.map((x, k) => x - {wanted}[k])) < 1e-9")
        assert frames[0].is_visible("#play") and not frames[1].is_visible("#play")
        page.screenshot(path=shots / "beside.png")
        assert wrong == []
    finally:
        page.close()


def _until(page, frame, what: str, wrong: list[str]) -> None:
    end = time.monotonic() + 60.0
    while not frame.evaluate(what):
        assert time.monotonic() < end, f"{what} did not come true; {wrong}"
        page.wait_for_timeout(50)
