"""Soft bodies against the theory of elasticity: beams, bars, twist, stretch, frequency, patch test, embedded skins."""

import numpy as np
import pytest
from scipy.optimize import brentq

from pliant import Scene, TetMesh, shapes
from pliant.geometry.blocks import brick

YOUNG = 1e6


def bar(length, side, edge, element="quadratic", law="corotated", nu=0.0, **fields):
    """A bar along x from 0 to length, held at x = 0 unless `fixed` is given."""
    scene = Scene(gravity=(0, 0, 0), contact="none")
    material = dict(law=law, youngs_modulus=YOUNG, poisson_ratio=nu, **fields.pop("material", {}))
    scene.add(**{
        "name": "bar", "shape": dict(kind="box", size=(length, side, side), edge=edge), "position": (length / 2, 0, 0),
        "element": element, "fixed": [dict(side="-x")], "material": material, **fields,
    })  # fmt: skip
    return scene


def end_moved(sim, length):
    """Mean displacement of the nodes at x = length."""
    rest = sim.world.model.nodes.rest
    return (sim.state.x - rest)[np.abs(rest[:, 0] - length) < 1e-9].mean(axis=0)


def slope(errors, sizes):
    return np.polyfit(np.log(sizes), np.log(np.abs(errors)), 1)[0]


def tip_errors(element, edges, load):
    """Relative errors of the tip deflection of a cantilever of 1 x 0.1 x 0.1 m, nu = 0, against Timoshenko's beam."""
    length, side, errors = 1.0, 0.1, []
    area, moment, shear = side**2, side**4 / 12, 5 / 6 * YOUNG / 2
    for edge in edges:
        if load == "tip":
            force = 3e-4 * YOUNG * moment / length**2
            theory = force * length**3 / (3 * YOUNG * moment) + force * length / (shear * area)
            loads = [dict(kind="traction", where=dict(side="+x"), value=(0, 0, -force / area))]
            scene = bar(length, side, edge, element, loads=loads)
        else:
            weight = 1000.0 * 1e-4 * area  # per length, in a weak field
            theory = weight * length**4 / (8 * YOUNG * moment) + weight * length**2 / (2 * shear * area)
            scene = bar(length, side, edge, element)
            scene.gravity = (0, 0, -1e-4)
        errors.append(-end_moved(scene.simulate().equilibrium(), length)[2] / theory - 1)
    return np.array(errors)


@pytest.mark.parametrize("load", ["tip", "weight"])
def test_cantilever_of_4_node_tets_converges_with_order_2(load):
    """Linear tets lock in bending: 68, 36, 12 % too stiff at 1, 2, 4 cells across; the order is reached on fine meshes."""
    errors = tip_errors("linear", [0.05, 0.025, 0.0125], load)
    assert (np.diff(np.abs(errors)) < 0).all() and (errors < 0).all()
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.25)
    assert abs(errors[2]) < 0.04


@pytest.mark.parametrize("load", ["tip", "weight"])
def test_cantilever_of_10_node_tets_converges_with_order_3_or_more(load):
    edges = [0.1, 0.05, 1 / 30]
    errors = tip_errors("quadratic", edges, load)
    assert slope(errors, edges) > 3.0
    assert abs(errors[-1]) < 1e-4


@pytest.mark.parametrize("element", ["linear", "quadratic"])
def test_bar_hangs_in_its_own_weight(element):
    """u(z) = rho g / E (L z - z^2 / 2), z from the fixed end; nu = 0 makes it exact in one dimension."""
    length, density, field = 1.0, 1000.0, 0.1
    scene = bar(length, 0.25, 0.125, element, material=dict(density=density))
    scene.gravity = (field, 0, 0)
    sim = scene.simulate().equilibrium()
    rest = sim.world.model.nodes.rest
    if element == "quadratic":  # control points are not on the curve; corners of elements are
        points = sim.points("bar")
        first = Scene.simulate(scene).points("bar")
    else:
        points, first = sim.state.x, rest
    z, u = first[:, 0], points[:, 0] - first[:, 0]
    theory = density * field / YOUNG * (length * z - z**2 / 2)
    # at the nodes the one-dimensional solution is exact; consistent mass sums to the same nodal loads up to h^2
    assert np.abs(u - theory).max() < (2e-2 if element == "linear" else 2e-3) * theory.max()


