"""The method `patch`: contact over the surface that bodies share, solved together with the bodies (theory/patch 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.contact.contacts import Contacts
from pliant.contact.method import LAYER, Answer, Memory
from pliant.contact.patch import surface
from pliant.contact.patch.energy import afforded, depth_before, without_couple
from pliant.contact.patch.islands import divided, system
from pliant.contact.patch.node_pressure import Near, recovered
from pliant.contact.patch.problem import LOOSE, ROUGH, TOLERANCE, Contact, Islands, Solution, System, solve
from pliant.contact.patch.restitution import Bounced, target
from pliant.contact.patch.row_law import GAP, MOTION, TRIAL, return_stretch, set_rows, told_rows
from pliant.contact.patch.stiffness import stiffness
from pliant.contact.remembered import Table
from pliant.detect import merged
from pliant.detect.keys import find, places
from pliant.detect.merged import Merged
from pliant.detect.patches import MOST_CORNERS, ON_EDGE
from pliant.kernels import add, axpy, contiguous, inline, kernel, load, norm, scale, store, sub
from pliant.world.motion import Motion, Place, Rows

if TYPE_CHECKING:
    from pliant.world.world import World

LOOKS = 3  # at most
UNSOLVED = 100 * TOLERANCE  # what is left of the gradient that divides the step: two digits short
PARTS = 16  # of a step, at most
ROOM = 2**16  # numbers for the rows of two faces or flat sides: at corners of the slave's and others, that overlap or are open
AGAIN = 0.01  # of an edge: motion since the last look that asks for another; areas are off by about as much of a face


@dataclass(frozen=True)
class Patch:
    """Contact over the common surface."""

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})
    bears: ClassVar[str] = LAYER
    follows: ClassVar[str] = "touch"
    gentle: ClassVar[bool] = True

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        surfaces = motion.kept(surface.Surfaces)
        still = motion.still()  # in terms of the change from the motion of every body on its own
        place = motion.place_with(still)
        pairs = surface.find_pairs(motion, surfaces, place.points, memory)
        if len(pairs.slave) == 0:
            return Answer(Contacts.none(motion.dt))
        matrix = system(motion)
        w, solved = still, None
        here, springy = motion.here(), pairs.springy
        from_start = surface.find(motion, surfaces, pairs, here, springy) if springy.any() else None
        bounced = None  # pairs of rigid bodies that part again within the step
        again = np.ones(len(pairs), np.bool_)  # pairs to be looked at
        for look in range(LOOKS):
            found = surface.find(motion, surfaces, pairs, place, again & ~springy)
            if from_start is not None and solved is None:
                found = merged.joined([found, surface.carried(motion, pairs, from_start, here, place)])
            if solved is not None:
                if not (again & solved.loaded_pairs()).any() and not (found.gap <= 0.0).any():
                    break  # what had not been seen does not touch
                found = solved.with_new(motion, found, again, place)
            if bounced is not None:
                found = bounced.joined(found, place)
            if len(found) == 0 and solved is not None:
                break  # they part: what was found where they met stands
            if len(found):
                rows = surface.rows_of(found)
                kappa = stiffness(motion, surfaces, pairs, found)
                solved = _Solved.of(motion, matrix, pairs, found, rows, kappa, place, still, w, memory, solved)
                solved.solve(motion, rough=look < LOOKS - 1)
            if look == 0 and (solved is None or not solved.loaded().any()):
                place, w, solved = motion.there(), np.zeros_like(w), None  # nothing touches: does it not where every body goes on its own?
                continue
            if solved is None:
                return Answer(Contacts.none(motion.dt))
            w, before = solved.result.w, place
            if bounced is None:
                bounced = solved.bounced(motion)
            elif motion.dt > motion.asked / PARTS and bounced.meets_more(solved.loaded_pairs(), memory):
                return Answer(Contacts.none(motion.dt), again=0.5 * motion.dt)
            place = motion.place_with(w)
            again = _moved(motion, surfaces, solved, before, place) & ~springy
            if not again.any():
                break
        assert solved is not None
        if solved.rough:
            solved.solve(motion)
        left = float(solved.result.left.max(initial=0.0))
        if left > UNSOLVED and motion.dt > motion.asked / PARTS:
            text = "patch: steps are divided, since the motion of bodies that touch was not found for a whole one"
            return Answer(Contacts.none(motion.dt), again=0.5 * motion.dt, warnings=[text])
        told = [f"patch: an island of bodies was solved only to {left:.1e}"] if left > UNSOLVED else []
        return solved.answer(motion, told + surface.told(motion, pairs), memory)

    def tables(self, memory: Memory, world: World) -> list[Table]:
        """What is remembered, with the bodies of each row."""
        if "key" not in memory:
            return []
        body, faces, bodies = world.model.skin.face_body, len(world.model.skin.faces), len(world.model.bodies)
        first, second = np.divmod(memory["row"] // ROOM, faces + bodies)
        other = np.append(body, np.arange(bodies))[second]  # a face, or an exact shape
        lent = [Table("lender", ("lent",), *np.divmod(memory["lender"], bodies))] if "lender" in memory else []
        return [
            *lent,
            Table("key", ("stretch", "slipping"), body[memory["key"] // bodies], memory["key"] % bodies),
            Table("row", ("row_stretch", "row_force"), body[first], other),
            Table("pair", ("depth", "slave", "lean", "leaves"), *np.divmod(memory["pair"], bodies)),
        ]


def _moved(motion: Motion, surfaces: surface.Surfaces, solved: _Solved, before: Place, now: Place) -> Bools:
    """Pairs whose bodies have moved so far against each other since they were looked at that polygons are noticeably different, (k,).

    Those that press are seen where they do; all of them by whether anything can have come nearer than was looked for.
    """
    pairs, rows, bodies = solved.pairs, solved.rows, len(motion.bodies)
    out = np.empty(len(pairs), np.bool_)
    _moved_pairs(motion.skin.body, before.points, now.points, bodies, surfaces.side, pairs.slave, pairs.master, pairs.high, out)
    _moved_rows(
        rows.start, rows.point, rows.weight, solved.found.pair, solved.found.spot, solved.loaded(), before.points, now.points,
        surfaces.side, pairs.slave, pairs.master, out,
    )  # fmt: skip
    return out


@inline
def _edge(side, a, b):  # type: ignore[no-untyped-def]
    """How far two bodies may move against each other [m]."""
    return AGAIN * min(side[a], side[b] if side[b] > 0.0 else np.inf)


@kernel
def _moved_pairs(body, before, now, bodies, side, slave, master, high, out):  # type: ignore[no-untyped-def]
    """Pairs that can have come nearer than was looked for, by the mean way of the points of each body and how far one is off it."""
    count, way, spread = np.zeros(bodies), np.zeros((bodies, 3)), np.zeros(bodies)
    for i in range(len(body)):
        if body[i] >= 0:
            count[body[i]] += 1.0
            store(way, body[i], add(load(way, body[i]), sub(load(now, i), load(before, i))))
    for b in range(bodies):
        store(way, b, scale(1.0 / max(count[b], 1.0), load(way, b)))
    for i in range(len(body)):
        if body[i] >= 0:
            spread[body[i]] = max(spread[body[i]], norm(sub(sub(load(now, i), load(before, i)), load(way, body[i]))))
    for k in range(len(out)):
        a, b = slave[k], master[k]
        out[k] = norm(sub(load(way, a), load(way, b))) + spread[a] + spread[b] > high[k] + _edge(side, a, b)


@kernel
def _moved_rows(start, point, weight, pair, spot, loaded, before, now, side, slave, master, out):  # type: ignore[no-untyped-def]
    """Mark pairs with a row that presses of which a point has gone farther than `_edge` against the other side; of flat sides, whose faces
    are as large as they are, the places themselves.
    """
    for r in range(len(loaded)):
        if not loaded[r] or out[pair[r]]:
            continue
        first, edge = start[r], _edge(side, slave[pair[r]], master[pair[r]])
        a, b = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for e in range(first, start[r + 1]):
            d = sub(load(now, point[e]), load(before, point[e]))
            if e < first + 3:
                a = axpy(weight[e], d, a)
            else:
                b = axpy(-weight[e], d, b)
        if spot[r] >= 0:
            out[pair[r]] = norm(sub(a, b)) > edge
            continue
        for e in range(first, start[r + 1]):
            d = sub(load(now, point[e]), load(before, point[e]))
            if norm(sub(d, b if e < first + 3 else a)) > edge:
                out[pair[r]] = True


@dataclass
class _Solved:
    """One look and its solution."""

    pairs: surface.Pairs
    found: Merged
    rows: Rows
    matrix: System
    islands: Islands
    contact: Contact
    order: Ints  # of the rows, by island
    result: Solution  # in the order of the islands
    key: Ints  # (r,) slave's face and master's body
    own: Ints  # (r,) the row among all
    held: Floats  # [m] (r, 3) stretch of the tangential springs at the start of the step
    place: Place  # where it was looked
    lively: np.ndarray  # (r,) bool: rows that must part faster than they would by themselves
    late: Floats  # [m] (r,) depth that is left for later steps
    span: Floats  # [m^2] (r,) what their stiffness stands for
    rough: bool = True  # the last solve was
    _loaded: Bools | None = None  # see `loaded`

    @staticmethod
    def of(motion, matrix, pairs, found, rows, kappa, place, still, w, memory, before):  # type: ignore[no-untyped-def]
        order, islands, contact = divided(motion, rows, found.pair, pairs.slave, pairs.master)
        key, own = found.slave * len(motion.bodies) + pairs.master[found.pair], _row_key(motion, pairs, found)
        far = motion.row_paths(rows, place, motion.there())  # from `place` to the end of every body on its own
        held, load, slips = _recalled(memory, own, key)
        if before is not None:
            load = before.loads(own, load)
        late, gap = _late(motion, pairs, rows, found, place), np.empty(len(rows))
        normal, across, span = kappa
        late += found.carried
        given = (span, far, held, motion.slide(rows), slips, load, late, depth_before(motion, pairs, rows, found, place) - found.carried)
        of_pairs = (normal, across, *motion.pairs.friction(pairs.slave, pairs.master))
        set_rows(order, found.pair, rows.normal, rows.at, found.gap, *given, *of_pairs, gap, contact.row)
        lively = np.zeros(len(rows), np.bool_)
        if motion.pairs.rebound:
            goal = target(motion, rows, contact, order, gap, _restitution(motion, pairs)[found.pair])
            lively = goal < gap
            contact.row[:, GAP] = np.where(lively, goal, gap + late)[order]
        count, parts = len(rows), len(islands.bounds) - 1
        done = np.zeros((count, TRIAL)), np.zeros((count, 4)), np.zeros((parts, 3), np.int64), np.zeros(parts)
        out = Solution(still, np.zeros_like(w), *done)
        _begin(islands.dof, w, out.w)
        return _Solved(pairs, found, rows, matrix, islands, contact, order, out, key, own, held, place, lively, late, span)

    def solve(self, motion: Motion, rough: bool = False) -> None:
        """Go on from where the search is."""
        self.rough, self._loaded = rough, None
        solve(*self.matrix, *self.contact, *self.islands, *self.result, motion.dt, *((ROUGH, ROUGH) if rough else (TOLERANCE, LOOSE)))

    def loaded(self) -> np.ndarray:
        """Rows that carry force, (r,) bool."""
        if self._loaded is None:
            self._loaded = np.empty(len(self.order), np.bool_)
            self._loaded[self.order] = self.result.force[:, 3] > 0.0
        return self._loaded

    def loads(self, own: Ints, new: Floats) -> Floats:
        """Normal forces [N] of rows with these numbers, `new` where there was none."""
        force, order = np.empty(len(self.order)), np.argsort(self.own)
        force[self.order] = self.result.force[:, 3]
        at = find(self.own[order], own)
        return np.where(at >= 0, force[order[at]], new)

    def loaded_pairs(self) -> np.ndarray:
        """Pairs that carry force, (k,) bool."""
        return np.bincount(self.found.pair[self.loaded()], minlength=len(self.pairs)) > 0

    def with_new(self, motion: Motion, found: Merged, again: Bools, place: Place) -> Merged:
        """What was found of the pairs that were looked at again, at `place`, and what is known of the others, carried there."""
        known = merged.select(self.found, ~again[self.found.pair])
        found = merged.joined([surface.carried(motion, self.pairs, known, self.place, place), found])
        return surface.with_lost(motion, self.pairs, found, place, self.found, self.loaded_pairs(), self.place)

    def bounced(self, motion: Motion) -> Bounced | None:
        """The pairs that part again, if there are any."""
        if not self.lively.any():
            return None
        hot = np.bincount(self.found.pair[self.lively & self.loaded()], minlength=len(self.pairs)) > 0
        return Bounced(motion, self.pairs, hot, merged.select(self.found, hot[self.found.pair]), self.place) if hot.any() else None

    def answer(self, motion: Motion, warnings: list[str], before: Memory) -> Answer:
        """Push, and say what touched."""
        found, rows, dt, pairs = self.found, self.rows, motion.dt, self.pairs
        count, row = len(rows), self.contact.row
        impulse, force, friction, gap, mu = np.empty((count, 3)), np.empty(count), np.empty((count, 3)), np.empty(count), np.empty(count)
        told_rows(self.order, row, self.result.trial, self.result.force, self.lively, self.late, dt, impulse, force, friction, gap, mu)
        change = np.empty((count, 3))
        change[self.order] = self.result.trial[:, MOTION : MOTION + 3]
        share, lent = afforded(motion, pairs, rows, found, impulse, change, before)
        force, friction, impulse = share * force, share[:, None] * friction, share[:, None] * impulse
        motion.push(without_couple(motion, pairs, found, rows, impulse), impulse, response=self.result.w[: len(motion.x)])
        held, slip, sticks = self.held.copy(), np.empty((count, 3)), np.empty(count, np.bool_)
        return_stretch(self.order, row, motion.slide(rows), held, slip, sticks)
        loaded = (force > 0.0).nonzero()[0]
        memory = _by_face(loaded, self.key, self.span, held, sticks)
        memory |= _by_row(loaded, self.own, held, force) | surface.remembered(motion, pairs, found) | lent
        surfaces = motion.kept(surface.Surfaces)
        near = Near(surfaces.flats.sides, self.place.points, AGAIN * surfaces.side)
        contacts = recovered(motion, pairs, found, rows, force, friction, gap, mu, sticks, slip, near)
        return Answer(contacts, memory, warnings=warnings)


def _late(motion: Motion, pairs: surface.Pairs, rows: Rows, found: Merged, place: Place) -> Floats:
    """Depth [m] of rows that were as deep at the start of the step and come out later, (r,) (theory/patch 4.5).

    Depth that goes within a step becomes speed. Whatever two rigid bodies overlap by before they are seen to touch, as where they start in
    each other or turn an edge into the other, and what soft ones did as they were first seen, is no compression that could drive them
    apart: it goes at GENTLE.
    """
    share = np.where(surface.both_rigid(motion, pairs.slave, pairs.master), 1.0, pairs.apart)
    if not share.any():
        return np.zeros(len(rows))
    share = share[found.pair]
    before = found.gap + np.einsum("ri,ri->r", rows.normal, motion.row_paths(rows, place, motion.here()))
    return share * np.maximum(-before - pairs.gentle[found.pair], 0.0)


def _restitution(motion: Motion, pairs: surface.Pairs) -> Floats:
    """Of each pair, (k,); what is soft rebounds by itself."""
    a, b = pairs.slave, pairs.master
    return np.where(surface.both_rigid(motion, a, b), motion.pairs.restitution(a, b), 0.0)


def _by_face(loaded: Ints, key: Ints, area: Floats, held: Floats, sticks: np.ndarray) -> Memory:
    """Mean stretch of each slave's face against each body over rows that press, and whether most of it slips."""
    order = loaded[key[loaded].argsort(kind="stable")]
    keys, mean, slipping = np.empty(len(order), np.int64), np.empty((len(order), 3)), np.empty(len(order))
    count = _faces(order, key, area, held, sticks, keys, mean, slipping)
    return {"key": keys[:count], "stretch": mean[:count], "slipping": slipping[:count]}


