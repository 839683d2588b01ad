"""Impacts of quasi-rigid bodies without friction and damping: energy comes back, never more than there was; momentum is balanced."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.elastic.side import Side
from pliant.contact.quasi_rigid.contact_rows import ContactRows, gradients
from pliant.contact.quasi_rigid.energy_account import Account, limited
from pliant.detect.surfels.surface import PointSurface
from pliant.simulate.step import step
from pliant.world.motion import Rows

SHAPES = {"ball": dict(kind="ball", radius=0.25), "bust": dict(kind="bust", height=0.6)}
FLOOR = {"plane": dict(shape="plane"), "wavy": dict(shape=dict(kind="room", size=2.5, wavy_floor=True), position=(0, 0, -0.2))}


def thrown(kind, dt, wall="plane", soft=False, youngs=1e7, above=0.6, velocity=(1.0, 0.5, -3.0), spin=(2, -3, 1), **contact):
    scene = Scene(dt=dt, gravity=(0, 0, 0), contact=dict(method="quasi-rigid", **contact))
    material = dict(youngs_modulus=youngs, poisson_ratio=0.4, density=300.0)
    held = dict(model="quasi-rigid", material=material, spacing=0.06, motions=[dict()]) if soft else dict(model="static")
    scene.add(name="wall", friction=0.0, **FLOOR[wall], **held)
    scene.add(
        name="body", shape=SHAPES[kind], model="quasi-rigid", spacing=0.025, material=material, friction=0.0, position=(0, 0, above),
        rotation=(30, 60, 0), velocity=velocity, angular_velocity=spin,
    )  # fmt: skip
    return scene


def lowered(kind, gap):
    """Height at which the lowest point of a thrown body is this far above z = 0."""
    return 0.6 + gap - float(thrown(kind, 0.01).simulate().points("body")[:, 2].min())


def impact(scene, until):
    """(most and last energy after it over that before, parts of the impulse that momentum misses)."""
    sim = scene.simulate()
    mass, v, before = float(sim.world.model.frames.mass[1]), sim.state.velocity[1].copy(), sim.books().kinetic
    impulse, touched, most = np.zeros(3), 0, 0.0
    while sim.time < until:
        report = step(sim.world, sim.contact, sim.dt)
        contacts = report.contacts.between(1, 0)
        if len(contacts):
            impulse, touched = impulse + report.dt * contacts.total_force, touched + 1
        elif touched:
            most = max(most, sim.books().kinetic / before)
    assert touched > 0 and most > 0.0, "it never touched, or never left"
    missed = np.abs(mass * (sim.state.velocity[1] - v) - impulse).max() / np.linalg.norm(impulse)
    return max(most, sim.books().kinetic / before), sim.books().kinetic / before, float(missed)


@pytest.mark.parametrize("kind", ["ball", "bust"])
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 5e-3, 2e-2])
def test_an_impact_on_a_plane_returns_the_energy_at_any_step(kind, dt):
    """Smooth and rough; a half-space loses nothing, so nearly all of it comes back whatever dt is."""
    most, after, missed = impact(thrown(kind, dt, above=lowered(kind, 1e-3)), 0.035)
    assert most <= 1.002
    assert after == pytest.approx(1.0, abs=2e-3)
    assert missed < 1e-12


@pytest.mark.parametrize(
    "kind, dt, soft, until",
    [
        ("bust", 0.01, False, 0.2),
        *(pytest.param(k, dt, soft, 0.6, marks=pytest.mark.slow) for k in ("ball", "bust") for dt in (1e-3, 2e-2) for soft in (False, True)),
    ],
)
def test_an_impact_on_a_rough_sampled_wall_never_gains_energy(kind, dt, soft, until):
    """Samples of the wall are six times coarser than those of the body; impacts follow each other, and corners are hit."""
    most, after, missed = impact(thrown(kind, dt, "wavy", soft, youngs=1e6), until)
    assert most <= 1.01
    assert after > 0.97
    assert missed < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("walls", ["hard", "soft"])
@pytest.mark.parametrize("dt", [0.02, 0.01, 0.005, 0.001])
def test_a_head_in_a_room_gains_no_energy_at_any_step(walls, dt):
    """It gained 65 % at 10 ms while overlaps were looked for less than a spacing deep, and forces did not follow distances."""
    from pliant.shop.scenes.pauly import head_in_room as make

    scene = make(walls=walls, damping=0.0, dt=dt)
    sim = scene.simulate()
    sim.step()
    start = most = sim.books().start
    while sim.time < 1.0:
        sim.step()
        most = max(most, sim.books().total)
    assert most <= 1.01 * start


def test_a_body_that_came_and_went_within_a_step_is_pushed_as_with_short_ones():
    """A ball grazes a hard one and is past it when the step ends: that was taken for a contact that had given all its energy back."""
    after = []
    for dt in (0.1, 0.002):
        scene = Scene(dt=dt, gravity=(0, 0, 0), contact="quasi-rigid")
        scene.add(name="post", shape=dict(kind="ball", radius=0.25), model="static", friction=0.0)
        scene.add(name="ball", shape=dict(kind="ball", radius=0.25), model="quasi-rigid", spacing=0.03, friction=0.0, position=(-0.22, 0, 0.47),
                  velocity=(3.0, 0, 0), material=dict(youngs_modulus=1e6, poisson_ratio=0.4, density=300.0))  # fmt: skip
        sim = scene.simulate()
        while sim.time < 0.2:
            step(sim.world, sim.contact, sim.dt)
        after.append(sim.state.velocity[1].copy())
    assert after[1][2] > 0.8
    assert after[0] == pytest.approx(after[1], abs=0.02 * 3.0)


def test_implicit_steps_lose_energy_and_less_with_shorter_ones():
    """Backward Euler: never a gain, and towards the elastic impact as dt shrinks; with the longest the ball leaves slowly."""
    found = [impact(thrown("ball", dt, above=0.251, youngs=1e6, integration="implicit"), 0.3)[:2] for dt in (0.02, 5e-3, 1e-3)]
    after = [last for _, last in found]
    assert max(most for most, _ in found) <= 1.0
    assert after[0] < after[1] < after[2] and after[2] > 0.75


def test_steps_converge_in_first_order_within_an_impact():
    """Height of a ball while it is thrown back, with whole, half and quarter steps, all of them shorter than the contact asks for."""
    mass, hard = 300.0 * 4 / 3 * math.pi * 0.25**3, 1e6 / (1 - 0.4**2)
    depth = (15 * mass * 9.0 / (16 * hard * 0.5)) ** 0.4
    lasts = 2.9433 * depth / 3.0
    heights = []
    for parts in (100, 200, 400):
        sim = thrown("ball", lasts / parts, youngs=1e6, above=0.25 - 0.1 * depth, velocity=(0, 0, -3.0), spin=(0, 0, 0)).simulate()
        for _ in range(int(0.6 * parts)):
            assert step(sim.world, sim.contact, sim.dt).dt == sim.dt
        heights.append(float(sim.centre("body")[2]))
    order = math.log2(abs(heights[0] - heights[1]) / abs(heights[1] - heights[2]))
    assert order > 0.9
    assert abs(heights[2] - heights[1]) < 0.01 * depth


def test_directions_are_gradients_of_the_distance():
    """Of coarse samples, where the normals of feet are not."""
    rng = np.random.default_rng(3)
    x, y = (0.1 * (g + 0.2 * rng.random(g.shape)) for g in np.meshgrid(np.arange(-12, 13.0), np.arange(-12, 13.0)))
    z, k, a = 0.06 * np.cos(2 * np.pi * x) * np.cos(2 * np.pi * y), 2 * np.pi, 0.06
    slope = np.stack([a * k * np.sin(k * x) * np.cos(k * y), a * k * np.cos(k * x) * np.sin(k * y), np.ones_like(x)], axis=-1).reshape(-1, 3)
    normals = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    side = Side(PointSurface(np.stack([x, y, z], axis=-1).reshape(-1, 3), normals, 0.01 / normals[:, 2]))
    at = np.column_stack([rng.uniform(-0.5, 0.5, (200, 2)), np.zeros(200)])
    feet = side.project(at)
    at = feet.points - 0.01 * feet.normals
    found, feet = gradients(side, at), side.project(at)
    h = 1e-4
    wanted = np.stack([(side.project(at + h * e).distance - side.project(at - h * e).distance) / (2 * h) for e in np.eye(3)], axis=1)
    wrong, plain = (np.linalg.norm(d - wanted, axis=1) for d in (found, feet.normals))
    assert np.median(wrong) < 0.2 * np.median(plain)
    assert np.median(plain) > 0.02  # else there is nothing to correct
    many = np.column_stack([rng.uniform(-0.5, 0.5, (2000, 2)), np.zeros(2000)])
    many = side.project(many).points - 0.01 * side.project(many).normals
    astray = np.linalg.norm(gradients(side, many) - side.project(many).normals, axis=1)
    assert astray.max() < 0.2  # where distances jump, a difference over less than a twentieth of the spacing leads away


def test_a_contact_that_gave_back_what_it_took_has_two_thousandths_left():
    """Of the most that it ever held, while bodies part; while they approach forces are as they are."""
    rows = Rows.dense(np.zeros((1, 2), np.int64), np.zeros((1, 2)), np.array([[0.0, 0.0, 1.0]]), np.zeros((1, 3)))
    touch, one = SimpleNamespace(soft=lambda motion: False), np.ones(1)
    patch = ContactRows([touch], [np.arange(1)], rows, one, one, one, force=2.0 * one, gap=-one, area=one)  # 1 J
    for speed, left in ((0.1, 0.002), (-0.1, 1.0)):
        motion = SimpleNamespace(row_velocity=lambda rows, start, speed=speed: np.array([[0.0, 0.0, speed]]))
        assert limited(motion, patch, [Account(took=0.0, most=1.0)])[0].force == pytest.approx([2.0 * left])
