"""Steps that would carry a surface through another, whatever the method: seen before contact is computed, and cut short.

A method that looks where the step ends sees nothing of what went through within it, and takes for the way out the other side if more
than half of a body was crossed. So a step goes on only until

* just before a fast pair touches, so that what pushes there is made for steps as short as this contact needs, then
* as far as the pair gets DEEP of half the thickness of the thinner one deeper than it is at the start.

Pairs that move against each other by less than that cannot pass; that is all that is looked at in most steps. Nothing comes out of a plane,
and a surface with a rim has no inside: with these only the thickness of the other counts. Exact shapes are looked at as what they
are (detect/swept.py), other surfaces by their vertices, faces and edges (detect/swept_faces.py). A method that follows these itself
(`follows = "features"`) holds what it has seen coming: there a step ends only where they would go through by the whole thickness.

Limitations: bodies with themselves, and bodies without faces (points), are not looked at; rigid bodies without an exact shape turn by at
most TURNED in a step that brings them near others, because their points go on chords.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.body_pairs import overlapping, swept_boxes
from pliant.detect.feature_pairs import FeatureTree
from pliant.detect.penetration import Penetration
from pliant.detect.shapes import BOX, NO_SHAPE, PLANE
from pliant.detect.swept import Ways, shapes_touch, shapes_touch_faces, turns
from pliant.detect.swept_faces import faces_cross
from pliant.detect.thickness import Thickness
from pliant.model import Rest
from pliant.world.motion import Motion

DEEP = 0.25  # of half the thickness of the thinner body: how much deeper two bodies get in a step; what stops within four can be seen
TURNED = 0.5  # [rad] of a rigid body that is its triangles, near others, in a step: points then leave their chords by 3 % of their distance
EARLY = 8  # parts of the depth: so near to the touch ends the step before it
ENOUGH = 4  # parts of the depth: what would go further by less is let go


@dataclass(frozen=True)
class Cut:
    """A step that is cut short."""

    part: float  # of the step that is taken
    a: int  # the two bodies that would pass
    b: int


class Surfaces:
    """A tree over the faces of all bodies: `motion.kept(Surfaces)`."""

    def __init__(self, rest: Rest) -> None:
        self.tree = FeatureTree.build(rest.points, rest.skin.faces, rest.bodies.face_start)


@dataclass(frozen=True)
class Fast:
    """Pairs of bodies that move so fast against each other that they might pass."""

    a: Ints  # (k,)
    b: Ints
    depth: Floats  # [m] (k,) how much deeper they may get
    way: Floats  # [m] (k,) how far they move against each other, at most
    turn: Floats  # [rad] (f, 3) of all frames

    def __len__(self) -> int:
        return len(self.a)

    def select(self, rows: np.ndarray) -> Fast:
        return Fast(self.a[rows], self.b[rows], self.depth[rows], self.way[rows], self.turn)


def passing(motion: Motion, follows: list[str]) -> Cut | None:
    """What would pass first in this step, and how much of it can be taken; follows: what each method of the scene sees by itself."""
    fast, by_faces = fast_pairs(motion, follows)
    if len(fast) == 0:
        return None
    known = (motion.bodies.analytic[np.stack([fast.a, fast.b])] != NO_SHAPE).sum(axis=0)
    found = [
        *_turned(motion, fast.select(by_faces)),
        *_by_faces(motion, fast.select(by_faces)),
        *_by_shapes(motion, fast.select(~by_faces & (known == 2)), True),
        *_by_shapes(motion, fast.select(~by_faces & (known == 1)), False),
    ]
    first = min(found, key=lambda cut: (cut.part, cut.a, cut.b), default=None)
    return first if first is not None and first.part < 1.0 else None


def fast_pairs(motion: Motion, follows: list[str]) -> tuple[Fast, np.ndarray]:
    """Pairs that might pass, and which of them are looked at by their faces, (k,) bool."""
    bodies, thick = motion.bodies, motion.kept(Thickness)
    none = Fast(*(np.zeros(0, np.int64),) * 2, *(np.zeros(0),) * 2, np.zeros((0, 3)))
    framed = np.flatnonzero(bodies.frame >= 0)
    f = bodies.frame[framed]
    turn = turns(motion.rotation_start, motion.rotation, motion.dt * motion.angular_velocity())
    round_about = np.linalg.norm(turn[f], axis=1) * thick.reach[framed]
    # how all points of each body move, as a box; those of soft bodies one by one
    first = bodies.point_start[:-1]
    last = np.where(bodies.frame >= 0, first, first + bodies.surface)
    low, high = swept_boxes(first, last, motion.end - motion.start, motion.end - motion.start)
    shift = motion.position - motion.position_start
    low[framed], high[framed] = shift[f] - round_about[:, None], shift[f] + round_about[:, None]
    pace = np.linalg.norm(np.maximum(np.abs(low), np.abs(high)), axis=1)
    pace[~np.isfinite(pace)] = 0.0  # has no points
    fastest = np.sort(pace)[-2:].sum()
    if len(bodies) < 2 or fastest <= DEEP * thick.half.min():
        return none, np.zeros(0, bool)
    pairs = overlapping(*_swept(motion, thick))
    a, b = pairs.T
    way = np.linalg.norm(np.maximum(np.abs(high[a] - low[b]), np.abs(high[b] - low[a])), axis=1)
    least = np.minimum(thick.half[a], thick.half[b])
    least[(bodies.analytic[pairs] == PLANE).any(axis=1)] = np.inf
    near = way > DEEP * least
    a, b, way, least, table = a[near], b[near], way[near], least[near], motion.pairs
    depth, features = np.full(len(a), np.inf), np.isin(bodies.analytic, (NO_SHAPE, BOX))
    solid, by_faces = np.diff(bodies.face_start) > 0, np.zeros(len(a), bool)
    for index, sees in enumerate(follows):
        mine = table.for_method(index).meet(a, b) & (sees != "everything")
        own = mine & (sees == "features") & features[a] & features[b]
        depth[mine], by_faces[own] = DEEP * least[mine], True
        depth[own] = 2.0 * least[own]
    known = bodies.analytic[np.stack([a, b])] != NO_SHAPE
    by_faces |= ~known.any(axis=0)
    fast = (way > depth) & (known[0] | solid[a]) & (known[1] | solid[b])
    return Fast(a, b, depth, way, turn).select(fast), by_faces[fast]


def _swept(motion: Motion, thick: Thickness) -> tuple[Floats, Floats]:
    """Boxes of all bodies on their way (B, 3), however they turn; none of a plane."""
    bodies = motion.bodies
    first = bodies.point_start[:-1]
    low, high = swept_boxes(first, np.where(bodies.frame >= 0, first, first + bodies.surface), motion.start, motion.end)
    framed = np.flatnonzero((bodies.frame >= 0) & (bodies.analytic != PLANE))
    f, reach = bodies.frame[framed], thick.reach[framed, None]
    low[framed] = np.minimum(motion.position_start[f], motion.position[f]) - reach
    high[framed] = np.maximum(motion.position_start[f], motion.position[f]) + reach
    return low, high


def _cuts(fast: Fast, touch: Floats, deep: Floats) -> list[Cut]:
    """Where pairs that touch and get deep at these parts of the step end it: just before the touch, or deep if they touch at the start."""
    go_on = np.isfinite(deep) & ((1.0 - deep) * fast.way > fast.depth / ENOUGH)
    part = np.where(touch > 0.5 * deep, touch, deep)
    return [Cut(float(part[k]), int(fast.a[k]), int(fast.b[k])) for k in np.flatnonzero(go_on)]


def _by_shapes(motion: Motion, fast: Fast, both: bool) -> list[Cut]:
    """Pairs of exact shapes, or of one with triangles."""
    if len(fast) == 0:
        return []
    bodies, skin = motion.bodies, motion.skin
    ways = Ways(bodies.shapes(motion.position_start, motion.rotation_start), motion.position - motion.position_start, fast.turn)
    first = bodies.analytic[fast.a] != NO_SHAPE
    a, b = np.where(first, fast.a, fast.b), np.where(first, fast.b, fast.a)

    def touch(rows: Ints, shrink: Floats) -> Floats:
        given = (ways, a[rows], b[rows], shrink, fast.depth[rows] / EARLY)
        if both:
            return shapes_touch(*given)
        return shapes_touch_faces(*given, motion.start, motion.end, skin.faces, bodies.face_start)

    deep, rows, depth = np.full(len(fast), np.inf), np.arange(len(fast)), fast.depth.copy()
    while len(rows):  # those that are deeper than that at the start may go deeper still, until no more than half of a body is left
        deep[rows] = touch(rows, 0.5 * depth[rows] if both else depth[rows])
        depth *= 2.0
        rows = rows[(deep[rows] == 0.0) & (depth[rows] < fast.depth[rows] / DEEP)]
    deep[deep == 0.0] = np.inf  # more than half through already: no step is short enough
    rows = np.flatnonzero(np.isfinite(deep))
    first_touch = np.zeros(len(fast))
    first_touch[rows] = touch(rows, np.zeros(len(rows)))
    return _cuts(fast, first_touch, deep)


def _by_faces(motion: Motion, fast: Fast) -> list[Cut]:
    """Pairs of surfaces: what crosses, and points that are inside and go on inwards."""
    if len(fast) == 0:
        return []
    count, body = len(motion.bodies), motion.skin.body
    found = faces_cross(motion.kept(Surfaces).tree, motion.start, motion.end, np.stack([fast.a, fast.b], axis=1), float(fast.depth.min()))
    inside = _inwards(motion, fast)
    one, two = body[found.corners[:, 0]], body[found.corners[:, 3]]
    key = np.concatenate([np.minimum(one, two) * count + np.maximum(one, two), inside[0]])
    time, way = np.concatenate([found.time, np.zeros(len(inside[0]))]), np.concatenate([found.way, inside[1]])
    pair = np.searchsorted(fast.a * count + fast.b, key)  # pairs are sorted
    depth = fast.depth[pair]
    over = (1.0 - time) * way > (1.0 + 1.0 / ENOUGH) * depth
    pair, time, way, depth = pair[over], time[over], way[over], depth[over]
    touch, deep = time - depth / (EARLY * way), time + depth / way
    part = np.where(touch > 0.5 * deep, touch, deep)
    return [Cut(float(part[k]), int(fast.a[pair[k]]), int(fast.b[pair[k]])) for k in np.argsort(part, kind="stable")[:1]]


def _inwards(motion: Motion, fast: Fast) -> tuple[Ints, Floats]:
    """(pair as a key, how far it goes on inwards in the step [m]) of points that start inside other bodies."""
    finder, count = motion.kept(Penetration), len(motion.bodies)
    fit = finder.fit(motion.start, motion.bodies.shapes(motion.position_start, motion.rotation_start))
    keys = fast.a * count + fast.b

    def meet(a: Ints, b: Ints) -> np.ndarray:
        return np.isin(np.minimum(a, b) * count + np.maximum(a, b), keys)

    hits = finder.find(fit, meet)
    way, faces = motion.end - motion.start, motion.skin.faces
    own = np.einsum("hi,hij->hj", hits.weights, way[faces[hits.face]])
    exact = hits.face < 0
    own[exact] = way[motion.bodies.anchor[hits.b[exact]]]
    inwards = -np.einsum("hi,hi->h", way[hits.point] - own, hits.normal)
    return np.minimum(hits.a, hits.b) * count + np.maximum(hits.a, hits.b), inwards


def _turned(motion: Motion, fast: Fast) -> list[Cut]:
    """Bodies that turn too far for chords."""
    angle = np.linalg.norm(fast.turn, axis=1)
    frame = motion.bodies.frame[np.stack([fast.a, fast.b])]
    most = np.where(frame >= 0, angle[frame], 0.0).max(axis=0)
    return [Cut(TURNED / float(most[k]), int(fast.a[k]), int(fast.b[k])) for k in np.flatnonzero(most > TURNED)]
