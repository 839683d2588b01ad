"""Steps that would carry a surface through another, whatever the method: seen before contact is computed, and cut short.

A method that looks where the step ends sees nothing of what went through within it, and takes for the way out the other side if more
than half of a body was crossed. So a step goes on only until

* just before the touch of two bodies that would get too deep, so that what pushes there is made for steps as short as this contact
  needs, then
* where they have got deeper by DEEP of half the thickness of the thinner one.

Pairs that move against each other by less cannot pass; that is all that is looked at in most steps. Nothing comes out of a plane, and a
surface with a rim has no inside: with these only the thickness of the other counts. Exact shapes are looked at as what they are
(detect/swept_shapes.py), other surfaces by their vertices, faces and edges (detect/swept_shapes.py). A method that follows these itself
(`follows = "features"`) holds what it has seen coming: there a step is cut only if they would go through by the whole thickness.

Limitations: bodies with themselves, and bodies without faces (points), are not looked at; rigid bodies without an exact shape turn by at
most TURNED in a step that brings them near others, because their points go on chords.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.detect.body_pairs import overlapping, swept_boxes
from pliant.detect.feature_pairs import FeatureTree
from pliant.detect.penetration import Hits, Penetration
from pliant.detect.shapes import BOX, NO_SHAPE, PLANE
from pliant.detect.swept_shapes import Poses, Ways, faces_cross, shapes_touch, shapes_touch_faces, turns, ways_of_bodies
from pliant.detect.thickness import Thickness
from pliant.model import Rest
from pliant.world.motion import Motion

DEEP = 0.25  # of half the thickness of the thinner body: how much deeper two bodies get in a step that is cut; methods need a few such
PASSING = 2  # times that: how much deeper they would have to get for it
TURNED = 0.5  # [rad] of a rigid body that is its triangles, near others, in a step: points then leave their chords by 3 % of their distance
EARLY = 8  # parts of the depth: so near to the touch ends the step before it


class Known(NamedTuple):
    """Points that start inside other bodies."""

    keys: Ints  # of the pairs of bodies that were asked
    hits: Hits


@dataclass(frozen=True)
class Cut:
    """A step that is cut short."""

    part: float  # of the step that is taken
    a: int  # the two bodies that would pass
    b: int
    held: bool = False  # they touch already, under a method that solves for where they end: to be cut only if its answer lets them pass
    known: Known | None = None  # what is inside what at the start, for another look at the same step


class Surfaces:
    """A tree over the faces of all bodies: `motion.kept(Surfaces)`."""

    def __init__(self, rest: Rest) -> None:
        self.tree = FeatureTree.build(rest.points, rest.skin.faces, rest.bodies.face_start)


@dataclass(frozen=True)
class Fast:
    """Pairs of bodies that move so fast against each other that they might pass."""

    a: Ints  # (k,)
    b: Ints
    depth: Floats  # [m] (k,) how deep they may get
    solved: Bools  # (k,) by a method that looks where its answer takes them
    turn: Floats  # [rad] (f, 3) of all frames

    def __len__(self) -> int:
        return len(self.a)

    def select(self, rows: np.ndarray) -> Fast:
        return Fast(self.a[rows], self.b[rows], self.depth[rows], self.solved[rows], self.turn)


def passing(motion: Motion, follows: list[str], known: Known | None = None) -> Cut | None:
    """What would pass first in this step, and how much of it can be taken; follows: what each method of the scene sees by itself.

    Of two that touch already, under a method that sees this (`follows = "touch"`), nothing is known before it has answered: without the
    contact that holds them they always go on, and what is pressed springs back into what presses it. They come last, and as `held`.
    """
    look = fast_pairs(motion, follows)
    if look is None or len(look[0]) == 0:
        return None
    fast, by_faces = look
    exact = (motion.bodies.analytic[np.stack([fast.a, fast.b])] != NO_SHAPE).sum(axis=0)
    found = [
        *_turned(motion, fast.select(by_faces)),
        *_by_faces(motion, fast.select(by_faces), known),
        *_by_shapes(motion, fast.select(~by_faces & (exact == 2)), True),
        *_by_shapes(motion, fast.select(~by_faces & (exact == 1)), False),
    ]
    return min((cut for cut in found if cut.part < 1.0), key=lambda cut: (cut.held, cut.part, cut.a, cut.b), default=None)


def fast_pairs(motion: Motion, follows: list[str]) -> tuple[Fast, np.ndarray] | None:
    """Pairs that might pass, and which of them are looked at by their faces, (k,) bool."""
    bodies, thick = motion.bodies, motion.kept(Thickness)
    poses = Poses(motion.position_start, motion.position, motion.rotation_start, motion.rotation, motion.dt * motion.angular_velocity())
    first = bodies.point_start[:-1]
    given = (motion.start, motion.end, first, first + bodies.surface, bodies.frame, poses, thick.reach)
    low, high, may = ways_of_bodies(*given, PASSING * DEEP * thick.half)
    if not may:
        return None
    pairs = overlapping(*_swept(motion, thick))
    a, b = pairs.T
    way = np.linalg.norm(np.maximum(np.abs(high[a] - low[b]), np.abs(high[b] - low[a])), axis=1)
    least = np.minimum(thick.half[a], thick.half[b])
    left_out = (bodies.analytic == PLANE) | bodies.unsafe  # what may explode is asked for, to be looked at
    least[left_out[a] | left_out[b]] = np.inf
    near = way > PASSING * DEEP * least
    a, b, way, least, table = a[near], b[near], way[near], least[near], motion.pairs
    depth, features = np.full(len(a), np.inf), np.isin(bodies.analytic, (NO_SHAPE, BOX))
    solid, by_faces, solved = np.diff(bodies.face_start) > 0, np.zeros(len(a), bool), np.zeros(len(a), bool)
    for index, sees in enumerate(follows):
        mine = table.for_method(index).meet(a, b) & (sees != "everything")
        own = mine & (sees == "features") & features[a] & features[b]
        depth[mine], by_faces[own], solved[mine] = DEEP * least[mine], True, sees == "touch"
        depth[own] = 2.0 * least[own] / PASSING
    known = bodies.analytic[np.stack([a, b])] != NO_SHAPE
    by_faces |= ~known.any(axis=0)
    fast = (way > PASSING * depth) & (known[0] | solid[a]) & (known[1] | solid[b])
    turn = turns(motion.rotation_start, motion.rotation, poses.omega)
    return Fast(a, b, depth, solved, turn).select(fast), by_faces[fast]


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


def _by_shapes(motion: Motion, fast: Fast, both: bool) -> list[Cut]:
    """Pairs of exact shapes, or of one with triangles."""
    if len(fast) == 0:
        return []
    bodies, skin = motion.bodies, motion.skin
    ways = Ways(bodies.shapes(motion.position_start, motion.rotation_start), motion.position - motion.position_start, fast.turn)
    first = bodies.analytic[fast.a] != NO_SHAPE
    a, b = np.where(first, fast.a, fast.b), np.where(first, fast.b, fast.a)
    still, share = ways._replace(shift=np.zeros_like(ways.shift), turn=np.zeros_like(ways.turn)), 0.5 if both else 1.0

    def touch(rows: Ints, depth: Floats, ways: Ways = ways) -> Floats:
        given = (ways, a[rows], b[rows], share * depth, fast.depth[rows] / EARLY)
        if both:
            return shapes_touch(*given)
        end = motion.end if ways is not still else motion.start
        return shapes_touch_faces(*given, motion.start, end, skin.faces, bodies.face_start)

    def start(rows: Ints) -> Floats:
        """How deep they are at the start, by halving; infinite where even their cores touch, and no step is short enough."""
        low, high = np.zeros(len(rows)), PASSING * EARLY * fast.depth[rows]
        beyond = touch(rows, high, still) == 0.0
        for _ in range(EARLY):
            middle = 0.5 * (low + high)
            deeper = touch(rows, middle, still) == 0.0
            low, high = np.where(deeper, middle, low), np.where(deeper, high, middle)
        return np.where(beyond, np.inf, high)

    rows = np.flatnonzero(np.isfinite(touch(np.arange(len(fast)), PASSING * fast.depth)))
    first, inner = touch(rows, np.zeros(len(rows))), np.zeros(len(rows))
    inner[first == 0.0] = start(rows[first == 0.0])
    rows, first, inner = rows[np.isfinite(inner)], first[np.isfinite(inner)], inner[np.isfinite(inner)]
    on = np.isfinite(touch(rows, inner + PASSING * fast.depth[rows]))
    deep = touch(rows, inner + fast.depth[rows])
    part, held = np.where(first > 0.5 * deep, first, deep), fast.solved[rows] & (first == 0.0)
    return [Cut(float(part[k]), int(fast.a[rows[k]]), int(fast.b[rows[k]]), bool(held[k])) for k in np.flatnonzero(on & (part > 0.0))]


def _by_faces(motion: Motion, fast: Fast, known: Known | None) -> list[Cut]:
    """Pairs of surfaces: what crosses, and points that are inside and go on inwards."""
    if len(fast) == 0:
        return []
    count, pairs = len(motion.bodies), np.stack([fast.a, fast.b], axis=1)
    found = faces_cross(motion.kept(Surfaces).tree, motion.start, motion.end, pairs, PASSING * float(fast.depth.min()))
    answered, known = known is not None, _inside(motion, fast, known)
    inside = known.hits
    body = np.concatenate([motion.skin.body[found.corners[:, [0, 3]]], np.stack([inside.a, inside.b], axis=1)])
    body.sort(axis=1)
    pair = np.searchsorted(fast.a * count + fast.b, body[:, 0] * count + body[:, 1])  # pairs are sorted
    depth, held = fast.depth[pair], fast.solved.copy()
    held[np.setdiff1d(np.arange(len(fast)), pair[len(found.time) :])] = False  # they do not touch yet
    time, way = np.concatenate([found.time, np.zeros(len(inside))]), np.concatenate([found.way, _inwards(motion, inside)])
    over = (1.0 - time) * way > PASSING * depth
    if answered:  # what contact holds must not come near to the middle of the thinner body either, beyond which it finds the wrong way out
        start = np.concatenate([np.zeros(len(found.time)), -inside.gap])
        over |= (way > 0.0) & (start + (1.0 - time) * way > (1.0 / DEEP - 1.0) * depth)
    pair, time, way, depth = pair[over], time[over], way[over], depth[over]
    touch, deep = time - depth / (EARLY * way), time + depth / way
    part = np.where(touch > 0.5 * deep, touch, deep)
    order = np.argsort(part, kind="stable")
    firsts = order[np.sort(np.unique(pair[order], return_index=True)[1])]  # of each pair
    return [Cut(float(part[k]), int(fast.a[pair[k]]), int(fast.b[pair[k]]), bool(held[pair[k]]), known) for k in firsts]


def _inside(motion: Motion, fast: Fast, known: Known | None) -> Known:
    """Points that start inside other bodies, looked for unless they are known."""
    count = len(motion.bodies)
    keys = fast.a * count + fast.b
    key = lambda a, b: np.minimum(a, b) * count + np.maximum(a, b)
    if known is not None and np.isin(keys, known.keys).all():
        return Known(keys, known.hits.select(np.isin(key(known.hits.a, known.hits.b), keys)))
    finder = motion.kept(Penetration)
    fit = finder.fit(motion.start, motion.bodies.shapes(motion.position_start, motion.rotation_start))
    return Known(keys, finder.find(fit, lambda a, b: np.isin(key(a, b), keys)))


def _inwards(motion: Motion, hits: Hits) -> Floats:
    """How far such points go on inwards in the step [m], (h,)."""
    way, exact = motion.end - motion.start, hits.face < 0
    own = np.einsum("hi,hij->hj", hits.weights, way[motion.skin.faces[hits.face]])
    own[exact] = way[motion.bodies.anchor[hits.b[exact]]]
    return -np.einsum("hi,hi->h", way[hits.point] - own, hits.normal)


def _turned(motion: Motion, fast: Fast) -> list[Cut]:
    """Bodies that turn too far for chords."""
    if len(fast.turn) == 0:
        return []
    angle = np.linalg.norm(fast.turn, axis=1)
    frame = motion.bodies.frame[np.stack([fast.a, fast.b])]
    most = np.where(frame >= 0, angle[frame], 0.0).max(axis=0) * (1.0 - 1e-9)  # a step that was cut for it is short enough
    return [Cut(TURNED / float(most[k]), int(fast.a[k]), int(fast.b[k])) for k in np.flatnonzero(most > TURNED)]
