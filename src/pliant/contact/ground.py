"""The method `ground`: points of skins against static, rigid and soft bodies, by discrete penalty impulses.

The first and simplest method. Points that end the predicted step inside another body get an impulse
    I = s / (dt D) * depth,     D the give of the contact, s = k dt^2 D the only number that matters for stability,
which is a penalty spring k = s / (dt^2 D) taken at the end of the step (DPF, theory/penalty 5.1, 5.5; stable for s < 4/3,
a static partner and s = 1 end on the surface). Friction as in contact/friction.py.

Where we differ: D is the absolute row sum over all contacts of the step, so stacked and shared contacts stay stable; k of an
enduring contact changes slowly (contact/enduring_springs.py), so that a shorter step does not kick what is at rest.

Edges that cross edges are contacts too, and points at rims leave with them, or with the other points of their two bodies where no edge
crosses (detect/sharp_edges.py).

Limitations: looks at the end of the step only (what would pass: contact/passing.py); bodies rest a few g dt^2 deep; no self-contact.
Surfaces must be closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.base import PliantError
from pliant.contact.contacts import Contacts, Support
from pliant.contact.edge_contacts import (
    crossed_edges,
    deep_table,
    edge_key,
    edge_rows,
    features,
    point_rows,
    remember_depths,
    row_bodies,
    too_deep,
)
from pliant.contact.enduring_springs import enduring_stiffness, stiffness_unit
from pliant.contact.friction import anchored, coulomb, tangential
from pliant.contact.method import Answer, Memory
from pliant.contact.pressure import Pressure
from pliant.contact.remembered import Table
from pliant.detect.keys import recall, remember
from pliant.detect.penetration import Penetration
from pliant.detect.sharp_edges import Ways, leave_with_edges, leave_with_others
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.world.world import World


@dataclass(frozen=True)
class Ground:
    """Discrete penalty contact of skin points."""

    stiffness: float = 0.5  # s = k dt^2 D, 0 < s < 4/3

    needs: ClassVar[frozenset[str]] = frozenset({"triangles"})

    def __post_init__(self) -> None:
        if not 0.0 < self.stiffness < 4.0 / 3.0:
            raise PliantError(f"stiffness = {self.stiffness}: s = k dt^2 D must be above 0 and below 4/3, where the method is stable.")

    def tables(self, memory: Memory, world: World) -> list[Table]:
        """What is remembered, with the bodies of each row."""
        if "key" not in memory:
            return []
        key, bodies = memory["key"], len(world.model.bodies)
        return [Table("key", ("stretch", "k"), *row_bodies(world, key, key // bodies, key % bodies)), deep_table(world, memory)]

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        motion.refuse_self_contact("ground")
        finder = motion.kept(Penetration)
        surfaces = finder.fit(motion.end, motion.shapes)
        hits = finder.find(surfaces, motion.pairs.meet)
        edges = crossed_edges(motion, finder.tree, memory)
        if len(hits) + len(edges) == 0:
            return Answer(Contacts.none(motion.dt))
        ways = Ways(hits.point, hits.a, hits.b, hits.face, hits.weights, hits.normal, -hits.gap)
        _, wanted, crossing = leave_with_edges(surfaces, ways, edges)
        leave_with_others(surfaces, finder.tree, ways)
        hits, edges = replace(hits, gap=-ways.depth).select(wanted), edges.select(crossing)
        points = point_rows(motion, hits.point, hits.b, hits.face, hits.weights, hits.normal, -hits.gap - 2.0 * hits.radius)
        rows = Rows.joined([points, edge_rows(motion, edges)])
        key = np.concatenate([hits.point * len(motion.bodies) + hits.b, edge_key(motion, edges)])
        a, b, gap = (np.concatenate([getattr(hits, name), getattr(edges, name)]) for name in ("a", "b", "gap"))
        k = enduring_stiffness(self.stiffness, stiffness_unit(motion.dt, motion.give(rows)), recall(memory, "k", key))
        impulse = -motion.dt * k * gap
        mu_s, mu_d = motion.pairs.friction(a, b)
        stretch = recall(memory, "stretch", key, (3,))
        friction = coulomb(motion, rows, impulse, mu_s, mu_d, stretch)
        motion.push(rows, impulse[:, None] * rows.normal + friction.impulse)
        slip = tangential(motion.slide(rows), rows.normal)
        feature_a, feature_b = features(hits.point, hits.face, edges)
        contacts = Contacts(
            a=a, b=b, feature_a=feature_a, feature_b=feature_b, point=rows.at, normal=rows.normal, gap=gap,
            impulse=impulse, friction_impulse=friction.impulse, sticking=friction.sticks.astype(np.float64), slip=slip,
            area=motion.kept(Pressure).row_areas(motion.end, rows, impulse), dt=motion.dt, support=Support.of(rows),
        )  # fmt: skip
        held = anchored(stretch, slip, friction.sticks, friction.dragged, rows.normal)
        warnings = too_deep(motion, "ground", a, b, -gap, "or contact = \"patch\"")
        return Answer(contacts, remember(key, stretch=held, k=k) | remember_depths(motion, a, b, -gap), warnings=warnings)
