"""Which bodies the rows of a memory belong to, so that what is asleep keeps its own and the others go on without it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.base import Ints
from pliant.detect.keys import Memory


class Table(NamedTuple):
    """Columns of a memory whose rows go with one sorted key."""

    key: str
    values: tuple[str, ...]
    a: Ints  # (r,) one body of each row
    b: Ints  # (r,) and the other


def divided(memory: Memory, tables: list[Table], chosen: np.ndarray) -> tuple[Memory, Memory]:
    """The rows of chosen bodies, (B,) bool, and all others; what is in no table stays with the others."""
    mine, others = Memory(), dict(memory)
    for table in tables:
        own = chosen[table.a] | chosen[table.b]
        for name in (table.key, *table.values):
            mine[name], others[name] = memory[name][own], memory[name][~own]
    return mine, others


def joined(memory: Memory, more: Memory, tables: list[Table]) -> Memory:
    """With rows that were taken out: tables say which those are."""
    out = dict(memory)
    for table in tables:
        if table.key not in memory:
            out |= {name: more[name] for name in (table.key, *table.values)}
            continue
        order = np.argsort(np.append(memory[table.key], more[table.key]), kind="stable")
        for name in (table.key, *table.values):
            out[name] = np.concatenate([memory[name], more[name]])[order]
    return out
