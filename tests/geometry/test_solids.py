"""Shapes made by code: valid tets, closed skins, right size, second-order convergence, sound parameters."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from pliant.base import PliantError
from pliant.geometry.check import dihedral_angles
from pliant.geometry.lathe import lathe
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import TET_FACES, TetMesh
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import SHAPES, make
from pliant.geometry.topology import topology
from pliant.shop.sculpt.vessels import chain_links

T = np.linspace(0, pi / 2, 400)
DOMED_POST = [(0.5, 0.0), *zip(0.5 * np.cos(T[:-1]), 1.0 + 0.5 * np.sin(T[:-1]), strict=True), (0.0, 1.5)]
POST_ON_FOOT = [(0.6, 0), (0.6, 0.2), (0.3, 0.2), (0.3, 0.7), (0.45, 0.7), (0.45, 0.8), (0.3, 0.8), (0, 1.0)]
FLAT_TOPPED = [(0.3, 0), (0.3, 0.5), (0.5, 0.5), (0.4, 1.0), (0, 1.0)]

SOLIDS: list[tuple[str, dict[str, Any]]] = [
    ("box", {"size": (1, 0.5, 0.25)}),
    ("box", {"size": (0.3, 0.3, 0.3), "edge": 0.1}),
    ("plate", {"size": (1, 2), "thickness": 0.05}),
    ("ball", {"radius": 0.5}),
    ("ball", {"radius": 0.5, "edge": 0.5}),
    ("ellipsoid", {"radii": (0.3, 0.2, 0.15)}),
    ("cylinder", {"radius": 0.2, "height": 0.5}),
    ("capsule", {"radius": 0.2, "length": 0.5}),
    ("torus", {"major": 0.3, "minor": 0.1}),
    ("wedge", {"size": (0.4, 0.3, 0.2)}),
    ("wedge", {"size": (0.2, 0.3, 0.4), "ridge": 0.5}),
    ("arch_stone", {"inner": 1.0, "outer": 1.4, "angle": 17.0, "depth": 0.4}),
    ("bowl", {"radius": 0.1, "thickness": 0.01}),
    ("bowl", {"radius": 0.1, "thickness": 0.02, "opening": 115.0}),
    ("socket", {"radius": 0.1, "thickness": 0.02}),
    ("chain", {"links": 3}),
    ("lathe", {"profile": DOMED_POST}),
    ("lathe", {"profile": POST_ON_FOOT}),
    ("lathe", {"profile": FLAT_TOPPED}),
    ("lathe", {"profile": [(0.5, 0), (0, 0.6)]}),
    ("pawn", {}),
    ("rook", {}),
    ("rook", {"edge": 0.0018}),
    ("bishop", {}),
    ("queen", {}),
]
NAMES = [f"{kind}-{n}" for n, (kind, _) in enumerate(SOLIDS)]


def tets_of(shape: Shape) -> TetMesh:
    assert shape.tets is not None
    return shape.tets


@pytest.mark.parametrize(("kind", "parameters"), SOLIDS, ids=NAMES)
def test_tets_are_positive_conforming_and_well_shaped(kind: str, parameters: dict[str, Any]) -> None:
    mesh = tets_of(make(kind, **parameters))
    assert (mesh.volumes > 0).all()
    _, count = np.unique(np.sort(mesh.tets[:, TET_FACES].reshape(-1, 3), axis=1), axis=0, return_counts=True)
    assert count.max() == 2
    assert np.array_equal(np.unique(mesh.tets), np.arange(len(mesh.points)))
    assert len(np.unique(mesh.points.round(9), axis=0)) == len(mesh.points)  # no seam with doubled nodes
    assert dihedral_angles(mesh.points[mesh.tets]).min() > 8.0


@pytest.mark.parametrize(("kind", "parameters"), SOLIDS, ids=NAMES)
def test_skin_is_a_closed_outward_manifold_that_encloses_the_tets(kind: str, parameters: dict[str, Any]) -> None:
    shape = make(kind, **parameters)
    skin = shape.surface()
    t = topology(skin.faces, len(skin.points))
    assert (t.edge_faces >= 0).all()
    # a fold or an overlap would make the sum of tet volumes differ from the enclosed volume
    assert mass_of_surface(skin).volume == pytest.approx(tets_of(shape).volumes.sum(), rel=1e-12)
    euler = len(skin.points) - len(t.edges) + len(skin.faces)
    holes = {"torus": 1, "chain": 3}.get(kind, 0)
    assert euler == 2 * components(tets_of(shape)) - 2 * holes


def components(mesh: TetMesh) -> int:
    ones = np.ones(3 * len(mesh.tets))
    graph = coo_matrix((ones, (np.repeat(mesh.tets[:, 0], 3), mesh.tets[:, 1:].ravel())), shape=(len(mesh.points),) * 2)
    return int(connected_components(graph, directed=False)[0])


ROUND: list[tuple[str, dict[str, Any], float]] = [
    ("ball", {"radius": 1.0}, 4 / 3 * pi),
    ("ellipsoid", {"radii": (1.0, 1.25, 0.8)}, 4 / 3 * pi),
    ("cylinder", {"radius": 1.0, "height": 1.5}, 1.5 * pi),
    ("capsule", {"radius": 1.0, "length": 1.0}, pi + 4 / 3 * pi),
    ("torus", {"major": 2.0, "minor": 1.0}, 4 * pi**2),
    ("arch_stone", {"inner": 1.0, "outer": 2.0, "angle": 180 / np.pi, "depth": 1.0}, 1.5),
    ("lathe", {"profile": DOMED_POST}, pi * 0.25 + 2 / 3 * pi * 0.125),
]


@pytest.mark.parametrize(("kind", "parameters", "volume"), ROUND, ids=[r[0] for r in ROUND])
def test_volume_converges_at_second_order(kind: str, parameters: dict[str, Any], volume: float) -> None:
    size = 0.5 if kind == "lathe" else 1.0
    error = [abs(tets_of(make(kind, **parameters, edge=size / n)).volumes.sum() - volume) for n in (4, 8)]
    assert 1.8 < np.log2(error[0] / error[1]) < 2.2
    assert error[1] < 0.03 * volume


ON_SURFACE: dict[str, Callable[[Any], Any]] = {
    "ball": lambda x: np.linalg.norm(x, axis=1) - 0.5,
    "cylinder": lambda x: np.maximum(np.hypot(x[:, 0], x[:, 1]) - 0.2, abs(x[:, 2]) - 0.25),
    "capsule": lambda x: np.linalg.norm(x - np.c_[0 * x[:, :2], np.clip(x[:, 2], -0.25, 0.25)], axis=1) - 0.2,
    "torus": lambda x: np.hypot(np.hypot(x[:, 0], x[:, 1]) - 0.3, x[:, 2]) - 0.1,
    "box": lambda x: (abs(x) - [0.5, 0.25, 0.125]).max(axis=1),
}


@pytest.mark.parametrize("kind", ON_SURFACE)
def test_skin_points_lie_on_the_analytic_surface(kind: str) -> None:
    parameters = next(p for k, p in SOLIDS if k == kind)
    shape = make(kind, **parameters)
    limit = 1e-12 if kind != "capsule" else 2e-5  # its dome is sampled from a polyline
    assert abs(ON_SURFACE[kind](shape.surface().points)).max() < limit
    assert shape.analytic is not None and shape.analytic[0] == kind


def test_analytic_parameters() -> None:
    assert make("box", size=(1, 2, 3)).analytic == ("box", (0.5, 1.0, 1.5))
    assert make("plate", size=(1, 2), thickness=0.5).analytic == ("box", (0.5, 1.0, 0.25))
    assert make("capsule", radius=1, length=3).analytic == ("capsule", (1.0, 1.5))
    assert make("cylinder", radius=1, height=3).analytic == ("cylinder", (1.0, 1.5))
    assert make("torus", major=2, minor=0.5).analytic == ("torus", (2.0, 0.5))
    assert make("ellipsoid", radii=(1, 1, 1)).analytic == ("ball", (1.0,))
    assert make("ellipsoid", radii=(1, 1, 2)).analytic is None


@pytest.mark.parametrize("kind", ["box", "ball", "ellipsoid", "cylinder", "capsule", "torus", "plate"])
def test_centred_shapes_have_their_centre_at_the_origin(kind: str) -> None:
    parameters = next(p for k, p in SOLIDS if k == kind)
    points = tets_of(make(kind, **parameters)).points
    assert np.allclose(points.max(axis=0), -points.min(axis=0), atol=0.02 * np.ptp(points))
    assert abs(mass_of_surface(make(kind, **parameters).surface()).centre).max() < 1e-3 * np.ptp(points)


@pytest.mark.parametrize("kind", ["bowl", "pawn", "rook", "bishop", "queen"])
def test_standing_shapes_have_a_flat_base_around_the_origin(kind: str) -> None:
    parameters = next(p for k, p in SOLIDS if k == kind)
    points = make(kind, **parameters).surface().points
    assert points[:, 2].min() == pytest.approx(0.0, abs=1e-12)
    base = points[points[:, 2] < 1e-9]
    assert len(base) > 12 and abs(base[:, :2].mean(axis=0)).max() < 1e-9
    if kind != "bowl":
        height = {"pawn": 0.048, "rook": 0.054, "bishop": 0.068, "queen": 0.085}[kind]
        assert points[:, 2].max() == pytest.approx(height)


def test_ball_has_no_sliver_at_any_resolution() -> None:
    balls = [tets_of(make("ball", radius=1, edge=1 / n)) for n in (1, 3, 6, 12)]
    worst = [dihedral_angles(mesh.points[mesh.tets]).min() for mesh in balls]
    assert min(worst) > 35.0


def test_membrane_is_flat_open_and_faces_up() -> None:
    shape = make("membrane", size=(2, 1))
    skin = shape.surface()
    assert shape.tets is None
    a, b, c = skin.points[skin.faces].transpose(1, 0, 2)
    area = 0.5 * np.cross(b - a, c - a)
    assert area[:, 2].min() > 0 and area[:, 2].sum() == pytest.approx(2.0)
    t = topology(skin.faces, len(skin.points))
    assert len(skin.points) - len(t.edges) + len(skin.faces) == 1 and (t.edge_faces < 0).sum() == 2 * (32 + 16)


def test_rook_has_six_merlons() -> None:
    shape = make("rook", height=1.0)
    mesh = tets_of(shape)
    top = mesh.tets[(mesh.points[mesh.tets][:, :, 2] > 0.86 - 1e-9).all(axis=1)]
    used, compact = np.unique(top, return_inverse=True)
    assert components(TetMesh(mesh.points[used], compact.reshape(-1, 4))) == 6


def test_chain_links_pass_through_each_other_and_keep_their_gap() -> None:
    links = chain_links(4, 0.05, 0.01, gap=0.004)
    circle = np.linspace(0, 2 * pi, 2000, endpoint=False)
    core = 0.05 * np.stack([np.cos(circle), np.sin(circle), 0 * circle], axis=1)
    cores = [core @ rotation.T + offset for _, offset, rotation in links]
    for (_, offset, rotation), a, b in zip(links[:-1], cores[:-1], cores[1:], strict=True):
        local = (b - offset) @ rotation  # where does the next core cross the plane of this ring: once inside, once out
        cross = np.flatnonzero(np.sign(local[:, 2]) != np.sign(np.roll(local[:, 2], -1)))
        inside = np.hypot(local[cross, 0], local[cross, 1]) < 0.05
        assert inside.any() and not inside.all()
        near = np.sqrt(((a[::10, None] - b[None, ::10]) ** 2).sum(axis=2).min())
        assert near == pytest.approx(0.02 + 0.004, rel=1e-3)
    assert components(tets_of(make("chain", links=4, major=0.05, minor=0.01))) == 4


def test_a_socket_holds_a_ball() -> None:
    socket = make("socket", radius=0.105, thickness=0.02)
    distance = np.linalg.norm(socket.surface().points, axis=1)
    assert distance.min() == pytest.approx(0.105)
    assert socket.surface().points[:, 2].min() == pytest.approx(-0.125)
    rim = socket.surface().points[socket.surface().points[:, 2] > 0.05]
    assert np.hypot(rim[:, 0], rim[:, 1]).min() < 0.1  # the mouth is narrower than the ball


def test_bowl_volume_between_its_spheres() -> None:
    hollow = 2 / 3 * pi * (0.1**3 - 0.09**3)
    volume = tets_of(make("bowl", radius=0.1, thickness=0.01, edge=0.005)).volumes.sum()
    assert hollow < volume < 1.1 * hollow  # the foot adds a little


def test_shapes_are_deterministic() -> None:
    for kind, parameters in SOLIDS[:12]:
        a, b = tets_of(make(kind, **parameters)), tets_of(make(kind, **parameters))
        assert a.points.tobytes() == b.points.tobytes() and a.tets.tobytes() == b.tets.tobytes()


@pytest.mark.parametrize(
    ("kind", "parameters", "says"),
    [
        ("bal", {}, "ball"),
        ("ball", {"radus": 1}, "radius"),
        ("ball", {}, "needs radius"),
        ("ball", {"radius": -1}, "radius must be a finite number above 0"),
        ("ball", {"radius": float("nan")}, "radius"),
        ("ball", {"radius": "big"}, "must be a number"),
        ("ball", {"radius": 1, "edge": 0}, "edge"),
        ("ball", {"radius": 1000, "edge": 0.01}, "larger edge"),
        ("box", {"size": (1, 2)}, "size must be 3"),
        ("box", {"size": (1, 2, 0)}, r"size\[2\]"),
        ("torus", {"major": 1, "minor": 1}, "below 1"),
        ("arch_stone", {"inner": 2, "outer": 1, "angle": 1, "depth": 1}, "inner"),
        ("bowl", {"radius": 1, "thickness": 1}, "thickness"),
        ("chain", {"minor": "thin"}, "minor must be a number"),
        ("chain", {"links": 0}, "whole number"),
        ("chain", {"major": 0.01, "minor": 0.004}, "no room"),
        ("lathe", {"profile": [(1, 0), (1, 1), (0.5, 0.5)]}, "goes down"),
        ("lathe", {"profile": [(1, 0), (0, 0.5), (0.5, 1)]}, "not positive"),
        ("lathe", {"profile": "vase"}, "pairs"),
    ],
)
def test_bad_parameters_are_named(kind: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(PliantError, match=says):
        make(kind, **parameters)


def test_unknown_parameter_lists_the_allowed_ones_with_defaults() -> None:
    with pytest.raises(PliantError, match="radius, thickness, opening = 90.0, edge = None"):
        make("bowl", radius=1, wall=0.1)


def test_organic_shapes_are_in_the_registry() -> None:
    assert {"teapot", "bunny", "bust", "foot", "mouth", "room", "pawn", "box"} <= set(SHAPES)


def test_lathe_keeps_corners_and_shelves_of_its_profile() -> None:
    points = lathe(POST_ON_FOOT, edge=0.1).surface().points
    rz = np.stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]], axis=1)
    for corner in POST_ON_FOOT:
        assert np.linalg.norm(rz - corner, axis=1).min() < 1e-12
