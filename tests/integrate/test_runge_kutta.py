"""Runge-Kutta of order eight: order conditions, golden numbers, regions of stability, observed order, error control, and life in a world."""

import itertools
import math

import numpy as np
import pytest

from pliant import Scene
from pliant.base import PliantError
from pliant.geometry.mesh import Surface
from pliant.integrate.explicit import AXES, staged_step
from pliant.integrate.runge_kutta import TABLEAUS as BY_CODE
from pliant.model import SCHEMES
from pliant.world.motion import Rows

TABLEAUS = {name: BY_CODE[SCHEMES[name]] for name in ("cooper-verner", "dop853")}
COOPER_VERNER, DORMAND_PRINCE = TABLEAUS.values()
UNIT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TET = Surface(UNIT, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]))


# -- the coefficients


def rooted_trees(order):
    """Trees with so many vertices, each a sorted tuple of the trees that hang on its root."""
    if order == 1:
        return [()]
    smaller = [t for n in range(1, order) for t in rooted_trees(n)]
    sizes = {t: size(t) for t in smaller}
    found = set()
    for count in range(1, order):
        for chosen in itertools.combinations_with_replacement(sorted(smaller, key=lambda t: (sizes[t], t)), count):
            if sum(sizes[t] for t in chosen) == order - 1:
                found.add(tuple(sorted(chosen)))
    return sorted(found)


def size(tree):
    return 1 + sum(map(size, tree))


def density(tree):
    return size(tree) * math.prod(map(density, tree))


def weight(tree, a):
    out = np.ones(len(a))
    for branch in tree:
        out = out * (a @ weight(branch, a))
    return out


def trees_up_to(order):
    """Built from the bottom, a root with any multiset of smaller trees (Butcher 1963)."""
    by_size = {1: [()]}
    for n in range(2, order + 1):
        by_size[n] = sorted({tuple(sorted(forest)) for forest in forests(n - 1, by_size, n - 1)})
    return by_size


def forests(total, by_size, largest):
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest), 0, -1):
        for tree in by_size[first]:
            for rest in forests(total - first, by_size, first):
                yield (tree, *rest)


def test_the_small_trees_are_those_counted_by_hand():
    assert [len(trees_up_to(4)[n]) for n in (1, 2, 3, 4)] == [len(rooted_trees(n)) for n in (1, 2, 3, 4)] == [1, 1, 2, 4]


@pytest.mark.parametrize("name", TABLEAUS)
def test_all_200_order_conditions_to_order_8_hold_and_one_of_order_9_does_not(name):
    """sum_i b_i phi_i(t) = 1 / gamma(t) for every rooted tree t (Butcher 1963)."""
    table, by_size = TABLEAUS[name], trees_up_to(9)
    assert sum(len(by_size[n]) for n in range(1, 9)) == 200
    residual = {n: max(abs(table.b @ weight(t, table.a) - 1.0 / density(t)) for t in by_size[n]) for n in by_size}
    assert max(residual[n] for n in range(1, 9)) < 2e-13
    assert residual[9] > 1e-7


def test_error_estimates_of_dormand_prince_have_order_5_and_3():
    """The estimates vanish for all trees up to their order."""
    by_size, a = trees_up_to(6), DORMAND_PRINCE.a
    for weights, order in ((DORMAND_PRINCE.e5, 5), (DORMAND_PRINCE.e3, 3)):
        residual = {n: max(abs(weights @ weight(t, a)) for t in by_size[n]) for n in by_size}
        assert max(residual[n] for n in range(1, order + 1)) < 1e-13 and residual[order + 1] > 1e-6


def test_coefficients_of_dormand_prince_are_those_of_scipy():
    from scipy.integrate import DOP853

    assert (DORMAND_PRINCE.a == DOP853.A[:12, :12]).all() and (DORMAND_PRINCE.b == DOP853.B).all()
    assert (DORMAND_PRINCE.e5 == DOP853.E5[:12]).all() and (DORMAND_PRINCE.e3 == DOP853.E3[:12]).all()
    assert DORMAND_PRINCE.c == pytest.approx(DOP853.C[:12], abs=1e-14)


