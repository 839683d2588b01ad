"""How an object came to stand, or why it does not touch, in words."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.quasi_rigid.result import ContactResult
from pliant.contact.quasi_rigid.side import Side

TIPPED = 20.0  # [degree] of turning that is told as tipping over


def tipped(a: Side, way: Floats) -> list[str]:
    """Whether A turned so far that it stands on another side, and where to."""
    angle, top = angle_of(a.rotation), -a.rotation @ way
    top = top + (top @ -way) * way
    if angle < TIPPED:
        return []
    where = ", ".join(f"{c + 0.0:.2g}" for c in np.round(top / max(float(np.linalg.norm(top)), 1e-300), 3))
    return [f"it does not stand on what touches first: it tips over by {angle:.0f}°, its top towards ({where}), and rests there"]


def angle_of(rotation: Floats) -> float:
    """[degree]"""
    return float(np.degrees(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0))))


def why_apart(a: Side, way: Floats, result: ContactResult) -> str:
    if result.off:
        return f"Nothing touches: at all {result.off} samples that overlap, the other surface has a hole."
    if not result.steep:
        return "Nothing touches at this depth."
    if a.nodes is not None:
        along = a.world(a.nodes.points) @ way
        facing = float(np.mean(a.nodes.normals[along > np.max(along) - 0.01 * a.size] @ (a.rotation.T @ way)))
        if facing < -0.2:
            return (
                f"Nothing touches: where the objects overlap ({result.steep} samples), the first one's surface looks away from the second. "
                "Is it an open sheet that is pressed with its back, or are its normals inside out? Press it the other way (direction), or "
                "turn it (up)."
            )
    return (
        f"Nothing touches: at the {result.steep} samples that overlap the surfaces do not face each other, as at the rim of an open "
        "surface. Turn the object (up) or the direction."
    )
