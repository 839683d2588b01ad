"""How deep bodies are in one another as they stand now, looked for anew and not as a contact method saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.detect.penetration import Penetration
from pliant.geometry.mesh import TET_EDGES, Floats
from pliant.motion import Motion

if TYPE_CHECKING:
    from pliant.world import World


@dataclass(frozen=True)
class Overlap:
    """Depth of all surface points that are inside another body."""

    depth: Floats  # [m] (h,) distance to the nearest point of the other surface
    edge: float  # [m] mean edge of the tetrahedra of all bodies that move

    @property
    def worst(self) -> float:
        """The deepest point, as a part of the mean edge."""
        return float(self.depth.max(initial=0.0)) / self.edge


def overlap(world: World) -> Overlap:
    """All surface points against all bodies that they may meet; self-contact is not looked at."""
    state = world.state
    still = Motion(world, 1e-12, state.x.copy(), np.zeros_like(state.v), np.zeros_like(state.velocity), state.spin * 0)
    return Overlap(-still.kept(Penetration).find(still).gap, mean_edge(world))


def mean_edge(world: World) -> float:
    """Mean edge of all tetrahedra of soft bodies at rest [m]."""
    tets = [group.nodes[:, :4] for group in world.model.groups if group.name.startswith("tet")]
    ends = world.model.nodes.rest[np.concatenate(tets)[:, TET_EDGES]]
    return float(np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2).mean())
