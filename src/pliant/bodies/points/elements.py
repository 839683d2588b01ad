"""Bodies of phyxels: points with a volume, strained as their neighbours move (Müller et al. 2004; theory/point-bodies).

    F = sum_j (x_j - x_i) d_ij^T from moving least squares, Green strain (with its half), stress linear in it, forces the exact
    gradient of the energy; see `strain` and `forces` for the formulas and `neighbourhoods` for who sees whom.

Where we differ from the source: the half in the strain (without it a body is four times as stiff as its Young's modulus says), volumes
that add up to the body's (densities by kernel sums are up to 6 times too large at the surface), symmetric pair radii, and two energies:
one stops modes the gradient cannot see, the other (`crush`) keeps what is squeezed from turning inside out and staying so.

Plastic flow is in `plasticity`. Limitations: neighbourhoods reach three spacings, so details finer than that are stiffened at the surface.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.bodies.points import forces, fracture, plasticity, strain
from pliant.bodies.points.neighbourhoods import Allowed, Neighbourhoods, joined, neighbourhoods
from pliant.bodies.points.stiffness import Bonds, Tangent
from pliant.bodies.stable_step import stable_step
from pliant.geometry.components import labels
from pliant.kernels import contiguous

ROUNDS = 60  # of the power iteration behind `stable_dt`
MARGIN = 1.04  # of omega: how far the iteration may be from its limit
SMALL = 1e-6  # of a spacing: displacements in that iteration
REFRESH = 0.3  # strain of a plastic body at which the present shape becomes its reference
STRAINED = 1.0 + 2.0 * REFRESH  # F^T F at that strain, which is how much stiffer a body is along it than at rest: until then steps must do
MATERIAL = (
    "lam", "mu", "density", "bulk", "rayleigh", "hourglass", "support", "yield_strain", "creep_time", "max_plastic_strain", "shape_only",
    "tear_strain", "exact", "crush",
)  # fmt: skip
SCALED = ("mu", "lam", "bulk", "hourglass", "crush")  # what the highest frequency follows from, beside shape and mass
NOBODY = np.zeros((0, 2), np.int64)


class Points:
    """One element per phyxel: `nodes` (m, 1); body b has the elements start[b] ... start[b + 1] - 1.

    rest (m, 3) [m], volume (m,) [m^3]; all others are numbers or (m,): lam, mu, bulk (k_v of the volume term) [Pa], density [kg/m^3],
    rayleigh [s], hourglass (parts of Young's modulus), support (radius in mean distances, the same all over a body), and
    yield_strain (inf: elastic), creep_time [s], max_plastic_strain, shape_only (1: flow keeps the volume), tear_strain (inf: never),
    exact (1: `stiffness` is the tangent, 0: bonds that stand for it; the same all over a body), crush (parts of lam + 2 mu, against
    being turned inside out; 0: as published).
    Material arrays may be changed in place.
    """

    name = "points"

    def __init__(
        self,
        nodes: Ints,
        start: Ints,
        rest: Floats,
        volume: Floats,
        lam: Floats | float,
        mu: Floats | float,
        density: Floats | float,
        bulk: Floats | float = 0.0,
        rayleigh: Floats | float = 0.0,
        hourglass: Floats | float = 0.1,
        support: Floats | float = 3.0,
        yield_strain: Floats | float = np.inf,
        creep_time: Floats | float = 0.0,
        max_plastic_strain: Floats | float = np.inf,
        shape_only: Floats | float = 1.0,
        tear_strain: Floats | float = np.inf,
        exact: Floats | float = 0.0,
        crush: Floats | float = 0.0,
    ) -> None:
        self.nodes: Ints = contiguous(nodes, np.int64).reshape(-1, 1)
        self.start: Ints = contiguous(start, np.int64)
        self.rest: Floats = contiguous(rest).reshape(-1, 3)
        count = len(self.nodes)

        def each(value: Floats | float) -> Floats:
            return np.broadcast_to(np.asarray(value, np.float64), count).copy()

        self.volume, self.whole = each(volume), each(volume)
        self.lam, self.mu, self.density, self.rayleigh = each(lam), each(mu), each(density), each(rayleigh)
        self.bulk, self.hourglass, self.support = each(bulk), each(hourglass), each(support)
        self.yield_strain, self.creep_time, self.max_plastic_strain = each(yield_strain), each(creep_time), each(max_plastic_strain)
        self.shape_only, self.tear_strain, self.exact, self.crush = each(shape_only), each(tear_strain), each(exact), each(crush)
        self.plastic = np.zeros((count, 9))
        self.base = np.zeros((count, 9))  # e_p when the reference in use was taken
        self.past = np.zeros(count)  # size of the plastic strain before that
        self.sound = np.ones(count)  # part of the stiffness of volume and hourglass that tears have left
        self.cut: list[Ints] = [NOBODY] * (len(self.start) - 1)  # pairs in each body's own numbers
        self._worn = np.zeros(len(self.start) - 1, bool)  # parts of bodies that broke
        self._first = self._neighbourhoods([None] * (len(self.start) - 1))
        self._origin = self.rest
        self._parts = list(self._first)
        self._pull, self._hold = np.empty((count, 9)), np.empty((count, 9))
        self._join()

    def _neighbourhoods(self, allowed: list[Allowed | None]) -> list[Neighbourhoods]:
        return [
            neighbourhoods(self.rest[low:high], float(self.support[low]), which)
            for low, high, which in zip(self.start[:-1], self.start[1:], allowed, strict=True)
        ]

    def _join(self) -> None:
        self.around = joined(self._parts)
        # highest frequencies for a material in parts of its largest mu, in single precision so that the same material in another unit is
        # the same: they do not depend on which one was asked for first
        self._known: tuple[np.ndarray, Floats] | None = None
        self._couplings: tuple[Bonds, Tangent] | None = None

    @property
    def work(self) -> int:
        return len(self.around.other) // 4

    @property
    def mass(self) -> Floats:
        """Of each phyxel [kg], (m, 1)."""
        return (self.density * self.whole)[:, None]

    @property
    def stiffness_of_hourglass(self) -> Floats:
        """a of the hourglass energy [N/m times a squared length over a weight], (m,)."""
        modulus = self.mu * (3.0 * self.lam + 2.0 * self.mu) / (self.lam + self.mu)
        total, held = self.around.total, self.around.held
        return np.divide(held * self.sound * self.hourglass * modulus * self.volume, total, out=np.zeros_like(total), where=total > 0.0)

    @property
    def moduli(self) -> tuple[Floats, Floats, Floats]:
        """lam, k_v and k_c as energies take them [Pa], (m,) each.

        What flows and keeps its volume has its bulk modulus in k_v: against the volume at the start, which no flow and no new reference
        forgets, and not in a strain that does (theory/point-bodies 7).
        """
        full = self.around.projector[:, [0, 4, 8]].sum(axis=1) > 2.5  # flat neighbourhoods have no volume
        apart = np.isfinite(self.yield_strain) & (self.shape_only > 0.0) & full
        shear = -2.0 / 3.0 * self.mu
        bulk = self.bulk + np.where(apart, self.lam - shear, 0.0)
        return np.where(apart, shear, self.lam), self.sound * bulk, self.sound * self.crush * (self.lam + 2.0 * self.mu)

    @property
    def seen(self) -> strain.Seen:
        """Neighbours and rest places, for kernels."""
        n = self.around
        return strain.Seen(n.start, n.other, n.weight, n.near, n.inverse, n.spread, n.projector, self.nodes, self.rest)

    @property
    def matter(self) -> strain.Matter:
        """Volumes, moduli and plastic strain as energies take them, for kernels."""
        lam, bulk, crush = self.moduli
        return strain.Matter(self.volume, self.whole, lam, self.mu, bulk, crush, self.stiffness_of_hourglass, self.plastic)

    def forces(self, x: Floats, v: Floats, out: Floats) -> None:
        """Elastic and damping forces on each phyxel into out, (m, 3) [N]."""
        rate, seen, matter = bool(self.rayleigh.any()), self.seen, self.matter
        forces.stresses(seen, matter, self.rayleigh, x, v, rate, self._pull, self._hold)
        forces.pair_forces(seen, matter.stiff, self.rayleigh, x, v, rate, self._pull, self._hold, out)

    def energy(self, x: Floats) -> Floats:
        """Elastic energy [J], (m,)."""
        out = np.empty(len(self.nodes))
        forces.energies(self.seen, self.matter, x, out)
        return out

    def gradients(self, x: Floats) -> Floats:
        """F of each phyxel against the reference in use, (m, 3, 3)."""
        out = np.empty((len(self.nodes), 9))
        strain.gradients(self.seen, x, out)
        return out.reshape(-1, 3, 3)

    def stretch(self, x: Floats) -> Floats:
        """Volume over volume at the start, (m,); flat directions count as unstretched."""
        out = np.empty(len(self.nodes))
        strain.stretches(self.seen, self.volume, self.whole, x, out)
        return out

    def stress(self, x: Floats) -> Floats:
        """Cauchy stress F S F^T / det F, (m, 3, 3) [Pa]."""
        lam, bulk, crush = self.moduli
        F, T = self.gradients(x), self.around.projector.reshape(-1, 3, 3)
        e = 0.5 * (np.swapaxes(F, 1, 2) @ F - T) - self.plastic.reshape(-1, 3, 3)
        S = 2.0 * self.mu[:, None, None] * e + (lam * np.trace(e, axis1=1, axis2=2))[:, None, None] * T
        J = np.linalg.det(F)
        J = np.where(np.abs(J) < 1e-9, 1.0, J)  # flat neighbourhoods
        change = J * self.volume / self.whole - 1.0
        volume = bulk * change - crush * np.minimum(change, 0.0) ** 2
        return F @ S @ np.swapaxes(F, 1, 2) / J[:, None, None] + volume[:, None, None] * np.eye(3)

    def stiffness(self, x: Floats, out: Floats, dt: float = np.inf) -> None:
        """Blocks of the tangent, and of the bonds that stand for it where it is not asked for, (couples, 3, 3, 3) [N/m]."""
        bonds, tangent = self._coupled
        bonds.stiffness(self, x, out[: len(bonds.nodes)])
        tangent.stiffness(self, x, out[len(bonds.nodes) :])

    @property
    def couples(self) -> Ints:
        """Nodes of the pairs that `stiffness` writes, (P, 2)."""
        return np.concatenate([part.nodes for part in self._coupled])

    @property
    def couple_rayleigh(self) -> Floats:
        """Stiffness damping of each pair [s], (P,)."""
        return np.concatenate([self.rayleigh[part.a] for part in self._coupled])

    @property
    def _coupled(self) -> tuple[Bonds, Tangent]:
        if self._couplings is None:
            exact = self.exact > 0.0
            self._couplings = Bonds(self, ~exact), Tangent(self, exact)
        return self._couplings

    def stable_dt(self, node_mass: Floats) -> Floats:
        """Largest stable explicit step per phyxel at rest, the same all over a body [s], (m,) (theory/point-bodies 6)."""
        most = np.maximum.reduceat(self.mu, self.start[:-1])
        unit = np.repeat(most, np.diff(self.start))
        material = np.stack([self.mu / unit, self.lam / unit, self.bulk / unit, self.hourglass, self.crush]).astype(np.float32)
        if self._known is None or not np.array_equal(self._known[0], material):
            self._known = material, self._frequencies(node_mass, material)
        omega2 = np.repeat(self._known[1] * most, np.diff(self.start)) * np.where(np.isfinite(self.yield_strain), STRAINED, 1.0)
        return stable_step(omega2, self.rayleigh * omega2)

    def _frequencies(self, node_mass: Floats, material: np.ndarray) -> Floats:
        """omega_max^2 of each body over its largest mu [1/(Pa s^2)], (B,): power iteration with forces of small displacements.

        They are displacements from the reference, under the stress that was there when it was taken.
        """
        count, mass = np.diff(self.start), node_mass[self.nodes[:, 0]]
        owner, bodies = np.repeat(np.arange(len(count)), count), len(count)
        at, none, force = np.zeros((len(node_mass), 3)), np.zeros((len(node_mass), 3)), np.empty((len(self.nodes), 3))
        at[self.nodes[:, 0]] = self.rest
        still = np.empty_like(force)  # what is under stress is not without force
        kept = {name: getattr(self, name) for name in ("plastic", "rayleigh", *SCALED)}
        self.plastic, self.rayleigh = self.base, np.zeros_like(self.rayleigh)
        self.mu, self.lam, self.bulk, self.hourglass, self.crush = material.astype(np.float64)
        self.forces(at, none, still)
        size = SMALL * np.repeat(np.minimum.reduceat(self.around.radius, self.start[:-1]), count)
        u = np.random.default_rng(0).standard_normal((len(self.nodes), 3))
        top = np.zeros(bodies)
        for _ in range(ROUNDS):
            u *= (size / np.maximum(np.abs(u).max(axis=1, initial=0.0), 1e-300).max(initial=1e-300))[:, None]
            u /= np.maximum(np.maximum.reduceat(np.abs(u).max(axis=1), self.start[:-1])[owner] / size, 1e-300)[:, None]
            at[self.nodes[:, 0]] = self.rest + u
            self.forces(at, none, force)
            force -= still
            energy = -np.bincount(owner, np.einsum("ij,ij->i", u, force), minlength=bodies)
            inertia = np.bincount(owner, mass * np.einsum("ij,ij->i", u, u), minlength=bodies)
            top = np.maximum(top, energy / np.maximum(inertia, 1e-300))
            u = -force / mass[:, None]
        for name, array in kept.items():
            setattr(self, name, array)
        return MARGIN**2 * top

    # -- what flows and breaks

    def flow(self, x: Floats, dt: float, ahead: Floats | None = None) -> float:
        """Let phyxels beyond their yield strain creep for dt and tear what is overstretched; the energy that this takes [J].

        `ahead` (n, 3) [m]: how far places are ahead of velocities in time, dt/2 v of explicit schemes, none: not at all. Energies are those
        where velocities are (measure/books).
        """
        lost, ahead = 0.0, np.zeros_like(x) if ahead is None else ahead
        if np.isfinite(self.yield_strain).any():
            self.plastic, strain, lost = plasticity.crept(self, x, dt, ahead)
            lost += self._refresh(x, strain, ahead)
        return lost + self._tear(x, ahead)

    def work_over(self, x: Floats, way: Floats) -> float:
        """Work of the elastic forces at x over a way (n, 3) [m] of all nodes [J]."""
        if not way.any():
            return 0.0
        out = np.empty((len(self.nodes), 3))
        self.forces(x, np.zeros_like(x), out)
        return float(np.sum(out * way[self.nodes[:, 0]]))

    def _torn(self, x: Floats) -> tuple[Ints, Ints]:
        """Pairs that tear now (k, 2), and pairs that hold although they are as long, because else a crumb would come off (h, 2)."""
        n, torn = self.around, np.zeros(len(self.around.other), bool)
        if not np.isfinite(self.tear_strain).any():
            return NOBODY, NOBODY
        fracture.overstretched(n.start, n.other, self.nodes, self._origin, self.tear_strain, x, torn)
        if not torn.any():
            return NOBODY, NOBODY
        own = np.repeat(np.arange(len(self.nodes)), np.diff(n.start))
        tears = fracture.without_crumbs(own, n.other, n.weight, torn)
        tearing, holding = (np.stack([own[which], n.other[which]], axis=1) for which in (tears, torn & ~tears))
        return tearing, holding

    def stiffened(self, x: Floats, v: Floats, inverse: Floats) -> Floats:
        """Velocities (n, 3) [m/s] with which crumbs, and what they hang on, move as rigid bodies (theory/point-bodies 8).

        `inverse` (n,) [1/kg] of nodes: those that are held fast or prescribed (0) do not take part.
        """
        _, pairs = self._torn(x)
        pairs = pairs[(inverse[self.nodes[pairs, 0]] > 0.0).all(axis=1)]
        if len(pairs) == 0:
            return v
        mine, number = np.unique(pairs, return_inverse=True)
        node, mass = self.nodes[mine, 0], (self.density * self.whole)[mine]
        return fracture.as_rigid(number.reshape(-1, 2), mass, x, v, node)

    def _tear(self, x: Floats, ahead: Floats) -> float:
        """Cut pairs that are longer than they were at the start by more than the tear strain (theory/point-bodies 8); the energy that this
        takes [J]."""
        pairs, _ = self._torn(x)
        if len(pairs) == 0:
            return 0.0
        before, work = self.energy(x), self.work_over(x, ahead)
        body = np.searchsorted(self.start, pairs[:, 0], side="right") - 1
        for b in np.unique(body).tolist():
            self.cut[b] = np.concatenate([self.cut[b], pairs[body == b] - self.start[b]])
        self._renew(np.unique(body))
        return self._relax(x, before) + work - self.work_over(x, ahead)

    def _relax(self, x: Floats, before: Floats) -> float:
        """Let no phyxel hold more energy among its new neighbours than it held before [J] (m,); the energy that they took [J].

        Fewer neighbours can mean more strain for the same places. What that would add becomes permanent; where even without strain there
        would be more, as where the neighbours that are left see the phyxel inside out, it loses stiffness (theory/point-bodies 8).
        """
        now, kept = self.energy(x), self.plastic
        F, T = self.gradients(x), self.around.projector.reshape(-1, 3, 3)
        strain = (0.5 * (np.swapaxes(F, 1, 2) @ F - T)).reshape(-1, 9)
        self.plastic = np.ascontiguousarray(strain)
        other = self.energy(x)  # of volume and against motions that the strain cannot see
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(now > before, np.sqrt(np.clip((before - other) / (now - other), 0.0, 1.0)), 1.0)
        self.plastic = np.where(part[:, None] < 1.0, strain - part[:, None] * (strain - kept), kept)
        self.sound = np.where(other > before, self.sound * before / np.maximum(other, 1e-300), self.sound)
        return float(before.sum() - self.energy(x).sum())

    def parts(self) -> Ints | None:
        """Which connected part of its body each phyxel is in, 0 being the largest, (m,); None if every body is in one piece
        (theory/point-bodies 8)."""
        own = np.repeat(np.arange(len(self.nodes)), np.diff(self.around.start))
        label = labels(len(self.nodes), np.stack([own, self.around.other], axis=1))
        if label.max() + 1 == len(self.start) - 1:
            return None
        out = np.empty(len(self.nodes), np.int64)
        for low, high in zip(self.start[:-1], self.start[1:], strict=True):
            mine, mass = label[low:high], (self.density * self.whole)[low:high]
            names, number = np.unique(mine, return_inverse=True)
            order = np.argsort(-np.bincount(number, mass), kind="stable")
            rank = np.empty(len(names), np.int64)
            rank[order] = np.arange(len(names))
            out[low:high] = rank[number]
        return out

    def _refresh(self, x: Floats, strain: Floats, ahead: Floats) -> float:
        """Make the present shape the reference of bodies that have flowed far from theirs (theory/point-bodies 7); the energy that this
        takes [J]."""
        far = np.flatnonzero(np.maximum.reduceat(strain, self.start[:-1]) > REFRESH)
        if len(far) == 0:
            return 0.0
        before, work = self.energy(x), self.work_over(x, ahead)
        now = plasticity.rereferenced(self, x)
        mine = np.isin(np.repeat(np.arange(len(self.start) - 1), np.diff(self.start)), far)
        self.rest = np.where(mine[:, None], now.rest, self.rest)
        self.volume = np.where(mine, now.volume, self.volume)
        self.past = np.where(mine, now.past, self.past)
        self._renew(far)
        flat = self.around.projector[:, [0, 4, 8]].sum(axis=1) < 2.5  # a strain across its plane would be a pressure in it: it begins anew
        plastic = np.where(flat[:, None], 0.0, now.plastic)
        self.plastic = np.where(mine[:, None], plastic, self.plastic)
        self.base = np.where(mine[:, None], plastic, self.base)
        return self._relax(x, before) + work - self.work_over(x, ahead)

    def _renew(self, bodies: Ints) -> None:
        """New neighbourhoods for some bodies from their reference, and what follows from them."""
        for b in bodies.tolist():
            mine = slice(int(self.start[b]), int(self.start[b + 1]))
            allowed = Allowed(self._origin[mine], self._first[b].radius, self.cut[b])
            self._parts[b] = neighbourhoods(self.rest[mine], float(self.support[mine.start]), allowed)
        self._join()

    def regrouped(self, nodes: Ints, order: Ints, start: Ints) -> Points:
        """The same phyxels in another order, with other nodes and bodies; state and material go with them."""
        values = {name: getattr(self, name)[order] for name in MATERIAL}
        made = Points(nodes, start, self._origin[order], self.whole[order], **values)
        radius = np.concatenate([n.radius for n in self._first])[order]
        body = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        for b, (low, high) in enumerate(zip(start[:-1], start[1:], strict=True)):  # radii of the whole, whatever is left of it
            made._first[b].radius, old = radius[low:high], int(body[order[low]])
            made._worn[b] = self._worn[old] or high - low < self.start[old + 1] - self.start[old]
        memory, place = self._memory(), np.argsort(order)
        cut = np.sort(place[memory.pop("cut")], axis=1)
        same = np.searchsorted(start, cut[:, 0], side="right") == np.searchsorted(start, cut[:, 1], side="right")
        made.recall({name: array[order] for name, array in memory.items()} | {"cut": cut[same]})
        return made

    def memory(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps of the phyxels; arrays are replaced, never written to."""
        if not np.isfinite(self.yield_strain).any() and not np.isfinite(self.tear_strain).any():
            return {}
        return self._memory()

    def _memory(self) -> dict[str, np.ndarray]:
        cut = [c + low for c, low in zip(self.cut, self.start[:-1], strict=True)]
        names = ("plastic", "base", "past", "sound", "rest", "volume")
        return {name: getattr(self, name) for name in names} | {"cut": np.concatenate(cut)}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Be as a checkpoint says."""
        self.plastic, self.base = contiguous(memory["plastic"]), contiguous(memory["base"])
        self.past, self.volume = contiguous(memory["past"]), contiguous(memory["volume"])
        self.sound = contiguous(memory.get("sound", np.ones(len(self.nodes))))  # older checkpoints do not have it
        cut, body = memory["cut"], np.searchsorted(self.start, memory["cut"][:, 0], side="right") - 1
        rest, old = contiguous(memory["rest"]), self.rest
        pairs = [cut[body == b] - low for b, low in enumerate(self.start[:-1])]
        moved = np.add.reduceat((rest != old).any(axis=1), self.start[:-1]) > 0
        changed = [b for b in range(len(self.start) - 1) if moved[b] or self._worn[b] or not np.array_equal(pairs[b], self.cut[b])]
        self.rest, self.cut = rest, pairs
        self._renew(np.array(changed, np.int64))
