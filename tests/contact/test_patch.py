"""The method `patch`: pressure, stacks, friction, mass ratios and impacts, at ordinary steps and with the same options throughout."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import Scene

G = 9.81
PATCH = "patch"
BOX = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.05)


def made(rigid: bool, youngs_modulus: float = 1e6, density: float = 1000.0, **more) -> dict:
    if rigid:
        return dict(model="rigid", material=dict(density=density), **more)
    return dict(integrator="implicit", material=dict(youngs_modulus=youngs_modulus, density=density, **more))


def turned(scene: Scene, rng: np.random.Generator) -> None:
    """Stack boxes turned at random about the vertical."""
    for i, body in enumerate(scene.bodies[1:]):
        body.position = (0.0, 0.0, 0.05 + 0.1 * i)
        body.rotation = (0.0, 0.0, float(rng.uniform(-20, 20)))


@pytest.mark.parametrize(("youngs_modulus", "dt"), [(1e4, 0.01), (1e6, 0.004), (1e9, 0.001)])
def test_a_block_at_rest_presses_with_its_weight_over_its_face(youngs_modulus, dt):
    scene = Scene(dt=dt, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static")
    damping = 5.0 if youngs_modulus < 1e6 else 0.0  # it rings for seconds otherwise
    material = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.0, mass_damping=damping)
    scene.add(name="block", shape=dict(BOX, edge=0.025), position=(0, 0, 0.05), integrator="implicit", material=material)
    contacts = scene.simulate().run(until=1.0 if damping else 0.2).contacts()
    assert contacts.total_force == pytest.approx([0, 0, G], rel=1e-3, abs=1e-4)
    spread = 0.01 * (1.0 + 2e3 / youngs_modulus)  # it widens under its weight
    assert contacts.total_area == pytest.approx(0.01, abs=spread * 0.01)
    assert np.abs(contacts.pressure / (100 * G) - 1.0).max() < 0.045 + spread  # as exact contact on linear elements, edge L/4


@pytest.mark.parametrize("rigid", [True, False])
def test_ten_boxes_stand(rigid):
    """dt = 5 ms: every interface carries what is above it, and the top does not move."""
    scene = Scene(dt=0.005, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    for i in range(10):
        scene.add(name=f"box{i}", shape=BOX, friction=0.5, **made(rigid, 1e8))
    turned(scene, np.random.default_rng(1))
    sim = scene.simulate().run(until=0.5)
    before = sim.centre("box9")
    sim.run(until=0.7)
    assert np.linalg.norm(sim.centre("box9") - before) < 1e-5
    for i in range(10):
        below = sim.contacts(f"box{i}", f"box{i - 1}" if i else "ground").total_force
        assert below == pytest.approx([0, 0, (10 - i) * G], rel=1e-3, abs=1e-2)


def test_soft_contact_gives_way_like_a_fortieth_of_an_element():
    scene = Scene(dt=0.004, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="block", shape=BOX, position=(0, 0, 0.05), integrator="implicit", material=dict(youngs_modulus=1e6, poisson_ratio=0.0))
    sim = scene.simulate().run(until=0.3)
    edge = 0.05 * (3 + 3 * 2**0.5) / 6  # about that of tetrahedra in cubes of 0.05 m
    assert sim.contacts().depth.mean() == pytest.approx(100 * G * edge / (40 * 1e6), rel=0.2)


def test_contact_gives_way_ten_times_as_far_along_the_surface():
    """Under a tenth of its weight sideways a block that sticks moves along the ground as far as it sinks into it (theory/patch 5)."""
    scene = Scene(dt=0.004, gravity=(0.1 * G, 0.0, -G), contact=PATCH)
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    scene.add(name="block", shape=BOX, position=(0, 0, 0.05), friction=0.5, **made(False, 1e6, poisson_ratio=0.0, stiffness_damping=0.01))
    sim = scene.simulate().run(until=0.3)
    bottom = sim.world.model.nodes.rest[:, 2] < 0.01
    assert sim.state.x[bottom, 0].mean() == pytest.approx(sim.contacts().depth.mean(), rel=0.3)


def test_a_cube_lands_on_its_edge_no_deeper_than_tips_let_it():
    """At 1 m/s, E = 1e5; 0.73 mm without tips, the golden number of this one (theory/patch 3.9)."""
    scene = Scene(dt=0.004, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", shape=BOX, position=(0, 0, 0.072), rotation=(45, 0, 0), velocity=(0, 0, -1.0), **made(False, 1e5))
    sim, lowest = scene.simulate(), 0.0
    while sim.time < 0.1:
        sim.step()
        lowest = min(lowest, sim.state.x[:, 2].min())
    assert lowest == pytest.approx(-1.20e-4, rel=0.1)


def test_an_edge_slides_along_another_without_friction():
    """Two crossing edges part along what is normal to both; pushed along the normals of their faces they held each other back by 0.17."""
    scene = Scene(dt=0.001, gravity=(0, 0, 0), contact=PATCH)
    beam = dict(kind="box", size=(0.2, 0.06, 0.06), edge=0.05)
    high = 0.06 * 2**-0.5
    scene.add(name="low", shape=beam, position=(0, 0, -high), rotation=(45, 0, 0), friction=0.0, **made(False, 1e6))
    across = Rotation.from_euler("xz", [45, 90], degrees=True).as_rotvec(degrees=True)
    moves = dict(position=(-0.02, 0.003, high + 1e-4), rotation=tuple(across), velocity=(0.5, 0.07, -0.15))
    scene.add(name="top", shape=beam, **moves, friction=0.0, **made(False, 1e7))
    sim, impulse = scene.simulate(), np.zeros(3)
    while sim.time < 0.03:
        sim.step()
        impulse += sim.dt * sim.contacts("top", "low").total_force
    assert impulse[2] > 0.03 and np.hypot(impulse[0], impulse[1]) < 0.02 * impulse[2]


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_explicit_bodies_turn_each_other_by_as_much(friction):
    """Angular momentum of two that hit each other askew stays; 5e-3 of m v R were lost (theory/patch 4.6)."""
    scene = Scene(dt=5e-4, gravity=(0, 0, 0), contact=PATCH)
    soft = dict(shape=dict(kind="ball", radius=0.1, edge=0.1), integrator="verlet", friction=friction)
    for name, way in (("left", 1.0), ("right", -0.5)):
        place, moves = (-0.1 * np.sign(way), -0.03 * way, 0.0), (way, 0.3 * way, 0.1)
        scene.add(name=name, position=place, velocity=moves, **soft, material=dict(youngs_modulus=5e4, poisson_ratio=0.3))
    sim = scene.simulate()
    start, touched = sim.books(), 0
    while sim.time < 0.06:
        touched += len(sim.step().contacts)
    assert touched > 0
    assert np.linalg.norm(sim.books().angular_momentum - start.angular_momentum) < 1e-6 * 0.1 * np.linalg.norm(start.momentum)


def test_heavy_stands_on_light():
    scene = Scene(dt=0.004, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="light", shape=BOX, position=(0, 0, 0.05), **made(False, 1e6, 5.0))
    scene.add(name="heavy", shape=BOX, position=(0, 0, 0.15), **made(False, 1e6, 5000.0))
    sim = scene.simulate().run(until=0.5)
    assert sim.contacts("heavy", "light").total_force[2] == pytest.approx(5 * G, rel=1e-3)
    assert sim.report.max_depth < 2e-4


def test_heavy_stands_on_light_where_both_are_rigid():
    """A thousand times as heavy, at 4 ms: both sides of the light one give way by 1000 g dt^2 / RIGID."""
    scene = Scene(dt=0.004, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="light", shape=BOX, position=(0, 0, 0.05), **made(True, density=5.0))
    scene.add(name="heavy", shape=BOX, position=(0, 0, 0.15), **made(True, density=5000.0))
    sim = scene.simulate().run(until=0.5)
    assert 0.15 - sim.centre("heavy")[2] == pytest.approx(2 * 1000 * G * 0.004**2 / 2000, rel=0.01)


@pytest.mark.parametrize("turn", [(0, 0, 0), (30, 40, 0)])
def test_what_begins_a_little_in_a_plane_is_stopped_by_it(turn):
    """Explicit, with nothing lent: all of the impulse would throw it back, none of it lets it fall through (theory/patch 4.6)."""
    scene = Scene(dt=4e-3, contact="patch")
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=1e4, poisson_ratio=0.3, density=5000.0)
    scene.add(name="cube", shape=dict(kind="box", size=(0.06,) * 3, edge=0.02), rotation=turn, material=soft, integrator="symplectic")
    low = scene.simulate().points("cube")[:, 2].min()
    sim = scene.with_({"cube.position": (0, 0, -low - 5e-5)}).simulate()
    for _ in range(50):
        sim.step()
        assert sim.points("cube")[:, 2].min() > -0.005, "a quarter of an element"
    account = sim.books().pairs[0]
    assert account.normal + account.friction < 0.0 and np.linalg.norm(sim.contacts("cube", "ground").total_force) > 0.0


def test_a_box_that_is_nearly_pushed_over_its_friction_does_not_creep():
    """It lies on a part of its side: rows on the line where that opens must not rock it, as each corner is at its own limit (theory 3.7)."""
    scene = Scene(dt=0.01, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static", friction=0.5)
    push = dict(kind="force", value=dict(times=[0.0, 0.2], values=[[0, 0, 0], [0.98 * 0.5 * G, 0, 0]]))
    scene.add(name="box", shape=dict(kind="box", size=(0.1,) * 3), position=(0, 0, 0.05), model="rigid", friction=0.5, loads=[push])
    sim = scene.simulate()
    sim.run(until=1.0)
    start, ways = sim.centre("box")[0], []
    for _ in range(100):
        sim.step()
        ways.append(sim.centre("box")[2])
    assert abs(sim.centre("box")[0] - start) < 0.3e-6 and np.std(ways) < 1e-8  # 3.3 um and 2.5e-8 m with two parts, open and closed


def test_a_step_that_is_not_solved_is_divided_and_told(monkeypatch):
    scene = Scene(dt=0.004, contact=PATCH)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="box", shape=BOX, position=(0, 0, 0.05), **made(True))
    monkeypatch.setattr("pliant.contact.patch.method.UNSOLVED", -1.0)
    sim, taken, told = scene.simulate(), [], []
    sim.step(each=lambda report: (taken.append(report.dt), told.extend(report.warnings)))
    assert taken[0] == pytest.approx(0.004 / 16) and sum(taken) == pytest.approx(0.004)
    assert min(taken[:-1]) > 0.004 / 32
    assert sum("steps are divided" in text for text in told) >= len(taken) - 1
    assert sum("solved only to" in text for text in told) == len(taken)
    assert sim.contacts("box", "ground").total_force[2] == pytest.approx(G, rel=1e-3)


def test_what_soft_boxes_share_is_touched_whole():
    """Faces of one lie across those of the other, which bend a little: what stays open by no more than they bend is touched."""
    scene = Scene(dt=0.005, contact=PATCH)
    soft = dict(integrator="implicit", material=dict(youngs_modulus=1e5, mass_damping=5.0))
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="block", shape=dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.04), position=(0, 0, 0.05), **soft)
    scene.add(name="box", shape=dict(BOX, edge=0.033), position=(0.01, -0.02, 0.15), rotation=(0, 0, 17), **soft)
    contacts = scene.simulate().run(until=1.0).contacts("box", "block")
    assert contacts.total_force[2] == pytest.approx(G, rel=1e-3)
    assert contacts.total_area == pytest.approx(0.01, rel=0.005)


@pytest.mark.parametrize("rigid", [True, False])
def test_a_block_on_a_slope_holds_or_slides_as_coulomb_says(rigid):
    """At 1.01 tan it does not creep, at 0.5 tan it slides as it should."""
    angle = np.radians(20)
    for factor in (1.01, 0.5):
        mu = factor * np.tan(angle)
        scene = Scene(dt=0.004, contact=PATCH, gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
        scene.add(name="ground", shape="plane", model="static", friction=mu)
        scene.add(name="block", shape=BOX, position=(0, 0, 0.05), friction=mu, **made(rigid))
        sim = scene.simulate().run(until=0.6)
        x = sim.centre("block")[0]
        sim.run(until=0.8)
        moved = sim.centre("block")[0] - x
        acceleration = max(0.0, G * (np.sin(angle) - mu * np.cos(angle)))
        wanted = 0.5 * acceleration * (0.8 * 0.804 - 0.6 * 0.604)  # with the half step of the scheme
        assert moved == pytest.approx(wanted, rel=5e-3, abs=1e-7)


def test_momentum_changes_by_the_impulses_and_no_contact_pulls():
    scene = Scene(dt=0.002, contact=PATCH, gravity=(0, 0, 0))
    scene.add(name="a", shape=dict(BOX, edge=0.025), velocity=(1.0, 0.2, 0), angular_velocity=(1, 2, 3), **made(False, 1e5))
    scene.add(name="b", shape=BOX, position=(0.11, 0.03, 0.02), **made(True))
    sim = scene.simulate()
    for _ in range(40):
        report = sim.step()
        assert report.balance.error < 1e-9
        assert (report.contacts.impulse >= 0.0).all()
        # the loads that limit friction are renewed until they change by less than this share of the largest
        limit = 0.3 * (report.contacts.impulse + 1e-3 * report.contacts.impulse.max(initial=0.0)) + 1e-12
        assert (np.linalg.norm(report.contacts.friction_impulse, axis=1) <= limit).all()


def test_what_a_slab_shares_with_a_table_is_told_where_it_sticks_and_not_where_it_would_have_slid():
    """It lies on the rim and has 0.1 m/s along the table, which one step of 10 ms takes from it: 1 mm, 1.2 % of what it shares."""
    scene = Scene(dt=0.01, contact=PATCH)
    scene.add(name="table", shape=dict(kind="box", size=(0.4, 0.4, 0.1), edge=0.05), position=(-0.2, 0, -0.05), model="static", friction=5.0)
    slab = dict(kind="box", size=(0.1, 0.1, 0.004), edge=0.05)  # thicker it would tilt, and its rear end open, as friction pulls at its foot
    scene.add(name="slab", shape=slab, position=(-0.03, 0, 0.002), velocity=(0.1, 0, -0.02), friction=5.0, **made(True))
    sim = scene.simulate()
    told = sim.step().contacts
    over = -sim.points("slab")[:, 0].min()
    assert told.total_area == pytest.approx(0.1 * over, rel=1e-3)
