"""A beam of 10-node tetrahedra, held at one end, bends under a load that grows."""

from __future__ import annotations

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def make(length: float = 1.0, load: float = 2.0, edge: float = 0.05, dt: float = 0.02, duration: float = 4.0) -> Scene:
    """load: F L^2 / (E I) at the end, F across the tip."""
    youngs, side = 1e6, 0.1 * length
    force = load * youngs * side**4 / 12 / length**2
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), about="Large bending, compared with the elastica.")
    scene.add(
        name="beam", shape=dict(kind="box", size=(length, side, side), edge=edge), position=(length / 2, 0, 0), element="quadratic",
        integrator="implicit", fixed=[dict(side="-x")],
        material=dict(youngs_modulus=youngs, poisson_ratio=0.0, density=1000.0, mass_damping=2.0),
        loads=[dict(kind="force", where=dict(side="+x"), value=dict(times=[0, duration / 2], values=[[0, 0, 0], [0, 0, -force]]))],
    )  # fmt: skip
    return scene


def expect(sim: Simulation) -> list[str]:
    """The tip goes down by a good part of the length and nothing inverts."""
    length = sim.scene.bodies[0].shape["size"][0]
    points, rest = sim.points("beam"), sim.world.model.nodes.rest
    tip = points[points[:, 0].argmax()]
    assert min(g.stretch(sim.state.x).min() for g in sim.world.model.groups) > 0, "an element inverted"
    assert tip[2] < -0.1 * length, "the beam did not bend"
    return [f"The tip is {-tip[2] / length:.3f} L down and {(rest[:, 0].max() - tip[0]) / length:.3f} L in."]
