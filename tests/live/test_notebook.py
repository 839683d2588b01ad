"""What things show of themselves: facts that are true, text that is escaped, a page that plays without a server."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

from pliant import Scene, press
from pliant.base import PliantError
from pliant.live import notebook
from pliant.record import Run
from pliant.shown import Bar, in_notebook
from pliant.studies.study import Study


def small(name="drop <b>") -> Scene:
    scene = Scene(name=name, dt=0.004, duration=0.04)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box & co", shape={"kind": "box", "size": (0.2, 0.2, 0.2), "edge": 0.2}, model="rigid", position=(0, 0, 0.1))
    return scene


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with small("drop").record(tmp_path_factory.mktemp("notebook") / "drop") as made:
        yield made


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r'src="data:[^"]*"', "", html)))


def test_cards_say_what_is_true(run, monkeypatch):
    monkeypatch.setattr(notebook, "draw", lambda *_: (_ for _ in ()).throw(PliantError("no display <here>")))
    scene = small()
    html = scene._repr_html_()
    assert "drop <b>" in text_of(html) and "<b>" not in html.replace("&lt;b&gt;", "") and "no display &lt;here&gt;" in html
    assert all(word in text_of(html) for word in ("box & co", "rigid", "box, size", "0.2, 0.2, 0.2", "0.004 s for 0.04 s"))
    sim = scene.simulate()
    sim.run(until=0.04)
    shown, contacts = text_of(sim._repr_html_()), sim.contacts("box & co", "ground")
    force = np.linalg.norm(contacts.total_force)
    assert f"{force:.4g} N" in shown and f"{force:.4g} N" in text_of(contacts._repr_html_())
    shown = text_of(run._repr_html_())
    assert f"{run.frames} frames" in shown and str(run.path) in shown and "max_pressure" in shown
    assert "0.1, 0.2" in text_of(Study(scene=scene, parameters={"box & co.friction": [0.1, 0.2]})._repr_html_())


def test_short_words_in_a_shell(run):
    scene = small()
    assert repr(scene) == "Scene 'drop <b>': ground, box & co; dt = 0.004 s, duration = 0.04 s"
    assert repr(scene.simulate()) == "Simulation 'drop <b>' at t = 0 s, step 0: ground, box & co"
    assert repr(run).endswith(f"finished, {run.frames} frames, t = 0 to 0.04 s")
    assert repr(scene.simulate().contacts()) == "Contacts: 0 rows, total force (0, 0, 0) N on a"


def test_what_is_pressed_shows_its_map():
    found = press({"kind": "box", "size": (0.02, 0.02, 0.02)}, depth="0.1mm", spacing="2mm")
    assert repr(found).startswith("Pressed box on plane: ") and "\n" not in repr(found)
    html = found._repr_html_()
    assert "data:image/png;base64," in html and f"{found.force:.4g} N" in text_of(html)


def test_series_are_a_table_of_pandas(run):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    series = run.series()
    table = pandas.DataFrame(series)
    assert np.array_equal(table["momentum_z"], series["momentum"][:, 2]) and len(table) == len(series["time"])
    assert "momentum" in series and "momentum_y" in series and "moment" not in series
    assert series.get("moment", 3) == 3 and series.vectors["momentum"].shape == (len(table), 3)
    with pytest.raises(KeyError):
        series["moment"]


def test_plots_are_axes_with_the_numbers_of_the_run(run):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from pliant.measure.pairs import pair_series

    axes = run.plot("force", pair=("box & co", "ground"))
    force = np.linalg.norm(pair_series(run, "box & co", "ground")["mean_force"], axis=1)
    assert np.array_equal(axes.lines[0].get_ydata(), force) and axes.get_ylabel() == "contact force, mean [N]"
    assert run.plot("kinetic", axes=axes) is axes and len(axes.lines) == 2
    assert len(run.plot("energy").lines) > 1 and len(run.plot("momentum").lines) == 3
    with pytest.raises(PliantError, match="'kinetik'.*kinetic"):
        run.plot("kinetik")
    with pytest.raises(PliantError, match="no 'presure'.*pressure"):
        run.plot("presure", pair=("box & co", "ground"))
    pyplot.close("all")


def test_the_page_of_a_run_a_simulation_and_a_scene(run, monkeypatch):
    """One file in a frame of its own; outside of a notebook it is opened in the browser."""
    opened = []
    monkeypatch.setattr(notebook.webbrowser, "open", opened.append)
    for thing, frames in ((run, run.frames), (small("one"), 1), (small("two").simulate(), 1)):
        path = thing.show()
        text = path.read_text("utf-8")
        assert opened[-1] == path.as_uri() and "https://" not in text and 'connect-src \'none\'' in text
        assert len(re.search(r'"frames": \[(.*?)\]', text).group(1).split(",")) == frames
    html = notebook.framed(text, 300)
    assert html.startswith('<iframe sandbox="allow-scripts') and unescape(re.search(r'srcdoc="([^"]*)"', html).group(1)) == text
    with pytest.raises(PliantError, match="no page of Contacts"):
        run.contacts().show()


def test_a_page_in_a_notebook_is_not_too_large(run, monkeypatch):
    monkeypatch.setattr(notebook, "LARGEST", 20_000)
    text = notebook._page(run, "auto")
    assert 1 <= len(re.search(r'"frames": \[(.*?)\]', text).group(1).split(",")) < run.frames


def test_progress_only_where_there_is_a_notebook(monkeypatch, tmp_path):
    assert not in_notebook()
    said = []
    monkeypatch.setattr(Bar, "_say", lambda self, html: (said.append(html), setattr(self, "handle", True)))
    monkeypatch.setattr("pliant.shown.OFTEN", 0.0)
    monkeypatch.setattr("pliant.simulate.simulation.in_notebook", lambda: True)
    monkeypatch.setattr("pliant.simulate.running.in_notebook", lambda: True)
    small("bar").simulate().run(until=0.04)
    assert "t = 0.004 of 0.04 s" in said[0] and said[-1].startswith("10 steps to t = 0.04 s in")
    said.clear()
    small("bar").record(tmp_path / "bar").close()
    assert said[-1].startswith("10 steps")


def test_record_takes_a_new_name_and_says_why_it_failed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with small("bar").record() as one, small("bar").record() as two:
        assert (one.path.name, two.path.name) == ("bar.vtkhdf", "bar-2.vtkhdf") and isinstance(one, Run)
