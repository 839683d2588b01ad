"""What a recorder accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.record.journal import Array


def numeric(values: object, name: str) -> Array:
    """An array that VTK can hold, with at least one axis."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise PliantError(f"{name!r} is {array.dtype} with shape {array.shape}; give an array of numbers, one row each")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    return array


def with_rows(array: Array, rows: int, name: str) -> Array:
    """The array, if it has one row for each point or cell."""
    if len(array) != rows:
        raise PliantError(
            f"frame: {name!r} has {len(array)} rows, but the topology has {rows}; record the new one first"
        )
    return array


def refuse_names(point_fields: Mapping[str, Array], cell_fields: Mapping[str, Array]) -> None:
    """A name means one thing: refuse what is ambiguous or taken."""
    both = point_fields.keys() & cell_fields.keys()
    if both:
        raise PliantError(f"frame: fields {sorted(both)} are given for points and for cells; rename one of each")
    if "body" in point_fields or "body" in cell_fields:
        raise PliantError("frame: the field `body` is part of the topology; give yours another name")


def column_of(values: list[Any], name: str) -> Array:
    """One column of the step table; steps that lack it get NaN."""
    shape = np.shape(next(value for value in values if value is not None))
    try:
        column = np.array([np.full(shape, np.nan) if value is None else value for value in values])
    except ValueError:
        raise PliantError(
            f"step: {name!r} changes its shape from step to step; give numbers or vectors of one size"
        ) from None
    return numeric(column, name)
