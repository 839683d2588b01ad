"""Windows: sizes and times that belong to bodies, largest means over them against closed forms, and what is said to be resolved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant import Scene
from pliant.measure.forces import Forces, Peak
from pliant.measure.resolution import ACROSS, DEPTH, Resolution, resolution, rounded_down, worded
from pliant.measure.scales import Scales, scales_of
from pliant.measure.windows import largest_mean, running_means

G = 9.81


def steps(dt, until):
    return dt * np.arange(1, round(until / dt) + 1), np.full(round(until / dt), dt)


@pytest.mark.parametrize("dt", [2e-3, 5e-4, 1e-5])
def test_the_largest_mean_of_half_a_sine_is_that_of_its_middle(dt):
    """F sin(pi t / T) over w around its top: F 2 T / (pi w) sin(pi w / (2 T)), whatever the step; forces of steps are means over them."""
    length, window, force = 0.02, 0.006, np.array([3.0, 0.0, -4.0])
    end, each = steps(dt, 0.04)
    rise = lambda t: -np.cos(np.pi * np.clip(t, 0.0, length) / length) * length / np.pi
    values = ((rise(end) - rise(end - each)) / each)[:, None] * force
    mean, at = largest_mean(end, each, values, window)
    assert mean == pytest.approx(5.0 * 2 * length / (np.pi * window) * np.sin(np.pi * window / (2 * length)), rel=2e-2 if dt > 1e-3 else 1e-3)
    assert at == pytest.approx(0.5 * (length + window), abs=dt)
    assert np.linalg.norm(running_means(end, each, values, window), axis=1).max() == pytest.approx(mean, rel=2e-2)


@pytest.mark.parametrize("dt", [4e-3, 1e-3, 1e-4])
def test_the_mean_of_a_blow_is_its_impulse_over_the_window(dt):
    end, each = steps(dt, 0.1)
    force = np.zeros((len(end), 3))
    force[len(end) // 2, 2] = 0.7 / dt
    assert largest_mean(end, each, force, 0.02)[0] == pytest.approx(0.7 / 0.02, rel=1e-12)


def world(turn=(0, 0, 0), dt=1e-3, model="fem", scale=1.0):
    scene = Scene(dt=dt, gravity=(0, 0, -G))
    scene.add(name="ground", shape="plane", model="static")
    material = dict(youngs_modulus=4e4, density=1000.0) if model == "fem" else dict(density=1000.0)
    scene.add(name="cube", model=model, shape=dict(kind="box", size=(0.1 * scale,) * 3, edge=0.05 * scale), position=(0.3, 0, 1), rotation=turn, material=material)
    return scene.simulate().world


def test_times_of_bodies_are_those_of_waves_whatever_the_step_and_however_they_stand():
    here, other = scales_of(world()), scales_of(world(turn=(31, -52, 17), dt=4e-3))
    assert here.size[1] == pytest.approx(0.1, rel=1e-9) and here.time[1] == pytest.approx(0.1 / np.sqrt(40.0), rel=1e-9)
    for name in ("size", "edge", "length", "time"):
        assert getattr(here, name)[1] == pytest.approx(getattr(other, name)[1], rel=1e-9), name
    pair = np.array([0]), np.array([1])
    assert here.window(*pair, np.array([0, 0, -G]))[0] == here.time[1]
    twice = scales_of(world(scale=2.0))
    assert twice.time[1] == pytest.approx(2.0 * here.time[1], rel=1e-9)


def test_rigid_bodies_are_averaged_over_the_time_in_which_they_fall_by_their_size():
    scales, pair = Scales.of(world(model="rigid")), (np.array([0]), np.array([1]))
    assert not np.isfinite(scales.time[1])
    assert scales.window(*pair, np.array([0, 0, -G]))[0] == pytest.approx(np.sqrt(2 * 0.1 / G), rel=1e-9)
    assert scales.window(*pair, np.zeros(3))[0] == pytest.approx(0.01)


class Recorded:
    """What `Forces` asks of a run."""

    frames = 1

    def __init__(self, dt, force, window, depth=0.0, area=0.01, edge=0.01):
        self.end, self.dt = steps(dt, dt * len(force))
        rows = np.flatnonzero(force)
        column = lambda value: np.full(len(rows), value)
        self.table = {
            "row": rows, "a": column(0), "b": column(1), "force": force[rows, None] * np.array([0, 0, 1.0]), "window": column(window),
            "normal_force": force[rows], "area": column(area), "edge": column(edge), "length": column(edge), "elastic": column(0.0),
            "depth": column(depth),
        }  # fmt: skip

    def series(self):
        return {"time": self.end, "dt": self.dt}

    def pairs(self):
        return self.table

    def cells(self, _):
        return type("Cells", (), {"bodies": {0: "ground", 1: "ball"}})


def test_a_force_is_not_resolved_in_time_while_half_a_window_tells_more_with_few_steps():
    blow = np.zeros(40)
    blow[10] = 100.0
    rough, fine = Forces(Recorded(4e-3, blow, 0.02)).strongest(), Forces(Recorded(4e-4, blow, 0.02)).strongest()
    assert rough.resolution.in_time == "not resolved" and rough.steps == pytest.approx(2.5)
    assert rough.resolution.finer_dt == pytest.approx(0.02 / 20) and fine.resolution.in_time == "resolved"  # 25 steps
    short = Forces(Recorded(4e-3, np.concatenate([np.zeros(9), np.full(4, 7.0), np.zeros(9)]), 0.008)).strongest()
    assert short.resolution.time == pytest.approx(0.0) and short.resolution.in_time == "not resolved", "a touch of four steps"
    steady = Forces(Recorded(4e-3, np.full(40, 7.0), 0.02)).strongest()
    assert steady.resolution.in_time == "resolved" and steady.mean == pytest.approx(7.0)
    held = Forces(Recorded(4e-3, np.full(40, 7.0), 1e-3)).strongest()  # steps that are longer than the window do not part a touch
    assert held.resolution.in_time == "resolved" and held.resolution.touch == 40
    within = Forces(Recorded(4e-3, blow, 1e-4)).strongest()  # a window within a step
    assert within.resolution.in_time == "not resolved" and within.mean == pytest.approx(within.peak)


def test_words_of_depth_and_space():
    assert [worded(x, DEPTH) for x in (0.04, 0.06, 0.3, np.nan)] == ["resolved", "coarse", "not resolved", ""]
    assert [worded(x, ACROSS) for x in (20.0, 10.0, 3.0)] == ["resolved", "coarse", "not resolved"]
    force, wide = np.full(10, 1.0), 2 * np.sqrt(0.01 / np.pi)
    found = Forces(Recorded(1e-3, force, 0.01, depth=2e-3)).strongest().resolution
    assert found.depth == pytest.approx(0.2) and found.in_depth == "coarse" and found.across == pytest.approx(wide / 0.01)
    assert found.finer_edge == pytest.approx(wide / (ACROSS[0] + 1)) and found.word == "coarse" and found.edge == 0.01
    rows = dict(Recorded(1e-3, force, 0.01, depth=2e-3).table, elastic=np.full(10, 1.0))
    assert resolution(rows, np.full(10, 1e-3), 1.0, 1.0, 5.0, 10, 0.01).in_depth == "resolved", "elasticity explains it"


def test_the_depth_of_a_body_that_gives_way_alone_is_held_against_its_own_size():
    """A rigid cup of 5 mm around a quasi-rigid ball: all of the depth is a dent of the ball, however thin the cup is."""
    scene = Scene(contact="quasi-rigid")
    scene.add(name="cup", shape=dict(kind="box", size=(0.1, 0.1, 0.005), edge=0.02), model="static")
    scene.add(name="ball", shape=dict(kind="ball", radius=0.05, edge=0.02), model="quasi-rigid", spacing=0.01, position=(0, 0, 0.06))
    scene.add(name="other", shape=dict(kind="ball", radius=0.02, edge=0.01), model="quasi-rigid", spacing=0.005, position=(0, 0, 0.2))
    scales = scales_of(scene.simulate().world)
    found = scales.against(np.array([0, 1, 1]), np.array([1, 0, 2]))
    assert found == pytest.approx([0.1, 0.1, 0.04], rel=0.03)


@given(st.floats(1e-9, 1e3))
def test_a_bound_that_is_told_is_kept_by_who_follows_it(number):
    """Two figures, never above: 1.95 ms is told as 1.9 ms, as 2 ms would not be enough."""
    assert 0.9 * number < float(rounded_down(number)) <= number


def test_advice_of_a_finer_edge_tells_what_it_costs():
    """17 elements in the place of 8, to be sure of 16."""
    seen = Resolution(0.0, 0.0, 20.0, 20.0, 8.0, np.nan, "resolved", "resolved", "coarse", 0.0, 0.0, 0.0, 1e-3, 1e-4, 2e-3, 17 * 2e-3 / 8)
    said = Peak("a", "b", 1.0, 0.1, 0.01, 1.0, 20.0, 1.0, 0.1, np.zeros(3), 0.0, 0.2, seen).advice
    assert len(said) == 1 and "of the softer one that are 2.2 times finer (2 mm in the mean; 11 times as many) make it resolved" in said[0]
