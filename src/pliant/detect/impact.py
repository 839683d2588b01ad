"""The earliest time at which anything in a world meets anything else on its straight way through a step.

For stepping safely, and for tests: a step that is cut short there ends without a crossing. Analytic shapes are seen by their
faces; a plane, which has none, is not seen.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Ints
from pliant.detect.candidates import FeatureTree
from pliant.detect.continuous import first_impact
from pliant.world.motion import Motion


class Impact:
    """Finds the first impact of a motion; keeps what does not change between steps (`motion.kept(Impact)`)."""

    def __init__(self, motion: Motion) -> None:
        self.faces = motion.skin.faces
        self.tree = FeatureTree.build(motion.start, self.faces, motion.bodies.face_start, motion.end)

    def time(self, motion: Motion) -> float:
        """Earliest time of contact in [0, 1] of the step, inf if nothing meets."""
        found = self.tree.candidates(motion.start, motion.end, self._pairs(motion))
        vertex, face = found.vertex_face.T
        edges = self.tree.edges.corners
        vertex_faces = np.concatenate([vertex[:, None], self.faces[face]], axis=1)
        edge_edges = np.concatenate([edges[found.edge_edge[:, 0]], edges[found.edge_edge[:, 1]]], axis=1)
        return first_impact(motion.start, motion.end, vertex_faces, edge_edges)

    def _pairs(self, motion: Motion) -> Ints:
        """Pairs of bodies that may meet and have faces, (m, 2); a body with itself where the pair table says so."""
        some = np.flatnonzero(np.diff(motion.bodies.face_start) > 0)
        i, j = np.triu_indices(len(some))
        a, b = some[i], some[j]
        meet = motion.pairs.meet(a, b)
        return np.stack([a[meet], b[meet]], axis=1)
