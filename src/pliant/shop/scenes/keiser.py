"""Bodies of phyxels with surfaces of points: the scenes of [Keiser et al. 2004], and what phyxels do alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.bodies.register import material_for
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def cradle(
    balls: int = 3, model: str = "rigid", speed: float = 0.15, stiffness: float = 2e5, damping: float = 0.0, dt: float = 0.004,
    duration: float = 6.0,
) -> Scene:  # fmt: skip
    """Newton's cradle: a ball hits a row of touching ones; nearly all of its motion leaves at the other end.

    Balls of radius 1 m; model rigid or points, speed [m/s] of the first, stiffness [N/m^3] of contact, damping (share of critical).
    """
    contact = {"method": "point-surface", "stiffness": stiffness, "damping": damping}
    scene = Scene(dt=dt, duration=duration, contact=contact, gravity=(0, 0, 0), about="Impacts through a row of touching balls.")
    shape: dict[str, Any] = {"kind": "ball", "radius": 1.0}
    soft: dict[str, Any] = {"spacing": 0.4, "shape": {**shape, "edge": 0.08}} if model == "points" else {"shape": shape}
    for i in range(balls):
        scene.add(
            name=f"ball {i + 1}", model=model, position=(2.0 * i, 0, 0), velocity=(speed if i == 0 else 0.0, 0, 0), friction=0.0,
            material=material_for(model, youngs_modulus=2e7, density=1000.0), **soft,
        )  # fmt: skip
    return scene


def chain(count: int, exponent: float = 2.0) -> Floats:
    """Velocities of equal point masses after ball 1 came in with 1; touching, repelled by overlap^exponent.

    Pressure that grows with the depth over the overlap of two balls makes a force that grows with its square
    (theory/point-surface-contact 7.3, 9.3).
    """
    x, v, dt = np.arange(count, dtype=np.float64), np.zeros(count), 2e-4
    v[0] = 1.0

    def force(x: Floats) -> Floats:
        push = np.maximum(1.0 - np.diff(x), 0.0) ** exponent * 1e3
        return np.concatenate([[0.0], push]) - np.concatenate([push, [0.0]])

    f = force(x)
    for _ in range(60_000):
        v += 0.5 * dt * f
        x += dt * v
        f = force(x)
        v += 0.5 * dt * f
        if v[-1] > 0.5 and (np.diff(x) > 1.0).all() and (np.diff(v) > 0.0).all():
            break
    return v


def velocities(sim: Simulation) -> Floats:
    """Of the balls along the row [m/s]."""
    model, state = sim.world.model, sim.state
    if model.bodies.frame[0] >= 0:
        return state.velocity[:, 0].copy()
    mass, body = model.nodes.mass, model.nodes.body
    return np.bincount(body, mass * state.v[:, 0]) / np.bincount(body, mass)


def expect_cradle(sim: Simulation) -> list[str]:
    """Velocities of the chain, energy within 0.2 %, momentum to rounding."""
    balls, first = sim.scene.bodies, sim.scene.bodies[0]
    speed, books = first.velocity[0], sim.books()
    v, want = velocities(sim) / speed, chain(len(balls))
    mass = books.momentum[0] / (speed * v.sum())
    energy = (books.kinetic + books.elastic) / (0.5 * mass * speed**2)
    drift = np.linalg.norm(books.momentum - [mass * speed, 0.0, 0.0]) / (mass * speed)
    damped = isinstance(sim.scene.contact, dict) and sim.scene.contact.get("damping", 0.2) > 0.0
    assert len(sim.contacts()) == 0, "the balls still touch: let it run longer"
    assert abs(v.sum() - 1.0) < 1e-12, f"momentum changed by {v.sum() - 1.0:.1e} of itself"
    if not damped:
        assert np.abs(v - want).max() < 0.005, f"velocities {np.round(v, 4)}, chain {np.round(want, 4)}"
        assert abs(energy - 1.0) < 0.002, f"energy is {energy:.5f} of what it was"
    return [
        f"Velocities over that of the first ball: {', '.join(f'{x:.4f}' for x in v)}; of a chain of masses: "
        f"{', '.join(f'{x:.4f}' for x in want)}.",
        f"Energy is {energy:.6f} of what it was, momentum off by {drift:.1e} of itself.",
    ]


TALL = 0.3  # [m] of the bust


def flattened_head(
    stiffness: float = 2e6, press: float = 0.04, youngs_modulus: float = 1e5, edge: float = 0.012, dt: float = 0.0005, duration: float = 0.5
) -> Scene:
    """A soft head is pressed upside down into a table: its crown is flattened, head and table share one surface (Keiser et al., Fig. 3).

    stiffness [N/m^3] of contact, low so that the head sinks in; press [m] that its foot is brought down by; youngs_modulus [Pa].
    """
    contact = {"method": "point-surface", "stiffness": stiffness, "damping": 0.5}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Deep contact with a soft penalty; the drawn surfaces hide it.")
    scene.add(name="table", shape="plane", model="static", friction=0.5)
    down = {"times": [0.0, 0.6 * duration], "values": [[0, 0, 0], [0, 0, -press]]}
    scene.add(
        name="head", shape=dict(kind="bust", height=TALL, edge=edge), model="points", position=(0, 0, TALL + 0.001),
        rotation=(180, 0, 0), friction=0.5, motions=[{"where": {"z": (0.9 * TALL, 2 * TALL)}, "shift": down}],
        material=dict(youngs_modulus=youngs_modulus, density=1000.0, mass_damping=20.0),
    )  # fmt: skip
    return scene


def sunk(sim: Simulation) -> tuple[float, float, float]:
    """(deepest point below the table, largest distance of drawn contact points from it, contact area) [m, m, m^2]."""
    bodies, head = sim.world.model.bodies, sim.index("head")
    points, shown = sim.points("head")[: bodies.surface[head]], None if sim.report is None else sim.report.shown
    if shown is None:
        return 0.0, 0.0, 0.0
    first = int(bodies.point_start[head])
    drawn = (points + shown[first : first + len(points)])[points[:, 2] < 0.0]
    return float(-points[:, 2].min()), float(np.abs(drawn[:, 2]).max(initial=0.0)), sim.contacts("head", "table").total_area


def expect_flattened_head(sim: Simulation) -> list[str]:
    """It sinks in, and is drawn flat on the table."""
    deep, off, area = sunk(sim)
    touch = sim.contacts("head", "table")
    spacing = float(np.sqrt(area / max(len(touch), 1)))
    force, held = float(touch.total_force[2]), float(sim.reaction("head")[2])
    weight = 9.81 * float(sim.world.model.nodes.mass.sum())
    assert deep > 0.003, f"the head is only {1000 * deep:.2f} mm deep"
    assert off < 1e-3 * deep, f"drawn points are {1000 * off:.4f} mm off the table"
    assert abs(force + held - weight) < 0.05 * force, f"{force:.2f} N from the table and {held:.2f} N from the hand, weight {weight:.2f} N"
    return [
        f"The head is {1000 * deep:.1f} mm deep ({deep / spacing:.1f} surfel spacings) and touches over {1e4 * area:.1f} cm^2.",
        f"Drawn, no point of it is more than {1e6 * off:.3g} micrometres off the table, which carries {force:.2f} N.",
    ]


PILE_RESTS = 2.5  # [s] from when on nothing should move


def pile(
    busts: int = 3, edge: float = 0.018, spacing: float = 0.024, youngs_modulus: float = 2e6, yield_strain: float = 0.02,
    dt: float = 0.00025, duration: float = 3.0,
) -> Scene:  # fmt: skip
    """Three plastic busts fall on each other, fall apart and come to rest (Keiser et al., Fig. 6).

    busts: how many, up to three; edge [m] of triangles, spacing [m] of phyxels; strain at which busts stay deformed.
    """
    scene = Scene(dt=dt, duration=duration, contact={"method": "point-surface", "damping": 0.5}, about="Plastic bodies pile up and rest.")
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    material = dict(
        youngs_modulus=youngs_modulus, density=1000.0, volume_stiffness=0.5 * youngs_modulus, yield_strain=yield_strain,
        max_plastic_strain=0.2, mass_damping=2.0, stiffness_damping=1e-4,
    )  # fmt: skip
    places = (((0.0, 0.0, 0.002), (0, 0, 0)), ((0.03, 0.02, 0.32), (0, 0, 90)), ((-0.02, 0.0, 0.64), (0, 0, 200)))
    for k, (position, rotation) in enumerate(places[:busts]):
        scene.add(
            name=f"bust {k + 1}", shape=dict(kind="bust", height=0.3, edge=edge), model="points", spacing=spacing, position=position,
            rotation=rotation, friction=0.6, material=material,
        )  # fmt: skip
    return scene


def expect_pile(sim: Simulation) -> list[str]:
    """No deeper than half a spacing; at rest after 2.5 s: kinetic energy below 1e-4 of what the fall set free, the ground carries all."""
    nodes, books = sim.world.model.nodes, sim.books()
    mass = float(nodes.mass.sum())
    fallen = 9.81 * float(np.sum(nodes.mass * (nodes.rest[:, 2] - sim.state.x[:, 2])))  # the peak of kinetic energy is about half of it
    ratio = 2.0 * books.kinetic / max(fallen, 1e-300)
    low = min(float(sim.points(b.name)[:, 2].min()) for b in sim.scene.bodies[1:])
    carried = sum(float(sim.contacts(b.name, "ground").total_force[2]) for b in sim.scene.bodies[1:]) / (9.81 * mass)
    deep = 0.0 if sim.report is None else sim.report.max_depth
    half = 0.5 * min(float(b.spacing) for b in sim.scene.bodies[1:])  # type: ignore[union-attr]
    made = sum(pair.gain for pair in books.pairs)
    assert low > -0.01, f"a bust is {-1000 * low:.1f} mm in the ground"
    assert deep < half, f"busts are {1000 * deep:.1f} mm in each other, more than half a spacing"
    assert made < 0.01 * fallen, f"contact made {made:.3g} J"
    if sim.time > PILE_RESTS:
        assert ratio < 1e-4, f"kinetic energy is {ratio:.1e} of its peak"
        assert abs(carried - 1.0) < 0.02, f"the ground carries {carried:.3f} of the weight"
    down = [float(np.ptp(sim.points(b.name)[:, 2])) for b in sim.scene.bodies[1:]]
    return [
        f"Kinetic energy is {ratio:.1e} of its peak, the ground carries {carried:.4f} of the weight.",
        f"The busts, 300 mm tall, are {', '.join(f'{1000 * d:.0f}' for d in down)} mm high where they lie, {1000 * deep:.1f} mm deep.",
    ]


def rider(
    edge: float = 0.008, youngs_modulus: float = 2.5e4, gap: float = 0.012, fall: float = 0.02, dt: float = 0.0005, duration: float = 0.6
) -> Scene:
    """A bunny rides on a soft C-shaped mouth, which closes under it until its lips meet (Keiser et al., Fig. 8).

    edge [m] of triangles, youngs_modulus [Pa] of the mouth, gap [m] between its lips, fall [m] of the bunny.
    """
    scene = Scene(dt=dt, duration=duration, contact={"method": "point-surface", "damping": 0.5}, about="Complex bodies, and self-contact.")
    scene.add(name="ground", shape="plane", model="static", friction=0.8)
    calm: dict[str, Any] = dict(density=1000.0, mass_damping=8.0)
    scene.add(
        name="mouth", shape=dict(kind="mouth", size=0.2, gap=gap, edge=edge), model="points", spacing=0.02, position=(0, 0, 0.001),
        friction=0.8, material=dict(youngs_modulus=youngs_modulus, **calm),
    )  # fmt: skip
    scene.add(
        name="rider", shape=dict(kind="bunny", height=0.12, edge=min(edge, 0.0095)), model="points", spacing=0.016,
        position=(0.02, 0, 0.2 + fall),
        friction=0.8, material=dict(youngs_modulus=1e5, **calm),
    )  # fmt: skip
    scene.pair("mouth", "mouth")
    return scene


def lips(sim: Simulation) -> float:
    """Distance between the lips [m]: least height of the upper jaw over the lower one at their front."""
    mouth = sim.points("mouth")[: int(sim.world.model.bodies.surface[sim.index("mouth")])]
    rest = sim.world.model.nodes.rest
    middle = 0.5 * (rest[sim.nodes("mouth"), 2].min() + rest[sim.nodes("mouth"), 2].max())
    first = sim.world.skin_positions(rest, sim.state.position, sim.state.rotation)[sim.world.model.bodies.point_start[sim.index("mouth")] :]
    first = first[: len(mouth)]
    front = first[:, 0] > 0.06
    upper, lower = mouth[front & (first[:, 2] > middle)], mouth[front & (first[:, 2] < middle)]
    return float(upper[:, 2].min() - lower[:, 2].max())


def expect_rider(sim: Simulation) -> list[str]:
    """The rider sits on the mouth, the lips do not pass through each other."""
    own, seat = sim.contacts("mouth", "mouth"), sim.contacts("rider", "mouth")
    apart, low = lips(sim), float(sim.points("rider")[:, 2].min())
    assert low > 0.02, f"the rider is down at {1000 * low:.0f} mm"
    assert apart > -0.01, f"the lips are {-1000 * apart:.1f} mm through each other"
    assert np.isfinite(sim.state.x).all()
    return [
        f"The rider's lowest point is {1000 * low:.0f} mm high; {len(seat)} contacts carry {seat.total_force[2]:.2f} N.",
        f"The lips are {1000 * apart:.1f} mm apart, with {len(own)} contacts of the mouth with itself.",
    ]


SIDE, LENGTH, DENSITY, GRAVITY = 0.25, 1.0, 1000.0, 9.81  # of the hanging bar: [m], [m], [kg/m^3], [m/s^2]


def hanging_bar(
    spacing: float = 0.05, youngs_modulus: float = 5e5, support: float = 2.0, dt: float = 0.002, duration: float = 1.5
) -> Scene:
    """A bar of phyxels hangs by one end and comes to rest under its own weight.

    A piece between heights a > b above the lower end is longer by rho g (a^2 - b^2) / (2 E), for small strains.

    spacing [m] of the phyxels; support: how far they see, in mean distances; youngs_modulus [Pa].
    """
    scene = Scene(dt=dt, duration=duration, about="Points as a solid: the extension of a hanging bar.")
    scene.add(
        name="bar", shape=dict(kind="box", size=(SIDE, SIDE, LENGTH), edge=SIDE / 2), model="points", spacing=spacing, support=support,
        position=(0, 0, -LENGTH / 2), fixed=[dict(side="+z")],
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.0, density=DENSITY, mass_damping=10.0),
    )  # fmt: skip
    return scene


def expect_hanging_bar(sim: Simulation) -> list[str]:
    """The bar hangs still; between its quarters, away from clamp and end, it is longer by what theory says."""
    modulus, rest, x = sim.scene.bodies[0].material.youngs_modulus, sim.world.model.nodes.rest[:, 2], sim.state.x[:, 2]
    assert isinstance(modulus, float)
    upper, lower = (np.abs(rest - z) == np.abs(rest - z).min() for z in (-0.25 * LENGTH, -0.75 * LENGTH))
    a, b = rest[upper].mean() + LENGTH, rest[lower].mean() + LENGTH  # heights above the end
    exact = DENSITY * GRAVITY / modulus * 0.5 * (a * a - b * b)
    found = float((x - rest)[upper].mean() - (x - rest)[lower].mean())
    speed, whole = float(abs(sim.state.v).max()), float(rest.min() - x.min())
    assert speed < 1e-3, f"the bar still moves with {speed:.2g} m/s"
    assert abs(found / exact - 1.0) < 0.02, f"the middle of the bar is {1000 * found:.3f} mm longer, not {1000 * exact:.3f} mm"
    return [
        f"The middle half of the bar is {1000 * found:.3f} mm longer; theory says {1000 * exact:.3f} mm "
        f"({100 * (found / exact - 1.0):+.2f} %).",
        f"Its end is {1000 * whole:.3f} mm lower.",
    ]


COLD, SOFT, LIQUID, HOT = 20.0, 40.0, 80.0, 75.0  # [degree C]


def melting_bust(
    height: float = 0.3, edge: float = 0.012, spacing: float = 0.02, youngs_modulus: float = 2e5, soft_modulus: float = 1e3,
    dt: float = 0.001, duration: float = 3.0,
) -> Scene:  # fmt: skip
    """A bust is warmed until it softens and slumps, and keeps that shape when it cools.

    Young's modulus falls linearly between two temperatures; the strain beyond the yield strain becomes permanent, so that what flowed
    while it was soft stays when it is stiff again (Keiser et al. 2004, on top of Müller et al. 2004).

    height [m] of the bust; spacing [m] of its phyxels; Young's moduli [Pa] when cold and when molten.
    """
    scene = Scene(dt=dt, duration=duration, contact="ground", about="Melts between 40 and 80 degrees; what flowed stays.")
    scene.add(name="ground", shape="plane", model="static", friction=0.8)
    scene.add(
        name="bust", shape=dict(kind="bust", height=height, edge=edge), model="points", spacing=spacing, friction=0.8,
        position=(0, 0, 1e-6),
        material=dict(
            youngs_modulus=youngs_modulus, soft_modulus=soft_modulus, softening=(SOFT, LIQUID), temperature=COLD, poisson_ratio=0.4,
            yield_strain=0.05, creep_time=0.05, mass_damping=5.0, stiffness_damping=2e-4,
        ),
    )  # fmt: skip
    times = [0.0, 0.1 * duration, 0.4 * duration, 0.6 * duration, 0.75 * duration]
    scene.change("bust.material.temperature", dict(times=times, values=[COLD, COLD, HOT, HOT, COLD]))
    return scene


def expect_melting_bust(sim: Simulation) -> list[str]:
    """It is lower for good, holds still, and takes the room it took."""
    rest = sim.world.model.nodes.rest
    before, now = float(np.ptp(rest[:, 2])), float(np.ptp(sim.state.x[:, 2]))
    (group,) = sim.world.model.groups
    room = float((group.stretch(sim.state.x) * group.whole).sum() / group.whole.sum())  # type: ignore[attr-defined]
    speed = float(np.sqrt(np.mean(sim.state.v**2)))
    assert 0.3 < now / before < 0.95, f"its height is {now / before:.2f} of what it was"
    assert abs(room - 1.0) < 0.1, f"its volume is {room:.3f} of what it was"
    assert speed < 0.02, f"it still moves with {speed:.3g} m/s"
    return [
        f"It is {100 * (1 - now / before):.0f} % lower than it was, and stays so when cold.",
        f"Its volume has changed by {100 * (room - 1):+.1f} %.",
    ]


HELD, SPEED = 0.6, 0.5  # [s] until the hand comes down, [m/s] with which it does
PARTS_REST = 1.3  # [s] from when on parts should lie still


def torn_head(
    height: float = 0.3, edge: float = 0.012, spacing: float = 0.02, youngs_modulus: float = 5e4, tear_strain: float = 1.0,
    drop: float = 0.12, lower: float = 0.17, dt: float = 0.001, duration: float = 1.5,
) -> Scene:  # fmt: skip
    """A bust held by the top of its head is drawn out by its own weight until its neck tears; then the hand puts the head on what fell.

    Phyxels flow beyond their yield strain; neighbours that are drawn out to twice their distance part for good. When the last ones across
    the neck have parted there are two bodies, each with its own skin, that meet the ground and each other (Fig. 9 of Keiser et al. 2004).

    height [m] of the bust; spacing [m] of its phyxels; tear_strain at which neighbours part; drop [m] above the ground, which is
    what the bust can be drawn out by; lower [m] that the hand brings the head down by.
    """
    contact = {"method": "point-surface", "damping": 0.5}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="A plastic body tears in two in the running world; its parts collide.")
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    down = {"times": [0.0, HELD, HELD + lower / SPEED], "values": [[0, 0, 0], [0, 0, 0], [0, 0, -lower]]}
    scene.add(
        name="head", shape=dict(kind="bust", height=height, edge=edge), model="points", spacing=spacing, position=(0, 0, drop),
        friction=0.6, motions=[{"where": {"z": (drop + 0.75 * height, drop + 2 * height)}, "shift": down}],
        material=dict(
            youngs_modulus=youngs_modulus, poisson_ratio=0.4, volume_stiffness=4 * youngs_modulus, yield_strain=0.015, creep_time=0.02,
            tear_strain=tear_strain, mass_damping=3.0, stiffness_damping=2e-3,
        ),
    )  # fmt: skip
    return scene


def expect_torn_head(sim: Simulation) -> list[str]:
    """There are two large parts: one in the hand, the other below it on the ground; they meet, lie still, and no weight is lost."""
    bodies, nodes = sim.world.model.bodies, sim.world.model.nodes
    parts = np.flatnonzero(np.diff(bodies.node_start))
    assert len(parts) > 1, "the head is still in one piece"
    mass = np.bincount(nodes.body, nodes.mass, minlength=len(bodies))
    size = np.bincount(nodes.body, minlength=len(bodies))
    crumbs = float(mass[(size > 0) & (size < 10)].sum() / mass.sum())
    assert crumbs <= 0.01, f"{100 * crumbs:.1f} % of the mass is in crumbs of less than ten phyxels"
    hung = int(nodes.body[nodes.inverse == 0.0][0])
    fallen = max((b for b in parts.tolist() if b != hung), key=lambda b: mass[b])
    low, gap = (float(sim.points(bodies.names[b])[: bodies.surface[b], 2].min()) for b in (fallen, hung))
    deepest = float(sim.state.x[nodes.body == fallen, 2].min())
    assert min(low, deepest) > -0.015, f"the part that fell is {-1000 * min(low, deepest):.0f} mm under the ground"
    assert low < gap, "the part that broke off is not below the one that is held"
    said = [f"It tore into {len(parts)} parts; the largest that fell has {100 * mass[fallen] / mass.sum():.0f} % of the mass."]
    if sim.time < PARTS_REST:
        return [*said, f"What is held ends {1000 * gap:.0f} mm above the ground; what fell is {1000 * low:.1f} mm above it."]
    push, carried = (sim.contacts(bodies.names[fallen], name) for name in (bodies.names[hung], "ground"))
    weight = 9.81 * float(mass[fallen])
    excess = float(carried.total_force[2] + push.total_force[2]) / weight - 1.0
    speed = float(np.sqrt(np.average((sim.state.v[nodes.body == fallen] ** 2).sum(axis=1), weights=nodes.mass[nodes.body == fallen])))
    assert len(push) > 0, "the parts do not touch"
    assert speed < 0.05, f"the part that fell still moves with {speed:.2g} m/s"
    assert abs(excess) < 0.1, f"ground and head carry {1.0 + excess:.3f} of the weight of the part that fell"
    return [
        *said,
        f"Its parts meet in {len(push)} contacts, where the head presses with {-push.total_force[2]:.2f} N, and move with "
        f"{1000 * speed:.1f} mm/s.",
        f"The ground carries {carried.total_force[2]:.2f} N; what fell weighs {weight:.2f} N. It is {-1000 * low:.1f} mm deep in it.",
    ]
