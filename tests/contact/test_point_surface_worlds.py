"""The method `point-surface` in running worlds: every kind of body, momentum, friction, divided steps, and what the paper prints."""

from dataclasses import replace

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.bodies.register import material_for
from pliant.contact.method import make_method
from pliant.contact.point_surface.detection import detect
from pliant.contact.point_surface.self_and_volume_contact import VolumePoints, phyxel_contacts
from pliant.contact.point_surface.step_length import shorter_step
from pliant.geometry.shapes import make
from pliant.shop.scenes import keiser
from pliant.shop.validate import mean_force
from pliant.shop.validate.carried import pad_scene

SOFT = {"youngs_modulus": 1e5, "density": 1000.0}


def two_balls(model_a, model_b, distance=0.18, mu=0.3, **options):
    """Two balls of radius 0.1 m, 20 mm inside each other, sliding past each other."""
    scene = Scene(dt=0.0005, gravity=(0, 0, 0), contact={"method": "point-surface", **options})
    for name, model, x, v in (("a", model_a, 0.0, 0.3), ("b", model_b, distance, -0.1)):
        spacing = {"spacing": 0.05} if model == "points" else {}
        shape = {"kind": "ball", "radius": 0.1, "edge": 0.025}
        scene.add(name=name, shape=shape, model=model, position=(x, 0, 0), velocity=(v, v, 0), friction=mu, material=material_for(model, **SOFT), **spacing)
    return scene.simulate()


def momenta(sim):
    """Momentum of each body, (B, 3)."""
    model, state = sim.world.model, sim.state
    out = np.zeros((len(model.bodies), 3))
    np.add.at(out, model.nodes.body, model.nodes.mass[:, None] * state.v)
    np.add.at(out, model.frames.body, model.frames.mass[:, None] * state.velocity)
    return out


@pytest.mark.parametrize("models", [("rigid", "rigid"), ("points", "rigid"), ("fem", "points"), ("springs", "fem")])
def test_impulses_are_the_change_of_momentum(models):
    sim = two_balls(*models)
    before, free = momenta(sim), two_balls(*models)
    free.world.pairs = replace(free.world.pairs, movable=np.zeros(2, bool))  # nobody meets
    sim.step(), free.step()
    touch = sim.contacts("a", "b")
    impulse = (touch.impulse[:, None] * touch.normal + touch.friction_impulse).sum(axis=0)
    change = momenta(sim) - momenta(free)
    scale = np.abs(impulse).max()
    assert scale > 1e-4
    assert change[0] == pytest.approx(impulse, abs=1e-10 * scale) and change[1] == pytest.approx(-impulse, abs=1e-10 * scale)
    assert momenta(sim).sum(axis=0) == pytest.approx(before.sum(axis=0), abs=1e-12 * np.abs(before).max())


def test_normal_forces_make_no_moment_between_soft_bodies():
    sim = two_balls("points", "fem", mu=0.0)
    about, size = sim.books().angular_momentum, 0.0
    for _ in range(20):
        sim.step()
        size += float(np.abs(sim.contacts().impulse).sum()) * 0.1
    assert size > 1e-3
    assert sim.books().angular_momentum == pytest.approx(about, abs=1e-10 * size)


def test_every_field_of_the_record_is_filled():
    sim = two_balls("points", "rigid")
    sim.step()
    c = sim.contacts()
    assert len(c) > 10
    for name in ("point", "normal", "gap", "impulse", "friction_impulse", "sticking", "slip", "area"):
        assert np.isfinite(getattr(c, name)).all(), name
    assert (c.gap < 0).all() and (c.area >= 0).all() and (c.feature_a >= 0).all()
    assert np.linalg.norm(c.normal, axis=1) == pytest.approx(1.0)
    total = np.bincount(c.support.row, c.support.weight)
    assert total == pytest.approx(0.0, abs=1e-12)
    patch = np.pi * (0.1**2 - 0.09**2)  # the circle in which the balls cut each other; those of triangles are a little smaller
    assert c.total_area == pytest.approx(patch, rel=0.25)


