"""An even sampling of the contact surface of two bodies: relaxation, deletion and insertion until nothing changes (4.4 of the methods).

Points push their neighbours away within 1.6 spacings along the surface and are put back onto F = 0 along its gradient; of two nearer than
0.6 spacings one goes; where neighbours leave more than 120 degrees free and there is common volume beyond, one is added. Normals are the
principal axes of neighbourhoods, turned to the side of n_a - n_b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.field import LOST
from pliant.contact.point_surface.surfaces import Surfaces
from pliant.detect.surfels.areas import rims
from pliant.detect.surfels.neighbours import KDTree, UniformGrid
from pliant.detect.surfels.scan_normals import principal_normals
from pliant.kernels import axpy, kernel, load, norm, scale, store, sub

REACH = 1.6  # spacings within which points push each other away
PACE = 0.2  # of the reach: how far in one round
ROUNDS, LOOPS = 10, 6  # of relaxation, and of relaxation with insertion and deletion
NEAREST = 0.6  # spacings
AROUND = 8  # neighbours that must leave no gap
NEXT = 1.5  # spacings within which they are neighbours
BACK = 8  # steps back onto the surface
CLOSE = 1e-5  # of the spacing: how near to F = 0
OUTSIDE = 0.05  # of the spacing


@dataclass
class Between:
    """The contact surface of one pair of bodies as a field."""

    surfaces: Surfaces
    a: int
    b: int
    share: float  # part of the overlap that a gives way
    spacing: float  # [m] wanted

    def field(self, points: Floats, sample: Ints) -> tuple[Floats, Floats, np.ndarray, Ints]:
        """F (m,) [m], its gradient (m, 3) with the fields' normals, whether inside both, and the samples (m, 2) it found."""
        out = [self.surfaces.distances(points, np.full(len(points), body), sample[:, k]) for k, body in enumerate((self.a, self.b))]
        (fa, na, sa, ia), (fb, nb, sb, ib) = out
        most = OUTSIDE * self.spacing
        inside = (sa != LOST) & (sb != LOST) & (fa < most) & (fb < most)
        value = (1.0 - self.share) * fa - self.share * fb
        return value, (1.0 - self.share) * na - self.share * nb, inside, np.stack([ia, ib], axis=1)

    def onto(self, points: Floats, sample: Ints) -> tuple[Floats, Ints, np.ndarray]:
        """Points put onto F = 0 along the gradient, their samples, and which of them are there and in both bodies."""
        start = points
        for _ in range(BACK):
            value, gradient, inside, sample = self.field(points, sample)
            if (np.abs(value) < CLOSE * self.spacing).all():
                break
            square = np.maximum(np.einsum("ri,ri->r", gradient, gradient), 1e-12)
            points = points - (value / square)[:, None] * gradient
        near = np.linalg.norm(points - start, axis=1) < self.spacing
        return points, sample, inside & near & (np.abs(value) < CLOSE * self.spacing)


@dataclass
class ContactSurface:
    """Even samples of the surface on which two bodies meet."""

    points: Floats  # (m, 3) [m]
    normals: Floats  # (m, 3) to the side of n_a - n_b
    sample: Ints  # (m, 2) nearest surfels of a and b
    rounds: int  # of relaxation that it took


def resampled(between: Between, points: Floats, sample: Ints) -> ContactSurface:
    """Spread points of a contact surface evenly over all of it."""
    points, sample, kept = between.onto(points, sample)
    points, sample, total = points[kept], sample[kept], 0
    for _ in range(LOOPS):
        points, sample = _thinned(points, sample, between.spacing)
        for _ in range(ROUNDS):
            total += 1
            points, sample, moved = _relaxed(between, points, sample)
            if moved < 0.01 * between.spacing:
                break
        points, sample, added = _filled(between, points, sample)
        if added <= 0.01 * len(points):
            break
    return ContactSurface(points, _normals(between, points, sample), sample, total)


def _relaxed(between: Between, points: Floats, sample: Ints) -> tuple[Floats, Ints, float]:
    """One round: apart, along the surface, back onto it; and how far points moved at most."""
    if len(points) < 2:
        return points, sample, 0.0
    reach = REACH * between.spacing
    _, gradient, _, _ = between.field(points, sample)
    start, near = UniformGrid(points, reach).within(points, reach)
    push = np.zeros_like(points)
    _apart(points, gradient, start, near, reach, push)
    moved, sample, kept = between.onto(points + PACE * reach * push, sample)
    return moved[kept], sample[kept], float(np.linalg.norm((moved - points)[kept], axis=1).max(initial=0.0))


@kernel
def _apart(points, gradient, start, near, reach, push):  # type: ignore[no-untyped-def]
    """sum_j (1 - d / r) (x_i - x_j) / d, across the gradient."""
    for i in range(len(points)):
        x, u, n = load(points, i), (0.0, 0.0, 0.0), load(gradient, i)
        for c in range(start[i], start[i + 1]):
            d = sub(x, load(points, near[c]))
            length = norm(d)
            if length > 0.0:
                u = axpy((1.0 - length / reach) / length, d, u)
        n = scale(1.0 / max(norm(n), 1e-300), n)
        store(push, i, axpy(-(u[0] * n[0] + u[1] * n[1] + u[2] * n[2]), n, u))


def _thinned(points: Floats, sample: Ints, spacing: float) -> tuple[Floats, Ints]:
    """Without points nearer than 0.6 spacings to one that is kept."""
    if len(points) == 0:
        return points, sample
    start, near = UniformGrid(points, NEAREST * spacing).within(points, NEAREST * spacing)
    kept = np.ones(len(points), bool)
    _thin(start, near, kept)
    return points[kept], sample[kept]


@kernel
def _thin(start, near, kept):  # type: ignore[no-untyped-def]
    for i in range(len(kept)):
        for c in range(start[i], start[i + 1]):
            if near[c] < i and kept[near[c]]:
                kept[i] = False
                break


def _filled(between: Between, points: Floats, sample: Ints) -> tuple[Floats, Ints, int]:
    """With points added where the surface goes on without neighbours, and how many."""
    if len(points) < 4:
        return points, sample, 0
    far, graph = KDTree(points).nearest(points, min(AROUND + 1, len(points)))
    graph = np.where(far < NEXT * between.spacing, graph, graph[:, :1])  # what is beyond a hole does not fill it
    gap, out = rims(points, _normals(between, points, sample), graph)
    at = np.flatnonzero(gap)
    new, found, kept = between.onto(points[at] + between.spacing * out[at], sample[at])
    new, found = _thinned(new[kept], found[kept], between.spacing)
    if len(new) == 0:
        return points, sample, 0
    alone = KDTree(points).nearest(new, 1)[0][:, 0] > NEAREST * between.spacing
    return np.concatenate([points, new[alone]]), np.concatenate([sample, found[alone]]), int(alone.sum())


def _normals(between: Between, points: Floats, sample: Ints) -> Floats:
    """Principal axes, to the side of the gradient."""
    gradient = between.field(points, sample)[1]
    if len(points) < 4:
        return gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
    graph = KDTree(points).nearest(points, min(AROUND + 1, len(points)))[1]
    normals, _ = principal_normals(points, graph, AROUND + 1)
    side = np.einsum("ri,ri->r", normals, gradient)
    return np.where(side[:, None] < 0.0, -normals, normals)
