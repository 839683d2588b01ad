"""Nodes of elastic contacts as rows over skin points: a surfel of one body against the place of the other that it meets; along which
directions they push; and what the dents look like.

Nodes of a moving contact push along the gradients of their distances, so that forces and energy agree. The elastic energy of the problem
s = K P + q is U(q), and by the envelope theorem dU = -P.dq (theory/quasi-rigid 13.4): whatever q is, forces return the energy that they
took if they act along grad q. Exact shapes have the gradient for their normal. The foot of a sampled one has the normal of a polynomial
fitted there, which misses the gradient of the very distance by up to 8 % where samples are a seventh of a wave: a ball lost 15 % of its
energy on it. So the slope along the surface is measured, by central differences.

Where both bodies give way the direction is C_A grad q - C_B n_A, as in elastic/two_bodies.py: a node that is not quite where two round
surfaces meet has a normal that errs one way and a foot that errs the other. That is right to second order, but returns energy to a few
percent only, which energy_account.py bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.elastic.coarse_to_fine import coarser
from pliant.contact.elastic.deformed_surface import deformed
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.quasi_rigid.touching_pairs import Touch
from pliant.detect.surfels.carried import Carried
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface
from pliant.kernels import cross, dot, kernel, load, sub
from pliant.model import Rest
from pliant.world.motion import Motion, Rows

WIDTH = 12  # skin points of a row: three under the surfel, three under each corner of the triangle that it meets
BESIDE = 0.05  # spacings of the two places whose distances are compared


@dataclass(frozen=True)
class ContactRows:
    """All nodes that carry force, of all pairs, as rows."""

    touches: list[Touch]
    nodes: list[Ints]  # of each touch
    rows: Rows
    a: Ints  # (r,) body of the surfel
    b: Ints  # (r,) the other one
    key: Ints  # (r,) stable ids
    force: Floats  # (r,) [N]
    gap: Floats  # (r,) [m] before deformation
    area: Floats  # (r,) [m^2]

    def parts(self) -> list[slice]:
        """Rows of each touch."""
        ends = np.cumsum([0, *(len(n) for n in self.nodes)])
        return [slice(int(i), int(j)) for i, j in zip(ends[:-1], ends[1:], strict=True)]


class LastRows:
    """The last rows: a step that is taken again, shorter, starts from the same contacts. Rows follow from them, so no result changes."""

    def __init__(self, rest: Rest) -> None:
        self.patch: ContactRows | None = None

    def of(self, motion: Motion, touches: list[Touch]) -> ContactRows:
        """The rows of these contacts, made anew if they are not the last ones."""
        known = [] if self.patch is None else self.patch.touches
        if self.patch is None or len(known) != len(touches) or any(a is not b for a, b in zip(known, touches, strict=True)):
            self.patch = rows_of(motion, touches)
        return self.patch


def rows_of(motion: Motion, touches: list[Touch]) -> ContactRows:
    """Rows of the nodes that carry force."""
    nodes = [np.flatnonzero(t.result.contact) for t in touches]
    point, weight, normal, at, a, b, key = [], [], [], [], [], [], []
    for touch, chosen in zip(touches, nodes, strict=True):
        result = touch.result
        owner = result.owner[chosen]
        points, weights = np.zeros((len(chosen), WIDTH), np.int64), np.zeros((len(chosen), WIDTH))
        for side in (0, 1):
            mine = np.flatnonzero(owner == side)
            if len(mine):
                points[mine], weights[mine] = _supports(motion, touch, side, chosen[mine])
        point.append(points)
        weight.append(weights)
        normal.append(directions(touch.sides, result, chosen))
        moved = result.deformed[chosen] - result.points[chosen]
        at.append(result.points[chosen] + np.sum(moved * normal[-1], axis=1, keepdims=True) * normal[-1])
        a.append(np.where(owner == 0, touch.a, touch.b))
        b.append(np.where(owner == 0, touch.b, touch.a))
        key.append(touch.keys(chosen))
    rows = Rows.dense(np.concatenate(point), np.concatenate(weight), np.concatenate(normal), np.concatenate(at))
    force, gap, area = (
        np.concatenate([getattr(t.result, name)[n] for t, n in zip(touches, nodes, strict=True)]) for name in ("P", "gap", "areas")
    )
    return ContactRows(touches, nodes, rows, np.concatenate(a), np.concatenate(b), np.concatenate(key), force, gap, area)


def _supports(motion: Motion, touch: Touch, side: int, chosen: Ints) -> tuple[Ints, Floats]:
    """(skin points, signed weights), (k, WIDTH): plus on the body of the nodes, minus on the other."""
    carried, result = motion.kept(Carried), touch.result
    bodies = (touch.a, touch.b)
    own, other = bodies[side], bodies[1 - side]
    if result.level == 0:
        surfel = carried.start[own] + result.sample[chosen]
    else:
        surfel = _nearest(carried, own, touch.sides[side], result.points[chosen])
    points, weights = np.zeros((len(chosen), WIDTH), np.int64), np.zeros((len(chosen), WIDTH))
    points[:, :3], weights[:, :3] = carried.point[surfel], carried.weight[surfel]
    if carried.riding[other] is None:  # a plane
        points[:, 3:], weights[:, 3] = motion.bodies.anchor[other], -1.0
        return points, weights
    corner, share = _feet_on(carried, other, touch.sides[1 - side], result.deformed[chosen])
    points[:, 3:] = carried.point[corner].reshape(len(chosen), 9)
    weights[:, 3:] = -(share[:, :, None] * carried.weight[corner]).reshape(len(chosen), 9)
    return points, weights


def _local(side: Side, points: Floats) -> Floats:
    return np.ascontiguousarray((points - side.translation) @ side.rotation)


def _nearest(carried: Carried, body: int, side: Side, points: Floats) -> Ints:
    """Surfels nearest to points of the world."""
    samples = side.shape if not carried.exact[body] else carried.rest(body)
    return carried.start[body] + samples.nearest(_local(side, points))  # type: ignore[union-attr]


def _feet_on(carried: Carried, body: int, side: Side, points: Floats) -> tuple[Ints, Floats]:
    """(surfels, weights), (k, 3): the triangle between surfels that each point lies over; one surfel where there are no triangles."""
    samples = side.shape if not carried.exact[body] else carried.rest(body)
    near = _nearest(carried, body, side, points)
    corner, share = np.repeat(near[:, None], 3, axis=1), np.zeros((len(points), 3))
    share[:, 0] = 1.0
    offsets, indices = carried.around
    _triangles(_local(side, points), near, samples.points, carried.start[body], carried.faces, offsets, indices, corner, share)  # type: ignore[union-attr]
    return corner, share


@kernel
def _triangles(queries, near, points, first, faces, offsets, indices, corner, share):  # type: ignore[no-untyped-def]
    """Of the triangles around the nearest surfel the one over which a query lies best: largest smallest barycentric coordinate."""
    for q in range(len(queries)):
        best = -1e300
        for k in range(offsets[near[q]], offsets[near[q] + 1]):
            f = indices[k]
            a, b, c = load(points, faces[f, 0] - first), load(points, faces[f, 1] - first), load(points, faces[f, 2] - first)
            n = cross(sub(b, a), sub(c, a))
            size = dot(n, n)
            if size == 0.0:
                continue
            d = sub(load(queries, q), a)
            v, w = dot(cross(d, sub(c, a)), n) / size, dot(cross(sub(b, a), d), n) / size
            u = 1.0 - v - w
            least = min(u, v, w)
            if least > best:
                best = least
                u, v, w = max(u, 0.0), max(v, 0.0), max(w, 0.0)
                total = u + v + w
                corner[q, 0], corner[q, 1], corner[q, 2] = faces[f, 0], faces[f, 1], faces[f, 2]
                share[q, 0], share[q, 1], share[q, 2] = u / total, v / total, w / total


def directions(sides: tuple[Side, Side], result: ContactResult, chosen: Ints) -> Floats:
    """(k, 3) unit vectors out of the surface that each chosen node meets, towards its own."""
    out = np.empty((len(chosen), 3))
    for i in (0, 1):
        mine = np.flatnonzero(result.owner[chosen] == i)
        if len(mine):
            nodes, own, met = chosen[mine], sides[i], sides[1 - i]
            out[mine] = own.compliance * gradients(met, result.points[nodes])
            if met.compliance > 0.0:
                out[mine] -= met.compliance * coarser(own, result.level).normals(result.sample[nodes])
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-300)


def gradients(side: Side, points: Floats) -> Floats:
    """(n, 3) unit gradients of the distance to a shape."""
    feet = side.project(points)
    n = feet.normals
    if isinstance(side.shape, Exact) or len(points) == 0:
        return n
    assert isinstance(side.shape, PointSurface)
    one = np.cross(n, np.eye(3)[np.argmin(np.abs(n), axis=1)])
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    step = BESIDE * side.shape.spacing[feet.sample][:, None]
    across = np.stack([one, np.cross(n, one)])
    places = np.stack([points + step * across, points - step * across])
    found = side.project(places.reshape(-1, 3), np.tile(feet.sample, 4)).distance.reshape(2, 2, -1)
    slope = (found[0] - found[1]) / (2.0 * step[:, 0])
    slope = np.where(np.abs(slope) < 1.0, slope, 0.0)  # no distance is steeper: a jump from one part of the surface to another
    gradient = n + np.sum(slope[:, :, None] * across, axis=0)
    return gradient / np.linalg.norm(gradient, axis=1, keepdims=True)


def shown(motion: Motion, touches: list[Touch]) -> Floats:
    """Displacement of all skin points at the end of the step [m], (p, 3): drawn and recorded, never simulated."""
    carried, out = motion.kept(Carried), np.zeros_like(motion.end)
    for touch in touches:
        for which, body in enumerate((touch.a, touch.b)):
            side = touch.sides[which]
            if side.response is None or side.nodes is None:
                continue
            moved = deformed(side, touch.result, which)[0] - side.world(side.nodes.points)
            surfel = np.arange(carried.start[body], carried.start[body + 1])
            whole = np.flatnonzero(carried.weight[surfel, 0] == 1.0)
            out[carried.point[surfel[whole], 0]] += moved[whole]
    return out
