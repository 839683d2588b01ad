"""How stiff contacts are: how readily bodies yield to pressure, what stiffness is stable, who keeps its shape; and damping
(theory/point-surface-contact 7.4), and which of two gives way by how much (5).

Pressure p = k_eff depth on a body accelerates it by k_eff D depth, D [m^2/kg] the give per area of its surface: of nodes, the largest
sum_n |w_n| A_n / m_n over surfels, A_n the area that hangs on node n; of a rigid body 4 A / M, A the largest area that
it shows along an axis of its frame (4 covers turning). Symplectic steps are stable for k_eff dt^2 (D_a + D_b) < 4. D does not depend on how
much of a body touches, so stiffness is constant while bodies touch, and energy is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats, Ints
from pliant.detect.surfels.carried import Carried
from pliant.kernels import kernel
from pliant.model import IMPLICIT, Rest
from pliant.world.motion import Motion

if TYPE_CHECKING:
    from pliant.contact.point_surface.detection import Detection
    from pliant.contact.point_surface.method import Options


class Compliance:
    """Give per area and Young's modulus of each body; of all bodies at rest."""

    def __init__(self, rest: Rest, carried: Carried) -> None:
        skin, frames, bodies, nodes = rest.skin, rest.frames, rest.bodies, rest.nodes
        self.give = np.zeros(len(bodies))  # (B,) [m^2/kg]
        hung = np.zeros(len(nodes.mass))
        _hang(carried.point, carried.weight, carried.area, skin.start, skin.node, skin.weight, hung)
        _largest(carried.body, carried.point, carried.weight, skin.start, skin.node, skin.weight, hung * nodes.inverse, self.give)
        now = carried.at_rest(rest)
        self.facing = np.zeros(len(self.give))  # (B,) [m^2] the largest area that a body shows along an axis
        for axis in range(3):  # 4: the end of a rod yields so much more than its centre
            facing = np.bincount(carried.body, now.areas * np.maximum(now.normals[:, axis], 0.0), minlength=len(self.give))
            self.give[frames.body] = np.maximum(self.give[frames.body], 4.0 * facing[frames.body] * frames.inverse)
            self.facing = np.maximum(self.facing, facing)
        self.framed = bodies.frame >= 0  # (B,) bool
        self.implicit = np.zeros(len(self.give), bool)  # (B,): stepped implicitly
        self.implicit[nodes.body[nodes.scheme == IMPLICIT]] = True
        self.modulus = bodies.modulus  # (B,) [Pa]
        spacing = np.sqrt(np.bincount(carried.body, carried.area, minlength=len(self.give)) / np.maximum(np.diff(carried.start), 1))
        self.layer = np.where(bodies.phyxels, self.modulus / np.maximum(spacing, 1e-300), np.inf)  # (B,) [Pa/m] of one mean surfel spacing

    def pair_give(self, a: Ints, b: Ints) -> Floats:
        """D of both bodies together [m^2/kg]; a body in itself gives twice."""
        return self.give[a] + self.give[b]

    def pair_whole(self, motion: Motion, a: Ints, b: Ints) -> Floats:
        """The same of bodies that move as one, against their dampers, under pressure on all that faces one way [m^2/kg]."""
        frames = motion.frames
        inertia = np.bincount(motion.nodes.body, motion.inertia, minlength=len(self.give)).astype(np.float64)  # of ints if there are none
        inertia[frames.body] = np.where(frames.inverse > 0.0, frames.mass * (1.0 + motion.dt * frames.damping), np.inf)
        whole = self.facing / np.where(inertia > 0.0, inertia, np.inf)
        return whole[a] + whole[b]

    def share(self, a: Ints, b: Ints, weight: str) -> Floats:
        """Part of the overlap that body a gives way, (r,): E_b / (E_a + E_b), theory/point-surface-contact 5."""
        one, two = self.modulus[a], self.modulus[b]
        if weight == "equal":
            return np.full(len(one), 0.5)
        both = np.isinf(one) & np.isinf(two)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(both, 0.5, 1.0 / (1.0 + one / two))
        return share if weight == "E" else 1.0 - share


