"""The method `point-surface`: surfels inside implicit surfaces, a common contact surface, penalty and friction on it.

[Keiser 2004]; theory/point-surface-contact. A step:
    surfels in overlapping boxes -> inside the other's implicit surface? -> pressure from the depth -> friction -> push;
    colliding surfels move onto the contact surface in what is drawn.
Force is taken at the start of the step: with symplectic bodies and without damping the energy of a collision is kept.

Where we differ (every published variant is an option): force from the smooth gap, pressure = (k / 2) depth, half of it from either body's
surfels, in place of springs between closest surfels; forces times area, not density; the transpose of the binding carries them;
the contact surface weighs with E, not 1/E; damping counts once and never pulls; friction sticks; pairs do not depend on their order.

Limitations: bodies overlap by pressure / (k / 2), which the drawn surfaces hide; nothing is seen within a step, which is therefore divided
when bodies move more than half a spacing; surfels deeper than 3 h go on along their last good direction; edges are rounded over h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import anchored, tangential
from pliant.contact.method import GIVEN, STEP, Answer, Memory
from pliant.contact.point_surface.balls import critical_damping
from pliant.contact.point_surface.contact_surface import moved_to_contact
from pliant.contact.point_surface.detection import Detection, detect, remembered
from pliant.contact.point_surface.energy_account import Accounts
from pliant.contact.point_surface.impulses import ContactSet, Pressing, contact_set, push_contacts
from pliant.contact.point_surface.published import respond_closest
from pliant.contact.point_surface.step_length import shorter_step
from pliant.contact.point_surface.stiffness import implicit_of, stiffness_of, too_soft
from pliant.contact.pressure import Pressure
from pliant.world.motion import Motion
from pliant.world.pairs import PairTable

EXPLICIT_S = 0.5  # default of s, an eighth of what is unstable without damping
IMPLICIT_S = 32.0  # where no stiffness is unstable: bodies at rest overlap by g dt^2 / 32
CHOICES = {
    "force": ("gap", "closest"),
    "weight": ("E", "1/E", "equal"),
    "scale": ("area", "rho", "none"),
    "distribution": ("conjugate", "keiser"),
    "surface": ("corrected", "published"),
    "friction": ("anchored", "published"),
    "order": ("free", "published"),
}


@dataclass(frozen=True)
class Options:
    """Penalty on the common contact surface, its damping and friction."""

    units: ClassVar[dict[str, str]] = {"stiffness": "N/m^3"}
    stiffness: float | str = "auto"  # k [N/m^3], pressure is k / 2 times the depth; "auto": as stiff as is stable with the step
    s: float | None = None  # of stiffness "auto": (k / 2) dt^2 D, D the give of both bodies per area. None: 32 where implicit, else 0.5
    implicit: bool | str = "auto"  # forces know what they will do to the gaps; "auto": of implicit bodies; damped: rigid ones, long dt
    sweeps: int = 10  # implicit: how often contacts hear of each other in a step, at most
    damping: float = 0.2  # zeta of the normal damping, a share of critical
    substeps: int = 32  # most parts of a step when bodies move more than half a surfel spacing; 1: never divide
    show: bool = True  # move surfels onto the contact surface in what is drawn
    resample: bool = False  # closest: spread the contact surface evenly before forces are taken from it
    # as published
    force: str = "gap"  # from the depth of each surfel in the other surface; "closest": springs between closest surfels, (4)
    weight: str = "E"  # the stiffer body keeps its shape; "1/E": as printed, it gives way; "equal": half way
    scale: str = "area"  # forces times the area of a surfel; "rho": times density, (7); "none"
    distribution: str = "conjugate"  # as surfels are bound to their body; "keiser": Shepard weights of volume points, (8)
    surface: str = "corrected"  # passes through its surfels; "published": inside a ball by h^2 / R
    friction: str = "anchored"  # sticks and slides; "published": sliding only, at full strength for any speed, (5)
    damping_counts: int = 1  # 2: as (4) and (6) are printed, damping twice
    order: str = "free"  # all pairs from the same surfaces; "published": later pairs see surfaces moved by earlier ones (closest only)

    def stability(self, implicit: bool) -> float:
        """(k / 2) dt^2 D of stiffness "auto"; what is not implicit would be unstable from 4 on and keeps its default there."""
        usual = IMPLICIT_S if implicit else EXPLICIT_S
        return usual if self.s is None or (self.s >= 4.0 and not implicit) else self.s

    def __post_init__(self) -> None:
        if isinstance(self.stiffness, str):
            if self.stiffness != "auto":
                raise PliantError(f'stiffness = "{self.stiffness}": give "auto" or a number [N/m^3].')
        elif not self.stiffness > 0.0:
            raise PliantError(f"stiffness = {self.stiffness}: contact needs a stiffness above 0 N/m^3.")
        if self.s is not None and not 0.0 < self.s < (np.inf if self.implicit else 4.0):
            raise PliantError(f"s = {self.s}: (k / 2) dt^2 D must be above 0, and below 4 with implicit = false.")
        if self.implicit not in (True, False, "auto"):
            raise PliantError(f"implicit = {self.implicit!r}: it is true, false or \"auto\".")
        if self.sweeps < 1:
            raise PliantError(f"sweeps = {self.sweeps}: contacts must hear of each other at least once.")
        if not 0.0 <= self.damping <= 10.0:
            raise PliantError(f"damping = {self.damping}: it must be between 0 and 10.")
        if self.substeps < 1:
            raise PliantError(f"substeps = {self.substeps}: a step has at least one part.")
        if self.damping_counts not in (1, 2):
            raise PliantError(f"damping_counts = {self.damping_counts}: it is 1, or 2 as published.")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise PliantError(f"{name} = '{getattr(self, name)}': there are {', '.join(known)}.")
        closest = self.force == "closest"
        for name, plain in (("order", "free"), ("resample", False), ("scale", "area"), ("damping_counts", 1)):
            if getattr(self, name) != plain and not closest:
                raise PliantError(f"{name} = {getattr(self, name)!r} needs force = \"closest\": the force of the gap knows nothing of it.")


@dataclass(frozen=True)
class PointSurface(Options):
    """Contact of surfels with the surfaces of other bodies."""

    follows: ClassVar[str] = "everything"
    needs: ClassVar[frozenset[str]] = frozenset({"surfels"})

    @property
    def bears(self) -> str:
        """What the depth under a load follows."""
        return STEP if isinstance(self.stiffness, str) else GIVEN

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        seen = detect(self, motion, memory, motion.pairs)
        shorter = shorter_step(motion, seen, self.substeps)
        if shorter is not None:
            return Answer(Contacts.none(motion.dt), memory, again=shorter)
        if len(seen) == 0:
            return Answer(Contacts.none(motion.dt), remembered(motion, seen))
        answer = respond_closest(self, motion, seen, memory) if self.force == "closest" else self.push(motion, seen, memory)
        pairs = motion.pairs  # of this method
        answer.shown = (lambda: self.shown(motion, pairs)) if self.show else None  # worked out when somebody looks
        return answer

    def push(self, motion: Motion, seen: Detection, memory: Memory) -> Answer:
        """Pressure and friction of all contacts, and where they are drawn."""
        found = contact_set(self, motion, seen)
        rows, implicit = found.rows, implicit_of(self, motion, seen, found.a, found.b)
        rows.at = rows.at + implicit[:, None] * found.ahead  # forces are taken at the start of the step, or at its end
        k, c = stiffness_of(self, motion, seen, found.a, found.b, implicit, found.part)
        balls = slice(len(seen.hits), len(seen.hits) + len(seen.balls))
        c[balls] = self.damping * critical_damping(motion, seen.balls, k[balls])
        pressing = Pressing(found.mean, found.area, k, c, implicit, *motion.pairs.friction(found.a, found.b), found.stretch, found.force)
        accounts = Accounts.of(motion, memory, found.a, found.b, found.stored * found.area * k * found.mean**2)
        impulse, friction = push_contacts(self, motion, seen, rows, pressing, found.stored, accounts)
        slip = tangential(motion.slide(rows), rows.normal)
        contacts = Contacts(
            a=found.a, b=found.b, feature_a=found.feature_a, feature_b=found.feature_b, point=found.point, normal=rows.normal,
            gap=found.gap, impulse=impulse, friction_impulse=friction.impulse, sticking=friction.sticks.astype(np.float64), slip=slip,
            area=self.areas(motion, seen, found, impulse), dt=motion.dt, support=Support.of(rows),
        )  # fmt: skip
        held = anchored(found.stretch, slip, friction.sticks, friction.dragged, rows.normal)
        warnings = seen.warnings(motion) + too_soft(self, motion, seen, found.a, found.b, found.gap, k)
        kept = remembered(motion, seen, held, impulse / motion.dt) | accounts.memory()
        return Answer(contacts, kept, warnings=warnings)

    def areas(self, motion: Motion, seen: Detection, found: ContactSet, impulse: Floats) -> Floats:
        """Area of each contact [m^2], (r,): of its surfel, but where a mesh deforms what the forces on its vertices say.

        Phyxels in other bodies have none: the skin before them has been counted.

        Between two meshes that do not match the depth of single surfels varies more than the pressure on the elements does.
        """
        meshed = (motion.bodies.frame < 0) & ~motion.bodies.phyxels
        rows, area = meshed[found.a] | meshed[found.b], found.area.copy()
        area[len(area) - len(seen.inside) :] = 0.0
        if not rows.any():
            return area
        return np.where(rows, motion.kept(Pressure).row_areas(motion.end, found.rows, impulse), area)

    def shown(self, motion: Motion, pairs: PairTable) -> Floats:
        """Displacement of skin points onto the contact surface at the end of the step [m], (p, 3)."""
        seen = detect(self, motion, {}, pairs, "end")
        carried = seen.prepared.carried
        hits, body = seen.hits, seen.surfaces.fixed.body
        share = seen.prepared.compliance.share(body[hits.surfel], hits.other, self.weight)
        moved = moved_to_contact(seen.surfaces, hits, share)
        vector = moved.points - seen.surfaces.points[hits.surfel]
        own = np.flatnonzero(moved.kept & (carried.weight[hits.surfel, 0] == 1.0))  # surfels that are skin points
        order = own[np.argsort(np.linalg.norm(vector[own], axis=1), kind="stable")]  # of several bodies the deepest decides
        out = np.zeros((len(motion.skin), 3))
        out[carried.point[hits.surfel[order], 0]] = vector[order]
        return out

