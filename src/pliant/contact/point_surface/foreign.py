"""Contact for bodies that pliant does not know: all it needs of them is points, forces on them, and how surfels ride on the points.

    contact = Foreign([(surfels, normals, areas, binding), ...])     # binding (s, n): surfels = binding @ points
    forces = contact.forces([points, ...], stiffness=1e6)            # one (n, 3) array for each body

No friction, no damping, no memory: the smooth-gap force at these places and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.contact.point_surface.colliding_surfels import boxes, candidates, colliding, start_samples
from pliant.contact.point_surface.implicit_surfaces import Neighbourhoods, Surfaces, no_shapes
from pliant.contact.point_surface.surfel_rows import foot_shares
from pliant.detect.body_pairs import overlapping


class Foreign:
    """Bodies given by surfels at rest (places (s, 3), normals (s, 3), areas (s,)) and a binding (s, n), dense or sparse, to points."""

    def __init__(self, bodies: Sequence[tuple[Floats, Floats, Floats, Any]]) -> None:
        self.bindings = [b[3] for b in bodies]
        for k, (places, _, _, binding) in enumerate(bodies):
            if binding.shape[0] != len(places):
                raise PliantError(f"body {k} has {len(places)} surfels, but its binding has {binding.shape[0]} rows.")
        size = [len(b[0]) for b in bodies]
        self.start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        places, self.normals, self.areas = (np.concatenate([np.asarray(b[k], np.float64) for b in bodies]) for k in range(3))
        self.fixed = Neighbourhoods.of(places, self.normals, self.areas, self.start)

    def forces(self, points: Sequence[Floats], stiffness: float, turns: Sequence[Floats] | None = None) -> list[Floats]:
        """Forces on the points of all bodies [N]; `turns`: 3x3 rotation of each body's normals since rest.

        Pressure is stiffness / 2 [N/m^3] times the depth, along the normal of the penetrated surface (theory/point-surface-contact 7.2).
        """
        where = np.concatenate([np.asarray(b @ x) for b, x in zip(self.bindings, points, strict=True)])
        normals = self.normals if turns is None else np.concatenate(
            [self.normals[low:high] @ np.asarray(t).T for low, high, t in zip(self.start[:-1], self.start[1:], turns, strict=True)]
        )  # fmt: skip
        now = Surfaces(self.fixed, where, normals, self.areas, no_shapes(len(self.bindings)))
        low, high = boxes(now)
        some = candidates(now, overlapping(low, high), low, high)
        start_samples(now, some)
        hits, _ = colliding(now, some, np.zeros((len(some), 3)))
        facing = np.maximum(-np.einsum("ri,ri->r", normals[hits.surfel], hits.normal), 0.0)
        push = (-0.25 * stiffness * hits.gap * facing * self.areas[hits.surfel])[:, None] * hits.normal
        start, surfel, weight = foot_shares(now, hits)
        on = np.zeros_like(where)
        np.add.at(on, hits.surfel, push)
        np.add.at(on, surfel, -weight[:, None] * np.repeat(push, np.diff(start), axis=0))
        parts = zip(self.bindings, self.start[:-1], self.start[1:], strict=True)
        return [np.asarray(b.T @ on[first:last]) for b, first, last in parts]
