"""What `press` found, in a notebook: the pressure map, the numbers and what is to be said of them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.live.notebook import Card, card
from pliant.pressing.maps import draw_map
from pliant.pressing.output import title_of
from pliant.pressing.quantities import metres, pascals, square_metres

if TYPE_CHECKING:
    from pliant.pressing.pressed import Pressed


def html_of(found: Pressed) -> str:
    """The card of two objects pressed together."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.png"
        if found.area > 0.0:
            draw_map(found.map(), path, title_of(found), found.peak)
        image = path.read_bytes() if path.exists() else b""
    x, y, z = (1e3 * found.centre).tolist()
    facts = {
        "force": f"{found.force:.4g} N after {metres(found.depth, 3)}", "area": square_metres(found.area),
        "pressure": f"mean {pascals(found.mean)}, peak {pascals(found.peak)}",
        "material": found.softness.words(),
        "centre of pressure": f"({x:.1f}, {y:.1f}, {z:.1f}) mm", "stiffness": f"{1e-3 * found.stiffness:.4g} N/mm",
        "status": found.result.status,
    }  # fmt: skip
    return card(Card(title_of(found), facts, found.notes, image=image))
