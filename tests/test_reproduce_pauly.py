"""The figures of quasi-rigid contact, computed again."""

from __future__ import annotations

import pytest

from pliant.shop.reproduce import crew
from pliant.shop.reproduce.pauly import EXPERIMENTS


def lines_of(figure, folder):
    (job,) = crew.jobs({"pauly": [figure]}, folder)
    found = crew.work(job)
    assert not found.failed
    assert all((folder / "pauly" / each.file).stat().st_size > 10_000 for each in EXPERIMENTS[figure].figures)
    return found.lines


@pytest.mark.parametrize("figure", ["Fig3", "Fig4"])
def test_quick_figures_agree(figure, tmp_path):
    lines = lines_of(figure, tmp_path)
    assert all(line.agrees is not False for line in lines), [line.text() for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["Fig1", "Fig8", "Fig9", "Fig10", "Fig11"])
def test_slow_figures_agree(figure, tmp_path):
    lines = lines_of(figure, tmp_path)
    assert all(line.agrees is not False for line in lines), [line.text() for line in lines]