def test_friction_stays_in_the_cone_and_sticks_below_it():
    sim = two_balls("points", "rigid", mu=0.2)
    for _ in range(5):
        sim.step()
    c = sim.contacts()
    assert (np.linalg.norm(c.friction_impulse, axis=1) <= 0.2 * c.impulse * (1 + 1e-9)).all() and c.friction_impulse.any()
    scene = Scene(dt=0.002, contact={"method": "point-surface"})
    scene.add(name="slope", shape="plane", model="static", rotation=(0, -15, 0), friction=0.5)
    up = np.array([-np.sin(np.radians(15)), 0, np.cos(np.radians(15))])
    box = {"kind": "box", "size": (0.2, 0.2, 0.1), "edge": 0.1}
    scene.add(name="box", shape=box, model="rigid", rotation=(0, -15, 0), position=tuple(0.05 * up), friction=0.5)
    sim = scene.simulate().run(until=0.2)
    start = sim.centre("box")
    sim.run(until=0.35)
    assert np.linalg.norm(sim.centre("box") - start) < 5e-6
    assert sim.contacts("box", "slope").total_force == pytest.approx([0, 0, 4.0 * 9.81], abs=0.005 * 4.0 * 9.81)
    assert mean_force(sim, "box", "slope", 50) == pytest.approx([0, 0, 4.0 * 9.81], abs=0.02)  # sweeps leave 0.15 % in a single step


def test_a_fast_body_divides_the_step_and_does_not_pass_through():
    scene = Scene(dt=0.01, gravity=(0, 0, 0), contact={"method": "point-surface", "substeps": 64})
    scene.add(name="wall", shape={"kind": "box", "size": (0.1, 1.0, 1.0), "edge": 0.1}, model="static")
    scene.add(name="ball", shape={"kind": "ball", "radius": 0.1}, model="rigid", position=(-0.17, 0, 0), velocity=(20.0, 0, 0))
    sim = scene.simulate()
    motion = sim.world.free_motion(0.01)
    seen = detect(make_method("point-surface", {}), motion, {}, motion.pairs)
    part = shorter_step(motion, seen, 64)
    assert 0.3 < 20.0 * part / seen.surfaces.wide.min() <= 0.5  # of a surfel spacing
    sim.run(until=0.04)
    assert sim.state.step > 8  # in four steps it would be through the wall; it is stopped within a few parts of the first
    assert sim.centre("ball")[0] < 0.0 and sim.state.velocity[sim.world.model.bodies.frame[1], 0] < 0.0
    scene.contact = {"method": "point-surface", "substeps": 1}
    sim = scene.simulate().run(until=0.04)
    assert sim.centre("ball")[0] > 0.2  # undivided it does pass


@pytest.mark.parametrize(
    "options",
    [
        {"force": "closest"}, {"force": "closest", "resample": True}, {"force": "closest", "scale": "rho", "stiffness": 1.0},
        {"force": "closest", "order": "published"}, {"distribution": "keiser"}, {"friction": "published"}, {"weight": "1/E"},
        {"surface": "published"}, {"force": "closest", "damping_counts": 2},
    ],
)  # fmt: skip
def test_published_variants_push_bodies_apart_and_keep_momentum(options):
    sim = two_balls("points", "points", **options)
    before = momenta(sim)
    sim.step()
    change = momenta(sim) - before
    assert change[0, 0] < 0.0 < change[1, 0]
    assert change.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12 * np.abs(before).max())


