"""What stops a run that has gone wrong, or warns before it starts: a sentence that names body, element, step and cause."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np

from pliant import asking
from pliant.base import Floats, Ints, PliantError
from pliant.bodies.register import room_of
from pliant.detect.penetration import Penetration
from pliant.measure.resolution import rounded_down
from pliant.simulate.simulation import Simulation
from pliant.simulate.verdicts import method_of
from pliant.waiting import doing
from pliant.world.world import World

log = logging.getLogger("pliant")
OVERLAP = 0.02  # of the smaller body: deeper than this at the start is a mistake
INVERTED = 0.05  # of a body's elements: more than this is not a passing squeeze
GRAVITY = 9.81  # [m/s^2] by which falls are judged
FASTEST = 100.0  # body lengths a step at the start: each step is then cut as often, and takes minutes
FAR = 10.0  # body lengths a step: what goes faster than this must have a reason


def overlaps(world: World) -> list[tuple[str, str, float, Floats]]:
    """Pairs of bodies that overlap now: names, depth [m] and the direction out of the second."""
    still = world.standing()
    finder = still.kept(Penetration)
    hits = finder.find(finder.fit(still.end, still.shapes), still.pairs.meet)
    names = world.model.bodies.names
    found: dict[tuple[str, ...], tuple[str, str, float, Floats]] = {}
    for k in np.argsort(hits.gap, kind="stable"):  # deepest first
        pair = tuple(sorted((names[hits.a[k]], names[hits.b[k]])))
        found.setdefault(pair, (names[hits.a[k]], names[hits.b[k]], float(-hits.gap[k]), hits.normal[k]))
    return list(found.values())


@doing("looking where bodies overlap at the start")
def check_start(sim: Simulation, refuse: bool = True) -> list[str]:
    """Refuse bodies that overlap badly at the start; sentences about those that overlap a little, or about all."""
    notes = []
    for a, b, depth, normal in overlaps(sim.world):
        size = min(_size(sim, a), _size(sim, b))
        if depth < 1e-9 * size:
            continue
        shift = depth * normal
        if not room_of(sim.world.model.bodies.kind[sim.index(a)]).moves:  # move what is meant to move
            a, b, shift = b, a, -shift
        shift = np.where(np.abs(shift) < 1e-6 * depth, 0.0, shift)
        cure = f"move {a} by ({shift[0]:.3g}, {shift[1]:.3g}, {shift[2]:.3g}) m"
        text = f"{a} and {b} overlap by {depth:.3g} m at the start"
        if depth > OVERLAP * size:
            name, method = method_of(sim, sim.index(a), sim.index(b))
            gentle = getattr(method, "gentle", False)
            then = f"{name} would first let them come apart slowly" if gentle else "they would be thrown apart"
            bad = (
                f"{text}, {100 * depth / size:.0f} % of the smaller one; {then}. Either {cure}, "
                f"or let them pass through each other with a pair (a = \"{a}\", b = \"{b}\", contact = false)."
            )
            if refuse:
                raise PliantError(bad)
            log.warning("%s", bad)
            notes.append(bad)
            continue
        if not any(room_of(sim.world.model.bodies.kind[sim.index(body)]).local for body in (a, b)):  # these overlap whenever they touch
            notes.append(f"{text}; contact will push them apart. To avoid it {cure}.")
    return notes


def longest_step(sim: Simulation) -> tuple[float, float]:
    """The longest step [s] in which a fall from rest is no longer than the smallest moving body, and its size [m]."""
    bodies = sim.world.model.bodies
    sizes = [_size(sim, name) for name, kind in zip(bodies.names, bodies.kind, strict=True) if room_of(kind).moves]
    smallest = min(sizes, default=np.inf)
    return float(np.sqrt(2.0 * smallest / GRAVITY)), smallest


def elements_of(world: World) -> tuple[int, int]:
    """How many elements are in implicit bodies, and how many in others."""
    counts = [len(group.nodes) for group in world.model.groups]
    implicit = sum(counts[k] for k in world.implicit.groups) if world.implicit is not None else 0
    return implicit, sum(counts) - implicit


def check_cost(sim: Simulation) -> None:
    """Refuse, unless it is asked for, what takes very long or more memory than there is, and steps in which bodies fall past others."""
    implicit, explicit = elements_of(sim.world)
    seconds = asking.step_seconds(implicit, explicit, len(sim.world.model.bodies))
    asking.refuse_large(implicit + explicit, seconds, sim.scene.duration / sim.dt, sim.parts)
    _refuse_speed(sim)
    longest, smallest = longest_step(sim)
    if sim.dt > longest:
        asking.refuse_odd(
            f"dt = {sim.dt:g} s is too long: in one step a body would fall further than the smallest is large, {smallest:.3g} m, so that "
            f"what the run shows of contact is wrong. Give at most {rounded_down(longest)} s"
        )


def _refuse_speed(sim: Simulation) -> None:
    """Refuse bodies that go so far in a step that only a mistake explains it."""
    model, state = sim.world.model, sim.world.state
    mean = _means(model.nodes.body, model.nodes.mass, state.v, len(model.bodies))
    mean[model.frames.body] = state.velocity
    sizes = np.array([_size(sim, name) for name in model.bodies.names])
    ways = np.linalg.norm(mean, axis=1) * sim.dt / sizes
    if ways.max(initial=0.0) > FASTEST:
        body = int(np.argmax(ways))
        asking.refuse_odd(
            f"{model.bodies.names[body]} goes {ways[body]:.3g} times its own size in a step of {sim.dt:g} s. Use a smaller dt"
        )


def _size(sim: Simulation, body: str) -> float:
    points = sim.points(body)
    return (float(np.ptp(points, axis=0).max()) or np.inf) if len(points) else np.inf  # a speck has no size to be measured by


@dataclass
class Guard:
    """Watches a running simulation."""

    sim: Simulation
    suspects: set[str] = field(default_factory=set)  # bodies with too many inverted elements at the last frame
    inverted: dict[str, tuple[int, str]] = field(default_factory=dict)  # the worst of each body so far: how many, in words
    left: dict[str, int] = field(default_factory=dict)  # how many of each body are inverted at the last frame
    extent: Floats = field(init=False)  # [m] (B,)
    speed: float = field(init=False)  # [m/s] of the fastest at the start
    since: float = field(init=False)  # [s]

    def __post_init__(self) -> None:
        sim, state = self.sim, self.sim.state
        self.extent = np.array([_size(sim, n) for n in sim.world.model.bodies.names])
        self.speed = float(np.linalg.norm(np.concatenate([state.v, state.velocity]), axis=1).max(initial=0.0))
        self.since = state.time

    @property
    def notes(self) -> list[str]:
        """What was seen and let pass, and what came of it."""
        return [f"{text}; {self._outcome(name)}." for name, (_, text) in self.inverted.items()]

    def _outcome(self, name: str) -> str:
        if name not in self.left:
            return "at the last frame all have turned back, and what was pushed until then came from elements without a shape"
        return f"{self.left[name]} are at the last frame: stresses and pressures there are not to be trusted"

    def after_step(self, dt: float) -> None:
        """Refuse a node that leaves its body, and a body that goes far faster than a fall could make it."""
        model, state = self.sim.world.model, self.sim.world.state
        nodes, frames = model.nodes, model.frames
        fastest = max(_square(state.v), _square(state.velocity))
        if 4.0 * fastest * dt * dt < self.extent.min(initial=np.inf) ** 2 and np.isfinite(state.rotation).all():
            return  # nothing can have gone that far
        mean = _means(nodes.body, nodes.mass, state.v, len(model.bodies))
        mean[frames.body] = state.velocity
        way = np.linalg.norm(state.v - mean[nodes.body], axis=1) * dt / self.extent[nodes.body]
        pace = np.linalg.norm(mean, axis=1)
        fall = self.speed + float(np.linalg.norm(model.gravity)) * (state.time - self.since)
        gone = (pace * dt > FAR * self.extent) & (pace > 3.0 * fall)  # a light body may leave a heavy one twice as fast
        gone[frames.body[~np.isfinite(state.rotation).all(axis=1)]] = True
        way[model.bodies.unsafe[nodes.body]] = 0.0  # asked for, to be looked at
        gone &= ~model.bodies.unsafe
        torn = way.max(initial=0.0) > 1.0
        if torn or gone.any():
            body = nodes.body[np.argmax(way)] if torn else np.argmax(gone)
            what = f"node {np.argmax(way) - model.bodies.node_start[body]} of body" if torn else "body"
            raise PliantError(
                f"{what} '{model.bodies.names[body]}' runs away: it moved further than the body is large in step {state.step} "
                f"(t = {state.time:.4g} s). Likely the step is too long for the speed or the stiffness: use a smaller dt, more "
                "damping, or integrator = \"implicit\" if it is not; or a length is in the wrong unit."
            )

    def at_frame(self, stretches: list[Floats]) -> None:
        """Note inverted elements, given det F per group; refuse bodies of which many stay so from one frame to the next."""
        world, before = self.sim.world, self.suspects
        self.suspects, self.left = set(), {}
        for group, owner, stretch in zip(world.model.groups, world.model.group_body, stretches, strict=True):
            bad = np.flatnonzero(stretch <= 0)
            if len(bad) == 0 or not group.name.startswith("tet"):
                continue
            for body in np.unique(owner[bad]):
                other = "" if group.name.endswith("neo-hookean") else " or law = \"neo-hookean\""
                self._look(body, bad[owner[bad] == body], np.flatnonzero(owner == body), before, other)

    def _look(self, body: int, bad: Ints, own: Ints, before: set[str], other: str) -> None:
        name = self.sim.world.model.bodies.names[body]
        self.left[name] = len(bad)
        text = f"{len(bad)} of {len(own)} elements of {name} were inverted (first: {bad[0] - own[0]}) at t = {self.sim.time:.4g} s"
        if len(bad) > INVERTED * len(own):
            self.suspects.add(name)
            if name in before:
                raise PliantError(
                    f"{text}, step {self.sim.state.step}, and stay so. Likely the body is squeezed harder than its mesh can follow: use "
                    f"a smaller dt, a stiffer material, a finer mesh{other}."
                )
        if len(bad) > self.inverted.get(name, (0, ""))[0]:
            self.inverted[name] = (len(bad), text)


def _square(v: Floats) -> float:
    """Square of the longest row."""
    return float(np.einsum("ij,ij->i", v, v).max(initial=0.0))


def _means(owner: Ints, mass: Floats, v: Floats, count: int) -> Floats:
    """Velocity of the centre of mass of each body's nodes (count, 3); zero for bodies without any."""
    total = np.bincount(owner, mass, minlength=count)
    sums = np.stack([np.bincount(owner, mass * v[:, axis], minlength=count) for axis in range(3)], axis=1)
    return np.divide(sums, total[:, None], out=np.zeros((count, 3)), where=total[:, None] > 0)
