"""Quasi-rigid bodies whose surfaces give way as a table says, and those with a core that bends."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.contact.elastic import Boussinesq, Side, Tabulated, VolumePreserving, compliance, resolve
from pliant.detect.surfels import Exact
from pliant.detect.surfels.make import from_mesh
from pliant.geometry.shapes import make
from pliant.pressing.response_tables import write_response
from pliant.record.snapshot import pack_scene, unpack_scene
from pliant.simulate.build import read_meshes

R = np.geomspace(1e-3, 0.2, 60)


def ball_scene(material, integration="implicit"):
    scene = Scene(dt=0.005, contact=dict(method="quasi-rigid", integration=integration))
    scene.add(name="floor", shape="plane", model="static")
    scene.add(
        name="ball", shape=dict(kind="ball", radius=0.1), model="quasi-rigid", spacing=0.008, position=(0, 0, 0.0995),
        material=dict(youngs_modulus=2e5, poisson_ratio=0.3) | material,
    )  # fmt: skip
    return scene


def table(tmp_path, values, c, name="table.csv"):
    write_response(Tabulated(R, values, c), tmp_path / name, "of a test")
    return str(tmp_path / name)


@pytest.mark.parametrize("modulus", [2e5, 4e5])
def test_a_table_of_boussinesq_moves_a_body_as_boussinesq_does(tmp_path, modulus):
    """Also one that was made for another modulus."""
    c = compliance(modulus, 0.3)
    ends = []
    for response in ("boussinesq", table(tmp_path, c / R, c)):
        sim = ball_scene(dict(response=response), "symplectic").simulate()
        sim.run(until=0.02)
        ends.append((float(sim.centre("ball")[2]), float(sim.contacts().total_force[2])))
    assert ends[1] == pytest.approx(ends[0], rel=1e-6)


def test_a_layer_from_a_table_carries_the_weight_at_the_depth_of_the_static_contact(tmp_path):
    c = compliance(2e5, 0.3)
    values = c / R * np.exp(-((R / 0.02) ** 2))
    values[-1] = 0.0
    file = table(tmp_path, values, c)
    sim = ball_scene(dict(response=file, stiffness_damping=0.02)).simulate()
    sim.run(until=0.5)
    weight = 9.81 * float(sim.world.model.frames.mass[1])
    assert sim.contacts().total_force[2] == pytest.approx(weight, rel=1e-3)
    sunk, ball = 0.1 - float(sim.centre("ball")[2]), make("ball", radius=0.1, edge=0.008).surface()
    found = [
        resolve(Side(from_mesh(ball), response, translation=np.array([0, 0, 0.1 - sunk])), Side(Exact("plane"))).force
        for response in (Tabulated(R, values, c), Boussinesq(c))
    ]
    assert found[0] == pytest.approx(weight, rel=0.05)  # other samples of the same ball
    assert found[1] < 0.8 * weight  # a solid would have sunk in further


def test_a_table_is_read_with_the_scene_and_a_bad_one_is_refused(tmp_path):
    c = compliance(2e5, 0.3)
    table(tmp_path, c / R, c)
    scene = ball_scene(dict(response="table.csv"))
    (tmp_path / "scene.toml").write_text(scene.to_toml())
    loaded = Scene.load(tmp_path / "scene.toml")  # named relative to the scene
    sim = loaded.simulate()
    sim.step()
    loaded_table = sim.world.model.bodies.tables[1]
    assert len(loaded_table) == len(R)
    text, arrays = pack_scene(read_meshes(loaded))
    (tmp_path / "table.csv").unlink()  # a run file has its own
    again = unpack_scene(text, arrays).simulate()
    assert np.array_equal(again.world.model.bodies.tables[1], loaded_table)
    with pytest.raises(PliantError, match="no file"):
        ball_scene(dict(response=str(tmp_path / "none.csv"))).simulate()
    (tmp_path / "bare.csv").write_text("1,2\n2,1\n3,0.5\n4,0.2\n")
    with pytest.raises(PliantError, match="does not say C"):
        ball_scene(dict(response=str(tmp_path / "bare.csv"))).simulate()
    with pytest.raises(PliantError, match="rising"):
        ball_scene(dict(response=dict(c=c, r=[1.0, 3.0, 2.0, 4.0], values=[4.0, 3.0, 2.0, 1.0]))).simulate()
    with pytest.raises(PliantError, match="no response"):
        ball_scene(dict(response="boussinesk"))


# -- a core

BEAM, YOUNG = dict(kind="box", size=(0.6, 0.1, 0.1), edge=0.05), 1e6


def beam(depth, **changes):
    """A beam with both ends held under a ball that is pushed into it."""
    scene = Scene(dt=0.02, gravity=(0, 0, 0), contact="quasi-rigid")
    material = dict(youngs_modulus=YOUNG, poisson_ratio=0.3, stiffness_damping=0.05)
    scene.add(
        name="beam", model="quasi-rigid", shape=BEAM, core=BEAM, spacing=0.008, position=(0, 0, -0.05), friction=0.0,
        fixed=[dict(side="-x"), dict(side="+x")], material=material | changes,
    )  # fmt: skip
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="static", position=(0.01, 0.01, 0.1 - depth), friction=0.0)
    return scene


def test_a_core_bends_and_its_surface_gives_way_on_top():
    """The way of the ball is that of the core, as finite elements bend under the same force, and the dent, as the response gives way."""
    depth = 0.012
    sim = beam(depth).simulate()
    sim.run(until=0.8)
    contacts = sim.contacts("beam", "ball")
    force = -float(contacts.total_force[2])
    assert sim.reaction("beam")[2] == pytest.approx(force, rel=1e-3)  # the ends hold what the ball pushes
    assert np.abs(sim.state.v).max() < 1e-4
    skin = sim.points("beam")
    under = int(np.argmin(np.linalg.norm(skin - [0.01, 0.01, -depth], axis=1)))
    bent = -float(skin[under, 2])  # the skin rides on the core; dents are drawn, not in it
    dent = float(contacts.depth.max())
    assert bent > 0.15 * depth and dent > 0.15 * depth
    assert bent + dent == pytest.approx(depth, rel=0.03)

    alone = Scene(dt=0.02, gravity=(0, 0, 0), contact="none")
    alone.add(
        name="beam", shape=BEAM, position=(0, 0, -0.05), fixed=[dict(side="-x"), dict(side="+x")],
        material=dict(youngs_modulus=YOUNG, poisson_ratio=0.3), loads=[dict(value=(0, 0, -force), where=dict(x=(-0.01, 0.01), z=(-0.01, 0.01)))],
    )  # fmt: skip
    ends = alone.simulate().equilibrium()
    middle = ends.points("beam")
    line = middle[np.linalg.norm(middle[:, :2], axis=1) < 0.03]
    assert -float(line[:, 2].max()) == pytest.approx(bent, rel=0.15)  # the same force, spread over other vertices

    radius = float(sim.world.model.bodies.gives[0, 2])
    flat = make("box", size=(0.2, 0.2, 0.05), edge=0.008).surface()
    slab = Side(from_mesh(flat), VolumePreserving(compliance(YOUNG, 0.3), radius), translation=np.array([0, 0, -0.025]))
    found = resolve(slab, Side(Exact("ball", (0.1,)), translation=np.array([0, 0, 0.1 - dent])))
    assert found.force == pytest.approx(force, rel=0.1)


def test_a_core_of_another_mass_is_told():
    """A core of half the volume has half the mass: that is said. One that fills the shape is not spoken of."""
    for height, times in ((0.05, 1), (0.1, 0)):
        scene = Scene(contact="quasi-rigid")
        core = dict(kind="box", size=(0.1, 0.1, height), edge=0.05)
        scene.add(name="block", model="quasi-rigid", shape=dict(kind="box", size=(0.1, 0.1, 0.1)), core=core, spacing=0.03)
        notes = [note for note in scene.simulate().notes if "that of its core" in note]
        assert len(notes) == times and all("'block'" in note and "(-50 %)" in note for note in notes)


def test_a_core_falls_bounces_and_keeps_momentum():
    """Two of them in free flight meet; the coarse solids carry mass, the surfaces the contact."""
    scene = Scene(dt=0.002, gravity=(0, 0, 0), contact="quasi-rigid")
    body = dict(
        model="quasi-rigid", shape=dict(kind="ball", radius=0.1), core=dict(kind="ball", radius=0.1, edge=0.06), spacing=0.02, friction=0.3,
        material=dict(youngs_modulus=1e5),
    )  # fmt: skip
    scene.add(name="a", position=(0, 0, 0.102), velocity=(0, 0, -0.5), **body)
    scene.add(name="b", position=(0.02, 0, -0.102), velocity=(0, 0, 0.5), **body)
    sim = scene.simulate()
    first, touched = sim.books(), 0
    while sim.time < 0.11:
        sim.step()
        touched += len(sim.contacts())
    last, size = sim.books(), 0.5 * float(sim.world.model.nodes.mass.sum())
    assert touched > 50
    assert np.abs(last.momentum - first.momentum).max() < 1e-6 * size
    assert sim.centre("a")[2] > 0.1 and sim.state.v[sim.nodes("a"), 2].mean() > 0.1
    assert last.total <= 1.01 * first.total


def test_a_run_with_a_core_from_meshes_goes_on_from_its_file():
    scene = beam(0.01)
    body = scene.bodies[0]
    body.core, body.shape = make("box", size=(0.6, 0.1, 0.1), edge=0.1).tets, make("box", size=(0.6, 0.1, 0.1), edge=0.05).surface()
    again = unpack_scene(*pack_scene(read_meshes(scene))).simulate()
    first = scene.simulate()
    assert len(again.world.model.nodes.rest) == len(first.world.model.nodes.rest) > 20
    for sim in (first, again):
        sim.step()
    assert np.array_equal(first.points("beam"), again.points("beam"))


def test_a_core_follows_its_edge_and_can_be_told_otherwise():
    free = math.inf
    for core, changes, kind in ((0.1, {}, 1), (0.05, {}, 1), (0.05, dict(response="layer", layer=0.03), 2)):
        body = Scene().add(name="b", model="quasi-rigid", shape=BEAM, core=BEAM | dict(edge=core), material=changes)
        scene = Scene(contact="none", bodies=[body])
        gives = scene.simulate().world.model.bodies.gives[0]
        assert gives[1] == kind and gives[2] < free
        free = gives[2]
    assert free == 0.03
    for model, words in (("rigid", "quasi-rigid"), ("fem", "skin")):
        with pytest.raises(PliantError, match=words):
            Scene().add(name="b", model=model, shape=BEAM, core=BEAM)
