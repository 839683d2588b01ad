"""Spillmann, Becker, Teschner: contact forces without iterations for soft bodies (S1 to S8).

Time steps, densities, sizes and dampings are not published; ours are in the scenes. Each experiment runs a scene that ships with
pliant, looks for overlaps anew after steps, and compares with what the paper says in words or numbers.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.method import Answer, Memory, register_method
from pliant.contact.noniterative import Noniterative
from pliant.detect.solid_penetration import SolidPenetration
from pliant.look import Camera, Picture, from_simulation
from pliant.measure.overlap import overlap
from pliant.model import State
from pliant.scene import Scene
from pliant.shop import scenes
from pliant.shop.reproduce.experiment import Desk, Experiment, Figure, Measured
from pliant.shop.reproduce.verdict import Claim, above, below, exactly, near, times
from pliant.shop.reproduce.watch import plot, strip
from pliant.shop.scenes.checks import inverted_elements
from pliant.shop.scenes.spillmann import INNER, MAJOR, OUTER, spiral, yardstick
from pliant.simulate.simulation import Simulation
from pliant.world.motion import Motion

ONE_CORE = "CPU time on the machine that runs this; the paper's Xeon had 3.8 GHz in 2006"
EDGE, PEAK = "% of an edge", "of its peak"


@dataclass
class History:
    """What was seen along a run, one entry per sample."""

    time: list[float] = field(default_factory=list)  # [s]
    contacts: list[int] = field(default_factory=list)
    depth: list[float] = field(default_factory=list)  # deepest point after the step, as a part of the mean edge
    kinetic: list[float] = field(default_factory=list)  # [J]
    step: list[float] = field(default_factory=list)  # [s] CPU, median of the steps since the last sample
    response: list[float] = field(default_factory=list)  # [s] CPU, likewise
    pictures: list[Picture] = field(default_factory=list)
    states: list[State] = field(default_factory=list)  # kept each time there were so many contacts more

    @property
    def deepest(self) -> float:
        """Along the run [% of an edge]."""
        return 100 * max(self.depth)

    @property
    def rest(self) -> float:
        """Kinetic energy at the end as a part of its peak."""
        return self.kinetic[-1] / max(max(self.kinetic), 1e-300)


class Clocked(Noniterative):
    """The method, noting the CPU time of its response."""

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        found = motion.kept(SolidPenetration).find(motion.end, motion.shapes, motion.pairs.meet)
        looked = time.process_time()
        answer = self.answer(motion, memory, *found)
        _LAPS.append(time.process_time() - looked)
        return answer


_LAPS: list[float] = []
THIRDS = (1 / 3, 2 / 3, 1.0)


def watch(
    desk: Desk, scene: Scene, every: int, shots: Sequence[float] = THIRDS, done: tuple[float, float] = (0.0, 1.0), more: int = 0
) -> tuple[Simulation, History]:
    """Run a scene, sample it every few steps, and keep pictures of it on the way: at these parts of its duration.

    done: the part of the experiment that this is; more: keep a state whenever there are so many contacts more than in the last one kept.
    """
    register_method("clocked", Clocked)
    given = {} if isinstance(scene.contact, str) else scene.contact
    sim = scene.simulate(contact={**given, "method": "clocked"})
    seen, spent, kept = History(), list[float](), 0
    _LAPS.clear()
    steps = round(scene.duration / scene.dt)
    due = {max(1, round(steps * part)) for part in shots}
    for k in range(1, steps + 1):
        began = time.process_time()
        sim.step()
        spent.append(time.process_time() - began)
        if k % every == 0 or k == steps:
            seen.time.append(sim.time)
            seen.contacts.append(len(sim.contacts()))
            seen.depth.append(overlap(sim).worst)
            seen.kinetic.append(sim.books().kinetic)
            seen.step.append(statistics.median(spent))
            seen.response.append(statistics.median(_LAPS))
            spent.clear()
            _LAPS.clear()
            if more and seen.contacts[-1] >= kept + more:
                kept = seen.contacts[-1]
                seen.states.append(sim.state.copy())
            desk.at(done[0] + (done[1] - done[0]) * k / steps)
        if k in due:
            seen.pictures.append(from_simulation(sim))
    return sim, seen


def curves(desk: Desk, file: str, seen: History) -> None:
    """Depth, kinetic energy and contacts over time."""
    panels: list[tuple[str, str, dict[str, tuple[Any, Any]]]] = [
        (title, title, {"": (seen.time, values)})
        for title, values in (
            ("deepest point [% of an edge]", 100 * np.array(seen.depth)), ("kinetic energy [J]", seen.kinetic), ("contacts", seen.contacts),
            ("CPU time of a step [ms]", 1e3 * np.array(seen.step)),
        )
    ]  # fmt: skip
    plot(desk.path(file), [("", y, found) for _, y, found in panels], log=[1])


def _deepest(bar: float, why: str = "") -> Claim:
    return Claim("deepest", "deepest point after the steps looked at", "no visible penetration", below(bar), EDGE, why)


def _rest(bar: float, published: str = "a stable resting state") -> Claim:
    return Claim("rest", "kinetic energy at the end", published, below(bar), PEAK, whole=True)


def _figures(label: str, shows: str, source: str) -> tuple[Figure, ...]:
    return (
        Figure(f"{label}-pictures.png", shows, source),
        Figure(f"{label}.png", "Deepest point, kinetic energy, contacts and CPU time of a step over time.", "no plot"),
    )


def _named(sim: Simulation, begin: tuple[str, ...]) -> list[str]:
    """Bodies whose names begin so."""
    return [body.name for body in sim.scene.bodies if body.name.startswith(begin)]


# ---- S1, S2 and S7: squeezed (Fig. 3)

TOP = ("press", "bar3")  # what hides the contacts below it


def _squeezed(desk: Desk, label: str, scene: Scene, clear: tuple[str, ...]) -> Measured:
    """Run a scene whose bodies are squeezed; those whose names begin like `clear` are drawn as glass."""
    sim, seen = watch(desk, scene, every=20)
    curves(desk, f"{label}.png", seen)
    strip(desk.path(f"{label}-pictures.png"), seen.pictures, "pressure", transparent=_named(sim, clear))
    found = {"deepest": seen.deepest, "last": 100 * seen.depth[-1], "inverted": turned(sim)}
    found["force"] = float(np.linalg.norm(sim.contacts().force, axis=1).sum())
    return found if desk.quick else {**found, "rest": seen.rest}


def turned(sim: Simulation) -> int:
    """Tetrahedra of soft bodies that are inside out, those that springs run along too."""
    skin, kinds = sim.world.model.skin, sim.world.model.bodies.kind
    soft = np.array([kind in ("fem", "springs") for kind in kinds])[skin.tet_body]
    x = sim.points()[skin.tets[soft]]
    return int(np.count_nonzero(np.linalg.det(x[:, 1:] - x[:, :1]) <= 0.0))


SQUEEZED = (
    _deepest(5.0),
    Claim("last", "deepest point at the end", "a collision-free state", below(1.0), EDGE),
    Claim("inverted", "inverted elements at the end", "none to be seen", exactly(0)),
    _rest(1e-4),
    Claim("force", "sizes of all contact forces together at the end", "not given", unit="N"),
)


def s1(desk: Desk) -> Measured:
    """Bars of 100 kN/m^2 squeezed between anchors: no visible penetration at high stress. Quick: coarser, two layers, 0.4 s."""
    values = desk.either({}, dict(layers=2, edge=0.02, dt=0.00015, duration=0.4))
    return _squeezed(desk, "S1", scenes.make("squeezed-bars", **values), TOP)


def s2(desk: Desk) -> Measured:
    """A cube of 30 kN/m^2 pressed by bars of 5000 kN/m^2, St. Venant-Kirchhoff: stable, free of penetration. Quick: coarser, 0.6 s."""
    values = desk.either({}, dict(edge=0.05, dt=0.0002, duration=0.6))
    return _squeezed(desk, "S2", scenes.make("soft-cube-stiff-bars", **values), ("upper",))


SPRING = 1000.0  # [N/m] of each spring
LESS = 0.2  # part of the height: squeezed further the springs buckle, and tetrahedra turn inside out, which nothing holds


def s7(desk: Desk) -> Measured:
    """The bars of S1 as springs along the edges of the same tetrahedra: the elastic model is a black box to the response.

    The paper says that a mass-spring model was used as well, not where; springs of 1000 N/m are ours. Bars of springs are squeezed by less
    than those of S1: beyond a fifth they buckle, and what is inside out has no inside. Quick: coarser, two layers, 0.4 s.
    """
    values = desk.either({}, dict(layers=2, edge=0.02, dt=0.00015, duration=0.4))
    scene = scenes.make("squeezed-bars", squeeze=LESS, **values)
    springs = dict(spring_stiffness=SPRING, density=1000.0, mass_damping=10.0, stiffness_damping=3e-4)
    bodies = [_as_springs(body, springs) if body.model == "fem" else body for body in scene.bodies]
    return _squeezed(desk, "S7", scene.copy_with(bodies=bodies), TOP)


def _as_springs(body: Any, material: dict[str, Any]) -> Any:
    """A soft body of a scene with springs in place of elements."""
    scene = Scene()
    scene.add(
        name=body.name, shape=body.shape, position=body.position, rotation=body.rotation, friction=body.friction,
        integrator=body.integrator, model="springs", network="tets", material=material,
    )  # fmt: skip
    return scene.bodies[0]


# ---- S3: the archway (Fig. 4)


NEAR = Camera((0.4, -1.2, 0.45), (0.0, 0.0, 0.11))  # [m] the balls roll away


def _stones(sim: Simulation) -> list[str]:
    return _named(sim, ("stone",))


def s3(desk: Desk) -> Measured:
    """An arch of wedges of 375 tets, friction 0.95: stands, is hit by balls, and stays; with friction 0.2 it falls. Quick: 0.6 s."""
    shots = desk.either((0.028, 0.06, 1.0), (0.5, 1.0))  # the balls meet the arch after 0.25 s
    sim, seen = watch(desk, scenes.make("archway", duration=desk.either(10.0, 0.6)), every=100, shots=shots, done=(0.0, 0.75))
    loose, _ = watch(desk, scenes.make("archway", friction=0.2, drop=0, duration=desk.either(3.0, 0.6)), every=1000, done=(0.75, 1.0))
    curves(desk, "S3.png", seen)
    strip(
        desk.path("S3-pictures.png"),
        [*seen.pictures, from_simulation(loose)],
        "pressure",
        columns=2,
        camera=NEAR,
        transparent=_stones(sim)[1::2],
    )
    stones, rest = _stones(sim), sim.world.model.nodes.rest
    moved = [float(np.linalg.norm(sim.centre(n) - rest[sim.nodes(n)].mean(axis=0))) for n in stones]
    first, group = sim.nodes(stones[0]), sim.world.model.groups[0].nodes
    found = {
        "moved": 1e3 * max(moved),
        "tets": int(np.count_nonzero((group[:, 0] >= first.start) & (group[:, 0] < first.stop))),
        "deepest": seen.deepest,
        "contacts": float(np.mean(seen.contacts)),
        "pace": 1.0 / float(np.median(seen.step)),
        "crown": 1e3 * float(loose.centre(stones[len(stones) // 2])[2]),
    }
    return found if desk.quick else {**found, "rest": seen.rest}


ARCH = (
    Claim("tets", "tetrahedra of a wedge", "375", exactly(375)),
    Claim("moved", "the farthest that a stone has moved, hit by two balls", "stays up", below(500 * (OUTER - INNER)), "mm",
          "half the thickness of the arch: a stone that has moved further is out of it"),
    _deepest(1.0),
    _rest(1e-4),
    Claim("contacts", "contact points in the mean", "400", times(400, 2), why="the number of wedges is not given; ours has nine"),
    Claim("pace", "steps a second", "40 frames, with drawing", above(40), why=ONE_CORE + "; without drawing"),
    Claim("crown", "height of the crown with friction 0.2", "stability relies on static friction", below(1e3 * INNER), "mm",
          "below the inner radius it is down"),
)  # fmt: skip


# ---- S4: 500 chess figures (Figs. 5 and 6)


def s4(desk: Desk) -> Measured:
    """500 chess figures fill a container: response time linear in the number of collisions. Quick: 18 pieces, 0.35 s."""
    scene = scenes.make("chess-500", **desk.either({}, dict(count=18, across=3, duration=0.35)))
    sim, seen = watch(desk, scene, every=20, more=desk.either(150, 10))
    curves(desk, "S4.png", seen)
    strip(desk.path("S4-pictures.png"), seen.pictures, "body", transparent=_named(sim, ("wall",)), smooth=True, camera=(-58, 35))
    found = {"deepest": seen.deepest, "inverted": inverted_elements(sim)}
    contacts, response = clock(sim, seen.states)
    slope, start, r2 = line_fit(contacts, response)
    _plot_response(desk, contacts, response, slope, start)
    found["slope"] = 1e6 * slope
    if desk.quick:
        return found
    model, count = sim.world.model, np.array(seen.contacts, float)
    filling = slice(int(np.argmax(count > 0.0)), int(np.argmax(count > FULL * count.max())) + 1)
    found["grows"] = line_fit(np.array(seen.time)[filling], count[filling])[2]
    return {**found, "r2": r2, "rest": seen.rest, "points": len(model.nodes.mass), "tets": sum(len(g.nodes) for g in model.groups)}


ROUNDS = 5  # in which each state is timed


def clock(sim: Simulation, states: list[State]) -> tuple[Floats, Floats]:
    """Contacts and CPU time of the response [s] of a step from each of these states: the least of several rounds through all of them.

    What else the machine does only adds to a time, and comes and goes over minutes: so states take turns.
    """
    contacts, response = np.zeros(len(states)), np.full(len(states), np.inf)
    for _ in range(ROUNDS):
        for k, state in enumerate(states):
            sim.recall(state.copy())
            _LAPS.clear()
            sim.step()
            contacts[k], response[k] = len(sim.contacts()), min(response[k], sum(_LAPS))
    return contacts, response


def line_fit(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Slope, intercept and R^2 of a straight line."""
    slope, start = np.polyfit(x, y, 1)
    left = y - slope * x - start
    return float(slope), float(start), 1.0 - float(np.sum(left**2) / np.sum((y - y.mean()) ** 2))