@pytest.mark.parametrize("depth", [0.002, 0.006, 0.02])
def test_a_contact_surface_that_is_sampled_anew_has_the_area_that_it_had(depth):
    """Densities took a small patch for up to twice its size, and one of a few spacings lost all of its points but one over its rim."""
    areas, forces, counts = [], [], []
    for resample in (False, True):
        scene = Scene(dt=2e-4, gravity=(0, 0, 0), contact={"method": "point-surface", "damping": 0.0, "force": "closest", "resample": resample})
        scene.add(name="ground", shape="plane", model="static")
        ball = {"kind": "ball", "radius": 0.1, "edge": 0.02}
        scene.add(name="ball", shape=ball, model="points", spacing=0.04, position=(0, 0, 0.1 - depth), material={"youngs_modulus": 1e5})
        touch = scene.simulate().step().contacts
        areas.append(touch.area.sum())
        forces.append(float(touch.impulse @ touch.normal[:, 2]))
        counts.append(len(touch))
    assert areas[1] == pytest.approx(areas[0]) and areas[1] == pytest.approx(np.pi * (0.2 * depth - depth**2), rel=0.3)
    assert counts[1] > 0.6 * counts[0] and forces[1] == pytest.approx(forces[0], rel=0.5)


def test_qe17_damping_counts_twice_as_printed():
    one, two = (two_balls("rigid", "rigid", force="closest", mu=0.0, damping=0.05, damping_counts=k) for k in (1, 2))
    none = two_balls("rigid", "rigid", force="closest", mu=0.0, damping=0.0)
    total = []
    for sim in (none, one, two):
        sim.step()
        total.append(sim.contacts().impulse.sum())
    assert total[2] - total[0] == pytest.approx(2.0 * (total[1] - total[0]), rel=1e-6)


def test_auto_stiffness_is_stable_for_any_step_and_rests():
    for dt in (0.0005, 0.004):
        scene = Scene(dt=dt, contact={"method": "point-surface"})
        scene.add(name="ground", shape="plane", model="static")
        scene.add(name="box", shape={"kind": "box", "size": (0.2, 0.2, 0.2), "edge": 0.1}, model="rigid", position=(0, 0, 0.1))
        sim = scene.simulate().run(until=100 * dt + 0.1)
        assert sim.contacts("box", "ground").total_force[2] == pytest.approx(8 * 9.81, rel=1e-3)
        assert sim.contacts("box", "ground").total_area == pytest.approx(0.04, rel=0.13)  # edges count for one of their faces
        assert sim.books().kinetic < 1e-6


@pytest.mark.parametrize("dt, said", [(5e-4, True), (1e-4, False)])
def test_bodies_that_go_deep_because_of_dt_are_named_once(dt, said):
    """40 mm deep, at a spacing of 25: with a short dt contact is as stiff as the bodies bear, and nothing is said. Damped it is implicit."""
    sim = two_balls("points", "points", distance=0.16, damping=0.0)
    notes = []
    for _ in range(5):
        notes += [text for text in sim.step(dt).warnings if "dt =" in text]
    assert len(set(notes)) == said and all("a and b" in text and f"dt = {dt:g}" in text for text in notes)


def test_deep_surfels_are_counted_and_noted_once_for_a_pair():
    sim, notes = two_balls("points", "points", distance=0.1), []
    for _ in range(2):
        notes += [text for text in sim.step().warnings if "three widths" in text]
    assert len(notes) > 1 and len(set(notes)) == 1 and "10 or more surfels of a and b" in notes[0]


@pytest.mark.parametrize("force", ["gap", "closest"])
def test_the_drawn_surfaces_meet(force):
    sim = two_balls("points", "points", mu=0.0, force=force)
    sim.step()
    shown = sim.report.shown
    points = sim.points() + shown[: len(sim.points())]
    moved = np.linalg.norm(shown[: len(points)], axis=1) > 0.0
    assert moved.sum() > 10
    assert np.abs(points[moved, 0] - 0.09).max() < 1e-3  # the middle between equal balls; undrawn they overlap by 20 mm


def test_options_are_checked():
    closest_only = ({"order": "published"}, {"scale": "rho"}, {"resample": True})
    given = (
        {"stiffness": -1.0}, {"stiffness": "hard"}, {"s": 0.0}, {"s": 5.0, "implicit": False}, {"implicit": "yes"}, {"sweeps": 0},
        {"damping": -0.1}, {"force": "none"}, {"substeps": 0},
    )  # fmt: skip
    for bad in (*given, *closest_only):
        with pytest.raises(PliantError):
            make_method("point-surface", bad)


