"""Pages in a real browser: they draw, play, recolour, step, pull, and play without a server."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pliant.live import orders, reel
from pliant.live.html import write_page
from pliant.live.reel import Reel
from pliant.live.session import Session
from pliant.look.plots import pair_forces
from pliant.record import Run

pytestmark = pytest.mark.browser


# Colour of the pixel in the middle of the cut face.
CUT_MIDDLE = """(() => { pliant.stage.draw(); const s = pliant.stage, x = s.slice.mesh.positions, n = x.length / 3, c = [0, 0, 0], m = s.painter.project;
for (let i = 0; i < x.length; i++) c[i % 3] += x[i] / n;
const v = [0, 1, 3].map((r) => m[r] * c[0] + m[4 + r] * c[1] + m[8 + r] * c[2] + m[12 + r]), gl = s.painter.gl, out = new Uint8Array(4);
gl.readPixels(Math.round((v[0] / v[2] + 1) / 2 * gl.drawingBufferWidth), Math.round((v[1] / v[2] + 1) / 2 * gl.drawingBufferHeight), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, out);
return [...out.slice(0, 3)]; })()"""


def background(tab) -> int:
    r, g, b = tab.value("pliant.stage.words.colours.background")
    return (r << 16) | (g << 8) | b


def test_a_run_plays_in_the_page(run_file, tab, shots):
    with Run.open(run_file) as run, reel.serve(run, port=0) as server:
        page = tab(server.address)
        # the canvas is not blank: bodies and floor differ from the background
        seen, behind = page.pixels(), background(page)
        assert sum(colour != behind for colour in seen) > 0.05 * len(seen)
        assert len(set(seen)) > 50
        # play advances the time
        page.page.select_option("#speed", "0.1")
        page.page.click("#play")
        page.until("pliant.player.at >= 2")
        page.page.click("#play")
        assert not page.value("pliant.player.playing")
        # the timeline, the buttons and the plots agree on where we are
        page.page.click("#to-start")
        page.until("pliant.stage.frame.meta.frame === 0")
        page.page.click("#step-forward")
        page.until("pliant.stage.frame.meta.frame === 1")
        assert page.value("pliant.stage.frame.meta.time") == pytest.approx(run.times[1])
        assert page.value("pliant.plots.map((p) => p.now)") == pytest.approx([run.times[1]] * len(page.value("pliant.plots.map((p) => 1)")))
        # another field recolours, and the bar names it
        page.value("pliant.player.seek(4)")
        page.until("pliant.stage.frame.meta.frame === 4")
        before = page.pixels()
        page.page.select_option("#field", "speed")
        page.until("pliant.shownField === 'speed'")
        after = page.pixels()
        changed = sum(a != b for a, b in zip(before, after, strict=True))
        assert changed > 0.002 * len(after)
        assert "speed [" in page.page.inner_text("#bar-title") and "m/s" in page.page.inner_text("#bar-title")
        page.page.check("#show-points")
        page.page.check("#show-forces")
        page.page.check("#show-carrying")
        page.page.check("#show-pairs")
        assert sum(a != b for a, b in zip(page.pixels(), after, strict=True)) > 0
        # the hardest moment is a click away, and values at the cursor are told
        page.page.click(".plot .peak >> nth=0")
        curves = pair_forces(run.pairs(), run.series()["time"], run.series()["dt"], run.cells(-1).bodies)
        force = max(curves.values(), key=lambda curve: curve.max())  # means over the pair's window, as drawn
        peak = run.series()["time"][np.argmax(force)]
        after = int(np.searchsorted(run.times, peak - 1e-9))
        value = lambda k: force[np.isclose(run.series()["time"], run.times[k])].max(initial=0.0)
        page.until(f"pliant.stage.frame.meta.frame === {max((after - 1, after), key=value) if run.times[after] > peak + 1e-9 else after}")
        assert all(float(words) >= 0 for words in page.page.locator(".plot .legend >> nth=0").locator("b").all_inner_texts())
        # the largest value counts glass bodies and names the body
        page.page.select_option("#field", "pressure")
        page.until("pliant.shownField === 'pressure'")
        page.page.select_option("#body-box", "glass")
        told = page.value("[pliant.stage.largest.value, pliant.stage.largest.body.name]")
        assert told[0] == pytest.approx(float(page.value("Math.max(...pliant.stage.frame.arrays['field/pressure'])")))
        assert f"on {told[1]}" in page.page.inner_text("#bar-now")
        page.page.wait_for_timeout(200)
        page.page.screenshot(path=shots / "view.png")
        assert page.wrong == []
        # a server that has ended is said
        page.page.route("**/frame*", lambda route: route.abort())
        page.page.select_option("#field", "depth")
        page.until("document.getElementById('message').textContent.includes('does not answer any more')")


def test_cut_wireframe_cameras_and_bodies_change_the_picture(run_file, tab, shots):
    with Run.open(run_file) as run, reel.serve(run, "von_mises", port=0) as server:
        page = tab(server.address)
        page.value("pliant.player.seek(6)")
        page.until("pliant.stage.frame.meta.frame === 6")
        last = page.pixels()
        for change in (
            lambda: page.page.select_option("#cut", "y"),
            lambda: page.page.check("#wireframe"),
            lambda: page.page.click("#camera-above"),
            lambda: page.page.select_option("#body-ball", "hidden"),
            lambda: page.page.select_option("#body-ground", "hidden"),
        ):
            change()
            now = page.pixels()
            assert sum(a != b for a, b in zip(now, last, strict=True)) > 0.001 * len(now)
            last = now
        page.page.click("#camera-three-quarter")
        page.page.uncheck("#wireframe")
        page.page.select_option("#body-ball", "solid")
        page.page.wait_for_timeout(200)
        page.page.screenshot(path=shots / "cut.png")
        # the cut face has the colours of the bar, neither darker nor lighter ones, and its place is told
        page.page.fill("#cut-at", "0.75")
        page.page.wait_for_timeout(400)
        place = page.value("pliant.stage.cutPlane[3] * pliant.stage.cutPlane[1]")
        assert f"cut at y = {1000 * place:.3g} mm" in page.page.inner_text("#legend") and place > 0.01
        middle = page.value(CUT_MIDDLE)
        ramp = np.array(page.value("pliant.stage.words.colours.ramp"))
        bar = np.stack([np.interp(np.linspace(0, 1, 2000), np.linspace(0, 1, len(ramp)), ramp[:, k]) for k in range(3)], axis=1)
        assert np.abs(bar - middle).max(axis=1).min() <= 1.5
        # what is followed stays in the middle of the view
        page.page.select_option("#follow", "ball")
        away = "(() => { const s = pliant.stage; return sub3(s.camera.focus, s.centre(s.frame, 2)); })()".replace(
            "sub3", "((a, b) => a.map((v, k) => v - b[k]))"
        )
        first = page.value(away)
        page.value("pliant.player.seek(0)")
        page.until("pliant.stage.frame.meta.frame === 0")
        assert page.value(away) == pytest.approx(first, abs=1e-6)
        assert page.wrong == []


def test_trees_and_common_volumes_can_be_seen(run_file, tab, shots):
    with Run.open(run_file) as run, reel.serve(run, "body", port=0) as server:
        page = tab(server.address)
        page.value("pliant.player.seek(6)")
        page.until("pliant.stage.frame.meta.frame === 6")
        before = page.pixels()
        page.page.check("#show-tree")
        page.until("pliant.stage.tree !== null")
        boxes = page.pixels()
        assert sum(a != b for a, b in zip(before, boxes, strict=True)) > 0.002 * len(before)
        # at level 0 there is one node for each body with a skin, and it holds all of its points
        page.page.fill("#tree-level", "0")
        page.until("pliant.stage.options.level === 0")
        sticks = page.value("Array.from(pliant.stage.marks.nodes())")
        assert len(sticks) == 2 * 12 * 10
        ends = np.array(sticks).reshape(2, 12, 10)[:, :, :6].reshape(2, 24, 3)
        cells, points = run.cells(6), run.points(6)
        ball = points[np.unique(cells.tets)]
        assert ends[1].min(axis=0) == pytest.approx(ball.min(axis=0), abs=1e-5) and ends[1].max(axis=0) == pytest.approx(ball.max(axis=0), abs=1e-5)
        page.page.check("#show-common")
        page.until("!!pliant.stage.frame.meta.common")
        assert sum(a != b for a, b in zip(page.pixels(), boxes, strict=True)) > 0
        page.page.wait_for_timeout(400)
        assert "cm³" in page.page.inner_text("#legend")
        page.page.screenshot(path=shots / "trees.png")
        assert page.wrong == []


def test_a_picture_of_what_is_shown_is_saved(run_file, tab, tmp_path):
    from PIL import Image

    with Run.open(run_file) as run, reel.serve(run, port=0) as server:
        page = tab(server.address)
        with page.page.expect_download() as saved:
            page.page.click("#save-picture")
        saved.value.save_as(tmp_path / "shown.png")
        image = Image.open(tmp_path / "shown.png").convert("RGB")
        assert abs(image.width - page.value("pliant.stage.canvas.width")) <= 1
        assert len(image.getcolors(1 << 24)) > 50


def test_one_file_plays_without_server_or_network(run_file, tab, shots, tmp_path):
    with Run.open(run_file) as run:
        path = write_page(Reel(run), tmp_path / "run.html")
        times, points = run.times, run.points(3)
    page = tab(path.as_uri())
    assert len(set(page.pixels())) > 50
    page.page.select_option("#speed", "0.1")
    page.page.click("#play")
    page.until("pliant.player.at >= 2")
    page.page.click("#play")
    # all fields are inside, points are right to 16 bits, curves are there
    for name in page.value("pliant.stage.words.fields.map((f) => f.name)"):
        page.page.select_option("#field", name)
        page.until(f"pliant.shownField === '{name}'")
        assert page.value(f"!!pliant.stage.frame.arrays['field/{name}']")
    page.value("pliant.player.seek(3)")
    page.until("pliant.stage.frame.meta.frame === 3")
    shown = page.value("Array.from(pliant.stage.frame.arrays.points)")
    assert shown == pytest.approx(points.ravel().tolist(), abs=1e-5)
    assert page.value("pliant.player.times") == pytest.approx(times.tolist())
    assert page.value("pliant.plots.length") >= 3
    page.page.screenshot(path=shots / "file.png")
    assert page.wrong == []
    assert {url.split(":")[0] for url in page.asked} <= {"file", "data", "blob"}


def test_live_steps_once_pulls_and_drops(scene, tab, shots, tmp_path):
    session = Session(scene, tmp_path)
    try:
        with orders.serve(session, port=0) as server:
            page = tab(server.address)
            # a click on step is exactly one step
            for expected in (1, 2, 3):
                page.page.click("#step")
                page.until(f"pliant.live.meta.step === {expected}")
                page.page.wait_for_timeout(100)
                assert page.value("pliant.live.meta.step") == expected == session.sim.state.step
            assert session.sim.time == pytest.approx(3 * scene.dt)
            # what is refused or no number gives way to what was there, and notes move nothing
            for wrong in ("-1", "10", ""):
                page.page.fill("#dt", wrong)
                page.page.press("#dt", "Enter")
                page.until(f"document.getElementById('dt').value === '{scene.dt:g}'")
            before = page.value("document.getElementById('dt').getBoundingClientRect().top")
            page.value("pliant.live.tell({ ...pliant.live.meta, warnings: ['a long note '.repeat(40)] })")
            assert page.value("document.getElementById('dt').getBoundingClientRect().top") == before
            # weightless and pulled upwards, the ball follows the pointer
            page.page.fill("#gravity-z", "0")
            page.page.press("#gravity-z", "Enter")
            before = page.height_of("ball")
            x, y = page.place_of("ball")
            page.page.mouse.move(x, y)
            page.page.mouse.down()
            page.until("pliant.live.held !== null")
            page.value("pliant.live.order({ do: 'start' })")
            for k in range(10):
                page.page.mouse.move(x, y - 12 * k)
                page.page.wait_for_timeout(40)
            page.until("pliant.live.meta.pull !== null && pliant.live.meta.pull.force > 0")
            page.until(f"(() => {{ const s = pliant.stage; return s.centre(s.frame, 2)[2] > {before} + 0.02; }})()")
            page.page.screenshot(path=shots / "live.png")
            page.page.mouse.up()
            page.until("pliant.live.meta.pull === null")
            # what holds the simulation up is said, with what waits for it
            held = threading.Event()
            session.later(lambda: {"held": held.wait(60)}, "something long")
            page.page.click("#start")
            page.until("document.getElementById('busy').textContent.includes('Queued: pause')")
            assert "Something long" in page.page.inner_text("#busy")
            page.page.screenshot(path=shots / "busy.png")
            held.set()
            page.until("document.getElementById('busy').hidden && pliant.live.meta.running === false")
            page.page.click("#start")
            page.until("pliant.live.meta.running === true")
            # one more body falls
            page.page.click("#start")
            page.until("pliant.live.meta.running === false")
            step = session.sim.state.step
            page.page.select_option("#drop-kind", "rigid")
            page.page.fill("#drop-size", "0.04")
            page.page.click("#drop")
            page.until("pliant.stage.bodies.length === 4 && pliant.stage.frame.meta.topology === pliant.live.epoch")
            assert session.sim.state.step == step and session.sim.scene.bodies[-1].shape["radius"] == 0.02
            page.page.screenshot(path=shots / "dropped.png")
            page.page.click("#reset")
            page.until("pliant.live.meta.step === 0 && pliant.stage.bodies.length === 3")
            assert page.wrong == []
    finally:
        session.close()


@pytest.mark.slow
def test_a_movie_of_what_is_shown_is_saved(run_file, tab, tmp_path):
    with Run.open(run_file) as run, reel.serve(run, port=0) as server:
        page = tab(server.address, size=(640, 420))
        page.page.click("#menu")  # so small a page has the panel behind a button
        page.page.select_option("#speed", "0.05")
        with page.page.expect_download(timeout=120000) as saved:
            page.page.click("#save-movie")
        saved.value.save_as(tmp_path / "shown.webm")
        head = (tmp_path / "shown.webm").read_bytes()[:4]
        assert head == b"\x1a\x45\xdf\xa3"  # EBML, the container of webm
        assert (tmp_path / "shown.webm").stat().st_size > 5000
        # its pictures come when they came in the run, at the speed that was chosen, however long they took to draw
        imageio = pytest.importorskip("imageio_ffmpeg")
        shown = imageio.read_frames(tmp_path / "shown.webm")
        told = next(shown)
        shown.close()
        span, step = run.times[-1] - run.times[0], run.times[-1] - run.times[-2]
        assert told["duration"] == pytest.approx((span + step) / 0.05, abs=0.05)
        page.until(f"document.getElementById('message').textContent.includes('saved: {run.frames} frames')")
        # stopped, it keeps what there is
        with page.page.expect_download(timeout=120000) as saved:
            page.value("(pliant.panel.movie.press(), pliant.panel.movie.press())")
        page.until("document.getElementById('message').textContent.includes('saved: 1 frame,')")
        assert page.page.inner_text("#save-movie") == "movie"
        assert page.wrong == []
