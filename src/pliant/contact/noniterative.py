"""The method `noniterative`: contact forces of soft bodies in closed form, without iterations and without a stiffness.

Spillmann, Becker and Teschner (sections 1-3 of the methods page). Every point that would end the step inside another body, d_i from
coming out, gets the force that takes it there together with all the others,
    f_i = d_i / (dt^2 D_i),   D_i = q_i w_i + sum_j h_ij q_j w_j,   -h_ij f_i on the corners of the triangle where it comes out,
one sweep of l1-Jacobi on the contacts of the step: it cannot diverge and closes the gaps exactly on average. Impulses are dt f.

Where we differ: the reaction is spread by h (mode "moment", 3.3: no ghost torque); "paper" spreads it as published, contact/closure.py.
D is `motion.give`, the same sum carried through the bindings: it also holds for points bound to several nodes, for rigid bodies (3.4)
and, with A^-1 in place of 1/m, for implicit ones. In mode "paper" points bound to several nodes have w = sum weight^2 w_node, and rows
that touch implicit or free rigid bodies take `motion.give` of the published weights. Normals are not shared across sharp edges
(contact/inside.py). Friction is Coulomb's law on top (3.5) with the anchors of contact/friction.py: the stick impulse of 3.5 undoes
the slip of one step, but not that of steps in which the contact was open, so bodies at rest would creep. Implicit bodies spread under
their load within the step: their friction is computed after the normal impulses have acted. Exact shapes count as what they are.
Edges that cross edges are contacts too, and points at rims leave with them (contact/rims.py). What has no depth is pulled apart and
reported (contact/apart.py).

Limitations: looks at the end of the step only; dissipates (restitution 0); bodies that start deep inside each other fly apart with
depth / dt; needs tetrahedra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact import closure
from pliant.contact.apart import contact_key, pace, pull_apart, remember_pairs
from pliant.contact.contacts import Contacts, Support
from pliant.contact.friction import anchored, coulomb, tangential
from pliant.contact.inside import Collisions, Finder
from pliant.contact.method import Answer, Memory
from pliant.contact.pressure import Pressure
from pliant.contact.rims import Ways, crossed_edges, edge_key, edge_rows, features, remember_depths, settle
from pliant.detect.depth import RESOLVED
from pliant.detect.keys import recall, remember
from pliant.detect.sharp_edges import Crossed
from pliant.kernels import axpy, kernel, load, store
from pliant.model import IMPLICIT
from pliant.world.motion import Motion, Rows


@dataclass(frozen=True)
class Noniterative:
    """Closed-form contact forces."""

    mode: str = "moment"  # how the reaction is spread: "moment" or "paper"
    sweeps: int = 1  # of projected Jacobi; 1 is the paper
    depth: str = "propagated"  # what is closed: the consistent depth, or the distance along the "ray"

    needs: ClassVar[frozenset[str]] = frozenset({"triangles", "tets"})

    def __post_init__(self) -> None:
        for name, known in (("mode", ("moment", "paper")), ("depth", ("propagated", "ray"))):
            if getattr(self, name) not in known:
                raise PliantError(f"{name} = \"{getattr(self, name)}\": it is one of {', '.join(known)}.")
        if self.sweeps < 1:
            raise PliantError(f"sweeps = {self.sweeps}: at least one is needed to close a gap.")

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        return self.answer(motion, memory, motion.kept(Finder).find(motion))

    def answer(self, motion: Motion, memory: Memory, found: Collisions) -> Answer:
        """Everything after detection."""
        finder, surface = motion.kept(Finder), motion.kept(Pressure)
        edges = crossed_edges(motion, finder.tree, memory)
        found, edges = settled(motion, finder, found, edges)
        found, lost, warnings = pull_apart(motion, finder, found, memory)
        if len(found) + len(edges) == 0:
            return Answer(Contacts.none(motion.dt), warnings=warnings)
        rows = Rows.joined([contact_rows(motion, found), edge_rows(motion, edges)])
        depth = np.append(found.ray if self.depth == "ray" else found.depth, -edges.gap)
        key, lost = np.append(contact_key(motion, found), edge_key(motion, edges)), np.append(lost, np.zeros(len(edges), bool))
        a, b = np.append(found.a, edges.a), np.append(found.b, edges.b)
        stretch = recall(memory, "stretch", key, (3,))
        before, there = motion.slide(rows), motion.end
        friction_of = motion.pairs.friction(a, b)
        impulse, friction, sticks, dragged = self._push(motion, rows, friction_of, pace(motion, finder, rows, lost, depth), stretch)
        after = motion.slide(rows)
        slip = tangential(after, rows.normal)
        feature_a, feature_b = features(found.point, found.face, edges)
        contacts = Contacts(
            a=a, b=b, feature_a=feature_a, feature_b=feature_b, point=rows.at, normal=rows.normal,
            gap=np.einsum("ri,ri->r", after - before, rows.normal) - depth, impulse=impulse, friction_impulse=friction,
            sticking=sticks.astype(np.float64), slip=slip,
            area=lambda: surface.row_areas(there, rows, impulse), dt=motion.dt, support=Support.of(rows),
        )  # fmt: skip
        held = anchored(stretch, slip, sticks, dragged, rows.normal)
        kept = remember(key, stretch=held, way=rows.normal) | remember_pairs(motion, a, b, rows.normal, lost, memory)
        return Answer(contacts, kept | remember_depths(motion, a, b, depth), warnings=warnings)

    def _push(
        self, motion: Motion, rows: Rows, mu: tuple[Floats, Floats], close: Floats, stretch: Floats
    ) -> tuple[Floats, Floats, np.ndarray, Floats]:
        """Sweeps of normal impulses, friction with the last one; (impulse, friction, sticks, dragged anchors)."""
        carriers, give = (rows, motion.give(rows)) if self.mode == "moment" else paper_rows(motion, rows)
        unit = np.divide(1.0, motion.dt * give, out=np.zeros_like(give), where=give > 0.0)
        impulse = close * unit
        n, more, began = rows.normal, impulse, motion.slide(rows) if self.sweeps > 1 else np.zeros(0)
        for _ in range(self.sweeps - 1):
            motion.push(carriers, more[:, None] * n)
            left = close - np.einsum("ri,ri->r", motion.slide(rows) - began, n)
            more = np.maximum(left * unit, -impulse)
            impulse = impulse + more
        mu_s, mu_d = mu
        if motion.coupled:  # what normal impulses move along the tangent is no slip
            motion.push(carriers, more[:, None] * n)
            rub = coulomb(motion, rows, impulse, mu_s, mu_d, stretch)
            motion.push(rows, rub.impulse)
        elif carriers is rows:
            rub = coulomb(motion, rows, impulse, mu_s, mu_d, stretch)
            motion.push(rows, more[:, None] * n + rub.impulse)
        else:
            rub = coulomb(motion, rows, impulse, mu_s, mu_d, stretch)
            motion.push(carriers, more[:, None] * n)
            motion.push(rows, rub.impulse)
        return impulse, rub.impulse, rub.sticks, rub.dragged


def settled(motion: Motion, finder: Finder, found: Collisions, edges: Crossed) -> tuple[Collisions, Crossed]:
    """Points and edges, of which points at rims leave the way that edges of their bodies cross."""
    ways = Ways(found.point, found.a, found.b, found.face, found.weights, found.normal, found.depth)
    rows, wanted, crossing = settle(motion, finder, ways, edges)
    found.ray[rows], found.status[rows] = found.depth[rows], RESOLVED
    return found.select(wanted), edges.select(crossing)


def contact_rows(motion: Motion, found: Collisions) -> Rows:
    """Four points a row: the point, and the corners of the face with its weights, or the anchor of an exact shape."""
    points, weights, at = np.empty((len(found), 4), np.int64), np.empty((len(found), 4)), np.empty((len(found), 3))
    _fill_rows(
        found.point, found.b, found.face, found.weights, found.normal, found.ray - 2.0 * found.radius, motion.end, motion.skin.faces,
        motion.bodies.anchor, points, weights, at,
    )  # fmt: skip
    return Rows.dense(points, weights, found.normal, at)


@kernel
def _fill_rows(point, body, face, share, normal, way, end, faces, anchor, points, weights, at):  # type: ignore[no-untyped-def]
    for r in range(len(point)):
        points[r, 0], weights[r, 0] = point[r], 1.0
        for k in range(3):
            points[r, k + 1] = faces[face[r], k] if face[r] >= 0 else anchor[body[r]]
            weights[r, k + 1] = -share[r, k]
        # frames take the impulse half way between the point and where it comes out, on the line that soft bodies take it along
        store(at, r, axpy(0.5 * way[r], load(normal, r), load(end, point[r])))


def paper_rows(motion: Motion, rows: Rows) -> tuple[Rows, Floats]:
    """The rows with the published shares c_j h_ij m_j / S_i in place of h_ij, and their D; edges that cross keep their weights."""
    points, weights = rows.point.reshape(-1, 4), rows.weight.reshape(-1, 4)
    edge = weights[:, 1] > 0.0
    some = points[~edge]
    found = closure.paper(some[:, 0], some[:, 1:], -weights[~edge, 1:], skin_inverse_masses(motion))
    spread, give = weights.copy(), np.zeros(len(rows))
    spread[~edge, 1:], give[~edge] = -found.shares, found.give
    carriers = Rows.dense(points, spread, rows.normal, rows.at)
    other = _not_lumped(motion)[points].any(axis=1) | edge.any()
    return carriers, np.where(other, motion.give(carriers), give) if other.any() else give


def skin_inverse_masses(motion: Motion) -> Floats:
    """sum weight^2 w of each skin point [1/kg], (p,): 1/m of a node, 1/M of a rigid frame, 0 where fixed."""
    skin = motion.skin
    terms = np.concatenate([skin.weight**2 * motion.nodes.inverse[skin.node], [0.0]])
    out = np.add.reduceat(terms, skin.start[:-1]) * (np.diff(skin.start) > 0)
    framed = skin.frame >= 0
    out[framed] = motion.frames.inverse[skin.frame[framed]]
    return out


def _not_lumped(motion: Motion) -> np.ndarray:
    """Points whose body does not answer with a mass of their own: of implicit bodies and of free rigid frames, (p,) bool."""
    skin = motion.skin
    implicit = np.zeros(len(motion.bodies) + 1, bool)  # the last for points no body shows
    implicit[motion.nodes.body[motion.nodes.scheme == IMPLICIT]] = True
    framed = skin.frame >= 0
    out = implicit[skin.body]
    out[framed] = motion.frames.inverse[skin.frame[framed]] > 0.0
    return out
