"""Bodies that tear: mass and momentum to the last bit, closed skins, marks that stay, runs that follow and resume."""

from dataclasses import replace
from math import fsum

import numpy as np
import pytest

from pliant import PliantError, Scene
from pliant.bodies.points.elements import Points
from pliant.bodies.points.fracture import Whole, _caps, _even, cut_off, pieces_of
from pliant.cli.terminal import summary_facts, summary_table
from pliant.geometry.filling import fill
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.topology import volume_of
from pliant.record import Run
from pliant.simulate import running
from pliant.simulate.fracture import break_up, parted
from pliant.simulate.step import step


def pulled(ground=False, **material):
    """A bar whose halves fly apart; a bystander before and behind it among the bodies."""
    scene = Scene(dt=0.002, duration=0.2, gravity=(0, 0, 0), contact="point-surface" if ground else "none")
    if ground:
        scene.add(name="floor", shape="plane", model="static", position=(0, 0, -0.8))
    scene.add(name="first", shape=dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.1), position=(5, 0, 0), velocity=(0, 1, 0))
    scene.add(
        name="bar", shape=dict(kind="box", size=(0.8, 0.3, 0.3), edge=0.1), model="points", spacing=0.1, support=2.0,
        material=dict(youngs_modulus=2e4, tear_strain=0.3, **material),
    )  # fmt: skip
    scene.add(name="last", shape=dict(kind="ball", radius=0.1, edge=0.1), model="springs", position=(-5, 0, 0))
    return scene


def thrown(scene, speed=4.0):
    sim = scene.simulate()
    x, v = sim.state.x[sim.nodes("bar")], sim.state.v[sim.nodes("bar")]
    v[:, 0] = np.sign(x[:, 0]) * speed  # halves of four layers each
    return sim


@pytest.fixture(scope="module")
def torn():
    sim = thrown(pulled())
    while len(sim.world.model.bodies) == 3 and sim.time < 0.2:
        sim.step()
    return sim


def exact(values):
    """A sum that does not depend on the order."""
    return [fsum(column) for column in np.asarray(values).reshape(len(values), -1).T]


def test_a_split_keeps_mass_momentum_and_positions_to_the_last_bit():
    sim = thrown(pulled())
    while True:
        sim._apply_changes()
        sim.report = step(sim.world, sim.contact, sim.dt)
        world = sim.world
        broken = parted(world, sim.epoch) if sim.report.renewed else None
        if broken is not None:
            break
    after, epoch = break_up(world, sim.epoch, broken)
    old, new = world.model.nodes, after.model.nodes
    assert len(after.model.bodies) > len(world.model.bodies)
    for left, right in ((old.mass, new.mass), (world.state.x, after.state.x), (world.state.v, after.state.v)):
        assert exact(left) == exact(right)
    assert exact(old.mass[:, None] * world.state.v) == exact(new.mass[:, None] * after.state.v)
    turning = np.cross(world.state.x, old.mass[:, None] * world.state.v), np.cross(after.state.x, new.mass[:, None] * after.state.v)
    assert exact(turning[0]) == exact(turning[1])
    assert (np.sort(epoch.order) == np.arange(len(new.mass))).all()


def test_parts_are_bodies_with_closed_skins_of_their_own(torn):
    model = torn.world.model
    bodies = model.bodies
    assert bodies.names[:4] == ["first", "bar", "last", "bar.2"] and bodies.parent[:4].tolist() == [-1, -1, -1, 1]
    assert (model.nodes.body == np.repeat(np.arange(len(bodies)), np.diff(bodies.node_start))).all()
    rest = torn.world.skin_positions(model.nodes.rest, torn.state.position, torn.state.rotation)
    volumes = []
    for body in [1, *range(3, len(bodies))]:
        faces = model.skin.faces[bodies.face_start[body] : bodies.face_start[body + 1]]
        if len(faces):
            assert (model.skin.body[faces] == body).all() and (faces < bodies.point_start[body] + bodies.surface[body]).all()
            volumes.append(mass_of_surface(Surface(rest, faces)).volume)  # refuses an open one
        own = model.skin.node[model.skin.start[bodies.point_start[body]] : model.skin.start[bodies.point_start[body + 1]]]
        assert (model.nodes.body[own] == body).all()
    assert sum(volumes) == pytest.approx(0.8 * 0.3 * 0.3, rel=0.01)  # rims are evened out


def test_bystanders_are_not_touched(torn):
    """Not a bit of other bodies depends on whether one tears."""
    whole = thrown(pulled(), 0.0)
    for _ in range(torn.state.step):
        whole.step()
    for name in ("first", "last"):
        assert (torn.points(name) == whole.points(name)).all()


