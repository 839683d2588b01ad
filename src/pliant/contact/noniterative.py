"""The method `noniterative`: contact forces of soft bodies in closed form, without iterations and without a stiffness.

Spillmann, Becker and Teschner (theory/noniterative 3-5). Every point that would end the step inside another body, d_i from
coming out, gets the force that takes it there together with all the others,
    f_i = d_i / (dt^2 D_i),   D_i = q_i w_i + sum_j h_ij q_j w_j,   -h_ij f_i on the corners of the triangle where it comes out,
one sweep of l1-Jacobi on the contacts of the step: it cannot diverge and closes the gaps exactly on average. Impulses are dt f.

Where we differ: the reaction is spread by h (mode "moment", theory/noniterative 5.4: no ghost torque); "paper" spreads it as published
(`paper`). D is
`motion.give`, the same sum carried through the bindings: it also holds for points bound to several nodes, for rigid bodies
(theory/noniterative 5.5) and, with A^-1 in place of 1/m, for implicit ones. In mode "paper" points bound to several nodes have w = sum
weight^2 w_node, and rows that touch implicit or free rigid bodies take `motion.give` of the published weights. Normals are not shared
across sharp edges (detect/solid_penetration.py). Friction is Coulomb's law on top (theory/noniterative 5.6) with the anchors of
contact/friction.py: the stick impulse by itself undoes the slip of one step, but not that of steps in which the contact was open, so
bodies at rest would creep. Normal impulses and friction of rigid and explicit bodies answer each other once more, so that friction adds no
energy. Implicit bodies spread under their load within the step: their friction is computed after the normal impulses
have acted. Exact shapes count as what they are. Edges that cross edges are contacts too, and points at rims leave with them
(detect/sharp_edges.py). What has no depth is pulled apart and reported: a body wholly inside another has no border; one that is more than
half through a thin one gets opposite fronts. A point that loses its direction, or whose direction turns over while it is in the middle of
what it is in, goes on along its own last one, else along the last mean direction of its pair of bodies, else along the line of centres.
Along it the bodies come apart by SHALLOW edges a step at least: closing all of the way in one step would shoot them apart. For the same
reason depth that no step has seen come about comes out slowly (contact/edge_contacts.py); the paper closes it at once.

Limitations: looks at the end of the step only; dissipates (restitution 0); far heavier bodies sink into what carries them unless there are
many sweeps; needs tetrahedra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.contact.contacts import Contacts, Support
from pliant.contact.edge_contacts import (
    crossed_edges,
    deep_table,
    edge_key,
    edge_rows,
    features,
    overdue,
    point_rows,
    remember_depths,
    row_bodies,
    too_deep,
)
from pliant.contact.friction import Friction, anchored, coulomb, passive, tangential
from pliant.contact.method import ALONE, Answer, Memory
from pliant.contact.passing import DEEP, PASSING
from pliant.contact.pressure import Pressure
from pliant.contact.remembered import Table
from pliant.detect.consistent_depth import CANCELLED, RESOLVED, ways_out
from pliant.detect.keys import recall, recalled, remember
from pliant.detect.penetration import ACROSS, Surfaces
from pliant.detect.sharp_edges import Crossed, Ways, leave_with_edges
from pliant.detect.solid_penetration import Collisions, SolidPenetration
from pliant.kernels import add, kernel, load, norm, scale, store
from pliant.model import IMPLICIT
from pliant.world.motion import Motion, Rows

if TYPE_CHECKING:
    from pliant.world.world import World

# How often the way on goes into the way back of a point that is half through, at most: steps that take bodies deeper than PASSING DEEP of
# half a thickness are cut (contact/passing.py), so that a way turns over within that of the middle.
WAY_BACK = (1 + PASSING * DEEP) / (1 - PASSING * DEEP)
NO_IDS, NO_WAYS = np.zeros(0, np.int64), np.zeros((0, 3))


@dataclass(frozen=True)
class Noniterative:
    """Closed-form contact forces."""

    mode: str = "moment"  # how the reaction is spread: "moment" or "paper"
    sweeps: int = 1  # of projected Jacobi; 1 is the paper
    depth: str = "propagated"  # what is closed: the consistent depth, or the distance along the "ray"
    overdue: str = "slowly"  # how depth that was missed so far is closed; "at once" is the paper

    needs: ClassVar[frozenset[str]] = frozenset({"triangles", "tets"})
    bears: ClassVar[str] = ALONE

    def __post_init__(self) -> None:
        ways = dict(mode=("moment", "paper"), depth=("propagated", "ray"), overdue=("slowly", "at once"))
        for name, known in ways.items():
            if getattr(self, name) not in known:
                raise PliantError(f"{name} = \"{getattr(self, name)}\": it is one of {', '.join(known)}.")
        if self.sweeps < 1:
            raise PliantError(f"sweeps = {self.sweeps}: at least one is needed to close a gap.")

    @property
    def gentle(self) -> bool:
        """Whether bodies that start in each other come apart slowly."""
        return self.overdue == "slowly"

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        return self.answer(motion, memory, *motion.kept(SolidPenetration).find(motion.end, motion.shapes, motion.pairs.meet))

    def tables(self, memory: Memory, world: World) -> list[Table]:
        """What is remembered, with the bodies of each row."""
        if "key" not in memory:
            return []
        key, points, bodies = memory["key"], len(world.model.skin), len(world.model.bodies)
        rows = Table("key", ("stretch", "way", "overdue"), *row_bodies(world, key, key % points, key // points))
        return [rows, Table("pair", ("pair_way",), *np.divmod(memory["pair"], bodies)), deep_table(world, memory)]

    def answer(self, motion: Motion, memory: Memory, found: Collisions, surfaces: Surfaces) -> Answer:
        """Everything after detection: the step of theory/noniterative 5.1."""
        finder, surface = motion.kept(SolidPenetration), motion.kept(Pressure)
        edges = crossed_edges(motion, finder.tree, memory)
        found, edges = settled(surfaces, found, edges)
        found, lost, warnings = pull_apart(motion, finder, found, memory)
        if len(found) + len(edges) == 0:
            return Answer(Contacts.none(motion.dt), warnings=warnings)
        rows = Rows.joined([contact_rows(motion, found), edge_rows(motion, edges)])
        depth = np.append(found.ray if self.depth == "ray" else found.depth, -edges.gap)
        key, lost = np.append(contact_key(motion, found), edge_key(motion, edges)), np.append(lost, np.zeros(len(edges), bool))
        a, b = np.append(found.a, edges.a), np.append(found.b, edges.b)
        stretch = recall(memory, "stretch", key, (3,))
        before, there = motion.slide(rows), motion.end
        friction_of, shallow = motion.pairs.friction(a, b), finder.shallow(a, b)
        late = overdue(motion, rows, key, a, b, depth, shallow, memory) if self.overdue == "slowly" else np.zeros(len(rows))
        close = pace(motion, shallow, rows, lost, depth - late)
        impulse, rub = self._push(motion, rows, friction_of, close, stretch)
        after = motion.slide(rows)
        slip = tangential(after, rows.normal)
        feature_a, feature_b = features(found.point, found.face, edges)
        contacts = Contacts(
            a=a, b=b, feature_a=feature_a, feature_b=feature_b, point=rows.at, normal=rows.normal,
            gap=np.einsum("ri,ri->r", after - before, rows.normal) - depth, impulse=impulse, friction_impulse=rub.impulse,
            sticking=rub.sticks.astype(np.float64), slip=slip,
            area=lambda: surface.row_areas(there, rows, impulse), dt=motion.dt, support=Support.of(rows),
        )  # fmt: skip
        warnings += too_deep(motion, "noniterative", a, b, -contacts.gap, "more sweeps (100), or contact = \"patch\"")
        if rub.shorter is not None:  # what holds less than its anchor asks for takes it back to what it holds
            stretch = rub.shorter[:, None] * stretch
        held = anchored(stretch, slip, rub.sticks, rub.dragged, rows.normal)
        kept = remember(key, stretch=held, way=rows.normal, overdue=late) | remember_pairs(motion, a, b, rows.normal, lost, memory)
        return Answer(contacts, kept | remember_depths(motion, a, b, depth - late), warnings=warnings)

    def _push(self, motion: Motion, rows: Rows, mu: tuple[Floats, Floats], close: Floats, stretch: Floats) -> tuple[Floats, Friction]:
        """Sweeps of normal impulses, friction with the last one, and then both once more."""
        carriers, give = (rows, motion.give(rows)) if self.mode == "moment" else paper_rows(motion, rows)
        unit = np.divide(1.0, motion.dt * give, out=np.zeros_like(give), where=give > 0.0)
        impulse = close * unit
        n, more, began = rows.normal, impulse, motion.slide(rows)
        for _ in range(self.sweeps - 1):
            motion.push(carriers, more[:, None] * n)
            more = _left(motion, rows, close, began, unit, impulse)
            impulse = impulse + more
        if self.mode == "paper" and not motion.coupled:  # as published: by the slip before the last normal impulses
            rub = coulomb(motion, rows, impulse, *mu, stretch)
            motion.push(carriers, more[:, None] * n)
            motion.push(rows, rub.impulse)
            return impulse, rub
        motion.push(carriers, more[:, None] * n, rough=motion.coupled)
        rub = coulomb(motion, rows, impulse, *mu, stretch)
        motion.push(rows, rub.impulse)
        if motion.coupled or not rub.impulse.any():
            return impulse, rub
        more = _left(motion, rows, close, began, unit, impulse)
        motion.push(rows, more[:, None] * n - rub.impulse)  # normal impulses that know of friction, and then friction that knows of them
        impulse = impulse + more
        rub = coulomb(motion, rows, impulse, *mu, stretch)
        motion.push(rows, rub.impulse)
        return impulse, passive(motion, rows, rub)


def _left(motion: Motion, rows: Rows, close: Floats, began: Floats, unit: Floats, impulse: Floats) -> Floats:
    """Normal impulses that close what is left to be closed since rows slid by `began`; what pushes may be taken back, nothing pulls."""
    left = close - np.einsum("ri,ri->r", motion.slide(rows) - began, rows.normal)
    more: Floats = np.maximum(left * unit, -impulse)
    return more


def settled(surfaces: Surfaces, found: Collisions, edges: Crossed) -> tuple[Collisions, Crossed]:
    """Points and edges, of which points at rims leave the way that edges of their bodies cross."""
    ways = Ways(found.point, found.a, found.b, found.face, found.weights, found.normal, found.depth)
    rows, wanted, crossing = leave_with_edges(surfaces, ways, edges)
    found.ray[rows], found.status[rows] = found.depth[rows], RESOLVED
    return found.select(wanted), edges.select(crossing)


def contact_rows(motion: Motion, found: Collisions) -> Rows:
    """Points and what they are in, along the line that soft bodies take the impulse on."""
    return point_rows(motion, found.point, found.b, found.face, found.weights, found.normal, found.ray - 2.0 * found.radius)


def paper_rows(motion: Motion, rows: Rows) -> tuple[Rows, Floats]:
    """The rows with the published shares c_j h_ij m_j / S_i in place of h_ij, and their D; edges that cross keep their weights."""
    points, weights = rows.point.reshape(-1, 4), rows.weight.reshape(-1, 4)
    edge = weights[:, 1] > 0.0
    some = points[~edge]
    found = paper(some[:, 0], some[:, 1:], -weights[~edge, 1:], skin_inverse_masses(motion))
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


# -- the published shares


@dataclass(frozen=True)
class Closure:
    """How each collision is closed: force on the point is d / (dt^2 give), on triangle vertex j minus share_j of it."""

    give: Floats  # [1/kg] (c,) D
    shares: Floats  # (c, 3) sum one
    alpha: Floats  # (c,) part of the gap that the point closes


def crowding(point: Ints, corners: Ints, weights: Floats, count: int) -> Floats:
    """q_v = chi_v + s_v of each of `count` vertices: how many collisions share it, (count,) (theory/noniterative 5.3)."""
    own = np.bincount(point, minlength=count).astype(np.float64)
    return own + np.bincount(corners.ravel(), weights.ravel(), minlength=count)


def paper(point: Ints, corners: Ints, weights: Floats, inverse: Floats) -> Closure:
    """As published (theory/noniterative 5.2). With s_v the sum of all h at vertex v and chi_v the number of its own collisions,
        q_v = chi_v + s_v,  c_v = 1 / q_v,  S_i = sum_j c_j h_ij m_j,  alpha_i = S_i / (c_i m_i + S_i),
        f_i = d_i / (dt^2 D_i),  D_i = q_i w_i + 1 / S_i,  f_ij = -(c_j h_ij m_j / S_i) f_i     (eqs 1-3, any subset of points).
    Everything is written with w = 1 / m, which is 0 where a vertex is fixed. A fixed vertex of the triangle has S = infinity and takes all
    of the reaction (theory/noniterative 5.5).
    """
    q = crowding(point, corners, weights, len(inverse))
    w, share = inverse[corners], np.divide(weights, q[corners], out=np.zeros_like(weights), where=weights > 0.0)  # c h
    fixed = ((w == 0.0) & (weights > 0.0)).any(axis=1)
    heavy = np.where(fixed[:, None], share * (w == 0.0), np.divide(share, w, out=np.zeros_like(w), where=w > 0.0))
    total = heavy.sum(axis=1)  # S, or the sum of c h over what is fixed
    own, other = q[point] * inverse[point], np.where(fixed, 0.0, 1.0 / total)
    return Closure(own + other, heavy / total[:, None], share_of(own, own + other))


def share_of(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0.0)


# -- what has no depth


def pull_apart(motion: Motion, finder: SolidPenetration, found: Collisions, memory: Memory) -> tuple[Collisions, np.ndarray, list[str]]:
    """Collisions of which every row has a way out, which rows were lost, and what to say about them."""
    before = recall(memory, "way", contact_key(motion, found), (3,))
    lost = found.status != RESOLVED
    lost[half_through(motion, finder, found, before)] = True
    rows = np.flatnonzero(lost)
    if len(rows) == 0:
        return found, lost, []
    warnings = _report(motion, found.select(rows))
    direction = _directions(motion, found.select(rows), before[rows], memory)
    own = found.a[rows] == found.b[rows]
    face, weights, ray = ways_out(motion.end, found.point[rows], found.b[rows], direction, finder.tree, motion.skin.faces, own)
    found.face[rows], found.weights[rows], found.normal[rows] = face, weights, direction
    found.depth[rows] = found.ray[rows] = ray
    known = np.ones(len(found), bool)
    known[rows] = face >= 0
    return found.select(known), lost[known], warnings


def half_through(motion: Motion, finder: SolidPenetration, found: Collisions, before: Floats) -> Ints:
    """Rows whose way out has turned over because they are past the middle of what they are in: the way back is as long as the way on.

    The way of a point at a rim turns over, too, when it is microns deep; then the way back leads through all of the body.
    """
    turned = np.flatnonzero((found.status == RESOLVED) & (np.einsum("hi,hi->h", found.normal, before) < -ACROSS))
    own = found.a[turned] == found.b[turned]
    _, _, back = ways_out(motion.end, found.point[turned], found.b[turned], before[turned], finder.tree, motion.skin.faces, own)
    return turned[back <= WAY_BACK * found.ray[turned]]


def pace(motion: Motion, way: Floats, rows: Rows, lost: np.ndarray, depth: Floats) -> Floats:
    """How far each row is to be closed [m]: a found one all of its depth, a lost one what is missing of its way in this step."""
    if not lost.any():
        return depth
    moved = np.einsum("ri,ri->r", motion.slide(rows), rows.normal)
    return np.where(lost, np.clip(way - moved, 0.0, depth), depth)


def contact_key(motion: Motion, found: Collisions) -> Ints:
    """A number for each (body, point), the same in every step, in the order in which they are found."""
    return found.b * len(motion.skin) + found.point


def remember_pairs(motion: Motion, a: Ints, b: Ints, normal: Floats, lost: np.ndarray, memory: Memory) -> Memory:
    """The mean direction of each pair of bodies in contact, where its rows agree; else what was known of it."""
    key = b * len(motion.bodies) + a
    order = np.argsort(key, kind="stable")
    pair, way, agree = np.empty(len(key), np.int64), np.empty((len(key), 3)), np.empty(len(key), np.bool_)
    count = _mean_ways(key, order, normal, lost, pair, way, agree)
    pair, way, agree = pair[:count], way[:count], agree[:count]
    way[~agree] = _pair_ways(memory, pair[~agree])
    return {"pair": pair, "pair_way": way}


@kernel
def _mean_ways(key, order, normal, lost, pair, way, agree):  # type: ignore[no-untyped-def]
    """Unit mean of the normals of each pair, and whether they agree and none is lost; how many pairs there are."""
    used, k = 0, 0
    while k < len(order):
        u, rows, good, here = (0.0, 0.0, 0.0), 0, True, key[order[k]]
        while k < len(order) and key[order[k]] == here:
            u, rows, good = add(u, load(normal, order[k])), rows + 1, good and not lost[order[k]]
            k += 1
        length = norm(u)
        pair[used], agree[used] = here, good and length > ACROSS * rows
        store(way, used, scale(1.0 / length if length > 0.0 else 0.0, u))
        used += 1
    return used


def _pair_ways(memory: Memory, pair: Ints) -> Floats:
    return recalled(memory.get("pair", NO_IDS), memory.get("pair_way", NO_WAYS), pair)


def _directions(motion: Motion, lost: Collisions, before: Floats, memory: Memory) -> Floats:
    """Each row's own last direction, or its pair's (seen from either side), or the line of centres, or up."""
    count = len(motion.bodies)
    pairs, back = _pair_ways(memory, lost.b * count + lost.a), -_pair_ways(memory, lost.a * count + lost.b)
    out = np.zeros((len(lost), 3))
    if _choose(out, before, pairs, back):
        centre = _centres(motion)
        _choose(out, centre[lost.a] - centre[lost.b], np.tile([0.0, 0.0, 1.0], (len(lost), 1)))
    return out


def _choose(out: Floats, *choices: Floats) -> bool:
    """Fill rows of `out` that are zero with the unit of the first choice that is not; whether any is left."""
    for choice in choices:
        length = np.linalg.norm(choice, axis=1)
        take = ~out.any(axis=1) & (length > 1e-12)
        out[take] = choice[take] / length[take, None]
    return not out.any(axis=1).all()


def _centres(motion: Motion) -> Floats:
    """Mean of each body's points at the start of the step [m], (B, 3)."""
    shown = motion.skin.body >= 0
    body, x = motion.skin.body[shown], motion.start[shown]
    sums = np.stack([np.bincount(body, x[:, k], minlength=len(motion.bodies)) for k in range(3)], axis=1)
    return sums / np.maximum(np.bincount(body, minlength=len(motion.bodies)), 1)[:, None]


def _report(motion: Motion, lost: Collisions) -> list[str]:
    names, count = motion.bodies.names, len(motion.bodies)
    pairs = np.unique(lost.a * count + lost.b)
    some = ", ".join(f"{names[k // count]} in {names[k % count]}" for k in pairs[:3]) + (", ..." if len(pairs) > 3 else "")
    through = int(np.count_nonzero((lost.status == CANCELLED) | (lost.status == RESOLVED)))
    kinds = [f"{through} more than half through"] if through else []
    kinds += [f"{len(lost) - through} with no border near"] if len(lost) > through else []
    return [f"noniterative: no depth for {len(lost)} points ({', '.join(kinds)}) of {some}; pulled apart along the last good direction."]
