"""What a press gives: numbers with their errors, the map, and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.pressing.approach import angle_of
from pliant.pressing.asked import Softness
from pliant.pressing.maps import PressureMap, pressure_map
from pliant.pressing.objects import Thing
from pliant.pressing.on_cells import OnCells
from pliant.pressing.output import save
from pliant.pressing.quantities import pascals, square_metres
from pliant.pressing.tangential import Sheared

SMOOTH = 150  # samples in contact below which smoothing would lower the peak


@dataclass(frozen=True)
class Pressed:
    """Two objects pressed together."""

    things: tuple[Thing, Thing]
    a: Side  # where it came to be
    b: Side
    result: ContactResult
    direction: Floats  # (3,) the way A was pushed
    depth: float  # [m] how far A went on after the first touch, along the direction
    depth_from: str  # where that counts from, in words
    errors: dict[str, float]  # of force, depth, area and peak, as parts of them
    notes: tuple[str, ...]
    softness: Softness
    cells: OnCells | None = None  # None: solved on samples
    sheared: Sheared | None = None

    @property
    def force(self) -> float:
        """[N] against the direction."""
        return float(-self.result.wrench_a()[:3] @ self.direction)

    @property
    def area(self) -> float:
        """[m^2]"""
        return self.result.area

    @property
    def mean(self) -> float:
        """[Pa] force over area."""
        return self.result.force / self.area if self.area > 0.0 else 0.0

    @property
    def peak(self) -> float:
        """[Pa] highest pressure: of a cell; of samples smoothed over a spacing, or as it is where only few touch."""
        few = self.cells is not None or np.count_nonzero(self.result.contact) < SMOOTH
        return float(np.max(self.result.pressure if few else self.result.smooth_pressure, initial=0.0))

    @property
    def centre(self) -> Floats:
        """(3,) [m] centre of pressure."""
        return self.result.centre

    @property
    def stiffness(self) -> float:
        """[N/m] along the direction."""
        if self.cells is not None:
            return self.cells.stiffness
        return float(self.direction @ self.result.stiffness(self.centre)[:3, :3] @ self.direction) if self.area > 0.0 else 0.0

    @property
    def tilt(self) -> float:
        """[degree] by which A turned."""
        return angle_of(self.a.rotation)

    @property
    def width(self) -> float:
        """[m] from one end of the contact to the other."""
        x = self.result.deformed[self.result.contact]
        across = x - np.outer(x @ self.direction, self.direction)
        return float(np.linalg.norm(np.ptp(across, axis=0))) if len(x) else 0.0

    def map(self, shape: tuple[int, int] | None = None) -> PressureMap:
        """Pressure on a grid across the direction; cells of a sample's size, or as many as a sensor has."""
        return pressure_map(self.result, self.direction, shape)

    def facts(self) -> dict[str, Any]:
        """All of it, for programs."""
        result = self.result
        facts = {
            "a": self.things[0].name, "b": self.things[1].name, "status": result.status, "depth": self.depth, "depth_from": self.depth_from,
            "force": self.force, "area": self.area, "mean_pressure": self.mean, "peak_pressure": self.peak, "errors": self.errors,
            "centre_of_pressure": self.centre.tolist(), "stiffness": self.stiffness, "tilt": self.tilt,
            **self.softness.facts(), "contact_width": self.width,
            "extents": [None if thing.extent is None else thing.extent.tolist() for thing in self.things],
            "wrench_on_a": result.wrench_a(self.centre).tolist(), "solved_on": "samples" if self.cells is None else "cells",
            "nodes": len(result.P), "touching": int(result.contact.sum()), "spikes": len(result.spikes),
            "left_out": result.steep + result.off, "notes": list(self.notes),
        }  # fmt: skip
        if self.cells is not None:
            grid = self.cells.best.grid
            facts["cells"] = {"shape": list(grid.shape), "size": grid.cell}
        if self.sheared is not None:
            facts["tangential"] = self.sheared.facts()
        return facts

    def __repr__(self) -> str:
        a, b = (thing.name for thing in self.things)
        return f"Pressed {a} on {b}: {self.force:.4g} N on {square_metres(self.area)}, mean {pascals(self.mean)}, {self.result.status}"

    def _repr_html_(self) -> str:
        from pliant.pressing.card import html_of  # start-up: only notebooks ask for it

        return html_of(self)

    def save(self, folder: str | Path, sensor: tuple[int, int] | None = None) -> list[Path]:
        """Pictures, the map as PNG and CSV, both surfaces as PLY, and the facts; returns the files."""
        return save(self, Path(folder), sensor)