def test_parts_that_meet_again_do_not_grow_together(torn):
    """Marks are the bodies: no neighbour is in another one, and pushing them back makes no force between them."""
    world = torn.world
    (group,) = [g for _, g in world.points]
    own = np.repeat(np.arange(len(group.nodes)), np.diff(group.around.start))
    body = world.model.nodes.body[group.nodes[:, 0]]
    assert (body[own] == body[group.around.other]).all()
    x = world.state.x.copy()
    mine = world.model.nodes.body == 3
    f, g = np.empty((len(group.nodes), 3)), np.empty((len(group.nodes), 3))
    group.forces(x, 0.0 * x, f)
    x[mine] += world.state.x[world.model.nodes.body == 1].mean(axis=0) - x[mine].mean(axis=0)
    group.forces(x, 0.0 * x, g)
    assert g == pytest.approx(f, abs=1e-9 * np.abs(f).max())


@pytest.mark.slow
def test_parts_collide():
    """Thrown at each other the parts meet as two bodies, bounce, and keep momentum."""
    sim = thrown(pulled(ground=True))
    while len(sim.world.model.bodies) == 4:
        sim.step()
    a, b = sim.nodes("bar"), sim.nodes("bar.2")
    mass, side = sim.world.model.nodes.mass, np.sign(sim.centre("bar.2")[0] - sim.centre("bar")[0])
    sim.state.v[a], sim.state.v[b] = [side, 0, 0], [-side, 0, 0]
    before, met = sim.books().momentum, 0.0
    for _ in range(200):
        sim.step()
        met = max(met, float(np.abs(sim.contacts("bar", "bar.2").total_force).max(initial=0.0)))
    speed = side * (np.average(sim.state.v[b, 0], weights=mass[b]) - np.average(sim.state.v[a, 0], weights=mass[a]))
    assert met > 0.0 and speed > 0.2
    assert np.abs(sim.books().momentum - before).max() < 1e-10


def test_cut_pairs_stay_cut():
    """A crack that is not through: its pairs are gone and do not come back when it closes."""
    scene = pulled()
    sim = scene.simulate()
    (group,) = [g for _, g in sim.world.points]
    assert isinstance(group, Points)
    x, bar = sim.state.x.copy(), sim.nodes("bar")
    moved = x[bar]
    moved[(moved[:, 0] > 0.0) & (moved[:, 2] > 0.05), 0] += 0.05
    before = len(group.around.other)
    group.flow(x, 0.001)
    cut = len(group.around.other)
    assert cut < before and len(group.cut[0]) == (before - cut) // 2
    group.flow(sim.state.x, 0.001)
    assert len(group.around.other) == cut
    assert group.parts() is None


def ball_of_points(spacing):
    """(surface, phyxels, all points, the whole) of a ball of 0.5 m."""
    surface = make("ball", radius=0.5, edge=0.08).surface()
    places = fill(surface, spacing)[0]
    points = np.concatenate([surface.points, places])
    near = np.array([np.argmin(np.linalg.norm(places - p, axis=1)) for p in points])
    whole = Whole(points, len(surface.points), surface.faces, np.zeros((0, 4), np.int64), places, near, np.ones(len(surface.faces), bool))
    return surface, places, points, whole


