"""Bodies filled with cells: stiffness, steps, contact, regions, and how a scene asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.base import PliantError
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import make, resolve
from pliant.look.source import from_simulation
from pliant.record.snapshot import pack_scene, unpack_scene
from pliant.scene import Scene
from pliant.simulate.build import read_meshes
from pliant.simulate.simulation import Simulation

BALL = make("ball", radius=0.1, edge=0.025).surface()
TURN = Rotation.from_rotvec([0.3, 0.5, 0.2]).as_matrix()


def cells(surface: Surface, edge: float, **more: Any) -> dict[str, Any]:
    return dict(mesh=surface, fill="lattice", edge=edge, **more)


def alone(shape: Any, **fields: Any) -> Simulation:
    scene = Scene(dt=2e-3, contact="none", gravity=(0, 0, 0))
    scene.add(name="body", shape=shape, **fields)
    return Simulation(scene)


@pytest.mark.parametrize("law", ["linear", "corotated", "stvk", "neo-hookean"])
def test_an_even_strain_costs_what_the_volume_costs(law: str) -> None:
    """Energy of F x in all cells, cut or not, over that of as much material; and the skin goes along."""
    sim = alone(cells(BALL, 0.03), material=dict(law=law, youngs_modulus=1e5))
    group = sim.world.model.groups[0]
    F = np.eye(3) + 0.05 * np.array([[1, 0.4, 0], [-0.2, -0.5, 0.3], [0.1, 0, 0.7]])
    rest = sim.world.model.nodes.rest
    one = Shape("one", TetMesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 1, 2, 3]])))
    whole = alone(one, material=dict(law=law, youngs_modulus=1e5))
    density = float(whole.world.model.groups[0].energy(whole.world.model.nodes.rest @ F.T).sum()) * 6.0  # [J/m^3]
    assert float(group.energy(rest @ F.T).sum()) == pytest.approx(density * mass_of_surface(BALL).volume, rel=0.01)
    sim.state.x[:] = rest @ F.T
    assert sim.points("body")[: len(BALL.points)] == pytest.approx(BALL.points @ F.T, abs=1e-12)


@pytest.mark.parametrize("shape", [cells(BALL, 0.03), dict(kind="ball", radius=0.1, edge=0.05)])
def test_the_skin_shows_the_stress_of_the_cells_it_rides_in(shape: dict[str, Any]) -> None:
    """Pulled evenly by 1 % with nu = 0, every point that is drawn shows E times 0.01, whether the skin is cut by cells, embedded or the tets' own."""
    skin = {} if "mesh" in shape else dict(skin=dict(kind="ball", radius=0.1, edge=0.03))
    sim = alone(shape, material=dict(law="linear", youngs_modulus=1e5, poisson_ratio=0.0), **skin)
    sim.state.x[:] = sim.world.model.nodes.rest * (1.0, 1.01, 1.0)
    picture = from_simulation(sim)
    seen = np.unique(picture.triangles)
    assert len(seen) > 50 and picture.point_fields["von_mises"][seen] == pytest.approx(1e3, rel=1e-5)
    assert picture.point_fields["det_F"][seen] == pytest.approx(1.01, rel=1e-6)


def test_the_skin_shows_stress_where_it_is() -> None:
    """A bar of cells held at one end and pulled by its weight: E u' = rho g (L - z), so that stress falls along it."""
    bar = make("box", size=(0.1, 0.1, 0.6), edge=0.1).surface()
    sim = alone(cells(bar, 0.05), material=dict(law="linear", youngs_modulus=1e5, poisson_ratio=0.0, density=1000.0))
    z = sim.world.model.nodes.rest[:, 2] + 0.3  # from the end that is held
    sim.state.x[:, 2] += 9810.0 / 1e5 * (0.6 * z - 0.5 * z**2)
    picture = from_simulation(sim)
    seen = np.unique(picture.triangles)
    expected = 9810.0 * (0.3 - sim.world.skin_positions(sim.world.model.nodes.rest, sim.state.position, sim.state.rotation)[seen, 2])
    assert picture.point_fields["von_mises"][seen] == pytest.approx(expected, abs=9810.0 * 0.1)  # of 5886 Pa, to two cells


