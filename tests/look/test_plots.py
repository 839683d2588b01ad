"""Plots are written, show curves, and say what is missing."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pliant.base import PliantError
from pliant.contact.contacts import Contacts
from pliant.live.curves import plots_of
from pliant.look.plots import axes_of, pair_forces, plot_depths, plot_energies, plot_forces, plots, without_rounding
from pliant.measure.pairs import per_pair
from pliant.record import Cells, Recorder, Run


def test_all_plots_of_a_run(run, tmp_path):
    paths = plots(run, tmp_path / "deep" / "run")
    assert [path.name for path in paths] == ["run_energy.png", "run_force.png", "run_depth.png"]
    for path in paths:
        with Image.open(path) as image:
            rgb = np.asarray(image.convert("RGB")).astype(int)
        coloured = np.ptp(rgb, axis=2) > 40
        assert 0.0005 < coloured.mean() < 0.1  # curves, on paper that is mostly white
        assert coloured.any(axis=0).mean() > 0.5


def test_forces_of_a_pair_are_added_whichever_body_comes_first():
    pairs = {
        "row": np.array([0, 0, 1, 2]), "a": np.array([1, 2, 2, 0]), "b": np.array([2, 1, 1, 1]),
        "force": np.array([[3.0, 0, 4], [3.0, 0, 4], [0, 0, -2], [1, 0, 0]]),
    }  # fmt: skip
    curves = pair_forces(pairs, np.arange(3.0), None, {0: "ground", 1: "soft", 2: "ball"})
    assert list(curves) == ["soft – ball", "ground – soft"]
    np.testing.assert_allclose(curves["soft – ball"], [0, 2, 0])  # equal and opposite in the first step: they cancel
    np.testing.assert_allclose(curves["ground – soft"], [0, 0, 1])


def test_small_pairs_are_summed():
    count = 20
    pairs = {
        "row": np.zeros(count, int), "a": np.zeros(count, int), "b": np.arange(1, count + 1),
        "force": np.arange(1.0, count + 1)[:, None] * [1.0, 0, 0],
    }  # fmt: skip
    curves = pair_forces(pairs, np.arange(1.0), None, {})
    assert len(curves) == 9 and "12 other pairs, sum" in curves
    assert sum(curve[0] for curve in curves.values()) == pytest.approx(count * (count + 1) / 2)
    assert curves["body 0 – body 20"][0] == 20.0


def test_the_last_pair_is_named_not_summed():
    pairs = {"row": np.zeros(9, int), "a": np.zeros(9, int), "b": np.arange(1, 10), "force": np.ones((9, 3))}
    assert len(pair_forces(pairs, np.arange(1.0), None, {})) == 9
    assert not any("other" in name for name in pair_forces(pairs, np.arange(1.0), None, {}))


def test_rounding_is_no_curve():
    """Depths of 5e-19 m between bodies of 1 m are zero; of bodies of a nanometre they are what they are."""
    depth = np.array([0.0, 5e-19, 2e-7])
    np.testing.assert_array_equal(without_rounding(depth, "m", 1.0), [0.0, 0.0, 2e-7])
    np.testing.assert_array_equal(without_rounding(depth, "m", 1e-10), depth)
    np.testing.assert_array_equal(without_rounding(np.array([1e-13, np.nan, 1.0]), "N", 0.1), [0.0, np.nan, 1.0])
    (plot,) = (p for p in plots_of(np.arange(3.0), {"max_depth": np.array([0.0, 5e-19, 0.0])}, {}, 1.0) if p["title"] == "depth")
    assert not plot["curves"][0]["y"].any()
    (plot,) = plots_of(np.arange(2.0), {"kinetic": np.array([1e-20, 0.0]), "gravity": np.array([3.0, 1.0])}, {}, 1.0)
    assert [c["y"].max() for c in plot["curves"]] == [0.0, 2.0]


@pytest.mark.parametrize("plot, words", [(plot_energies, "energies"), (plot_forces, "forces"), (plot_depths, "depths")])
def test_what_is_missing_is_named(tmp_path, plot, words):
    recorder = Recorder(tmp_path / "bare", {}, every=0.1)
    recorder.topology(Cells(), 0)
    recorder.step({"time": 0.1, "momentum": 1.0})
    recorder.frame(0.1, 1, np.zeros((0, 3)))
    with pytest.raises(PliantError, match=f"no .*{words} to plot"):
        plot(recorder.run(), tmp_path / "plot.png")
    assert plots(recorder.run(), tmp_path / "run") == []
    recorder.close("finished")


def touching(tmp_path, pressure: float):
    """A run of two steps in which a pair presses."""
    recorder = Recorder(tmp_path / f"press{pressure:g}", {}, every=0.1)
    recorder.topology(Cells(bodies={0: "ground", 1: "box"}), 0)
    for k, part in enumerate((0.5, 1.0), 1):
        rows = Contacts.unknown(1, 0.1)
        rows.a[:], rows.b[:], rows.normal[:], rows.point[:] = 1, 0, [0.0, 0.0, 1.0], 0.0
        rows.impulse[:], rows.friction_impulse[:], rows.area = [0.1 * part * pressure * 1e-4], 0.0, np.full(1, 1e-4)
        energies = {name: float(k) for name in ("kinetic", "elastic", "gravity", "total", "lost")}
        recorder.step({"time": 0.1 * k, "dt": 0.1, **energies}, per_pair(rows))
        recorder.frame(0.1 * k, k, np.zeros((0, 3)), {}, {}, rows.arrays())
    recorder.close("finished")
    return Run.open(recorder.path)


def test_the_pressure_of_a_pair_says_what_it_is_in_the_unit_of_pictures(tmp_path):
    """Of one row, in kPa or MPa; a second curve in the same axes has the unit of the first."""
    pair = ("box", "ground")
    axes = axes_of(touching(tmp_path, 5e4), "pressure", pair)
    assert axes.get_ylabel() == "largest pressure [kPa]"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [25.0, 50.0])
    axes_of(touching(tmp_path, 3e6), "pressure", pair, axes)
    assert axes.get_ylabel() == "largest pressure [kPa]"
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [1500.0, 3000.0])


def test_what_cannot_be_plotted_says_what_can(tmp_path):
    run = touching(tmp_path, 5e4)
    with pytest.raises(PliantError, match="no 'forc' of box and ground: did you mean force or mean_force or normal_force"):
        axes_of(run, "forc", ("box", "ground"))
    with pytest.raises(PliantError, match=r"'torque' is of two bodies: say which, as in run.plot\('torque', pair=\(A, B\)\)"):
        axes_of(run, "torque")


def test_names_of_many_curves_hide_none(tmp_path):
    axes = axes_of(touching(tmp_path, 5e4), "energy")
    axes.figure.canvas.draw()
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1
