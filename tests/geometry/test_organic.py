import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pliant.base import PliantError
from pliant.geometry.mesh import TET_EDGES, TET_FACES, TetMesh
from pliant.geometry.shapes import maker
from pliant.shop.sculpt.organic import mouth, room

SIZE = {"teapot": "size", "mouth": "size", "foot": "length", "bunny": "height", "bust": "height", "room": "size"}
ORGANIC = {name: maker(name) for name in SIZE}
# Bounding box for size 1; where no exact number is promised: None.
EXTENT = {
    "teapot": (1.0, 0.54, 0.64),
    "mouth": (None, 0.5, 1.0),
    "foot": (1.0, None, 0.6),
    "bunny": (None, None, 1.0),
    "bust": (None, None, 1.0),
    "room": (1.0, 1.0, 0.5),
}
CHI = {"teapot": 0}  # its handle; all others are balls


def made(name: str, **options: float) -> TetMesh:
    extra = {"mouth": {"gap": 0.3}, "room": {"wave": 0.03, "wall": 0.1}}.get(name, {})
    tets = ORGANIC[name](**{SIZE[name]: 1.0, **extra, **options}).tets
    assert tets is not None
    return tets


def pieces(mesh: TetMesh) -> int:
    a, b = mesh.tets[:, TET_EDGES].reshape(-1, 2).T
    return int(connected_components(coo_array((np.ones(len(a)), (a, b)), shape=[len(mesh.points)] * 2))[0])


def smallest_and_largest_angle(mesh: TetMesh) -> tuple[float, float]:
    x = mesh.points[mesh.tets][:, TET_FACES]
    n = np.cross(x[:, :, 1] - x[:, :, 0], x[:, :, 2] - x[:, :, 0])
    n /= np.linalg.norm(n, axis=2, keepdims=True)
    cosine = -np.einsum("tei,tei->te", n[:, TET_EDGES[:, 0]], n[:, TET_EDGES[:, 1]])
    return float(np.degrees(np.arccos(cosine.max()))), float(np.degrees(np.arccos(cosine.min())))


def check_solid(mesh: TetMesh, chi: int) -> None:
    faces = mesh.boundary
    half = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward = set(map(tuple, half.tolist()))
    assert len(forward) == len(half) and forward == {(b, a) for a, b in forward}
    assert len(np.unique(faces)) - len(half) // 2 + len(faces) == chi
    assert mesh.volumes.min() > 0
    assert pieces(mesh) == 1
    low, high = smallest_and_largest_angle(mesh)
    assert low > 10.5 and high < 160


@pytest.mark.parametrize("name", ORGANIC)
def test_default_is_a_sound_solid_of_a_few_thousand_tets(name: str) -> None:
    mesh = ORGANIC[name]().tets
    assert mesh is not None and 1500 <= len(mesh.tets) <= 8000
    check_solid(mesh, CHI.get(name, 2))


@pytest.mark.parametrize("name", ORGANIC)
@pytest.mark.parametrize("edge", [0.0571, *(pytest.param(edge, marks=pytest.mark.slow) for edge in (0.062, 0.049, 0.0413))])
def test_sound_at_other_edges(name: str, edge: float) -> None:
    check_solid(made(name, edge=edge), CHI.get(name, 2))


@pytest.mark.parametrize("name", ORGANIC)
def test_size_and_place(name: str) -> None:
    """Bounding box within an edge of what is promised, standing on z = 0 over the origin, and similar at any size."""
    edge = 0.05
    mesh = made(name, edge=edge)
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    for extent, promised in zip(high - low, EXTENT[name], strict=True):
        assert promised is None or extent == pytest.approx(promised, abs=0.5 * edge)
    assert low[2] == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.abs(0.5 * (low + high)[:2]) < 0.05)
    scale = {SIZE[name]: 4.0, "edge": 4 * edge} | {"mouth": {"gap": 1.2}, "room": {"wave": 0.12, "wall": 0.4}}.get(
        name, {}
    )
    np.testing.assert_allclose(made(name, **scale).points, 4.0 * mesh.points, atol=1e-9)


