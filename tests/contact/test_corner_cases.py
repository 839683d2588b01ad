"""Corner cases under every method, rigid and soft, the world turned at random: they end as docs/methods/corner-cases.md says."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from pliant import PliantError
from pliant.contact.method import METHODS
from pliant.shop import scenes
from pliant.shop.scenes import corners

PAGE = (Path(__file__).parents[2] / "docs" / "methods" / "corner-cases.md").read_text("utf-8")
TOUCHING = [method for method in METHODS if method != "none"]
GOOD, REFUSED = "yes", "–"


def table() -> dict[tuple[str, str, str], str]:
    """What the page says of each case, model and method."""
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
    (_, _, *methods), *rest = rows
    return {(case, model, method): cell for case, model, *cells in rest for method, cell in zip(methods, cells, strict=True)}


SAID = table()
KNOWN = dict(re.findall(r"^\* \*\*(\w)\*\* `([^`]+)`: ", PAGE, re.M))  # what the check says, of each letter in the table


def turn(case: str, model: str, method: str) -> tuple[float, ...]:
    """A rotation vector [degree] of its own for each; soft bodies are turned about z."""
    rng = np.random.default_rng(zlib.crc32(f"{case} {model} {method}".encode()))
    axis = rng.normal(size=3) if model == "rigid" else np.array([0.0, 0.0, 1.0])
    return tuple(np.round(axis / np.linalg.norm(axis) * rng.uniform(20, 160), 3).tolist())


def test_the_page_knows_every_case_and_says_why():
    assert SAID.keys() == {(case, model, method) for case in corners.CASES for model in ("rigid", "soft") for method in TOUCHING}
    letters = set("".join(cell for cell in SAID.values() if cell not in (GOOD, REFUSED)))
    assert letters == KNOWN.keys()


@pytest.mark.parametrize("dt", [0.004, 0.0071])
def test_a_lip_between_soft_tiles_stops_nothing(dt):
    """The side of the next tile stands a few micrometres out of a strip that a tip is at the end of: it held back by up to 156 mm."""
    corners.expect_corner_cases(scenes.make("corner-cases", case="internal-edges", model="soft", contact="patch", dt=dt).simulate().run())


@pytest.mark.slow
@pytest.mark.parametrize("case, model, method", SAID)
def test_a_corner_case_ends_as_the_page_says(case, model, method):
    said = SAID[case, model, method]
    scene = scenes.make("corner-cases", case=case, model=model, contact=method, turn=turn(case, model, method))
    if said == REFUSED:
        with pytest.raises(PliantError):
            scene.simulate().run()
    elif said == GOOD:
        assert corners.expect_corner_cases(scene.simulate().run())
    else:
        with pytest.raises((AssertionError, PliantError), match=KNOWN[said]):
            corners.expect_corner_cases(scene.simulate().run())


def test_a_turned_world_is_the_same_world():
    """As it begins to fall; where normals are not defined, what comes then depends on rounding."""
    ends = []
    for turned in ((0.0, 0.0, 0.0), (30.0, 100.0, -50.0)):
        sim = scenes.make("corner-cases", case="wedge-on-wedge", contact="none", turn=turned, duration=0.012).simulate().run()
        ends.append([corners._rotation(turned).inv().apply(sim.points(name)) for name in ("above", "below 1")])
    for straight, turned in zip(*ends, strict=True):
        assert np.abs(turned - straight).max() < 1e-12
    assert np.abs(ends[0][0][:, 2].min() - 0.08) < 2e-3  # just above what it falls on


def test_soft_ones_turn_about_z_only():
    with pytest.raises(PliantError, match="about z only"):
        scenes.make("corner-cases", model="soft", turn=(10.0, 0.0, 0.0))
