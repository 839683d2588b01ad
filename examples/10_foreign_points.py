"""A point body of your own in contact: all that `point-surface` needs is points, forces on them, and surfels that ride on them.

    python examples/10_foreign_points.py

Two balls of particles held together by shape matching, written in NumPy and stepped here, collide and part.
"""

import numpy as np

from pliant.bodies.points.skin import ride
from pliant.contact.point_surface.foreign import Foreign
from pliant.geometry.shapes import make

# particles on a lattice inside a ball of radius 0.1 m, and the vertices of a finer ball as surfels on it
side = np.arange(-0.09, 0.091, 0.03)
particles = np.stack(np.meshgrid(side, side, side), -1).reshape(-1, 3)
particles = particles[np.linalg.norm(particles, axis=1) < 0.09]
surfels = make("ball", radius=0.1, edge=0.02).surface().points
normals = surfels / np.linalg.norm(surfels, axis=1, keepdims=True)
areas = np.full(len(surfels), 4 * np.pi * 0.1**2 / len(surfels))

# the binding: surfels = binding @ particles; it reproduces rotations and stretches exactly
riding = ride(surfels, particles)
binding = np.zeros((len(surfels), len(particles)))
binding[np.repeat(np.arange(len(surfels)), np.diff(riding.start)), riding.node] = riding.weight


def rotation(x: np.ndarray) -> np.ndarray:
    """The rotation that brings the ball at rest nearest to x."""
    u, _, v = np.linalg.svd((x - x.mean(axis=0)).T @ particles)
    return u @ np.diag([1, 1, np.linalg.det(u @ v)]) @ v


mass, stiff, dt = 4.0 / len(particles), 2e3, 2e-4  # [kg], [N/m] of each particle to its goal, [s]
places = [particles + [-0.11, 0, 0], particles + [0.11, 0.03, 0]]
speeds = [np.tile([1.0, 0, 0], (len(particles), 1)), np.tile([-1.0, 0, 0], (len(particles), 1))]
contact = Foreign([(surfels, normals, areas, binding)] * 2)
deepest = 0.0
for _ in range(1000):
    turns = [rotation(x) for x in places]
    push = contact.forces(places, stiffness=2e7, turns=turns)
    deepest = max(deepest, float(np.abs(push[0].sum(axis=0)).max()))
    for x, v, t, f in zip(places, speeds, turns, push, strict=True):
        goal = x.mean(axis=0) + particles @ t.T
        v += dt / mass * (stiff * (goal - x) + f)
        x += dt * v

momentum = mass * sum(v.sum(axis=0) for v in speeds)
left, right = (v.mean(axis=0) for v in speeds)
print(f"The largest force was {deepest:.0f} N; the balls part at {left[0]:+.2f} and {right[0]:+.2f} m/s along x.")
print(f"Momentum is {np.abs(momentum).max():.1e} kg m/s, as it was.")
assert left[0] < 0 < right[0] and np.abs(momentum).max() < 1e-10
