"""The contact surface sampled anew, `resample` (theory/point-surface-contact 6): relaxation, deletion and insertion until nothing changes.

Points push their neighbours away within 1.5 spacings along the surface and are put back onto F = 0 along its gradient; of two nearer than
0.6 spacings one goes; where neighbours leave more than 120 degrees free and there is common volume beyond, one is added. Normals are the
principal axes of neighbourhoods, turned to the side of n_a - n_b. As printed by Keiser et al., for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.point_surface.implicit_surfaces import LOST, Surfaces
from pliant.detect.hash_grid import HashGrid, thinned
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.projection import CLOSE, NEARLY
from pliant.detect.surfels.rims import rims
from pliant.detect.surfels.scan_normals import principal_normals
from pliant.kernels import axpy, kernel, load, norm, scale, store, sub

NEXT = 1.5  # spacings within which points are neighbours: those of a square or a hexagon of points
NEAREST = 0.6  # spacings: of two nearer points one goes; more would leave holes of a spacing
ROUNDS, LOOPS = 10, 6  # of relaxation, and of relaxation with insertion and deletion
AROUND = 8  # neighbours that must leave no gap
BACK = 8  # steps back onto the surface


@dataclass
class PairField:
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
        most = NEARLY * self.spacing
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


def resampled(between: PairField, points: Floats, sample: Ints) -> ContactSurface:
    """Spread points of a contact surface evenly over all of it."""
    points, sample, kept = between.onto(points, sample)
    points, sample = points[kept], sample[kept]
    for _ in range(LOOPS):
        points, sample = _thinned(points, sample, between.spacing)
        for _ in range(ROUNDS):
            points, sample = _relaxed(between, points, sample)
        points, sample, added = _filled(between, points, sample)
        if not added:
            break
    return ContactSurface(points, _normals(between, points, sample), sample)


def _relaxed(between: PairField, points: Floats, sample: Ints) -> tuple[Floats, Ints]:
    """One round: apart, along the surface, back onto it; what would leave it stays, or those within would push all of a small one out."""
    if len(points) < 2:
        return points, sample
    reach = NEXT * between.spacing
    _, gradient, _, _ = between.field(points, sample)
    start, near = HashGrid(points, reach).within(points, reach)
    push = np.zeros_like(points)
    _apart(points, gradient, start, near, reach, push)
    moved, found, kept = between.onto(points + reach * push, sample)
    return np.where(kept[:, None], moved, points), np.where(kept[:, None], found, sample)


@kernel
def _apart(points, gradient, start, near, reach, push):  # type: ignore[no-untyped-def]
    """The mean of (1 - d / r) (x_i - x_j) / d over neighbours j, across the gradient."""
    for i in range(len(points)):
        x, u, n = load(points, i), (0.0, 0.0, 0.0), load(gradient, i)
        for c in range(start[i], start[i + 1]):
            d = sub(x, load(points, near[c]))
            length = norm(d)
            if length > 0.0:
                u = axpy((1.0 - length / reach) / length, d, u)
        u = scale(1.0 / max(start[i + 1] - start[i], 1), u)
        n = scale(1.0 / max(norm(n), 1e-300), n)
        store(push, i, axpy(-(u[0] * n[0] + u[1] * n[1] + u[2] * n[2]), n, u))


def _thinned(points: Floats, sample: Ints, spacing: float) -> tuple[Floats, Ints]:
    """Without points nearer than 0.6 spacings to one that is kept."""
    kept = np.unique(thinned(points, NEAREST * spacing))
    return points[kept], sample[kept]


def _filled(between: PairField, points: Floats, sample: Ints) -> tuple[Floats, Ints, int]:
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


def _normals(between: PairField, points: Floats, sample: Ints) -> Floats:
    """Principal axes, to the side of the gradient."""
    gradient = between.field(points, sample)[1]
    if len(points) < 4:
        return gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
    graph = KDTree(points).nearest(points, min(AROUND + 1, len(points)))[1]
    normals, _ = principal_normals(points, graph, AROUND + 1)
    side = np.einsum("ri,ri->r", normals, gradient)
    return np.where(side[:, None] < 0.0, -normals, normals)
