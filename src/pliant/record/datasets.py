"""Datasets of a new HDF5 file, made through the lower level of h5py: its upper one does several times the work for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.record.filters import LEVEL
from pliant.record.records import Array

if TYPE_CHECKING:
    import h5py


class Datasets:
    """What a file holds, by path; folders of a path come with it."""

    def __init__(self, file: h5py.File) -> None:
        from h5py import h5p

        self._root = file.id
        self._paths = h5p.create(h5p.LINK_CREATE)
        self._paths.set_create_intermediate_group(True)
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The library's handle of a dataset."""
        return self._known[name]

    def make(self, name: str, shape: tuple[int, ...], dtype: Any, block: int = 0, fill: float | None = None) -> Any:
        """A dataset, of `fill` where nothing is written. `block`: rows of one that is stored in blocks, shuffled and deflated."""
        from h5py import h5d, h5p, h5s, h5t

        how = h5p.create(h5p.DATASET_CREATE)
        how.set_obj_track_times(False)
        if block:
            how.set_chunk((block, *shape[1:]))
            how.set_shuffle()
            how.set_deflate(LEVEL)
        if fill is not None:
            how.set_fill_value(np.array(fill, dtype))
        kind = h5t.py_create(np.dtype(dtype), logical=True)
        space = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
        self._known[name] = h5d.create(self._root, name.encode(), kind, space, how, self._paths)
        return self._known[name]

    def put(self, name: str, values: Array) -> Any:
        """A dataset that is this array."""
        from h5py import h5s

        made = self.make(name, values.shape, values.dtype)
        if values.size:
            made.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(values))
        return made

    def fill(self, name: str, begin: int, rows: Array) -> None:
        """Some rows of a dataset."""
        from h5py import h5s

        place, inner = h5s.create_simple(self._known[name].shape), (0,) * (rows.ndim - 1)
        place.select_hyperslab((begin, *inner), rows.shape)
        self._known[name].write(h5s.create_simple(rows.shape), place, np.ascontiguousarray(rows))
