"""Soft bodies of springs: all pairs of vertices, a lattice inside a surface, a mass for each vertex, damping that adapts itself.

    python examples/08_springs.py
"""

import numpy as np

from pliant import Scene
from pliant.geometry.shapes import make

BALL = {"kind": "ball", "radius": 0.1, "edge": 0.05}
count = len(make(**BALL).surface().points)

# Springs between all n vertices: the ball breathes with omega^2 = k n / m, whatever its mesh.
k, m = 2.0, 0.01  # [N/m] of each spring, [kg] of each vertex
free = Scene(dt=0.001, gravity=(0, 0, 0), contact="none")
uniform = {"spring_stiffness": k, "vertex_mass": m}
free.add(name="ball", shape=BALL, model="springs", network="all-pairs", integrator="verlet", material=uniform)
sim = free.simulate()
sim.state.x *= 1.01
radius: list[float] = []
sim.run(until=0.5, each=lambda report: radius.append(float(np.linalg.norm(sim.points("ball"), axis=1).mean())))
turns = np.flatnonzero(np.diff(np.sign(np.array(radius) - 0.5 * (max(radius) + min(radius)))))
period = 2.0 * sim.dt * (turns[-1] - turns[0]) / (len(turns) - 1)
print(f"all pairs: breathes every {period:.4f} s, in theory {2 * np.pi / np.sqrt(k * count / m):.4f} s")

# A mass for each vertex and a stiffness: lists. Below the middle this ball is ten times as heavy, and twice as stiff.
low = make(**BALL).surface().points[:, 2] < 0.0
lists = {"spring_stiffness": np.where(low, 4.0, 2.0).tolist(), "vertex_mass": np.where(low, 0.1, 0.01).tolist()}
heavy = Scene(contact="none")
heavy.add(name="ball", shape=BALL, model="springs", network="all-pairs", material=lists)
sim = heavy.simulate()
print(f"lists: weighs {sim.world.model.nodes.mass.sum():.2f} kg, its centre of mass is at {sim.centre('ball')[2]:.3f} m")

# A lattice of springs inside any closed surface, which rides in it.
lattice = Scene(dt=0.001, contact="ground")
lattice.add(name="ground", shape="plane", model="static")
soft = {"density": 500.0, "spring_stiffness": 400.0, "spring_damping": 0.5, "mass_damping": 5.0}
bunny = {"kind": "bunny", "height": 0.2}
lattice.add(name="bunny", shape=bunny, model="springs", network="voxels", spacing=0.03, position=(0, 0, 0.001), material=soft)
sim = lattice.simulate().run(until=0.3)
weight = 9.81 * sim.world.model.nodes.mass.sum()
forces: list[float] = []
sim.run(until=0.5, each=lambda report: forces.append(float(sim.contacts("bunny", "ground").total_force[2])))
carried = len(sim.points("bunny"))
print(f"voxels: {len(sim.state.x)} points carry {carried} of its surface, the ground carries {np.mean(forces) / weight:.2f} weights")

# Damping c min(|F| / f, cap) v of a vertex, F its spring force: a shaking body calms down, one in flight does not slow down.
for name, damping in (("none", {}), ("adaptive", {"vertex_damping": 0.2, "adaptive_force": 0.1, "adaptive_cap": 10.0})):
    flying = Scene(dt=0.001, gravity=(0, 0, 0), contact="none")
    material = {**uniform, **damping}
    flying.add(name="ball", shape=BALL, model="springs", network="all-pairs", integrator="verlet", velocity=(3, 0, 0), material=material)
    sim = flying.simulate()
    sim.run(until=0.2)
    speed = sim.state.v[:, 0].mean()
    sim.state.x[0] += 0.02
    sim.run(until=1.2)
    shaking = np.sqrt(np.mean((sim.state.v - sim.state.v.mean(axis=0)) ** 2))
    print(f"damping {name}: flies at {speed:.3f} m/s, shakes at {shaking:.5f} m/s a second after a blow")
