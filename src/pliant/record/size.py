"""How large a run file will be."""

from __future__ import annotations

from collections.abc import Mapping

from pliant.record.layout import CELL_TYPES


def estimate_bytes(
    points: int, cells: Mapping[str, int], fields: Mapping[str, int], frames: int, states: int = 0, state_bytes: int = 0
) -> int:
    """Size of a run file [bytes] with one topology, without contact rows and step table.

    `cells`: how many of each kind, {"tets": 88000}; `fields`: bytes per point or cell, {"point/velocity": 24,
    "cell/von_mises": 8}; `states`: how many checkpoints of `state_bytes` each. While the run lasts, the journal
    takes the same again.
    """
    count = sum(cells.values())
    topology = sum(n * (8 * CELL_TYPES[kind][1] + 8 + 1 + 8) for kind, n in cells.items())
    frame = 24 * points + sum(n * (points if name.startswith("point/") else count) for name, n in fields.items())
    return topology + frames * frame + states * state_bytes


def human(size: float) -> str:
    """A number of bytes for people: 2.8 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"
