"""What the networks of springs are made of: voxels that fill a surface, tetrahedra for all-pairs bodies, masses, and recorded runs."""

import numpy as np
import pytest

from pliant import Scene
from pliant.base import PliantError
from pliant.bodies.parts import body_parts
from pliant.bodies.springs.elements import cell_pairs
from pliant.geometry.filling import lattice
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.winding import winding_numbers
from pliant.record import Run
from pliant.scene import Body
from pliant.simulate import running

BALL = make("ball", radius=0.1, edge=0.03).surface()


def test_winding_numbers_tell_inside_from_outside():
    rng = np.random.default_rng(0)
    at = rng.uniform(-0.12, 0.12, (300, 3))
    r = np.linalg.norm(at, axis=1)
    clear = (r < 0.09) | (r > 0.101)  # the facets lie between
    assert np.abs(winding_numbers(BALL.points, BALL.faces, at) - (r < 0.1))[clear].max() < 1e-9


def test_a_lattice_of_a_box_is_the_box():
    found = lattice(make("box", size=(0.4, 0.2, 0.2), edge=0.1).surface(), spacing=0.1)
    assert len(found.cells) == 4 * 2 * 2 and len(found.mesh.points) == 5 * 3 * 3 and (found.filled == 1.0).all()
    assert found.mesh.volumes.sum() == pytest.approx(0.016, rel=1e-12) and (found.mesh.volumes > 0).all()
    pairs = cell_pairs(found.cells)
    degree = np.bincount(pairs.ravel())
    assert degree.max() == 26 and degree.min() == 7  # in the middle, and at a corner
    length = np.linalg.norm(found.mesh.points[pairs[:, 1]] - found.mesh.points[pairs[:, 0]], axis=1)
    assert np.unique(np.round(length / 0.1, 9)) == pytest.approx(np.sqrt([1, 2, 3]))


def test_a_lattice_holds_the_surface_and_fills_its_volume():
    found = lattice(BALL)
    cells = found.mesh.points[found.cells]
    low, high = cells.min(axis=1), cells.max(axis=1)
    held = ((BALL.points[:, None] >= low - 1e-9) & (BALL.points[:, None] <= high + 1e-9)).all(axis=2).any(axis=1)
    assert held.all()
    inside = (found.filled * np.prod(high - low, axis=1)).sum()
    assert inside == pytest.approx(mass_of_surface(BALL).volume, rel=0.1)


def test_a_voxel_body_has_the_mass_of_its_surface_and_wears_it():
    body = Body(name="b", shape=BALL, model="springs", network="voxels", spacing=0.03, rotation=(10, 20, 30), position=(1, 2, 3))
    parts = body_parts(body)
    assert parts.node_mass.sum() == pytest.approx(1000.0 * mass_of_surface(BALL).volume, rel=1e-12) and (parts.node_mass > 0).all()
    assert parts.surface_points == len(BALL.points) and (parts.faces == BALL.faces).all()
    bound = np.zeros_like(parts.points)
    owner = np.repeat(np.arange(len(bound)), np.diff(parts.bind_start))
    np.add.at(bound, owner, parts.bind_weight[:, None] * parts.nodes[parts.bind_node])
    assert np.abs(bound - parts.points).max() < 1e-12
    assert parts.bind_weight.min() > -1e-6
    assert len(parts.tets) > 0  # methods that need an inside have one


def test_an_open_surface_and_a_tiny_spacing_are_refused():
    with pytest.raises(PliantError, match="Body 'b'"):
        body_parts(Body(name="b", shape=Surface(BALL.points, BALL.faces[1:]), model="springs", network="voxels"))
    with pytest.raises(PliantError, match="spacing = 1e-05"):
        body_parts(Body(name="b", shape=BALL, model="springs", network="voxels", spacing=1e-5))


