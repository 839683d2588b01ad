"""Nothing passes within a step, under any method: marbles, sheets and rods, exact and as triangles, rigid and soft."""

import numpy as np
import pytest

from pliant import Scene, detect
from pliant.contact import passing
from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer
from pliant.contact.passing import DEEP
from pliant.contact.patch.method import Patch
from pliant.geometry.quaternions import product, quaternion_to_matrix, rotation_vector_to_quaternion
from pliant.geometry.shapes import make
from pliant.record.snapshot import freeze, thaw
from pliant.simulate import running

METHODS = ["penalty", "continuous-penalty", "ground", "noniterative"]
SOFT = dict(youngs_modulus=1e8, density=1000.0)


class Watch:
    """Whether places go through faces of a body, in any part of any step; how deep contacts get; which steps are cut."""

    def __init__(self, sim, places, body):
        self.sim, self.places, self.body = sim, places, body
        self.before, self.through, self.deepest, self.cuts, self.parts = self.now(), False, 0.0, [], 0

    def now(self):
        return self.places(self.sim), self.sim.points(self.body)

    def __call__(self, report):
        (p, x), (q, y), faces = self.before, self.now(), self.sim.faces(self.body)
        for one, other in zip(p, q, strict=True):
            start, end = ([np.concatenate([np.tile(place, (len(faces), 1, 1)), at[faces]], axis=1) for place, at in ((one, x), (other, y))])
            self.through |= bool(np.isfinite(detect.vertex_face_toi(start, end)).any())
        self.before, self.parts, self.deepest = (q, y), self.parts + 1, max(self.deepest, report.max_depth)
        self.cuts += [report.cut] if report.cut else []


def centre(sim):
    return sim.centre("marble")[None]


def marble(radius, mesh):
    return make("ball", radius=radius, edge=0.4 * radius).tets if mesh else dict(kind="ball", radius=radius)


def thrown(method, speed, mesh=False, soft=False, moving=False, dt=0.005, turn=(20.0, -35.0, 50.0)):
    """A marble at a sheet of a millimetre, all of it turned."""
    Q = quaternion_to_matrix(rotation_vector_to_quaternion(np.radians(turn)))
    place = lambda *u: tuple(Q @ np.array(u, float))
    scene = Scene(dt=dt, contact=method, gravity=(0, 0, 0))
    own = 0.3 * speed if moving else 0.0
    body = dict(model="fem", integrator="implicit", material=SOFT) if soft else dict(model="rigid" if moving else "static")
    shape = dict(kind="box", size=(0.1, 0.1, 0.001), **(dict(edge=0.01) if soft else {}))
    scene.add(name="sheet", shape=shape, rotation=turn, **body, **(dict(velocity=place(0, 0, own)) if moving else {}))
    away = 0.0085 + 1.37 * dt * speed
    scene.add(name="marble", shape=marble(0.008, mesh), model="rigid", position=place(0.0013, 0.0021, away), velocity=place(0, 0, own - speed))
    return scene


def spinning(method, kind, mesh, rate):
    """A rod of half a metre spins towards a thin post."""
    shape = dict(kind="box", size=(0.01, 0.01, 0.5)) if kind == "box" else dict(kind="capsule", radius=0.005, length=0.49)
    if mesh:
        shape = make(**shape, edge=0.02 if kind == "box" else 0.006).tets
    scene = Scene(dt=0.004, contact=method, gravity=(0, 0, 0))
    scene.add(name="rod", shape=shape, model="rigid", angular_velocity=(0, rate, 0))
    scene.add(name="post", shape=dict(kind="box", size=(0.005, 0.3, 0.02)), model="static", position=(0.1, 0, 0.2))
    return scene


def axis(sim):
    """Places along the rod, which lies along z at the start."""
    position, rotation = sim.pose("rod")
    first = sim.given_rotation if hasattr(sim, "given_rotation") else rotation
    sim.given_rotation = first
    turned = quaternion_to_matrix(product(rotation, first * [1, -1, -1, -1]))
    return position + np.linspace(-0.24, 0.24, 9)[:, None] * turned[:, 2]


def run(scene, places, body, steps):
    sim = scene.simulate()
    watch = Watch(sim, places, body)
    for _ in range(steps):
        sim.step(each=watch)
    return sim, watch


@pytest.mark.parametrize("method, mesh", [*((method, False) for method in [*METHODS, "patch"]), ("penalty", True), ("ground", True)])
def test_a_marble_of_five_centimetres_at_a_wall_of_ten(method, mesh):
    scene = Scene(dt=0.004, contact=method, gravity=(0, 0, 0))
    scene.add(name="wall", shape=dict(kind="box", size=(0.1, 1, 1)), model="static")
    scene.add(name="marble", shape=marble(0.025, mesh), model="rigid", position=(-0.3, 0.013, 0.021), velocity=(50, 0, 0))
    sim, watch = run(scene, centre, "wall", 4)
    assert not watch.through and sim.centre("marble")[0] < -0.05 and watch.deepest < 0.05
    assert sim.state.velocity[-1][0] < 5.0


