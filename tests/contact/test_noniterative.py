"""The method `noniterative` on bodies: momentum, rest, friction, planes, what cannot be resolved, self-contact, its record."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.bodies.register import material_for
from pliant.contact.contacts import Contacts
from pliant.contact.noniterative import Noniterative, contact_rows, half_through, pace, paper_rows, skin_inverse_masses
from pliant.contact.pressure import Pressure
from pliant.detect.closest import face_neighbours
from pliant.detect.consistent_depth import RESOLVED
from pliant.detect.solid_penetration import SHALLOW, Collisions, SolidPenetration, agree, smooth_corners
from pliant.geometry.mesh import TET_EDGES, TetMesh
from pliant.geometry.shapes import make
from pliant.measure.overlap import remaining, remaining_depth
from pliant.shop import scenes

G = 9.81
BOX = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)
SOFT = dict(youngs_modulus=3e5, poisson_ratio=0.3, mass_damping=10.0)
TET = TetMesh(np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]), np.array([[0, 1, 2, 3]]))

spec = importlib.util.spec_from_file_location("closure", Path(__file__).with_name("closure.py"))
closure = importlib.util.module_from_spec(spec)
spec.loader.exec_module(closure)


def inside(motion):
    """Points inside bodies at the end of the motion."""
    return motion.kept(SolidPenetration).find(motion.end, motion.shapes, motion.pairs.meet)[0]


def cubes(mode="moment", density=1000.0, integrator="verlet", **options):
    """Two free cubes of 125 and 64 vertices that meet with 1 m/s, off centre."""
    scene = Scene(dt=2e-4, gravity=(0, 0, 0), contact=dict(method="noniterative", mode=mode, **options))
    soft = dict(youngs_modulus=1e5, poisson_ratio=0.3)
    size = dict(kind="box", size=(0.2, 0.2, 0.2))
    scene.add(name="a", shape=size | dict(edge=0.05), material=soft | dict(density=1000.0), integrator=integrator, velocity=(0, 0, 0.5))
    scene.add(
        name="b", shape=size | dict(edge=0.2 / 3), position=(0.037, 0.023, 0.2005), rotation=(0, 0, 8), velocity=(0, 0, -0.5),
        material=soft | dict(density=density, youngs_modulus=1e5 * density / 1000.0), integrator=integrator,
    )  # fmt: skip
    return scene


def collide(scene, steps=250):
    """Run, and say how momenta and impulses differ from what they should be."""
    sim = scene.simulate()
    first, turning, touched, worst = sim.books(), 0.0, 0, 0.0
    for _ in range(steps):
        before = momentum_of(sim, "a")
        report = sim.step()
        touched += len(report.contacts) > 0
        given = sim.contacts("a", "b").total_force * report.dt
        worst = max(worst, np.abs(momentum_of(sim, "a") - before - given).max())
        turning = max(turning, np.abs(sim.books().angular_momentum - first.angular_momentum).max())
    last = sim.books()
    speeds = np.abs(first.momentum).max() + momentum_of(sim, "a")[2] ** 2
    turning /= np.linalg.norm(first.angular_momentum)
    return sim, np.abs(last.momentum - first.momentum).max() / max(speeds, 1.0), turning, touched, worst


def momentum_of(sim, body):
    mine = sim.nodes(body)
    return np.sum(sim.world.model.nodes.mass[mine, None] * sim.state.v[mine], axis=0)


# -- momentum


@pytest.mark.parametrize("density", [1e3, 3e4, 1e6])
def test_free_cubes_keep_momentum_and_impulses_are_its_change(density):
    """Mass ratios 1 to 1000."""
    sim, linear, turning, touched, worst = collide(cubes(density=density))
    assert touched > 20
    assert linear < 1e-12 * density / 1e3
    assert worst < 1e-10 * density / 1e3  # sum of contact impulses is the change of momentum
    assert turning < 1e-3
    assert remaining_depth(sim) < 0.05 * 0.05


def test_paper_mode_keeps_momentum_and_leaves_a_ghost_torque():
    _, linear, turning, _, worst = collide(cubes("paper"))
    _, _, less, _, _ = collide(cubes("moment"))
    assert linear < 1e-12 and worst < 1e-10
    assert turning > 0.02 and less < 1e-3


def test_bodies_that_do_not_touch_are_left_alone():
    def fly(both):
        scene = Scene(dt=0.002, contact="noniterative")
        scene.add(name="a", shape=BOX, velocity=(1, 0, 0), integrator="symplectic")
        if both:
            scene.add(name="b", shape=BOX, model="rigid", position=(0, 0.5, 0), velocity=(1, 0, 0))
        return scene.simulate(contact="noniterative").run(until=0.1).points("a")

    assert np.array_equal(fly(True), fly(False))


# -- one step against the formulas


def overlapping(depth=0.01, **options):
    scene = Scene(dt=1e-3, gravity=(0, 0, 0), contact={"method": "noniterative", "overdue": "at once", **options})
    for name, z, edge in (("a", 0.0, 0.1), ("b", 0.2 - depth, 0.2 / 3)):
        scene.add(
            name=name, shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=edge), position=(0.013 * (z > 0), 0.007 * (z > 0), z),
            friction=0.0, integrator="verlet",
        )  # fmt: skip
    return scene.simulate()


@pytest.mark.parametrize("mode", ["moment", "paper"])
def test_a_step_does_what_the_bare_formulas_say(mode):
    """Nodes move by dt^2 w F of closure.forces."""
    sim = overlapping(mode=mode)
    motion = sim.world.free_motion(sim.dt)
    found = inside(motion)
    corners, inverse = motion.skin.faces[found.face], skin_inverse_masses(motion)
    formula = getattr(closure, mode)(found.point, corners, found.weights, inverse)
    force = closure.forces(found.point, corners, found.depth[:, None] * found.normal, formula, sim.dt, len(motion.skin))
    free = motion.end.copy()
    Noniterative(mode=mode, overdue="at once").respond(motion, {})
    assert len(found) > 10
    assert motion.end - free == pytest.approx(sim.dt**2 * inverse[:, None] * force, abs=1e-15)


def test_give_of_rows_is_D_of_the_moment_formula():
    motion = overlapping().world.free_motion(1e-3)
    found = inside(motion)
    formula = closure.moment(found.point, motion.skin.faces[found.face], found.weights, skin_inverse_masses(motion))
    assert motion.give(contact_rows(motion, found)) == pytest.approx(formula.give, rel=1e-12)


def test_paper_rows_of_rigid_bodies_take_the_rigid_term():
    scene = Scene(dt=1e-3, gravity=(0, 0, 0), contact="noniterative")
    scene.add(name="a", shape=dict(kind="ball", radius=0.1, edge=0.05), model="rigid")
    scene.add(name="b", shape=BOX, position=(0, 0, 0.195), integrator="verlet")
    motion = scene.simulate().world.free_motion(1e-3)
    rows = contact_rows(motion, inside(motion))
    carriers, give = paper_rows(motion, rows)
    assert give == pytest.approx(motion.give(carriers), rel=1e-12)


@pytest.mark.parametrize("options", [dict(), dict(mode="paper"), dict(depth="ray"), dict(sweeps=3)])
def test_P7_a_point_ends_on_the_plane_after_one_step(options):
    scene = Scene(dt=0.01, contact=dict(method="noniterative", overdue="at once", **options))
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="t", shape=TET, position=(0, 0, -0.003), integrator="verlet", material=dict(youngs_modulus=1.0))
    sim = scene.simulate()
    report = sim.step()
    assert len(report.contacts) == 3
    assert np.abs(sim.points("t")[:3, 2]).max() < 1e-16
    assert (report.contacts.sticking == 1).all()


def test_a_static_partner_is_the_discrete_penalty_method_with_s_one():
    """17: f = m d / dt^2, as `ground` with s = 1."""
    def run(contact):
        scene = Scene(dt=0.002, contact=contact)
        scene.add(name="ground", shape="plane", model="static", friction=0.0)
        scene.add(name="b", shape=BOX, position=(0, 0, 0.101), integrator="verlet", material=SOFT)
        sim = scene.simulate()
        return [sim.step() and sim.points("b") for _ in range(30)]

    ours, theirs = run("noniterative"), run(dict(method="ground", stiffness=1.0))
    assert np.abs(np.array(ours[:8]) - theirs[:8]).max() < 1e-15


def test_G33_an_impulse_moves_a_verlet_body_by_dt2_F_over_m():
    """dx = gamma dt^2 F / m with gamma one: F = 3, m = 2, dt = 0.1."""
    scene = Scene(dt=0.1, gravity=(0, 0, 0), contact="none")
    scene.add(name="t", shape=TET, integrator="verlet", material=dict(density=2 * 4 / (0.1**3 / 6), youngs_modulus=1e-3))
    motion = scene.simulate().world.free_motion(0.1)
    from pliant.world.motion import Rows

    anchor = motion.end.copy()
    rows = Rows(np.array([0, 1]), np.array([0]), np.array([1.0]), np.array([[0, 0, 1.0]]), anchor[:1])
    motion.push(rows, np.array([[0, 0, 3.0 * 0.1]]))
    assert (motion.end - anchor)[0, 2] == pytest.approx(0.015, rel=1e-9)


# -- friction


def incline(model, angle, mu, dt=0.002, integrator="verlet"):
    scene = Scene(dt=dt, gravity=(G * np.sin(angle), 0, -G * np.cos(angle)), contact="noniterative")
    scene.add(name="ground", shape="plane", model="static", friction=mu)
    if model == "point":  # only one point of the tetrahedron carries it
        mesh = TetMesh(TET.points * [1, 1, -1] + [0, 0, 0.1], TET.tets[:, [0, 2, 1, 3]])
        scene.add(name="b", shape=mesh, integrator="verlet", friction=mu, material=dict(youngs_modulus=1e7))
    else:
        soft = dict(youngs_modulus=2e5, mass_damping=40.0, poisson_ratio=0.3)
        plate = dict(kind="box", size=(0.4, 0.4, 0.1), edge=0.1)
        scene.add(name="b", shape=plate, position=(0, 0, 0.05), integrator=integrator, friction=mu, material=soft)
    return scene


@pytest.mark.parametrize("excess, sticks", [(-1e-6, False), (1e-6, True)])
def test_a_point_sticks_from_the_tangent_of_the_angle_on(excess, sticks):
    """One step of theory/noniterative 5.6: |g| = m g sin, |f| = m g cos. The row is judged on its own."""
    angle = np.radians(25.0)
    sim = incline("point", angle, np.tan(angle) + excess, dt=1e-4).simulate()
    report = sim.step()
    assert len(report.contacts) == 1
    assert bool(report.contacts.sticking[0]) is sticks


@pytest.mark.parametrize("integrator, dt, part", [
    ("verlet", 0.002, 0.01), ("implicit", 0.004, 0.02), pytest.param("implicit", 0.001, 0.02, marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("side", [1, -1])
def test_a_block_sticks_from_the_tangent_of_the_angle_on(integrator, dt, part, side):
    """Within one percent, implicit ones two. Below it slides with the speed at which damping takes what is left over."""
    angle, factor = np.radians(20.0), 1.0 + side * part
    sim = incline("block", angle, factor * np.tan(angle), dt, integrator).simulate().run(until=0.8)
    before = sim.centre("b")[0]
    sim.run(until=1.0)
    terminal = 0.2 * max(0.0, 1.0 - factor) * G * np.sin(angle) / 40.0
    assert sim.centre("b")[0] - before == pytest.approx(terminal, abs=2e-6 if integrator == "verlet" else 6e-6, rel=0.1)


@pytest.mark.parametrize("case", ["wedge-in-crack", "spike-in-crack", "cliff-edge"])
def test_friction_adds_no_energy(case):
    """Normal impulses move other contacts along their tangents; friction by the slip before them (as published) gives back 24 % or more."""
    given, taken, force = {}, {}, []
    for mode in ("paper", "moment"):
        work: list[float] = []
        sim = scenes.make("corner-cases", case=case, contact=dict(method="noniterative", mode=mode), duration=0.3).simulate()

        def each(report, sim=sim, work=work):
            work.append(report.contacts.friction_work)
            carried = sum(sim.contacts("above", body.name).total_force[2] for body in sim.scene.bodies[:-1])
            force.append(carried / (G * sim.mass("above")))

        sim.run(each=each)
        given[mode], taken[mode] = np.maximum(work, 0.0).sum(), -np.minimum(work, 0.0).sum()
    assert given["moment"] < 1e-4 * taken["moment"]  # islands of friction give none to rounding; what turns is not quite linear
    assert given["paper"] > 0.2 * taken["paper"]
    assert force[-10:] == pytest.approx([1.0] * 10, abs=0.02)  # and it comes to rest


@pytest.mark.parametrize("dt", [0.002, 0.004])
def test_a_rigid_box_slides_with_its_coefficient_of_friction(dt):
    """The cone is that of all normal impulses of the step: of the first sweep alone it would be 38 % less at 4 ms."""
    scene = Scene(dt=dt, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static", friction=0.4)
    scene.add(name="b", shape=BOX | dict(size=(0.2, 0.1, 0.1), edge=0.05), model="rigid", friction=0.4, position=(0, 0, 0.05), velocity=(2, 0, 0))
    sim = scene.simulate().run(until=0.1)
    before = sim.state.velocity[-1, 0]
    sim.run(until=0.3)
    assert (before - sim.state.velocity[-1, 0]) / 0.2 == pytest.approx(0.4 * G, rel=1e-3)


# -- rest


@pytest.mark.parametrize("integrator, dt", [("symplectic", 0.002), ("verlet", 0.002), ("implicit", 0.004)])
@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean", "springs"])
def test_a_block_of_any_kind_comes_to_rest_with_its_weight(law, integrator, dt):
    scene = Scene(dt=dt, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    kind = dict(model="springs") if law == "springs" else dict(model="fem")
    law = dict(spring_stiffness=1e4) if law == "springs" else dict(law=law, youngs_modulus=2e5, poisson_ratio=0.3)
    scene.add(
        name="b", shape=BOX, position=(0, 0, 0.12), integrator=integrator,
        material=dict(mass_damping=20.0, **law), **kind,
    )  # fmt: skip
    sim = scene.simulate()
    kinetic = [sim.step() and sim.books().kinetic for _ in range(int(0.9 / dt))]
    assert max(kinetic[-40:]) < 1e-4 * max(kinetic)
    assert sim.contacts("b", "ground").total_force[2] == pytest.approx(8 * G, rel=2e-3)
    assert remaining_depth(sim) < 0.01 * 0.1


def test_what_rests_does_not_creep():
    """Anchors that asked for what an island may not give moved the lower boxes by 2e-11 m a step, and their thrust by 7e-8 N, for ever."""
    scene = Scene(dt=0.004, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    for name, x, z, wide in (("left", -0.06, 0.025, 0.1), ("right", 0.06, 0.025, 0.1), ("top", 0.0, 0.075, 0.16)):
        scene.add(name=name, shape=BOX | dict(size=(wide, 0.1, 0.05), edge=0.1), model="rigid", friction=0.5, position=(x, 0, z))
    sim = scene.simulate().run(until=2.0)
    before, thrust = sim.centre("left")[0], sim.contacts("left", "ground").total_force[0]
    sim.run(until=2.4)
    assert sim.centre("left")[0] == pytest.approx(before, abs=1e-10)  # 2e-9 in these 100 steps, and 7e-6 N
    assert sim.contacts("left", "ground").total_force[0] == pytest.approx(thrust, abs=1e-7)


@pytest.mark.parametrize("models", [("fem", "fem"), ("fem", "rigid"), ("rigid", "fem"), ("fem", "springs")])
@pytest.mark.parametrize("integrator, dt", [pytest.param("symplectic", 0.002, marks=pytest.mark.slow), ("implicit", 0.005)])
def test_a_stack_of_two_comes_to_rest(models, integrator, dt):
    scene = Scene(dt=dt, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    for k, model in enumerate(models):
        integrated = {} if model == "rigid" else dict(integrator=integrator)
        scene.add(name=f"b{k}", shape=BOX, model=model, position=(0.013 * k, 0.007 * k, 0.105 + 0.22 * k), material=material_for(model, **SOFT), **integrated)
    sim = scene.simulate()
    kinetic, forces = [], []
    for _ in range(int(1.4 / dt)):
        sim.step()
        kinetic.append(sim.books().kinetic)
        forces.append([sim.contacts("b0", "ground").total_force[2], sim.contacts("b1", "b0").total_force[2]])
    assert max(kinetic[-40:]) < 1e-4 * max(kinetic)
    assert np.mean(forces[-60:], axis=0) == pytest.approx([16 * G, 8 * G], rel=2e-3)
    assert remaining_depth(sim) < max(0.01 * 0.1, 12 * G * dt**2)  # rigid bodies on many points yield slowly


def test_quadratic_elements_and_embedded_skins_rest_too():
    for extra in (dict(element="quadratic"), dict(skin=dict(kind="ball", radius=0.09, edge=0.04))):
        scene = Scene(dt=0.004, contact="noniterative")
        scene.add(name="base", shape=dict(kind="box", size=(0.5, 0.5, 0.1), edge=0.05), model="static", position=(0, 0, 0.05))
        low = 0.09 if "skin" in extra else 0.1
        scene.add(name="b", shape=BOX, position=(0.01, 0.005, 0.1 + low), integrator="implicit", material=SOFT, **extra)
        sim = scene.simulate().run(until=0.6)
        forces = []
        sim.run(until=0.7, each=lambda report, sim=sim, forces=forces: forces.append(sim.contacts("b", "base").total_force[2]))
        assert np.mean(forces) == pytest.approx(8 * G, rel=0.02)
        assert remaining_depth(sim) < 0.05 * 0.05


def test_area_of_a_flat_base_and_pressure():
    scene = Scene(dt=0.002, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="b", shape=BOX, position=(0, 0, 0.1), material=SOFT | dict(poisson_ratio=0.0), integrator="symplectic")
    sim = scene.simulate().run(until=1.0)
    contacts = sim.contacts("b", "ground")
    assert contacts.area.sum() == pytest.approx(0.04, rel=1e-2)
    assert np.nansum(contacts.pressure * contacts.area) == pytest.approx(8 * G, rel=5e-3)
    assert sim.report.max_depth == pytest.approx(-sim.contacts().gap.min())


def stacked(shift=0.0, gap=0.0, integrator="verlet", dt=1e-3):
    """Two soft boxes of 0.1 m on each other, the upper one aside by `shift`."""
    scene = Scene(dt=dt, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=1e5, poisson_ratio=0.3, density=1000.0, mass_damping=30.0, stiffness_damping=1e-4)
    for k in range(2):
        shape = make("box", size=(0.1, 0.1, 0.1), edge=0.025).tets
        scene.add(name=f"b{k}", shape=shape, position=(shift * k, 0, 0.05 + (0.1 + gap) * k), integrator=integrator, material=soft)
    return scene.simulate()


def squeezed():
    """Two very soft cubes on each other, whose mean edge shrinks as they settle."""
    scene = Scene(dt=1e-3, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    for k in range(2):
        soft = dict(youngs_modulus=6e3, poisson_ratio=0.3, density=1000.0, mass_damping=5.0)
        scene.add(name=f"b{k}", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), position=(0, 0, 0.1 + 0.2 * k), material=soft)
    return scene.simulate()


def test_a_run_goes_on_alike_when_what_is_kept_is_made_anew_from_squeezed_bodies():
    through, resumed = squeezed(), squeezed()
    for _ in range(60):
        through.step()
    resumed.recall(through.state.copy())
    for _ in range(20):
        through.step(), resumed.step()
    assert np.array_equal(through.state.x, resumed.state.x) and np.array_equal(through.state.v, resumed.state.v)
    ends = through.world.rest.points[through.world.model.skin.tets[:, TET_EDGES]]
    edge = np.linalg.norm(ends[:, :, 0] - ends[:, :, 1], axis=2).mean()
    for sim in (through, resumed):
        assert sim.world.free_motion(1e-3).kept(SolidPenetration).edge == pytest.approx(edge, rel=1e-14)


@pytest.mark.parametrize("integrator, dt", [pytest.param("verlet", 1e-3, marks=pytest.mark.slow), ("implicit", 4e-3)])
@pytest.mark.parametrize("shift", [0.0, 0.0125])
def test_area_of_equal_boxes_on_each_other_is_that_of_their_overlap(integrator, dt, shift):
    """Rims lie on rims: the points of one of them are inside the other and carry, however close to its sides they are.

    Where points are not on points the area is that of lumps around them, and its rim is known to half an edge: a seventh of it here.
    """
    sim = stacked(shift, integrator=integrator, dt=dt).run(until=0.4)
    contacts = sim.contacts("b1", "b0")
    assert contacts.total_force[2] == pytest.approx(G, rel=5e-3)
    assert contacts.total_area == pytest.approx(0.1 * (0.1 - shift), rel=0.02 if shift == 0.0 else 0.06 if integrator == "implicit" else 0.09)


@pytest.mark.parametrize("shift", [0.0, 0.03])
def test_boxes_a_nanometre_apart_do_not_touch(shift):
    sim = stacked(shift, gap=1e-9)
    motion = sim.world.free_motion(0.0)
    found = inside(motion)
    assert not ((found.a > 0) & (found.b > 0)).any()


def test_areas_of_rows_are_force_over_pressure_of_the_points_that_carry_them():
    """Brute force: p_i = |f_i| / A_i with A_i a third of the faces around i, as seen along f_i."""
    motion = overlapping().world.free_motion(1e-3)
    rows = contact_rows(motion, inside(motion))
    impulse, skin, x = np.linspace(1.0, 2.0, len(rows)), motion.skin, motion.end
    point, weight = rows.point.reshape(-1, 4), rows.weight.reshape(-1, 4)
    force = np.zeros_like(x)
    np.add.at(force, point, weight[:, :, None] * (impulse[:, None] * rows.normal)[:, None])
    size = np.linalg.norm(force, axis=1)
    faces = np.cross(x[skin.faces[:, 1]] - x[skin.faces[:, 0]], x[skin.faces[:, 2]] - x[skin.faces[:, 0]]) / 2
    area = np.zeros(len(x))
    for k in range(3):
        i = skin.faces[:, k]
        np.add.at(area, i, np.maximum(0.0, -np.einsum("fi,fi->f", faces, force[i] / np.maximum(size[i], 1e-300)[:, None])) / 3)
    assert motion.kept(Pressure).row_areas(x, rows, impulse) == pytest.approx(impulse * area[point[:, 0]] / size[point[:, 0]], rel=1e-9)


def test_areas_are_worked_out_once_when_they_are_asked_for():
    asked, contacts = [], Contacts.unknown(3, 0.1)
    contacts.area = lambda: asked.append(True) or np.arange(3.0)
    assert not asked
    assert contacts.select(np.array([2, 1])).area.tolist() == [2, 1] and contacts.total_area == 3.0
    assert len(asked) == 1


# -- refinement


def test_overlap_and_mismatch_shrink_with_the_mesh():
    """Two balls, overlapping in proportion to the edge as after an explicit step: what the step leaves, and the ghost mismatch.

    |eps| = |d_i + d_j|, d_j taken at the place where point i comes out, between places whose corners collide as well.
    """
    edges = np.array([0.1, 0.07, 0.05, 0.035])
    left, mismatch = np.zeros(4), np.zeros(4)
    for k, edge in enumerate(edges):
        for across in ((0.02, 0.01), (0.0, 0.03), (-0.015, 0.02)):
            scene = Scene(dt=1e-4, gravity=(0, 0, 0), contact="noniterative")
            for name, place in (("a", (0, 0, 0)), ("b", (*across, 0.6 - 0.8 * edge))):
                shape = dict(kind="ball", radius=0.3, edge=edge)
                scene.add(name=name, shape=shape, position=place, integrator="verlet", material=dict(youngs_modulus=1e4))
            sim = scene.simulate()
            motion = sim.world.free_motion(sim.dt)
            found = inside(motion)
            way = np.zeros((len(motion.skin), 3))
            way[found.point] = found.depth[:, None] * found.normal
            corners = motion.skin.faces[found.face]
            facing = np.abs(way[corners]).max(axis=2).min(axis=1) > 0.0
            theirs = np.einsum("ck,cki->ci", found.weights, way[corners])
            mismatch[k] += np.linalg.norm(way[found.point] + theirs, axis=1)[facing].mean() / 3
            Noniterative(overdue="at once").respond(motion, {})
            sim.world.commit(motion)
            left[k] += remaining(sim).depth.sum() / len(found) / 3
            assert remaining_depth(sim) < 0.2 * edge
    for what in (left, mismatch):
        some = what > 0.0  # at one edge nothing may be left
        assert some.sum() >= 3 and np.polyfit(np.log(edges[some]), np.log(what[some]), 1)[0] > 0.8, what


# -- what cannot be resolved


def test_a_cube_wholly_inside_is_reported_and_comes_out():
    scene = Scene(dt=0.002, gravity=(0, 0, 0), contact="noniterative")
    scene.add(name="big", shape=dict(kind="box", size=(0.4, 0.4, 0.4), edge=0.1), integrator="symplectic", material=SOFT)
    scene.add(name="small", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05), position=(0.02, 0.01, 0.05), integrator="symplectic", material=SOFT)
    sim = scene.simulate()
    report = sim.step()
    assert "no border near" in report.warnings[0] and "small in big" in report.warnings[0]
    for _ in range(1500):
        sim.step()
        if len(remaining(sim)) == 0:
            break
    assert len(remaining(sim)) == 0
    assert not sim.report.warnings


def test_a_direction_that_turns_over_is_not_followed():
    """A point that a step ago was to leave upwards, and is now nearer to the other side of a thin plate, still leaves upwards."""
    scene = Scene(dt=1e-3, gravity=(0, 0, 0), contact="noniterative")
    plate = make("plate", size=(0.6, 0.6), thickness=0.04, edge=0.04).tets  # a mesh, so that it is not taken for an exact box
    scene.add(name="plate", shape=plate, model="static")
    wedge = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1 / 3)  # on its edge, which is at z = -0.01 in a plate down to -0.02
    scene.add(name="b", shape=wedge, rotation=(0, 45, 0), position=(0.003, 0.002, 0.0707 - 0.01), integrator="verlet")
    world = scene.simulate().world
    first = Noniterative().respond(world.free_motion(1e-3), {})
    ours = first.contacts.a == 1
    assert ours.any() and (first.contacts.normal[ours, 2] > 0.9).all()
    motion = world.free_motion(1e-3)
    motion.x[:, 2] -= 0.02  # something drives its edge through the plate
    motion.__dict__.pop("end", None)
    new = Noniterative().respond(motion, {})
    assert (new.contacts.normal[new.contacts.a == 1, 2] < -0.9).any()  # without memory some points would leave below
    motion = world.free_motion(1e-3)
    motion.x[:, 2] -= 0.02
    motion.__dict__.pop("end", None)
    answer = Noniterative().respond(motion, first.memory)
    assert any("half through" in w for w in answer.warnings)
    again = np.isin(answer.contacts.feature_a, first.contacts.feature_a[ours])
    assert again.any() and (answer.contacts.normal[again, 2] > 0.9).all()


@pytest.mark.parametrize("depth, turned", [(0.016, True), (0.006, False)])
def test_a_direction_that_turns_over_near_a_surface_is_followed(depth, turned):
    """A plate of 40 mm: 16 mm from its lower side the way back is 1.5 times the way on; 6 mm from it, as at a rim, 5.7 times."""
    scene = Scene(dt=1e-3, gravity=(0, 0, 0), contact="noniterative")
    scene.add(name="plate", shape=make("plate", size=(0.6, 0.6), thickness=0.04, edge=0.04).tets, model="static")
    scene.add(name="t", shape=TET, position=(0.003, 0.002, depth - 0.02), integrator="verlet")
    motion = scene.simulate().world.free_motion(1e-3)
    point = int(np.flatnonzero(motion.skin.body == 1)[np.argmin(motion.end[motion.skin.body == 1][:, 2])])
    one, up = np.ones(1), np.array([[0.0, 0, 1]])
    found = Collisions(
        np.array([point]), np.array([1]), np.array([0]), np.array([0]), np.zeros((1, 3)), -up, depth * one, depth * one, np.array([RESOLVED]), 0 * one
    )  # fmt: skip
    assert (len(half_through(motion, motion.kept(SolidPenetration), found, up)) == 1) == turned


def test_depth_that_was_missed_comes_out_slowly():
    """Two boxes that begin 10 mm in each other: at once they fly apart with 10 mm / ms; slowly by 1 % of an edge a step, with hardly any energy."""
    energy = {}
    for how in ("slowly", "at once"):
        sim = overlapping(overdue=how)
        edge = min(sim.world.free_motion(sim.dt).kept(SolidPenetration).edges)
        depth = [remaining_depth(sim)]
        for _ in range(5):
            sim.step()
            depth.append(remaining_depth(sim))
        energy[how] = sim.books().kinetic + sim.books().elastic
        if how == "slowly":
            assert -np.diff(depth)[1:] == pytest.approx(0.01 * edge, rel=0.3)  # what is seen in the first step stays in it
    assert energy["slowly"] < 0.02 * energy["at once"]


def test_what_goes_deeper_than_what_was_missed_is_stopped_at_once():
    sim = overlapping(overdue="slowly")
    sim.state.v[sim.nodes("a")] += [0, 0, 1.0]
    before = remaining_depth(sim)
    for _ in range(10):
        sim.step()
    assert remaining_depth(sim) < before  # at 1 m/s they would be 10 mm deeper


@pytest.mark.parametrize("method, said", [("ground", True), ("noniterative", True), (dict(method="noniterative", sweeps=400), False)])
def test_what_is_too_heavy_for_one_sweep_is_told(method, said):
    scene = Scene(dt=4e-3, contact=method)
    scene.add(name="plane", shape="plane", model="static")
    for k, density in enumerate((100.0, 5000.0)):
        shape = make("box", size=(0.1, 0.1, 0.1), edge=0.05).tets
        scene.add(name=f"b{k}", shape=shape, position=(0, 0, 0.05 + 0.1 * k), integrator="implicit", material=dict(youngs_modulus=1e6, density=density))
    sim, notes = scene.simulate(), []
    for _ in range(25):
        notes += sim.step().warnings
    assert any("b0 and b1 went deeper" in text for text in notes) == said


TURN = np.linalg.qr(np.array([[3.0, 1, -2], [-1, 4, 1], [2, 1, 5]]))[0] * [-1, -1, 1]  # so that nothing is along an axis


DIPS = np.array([[0.013, 0.043, 0.1 + 1e-14], [0.2, 0.05, 0.05], [0.0, 0.07, 0.3], [0.0, 0.03, 0.3]])


def touching(points=DIPS):
    """A tetrahedron with a point on the top of a wedge, to rounding, and an edge that dips in from there and leaves at a side."""
    scene = Scene(dt=1e-3, gravity=(0, 0, 0), contact=dict(method="noniterative", overdue="at once"))
    box = make("box", size=(0.2, 0.2, 0.2), edge=0.1).tets
    box.points[:, 0] *= 0.8 + 2.0 * box.points[:, 2]  # narrower below: the normal of its side is (1, 0, -0.2) / sqrt(1.04)
    scene.add(name="box", shape=TetMesh(box.points @ TURN.T, box.tets), model="static")
    scene.add(name="t", shape=TetMesh(points @ TURN.T, np.array([[0, 1, 2, 3]])), integrator="verlet", material=dict(youngs_modulus=1e3))
    return scene.simulate()


def test_a_point_on_a_surface_is_not_sent_out_at_another_side(monkeypatch):
    """Consistent depth sees only the side through which the edge leaves, 9 cm away; the closest way out is no way at all."""
    monkeypatch.setattr("pliant.detect.solid_penetration.ACROSS", 0.0)
    sim = touching()
    motion = sim.world.free_motion(sim.dt)
    naive = inside(motion)
    assert len(naive) == 1 and naive.depth[0] == pytest.approx(0.087 / np.sqrt(1.04))
    assert naive.normal[0] @ TURN == pytest.approx(np.array([1, 0, -0.2]) / np.sqrt(1.04), abs=1e-9)
    monkeypatch.undo()
    sim = touching()
    report = sim.step()
    assert np.abs(report.contacts.impulse).max(initial=0.0) == 0.0
    assert np.abs(sim.state.v).max() < 1e-12


def test_a_point_that_leaves_by_the_closest_way_is_pushed_from_the_first_micron_on():
    """All its edges leave at a side, 9 cm away. Nothing until it is 1 % of an edge deep, and then all of that at once, made points tremble."""
    def impulse(depth):
        tip = np.array([[0.013, 0.043, 0.1 - depth], [0.2, 0.05, 0.05], [0.2, 0.03, 0.0], [0.2, 0.07, 0.0]])
        contacts = touching(tip).step().contacts
        assert len(contacts) == 1 and contacts.normal[0] @ TURN == pytest.approx([0, 0, 1], abs=1e-6)
        return contacts.impulse[0]

    assert impulse(2e-4) == pytest.approx(200.0 * impulse(1e-6), rel=1e-6)


# -- self-contact


def test_a_folded_strip_stops_at_itself_and_a_flat_one_does_not_touch_itself():
    def strip(selfish):
        shape = make("box", size=(0.6, 0.1, 0.04), edge=0.04).tets
        x, y, z = shape.points.T
        angle = np.clip((x + 0.1) / 0.2, 0.0, 1.0) * np.pi  # the middle third is bent by 180 degrees
        radius = 0.2 / np.pi + z
        bent = np.where(x < -0.1, x, np.where(x > 0.1, -(x - 0.1) - 0.1, -0.1 + radius * np.sin(angle)))
        height = np.where(x < -0.1, -z, np.where(x > 0.1, 0.4 / np.pi + z, 0.2 / np.pi - radius * np.cos(angle)))
        mesh = TetMesh(np.stack([bent, y, height], axis=1), shape.tets)
        mesh = mesh if mesh.volumes.min() > 0 else TetMesh(mesh.points, mesh.tets[:, [1, 0, 2, 3]])
        scene = Scene(dt=0.002, contact="noniterative")
        scene.add(name="ground", shape="plane", model="static")
        scene.add(name="s", shape=mesh, position=(0, 0, 0.021), integrator="symplectic", material=dict(youngs_modulus=2e3, density=500.0, mass_damping=8.0))
        if selfish:
            scene.pair("s", "s", contact=True)
        return scene.simulate().run(until=1.0), mesh

    (touching, mesh), (passing, _) = strip(True), strip(False)
    tip = mesh.points[:, 2] > 0.4 / np.pi + 0.019  # top side of the upper leg
    height = [sim.state.x[tip, 2].min() for sim in (touching, passing)]
    assert len(touching.contacts("s", "s")) > 0 and len(passing.contacts("s", "s")) == 0
    assert height[0] > 0.07  # two layers of 0.04 m, compressed a little
    assert height[1] < 0.06
    assert remaining_depth(touching) < 0.05 * 0.04
    flat = Scene(dt=0.001, contact="noniterative")
    flat.add(name="s", shape=dict(kind="box", size=(0.2, 0.1, 0.04), edge=0.04), integrator="symplectic")
    flat.pair("s", "s", contact=True)
    sim = flat.simulate()
    sim.state.x[:] *= [0.7, 0.7, 0.7]  # squeezed, nothing folds over
    assert len(sim.step().contacts) == 0


# -- the rest


def test_a_resumed_run_equals_a_straight_one():
    scene = Scene(dt=0.002, duration=0.3, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    for k in range(2):
        scene.add(name=f"b{k}", shape=BOX, position=(0.013 * k, 0, 0.11 + 0.22 * k), rotation=(0, 8 * k, 0), material=SOFT, integrator="symplectic")
    straight, other = scene.simulate(), scene.simulate()
    for step in range(150):
        straight.step()
        if step == 75:
            other.world.state = straight.state.copy()
        elif step > 75:
            other.step()
    assert len(straight.report.contacts) > 10
    assert np.array_equal(straight.state.x, other.state.x)


def test_bodies_without_tetrahedra_are_refused():
    scene = Scene(contact="noniterative")
    scene.add(name="cloth", shape=make("box", size=(1, 1, 1), edge=1.0).surface(), model="springs", network="surface")
    with pytest.raises(PliantError, match="cloth.*needs tetrahedra"):
        scene.simulate()


def test_an_embedded_skin_cannot_touch_itself():
    scene = Scene(contact="noniterative")
    scene.add(name="b", shape=BOX, skin=dict(kind="ball", radius=0.09, edge=0.04))
    scene.pair("b", "b", contact=True)
    with pytest.raises(PliantError, match="'b' is to touch itself"):
        scene.simulate().step()


@pytest.mark.parametrize("option", [dict(mode="papers"), dict(depth="deep"), dict(sweeps=0)])
def test_bad_options_are_refused(option):
    with pytest.raises(PliantError, match=next(iter(option))):
        Noniterative(**option)


def test_sweeps_close_what_one_leaves():
    """Projected Jacobi: the largest gap that is left falls with the sweeps."""
    left = []
    for sweeps in (1, 10, 100):
        sim = overlapping(sweeps=sweeps)
        sim.step()
        left.append(remaining_depth(sim))
    assert left[1] < 0.5 * left[0] + 1e-12 and left[2] < 0.5 * left[1] + 1e-12


def test_normals_are_shared_across_smooth_edges_only():
    box = make("box", size=(1, 1, 1), edge=0.5).tets
    of = smooth_corners(box.points, box.boundary, face_neighbours(box.boundary))
    normal = np.cross(*(box.points[box.boundary[:, k]] - box.points[box.boundary[:, 0]] for k in (1, 2)))
    side = np.argmax(np.abs(normal), axis=1) * 2 + (normal.max(axis=1) > -normal.min(axis=1))
    for number in np.unique(of):  # every normal belongs to one side of the box
        assert len(np.unique(side[np.nonzero(of == number)[0]])) == 1
    ball = make("ball", radius=1.0, edge=0.3).tets
    of = smooth_corners(ball.points, ball.boundary, face_neighbours(ball.boundary))
    assert of.max() + 1 == len(np.unique(ball.boundary))


def test_faces_share_normals_up_to_45_degrees():
    for angle, shared in ((30.0, True), (60.0, False)):
        a = np.radians(angle)
        points = np.array([[0.0, 0, 0], [0, 1, 0], [1, 0, 0], [-np.cos(a), 0, -np.sin(a)]])
        faces = np.array([[0, 2, 1], [0, 1, 3]])
        of = smooth_corners(points, faces, face_neighbours(faces))
        assert (of[0, 0] == of[1, 0]) == shared and (of[0, 2] == of[1, 1]) == shared


def test_what_is_lost_comes_apart_by_a_hundredth_of_an_edge_a_step():
    """Slowly, so that nothing is shot apart, but an edge within some 100 steps."""
    rows = SimpleNamespace(normal=np.tile([0.0, 0, 1], (3, 1)))
    motion = SimpleNamespace(slide=lambda rows: np.array([[0.0, 0, 0], [0, 0, 4e-4], [0, 0, 0]]))
    close = pace(motion, np.full(3, SHALLOW * 0.1), rows, np.array([True, True, False]), np.array([0.05, 0.05, 0.05]))
    assert close == pytest.approx([1e-3, 6e-4, 0.05])


@pytest.mark.parametrize("own, closest, kept", [(0.95, 0.3, True), (0.7, 0.3, False), (0.95, 0.7, False)])
def test_a_way_out_is_kept_against_the_closest_one_only_if_it_alone_goes_with_the_others(own, closest, kept):
    """Cosines of the way of one point, and of the closest way out of it, with the ways of four others."""
    normal = np.array([[0.0, 0, 1]] * 4 + [[np.sqrt(1 - own**2), 0, own]])
    ids, one, real = np.arange(5), np.zeros(5, np.int64), np.zeros(5)
    found = Collisions(ids, one, one + 1, one, np.zeros((5, 3)), normal, real, real, one + RESOLVED, real)
    other = np.array([[np.sqrt(1 - closest**2), 0, closest]])
    assert agree(found, np.array([4]), other, 2).tolist() == [kept]