def test_a_piece_from_within_has_the_hull_of_its_phyxels():
    surface, places, points, whole = ball_of_points(0.12)
    label = (np.linalg.norm(places, axis=1) < 0.3).astype(np.int64)
    outer, inner = pieces_of(whole, label, np.zeros(2))
    edges = np.sort(inner.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert len(outer.faces) == len(surface.faces) and (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    assert (inner.source[: inner.surface] == -1).all() and (inner.face_source == -1).all()
    at = np.repeat(np.arange(len(inner.places)), np.diff(inner.start))
    ridden = np.zeros_like(inner.places)
    np.add.at(ridden, at, inner.weight[:, None] * places[label == 1][inner.node])
    assert ridden == pytest.approx(inner.places)
    volume = volume_of(inner.places, inner.faces, np.zeros(len(inner.faces), np.int64))[0]
    assert 0.8 < volume / (label.sum() * 0.12**3) < 1.4


def test_points_of_a_piece_that_was_drawn_out_are_no_spikes():
    """A ball drawn out to three times its length before it parts in the middle: skins end half a spacing beyond the last phyxels, where
    they reached as far as half of the gap. A later crack elsewhere leaves them alone."""
    surface, places, points, whole = ball_of_points(0.2)
    label, now = (places[:, 2] > 0).astype(np.int64), points * [0.6, 0.6, 3.0]
    reach = 3.0 * places[:, 2][label == 1].min() - 0.1
    for before, least in ((np.zeros(2), reach - 0.02), (np.arange(2), -0.3)):
        piece = pieces_of(whole, label, before, [now, now])[1]
        lowest = piece.places[: piece.surface, 2].min()
        assert lowest > least
    assert lowest < reach - 0.05  # not trimmed
    assert (piece.places[piece.surface :] == now[len(surface.points) :][label == 1]).all()


def test_what_was_drawn_out_beyond_a_crack_is_cut_off():
    """The same ball: walls beyond the crack, flattened onto its face, would be folds in it; without them both pieces are closed."""
    surface, places, points, whole = ball_of_points(0.2)
    label, now = (places[:, 2] > 0).astype(np.int64), points * [0.6, 0.6, 3.0]
    gone = cut_off(whole, label, np.zeros(2), [now, now])
    left = replace(whole, shown=~np.isin(np.arange(len(surface.faces)), gone))
    assert 0 < len(gone) < 0.2 * len(surface.faces) and len(cut_off(left, label, np.zeros(2), [now, now])) == 0
    for piece in pieces_of(left, label, np.zeros(2), [now, now]):
        edges = np.sort(piece.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all() and not np.isin(piece.face_source, gone).any()


def test_a_rim_loses_its_teeth_and_keeps_its_shape():
    """(1 - 0.5 k) (1 + 0.53 k), eight times, of a wave whose points lie k of its height off the middle of their neighbours (Taubin 1995):
    of teeth from point to point (k = 2) nothing, of a ring of 24 points (k = 0.034) 1.005."""
    angle = np.arange(24) * 2.0 * np.pi / 24
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(24)], axis=1)
    k = 1.0 - np.cos(2.0 * np.pi / 24)
    teeth = ring + 0.2 * (-1.0) ** np.arange(24)[:, None] * np.array([0.0, 0.0, 1.0])
    out = _even(teeth, [np.arange(24)])
    assert out == pytest.approx(((1.0 - 0.5 * k) * (1.0 + 0.53 * k)) ** 8 * ring, abs=1e-12)
    assert np.linalg.norm(out, axis=1) == pytest.approx(1.0, abs=0.01)


def test_a_cap_closes_its_rim_and_is_as_fine():
    """Points on its face, not farther from each other than those of the rim are; an open edge at the rim alone, turned as the cap runs."""
    angle = np.arange(24) * 2.0 * np.pi / 24
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(24)], axis=1)
    new, faces = _caps(ring, [np.arange(24)])
    points = np.concatenate([ring, new])
    x, edges = points[faces], faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    rim = np.linalg.norm(ring[1] - ring[0])
    assert np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1).max() < 1.5 * rim and len(new) == 3 * 24 + 1
    area = 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    assert (area[:, 2] > 0).all() and area[:, 2].sum() == pytest.approx(12 * np.sin(angle[1]))
    known = {(a, b) for a, b in edges.tolist()}
    assert len(known) == len(edges) and {(a, b) for a, b in known if (b, a) not in known} == {(k, (k + 1) % 24) for k in range(24)}


@pytest.mark.parametrize("tets", [False, True])
def test_pieces_share_the_volume_of_the_whole(tets):
    shape = make("ball", radius=0.5, edge=0.2 if tets else 0.08)
    surface, places = shape.surface(), fill(shape.surface(), 0.12)[0]
    points = np.concatenate([shape.tets.points if tets else surface.points, places])
    faces = shape.tets.boundary if tets else surface.faces
    near = np.array([np.argmin(np.linalg.norm(places - p, axis=1)) for p in points])
    cells = shape.tets.tets if tets else np.zeros((0, 4), np.int64)
    whole = Whole(points, len(points) - len(places), faces, cells, places, near, np.ones(len(cells) or len(faces), bool))
    label = (places @ [1.0, 0.3, 0.2] > 0.05).astype(np.int64)
    total, pieces = 0.0, pieces_of(whole, label, np.zeros(2))
    shared = np.intersect1d(*(p.source[: p.surface] for p in pieces))  # the rim, which is evened out where no tets close it
    for number, piece in enumerate(pieces):
        own = places[label == number]
        where = np.stack([np.add.reduceat(piece.weight * own[piece.node, k], piece.start[:-1]) for k in range(3)], axis=1)
        total += mass_of_surface(Surface(where, piece.faces)).volume
        known = piece.source >= 0
        off = np.linalg.norm(where[known] - points[piece.source[known]], axis=1)
        assert off[~np.isin(piece.source[known], shared) | tets].max() < 1e-9 and off.max() < 0.1  # an edge
    assert total == pytest.approx(mass_of_surface(surface).volume, rel=1e-9 if tets else 0.03)


