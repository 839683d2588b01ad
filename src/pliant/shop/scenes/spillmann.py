"""Soft bodies in contact without iterations: scenes after [Spillmann et al. 2007]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.geometry.quaternions import matrix_to_quaternion
from pliant.measure.overlap import overlap
from pliant.scene import Scene
from pliant.shop.scenes.checks import at_rest, gains_nothing, none_inverted, unharmed
from pliant.simulate.simulation import Simulation

SQUEEZED = 1.2  # [s] when the bars have been held for long


def squeezed_bars(
    squeeze: float = 0.4, layers: int = 3, edge: float = 0.0133, youngs_modulus: float = 1e5, friction: float = 0.6,
    dt: float = 0.00009, duration: float = 1.2,
) -> Scene:  # fmt: skip
    """Soft bars, stacked crosswise, are squeezed between two anchors and stay apart.

    squeeze: part of the height by which the upper anchor comes down; layers of two bars each; edge [m] of the elements.

    Bars of 0.04 x 0.04 x 0.2 m, 1000 kg/m^3: rho g H / E = 0.012 for three layers. Rayleigh damping of
    10 / s and 0.3 ms calms them: without the second the contact forces keep the squeezed elements trembling.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="High stress in the contact, no penetration that can be seen.")
    thick, long = 0.04, 0.2
    tall = layers * thick
    anchor = dict(kind="box", size=(0.16, 0.16, 0.03), edge=0.04)
    scene.add(name="floor", shape=anchor, model="static", position=(0, 0, -0.015), friction=friction)
    way = {"times": [0.0, 0.08 * duration, 0.4 * duration], "values": [[0, 0, 0], [0, 0, 0], [0, 0, -squeeze * tall]]}
    scene.add(name="press", shape=anchor, model="static", position=(0, 0, tall + 0.016), motions=[{"shift": way}], friction=friction)
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0, mass_damping=10.0, stiffness_damping=3e-4)
    for layer in range(layers):
        for side in (-1, 1):
            along_x = layer % 2 == 0
            size, place = ((long, thick, thick), (0.0, 0.05 * side)) if along_x else ((thick, long, thick), (0.05 * side, 0.0))
            scene.add(
                name=f"bar{layer + 1}{'ab'[side > 0]}", shape=dict(kind="box", size=size, edge=edge), material=material,
                position=(*place, (layer + 0.5) * thick), integrator="verlet", friction=friction,
            )  # fmt: skip
    return scene


def expect_squeezed_bars(sim: Simulation) -> list[str]:
    """The bars are as flat as the anchors demand and at rest, none is inverted, and no point is deeper than a hundredth of an edge."""
    found = unharmed(sim, 0.02)
    gains_nothing(sim)
    if sim.time > 0.9 * SQUEEZED:
        at_rest(sim)
    press = sim.contacts("press").total_force[2]
    gap = sim.points("press")[:, 2].min() - sim.points("floor")[:, 2].max()
    speed = float(abs(sim.state.v).max())
    assert found.worst < 0.01, f"the deepest point is {100 * found.worst:.2f} % of an edge inside another body"
    for body in sim.world.model.bodies.names[2:]:
        x, y, z = sim.centre(body)
        assert max(abs(x), abs(y)) < 0.08 and 0.0 < z < gap, f"{body} has left the anchors"
    return [
        f"The anchors are {1000 * gap:.1f} mm apart; the upper one carries {press:.1f} N.",
        f"The deepest point is {100 * found.worst:.3f} % of an edge inside another body; the fastest moves at {speed:.1e} m/s.",
    ]


