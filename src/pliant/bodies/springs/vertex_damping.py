"""Damping of vertices, adaptive if wanted (theory/springs 3.3)."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats


def vertex_damping(drag: Floats, mass: Floats, elastic: Floats) -> Floats:
    """Damping of each node [1/s]: c / m min(|F| / f, cap), F the elastic force on it [N], (n, 3); c / m where f is zero.

    drag (n, 3): c [N s/m], f [N], cap of each node.
    """
    c, reference, cap = drag.T
    size = np.sqrt(np.einsum("ni,ni->n", elastic, elastic))
    factor = np.divide(size, reference, out=np.ones_like(size), where=reference > 0.0)
    return c / mass * np.where(reference > 0.0, np.minimum(factor, cap), 1.0)