def test_a_run_that_tears_is_recorded_and_resumed_bit_for_bit(tmp_path):
    """Plastic and torn, over a floor whose anchor lies behind all points: stopped after the split, resumed, the same to the last bit."""
    scene = pulled(ground=True, yield_strain=0.05, creep_time=0.01)

    def begun(name, duration):
        sim, recorder = running.start(scene.copy_with(duration=duration), tmp_path / name, every=0.01)
        x, v = sim.state.x[sim.nodes("bar")], sim.state.v[sim.nodes("bar")]
        v[:, 0] = np.sign(x[:, 0]) * 4.0
        v[:, 2] = -2.0
        return sim, recorder

    straight = running.run(*begun("straight", 0.3))
    assert straight.status == "finished", straight.message
    running.run(*begun("stopped", 0.16))
    sim, recorder = running.reopen(tmp_path / "stopped", duration=0.3)
    assert len(sim.world.model.bodies) > 4
    resumed = running.run(sim, recorder)
    a, b = straight.simulation, resumed.simulation
    assert a.world.model.bodies.names == b.world.model.bodies.names
    for name in ("x", "v", "position", "rotation"):
        assert (getattr(a.state, name) == getattr(b.state, name)).all(), name
    assert a.state.elements["skin"]["bound"].any()
    for name, kept in a.state.elements.items():
        assert all((kept[key] == b.state.elements[name][key]).all() for key in kept)
    with Run.open(straight.path) as run:
        first, last = run.cells(0), run.cells(run.frames - 1)
        assert len(first.bodies) == 4 < len(last.bodies) and last.parents[4] == 2
        assert len(run.points(run.frames - 1)) == a.world.model.bodies.point_start[-1]
        assert np.isfinite(run.points(run.frames - 1)).all()
    floor = a.points("bar")[: a.world.model.bodies.surface[2], 2].min()
    assert floor > -0.85


def test_the_method_ground_is_refused_for_what_tears():
    """Parts overlap where they part, and it would throw them apart."""
    with pytest.raises(PliantError, match="point-surface"):
        pulled().copy_with(contact="ground").simulate()
    pulled().copy_with(contact="point-surface", pairs=[{"a": "bar", "b": "last", "method": "ground"}]).simulate()


def test_what_flow_and_tears_took_and_what_came_apart_is_told(tmp_path, capsys):
    """Halves of a plastic bar fly apart, without damping and contact: all that is lost was taken by flow and tears."""
    scene = Scene(dt=1e-3, duration=0.08, gravity=(0, 0, 0), contact="none")
    soft = dict(youngs_modulus=5e4, density=1000.0, yield_strain=0.02, tear_strain=1.0)
    scene.add(name="bar", shape=dict(kind="box", size=(0.1, 0.1, 0.3), edge=0.05), model="points", spacing=0.04, material=soft)
    sim, recorder = running.start(scene, tmp_path / "bar")
    sim.state.v[:, 2] = 2.0 * np.sign(sim.state.x[:, 2])
    outcome = running.run(sim, recorder)
    books, facts = outcome.simulation.books(), summary_facts(outcome)
    assert books.start == pytest.approx(0.5 * 3.0 * 4.0) and books.flow > 0.1 * books.start
    assert books.lost == pytest.approx(books.flow, abs=0.02 * books.start)
    assert facts["parts"] == {"bar": 2} and facts["flow"] == books.flow
    summary_table(outcome, facts)
    told = " ".join(capsys.readouterr().out.split())
    assert "came apart bar into 2 parts (bar, bar.2)" in told
    assert f"taken by flow and tears {books.flow:.3g}, lost by damping and integration {books.lost - books.flow:.3g}" in told


def test_what_is_whole_and_elastic_tells_nothing_of_flow_and_parts(tmp_path, capsys):
    scene = Scene(dt=1e-3, duration=0.005, gravity=(0, 0, 0), contact="none")
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1, edge=0.1), model="points", spacing=0.08, velocity=(1, 0, 0))
    outcome = running.run(*running.start(scene, tmp_path / "ball"))
    facts = summary_facts(outcome)
    assert facts["parts"] == {} and facts["flow"] == 0.0
    summary_table(outcome, facts)
    told = capsys.readouterr().out
    assert "came apart" not in told and "flow" not in told
