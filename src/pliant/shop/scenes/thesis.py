"""Scenes of the thesis on continuous penalty forces; `hooked` has a file of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.geometry import shapes
from pliant.geometry.check import load
from pliant.geometry.mass import mass_of_surface
from pliant.scene import Scene
from pliant.shop.scenes.checks import gains_nothing, none_inverted
from pliant.simulate.simulation import Simulation

PARTICLE = 0.1  # [m] of the ball that stands for the particle; what counts is its lowest point
LIMITS = {"penalty": 4.0 / 3.0, "continuous-penalty": 2.0}  # of s


def particle_on_plane(
    method: str = "continuous-penalty", stiffness: float = 1000.0, mass: float = 1.0, height: float = 0.1, dt: float = 0.01,
    duration: float = 1.5,
) -> Scene:  # fmt: skip
    """A particle drops onto a plane: it comes to rest below the critical step of its penalty force, and is thrown ever higher above it.

    Section 7.1.1 of the thesis on continuous penalty forces. In contact, with s = k dt^2 / m, a step multiplies height and speed by a
    matrix of trace 2 - 2s and determinant 1 - s (discrete), or 2 - 3s/2 and 1 - s/2 (continuous, misprinted in 7.11): stable below s = 4/3
    and s = 2.

    method: penalty or continuous-penalty; stiffness [N/m], mass [kg], height [m] of the fall.
    """
    contact = {"method": method, "stiffness": stiffness, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="The largest stable time step of penalty forces.")
    ball = dict(kind="ball", radius=PARTICLE, edge=PARTICLE)
    density = mass / mass_of_surface(shapes.make("ball", radius=PARTICLE, edge=PARTICLE).surface()).volume
    scene.add(name="plane", shape="plane", model="static")
    scene.add(name="particle", shape=ball, model="rigid", position=(0, 0, height + PARTICLE), material=dict(density=density))
    return scene


def critical(method: str, stiffness: float, mass: float) -> float:
    """The largest stable time step [s]: sqrt(4 m / 3 k) and sqrt(2 m / k)."""
    return float(np.sqrt(LIMITS[method] * mass / stiffness))


def predicted(method: str, stiffness: float, mass: float, height: float, dt: float, steps: int, gravity: float = 9.81) -> Floats:
    """Heights after each step [m] by the recurrence of theory/penalty 5.4, written out."""
    x, v, out = height, 0.0, np.empty(steps)
    for i in range(steps):
        free = v - gravity * dt
        end = x + dt * free
        if method == "penalty":
            impulse = dt * stiffness * max(-end, 0.0)
        else:  # the mean depth of a straight path from x to end
            inside = np.clip([x, end], None, 0.0)
            share = 1.0 if x < 0.0 and end < 0.0 else abs(inside[1] - inside[0]) / max(abs(end - x), 1e-300)
            impulse = -dt * stiffness * share * 0.5 * (inside[0] + inside[1])
        v = free + impulse / mass
        x += dt * v
        out[i] = x
    return out


def expect_particle_on_plane(sim: Simulation) -> list[str]:
    """The height is that of the recurrence; below the critical step the particle has come down."""
    contact = sim.scene.contact
    assert isinstance(contact, dict)
    method, k = contact["method"], contact["stiffness"]
    mass, start = float(sim.world.model.frames.mass[1]), sim.scene.bodies[1].position[2] - PARTICLE
    z = float(sim.centre("particle")[2]) - PARTICLE
    heights = predicted(method, k, mass, start, sim.dt, round(sim.time / sim.dt))
    limit = critical(method, k, mass)
    near = 1e-8 if sim.dt < limit else 1e-4  # above it rounding grows like everything else
    assert abs(z - heights[-1]) < near, f"height {z:.10g} m, recurrence {heights[-1]:.10g} m"
    later = float(np.abs(heights[len(heights) // 2 :]).max())
    assert later < start or sim.dt >= limit, f"dt = {sim.dt} s, critical {limit:.4g} s, height {later:.3g} m"
    return [f"The particle is at {z:.6f} m as theory says; dt is {sim.dt / limit:.3f} of the critical step {limit:.4g} s."]


BEAM, BASE = (1.8, 0.26, 0.26), 0.5  # [m] of the soft bar and the cube below it


def bar_on_cube(
    method: str = "continuous-penalty", stiffness: float = 5000.0, s: float = 0.5, edge: float = 0.18, response: str = "mass",
    youngs_modulus: float = 1e5, fall: float = 0.2, redefinition: bool = False, dt: float = 0.01, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """A turned soft bar drops onto a rigid cube that drops onto the ground.

    Section 7.1.2 of the thesis on continuous penalty forces. It publishes k, dt and forces, neither sizes nor masses nor the material. The
    bar here weighs 73 kg, and its light nodes 0.305 kg, as the critical steps of CPF say (2 m = k dt^2 from 0.605 to 0.72 kg). It is soft
    and hardly damped: neighbours that hold a node implicitly let DPF take longer steps, and not CPF (theory/penalty 5.4). It falls so far
    that its first impact is at 0.3 s, as in the thesis, where impulses go to the masses they meet, too.

    stiffness [N/m] of each contact, 0: automatic by s; edge [m] of the bar's elements; response "mass" or "system", what impulses on
    the bar go through; fall [m] of the bar; redefinition: off as in that section.
    """
    k = stiffness if stiffness > 0.0 else "auto"
    contact = {"method": method, "stiffness": k, "s": s, "redefinition": redefinition, "response": response, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Contact of a soft and a rigid body, both free.")
    soft = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.3, density=600.0, stiffness_damping=0.001, mass_damping=2.0)
    scene.add(name="ground", shape="plane", model="static", friction=0.4)
    scene.add(
        name="cube", shape=dict(kind="box", size=(BASE, BASE, BASE), edge=0.25), model="rigid", position=(0, 0, 0.5 * BASE + 0.05),
        material=dict(density=200.0), friction=0.4,
    )  # fmt: skip
    scene.add(
        name="bar", shape=dict(kind="box", size=BEAM, edge=edge), position=(0, 0, BASE + 0.5 * BEAM[2] + fall), rotation=(0, 0, 30),
        material=soft, friction=0.4,
    )  # fmt: skip
    return scene


def expect_bar_on_cube(sim: Simulation) -> list[str]:
    """The bar lies whole on the cube, no contact deeper than one spring under all of its weight; both weigh on what carries them."""
    cube, bar = sim.centre("cube"), sim.centre("bar")
    assert np.hypot(*(bar - cube)[:2]) < 0.25 and bar[2] > cube[2] + 0.5 * BASE, f"the bar at {bar} is not on the cube at {cube}"
    assert 0.4 * BASE < cube[2] < 0.6 * BASE + 0.05, f"the cube at {cube} does not stand on the ground"
    weight = 9.81 * float(sim.world.model.nodes.mass.sum())
    between, stiffness = sim.contacts("bar", "cube"), options(sim)["stiffness"]
    carried, depth = between.total_force[2], deepest(between)
    none_inverted(sim)
    gains_nothing(sim)
    assert stiffness == "auto" or depth < weight / stiffness, f"{1000 * depth:.1f} mm deep, more than one spring under all of the weight"
    return [f"The cube carries {carried:.0f} N of the bar's {weight:.0f} N, whose centre is {bar[2] - cube[2]:.3f} m above the cube's."]


def deepest(contacts: Contacts) -> float:
    """The depth of the deepest [m]."""
    return float(contacts.depth.max(initial=0.0))


BAR, CUBE = (1.2, 0.3, 0.2), 0.15  # [m]
# Every rule off, as with redefinition = false, but that hooked pairs are told: they push as they are.
HELD = dict(resolution="gap", categories="span", faces="off", walk=0, edges=False, hooked="off", reproject=False)


def cube_on_bar(
    redefinition: bool = True, friction: float = 0.0, static_friction: float = 0.0, speed: float = 1.0, edge: float = 0.1,
    method: str = "continuous-penalty", model: str = "coulomb", dt: float = 0.002, duration: float = 0.6,
) -> Scene:  # fmt: skip
    """A rigid cube slides along a soft bar: pairs that follow it leave its speed alone, pairs that do not stop it.

    Sections 7.2 and 7.3 of the thesis on continuous penalty forces; sizes, masses, speed and material are ours. The bottom of the bar is
    fixed.

    redefinition: whether pairs follow what slides; static_friction, 0: the same; speed [m/s]; edge [m] of the bar; model of friction.
    """
    contact = {"method": method, "redefinition": redefinition or HELD, "friction": model, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Sliding over the triangles of a soft body.")
    soft = dict(youngs_modulus=2e5, poisson_ratio=0.3, density=1000.0, stiffness_damping=0.01)
    rub: dict[str, Any] = dict(friction=friction, static_friction=max(friction, static_friction))
    scene.add(
        name="bar", shape=dict(kind="box", size=BAR, edge=edge), position=(0, 0, -0.5 * BAR[2]), material=soft,
        fixed=[dict(side="-z")], **rub,
    )  # fmt: skip
    scene.add(
        name="cube", shape=dict(kind="box", size=(CUBE, CUBE, CUBE), edge=CUBE), model="rigid", position=(-0.35, 0.02, 0.5 * CUBE),
        rotation=(0, 0, 7), velocity=(speed, 0, 0), material=dict(density=800.0), **rub,
    )  # fmt: skip
    return scene


def options(sim: Simulation) -> dict[str, Any]:
    """Of the contact method."""
    assert isinstance(sim.scene.contact, dict)
    return sim.scene.contact


def cube_velocity(sim: Simulation) -> np.ndarray:
    """Of the cube's centre [m/s]."""
    return sim.state.velocity[sim.world.model.bodies.frame[sim.index("cube")]]


