"""Bodies that are rigid but for their skin: scenes after [Pauly, Pai, Guibas 2004]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.detect.surfels.carried import Carried
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.geometry.shapes import resolve
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

SOFT = ("ball", "slab", "both")


def ball_on_plane(
    soft: str = "both", radius: float = 0.1, layer: float = 0.03, youngs_modulus: float = 2e5, density: float = 3000.0,
    spacing: float = 0.006, dt: float = 0.005, duration: float = 0.3,
) -> Scene:  # fmt: skip
    """A ball comes to rest on a slab; ball, slab or both give way and keep their volume (Pauly, Pai, Guibas 2004, Fig. 4).

    soft: ball, slab or both; layer [m]: how far a push is felt (0: a solid that does not keep its volume); spacing [m] of the skin.
    """
    if soft not in SOFT:
        raise PliantError(f"soft = '{soft}': something must give way; use one of {', '.join(SOFT)}.")
    scene = Scene(
        dt=dt, duration=duration, contact=dict(method="quasi-rigid", integration="implicit"),
        about="What goes in under the ball comes out around it; forces equal the weight.",
    )  # fmt: skip
    flesh: dict[str, Any] = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.45, density=density, stiffness_damping=0.03)
    flesh |= dict(response="volume-preserving", layer=layer) if layer > 0 else {}
    gives: dict[str, Any] = dict(model="quasi-rigid", material=flesh)
    slab: dict[str, Any] = dict(name="slab", shape=dict(kind="box", size=(5 * radius, 5 * radius, radius)), position=(0, 0, -0.5 * radius))
    if soft == "ball":
        scene.add(**slab, model="static")
    else:
        scene.add(**slab, **gives, spacing=spacing, motions=[dict()])  # held where it is
    hard = dict(model="rigid", material=dict(density=density))
    ball = gives | dict(spacing=spacing) if soft != "slab" else hard
    scene.add(name="ball", shape=dict(kind="ball", radius=radius), position=(0, 0, radius), **ball)
    return scene


def expect_ball_on_plane(sim: Simulation) -> list[str]:
    """The slab carries the weight; what keeps its volume displaces none in all."""
    weight = 9.81 * float(sim.world.model.frames.mass[sim.world.model.bodies.frame[sim.index("ball")]])
    contacts = sim.contacts("ball", "slab")
    force = float(contacts.total_force[2])
    assert abs(force - weight) < 0.01 * weight, f"the slab pushes with {force:.4g} N, the ball weighs {weight:.4g} N"
    said = [f"The slab carries {force:.4g} N of {weight:.4g} N over {1e4 * contacts.total_area:.3g} cm^2."]
    for name in ("ball", "slab"):
        body = next(b for b in sim.scene.bodies if b.name == name)
        if body.model == "quasi-rigid" and body.material.layer is not None:
            net, dent = volumes(sim, name)
            assert abs(net) < 0.01 * dent, f"{name}: {net:.3g} m^3 of a dent of {dent:.3g} m^3 are lost"
            said.append(f"The {name} has a dent of {1e6 * dent:.3g} cm^3; all but {100 * abs(net) / dent:.2g} % of it come out around.")
    return said


def volumes(sim: Simulation, name: str) -> tuple[float, float]:
    """Sum of displacement times area over a body's surface, inwards positive, and that of the dent alone [m^3].

    Displacements count along their own direction, that of the contact; across the surface a round rim rises by a tenth less.
    """
    carried: Carried = sim.world.kept[Carried]
    assert sim.report is not None and sim.report.shown is not None
    i = sim.index(name)
    mine = slice(carried.start[i], carried.start[i + 1])
    _, rotation = sim.pose(name)
    normals = carried.rest(i).normals @ quaternion_to_matrix(rotation).T
    moved = sim.report.shown[carried.point[mine, 0]]
    inwards = -np.sign(np.sum(moved * normals, axis=1)) * np.linalg.norm(moved, axis=1) * carried.area[mine]
    return float(inwards.sum()), float(np.maximum(inwards, 0.0).sum())


GRAVITY = 9.81


def spinning_ball(
    angle: float = 10.0, spin: float = 10.0, friction: float = 0.3, radius: float = 1.0, youngs_modulus: float = 4e7,
    spacing: float = 0.02, dt: float = 0.01, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """A spinning ball on an incline slips, rolls at the time and speed of theory, and rolls back (Pauly, Pai, Guibas 2004, Fig. 8).

    angle [degree] of the incline, spin [rad/s] that drives the ball up, spacing [m] of the skin.
    """
    scene = Scene(dt=dt, duration=duration, contact="quasi-rigid", about="Friction over the patch turns slipping into rolling.")
    normal = np.array([-math.sin(math.radians(angle)), 0.0, math.cos(math.radians(angle))])
    density = 1000.0
    load = density * 4 / 3 * math.pi * radius**3 * GRAVITY * float(normal[2])
    sunk = (3 * load / (4 * youngs_modulus * math.sqrt(radius))) ** (2 / 3)  # Hertz: it begins where it would rest
    scene.add(name="incline", shape="plane", model="static", rotation=(0, -angle, 0), friction=friction)
    scene.add(
        name="ball", shape=dict(kind="ball", radius=radius), model="quasi-rigid", spacing=spacing, friction=friction,
        position=tuple((radius - sunk) * normal), angular_velocity=(0, spin, 0),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.0, density=density),
    )  # fmt: skip
    return scene


def expect_spinning_ball(sim: Simulation) -> list[str]:
    """Slip ends at t = r w / ((1 + q) mu g cos - g sin), q = r^2 / (0.4 R^2), with v = (mu g cos - g sin) t; then a = -g sin q / (1 + q).

    r = R - depth is the lever of the ground, which the ball sinks into; for r = R these are the formulas of a rigid ball.
    """
    incline, ball = sim.scene.bodies
    turn, mu, spin = math.radians(-incline.rotation[1]), ball.friction, ball.angular_velocity[1]
    radius, now = float(ball.shape["radius"]), sim.time
    g_t, g_n = GRAVITY * math.sin(turn), GRAVITY * math.cos(turn)
    lever = radius - float(np.max(sim.contacts("ball").depth, initial=0.0))
    q = lever**2 / (0.4 * radius**2)
    rolls = lever * spin / ((1 + q) * mu * g_n - g_t)
    ideal = radius * spin / (3.5 * mu * g_n - g_t)
    assert abs(rolls - ideal) < 0.01 * ideal, f"the ball sinks in so far that it slips until {rolls:.4f} s, a rigid one until {ideal:.4f} s"
    speed = (mu * g_n - g_t) * rolls
    up = np.array([math.cos(turn), 0.0, math.sin(turn)])
    way = float((sim.centre("ball") - np.array(ball.position)) @ up)
    later = now - rolls
    assert later > 0.0, f"the ball slips until {rolls:.3f} s: run longer"
    wanted = 0.5 * speed * rolls + speed * later - 0.5 * g_t * q / (1 + q) * later**2
    frame = sim.world.model.bodies.frame[sim.index("ball")]
    v, w = float(sim.state.velocity[frame] @ up), float(sim.world.angular_velocities(sim.state.rotation, sim.state.spin)[frame, 1])
    after = speed - g_t * q / (1 + q) * later
    assert abs(v - after) < 0.01 * speed, f"speed {v:.4f} m/s at {now:g} s, theory {after:.4f} m/s"
    assert abs(way - wanted) < 0.01 * (0.5 * speed * rolls + speed * later), f"way {way:.4f} m, theory {wanted:.4f} m"
    return [
        f"At {now:g} s the ball rolls at {v:.4f} m/s (theory {after:.4f}) and turns with {w:.4f} rad/s.",
        f"It is {way:.4f} m up the incline (theory {wanted:.4f}).",
        f"In theory it slips until {rolls:.4f} s, when it is at {speed:.4f} m/s.",
    ]


def _points(shape: dict[str, Any]) -> Floats:
    """Of the surface of a shape, in its own frame [m]."""
    found = resolve(shape, solid=False)
    return found.cloud.points if found.cloud is not None else found.surface().points


def foot_on_ground(
    load: float = 400.0, youngs_modulus: float = 4e5, layer: float = 0.03, scan: str = "", unit: str = "m", up: str = "z",
    spacing: float = 0.004, dt: float = 0.004, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """A foot steps on the ground: its sole gives way and the pressure spreads (Pauly, Pai, Guibas 2004, Fig. 9).

    load [N] on the foot, layer [m]: how far a push on the sole is felt, scan: file with a foot of your own (its unit and up).
    """
    scene = Scene(
        dt=dt, duration=duration, contact=dict(method="quasi-rigid", integration="implicit"),
        about="Where the sole carries, and how much: pressure maps of a standing foot.",
    )  # fmt: skip
    shape: dict[str, Any] = dict(file=scan, unit=unit, up=up) if scan else dict(kind="foot", edge=0.01)
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    scene.add(
        name="foot", shape=shape, model="quasi-rigid", spacing=spacing, friction=0.6,
        position=(0, 0, 1e-4 - float(_points(shape)[:, 2].min())),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.45, response="volume-preserving", layer=layer, mass_damping=5.0),
        loads=[dict(value=dict(times=[0.0, 0.1, 1e3], values=[(0, 0, 0), (0, 0, -load), (0, 0, -load)]))],
    )  # fmt: skip
    return scene


def expect_foot_on_ground(sim: Simulation) -> list[str]:
    """The ground carries weight and load; the centre of pressure is under the foot."""
    foot = next(b for b in sim.scene.bodies if b.name == "foot")
    weight = 9.81 * float(sim.world.model.frames.mass[sim.world.model.bodies.frame[sim.index("foot")]])
    total = weight - float(foot.loads[0].value(sim.time)[2])
    contacts = sim.contacts("foot", "ground")
    force, centre = float(contacts.total_force[2]), contacts.center_of_pressure
    low, high = sim.points("foot").min(axis=0), sim.points("foot").max(axis=0)
    assert abs(force - total) < 0.03 * total, f"the ground carries {force:.4g} N of {total:.4g} N"
    assert np.all(centre[:2] > low[:2]) and np.all(centre[:2] < high[:2]), f"the centre of pressure {centre} is not under the foot"
    peak = float(np.nanmax(contacts.pressure))
    return [
        f"The ground carries {force:.4g} N of {total:.4g} N over {1e4 * contacts.total_area:.3g} cm^2, at most {1e-3 * peak:.3g} kPa.",
        f"The centre of pressure is {1e3 * (centre[0] - low[0]):.0f} mm from the heel side of the foot's box.",
    ]


def ball_joint(
    load: float = 500.0, swing: float = 20.0, radius: float = 0.024, clearance: float = 0.001, youngs_modulus: float = 1e7,
    friction: float = 0.02, mass: float = 5.0, spacing: float = 0.0025, dt: float = 0.002, duration: float = 0.2,
) -> Scene:  # fmt: skip
    """A ball in a socket under a load that swings to and fro: where the joint carries (Pauly, Pai, Guibas 2004, Fig. 10).

    load [N] into the socket, swing [degree] to either side, clearance [m] between ball and socket, mass [kg] of ball and leg.
    """
    scene = Scene(
        dt=dt, duration=duration, gravity=(0, 0, 0), contact=dict(method="quasi-rigid", integration="implicit"),
        about="The patch of pressure follows the load around the socket.",
    )  # fmt: skip
    cartilage = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.45, density=mass / (4 / 3 * math.pi * radius**3))
    scene.add(
        name="socket", shape=dict(kind="socket", radius=radius + clearance, thickness=0.3 * radius), model="static", friction=friction,
    )  # fmt: skip
    turns = np.linspace(0.0, 1.0, 41)
    angle = math.radians(swing) * np.sin(2.0 * math.pi * turns)
    force = load * np.stack([np.sin(angle), 0.0 * angle, -np.cos(angle)], axis=1)
    force *= np.minimum(1.0, 10.0 * turns)[:, None]
    scene.add(
        name="head", shape=dict(kind="ball", radius=radius), model="quasi-rigid", spacing=spacing, friction=friction,
        position=(0, 0, -0.5 * clearance), material=cartilage | dict(stiffness_damping=1e-3),
        loads=[dict(value=dict(times=(duration * turns).tolist(), values=force.tolist()))],
    )  # fmt: skip
    return scene


def expect_ball_joint(sim: Simulation) -> list[str]:
    """The socket carries the load, and the centre of pressure lies in its direction from the middle of the ball."""
    head = next(b for b in sim.scene.bodies if b.name == "head")
    load = np.array(head.loads[0].value(sim.time))
    contacts = sim.contacts("head", "socket")
    force = contacts.total_force
    size = float(np.linalg.norm(load))
    assert np.linalg.norm(force + load) < 0.05 * size, f"the socket pushes with {force} N against a load of {load} N"
    way = contacts.center_of_pressure - sim.centre("head")
    off = math.degrees(math.acos(float(way @ load) / (size * float(np.linalg.norm(way)))))
    assert off < 5.0, f"the centre of pressure is {off:.1f} degrees away from the load"
    peak = float(np.nanmax(contacts.pressure))
    return [
        f"The socket carries {np.linalg.norm(force):.4g} N of {size:.4g} N over {1e4 * contacts.total_area:.3g} cm^2, at most "
        f"{1e-6 * peak:.3g} MPa.",
        f"The centre of pressure is {off:.2f} degrees away from the direction of the load.",
    ]


def head_in_room(
    height: float = 0.6, scan: str = "", unit: str = "m", up: str = "z", youngs_modulus: float = 1e6, damping: float = 1e-3,
    walls: str = "soft", spacing: float = 0.011, dt: float = 0.001, duration: float = 1.2,
) -> Scene:  # fmt: skip
    """A head is thrown into a room with wavy walls that give way, and bounces (Pauly, Pai, Guibas 2004, Fig. 11).

    height [m] of the head, scan: file with a head of your own, damping [s], walls soft or hard, spacing [m] of the head's skin.
    """
    scene = Scene(dt=dt, duration=duration, contact="quasi-rigid", about="Impacts of a shape with details on walls that are not flat.")
    shape: dict[str, Any] = dict(file=scan, unit=unit, up=up, size=height) if scan else dict(kind="bust", height=height)
    gives: dict[str, Any] = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.4, density=300.0, stiffness_damping=damping)
    room: dict[str, Any] = dict(name="room", shape=dict(kind="room", size=2.5), friction=0.4)
    if walls == "soft":
        scene.add(**room, model="quasi-rigid", material=gives, spacing=0.06, motions=[dict()])
    else:
        scene.add(**room, model="static")
    scene.add(
        name="head", shape=shape, model="quasi-rigid", spacing=spacing, material=gives, position=(-0.2, 0, 0.6), friction=0.4,
        rotation=(30, 60, 0), velocity=(3.0, 1.0, 0.5), angular_velocity=(2, -3, 1),
    )  # fmt: skip
    return scene


def expect_head_in_room(sim: Simulation) -> list[str]:
    """The head stays in the room and does not gain energy."""
    centre, books = sim.centre("head"), sim.books()
    assert np.all(np.abs(centre[:2]) < 1.25) and centre[2] > 0.0, f"the head left the room: it is at {centre}"
    assert books.total < books.start, f"the head has {books.total:.4g} J and began with {books.start:.4g} J"
    return [f"The head is at {centre.round(2).tolist()} m with {books.kinetic:.3g} J of motion; contact took {-books.contact:.3g} J."]


def bust_kiss(
    speed: float = 0.2, height: float = 0.3, scan: str = "", other: str = "", unit: str = "m", up: str = "z",
    youngs_modulus: float = 5e5, spacing: float = 0.0015, gap: float = 0.002, dt: float = 0.002, duration: float = 0.12,
) -> Scene:  # fmt: skip
    """Two busts meet nose to nose and part again: the dents and pressures of two shapes with details (Pauly, Pai, Guibas 2004, Fig. 1).

    speed [m/s] of each, scan and other: files with busts of your own that look along +x, gap [m] between them at first.
    """
    scene = Scene(
        dt=dt, duration=duration, gravity=(0, 0, 0), contact="quasi-rigid", about="Action is reaction between two scans: momentum is kept.",
    )  # fmt: skip
    gives: dict[str, Any] = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.4, density=500.0)
    for name, file, side in (("left", scan, -1.0), ("right", other or scan, 1.0)):
        shape: dict[str, Any] = dict(kind="bust", height=height, edge=height / 75.0)  # fine enough for a round nose
        if file:
            shape = dict(file=file, unit=unit, up=up, size=height)
        scene.add(
            name=name, shape=shape, model="quasi-rigid", material=gives, spacing=spacing, rotation=(0, 0, 0.0 if side < 0 else 180.0),
            position=(side * (float(_points(shape)[:, 0].max()) + 0.5 * gap), 0, 0), velocity=(-side * speed, 0, 0),
        )  # fmt: skip
    return scene


def expect_bust_kiss(sim: Simulation) -> list[str]:
    """Momentum is kept; the busts part more slowly than they met."""
    books, frames = sim.books(), sim.world.model.frames
    start = float(np.linalg.norm(sim.scene.bodies[0].velocity))
    size = float(frames.mass.min()) * start
    lost = books.momentum - np.sum([m * np.array(body.velocity) for m, body in zip(frames.mass, sim.scene.bodies, strict=True)], axis=0)
    assert np.abs(lost).max() < 1e-10 * size, f"momentum changed by {lost} N s"
    apart = float(sim.state.velocity[1, 0] - sim.state.velocity[0, 0])
    assert 0.0 < apart < 2 * start, f"they part at {apart:.4g} m/s and met at {2 * start:.4g} m/s"
    spins = np.linalg.norm(sim.world.angular_velocities(sim.state.rotation, sim.state.spin), axis=1)
    return [
        f"They met at {2 * start:.3g} m/s and part at {apart:.3g} m/s, nodding with {spins[0]:.3g} and {spins[1]:.3g} rad/s.",
        f"All momentum together changed by {np.abs(lost).max():.1g} N s; each had {size:.3g} N s or more.",
    ]
