"""Tables of responses from finite elements and measurements, their files, and parts of scans."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import j0

import pliant
from pliant import PliantError
from pliant.contact.elastic import compliance
from pliant.geometry.files import PointCloud
from pliant.geometry.shapes import make
from pliant.pressing.objects import cropped, cuts
from pliant.pressing.response_tables import block_response, graded_block, read_response, tabulated, write_response


def bonded_layer(r, thickness, poisson):
    """f over C of a layer bonded to rigid ground: 1/r + int (L(k T) - 1) J0(k r) dk [Burmister 1945]."""
    kappa = 3.0 - 4.0 * poisson
    m = np.linspace(1e-6, 30.0, 30001)
    L = (2 * kappa * np.sinh(2 * m) - 4 * m) / (2 * kappa * np.cosh(2 * m) + 4 * m**2 + 1 + kappa**2)
    return np.array([1 / x + trapezoid((L - 1) * j0(m * x / thickness), m) / thickness for x in r])


@pytest.mark.slow
@pytest.mark.parametrize(("poisson", "finest"), [(0.3, 0.05), (0.45, 0.05)])
def test_finite_elements_give_the_response_of_a_layer(poisson, finest):
    table = block_response(0.02, 1e6, poisson, finest=finest)
    r = table.r[(table.r > 0.2 * 0.02) & (table.r < 2 * 0.02)]
    exact = bonded_layer(r, 0.02, poisson)
    assert np.max(np.abs(table.f(r) / table.c - exact) * 0.02) < 0.15  # in units of C/T; the half-space has 5 at 0.2 T
    assert table.c == compliance(1e6, poisson)


@pytest.mark.slow
def test_finite_elements_near_the_force_are_a_half_space():
    table = block_response(0.02, 1e6, 0.3, wide=1.5, finest=0.01)
    near = table.r < 0.1 * 0.02
    assert near.sum() > 3 and np.max(np.abs(table.f(table.r[near]) * table.r[near] / table.c - (1 - 1.3 * table.r[near] / 0.02))) < 0.06


def test_a_graded_block_is_whole():
    mesh = graded_block(0.02, 4.0, 0.05)
    x = mesh.points[mesh.tets]
    volume = np.einsum("ij,ij->i", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0]) / 6
    assert volume.min() > 0 and volume.sum() == pytest.approx(0.16 * 0.16 * 0.02)
    assert np.sort(np.abs(mesh.points[:, 0][mesh.points[:, 0] > 1e-9])).min() == pytest.approx(0.001, rel=1e-6)


def test_tables_are_written_read_and_pressed_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    r, c = np.geomspace(1e-4, 1.0, 60), compliance(2e6, 0.3)
    np.savetxt("half-space.csv", np.column_stack([r, 2.5 * c / r]), delimiter=",")
    facts, text = tabulated(tmp_path / "table.csv", None, tmp_path / "half-space.csv", "2.5N", "2MPa", 0.3)
    assert facts["compliance"] == pytest.approx(c) and "Wrote" in text
    table = read_response("table.csv")
    assert np.allclose(table.values * r, c, rtol=1e-8)
    ball = {"kind": "ball", "radius": 0.1}
    solid = pliant.press(ball, depth="1mm", young="1MPa", poisson=0.45)
    assert pliant.press(ball, depth="1mm", young="1MPa", poisson=0.45, response="table.csv").force == pytest.approx(solid.force, rel=1e-4)
    write_response(table, "again.csv", "again")
    assert np.allclose(read_response("again.csv").values, table.values, rtol=1e-8)


@pytest.mark.parametrize(
    ("make_it", "why"),
    [
        (lambda p: tabulated(p / "a.csv", None, None, "1N", "1MPa", 0.3), "either a thickness"),
        (lambda p: tabulated(p / "a.txt", "2mm", None, "1N", "1MPa", 0.3), "must end in .csv"),
        (lambda p: tabulated(p / "a.csv", None, p / "none.csv", "1N", "1MPa", 0.3), "There is no file"),
        (lambda p: read_response(p / "bare.csv"), "does not say C"),
        (lambda p: read_response(p / "three.csv"), "at least four rows"),
        (lambda p: read_response(p / "words.csv"), "not a table of numbers"),
        (lambda p: pliant.press({"kind": "ball", "radius": 0.1}, depth="1mm", layer="1mm", response="layr"), "did you mean layer"),
    ],
)
def test_bad_tables_are_refused(make_it, why, tmp_path):
    np.savetxt(tmp_path / "bare.csv", np.column_stack([np.arange(1, 9)] * 2), delimiter=",")
    np.savetxt(tmp_path / "three.csv", np.ones((8, 3)), delimiter=",")
    (tmp_path / "words.csv").write_text("radius,value\none,two\n")
    with pytest.raises(PliantError, match=why):
        make_it(tmp_path)


def test_scans_are_cropped():
    assert cuts("z<50mm, x>-2cm") == [(2, True, 0.05), (0, False, -0.02)] and cuts("y<.5") == [(1, True, 0.5)]
    surface = make("ball", radius=0.1, edge=0.02).surface()
    low = cropped(surface, "z<0")
    assert low.points[:, 2].max() < 0 and 0 < len(low.faces) < 0.6 * len(surface.faces)
    assert set(map(tuple, low.points)) <= set(map(tuple, surface.points))
    cloud = PointCloud(surface.points, surface.points)
    assert np.array_equal(cropped(cloud, "z>20mm,y<0").points, surface.points[(surface.points[:, 2] >= 0.02) & (surface.points[:, 1] < 0)])
    for text, why in (("w<3", "no condition"), ("z<3 miles", "no condition"), ("z<-1", "leaves nothing")):
        with pytest.raises(PliantError, match=why):
            cropped(surface, text)


def test_the_lower_half_is_pressed_as_the_whole():
    ball = make("ball", radius=0.1, edge=0.01).surface()
    whole, half = (pliant.press(ball, depth="1mm", spacing="2mm", crop=crop) for crop in (None, "z<20mm"))
    assert half.force == pytest.approx(whole.force, rel=0.02) and math.isfinite(half.peak)
