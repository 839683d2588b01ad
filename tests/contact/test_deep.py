"""Bodies that start deep in each other under `patch`: they come apart, gently, and it is told (theory/patch 3.6, 4.5)."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.contact.patch.surface import Surfaces, _deepest
from pliant.detect.penetration import Penetration
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make

WIDTH = 0.1
SPEED = 10.0 * 0.5 * WIDTH  # [m/s] that no centre reaches: twice GENTLE times half the thickness
BOX = dict(kind="box", size=(WIDTH, WIDTH, WIDTH), edge=0.05)
KINDS = {
    "soft": dict(integrator="implicit", material=dict(youngs_modulus=1e5)),
    "rigid": dict(model="rigid"),
    "static": dict(model="static"),
}


def overlapping(a: str, b: str, share: float, seed: int) -> Scene:
    """Two boxes turned at random, so near each other that balls of their width overlap by this share of it."""
    rng = np.random.default_rng(seed)
    way = rng.normal(size=3)
    scene = Scene(dt=4e-3, contact="patch", gravity=(0, 0, 0))
    scene.add(name="a", shape=BOX, rotation=tuple(rng.uniform(-180, 180, 3)), **KINDS[a])
    place = tuple(way / np.linalg.norm(way) * WIDTH * (1.0 - share))
    scene.add(name="b", shape=BOX, rotation=tuple(rng.uniform(-180, 180, 3)), position=place, **KINDS[b])
    return scene


def come_apart(scene: Scene, until: float):
    """(simulation, largest speed of any centre [m/s], largest energy [J], least volume of an element over that at rest)."""
    sim, fastest, most, least = scene.simulate(), 0.0, 0.0, np.inf
    names = [body.name for body in scene.bodies]

    def watch(_) -> None:
        nonlocal fastest, most, least
        now = np.array([sim.centre(name) for name in names])
        fastest = max(fastest, np.linalg.norm(now - watch.before, axis=1).max() / scene.dt)
        watch.before, most = now, max(most, sim.books().total)
        for group in sim.world.model.groups:
            least = min(least, (volumes(sim.state.x[group.nodes]) / volumes(sim.world.model.nodes.rest[group.nodes])).min())

    watch.before = np.array([sim.centre(name) for name in names])
    while sim.time < until:
        sim.step(each=watch)
    return sim, fastest, most, least


def volumes(corners):
    edges = corners[:, 1:4] - corners[:, :1]
    return np.linalg.det(edges)


def depth(sim) -> float:
    still = sim.world.standing()
    finder = still.kept(Penetration)
    return float(-finder.find(finder.fit(still.end, still.shapes), still.pairs.meet).gap.min(initial=0.0))


def check(a: str, b: str, share: float, seed: int) -> None:
    scene = overlapping(a, b, share, seed)
    assert depth(scene.simulate()) > 0.04 * share * WIDTH  # corners turned away from each other overlap less than balls
    sim, fastest, most, least = come_apart(scene, until=1.6 if "soft" in (a, b) and share > 0.3 else 0.8)
    mass = 1000.0 * WIDTH**3
    assert depth(sim) == 0.0
    assert fastest < SPEED
    assert most < 2 * 0.5 * mass * SPEED**2
    assert least > 0.2


@pytest.mark.parametrize(("a", "b", "share", "seed"), [("rigid", "rigid", 0.45, 3), ("static", "soft", 0.25, 2)])
def test_bodies_that_start_in_each_other_come_apart_gently(a, b, share, seed):
    check(a, b, share, seed)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.2, 0.4, 0.6])
@pytest.mark.parametrize(("a", "b"), [("soft", "soft"), ("rigid", "rigid"), ("soft", "rigid"), ("static", "soft"), ("static", "rigid")])
def test_they_do_however_deep_and_whichever_way_up(a, b, share):
    for seed in range(10, 13):
        check(a, b, share, seed)


def test_a_body_that_starts_below_the_ground_rises_to_it_and_rests():
    """60 % of it; told once, with the speed."""
    for kind, height in (("rigid", 0.05), ("soft", 0.0497)):
        scene = Scene(dt=4e-3, contact="patch")
        scene.add(name="ground", shape="plane", model="static")
        scene.add(name="box", shape=BOX, position=(0, 0, -0.01), **KINDS[kind])
        sim, fastest, _, _ = come_apart(scene, until=0.6)
        assert sim.centre("box")[2] == pytest.approx(height, abs=2e-4)
        assert fastest < SPEED
    sim = scene.simulate()
    told = [text for _ in range(3) for text in sim.step().warnings if "patch lets them come apart" in text]
    assert len(told) == 1 and "0.06 m deep" in told[0] and f"{SPEED:.3g} m/s" in told[0]


@pytest.mark.slow
def test_one_body_wholly_in_another_comes_out():
    scene = Scene(dt=4e-3, contact="patch", gravity=(0, 0, 0))
    scene.add(name="block", shape=dict(BOX, size=(0.2, 0.2, 0.2)), **KINDS["soft"])
    scene.add(name="ball", shape=dict(kind="ball", radius=0.05), position=(0.01, 0, 0.02), model="rigid")
    sim, fastest, _, _ = come_apart(scene, until=1.5)
    assert depth(sim) == 0.0
    assert fastest < SPEED


def test_overlap_that_fades_into_points_changes_the_force_little_by_little():
    """A box pushed to the middle of a plate: shares of polygons and points change without a jump (theory/patch 3.6)."""
    from pliant.contact.patch import surface

    scene = Scene(dt=4e-3, contact="patch", gravity=(0, 0, 0))
    scene.add(name="plate", shape=dict(BOX, size=(0.3, 0.3, 0.1)), model="static")  # its sides are further than the top
    scene.add(name="box", shape=dict(BOX, edge=0.025), position=(0.01, 0.02, 0.09), **KINDS["soft"])
    shares = []
    for deep in np.linspace(0.015, 0.049, 18):
        scene.bodies[1].position = (0.01, 0.02, 0.1 - deep)
        motion = scene.simulate().world.standing()
        known = {"pair": np.array([1]), "depth": np.array([deep]), "slave": np.array([2.0]), "lean": np.zeros(1), "leaves": np.zeros(1)}
        pairs = surface.find_pairs(motion, motion.kept(surface.Surfaces), motion.end, known)
        found = surface.find(motion, motion.kept(surface.Surfaces), pairs, motion.there(), np.ones(len(pairs), bool))
        shares.append((pairs.points[0], found.area.sum()))
    points, area = np.array(shares).T
    assert points[0] == 0.0 and points[-1] > 0.9
    assert np.diff(points).min() >= 0.0 and np.diff(points).max() < 0.1
    assert np.abs(np.diff(area)).max() < 0.1 * WIDTH**2  # over 2 mm, in which the shares change by 8 %
    assert area[-1] == pytest.approx(WIDTH**2, rel=0.1)  # the box's face


def block_and_film(film: float) -> Surface:
    """One body of a block, 0.1 m thick, and a film beside it."""
    block, thin = make("box", size=(0.2, 0.2, 0.1), edge=0.05).surface(), make("box", size=(0.2, 0.2, film), edge=0.025).surface()
    apart = thin.points + [0.5, 0.0, 0.0]
    return Surface(np.concatenate([block.points, apart]), np.concatenate([block.faces, thin.faces + len(block.points)]))


def half_where_they_meet(below, above, position, thin: float) -> tuple[float, float]:
    """(depth of the bodies in each other, what patch takes for half of the thickness there) [m]; thin: of their thinnest parts."""
    scene = Scene(contact="patch")
    scene.add(name="below", model="rigid", shape=below)
    scene.add(name="above", model="rigid", shape=above, position=position)
    motion = scene.simulate().world.standing()
    deepest, half = _deepest(motion, motion.kept(Surfaces), np.array([1]), np.array([0]), np.array([thin]))
    return float(deepest[0]), float(half[0])


def test_a_thin_part_elsewhere_does_not_make_contact_deep():
    """3 mm in a block of 100 mm is not deep, whatever film the body has beside it; 3 mm in a film of 8 mm is."""
    body, box = block_and_film(0.008), dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.02)
    assert half_where_they_meet(body, box, (0.01, 0.02, 0.097), 0.004) == (pytest.approx(0.003), pytest.approx(0.05))
    assert half_where_they_meet(body, box, (0.51, 0.02, 0.051), 0.004) == (pytest.approx(0.003), pytest.approx(0.004))


def test_a_spike_in_a_block_is_not_deep():
    """All the points of the block's side that are in the spike are near its middle, and all of its flank far from the block's sides."""
    angle = np.linspace(0.0, 2.0 * np.pi, 17)[:-1]
    rings = [np.stack([r * np.cos(angle), r * np.sin(angle), np.full(16, 5.0 * r)], axis=1) for r in (0.005, 0.01, 0.02)]
    points = np.concatenate([[[0.0, 0.0, 0.0]], *rings, [[0.0, 0.0, 0.1]]])
    last = [1 + 16 * 2 + np.array([k, (k + 1) % 16]) for k in range(16)]
    faces = [[0, 1 + (k + 1) % 16, 1 + k] for k in range(16)] + [[49, *pair] for pair in last]
    for ring in range(2):
        for k in range(16):
            a, b = 1 + 16 * ring + k, 1 + 16 * ring + (k + 1) % 16
            faces += [[a, b, b + 16], [a, b + 16, a + 16]]
    block = dict(kind="box", size=(0.1, 0.1, 0.1), edge=0.0025)
    deepest, half = half_where_they_meet(block, Surface(points, np.array(faces)), (1e-4, 2e-4, 0.05 - 0.03), 0.004)
    assert deepest == pytest.approx(0.03, rel=0.02)
    assert half > 2.0 * deepest  # nothing fades
