"""A material law of your own: energy and stress of the deformation gradient, known by a name."""

import numpy as np

from pliant import Scene, register_material


class LogNeoHookean:
    """psi = mu/2 (F:F - 3) - mu log J + lam/2 (log J)^2, P = mu (F - F^-T) + lam log J F^-T (Bonet, Wood 1997)."""

    def energy(self, F, lam, mu):
        log_j = np.log(np.linalg.det(F))
        return 0.5 * mu * (np.einsum("nij,nij->n", F, F) - 3) - mu * log_j + 0.5 * lam * log_j**2

    def stress(self, F, lam, mu):
        log_j = np.log(np.linalg.det(F))[:, None, None]
        inverse = np.swapaxes(np.linalg.inv(F), 1, 2)
        return mu[:, None, None] * (F - inverse) + lam[:, None, None] * log_j * inverse


register_material("log-neo-hookean", LogNeoHookean())

# A bar that is pulled at one end. With Poisson ratio 0 its sides stay as they are and mu (s - 1/s) = traction exactly.
youngs_modulus, traction = 1e5, 4e4
mu = youngs_modulus / 2
for law in ("log-neo-hookean", "neo-hookean"):
    scene = Scene(gravity=(0, 0, 0))
    scene.add(
        name="bar",
        shape={"kind": "box", "size": (0.4, 0.1, 0.1), "edge": 0.1},
        material={"law": law, "youngs_modulus": youngs_modulus, "poisson_ratio": 0.0},
        fixed=[{"side": "-x"}],
        loads=[{"kind": "traction", "value": (traction, 0, 0), "where": {"side": "+x"}}],
    )
    sim = scene.simulate().equilibrium()
    print(f"{law:16s} stretch {np.ptp(sim.points('bar')[:, 0]) / 0.4:.6f}")
ratio = traction / mu
print(f"exact for log-neo-hookean: {(ratio + np.sqrt(ratio**2 + 4)) / 2:.6f}")
