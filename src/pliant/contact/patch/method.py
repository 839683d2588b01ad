"""The method `patch`: contact over the surface that bodies share, solved together with the bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.patch import surface
from pliant.contact.patch.islands import divided, system
from pliant.contact.patch.problem import ROUGH, TOLERANCE, Contact, Found, Islands, System, Work, solve, work
from pliant.detect.keys import recall, remember
from pliant.detect.patches import Patches
from pliant.world.motion import Motion, Place, Rows

TANGENTIAL = 0.1  # stiffness along the surface, in that along the normal: with 1 sticking and slipping change places in every step
LOOKS = 3  # at most
UNSOLVED = 1e-3  # of the contact impulses: what is left of the gradient that is told to the user
AGAIN = 0.01  # of an edge: motion since the last look that asks for another; areas are off by about as much of a face


@dataclass(frozen=True)
class Patch:
    """Contact over the common surface."""

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        surfaces = motion.kept(surface.Surfaces)
        place = motion.coasting()
        pairs = surface.find_pairs(motion, surfaces, place.points, memory)
        if len(pairs.slave) == 0:
            return Answer(Contacts.none(motion.dt))
        kappa = surface.stiffness(motion, surfaces, pairs)
        matrix = system(motion)
        w = self._start(motion, place)
        for _look in range(LOOKS):
            found = surface.find(motion, surfaces, pairs, place)
            if len(found) == 0:
                return Answer(Contacts.none(motion.dt))
            rows = surface.rows_of(motion, pairs, found)
            good = surface.entered(motion, pairs, found, rows, place)
            if not good.all():
                found = Patches(*(column[good] for column in found))
                if len(found) == 0:
                    return Answer(Contacts.none(motion.dt))
                rows = surface.rows_of(motion, pairs, found)
            solved = _Solved.of(motion, matrix, pairs, found, rows, kappa, place, w, memory)
            solved.solve(motion, ROUGH if _look + 1 < LOOKS else TOLERANCE)
            w, before = solved.result.w, place
            place = motion.place_with(w)
            if not _moved(motion, surfaces, solved, before, place):
                break
        solved.solve(motion, TOLERANCE)
        return solved.answer(motion)

    def _start(self, motion: Motion, place: Place) -> Floats:
        """Velocities as they were, in terms of the change from the motion of every body on its own."""
        return motion.start_velocities() - motion.end_velocities()


def _moved(motion: Motion, surfaces: surface.Surfaces, solved: _Solved, before: Place, now: Place) -> bool:
    """Whether what touches has moved so far since it was looked at that polygons are noticeably different."""
    loaded = solved.loaded()
    point = motion.skin.faces[solved.found.slave[loaded]].ravel()
    other = solved.found.master[loaded & (solved.found.master >= 0)]
    point = np.concatenate([point, motion.skin.faces[other].ravel()])
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
    result: Found  # in the order of the islands
    key: Ints  # (r,) slave's face and master's body
    own: Ints  # (r,) the row among all
    scratch: Work
    place: Place  # where it was looked

    @staticmethod
    def of(motion, matrix, pairs, found, rows, kappa, place, w, memory):  # type: ignore[no-untyped-def]
        a, b = pairs.slave[found.pair], pairs.master[found.pair]
        order, islands, contact = divided(motion, rows, a, b)
        key, own = found.slave * len(motion.bodies) + b, _row_key(motion, pairs, found)
        n = rows.normal
        far = motion.row_paths(rows, place, motion.there())  # from `place` to the end of every body on its own
        gap = found.gap + np.einsum("ri,ri->r", n, far)
        stretch = tangential(_recalled(memory, own, key) + motion.slide(rows), n)
        mu_s, mu_d = motion.pairs.friction(a, b)
        mu = np.where(recall(memory, "slipping", key) > 0.5, mu_d, mu_s)
        k = kappa[found.pair] * found.area
        for name, value in (("gap", gap), ("stretch", stretch), ("k", k), ("kt", TANGENTIAL * k), ("mu", mu)):
            getattr(contact, name)[:] = value[order]
        count, size, parts = len(rows), len(matrix.own), len(islands.rows) - 1
        w0, counts = np.zeros((size, 3)), np.zeros((2, parts), np.int64)
        out = Found(w0, np.zeros(count), np.zeros((count, 3)), np.zeros(count), counts[0], counts[1], np.zeros(parts))
        out.w[islands.dof] = w[islands.dof]
        return _Solved(pairs, found, rows, matrix, islands, contact, order, out, key, own, work(size, count), place)

    def solve(self, motion: Motion, tolerance: float) -> None:
        """Go on from where the search is to a tolerance."""
        solve(self.matrix, self.contact, self.islands, self.scratch, self.result, motion.dt, tolerance)

    def loaded(self) -> np.ndarray:
        """Rows that carry force, (r,) bool."""
        out = np.empty(len(self.order), bool)
        out[self.order] = self.result.force > 0.0
        return out

    def answer(self, motion: Motion) -> Answer:
        """Push, and say what touched."""
        rows, dt, found, pairs, c, n = self.rows, motion.dt, self.found, self.pairs, self.contact, self.rows.normal
        back = np.empty(len(rows), np.int64)
        back[self.order] = np.arange(len(rows))
        force, friction, limit, u = (x[back] for x in (self.result.force, self.result.friction, self.result.limit, self.scratch.u))
        motion.push(rows, dt * (force[:, None] * n + friction), response=self.result.w[: len(motion.x)])
        held = tangential(c.stretch[back] + dt * u, n)
        length, most = np.linalg.norm(held, axis=1), limit / c.kt[back]
        sticks = length <= most * (1.0 + 1e-9)
        held *= np.minimum(1.0, np.divide(most, length, out=np.ones(len(rows)), where=length > 0))[:, None]
        gap = c.gap[back] + dt * np.einsum("ri,ri->r", n, u)
        a, b, loaded = pairs.slave[found.pair], pairs.master[found.pair], force > 0.0
        slip = tangential(motion.slide(rows), n)
        contacts = Contacts(
            a=a, b=b, feature_a=found.slave, feature_b=found.master, point=rows.at, normal=n, gap=gap, impulse=dt * force,
            friction_impulse=dt * friction, sticking=sticks.astype(np.float64), slip=slip, area=found.area, dt=dt, support=Support.of(rows),
        ).select(loaded)  # fmt: skip
        memory = _by_face(self.key[loaded], found.area[loaded], held[loaded], sticks[loaded])
        memory |= _by_row(self.own[loaded], held[loaded]) | surface.remembered(motion, pairs, found, gap, self.place)
        left = float(self.result.left.max(initial=0.0))
        warnings = [f"patch: an island of bodies was solved only to {left:.1e}"] if left > UNSOLVED else []
        return Answer(contacts, memory, warnings=warnings)


def _by_face(key: Ints, area: Floats, held: Floats, sticks: np.ndarray) -> Memory:
    """Mean stretch of each slave's face against each body, and whether most of it slips."""
    keys, at = np.unique(key, return_inverse=True)
    total = np.bincount(at, area, len(keys))
    mean = np.stack([np.bincount(at, area * held[:, i], len(keys)) / total for i in range(3)], axis=1)
    return remember(keys, stretch=mean, slipping=(np.bincount(at, area * ~sticks, len(keys)) > 0.5 * total).astype(np.float64))


def _by_row(own: Ints, held: Floats) -> Memory:
    order = np.argsort(own, kind="stable")
    return {"row": own[order], "row_stretch": held[order]}


def _row_key(motion: Motion, pairs: surface.Pairs, found: Patches) -> Ints:
    """A number for each row that stays the same while it is made by the same two faces."""
    faces = len(motion.skin.faces)
    other = np.where(found.master >= 0, found.master, faces + pairs.master[found.pair])  # an exact shape is its body
    pair = (found.slave * (faces + len(motion.bodies)) + other) * 6
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    return pair + (np.arange(len(pair)) - np.repeat(first, np.diff(np.append(first, len(pair))))) % 3 + 3 * (found.gap > 0.0)


def _recalled(memory: Memory, own: Ints, key: Ints) -> Floats:
    """Stretch of the tangential springs: of the same row if it was there, else of its face."""
    out, known = recall(memory, "stretch", key, (3,)), memory.get("row", np.zeros(0, np.int64))
    if len(known):
        at = np.minimum(np.searchsorted(known, own), len(known) - 1)
        same = known[at] == own
        out[same] = memory["row_stretch"][at[same]]
    return out
