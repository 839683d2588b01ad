"""What stops a run that has gone wrong, or warns before it starts: a sentence that names body, element, step and cause."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.detect.penetration import Penetration
from pliant.geometry.mesh import Floats, PliantError
from pliant.motion import Motion
from pliant.simulation import Simulation
from pliant.world import World

OVERLAP = 0.02  # of the smaller body: deeper than this at the start is a mistake
INVERTED = 0.05  # of a body's elements: more than this is not a passing squeeze


def overlaps(world: World) -> list[tuple[str, str, float, Floats]]:
    """Pairs of bodies that overlap now: names, depth [m] and the direction out of the second."""
    state = world.state
    still = Motion(world, 1e-12, state.x.copy(), np.zeros_like(state.v), np.zeros_like(state.velocity), state.spin * 0)
    hits = still.kept(Penetration).find(still)
    names = world.model.bodies.names
    found: dict[tuple[str, ...], tuple[str, str, float, Floats]] = {}
    for k in np.argsort(hits.gap, kind="stable"):  # deepest first
        pair = tuple(sorted((names[hits.a[k]], names[hits.b[k]])))
        found.setdefault(pair, (names[hits.a[k]], names[hits.b[k]], float(-hits.gap[k]), hits.normal[k]))
    return list(found.values())


def check_start(sim: Simulation) -> list[str]:
    """Refuse bodies that overlap badly at the start; sentences about those that overlap a little."""
    notes = []
    for a, b, depth, normal in overlaps(sim.world):
        size = min(_size(sim, a), _size(sim, b))
        if depth < 1e-9 * size:
            continue
        shift = depth * normal
        cure = f"move {a} by ({shift[0]:.3g}, {shift[1]:.3g}, {shift[2]:.3g}) m"
        text = f"{a} and {b} overlap by {depth:.3g} m at the start"
        if depth > OVERLAP * size:
            raise PliantError(
                f"{text}, {100 * depth / size:.0f} % of the smaller one; they would be thrown apart. Either {cure}, "
                f"or let them pass through each other with a pair (a = \"{a}\", b = \"{b}\", contact = false)."
            )
        notes.append(f"{text}; contact will push them apart. To avoid it {cure}.")
    return notes


def _size(sim: Simulation, body: str) -> float:
    points = sim.points(body)
    return float(np.ptp(points, axis=0).max()) if len(points) else np.inf


@dataclass
class Guard:
    """Watches a running simulation."""

    sim: Simulation
    suspects: set[str] = field(default_factory=set)  # bodies with too many inverted elements at the last frame
    extent: Floats = field(init=False)  # [m] (B,)

    def __post_init__(self) -> None:
        sizes = [_size(self.sim, n) for n in self.sim.world.model.bodies.names]
        self.extent = np.array(sizes)

    def after_step(self, dt: float) -> None:
        """Refuse a node or frame that moves further in a step than its body is large."""
        model, state = self.sim.world.model, self.sim.world.state
        far = np.linalg.norm(state.v, axis=1) * dt > self.extent[model.nodes.body]
        fast = np.linalg.norm(state.velocity, axis=1) * dt > 10 * self.extent[model.frames.body]
        if far.any() or fast.any():
            body = model.nodes.body[np.argmax(far)] if far.any() else model.frames.body[np.argmax(fast)]
            what = f"node {int(np.argmax(far)) - model.bodies.node_start[body]} of " if far.any() else ""
            raise PliantError(
                f"{what}body '{model.bodies.names[body]}' runs away: it moved further than the body is large in step {state.step} "
                f"(t = {state.time:.4g} s). Likely the step is too long for the speed or the stiffness: use a smaller dt, more "
                "damping, or integrator = \"implicit\"."
            )

    def at_frame(self) -> tuple[list[Floats], list[str]]:
        """Smallest det F per element of each group, and sentences; refuses bodies that stay inverted."""
        world, notes, now = self.sim.world, [], set()
        stretches = [group.stretch(world.state.x) for group in world.model.groups]
        for group, owner, stretch in zip(world.model.groups, world.model.group_body, stretches, strict=True):
            if not group.name.startswith("tet"):
                continue
            count = np.bincount(owner, minlength=len(world.model.bodies))
            bad = np.bincount(owner[stretch <= 0], minlength=len(count))
            for body in np.flatnonzero(bad):
                name = world.model.bodies.names[body]
                worst = int(np.flatnonzero((owner == body) & (stretch <= 0))[0] - np.flatnonzero(owner == body)[0])
                text = f"{bad[body]} of {count[body]} elements of {name} are inverted (first: {worst}) at t = {world.state.time:.4g} s"
                if bad[body] > INVERTED * count[body]:
                    now.add(name)
                    if name in self.suspects:
                        raise PliantError(
                            f"{text}, and stay so. Likely it is squeezed harder than its mesh can follow: use a smaller dt, a stiffer "
                            "material, a finer mesh or law = \"neo-hookean\"."
                        )
                notes.append(text + ".")
        self.suspects = now
        return stretches, notes
