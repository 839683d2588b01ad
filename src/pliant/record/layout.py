"""Where every array of every record goes in the published run file; reading and writing share this plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.record.records import Head, Spec

# Arrays of a topology record in the order of their cells, with VTK's cell type and nodes per cell.
CELL_TYPES = {"tets": (10, 4), "tets10": (24, 10), "triangles": (5, 3), "vertices": (1, 1)}
POINTS, CONNECTIVITY, BODY = "VTKHDF/Points", "VTKHDF/Connectivity", "VTKHDF/CellData/body"
FRAME_GROUPS = {"point": "VTKHDF/PointData", "cell": "VTKHDF/CellData", "contact": "pliant/contacts"}
TABLES = {"step": "pliant/steps", "pair": "pliant/pairs"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array is: rows `start` to `start + rows` of a dataset, or all of it when `start` is None."""

    dataset: str
    start: int | None
    rows: int


class Layout:
    """The place of every array of a sequence of records, and the size and type of every dataset."""

    def __init__(self, heads: Sequence[Head]) -> None:
        self.heads = heads
        self.places: list[dict[str, Place]] = []
        self.rows: dict[str, int] = {}
        self.row_shape: dict[str, tuple[int, ...]] = {}
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self._tables = dict.fromkeys(TABLES, 0)
        self._newest: dict[str, tuple[Spec, Place]] = {}  # block that was last put into each dataset of frames
        for number, head in enumerate(heads):
            self.places.append({name: self._place(head, number, name) for name in head.specs})
            self._close_batch(head)
        for table, group in TABLES.items():
            for dataset in self.rows:
                if dataset.startswith(group + "/"):
                    self.rows[dataset] = self._tables[table]

    def _place(self, head: Head, number: int, name: str) -> Place:
        spec = head.specs[name]
        group, _, field = name.partition("/")
        if head.kind == "frame":
            dataset = POINTS if name == "points" else f"{FRAME_GROUPS[group]}/{_safe(field)}"
            before = self._newest.get(dataset)
            if name in head.meta.get("same", ()) and before is not None and before[0] == spec and spec.crc is not None:
                return before[1]  # what did not change since the frame before is there already
            place = self._block(dataset, spec, flat=group != "contact")
            self._newest[dataset] = spec, place
            return place
        if head.kind == "topology":
            if name == "body":
                return self._block(BODY, spec)
            return self._block(CONNECTIVITY, Spec(spec.dtype, (int(np.prod(spec.shape)),)))
        if head.kind == "step":
            return self._block(f"{TABLES[group]}/{_safe(field)}", spec, start=self._tables[group])
        return Place(f"pliant/{head.kind}/{number:06d}/{_safe(name)}", None, 0)

    def _block(self, dataset: str, spec: Spec, flat: bool = False, start: int | None = None) -> Place:
        """The next rows of a dataset; `flat` makes one row of the components of a tensor, as VTK wants them."""
        inner = spec.shape[1:]
        if flat and inner:
            inner = (int(np.prod(inner)),)
        dtype = _stored_dtype(spec)
        if self.row_shape.setdefault(dataset, inner) != inner:
            raise PliantError(
                f"{dataset} changes its shape per row from {self.row_shape[dataset]} to {inner} during the run; "
                "give the field that changes another name"
            )
        self.dtypes[dataset] = np.result_type(self.dtypes.get(dataset, dtype), dtype)
        begin = self.rows.get(dataset, 0) if start is None else start
        self.rows[dataset] = begin + spec.shape[0]
        return Place(dataset, begin, spec.shape[0])

    def _close_batch(self, head: Head) -> None:
        """Advance the tables together, so that a column missing from a batch leaves a gap, not a shift."""
        if head.kind == "step":
            for table in TABLES:
                sizes = [spec.shape[0] for name, spec in head.specs.items() if name.startswith(table + "/")]
                self._tables[table] += max(sizes, default=0)

    @property
    def datasets(self) -> list[str]:
        """Every dataset that holds arrays of records."""
        return list(dict.fromkeys(place.dataset for places in self.places for place in places.values()))

    def numbers(self, kind: str) -> list[int]:
        """Positions of the records of a kind."""
        return [i for i, head in enumerate(self.heads) if head.kind == kind]


def _safe(name: str) -> str:
    """A name that HDF5 takes as one link."""
    quoted = name.replace("%", "%25").replace("/", "%2F")
    return quoted.replace(".", "%2E") if set(quoted) == {"."} else quoted


def _stored_dtype(spec: Spec) -> np.dtype[Any]:
    dtype = np.dtype(spec.dtype)
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def fill_value(dtype: np.dtype[Any]) -> float | int:
    """What stands where a field or column was not recorded."""
    return {"f": np.nan, "i": -1}.get(dtype.kind, 0)


def as_bytes(spec: Spec) -> bool:
    """Whether HDF5 (as h5py sees it) lacks the type, so that the raw bytes are stored."""
    dtype = np.dtype(spec.dtype)
    return dtype.kind not in "biuf" or dtype.itemsize > 8


# ---- how large a run file will be


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
