"""Small scenes that show what bodies, contact and loads do.

Scenes that show contact over the common surface: pressure with sharp rims, and heavy on light at an ordinary step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.bodies.register import material_for
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def bowl(
    edge: float = 0.025, youngs_modulus: float = 4e4, contact: str = "auto", dt: float = 0.004, duration: float = 1.6
) -> Scene:
    """A soft torus and a soft ball drop into a rigid bowl that stands on the ground.

    edge [m]: size of the elements of the soft bodies; contact: "noniterative" takes about half of the time, six times as deep.
    """
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Soft bodies settle in a bowl that is free to rock on the ground.")
    soft = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.4, density=1000.0, stiffness_damping=0.005)
    scene.add(name="ground", shape="plane", model="static", friction=0.6)
    scene.add(
        name="bowl",
        shape=dict(kind="bowl", radius=0.22, thickness=0.02, edge=0.03),
        model="rigid",
        position=(0, 0, 0.002),
        material=dict(density=2500.0),
        friction=0.4,
    )
    scene.add(
        name="ring", shape=dict(kind="torus", major=0.085, minor=0.04, edge=edge), position=(0.02, 0, 0.3), rotation=(25, 0, 0),
        material=soft, friction=0.4,
    )  # fmt: skip
    scene.add(name="ball", shape=dict(kind="ball", radius=0.07, edge=edge), position=(0.01, 0.02, 0.52), material=soft, friction=0.4)
    return scene


def expect_bowl(sim: Simulation) -> list[str]:
    """Both soft bodies come to lie inside the bowl, and the ground carries everything."""
    bowl, ball, ring = (sim.centre(n) for n in ("bowl", "ball", "ring"))
    assert np.hypot(*(ball - bowl)[:2]) < 0.2 and np.hypot(*(ring - bowl)[:2]) < 0.2, "a soft body left the bowl"
    assert ball[2] > ring[2] > 0.02, "the ball should lie on the ring, the ring in the bowl"
    weight = 9.81 * (sim.world.model.nodes.mass.sum() + sim.world.model.frames.mass[1])
    carried = sim.contacts("bowl", "ground").total_force[2]
    return [
        f"The ball lies {1000 * ball[2]:.0f} mm and the ring {1000 * ring[2]:.0f} mm above the ground.",
        f"The ground carries {carried:.1f} N of {weight:.1f} N.",
    ]


def footprint(
    edge: float = 0.01, detail: float = 0.008, depth: float = 0.006, youngs_modulus: float = 1.5e5, dt: float = 0.004, duration: float = 1.0
) -> Scene:
    """A foot is pressed into a soft mat and lifted off again; the mat shows where it was carried.

    edge [m]: of the elements of the mat; detail [m]: of the triangles of the foot; depth [m]: how far it goes in. It is pressed slowly, so
    that the force while it stands is that of statics, whatever dt is.
    """
    scene = Scene(dt=dt, duration=duration, about="Pressure under a detailed body: the print that it leaves in a mat.")
    ease = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, 17))  # comes and goes without a jolt
    clear, low = 0.002, -(depth + 0.002)
    heights = np.concatenate([low * ease, low * (1.0 - ease), 0.055 * ease[1:]])
    times = duration * np.concatenate([np.linspace(0.0, 0.4, 17), np.linspace(0.5, 0.75, 17), np.linspace(0.75, 1.0, 17)[1:]])
    way = dict(times=times.tolist(), values=[[0.0, 0.0, float(height)] for height in heights])
    scene.add(name="ground", shape="plane", model="static", position=(0, 0, -0.03))
    scene.add(
        name="mat", shape=dict(kind="box", size=(0.3, 0.15, 0.03), edge=edge), position=(0, 0, -0.015), fixed=[dict(side="-z")],
        friction=0.6,
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=300.0, stiffness_damping=0.008),
    )  # fmt: skip
    foot = dict(kind="foot", length=0.25, edge=detail)
    scene.add(name="foot", shape=foot, model="static", position=(0, 0, clear), motions=[dict(shift=way)], friction=0.6)
    scene.pair("ground", "mat", contact=False)  # the mat lies on it, and is held
    return scene


def expect_footprint(sim: Simulation) -> list[str]:
    """The foot is off the mat again, and the mat is as it was."""
    top = sim.points("mat")[:, 2].max()
    assert len(sim.contacts("mat", "foot")) == 0, "the foot still stands on the mat"
    assert abs(top) < 1e-4, f"the mat did not come back: its top is at {1e3 * top:.2f} mm"
    high, lost = sim.points("foot")[:, 2].min(), sim.books().lost
    return [f"The foot is {1e3 * high:.0f} mm above the mat, which is flat to {1e6 * abs(top):.0f} um; {lost:.3f} J were lost."]


def slope(
    angle: float = 10.0, speed: float = 3.0, friction: float = 0.3, static_friction: float = 0.0, model: str = "rigid",
    contact: str = "auto", dt: float = 0.002, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """A block is sent up a slope: it stops after the distance of theory, then stays or slides back.

    angle [degree] of the slope, speed [m/s] up it, static_friction (0: the same), model rigid or fem, contact method.
    """
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Sliding, stopping and sticking by Coulomb's law.")
    turn = math.radians(angle)
    up = np.array([math.cos(turn), 0.0, math.sin(turn)])
    normal = np.array([-math.sin(turn), 0.0, math.cos(turn)])
    rub: dict[str, Any] = dict(friction=friction, static_friction=max(friction, static_friction))
    scene.add(name="slope", shape="plane", model="static", rotation=(0, -angle, 0), **rub)
    scene.add(
        name="block", shape=dict(kind="box", size=(0.4, 0.4, 0.2), edge=0.2), model=model, position=tuple(0.1 * normal),
        rotation=(0, -angle, 0), velocity=tuple(speed * up), material=material_for(model, youngs_modulus=1e6, density=500.0), **rub,
    )  # fmt: skip
    return scene


def expect_slope(sim: Simulation) -> list[str]:
    """The way up the slope is v^2 / (2 g (sin + mu cos)); it stays there if mu > tan."""
    slope, block = sim.scene.bodies
    turn, mu = math.radians(-slope.rotation[1]), slope.friction
    speed = float(np.linalg.norm(block.velocity))
    way = speed**2 / (2 * 9.81 * (math.sin(turn) + mu * math.cos(turn)))
    up = np.array([math.cos(turn), 0.0, math.sin(turn)])
    went = float((sim.centre("block") - np.array(block.position)) @ up)
    if mu > math.tan(turn):
        assert abs(went - way) < 0.02 * way, f"went {went:.4f} m, theory {way:.4f} m"
    return [f"The block is {went:.4f} m up the slope; it should turn or stop after {way:.4f} m."]


def column(
    height: float = 1.0, youngs_modulus: float = 1e6, integrator: str = "implicit", dt: float = 0.01, duration: float = 1.0
) -> Scene:
    """A soft column stands on the ground, stepped implicitly far above its explicit limit.

    height [m] of a column of 4 x 10 nodes.
    """
    scene = Scene(dt=dt, duration=duration, about="Contact with an implicit body: the foot stays on the ground.")
    scene.add(name="ground", shape="plane", model="static")
    scheme: dict[str, Any] = dict(integrator=integrator)
    scene.add(
        name="column", shape=dict(kind="box", size=(height / 9, height / 9, height), edge=height / 9), position=(0, 0, height / 2),
        material=dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0), **scheme,
    )  # fmt: skip
    return scene


def expect_column(sim: Simulation) -> list[str]:
    """The foot is less than half an element deep and carries the weight."""
    height = sim.scene.bodies[1].shape["size"][2]
    foot = float(sim.points("column")[:, 2].min())
    assert foot > -height / 18, f"the foot is {-foot:.4f} m deep, half an element is {height / 18:.4f} m"
    weight = 9.81 * sim.world.model.nodes.mass.sum()
    return [
        f"The foot is {-1000 * foot:.2f} mm below the ground.",
        f"The ground carries {sim.contacts('column', 'ground').total_force[2]:.2f} N of {weight:.2f} N.",
    ]


def cantilever(length: float = 1.0, load: float = 2.0, edge: float = 0.05, dt: float = 0.02, duration: float = 4.0) -> Scene:
    """A beam of 10-node tetrahedra, held at one end, bends under a load that grows.

    load: F L^2 / (E I) at the end, F across the tip.
    """
    youngs, side = 1e6, 0.1 * length
    force = load * youngs * side**4 / 12 / length**2
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), about="Large bending, compared with the elastica.")
    scene.add(
        name="beam", shape=dict(kind="box", size=(length, side, side), edge=edge), position=(length / 2, 0, 0), element="quadratic",
        integrator="implicit", fixed=[dict(side="-x")],
        material=dict(youngs_modulus=youngs, poisson_ratio=0.0, density=1000.0, mass_damping=2.0),
        loads=[dict(kind="force", where=dict(side="+x"), value=dict(times=[0, duration / 2], values=[[0, 0, 0], [0, 0, -force]]))],
    )  # fmt: skip
    return scene


def expect_cantilever(sim: Simulation) -> list[str]:
    """The tip goes down by a good part of the length and nothing inverts."""
    length = sim.scene.bodies[0].shape["size"][0]
    points, rest = sim.points("beam"), sim.world.model.nodes.rest
    tip = points[points[:, 0].argmax()]
    assert min(g.stretch(sim.state.x).min() for g in sim.world.model.groups) > 0, "an element inverted"
    assert tip[2] < -0.1 * length, "the beam did not bend"
    return [f"The tip is {-tip[2] / length:.3f} L down and {(rest[:, 0].max() - tip[0]) / length:.3f} L in."]


def tumble(speed: float = 10.0, dt: float = 0.005, duration: float = 4.0) -> Scene:
    """A rigid box spins in free fall about its middle axis, which turns over and over.

    speed [rad/s] about the unstable axis.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), about="Free spin: angular momentum exact, energy bounded.")
    scene.add(
        name="box", shape=dict(kind="box", size=(0.3, 0.2, 0.1), edge=0.1), model="rigid",
        angular_velocity=(0.01, speed, 0.01), position=(0, 0, 0.5),
    )  # fmt: skip
    return scene