def cube_mass(sim: Simulation) -> float:
    """Of the cube [kg]."""
    return float(sim.world.model.frames.mass[sim.world.model.bodies.frame[sim.index("cube")]])


def hooked_pairs(sim: Simulation) -> int:
    """Pairs that are hooked and push."""
    memory = sim.state.memory.get(options(sim)["method"], {})
    return int(np.count_nonzero(memory["hooked"] & memory["active"])) if "hooked" in memory else 0


def expect_cube_on_bar(sim: Simulation) -> list[str]:
    """Without friction the cube keeps its speed if pairs are redefined and loses it if not; with friction it stops as Coulomb says.

    The bar stays whole, nothing is 1 % of the cube deep, and no energy is gained.
    """
    bar, cube = sim.scene.bodies
    start, now, way = cube.velocity[0], cube_velocity(sim), float(sim.centre("cube")[0] - cube.position[0])
    said = f"The cube went {1000 * way:.1f} mm and has {now[0]:.4f} of {start:g} m/s left; {hooked_pairs(sim)} hooked pairs push."
    up = float(sim.centre("cube")[2])
    follows = options(sim)["redefinition"] is True
    assert 0.4 * CUBE < up < CUBE or not follows, f"the cube's centre is {up:.3f} m above the bar"
    none_inverted(sim)
    gains_nothing(sim)
    depth = deepest(sim.contacts())
    assert depth < 0.01 * CUBE, f"{1000 * depth:.2f} mm deep"
    if cube.friction > 0.0:
        theory = start**2 / (2 * 9.81 * cube.friction)
        assert abs(now[0]) < 0.01 * start and way < 1.1 * theory, f"{said} Coulomb: it stops after {1000 * theory:.1f} mm."
        return [said, f"Coulomb: it stops after {1000 * theory:.1f} mm."]
    if follows:
        assert abs(now[0] / start - 1) < 0.02 and hooked_pairs(sim) == 0, said
    else:
        assert now[0] < 0.5 * start, said
    return [said]


