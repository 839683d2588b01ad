"""The figures of quasi-rigid contact, computed again."""

from __future__ import annotations

import pytest

from pliant.shop.reproduce import pauly


@pytest.mark.parametrize("figure", ["Fig3", "Fig4"])
def test_quick_figures_agree(figure, tmp_path):
    lines = pauly.EXPERIMENTS[figure](tmp_path)
    assert all(line.agrees is not False for line in lines), [line.text() for line in lines]
    assert (tmp_path / f"{figure}.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["Fig1", "Fig8", "Fig9", "Fig10", "Fig11"])
def test_slow_figures_agree(figure, tmp_path):
    lines = pauly.EXPERIMENTS[figure](tmp_path)
    assert all(line.agrees is not False for line in lines), [line.text() for line in lines]
    assert (tmp_path / f"{figure}.png").stat().st_size > 10_000
