"""Surfaces given by points alone: how big, which way, how far, inside or outside.

The public names load when they are first used.
"""

from __future__ import annotations

from pliant.base import loaded_when_used

_WHERE = {
    "PointSurface": "pliant.detect.surfels.surface",
    "Projection": "pliant.detect.surfels.answers",
    "Shape": "pliant.detect.surfels.answers",
    "Posed": "pliant.detect.surfels.answers",
    "Exact": "pliant.detect.surfels.exact",
    "Spheres": "pliant.detect.surfels.clusters",
    "active_samples": "pliant.detect.surfels.active",
    "active_against_exact": "pliant.detect.surfels.active",
    "from_mesh": "pliant.detect.surfels.make",
    "from_cloud": "pliant.detect.surfels.make",
    "from_file": "pliant.detect.surfels.make",
}
__all__ = list(_WHERE)
__getattr__, __dir__ = loaded_when_used(__name__, _WHERE)
