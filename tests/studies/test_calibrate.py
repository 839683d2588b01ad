"""Calibration: against linear least squares where the model is linear, and by the coverage of its confidence regions where it is not."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from pliant import PliantError, Study

from .conftest import FALL, ball

EXAMPLES = Path(__file__).parents[2] / "examples" / "studies"
BOUNDS = {"gravity[2]": {"between": [-30.0, 0.0]}, "ball.velocity[2]": {"between": [-2.0, 2.0]}}


def fit_of(tmp_path, time, y, **calibrate):
    curves = [{"data": {"time": time, "fall": y}, "y": "fall", **calibrate.pop("curve", {})}]
    made = Study(scene=ball(duration=0.2), measures={"fall": FALL}, calibrate={"curves": curves, "parameters": BOUNDS, **calibrate})
    return made.run(tmp_path, workers=0).fit


def linear(time):
    """The fall is g X0 + v X1, by the recurrence of the scheme: after n steps of dt, g dt^2 n (n + 1) / 2 + v dt n."""
    n = np.asarray(time) / 0.01
    return np.stack([1e-4 * n * (n + 1) / 2, 0.01 * n], axis=1)


@pytest.mark.parametrize("noise", [None, 1e-3])
def test_a_linear_model_gives_the_solution_and_covariance_of_linear_least_squares(tmp_path, noise):
    time = 0.01 * np.arange(1, 21)
    truth, random = np.array([-9.81, 0.7]), np.random.default_rng(3)
    y = linear(time) @ truth + 1e-3 * random.normal(size=20)
    fit = fit_of(tmp_path, time, y, curve={} if noise is None else {"noise": noise}, profile=1)
    best, (residual,), *_ = np.linalg.lstsq(linear(time), y, rcond=None)
    variance = residual / 18 if noise is None else noise**2
    expected = variance * np.linalg.inv(linear(time).T @ linear(time))
    assert np.allclose(fit.values, best, rtol=1e-5) and np.allclose(fit.covariance, expected, rtol=1e-4)
    assert fit.covers(best) and not fit.covers(best + 5 * fit.errors)
    for k, profile in enumerate(fit.profiles.values()):  # a linear model has straight profiles: the interval is that of the covariance
        assert (profile.low, profile.high) == pytest.approx((fit.low[k], fit.high[k]), rel=1e-3)
    assert json.loads((tmp_path / "calibration.json").read_text())["parameters"]["gravity[2]"]["value"] == fit.values[0]
    assert "Fitted curves" in (tmp_path / "report.html").read_text()


def test_what_the_data_cannot_tell_apart_is_said(tmp_path):
    """Where the ball is after 0.19 and 0.2 s tells g and v together, hardly each."""
    time = np.array([0.19, 0.2, 0.19, 0.2])
    fit = fit_of(tmp_path, time, linear(time) @ [-9.81, 0.7] + [1e-3, -1e-3, -1e-3, 1e-3])
    assert any("cannot tell gravity[2] and ball.velocity[2] apart" in text for text in fit.warnings)
    assert "cannot tell" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("curve", "words"), [({"y": "fal"}, "no column 'fal'"), ({"data": "none.csv"}, "no file"), ({"x": "depth"}, "no column 'depth'")])
def test_mistakes_in_measured_curves_are_told(tmp_path, curve, words):
    with pytest.raises(PliantError, match=words):
        fit_of(tmp_path, [0.1, 0.2], [0.0, 1.0], curve=curve)


@pytest.mark.slow
def test_the_joint_region_of_a_rubber_block_covers_the_truth_as_often_as_it_says(tmp_path):
    """E and mu from 100 made-up tests with 2 % noise: the 95 % region holds the truth in 90 to 99 of them, and the estimates scatter as wide
    as the linearised covariance says, within 1.3."""
    spec = importlib.util.spec_from_file_location("rubber_test", EXAMPLES / "rubber_test.py")
    rubber = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rubber)
    clean = rubber.measured(noise=0.0)
    made = Study.load(EXAMPLES / "rubber.toml")
    truth, found, errors, covered = list(rubber.TRUTH.values()), [], [], 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        data = {n: y if n == "time" else y + 0.02 * np.abs(y).max() * random.normal(size=len(y)) for n, y in clean.items()}
        asked = made.calibrate.model_dump() | {"profile": 0, "tolerance": 1e-3, "curves": [{"data": data, "y": y} for y in ("push", "drag")]}
        asked["parameters"]["young"]["start"], asked["parameters"]["mu"]["start"] = 1.7e5, 0.33
        made.calibrate = asked
        fit = made.run(tmp_path, workers=0, page=False).fit
        covered += fit.covers(truth)
        found.append(fit.values)
        errors.append(fit.errors)
    ratio = np.std(found, axis=0, ddof=1) / np.sqrt(np.mean(np.square(errors), axis=0))
    print("covered", covered, "scatter over linearised error", ratio)
    assert 90 <= covered <= 99 and np.all((1 / 1.3 < ratio) & (ratio < 1.3))
