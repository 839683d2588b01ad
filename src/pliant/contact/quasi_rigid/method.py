"""The method `quasi-rigid`: bodies that are rigid but give way locally [Pauly, Pai, Guibas 2004]; part 2 of the methods page.

Every pair of bodies that are near each other is an elastic contact problem (resolve.py): nodal forces P >= 0 and separations s = K P + q >= 0
with s P = 0, from the shapes at the start of the step. The forces are impulses on the rigid frames; the dents are drawn, not simulated.

    symplectic   impulse dt P of the start; steps are shortened to a fiftieth of an impact, and to first contact (pace.py)
    implicit     forces of the end of the step through the stiffness of the contact (impulses.py): any step, dissipative

Friction is decoupled: Coulomb's law at each node with the normal force found without it, with anchors (contact/friction.py); drilling
moments come out of the patch. `material.stiffness_damping` of the bodies is the only other loss.

Where we differ: the paper splits the problem between the two surfaces, which does not determine the forces (resolve.py); ours are
shared, so that action is reaction. The paper's friction slides only; ours holds.

Limitations: at least one of two bodies must be quasi-rigid; soft partners count as rigid within a step; no self-contact; flat on flat
and deep contacts are beyond the half-space that responses come from; friction does not shift the surface sideways (no Mindlin slip).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import anchored, coulomb, recall, remember, tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.quasi_rigid.impulses import push_apart
from pliant.contact.quasi_rigid.pace import longest, traced_back
from pliant.contact.quasi_rigid.resolve import MODES
from pliant.contact.quasi_rigid.rows import Patch, patch_of
from pliant.contact.quasi_rigid.shown import shown
from pliant.contact.quasi_rigid.touching import How, Touch, look
from pliant.geometry.mesh import Floats, PliantError
from pliant.motion import Motion
from pliant.reading import nearest

INTEGRATIONS = ("symplectic", "implicit")


@dataclass(frozen=True)
class QuasiRigid:
    """Elastic contact of quasi-rigid bodies with each other and with rigid, static and soft ones."""

    integration: str = "symplectic"  # or implicit
    mode: str = "master"  # who carries forces: master, merged or split
    level: int = 0  # 0: all samples; 1, 2, ...: clusters of them, faster and coarser
    accuracy: float | None = None  # instead of a level: from coarse to fine until the wrench changes by less than this part
    steps: int = 50  # steps per half period of a contact, if symplectic

    needs: ClassVar[frozenset[str]] = frozenset({"surfels"})

    def __post_init__(self) -> None:
        if self.integration not in INTEGRATIONS:
            raise PliantError(f"integration = '{self.integration}': {nearest(self.integration, INTEGRATIONS)}")
        if self.mode not in MODES:
            raise PliantError(f"mode = '{self.mode}': {nearest(self.mode, MODES)}")
        if self.steps < 4 or self.level < 0 or (self.accuracy is not None and not self.accuracy > 0.0):
            raise PliantError(f"steps = {self.steps}, level = {self.level}, accuracy = {self.accuracy}: at least 4, at least 0, above 0.")

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        how, implicit = How(self.mode, self.level, self.accuracy), self.integration == "implicit"
        touches = look(motion, "start", how, memory)
        contacts, kept = Contacts.none(motion.dt), {}
        period = np.array([_known(memory, motion, touch) for touch in touches])
        if touches:
            patch = patch_of(motion, touches)
            if not implicit:
                limit = longest(motion, patch, motion.give(patch.rows), period, self.steps)
                if motion.dt > (1.0 + 1e-9) * limit:
                    return Answer(contacts, again=limit)
            contacts, stretch = self._push(motion, patch, memory, implicit)
            kept = remember(patch.key, stretch=stretch, P=patch.force, at=patch.rows.at, area=patch.area)
        ends = look(motion, "end", how, kept | _levels(motion, touches))
        before = {(t.a, t.b) for t in touches}
        scale = dict(zip(((t.a, t.b) for t in touches), period, strict=True))
        for touch in ends:
            if (touch.a, touch.b) not in before:
                sooner, scale[touch.a, touch.b] = traced_back(motion, touch, self.steps)
                if sooner is not None:
                    return Answer(Contacts.none(motion.dt), again=sooner)
        kept |= _levels(motion, ends, scale)
        return Answer(contacts, kept, shown=lambda: shown(motion, ends), warnings=_warnings(motion, touches))

    def _push(self, motion: Motion, patch: Patch, memory: Memory, implicit: bool) -> tuple[Contacts, Floats]:
        """Push apart, then rub; the record, and how far anchors are stretched."""
        rows = patch.rows
        impulse = push_apart(motion, patch, implicit)
        mu_s, mu_d = motion.pairs.friction(patch.a, patch.b)
        stretch = recall(memory, "stretch", patch.key)
        friction = coulomb(motion, rows, impulse, mu_s, mu_d, stretch)
        motion.push(rows, friction.impulse)
        slip = tangential(motion.slide(rows), rows.normal)
        contacts = Contacts(
            a=patch.a, b=patch.b, feature_a=rows.point[::12].copy(), feature_b=np.full(len(rows), -1), point=rows.at, normal=rows.normal,
            gap=patch.gap, impulse=impulse, friction_impulse=friction.impulse, sticking=friction.sticks.astype(np.float64), slip=slip,
            area=patch.area, dt=motion.dt, support=Support.of(rows),
        )  # fmt: skip
        return contacts, anchored(stretch, slip, friction.sticks, friction.dragged, rows.normal)


def _known(memory: Memory, motion: Motion, touch: Touch) -> float:
    """Time scale of a contact that was found when it began [s]; infinite if it is not known."""
    pair = touch.a * len(motion.bodies) + touch.b
    known = memory.get("pair", np.zeros(0, np.int64))
    at = int(np.searchsorted(known, pair))
    return float(memory["period"][at]) if at < len(known) and known[at] == pair else np.inf


def _levels(motion: Motion, touches: list[Touch], scale: dict[tuple[int, int], float] | None = None) -> Memory:
    """What is remembered of each pair."""
    scale = scale or {}
    return {
        "pair": np.array([t.a * len(motion.bodies) + t.b for t in touches], np.int64),
        "level": np.array([t.result.level for t in touches], np.int64),
        "period": np.array([scale.get((t.a, t.b), np.inf) for t in touches]),
    }


def _warnings(motion: Motion, touches: list[Touch]) -> list[str]:
    names, out = motion.bodies.names, []
    for touch in touches:
        pair = f"'{names[touch.a]}' and '{names[touch.b]}'"
        if not touch.result.solved:
            out.append(f"The contact of {pair} was {touch.result.status}.")
        if len(touch.result.spikes):
            out.append(f"Between {pair} thin parts or spikes are pressed deeper than half their radius of curvature: do not trust them.")
    return out