def growth(table, z):
    """R(z) of y' = z y, one step."""
    k = []
    for s in range(len(table.b)):
        k.append(z * (1.0 + sum(table.a[s, j] * k[j] for j in range(s))))
    return 1.0 + sum(b * kj for b, kj in zip(table.b, k, strict=True))


def test_G29_one_step_of_an_oscillator():
    z = growth(COOPER_VERNER, -0.5j)  # x + i v of x'' = -x turns clockwise
    assert z.real == pytest.approx(0.877582565092912, abs=1e-14) and z.imag == pytest.approx(-0.479425489875929, abs=1e-14)


def boundary(table, direction):
    """Where |R| first exceeds 1 along a ray, by stepping out and bisection."""
    outside = lambda r: abs(growth(table, r * direction)) > 1.0 + 1e-9
    r = next(r for r in np.arange(0.5, 10.0, 0.01) if outside(r))
    low, high = r - 0.01, r
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if outside(middle) else (middle, high)
    return low


@pytest.mark.parametrize("name, real, imaginary", [("cooper-verner", 3.7154, 3.0017), ("dop853", 6.3936, 5.9603)])
def test_G30_limits_of_stability(name, real, imaginary):
    table = TABLEAUS[name]
    assert boundary(table, -1.0) == pytest.approx(real, abs=1e-3)
    assert boundary(table, 1j) == pytest.approx(imaginary, abs=1e-3)
    assert AXES[SCHEMES[name]] == (imaginary, real)


@pytest.mark.parametrize("name", TABLEAUS)
def test_what_the_stable_step_allows_is_inside_the_region_of_stability(name):
    """An oscillator of any frequency and damping, of nodes or along springs, at 0.9 of the step that it is given."""
    table, code = TABLEAUS[name], SCHEMES[name]
    for omega in (0.0, 0.3, 1.0, 3.0):
        for on_node in (0.0, 0.1, 1.0, 5.0, 50.0):
            for along in (0.0, 0.1, 1.0, 5.0, 50.0):
                if omega == 0.0 and (on_node == 0.0 or along > 0.0):
                    continue
                elastic = 4.0 / (along + math.sqrt(along * along + 4.0 * omega * omega)) if omega else math.inf
                dt = 0.9 * float(staged_step(code, np.array([elastic]), np.array([on_node]))[0])
                for root in np.roots([1.0, on_node + along, omega * omega]):
                    assert abs(growth(table, dt * root)) < 1.0 + 1e-9, (omega, on_node, along)


# -- in a world


def swinging(integrator, dt, until=0.4, network="all-pairs", **fields):
    """A tetrahedron of springs, stretched and turning, under gravity and a load that grows."""
    material = dict(spring_stiffness=40.0, vertex_mass=1.0, vertex_damping=0.3, spring_damping=0.2, **fields.pop("material", {}))
    scene = Scene(dt=dt, duration=10.0, contact="none", gravity=(0, 0, -9.81))
    loads = [dict(value=dict(times=[0.0, 10.0], values=[[0.0, 0.0, 0.0], [50.0, 0.0, 20.0]]))]
    scene.add(name="t", shape=TET, model="springs", network=network, integrator=integrator, material=material, loads=loads,
              angular_velocity=(1.0, 2.0, 0.5), fixed=[dict(ids=[0])], **fields)  # fmt: skip
    sim = scene.simulate()
    sim.state.x[1:] *= 1.2
    return sim.run(until=until) if until else sim


def test_P19_observed_order_8():
    """Halving dt divides the error by 2^8 = 256."""
    exact = swinging("cooper-verner", 0.0125).state.x
    errors = [np.abs(swinging("cooper-verner", dt).state.x - exact).max() for dt in (0.1, 0.05)]
    assert 150 < errors[0] / errors[1] < 500 and errors[0] < 1e-4


def test_dop853_keeps_its_tolerance_and_agrees():
    exact = swinging("cooper-verner", 0.0125).state.x
    for tolerance in (1e-3, 1e-6, 1e-9):
        assert np.abs(swinging("dop853", 0.4, tolerance=tolerance).state.x - exact).max() < tolerance
    assert np.abs(swinging("dop853", 0.4, tolerance=1e-3).state.x - exact).max() > 1e-12  # it does not do more than it is asked for


