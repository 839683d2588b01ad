"""Mass of surfaces that overlap themselves."""

import numpy as np
import pytest

from pliant import Scene
from pliant.geometry.lattice.lines import mass_of_solid
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.units import rotation_matrix


def together(*parts):
    start = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
    return Surface(np.concatenate([p.points for p in parts]), np.concatenate([p.faces + s for p, s in zip(parts, start, strict=True)]))


def bar(length, at):
    return make("box", size=(length, 1.0, 1.0), edge=1.0).surface().moved((at, 0, 0))


TURN = rotation_matrix((20.0, 30.0, 40.0))
CROSSED = together(bar(2.0, 0.0), bar(2.0, 1.0)).moved((5.0, 0, 0), TURN)  # one bar of 3, its middle third twice


def test_what_overlaps_counts_once():
    """Two bars that overlap are one longer bar: its volume, centre and moments of inertia."""
    found, one = mass_of_solid(CROSSED, 2.0), mass_of_surface(bar(3.0, 0.5).moved((5.0, 0, 0), TURN), 2.0)
    assert mass_of_surface(CROSSED).volume == pytest.approx(4.0)
    assert found.volume == pytest.approx(3.0, rel=1e-3) and found.mass == pytest.approx(6.0, rel=1e-3)
    assert found.centre == pytest.approx(one.centre, abs=1e-3)
    assert np.abs(found.inertia - one.inertia).max() < 2e-3 * one.inertia.max()


def test_two_balls_that_overlap():
    """The lens that they share is known: pi (2 r - d)^2 (d^2 + 4 d r) / (12 d)."""
    ball = make("ball", radius=0.5, edge=0.05).surface()
    part, d, r = mass_of_surface(ball).volume, 0.6, 0.5
    lens = np.pi * (2 * r - d) ** 2 * (d**2 + 4 * d * r) / (12 * d)
    lens *= (part / (4 / 3 * np.pi * r**3)) ** 2  # of polyhedra, which are thinner across the lens too, about
    assert mass_of_solid(together(ball, ball.moved((d, 0, 0)))).volume == pytest.approx(2 * part - lens, rel=2e-3)


def test_what_does_not_overlap_is_integrated_as_ever():
    apart = together(bar(2.0, 0.0), bar(2.0, 2.5))
    assert mass_of_solid(apart).volume == mass_of_surface(apart).volume


@pytest.mark.parametrize("model", ["rigid", "quasi-rigid", "points", "fem"])
def test_bodies_weigh_what_is_there(model):
    scene = Scene()
    fields = {"fill": "lattice", "edge": 0.25} if model == "fem" else {}
    scene.add(name="cross", shape={"mesh": CROSSED, **fields}, model=model, material={"density": 10.0})
    assert scene.simulate().mass("cross") == pytest.approx(30.0, rel=0.01)