def test_all_pairs_bodies_are_filled_with_tets_where_contact_needs_them():
    """Then all vertices of the tets are joined, so that those inside move too."""
    body = Body(name="b", shape=dict(kind="ball", radius=0.1, edge=0.04), model="springs", network="all-pairs")
    bare, filled = body_parts(body), body_parts(body, frozenset({"tets"}))
    assert len(bare.tets) == 0 and len(bare.nodes) == bare.surface_points
    assert len(filled.tets) > 0 and len(filled.nodes) > filled.surface_points == bare.surface_points
    assert len(filled.elements[0].nodes) == len(filled.nodes)
    assert filled.node_mass.sum() == pytest.approx(bare.node_mass.sum(), rel=1e-9)


@pytest.mark.parametrize("network", ["tets", "surface", "all-pairs", "voxels"])
def test_mass_of_vertices_can_be_given_for_every_network(network):
    scene = Scene(contact="none")
    scene.add(name="b", shape=BALL if network != "tets" else make("ball", radius=0.1, edge=0.05), model="springs", network=network,
              integrator="verlet", material=dict(vertex_mass=0.25, spring_stiffness=10.0))  # fmt: skip
    assert (scene.simulate().world.model.nodes.mass == 0.25).all()


@pytest.mark.parametrize("network", ["tets", "surface", "all-pairs", "voxels"])
def test_adaptive_damping_calms_every_network(network):
    """A stretched ball comes to rest; without damping it goes on (energy with the velocity in the middle of a step swings)."""
    energy = {}
    for c in (0.0, 0.5):
        scene = Scene(contact="none", gravity=(0, 0, 0), dt=0.002)
        scene.add(name="b", shape=make("ball", radius=0.1, edge=0.05), model="springs", network=network, spacing=0.1, integrator="verlet",
                  material=dict(vertex_mass=0.05, spring_stiffness=100.0, vertex_damping=c, adaptive_force=0.5))  # fmt: skip
        sim = scene.simulate()
        sim.state.x *= 1.1
        first = sim.books().total
        energy[c] = sim.run(until=2.0).books().total / first
    assert 0.5 < energy[0.0] < 1.5 and energy[0.5] < 0.05


@pytest.mark.parametrize("integrator", ["verlet", "cooper-verner", "dop853"])
def test_a_recorded_run_is_resumed_with_the_same_bits(tmp_path, integrator):
    def scene(duration):
        scene = Scene(name="s", dt=0.004, duration=duration)
        scene.add(name="ground", shape="plane", model="static")
        material = dict(spring_stiffness=20.0, vertex_mass=0.05, vertex_damping=0.1, adaptive_force=1.0)
        for i, network in enumerate(("all-pairs", "surface")):
            scene.add(name=network, shape=BALL, model="springs", network=network, integrator=integrator, position=(0.3 * i, 0, 0.1), material=material)
        return scene

    whole = running.run(*running.start(scene(0.16), tmp_path / "whole", every=0.04))
    running.run(*running.start(scene(0.08), tmp_path / "part", every=0.04))
    rest = running.run(*running.reopen(tmp_path / "part", duration=0.16))
    assert whole.status == rest.status == "finished" and whole.max_contacts > 2
    with Run.open(whole.path) as a, Run.open(rest.path) as b:
        for name in ("x", "v"):
            assert a.state().arrays[name].tobytes() == b.state().arrays[name].tobytes()


def test_materials_change_during_a_run():
    scene = Scene(contact="none", gravity=(0, 0, 0), dt=1e-3)
    scene.add(name="b", shape=BALL, model="springs", network="all-pairs", material=dict(vertex_mass=1.0, spring_stiffness=1.0))
    sim = scene.simulate()
    sim.set("b.material.spring_stiffness", 9.0)
    sim.set("b.material.vertex_damping", 2.0)
    sim.state.x *= 1.1
    assert (sim.world.model.groups[0].spring_stiffness == 9.0).all()
    sim.step()
    assert (sim.report.damping == 2.0).all()
