"""Collision detection on bare arrays: what touches what, and when.

The public names load when they are first used.
"""

from __future__ import annotations

from pliant.base import loaded_when_used

_WHERE = {
    "vertex_face_toi": "pliant.detect.time_of_impact",
    "edge_edge_toi": "pliant.detect.time_of_impact",
    "first_impact": "pliant.detect.time_of_impact",
    "box_pairs": "pliant.detect.box_overlap",
    "triangle_pairs": "pliant.detect.triangle_overlap",
    "points_in_tets": "pliant.detect.spatial_hashing",
}
__all__ = list(_WHERE)
_MORE = (
    " Other queries are imported from the module that the table in docs/detection.md names, as `from pliant.detect.closest import"
    " closest_on_body`."
)
__getattr__, __dir__ = loaded_when_used(__name__, _WHERE, _MORE)
