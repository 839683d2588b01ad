"""What Keiser et al. print where the method does something else: for comparison, each behind an option of its own.

Forces (`force = "closest"`): springs between the surfels of both bodies that are closest to each contact surfel, (4) to (7). With a spring
k on either side the force on A is -(k / 2)(s_1 - s_2): the contact surface itself drops out of it (theory/point-surface-contact 7.1). It
jumps when another surfel becomes the closest one, so energy drifts by some percent a collision.

Distribution (`distribution = "keiser"`): impulses go to the volume points around the contact by Shepard weights, (8): forces add up,
moments do not (theory/point-surface-contact 8.1). Friction (`friction = "published"`): (5), sliding at full strength for any speed
(theory/point-surface-contact 7.5).

The contact surface sampled anew, `resample` (theory/point-surface-contact 6): relaxation, deletion and insertion until nothing changes.

Points push their neighbours away within 1.5 spacings along the surface and are put back onto F = 0 along its gradient; of two nearer than
0.6 spacings one goes; where neighbours leave more than 120 degrees free and there is common volume beyond, one is added. Normals are the
principal axes of neighbourhoods, turned to the side of n_a - n_b. As printed by Keiser et al., for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import Friction, coulomb, tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.point_surface.colliding_surfels import Candidates, Hits, colliding, nearest_surfels
from pliant.contact.point_surface.contact_surface import moved_to_contact
from pliant.contact.point_surface.detection import Detection, remembered
from pliant.contact.point_surface.energy_account import Accounts, Pushed
from pliant.contact.point_surface.implicit_surfaces import LOST, Surfaces
from pliant.contact.point_surface.self_and_volume_contact import VolumePoints
from pliant.contact.point_surface.smooth_gap import normal_impulses
from pliant.contact.point_surface.stiffness import stiffness_of
from pliant.contact.point_surface.surfel_rows import closest_rows
from pliant.detect.hash_grid import HashGrid, thinned
from pliant.detect.surfels.areas import neighbour_areas, rims
from pliant.detect.surfels.neighbours import KDTree
from pliant.detect.surfels.projection import CLOSE, NEARLY
from pliant.detect.surfels.scan_normals import principal_normals
from pliant.kernels import axpy, kernel, load, norm, scale, store, sub
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.contact.point_surface.method import Options

DENSITY = 8  # neighbours that say how dense the contact surface is, (7)
LEAST = 6  # volume points that take part at least


@dataclass
class Springs:
    """Contact surfels with the closest surfel of either body; body a has surfels, b may be an exact shape."""

    a: Ints
    b: Ints
    at: Floats  # (r, 3) [m] the contact surfel
    one: Ints  # (r,) closest surfel of a
    two: Ints  # (r,) of b, -1 for an exact shape
    vector: Floats  # (r, 3) [m] from one to two
    area: Floats  # (r,) [m^2]
    scale: Floats  # (r,) what forces per area are multiplied with

    @staticmethod
    def joined(parts: list[Springs]) -> Springs:
        return Springs(*(np.concatenate([getattr(p, n) for p in parts]) for n in Springs.__dataclass_fields__))


def respond_closest(options: Options, motion: Motion, seen: Detection, memory: Memory) -> Answer:
    """Springs of all pairs, pushed at once."""
    parts = springs_of_pairs(options, motion, seen)
    if not parts:
        return Answer(Contacts.none(motion.dt), remembered(motion, seen))
    springs, carried = Springs.joined(parts), seen.prepared.carried
    length = np.linalg.norm(springs.vector, axis=1)
    normal = springs.vector / np.maximum(length, 1e-300)[:, None]
    rows = closest_rows(motion, carried, springs.one, springs.two, springs.b, normal, springs.at)
    if options.distribution == "keiser":
        rows = keiser_rows(motion, seen.prepared.volume, springs.a, springs.b, normal, springs.at)
    k, c = stiffness_of(options, motion, seen, springs.a, springs.b)
    impulse = normal_impulses(motion, rows, -length, springs.scale, k, options.damping_counts * c)
    mu_s, mu_d = motion.pairs.friction(springs.a, springs.b)
    none = np.zeros_like(normal)  # contact surfels are new in every step: nothing to anchor friction to
    if options.friction == "published":
        friction = published_friction(motion, rows, impulse, mu_d)
    elif mu_s.any():
        friction = coulomb(motion, rows, impulse, mu_s, mu_d, none)
    else:
        friction = Friction(none, np.zeros(len(rows), bool), none)
    accounts = Accounts.of(motion, memory, springs.a, springs.b, 0.5 * springs.scale * k * length**2)
    push = Pushed(motion, rows, np.arange(len(rows)), start=True, damped=c > 0.0)
    push.impulse, push.elastic = impulse, motion.dt * springs.scale * k * length
    motion.push(rows, impulse[:, None] * normal + friction.impulse, start=True)
    accounts.shorten(motion, push, friction, options.sweeps)
    accounts.book(motion, push)
    impulse = push.impulse
    slip = tangential(motion.slide(rows), normal)
    contacts = Contacts(
        a=springs.a, b=springs.b, feature_a=carried.point[springs.one, 0],
        feature_b=np.where(springs.two >= 0, carried.point[np.maximum(springs.two, 0), 0], -1), point=springs.at, normal=normal,
        gap=-length, impulse=impulse, friction_impulse=friction.impulse,
        sticking=friction.sticks.astype(np.float64), slip=slip, area=springs.area,
        dt=motion.dt, support=Support.of(rows),
    )  # fmt: skip
    return Answer(contacts, remembered(motion, seen) | accounts.memory(), warnings=seen.warnings(motion))


def springs_of_pairs(options: Options, motion: Motion, seen: Detection) -> list[Springs]:
    """Pair after pair, in the order of their bodies; as published, later pairs see what earlier ones moved
    (theory/point-surface-contact 9.1)."""
    surfaces, found, body = seen.surfaces, seen.found, seen.surfaces.fixed.body
    points = surfaces.points.copy()
    low, high = np.minimum(body[seen.hits.surfel], seen.hits.other), np.maximum(body[seen.hits.surfel], seen.hits.other)
    out = []
    for a, b in sorted(set(zip(low.tolist(), high.tolist(), strict=True))):
        hits = seen.hits.select((low == a) & (high == b))
        current = surfaces
        if options.order == "published":
            current = Surfaces(surfaces.fixed, points.copy(), surfaces.normals, surfaces.areas, surfaces.shapes)
            mine = np.minimum(body[found.surfel], found.other) == a
            mine &= np.maximum(body[found.surfel], found.other) == b
            some = Candidates(found.surfel[mine], found.other[mine], found.sample[mine])
            hits, _ = colliding(current, some, np.zeros((len(some), 3)))
        springs, moved = springs_of_pair(options, motion, current, seen, a, b, hits)
        points[hits.surfel[moved[1]]] = moved[0][moved[1]]
        if len(springs.a):
            out.append(springs)
    return out


def springs_of_pair(
    options: Options, motion: Motion, surfaces: Surfaces, seen: Detection, a: int, b: int, hits: Hits
) -> tuple[Springs, tuple[Floats, np.ndarray]]:
    """Contact surfels of one pair and the surfels closest to them; and where the hits went, and which of them."""
    body, sampled = surfaces.fixed.body, seen.prepared.sampled
    if not sampled[a]:
        a, b = b, a
    share = seen.prepared.compliance.share(body[hits.surfel], hits.other, options.weight)
    moved = moved_to_contact(surfaces, hits, share)
    at = moved.points[moved.kept]
    area = surfaces.areas[hits.surfel[moved.kept]] * (0.5 if sampled[b] else 1.0)
    if options.resample and len(at):
        mine = body[hits.surfel] == a
        sample = np.stack([np.where(mine, hits.surfel, hits.sample), np.where(mine, hits.sample, hits.surfel)], axis=1)
        spacing = min(surfaces.wide[k] for k in (a, b) if sampled[k])
        share_a = float(seen.prepared.compliance.share(np.array([a]), np.array([b]), options.weight)[0])
        at = resampled(PairField(surfaces, a, b, share_a, float(spacing)), at, sample[moved.kept]).points
        area = np.full(len(at), area.sum() / max(len(at), 1))  # the same surface, in even parts; densities are wrong where all is rim
    one, two = (nearest_surfels(surfaces, at, np.full(len(at), body)) for body in (a, b))
    there = surfaces.points[np.maximum(two, 0)]
    if not sampled[b]:
        gap, normal, _, _ = surfaces.distances(at, np.full(len(at), b), two)
        there = at - gap[:, None] * normal
    good = (one >= 0) & ((two >= 0) | (not sampled[b]))
    rho = 1.0 / _density_areas(at, float(area.mean()) if len(area) else 1.0)
    scale = {"area": area, "rho": rho, "none": np.ones(len(at))}[options.scale]
    vector = there - surfaces.points[np.maximum(one, 0)]
    made = Springs(np.full(len(at), a), np.full(len(at), b), at, one, two, vector, area, scale)
    return Springs(*(getattr(made, n)[good] for n in Springs.__dataclass_fields__)), (moved.points, moved.kept)


def _density_areas(points: Floats, mean: float) -> Floats:
    """pi r_k^2 / k of each point, k = 8; too few points have the mean area."""
    if len(points) < 3:
        return np.full(len(points), mean)
    return neighbour_areas(KDTree(points).nearest(points, min(DENSITY + 1, len(points)))[0], DENSITY)


# -- distribution and friction


def keiser_rows(motion: Motion, volume: VolumePoints, a: Ints, b: Ints, normal: Floats, at: Floats) -> Rows:
    """Volume points of both bodies around `at`, weights (h^2 - d^2)^3, h twice their support or wide enough for six."""
    parts = []
    for body, sign in ((a, 1.0), (b, -1.0)):
        for which in np.unique(body).tolist():
            rows = np.flatnonzero(body == which)
            points = volume.point[volume.body == which]
            if motion.bodies.frame[which] >= 0 or len(points) == 0:
                parts.append((rows, np.full(len(rows), motion.bodies.anchor[which]), np.full(len(rows), sign)))
                continue
            row, point, weight = shepard(at[rows], motion.start[points], 2.0 * float(volume.support[which]))
            parts.append((rows[row], points[point], sign * weight))
    row = np.concatenate([p[0] for p in parts])
    order = np.argsort(row, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(at)))]).astype(np.int64)
    point, weight = (np.concatenate([p[k] for p in parts])[order] for k in (1, 2))
    return Rows(start, point.astype(np.int64), weight.astype(np.float64), normal, at)


def shepard(at: Floats, points: Floats, h: float) -> tuple[Ints, Ints, Floats]:
    """(row, point, weight): weights of the points around each place, (8) of Keiser et al.; theory/point-surface-contact 8.1."""
    k = min(LEAST, len(points))
    far, _ = KDTree(points).nearest(at, k)
    radius = np.maximum(h, (1.0 + 1e-9) * far[:, -1])
    square = ((at[:, None] - points[None]) ** 2).sum(axis=2)
    weight = np.maximum(radius[:, None] ** 2 - square, 0.0) ** 3
    weight /= weight.sum(axis=1, keepdims=True)
    row, point = np.nonzero(weight)
    return row, point, weight[row, point]


def published_friction(motion: Motion, rows: Rows, impulse: Floats, mu: Floats) -> Friction:
    """(5) of Keiser et al.: mu |f| against the tangential velocity, whatever its size; none where it is exactly zero."""
    slip = tangential(motion.slide(rows), rows.normal)
    size = np.linalg.norm(slip, axis=1)
    against = np.divide(slip, size[:, None], out=np.zeros_like(slip), where=size[:, None] > 0.0)
    return Friction(-(mu * impulse)[:, None] * against, np.zeros(len(rows), bool), np.zeros_like(slip))


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