BUNNY = 0.15  # [m] of the soft body
BOWL, WALL, DROP = 0.16, 0.02, 0.03  # [m] outer radius, thickness, height above the ground


def bunny_in_bowl(
    file: str = "", up: str = "y", edge: float = 0.0115, youngs_modulus: float = 3e4, method: str = "continuous-penalty", s: float = 0.5,
    dt: float = 0.001, duration: float = 2.0,
) -> Scene:  # fmt: skip
    """A soft bunny, or a body of your own, drops into a rigid bowl that drops onto the ground.

    Section 7.2 of the thesis on continuous penalty forces (Fig. 7.13); sizes, masses and material are ours.
    `file` names a surface or tetrahedra of your own.

    file: your own body, with the axis that is `up` in it; edge [m] of its elements; s: k dt^2 D of the automatic stiffness.
    """
    contact = {"method": method, "s": s, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="A soft body of free form comes to rest in a bowl.")
    soft = dict(
        law="neo-hookean", youngs_modulus=youngs_modulus, poisson_ratio=0.35, density=1000.0, stiffness_damping=0.01, mass_damping=0.5
    )
    shape, middle = soft_shape(file, up, edge)
    scene.add(name="plane", shape="plane", model="static", friction=0.5)
    scene.add(
        name="bowl", shape=dict(kind="bowl", radius=BOWL, thickness=WALL, edge=0.03), model="rigid", position=(0, 0, DROP),
        material=dict(density=2000.0), friction=0.3,
    )  # fmt: skip
    place = np.array([0.01, 0.0, DROP + 0.1]) - middle
    scene.add(name="bunny", shape=shape, position=tuple(place), material=soft, friction=0.3)
    return scene


