"""What a step asks the detection for: the surface that pairs of bodies share, where the step is likely to end (theory/patch 3.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.contact.method import Memory
from pliant.detect import deep_overlap, merged, patches
from pliant.detect.ball_patches import of_balls
from pliant.detect.body_pairs import overlapping
from pliant.detect.closest import face_neighbours
from pliant.detect.facing import entered, facing_faces, straight
from pliant.detect.flat_patches import on_planes, on_sides, within
from pliant.detect.flats import flats
from pliant.detect.keys import find as find_keys
from pliant.detect.merged import Merged
from pliant.detect.patches import Patches, Rims
from pliant.detect.penetration import ACROSS, body_boxes
from pliant.detect.shape_patches import Shape, on_shapes, tips_on_shapes
from pliant.detect.shapes import KINDS, NO_SHAPE, PLANE, distance_to
from pliant.detect.thickness import Thickness
from pliant.detect.tips import carried_by_area
from pliant.detect.tree import Tree
from pliant.geometry.mesh import TET_EDGES
from pliant.geometry.normals import face_normals
from pliant.kernels import contiguous, kernel, load, norm, sub
from pliant.model import Rest
from pliant.world.motion import Motion, Place, Rows

LAYER = 40.0  # of E/h, the stiffness per area of a layer of elements: with 100 the impact of a soft ball peaks at 1.34 times its mean
FLUSH = 1e-9  # of an edge: surfaces that are flush but for rounding touch
FLATTER = 0.005  # of |sum A n| / sum A, and of what is covered: sides that differ by less, as two that are curved alike, are equal
BLEND = 0.2  # of the same: over this a slave that becomes less flat than its master gives way to it; an edge of 90 degrees is 0.29 less
FRESH = 0.02  # of an edge: depth at the start of the step up to which a contact can be new
GENTLE = 5.0  # [1/s] of half the thickness of the thinner body: how fast bodies leave what they overlap by that was no contact


@dataclass
class Pairs:
    """Pairs of bodies that may touch: triangles of the slave against the surface of the master."""

    slave: Ints
    master: Ints
    deep: Floats  # [m] how deep surfaces may be
    high: Floats  # [m] how far apart
    before: Floats  # [m] how deep they may have been at the start of the step
    share: Floats  # (k,) of the areas that count: pairs that change sides are there twice, once each way, as is all of a body's own
    main: np.ndarray  # (k,) bool: not the other way of another
    open: np.ndarray  # (k,) bool: new, so that the slave is still to be decided, by what is found in the first look
    apart: Floats  # (k,) 0 to 1: how much of the depth at the start of the step is no compression, and goes at GENTLE
    points: Floats  # (k,) 0 to 1: of the areas, what points in bodies have in place of polygons
    gentle: Floats  # [m] (k,) what goes at GENTLE in this step
    starting: Floats  # [m] (k,) depth at the start of the step of pairs that were not known then, 0 of others
    lean: Floats  # (k,) by how much the master is flatter than the slave where they overlap, as found last
    explicit: Bools  # (k,) an explicit body with what is explicit or rigid
    springy: Bools  # (k,) of these, those on exact shapes: their rows are of a potential, whose energy they keep (theory/patch 4.6)

    def __len__(self) -> int:
        return len(self.slave)


class Surfaces:
    """What does not change between steps (`motion.kept(Surfaces)`)."""

    def __init__(self, rest: Rest) -> None:
        bodies, skin, x = rest.bodies, rest.skin, rest.points
        self.flats = flats(x, skin.faces, bodies.face_start, bodies.frame >= 0)  # rigid bodies meet each other in few triangles
        self.tree = Tree.build(x, self.flats.faces, self.flats.start)
        corner = x[skin.faces]
        area = 0.5 * np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
        count = len(bodies)
        self.area = np.bincount(skin.face_body, area, count)  # [m^2] (B,)
        side = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).mean(axis=1)
        faces = np.maximum(np.diff(bodies.face_start), 1)
        self.side = np.bincount(skin.face_body, side, count) / faces  # [m] (B,) mean edge of its faces
        ends = x[skin.tets[:, TET_EDGES]]
        edge = np.linalg.norm(ends[:, :, 0] - ends[:, :, 1], axis=2).mean(axis=1)
        tets = np.bincount(skin.tet_body, minlength=count)
        self.layer = np.where(tets > 0, np.bincount(skin.tet_body, edge, count) / np.maximum(tets, 1), self.side)  # [m] (B,) of elements
        inner = np.zeros(len(x), np.bool_)
        inner[skin.tets] = True
        drawn = np.bincount(skin.face_body, ~inner[skin.faces].all(axis=1), count) > 0.0  # skins with nodes of their own, apart from tets
        self.node = np.where(drawn, np.minimum(self.layer, self.side), self.layer)  # [m] (B,) what is around a node
        self.rims = _rims(x, skin.faces, len(self.flats.faces))
        self.exact = (bodies.analytic >= 0) & ((bodies.analytic != KINDS["box"]) | (bodies.surface == 0))  # boxes with triangles are these
        self.rigid = bodies.frame >= 0
        self.folds = np.flatnonzero(~self.rigid & (bodies.surface > 0))  # bodies that may meet themselves
        ball = bodies.ball_radius > 0.0  # of two exact shapes the ball is the slave
        self.rank = 4.0 * (bodies.surface == 0) + 2.0 * self.exact - 0.5 * ball + self.rigid  # (B,) the lower is the slave
        self._fit = x  # the points that the tree fits
        self._before = Tree.build(x, self.flats.faces, self.flats.start)  # another, for the start of a step

    def fit(self, points: Floats) -> None:
        """Boxes of all faces for where the points are."""
        if self._fit is not points:
            self.tree.refit(points)
            self._fit = points

    def before(self, points: Floats) -> Tree:
        """The tree for where the points are at the start of a step."""
        self._before.refit(points)
        return self._before


def _rims(x: Floats, faces: Ints, count: int) -> Rims:
    """Sharp edges: those at which faces turn by more than what still faces the same surface in full. Faces from the last of the skin to
    count are those of rigid bodies in few triangles, which have no tips.
    """
    normal, neighbour = face_normals(x, faces), face_neighbours(faces)
    node, edge, face = np.zeros(len(x), np.bool_), np.zeros((count, 3), np.bool_), np.zeros(count, np.bool_)
    edge[: len(faces)] = (neighbour < 0) | (np.einsum("fi,fki->fk", normal, normal[neighbour]) < ACROSS)
    for k in range(3):  # the edge across from corner k
        node[faces[edge[: len(faces), k]][:, [(k + 1) % 3, (k + 2) % 3]]] = True
    face[: len(faces)] = node[faces].any(axis=1)
    return Rims(node, edge, face)


def find_pairs(motion: Motion, surfaces: Surfaces, there: Floats, memory: Memory) -> Pairs:
    """Pairs of bodies whose boxes overlap where the step is likely to end, and how far to look between them."""
    bodies, skin, side = motion.bodies, motion.skin, surfaces.side
    surfaces.fit(there)
    low, high = body_boxes(surfaces.tree, motion.shapes)
    reach, step = np.zeros((2, len(bodies)))
    _longest(skin.body, motion.start, there, motion.end, step, reach)
    if motion.pairs.rebound:  # what is struck leaves with up to twice the speed of what strikes it
        free = surfaces.rigid & motion.pairs.movable
        reach[free] += 2.0 * step[surfaces.rigid].max(initial=0.0)
    _grow(low, high, reach, side)
    a, b = _meeting(motion, low, high)
    itself = folding(motion, surfaces)
    if len(itself):
        a, b = np.append(a, itself), np.append(b, itself)
    known = memory.get("pair", np.zeros(0, np.int64))
    old = [contiguous(memory.get(name, np.zeros(len(known)))) for name in ("depth", "slave", "lean", "leaves")]
    at, half = find_keys(known, pair_key(len(bodies), a, b)), motion.kept(Thickness).half
    thin, edge, over = np.empty((3, len(a)))
    undecided = np.empty(len(a), np.bool_)
    _choose(a, b, at, old[1], old[2], surfaces.rank, surfaces.exact, half, side, thin, edge, over, undecided)
    deepest, local = _deepest(motion, surfaces, a, b, thin)
    count = len(a) + int(np.count_nonzero(over))
    numbers, out = np.empty((2, count), np.int64), np.empty((9, count))
    flags = np.zeros((4, count), np.bool_)
    _limits(
        a, b, at, old[0], old[3], over, undecided, surfaces.rigid, surfaces.exact, motion.ways, half, side, thin, edge, deepest, local,
        reach, step, motion.dt, numbers, flags, out,
    )  # fmt: skip
    deep, far, before, share, apart, points, gentle, starting, lean = out
    main, undecided, explicit, springy = flags
    a, b = numbers
    return Pairs(a, b, deep, far, before, share, main, undecided, apart, points, gentle, starting, lean, explicit, springy)


def _meeting(motion: Motion, low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """Pairs (a, b) of bodies that may meet and whose boxes overlap, sorted; a has points, and comes first if both have."""
    surface, pairs = motion.bodies.surface, overlapping(low, high)
    a, b = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    turned = surface[a] == 0
    if turned.any():
        a, b = np.where(turned, b, a), np.where(turned, a, b)
        order = np.lexsort((b, a))
        a, b = a[order], b[order]
    keep = motion.pairs.meet(a, b) & (surface[a] > 0)
    return a[keep], b[keep]


@kernel
def _grow(low, high, reach, side):  # type: ignore[no-untyped-def]
    """Boxes of bodies, by how far each may still go."""
    for b in range(len(low)):
        for axis in range(3):
            more = reach[b] + FLUSH * side[b]
            if math.isfinite(low[b, axis]):
                low[b, axis] -= more
                high[b, axis] += more


@kernel
def _choose(a, b, at, kept, lean, rank, exact, half, side, thin, edge, over, undecided):  # type: ignore[no-untyped-def]
    """Put the slave of each pair into a, its master into b: meshed rather than exact, soft rather than rigid; else the one it was, or the
    finer one; the other one when that has become less flat. over: the share of pairs that change sides; half of the thickness of the
    thinner, edge of the finer of the two [m]. Coverage is exact on the slave, whose triangles tile it.
    """
    for k in range(len(a)):
        i, j = a[k], b[k]
        was, alike = kept[at[k]] if at[k] >= 0 else 0.0, rank[i] == rank[j]
        swap = rank[i] > rank[j]
        if alike:
            swap = (was == 1.0) != (i < j) if was > 0.0 else side[i] > side[j]
        over[k] = min(max(((lean[at[k]] if at[k] >= 0 else 0.0) - FLATTER) / BLEND, 0.0), 1.0)
        undecided[k] = alike and not exact[i] and was == 0.0 and i != j
        if over[k] == 1.0:
            swap, over[k] = not swap, 0.0
        if swap:
            a[k], b[k] = j, i
        thin[k] = min(half[i], half[j])
        edge[k] = min(side[a[k]], side[b[k]] if side[b[k]] > 0.0 else np.inf)


@kernel
def _limits(  # type: ignore[no-untyped-def]
    a, b, at, depth, leaves, over, undecided, rigid, exact, ways, half, side, thin, edge, deepest, local, reach, step, dt, numbers, flags,
    out,
):  # fmt: skip
    """The columns of `Pairs`; those that change sides are there twice, the second time behind all others."""
    used = len(a)
    for k in range(len(a)):
        i, j, both = a[k], b[k], rigid[a[k]] and rigid[b[k]]
        last, left = (depth[at[k]], leaves[at[k]]) if at[k] >= 0 else (0.0, 0.0)
        gentle = dt * GENTLE * thin[k] * (1.0 if both else 0.5)  # what is soft springs back by as much again
        new = at[k] < 0
        leaving = (new and deepest[k] > gentle) or (left > 0.0 and max(deepest[k], last) > gentle)
        fading = min(max(2.0 * deepest[k] / local[k] - 1.0, 0.0), 1.0)
        points = min(max(deepest[k] / (FRESH * edge[k]) - 1.0, 0.0), 1.0) if leaving else fading
        if not math.isfinite(half[i] + half[j]):
            points = 0.0
        most = max(thin[k], min(2.0 * deepest[k], local[k]))
        before = min(max(2.0 * last, deepest[k]) + FRESH * edge[k], most)
        deep = min(most, before + step[i] + step[j])
        far = step[i] + step[j] + reach[i] + reach[j] + FLUSH * max(side[i], side[j])
        out[:, k] = (
            deep, far, before, 0.5 if i == j else 1.0 - over[k], 1.0 if leaving else fading, points, gentle,
            deepest[k] if new and leaving else 0.0, 0.0,
        )  # fmt: skip
        explicit = (ways[0, i] or ways[0, j]) and not (ways[1, i] or ways[1, j])
        numbers[0, k], numbers[1, k], flags[0, k], flags[1, k] = i, j, True, undecided[k]
        flags[2, k], flags[3, k] = explicit, explicit and exact[j]
        if over[k] > 0.0:
            out[:, used] = out[:, k]
            out[3, used] = over[k]
            numbers[0, used], numbers[1, used] = j, i
            flags[2, used], flags[3, used] = explicit, explicit and exact[i]
            used += 1


def folding(motion: Motion, surfaces: Surfaces) -> Ints:
    """Soft bodies that may meet themselves: what two faces share is found from both, half of it each (theory/patch 3.8)."""
    if len(motion.pairs.key) == 0:  # off unless a pair says otherwise
        return surfaces.folds[:0]
    return surfaces.folds[motion.pairs.meet(surfaces.folds, surfaces.folds)] if len(surfaces.folds) else surfaces.folds


@kernel
def _longest(body, start, there, end, step, reach):  # type: ignore[no-untyped-def]
    """The longest way of a point of each body from its start to there, and from there to its end [m]."""
    for i in range(len(body)):
        if body[i] >= 0:
            step[body[i]] = max(step[body[i]], norm(sub(load(there, i), load(start, i))))
            reach[body[i]] = max(reach[body[i]], norm(sub(load(end, i), load(there, i))))


def _deepest(motion: Motion, surfaces: Surfaces, a: Ints, b: Ints, thin: Floats) -> tuple[Floats, Floats]:
    """How deep points of either body of the pairs are in the other at the start of the step [m], (k,), and half of the thickness there.

    That is what is given, half of the thinnest parts of both, unless points are deep for these: then it is what it is where they are.
    """
    half, out, local = motion.kept(Thickness).half, np.zeros(len(a)), thin.copy()
    solid = np.isfinite(half) | (motion.bodies.surface == 0)  # a surface with a rim has no inside
    asked, place = solid[a] & solid[b] & (a != b), motion.here()
    bodies, shapes = motion.bodies, motion.bodies.shapes(place.position, place.rotation)
    _in_shapes(shapes, bodies.surface, bodies.point_start, place.points, a, b, thin, asked, out)
    which = np.flatnonzero(asked)
    if len(which):
        tree = surfaces.before(place.points)
        found = _inside(motion, tree, place, a[which], b[which], 0.5 * thin[which])
        np.maximum.at(out, which[found.pair], found.depth)
        deep = np.flatnonzero(2.0 * out[which] > thin[which])
        if len(deep):
            number = np.full(len(which), -1)
            number[deep] = np.arange(len(deep))
            found = deep_overlap.Inside._make(each[number[found.pair] >= 0] for each in found)
            share = _crossed(motion, tree, place, found._replace(pair=number[found.pair]), a[which[deep]], b[which[deep]])
            local[which[deep]] = np.maximum(thin[which[deep]], 0.5 * out[which[deep]] / np.maximum(share, 1e-300))
    return out, local


@kernel
def _in_shapes(shapes, surface, first, points, a, b, thin, asked, out):  # type: ignore[no-untyped-def]
    """`_deepest` of pairs that are asked and whose b is an exact shape without points; but for those that are deep they are done then."""
    for k in range(len(a)):
        if not asked[k] or shapes.kind[b[k]] == NO_SHAPE or surface[b[k]] > 0:
            continue
        deepest = 0.0
        for p in range(first[a[k]], first[a[k]] + surface[a[k]]):
            gap, _ = distance_to(shapes, b[k], load(points, p))
            deepest = max(deepest, -gap)
        if 2.0 * deepest <= thin[k]:
            out[k], asked[k] = deepest, False


def _inside(motion: Motion, tree: Tree, place: Place, a: Ints, b: Ints, doubt: Floats) -> deep_overlap.Inside:
    corners, shapes = motion.kept(deep_overlap.Corners), motion.bodies.shapes(place.position, place.rotation)
    return deep_overlap.inside(tree, corners, motion.bodies, place.points, motion.skin.faces, shapes, a, b, doubt)


def _crossed(motion: Motion, tree: Tree, place: Place, found: deep_overlap.Inside, a: Ints, b: Ints) -> Floats:
    bodies, half = motion.bodies, motion.kept(Thickness).half
    shapes = bodies.shapes(place.position, place.rotation)
    return deep_overlap.crossed(tree, bodies, half, shapes, place.points, motion.skin.faces, found, a, b)


def told(motion: Motion, pairs: Pairs) -> list[str]:
    """Sentences about bodies that the scene starts in each other."""
    if motion.time > 0.0:
        return []
    name, half = motion.bodies.names, motion.kept(Thickness).half
    speed = 2.0 * GENTLE * np.minimum(half[pairs.slave], half[pairs.master])  # with what they turn and spring back
    return [
        f"'{name[pairs.slave[k]]}' and '{name[pairs.master[k]]}' start {pairs.starting[k]:.3g} m deep in each other:"
        f" patch lets them come apart at no more than {speed[k]:.3g} m/s"
        for k in np.flatnonzero(pairs.main & (pairs.starting > 0.0))
    ]


def pair_key(count: int, a: Ints, b: Ints) -> Ints:
    """A number for each pair of bodies, whichever comes first."""
    return np.minimum(a, b) * count + np.maximum(a, b)


def remembered(motion: Motion, pairs: Pairs, found: Merged) -> dict[str, np.ndarray]:
    """What the next step must know of pairs that touch, by key: greatest depth [m], slave (1: the lower number, 2: the higher), lean, and
    whether they are leaving each other since they were found deep.

    The lean is by how much the master is flatter than the slave; all of it as found where the step ends.
    """
    key, keys = pair_key(len(motion.bodies), pairs.slave, pairs.master), np.empty(len(pairs), np.int64)
    at, columns = np.empty(len(pairs), np.int64), np.zeros((4, len(pairs)))
    order, rank = key.argsort(kind="stable"), motion.kept(Surfaces).rank
    count = _remember(
        order, key, pairs.slave, pairs.master, pairs.main, pairs.lean, pairs.apart, rank, found.pair, found.master, found.gap, at, keys,
        *columns,
    )  # fmt: skip
    depth, slave, lean, leaves = columns[:, :count].copy()
    return {"pair": keys[:count], "depth": depth, "slave": slave, "lean": lean, "leaves": leaves}


@kernel
def _remember(  # type: ignore[no-untyped-def]
    order, key, a, b, main, lean, apart, rank, pair, master, gap, at, keys, deepest, slave, leans, leaves
):  # fmt: skip
    """The columns; keys rise, and are those of pairs with a row. How many there are."""
    for p in range(len(at)):
        at[p] = -1
    for r in range(len(pair)):
        at[pair[r]] = 0
    count = 0
    for p in order:
        if at[p] == 0:
            if count == 0 or keys[count - 1] != key[p]:
                keys[count] = key[p]
                count += 1
            at[p] = count - 1
    for r in range(len(pair)):
        p = pair[r]
        k = at[p]
        deepest[k] = max(deepest[k], -gap[r])
        if apart[p] == 1.0:
            leaves[k] = 1.0
        if main[p]:
            slave[k] = 1.0 if a[p] < b[p] else 2.0
            if master[r] >= 0 and gap[r] <= 0.0:
                leans[k] = lean[p] if rank[a[p]] == rank[b[p]] and a[p] != b[p] else 0.0
    return count


def both_rigid(motion: Motion, a: Ints, b: Ints) -> np.ndarray:
    """Whether neither body of each pair gives way, (k,) bool."""
    rigid = motion.kept(Surfaces).rigid
    return np.asarray(rigid[a] & rigid[b])


def find(motion: Motion, surfaces: Surfaces, pairs: Pairs, place: Place, some: Bools) -> Merged:
    """The common surface of some of the pairs, (k,), with the bodies at `place`; the first time also decides which are the slaves."""
    surfaces.fit(place.points)
    exact = surfaces.exact[pairs.master]
    on_meshes, on_shapes_, parts = (some & ~exact).nonzero()[0], (some & exact).nonzero()[0], []
    if len(on_meshes):
        parts = [_on_meshes(motion, surfaces, pairs, on_meshes, place.points)]
        flat, covered = _sides(surfaces, pairs, parts[0], place.points)
        turned = _turned(pairs, flat, covered)
        if len(turned):
            pairs.slave[turned], pairs.master[turned] = pairs.master[turned], pairs.slave[turned]
            stays = ~np.isin(parts[0].pair, turned)
            parts = [patches.select(parts[0], stays), _on_meshes(motion, surfaces, pairs, turned, place.points)]
            flat, _ = _sides(surfaces, pairs, patches.joined(parts), place.points)
        pairs.lean[on_meshes] = (flat[1] - flat[0])[on_meshes]
    pairs.open[some], pairs.lean[on_shapes_] = False, 0.0
    if len(on_shapes_):
        parts.append(_on_shapes(motion, surfaces, pairs, on_shapes_, place))
    found, points = patches.joined(parts), patches.empty(0)
    found.carried[:] = carried_by_area(place.points, surfaces.flats.faces, motion.skin.faces, surfaces.rims, found, pairs.share)
    if (some & (pairs.points > 0.0)).any():
        found = _with_share(found, 1.0 - pairs.points[found.pair])
        points = _in_bodies(motion, surfaces, pairs, place, some)
    rigid = both_rigid(motion, pairs.slave, pairs.master)[found.pair]
    alone = (found.master < 0) | (found.tip > 0.0) | rigid
    if len(points):
        one = np.ones(len(points), np.bool_)
        alone, rigid, found = np.append(alone, one), np.append(rigid, ~one), patches.joined([found, points])
    anchor, sided = motion.bodies.anchor[pairs.master[found.pair]], bool((found.spot >= 0).any())
    if sided:
        within(place.points, surfaces.flats, found)
    out = merged.merged(place.points, surfaces.flats.faces, found, anchor, alone, rigid)
    own, sides = surfaces.flats.own, surfaces.flats.sides
    for side in (out.slave, out.master):
        side[:] = np.where(side >= 0, np.where(out.spot >= 0, own[sides.chief[sides.of[side]]], own[side]) if sided else own[side], -1)
    return out


def carried(motion: Motion, pairs: Pairs, found: Merged, place: Place, to: Place) -> Merged:
    """Rows that were found with the bodies at `place`, with the gaps that they have at another."""
    rows = rows_of(found)
    frame = motion.bodies.frame[pairs.slave[found.pair]]
    moved = np.where((frame >= 0)[:, None], to.position[frame] - place.position[frame], 0.0) if len(to.position) else 0.0
    gap = found.gap + np.einsum("ri,ri->r", rows.normal, motion.row_paths(rows, place, to))
    return Merged(**(found._asdict() | {"gap": gap, "at": found.at + moved}))


def with_lost(motion: Motion, pairs: Pairs, found: Merged, to: Place, before: Merged, loaded: np.ndarray, place: Place) -> Merged:
    """What was found, and the rows of pairs that pressed in the last look, (k,) bool, and are not found where that has moved them to.

    Without these a body that is lifted out of what it meets would go on into it as if it had not been there.
    """
    lost = loaded & (np.bincount(found.pair, minlength=len(pairs)) == 0)
    if not lost.any():
        return found
    return merged.joined([found, carried(motion, pairs, merged.select(before, lost[before.pair]), place, to)])


def _in_bodies(motion: Motion, surfaces: Surfaces, pairs: Pairs, place: Place, some: Bools) -> Patches:
    """Rows of points in bodies, of those pairs that are deep in each other."""
    which = np.flatnonzero(some & (pairs.points > 0.0) & pairs.main)
    a, b = pairs.slave[which], pairs.master[which]
    bodies, faces, corners = motion.bodies, motion.skin.faces, motion.kept(deep_overlap.Corners)
    inside = _inside(motion, surfaces.tree, place, a, b, np.zeros(len(which)))
    way, area = deep_overlap.ways_out(bodies, place.points, faces, inside, a, b)
    out = deep_overlap.rows_along(surfaces.tree, corners, bodies, place.points, faces, inside, way, area, a, b)
    out.pair[:] = which[out.pair]
    out.area[:] *= pairs.points[out.pair]
    return out


def _sides(surfaces: Surfaces, pairs: Pairs, found: Patches, there: Floats) -> tuple[Floats, Floats]:
    """Flatness |sum A n| / sum A of both sides of each pair over what touches, and what is covered of their faces, (2, k).

    Of pairs that are still to be decided and touch nowhere: over all that was found.
    """
    closed = (found.gap <= 0.0) & (found.tip == 0.0)
    some = closed | (pairs.open & (np.bincount(found.pair, closed, len(pairs)) == 0))[found.pair]
    return patches.sides(there, surfaces.flats.faces, surfaces.flats.times, found, some & pairs.main[found.pair], len(pairs))


def _turned(pairs: Pairs, flat: Floats, covered: Floats) -> Ints:
    """Pairs whose master ought to be the slave: the flatter side, then the one that is covered.

    A wedge of 90 degrees on a face counts 1.41 times as slave, the face once. Only pairs that are new are decided so; others change sides
    little by little as the slave becomes less flat than the master (`find_pairs`).
    """
    flatter = flat[1] > flat[0] + FLATTER
    same = np.abs(flat[1] - flat[0]) <= FLATTER
    return np.flatnonzero(pairs.open & (flatter | (same & (covered[1] > covered[0] + FLATTER))))


def _on_shapes(motion: Motion, surfaces: Surfaces, pairs: Pairs, which: Ints, place: Place) -> Patches:
    """Triangles on exact shapes, and exact balls on them."""
    bodies, parts = motion.bodies, []
    balls = bodies.ball_radius[pairs.slave[which]] > 0.0
    for ball in (False, True):
        pair = which[balls == ball]
        if len(pair) == 0:
            continue
        slave, body, high = pairs.slave[pair], pairs.master[pair], pairs.high[pair]
        shape = _shape(motion, place, body)
        start, end = bodies.face_start[slave], bodies.face_start[slave + 1]
        if ball:
            parts.append(of_balls(place.position[bodies.frame[slave]], bodies.ball_radius[slave], start, pair, shape, high))
        else:
            flats = surfaces.flats
            plane = flats.has[slave] & (shape.kind == PLANE)
            if plane.any():
                start, end = np.where(plane, flats.start[flats.few[slave]], start), np.where(plane, flats.start[flats.few[slave] + 1], end)
                first, count = flats.first[slave[plane]], np.diff(flats.first)[slave[plane]]
                at = plane.nonzero()[0].repeat(count)
                side = np.arange(len(at)) + (first - np.cumsum(count) + count).repeat(count)
                parts.append(on_planes(place.points, flats, side, pair[at], shape.position[at], shape.rotation[at], high[at]))
            rigid = bodies.frame[slave] >= 0
            found = on_shapes(place.points, flats.faces, start, end, pair, shape, high, rigid, plane, flats.flat)
            each, held = _shape(motion, place, pairs.master[found.pair]), _held(motion, surfaces, pairs)[found.pair]
            parts += [found, tips_on_shapes(place.points, flats.faces, found, surfaces.rims, each, held)]
    return patches.joined(parts)


def _on_meshes(motion: Motion, surfaces: Surfaces, pairs: Pairs, which: Ints, there: Floats) -> Patches:
    faces, deep, high = surfaces.flats.faces, pairs.deep[which], pairs.high[which]
    rigid, few = both_rigid(motion, pairs.slave, pairs.master), surfaces.flats.few
    parts, flat = _on_flats(motion, surfaces, pairs, which, there)
    if not flat.all():
        which, deep, high = which[~flat], deep[~flat], high[~flat]
        masters = np.where(rigid, few[pairs.master], pairs.master)
        pair, slave, master = facing_faces(surfaces.tree, there, faces, pairs.slave[which], masters[which], deep, high)
        pair, own = which[pair], pair
        poked = _held(motion, surfaces, pairs)[pair]
        found, like = patches.facing_with_tips(
            there, faces, slave, master, pair, deep[own], high[own], rigid[pair], poked, surfaces.rims
        )  # fmt: skip
        parts.append(_that_count(motion, surfaces, pairs, found, like, there))
    return patches.joined(parts)


def _on_flats(motion: Motion, surfaces: Surfaces, pairs: Pairs, which: Ints, there: Floats) -> tuple[list[Patches], Bools]:
    """Patches of those of the pairs that meet in flat sides alone, and which these are, bool."""
    flats, a, b = surfaces.flats, pairs.slave[which], pairs.master[which]
    flat = flats.has[a] & flats.has[b]
    if not flat.any():
        return [], flat
    some = flat.nonzero()[0]
    deep, high = pairs.deep[which], pairs.high[which]
    at, slave, master = facing_faces(surfaces.tree, there, flats.faces, flats.few[a[some]], flats.few[b[some]], deep[some], high[some])
    at, slave, master = some[at], flats.sides.of[slave], flats.sides.of[master]
    flat[at[(slave < 0) | (master < 0)]] = False
    keep, count = flat[at], len(flats.sides.chief)
    at, side = np.divmod(np.unique((at[keep] * count + slave[keep]) * count + master[keep]), count * count)
    slave, master = np.divmod(side, count)
    layered = np.zeros(len(pairs), np.bool_)
    found = on_sides(there, flats, slave, master, which[at], deep[at], high[at], layered)
    flat &= ~layered[which]
    found = found if flat.all() else patches.select(found, ~layered[found.pair])
    return [_that_count(motion, surfaces, pairs, found, np.arange(len(found)), there)], flat


def _soft(motion: Motion, surfaces: Surfaces) -> Bools:
    """Bodies that give way by their modulus, (B,)."""
    return np.isfinite(motion.bodies.modulus) & ~surfaces.rigid


def _held(motion: Motion, surfaces: Surfaces, pairs: Pairs) -> Bools:
    """Pairs that tips hold, (k,): of soft bodies; explicit ones on exact shapes only (theory/patch 4.6)."""
    soft = _soft(motion, surfaces)
    return (soft[pairs.slave] | soft[pairs.master]) & (pairs.springy | ~pairs.explicit)


def _shape(motion: Motion, place: Place, body: Ints) -> Shape:
    """The exact shapes that these bodies are, where they are."""
    bodies, f = motion.bodies, motion.bodies.frame[body]
    return Shape(bodies.analytic[body], bodies.parameters[body], place.position[f], place.rotation[f])


def _that_count(motion: Motion, surfaces: Surfaces, pairs: Pairs, found: Patches, like: Ints, there: Floats) -> Patches:
    """Rows that are the short way out, with their share of the area; rows count as those do that they are `like` (r,)."""
    faces, rigid = surfaces.flats.faces, both_rigid(motion, pairs.slave, pairs.master)
    few = np.where(rigid, surfaces.flats.few[pairs.slave], pairs.slave), np.where(rigid, surfaces.flats.few[pairs.master], pairs.master)
    a, b = pairs.slave[found.pair], pairs.master[found.pair]
    side, explicit = np.minimum(surfaces.side[a], surfaces.side[b]), motion.ways[0]
    poke = found.tip > 0.0
    asked = patches.select(found, like) if poke.any() else found
    share = pairs.share[found.pair] * entered(motion.start, faces, asked, pairs.before[found.pair])
    # explicit bodies would lose the energy of rows that go: 2 % in half a second in a closed box
    whole = rigid[found.pair] | explicit[a] | explicit[b]
    share *= straight(surfaces.tree, there, faces, few[0][found.pair], few[1][found.pair], asked, FRESH * side, side, whole, poke)
    return _with_share(found, share)


def _with_share(found: Patches, share: Floats) -> Patches:
    """Rows with a share (r,) of the area, or of the circle, that they stand for."""
    found.area[:] *= share
    found.tip[:] *= share
    return found if (share > 0.0).all() else patches.select(found, share > 0.0)


def rows_of(found: Merged) -> Rows:
    """As rows over skin points; the slave is side A."""
    return Rows(found.start, found.point, found.share, -found.normal, found.at)