@pytest.mark.parametrize("method", [*METHODS, "patch"])
def test_a_marble_falls_a_metre_onto_a_table_of_six_millimetres(method):
    scene = Scene(contact=method)
    scene.add(name="table", shape=dict(kind="box", size=(0.5, 0.5, 0.006)), model="static")
    scene.add(name="marble", shape=marble(0.008, False), model="rigid", position=(0.013, 0.021, 0.031), velocity=(0, 0, -4.4))
    _, watch = run(scene, centre, "table", 12)
    assert not watch.through and watch.deepest < 0.003
    assert watch.cuts and set(watch.cuts) == {("table", "marble")}


@pytest.mark.parametrize("method, speed", [*((method, 500.0) for method in METHODS), ("ground", 1.0), ("continuous-penalty", 50.0)])
def test_a_marble_and_a_sheet_of_a_millimetre_that_meet(method, speed):
    sim, watch = run(thrown(method, speed, moving=True), centre, "sheet", 3)
    assert not watch.through and watch.deepest < 0.0005
    # half of what the faster had is left to it at most: they have met
    assert np.linalg.norm(sim.state.velocity[-1] - sim.state.velocity[0]) < 0.8 * speed


@pytest.mark.slow
@pytest.mark.parametrize("speed", [1.0, 50.0, 500.0])
@pytest.mark.parametrize("soft", [False, True], ids=["rigid", "soft"])
@pytest.mark.parametrize("mesh", [False, True], ids=["exact", "mesh"])
@pytest.mark.parametrize("method", METHODS)
def test_marbles_and_sheets_of_all_kinds(method, mesh, soft, speed):
    """A soft sheet at 500 m/s is hit faster than waves run in it (316 m/s): `ground` loses it, as its elements turn inside out."""
    if soft and speed > 316.0:
        pytest.skip("faster than waves")
    _, watch = run(thrown(method, speed, mesh, soft, True), centre, "sheet", 4)
    assert not watch.through


@pytest.mark.parametrize("method, kind", [*((method, "capsule") for method in METHODS), ("noniterative", "box")])
def test_the_tip_of_a_spinning_rod_stays_before_the_post(method, kind):
    _, watch = run(spinning(method, kind, False, 60.0), axis, "post", 4)
    assert not watch.through and watch.deepest < 0.004


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["capsule", "box"])
@pytest.mark.parametrize("mesh, rate", [(True, 60.0), (True, 1000.0), (False, 1000.0)])
def test_rods_that_turn_by_more_than_half_a_turn_in_a_step(method, kind, mesh, rate):
    _, watch = run(spinning(method, kind, mesh, rate), axis, "post", 4)
    assert not watch.through and watch.cuts


def test_a_step_goes_to_the_touch_and_then_no_deeper_than_it_may():
    """50 m/s, 5 ms: the first part ends less than an eighth of the depth before the touch, the second at that depth: no more are needed."""
    sim = thrown("noniterative", 50.0, turn=(0, 0, 0)).simulate()
    ends = []
    for _ in range(2):
        sim.step(each=lambda report: ends.append((report.dt, report.cut, sim.centre("marble")[2] - 0.0085)))
    depth = 0.25 * 0.0005
    first = next(k for k, (_, cut, _) in enumerate(ends) if cut)
    assert 0.0 < ends[first][2] <= depth / passing.EARLY
    dt, cut, _ = ends[first + 1]
    assert cut and 0.5 * depth <= 50.0 * dt <= (1.0 + 2.0 / passing.EARLY) * depth
    assert sum(1 for _, cut, _ in ends if cut) <= 6


def test_what_slides_fast_or_flies_by_is_not_cut():
    """A puck of a centimetre at 20 m/s, ten times its thickness a step, on a plate; and a marble that misses it by half a millimetre."""
    scene = Scene(dt=0.005, contact="ground")
    scene.add(name="plate", shape=dict(kind="box", size=(4, 1, 0.02)), model="static", position=(0, 0, -0.01), friction=0.0)
    scene.add(name="puck", shape=dict(kind="cylinder", radius=0.05, height=0.01), model="rigid", position=(-1.5, 0, 0.005), velocity=(20, 0, 0))
    scene.add(name="marble", shape=marble(0.01, False), model="rigid", position=(-1.5, 0.4, 0.0105), velocity=(20, 0, 0.1))
    sim = scene.simulate()
    parts = []
    for _ in range(20):
        sim.step(each=parts.append)
    assert len(parts) == 20 and not any(part.cut for part in parts)


