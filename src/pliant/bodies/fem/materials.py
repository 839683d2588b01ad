"""Material laws by name, elastic constants, and the stress numbers people look at.

A law is any object with `energy` and `stress` (and, if it likes, `tangent`) as in `Law`; `register_material` makes it
known under a name, from inside or outside the package. The four laws of pliant also have compiled kernels.
"""

from __future__ import annotations

import difflib
from typing import Protocol

import numpy as np

from pliant.base import Floats, PliantError
from pliant.bodies.fem.laws.corotated import Corotated
from pliant.bodies.fem.laws.linear import Linear
from pliant.bodies.fem.laws.neo_hookean import NeoHookean
from pliant.bodies.fem.laws.stvk import StVenantKirchhoff


class Law(Protocol):
    """An elastic energy density of the deformation gradient F, for n points at once.

    A law may also have ``tangent(F, lam, mu) -> (n, 3, 3, 3, 3)``, dP_ij / dF_kl [Pa]; without it central differences
    of `stress` are taken.
    """

    def energy(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        """Energy per rest volume [J/m^3], (n,), from F (n, 3, 3) and the Lamé constants (n,) [Pa]; zero at F = 1."""
        ...

    def stress(self, F: Floats, lam: Floats, mu: Floats) -> Floats:
        """First Piola-Kirchhoff stress P = d energy / d F [Pa], (n, 3, 3)."""
        ...


LAWS: dict[str, Law] = {
    "linear": Linear(),
    "corotated": Corotated(),
    "stvk": StVenantKirchhoff(),
    "neo-hookean": NeoHookean(),
}


def register_material(name: str, law: Law) -> None:
    """Make a law known under a name; a name that exists is refused, so that saved scenes keep their meaning."""
    if name in LAWS:
        raise PliantError(f"material law {name!r} is registered already; choose another name")
    missing = [method for method in ("energy", "stress") if not callable(getattr(law, method, None))]
    if missing:
        raise PliantError(
            f"material law {name!r} has no method {' and '.join(missing)}; "
            "a law needs energy(F, lam, mu) -> (n,) and stress(F, lam, mu) -> (n, 3, 3)"
        )
    LAWS[name] = law


def find_law(name: str) -> Law:
    """The law of that name; an unknown one is an error that lists the near ones."""
    if name in LAWS:
        return LAWS[name]
    near = difflib.get_close_matches(name, LAWS, n=2, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise PliantError(f"unknown material law {name!r}; {hint}known: {', '.join(LAWS)}")


def law_tangent(law: Law, F: Floats, lam: Floats, mu: Floats) -> Floats:
    """dP/dF of any law, (n, 3, 3, 3, 3): its own, or central differences of its stress (error about 1e-9)."""
    own = getattr(law, "tangent", None)
    if own is not None:
        return np.asarray(own(F, lam, mu), dtype=np.float64)
    out = np.empty((len(F), 3, 3, 3, 3))
    h = 6e-6 * np.maximum(1.0, np.abs(F).max(axis=(1, 2), initial=0.0))  # cube root of the rounding error
    for k in range(3):
        for l in range(3):
            dF = np.zeros_like(F)
            dF[:, k, l] = h
            out[..., k, l] = (law.stress(F + dF, lam, mu) - law.stress(F - dF, lam, mu)) / (2.0 * h)[:, None, None]
    return out


def projected_tangent(law: Law, F: Floats, lam: Floats, mu: Floats) -> Floats:
    """The symmetric positive semi-definite matrix nearest to dP/dF, (n, 9, 9): negative eigenvalues set to zero."""
    H = law_tangent(law, F, lam, mu).reshape(-1, 9, 9)
    values, vectors = np.linalg.eigh(0.5 * (H + np.swapaxes(H, 1, 2)))
    return (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