@pytest.mark.parametrize("integrator", TABLEAUS)
def test_all_schemes_converge_to_the_same_motion(integrator):
    fine = [swinging("verlet", dt).state.x for dt in (8e-4, 4e-4)]
    # damping makes Verlet of first order: extrapolate
    assert np.abs(swinging(integrator, 0.02).state.x - (2 * fine[1] - fine[0])).max() < 1e-5


@pytest.mark.parametrize("integrator", TABLEAUS)
def test_adding_another_body_changes_no_bit(integrator):
    """Also one that needs more parts of a step, and one with another scheme."""
    alone = swinging(integrator, 0.1, until=0.0)
    scene = alone.scene.model_copy(deep=True)
    stiffer = dict(spring_stiffness=4000.0 if integrator == "dop853" else 50.0, vertex_mass=1.0)
    scene.add(name="other", shape=TET, model="springs", network="all-pairs", integrator=integrator, position=(9, 0, 0),
              angular_velocity=(9, 0, 0), material=stiffer)  # fmt: skip
    scene.add(name="fem", shape=dict(kind="box", size=(1, 1, 1), edge=1.0), position=(19, 0, 0), integrator="implicit")
    both = scene.simulate()
    both.state.x[1:4] *= 1.2
    both.state.x[5:8] += 0.05
    for sim in (alone, both):
        assert sim.step().step == 1
        sim.step()
    assert (both.state.x[:4] == alone.state.x).all() and (both.state.v[:4] == alone.state.v).all()


@pytest.mark.parametrize("integrator", TABLEAUS)
def test_a_saved_state_continues_bit_for_bit(integrator):
    one, other = swinging(integrator, 0.05, until=0.2), swinging(integrator, 0.05, until=0.0)
    other.world.state = one.state.copy()
    for sim in (one, other):
        sim.step()
        sim.step()
    assert (one.state.x == other.state.x).all() and (one.state.v == other.state.v).all()


@pytest.mark.parametrize("integrator", TABLEAUS)
def test_a_load_that_grows_is_taken_at_the_stages(integrator):
    """F = f t on a free body: x = f t^3 / (6 m), exactly, in one step."""
    scene = Scene(dt=0.1, duration=1.0, contact="none", gravity=(0, 0, 0))
    loads = [dict(value=dict(times=[0.0, 1.0], values=[[0.0, 0.0, 0.0], [12.0, 0.0, 0.0]]))]
    scene.add(name="t", shape=TET, model="springs", network="all-pairs", integrator=integrator, loads=loads, material=dict(spring_stiffness=40.0, vertex_mass=0.5))
    sim = scene.simulate()
    sim.step()
    assert sim.state.x - UNIT == pytest.approx(np.tile([12.0 * 0.001 / 6 / 2.0, 0, 0], (4, 1)), abs=1e-15)


@pytest.mark.parametrize("integrator", TABLEAUS)
def test_prescribed_vertices_follow_and_their_work_balances_the_energy(integrator):
    """A vertex is drawn away; energy gained is the work of what draws it."""
    scene = Scene(dt=0.02, contact="none", gravity=(0, 0, -2.0))
    motion = dict(where=dict(ids=[0]), shift=dict(times=[0.0, 1.0], values=[[0, 0, 0], [0, 0, -0.5]]))
    scene.add(name="t", shape=TET, model="springs", network="all-pairs", integrator=integrator, motions=[motion],
              material=dict(spring_stiffness=40.0, vertex_mass=1.0))  # fmt: skip
    sim = scene.simulate()
    sim.state.v[0, 2] = -0.5  # as it moves from now on
    first = sim.books()
    sim.run(until=0.5)
    assert sim.state.x[0] == pytest.approx([0, 0, -0.25], abs=1e-14)
    last = sim.books()
    assert last.total - first.total == pytest.approx(last.drives - first.drives, rel=1e-6)