ELASTICA = {1: (0.30172, 0.05643), 2: (0.49346, 0.16064), 5: (0.71379, 0.38763), 10: (0.81061, 0.55500)}


def elastica(law, load):
    side = 1 / 20
    force = load * YOUNG * side**4 / 12
    loads = [dict(kind="traction", where=dict(side="+x"), value=(0, 0, -force / side**2))]
    return end_moved(bar(1.0, side, side, "quadratic", law, loads=loads).simulate().equilibrium(), 1.0)


@pytest.mark.parametrize("load", [1, 2, 5, 10])
def test_V32_elastica_neo_hookean(load):
    down, back = ELASTICA[load]
    moved = elastica("neo-hookean", load)
    assert -moved[2] == pytest.approx(down, rel=0.01)
    assert -moved[0] == pytest.approx(back, rel=0.01)


@pytest.mark.parametrize("load", [1, 2, 5, 10])
def test_V32_elastica_corotated(load):
    down, back = ELASTICA[load]
    moved = elastica("corotated", load)
    assert -moved[2] == pytest.approx(down, rel=0.01)
    assert -moved[0] == pytest.approx(back, rel=0.01)


@pytest.mark.parametrize("element", ["linear", "quadratic"])
def test_torque_of_a_twisted_bar(element):
    """T = G J phi / L with J = 0.1406 a^4 for a square section (Timoshenko and Goodier, 109)."""
    length, side, angle, nu = 1.0, 0.2, 0.02, 0.3
    motion = dict(where=dict(side="+x"), turn=(np.degrees(angle), 0, 0), about=(length, 0, 0))
    errors, edges = [], [0.1, 0.05, 0.025] if element == "linear" else [0.2, 0.1, 0.0667]
    for edge in edges:
        sim = bar(length, side, edge, element, nu=nu, motions=[motion]).simulate().equilibrium()
        driven = np.abs(sim.world.model.nodes.rest[:, 0] - length) < 1e-9
        torque = np.cross(sim.state.x[driven] - [length, 0, 0], sim.reactions[driven]).sum(axis=0)
        theory = YOUNG / 2 / (1 + nu) * 0.1406 * side**4 * angle / length
        assert np.abs(torque[1:]).max() < 1e-2 * theory
        errors.append(torque[0] / theory - 1)
    # both ends are kept from warping, which makes a bar of five sides a few percent stiffer than Saint-Venant's
    assert (np.diff(np.abs(errors)) < 0).all()
    assert errors[-1] == pytest.approx(0.03, abs=0.03 if element == "quadratic" else 0.09)


@pytest.mark.parametrize("element", ["linear", "quadratic"])
@pytest.mark.parametrize("stretch", [1.1, 1.5, 3.0])
def test_uniaxial_stress_of_the_neo_hookean_law(element, stretch):
    """P11(l, t) of the energy of the law, with the side stretch t from P22 = 0; the pull on the end is P11 A."""
    nu, side, length = 0.3, 0.2, 0.4
    lam, mu = YOUNG * nu / (1 + nu) / (1 - 2 * nu), YOUNG / 2 / (1 + nu)
    m, l = 4 / 3 * mu, lam + 5 / 6 * mu

    def piola(a, b):
        """P along a where the other two stretches are b and c = b."""
        first = a * a + 2 * b * b
        return [m * first / (first + 1) * s + (l * (a * b * b - 1) - 0.75 * m) * c for s, c in ((a, b * b), (b, a * b))]

    t = brentq(lambda b: piola(stretch, b)[1], 0.3, 2.0)
    pull = piola(stretch, t)[0]
    ends = (("+x", pull), ("-x", -pull))  # a free bar that is pulled stays in line; pushed, it would turn over
    pulls = [dict(kind="traction", where=dict(side=end), value=(force, 0, 0)) for end, force in ends]
    scene = bar(
        length, side, 0.2, element, "neo-hookean", nu, fixed=[], loads=pulls, integrator="implicit",
        material=dict(mass_damping=20.0),
    )  # fmt: skip
    sim = scene.simulate(dt=0.05).run(until=8.0)
    assert np.ptp(sim.points("bar"), axis=0) == pytest.approx([stretch * length, t * side, t * side], rel=1e-5)


