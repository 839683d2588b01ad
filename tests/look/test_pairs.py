"""Feature pairs as marks: counted by state, placed on the skin, seen in their colour."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.look import Camera, still
from pliant.look.draw import draw
from pliant.look.pairs import STATES, marks_of
from pliant.look.source import from_simulation
from pliant.shop.scenes.hooked import hooked as make


@pytest.fixture(scope="module")
def needle():
    """Past the side of the cube, with a pair that should have ended."""
    return make("6.1", rule=False).simulate().run(until=0.06)


def test_marks_are_the_pairs_in_memory(needle):
    marks, memory = marks_of(needle), needle.state.memory["continuous-penalty"]
    kind = memory["kind"]
    assert sum(marks.counts.values()) == len(kind) and marks.counts["hooked"] == memory["hooked"].sum()
    assert len(marks.dots) == np.count_nonzero(kind != 1)
    assert len(marks.lines) == 3 * np.count_nonzero(kind == 0) + 2 * np.count_nonzero(kind == 1)
    np.testing.assert_allclose(marks.dots[0], needle.points("needle")[0])
    assert (marks.dot_colours[0] == STATES["active"]).all()


def test_marks_are_seen(needle, tmp_path):
    camera = Camera((0.85, -1.5, 0.3), (0.45, 0.05, 0.0))
    path = still(needle, tmp_path / "pairs.png", field="body", size=(320, 240), camera=camera, pairs=True)
    from PIL import Image

    seen = np.asarray(Image.open(path).convert("RGB")).astype(int)
    plain = np.asarray(draw(from_simulation(needle), "body", (320, 240), camera)).astype(int)
    for state in ("active", "hooked"):
        count = [np.count_nonzero(np.abs(image - STATES[state]).max(axis=2) < 40) for image in (seen, plain)]
        assert count[0] > 20 and count[1] == 0


def test_a_simulation_without_pairs_has_no_marks():
    sim = make("6.1").simulate()
    marks = marks_of(sim)
    assert len(marks.dots) == len(marks.lines) == 0 and sum(marks.counts.values()) == 0


def test_runs_have_no_pairs(run, tmp_path):
    with pytest.raises(PliantError, match="simulation"):
        still(run, tmp_path / "pairs.png", pairs=True)
