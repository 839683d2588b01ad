"""Curved triangles lie on the smooth surface that their corners were taken from, and sharp edges stay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from pliant.geometry.curved import Curved, lattice
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.subdivide import subdivided


def ellipsoid(count, axes, seed, uneven=0.12):
    """Uneven points of an ellipsoid, and the triangles of their hull."""
    i, rng = np.arange(count) + 0.5, np.random.default_rng(seed)
    polar, around = np.arccos(1 - 2 * i / count), np.pi * (1 + np.sqrt(5)) * i
    s = np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], axis=1)
    s += uneven * np.sqrt(4 * np.pi / count) * rng.normal(size=s.shape)
    s /= np.linalg.norm(s, axis=1, keepdims=True)
    faces, x = ConvexHull(s).simplices.copy(), s * axes
    c = np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]])
    inside = np.sum(c * x[faces].mean(axis=1), axis=1) < 0
    faces[inside] = faces[inside][:, ::-1]
    return Surface(x, faces)


def off(points, axes):
    """How far points are from an ellipsoid, nearly."""
    q = points / axes
    return (np.sum(q * q, axis=-1) - 1) / (2 * np.linalg.norm(q / axes, axis=-1))


@pytest.mark.parametrize(("axes", "most"), [((1.0, 1.0, 1.0), 0.012), ((1.0, 0.7, 0.5), 0.02)])
def test_curved_triangles_are_a_hundredth_as_far_off_as_flat_ones(axes, most):
    """And the rougher reconstruction two to five times as far, from which errors are told."""
    mesh, axes, weights = ellipsoid(600, np.array(axes), 3), np.array(axes), lattice(4)[0]
    faces = np.arange(len(mesh.faces))
    rms = lambda x: np.sqrt(np.mean(off(x, axes) ** 2))
    flat = rms(np.einsum("kc,mci->mki", weights, mesh.points[mesh.faces]))
    fine, rough = rms(Curved(mesh).at(faces, weights)), rms(Curved(mesh, blended=True).at(faces, weights))
    assert fine < most * flat and 1.5 * fine < rough < 6 * fine


def test_error_falls_with_the_fourth_power_of_the_edges():
    axes, weights, found = np.array([1.0, 0.8, 0.6]), lattice(4)[0], []
    for count in (500, 2000):
        mesh = ellipsoid(count, axes, 5, uneven=0.05)
        found.append(np.sqrt(np.mean(off(Curved(mesh).at(np.arange(len(mesh.faces)), weights), axes) ** 2)))
    assert 3.0 < np.log2(found[0] / found[1]) < 5.0  # halved edges


def test_flat_faces_and_sharp_edges_stay():
    box = make("box", size=(0.1, 0.2, 0.3), edge=0.05).surface()
    curved = Curved(box)
    points = curved.at(np.arange(len(box.faces)), lattice(5)[0]).reshape(-1, 3)
    outside = np.abs(points) - np.abs(box.points).max(axis=0)
    assert np.abs(outside.max(axis=1)).max() < 1e-12  # all of it on the box
    assert len(curved.vertex) > len(box.points)  # corners of the box have a normal for each side
    can = make("cylinder", radius=0.1, height=0.1, edge=0.02).surface()
    x = Curved(can).at(np.arange(len(can.faces)), lattice(4)[0]).reshape(-1, 3)
    r = np.hypot(x[:, 0], x[:, 1])
    side = np.abs(x[:, 2]) < 0.0499
    assert np.abs(r[side] - 0.1).max() < 1e-4 and np.abs(np.abs(x[~side, 2]) - 0.05).max() < 1e-4


def test_vertices_of_cut_triangles_ride_on_the_curved_ones():
    mesh = ellipsoid(300, np.ones(3), 1)
    cut = subdivided(mesh, 0.08)
    on = Curved(mesh).on(cut.corner, cut.weight)
    assert np.array_equal(on[: len(mesh.points)], mesh.points)
    assert np.abs(np.linalg.norm(on, axis=1) - 1).max() < 0.05 * np.abs(np.linalg.norm(cut.surface.points, axis=1) - 1).max()


def test_turning_the_mesh_turns_the_surface():
    mesh, weights = ellipsoid(200, np.array([1.0, 0.7, 0.5]), 2), lattice(3)[0]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    faces = np.arange(len(mesh.faces))
    here, there = Curved(mesh).at(faces, weights), Curved(Surface(mesh.points @ turn.T, mesh.faces)).at(faces, weights)
    assert np.allclose(here @ turn.T, there, atol=1e-9)