def test_first_bending_frequency_of_10_node_tets():
    """f = 3.5160 / (2 pi) sqrt(E I / (rho A L^4)), released from a small static bend; crossings of zero are timed."""
    side, density = 1 / 20, 1000.0
    theory = 3.5160 / (2 * np.pi) * np.sqrt(YOUNG * side**2 / 12 / density)
    dt = 1 / theory / 250
    force = 1e-2 * YOUNG * side**4 / 12
    release = dict(times=[0, 1e-6], values=[[0, 0, -force / side**2], [0, 0, 0]])
    scene = bar(
        1.0, side, side, "quadratic", integrator="implicit", material=dict(density=density),
        loads=[dict(kind="traction", where=dict(side="+x"), value=release)],
    )  # fmt: skip
    sim = scene.simulate(dt=dt).equilibrium()
    heights = []
    sim.run(until=1.4 / theory, each=lambda report: heights.append((sim.time, end_moved(sim, 1.0)[2])))
    t, z = np.array(heights).T
    k = np.flatnonzero(np.diff(np.sign(z)))
    crossings = t[k] - z[k] * (t[k + 1] - t[k]) / (z[k + 1] - z[k])
    assert len(crossings) == 2 or len(crossings) == 3
    assert 0.5 / np.diff(crossings).mean() == pytest.approx(theory, rel=0.02)


# -- patch test, materials that differ within a body, embedded skins


def jittered(cells=3, seed=0):
    points, tets = brick(cells, cells, cells)
    inside = ((points > 1e-9) & (points < 1 - 1e-9)).all(axis=1)
    points[inside] += np.random.default_rng(seed).uniform(-0.08, 0.08, (inside.sum(), 3))
    return TetMesh(points, tets)


LAWS = {"linear": ("linear", "corotated", "stvk", "neo-hookean"), "quadratic": ("corotated", "neo-hookean")}


@pytest.mark.parametrize("element, law", [(element, law) for element, laws in LAWS.items() for law in laws])
def test_patch_test_through_the_world(law, element):
    """Surface nodes are put to an affine image; the static solve finds the same affine image inside, element by element."""
    scene = Scene(gravity=(0, 0, 0), contact="none")
    faces = [dict(side=sign + axis) for sign in "+-" for axis in "xyz"]
    scene.add(
        name="b", shape=jittered(), element=element, fixed=faces,
        material=dict(law=law, youngs_modulus=YOUNG, poisson_ratio=0.3),
    )  # fmt: skip
    sim = scene.simulate()
    F = np.eye(3) + np.array([[0.10, 0.05, 0.0], [-0.02, -0.05, 0.03], [0.04, 0.0, 0.08]])
    rest = sim.world.model.nodes.rest
    held = sim.world.model.nodes.inverse == 0.0
    sim.state.x[held] = rest[held] @ F.T
    sim.equilibrium(tolerance=1e-11)
    assert (~held).sum() >= 8
    assert np.abs(sim.state.x - rest @ F.T).max() < 1e-8