def soft_cube_stiff_bars(
    squeeze: float = 0.18, edge: float = 0.025, soft: float = 3e4, stiff: float = 5e6, law: str = "stvk", friction: float = 0.3,
    dt: float = 0.0001, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """A soft cube is pressed between two stiff bars that cross each other.

    squeeze: part of the cube's height by which the ends of the upper bar come down; edge [m]; soft, stiff: moduli [Pa].

    A cube of 0.2 m and 500 kg/m^3: rho g H / E = 0.033; bars of 2000 kg/m^3. Rayleigh damping of
    10 / s and 1 ms (cube) or 0.04 ms (bars) calms them.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="A stiff and a soft body, St. Venant-Kirchhoff's law.")
    side, thick = 0.2, 0.05
    bar = dict(law=law, youngs_modulus=stiff, poisson_ratio=0.3, density=2000.0, mass_damping=10.0, stiffness_damping=4e-5)
    common: dict[str, Any] = dict(integrator="verlet", friction=friction)
    scene.add(
        name="lower", shape=dict(kind="box", size=(0.4, thick, thick), edge=edge), position=(0, 0, -0.5 * thick), material=bar,
        fixed=[{"side": "-x"}, {"side": "+x"}], **common,
    )  # fmt: skip
    scene.add(
        name="cube", shape=dict(kind="box", size=(side, side, side), edge=edge), position=(0, 0, 0.5 * side),
        material=dict(law=law, youngs_modulus=soft, poisson_ratio=0.3, density=500.0, mass_damping=10.0, stiffness_damping=1e-3), **common,
    )  # fmt: skip
    way = {"times": [0.0, 0.05 * duration, 0.6 * duration], "values": [[0, 0, 0], [0, 0, 0], [0, 0, -squeeze * side]]}
    scene.add(
        name="upper", shape=dict(kind="box", size=(thick, 0.4, thick), edge=edge), position=(0, 0, side + 0.5 * thick + 0.001),
        material=bar, motions=[{"where": {"side": s}, "shift": way} for s in ("-y", "+y")], **common,
    )  # fmt: skip
    return scene


def expect_soft_cube_stiff_bars(sim: Simulation) -> list[str]:
    """The bars bend little, the cube a lot, all are at rest, and no point is deeper than a hundredth of an edge."""
    found = unharmed(sim, 0.02)
    gains_nothing(sim)
    if sim.time > 1.9:
        at_rest(sim)
    lower, upper = sim.contacts("lower", "cube").total_force[2], sim.contacts("upper", "cube").total_force[2]
    waist = sim.points("upper")[:, 2].min() - sim.points("lower")[:, 2].max()
    sag = -float(sim.centre("lower")[2]) - 0.025
    assert found.worst < 0.01, f"the deepest point is {100 * found.worst:.2f} % of an edge inside another body"
    assert waist > 0.0, "the bars have passed through the cube"
    assert abs(sim.centre("cube")[0]) < 0.05 and abs(sim.centre("cube")[1]) < 0.05, "the cube has slipped out"
    return [
        f"The cube is {1000 * waist:.1f} mm thick between the bars; they press with {-lower:.1f} N and {upper:.1f} N.",
        f"The lower bar sags by {1000 * sag:.2f} mm; the deepest point is {100 * found.worst:.3f} % of an edge inside another body.",
    ]


INNER, OUTER, DEPTH = 0.15, 0.28, 0.13  # [m]
ARCH_RESTS = 8.0  # [s] after which the arch stands still


def archway(
    stones: int = 9, drop: int = 2, friction: float = 0.95, youngs_modulus: float = 2e4, density: float = 100.0, dt: float = 0.0003,
    duration: float = 10.0,
) -> Scene:  # fmt: skip
    """An arch of soft stones stands by friction alone, and stays up when balls drop on it.

    stones: of the arch, 375 tets each; drop: how many balls fall on it; friction of all bodies.

    Radii 0.15 and 0.28 m, density 100 kg/m^3: rho g H / E = 0.014. Rayleigh damping of 1 / s and 0.2 ms calms
    the stones. A slender arch (0.25 and 0.31 m, 150 kg/m^3) of so soft stones sinks through by itself.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="Pressure and friction hold an arch without glue.")
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.35, density=density, mass_damping=1.0, stiffness_damping=2e-4)
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    angle = 180.0 / stones
    stone = dict(kind="arch_stone", inner=INNER, outer=OUTER, angle=angle, depth=DEPTH, edge=(OUTER - INNER) / 5)
    for k in range(stones):
        scene.add(
            name=f"stone{k + 1}", shape=stone, rotation=upright((k + 0.5) * angle), material=material, friction=friction,
            integrator="verlet",
        )  # fmt: skip
    for k in range(drop):
        scene.add(
            name=f"ball{k + 1}", shape=dict(kind="ball", radius=0.04, edge=0.02), material=material, friction=friction, integrator="verlet",
            position=(0.06 * (k - 0.5 * (drop - 1)), 0.005 * k, OUTER + 0.3 + 0.25 * k),
        )  # fmt: skip
    return scene


