"""Bodies drawn apart by a force: brittle, plastic and ductile ones leave no crumbs, and energy is kept."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import Scene
from pliant.bodies.points.fracture import as_rigid, without_crumbs
from pliant.bodies.points.neighbourhoods import CRUMB, Allowed, neighbourhoods

SHAPES = {  # shape, spacing of phyxels, half of the height
    "bar": ({"kind": "box", "size": (0.1, 0.1, 0.3), "edge": 0.05}, 0.025, 0.15),
    "bust": ({"kind": "bust", "height": 0.3, "edge": 0.02}, 0.025, 0.15),
    "bunny": ({"kind": "bunny", "height": 0.25, "edge": 0.015}, 0.022, 0.125),
}
MATERIALS = {
    "brittle": {"tear_strain": 0.3},
    "plastic": {"tear_strain": 0.5, "yield_strain": 0.05},
    "ductile": {"tear_strain": 1.0, "yield_strain": 0.02, "creep_time": 0.02},
}
FORCES = {("bar", "brittle"): 60.0, ("bar", "ductile"): 40.0, ("bunny", "brittle"): 30.0, ("bunny", "ductile"): 40.0}  # [N]; others: 20
QUICK = {("bar", "brittle")}


def drawn(shape: str, material: str) -> Scene:
    form, spacing, half = SHAPES[shape]
    scene = Scene(dt=4e-4, duration=0.2, gravity=(0, 0, 0), contact="point-surface")
    load = {"kind": "force", "value": (0, 0, -FORCES.get((shape, material), 20.0)), "where": {"z": (-9.0, -0.7 * half)}}
    scene.add(
        name=shape, shape=form, model="points", spacing=spacing, position=(0, 0, 0 if shape == "bar" else -half), loads=[load],
        fixed=[{"z": (0.7 * half, 9.0)}],
        material={"youngs_modulus": 2e4, "density": 1000.0, "poisson_ratio": 0.3, **MATERIALS[material]},
    )  # fmt: skip
    return scene


@pytest.mark.parametrize(
    ("shape", "material"),
    [pytest.param(s, m, marks=() if (s, m) in QUICK else pytest.mark.slow) for s in SHAPES for m in MATERIALS],
)
def test_what_tears_leaves_no_crumbs_and_keeps_its_energy(shape, material):
    """At most 1 % of the mass in parts of less than ten phyxels; work of the load, less what tears and flow took, is in the parts."""
    sim, moved = drawn(shape, material).simulate(), 0.0
    while sim.time < sim.scene.duration - 1e-9:
        sim.step()
        books = sim.books()
        moved = max(moved, abs(books.loads), books.kinetic + books.elastic)
    nodes, bodies = sim.world.model.nodes, sim.world.model.bodies
    size = np.bincount(nodes.body, minlength=len(bodies))
    assert len(bodies) > 1, "it is still in one piece"
    assert nodes.mass[size[nodes.body] < CRUMB].sum() <= 0.01 * nodes.mass.sum()
    off = books.start + books.given + sim.state.books["plastic"] - books.total
    assert abs(off) < 0.02 * moved
    speed = np.linalg.norm(sim.state.v, axis=1).max()
    assert speed < 40.0  # crumbs used to leave with 40 to 88 m/s


def chain(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Slots of a row of phyxels, each the neighbour of the next, both ways."""
    one = np.arange(count - 1)
    own, other = np.concatenate([one, one + 1]), np.concatenate([one + 1, one])
    order = np.lexsort((other, own))
    return own[order], other[order]


def test_a_crumb_stays_with_the_part_that_it_hangs_on_most():
    """A row of 30, torn before and behind numbers 12 to 14: these stay with the heavier of both pairs."""
    own, other = chain(30)
    for heavy, kept in ((11, [11, 12]), (14, [14, 15])):
        torn = (own < other) & np.isin(own, (11, 14))
        tears = without_crumbs(own, other, np.where(own == heavy, 2.0, 1.0), torn)
        left = torn & ~tears
        assert np.stack([own, other], axis=1)[left].tolist() == [kept] and tears.sum() == 1


def test_what_leaves_no_crumb_tears_and_a_body_smaller_than_a_crumb_stays_whole():
    own, other = chain(2 * CRUMB)
    torn = (own == CRUMB - 1) & (other == CRUMB)
    assert (without_crumbs(own, other, np.ones(len(own)), torn) == torn).all()
    own, other = chain(CRUMB - 1)
    assert not without_crumbs(own, other, np.ones(len(own)), own < other).any()


def test_crumbs_move_as_rigid_bodies_with_the_momenta_they_had():
    random = np.random.default_rng(4)
    x, v, mass = random.normal(size=(12, 3)), random.normal(size=(12, 3)), random.uniform(1, 2, 12)
    node = np.array([3, 5, 6, 8, 9])  # 3 5 6 are one crumb, 8 9 another
    out = as_rigid(np.array([[0, 1], [1, 2], [3, 4]]), mass[node], x, v, node)
    others = np.setdiff1d(np.arange(12), node)
    assert (out[others] == v[others]).all()
    for crumb in (node[:3], node[3:]):
        m = mass[crumb, None]
        assert (m * out[crumb]).sum(axis=0) == pytest.approx((m * v[crumb]).sum(axis=0))
        assert np.cross(x[crumb], m * out[crumb]).sum(axis=0) == pytest.approx(np.cross(x[crumb], m * v[crumb]).sum(axis=0))
        far = x[crumb] - x[crumb[0]]
        assert np.einsum("ij,ij->i", far, out[crumb] - out[crumb[0]]) == pytest.approx(0.0, abs=1e-12)  # no distance changes
    assert (mass[:, None] * out**2).sum() < (mass[:, None] * v**2).sum()


def test_a_crumb_that_has_been_drawn_out_looks_further_until_it_sees_its_body():
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    radius = np.full(len(grid), 3.0)
    for away in (200.0, 6.0):  # one phyxel, ten spacings away from the next, and 350
        far = grid.copy()
        far[-1] += away
        found = neighbourhoods(far, 3.0, Allowed(grid, radius, np.zeros((0, 2), np.int64)))
        assert np.diff(found.start)[-1] > 0
    cut = np.stack([np.arange(len(grid) - 1), np.full(len(grid) - 1, len(grid) - 1)], axis=1)
    assert np.diff(neighbourhoods(far, 3.0, Allowed(grid, radius, cut)).start)[-1] == 0  # but what was cut stays apart