@pytest.mark.parametrize("element", ["linear", "quadratic"])
def test_half_soft_half_stiff_bar(element):
    """The same pull goes through both halves, so their strains are as 1 to 4 (nu = 0: one-dimensional)."""
    tets = shapes.make("box", size=(1, 0.2, 0.2), edge=0.1).tets
    middle = tets.points[tets.tets].mean(axis=1)[:, 0]
    scene = bar(1.0, 0.2, 0.1, element, "neo-hookean", loads=[dict(kind="traction", where=dict(side="+x"), value=(YOUNG / 1e4, 0, 0))])
    scene.bodies[0].material.youngs_modulus = np.where(middle < 0, 4 * YOUNG, YOUNG).tolist()
    sim = scene.simulate().equilibrium()
    first, last = scene.simulate().points("bar"), sim.points("bar")
    half = (last - first)[np.abs(first[:, 0] - 0.5) < 1e-9, 0].mean()
    whole = (last - first)[np.abs(first[:, 0] - 1.0) < 1e-9, 0].mean()
    assert (whole - half) / half == pytest.approx(4.0, rel=1e-3)
    assert half == pytest.approx(0.5 * 1e-4 / 4, rel=1e-3)


def test_density_per_element_moves_the_centre_of_mass():
    tets = shapes.make("box", size=(1, 0.2, 0.2), edge=0.1).tets
    heavy = tets.points[tets.tets].mean(axis=1)[:, 0] > 0
    scene = bar(1.0, 0.2, 0.1, "linear")
    scene.bodies[0].material.density = np.where(heavy, 3000.0, 1000.0).tolist()
    sim = scene.simulate()
    assert sim.world.model.nodes.mass.sum() == pytest.approx(2000 * 0.04, rel=1e-12)
    assert sim.centre("bar")[0] == pytest.approx((3 * 0.75 + 0.25) / 4, rel=2e-2)  # lumped masses blur the jump by a cell


def embedded(**fields):
    scene = Scene(dt=0.002)
    scene.add(name="ground", shape="plane", model="static")
    scene.add(**{
        "name": "ball", "shape": dict(kind="box", size=(0.24, 0.24, 0.24), edge=0.08), "position": (0, 0, 0.1),
        "skin": dict(kind="ball", radius=0.1, edge=0.025), "material": dict(youngs_modulus=1e5, mass_damping=6.0, poisson_ratio=0.3),
        **fields,
    })  # fmt: skip
    return scene


def test_embedded_skin_follows_an_affine_deformation_exactly():
    sim = embedded().simulate()
    first = sim.points("ball").copy()
    F = np.array([[1.2, 0.1, 0.0], [0.0, 0.9, 0.2], [-0.1, 0.0, 1.1]])
    sim.state.x = sim.state.x @ F.T + [1.0, 2.0, 3.0]
    assert np.abs(sim.points("ball") - (first @ F.T + [1.0, 2.0, 3.0])).max() < 1e-12
    count = sim.world.model.bodies.surface[1]
    assert np.linalg.norm(first[:count] - [0, 0, 0.1], axis=1) == pytest.approx(0.1, rel=1e-9)  # the ball, not the box


@pytest.mark.parametrize("integrator", ["symplectic", "implicit"])
def test_embedded_skin_rests_on_the_ground_with_the_weight_of_the_coarse_body(integrator):
    dt, settled = (0.004, 1.2) if integrator == "implicit" else (0.001, 1.5)
    sim = embedded(integrator=integrator).simulate(dt=dt).run(until=settled)
    weight = 9.81 * sim.world.model.nodes.mass.sum()
    assert weight == pytest.approx(9.81 * 1000 * 0.24**3, rel=1e-12)
    forces = []
    sim.run(until=1.2 * settled, each=lambda report: forces.append(sim.contacts("ball", "ground").total_force[2]))
    assert np.mean(forces) == pytest.approx(weight, rel=2e-3)
    assert sim.points("ball")[: sim.world.model.bodies.surface[1], 2].min() > -2e-3
    assert sim.state.x[:, 2].min() < -5e-3  # nodes outside the skin may be below the ground: they do not touch