def upright(turn: float) -> tuple[float, float, float, float]:
    """A quaternion that stands the arch's plane up (its z becomes -y) and then turns the stone's middle to this angle [degree]."""
    half = math.radians(0.5 * turn)
    a = (math.cos(half), 0.0, 0.0, math.sin(half))  # about z, in the plane of the arch
    c = math.sqrt(0.5)  # then 90 degrees about x
    return (c * a[0], c * a[0], -c * a[3], c * a[3])


def expect_archway(sim: Simulation) -> list[str]:
    """With enough friction all stones are where they were put, hardly in each other, and at rest after a while; else the arch is down."""
    stones = [b.name for b in sim.scene.bodies if b.name.startswith("stone")]
    rest = sim.world.model.nodes.rest
    moved = [float(np.linalg.norm(sim.centre(n) - rest[sim.nodes(n)].mean(axis=0))) for n in stones]
    crown = sim.centre(stones[len(stones) // 2])[2]
    carried = sim.contacts("ground").total_force[2]
    weight = 9.81 * sim.world.model.nodes.mass.sum()
    gains_nothing(sim)
    if sim.scene.bodies[0].friction > 0.5:
        unharmed(sim, 0.02)
        if sim.time > ARCH_RESTS:
            at_rest(sim)
        assert max(moved) < 0.5 * (OUTER - INNER), f"a stone has moved by {1000 * max(moved):.0f} mm: the arch is down"
    else:
        assert sim.time < 2.0 or crown < INNER, f"the crown is still {1000 * crown:.0f} mm up although friction cannot hold it"
    return [
        f"The crown is {1000 * crown:.1f} mm above the ground; the stones moved by up to {1000 * max(moved):.1f} mm.",
        f"{len(sim.contacts())} contacts; the ground carries {-carried:.2f} N of {weight:.2f} N; "
        f"the deepest point is {100 * overlap(sim).worst:.2f} % of an edge inside another body.",
    ]


PIECES = (("pawn", 0.06), ("rook", 0.06), ("bishop", 0.075), ("queen", 0.085))  # [m]
ROOM = 0.043  # [m] across for one piece at the start
PILE_RESTS = 1.45  # [s] after which the pile lies still


def chess_500(
    count: int = 500, across: int = 10, youngs_modulus: float = 1e4, friction: float = 0.3, seed: int = 1, dt: float = 0.000055,
    duration: float = 1.5, law: str = "neo-hookean", density: float = 50.0,
) -> Scene:  # fmt: skip
    """Five hundred soft chess pieces are poured into a container.

    count: pieces; across: how many of them fit side by side into the container; seed: of how they are turned; density [kg/m^3].

    Pieces of 101 or 105 points and 174 or 180 tets, together 51,000 and 87,750; density 50 kg/m^3, that of foam: rho g H / E = 0.008 for
    the whole pile of about 0.15 m. Rayleigh damping of 5 / s and 0.0075 ms calms them. Stems are slender: under its weight at 200 kg/m^3 a
    queen folds below 0.4 of another one, and single elements in folds turn inside out; at 50 pieces keep their height.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="Many soft bodies: contacts grow while the container fills.")
    wide = across * ROOM
    tall = 0.04 * count / across**2 + 0.05  # [m] pieces that stand need 0.04 a layer in a narrow container
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    for k, (x, y) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
        scene.add(
            name=f"wall{k + 1}", shape=dict(kind="box", size=(0.03, wide + 0.06, tall) if x else (wide + 0.06, 0.03, tall), edge=0.1),
            model="static", position=(x * (0.5 * wide + 0.015), y * (0.5 * wide + 0.015), 0.5 * tall), friction=friction,
        )  # fmt: skip
    material = dict(law=law, youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=density, mass_damping=5.0, stiffness_damping=7.5e-6)
    random = np.random.default_rng(seed)
    for i in range(count):
        layer, place = divmod(i, across * across)
        kind, height = PIECES[(i + layer) % 4]
        x, y = ((np.array(divmod(place, across)) + 0.5) * ROOM - 0.5 * wide).tolist()
        scene.add(
            name=f"{kind}{i + 1}", shape=dict(kind=kind, height=height, sides=5), position=(x, y, 0.01 + 0.09 * layer), material=material,
            rotation=(*(random.uniform(-3.0, 3.0, 2)).tolist(), float(random.uniform(0, 360))), friction=friction, integrator="verlet",
        )  # fmt: skip
    return scene


def expect_chess_500(sim: Simulation) -> list[str]:
    """All pieces are in the container, none is inverted, hardly inside each other; after a while they are at rest."""
    points = sim.points()
    skin = sim.world.model.skin.body[: len(points)]
    soft = points[np.array([k == "fem" for k in sim.world.model.bodies.kind])[skin]]
    wall = sim.scene.bodies[1]
    half = wall.position[0] - 0.5 * wall.shape["size"][0]
    found = overlap(sim)
    low = soft[soft[:, 2] < wall.shape["size"][2]]
    assert soft[:, 2].min() > -0.005 and np.abs(low[:, :2]).max() < half + 0.005, "a piece has gone through the container"
    none_inverted(sim)
    assert found.worst < 0.1 and found.typical < 0.01, f"the pieces are inside each other, the deepest {100 * found.worst:.1f} % of an edge"
    gains_nothing(sim)
    if sim.time > PILE_RESTS:
        at_rest(sim)
    books = sim.books()
    return [
        f"{len(sim.contacts())} contacts; the pile is {1000 * soft[:, 2].max():.0f} mm high; kinetic energy {books.kinetic:.2e} J.",
        f"Half of the points inside others are less than {100 * np.median(found.depth) / found.edge if len(found.depth) else 0.0:.2f} % "
        f"of an edge deep, the deepest {100 * found.worst:.1f} %.",
    ]


MAJOR, MINOR, PLAY = 0.02, 0.006, 0.0015  # [m]
INNERMOST = 0.09  # [m] radius where the spiral begins
PITCH = 0.058  # [m] between its turns
CHAIN_RESTS = 2.0  # [s] after which it lies still


def chained_tori(
    links: int = 200, youngs_modulus: float = 1.5e4, membrane_modulus: float = 3e4, height: float = 0.05, friction: float = 0.3,
    dt: float = 0.0002, duration: float = 4.0,
) -> Scene:  # fmt: skip
    """A chain of two hundred soft rings, laid out in a spiral, falls onto an elastic membrane and comes to rest.

    links: rings of the chain; height [m] over the membrane at the start; moduli [Pa] of rings and membrane.

    Rings of 360 tets, radii 20 and 6 mm, 500 kg/m^3: rho g H / E = 0.033 for a heap 0.1 m high. The membrane is a plate 10 mm
    thick, held at its rim. Rayleigh damping of 4 / s (rings), 8 / s (membrane) and 0.1 ms brings them to rest.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="A chain on a membrane that gives way: many contacts that rest.")
    places = spiral(links)
    wide = 2.0 * (max(float(np.abs(p[:2]).max()) for p, _ in places) + 0.06)
    cells = max(8, 2 * round(wide / 0.02 / 2))
    common: dict[str, Any] = dict(integrator="verlet", friction=friction)
    edges = [{"side": s} for s in ("-x", "+x", "-y", "+y")]
    scene.add(
        name="membrane", shape=dict(kind="plate", size=(wide, wide), thickness=0.01, edge=wide / cells), position=(0, 0, -0.005),
        material=dict(youngs_modulus=membrane_modulus, poisson_ratio=0.3, density=200.0, mass_damping=8.0, stiffness_damping=1e-4),
        fixed=edges, **common,
    )  # fmt: skip
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=500.0, mass_damping=4.0, stiffness_damping=1e-4)
    for k, (place, turn) in enumerate(places):
        scene.add(
            name=f"ring{k + 1}", shape=dict(kind="torus", major=MAJOR, minor=MINOR, edge=0.006), rotation=turn, material=material,
            position=(float(place[0]), float(place[1]), float(height + MAJOR + MINOR)), **common,
        )  # fmt: skip
    return scene


