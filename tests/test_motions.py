"""Fixed vertices, prescribed motion of vertices and frames, what it takes to hold them, and the work it does."""

import numpy as np
import pytest

from pliant import PliantError, Scene

BAR = dict(kind="box", size=(0.5, 0.1, 0.1), edge=0.1)
SOFT = dict(youngs_modulus=1e5, poisson_ratio=0.0, density=1000.0)


def bar(dt=0.002, gravity=(0, 0, 0), **fields):
    scene = Scene(dt=dt, gravity=gravity, contact="none")
    scene.add(**{"name": "bar", "shape": BAR, "fixed": [dict(side="-x")], "material": SOFT, **fields})
    return scene


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "implicit"])
def test_fixed_vertices_never_move_and_carry_the_weight(integrator):
    sim = bar(gravity=(0, 0, -1.0), integrator=integrator, material=dict(SOFT, mass_damping=10.0)).simulate()
    held = sim.world.model.nodes.inverse == 0.0
    first = sim.state.x[held].copy()
    sim.run(until=3.0)
    assert np.array_equal(sim.state.x[held], first) and not sim.state.v[held].any()
    assert sim.reaction("bar") == pytest.approx([0, 0, 5.0], abs=1e-3)  # 1000 kg/m^3, 0.005 m^3, 1 m/s^2


@pytest.mark.parametrize("element", ["linear", "quadratic"])
@pytest.mark.parametrize("law", ["corotated", "neo-hookean"])
def test_static_reaction_of_a_stretched_bar(element, law):
    """E A e of a bar with nu = 0 (corotated: exactly, neo-Hookean: to first order in e)."""
    strain = 1e-4
    sim = bar(element=element, material=dict(SOFT, law=law), motions=[dict(where=dict(side="+x"), shift=(strain * 0.5, 0, 0))])
    sim = sim.simulate().equilibrium()
    driven = sim.world.model.nodes.rest[:, 0] > 0.25 - 1e-9
    assert sim.reactions[driven].sum(axis=0) == pytest.approx([1e5 * 0.01 * strain, 0, 0], rel=5e-4, abs=1e-6)
    assert sim.reaction("bar") == pytest.approx(np.zeros(3), abs=1e-6)


@pytest.mark.parametrize("integrator", ["symplectic", "implicit"])
def test_vertices_follow_a_table_of_shifts_and_turns(integrator):
    table = dict(times=[0, 0.1], values=[[0, 0, 0], [0.02, 0, 0.01]])
    turn = dict(times=[0, 0.1], values=[[0, 0, 0], [90.0, 0, 0]])
    scene = bar(integrator=integrator, motions=[dict(where=dict(side="+x"), shift=table, turn=turn)])
    sim = scene.simulate()
    driven = sim.world.model.nodes.rest[:, 0] > 0.25 - 1e-9
    start = sim.state.x[driven].copy()
    for until in (0.05, 0.1, 0.15):
        sim.run(until=until)
        part = min(until / 0.1, 1.0)
        c, s = np.cos(part * np.pi / 2), np.sin(part * np.pi / 2)
        turned = start @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]).T  # about the centre of the end, which is on the axis
        assert np.abs(sim.state.x[driven] - (turned + part * np.array([0.02, 0, 0.01]))).max() < 1e-12
    assert not sim.state.v[driven].any()  # the table is held at its end


def test_a_rigid_frame_follows_its_table_about_a_given_point():
    scene = Scene(dt=0.01, contact="none")
    turn = dict(times=[0, 1], values=[[0, 0, 0], [0, 0, 90.0]])
    scene.add(name="arm", shape=BAR, model="rigid", position=(1, 0, 0), motions=[dict(turn=turn, about=(0, 0, 0), shift=(0, 0, 2))])
    sim = scene.simulate()
    sim.run(until=0.5)
    half = np.sqrt(0.5)
    assert sim.centre("arm") == pytest.approx([half, half, 2], abs=1e-12)
    sim.run(until=1.0)
    assert sim.centre("arm") == pytest.approx([0, 1, 2], abs=1e-12)
    points = sim.points("arm")
    assert np.ptp(points, axis=0) == pytest.approx([0.1, 0.5, 0.1], abs=1e-12)  # the bar has turned with it


def test_a_driven_static_body_pushes_others_and_is_not_pushed():
    scene = Scene(dt=0.002)
    scene.add(name="floor", shape="plane", model="static", friction=0.0)
    shift = dict(times=[0, 0.5], values=[[0, 0, 0], [0.25, 0, 0]])
    scene.add(name="wall", shape=dict(kind="box", size=(0.1, 0.4, 0.4), edge=0.1), model="static", position=(-0.2, 0, 0.3), motions=[dict(shift=shift)])
    scene.add(name="block", shape=dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1), model="rigid", position=(0, 0, 0.1), friction=0.0)
    sim = scene.simulate().run(until=0.5)
    assert sim.centre("wall") == pytest.approx([0.05, 0, 0.3], abs=1e-12)
    assert sim.centre("block")[0] > 0.19
    assert sim.state.velocity[2, 0] > 0.45  # at least the speed of the wall


@pytest.mark.parametrize("element", ["linear", "quadratic"])
def test_work_of_a_slow_stretch_is_the_stored_energy(element):
    """W = E A L e^2 / 2 = elastic energy = what the drives' books say, when nothing is left moving."""
    strain = 0.1
    shift = dict(times=[0, 4.0], values=[[0, 0, 0], [strain * 0.5, 0, 0]])
    scene = bar(
        dt=0.01, element=element, integrator="implicit", material=dict(SOFT, density=10.0), motions=[dict(where=dict(side="+x"), shift=shift)]
    )
    sim = scene.simulate().run(until=4.0)
    books = sim.books()
    assert books.elastic == pytest.approx(0.5 * 1e5 * 0.01 * 0.5 * strain**2, rel=1e-3)
    assert books.kinetic < 1e-3 * books.elastic
    assert books.drives == pytest.approx(books.elastic + books.kinetic, rel=5e-3)


def test_the_work_of_drives_converges_to_the_energy_with_the_step():
    """What is missing is the loss of the scheme, of first order in dt."""

    def gap(dt):
        smooth = lambda t: (0.025 * (1 - np.cos(np.pi * t / 0.4)), 0, 0)  # a jump of velocity would make it half an order
        scene = bar(dt=dt, integrator="implicit", motions=[dict(where=dict(side="+x"), shift=smooth)])
        books = scene.simulate().run(until=0.4).books()
        return books.drives - books.elastic - books.kinetic

    gaps = np.array([gap(dt) for dt in (0.004, 0.002, 0.001)])
    assert (gaps > 0).all()
    assert np.log2(gaps[:-1] / gaps[1:]) == pytest.approx(1.0, abs=0.3)


def test_what_cannot_be_moved_is_refused():
    with pytest.raises(PliantError, match="moves as a whole"):
        Scene(bodies=[dict(name="r", shape=BAR, model="rigid", motions=[dict(where=dict(side="+x"))])]).simulate()
    with pytest.raises(PliantError, match="chooses no vertex of body 'bar'"):
        bar(fixed=[dict(x=(5.0, 6.0))]).simulate()
    with pytest.raises(PliantError, match="has vertices 0 to"):
        bar(fixed=[dict(ids=[10**6])]).simulate()
    with pytest.raises(PliantError, match="three numbers"):
        bar(motions=[dict(shift=2.0)])