@pytest.mark.parametrize("scheme, under_load, pushed", [("verlet", 0.015, 0.015), ("cooper-verner", 0.0075, 0.015), ("dop853", 0.0075, 0.015)])
def test_G33_how_far_a_force_and_an_impulse_move_a_vertex_within_a_step(scheme, under_load, pushed):
    """F = 3 N, m = 2 kg, dt = 0.1 s: gamma = 1 for Verlet and 1/2 for Runge-Kutta; impulses F dt have 1 for all."""
    load, dt = np.array([3.0, 0.0, 0.0]), 0.1

    def sim_of(loads):
        scene = Scene(dt=dt, contact="none", gravity=(0, 0, 0))
        scene.add(name="t", shape=TET, model="springs", network="all-pairs", integrator=scheme, loads=loads, material=dict(spring_stiffness=1e-6, vertex_mass=2.0))
        sim = scene.simulate()
        sim.state.last_dt = dt  # Verlet under way: its kick spans a whole step
        return sim

    sim = sim_of([dict(value=(4 * load).tolist())])
    sim.step(dt)
    assert sim.state.x[:, 0] - UNIT[:, 0] == pytest.approx(np.full(4, under_load), rel=1e-9)
    sim = sim_of([])
    motion = sim.world.free_motion(dt)
    point = np.arange(4)[:, None]
    motion.push(Rows.dense(point, np.ones((4, 1)), np.tile([1.0, 0, 0], (4, 1)), UNIT), np.tile(load * dt, (4, 1)))
    assert motion.x[:, 0] - UNIT[:, 0] == pytest.approx(np.full(4, pushed), rel=1e-9)
    assert motion.v[:, 0] == pytest.approx(np.full(4, 3.0 * dt / 2.0), rel=1e-9)


# -- damping of vertices


def thrown(material, integrator="verlet", **fields):
    scene = Scene(dt=0.005, contact="none", gravity=(0, 0, 0))
    scene.add(name="b", shape=dict(kind="ball", radius=0.5, edge=0.3), model="springs", network="all-pairs", integrator=integrator,
              material={"spring_stiffness": 40.0, "vertex_mass": 1.0, **material}, velocity=(1.0, 0, 0), **fields)  # fmt: skip
    return scene


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", *TABLEAUS])
def test_adaptive_damping_leaves_free_flight_alone_and_calms_what_is_disturbed(integrator):
    material = dict(vertex_damping=1.0, adaptive_force=10.0)
    sim = thrown(material, integrator).simulate()
    first = sim.books().kinetic
    assert sim.run(until=0.5).books().kinetic == pytest.approx(first, rel=1e-12)
    sim.state.x *= 1.1
    first = sim.books().elastic
    sim.run(until=2.0)
    assert sim.books().elastic < 0.05 * first


@pytest.mark.parametrize("integrator", TABLEAUS)
def test_plain_damping_is_exponential(integrator):
    """v = v0 exp(-c t / m)."""
    sim = thrown(dict(vertex_damping=2.0), integrator).simulate().run(until=0.5)
    assert sim.state.v[:, 0] == pytest.approx(np.full(len(sim.state.v), math.exp(-1.0)), rel=1e-9)


def test_damping_2000_is_divided_with_the_reason_and_explodes_if_unsafe():
    """Explicit limit 10 c dt / m < 3.7154 (theory/springs 3.3)."""
    material, dt = dict(vertex_damping=2000.0, adaptive_force=10.0), 0.001
    sim = thrown(material, "cooper-verner").simulate(dt=dt)
    n = len(sim.state.x)
    limit = 0.9 / (1.0 / (3.0017 / math.sqrt(40.0 * n)) + 20000.0 / 3.7154)
    note = next(text for text in sim.notes if "divided" in text)
    assert f"divided into {math.ceil(dt / limit)}" in note and "vertex_damping = 2000" in note and "adaptive_cap = 10" in note
    sim.state.x *= 1.1
    first = sim.books().total
    sim.run(until=0.02)
    assert sim.books().total < first
    wild = thrown(material, "cooper-verner", unsafe=True).simulate(dt=dt)
    assert any("unsafe" in text for text in wild.notes)
    wild.state.x *= 1.1
    with np.errstate(all="ignore"), pytest.raises(PliantError, match="not finite|runs away"):
        for _ in range(200):
            wild.step()


@pytest.mark.parametrize("integrator", ["symplectic", "verlet"])
def test_fading_damping_of_leapfrogs_is_stable_at_any_strength(integrator):
    sim = thrown(dict(vertex_damping=2000.0, adaptive_force=10.0), integrator).simulate()
    sim.state.x *= 1.1
    energies = [sim.books().total]
    sim.run(until=0.5, each=lambda report: energies.append(sim.books().total))
    assert max(energies) <= energies[0] * (1 + 1e-9)
