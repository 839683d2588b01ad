"""A body model of your own in thirty lines of NumPy: a bed in which every node hangs on a spring at its own place (Winkler's)."""

import numpy as np

from pliant import Scene, register_model


class Bed:
    """Elements of one node each: force -k (x - x0) - b k v, stiffness k [N/m] and Rayleigh's b [s]."""

    name = "bed"

    def __init__(self, tets, rest, material):
        own, share = np.unique(tets, return_inverse=True)
        self.nodes, self.rest, self.k = own[:, None], rest[own], material.spring_stiffness
        self.rayleigh = np.full(len(own), material.stiffness_damping)
        a, b, c, d = (rest[tets[:, i]] for i in range(4))
        volume = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6  # of each tetrahedron; a quarter goes to each corner
        self.mass = material.density * np.bincount(share.ravel(), np.repeat(volume / 4, 4))[:, None]
        self.work = len(own)  # how much there is to do, in springs

    def away(self, x):
        return x[self.nodes[:, 0]] - self.rest

    def forces(self, x, v, out):
        out[:] = -self.k * (self.away(x) + self.rayleigh[:, None] * v[self.nodes[:, 0]])

    def energy(self, x):
        return 0.5 * self.k * np.sum(self.away(x) ** 2, axis=1)

    def stiffness(self, x, out, dt=np.inf):
        out[:, 0] = self.k * np.eye(3)  # one block for each element, as it has one corner

    def stable_dt(self, node_mass):
        rate, damping = self.k / node_mass[self.nodes[:, 0]], self.rayleigh * self.k / node_mass[self.nodes[:, 0]]
        return 4 / (damping + np.sqrt(damping**2 + 4 * rate))

    def stretch(self, x):
        return np.ones(len(self.nodes))  # nothing to turn inside out


register_model("bed", Bed)

for integrator in ("implicit", "verlet"):
    scene = Scene(dt=0.002, gravity=(0, 0, -9.81), contact="ground")
    material = {"spring_stiffness": 1000.0, "stiffness_damping": 0.02, "density": 200.0}
    shape = {"kind": "box", "size": (0.4, 0.4, 0.05), "edge": 0.05}
    scene.add(name="bed", shape=shape, model="bed", material=material, integrator=integrator)
    scene.add(name="load", shape={"kind": "box", "size": (0.5, 0.5, 0.1), "edge": 0.1}, model="rigid", position=(0, 0, 0.0751))
    sim = scene.simulate()
    top = sim.points("bed")[:, 2] > 0.024
    before = sim.points("bed")[top, 2].mean()
    sim.run(until=1.5)
    sunk, own = before - sim.points("bed")[top, 2].mean(), 9.81 * sim.world.model.nodes.mass.sum() / (2 * 1000.0 * top.sum())
    print(f"{integrator}: the top sinks {1000 * sunk:.3f} mm, in theory {1000 * (25 * 9.81 / (1000.0 * top.sum()) + own):.3f} mm")