def spiral(links: int) -> list[tuple[np.ndarray, tuple[float, float, float, float]]]:
    """Centre and orientation of rings along a flat spiral, every other one upright."""
    step = 2.0 * (MAJOR - MINOR) - PLAY
    angle, found = 0.0, []
    for k in range(links):
        radius = INNERMOST + PITCH * angle / (2 * math.pi)
        out = np.array([math.cos(angle), math.sin(angle), 0.0])
        along = np.array([-out[1], out[0], 0.0]) + PITCH / (2 * math.pi) / radius * out
        along /= np.linalg.norm(along)
        up = np.array([0.0, 0.0, 1.0])
        across = np.cross(up, along)
        tilt = math.radians(45.0 if k % 2 else -45.0)  # neither lies nor stands: all touch the membrane alike
        axis = math.cos(tilt) * up + math.sin(tilt) * across
        axes = np.stack([along, np.cross(axis, along), axis], axis=1)
        found.append((radius * out, tuple(matrix_to_quaternion(axes).tolist())))
        angle += step / math.hypot(radius, PITCH / (2 * math.pi))
    return found


def expect_chained_tori(sim: Simulation) -> list[str]:
    """All rings lie on the membrane, still linked; after two seconds nothing moves any more."""
    rings = [b.name for b in sim.scene.bodies[1:]]
    centres = np.array([sim.centre(n) for n in rings])
    apart = np.linalg.norm(np.diff(centres, axis=0), axis=1)
    assert apart.max(initial=0.0) < 2.0 * MAJOR + MINOR, f"two neighbours are {1000 * apart.max():.1f} mm apart: the chain is torn"
    sheet = sim.points("membrane")
    assert centres[:, 2].min() > sheet[:, 2].min(), "a ring has gone through the membrane"
    found, books = unharmed(sim, 0.05), sim.books()
    gains_nothing(sim)
    nodes, first = sim.world.model.nodes, sim.nodes(rings[0]).start
    fall = 9.81 * float(nodes.mass[first:].sum() * nodes.rest[first:, 2].min())  # [J] what the chain had when it met the membrane
    assert sim.time < CHAIN_RESTS or books.kinetic < 1e-4 * fall, f"kinetic energy {books.kinetic:.1e} J of {fall:.1e} J: no rest"
    return [
        f"The membrane sags by {-1000 * sheet[:, 2].min():.0f} mm; {len(sim.contacts())} contacts; kinetic energy {books.kinetic:.2e} J.",
        f"The deepest point is {100 * found.worst:.1f} % of an edge inside another body; "
        f"neighbours are at most {1000 * apart.max(initial=0.0):.1f} mm apart.",
    ]