def expect_tumble(sim: Simulation) -> list[str]:
    """Angular momentum is what it was; the energy has not drifted."""
    now, then = sim.books(), Simulation(sim.scene).books()
    drift = now.kinetic / then.kinetic - 1
    change = float(np.linalg.norm(now.angular_momentum - then.angular_momentum) / np.linalg.norm(then.angular_momentum))
    assert abs(drift) < 1e-3 and change < 1e-10, f"energy drift {drift:.2e}, change of angular momentum {change:.2e}"
    return [f"Energy drift {drift:.1e}, change of angular momentum {change:.1e}."]


def pendulum(length: float = 0.5, edge: float = 0.04, dt: float = 0.002, duration: float = 1.5) -> Scene:
    """A soft ball hangs from a string and swings; a second one is welded to a turning rod.

    length [m] of the string.
    """
    scene = Scene(dt=dt, duration=duration, about="Attachments: a string that is only ever taut, and a weld.")
    soft = dict(youngs_modulus=2e5, poisson_ratio=0.3, density=500.0)
    ball = dict(kind="ball", radius=0.06, edge=edge)
    scene.add(name="bob", shape=ball, position=(0.5 * length, 0, 1 - 0.85 * length), material=soft)
    scene.add(
        name="rod", shape=dict(kind="box", size=(0.4, 0.04, 0.04), edge=0.04), model="rigid", position=(0, 0.6, 0.8),
        motions=[dict(turn=dict(times=[0, duration], values=[[0, 0, 0], [0, 0, 180]]))],
    )  # fmt: skip
    scene.add(name="rider", shape=ball, position=(0.26, 0.6, 0.8), material=soft)
    scene.attach(kind="string", a=dict(at=(0, 0, 1.0)), b=dict(body="bob", at=(0.5 * length, 0, 1)), stiffness=2e4, damping=5.0)
    for offset in (-0.015, 0.015):
        scene.attach(kind="weld", a=dict(body="rod", at=(0.2, 0.6 + offset, 0.8)), b=dict(body="rider", at=(0.2, 0.6 + offset, 0.8)))
    scene.pair("rod", "rider", contact=False)
    return scene