def test_spin_has_the_momentum_of_the_body() -> None:
    omega = np.array([3.0, -1.0, 2.0])
    box = make("box", size=(0.3, 0.2, 0.1), edge=0.1).surface().moved((0, 0, 0), TURN)
    sim = alone(cells(box, 0.04), angular_velocity=tuple(omega), material=dict(density=800.0))
    whole = mass_of_surface(box, 800.0)
    assert sim.mass("body") == pytest.approx(whole.mass)
    assert sim.books().angular_momentum == pytest.approx(whole.inertia @ omega, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_slivers_shorten_the_step_by_less_than_half(seed: int) -> None:
    """Against a box of whole cells of the same size, in any position of the lattice."""
    turn = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    full = alone(cells(make("box", size=(0.3, 0.3, 0.3), edge=0.3).surface(), 0.05))
    cut = alone(cells(make("box", size=(0.3, 0.3, 0.3), edge=0.3).surface().moved((0, 0, 0), turn), 0.05))
    steps = [float(s.world.model.groups[0].stable_dt(s.world.model.nodes.mass).min()) for s in (full, cut)]
    assert steps[1] > 0.5 * steps[0]


def test_slivers_do_not_double_the_iterations() -> None:
    """An implicit step of a turned box, with cells and with tetrahedra that follow it."""
    counts: list[int] = []
    box = make("box", size=(0.2, 0.2, 0.2), edge=0.025)
    assert box.tets is not None
    for shape in (Shape("turned", box.tets.moved((0, 0, 0), TURN)), cells(box.surface().moved((0, 0, 0), TURN), 0.025)):
        sim = alone(shape, integrator="implicit", material=dict(youngs_modulus=1e6))
        x = sim.state.x
        sim.state.v[:] = np.stack([np.sin(30 * x[:, 1]), np.cos(20 * x[:, 2]), np.sin(25 * x[:, 0])], axis=1)
        counts.append(sim.step().solver_iterations)
    assert counts[0] > 0
    assert counts[1] < 1.5 * counts[0]


@pytest.mark.parametrize("model", ["fem", "rigid"])
def test_at_rest_the_ground_carries_the_weight(model: str) -> None:
    scene = Scene(dt=1e-2, contact="noniterative")
    scene.add(name="ground", shape="plane", model="static")
    material = dict(youngs_modulus=2e5, stiffness_damping=0.01) if model == "fem" else {}
    scene.add(name="body", shape=cells(make("box", size=(0.2, 0.2, 0.1), edge=0.1).surface().moved((0, 0, 0), TURN), 0.07, place="on-ground"),
              model=model, material=material | dict(mass_damping=10.0), friction=0.6)  # fmt: skip
    sim = Simulation(scene)
    sim.run(until=1.6)
    force = np.zeros(3)
    for _ in range(20):
        sim.step()
        force += sim.contacts("body", "ground").total_force / 20
    assert force[2] == pytest.approx(9.81 * sim.mass("body"), rel=1e-3)
    if model == "fem":
        assert sim.world.model.groups[0].stretch(sim.state.x).min() > 0.5


# ---- regions


def half(length: float) -> Surface:
    """What is left of x = 0."""
    return make("box", size=(length, length, length), edge=length).surface().moved((-0.5 * length, 0, 0))


def test_a_region_has_its_own_density_and_stiffness() -> None:
    bar = dict(kind="box", size=(0.4, 0.1, 0.1), edge=0.05)
    own = dict(shape=half(1.0), material=dict(density=3000.0, youngs_modulus=7e5, poisson_ratio=0.1))
    sim = alone(bar, material=dict(density=1000.0, youngs_modulus=1e5, poisson_ratio=0.3), regions=[own])
    group = sim.world.model.groups[0]
    left = sim.world.model.nodes.rest[group.nodes].mean(axis=1)[:, 0] < 0.0
    assert sim.mass("body") == pytest.approx(0.004 * 2000.0)
    assert group.mu[left] == pytest.approx(7e5 / 2.2) and group.mu[~left] == pytest.approx(1e5 / 2.6)


def test_cells_are_mixed_by_how_much_of_them_is_in_a_region() -> None:
    box = make("box", size=(0.4, 0.4, 0.4), edge=0.4).surface()
    sim = alone(cells(box, 0.1), material=dict(density=1000.0), regions=[dict(shape=BALL, material=dict(density=2000.0))])
    assert sim.mass("body") == pytest.approx(64.0 + 1000.0 * mass_of_surface(BALL).volume, rel=0.02)


def test_regions_by_group_and_by_name() -> None:
    box = make("box", size=(0.2, 0.1, 0.1), edge=0.05).tets
    assert box is not None
    groups = np.where(box.points[box.tets].mean(axis=1)[:, 0] < 0, 4, 5)
    mesh = TetMesh(box.points, box.tets, groups, (("left", 4), ("right", 5)))
    for group in (5, "right"):
        sim = alone(mesh, material=dict(density=1000.0), regions=[dict(group=group, material=dict(density=500.0))])
        assert sim.mass("body") == pytest.approx(1.5)


@pytest.mark.parametrize(("region", "words"), [
    (dict(group=3, material={}), "says nothing about groups"),
    (dict(material=dict(density=1.0)), "by a `shape` or by a `group`"),
    (dict(shape=BALL.moved((5, 0, 0)), material=dict(density=1.0)), "lies outside the body"),
    (dict(shape=BALL, material=dict(law="linear")), "law"),
])  # fmt: skip
def test_wrong_regions_are_refused(region: dict[str, Any], words: str) -> None:
    with pytest.raises(PliantError, match=words):
        alone(dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), regions=[region])