def _plot_response(desk: Desk, contacts: Floats, seconds: Floats, slope: float, start: float) -> None:
    ends = np.array([contacts.min(), contacts.max()])
    found = {"measured": (contacts, 1e3 * seconds), "line": (ends, 1e3 * (slope * ends + start))}
    plot(desk.path("S4-response.png"), [("", "response [ms of CPU]", found)], x="contacts", dots=True)


BENT = ONE_CORE + "; a third is the search for edges that cross, which the paper has not and which goes with pairs of bodies"
FULL = 0.9  # of the most contacts there were: the container is filled
ASTRIDE = "one point, astride the sharp rim of a collar: its way out turns from one side of the rim to the other; all others are below 2"
CRUSHED = "in stems that have buckled: a queen does under 1.6 of its weight; the density is ours; the material bears no volume at all"
CHESS = (
    Claim("points", "points", "50.4k", near(50_400, 0.02), why="pieces of five sides and 21 levels", whole=True),
    Claim("tets", "tetrahedra", "88.2k", near(88_200, 0.02), whole=True),
    Claim("r2", "R^2 of a straight line through response time over collisions", "linear (Fig. 6)", above(0.98), why=BENT, whole=True),
    Claim("slope", "response time of a collision", "not given in numbers", unit="us of CPU"),
    Claim("grows", "R^2 of a straight line through collisions over time, until 90 % of them are there", "grows linearly in time (Fig. 5)",
          above(0.9), why="how the figures are dropped is not given; ours fall in five layers", whole=True),
    _deepest(5.0, ASTRIDE),
    Claim("inverted", "inverted elements at the end", "none to be seen", exactly(0), why=CRUSHED),
    _rest(1e-4, "at rest in the picture"),
)  # fmt: skip


