"""What `fill = "auto"` takes, and why."""

import numpy as np
import pytest

from pliant.geometry import inside, tetrahedralise
from pliant.geometry.inside import SKIN, SKIN_OFF, Filling, filled, why_cells
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import make
from pliant.geometry.triangle import distance_to

TET = Surface(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]))
BALL = make("ball", radius=0.1, edge=0.006).surface()


def many(count: int, apart: float) -> Surface:
    """So many tetrahedra of 1 m in a row, this far apart."""
    shift = np.arange(count)[:, None] * np.array([1.0 + apart, 0.0, 0.0])
    points = (TET.points + shift[:, None]).reshape(-1, 3)
    return Surface(points, (TET.faces + 4 * np.arange(count)[:, None, None]).reshape(-1, 3))


@pytest.mark.parametrize("count", [2, 1500])
def test_parts_are_near_if_they_are_however_many_there_are(count):
    assert not inside._has_near_parts(many(count, 0.2), 0.1)
    assert inside._has_near_parts(many(count, 0.2), 0.3)


def test_tetrahedra_are_not_begun_that_will_be_slow(monkeypatch):
    """It was hoped that few triangles are left, but simplifying leaves all: cells at once, and not after the time that tetrahedra get."""
    monkeypatch.setattr(inside, "least_left", lambda *_: 100)
    monkeypatch.setattr(inside, "simplified", lambda given, *_: given)
    monkeypatch.setattr(inside, "QUICK", 2.0)
    monkeypatch.setattr(inside, "is_kept", lambda *_: False)
    monkeypatch.setattr(tetrahedralise, "_load", lambda *_: None)
    monkeypatch.setattr(tetrahedralise, "_run", lambda *_: pytest.fail("fTetWild was begun"))
    assert not why_cells(BALL, Filling(cells=True))[0]
    made = filled(Shape("ball", None, BALL), Filling(edge=0.03, cells=True))
    assert made.weights is not None and f"follow its {len(BALL.faces)} triangles take" in made.notes[-1]


def test_a_skin_much_finer_than_cells_is_simplified_to_a_quarter_of_one():
    made = filled(Shape("ball", None, BALL), Filling("lattice", 0.06, cells=True))
    area = 4.0 * np.pi * 0.1**2
    assert len(made.surface().faces) == pytest.approx(area / (0.43 * (0.06 / 4) ** 2), rel=0.1)  # triangles of that edge
    assert distance_to(made.surface(), BALL.points).max() <= SKIN_OFF * 0.06
    fine = filled(Shape("ball", None, BALL), Filling("lattice", 0.006 / SKIN, cells=True))
    assert len(fine.surface().faces) >= len(BALL.faces)  # as it is


def torus(minor: float) -> Surface:
    return make("torus", major=1.0, minor=minor, edge=minor / 3).surface()


def test_thin_is_where_tetrahedra_may_lose_a_hundredth_of_the_mass():
    """Between a tube of radius r and one `off` around it lies 2 off / r of its volume."""
    assert inside._is_thin(torus(0.14), 1.02 * 0.5 * 0.14 * 0.1) and not inside._is_thin(torus(0.14), 0.98 * 0.5 * 0.14 * 0.1)
    assert not why_cells(torus(0.14), Filling(cells=True))[0].startswith("it has parts so thin")
    assert why_cells(torus(0.09), Filling(cells=True))[0].startswith("it has parts so thin")


@pytest.mark.slow
@pytest.mark.parametrize("minor, thin", [(0.14, False), (0.09, True)])
def test_what_counts_as_thin_loses_more_than_a_hundredth(minor, thin):
    lost = 1.0 - tetrahedralise.tetrahedralise(torus(minor)).volumes.sum() / mass_of_surface(torus(minor)).volume
    assert (lost > 0.01) == thin
