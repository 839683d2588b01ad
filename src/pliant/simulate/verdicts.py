"""What a run must say about itself at its end: how deep bodies were in one another, who went through whom, volumes, pieces that ran away.

Each is a sentence that names bodies, amount, time and, where something helps, what. Notes that differ only in numbers are one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import ALONE, DENT, GIVEN, LAYER, STEP, ContactMethod, Nothing, make_method
from pliant.detect.closest import face_neighbours
from pliant.detect.deep_overlap import exits, windings
from pliant.detect.penetration import Penetration
from pliant.detect.shapes import PLANE
from pliant.detect.thickness import Thickness
from pliant.geometry.enclosed import volumes
from pliant.measure.account import ends_of, key_of
from pliant.measure.intersection import common_volume
from pliant.measure.resolution import DEPTH, depth_of, worded
from pliant.measure.scales import scales_of, summed
from pliant.model import IMPLICIT, Rest
from pliant.simulate.follow import matter
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

FAILED = "Contact failed: "  # how the first note of a run begins in which a body went through another
SLIVER = 1e-3  # of the area to the power 1.5 (of a ball it is 0.09): crumbs with less volume have none to lose
VOLUME = 0.05  # by which the volume of a skin may change unnoticed
SQUEEZED = 0.5  # strain of elastic bodies up to which a change of volume is what their Poisson's ratio gives
RAN = 3.0  # times the speed that fall, start and tearing could give a piece
AGAINST = "an element or of the depth that elasticity explains"
NAMED = 3  # pairs in a sentence
FINEST = 16.0  # a remedy asks for no shorter step than dt over this


def merged(notes: list[str]) -> list[str]:
    """Notes that differ only in numbers as one, with the range of each number and how many they were; the others once each."""
    kinds = Notes()
    for note in dict.fromkeys(notes):
        kinds.add(note)
    return kinds.told()


_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_NAMED = re.compile(rf"([A-Za-z_]*)({_NUMBER.pattern})")  # letters before it: the number is the end of a name, such as box3


@dataclass
class Notes:
    """Notes as they come, those that differ only in numbers as one: as many as there are kinds, however long a run lasts."""

    _kinds: dict[tuple[str, ...], _Kind] = field(default_factory=dict)

    def add(self, note: str) -> None:
        """One more; what is said twice in a row is one."""
        pattern = tuple(_NUMBER.split(note))
        if pattern not in self._kinds:
            self._kinds[pattern] = _Kind(note, note, [{n} for n in _NUMBER.findall(note)])
        elif note != self._kinds[pattern].last:
            self._kinds[pattern].take(note)

    def told(self) -> list[str]:
        """Each kind once, with the range of each number and how many there were."""
        return [kind.told for kind in self._kinds.values()]


@dataclass
class _Kind:
    first: str
    last: str
    ranges: list[set[str]]  # of each number in it: all, or the least, the largest and another one
    count: int = 1

    def take(self, note: str) -> None:
        self.last, self.count = note, self.count + 1
        for known, number in zip(self.ranges, _NUMBER.findall(note), strict=True):
            known.add(number)
            if len(known) > 3:
                known.difference_update(sorted(known, key=float)[2:-1])

    @property
    def told(self) -> str:
        if self.count == 1:
            return self.first
        known = iter(self.ranges)
        return f"{_NAMED.sub(lambda found: _values(found[1], next(known)), self.first)} ({self.count} such notes.)"


def _values(name: str, known: set[str]) -> str:
    """One number, or from the least to the largest; of things with a name one of them."""
    ordered = [name + number for number in sorted(known, key=float)]
    if len(ordered) == 1:
        return ordered[0]
    between = (" or " if name else " and ") if len(ordered) == 2 else " to "
    return f"{'one of ' if name and len(ordered) > 2 else ''}{ordered[0]}{between}{ordered[-1]}"


@dataclass(frozen=True)
class Remedy:
    """What helps against a coarse contact."""

    cause: str
    settings: dict[str, Any]  # paths into the scene and their values; none if nothing is known to help

    @property
    def text(self) -> str:
        if not self.settings:
            return self.cause
        shown = lambda value: f"\"{value}\"" if isinstance(value, str) else f"{value:.2g}"
        return f"{self.cause}: use {' and '.join(f'{path} = {shown(value)}' for path, value in self.settings.items())}"


@dataclass
class Depths:
    """The deepest that every two bodies were in one another, as a part of what that is measured against (measure/resolution.py)."""

    sim: Simulation
    pair: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    worst: Floats = field(default_factory=lambda: np.zeros((0, 4)))  # part, depth [m], time [s], dt [s]
    met: dict[int, float] = field(default_factory=dict)  # [m/s] the fastest that bodies of the scene, one of which flows, touched at

    def take(self, report: StepReport) -> None:
        """Account for a step, or a part of one."""
        self._meet(report)
        scales = scales_of(self.sim.world)
        if report.max_depth <= DEPTH[0] * float(scales.length.min(initial=np.inf)):
            return
        a, b, depth = report.pairs["a"], report.pairs["b"], report.pairs["depth"]
        length, key = scales.against(a, b), key_of(a, b)
        deep = depth > length * np.maximum(DEPTH[0], self._known(key))  # elasticity may explain some of it, but adds nothing
        if not deep.any():
            return
        found = {name: report.pairs[name][deep] for name in ("a", "b", "depth", "normal_force", "area")} | {"length": length[deep]}
        found |= {"elastic": scales.elastic_depth(found["a"], found["b"], found["normal_force"], found["area"])}
        part = np.nan_to_num(depth_of(found))
        worse = part > np.maximum(DEPTH[0], self._known(key[deep]))
        if not worse.any():
            return
        rows = np.stack([part, found["depth"], np.full(len(part), report.time), np.full(len(part), report.dt)], axis=1)[worse]
        both, values = np.concatenate([self.pair, key[deep][worse]]), np.concatenate([self.worst, rows])
        order = np.lexsort((-values[:, 0], both))  # of each pair the worst first
        self.pair, first = np.unique(both[order], return_index=True)
        self.worst = values[order][first]

    def _meet(self, report: StepReport) -> None:
        """Remember how fast bodies that flow touch others."""
        bodies = self.sim.world.model.bodies
        if not bodies.flows.any() or len(report.contacts) == 0:
            return
        a, b = report.pairs["a"], report.pairs["b"]
        some = (bodies.flows[a] | bodies.flows[b]) & (a != b)
        v, first = velocities(self.sim), bodies.origin()
        speed = np.linalg.norm(v[a[some]] - v[b[some]], axis=1)
        for pair, value in zip(key_of(first[a[some]], first[b[some]]).tolist(), speed.tolist(), strict=True):
            self.met[pair] = max(value, self.met.get(pair, 0.0))

    def _known(self, key: Ints) -> Floats:
        """The worst part so far of pairs, 0 of those that were never deep, (k,)."""
        if len(self.pair) == 0:
            return np.zeros(len(key))
        place = np.minimum(np.searchsorted(self.pair, key), len(self.pair) - 1)
        return np.where(self.pair[place] == key, self.worst[place, 0], 0.0)

    def notes(self) -> list[str]:
        """A sentence about the deepest pairs, and what helps."""
        if len(self.pair) == 0:
            return []
        order, names = np.argsort(-self.worst[:, 0], kind="stable"), self.sim.world.model.bodies.names
        told = []
        for k in order[:NAMED]:
            part, depth, time, _ = self.worst[k]
            a, b = (names[int(end)] for end in ends_of(self.pair[k]))
            told.append(f"{a} and {b} {1e3 * depth:.3g} mm, {part:.0%} of {AGAINST}, at t = {time:.4g} s")
        more = f", and {len(order) - NAMED} more pairs" if len(order) > NAMED else ""
        word, remedy = worded(float(self.worst[order[0], 0]), DEPTH), self.remedy(int(order[0]))
        return [f"Contact is {word} in depth: {'; '.join(told)}{more}. Areas and pressures of these are off by as much. {remedy.text}."]

    def remedy(self, k: int) -> Remedy:
        """What makes the pair less deep."""
        (a,), (b,) = (np.atleast_1d(end) for end in ends_of(self.pair[k]))
        part, _, _, dt = self.worst[k]
        bodies = self.sim.world.model.bodies
        bears = getattr(method_of(self.sim, int(a), int(b))[1], "bears", STEP)
        rigid = (bodies.frame[[int(a), int(b)]] >= 0).all()
        if bears == LAYER and rigid:  # solved to rounding once it is seen: what is deep came together within a step, so depth falls with it
            late = float(f"{dt / min(FINEST, part / DEPTH[0]):.2g}")
            return Remedy("What is rigid is this deep where it was seen only when it had met", {"dt": late})
        if bears == LAYER:
            finer = "finer ones make it less deep (under sharp edges hardly), a smaller dt does not"
            return Remedy(f"This contact gives way like a thin layer of elements: {finer}", {})
        if bears == ALONE:
            return Remedy("This method looks at each contact alone, so what bears down on a pair stays as depth", {"contact": "patch"})
        if bears == GIVEN:
            stiffer = "a larger stiffness makes it less deep, a smaller dt does not"
            return Remedy(f"The springs of this contact are as stiff as was asked: {stiffer}", {})
        if bears == DENT:
            stiffer = "a stiffer material, or a smaller load or speed, makes it less, a smaller dt does not"
            return Remedy(f"This depth is how far surfaces give way, held against the size of the body that does: {stiffer}", {})
        flows = self._flows_at_once(int(a), int(b))
        if flows:
            return Remedy(flows, {})
        if bodies.phyxels[[int(a), int(b)]].any():
            softer = "a smaller dt makes it less deep only while it is softer than that"
            return Remedy(f"Contact of phyxels is no stiffer than a layer of them: {softer}", {})
        # Springs that are as stiff as the step allows have m / dt^2 and the stiffness K of what m is a node of, where that is stepped
        # implicitly: depth falls with the square of dt, or with less the longer the step (steel on foam: with its power of 1.2)
        power = 1.0 if self._implicit(int(a)) or self._implicit(int(b)) else 0.5
        factor = min(FINEST, (part / DEPTH[0]) ** power)
        return Remedy("The springs of this contact are as stiff as the step allows", {"dt": float(f"{dt / factor:.2g}")})

    def _implicit(self, body: int) -> bool:
        """Whether a body has nodes that are stepped implicitly."""
        nodes = self.sim.world.model.nodes
        return bool((nodes.scheme[nodes.body == body] == IMPLICIT).any())

    def _flows_at_once(self, a: int, b: int) -> str:
        """Why no shorter step helps where a body is hit so hard that it flows before it slows down (docs/point-bodies, Limits)."""
        first = self.sim.world.model.bodies.origin()
        speed = self.met.get(int(key_of(first[[a]], first[[b]])[0]), 0.0)
        for body in dict.fromkeys([int(first[a]), int(first[b])]):
            given = self.sim.scene.bodies[body]
            mean = {n: float(np.mean(getattr(given.material, n, None) or 0.0)) for n in ("density", "youngs_modulus", "yield_strain")}
            push, bears = mean["density"] * speed**2, mean["youngs_modulus"] * mean["yield_strain"]
            if push > bears > 0.0:
                return (
                    f"{given.name} flows as it is hit at {speed:.3g} m/s: density times speed squared, {push:.3g} Pa, is more than "
                    f"youngs_modulus times yield_strain, {bears:.3g} Pa. A stiffer material makes it less deep, a smaller dt does not"
                )
        return ""


def velocities(sim: Simulation) -> Floats:
    """Of the centres of mass [m/s], (B, 3)."""
    model, state = sim.world.model, sim.state
    nodes, frames, count = model.nodes, model.frames, len(model.bodies)
    momentum = np.stack([summed(nodes.body, nodes.mass * state.v[:, k], count) for k in range(3)], axis=1)
    out = momentum / np.maximum(summed(nodes.body, nodes.mass, count), 1e-300)[:, None]
    out[frames.body] = state.velocity
    return out


def method_of(sim: Simulation, a: int, b: int) -> tuple[str, ContactMethod]:
    """The contact method that serves two bodies, and its name."""
    ends = np.array([a]), np.array([b])
    for index, (name, method) in enumerate(sim.contact.methods.items()):
        if sim.world.pairs.for_method(index).meet(*ends)[0]:
            return name, method
    return next(iter(sim.contact.methods.items()), ("none", make_method("none")))


@dataclass
class Through:
    """Bodies that are deeper in one another than the middle of the thinner one, or share more than half of the smaller one: contact pushes
    them out on the other side, or not at all. And those that go deeper and deeper while contact does not push them."""

    sim: Simulation
    pairs: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)  # depth [m] and time [s] when it was first seen
    free: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)  # of pairs without a push the deepest, the same
    _pushed: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # pairs that the last step pushed apart
    _before: dict[int, float] = field(default_factory=dict)  # [m] how deep the pairs without a push were at the last look

    def take(self, report: StepReport) -> None:
        """Look at what the contacts of a step say."""
        some = report.pairs["normal_force"] > 0.0 if len(report.contacts) else slice(0)
        self._pushed = key_of(report.pairs["a"][some], report.pairs["b"][some]) if len(report.contacts) else self._pushed[:0]
        thick, contacts = self.sim.world.derived(Thickness), report.contacts
        if report.max_depth > float(thick.half.min(initial=np.inf)):
            self._note(contacts.a, contacts.b, np.nan_to_num(contacts.depth), contacts.point, contacts.normal, report.time)

    def look(self) -> None:
        """Look at where bodies are, whatever contact says."""
        still = self.sim.world.standing()
        finder, table = still.kept(Penetration), still.pairs
        served = [table.for_method(k).meet for k, each in enumerate(self.sim.contact.methods.values()) if not isinstance(each, Nothing)]
        if not served:
            return
        meet = lambda a, b: np.any([each(a, b) for each in served], axis=0) & (a != b)
        hits = finder.find(finder.fit(still.end, still.shapes), meet)
        inside = (still.bodies.analytic >= 0) | np.isfinite(self.sim.world.derived(Thickness).half)  # a surface with a rim has none
        some = np.flatnonzero(inside[hits.b])
        deep = -hits.gap[some] > self.sim.world.derived(Thickness).half[hits.b[some]]  # a skin that folds may not know its inside
        deep &= still.bodies.analytic[hits.b[some]] < 0
        which = some[deep]
        around = windings(finder.tree, still.end, finder.faces, still.end[hits.point[which]], hits.b[which])
        some = np.setdiff1d(some, which[around < 1])
        place = still.end[hits.point] - 0.5 * hits.gap[:, None] * hits.normal
        self._note(hits.a[some], hits.b[some], -hits.gap[some], place[some], hits.normal[some], self.sim.time)
        self._share(hits.a[some], hits.b[some], -hits.gap[some], still.end)
        self._miss(hits.a[some], hits.b[some], -hits.gap[some])

    def _miss(self, a: Ints, b: Ints, depth: Floats) -> None:
        """Note pairs that nothing pushes at this look and at the last one, and that are deeper than they were."""
        names, key = self.sim.world.model.bodies.names, key_of(a, b)
        some = (depth > DEPTH[1] * scales_of(self.sim.world).against(a, b)) & ~np.isin(key, self._pushed)
        now = {int(pair): float(depth[some & (key == pair)].max()) for pair in np.unique(key[some])}
        for pair, deep in now.items():
            if deep > self._before.get(pair, np.inf):
                first, second = sorted(names[int(end[0])] for end in ends_of(np.array([pair])))
                self.free[first, second] = max(self.free.get((first, second), (0.0, 0.0)), (deep, self.sim.time))
        self._before = now

    def _share(self, a: Ints, b: Ints, depth: Floats, points: Floats) -> None:
        """Note bodies that fill the same place: where one is in another as a whole its surface is not far from the other's any more."""
        names, skin, key = self.sim.world.model.bodies.names, self.sim.world.rest.skin, key_of(a, b)
        coarse = depth > DEPTH[0] * scales_of(self.sim.world).against(a, b)  # on their way there they are
        for pair in np.unique(key[coarse & (a != b)]):
            both = [skin.faces[skin.face_body == end] for end in ends_of(pair)]
            least = min(float(volumes(points, faces, np.zeros(len(faces), np.int64), 1)[0]) for faces in both)
            if 0.0 < 0.5 * least < _common_box(points, *both) and common_volume(points, *both) > 0.5 * least:
                first, second = sorted(names[int(end)] for end in ends_of(pair))
                self.pairs.setdefault((first, second), (float(depth[key == pair].max()), self.sim.time))

    def _note(self, a: Ints, b: Ints, depth: Floats, place: Floats, normal: Floats, time: float) -> None:
        if len(a) == 0:
            return
        thick, bodies = self.sim.world.derived(Thickness), self.sim.world.model.bodies
        plane, names = (bodies.analytic[a] == PLANE) | (bodies.analytic[b] == PLANE), bodies.names
        least = lambda of: np.minimum(of[a], of[b])
        half = np.where(plane, least(thick.usual), least(thick.half))  # out of a plane nothing comes on the other side, however thin
        deep = np.flatnonzero((depth > half) & (a != b))
        if len(deep):
            there = np.minimum(*(self._halves(body[deep], place[deep], normal[deep]) for body in (a, b)))
            deep = deep[plane[deep] | (depth[deep] > there)]
        for k in deep:
            first, second = sorted((names[a[k]], names[b[k]]))
            self.pairs.setdefault((first, second), (float(depth[k]), time))

    def _halves(self, body: Ints, place: Floats, normal: Floats) -> Floats:
        """Half of the thickness of bodies along the normal, where they touch [m], (k,): what is thin elsewhere is no middle here."""
        still, half = self.sim.world.standing(), self.sim.world.derived(Thickness).half
        finder = still.kept(Penetration)
        finder.tree.refit(still.end)
        ahead, behind = (exits(finder.tree, still.end, finder.faces, place, sign * normal, body)[2] for sign in (1.0, -1.0))
        known = (still.bodies.analytic[body] < 0) & np.isfinite(ahead + behind)
        return np.where(known, 0.5 * (ahead + behind), half[body])

    def notes(self) -> list[str]:
        """A sentence about them."""
        if not self.pairs:
            return []
        found = sorted(self.pairs.items(), key=lambda item: item[1][1])
        told = [f"{a} and {b} at t = {time:.4g} s ({1e3 * depth:.3g} mm deep)" for (a, b), (depth, time) in found[:NAMED]]
        more = f", and {len(found) - NAMED} more pairs" if len(found) > NAMED else ""
        return [f"{FAILED}bodies went through each other beyond the middle of the thinner one: {', '.join(told)}{more}."]

    def missed(self) -> list[str]:
        """A sentence about those that nothing pushed, but for what went through, which says more."""
        found = sorted((item for item in self.free.items() if item[0] not in self.pairs), key=lambda item: -item[1][0])
        if not found:
            return []
        told = [f"{a} and {b} to {1e3 * depth:.3g} mm at t = {time:.4g} s" for (a, b), (depth, time) in found[:NAMED]]
        more = f", and {len(found) - NAMED} more pairs" if len(found) > NAMED else ""
        return [
            f"Contact pushed nothing apart while bodies went deeper into each other: {', '.join(told)}{more}. What contact would have done "
            "there is missing in this run: another contact method, bodies that start apart, or a shorter dt shows it."
        ]