LOWERED = 1.5  # [s] when the held end has come down
STRIP_RESTS = 4.0  # [s] when it lies still


def folding_strip(
    length: float = 0.4, width: float = 0.06, thickness: float = 0.01, youngs_modulus: float = 2e4, edge: float = 0.01,
    friction: float = 0.4, dt: float = 0.00029, duration: float = 6.0,
) -> Scene:  # fmt: skip
    """A soft strip is lowered onto the ground, folds, and comes to rest on itself.

    length, width, thickness [m] of the strip; edge [m] of its elements.

    Density 250 kg/m^3: rho g H / E = 0.05 for the strip hanging at its full length. The upper end is held and comes down within 1.5 s, a
    little to one side, so that it is known which way the strip folds. Rayleigh damping of 3 / s and 0.15 ms calms it.
    """
    scene = Scene(dt=dt, duration=duration, contact="noniterative", about="Self-contact: layers of one body carry each other.")
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    top = length + 0.01
    way = {"times": [0.0, LOWERED], "values": [[0, 0, 0], [0.03, 0, -(top - 3.5 * thickness)]]}
    scene.add(
        name="strip", shape=dict(kind="box", size=(thickness, width, length), edge=edge), position=(0, 0, top - 0.5 * length),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=250.0, mass_damping=3.0, stiffness_damping=1.5e-4),
        motions=[{"where": {"side": "+z"}, "shift": way}], friction=friction, integrator="verlet",
    )  # fmt: skip
    scene.pair("strip", "strip", friction=friction)
    return scene


