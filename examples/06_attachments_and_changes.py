"""A soft ball on a string under a turning arm; half-way through gravity is switched off."""

import numpy as np

from pliant import Scene

scene = Scene(dt=0.004, duration=1.2)
scene.add(
    name="arm",
    shape={"kind": "box", "size": (0.6, 0.04, 0.04)},
    model="rigid",
    position=(0, 0, 1.0),
    # prescribed motion: a quarter turn about z in 0.6 s, then it stands still
    motions=[{"turn": {"times": [0, 0.6], "values": [[0, 0, 0], [0, 0, 90]]}}],
)
scene.add(
    name="ball",
    shape={"kind": "ball", "radius": 0.06, "edge": 0.04},
    position=(0.3, 0, 0.6),
    material={"youngs_modulus": 2e5, "density": 500.0, "stiffness_damping": 1e-3},
)
scene.attach(
    kind="string",
    a={"body": "arm", "at": (0.3, 0, 1.0)},
    b={"body": "ball", "at": (0.3, 0, 0.66)},  # the vertex nearest to this place
    stiffness=2e4,
    damping=5.0,
)
scene.change("gravity", {"times": [0.0, 0.8, 0.801], "values": [[0, 0, -9.81], [0, 0, -9.81], [0, 0, 0]]})

sim = scene.simulate()
sim.run(until=0.8)
arm, _ = sim.pose("arm")
print(f"t = {sim.time:.1f} s: arm at {np.round(arm, 3)}, ball at {np.round(sim.centre('ball'), 3)}, gravity {sim.scene.gravity}")
sim.run()
speed = np.linalg.norm(sim.books().momentum) / sim.world.model.nodes.mass.sum()
print(f"t = {sim.time:.1f} s: ball at {np.round(sim.centre('ball'), 3)}, {speed:.2f} m/s, gravity {sim.scene.gravity}")

# The same from outside, at any moment (what a table of changes states stays with the table):
sim.set("ball.material.youngs_modulus", 5e4)
sim.run(until=1.3)
print(f"t = {sim.time:.1f} s: ball at {np.round(sim.centre('ball'), 3)}, its stiffness {sim.scene.bodies[1].material.youngs_modulus:g} Pa")