def _common_box(points: Floats, first: Ints, second: Ints) -> float:
    """Volume that the boxes around two skins share [m^3]: no less than the skins do."""
    low = np.maximum(points[first].min(axis=(0, 1)), points[second].min(axis=(0, 1)))
    high = np.minimum(points[first].max(axis=(0, 1)), points[second].max(axis=(0, 1)))
    return float(np.maximum(high - low, 0.0).prod())


@dataclass(frozen=True)
class Cut:
    """Two bodies that would have passed through each other."""

    count: int  # steps that were cut short
    first: float  # [s]
    remedy: str  # a sentence, or nothing


@dataclass
class Cuts:
    """Steps that were cut short because bodies would have passed through each other."""

    sim: Simulation
    pairs: dict[tuple[str, str], Cut] = field(default_factory=dict)
    before: dict[str, np.ndarray] = field(init=False)  # accounts of all pairs when the step began (measure/account.py)

    def __post_init__(self) -> None:
        self.before = self.sim.state.pairs

    def take(self, report: StepReport) -> None:
        """Account for a step, or a part of one."""
        before, self.before = self.before, self.sim.state.pairs  # a step puts new arrays in their place
        if report.cut is None:
            return
        known, first = self.pairs.get(report.cut), report.time - report.dt
        self.pairs[report.cut] = (
            Cut(1, first, self._remedy(*report.cut, before)) if known is None else replace(known, count=known.count + 1)
        )

    def _remedy(self, a: str, b: str, before: dict[str, np.ndarray]) -> str:
        """To start nearer, if most of the speed with which they come together was gained on the way: not if they touched before."""
        bodies = self.sim.world.model.bodies
        ends = np.array([bodies.names.index(a)]), np.array([bodies.names.index(b)])
        if before and key_of(*ends)[0] in before["pair"]:
            return ""
        first, second = (np.array(self.sim.scene.bodies[int(bodies.origin()[end][0])].velocity) for end in ends)
        now = velocities(self.sim)
        gained = float(np.linalg.norm(now[ends[0]] - now[ends[1]])) > 2.0 * float(np.linalg.norm(first - second))
        return " Bodies that start nearer to each other meet more slowly, and are cut less." if gained else ""

    def notes(self) -> list[str]:
        """A sentence about them."""
        if not self.pairs:
            return []
        found = sorted(self.pairs.items(), key=lambda item: item[1].first)
        told = ", ".join(f"{a} and {b} ({cut.count} times, first at t = {cut.first:.4g} s)" for (a, b), cut in found[:NAMED])
        remedy = max((cut.remedy for _, cut in found[:NAMED]), default="")
        return [
            f"Steps were cut short where fast bodies would have passed through each other: {told}{', ...' if len(found) > NAMED else ''}. "
            f"Each goes on in parts, just to the touch and then by a part of the thickness of the thinner body.{remedy}"
        ]


