"""What every contact method must keep, whatever else it does: momentum, Coulomb's cone, bits, and sentences where it cannot."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

from pliant import PliantError, Scene, kernels
from pliant.contact.method import METHODS, find_method, make_method
from pliant.geometry.quaternions import product, quaternion_to_matrix, rotation_vector_to_quaternion

TOUCHING = [method for method in METHODS if method != "none"]
RUBBING = [method for method in TOUCHING if method != "reversal"]  # which knows no friction coefficient
SOFT = dict(youngs_modulus=5e4, poisson_ratio=0.3, mass_damping=1.0)
MU = 0.4
G = 9.81


def body_of(method, size=0.2):
    """A body that suits the method, `size` [m] wide."""
    if method == "quasi-rigid":
        return dict(shape=dict(kind="ball", radius=size / 2), model="quasi-rigid", spacing=size / 4, material=dict(youngs_modulus=1e6, mass_damping=1.0))
    return dict(shape=dict(kind="box", size=(size, size, size), edge=size / 2), material=SOFT)


def dropped(method, dt=0.004, turn=None, far=False, friction=MU, **fields):
    """A body thrown onto a slab, askew; all of it turned."""
    Q = np.eye(3) if turn is None else quaternion_to_matrix(rotation_vector_to_quaternion(np.radians(turn)))
    place = lambda u: tuple(Q @ np.array(u, float))
    own = rotation_vector_to_quaternion(np.radians([7.0, 4.0, 25.0]))
    whole = own if turn is None else product(rotation_vector_to_quaternion(np.radians(turn))[None], own[None])[0]
    scene = Scene(dt=dt, contact=method, gravity=place((0, 0, -G)))
    slab = dict(kind="box", size=(1.0, 1.0, 0.2), edge=0.25)
    scene.add(name="slab", shape=slab, model="static", position=place((0.03, 0.02, -0.1)), rotation=(0, 0, 0) if turn is None else turn, friction=friction)
    body = {"position": place((0, 0, 0.121)), "velocity": place((0.5, 0.2, -0.8)), "rotation": tuple(whole), "friction": friction, **body_of(method), **fields}
    scene.add(name="b", **body)
    if far:
        scene.add(name="far", **{**body, "position": place((40.0, 3.0, 5.0))})
    return scene, Q


def collision(method):
    """Two bodies that meet off their centres, in free space."""
    scene = Scene(dt=0.002, gravity=(0, 0, 0), contact=method)
    undamped = {**body_of(method), "friction": 0.5}
    undamped["material"] = {**undamped["material"], "mass_damping": 0.0}
    scene.add(name="a", velocity=(1, 0, 0.1), **undamped)
    scene.add(name="b", position=(0.207, 0.05, 0.03), velocity=(-1, 0, 0), **undamped)
    return scene


def same(a, b, nodes=None, frames=None):
    """Bits of two states, or of their first nodes and frames."""
    cut = dict(x=nodes, v=nodes, position=frames, rotation=frames, velocity=frames, spin=frames)
    return all(np.array_equal(getattr(a, name)[:n], getattr(b, name)[:n]) for name, n in cut.items())


# -- momentum


@pytest.mark.parametrize("integrator", ["verlet", "implicit"])
@pytest.mark.parametrize("method", TOUCHING)
def test_impulses_reported_are_the_momentum_received(method, integrator):
    fields = {} if method == "quasi-rigid" else dict(integrator=integrator)
    sim, worst, touched = dropped(method, **fields)[0].simulate(), 0.0, 0
    for _ in range(8):
        report = sim.step()
        worst, touched = max(worst, report.balance.error), touched + len(report.contacts)
    assert touched > 0 and worst < 1e-10


@pytest.mark.parametrize("method", TOUCHING)
def test_action_and_reaction(method):
    """Momentum of two bodies that collide in free space stays to rounding, their angular momentum nearly; forces are opposite."""
    sim = collision(method).simulate()
    first, touched = sim.books(), 0
    for _ in range(12):
        touched += len(sim.step().contacts)
        a, b = sim.contacts("a", "b"), sim.contacts("b", "a")
        assert a.total_force == pytest.approx(-b.total_force, rel=1e-12, abs=1e-9 * np.abs(a.force).max(initial=0.0))
    last, size = sim.books(), 0.5 * np.abs(sim.world.model.nodes.mass).sum() + 0.5 * sim.world.model.frames.mass.sum()
    assert touched > 0
    assert np.abs(last.momentum - first.momentum).max() < 1e-12 * max(size, 1.0)
    turned = np.abs(last.angular_momentum - first.angular_momentum).max() / np.abs(first.angular_momentum).max()
    assert turned < 1e-2 or method == "reversal"  # which turns back points that are not at one place
    assert sim.centre("a")[0] < sim.centre("b")[0]


@pytest.mark.parametrize("method", TOUCHING)
def test_contacts_push_and_friction_stays_in_its_cone(method):
    sim, slid = dropped(method, friction=MU)[0].simulate(), 0.0
    for _ in range(12):
        contacts = sim.step().contacts
        friction = np.linalg.norm(np.nan_to_num(contacts.friction_impulse), axis=1)
        assert (contacts.impulse >= 0.0).all()
        assert (friction <= MU * contacts.impulse * (1 + 1e-9) + 1e-15).all()
        slid = max(slid, friction.max(initial=0.0))
        along = np.abs(np.sum(contacts.normal * np.nan_to_num(contacts.friction_impulse), axis=1)).max(initial=0.0)
        assert along <= 1e-9 * np.abs(contacts.impulse).max(initial=0.0)
    assert slid > 0.0 or method not in RUBBING


@pytest.mark.parametrize("method", TOUCHING)
def test_without_contact_there_is_no_impulse(method):
    apart = dict(position=(0, 0, 0.5))
    sim, free = (dropped(m, **{**body_of(method), **apart})[0].simulate() for m in (method, "none"))
    for _ in range(5):
        assert np.abs(sim.step().contacts.impulse).max(initial=0.0) == 0.0
        free.step()
    assert same(sim.state, free.state) and sim.state.books.get("contact", 0.0) == 0.0


@pytest.mark.parametrize("method", TOUCHING)
def test_what_rests_is_carried(method):
    """Mean force over the last part of a run; reversal chatters, and is right in the mean over many steps."""
    material = dict(material=dict(body_of(method)["material"], mass_damping=20.0))
    height = 0.1 if method != "quasi-rigid" else 0.0999
    sim = dropped(method, position=(0, 0, height), velocity=(0, 0, 0), rotation=(0, 0, 0), **material)[0].simulate()
    sim.run(until=0.6 if method in ("point-surface", "reversal") else 0.3)
    forces = []
    sim.run(until=sim.time + 0.1, each=lambda report: forces.append(sim.contacts("b", "slab").total_force))
    error = np.mean(forces, axis=0) / (sim.mass("b") * G) - [0, 0, 1]
    assert np.abs(error).max() < (0.1 if method == "reversal" else 0.01)


# -- what must not matter


@pytest.mark.parametrize("method", TOUCHING)
def test_a_far_away_body_changes_no_bit(method):
    (alone, beside), touched = (dropped(method, far=far)[0].simulate() for far in (False, True)), 0
    assert alone._pieces == beside._pieces
    for _ in range(8):
        beside.step()
        touched += len(alone.step().contacts)
        assert same(alone.state, beside.state, *(len(alone.state.x), len(alone.state.position)))
    assert touched > 0


@pytest.mark.parametrize("method", TOUCHING)
def test_one_and_two_threads(method, monkeypatch):
    import numba

    if numba.config.NUMBA_NUM_THREADS < 2 or kernels.BOUNDSCHECK:
        pytest.skip("this machine has one thread")
    monkeypatch.setattr(kernels, "SMALL", 0)
    ends = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        sim, impulses = dropped(method)[0].simulate(), []
        for _ in range(6):
            impulses.append(sim.step().contacts.impulse)
        ends.append((sim.state, np.concatenate(impulses)))
    numba.set_num_threads(1)
    assert len(ends[0][1]) > 0
    assert same(ends[0][0], ends[1][0]) and np.array_equal(ends[0][1], ends[1][1])


@pytest.mark.parametrize("method", TOUCHING)
def test_the_whole_world_may_be_turned(method):
    turn = np.random.default_rng(len(method)).uniform(-120.0, 120.0, 3)
    ends = []
    for turned in (None, tuple(turn)):
        scene, Q = dropped(method, turn=turned)
        sim = scene.simulate()
        touched = sum(len(sim.step().contacts) for _ in range(10))
        ends.append(sim.points("b"))
    assert touched > 0
    assert np.abs(ends[1] - ends[0] @ Q.T).max() < 1e-7


@pytest.mark.parametrize("method", TOUCHING)
def test_a_method_keeps_nothing_in_itself(method):
    sim = dropped(method)[0].simulate()
    before = pickle.dumps([vars(m) for m in sim.contact.methods.values()])
    assert sum(len(sim.step().contacts) for _ in range(6)) > 0
    assert pickle.dumps([vars(m) for m in sim.contact.methods.values()]) == before


@pytest.mark.parametrize("method", TOUCHING)
def test_what_is_kept_is_made_from_the_shape_at_rest_alone(method):
    """Of what may change during a run, nothing is left: NaN would show."""
    sim = dropped(method)[0].simulate()
    sim.step()
    assert len(sim.world.kept) > 1
    rest = sim.world.rest
    assert {f.name for f in fields(rest)} == {"bodies", "nodes", "frames", "skin", "points"}
    assert np.isnan(rest.bodies.friction).all() and np.isnan(rest.bodies.gives).all() and np.isnan(rest.frames.damping).all()


# -- dt to zero


@pytest.mark.parametrize("method", RUBBING)
def test_sliding_converges_with_dt(method):
    """A body that slides goes v t - mu g t^2 / 2; what is missing falls with dt."""
    ends = []
    for dt in (0.008, 0.004, 0.002):
        fields = body_of(method) if method == "quasi-rigid" else dict(shape=dict(kind="box", size=(0.2, 0.2, 0.05), edge=0.1), model="rigid")
        height = 0.1 - 1e-5 if method == "quasi-rigid" else 0.025
        fields["material"] = dict(fields.get("material", {}), mass_damping=0.0)
        sim = dropped(method, dt=dt, position=(-0.1, 0, height), rotation=(0, 0, 0), velocity=(1.2, 0, 0), **fields)[0].simulate()
        sim.run(until=0.064)
        ends.append(sim.centre("b")[0] + 0.1)
    way = 0.5 * MU * G * 0.064**2  # what friction takes
    error = np.array(ends) / way - (1.2 * 0.064 / way - 1.0)
    assert abs(error[2]) < max(0.7 * abs(error[0]), 0.025) < 0.1, error


# -- what a method cannot do

SURFACE = dict(shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), model="springs", network="surface")
TEARING = dict(shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), model="points", spacing=0.1, material=dict(tear_strain=0.3))
CANNOT = [  # method, body, is it to touch itself?, why, way out
    ("noniterative", SURFACE, False, "tetrahedra inside", "contact|network"),
    ("ground", TEARING, False, "can tear", "point-surface"),
    ("quasi-rigid", body_of("ground"), False, "quasi-rigid", "model"),
    *((method, body_of(method), True, "itself", "contact|pair|penalty") for method in ("ground", "reversal", "quasi-rigid")),
]


@pytest.mark.parametrize("method, body, itself, why, out", CANNOT)
def test_what_a_method_cannot_do_is_refused_in_a_sentence(method, body, itself, why, out):
    scene = Scene(contact=method)
    scene.add(name="slab", shape="plane", model="static")
    scene.add(name="strange one", position=(0, 0, 0.11), **body)
    if itself:
        scene.pair("strange one", "strange one")
    with pytest.raises(PliantError) as caught:
        scene.simulate().step()
    text = str(caught.value)
    assert "strange one" in text and why in text, text
    assert any(word in text for word in out.split("|")) and text.endswith("."), text


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_option_is_refused_with_those_that_exist(method):
    known = list(getattr(find_method(method), "__dataclass_fields__", {}))
    with pytest.raises(PliantError, match=f"'{method}' has no option 'no_such_option'" if known else method):
        dropped(method)[0].copy_with(contact=dict(method=method, no_such_option=1.0)).simulate()


@pytest.mark.parametrize("method", METHODS)
def test_options_are_numbers_that_can_be_computed_with(method):
    options = getattr(find_method(method), "__dataclass_fields__", {})
    numbers = [name for name, option in options.items() if "float" in str(option.type) or str(option.type) == "int"]
    for name in numbers:
        for value in (np.inf, -np.inf, np.nan, 1e31, 10**400):
            with pytest.raises(PliantError, match=f"{name} = .* finite numbers"):
                make_method(method, {name: value})
        if "float" in str(options[name].type):
            with pytest.raises(PliantError, match=f"{name} = true: this option .* is a number"):
                make_method(method, {name: True})
