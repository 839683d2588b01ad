"""The method `patch`: contact over the surface that bodies share, solved together with the bodies (theory/patch 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Contacts
from pliant.contact.friction import tangential
from pliant.contact.method import LAYER, Answer, Memory
from pliant.contact.patch import surface
from pliant.contact.patch.islands import divided, system
from pliant.contact.patch.node_pressure import recovered
from pliant.contact.patch.problem import (
    FRICTION,
    GAP,
    HARD,
    LOAD,
    MOTION,
    ROUGH,
    SHEAR,
    STIFF,
    STRETCH,
    TOLERANCE,
    TRIAL,
    Contact,
    Islands,
    Solution,
    System,
    solve,
)  # fmt: skip
from pliant.contact.patch.restitution import Bounced, target
from pliant.contact.patch.stiffness import hardening, stiffness
from pliant.contact.remembered import Table
from pliant.detect.keys import find, recall, remember
from pliant.detect.patches import MOST_CORNERS, Patches, select
from pliant.world.motion import Motion, Place, Rows

if TYPE_CHECKING:
    from pliant.world.world import World

LOOKS = 3  # at most
UNSOLVED = 100 * TOLERANCE  # what is left of the gradient that divides the step: two digits short
PARTS = 16  # of a step, at most
AGAIN = 0.01  # of an edge: motion since the last look that asks for another; areas are off by about as much of a face


@dataclass(frozen=True)
class Patch:
    """Contact over the common surface."""

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})
    bears: ClassVar[str] = LAYER
    gentle: ClassVar[bool] = True

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        surfaces = motion.kept(surface.Surfaces)
        place = motion.coasting()
        pairs = surface.find_pairs(motion, surfaces, place.points, memory)
        if len(pairs.slave) == 0:
            return Answer(Contacts.none(motion.dt))
        matrix = system(motion)
        w, solved = self._start(motion, place), None
        bounced = None  # pairs of rigid bodies that part again within the step
        for look in range(LOOKS):
            found = surface.find(motion, surfaces, pairs, place)
            if solved is not None:
                found = surface.with_lost(motion, pairs, found, place, solved.found, solved.loaded_pairs(), solved.place)
            if bounced is not None:
                found = bounced.joined(found, place)
            if len(found) == 0 and solved is not None:
                break  # they part: what was found where they met stands
            if len(found):
                rows = surface.rows_of(motion, pairs, found)
                kappa = stiffness(motion, surfaces, pairs, found)
                harder = hardening(motion, surfaces, pairs, found)
                solved = _Solved.of(motion, matrix, pairs, found, rows, kappa, harder, place, w, memory)
                solved.solve(motion, ROUGH if look + 1 < LOOKS else TOLERANCE)
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
            if not _moved(motion, surfaces, solved, before, place):
                break
        assert solved is not None
        solved.solve(motion, TOLERANCE)
        left = float(solved.result.left.max(initial=0.0))
        if left > UNSOLVED and motion.dt > motion.asked / PARTS:
            text = "patch: steps are divided, since the motion of bodies that touch was not found for a whole one"
            return Answer(Contacts.none(motion.dt), again=0.5 * motion.dt, warnings=[text])
        told = [f"patch: an island of bodies was solved only to {left:.1e}"] if left > UNSOLVED else []
        return solved.answer(motion, told + surface.told(motion, pairs))

    def tables(self, memory: Memory, world: World) -> list[Table]:
        """What is remembered, with the bodies of each row."""
        if "key" not in memory:
            return []
        body, faces, bodies = world.model.skin.face_body, len(world.model.skin.faces), len(world.model.bodies)
        first, second = np.divmod(memory["row"] // (2 * MOST_CORNERS), faces + bodies)
        other = np.append(body, np.arange(bodies))[second]  # a face, or an exact shape
        return [
            Table("key", ("stretch", "slipping"), body[memory["key"] // bodies], memory["key"] % bodies),
            Table("row", ("row_stretch", "row_force"), body[first], other),
            Table("pair", ("depth", "slave", "lean", "leaves"), *np.divmod(memory["pair"], bodies)),
        ]

    def _start(self, motion: Motion, place: Place) -> Floats:
        """Velocities as they were, in terms of the change from the motion of every body on its own."""
        return motion.start_velocities() - motion.end_velocities()


def _moved(motion: Motion, surfaces: surface.Surfaces, solved: _Solved, before: Place, now: Place) -> bool:
    """Whether what touches has moved so far since it was looked at that polygons are noticeably different."""
    rows = solved.rows
    carries = np.zeros(len(now.points), np.bool_)
    carries[rows.point[np.repeat(solved.loaded(), np.diff(rows.start))]] = True
    point = np.flatnonzero(carries)
    far = np.linalg.norm(now.points[point] - before.points[point], axis=1)
    return bool((far > AGAIN * surfaces.side[motion.skin.body[point]]).any())


@dataclass
class _Solved:
    """One look and its solution."""

    pairs: surface.Pairs
    found: Patches
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

    @staticmethod
    def of(motion, matrix, pairs, found, rows, kappa, harder, place, w, memory):  # type: ignore[no-untyped-def]
        a, b, n = pairs.slave[found.pair], pairs.master[found.pair], rows.normal
        order, islands, contact = divided(motion, rows, a, b)
        key, own = found.slave * len(motion.bodies) + b, _row_key(motion, pairs, found)
        far = motion.row_paths(rows, place, motion.there())  # from `place` to the end of every body on its own
        gap = found.gap + np.einsum("ri,ri->r", n, far)
        held, load = _recalled(memory, own, key)
        stretch = tangential(held + motion.slide(rows), n)
        mu_s, mu_d = motion.pairs.friction(a, b)
        mu = np.where(recall(memory, "slipping", key) > 0.5, mu_d, mu_s)
        k, shear = kappa[0][found.pair] * found.area, kappa[1][found.pair] * found.area
        row = contact.row
        late = _late(motion, pairs, rows, found, place)
        goal = target(motion, rows, contact, order, gap, _restitution(motion, a, b))
        lively = goal < gap
        goal = np.where(lively, goal, gap + late)
        row[:, GAP], row[:, STRETCH : STRETCH + 3], row[:, FRICTION], row[:, LOAD] = goal[order], stretch[order], mu[order], load[order]
        row[:, STIFF], row[:, SHEAR], row[:, HARD] = k[order], shear[order], harder[order]
        count, parts = len(rows), len(islands.bounds) - 1
        out = Solution(np.zeros_like(w), np.zeros((count, TRIAL)), np.zeros((count, 4)), np.zeros((parts, 3), np.int64), np.zeros(parts))
        out.w[islands.dof] = w[islands.dof]
        return _Solved(pairs, found, rows, matrix, islands, contact, order, out, key, own, held, place, lively, late)

    def solve(self, motion: Motion, tolerance: float) -> None:
        """Go on from where the search is to a tolerance."""
        solve(*self.matrix, *self.contact, *self.islands, *self.result, motion.dt, tolerance)

    def loaded(self) -> np.ndarray:
        """Rows that carry force, (r,) bool."""
        out = np.empty(len(self.order), bool)
        out[self.order] = self.result.force[:, 3] > 0.0
        return out

    def loaded_pairs(self) -> np.ndarray:
        """Pairs that carry force, (k,) bool."""
        return np.bincount(self.found.pair[self.loaded()], minlength=len(self.pairs)) > 0

    def bounced(self, motion: Motion) -> Bounced | None:
        """The pairs that part again, if there are any."""
        if not self.lively.any():
            return None
        hot = np.bincount(self.found.pair[self.lively & self.loaded()], minlength=len(self.pairs)) > 0
        return Bounced(motion, self.pairs, hot, select(self.found, hot[self.found.pair]), self.place) if hot.any() else None

    def answer(self, motion: Motion, warnings: list[str]) -> Answer:
        """Push, and say what touched."""
        found, rows, dt, pairs, n = self.found, self.rows, motion.dt, self.pairs, self.rows.normal
        back = np.empty(len(rows), np.int64)
        back[self.order] = np.arange(len(rows))
        row, u = self.contact.row[back], self.result.trial[back, MOTION : MOTION + 3]
        force, friction = self.result.force[back, 3], self.result.force[back, :3]
        motion.push(rows, dt * (force[:, None] * n + friction), response=self.result.w[: len(motion.x)])
        slip = tangential(motion.slide(rows), n)
        held = tangential(self.held + slip, n)  # by what it has really slipped, so that nothing adds up
        length, most = np.linalg.norm(held, axis=1), row[:, FRICTION] * row[:, LOAD] / row[:, SHEAR]
        sticks = length <= most * (1.0 + 1e-9)
        held *= np.minimum(1.0, np.divide(most, length, out=np.ones(len(rows)), where=length > 0))[:, None]
        gap = row[:, GAP] + dt * np.einsum("ri,ri->r", n, u) - np.where(self.lively, 0.0, self.late)
        loaded = force > 0.0
        memory = _by_face(self.key[loaded], found.area[loaded], held[loaded], sticks[loaded])
        memory |= _by_row(self.own[loaded], held[loaded], force[loaded]) | surface.remembered(motion, pairs, found, self.place)
        contacts = recovered(motion, pairs, found, rows, force, friction, gap, row[:, FRICTION], sticks, slip)
        return Answer(contacts, memory, warnings=warnings)


def _late(motion: Motion, pairs: surface.Pairs, rows: Rows, found: Patches, place: Place) -> Floats:
    """Depth [m] of rows that were as deep at the start of the step and come out later, (r,) (theory/patch 4.5).

    Depth that goes within a step becomes speed. Whatever two rigid bodies overlap by before they are seen to touch, as where they start in
    each other or turn an edge into the other, and what soft ones did as they were first seen, is no compression that could drive them
    apart: it goes at GENTLE.
    """
    share = np.where(surface.both_rigid(motion, pairs.slave, pairs.master), 1.0, pairs.apart)[found.pair]
    if not share.any():
        return np.zeros(len(rows))
    before = found.gap + np.einsum("ri,ri->r", rows.normal, motion.row_paths(rows, place, motion.here()))
    return share * np.maximum(-before - pairs.gentle[found.pair], 0.0)


def _restitution(motion: Motion, a: Ints, b: Ints) -> Floats:
    """Of each row, (r,); what is soft rebounds by itself."""
    return np.where(surface.both_rigid(motion, a, b), motion.pairs.restitution(a, b), 0.0)


def _by_face(key: Ints, area: Floats, held: Floats, sticks: np.ndarray) -> Memory:
    """Mean stretch of each slave's face against each body, and whether most of it slips."""
    keys, at = np.unique(key, return_inverse=True)
    total = np.bincount(at, area, len(keys))
    mean = np.stack([np.bincount(at, area * held[:, i], len(keys)) / total for i in range(3)], axis=1)
    return remember(keys, stretch=mean, slipping=(np.bincount(at, area * ~sticks, len(keys)) > 0.5 * total).astype(np.float64))