class Closed:
    """Faces of bodies whose surface encloses a volume; made once (`world.derived(Closed)`)."""

    def __init__(self, rest: Rest) -> None:
        skin, count = rest.skin, len(rest.bodies)
        soft = np.array([rest.bodies.frame[b] < 0 for b in range(count)], bool)
        if len(skin.faces):
            soft[skin.face_body[(face_neighbours(skin.faces) < 0).any(axis=1)]] = False
        mine = soft[skin.face_body]
        self.faces, self.owner, self.count = skin.faces[mine], skin.face_body[mine], count
        self.volume = self.volumes(rest.points)  # [m^3] (B,) at rest; 0 of others
        x = rest.points[self.faces]
        area = summed(self.owner, 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1), count)
        self.volume[self.volume < SLIVER * area**1.5] = 0.0

    def volumes(self, points: Floats) -> Floats:
        """Of the bodies [m^3], (B,)."""
        return volumes(points, self.faces, self.owner, self.count)


@dataclass
class Matter:
    """Volumes of skins, and pieces that broke off, looked at with every frame."""

    sim: Simulation
    volumes: dict[str, tuple[float, float]] = field(default_factory=dict)  # change as a part and time [s], the worst of each body
    ran: tuple[str, float, float, float] | None = None  # the fastest piece: name, speed and what could be [m/s], time [s]
    count: int = 0  # pieces that ran away

    def look(self) -> None:
        """Now."""
        world, state = self.sim.world, self.sim.state
        closed, names = world.derived(Closed), world.model.bodies.names
        known = closed.volume > 0.0
        whole = matter(world, self.sim.epoch.fullness)[0]  # of parts too: when they parted their skins may have lost some
        start = np.where(whole > 0.0, whole, closed.volume)
        change = np.zeros(closed.count)
        now = closed.volumes(world.skin_positions(state.x, state.position, state.rotation))
        change[known] = now[known] / start[known] - 1.0
        for b in np.flatnonzero(np.abs(change) > VOLUME):
            if abs(change[b]) <= self._allowed(int(b)):
                continue
            if abs(change[b]) > abs(self.volumes.get(names[b], (0.0, 0.0))[0]):
                self.volumes[names[b]] = float(change[b]), self.sim.time
        self._pieces()

    def _allowed(self, body: int) -> float:
        """What a strain of SQUEEZED does to the volume of finite elements that can be compressed; else nothing beyond VOLUME."""
        given = self.sim.scene.bodies[int(self.sim.world.model.bodies.origin()[body])]
        ratio = getattr(given.material, "poisson_ratio", 0.5) if given.model == "fem" else 0.5
        return max(VOLUME, SQUEEZED * (1.0 - 2.0 * float(ratio)))

    def _pieces(self) -> None:
        """Pieces that are faster than anything could have made them."""
        world, state, bodies = self.sim.world, self.sim.state, self.sim.world.model.bodies
        pieces = np.flatnonzero(bodies.parent >= 0)
        if len(pieces) == 0:
            return
        nodes, count = world.model.nodes, len(bodies)
        mass = summed(nodes.body, nodes.mass, count)
        momentum = np.stack([summed(nodes.body, nodes.mass * state.v[:, k], count) for k in range(3)], axis=1)
        speed = np.linalg.norm(momentum[pieces], axis=1) / mass[pieces]
        given = max([float(np.linalg.norm(body.velocity)) for body in self.sim.scene.bodies], default=0.0)
        fall = given + float(np.linalg.norm(world.model.gravity)) * self.sim.time
        could = fall + np.sqrt(bodies.modulus[pieces] / self._density(pieces)) * self._tears(pieces)
        fast = np.flatnonzero(speed > RAN * could)
        self.count = max(self.count, len(fast))
        if len(fast) and (self.ran is None or speed[fast].max() > self.ran[1]):
            k = int(fast[np.argmax(speed[fast])])
            self.ran = bodies.names[pieces[k]], float(speed[k]), float(could[k]), self.sim.time

    def _density(self, pieces: Ints) -> Floats:
        origin = self.sim.world.model.bodies.origin()[pieces]
        return np.array([float(np.mean(getattr(self.sim.scene.bodies[k].material, "density", 1000.0))) for k in origin])

    def _tears(self, pieces: Ints) -> Floats:
        """Strain at which the matter of each piece tears: it leaves with that part of the speed of waves."""
        origin = self.sim.world.model.bodies.origin()[pieces]
        return np.array([float(np.mean(getattr(self.sim.scene.bodies[k].material, "tear_strain", 0.0) or 0.0)) for k in origin])

    def notes(self) -> list[str]:
        """Sentences about both."""
        said = []
        for name, (change, time) in sorted(self.volumes.items(), key=lambda item: -abs(item[1][0])):
            what = f"turned inside out ({change:+.0%})" if change < -1.0 else f"changed by {change:+.0%}"
            said.append(f"The volume of the skin of {name} {what}, most at t = {time:.4g} s.")
        if self.ran is not None:
            name, speed, could, time = self.ran
            said.append(
                f"{self.count} pieces that broke off ran away: {name} had {speed:.3g} m/s at t = {time:.4g} s, and fall, throw and tearing "
                f"give {could:.3g} m/s at most. Their motion, and what they hit, is not to be trusted."
            )
        return said