def expect_folding_strip(sim: Simulation) -> list[str]:
    """The strip lies on the ground, its layers on each other, and is at rest."""
    z = sim.points("strip")[:, 2]
    own = sim.contacts("strip", "strip")
    ground = sim.contacts("strip", "ground")
    speed = float(np.abs(sim.state.v).max())
    assert z.min() > -0.002, f"the strip is {-1000 * z.min():.1f} mm below the ground"
    assert len(ground) > 0, "the strip does not touch the ground"
    assert sim.time < LOWERED + 0.1 or len(own) > 0, "the strip does not touch itself"
    unharmed(sim, 0.02)
    gains_nothing(sim)
    if sim.time > STRIP_RESTS:
        at_rest(sim)
    return [
        f"The strip lies between {1000 * z.min():.2f} and {1000 * z.max():.1f} mm; {len(own)} contacts with itself.",
        f"The ground carries {ground.total_force[2]:.3f} N; the fastest point moves at {speed:.1e} m/s.",
    ]


def two_free_cubes(
    speed: float = 1.0, youngs_modulus: float = 1e5, ratio: float = 1.0, mode: str = "moment", friction: float = 0.3, dt: float = 0.0001,
    duration: float = 0.25,
) -> Scene:  # fmt: skip
    """Two soft cubes meet in empty space: momentum and angular momentum must stay what they were.

    speed [m/s] at which they meet, off centre; ratio: density of the small cube over that of the large one; mode: of the method.

    Cubes of 0.2 and 0.15 m with 125 and 64 points. No gravity, no ground, no damping, so rho g H / E = 0. Forces are balanced
    where the bodies would end the step and act where they start it, so the error of angular momentum shrinks with dt: 0.25 % at 0.5 ms.
    Mode "paper" turns them by 19 %.
    """
    contact = {"method": "noniterative", "mode": mode}
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact, about="Contact forces come in pairs, without moment.")
    common: dict[str, Any] = dict(integrator="verlet", friction=friction)
    scene.add(
        name="large", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.05), velocity=(0.5 * speed, 0, 0),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0), **common,
    )  # fmt: skip
    scene.add(
        name="small", shape=dict(kind="box", size=(0.15, 0.15, 0.15), edge=0.05), position=(0.21, 0.06, 0.04), rotation=(10, 20, 15),
        velocity=(-0.5 * speed, 0, 0), material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0 * ratio), **common,
    )  # fmt: skip
    return scene


def expect_two_free_cubes(sim: Simulation) -> list[str]:
    """Momentum to rounding; angular momentum to a thousandth of what either body has about the common centre of mass; no energy gained.

    Mode "paper" spreads the reaction otherwise than it measures the way in: the pair of forces turns the bodies and may do work on them.
    """
    start = Simulation(sim.scene)
    now, then = sim.books(), start.books()
    pace, turning = np.abs(start.world.model.nodes.mass[:, None] * start.state.v).sum(), yardstick(start)
    lost = float(np.abs(now.momentum - then.momentum).max() / pace)
    turned = float(np.linalg.norm(now.angular_momentum - then.angular_momentum) / turning)
    assert lost < 1e-12, f"momentum changed by {lost:.1e} of the sum of its sizes"
    moment = dict(sim.scene.contact).get("mode") == "moment"  # type: ignore[arg-type]
    if moment:
        assert turned < 1e-3, f"angular momentum changed by {100 * turned:.3f} %"
    kept, all_ = now.kinetic / then.kinetic, now.total / then.total
    assert all_ < 1.0 + (1e-9 if moment else 0.05), f"the bodies have gained {100 * all_ - 100:.2f} % of their energy"
    return [
        f"Momentum changed by {lost:.1e}, angular momentum by {100 * turned:.4f} %; {100 * kept:.1f} % of the kinetic energy is left, "
        f"{100 * all_:.1f} % of it with what is stored.",
    ]


def yardstick(sim: Simulation) -> float:
    """Sum over the bodies of the size of their angular momentum about the common centre of mass [kg m^2/s]."""
    nodes, state = sim.world.model.nodes, sim.state
    arm = state.x - np.average(state.x, axis=0, weights=nodes.mass)
    about = np.cross(arm, nodes.mass[:, None] * (state.v - np.average(state.v, axis=0, weights=nodes.mass)))
    return sum(float(np.linalg.norm(about[nodes.body == b].sum(axis=0))) for b in range(len(sim.world.model.bodies)))
