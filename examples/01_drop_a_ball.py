"""Drop a soft ball on the ground: a scene in Python, plain numpy arrays out."""

import numpy as np

from pliant import Scene

scene = Scene(dt=0.002, duration=0.5)
scene.add(name="ground", shape="plane", model="static")
scene.add(
    name="ball",
    shape={"kind": "ball", "radius": 0.1, "edge": 0.03},
    position=(0, 0, 0.3),
    material={"youngs_modulus": 5e4, "poisson_ratio": 0.4, "density": 1000.0},
)

sim = scene.simulate()
print("\n".join(sim.notes))

times, heights, forces = [], [], []


def note(report):
    times.append(report.time)
    heights.append(sim.centre("ball")[2])
    forces.append(sim.contacts("ball", "ground").total_force[2])


sim.run(each=note)

# Free fall until the ball touches: 0.2 m take sqrt(2 h / g) = 0.202 s.
first = times[int(np.argmax(np.array(forces) > 0))]
print(f"first contact at {first:.3f} s, in theory {np.sqrt(2 * 0.2 / 9.81):.3f} s")
print(f"lowest centre at {min(heights):.3f} m, largest force {max(forces):.0f} N")

# The impulse of the ground equals the change of momentum plus the weight's impulse.
points, faces = sim.points("ball"), sim.faces("ball")
mass = sim.world.model.nodes.mass.sum()
momentum = sim.books().momentum[2]
print(f"impulse of the ground {0.002 * sum(forces):.4f} N s, from the momentum {momentum + mass * 9.81 * 0.5:.4f} N s")
print(f"arrays: points {points.shape}, faces {faces.shape}, velocities {sim.state.v.shape}")