def expect_pendulum(sim: Simulation) -> list[str]:
    """The string is not stretched by more than a hundredth; welded points are together."""
    first = sim.world.model.attachments
    points = sim.world.skin_positions(sim.state.x, sim.state.position, sim.state.rotation)
    distance = np.linalg.norm(points[first.a] - points[first.b], axis=1)
    assert distance[0] < 1.01 * first.length[0] + 1e-3, "the string is longer than it should be"
    assert distance[1:].max() < 1e-6, "a weld has opened"
    return [f"String {distance[0]:.4f} m of {first.length[0]:.4f} m; welds open by {distance[1:].max():.1e} m."]


PATCH = "patch"
STEPS = (0.0, 0.003, 0.006, 0.003, 0.0)  # [m] how high the steps of the block are
WIDE, CUSHION = 0.03, (0.16, 0.1, 0.05)  # [m] of a step, and of what lies on them


def stepped_block(
    press: float = 0.01, turn: float = 20.0, youngs_modulus: float = 1e5, edge: float = 0.01, detail: float = 0.0, contact: str = PATCH,
    dt: float = 0.005, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """A soft cushion is pressed onto a block with steps: pressure has the sharp rims of the steps, whatever the meshes are.

    press [m]: way of its top after it touches the highest step; turn [degree] against the steps; edge [m] of its elements, detail [m] of a
    skin that rides in them and is what touches (0: their own boundary).

    The block is five static boxes, 3 mm from step to step. The rim of a patch is where surfaces part, inside of triangles.
    """
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Pressure with sharp rims.")
    for k, step in enumerate(STEPS):
        high = 0.03 + step
        box = dict(kind="box", size=(WIDE, 0.2, high), edge=0.1)
        place = ((k - 0.5 * (len(STEPS) - 1)) * WIDE, 0.0, 0.5 * high - 0.03 - max(STEPS))
        scene.add(name=f"step {k + 1}", shape=box, model="static", position=place, friction=0.3)
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=1000.0, mass_damping=50.0)
    down = dict(where=dict(side="+z"), shift=dict(times=[0.0, 0.5 * duration], values=[(0, 0, 0), (0, 0, -press)]))
    skin: dict[str, Any] = dict(skin=dict(kind="box", size=CUSHION, edge=detail)) if detail else {}
    scene.add(
        name="cushion", shape=dict(kind="box", size=CUSHION, edge=edge), position=(0, 0, 0.5 * CUSHION[2]), rotation=(0, 0, turn),
        material=material, motions=[down], integrator="implicit", friction=0.3, **skin,
    )  # fmt: skip
    return scene


