"""`pliant.press` and its command: quantities, the way to the first touch, loads, maps, files, and real scans."""

from __future__ import annotations

import json
import math
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

import pliant
from pliant import PliantError, cli
from pliant.contact.elastic import Boussinesq, Side, compliance, resolve
from pliant.contact.elastic.resting_pose import balanced, nearest_support, rolled
from pliant.detect.surfels import Exact, PointSurface
from pliant.detect.surfels.make import outward
from pliant.geometry.files import read
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.subdivide import subdivided
from pliant.geometry.units import rotation_matrix
from pliant.pressing import quantities
from pliant.pressing.approach import check_stance, tipped, touching
from pliant.pressing.maps import PressureMap, compared, pressure_map, read_measured
from pliant.pressing.named import named
from pliant.pressing.objects import Source, centre_of
from pliant.pressing.relief import Heights

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def fibonacci(count):
    i = np.arange(count) + 0.5
    polar, around = np.arccos(1 - 2 * i / count), np.pi * (1 + np.sqrt(5)) * i
    return np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], axis=1)


def ball(radius, count=20000):
    x = fibonacci(count)
    return PointSurface(radius * x, x, np.full(count, 4 * np.pi * radius**2 / count))


# ------------------------------------------------------------------------------------------------ input


def test_quantities_have_units():
    assert quantities.length("depth", "2mm") == pytest.approx(0.002) and quantities.length("depth", 0.5) == 0.5
    assert quantities.force("force", "0.5 kN") == 500 and quantities.force("force", "1e2N") == 100
    assert quantities.pressure("young", "1.2MPa") == pytest.approx(1.2e6)
    for text, why in (("2 miles", "'miles' is not known"), ("two mm", "not a number"), ("-2mm", "above zero"), ("nan", "not a number")):
        with pytest.raises(PliantError, match=why):
            quantities.length("depth", text)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "either a depth"),
        ({"depth": "1mm", "force": "1N"}, "either a depth"),
        ({"depth": "1mm", "tilt": "fre"}, "did you mean free"),
        ({"depth": "1mm", "tilt": "free"}, "give a force"),
        ({"depth": "1mm", "young": None}, "Both objects are rigid"),
        ({"depth": "1mm", "direction": (0, 0, 0)}, "no length"),
        ({"depth": "1mm", "direction": (0, 1)}, "three numbers"),
        ({"depth": "1mm", "response": "jelly", "layer": 0.01}, "no response 'jelly'"),
        ({"depth": "1m"}, "Is the unit of the file right"),
        ({"force": "10MN"}, "the modulus is 1.254 MPa. Is the unit"),
        ({"force": "5kN"}, "presses it in by .* too much for the first object"),
        ({"depth": "1mm", "poisson": 0.5}, "below 0.5"),
    ],
)
def test_wrong_options_are_said(options, why):
    with pytest.raises(PliantError, match=why):
        pliant.press(ball(0.1, 2000), **options)


def test_wrong_objects_are_said():
    for a, b, why in (
        ("plane", "plane", "second object"),
        (3, "plane", "cannot be pressed"),
    ):
        with pytest.raises(PliantError, match=why):
            pliant.press(a, b, depth="1mm")
    with pytest.raises(PliantError, match="no samples"):
        pliant.press(Exact("ball", (1.0,)), "plane", depth="1mm", nodes="samples")


