"""Continuous collision queries, against arithmetic with whole numbers: none may be missed."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.detect.rational_time import edge_edge_time, vertex_face_time
from pliant.detect.time_of_impact import edge_edge_toi, vertex_face_toi
from pliant.shop.validate import NO_CONTACT, Check, problem


@problem("exact-queries", "theory/validation-problems 39; [Wang 2021]", methods=NO_CONTACT)
def exact_queries(method: str, quick: bool) -> list[Check]:
    """Corners that pass faces and edges that pass edges within a step, many of them in one plane or on each other: none is missed."""
    checks, count = [], 300 if quick else 3000
    for name, found, exact in (
        ("vertex and face", vertex_face_toi, vertex_face_time), ("edge and edge", edge_edge_toi, edge_edge_time),
    ):  # fmt: skip
        for kind in ("anywhere", "on a grid", "by a hair"):
            start, end = queries(kind, count, np.random.default_rng(39))
            here, truth = found(start, end), np.array([exact(a, b) for a, b in zip(start, end, strict=True)])
            meets = np.isfinite(truth)
            late = np.where(meets & np.isfinite(here), np.abs(here - np.where(meets, truth, 0.0)), 0.0)
            checks += [
                Check(f"missed of {int(meets.sum())} that meet, {name}, {kind}", 0.0, float((meets & ~np.isfinite(here)).sum()), 0.0),
                Check(f"false of {int((~meets).sum())} that do not, {name}, {kind}", 0.0, float((~meets & np.isfinite(here)).sum()), 0.0),
                Check(f"time of the meeting, farthest off, {name}, {kind}", 0.0, float(late.max()), 1e-6, "of the step", scale=1.0),
            ]
    return checks


def queries(kind: str, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Four points at both ends of a step, (count, 4, 3) each."""
    if kind == "on a grid":  # few numbers, so that much coincides
        return rng.integers(-2, 3, (count, 4, 3)).astype(np.float64), rng.integers(-2, 3, (count, 4, 3)).astype(np.float64)
    start, end = rng.uniform(-1, 1, (count, 4, 3)), rng.uniform(-1, 1, (count, 4, 3))
    if kind == "by a hair":  # the first point ends on what the others span, but for rounding
        weight = rng.dirichlet([1.0, 1.0, 1.0], count)
        end[:, 0] = np.einsum("nk,nki->ni", weight, end[:, 1:])
    return start, end
