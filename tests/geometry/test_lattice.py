"""Bodies of cells that a surface cuts: what is inside, what hangs together, what it weighs, where the skin rides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.base import PliantError
from pliant.geometry.components import labels
from pliant.geometry.inside import Filling, why_cells
from pliant.geometry.lattice.build import CELLS, FLOOR, LEAST, Weights, default_edge, lattice
from pliant.geometry.lattice.lines import crossings
from pliant.geometry.lattice.touching import touching
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shapes import make, resolve

BALL = make("ball", radius=0.1, edge=0.02).surface()


def turned(surface: Surface, seed: int) -> Surface:
    return surface.moved((0.01, -0.02, 0.03), Rotation.random(rng=np.random.default_rng(seed)).as_matrix())


def joined(*surfaces: Surface) -> Surface:
    start = np.cumsum([0, *(len(s.points) for s in surfaces)])
    faces = np.concatenate([s.faces + n for s, n in zip(surfaces, start, strict=False)])
    return Surface(np.concatenate([s.points for s in surfaces]), faces)


def parts(mesh: TetMesh) -> int:
    """How many pieces that share no node."""
    edges = mesh.tets[:, [[0, 1], [0, 2], [0, 3]]].reshape(-1, 2)
    return int(labels(len(mesh.points), edges).max()) + 1


def moments(mesh: TetMesh, weights: Weights) -> tuple[float, np.ndarray, np.ndarray]:
    mass = np.bincount(mesh.tets.ravel(), (weights.share * mesh.volumes[:, None]).ravel(), minlength=len(mesh.points))
    centre = mass @ mesh.points / mass.sum()
    y = mesh.points - centre
    second = np.einsum("n,ni,nj->ij", mass, y, y)
    return float(mass.sum()), centre, np.trace(second) * np.eye(3) - second


def test_a_box_of_whole_cells_is_full() -> None:
    box = make("box", size=(0.4, 0.3, 0.2), edge=0.1).surface()
    mesh, weights = lattice(box, 0.05)
    assert len(mesh.tets) == 5 * 8 * 6 * 4
    assert (weights.filled == 1.0).all()
    assert mesh.volumes.sum() == pytest.approx(0.024)
    assert set(map(tuple, mesh.surface().points.round(9))) >= set(map(tuple, box.points.round(9)))


@pytest.mark.parametrize("seed", range(4))
def test_mass_centre_and_inertia_are_those_of_the_surface(seed: int) -> None:
    shape = [BALL, make("torus", major=0.1, minor=0.04).surface(), make("bunny").surface(), make("box", size=(0.3, 0.1, 0.1)).surface()][seed]
    surface = turned(shape, seed)
    whole = mass_of_surface(surface)
    mass, centre, inertia = moments(*lattice(surface, 0.02))
    assert mass == pytest.approx(whole.volume, rel=1e-9)
    assert centre == pytest.approx(whole.centre, abs=1e-9)
    assert inertia == pytest.approx(whole.inertia, abs=1e-3 * np.abs(whole.inertia).max())


@pytest.mark.parametrize("seed", range(3))
def test_what_is_inside_is_the_volume_and_the_skin_stays_where_it_is(seed: int) -> None:
    surface = turned(BALL, seed)
    mesh, weights = lattice(surface, 0.025)
    assert (mesh.volumes > 0).all()
    assert weights.filled @ mesh.volumes == pytest.approx(mass_of_surface(surface).volume, rel=0.01)  # so is the energy of any even strain
    assert FLOOR <= weights.filled.min() and weights.filled.max() == 1.0
    assert weights.ride_weights.sum(axis=1) == pytest.approx(1.0)
    at = np.einsum("pk,pki->pi", weights.ride_weights, mesh.points[mesh.tets[weights.ride]])
    assert at == pytest.approx(surface.points, abs=1e-12)


def test_mass_of_slivers_is_shared() -> None:
    mesh, weights = lattice(turned(BALL, 1), 0.03)
    share = weights.share / weights.share.sum(axis=1, keepdims=True)
    assert share.min() >= LEAST / 2.5  # before the correction of the whole: LEAST


@pytest.mark.parametrize("gap", [0.3, 0.02, 1e-4])
def test_parts_that_lie_close_stay_apart(gap: float) -> None:
    """Two blocks with a gap [cells] between them that does not follow the lattice."""
    block = make("box", size=(0.2, 0.2, 0.1), edge=0.1).surface()
    both = joined(block, block.moved((0, 0, 0.1 + gap * 0.037)))
    mesh, weights = lattice(both, 0.037)
    assert parts(mesh) == 2
    half = len(block.points)
    piece = labels(len(mesh.points), mesh.tets[:, [[0, 1], [0, 2], [0, 3]]].reshape(-1, 2))
    owner = piece[mesh.tets[weights.ride, 0]]
    assert len(set(owner[:half])) == len(set(owner[half:])) == 1
    assert owner[0] != owner[-1]


@pytest.mark.parametrize("slit", [0.4, 0.01])
def test_a_slit_stays_open(slit: float) -> None:
    """A U whose legs are nearer than a cell: they hang together at the bottom and nowhere else."""
    wide = slit * 0.05
    outline = np.array([[0, 0], [0.2 + wide, 0], [0.2 + wide, 0.4], [0.1 + wide, 0.4], [0.1 + wide, 0.1], [0.1, 0.1], [0.1, 0.4], [0, 0.4]])
    surface = extruded(outline, 0.1)
    mesh, weights = lattice(surface, 0.05)
    assert parts(mesh) == 1
    top = mesh.points[mesh.tets[weights.ride[surface.points[:, 1] > 0.39]]][:, :, 0]
    left = surface.points[surface.points[:, 1] > 0.39][:, 0] <= 0.1
    nodes = [set(mesh.tets[weights.ride[surface.points[:, 1] > 0.39][side]].ravel()) for side in (left, ~left)]
    assert top.size and not nodes[0] & nodes[1]
    assert mesh.volumes @ weights.filled == pytest.approx(mass_of_surface(surface).volume, rel=0.02)


def extruded(outline: np.ndarray, height: float) -> Surface:
    """A prism over a polygon in the plane of x and y (its corners anticlockwise)."""
    from pliant.geometry.formats.raw import triangulated

    n = len(outline)
    low, high = np.column_stack([outline, np.zeros(n)]), np.column_stack([outline, np.full(n, height)])
    caps, _ = triangulated(low, np.arange(n), np.array([n]), None)
    i, j = np.arange(n), np.roll(np.arange(n), -1)
    sides = np.concatenate([np.stack([i, j, j + n], axis=1), np.stack([i, j + n, i + n], axis=1)])
    return Surface(np.concatenate([low, high]), np.concatenate([caps[:, ::-1], caps + n, sides]))


@pytest.mark.parametrize("thick", [0.3, 0.05, 0.002])
@pytest.mark.parametrize("seed", [0, 3])
def test_thin_parts_hang_together(thick: float, seed: int) -> None:
    """A plate and a rod thinner than the samples of a cell, in any direction."""
    edge = 0.05
    for size in ((0.4, 0.3, thick * edge), (0.5, thick * edge, thick * edge)):
        surface = turned(make("box", size=size, edge=0.1).surface(), seed)
        mesh, weights = lattice(surface, edge)
        assert parts(mesh) == 1
        assert moments(mesh, weights)[0] == pytest.approx(np.prod(size), rel=1e-9)


def test_a_thin_neck_joins_two_balls() -> None:
    """Two balls with a rod between them that is a tenth of a cell thick: its cells are slivers, and all that holds."""
    ball = make("ball", radius=0.1, edge=0.05).surface()
    rod = make("box", size=(0.3, 0.006, 0.006), edge=0.3).surface()
    surface = turned(joined(ball.moved((-0.2, 0, 0)), rod, ball.moved((0.2, 0, 0))), 2)  # overlapping: what winds once or twice is inside
    mesh, weights = lattice(surface, 0.06)
    assert parts(mesh) == 1


def test_overlapping_parts_count_once() -> None:
    """Two cubes that share a quarter of each: the volume of both together, not twice what they share."""
    cube = make("box", size=(0.2, 0.2, 0.2), edge=0.2).surface()
    mass, centre, _ = moments(*lattice(joined(cube, cube.moved((0.1, 0.1, 0.0))), 0.02))
    assert mass == pytest.approx(2 * 0.008 - 0.002, rel=5e-3)
    assert centre == pytest.approx([0.05, 0.05, 0.0], abs=1e-3)


def test_same_body_every_time() -> None:
    one, other = lattice(turned(BALL, 5), 0.03), lattice(turned(BALL, 5), 0.03)
    assert np.array_equal(one[0].tets, other[0].tets)
    assert all(np.array_equal(a, b) for a, b in zip(one[1], other[1], strict=True))


def test_crossings_and_touching_agree_with_a_plane() -> None:
    """A square in the plane z = 1.25: crossed by the lines along z within it, touched cells are those of the layer it lies in."""
    points = np.array([[0.2, 0.3, 1.25], [2.7, 0.3, 1.25], [2.7, 1.8, 1.25], [0.2, 1.8, 1.25]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    found = crossings(4 * points, faces, np.array([12, 8, 12]), 2)
    assert len(found.at) == 10 * 6 and found.at == pytest.approx(5.0) and (found.out == 1).all()
    touch = touching(points, faces, np.array([3, 2, 3]))
    assert set(touch.cell // 1 % 3) == {1} and len(set(touch.cell)) == 6


@pytest.mark.parametrize(("edge", "words"), [(-1.0, "must be positive"), (1e-5, "take a larger one")])
def test_impossible_edges_are_refused(edge: float, words: str) -> None:
    with pytest.raises(PliantError, match=words):
        lattice(BALL, edge)


def test_default_edge_follows_the_volume() -> None:
    assert default_edge(BALL) == pytest.approx((mass_of_surface(BALL).volume / CELLS) ** (1 / 3))
    thin = make("box", size=(1.0, 0.01, 0.01), edge=0.01).surface()
    assert default_edge(thin) == pytest.approx(np.linalg.norm([1.0, 0.01, 0.01]) / 150)


def test_the_skin_of_a_coarse_file_is_as_fine_as_its_cells() -> None:
    """A cube of twelve triangles presses with its whole face, not with its corners."""
    cube = make("box", size=(0.2, 0.2, 0.2), edge=0.2).surface()
    found = resolve({"mesh": cube, "fill": "lattice", "edge": 0.05}, solid=True, cells=True)
    ends = found.skin.points[found.skin.faces[:, [0, 1, 1, 2, 2, 0]]].reshape(-1, 2, 3)
    assert np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).max() <= 0.05 + 1e-12
    assert mass_of_surface(found.skin).volume == pytest.approx(0.008, rel=1e-12)


@pytest.mark.parametrize(("given", "why"), [
    (make("box", size=(0.2, 0.2, 0.02), edge=0.1).surface(), ""),
    (make("box", size=(0.2, 0.2, 0.006), edge=0.1).surface(), "so thin"),
    (joined(BALL, Surface(BALL.points + [0.25, 0.0, 0.0], BALL.faces)), ""),
    (joined(BALL, Surface(BALL.points + [np.ptp(BALL.points[:, 0]) + 1e-6, 0.0, 0.0], BALL.faces)), "nearer to each other"),
], ids=["plate", "sheet", "apart", "close"])  # fmt: skip
def test_auto_takes_cells_where_tetrahedra_would_lose_or_join_parts(given: Surface, why: str) -> None:
    """They may be 0.2 % of the diagonal off the surface: more than a tenth of half of a sheet, and across a narrow gap."""
    pytest.importorskip("pytetwild")
    found, _ = why_cells(given, Filling(cells=True))
    assert why in found and bool(why) == bool(found)