def _by_row(own: Ints, held: Floats, force: Floats) -> Memory:
    order = np.argsort(own, kind="stable")
    return {"row": own[order], "row_stretch": held[order], "row_force": force[order]}


def _row_key(motion: Motion, pairs: surface.Pairs, found: Patches) -> Ints:
    """A number for each row that stays the same while it is made by the same two faces."""
    faces = len(motion.skin.faces)
    other = np.where(found.master >= 0, found.master, faces + pairs.master[found.pair])  # an exact shape is its body
    pair = (found.slave * (faces + len(motion.bodies)) + other) * 2 * MOST_CORNERS
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    rank = np.arange(len(pair)) - np.repeat(first, np.diff(np.append(first, len(pair))))
    return pair + rank % MOST_CORNERS + MOST_CORNERS * (found.gap > 0.0)


def _recalled(memory: Memory, own: Ints, key: Ints) -> tuple[Floats, Floats]:
    """Stretch of the tangential springs, of the same row if it was there, else of its face; and the normal force of the row."""
    stretch, force, at = recall(memory, "stretch", key, (3,)), np.zeros(len(own)), find(memory.get("row", own[:0]), own)
    same = at >= 0
    if same.any():
        stretch[same], force[same] = memory["row_stretch"][at[same]], memory["row_force"][at[same]]
    return stretch, force