def test_Q30_the_chain_of_masses():
    assert keiser.chain(3) == pytest.approx([-0.03788, 0.03937, 0.99851], abs=1e-4)
    assert keiser.chain(5) == pytest.approx([-0.03789, -0.01013, -0.00290, 0.05311, 0.99781], abs=1e-4)
    assert keiser.chain(3, 1.0) == pytest.approx([-0.13026, 0.15023, 0.98003], abs=1e-4)
    assert keiser.chain(3, 1.5) == pytest.approx([-0.07095, 0.07640, 0.99455], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("values", [{}, {"model": "points", "speed": 0.25, "dt": 0.002, "duration": 4.0}])
def test_Q30_cradle_keeps_energy_and_hits_the_chain(values):
    """Faceted point balls need more overlap than rigid ones, which are exact, to forget their facets."""
    sim = keiser.cradle(**values).simulate().run()
    assert keiser.expect_cradle(sim)


# -- implicit contacts


@pytest.mark.parametrize(("dt", "youngs_modulus"), [(2e-2, 1e4), (2e-2, 1e8), (1e-3, 1e8)])
def test_an_implicit_cube_is_carried_at_any_step_and_stiffness(dt, youngs_modulus):
    sim = pad_scene("point-surface", dt, youngs_modulus).simulate().run()
    contacts = sim.contacts("cube", "pad")
    assert contacts.total_force == pytest.approx([0, 0, 9.81], abs=0.02)
    assert -contacts.gap.min() < 0.002


def test_a_rigid_box_is_carried_at_20_ms_within_a_millimetre():
    scene = Scene(dt=0.02, contact="point-surface")
    scene.add(name="floor", shape="plane", model="static", friction=0.5)
    scene.add(name="box", shape={"kind": "box", "size": (0.1, 0.1, 0.1), "edge": 0.1}, model="rigid", position=(0, 0, 0.05), friction=0.5)
    sim = scene.simulate().run(until=0.6)
    contacts = sim.contacts("box", "floor")
    assert contacts.total_force == pytest.approx([0, 0, 9.81], abs=0.01)
    assert contacts.area.sum() == pytest.approx(0.01, rel=1e-9)  # surfels on edges count with what they show downwards
    assert sim.centre("box")[2] > 0.049


def test_two_balls_press_as_their_closed_form_says():
    """F = pi R (k / 2) d^2, R = R_a R_b / (R_a + R_b); surfels of a mesh of the same ball come near it."""
    def pushed(kind):
        scene = Scene(dt=1e-4, contact={"method": "point-surface", "stiffness": 2e8, "damping": 0.0}, gravity=(0, 0, 0))
        shape = {"kind": "ball", "radius": 0.1} if kind == "exact" else make("ball", radius=0.1, edge=0.01).surface()
        scene.add(name="a", shape=shape, model="rigid", position=(0, 0, 0))
        scene.add(name="b", shape=shape, model="rigid", position=(0.19, 0, 0))
        sim = scene.simulate()
        sim.step()
        return sim.contacts("b", "a").total_force[0]

    expected = np.pi * 0.05 * 1e8 * 0.01**2
    assert pushed("exact") == pytest.approx(expected, rel=1e-9)
    assert pushed("mesh") == pytest.approx(expected, rel=0.15)  # to first order in d / R, and the mesh is inside the ball


def test_friction_between_soft_bodies_turns_nothing():
    scene = Scene(dt=5e-4, contact="point-surface", gravity=(0, 0, 0))
    ball, soft = {"kind": "ball", "radius": 0.1, "edge": 0.05}, {"youngs_modulus": 5e4, "density": 500.0}
    shared = {"shape": ball, "material": soft, "integrator": "verlet", "friction": 0.5}
    scene.add(name="a", position=(-0.1, 0.02, 0.0), velocity=(1.0, 0.0, 0.0), **shared)
    scene.add(name="b", position=(0.1, -0.02, 0.01), velocity=(-0.2, 0.1, 0.0), **shared)
    sim = scene.simulate()
    start, rubbed = sim.books(), 0.0
    while sim.time < 0.15:
        rubbed += float(np.abs(sim.step().contacts.friction_impulse).sum())
    turned = np.linalg.norm(sim.books().angular_momentum - start.angular_momentum)
    assert rubbed > 0.0 and turned < 5e-4 * np.linalg.norm(start.momentum) * 0.1


# -- phyxels in their own body


def test_phyxels_that_were_no_neighbours_push_each_other_apart():
    scene = Scene(dt=1e-4, contact="point-surface", gravity=(0, 0, 0))
    shape = {"kind": "box", "size": (0.3, 0.06, 0.06), "edge": 0.02}
    scene.add(name="bar", shape=shape, model="points", spacing=0.02, material=SOFT)
    scene.pair("bar", "bar")
    sim = scene.simulate()
    own = np.array([0])
    phyxels = VolumePoints(sim.world.rest)
    assert len(phyxel_contacts(phyxels, sim.world.free_motion(1e-4).start, own)) == 0  # neighbours at rest are left alone
    x, rest = sim.world.state.x, sim.world.model.nodes.rest
    x[rest[:, 0] > 0.07] -= [0.2, 0.005, 0.0]  # one end into the other
    motion = sim.world.free_motion(1e-4)
    found = phyxel_contacts(phyxels, motion.start, own)
    far = np.linalg.norm(x[:, None] - x[None], axis=2)
    before = np.linalg.norm(rest[:, None] - rest[None], axis=2)
    near = np.triu((far < 0.8 * phyxels.spacing[0]) & (before > phyxels.support[0]), 1)
    assert len(found) == near.sum() > 0
    assert found.gap.min() == pytest.approx(far[near].min() - 0.8 * phyxels.spacing[0])
    sim.step()
    inner = sim.contacts("bar", "bar")
    assert len(inner) >= len(found)
    assert momenta(sim)[0] == pytest.approx([0, 0, 0], abs=1e-12)
    both = np.isin(inner.feature_a, found.one) & np.isin(inner.feature_b, found.two)
    assert (inner.impulse[both] > 0.0).all() and both.sum() == len(found)


def test_an_exact_ball_rests_as_deep_as_its_springs_say():
    """pi R k d^2 = M g, k = s M / (dt^2 A) of a patch A, a 64th of the cross-section pi R^2: d^2 = g dt^2 R / (64 s), s = 32."""
    scene, radius = Scene(dt=0.002, contact="point-surface"), 0.1
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", shape={"kind": "ball", "radius": radius, "edge": 0.05}, model="rigid", position=(0, 0, radius))
    sim = scene.simulate().run(until=0.06)
    assert sim.report.max_depth == pytest.approx(np.sqrt(9.81 * 0.002**2 * radius / (64.0 * 32.0)), rel=0.01)


def test_static_friction_of_what_slides_fades_over_a_fifth_of_a_metre_per_second():
    """mu_d + (mu_s - mu_d) exp(-1) at that speed."""
    scene, rough = Scene(dt=0.002, contact="point-surface"), {"friction": 0.3, "static_friction": 0.6}
    scene.add(name="ground", shape="plane", model="static", **rough)
    scene.add(name="box", shape={"kind": "box", "size": (0.2,) * 3, "edge": 0.1}, model="rigid", position=(0, 0, 0.1), velocity=(0.2, 0, 0), **rough)
    sim = scene.simulate()
    sim.step(), sim.step()
    touch = sim.contacts("box", "ground")
    assert -touch.friction_impulse[:, 0].sum() / touch.impulse.sum() == pytest.approx(0.3 + 0.3 * np.exp(-1.0), rel=0.05)