@pytest.mark.parametrize("name", [name if i < 2 else pytest.param(name, marks=pytest.mark.slow) for i, name in enumerate(ORGANIC)])
def test_volume_converges(name: str) -> None:
    coarse = 0.12 if name in ("mouth", "room") else 0.06
    volume = [float(np.sum(made(name, edge=coarse / k).volumes)) for k in (1, 1.5, 2)]
    first, second = abs(volume[1] - volume[0]), abs(volume[2] - volume[1])
    assert second < 0.75 * first  # 0.35 at second order
    assert second < 0.01 * volume[2]


@pytest.mark.parametrize("name", ORGANIC)
def test_same_bytes_twice_and_cached(name: str) -> None:
    make = ORGANIC[name]
    shape = make()
    assert make() is shape
    again = make.__wrapped__()  # type: ignore[attr-defined]
    assert again is not shape
    assert again.tets.points.tobytes() == shape.tets.points.tobytes()
    assert again.tets.tets.tobytes() == shape.tets.tets.tobytes()


def test_mouth_opens_by_its_gap() -> None:
    """The vertical distance of the lips, measured on the skin in the middle plane, is the gap."""
    for gap in (0.2, 0.45):
        mesh = mouth(size=1.0, gap=gap, edge=0.04).tets
        assert mesh is not None
        x = mesh.points[np.unique(mesh.boundary)]
        lips = x[(np.abs(x[:, 1]) < 0.15) & (np.abs(x[:, 0] - 0.385) < 0.03)]
        upper, lower = lips[lips[:, 2] > 0.5, 2].min(), lips[lips[:, 2] < 0.5, 2].max()
        assert upper - lower == pytest.approx(gap, abs=0.02)


def test_straight_room_has_the_volume_of_its_walls() -> None:
    mesh = room(size=3.0, wave=0.0, wall=0.25).tets
    assert mesh is not None
    assert np.sum(mesh.volumes) == pytest.approx(9 * 1.5 - 2.5**2 * 1.25, rel=1e-12)


def test_waves_stay_within_their_amplitude_and_leave_the_outside_flat() -> None:
    flat, waved, floor = (
        room(2.0, wave, 0.2, wavy, 0.1).tets for wave, wavy in ((0, False), (0.08, False), (0.08, True))
    )
    assert flat is not None and waved is not None and floor is not None
    moved = np.abs(waved.points - flat.points)
    assert moved[:, :2].max() == pytest.approx(0.08, rel=1e-6) and moved[:, 2].max() == 0
    outside = np.any(np.abs(flat.points[:, :2]) > 1 - 1e-12, axis=1)
    normal_moves = moved[outside][np.arange(outside.sum()), np.argmax(np.abs(flat.points[outside, :2]), axis=1)]
    np.testing.assert_allclose(normal_moves, 0, atol=1e-14)
    assert np.abs(floor.points - waved.points)[:, 2].max() == pytest.approx(0.08, rel=1e-6)
    assert np.abs(floor.points[flat.points[:, 2] < 1e-12, 2]).max() < 1e-14


@pytest.mark.parametrize("name", ORGANIC)
@pytest.mark.parametrize("bad", [-1.0, 0.0, float("nan"), float("inf")])
def test_silly_sizes_are_refused(name: str, bad: float) -> None:
    with pytest.raises(PliantError, match=SIZE[name]):
        ORGANIC[name](**{SIZE[name]: bad})


@pytest.mark.parametrize("name", ORGANIC)
@pytest.mark.parametrize("edge", [-0.01, 0.0, 0.3, 10.0])
def test_silly_edges_are_refused(name: str, edge: float) -> None:
    with pytest.raises(PliantError, match="edge"):
        made(name, edge=edge)


def test_impossible_gaps_and_waves_are_refused() -> None:
    for options in ({"gap": -0.1}, {"gap": 0.7}):
        with pytest.raises(PliantError, match="gap"):
            mouth(size=1.0, **options)
    for options in ({"wave": 0.1, "wall": 0.15}, {"wave": -0.01}, {"wall": 0.9}):
        with pytest.raises(PliantError, match="wave|wall"):
            room(**options)
