"""The scenes of the non-iterative contact forces in small versions: depth after every step, rest, momentum, and what falls."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import PliantError, Scene, shapes
from pliant.measure.overlap import overlap, remaining_depth
from pliant.shop import scenes
from pliant.shop.scenes.spillmann import yardstick


def watched(name, every=5, **values):
    """Run to the end; the deepest point after any looked-at step in mean edges, and kinetic energies."""
    sim = scenes.make(name, **values).simulate()
    depth, kinetic = [], []

    def look(report):
        if report.step % every == 0:
            depth.append(overlap(sim).worst)
            kinetic.append(sim.books().kinetic)

    sim.run(each=look)
    return sim, np.array(depth), np.array(kinetic)


SQUEEZED = [
    ("squeezed-bars", dict(squeeze=0.15, layers=2, edge=0.02, dt=0.0002, duration=0.35)),
    ("soft-cube-stiff-bars", dict(edge=0.05, squeeze=0.12, dt=0.00025, duration=0.4)),
]


@pytest.mark.parametrize("name, values", SQUEEZED)
def test_squeezed_bodies_are_apart_after_every_step_and_at_rest(name, values):
    sim, depth, _ = watched(name, **values)
    assert depth.max() < 0.05, f"{100 * depth.max():.2f} % of an edge"
    assert depth[-1] < 0.01
    assert depth.max() > 0.0 and len(sim.contacts()) >= 20  # they do touch
    scenes.find(name).expect(sim)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezed-bars", "soft-cube-stiff-bars"])
def test_so_are_the_whole_scenes_and_they_come_to_rest(name):
    sim, depth, kinetic = watched(name, every=20)
    assert depth.max() < 0.05 and depth[-10:].max() < 0.01
    assert kinetic[-10:].max() < 1e-4 * kinetic.max()
    scenes.find(name).expect(sim)


@pytest.mark.parametrize("ratio", [1.0, 30.0, 1000.0])
def test_two_free_cubes_keep_momentum_at_every_ratio_of_masses(ratio):
    sim, depth, _ = watched("two-free-cubes", ratio=ratio, dt=0.0004, duration=0.12)
    then = sim.scene.simulate().books()
    size = np.abs(sim.world.model.nodes.mass[:, None] * sim.state.v).sum()
    assert np.abs(sim.books().momentum - then.momentum).max() < 1e-12 * size
    assert depth.max() > 0.0, "they did not meet"
    assert depth.max() < 0.05


def test_the_error_of_angular_momentum_shrinks_with_the_step():
    errors = []
    for dt in (0.0008, 0.0002):
        sim = scenes.make("two-free-cubes", dt=dt, duration=0.12).simulate()
        then, size = sim.books().angular_momentum, yardstick(sim)
        sim.run()
        errors.append(np.linalg.norm(sim.books().angular_momentum - then) / size)
    assert errors[1] < 0.5 * errors[0], errors
    assert errors[1] < 1e-3, errors


def test_published_shares_turn_bodies_whatever_the_step():
    """Mode "paper": the reaction is not where the way in is measured. A fifth of the angular momentum; without friction energy is gained."""

    def ended(**values):
        sim = scenes.make("two-free-cubes", **values).simulate()
        before, size = sim.books(), yardstick(sim)
        after = sim.run().books()
        return after.total / before.total, np.linalg.norm(after.angular_momentum - before.angular_momentum) / size

    for dt in (0.0004, 0.0002):
        left, turned = ended(mode="paper", dt=dt)
        assert 0.18 < turned < 0.23
        assert 0.93 < left < 0.96  # friction takes more than the pair of forces brings
    gained, _ = ended(mode="paper", dt=0.0004, friction=0.0)
    kept, _ = ended(mode="moment", dt=0.0004, friction=0.0)
    assert kept < 1.0 < 1.005 < gained < 1.02


def test_the_arch_is_apart_from_the_first_steps_on():
    """Points at rims, microns deep, were dragged through whole stones: 61 to 83 mm within milliseconds."""
    sim = scenes.make("archway", drop=0, duration=0.03).simulate()
    deepest = 0.0
    assert sim._pieces == 1  # its step is below its own limit

    def look(report):
        nonlocal deepest
        deepest = max(deepest, report.contacts.depth.max(initial=0.0))

    sim.run(each=look)
    assert 0.0 < deepest < 2e-3
    assert scenes.find("archway").expect(sim)


def test_chess_pieces_gain_no_energy_when_contacts_are_found_late():
    """Crossings and points that nobody had seen threw pieces apart with up to 26 m/s."""
    sim = scenes.make("chess-500", count=8, across=2, law="corotated", density=200.0, dt=0.00011, duration=0.16).simulate()
    total, gained = sim.books().total, 0.0

    def look(report):
        nonlocal total, gained
        now = sim.books().total
        gained, total = gained + max(now - total, 0.0), now

    sim.run(each=look)
    assert gained < 1e-3 * sim.books().start


def test_chess_pieces_fall_into_the_container():
    sim, depth, _ = watched("chess-500", every=20, count=8, across=2, duration=0.12)
    assert scenes.find("chess-500").expect(sim)
    assert depth.max() < 0.1
    assert len(sim.contacts()) > 0


STEMS = [
    ("queen", 1.2, 4.0), ("bishop", 2.0, 16.0), ("pawn", 4.0, 8.0),
    pytest.param("queen", 1.2, 2.0, marks=pytest.mark.slow), pytest.param("bishop", 2.0, 3.2, marks=pytest.mark.slow),
    pytest.param("rook", 8.0, 16.0, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize("kind, stands, folds", STEMS)
def test_stems_of_chess_pieces_buckle_under_so_much(kind, stands, folds):
    """In parts of a piece's weight, put on its head: 4 of them lie on the lowest. This is statics of one body, without contact or steps.

    At 200 kg/m^3, four times the scene's, it is a quarter of that: all but rooks and pawns folded under a single one.
    """
    piece = next(b for b in scenes.make("chess-500", count=4, across=2).bodies if b.name.startswith(kind))

    def shorter(part):
        load = part * 9.81 * piece.material.density * shapes.make(**piece.shape).tets.volumes.sum()
        scene = Scene(gravity=(0, 0, 0), contact="none")
        pushed = {"kind": "force", "where": {"side": "+z"}, "value": (0.02 * load, 0.0, -load)}
        scene.add(name="piece", shape=piece.shape, material=piece.material, fixed=[{"side": "-z"}], loads=[pushed])
        try:
            return 1.0 - scene.simulate().equilibrium().points("piece")[:, 2].max() / piece.shape["height"]
        except PliantError as error:
            assert "it may buckle" in str(error)
            return 1.0

    assert shorter(stands) < 0.03 and shorter(folds) > 0.3


@pytest.mark.slow
def test_fifty_chess_pieces_stand_on_each_other():
    """Five to six layers: none of their 8,700 elements is inverted on the way, no stem folds, and none leaves the container.

    With 200 kg/m^3, as it was, stems fold under what lies on them.
    """
    sim = scenes.make("chess-500", count=50, across=3, duration=0.4).simulate()
    pieces = [body for body in sim.scene.bodies if body.model == "fem"]
    ends = [_ends(shapes.make(**body.shape).tets.points[:, 2], sim.nodes(body.name).start) for body in pieces]
    tall = lambda x: np.array([np.linalg.norm(x[top].mean(axis=0) - x[foot].mean(axis=0)) for foot, top in ends])
    rest, least, kept, kinetic = tall(sim.world.model.nodes.rest), [], [], []

    def look(report):
        if report.step % 50 == 0:
            least.append(min(float(group.stretch(sim.state.x).min()) for group in sim.world.model.groups))
            kept.append(float((tall(sim.state.x) / rest).min()))
            kinetic.append(sim.books().kinetic)

    sim.run(each=look)
    assert scenes.find("chess-500").expect(sim) and len(pieces) == 50
    assert min(least) > 0.0 and min(kept) > 0.8
    assert kinetic[-1] < 0.3 * max(kinetic)


def _ends(height, first):
    """The nodes of the lowest and of the highest level of a piece."""
    return first + np.flatnonzero(height < 1e-9), first + np.flatnonzero(height > height.max() - 1e-9)


def test_the_whole_chess_set_has_the_published_size():
    pieces = {kind: shapes.make(kind, sides=5).tets for kind in ("pawn", "rook", "bishop", "queen")}
    points, tets = (125 * sum(len(getattr(m, what)) for m in pieces.values()) for what in ("points", "tets"))
    assert abs(points / 50_400 - 1) < 0.02 and abs(tets / 88_200 - 1) < 0.01
    assert all((m.volumes > 0).all() for m in pieces.values())


def test_coarse_pieces_weigh_what_fine_ones_do():
    for kind in ("pawn", "bishop", "queen"):
        coarse, fine = (shapes.make(kind, height=0.06, **how).tets.volumes.sum() for how in ({"sides": 5}, {"edge": 0.003}))
        assert abs(coarse / fine - 1) < 0.03, kind


def test_chained_rings_start_apart_and_stay_linked():
    sim = scenes.make("chained-tori", links=5, height=0.005, dt=0.0002, duration=0.12).simulate()
    assert remaining_depth(sim) == 0.0
    sim.run()
    assert len(sim.contacts()) > 0
    assert scenes.find("chained-tori").expect(sim)
    assert overlap(sim).worst < 0.05


@pytest.mark.parametrize("links, tets", [(200, 80_000)])
def test_the_whole_chain_has_the_published_size(links, tets):
    scene = scenes.make("chained-tori", links=links)
    ring = shapes.make(**scene.bodies[1].shape).tets
    sheet = shapes.make(**scene.bodies[0].shape).tets
    assert abs((links * len(ring.tets) + len(sheet.tets)) / tets - 1) < 0.02
    assert len(scene.bodies) == links + 1


def test_the_stones_of_the_arch_are_those_of_the_paper():
    scene = scenes.make("archway")
    stone = shapes.make(**scene.bodies[1].shape).tets
    assert len(stone.tets) == 375
    assert remaining_depth(scene.simulate()) < 1e-12  # they touch and do not overlap


@pytest.mark.slow
def test_the_arch_stands_for_ten_seconds_under_two_balls_and_comes_to_rest():
    sim, depth, kinetic = watched("archway", every=100)
    assert sim.time == pytest.approx(10.0)
    assert depth.max() < 0.01
    assert scenes.find("archway").expect(sim)
    assert kinetic[-20:].max() < 1e-4 * kinetic.max()


@pytest.mark.slow
def test_the_arch_falls_without_friction():
    loose, _, _ = watched("archway", every=1000, drop=0, friction=0.2, duration=2.0)
    assert scenes.find("archway").expect(loose)


@pytest.mark.slow
def test_a_chain_comes_to_rest_and_stays():
    sim, depth, kinetic = watched("chained-tori", every=50, links=24, duration=2.2)
    assert scenes.find("chained-tori").expect(sim)
    assert kinetic[-20:].max() < 1e-4 * kinetic.max()
    assert depth[-1] < 0.02


@pytest.mark.slow
def test_the_strip_folds_onto_itself_and_rests():
    sim, _, kinetic = watched("folding-strip", every=50)
    assert scenes.find("folding-strip").expect(sim)
    assert kinetic[-1] < 1e-4 * kinetic.max()


HEIGHTS = {"squeezed-bars": 0.12, "soft-cube-stiff-bars": 0.2, "archway": 0.28, "chess-500": 0.15, "chained-tori": 0.1, "folding-strip": 0.4}


@pytest.mark.parametrize("name, height", HEIGHTS.items())
def test_bodies_hardly_sag_under_their_own_weight(name, height):
    soft = [b for b in scenes.make(name).bodies if b.model == "fem"]
    assert all(b.material.density * 9.81 * height / b.material.youngs_modulus <= 0.0501 for b in soft)
