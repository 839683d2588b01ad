"""Experiments of the thesis on continuous penalty forces: the quick ones run, all are there."""

import numpy as np
import pytest

from pliant.shop.reproduce import experiments, reproduce
from pliant.shop.reproduce.thesis.drops import ROUGH, dropped, expected_ratio, mean_depth, roughness, share
from pliant.shop.reproduce.watch import CPF, DPF, jitter


def test_all_ten_are_there_and_say_what_they_do():
    known = experiments("thesis")
    assert list(known) == [f"T{i}" for i in range(1, 11)]
    assert all(run.__doc__.startswith(f"{name}:") for name, run in known.items())


@pytest.mark.slow
def test_t1_and_t2_agree_but_for_the_misprint(tmp_path):
    found = dict(reproduce("thesis", ["T1", "T2"], tmp_path))
    differs = [line for lines in found.values() for line in lines if not line.agrees]
    assert len(differs) == 1 and "7.11 is misprinted" in differs[0].why
    assert (tmp_path / "T1.png").exists() and (tmp_path / "T2.png").exists()


@pytest.mark.slow
def test_t6_agrees(tmp_path):
    lines = dict(reproduce("thesis", ["T6"], tmp_path))["T6"]
    assert all(line.agrees for line in lines), [line.text() for line in lines]


def test_jitter_is_blind_to_steady_change_and_sees_what_alternates():
    steady = np.linspace(0.0, 900.0, 100)
    assert jitter(steady) == pytest.approx(0.0, abs=1e-9)
    assert jitter(steady + (-1.0) ** np.arange(100)) == pytest.approx(4.0)


@pytest.mark.parametrize("s, ratio", [(4 / 9, 1.4), (2 / 3, 2.0)])
def test_the_published_depths_are_those_of_s_between_0_44_and_0_67(s, ratio):
    """(1 - s/2) / (1 - s), theory/penalty 5.4."""
    assert expected_ratio(s) == pytest.approx(ratio)


@pytest.mark.slow
@pytest.mark.parametrize("dt, stiffness", [(0.01, 5000.0), (0.009, 5000.0), (0.005, 20000.0)])
def test_t3_t4_depth_ratio_and_jitter_where_s_is_that_of_the_thesis(dt, stiffness):
    """s between 0.44 and 0.67 by the depth of DPF alone: CPF is 1.4 to 2.0 times deeper, and no rougher where DPF jitters."""
    both = dropped(dt, stiffness)
    assert 0.44 < share(both[DPF], stiffness) < 0.67
    assert 1.4 < mean_depth(both[CPF]) / mean_depth(both[DPF]) < 2.0
    assert roughness(both[CPF]) < max(ROUGH, roughness(both[DPF]))


@pytest.mark.slow
def test_t3_t5_continuous_forces_stay_smooth_longer():
    """k dt^2 = 0.5: the discrete force jitters by more than ten times as much as the continuous one."""
    both = dropped(0.01, 5000.0)
    assert roughness(both[CPF]) < ROUGH < 0.1 < roughness(both[DPF])
