"""Plots are written, show curves, and say what is missing."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pliant.base import PliantError
from pliant.look.plots import pair_forces, plot_depths, plot_energies, plot_forces, plots
from pliant.record import Cells, Recorder

pytest.importorskip("matplotlib")


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
