"""Random solids, broken at random, become bodies of cells with the right mass and the input as their skin, or are refused for the right reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from pliant import PliantError, Scene
from pliant.geometry.components import labels
from pliant.geometry.filling import contained
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import make, resolve
from pliant.geometry.triangle import nearest_on

from .broken_meshes import FILES, Broken, made

GRID = 100  # places along each side of the box at which the volume is counted


def filled(of: Broken, folder: Path, suffix: str = ".ply", **more: object) -> Shape:
    path = folder / f"broken{suffix}"
    path.write_bytes(FILES[suffix](of))
    return resolve({"file": str(path), "fill": "lattice", **more}, solid=True, cells=True)


def volume(shape: Shape) -> float:
    assert shape.tets is not None and shape.weights is not None
    return float((shape.weights.share * shape.tets.volumes[:, None]).sum())


def counted(skin: Surface) -> float:
    low, high = skin.points.min(axis=0), skin.points.max(axis=0)
    return float(contained(skin, low, (high - low) / GRID, np.full(3, GRID)).mean() * np.prod(high - low))


def check(of: Broken, shape: Shape) -> None:
    """Mass, skin and cells."""
    assert shape.tets is not None
    skin, edge = shape.surface(), float(np.cbrt(6.0 * np.median(shape.tets.volumes)))
    assert volume(shape) == pytest.approx(counted(skin), rel=0.01)
    assert volume(shape) == pytest.approx(of.volume, rel=0.01 + of.off)
    assert (shape.tets.volumes > 0.0).all()
    corners = of.points[of.faces[: len(of.faces) - of.loose]]
    away = nearest_on(skin, np.concatenate([corners.reshape(-1, 3), corners.mean(axis=1)]))[1]
    assert away.max() <= 0.1 * edge + of.scatter


def suffix_of(of: Broken, seed: int) -> str:
    suffix = sorted(FILES)[seed % len(FILES)]
    return ".ply" if suffix == ".stl" and np.abs(of.points).max() > 300.0 * of.size else suffix  # numbers of four bytes


@pytest.mark.parametrize("seed", [3, 14, 116, *(pytest.param(s, marks=pytest.mark.slow) for s in range(200, 300))])
def test_a_broken_solid_becomes_the_body_it_was(tmp_path: Path, seed: int) -> None:
    of = made(seed)
    check(of, filled(of, tmp_path, suffix_of(of, seed)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 312))
def test_a_broken_solid_rests_with_its_weight(tmp_path: Path, seed: int) -> None:
    """Coarse cells, 200 kPa, laid on its steadiest side: when it rests the ground carries its weight to 1e-3."""
    of = made(seed)
    shape = filled(of, tmp_path, suffix_of(of, seed), fit=0.2, edge=0.02)
    scene = Scene(dt=5e-3, duration=8.0)
    scene.add(name="ground", shape="plane", model="static")
    material = {"youngs_modulus": 2e5, "poisson_ratio": 0.3, "density": 1000.0, "mass_damping": 10.0, "stiffness_damping": 0.005}
    scene.add(name="body", shape=laid(shape), material=material)
    sim = scene.simulate()
    weight, still = 9.81 * sim.mass("body"), 0
    assert weight == pytest.approx(9.81e3 * volume(shape), rel=1e-9)
    while still < 20:
        assert sim.time < 8.0, "it moves on"
        sim.step()
        still = still + 1 if sim.books().kinetic <= 1e-9 * weight * 0.2 else 0
    force = 0.0
    for _ in range(20):
        sim.step()
        force += sim.contacts("body", "ground").force[:, 2].sum() / 20.0
    assert abs(force) == pytest.approx(weight, rel=1e-3)


def laid(shape: Shape) -> Shape:
    """Turned so that its centre of mass is as low as can be, and put on the ground."""
    assert shape.tets is not None
    skin = shape.surface()
    sides = ConvexHull(skin.points).equations
    normal = sides[np.argmax(sides[:, :3] @ mass_of_surface(skin).centre + sides[:, 3])][:3]
    side = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    side /= np.linalg.norm(side)
    turn = np.stack([side, np.cross(side, normal), -normal])
    shift = (0.0, 0.0, -float((skin.points @ turn.T)[:, 2].min()))
    return replace(shape, tets=shape.tets.moved(shift, turn), skin=skin.moved(shift, turn))


# ---- what has no inside


def strip(around: int, across: int, twisted: bool, tube: bool) -> np.ndarray:
    """Triangles of a grid that is closed along its first side, perhaps the other way round, and along its second if it is a tube."""
    faces = []
    for i in range(around):
        for j in range(across if tube else across - 1):
            first, second, back = j, (j + 1) % across, twisted and i == around - 1
            there = [(-k) % across if tube else across - 1 - k for k in (first, second)] if back else [first, second]
            a, b, c, d = i * across + first, i * across + second, (i + 1) % around * across + there[1], (i + 1) % around * across + there[0]
            faces += [[a, d, c], [a, c, b]]
    return np.array(faces)


def moebius() -> Broken:
    u, v = np.linspace(0, 2 * np.pi, 40, endpoint=False)[:, None], np.linspace(-0.04, 0.04, 5)[None]
    x = np.stack([(0.1 + v * np.cos(u / 2)) * np.cos(u), (0.1 + v * np.cos(u / 2)) * np.sin(u), v * np.sin(u / 2)], axis=-1)
    return Broken(x.reshape(-1, 3), strip(40, 5, True, False), 0.0)


def klein() -> Broken:
    u, v = np.linspace(0, 2 * np.pi, 40, endpoint=False)[:, None], np.linspace(0, 2 * np.pi, 16, endpoint=False)[None]
    r = 0.1 + 0.05 * (np.cos(u / 2) * np.sin(v) - np.sin(u / 2) * np.sin(2 * v))
    x = np.stack([r * np.cos(u), r * np.sin(u), 0.05 * (np.sin(u / 2) * np.sin(v) + np.cos(u / 2) * np.sin(2 * v))], axis=-1)
    return Broken(x.reshape(-1, 3), strip(40, 16, True, True), 0.0)


def wavy_sheet() -> Broken:
    sheet = make("membrane", size=(0.2, 0.2)).surface()
    return Broken(sheet.points + np.column_stack([np.zeros((len(sheet.points), 2)), 0.02 * np.sin(40 * sheet.points[:, 0])]), sheet.faces, 0.0)


def boxed(*size: float) -> Broken:
    box = make("box", size=(0.1, 0.1, 0.1), edge=0.05).surface()
    return Broken(box.points * np.array(size) / 0.1, box.faces, float(np.prod(size)))


def lost() -> Broken:
    out = boxed(0.1, 0.1, 0.1)
    out.points = out.points.copy()
    out.points[3, 1] = np.nan
    return out


@pytest.mark.parametrize(("of", "words"), [
    (moebius(), "only one side"),
    pytest.param(klein(), "only one side", marks=pytest.mark.slow),
    (wavy_sheet(), "not the border of what it winds around"),
    (Broken(np.eye(3), np.array([[0, 1, 2]]), 0.0), "no inside"),
    (Broken(np.zeros((3, 3)), np.array([[0, 1, 2]]), 0.0), "No face with an area"),
    (boxed(0.1, 0.1, 1e-7), "no inside: what it winds around is flat"),
    (lost(), "1 vertex has coordinates that are not numbers"),
])  # fmt: skip
def test_what_has_no_inside_is_refused_with_the_reason(tmp_path: Path, of: Broken, words: str) -> None:
    with pytest.raises(PliantError, match=words):
        filled(of, tmp_path)


def shells(*scales: float, turned: tuple[bool, ...]) -> Broken:
    ball = make("ball", radius=0.1, edge=0.03).surface()
    n = len(ball.points)
    faces = [(ball.faces[:, ::-1] if t else ball.faces) + k * n for k, t in enumerate(turned)]
    whole = mass_of_surface(ball).volume * sum(s**3 * (-1 if t else 1) for s, t in zip(scales, turned, strict=True))
    return Broken(np.concatenate([s * ball.points for s in scales]), np.concatenate(faces), whole)


def folded() -> Broken:
    """A ball with a vertex pulled through its far side: what it winds around backwards there is not of the body."""
    out = shells(1.0, turned=(False,))
    out.points = out.points.copy()
    top = int(out.points[:, 2].argmax())
    out.points[top] = [0.0, 0.0, -0.13]
    out.off = 0.05
    return out


def once(of: Broken, volume: float) -> Broken:
    return replace(of, volume=volume)


@pytest.mark.parametrize("of", [
    boxed(0.1, 1e-4, 1e-4),  # a hair
    shells(1.0, 0.6, 0.3, turned=(False, True, False)),  # a ball in the hollow of a ball
    once(shells(1.0, 0.6, turned=(False, False)), shells(1.0, turned=(False,)).volume),  # a ball in a ball, both of material: counted once
    once(shells(1.0, 1.0, turned=(False, False)), shells(1.0, turned=(False,)).volume),  # the same twice
    folded(),
], ids=["hair", "hollow", "nested", "twice", "folded"])  # fmt: skip
def test_odd_solids_weigh_what_they_enclose(tmp_path: Path, of: Broken) -> None:
    check(of, filled(of, tmp_path))


# ---- thin parts and close neighbours


def parts(shape: Shape) -> int:
    assert shape.tets is not None
    return int(labels(len(shape.tets.points), shape.tets.tets[:, [[0, 1], [0, 2], [0, 3]]].reshape(-1, 2)).max()) + 1


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 40))])
def test_thin_sheets_hang_together_and_stay_apart(tmp_path: Path, seed: int) -> None:
    """Two bent sheets, thinner than a cell and nearer to each other than a cell, at any angle: two parts, each in one piece."""
    rng = np.random.default_rng(seed)
    edge, sheets = 0.02, []
    thick, gap = edge * 10.0 ** rng.uniform(-2.5, -0.1), edge * 10.0 ** rng.uniform(-3, -0.2)
    bend, turn = rng.uniform(0.0, 3.0), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    for k in range(2):
        plate = make("box", size=(0.2, 0.15, 1.0), edge=0.03).surface()
        x = plate.points.copy()
        x[:, 2] = k * (thick + gap) + thick * (x[:, 2] + 0.5) + 0.02 * np.sin(10.0 * bend * x[:, 0])
        sheets.append(Surface(x @ turn.T, plate.faces))
    n = len(sheets[0].points)
    both = Broken(np.concatenate([s.points for s in sheets]), np.concatenate([sheets[0].faces, sheets[1].faces + n]), 2 * 0.03 * thick)
    shape = filled(both, tmp_path, edge=edge)
    assert parts(shape) == 2
    assert volume(shape) == pytest.approx(both.volume, rel=0.01)
    assert shape.weights is not None and shape.tets is not None
    piece = labels(len(shape.tets.points), shape.tets.tets[:, [[0, 1], [0, 2], [0, 3]]].reshape(-1, 2))
    side = labels(len(shape.surface().points), shape.surface().faces[:, [[0, 1], [0, 2]]].reshape(-1, 2))
    owner = piece[shape.tets.tets[shape.weights.ride, 0]]
    assert sorted(set(zip(side.tolist(), owner.tolist(), strict=True))) in ([(0, 0), (1, 1)], [(0, 1), (1, 0)])