@kernel
def _faces(order, key, area, held, sticks, keys, mean, slipping):  # type: ignore[no-untyped-def]
    """Means over rows of the same key, which are next to each other in `order`; how many keys there are."""
    count = first = 0
    while first < len(order):
        k, whole, slips, total = key[order[first]], 0.0, 0.0, (0.0, 0.0, 0.0)
        while first < len(order) and key[order[first]] == k:
            r = order[first]
            whole += area[r]
            slips += 0.0 if sticks[r] else area[r]
            total = axpy(area[r], load(held, r), total)
            first += 1
        keys[count], slipping[count] = k, 1.0 if slips > 0.5 * whole else 0.0
        store(mean, count, scale(1.0 / whole, total))
        count += 1
    return count


def _by_row(loaded: Ints, own: Ints, held: Floats, force: Floats) -> Memory:
    order = loaded[own[loaded].argsort(kind="stable")]
    return {"row": own[order], "row_stretch": held[order], "row_force": force[order]}


def _row_key(motion: Motion, pairs: surface.Pairs, found: Merged) -> Ints:
    """A number for each row that stays the same while it is made by the same face and body, or corner of two faces if these are rigid."""
    out = np.empty(len(found), np.int64)
    corners, faces, bodies = surface.both_rigid(motion, pairs.slave, pairs.master), len(motion.skin.faces), len(motion.bodies)
    _number(
        found.pair, found.slave, found.master, found.weights, found.gap, found.tip, found.spot, pairs.master, corners, faces, bodies, out
    )  # fmt: skip
    return out