# ---- S5: 200 chained tori (Fig. 1)


def s5(desk: Desk) -> Measured:
    """200 chained tori on an elastic membrane: about 2500 contacts, comes to rest. Quick: 10 rings, 0.4 s."""
    scene = scenes.make("chained-tori", **desk.either({}, dict(links=10, duration=0.4)))
    sim, seen = watch(desk, scene, every=40, shots=(0.25, 0.5, 0.75, 1.0))
    curves(desk, "S5.png", seen)
    far = max(float(np.abs(place[:2]).max()) for place, _ in spiral(len(sim.scene.bodies) - 1)) + 2.0 * MAJOR  # [m] how far rings lie out
    near_by = Camera((1.6 * far, -3.0 * far, 1.1 * far), (0.0, 0.0, -0.2 * far))
    strip(desk.path("S5-pictures.png"), seen.pictures, "body", columns=2, camera=near_by, smooth=True)
    late = slice(len(seen.time) // 3, None)
    found = {"deepest": seen.deepest, "inverted": inverted_elements(sim)}
    if desk.quick:
        return found
    return {
        **found,
        "tets": sum(len(g.nodes) for g in sim.world.model.groups),
        "contacts": float(np.mean(seen.contacts[late])),
        "step": 1e3 * float(np.median(seen.step[late])),
        "response": 1e3 * float(np.median(seen.response[late])),
        "rest": seen.rest,
    }


TORI = (
    Claim("tets", "tetrahedra", "80k", near(80_000, 0.02), whole=True),
    Claim(
        "contacts",
        "contacts in the mean of the last two thirds",
        "2500",
        times(2500, 2),
        why="how the chain is laid out is not given",
        whole=True,
    ),
    Claim("step", "one step", "470 ms", below(470), "ms", ONE_CORE, whole=True),
    Claim("response", "response alone", "41 ms", below(41), "ms", ONE_CORE, whole=True),
    _deepest(5.0),
    Claim("inverted", "inverted elements at the end", "none to be seen", exactly(0)),
    _rest(1e-4),
)


# ---- S6: the response does not depend on Young's modulus (section 5, first paragraph)

MODULI = (1e4, 1e5, 1e6, 5e6)  # [Pa]


def s6(desk: Desk) -> Measured:
    """Response time of a contact from one squeezed state, with moduli from 10 to 5000 kN/m^2. Quick: two layers, fewer steps."""
    register_method("clocked", Clocked)
    values = desk.either({}, dict(layers=2, edge=0.02, dt=0.0002, duration=0.6))
    base = scenes.make("squeezed-bars", **values)
    squeezed = base.simulate().run(until=desk.either(0.35, 0.2)).state
    each: dict[float, float] = {}
    for k, modulus in enumerate(MODULI):
        desk.at(0.3 + 0.7 * k / len(MODULI))
        dt = 0.5 * base.dt * min(1.0, (1e5 / modulus) ** 0.5)
        scene = scenes.make("squeezed-bars", **{**values, "youngs_modulus": modulus, "dt": dt})
        for body in scene.bodies:
            if body.model == "fem":
                body.material.stiffness_damping = 0.0
        sim = scene.simulate(contact="clocked")
        sim.world.state = squeezed.copy()
        sim.state.memory = {}
        _LAPS.clear()
        laps = []
        for _ in range(desk.either(120, 60)):
            sim.step()
            laps.append(_LAPS[-1] / max(len(sim.contacts()), 1))
        each[modulus] = 1e6 * statistics.median(laps)
    plot(desk.path("S6.png"), [("", "response [us of CPU a contact]", {"": ([e / 1e3 for e in MODULI], list(each.values()))})],
         x="Young's modulus [kN/m^2]", zero=True)  # fmt: skip
    return {"spread": max(each.values()) / min(each.values()), **{f"E{modulus:g}": each[modulus] for modulus in MODULI}}


STIFFNESS = (
    Claim("spread", "response time of a contact, largest over smallest for moduli of 10 to 5000 kN/m^2", "not affected by elasticity",
          below(1.3), why=ONE_CORE),
    *(Claim(f"E{e:g}", f"response time of a contact at {e / 1e3:g} kN/m^2", "no figure", unit="us of CPU") for e in MODULI),
)  # fmt: skip


# ---- S8: the method to the letter (Eqs. 2 and 4 to 6)

LETTER = {"method": "noniterative", "mode": "paper", "overdue": "at once"}


def s8(desk: Desk) -> Measured:
    """The method to the letter (S1 to S7 run our default): two cubes meet in empty space, and the bars of S1. Quick: coarser, shorter."""
    free = {rub: scenes.make("two-free-cubes", friction=rub, **desk.either({}, dict(dt=0.0002))) for rub in (0.0, 0.3)}
    found: Measured = {}
    for rub, scene in free.items():
        sim = scene.simulate(contact=LETTER)
        before, way, turning = sim.books(), momenta(sim), yardstick(sim)
        after = sim.run().books()
        found |= {
            f"momentum{rub:g}": float(np.abs(after.momentum - before.momentum).max() / way),
            f"energy{rub:g}": 100 * after.total / before.total,
            f"turned{rub:g}": 100 * float(np.linalg.norm(after.angular_momentum - before.angular_momentum) / turning),
        }
    values = desk.either({}, dict(layers=2, edge=0.02, dt=0.00015, duration=0.4))
    return found | _squeezed(desk, "S8", scenes.make("squeezed-bars", **values).copy_with(contact=LETTER), TOP)


def momenta(sim: Simulation) -> float:
    """The sum of the sizes of the momenta of all nodes [kg m/s]."""
    return float(np.abs(sim.world.model.nodes.mass[:, None] * sim.state.v).sum())


def _met(rub: float) -> tuple[Claim, ...]:
    """What is asked of two cubes that have met with this friction."""
    rubbed = f"two free cubes, friction {rub:g}: "
    return (
        Claim(f"momentum{rub:g}", rubbed + "momentum that came from nowhere, of its size", "sum of contact forces 0 (Eq. 2)", below(1e-12)),
        Claim(f"energy{rub:g}", rubbed + "energy left", "no figure" if rub else "energy conservation, from Eq. 2",
              None if rub else near(100.0, 0.02), "%", "equal and opposite forces off one line turn the bodies and do work"),
        Claim(f"turned{rub:g}", rubbed + "angular momentum that came from nowhere", "not mentioned", unit="% of what each body has"),
    )  # fmt: skip


EXPERIMENTS = {
    "S1": Experiment(
        s1, SQUEEZED, _figures("S1", "Bars coloured by pressure.", "Fig. 3 left: bars bulge between anchors, none in another.")
    ),
    "S2": Experiment(
        s2, SQUEEZED, _figures("S2", "Cube and bars coloured by pressure.", "Fig. 3 right: bars cut into a cube that gives way.")
    ),
    "S3": Experiment(
        s3, ARCH, _figures("S3", "The arch as balls fall on it, coloured by pressure; last: with friction 0.2.", "Fig. 4: an arch stands.")
    ),
    "S4": Experiment(
        s4,
        CHESS,
        (
            *_figures("S4", "Pieces fill the container, whose walls are drawn as glass.", "Fig. 5: 500 chess figures in a container."),
            Figure(
                "S4-response.png", "CPU time of the response over contacts, with the line that fits best.", "Fig. 6: points along a line."
            ),
        ),
    ),
    "S5": Experiment(
        s5, TORI, _figures("S5", "The chain falls on the membrane.", "Fig. 1: the membrane buckles under the chain, which rests.")
    ),
    "S6": Experiment(s6, STIFFNESS, (Figure("S6.png", "CPU time of the response a contact over Young's modulus.", "in words only"),)),
    "S7": Experiment(
        s7, SQUEEZED, _figures("S7", "Bars of springs coloured by pressure.", "in words: a mass-spring model was used as well.")
    ),
    "S8": Experiment(
        s8,
        (*_met(0.0), *_met(0.3), *SQUEEZED),
        _figures("S8", "Bars coloured by pressure, the method to the letter.", "Fig. 3 left: bars bulge between anchors, none in another."),
    ),
}