def test_a_recorded_scene_has_cells_and_regions() -> None:
    scene = Scene(contact="none")
    scene.add(name="body", shape=cells(BALL, 0.03), regions=[dict(shape=half(0.5), material=dict(density=1234.0))], material=dict(density=1e3))
    again = unpack_scene(*pack_scene(read_meshes(scene)))
    one, other = Simulation(scene).world.model, Simulation(again).world.model
    assert np.array_equal(one.nodes.mass, other.nodes.mass)
    assert np.array_equal(one.skin.weight, other.skin.weight) and np.array_equal(one.groups[0].volume, other.groups[0].volume)


# ---- how a scene asks for them


def test_place_and_fit() -> None:
    found = resolve(dict(kind="bunny", fit=0.3, place="on-ground"), solid=False).surface().points
    assert np.ptp(found, axis=0).max() == pytest.approx(0.3)
    assert found[:, 2].min() == pytest.approx(0.0) and (found.max(axis=0) + found.min(axis=0))[:2] == pytest.approx(0.0, abs=1e-12)
    ball = resolve(dict(kind="ball", radius=0.1, fit=0.5, place="centre"), solid=False)
    assert ball.analytic is not None and ball.analytic[1][0] == pytest.approx(0.25, rel=0.03)
    assert resolve(dict(kind="ball", radius=0.1, place="on-ground"), solid=False).analytic is None
    for spec, words in ((dict(place="up"), "known are centre"), (dict(fit=-1.0), "largest extent")):
        with pytest.raises(PliantError, match=words):
            resolve(dict(kind="ball", radius=0.1, **spec), solid=False)


def obj(path: Path, surface: Surface) -> str:
    lines = [*("v {} {} {}".format(*x) for x in surface.points), *("f {} {} {}".format(*(f + 1)) for f in surface.faces)]
    path.write_text("\n".join(lines))
    return str(path)


def test_auto_takes_cells_for_open_surfaces_and_says_why(tmp_path: Path) -> None:
    file = obj(tmp_path / "open.obj", Surface(BALL.points, BALL.faces[3:]))
    sim = alone(dict(file=file, edge=0.04))
    assert any("open" in note and "cells of 0.04 m" in note and "closed with lids" in note for note in sim.notes)
    assert sim.mass("body") == pytest.approx(1000.0 * mass_of_surface(BALL).volume, rel=0.01)


def test_auto_takes_cells_where_tetrahedra_would_take_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    monkeypatch.setattr("pliant.geometry.inside.QUICK", 0.1)
    sim = alone(dict(mesh=BALL))
    assert any("s or more" in note and "cells" in note for note in sim.notes)


def test_tetrahedra_that_take_too_long_become_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    monkeypatch.setenv("PLIANT_FILL_TIMEOUT", "0.05")
    sim = alone(dict(mesh=BALL, fill="conforming", edge=0.04))
    assert any("was stopped after" in note and "cells" in note for note in sim.notes)
    with pytest.raises(PliantError, match="was stopped after"):
        alone(dict(mesh=BALL, fill="conforming", edge=0.04), model="springs")


def test_holes_are_closed_for_rigid_bodies_too(tmp_path: Path) -> None:
    file = obj(tmp_path / "open.obj", Surface(BALL.points, BALL.faces[3:]))
    with pytest.raises(PliantError, match="open"):
        alone(dict(file=file), model="rigid")
    sim = alone(dict(file=file, holes=True), model="rigid")
    assert sim.mass("body") == pytest.approx(1000.0 * mass_of_surface(BALL).volume, rel=0.01)


def test_units_are_asked_for(tmp_path: Path) -> None:
    sim = alone(dict(file=obj(tmp_path / "large.obj", Surface(1000.0 * BALL.points, BALL.faces))), model="rigid")
    assert any("200 m large" in note and "mm: 0.2 m" in note for note in sim.notes)


@pytest.mark.parametrize(("fields", "words"), [
    (dict(shape=cells(BALL, 0.05), model="springs"), "for models fem, rigid and static"),
    (dict(shape=cells(BALL, 0.05), element="quadratic"), "4-node elements"),
    (dict(shape=cells(BALL, 0.05), skin=dict(kind="ball", radius=0.1)), "itself is the skin"),
    (dict(shape=dict(mesh=BALL, fill="cells")), "known are auto, conforming, lattice"),
])  # fmt: skip
def test_what_cannot_be_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(PliantError, match=words):
        alone(**fields)


@pytest.mark.parametrize(("contact", "then"), [("patch", "patch would first let them come apart slowly"), ("penalty", "thrown apart")])
def test_overlap_is_said_in_python_too(contact: str, then: str, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(dt=1e-3, contact=contact)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), position=(0, 0, 0.05))
    sim = scene.simulate()
    assert any("ball and ground overlap by 0.05 m" in note and "(0, 0, 0.05)" in note for note in sim.notes)
    assert then in caplog.text