@kernel
def _number(pair, slave, master, weights, gap, tip, spot, body, corners, faces, bodies, out):  # type: ignore[no-untyped-def]
    last, rank = -1, 0
    for r in range(len(pair)):
        p = pair[r]
        other = master[r] if master[r] >= 0 and corners[p] else faces + body[p]
        number = slave[r] * (faces + bodies) + other
        rank = rank + 1 if number == last else 0  # among rows of the same two
        last, place = number, 3 + (rank if tip[r] == 0.0 else -1 - rank) % MOST_CORNERS
        for k in range(2, -1, -1):
            if weights[r, k] > 1.0 - ON_EDGE:
                place = k
        place = spot[r] % (ROOM // 2) if spot[r] >= 0 else place
        out[r] = number * ROOM + place + (ROOM // 2 if gap[r] > 0.0 and tip[r] == 0.0 else 0)


def _recalled(memory: Memory, own: Ints, key: Ints) -> tuple[Floats, Floats, Floats]:
    """Stretch of the tangential springs, of the same row if it was there, else of its face; the normal force of the row; if it slips."""
    held, load, slips = np.zeros((len(own), 3)), np.zeros(len(own)), np.zeros(len(own))
    if len(memory.get("key", ())):
        names = ("stretch", "slipping", "row_stretch", "row_force")
        known = contiguous(memory["key"], np.int64), contiguous(memory["row"], np.int64)
        _recall(*known, key, own, *[contiguous(memory[name]) for name in names], held, load, slips)
    return held, load, slips


@kernel
def _recall(faces, rows, key, own, stretch, slipping, row_stretch, row_force, held, press, slips):  # type: ignore[no-untyped-def]
    """What is known of these faces and rows."""
    face, row = np.empty(len(key), np.int64), np.empty(len(own), np.int64)
    places(faces, key, face)
    places(rows, own, row)
    for r in range(len(face)):
        if face[r] >= 0:
            slips[r] = slipping[face[r]]
            store(held, r, load(stretch, face[r]))
        if row[r] >= 0:
            press[r] = row_force[row[r]]
            store(held, r, load(row_stretch, row[r]))


@kernel
def _begin(dof, w, out):  # type: ignore[no-untyped-def]
    for i in dof:
        store(out, i, load(w, i))