KNOWN = ("sim", "before")  # fields of what watches a run that come from the simulation


def packed(watcher: Any) -> dict[str, Any]:
    """What a watcher has seen so far, as JSON for a checkpoint: a run that is resumed tells what it would have told in one piece."""
    return {f.name: _plain(getattr(watcher, f.name)) for f in fields(watcher) if f.name not in KNOWN}


def unpack(watcher: Any, saved: dict[str, Any]) -> None:
    """Put into a watcher what `packed` took out of one; what it does not name stays as it is."""
    for f in fields(watcher):
        if f.name in saved:
            setattr(watcher, f.name, _again(saved[f.name]))


def _plain(value: Any) -> Any:
    """As JSON; what JSON does not know is a dictionary with the name of its kind."""
    if isinstance(value, (_Kind, Cut)):
        return {type(value).__name__: [_plain(getattr(value, f.name)) for f in fields(value)]}
    if isinstance(value, np.ndarray):
        return {value.dtype.name: value.tolist(), "shape": value.shape}
    if isinstance(value, dict):
        return {"dict": [[_plain(k), _plain(v)] for k, v in value.items()]}
    if isinstance(value, (tuple, set)):
        return {type(value).__name__: [_plain(v) for v in (sorted(value) if isinstance(value, set) else value)]}
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _again(value: Any) -> Any:
    """What `_plain` made JSON of."""
    if isinstance(value, list):
        return [_again(v) for v in value]
    if not isinstance(value, dict):
        return value
    kind, inside = next(iter(value.items()))
    if "shape" in value:
        return np.array(inside, kind).reshape(value["shape"])
    parts = [_again(v) for v in inside]
    makes: dict[str, Callable[[], Any]] = {
        "dict": lambda: dict(parts), "tuple": lambda: tuple(parts), "set": lambda: set(parts), "_Kind": lambda: _Kind(*parts),
        "Cut": lambda: Cut(*parts),
    }  # fmt: skip
    return makes[kind]()
