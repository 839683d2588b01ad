"""The method `ground`: weight, stacks, momentum, pairs that are excluded or have a method of their own, and its record."""

import numpy as np
import pytest

from pliant import Answer, Contacts, Scene, register_method
from pliant.bodies.register import material_for

G = 9.81
BOX = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)
SOFT = dict(youngs_modulus=3e5, poisson_ratio=0.3, mass_damping=4.0)


def stack(models, dt=0.002, **contact):
    scene = Scene(dt=dt, contact=dict(method="ground", **contact))
    scene.add(name="ground", shape="plane", model="static")
    for k, model in enumerate(models):
        scene.add(name=f"b{k}", shape=BOX, model=model, position=(0, 0, 0.1 + 0.2 * k), material=material_for(model, **SOFT))
    return scene


@pytest.mark.parametrize(
    "models", [("rigid",) * 3, ("fem", "rigid", "fem"), *(pytest.param(m, marks=pytest.mark.slow) for m in (("fem",) * 3, ("rigid", "rigid", "fem")))]
)
def test_level_k_of_a_stack_carries_the_weight_above(models):
    scene = stack(models)
    settled = 1.0 if set(models) == {"rigid"} else 2.0
    sim = scene.simulate().run(until=settled)
    forces = []
    below = ["ground", "b0", "b1"]
    sim.run(until=1.25 * settled, each=lambda report: forces.append([sim.contacts(f"b{k}", below[k]).total_force[2] for k in range(3)]))
    weight = 8.0 * G
    assert np.mean(forces, axis=0) == pytest.approx([3 * weight, 2 * weight, weight], rel=0.01)
    heights = [sim.centre(f"b{k}")[2] for k in range(3)]
    assert np.diff(heights) == pytest.approx(0.2, abs=0.02)
    assert np.abs([sim.centre(f"b{k}")[:2] for k in range(3)]).max() < 2e-3


def test_rims_that_no_edge_crosses_keep_their_load():
    """A soft box 3 and 2 mm aside on another: points of rims left by the side, came back, and points flew at 1 m/s for ever."""
    scene = stack(("fem", "fem"))
    scene.bodies[2].position = (0.003, 0.002, 0.3)
    sim = scene.simulate().run(until=0.4)
    fastest = []
    sim.run(until=0.5, each=lambda report: fastest.append(np.abs(sim.state.v).max()))
    assert max(fastest) < 0.1
    assert np.abs(sim.contacts("b1", "b0").normal[:, 2]).min() > 0.9


