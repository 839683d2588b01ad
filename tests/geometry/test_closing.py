"""Open, broken and sampled surfaces become closed ones; winding numbers of many items by a tree."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.detect.closest import face_neighbours
from pliant.detect.penetration import signed_distances, with_normals
from pliant.detect.shapes import no_shapes
from pliant.detect.surfels.make import wrapped_cloud
from pliant.detect.tree import Tree
from pliant.geometry.files import PointCloud
from pliant.geometry.inside import least_left, simplified
from pliant.geometry.lattice.closing import closed_surface, drawn_to, is_closed_solid, with_lids, without_crumbs, wrapped
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.near import kd_tree
from pliant.geometry.shapes import make
from pliant.geometry.triangle import distance_to, nearest_on
from pliant.geometry.winding import WindingTree, sampled_winding_numbers, winding_numbers

BUNNY = make("bunny", edge=0.008).surface()
BALL = make("ball", radius=0.1, edge=0.02).surface()
VOLUME = mass_of_surface(BALL).volume


def without(surface: Surface, keep: np.ndarray) -> Surface:
    return Surface(surface.points, surface.faces[keep])


def places(count: int, size: float = 0.2) -> np.ndarray:
    return size * (np.random.default_rng(1).random((count, 3)) - 0.5)


def test_the_tree_winds_as_the_sum_over_all_triangles() -> None:
    at = places(400)
    exact = winding_numbers(BUNNY.points, BUNNY.faces, at)
    found = WindingTree.of_triangles(BUNNY.points, BUNNY.faces).about(at)
    assert np.abs(found - exact).max() < 0.1
    assert np.abs(found - exact).mean() < 0.01
    clear = np.abs(exact - 0.5) > 0.1
    assert np.array_equal(found[clear] > 0.5, exact[clear] > 0.5)


def test_the_tree_winds_as_the_sum_over_all_samples() -> None:
    x = BALL.points[BALL.faces]
    vector = 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    area = np.linalg.norm(vector, axis=1)
    middle, normal = x.mean(axis=1), vector / area[:, None]
    at = places(300)
    at = at[np.abs(np.linalg.norm(at, axis=1) - 0.1) > 0.01]
    start, body = np.array([0, len(middle)]), np.zeros(len(at), np.int64)
    exact = sampled_winding_numbers(start, middle, normal, area, at, body)
    assert np.abs(WindingTree.of_samples(middle, normal, area).about(at) - exact).max() < 0.05


def test_a_closed_surface_is_taken_as_it_is() -> None:
    assert closed_surface(BALL, 0.01)[0] is BALL


def test_small_holes_get_lids() -> None:
    keep = np.ones(len(BALL.faces), bool)
    keep[[5, 100, 101, 102]] = False
    found, done = closed_surface(without(BALL, keep), 0.01)
    assert is_closed_solid(found) and "closed with lids" in done
    assert mass_of_surface(found).volume == pytest.approx(VOLUME, rel=0.01)


def test_a_hollow_of_an_open_surface_stays_one() -> None:
    """It was turned, and filled: only closed surfaces could have hollows."""
    faces = np.concatenate([BALL.faces[3:], BALL.faces[:, [0, 2, 1]] + len(BALL.points)])
    found = closed_surface(Surface(np.concatenate([BALL.points, 0.5 * BALL.points]), faces), 0.01)[0]
    assert mass_of_surface(found).volume == pytest.approx(0.875 * mass_of_surface(BALL).volume, rel=0.02)


@pytest.mark.parametrize("hole", [0, 3])
def test_a_surface_whose_faces_all_have_backs_is_that_surface(hole: int) -> None:
    """Programs write both so that a surface is seen from both sides; it wound around nothing."""
    front = BALL.faces[hole:]
    found, done = closed_surface(Surface(BALL.points, np.concatenate([front, front[::-1, [0, 2, 1]]])), 0.01)
    assert is_closed_solid(found) and "every face had a back" in done
    assert mass_of_surface(found).volume == pytest.approx(mass_of_surface(BALL).volume, rel=0.02 if hole else 1e-12)


def test_a_surface_inside_out_with_a_hole_is_turned() -> None:
    keep = np.arange(len(BALL.faces)) > 2
    flipped = Surface(BALL.points, BALL.faces[keep][:, [0, 2, 1]])
    assert with_lids(flipped)[0].faces.shape[0] > len(flipped.faces)
    assert mass_of_surface(with_lids(flipped)[0]).volume == pytest.approx(VOLUME, rel=0.01)


def in_out(surface: Surface, at: np.ndarray) -> np.ndarray:
    """Signed distances as contact asks for them, below zero inside."""
    tree = Tree.build(surface.points, surface.faces, np.array([0, len(surface.faces)]))
    found = with_normals(surface.points, surface.faces, face_neighbours(surface.faces), tree, no_shapes(1))
    return signed_distances(found, at, np.zeros(len(at), np.int64)).gap


def walled(what: str) -> tuple[Surface, int]:
    """A box of 0.2 x 0.1 x 0.1 m that lacks a triangle and has a wall across its middle, or both sides of one, or a fin; their triangles."""
    box = make("box", size=(0.2, 0.1, 0.1), edge=0.05).surface()
    x = box.points[box.faces]
    faces = box.faces[np.arange(len(box.faces)) != np.argmax(x.mean(axis=1) @ [0.2, 0.3, 1.0])]
    ring = np.flatnonzero(np.abs(box.points[:, 0]) < 1e-9)
    ring = ring[np.argsort(np.arctan2(box.points[ring, 1], box.points[ring, 2]))]
    points = np.concatenate([box.points, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.12]]])
    fan = np.stack([ring, np.roll(ring, -1), np.full(len(ring), len(box.points))], axis=1)
    fin = [[*(k for k in ring if box.points[k, 2] > 0.049 and box.points[k, 1] > -0.01), len(points) - 1]]
    extra = {"wall": fan, "two sides": np.concatenate([fan, fan[:, ::-1]]), "fin": np.array(fin)}[what]
    return Surface(points, np.concatenate([faces, extra])), len(extra)


@pytest.mark.parametrize("what", ["wall", "two sides", "fin"])
def test_walls_and_fins_bound_nothing(what: str) -> None:
    """Near a wall inside, or lids back to back on a fin, a place is in or out as in the box without; it was told by the side seen."""
    given, more = walled(what)
    found, done = closed_surface(given, 0.01)
    assert f"{more} triangle" in done and "nothing left out" in done
    rng = np.random.default_rng(0)
    at = np.concatenate([rng.uniform(-1, 1, (2000, 3)) * [0.12, 0.06, 0.06], rng.normal(size=(1000, 3)) * [0.005, 0.03, 0.05]])
    deep = (np.array([0.1, 0.05, 0.05]) - np.abs(at)).min(axis=1)
    clear = np.abs(deep) > 1e-3
    assert np.array_equal(in_out(found, at)[clear] < 0.0, deep[clear] > 0.0)
    inside = clear & (deep > 0.0)
    assert -in_out(found, at)[inside] == pytest.approx(deep[inside], abs=1e-9)  # the missing triangle's lid is flat


def test_a_surface_with_a_fin_gets_a_volume() -> None:
    """Three faces at an edge: what is passed more often one way than the other is a rim."""
    fin = Surface(np.concatenate([BALL.points, [[0.0, 0.0, 0.2]]]), np.concatenate([BALL.faces, [[*BALL.faces[0, :2], len(BALL.points)]]]))
    found, _ = closed_surface(fin, 0.01)
    assert is_closed_solid(found)
    assert mass_of_surface(found).volume == pytest.approx(VOLUME, rel=0.01)


def test_half_a_ball_gets_a_flat_lid() -> None:
    """The lid is half as large as the rest, and encloses what the rest winds around: the input stays as it is."""
    half = without(BALL, BALL.points[BALL.faces].mean(axis=1)[:, 2] < 0.0)
    found, done = closed_surface(half, 0.01)
    assert is_closed_solid(found) and "1 hole closed with lids" in done
    assert mass_of_surface(found).volume == pytest.approx(VOLUME / 2, rel=0.06)
    assert distance_to(found, half.points[half.faces].mean(axis=1)).max() < 1e-12


def test_lids_larger_than_the_surface_are_none() -> None:
    """A hoop: two discs would make a drum of it, but it winds less than half around that; what it winds around is the hoop."""
    pipe = make("cylinder", radius=0.1, height=0.04, edge=0.01).surface()
    middle = pipe.points[pipe.faces].mean(axis=1)
    hoop = without(pipe, np.abs(middle[:, 2]) < 0.0199)
    drum = mass_of_surface(with_lids(hoop)[0]).volume
    assert drum == pytest.approx(np.pi * 0.1**2 * 0.04, rel=0.02)
    found, done = closed_surface(hoop, 0.004)
    assert "wrapped" in done and mass_of_surface(found).volume < 0.5 * drum


def test_a_lid_over_a_jagged_rim_counts_without_its_folds() -> None:
    """A shallow dish of large triangles: the fan goes to and fro over itself, but a flat lid is smaller than the dish."""
    dish = without(BALL, BALL.points[BALL.faces].mean(axis=1)[:, 2] < -0.07)
    given = dish.points[np.unique(dish.faces)]
    wild = np.where(dish.points[:, 2] > given[:, 2].max() - 0.01, 1.0 + 0.1 * np.sin(1e4 * dish.points[:, 0]), 1.0)
    dish = Surface(dish.points * np.stack([wild, wild, np.ones_like(wild)], axis=1), dish.faces)
    solid, lids, holes = with_lids(dish)
    corners = solid.points[solid.faces[len(dish.faces) :]]
    folded = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    whole = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).sum(axis=0)
    assert holes == 1 and np.linalg.norm(whole) <= lids < 0.99 * folded


def test_holes_that_meet_in_a_vertex_get_lids_of_their_own() -> None:
    """Every third triangle of a ball is missing, so that most holes touch others: each is closed where it is, not all by one fan."""
    keep = np.random.default_rng(4).random(len(BALL.faces)) > 0.33
    found, done = closed_surface(without(BALL, keep), 0.01)
    assert is_closed_solid(found) and "lids" in done
    assert mass_of_surface(found).volume == pytest.approx(VOLUME, rel=0.03)
    assert distance_to(found, BALL.points[BALL.faces[keep]].mean(axis=1)).max() < 1e-12


def test_seams_with_vertices_of_their_own_on_each_side_are_closed() -> None:
    """A box whose six sides were cut into triangles one by one: edges of one side end within those of another."""
    points, faces = [], []
    for k in range(6):
        box = make("box", size=(0.1, 0.1, 0.1), edge=0.1 / (k + 1.5)).surface()
        side = np.abs(box.points[box.faces][:, :, k // 2] - (0.05 if k % 2 else -0.05)).max(axis=1) < 1e-9
        faces.append(box.faces[side] + sum(map(len, points)))
        points.append(box.points)
    found, done = closed_surface(Surface(np.concatenate(points), np.concatenate(faces)), 0.002)
    assert is_closed_solid(found) and done == "6 holes closed by joining both sides of a crack"
    assert mass_of_surface(found).volume == pytest.approx(1e-3, rel=1e-9)


@pytest.mark.parametrize("gap", [2e-3, 8e-3, 0.03])
@pytest.mark.parametrize("bend", [0.0, 0.01])
def test_sheets_that_face_each_other_get_sides(gap: float, bend: float) -> None:
    """Front and back of a slab, flat or bent, less than a cell apart or some: they stay where they are, up to their rims."""
    box = make("box", size=(0.2, 0.16, gap), edge=0.02).surface()
    middle = box.points[box.faces].mean(axis=1)
    faces = box.faces[np.abs(np.abs(middle[:, 2]) - gap / 2) < 1e-9]
    sheets = Surface(box.points + np.outer(bend * np.sin(20.0 * box.points[:, 0]), [0.0, 0.0, 1.0]), faces)
    found, done = closed_surface(sheets, 0.0025)
    assert "joined, by 1 band" in done
    assert mass_of_surface(found).volume == pytest.approx(0.2 * 0.16 * gap, rel=1e-6)
    assert distance_to(found, sheets.points[np.unique(faces)]).max() < 1e-12
    with pytest.raises(PliantError, match="no inside"):  # that both look up: no border of what is between them
        up = middle[np.abs(np.abs(middle[:, 2]) - gap / 2) < 1e-9][:, 2] > 0.0
        closed_surface(Surface(sheets.points, np.where(up[:, None], faces, faces[:, ::-1])), 0.0025)


def test_as_many_sheets_as_there_are_get_sides() -> None:
    """A wall of 25 slabs, front and back of each, in any order: which two rims belong together is found among all 50."""
    box = make("box", size=(0.2, 0.16, 0.01), edge=0.04).surface()
    sheet = box.faces[np.abs(np.abs(box.points[box.faces].mean(axis=1)[:, 2]) - 0.005) < 1e-9]
    faces = np.concatenate([sheet + k * len(box.points) for k in range(25)])
    points = np.concatenate([box.points + [0.0, 0.2 * (k % 5), 0.1 * (k // 5)] for k in range(25)])
    found, done = closed_surface(Surface(points, np.random.default_rng(0).permutation(faces)), 0.01)
    assert "joined, by 25 bands" in done
    assert mass_of_surface(found).volume == pytest.approx(25 * 0.2 * 0.16 * 0.01, rel=1e-9)


def test_loose_triangles_of_a_scan_are_left_out() -> None:
    keep = np.arange(len(BALL.faces)) > 3
    loose = np.array([[0.3, 0.0, 0.0], [0.32, 0.0, 0.0], [0.3, 0.02, 0.0]])
    faces = np.concatenate([BALL.faces[keep], [[len(BALL.points) + k for k in range(3)]]])
    found, done = closed_surface(Surface(np.concatenate([BALL.points, loose]), faces), 0.01)
    assert "1 loose triangle left out" in done and found.points[:, 0].max() < 0.11
    assert mass_of_surface(found).volume == pytest.approx(VOLUME, rel=0.01)


def test_a_soup_of_triangles_is_wrapped() -> None:
    """No two triangles share a vertex, and a third is missing: nothing can be lidded."""
    rng = np.random.default_rng(0)
    x = BALL.points[BALL.faces[rng.random(len(BALL.faces)) < 0.7]]
    x = x + 1e-3 * rng.standard_normal(x.shape)
    soup = Surface(x.reshape(-1, 3), np.arange(3 * len(x)).reshape(-1, 3))
    found = wrapped(WindingTree.of_triangles(soup.points, soup.faces), soup.points, 0.01, lambda p: (p, np.full(len(p), np.inf)))
    assert is_closed_solid(found)
    assert mass_of_surface(found).volume == pytest.approx(VOLUME, rel=0.25)


@pytest.mark.parametrize("of", ["cloud", "soup"])
def test_a_wrap_goes_through_its_input(of: str) -> None:
    """A box, turned: its edges and corners too are within a tenth of a cell."""
    edge, rng = 0.02, np.random.default_rng(2)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    box = make("box", size=(0.2, 0.16, 0.12), edge=0.01).surface().moved(np.zeros(3), turn * np.sign(np.linalg.det(turn)))
    x = box.points[box.faces]
    if of == "soup":
        given, tree = box.points, WindingTree.of_triangles(box.points, box.faces)
        found = drawn_to(wrapped(tree, given, edge / 4, lambda p: nearest_on(box, p)), given, edge / 4, edge / 4)
    else:
        normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        given = x.mean(axis=1)
        found = wrapped_cloud(PointCloud(given, normal / np.linalg.norm(normal, axis=1, keepdims=True)), edge)[0]
    assert is_closed_solid(found) and distance_to(found, given).max() < 0.1 * edge


def test_a_wrap_says_how_far_it_is_from_its_input() -> None:
    """Front and back of a block without its sides, which are larger than these: the skin leaves their rims, which was not told."""
    box = make("box", size=(0.2, 0.16, 0.1), edge=0.04).surface()
    faces = box.faces[np.ptp(box.points[box.faces][:, :, 2], axis=1) < 1e-9]
    found, done = closed_surface(Surface(box.points, faces), 0.01)
    away = distance_to(found, box.points[np.unique(faces)]).max()
    assert away > 1e-3 and f"from whose skin it is {away:.2g} m off at most" in done


def test_a_wrap_has_no_crumbs() -> None:
    """About a single sample beside a body there is nothing; a small ball beside it is a part of its own."""
    ball = make("ball", radius=0.1, edge=0.05).surface()
    apart = [ball, Surface(0.2 * ball.points + [0.2, 0.0, 0.0], ball.faces), Surface(0.2 * ball.points - [0.2, 0.0, 0.0], ball.faces)]
    n = len(ball.points)
    three = Surface(np.concatenate([s.points for s in apart]), np.concatenate([s.faces + k * n for k, s in enumerate(apart)]))
    x = three.points[three.faces[: 2 * len(ball.faces)]]  # the last ball has one sample only
    vectors = np.concatenate([0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), [[0.0, 0.0, 1e-4]]])
    found = without_crumbs(three, np.concatenate([x.mean(axis=1), [[-0.2, 0.0, 0.02]]]), vectors, 0.1)
    assert len(found.points) == 2 * n and found.points[:, 0].min() > -0.11 and found.points[:, 0].max() > 0.2
    sheet = without_crumbs(apart[1], np.array([[0.2, 0.0, 0.02]]), np.array([[0.0, 0.0, 1e-4]]), 0.1)
    assert sheet is apart[1]  # all there is


def test_a_sheet_has_no_inside() -> None:
    flat = make("membrane", size=(0.2, 0.2)).surface()
    with pytest.raises(PliantError, match="no inside"):
        closed_surface(flat, 0.01)


@pytest.mark.parametrize("with_normals", [True, False])
def test_a_cloud_is_wrapped(with_normals: bool) -> None:
    rng = np.random.default_rng(3)
    n = rng.standard_normal((3000, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    found, note = wrapped_cloud(PointCloud(0.1 * n, n if with_normals else None), 0.02)
    assert "left out" not in note
    assert is_closed_solid(found)
    assert mass_of_surface(found).volume == pytest.approx(4 / 3 * np.pi * 1e-3, rel=0.01)
    assert np.abs(np.linalg.norm(found.points, axis=1) - 0.1).max() < 0.1 * 0.02


def test_samples_that_enclose_nothing_are_told() -> None:
    """A strip beside a ball: its samples, which the surface cannot be drawn to, are left out, and the note says which."""
    n = BALL.points / np.linalg.norm(BALL.points, axis=1, keepdims=True)
    strip = np.array([[0.2 + 0.02 * k, 0.02 * j, 0.0] for k in range(5) for j in (-1, 0, 1)])
    samples = np.concatenate([0.1 * n, strip])
    found, note = wrapped_cloud(PointCloud(samples, np.concatenate([n, np.tile([0.0, 0.0, 1.0], (len(strip), 1))])), 0.02)
    away = distance_to(found, samples)
    left = away > 0.01  # half a spacing
    assert left.sum() == len(strip) and away[: len(n)].max() < 0.1 * 0.02
    assert f"{left.sum()} of {len(samples)} samples left out" in note and "to (0.28, 0.02, 0) m" in note


@pytest.mark.parametrize(("height", "reached"), [(0.7, True), (1.5, True), (2.5, False)])
def test_a_wrap_reaches_samples_within_two_spacings(height: float, reached: bool) -> None:
    """Of a sample above a ball, by spacings of its samples: what is reached is on the surface, within a sixth of a spacing, and not told."""
    n = BALL.points / np.linalg.norm(BALL.points, axis=1, keepdims=True)
    spacing = float(np.median(kd_tree(0.1 * n).query(0.1 * n, k=2)[0][:, 1]))
    samples = np.concatenate([0.1 * n, [[0.0, 0.0, 0.1 + height * spacing]]])
    found, note = wrapped_cloud(PointCloud(samples, np.concatenate([n, [[0.0, 0.0, 1.0]]])), 0.02)
    assert (distance_to(found, samples[-1:])[0] < spacing / 6.0) == reached == ("left out" not in note)


def test_a_fin_on_a_film_is_told_from_its_sides() -> None:
    """Where the sides of a face are asked for is nearer to it than the other side of any body."""
    x = np.array([[x, y, z] for z in (0.0, 1e-5) for y in (0.0, 0.1) for x in (0.0, 0.1)])
    faces = [[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5]]
    found, done = closed_surface(Surface(np.concatenate([x, [[0.15, 0.05, 0.0]]]), np.array([*faces, [1, 3, 8]])), 0.001)
    assert mass_of_surface(found).volume == pytest.approx(1e-7, rel=1e-6) and "1 triangle that bounds nothing left out" in done


def test_simplified_surfaces_stay_near_and_closed() -> None:
    fine = make("ball", radius=0.1, edge=0.01).surface()
    found = simplified(fine, 0.035, 4e-3)
    assert len(found.faces) < 0.5 * len(fine.faces) and is_closed_solid(found)
    assert max(distance_to(fine, found.points).max(), distance_to(found, fine.points).max()) <= 4e-3
    assert simplified(fine, 0.01, 1e-3) is fine  # nothing to gain


def test_how_many_triangles_are_left_at_least():
    """Of a ball by its curvature, which is 1 / R all over 4 pi R^2; of a box, flat between its edges, the fewest that are tried."""
    ball, flat = make("ball", radius=0.1, edge=0.004).surface(), make("box", size=(0.2, 0.2, 0.2), edge=0.01).surface()
    few, more = least_left(ball, 0.05, 7e-4), least_left(ball, 0.05, 5e-4)
    assert 4.0 * np.pi * 0.1 / (8.0 * 0.43 * 7e-4) < few == len(simplified(ball, 0.05, 7e-4).faces) <= more < len(ball.faces)
    assert least_left(ball, 0.05, 1e-6) == len(ball.faces)
    assert least_left(flat, 0.03, 7e-4) == int(6 * 0.04 / (0.43 * 0.03**2))