def test_refined_triangles_keep_the_surface():
    surface = make("box", size=(0.2, 0.1, 0.05), edge=0.1).surface()
    fine = subdivided(surface, 0.012).surface
    area = lambda s: (
        0.5
        * np.linalg.norm(
            np.cross(s.points[s.faces[:, 1]] - s.points[s.faces[:, 0]], s.points[s.faces[:, 2]] - s.points[s.faces[:, 0]]), axis=1
        ).sum()
    )
    assert area(fine) == pytest.approx(area(surface), rel=1e-12)
    ends = np.sort(fine.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, count = np.unique(ends, axis=0, return_counts=True)
    assert np.all(count == 2) and np.linalg.norm(fine.points[edges[:, 0]] - fine.points[edges[:, 1]], axis=1).max() <= 0.012
    made = Source(Surface(surface.points, surface.faces)).thing()
    assert 8000 < len(made.samples) < 60000 and made.faces.max() == len(made.samples) - 1
    assert np.allclose(centre_of(made.samples), surface.points.mean(axis=0), atol=2e-4)


# ------------------------------------------------------------------------------------------------ the way there


def test_first_touch_of_two_balls():
    """Off centre by d, centres meet at sqrt(4 - d^2)."""
    a, b = Side(ball(1.0, 5000), translation=np.array([0.6, 0.0, 7.0])), Side(Exact("ball", (1.0,)))
    placed = touching(a, b, np.array([0.0, 0.0, -1.0]))
    assert placed.translation[2] == pytest.approx(math.sqrt(4 - 0.36), abs=2e-3)
    sampled = touching(a, Side(ball(1.0, 5000)), np.array([0.0, 0.0, -1.0]))
    assert sampled.translation[2] == pytest.approx(placed.translation[2], abs=2e-3)
    swapped = touching(
        Side(Exact("ball", (1.0,)), translation=np.array([0.6, 0.0, -3.0])), Side(ball(1.0, 5000)), np.array([0.0, 0.0, -1.0])
    )
    assert swapped.translation[2] == pytest.approx(math.sqrt(4 - 0.36), abs=2e-3)
    with pytest.raises(PliantError, match="never touches.*passes it at 1\\d\\d\\d mm"):
        touching(Side(ball(1.0, 5000), translation=np.array([3.0, 0.0, 5.0])), b, np.array([0.0, 0.0, -1.0]))


def test_hertz_through_the_tool():
    """Ball on plane: force, area, mean and peak pressure, stiffness."""
    depth, young, poisson = 1e-3, 1e6, 0.3
    found = pliant.press(ball(0.1, 60000), depth="1mm", young="1MPa", poisson=poisson)
    effective, a = young / (1 - poisson**2), math.sqrt(0.1 * depth)
    assert found.force == pytest.approx(4 / 3 * effective * math.sqrt(0.1) * depth**1.5, rel=0.02)
    assert found.area == pytest.approx(math.pi * a * a, rel=0.05)
    assert found.peak == pytest.approx(1.5 * found.mean, rel=0.1)
    assert found.stiffness == pytest.approx(2 * effective * a, rel=0.03)
    assert np.allclose(found.centre[:2], 0, atol=0.02 * a) and found.tilt == 0.0 and found.depth == depth


@pytest.mark.parametrize("direction", [(0, 0, -1), (1, 0, 0), (1, 2, -2)])
def test_direction_does_not_matter_for_a_ball(direction):
    found = pliant.press(ball(0.1), depth="2mm", direction=direction)
    other = pliant.press(ball(0.1), depth="2mm")
    way = np.array(direction) / np.linalg.norm(direction)
    assert found.force == pytest.approx(other.force, rel=0.02)
    assert np.allclose(found.centre / np.linalg.norm(found.centre), way, atol=0.01)


@pytest.mark.parametrize("response", ["boussinesq", "volume-preserving", "layer"])
def test_force_and_depth_are_the_same_press(response):
    options = {"response": response} if response == "boussinesq" else {"response": response, "layer": "20mm"}
    deep = pliant.press(ball(0.1), depth="2mm", **options)
    loaded = pliant.press(ball(0.1), force=deep.force, **options)
    assert loaded.depth == pytest.approx(0.002, rel=1e-4) and loaded.force == pytest.approx(deep.force, rel=1e-4)
    assert loaded.area == pytest.approx(deep.area, rel=5e-3) and loaded.peak == pytest.approx(deep.peak, rel=5e-3)


def test_two_soft_balls_pressed_and_aligned():
    high = ball(0.1)
    off = PointSurface(high.points + [0.03, 0.02, 0.5], high.normals, high.areas)
    found = pliant.press(off, ball(0.1), depth="2mm", align=True, young_b="1MPa", poisson=0.3, poisson_b=0.3)
    effective = 1e6 / (2 * (1 - 0.09))
    assert found.force == pytest.approx(4 / 3 * effective * math.sqrt(0.05) * 0.002**1.5, rel=0.04)
    assert np.allclose(found.centre, [0, 0, 0.1 - 0.001], atol=1e-3)
    assert np.allclose(found.result.u_a, found.result.u_b)


def test_rough_objects_carry_the_force_that_was_asked_for():
    """Along the direction, although their slopes push sideways too."""
    found = pliant.press("bust", "bunny", force=5, young=1e6, young_b=1e6, spacing=0.006, nodes="samples")
    assert found.force == pytest.approx(5.0, rel=2e-4)
    assert found.result.force > 1.01 * found.force


def test_free_tilt_puts_the_centre_of_pressure_under_the_load():
    foot = make("foot", edge=0.012)
    found = pliant.press(foot, force="500N", tilt="free", young="200kPa", spacing="4mm")
    assert found.force == pytest.approx(500, rel=1e-3) and 0.0 < found.tilt < 15.0
    under = centre_of(found.things[0].samples)
    assert np.allclose(found.centre[:2], under[:2], atol=5e-4)


def test_a_tall_block_tips_onto_its_long_side():
    """Held up on a corner, the load beyond it: as a rigid body it rolls to where the centre is lowest, and its forces balance there."""
    box = make("box", size=(0.05, 0.06, 0.2), edge=0.025)
    turned = rotation_matrix((0.0, 40.0, 0.0))
    surface = box.surface()
    found = pliant.press(Surface(surface.points @ turned.T, surface.faces), force="20N", tilt="free", spacing="6mm")
    lying = found.a.rotation @ turned
    assert np.allclose(np.abs(lying[2]), [1, 0, 0], atol=0.02)  # the shortest side is upright
    assert found.tilt == pytest.approx(50, abs=2) and any("tips over by 50" in note and "(1, 0, 0)" in note for note in found.notes)
    with pytest.raises(PliantError, match=r"17[56] mm beside .* tips over towards \(1, "):
        pliant.press(surface, force="20N", tilt="free", at=(0.2, 0.0, 0.0), spacing="6mm")


@pytest.mark.parametrize(("missing", "turned"), [(0.2, True), (0.3, False)])
def test_cups_face_the_way_of_their_triangles(missing, turned):
    """A ball that is inside out is turned round, also if a small part of it is cut off. If more is, it is a cup, and its inside is meant."""
    mesh = make("ball", radius=0.1, edge=0.01).surface()
    low = mesh.points[mesh.faces].mean(axis=1)[:, 2] < 0.1 * (1 - 2 * missing)
    assert len(outward(Surface(mesh.points, mesh.faces[low][:, ::-1]))[1]) == turned
    assert not outward(Surface(mesh.points, mesh.faces[low]))[1]


def test_a_ball_in_a_cup():
    """Hertz with 1/R = 1/50 mm - 1/80 mm. The cup was turned round, and nothing touched."""
    x = np.linspace(-0.04, 0.04, 41)
    z = np.subtract.outer(0.08**2 - x**2, x**2)
    cup = Heights(0.08 - np.sqrt(z), 0.002).faces()
    found = pliant.press(dict(kind="ball", radius=0.05), Surface(cup[0], cup[1]), depth=1e-4, poisson=0.3)
    radius, stiff = 1 / (1 / 0.05 - 1 / 0.08), 1e6 / (1 - 0.3**2)
    assert found.force == pytest.approx(4 / 3 * stiff * math.sqrt(radius) * 1e-6, rel=0.02)
    assert found.area == pytest.approx(math.pi * radius * 1e-4, rel=0.03)
    assert found.peak == pytest.approx(2 * stiff / math.pi * math.sqrt(1e-4 / radius), rel=0.05)


def test_who_turns_by_more_than_twenty_degrees_tips_over():
    """A cube balances on an edge at 45 degrees: what turns by less than half of that settles into what is soft."""
    way, side = np.array([0.0, 0.0, -1.0]), Side(Exact("plane"))
    for angle, tips in ((19.0, False), (21.0, True)):
        turn = rotation_matrix((0.0, angle, 0.0))
        assert bool(tipped(replace(side, rotation=turn), way)) == tips
        with pytest.raises(PliantError, match=r"no balance .* towards \(1, 0, 0\)") if tips else nullcontext():
            check_stance(np.eye(3), turn, way)


def test_a_soft_block_that_leans_too_far_has_no_balance():
    """Its centre is 2 mm inside the edge of its base: hard it stands on that, soft it would need its pressure beyond the edge."""
    surface = make("box", size=(0.06, 0.06, 0.1), edge=0.02).surface()
    leaning = Surface(surface.points + np.outer(surface.points[:, 2] + 0.05, [0.56, 0.0, 0.0]), surface.faces)
    hard = pliant.press(leaning, force="20N", tilt="free", young="1GPa", spacing="3mm")
    assert hard.tilt < 2.0 and hard.centre[0] == pytest.approx(0.028, abs=1e-3)
    for nodes, near in (("cells", "the centre of pressure comes no nearer than [1-9].* mm"), ("samples", "the object")):
        with pytest.raises(PliantError, match=f"no balance near where it stands: {near}.*its top towards \\(1, "):
            pliant.press(leaning, force="20N", tilt="free", young="20kPa", spacing="6mm", nodes=nodes)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_rolling_ends_with_the_load_above_the_support(seed):
    """And lower than it began."""
    rng = np.random.default_rng(seed)
    points, e = rng.normal(size=(30, 3)) * rng.uniform(0.2, 1.0, 3), np.array([0.0, 0.0, -1.0])
    at = rng.dirichlet(np.ones(30)) @ points
    before, after = (points - at) @ e, (points - at) @ rolled(points, at, e).T
    support = after[after @ e > np.max(after @ e) - 1e-8]
    assert np.max(after @ e) <= before.max() + 1e-12 and np.linalg.norm(nearest_support(support * [1, 1, 0])) < 1e-7


# ------------------------------------------------------------------------------------------------ maps and files


def test_map_keeps_force_and_centre():
    found = pliant.press(ball(0.1), depth="2mm")
    for shape in (None, (37, 13), (5, 5)):
        grid = found.map(shape)
        assert grid.force == pytest.approx(found.result.force, rel=1e-9)
        assert np.allclose(grid.corner + grid.centre, found.centre @ grid.axes.T, atol=0.6 * grid.cell.max())
        assert np.allclose(np.cross(grid.axes[1], grid.axes[0]), [0, 0, 1])  # as seen from above
        assert shape is None or grid.values.shape == shape


def test_fine_map_and_samples_have_the_same_peak():
    """Both blur by a spacing, so a map with cells of that size shows what the table says."""
    found = pliant.press(ball(0.1), depth="4mm")
    assert np.count_nonzero(found.result.contact) > 150 and found.map().peak == pytest.approx(found.peak, rel=0.03)
    across = pressure_map(found.result, np.array([1.0, 2.0, -2.0]) / 3.0)
    assert np.allclose(np.cross(across.axes[1], across.axes[0]), np.array([-1.0, -2.0, 2.0]) / 3.0)


def test_compared_maps():
    values = np.zeros((8, 4))
    values[2:5, 1:3] = [[1, 2], [3, 4], [2, 1]]
    grid = PressureMap(values, np.zeros(2), np.array([0.01, 0.01]), np.eye(3)[:2])
    same = compared(grid, 7.0 * values)
    assert same["correlation"] == pytest.approx(1) and same["peak_error"] == pytest.approx(0) and same["centre_error"] == pytest.approx(0)
    assert same["better"] == {} and compared(grid, values[::-1, ::-1])["better"] == {"turned by 180 degrees": pytest.approx(1)}
    moved = compared(grid, np.roll(values, 2, axis=0))
    assert moved["centre_error"] == pytest.approx(0.02) and moved["area_error"] == 0 and moved["correlation"] < 0.5
    with pytest.raises(PliantError, match="cells"):
        compared(grid, values[:4])


def test_measured_maps_are_read_or_refused(tmp_path):
    good = tmp_path / "map.csv"
    good.write_text("# a sensor\n1;2;3\n4;5;6\n")
    assert np.array_equal(read_measured(good), [[1, 4], [2, 5], [3, 6]])  # the longer side first
    for text, why in (("1,2\n3\n", "different lengths"), ("a,b\n", "not a table"), ("0,0\n0,0\n", "above zero"), ("", "or none")):
        good.write_text(text)
        with pytest.raises(PliantError, match=why):
            read_measured(good)
    with pytest.raises(PliantError, match="does not exist"):
        read_measured(tmp_path / "none.csv")


def test_what_is_saved_can_be_read(tmp_path):
    foot = make("foot", edge=0.015)
    found = pliant.press(foot, depth="3mm", young="200kPa", response="volume-preserving", layer="20mm", spacing="4mm", young_b="1MPa")
    names = {path.name for path in found.save(tmp_path, (37, 13))}
    assert names >= {"a.ply", "b.ply", "map.csv", "map.png", "facts.json"}
    deformed = read(tmp_path / "a.ply")
    assert isinstance(deformed, Surface) and len(deformed.faces) >= len(found.things[0].faces)
    met = found.result.deformed[found.result.contact]
    far, cell = cKDTree(met[:, :2]).query(deformed.points[:, :2])
    over = (far < 1e-3) & (deformed.points[:, 2] < 0.01)
    apart = np.abs(deformed.points[over, 2] - met[cell[over], 2])
    assert over.sum() > 50 and np.quantile(apart, 0.9) < 0.1 * found.depth  # they lie where the surfaces meet, but for walls between toes
    floor = read(tmp_path / "b.ply")
    level = floor.points[0, 2]
    assert floor.points[:, 2].min() < level - 1e-4 and floor.points[:, 2].max() > level + 1e-5  # dented, with a rim
    grid = np.loadtxt(tmp_path / "map.csv", delimiter=",")
    assert grid.shape == (37, 13) and grid.max() > 0
    assert json.loads((tmp_path / "facts.json").read_text())["force"] == pytest.approx(found.force)


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PLIANT_THREADS", "1")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["pliant", "press", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return call


def test_command(command, tmp_path):
    np.save(tmp_path / "ball.npy", 100.0 * fibonacci(6000))
    code, out, _ = command("ball.npy", "plane", "--depth", "2mm", "--unit", "mm", "--out", "here", "--sensor", "12x10", "--json")
    facts = json.loads(out)
    exact = 4 / 3 * 1e6 / (1 - 0.45**2) * math.sqrt(0.1) * 0.002**1.5
    assert code == 0 and facts["force"] == pytest.approx(exact, rel=0.1) and "here/map.csv" in facts["files"]
    code, out, _ = command("ball.npy", "--force", "20N", "--unit", "mm", "--measured", "here/map.csv")
    assert code == 0 and "force          20 N" in out and "correlation 1.000" in out and "±" in out
    for arguments, why in (
        (("ball.npy", "--depth", "2mm", "--sensor", "12by10"), "rows and columns"),
        (("ball.npy", "--depth", "2mm", "--direction", "down"), "three numbers"),
        (("bal.npy", "--depth", "2mm"), "Did you mean ball.npy"),
        (("ball.npy", "--depth", "2mm", "--young", "rigid"), "Both objects are rigid"),
    ):
        code, _, error = command(*arguments)
        assert code == 2 and why in error and "Traceback" not in error


def test_shapes_in_words(command):
    """Exact shapes on the command line; a wrong word is answered with the nearest right one."""
    assert named("ball:10cm") == {"kind": "ball", "radius": 0.1} and named("scan.ply") is None and named("pawn:sides=16")["sides"] == 16
    assert named("box:10cm x 8cmx0.05") == {"kind": "box", "size": (0.1, 0.08, 0.05)}
    assert named("torus:minor=2cm,major=8cm") == {"kind": "torus", "minor": 0.02, "major": 0.08}
    for words, why in (("ball", "needs its radius: write for instance ball:10cm"), ("sphere:10cm", "did you mean ball"), ("bal:1", "did you mean ball"),
                       ("torus:8cm", "needs its minor"), ("ball:round", "not a number"), ("ball:1,2,3", "takes radius, edge")):  # fmt: skip
        with pytest.raises(PliantError, match=why):
            named(words)
    code, out, _ = command("ball:10cm", "ball:8cm", "--depth", "1mm", "--young", "2MPa", "--young-b", "3MPa")
    exact = 4 / 3 / ((1 - 0.45**2) * (1 / 2e6 + 1 / 3e6)) * math.sqrt(0.1 * 0.08 / 0.18) * 0.001**1.5
    assert code == 0 and float(out.split("force")[1].split()[0]) == pytest.approx(exact, rel=0.01)
    assert "material       A 2 MPa, Poisson's ratio 0.45; B 3 MPa" in out and "response boussinesq" in out
    assert "half-spaces" in out and "in no ±" in out and "A over 200 mm x 200 mm x 200 mm" in out


def test_facts_hold_what_was_asked(command, tmp_path):
    """Moduli, Poisson's ratios, the response and how far it is felt; a layer that the response does not have is refused."""
    np.savetxt(tmp_path / "young.txt", np.linspace(1e5, 3e5, 400))
    np.save(tmp_path / "ball.npy", 0.1 * fibonacci(400))
    facts = json.loads(command("ball.npy", "--depth", "1mm", "--young", "young.txt", "--json")[1])
    assert facts["material_a"]["young"] == pytest.approx([1e5, 3e5]) and facts["material_b"] is None and facts["response"] == "boussinesq"
    facts = json.loads(command("ball:10cm", "--depth", "1mm", "--response", "layer", "--layer", "15mm", "--poisson", "0.3", "--json")[1])
    assert facts["response"] == "layer" and facts["layer"] == 0.015 and facts["material_a"]["poisson"] == 0.3
    assert facts["contact_width"] == pytest.approx(2 * math.sqrt(facts["area"] / math.pi), rel=0.5)
    code, _, error = command("ball:10cm", "--depth", "1mm", "--layer", "15mm")
    assert code == 2 and "volume-preserving" in error


@pytest.mark.parametrize(("value", "words"), [(2e-3, "2 mm"), (6.26e-7, "0.626 µm"), (4e-9, "4 nm"), (2.6e-6, "2.6 µm"), (0.25, "250 mm"), (-3e-3, "-3 mm")])
def test_lengths_are_told_in_units_that_fit(value, words):
    assert quantities.metres(value) == words


# ------------------------------------------------------------------------------------------------ real scans

FILES = [p for folder in ("points", "surface", "dirty", "tet") for p in sorted((DATA / folder).glob("*"))] if DATA.exists() else []
MUST = {
    "foot_find_template.obj", "femur.off", "igea_40k.ply", "max_planck_10k.obj", "kitten.xyz", "sphere-pc.obj", "sphere_20k.xyz",
    "bunny_res2_holes.ply",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="the shared data is not here")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_scan_is_pressed_or_refused(path):
    """On a plane, scaled to 20 cm, 2 mm deep, and with the force found again from the depth."""
    try:
        found = pliant.press(str(path), depth="2mm", size="20cm", response="volume-preserving", layer="10mm")
    except PliantError as error:
        assert path.name not in MUST and len(str(error)) > 20, error
        return
    assert found.result.solved and found.force > 0 and 0 < found.area < 0.042  # the face of a cube, and half a spacing around
    assert found.result.penetration < 2e-5 and np.isfinite(found.peak)
    again = pliant.press(str(path), force=found.force, size="20cm", response="volume-preserving", layer="10mm")
    assert again.depth == pytest.approx(0.002, rel=1e-3)


def test_a_load_a_twentieth_of_the_contact_beside_its_pressure_is_balanced():
    side = Side(ball(0.1), Boussinesq(compliance(1e6, 0.45)), translation=np.array([0.0, 0.0, 0.096]))
    found, down = resolve(side, Side(Exact("plane"))), np.array([0.0, 0.0, -1.0])
    x = found.points[found.contact]
    wide = float(np.max(np.ptp(x, axis=0)))
    assert balanced(found, found.centre + [0.04 * wide, 0.0, 0.05], down)
    assert not balanced(found, found.centre + [0.07 * wide, 0.0, 0.05], down)
