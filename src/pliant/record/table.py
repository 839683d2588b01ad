"""A table of columns by name: a dictionary that pandas takes as it is, in which vectors are found by their own name too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.record.records import Array


class Table(dict[str, Array]):
    """Columns of numbers (n,): `DataFrame(table)` works. `table["momentum"]` joins `momentum_x`, `_y` and `_z` to (n, 3)."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        """Vectors, one row each, become columns of their components."""
        super().__init__()
        self._shapes: dict[str, tuple[int, ...]] = {}  # of the rows of what was divided
        self._parts: dict[str, list[str]] = {}
        for name, values in columns.items():
            parts = split_columns(name, values)
            self.update(parts)
            if values.ndim > 1:
                self._shapes[name], self._parts[name] = values.shape[1:], list(parts)

    def __missing__(self, name: str) -> Array:
        if name not in self._parts:
            raise KeyError(name)
        return np.stack([self[part] for part in self._parts[name]], axis=1).reshape(-1, *self._shapes[name])

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._parts

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    @property
    def vectors(self) -> dict[str, Array]:
        """Every column as it was given, vectors whole."""
        part_of = {part: name for name, parts in self._parts.items() for part in parts}
        return {name: self[name] for name in dict.fromkeys(part_of.get(column, column) for column in self)}


def split_columns(name: str, values: Array) -> dict[str, Array]:
    """One column per component: name, or name_x name_y name_z, or name_0 name_1 ..."""
    if values.ndim == 1:
        return {name: values}
    flat = values.reshape(len(values), -1)
    ends = "xyz" if flat.shape[1] == 3 else [str(k) for k in range(flat.shape[1])]
    return {f"{name}_{end}": flat[:, k] for k, end in enumerate(ends)}
