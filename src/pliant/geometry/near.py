"""Points near points: the one door to scipy's k-d tree, which takes 0.2 s to load and is loaded when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.base import Floats

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


def kd_tree(points: Floats) -> cKDTree:
    """Points (n, d) as a tree that knows the nearest of them."""
    from scipy.spatial import cKDTree  # start-up

    return cKDTree(points)