def soft_shape(file: str, up: str, edge: float) -> tuple[dict[str, Any], np.ndarray]:
    """The body, and the middle of its underside in its own frame."""
    if not file:
        return dict(kind="bunny", height=BUNNY, edge=edge), np.zeros(3)
    mesh, _ = load(file, size=BUNNY, up=up)
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    return dict(file=file, size=BUNNY, up=up, edge=edge), np.array([0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), low[2]])


def expect_bunny_in_bowl(sim: Simulation) -> list[str]:
    """The body rests in the bowl, no deeper than 2 % of its size in any wall, with no element inverted."""
    bowl, bunny = sim.centre("bowl"), sim.centre("bunny")
    assert np.hypot(*(bunny - bowl)[:2]) < BOWL and 0.02 < bunny[2] < bowl[2] + 2 * BUNNY, f"the bunny at {bunny} left the bowl at {bowl}"
    speed = float(np.sqrt(np.mean(np.sum(sim.state.v**2, axis=1))))
    assert speed < 0.05, f"the bunny still moves with {speed:.3f} m/s"
    depth = deepest(sim.contacts())
    assert depth < 0.02 * BUNNY, f"{1000 * depth:.2f} mm deep"
    none_inverted(sim)
    gains_nothing(sim)
    return [f"The bunny rests at {speed:.4f} m/s, at most {1000 * depth:.2f} mm deep; no element is inverted."]


CLOTH, BALL = 0.5, 0.12  # [m]


def cloth_on_ball(
    edge: float = 0.03, stiffness: float = 60.0, method: str = "continuous-penalty", friction: float = 0.3, dt: float = 0.002,
    duration: float = 1.0,
) -> Scene:  # fmt: skip
    """A cloth of springs falls over a ball and folds onto itself.

    An open, two-sided surface that meets a ball, the ground and itself by continuous penalty forces. Stiff for cloth so light
    (s = 1.5): the vertices of the ball share the few faces of the cloth they are under, which makes each of them soft.

    edge [m] and stiffness [N/m] of the springs.
    """
    contact = {"method": method, "s": 1.5 if method == "continuous-penalty" else 1.0, "damping": 0.3, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Cloth on a ball, with self-contact.")
    cloth = dict(spring_stiffness=stiffness, spring_damping=0.05, density=300.0, thickness=0.002, mass_damping=1.0)
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    scene.add(name="ball", shape=dict(kind="ball", radius=BALL, edge=0.05), model="static", position=(0, 0, BALL), friction=friction)
    scene.add(
        name="cloth", shape=dict(kind="membrane", size=(CLOTH, CLOTH), edge=edge), model="springs", network="surface", material=cloth,
        position=(0.02, 0.01, 2 * BALL + 0.02), friction=friction,
    )  # fmt: skip
    scene.pair("cloth", "cloth", friction=friction)
    return scene


def expect_cloth_on_ball(sim: Simulation) -> list[str]:
    """No vertex is in the ball or under the ground; the cloth hangs over the ball, and no energy is gained."""
    points = sim.points("cloth")
    deep = BALL - float(np.linalg.norm(points - [0, 0, BALL], axis=1).min())
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    assert deep < 0.005 and low > -0.005, f"{1000 * deep:.1f} mm in the ball, lowest vertex at {1000 * low:.1f} mm"
    assert 2 * BALL - 0.01 < high < 2 * BALL + 0.06, f"the top of the cloth is at {high:.3f} m"
    gains_nothing(sim)
    return [f"The cloth is at most {1000 * max(deep, 0.0):.2f} mm in the ball and hangs {1000 * (high - low):.0f} mm down."]
