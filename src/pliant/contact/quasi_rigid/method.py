"""The method `quasi-rigid`: bodies that are rigid but give way locally [Pauly, Pai, Guibas 2004]; theory/quasi-rigid.

Every pair of bodies near each other is an elastic contact problem (elastic/two_bodies.py): nodal forces P >= 0 and separations
s = K P + q >= 0 with s P = 0, from the shapes at the start of the step. The forces are impulses on the rigid frames; the dents are drawn,
not simulated.

    symplectic   impulse dt P of the start; steps are shortened to a fiftieth of an impact, and to first contact (step_length.py)
    implicit     forces of the end of the step through the stiffness of the contact (node_impulses.py): any step, dissipative
    auto         symplectic while something moves; implicit against soft bodies, and where bodies have come to rest on each other

Forces act along gradients of distances (contact_rows.py), and no contact gives back more energy than it took (energy_account.py).

Friction is decoupled: Coulomb's law at each node with the normal force found without it, with anchors (contact/friction.py); drilling
moments come out of the patch. `material.stiffness_damping` of the bodies is the only other loss.

Where we differ: the paper splits the problem between the two surfaces, which does not determine the forces (elastic/two_bodies.py); ours
are shared, so that action is reaction. The paper's friction slides only; ours holds.

Limitations: at least one of two bodies must be quasi-rigid; soft partners count as rigid within a step; no self-contact; flat on flat
and deep contacts are beyond the half-space that responses come from; friction does not shift the surface sideways (no Mindlin slip).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.contacts import Contacts, Support
from pliant.contact.elastic.lcp import ROUGH
from pliant.contact.elastic.result import FEW
from pliant.contact.elastic.two_bodies import MODES
from pliant.contact.friction import anchored, coulomb, tangential
from pliant.contact.method import DENT, Answer, Memory
from pliant.contact.quasi_rigid.contact_rows import ContactRows, LastRows, shown
from pliant.contact.quasi_rigid.energy_account import Account, booked, limited, opened
from pliant.contact.quasi_rigid.node_impulses import push_apart
from pliant.contact.quasi_rigid.step_length import at_rest, longest, quiet, traced_back
from pliant.contact.quasi_rigid.touching_pairs import How, Touch, look, refuse
from pliant.detect.keys import recall, remember
from pliant.world.motion import Motion

INTEGRATIONS = ("auto", "symplectic", "implicit")
HELD = 5  # steps since the greatest force after which it is over: an impact wiggles for less
SLACK = 1.0 + 1e-9  # by which rounding may exceed a limit


class Pair(NamedTuple):
    """What is remembered of two bodies that touch."""

    period: float  # [s] time scale of their contact
    account: Account | None  # None: they touched from the beginning
    still: float = 0.0  # for how many of these times nothing has moved
    force: float = 0.0  # [N] greatest so far
    few: bool = False  # nodes touched then
    held: int = 0  # steps since then
    told: bool = False  # that they did


@dataclass(frozen=True)
class QuasiRigid:
    """Elastic contact of quasi-rigid bodies with each other and with rigid, static and soft ones."""

    integration: str = "auto"  # symplectic, implicit; auto: symplectic, but implicit against soft bodies and at rest
    mode: str = "master"  # who carries forces: master, merged or split
    level: int = 0  # 0: all samples; 1, 2, ...: clusters of them, faster and coarser
    accuracy: float | None = None  # instead of a level: from coarse to fine until the wrench changes by less than this part
    steps: int = 50  # steps per half period of a contact, if symplectic

    needs: ClassVar[frozenset[str]] = frozenset({"surfels"})
    bears: ClassVar[str] = DENT

    def __post_init__(self) -> None:
        if self.integration not in INTEGRATIONS:
            raise PliantError(f"integration = '{self.integration}': {nearest(self.integration, INTEGRATIONS)}")
        if self.mode not in MODES:
            raise PliantError(f"mode = '{self.mode}': {nearest(self.mode, MODES)}")
        if self.steps < 4 or self.level < 0 or (self.accuracy is not None and not self.accuracy > 0.0):
            raise PliantError(f"steps = {self.steps}, level = {self.level}, accuracy = {self.accuracy}: at least 4, at least 0, above 0.")

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        bodies = np.array([len(motion.bodies)])
        if not np.array_equal(memory.get("bodies", []), bodies):
            refuse(motion)
        how = How(self.mode, self.level, self.accuracy)
        touches = look(motion, "start", how, memory)
        known = _recalled(memory)
        pairs = {t.pair: known.get(t.pair, Pair(np.inf, None)) for t in touches}
        contacts, kept = Contacts.none(motion.dt), {}
        if touches:
            patch = motion.kept(LastRows).of(motion, touches)
            implicit = [self._implicit(motion, touch, pair) for touch, pair in zip(touches, pairs.values(), strict=True)]
            limit = longest(motion, patch, [pair.period for pair in pairs.values()], implicit, self.steps)
            if motion.dt > SLACK * limit:
                return Answer(contacts, again=limit)
            accounts = [pair.account or opened(patch, part) for pair, part in zip(pairs.values(), patch.parts(), strict=True)]
            patch, before = limited(motion, patch, accounts)
            impulse = push_apart(motion, patch, implicit)
            accounts = booked(motion, patch, impulse, before, accounts, implicit)
            contacts, stretch = _rub(motion, patch, impulse, memory)
            still = quiet(motion, patch, [pair.still for pair in pairs.values()])
            joined = zip(pairs.items(), accounts, still, strict=True)
            pairs = {key: pair._replace(account=account, still=rest) for (key, pair), account, rest in joined}
            kept = remember(patch.key, stretch=stretch, P=patch.force, at=patch.rows.at, area=patch.area)
        ends = look(motion, "end", how, kept | _pairs(touches, pairs))
        for touch in ends:
            if touch.pair not in pairs:
                sooner, period = traced_back(motion, touch, self.steps)
                if sooner is not None:
                    return Answer(Contacts.none(motion.dt), again=sooner)
                pairs[touch.pair] = Pair(period, Account(0.0, 0.0))
        both = {t.pair: t for t in [*ends, *touches]}  # of pairs that touched before, the level of the forces that are kept
        warnings = _warnings(motion, touches, pairs)
        pairs |= {t.pair: _watched(t, pairs[t.pair]) for t in touches}
        kept |= _pairs([both[pair] for pair in sorted(both)], pairs) | {"bodies": bodies}
        return Answer(contacts, kept, shown=lambda: shown(motion, ends), warnings=warnings)

    def _implicit(self, motion: Motion, touch: Touch, pair: Pair) -> bool:
        return self.integration == "implicit" or (self.integration == "auto" and (touch.soft(motion) or at_rest(pair.still)))


def _rub(motion: Motion, patch: ContactRows, impulse: Floats, memory: Memory) -> tuple[Contacts, Floats]:
    """Friction (theory/quasi-rigid 14); the record, and how far anchors are stretched."""
    rows = patch.rows
    mu_s, mu_d = motion.pairs.friction(patch.a, patch.b)
    stretch = recall(memory, "stretch", patch.key, (3,))
    friction = coulomb(motion, rows, impulse, mu_s, mu_d, stretch)
    motion.push(rows, friction.impulse, start=True)
    slip = tangential(motion.slide(rows), rows.normal)
    contacts = Contacts(
        a=patch.a, b=patch.b, feature_a=rows.point[::12].copy(), feature_b=np.full(len(rows), -1), point=rows.at, normal=rows.normal,
        gap=patch.gap, impulse=impulse, friction_impulse=friction.impulse, sticking=friction.sticks.astype(np.float64), slip=slip,
        area=patch.area, dt=motion.dt, support=Support.of(rows),
    )  # fmt: skip
    return contacts, anchored(stretch, slip, friction.sticks, friction.dragged, rows.normal)


def _pairs(touches: list[Touch], pairs: dict[int, Pair]) -> Memory:
    """What is remembered of each pair."""
    pair = [touch.pair for touch in touches]
    accounts = [pairs[p].account or Account(0.0, 0.0) for p in pair]
    return {
        "pair": np.array(pair, np.int64),
        "level": np.array([touch.result.level for touch in touches], np.int64),
        "period": np.array([pairs[p].period for p in pair]),
        "energy": np.array(accounts).reshape(-1, 2),
        "still": np.array([pairs[p].still for p in pair]),
        "force": np.array([pairs[p].force for p in pair]),
        "few": np.array([pairs[p].few for p in pair], np.int64),
        "held": np.array([pairs[p].held for p in pair], np.int64),
        "told": np.array([pairs[p].told for p in pair], np.int64),
    }


def _recalled(memory: Memory) -> dict[int, Pair]:
    """What is known of each pair from the last step."""
    if "pair" not in memory:
        return {}
    none = np.zeros(len(memory["pair"]))  # of a checkpoint that does not have it yet
    columns = (memory.get(name, none).tolist() for name in ("pair", "period", "energy", "still", "force", "few", "held", "told"))
    return {pair: Pair(period, Account(*energy), *more) for pair, period, energy, *more in zip(*columns, strict=True)}


def _scant(pair: Pair) -> bool:
    """Whether few nodes touched under the greatest force, once that is over: at first touch, and when bodies part, they always are few."""
    return bool(pair.few) and pair.held >= HELD


def _watched(touch: Touch, before: Pair) -> Pair:
    told, force = before.told or _scant(before), touch.result.force
    if force <= (1.0 + ROUGH) * before.force:
        return before._replace(told=told, held=before.held + 1)
    return before._replace(force=force, few=int(touch.result.contact.sum()) < FEW, told=told, held=0)


def _warnings(motion: Motion, touches: list[Touch], pairs: dict[int, Pair]) -> list[str]:
    names, out = motion.bodies.names, []
    for touch in touches:
        pair = f"'{names[touch.a]}' and '{names[touch.b]}'"
        if not touch.result.solved:
            out.append(f"The contact of {pair} was {touch.result.status}.")
        if len(touch.result.spikes):
            out.append(f"Between {pair} thin parts or spikes are pressed deeper than half their radius of curvature: do not trust them.")
        before = pairs[touch.pair]
        if not before.told and _scant(before):
            out.append(
                f"Between {pair} fewer than {FEW} samples touch where the force is greatest: it is known to 5 to 20 %. "
                "Give the body a smaller `spacing`."
            )
    return out
