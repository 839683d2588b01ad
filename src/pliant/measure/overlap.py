"""How deep bodies are in one another as they stand now, looked for anew over all points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.base import Floats
from pliant.detect.solid_penetration import Collisions, SolidPenetration, closest_faces
from pliant.geometry.mesh import TET_EDGES

if TYPE_CHECKING:
    from pliant.simulate.simulation import Simulation
    from pliant.world.world import World


@dataclass(frozen=True)
class Overlap:
    """Depth of all points that are inside another body, or inside their own if that may touch itself."""

    depth: Floats  # [m] (h,)
    edge: float  # [m] mean edge of the tetrahedra of soft bodies at rest

    @property
    def worst(self) -> float:
        """The deepest point, as a part of the mean edge."""
        return float(self.depth.max(initial=0.0)) / self.edge

    @property
    def typical(self) -> float:
        """Median over the points inside, as a part of the mean edge."""
        return float(np.median(self.depth)) / self.edge if len(self.depth) else 0.0


def remaining(sim: Simulation) -> Collisions:
    """Points that are inside bodies as they are now, with `depth` the distance to the body's surface [m].

    What a step has left: over all points, of all pairs that meet. A point inside its own body has its consistent depth.
    """
    motion = sim.world.standing()
    found, surfaces = motion.kept(SolidPenetration).find(motion.end, motion.shapes, motion.pairs.meet)
    rows = np.flatnonzero((motion.bodies.analytic[found.b] < 0) & (found.a != found.b))
    found.depth[rows] = -closest_faces(surfaces, found.point[rows], found.b[rows]).gap
    return found


def remaining_depth(sim: Simulation) -> float:
    """Largest of them [m]; 0 if nothing is inside anything."""
    return float(np.nanmax(remaining(sim).depth, initial=0.0))


def overlap(sim: Simulation) -> Overlap:
    """Where the simulation stands now."""
    depth = remaining(sim).depth
    return Overlap(depth[np.isfinite(depth)], mean_edge(sim.world))


def mean_edge(world: World) -> float:
    """Mean edge of all tetrahedra of soft bodies at rest, or of all springs where there are none [m]."""
    groups = world.model.groups
    edges = [group.nodes[:, TET_EDGES].reshape(-1, 2) for group in groups if group.name.startswith("tet")]
    ends = world.model.nodes.rest[np.concatenate(edges or [group.nodes for group in groups if group.nodes.shape[1] == 2])]
    return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())
