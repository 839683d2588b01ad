"""Collision detection on bare arrays: what touches what, and when.

The public names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "vertex_face_toi": "pliant.detect.time_of_impact",
    "edge_edge_toi": "pliant.detect.time_of_impact",
    "first_impact": "pliant.detect.time_of_impact",
    "box_pairs": "pliant.detect.box_overlap",
    "triangle_pairs": "pliant.detect.triangle_overlap",
    "points_in_tets": "pliant.detect.spatial_hashing",
}
__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        known = ", ".join(_WHERE)
        raise AttributeError(
            f"module 'pliant.detect' has no attribute '{name}'; it has {known}. Other queries are imported from the module that the table"
            " in docs/detection.md names, as `from pliant.detect.closest import closest_on_body`."
        )
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