@pytest.mark.parametrize("stiffness", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("dt", [pytest.param(0.001, marks=pytest.mark.slow), 0.002, 0.004])
def test_a_rigid_box_rests_less_than_a_few_g_dt2_deep_and_comes_to_rest(stiffness, dt):
    sim = stack(("rigid",), dt, stiffness=stiffness).simulate().run(until=1.5)
    depth = -sim.points("b0")[:, 2].min()
    assert 0 < depth < 3 * G * dt**2 / stiffness
    assert np.linalg.norm(sim.state.velocity[1]) < 1e-4


def test_a_drop_never_gains_energy():
    """Kinetic and potential energy together only fall, whatever corner the box lands on."""
    for seed in range(2):
        scene = Scene(dt=0.002, contact="ground")
        scene.add(name="ground", shape="plane", model="static")
        rotation = tuple(np.random.default_rng(seed).uniform(-180, 180, 3))
        scene.add(name="b", shape=BOX, model="rigid", position=(0, 0, 0.4), rotation=rotation)
        sim = scene.simulate()
        energies = [sim.books().total]
        for _ in range(400):
            sim.step()
            energies.append(sim.books().total)
        assert max(energies) < energies[0] + 0.02 * 8 * G * 0.4
        assert energies[-1] < energies[0]


@pytest.mark.parametrize("a, b", [("rigid", "rigid"), ("fem", "rigid"), ("fem", "fem"), ("springs", "fem")])
def test_a_collision_in_free_space_keeps_momentum(a, b):
    scene = Scene(dt=0.001, gravity=(0, 0, 0), contact="ground")
    material = dict(youngs_modulus=1e5, spring_stiffness=3e3)
    scene.add(name="a", shape=BOX, model=a, velocity=(1, 0, 0), material=material_for(a, **material))
    scene.add(name="b", shape=dict(kind="ball", radius=0.1, edge=0.05), model=b, position=(0.25, 0.03, 0.02), velocity=(-1, 0.2, 0), material=material_for(b, **material))
    sim = scene.simulate()
    first, touched = sim.books(), 0
    for _ in range(200):
        touched += len(sim.step().contacts)
    last = sim.books()
    assert touched > 3
    assert last.momentum == pytest.approx(first.momentum, abs=1e-11)
    turning = max(np.abs(first.angular_momentum).max(), 0.2)
    assert np.abs(last.angular_momentum - first.angular_momentum).max() < 0.02 * turning
    assert last.kinetic < first.kinetic * 1.001


def test_no_contact_no_impulse():
    """Bodies close to each other that do not touch fly to the last bit as if alone."""
    def fly(both):
        scene = Scene(dt=0.002, contact="ground")
        scene.add(name="a", shape=BOX, velocity=(1, 0, 0), angular_velocity=(1, 2, 3), integrator="symplectic")
        if both:
            scene.add(name="b", shape=BOX, model="rigid", position=(0, 0.5, 0), velocity=(1, 0, 0))
        return scene.simulate(contact="ground").run(until=0.2).points("a")

    assert np.array_equal(fly(True), fly(False))


def test_an_excluded_pair_passes_through():
    scene = stack(("rigid", "rigid"))
    scene.pair("b0", "b1", contact=False)
    sim = scene.simulate().run(until=1.0)
    assert sim.centre("b1")[2] == pytest.approx(0.1, abs=2e-3)
    assert len(sim.contacts("b0", "b1")) == 0 and len(sim.contacts("b1", "ground")) > 0


class Glue:
    """A method of a user that only looks, and says which pairs it was asked about."""

    needs = frozenset()
    asked = []

    def respond(self, motion, memory):
        bodies = np.arange(len(motion.bodies))
        a, b = (grid.ravel() for grid in np.meshgrid(bodies, bodies, indexing="ij"))
        meet = motion.pairs.meet(a, b)
        Glue.asked.append({(int(i), int(j)) for i, j in zip(a[meet], b[meet], strict=True)})
        return Answer(Contacts.none(motion.dt), {"steps": memory.get("steps", np.zeros(1)) + 1})


def test_pairs_may_have_methods_of_their_own():
    register_method("glue", Glue)
    Glue.asked.clear()
    scene = stack(("rigid", "rigid"))
    scene.pair("b0", "b1", method="glue")
    sim = scene.simulate().run(until=0.5)
    assert Glue.asked[-1] == {(1, 2), (2, 1)}  # only the pair that names it
    assert list(sim.contact.methods) == ["ground", "glue"]
    assert sim.state.memory["glue"]["steps"] == 250  # memory is kept per method
    assert len(sim.contacts("b0", "b1")) == 0  # ground leaves it the pair: b1 falls through b0
    assert sim.centre("b1")[2] == pytest.approx(0.1, abs=2e-3)


def test_auto_picks_and_says_why():
    sim = stack(("fem", "rigid")).simulate(contact="auto")
    assert any('contact = "auto": patch' in note and "surface that they share" in note for note in sim.notes)
    sim = stack(("fem", "rigid")).simulate(contact="classic")
    assert any('contact = "classic": noniterative' in note and "closed form" in note for note in sim.notes)
    scene = Scene()
    scene.add(name="b", shape=BOX, model="rigid")
    assert any('contact = "auto": none' in note for note in scene.simulate().notes)


def test_record_of_contacts():
    """Force on a is minus the force on b; area of the flat face that lies on the ground; pressure is weight over area."""
    sim = stack(("rigid", "rigid")).simulate().run(until=0.4)
    up, down = sim.contacts("b1", "b0"), sim.contacts("b0", "b1")
    assert up.total_force == pytest.approx(-down.total_force, abs=1e-12)
    contacts = sim.contacts("b0", "ground")
    assert contacts.normal == pytest.approx(np.tile([0, 0, 1.0], (len(contacts), 1)))
    assert len(contacts) == 9 and (contacts.gap < 0).all()
    assert sim.report.max_depth == pytest.approx(-sim.contacts().gap.min())
    assert set(sim.contacts().arrays()) >= {"a", "b", "point", "normal", "gap", "impulse", "friction_impulse", "area"}


@pytest.mark.parametrize("kind", ["ball", "cylinder", "capsule", "torus", "box"])
@pytest.mark.parametrize("exact", [True, False])
def test_a_soft_plate_lies_on_a_static_body(kind, exact):
    """The static body carries the weight through its exact distance, and through its triangles as well."""
    made = {"ball": dict(radius=0.3), "cylinder": dict(radius=0.3, height=0.4), "capsule": dict(radius=0.3, length=0.3),
            "torus": dict(major=0.3, minor=0.1), "box": dict(size=(0.6, 0.6, 0.4))}[kind]  # fmt: skip
    from pliant import shapes

    shape = shapes.make(kind, **made, edge=0.1)
    scene = Scene(dt=0.004, contact="ground")
    scene.add(name="base", shape=dict(kind=kind, **made, edge=0.1) if exact else shape.surface(), model="static", friction=0.8)
    top = shape.surface().points[:, 2].max()
    scene.add(name="pad", shape=dict(kind="box", size=(0.4, 0.4, 0.1), edge=0.1), position=(0, 0, top + 0.05), friction=0.8,
              material=dict(youngs_modulus=3e4, mass_damping=8.0, poisson_ratio=0.3), integrator="implicit")  # fmt: skip
    sim = scene.simulate().run(until=1.6)
    forces = []
    sim.run(until=2.0, each=lambda report: forces.append(sim.contacts("pad", "base").total_force[2]))
    assert np.mean(forces) == pytest.approx(16 * G, rel=0.02)


@pytest.mark.parametrize("model", ["rigid", "fem"])
def test_area_of_a_flat_base_is_its_area_and_pressure_times_area_the_weight(model):
    from pliant import Scene

    scene = Scene(dt=0.002, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(
        name="b", shape=dict(kind="box", size=(0.4, 0.4, 0.2), edge=0.1), model=model, position=(0, 0, 0.1),
        material=material_for(model, youngs_modulus=1e6, poisson_ratio=0.0, mass_damping=5.0),
    )  # fmt: skip
    sim = scene.simulate().run(until=1.0)
    contacts = sim.contacts("b", "ground")
    assert contacts.area.sum() == pytest.approx(0.16, rel=1e-3)
    assert (contacts.pressure * contacts.area).sum() == pytest.approx(0.032 * 1000 * 9.81, rel=1e-3)


def test_area_between_two_meshes_is_counted_once():
    from pliant import Scene

    scene = Scene(dt=0.002, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=1e6, poisson_ratio=0.0, mass_damping=5.0)
    scene.add(name="low", shape=dict(kind="box", size=(0.3, 0.3, 0.1), edge=0.05), position=(0, 0, 0.05), material=soft)
    top = dict(kind="box", size=(0.16, 0.16, 0.08), edge=0.04)
    scene.add(name="high", shape=top, position=(0.002, 0.001, 0.14), material=soft)
    sim = scene.simulate().run(until=1.0)
    contacts = sim.contacts("high", "low")
    assert contacts.total_area == pytest.approx(0.16**2, rel=0.03)
    assert (contacts.pressure * contacts.area).sum() == pytest.approx(contacts.normal_force.sum(), rel=1e-12)


def test_an_exact_ball_and_the_block_under_it_share_one_area():
    """The ball's own row stands for area of the block too: pressure times area is all of the force."""
    from pliant import Scene

    scene = Scene(dt=0.002, contact="ground")
    scene.add(name="ground", shape="plane", model="static")
    soft = dict(youngs_modulus=1e5, mass_damping=10.0)
    scene.add(name="block", shape=dict(kind="box", size=(0.2, 0.2, 0.1), edge=0.02), position=(0, 0, 0.05), material=soft)
    ball = dict(kind="ball", radius=0.05)
    scene.add(name="ball", shape=ball, model="rigid", position=(0.003, 0.002, 0.1499), material=dict(mass_damping=5.0))
    contacts = scene.simulate().run(until=0.8).contacts("block", "ball")
    assert (contacts.area > 0.0).all()
    assert -(contacts.pressure * contacts.area).sum() == pytest.approx(contacts.total_force[2], rel=0.05)

