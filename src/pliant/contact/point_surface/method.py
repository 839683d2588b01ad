"""The method `point-surface`: surfels inside implicit surfaces, a common contact surface, penalty and friction on it.

Keiser, Müller, Heidelberger, Teschner, Gross: Contact Handling for Deformable Point-Based Objects (2004); part 4 of the methods
page. A step:
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

from pliant.base import Floats
from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import anchored, tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.point_surface.closest import respond_closest
from pliant.contact.point_surface.contact_surface import moved_to_contact
from pliant.contact.point_surface.forces import implicit_of, stiffness_of, too_soft
from pliant.contact.point_surface.look import Look, look, remembered
from pliant.contact.point_surface.options import Options
from pliant.contact.point_surface.round import critical
from pliant.contact.point_surface.strides import shorter_step
from pliant.contact.point_surface.together import Pressing, press
from pliant.contact.point_surface.touching import Touching, touching
from pliant.contact.point_surface.yielding import Yielding
from pliant.contact.pressure import Pressure
from pliant.detect.surfels.carried import Carried
from pliant.world.motion import Motion
from pliant.world.pairs import PairTable


@dataclass(frozen=True)
class PointSurface(Options):
    """Contact of surfels with the surfaces of other bodies."""

    needs: ClassVar[frozenset[str]] = frozenset({"surfels"})

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        seen = look(self, motion, memory, motion.pairs)
        shorter = shorter_step(motion, seen, self.substeps)
        if shorter is not None:
            return Answer(Contacts.none(motion.dt), memory, again=shorter)
        if self.force == "closest":
            return respond_closest(self, motion, seen)
        if len(seen) == 0:
            return Answer(Contacts.none(motion.dt), remembered(motion, seen))
        return self.push(motion, seen)

    def push(self, motion: Motion, seen: Look) -> Answer:
        """Pressure and friction of all contacts, and where they are drawn."""
        found = touching(self, motion, seen)
        rows, implicit = found.rows, implicit_of(self, motion, found.a, found.b)
        rows.at = rows.at + implicit[:, None] * found.ahead  # forces are taken at the start of the step, or at its end
        k, c = stiffness_of(self, motion, seen, found.a, found.b, implicit, found.part)
        balls = slice(len(seen.hits), len(seen.hits) + len(seen.round))
        c[balls] = self.damping * critical(motion, seen.round, k[balls])
        pressing = Pressing(found.mean, found.area, k, c, implicit, *motion.pairs.friction(found.a, found.b), found.stretch, found.force)
        impulse, friction = press(self, motion, seen, rows, pressing)
        slip = tangential(motion.slide(rows), rows.normal)
        contacts = Contacts(
            a=found.a, b=found.b, feature_a=found.feature_a, feature_b=found.feature_b, point=found.point, normal=rows.normal,
            gap=found.gap, impulse=impulse, friction_impulse=friction.impulse, sticking=friction.sticks.astype(np.float64), slip=slip,
            area=self.areas(motion, found, impulse), dt=motion.dt, support=Support.of(rows),
        )  # fmt: skip
        held = anchored(found.stretch, slip, friction.sticks, friction.dragged, rows.normal)
        pairs = motion.pairs  # of this method
        shown = (lambda: self.shown(motion, pairs)) if self.show else None  # worked out when somebody looks
        warnings = seen.warnings(motion) + too_soft(self, motion, seen, found.a, found.b, found.gap, k)
        return Answer(contacts, remembered(motion, seen, held, impulse / motion.dt), shown=shown, warnings=warnings)

    def areas(self, motion: Motion, found: Touching, impulse: Floats) -> Floats:
        """Area of each contact [m^2], (r,): of its surfel, but where a mesh deforms what the forces on its vertices say.

        Between two meshes that do not match the depth of single surfels varies more than the pressure on the elements does.
        """
        meshed = np.isin(motion.bodies.kind, ("fem", "springs"))
        rows = meshed[found.a] | meshed[found.b]
        if not rows.any():
            return found.area
        return np.where(rows, motion.kept(Pressure).row_areas(motion.end, found.rows, impulse), found.area)

    def shown(self, motion: Motion, pairs: PairTable) -> Floats:
        """Displacement of skin points onto the contact surface at the end of the step [m], (p, 3)."""
        carried, seen = motion.kept(Carried), look(self, motion, {}, pairs, "end")
        hits, body = seen.hits, seen.surfaces.fixed.body
        share = motion.kept(Yielding).share(body[hits.surfel], hits.other, self.weight)
        moved = moved_to_contact(seen.surfaces, hits, share)
        vector = moved.points - seen.surfaces.points[hits.surfel]
        own = np.flatnonzero(moved.kept & (carried.weight[hits.surfel, 0] == 1.0))  # surfels that are skin points
        order = own[np.argsort(np.linalg.norm(vector[own], axis=1), kind="stable")]  # of several bodies the deepest decides
        out = np.zeros((len(motion.skin), 3))
        out[carried.point[hits.surfel[order], 0]] = vector[order]
        return out

