"""The forces of the last step, from which the sweeps of the next one start: bodies at rest need few of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.method import Memory
from pliant.contact.penalty.records import Records


@dataclass
class Last:
    """Forces of the records of a step, sorted by their keys."""

    key: Ints  # (r,)
    normal: Floats  # [N] (r,) along the normal
    friction: Floats  # [N] (r, 3)

    @staticmethod
    def none() -> Last:
        return Last(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)))

    @staticmethod
    def recalled(memory: Memory) -> Last:
        """As remembered."""
        return Last(memory["last_key"], memory["last_normal"], memory["last_friction"]) if "last_key" in memory else Last.none()

    def remembered(self) -> Memory:
        """For the memory of the method."""
        order = np.argsort(self.key, kind="stable")
        return {"last_key": self.key[order], "last_normal": self.normal[order], "last_friction": self.friction[order]}

    def of(self, records: Records) -> tuple[Floats, Floats]:
        """Forces of the given records, zero for those that had none: (r,), (r, 3)."""
        normal, friction = np.zeros(len(records)), np.zeros((len(records), 3))
        if len(self.key):
            key = records.key
            at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
            same = self.key[at] == key
            normal[same], friction[same] = self.normal[at[same]], self.friction[at[same]]
        return normal, friction