def implicit_of(options: Options, motion: Motion, seen: Detection, a: Ints, b: Ints) -> np.ndarray:
    """Which contacts know what their impulses will do to the gap, (r,) bool.

    Auto: those of bodies that are stepped implicitly, and, if there is damping, of rigid bodies with rigid ones and of phyxels where
    explicit contact would be softer than a layer of them because of dt. All others keep energy.
    """
    if not isinstance(options.implicit, str):
        return np.full(len(a), options.implicit)
    give = seen.prepared.compliance
    stepped = give.implicit[a] | give.implicit[b]
    if options.damping == 0.0:
        return stepped
    layer = np.minimum(give.layer[a], give.layer[b])
    soft = np.isfinite(layer) & (explicit_limit(options, motion, seen, a, b) < layer) & isinstance(options.stiffness, str)
    return stepped | (give.framed[a] & give.framed[b]) | soft


def explicit_limit(options: Options, motion: Motion, seen: Detection, a: Ints, b: Ints) -> Floats:
    """Pressure per depth [Pa/m] that explicit contacts bear with the longest dt so far, (r,)."""
    give = seen.prepared.compliance.pair_give(a, b)
    return options.stability(False) / (max(motion.dt, seen.longest) ** 2 * np.where(give > 0.0, give, np.inf))


def stiffness_of(
    options: Options, motion: Motion, seen: Detection, a: Ints, b: Ints, implicit: np.ndarray | None = None, part: float | Floats = 1.0
) -> tuple[Floats, Floats]:
    """Pressure per depth [Pa/m] and per speed [Pa s/m] of each contact, (r,), (r,).

    A given k is that of either body's spring, two in series make k / 2. Auto: s / (dt^2 D) with the longest dt so far, so that a step that
    was divided does not stiffen what is at rest, but of phyxels not stiffer than a layer of them one surfel spacing thick: then bodies
    overlap by strain times spacing, and a stiffer contact would only crush phyxels. D is the give of the point
    that yields most, but of the bodies as one where contacts are implicit, which no stiffness makes unstable; `part`: of their surface that
    presses. Damping c = 2 zeta sqrt(k / D).
    """
    yielding = seen.prepared.compliance
    give, s = yielding.pair_give(a, b), np.full(len(a), options.stability(False))
    if implicit is not None:
        give, s = np.where(implicit, part * yielding.pair_whole(motion, a, b), give), np.where(implicit, options.stability(True), s)
    safe = np.where(give > 0.0, give, np.inf)
    if isinstance(options.stiffness, str):
        k = np.minimum(s / (max(motion.dt, seen.longest) ** 2 * safe), np.minimum(yielding.layer[a], yielding.layer[b]))
    else:
        k = np.full(len(a), 0.5 * float(options.stiffness))
    return k, 2.0 * options.damping * np.sqrt(k / safe)


def too_soft(options: Options, motion: Motion, seen: Detection, a: Ints, b: Ints, gap: Floats, k: Floats) -> list[str]:
    """One sentence, the same in every step, for every two bodies that go deep because contact can be no stiffer with this dt."""
    yielding, spacing = seen.prepared.compliance, seen.surfaces.wide
    layer = np.minimum(yielding.layer[a], yielding.layer[b])
    rows = (gap < -np.where(spacing[a] > 0.0, spacing[a], np.inf)) & (k < layer) & (a != b)
    if not isinstance(options.stiffness, str) or not rows.any():
        return []
    names, first, dt = motion.bodies.names, motion.bodies.origin(), max(motion.dt, seen.longest)
    pairs = np.unique(np.sort(np.stack([first[a[rows]], first[b[rows]]], axis=1), axis=1), axis=0)
    return [
        f"point-surface: {names[i]} and {names[j]} went deeper than a surfel spacing into each other: with dt = {dt:.3g} s contact can be "
        "no stiffer and be stable. Half of it makes a fourth of the depth; so does `implicit = true` of this method, which takes energy "
        "from impacts."
        for i, j in pairs.tolist()
        if i != j
    ]


@kernel
def _hang(point, share, area, start, node, weight, hung):  # type: ignore[no-untyped-def]
    """Area of the surfels that each node carries."""
    for i in range(len(point)):
        for c in range(3):
            for k in range(start[point[i, c]], start[point[i, c] + 1]):
                hung[node[k]] += abs(share[i, c] * weight[k]) * area[i]


@kernel
def _largest(body, point, share, start, node, weight, give, out):  # type: ignore[no-untyped-def]
    for i in range(len(point)):
        total = 0.0
        for c in range(3):
            for k in range(start[point[i, c]], start[point[i, c] + 1]):
                total += abs(share[i, c] * weight[k]) * give[node[k]]
        out[body[i]] = max(out[body[i]], total)