def test_slow_pairs_are_not_looked_at(monkeypatch):
    """Three quarters of the way that counts: neither boxes of bodies nor shapes are asked for."""
    scene = thrown("ground", 1.0, dt=1.5 * DEEP * 0.0005, turn=(0, 0, 0))
    sim = scene.simulate()
    monkeypatch.setattr(passing, "overlapping", None)
    for _ in range(5):
        sim.step()


def test_a_body_far_away_that_is_fast_changes_no_bit():
    ends = []
    for far in (False, True):
        scene = thrown("ground", 1.0)
        if far:
            scene.add(name="bullet", shape=marble(0.004, False), model="rigid", position=(30, 40, 50), velocity=(700, 0, 0))
        sim = scene.simulate()
        for _ in range(4):
            sim.step()
        ends.append((sim.state.position[:2], sim.state.rotation[:2], sim.state.velocity[:2]))
    assert all(np.array_equal(one, other) for one, other in zip(*ends, strict=True))


def test_a_run_that_is_cut_short_is_resumed_to_the_bit():
    """Saved after every step, and gone on with by another simulation."""
    one, cuts = thrown("noniterative", 500.0, moving=True).simulate(), []
    for _ in range(4):
        saved = freeze(one.state)
        one.step(each=lambda report: cuts.append(report.cut))
        other = thrown("noniterative", 500.0, moving=True).simulate()
        other.recall(thaw(*saved))
        other.step()
        for name in ("position", "rotation", "velocity", "spin"):
            assert np.array_equal(getattr(one.state, name), getattr(other.state, name))
    assert sum(cut is not None for cut in cuts) >= 4


@pytest.mark.parametrize("method", ["ground", "noniterative"])
def test_a_run_tells_which_steps_were_cut(method, tmp_path):
    scene = thrown(method, 50.0)
    scene.duration = 0.02
    sim, recorder = running.start(scene, tmp_path / "cut.h5")
    outcome = running.run(sim, recorder)
    told = [note for note in outcome.notes if "passed through" in note]
    assert len(told) == 1 and "sheet and marble (" in told[0] and "first at t = 0.005 s" in told[0]


def test_triangles_of_a_rigid_body_that_turns_far_go_on_short_chords():
    """Near another body it turns by half a radian at most, alone by as much as it likes."""
    for x, most in ((0.125, 0.5), (0.3, 3.0)):
        scene = Scene(dt=0.01, contact="ground", gravity=(0, 0, 0))
        scene.add(name="wheel", shape=marble(0.1, True), model="rigid", angular_velocity=(0, 0, 300.0))
        scene.add(name="bar", shape=make("box", size=(0.04, 0.04, 0.2)).tets, model="static", position=(x, 0, 0))
        angles = []
        scene.simulate().step(each=lambda report, angles=angles: angles.append(300.0 * report.dt))
        assert max(angles) == pytest.approx(most)


@pytest.mark.parametrize("follows, cuts", [("touch", range(1, 4)), ("nothing", range(8, 99))])
def test_bodies_that_contact_holds_are_not_cut(follows, cuts, monkeypatch):
    """A soft ball on a soft plate, as thin as what it goes in two steps: without contact all that touches would go on through it."""
    monkeypatch.setattr(Patch, "follows", follows)
    scene, soft = Scene(dt=0.005, contact="patch"), dict(youngs_modulus=2e4, poisson_ratio=0.4, density=1000.0, stiffness_damping=0.01)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="plate", shape=dict(kind="box", size=(0.1, 0.1, 0.015), edge=0.012), position=(0, 0, 0.0076), material=soft)
    ball = dict(kind="ball", radius=0.04, edge=0.02)
    scene.add(name="ball", shape=ball, position=(0.004, 0.002, 0.058), velocity=(0, 0, -1.5), material=soft)
    sim, found, deepest = scene.simulate(), [], []
    for _ in range(12):
        sim.step(each=lambda report: (found.append(report.cut), deepest.append(report.max_depth)))
    assert sum(cut is not None for cut in found) in cuts
    assert max(deepest) < DEEP * 0.0075 and sim.centre("ball")[2] > sim.centre("plate")[2] + 0.03


def test_a_step_is_cut_if_contact_does_not_hold_what_touches(monkeypatch):
    """A method that says it sees what touches, and does nothing: after its answer it is found out."""
    monkeypatch.setattr(Patch, "respond", lambda self, motion, memory: Answer(Contacts.none(motion.dt)))
    scene = Scene(dt=0.005, contact="patch", gravity=(0, 0, 0))
    sheet = dict(kind="box", size=(0.1, 0.1, 0.01), edge=0.02)
    scene.add(name="sheet", shape=sheet, material=SOFT)
    scene.add(name="cube", shape=make("box", size=(0.05, 0.05, 0.05), edge=0.025).tets, model="rigid", position=(0, 0, 0.0299), velocity=(0, 0, -2))
    sim, parts = scene.simulate(), []
    sim.step(each=parts.append)
    assert parts[0].cut == ("sheet", "cube") and parts[0].dt < 0.0025
