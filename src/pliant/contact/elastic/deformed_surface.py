"""The surfaces after contact: samples around it displaced, and one surface that both objects share where they touch
(theory/quasi-rigid 6.5, 12)."""

from __future__ import annotations

import math

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic.contact_nodes import FACING
from pliant.contact.elastic.gaussian_blobs import blobs
from pliant.contact.elastic.response import LayerCut, Response, Sum, Tabulated, VolumePreserving
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.trees import tree_displacement
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.near import kd_tree


def reach_of(response: Response, contact_radius: float) -> tuple[float, float]:
    """(end, share): distance from the contact [m] at which displacements are over, and the share of it over which they are faded out.

    A volume-preserving response is over after 4 b by itself, a layer at its radius: faded earlier, the rim that makes up for the dent
    would be lost. Boussinesq's never is (u/delta = 0.11 at four contact radii), because the half-space is fixed infinitely far away; it is
    faded out from 2 to 4 contact radii.
    """
    if isinstance(response, Sum):
        ends = [reach_of(part, contact_radius) for part in response.parts]
        return max(end for end, _ in ends), max(share for _, share in ends)
    if isinstance(response, VolumePreserving) and math.isfinite(response.b):
        return 4.0 * response.b, 0.0
    if isinstance(response, LayerCut):
        return response.radius, 0.0
    if isinstance(response, Tabulated) and response.values[-1] == 0.0:
        return float(response.r[-1]), 0.0
    return 4.0 * contact_radius, 0.5


def displacements(
    points: Floats,
    normals: Floats,
    areas: Floats,
    response: Response | None,
    result: ContactResult,
    which: int,
    wanted: np.ndarray | None = None,
) -> tuple[Floats, Floats]:
    """(u (n,) [m] into the object, directions (n, 3)) of points of side `which` (0: A, 1: B), in world coordinates.

    wanted  (n,) which of them; the others stay
    """
    u, way = np.zeros(len(points)), -normals
    touching = np.flatnonzero(result.contact)
    if response is None or len(touching) == 0:
        return u, way
    end, share = reach_of(response, math.sqrt(result.area / math.pi))
    x, outward = _on_side(result, which)[touching], (1.0 if which == 0 else -1.0) * result.normals[touching]
    chosen = _may_move(points, normals, x, outward, end, wanted)
    far, nearest = kd_tree(x).query(points[chosen], distance_upper_bound=end, workers=1)
    found = np.flatnonzero(far < end)
    agree = np.sum(normals[chosen[found]] * outward[nearest[found]], axis=1)
    found, agree = found[agree > 0.0], agree[agree > 0.0]
    chosen, far, nearest = chosen[found], far[found], nearest[found]
    fade = eased(agree / FACING)
    if share > 0.0:
        fade *= eased((1.0 - far / end) / share)
    source = np.ascontiguousarray(blobs(x, result.areas[touching]))
    u[chosen] = fade * tree_displacement(blobs(points[chosen], areas[chosen]), source, result.P[touching], response)
    turn = eased(2.0 * agree - 1.0)[:, None]  # contact normals on what faces the partner, own ones on flanks
    mixed = turn * outward[nearest] + (1.0 - turn) * normals[chosen]
    way[chosen] = -mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return u, way


def _may_move(points: Floats, normals: Floats, x: Floats, outward: Floats, end: float, wanted: np.ndarray | None) -> Ints:
    """Wanted points in the box of the contact x and `end` [m] around it that face as some node there: quick, and a few too many."""
    keep = np.ones(len(points), bool) if wanted is None else wanted.copy()
    for k in range(3):
        keep &= (points[:, k] >= x[:, k].min() - end) & (points[:, k] <= x[:, k].max() + end)
    chosen = np.flatnonzero(keep)
    mean = outward.sum(axis=0)
    mean /= max(float(np.linalg.norm(mean)), 1e-300)
    least = float(np.min(np.sum(outward * mean, axis=1)))  # all contact normals are within this angle of their mean
    if least > 0.0:
        chosen = chosen[np.sum(normals[chosen] * mean, axis=1) > -math.sqrt(max(1.0 - least**2, 0.0)) - 1e-9]
    return chosen


def _on_side(result: ContactResult, which: int) -> Floats:
    """(n, 3) [m] where nodes press on a side before deformation: they themselves, or their feet if they are samples of the other one."""
    away = np.where(result.owner == which, 0.0, np.where(result.owner == 0, result.gap, -result.gap))
    return np.asarray(result.points + away[:, None] * result.normals)


def deformed(side: Side, result: ContactResult, which: int) -> tuple[Floats, Floats]:
    """(points (n, 3) of all samples of a side after contact, u (n,)), in world coordinates; those in contact lie where surfaces meet."""
    surface = _sampled(side)
    points = side.world(surface.points)
    normals = surface.normals @ side.rotation.T
    known = result.owner == which if result.level == 0 else np.zeros(len(result.owner), bool)
    wanted = np.ones(len(points), bool)
    wanted[result.sample[known]] = False
    u, way = displacements(points, normals, surface.areas, side.response, result, which, wanted)
    points = points + u[:, None] * way
    points[result.sample[known]] = result.deformed[known]
    u[result.sample[known]] = (result.u_a, result.u_b)[which][known]
    return points, u


def shared_surfaces(a: Side, b: Side, result: ContactResult) -> tuple[PointSurface, PointSurface]:
    """Both surfaces after contact: around it their own samples, in it the same nodes for both [Pauly, Pai, Guibas 2004, 4.3]."""
    if result.level != 0:
        raise PliantError("A shared surface needs a contact of all samples: resolve it with level = 0.")
    return _with_nodes(a, result, 0), _with_nodes(b, result, 1)


def _with_nodes(side: Side, result: ContactResult, which: int) -> PointSurface:
    """The own samples outside the contact, and all nodes in it."""
    surface, touching = _sampled(side), result.contact
    points, _ = deformed(side, result, which)
    keep = np.ones(len(points), bool)
    keep[result.sample[touching & (result.owner == which)]] = False
    shared = result.deformed[touching]
    if len(shared):
        far, nearest = kd_tree(shared).query(points, workers=1)
        outward = (1.0 if which == 0 else -1.0) * result.normals[touching]
        covered = far < np.sqrt(result.areas[touching][nearest])
        covered &= np.sum(surface.normals @ side.rotation.T * outward[nearest], axis=1) > 0.0
        nodes = np.zeros(len(points), bool)
        nodes[result.sample[result.owner == which]] = True
        keep &= ~covered | nodes  # own nodes that do not touch stay
    else:
        outward = np.zeros((0, 3))
    return PointSurface(
        np.concatenate([points[keep], shared]),
        np.concatenate([surface.normals[keep] @ side.rotation.T, outward]),
        np.concatenate([surface.areas[keep], result.areas[touching]]),
    )


def _sampled(side: Side) -> PointSurface:
    surface = side.shape if isinstance(side.shape, PointSurface) else side.samples
    if surface is None:
        raise PliantError("An exact shape has no samples to displace: give it `samples`.")
    return surface


def eased(t: Floats) -> Floats:
    """0 below 0, 1 above 1, with a continuous slope."""
    t = np.clip(t, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)
