"""Contact of point surfaces makes no energy: random collisions, parts that overlap, what is torn, and what a resumed run recalls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import Scene
from pliant.contact.point_surface.energy_account import HALF
from pliant.simulate.simulation import Simulation

SHAPES = (
    {"kind": "ball", "radius": 0.1, "edge": 0.03},
    {"kind": "bust", "height": 0.3, "edge": 0.02},
    {"kind": "bunny", "height": 0.2, "edge": 0.015},
    {"kind": "torus", "major": 0.1, "minor": 0.04, "edge": 0.025},
    {"kind": "box", "size": (0.2, 0.15, 0.1), "edge": 0.03},
    {"kind": "ellipsoid", "radii": (0.15, 0.1, 0.07), "edge": 0.03},
)
SEEDS = [seed for seed in range(21) if seed != 2]  # number 2 flies past
QUICK = (0, 19)  # collisions that ended with 1.010 and 2.25 of their energy before there was an account; of number 8 it was 2.76


def collision(seed: int, **options: object) -> Scene:
    """Two soft bodies of random shape, spacing, speed and dt that fly and spin at each other somewhere in space."""
    r, turn = np.random.default_rng(seed), Rotation.random(random_state=seed)
    dt, speed, modulus = (float(10 ** r.uniform(*span)) for span in ((-3.7, -3.0), (-0.7, 0.7), (4.3, 5.7)))
    contact = {"method": "point-surface", "damping": 0.0, **options}
    scene = Scene(dt=dt, gravity=(0, 0, 0), contact=contact, duration=min(0.6 / speed, 600 * dt))
    for k, x in enumerate((-0.14, 0.14)):
        shape = SHAPES[r.integers(6)]
        shape = {**shape, "edge": shape["edge"] * r.uniform(0.7, 1.04 if shape["kind"] == "bunny" else 1.6)}
        place = turn.apply([x * (1.3 if shape["kind"] == "bust" else 1.0), *r.uniform(-0.05, 0.05, 2)])
        scene.add(
            name=f"body {k}", shape=shape, model="points", spacing=float(r.uniform(0.025, 0.04)), position=tuple(place),
            rotation=tuple(np.degrees(Rotation.random(random_state=100 * seed + k).as_rotvec())),
            velocity=tuple(turn.apply([-np.sign(x) * speed, 0, 0])), angular_velocity=tuple(r.uniform(-2, 2, 3)),
            friction=float(r.choice([0.0, 0.3])), material={"youngs_modulus": modulus, "density": 1000.0},
        )  # fmt: skip
    return scene


def most_energy(scene: Scene) -> tuple[float, float]:
    """The most kinetic and elastic energy over that of the start, and what normal contact ended with over it."""
    sim = scene.simulate()
    start, most = sim.books(), 0.0
    energy = start.kinetic + start.elastic
    while sim.time < scene.duration - 1e-9:
        sim.step()
        now = sim.books()
        most = max(most, (now.kinetic + now.elastic) / energy)
    assert now.pairs, "they never met"
    return most, sum(pair.normal for pair in now.pairs) / energy


@pytest.mark.parametrize("seed", [pytest.param(s, marks=() if s in QUICK else pytest.mark.slow) for s in SEEDS])
def test_a_collision_never_has_more_energy_than_it_began_with(seed):
    most, normal = most_energy(collision(seed))
    assert most < 1.01
    assert normal < 1e-4  # the account is kept to the step; what is below zero was lost, and the books tell it


@pytest.mark.slow
@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_nor_with_springs_between_closest_surfels_however_they_are_sampled(seed, resample):
    """Resampled numbers 0, 3, 4, 6 and 7 ended with 2.10, 1.72, 1.05, 5.66 and 1.05 of their energy."""
    most, normal = most_energy(collision(seed, force="closest", resample=resample))
    assert most < 1.01 and normal < 1e-4


def overlapping(position: float) -> Scene:
    scene = Scene(dt=5e-4, gravity=(0, 0, 0), contact={"method": "point-surface", "damping": 0.0}, duration=0.05)
    for name, x in (("a", 0.0), ("b", position)):
        ball = {"kind": "ball", "radius": 0.1, "edge": 0.03}
        scene.add(name=name, shape=ball, model="points", spacing=0.04, position=(x, 0, 0), material={"youngs_modulus": 1e5})
    return scene


def test_what_overlaps_when_a_run_begins_has_the_energy_of_its_springs_and_what_begins_later_has_none():
    """Two balls 20 mm in each other, at rest: at the start of a run they fly apart; put there in a run they have taken nothing yet."""
    given, put = overlapping(0.18).simulate(), overlapping(0.3).simulate()
    put.step()
    put.state.x[put.nodes("b"), 0] -= 0.12
    for sim in (given, put):
        sim.run(until=0.05)
    assert given.books().kinetic > 1e-3
    assert put.books().kinetic < 1e-9 * given.books().kinetic


def test_the_account_is_in_the_state_and_is_that_of_bodies_of_the_scene():
    sim = collision(0).simulate()
    while "took" not in sim.state.memory.get("point-surface", {}):
        sim.step()
    for _ in range(5):
        sim.step()
    memory, books = sim.state.memory["point-surface"], sim.books()
    assert memory["pair"].tolist() == [0 << HALF | 1]
    assert memory["took"][0] == pytest.approx(-books.pairs[0].normal, rel=1e-6) and memory["took"][0] > 0.0


def sunk(boxes: int, **options: object) -> Simulation:
    """Rigid boxes of 1 kg on each other, put 2 mm into the ground and into each other in a run: nothing of this has been paid for."""
    scene = Scene(dt=1e-3, contact={"method": "point-surface", "damping": 0.5, "implicit": False, **options})
    scene.add(name="ground", shape="plane", model="static")
    for k in range(boxes):
        box = {"kind": "box", "size": (0.1, 0.1, 0.1), "edge": 0.05}
        scene.add(name=f"box {k}", shape=box, model="rigid", position=(0.005 * k, 0, 0.0501 + 0.1001 * k))
    sim = scene.simulate()
    sim.step()  # what overlaps where a run begins has paid
    sim.state.position[1:, 2] -= 0.002 * np.arange(1, boxes + 1)
    sim.state.velocity[1:, 2] = -0.5 * 9.81 * sim.dt
    return sim


@pytest.mark.parametrize("options", [{}, {"damping": 0.05}, {"force": "closest"}])
def test_a_body_on_springs_that_hold_more_than_it_paid_for_rests(options):
    """What the first half of a step took was given back by the next one: pushed by 2 and 0 weights in turn, off by 20 % after 0.2 s (67 %
    with little damping, 100 % as published)."""
    sim, pushed, energy = sunk(1, **options), [], []
    for _ in range(30):
        sim.step()
        pushed.append(float(sim.contacts("box 0", "ground").total_force[2]))
        energy.append(sim.books().total)
    assert np.array(pushed[3:]) == pytest.approx(9.81, rel=0.05 if options.get("force") else 1e-9)
    assert np.diff(energy).max() < 1e-12 and sim.state.memory["point-surface"]["took"][0] < 1e-6  # it still has paid for nothing


def test_bodies_on_each_other_afford_what_the_others_leave_them():
    """Each as if the others took back as much as it does itself, they gained 9 mJ, and the ground pushed by 0 and 2 weights for ever."""
    sim, pushed = sunk(2), []
    before = sim.books().total
    for _ in range(60):
        sim.step()
        pushed.append(float(sim.contacts("box 0", "ground").total_force[2]))
        assert sim.books().total < before + 1e-9
    assert np.array(pushed[-20:]) == pytest.approx(2.0 * 9.81, rel=0.02)


# -- phyxels that go where their skin is stopped


HARD = [  # shape, height of its middle [m], spacing [m], speed [m/s], creep time [s]
    ({"kind": "ball", "radius": 0.1, "edge": 0.04}, 0.105, 0.033, 2.0, 0.01),
    pytest.param({"kind": "ball", "radius": 0.1, "edge": 0.03}, 0.105, 0.025, 4.0, 0.0, marks=pytest.mark.slow),
    pytest.param({"kind": "box", "size": (0.2, 0.15, 0.1), "edge": 0.03}, 0.06, 0.028, 3.0, 0.0, marks=pytest.mark.slow),
    pytest.param({"kind": "bunny", "height": 0.2, "edge": 0.015}, 0.01, 0.025, 4.0, 0.005, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("shape", "height", "spacing", "speed", "creep"), HARD)
def test_what_flows_keeps_its_volume_stays_above_the_ground_and_behind_its_skin(shape, height, spacing, speed, creep):
    """Plastic bodies that are thrown at the ground. Phyxels of the ball at 2 m/s were below the ground, and its skin inside out; at 4 m/s
    phyxels kept 0.66 of their volume, and the skin was up to 22 % away from that."""
    scene = Scene(dt=1e-3, duration=0.3, contact="point-surface")
    scene.add(name="ground", shape="plane", model="static", friction=0.3)
    material = {"youngs_modulus": 5e4, "density": 1000.0, "yield_strain": 0.02, "creep_time": creep}
    scene.add(
        name="body", shape=shape, model="points", spacing=spacing, position=(0, 0, height), velocity=(0, 0, -speed), material=material
    )
    sim, apart, rooms = scene.simulate(), 0.0, []
    before = skin_volume(sim)
    while sim.time < 0.3 - 1e-9:
        sim.step()
        (group,) = sim.world.model.groups  # of all parts: what is thrown so hard can come apart
        room = float((group.stretch(sim.state.x) * group.whole).sum() / group.whole.sum())
        apart = max(apart, abs(skin_volume(sim) / before - room))
        rooms.append(room)
    assert sim.state.x[:, 2].min() > -0.1 * spacing
    assert apart < 0.02
    assert np.abs(np.array(rooms[-20:]) - 1.0).max() < 0.02  # in all of a swing: what has bounced off swells and shrinks, the bunny in 16 ms


def skin_volume(sim) -> float:
    """Of all bodies together [m^3]."""
    a, b, c = (sim.points()[sim.world.model.skin.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize("leaves", ["yield_strain", "tear_strain"])
def test_a_phyxel_in_another_body_is_seen_wherever_its_own_skin_is(leaves):
    """One that had left its skin by more than the reach of this was not seen, and went on below the ground; of a brittle body none was:
    crumbs of a ring that a wedge broke hung 115 mm below the ground until they parted from it."""
    scene = Scene(dt=5e-4, gravity=(0, 0, 0), contact="point-surface")
    scene.add(name="ground", shape="plane", model="static")
    ball = {"kind": "ball", "radius": 0.1, "edge": 0.04}
    scene.add(name="clay", shape=ball, model="points", spacing=0.033, position=(0, 0, 0.15), material={"youngs_modulus": 5e4, leaves: 0.02})
    sim = scene.simulate()
    lowest = int(np.argmin(sim.state.x[:, 2]))
    sim.state.x[lowest] = 0.5, 0.0, -0.03
    touch = sim.step().contacts
    point = sim.world.model.bodies.point_start[1] + sim.world.model.bodies.surface[1] + lowest
    assert point in touch.feature_a


def test_phyxels_of_an_elastic_body_leave_contact_to_their_skin():
    scene = Scene(dt=5e-4, contact="point-surface")
    scene.add(name="ground", shape="plane", model="static")
    ball = {"kind": "ball", "radius": 0.1, "edge": 0.04}
    scene.add(name="ball", shape=ball, model="points", spacing=0.033, position=(0, 0, 0.1), velocity=(0, 0, -0.5), material={"youngs_modulus": 5e4})
    sim, most = scene.simulate(), 0
    for _ in range(60):
        touch = sim.step().contacts
        most = max(most, len(touch))
        assert (touch.feature_a < sim.world.model.bodies.point_start[1] + sim.world.model.bodies.surface[1]).all()
    assert most > 5