def expect_stepped_block(sim: Simulation) -> list[str]:
    """The steps carry what presses on the cushion; the highest one presses hardest."""
    steps = [body.name for body in sim.scene.bodies[:-1]]
    pressed = 9.81 * sim.mass("cushion") - float(sim.reaction("cushion")[2])
    carried = np.array([sim.contacts("cushion", name).total_force[2] for name in steps])
    area = np.array([sim.contacts("cushion", name).total_area for name in steps])
    assert abs(carried.sum() / pressed - 1.0) < 0.02, f"carried are {carried.sum():.2f} N of {pressed:.2f} N"
    assert carried.argmax() == 2 and (carried > 0.0).all(), f"the steps carry {carried.round(2)} N"
    peak = max(float(np.nanmax(sim.contacts("cushion", name).pressure, initial=0.0)) for name in steps)
    return [
        f"The steps carry {', '.join(f'{force:.1f}' for force in carried)} N, together {carried.sum():.2f} N of {pressed:.2f} N.",
        f"They touch over {', '.join(f'{1e4 * each:.1f}' for each in area)} cm²; the largest pressure is {peak / 1e3:.0f} kPa.",
    ]


def heavy_on_light(
    density: float = 7850.0, foam_density: float = 30.0, foam_modulus: float = 5e4, contact: str = PATCH, dt: float = 0.005,
    duration: float = 1.0,
) -> Scene:  # fmt: skip
    """A rigid block of steel is put on a soft one of foam, 260 times lighter, and stands.

    density, foam_density [kg/m^3], foam_modulus [Pa].

    Cubes of 0.1 m: the foam gives way by rho g L^2 / E, 15 mm. Methods that give a contact the stiffness of the lighter body at this dt let
    the steel fall through.
    """
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Heavy on light at an ordinary step.")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    cube = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.025)
    foam = dict(youngs_modulus=foam_modulus, poisson_ratio=0.0, density=foam_density, mass_damping=20.0)
    scene.add(name="foam", shape=cube, position=(0, 0, 0.05), material=foam, integrator="implicit", friction=0.5)
    steel: dict[str, Any] = dict(model="rigid", material=dict(density=density, mass_damping=20.0))
    scene.add(name="steel", shape=cube, position=(0, 0, 0.15), friction=0.5, **steel)
    return scene


def expect_heavy_on_light(sim: Simulation) -> list[str]:
    """The steel has come down by what the foam gives way, and the foam carries it."""
    foam, steel = sim.scene.bodies[1:]
    expected = 9.81 * 0.1**2 / foam.material.youngs_modulus * (steel.material.density + 0.5 * foam.material.density)
    sunk, weight = 0.15 - float(sim.centre("steel")[2]), 9.81 * sim.mass("steel")
    carried = float(sim.contacts("steel", "foam").total_force[2])
    assert abs(sunk - expected) < 0.1 * expected, f"the steel came down by {1000 * sunk:.1f} mm, {1000 * expected:.1f} mm were expected"
    assert abs(carried / weight - 1.0) < 0.02, f"the foam carries {carried:.2f} N of {weight:.2f} N"
    return [
        f"The steel came down by {1000 * sunk:.2f} mm; the foam gives way by {1000 * expected:.2f} mm.",
        f"The foam carries {carried:.2f} N of {weight:.2f} N.",
    ]
