"""The record of contacts: one row per contact, the same fields for every method.

What a row cannot know is NaN. Force per pair, area and centre of pressure are computed from it here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pliant.geometry.mesh import Floats, Ints


@dataclass
class Contacts:
    """All contacts of a step."""

    a: Ints  # (r,) body that owns the point or first edge
    b: Ints  # (r,) body that is penetrated
    feature_a: Ints  # (r,) skin point (or edge) of A
    feature_b: Ints  # (r,) face (or edge) of B, -1 for an analytic shape
    point: Floats  # [m] (r, 3)
    normal: Floats  # (r, 3) unit, out of B towards A
    gap: Floats  # [m] (r,) negative: penetrating
    impulse: Floats  # [N s] (r,) along the normal, on A
    friction: Floats  # [N s] (r, 3) tangential, on A
    sticking: Floats  # (r,) 1 sticks, 0 slips, NaN unknown
    slip: Floats  # [m] (r, 3) tangential displacement of A against B in the step
    area: Floats  # [m^2] (r,)
    dt: float = np.nan  # [s] of the step

    def __len__(self) -> int:
        return len(self.a)

    @staticmethod
    def none(dt: float = np.nan) -> Contacts:
        return Contacts.unknown(0, dt)

    @staticmethod
    def unknown(count: int, dt: float) -> Contacts:
        """Rows of which nothing is known yet, to be filled by a method."""
        ids, nan, vectors = np.full(count, -1, np.int64), np.full(count, np.nan), np.full((count, 3), np.nan)
        return Contacts(
            ids, ids.copy(), ids.copy(), ids.copy(), vectors, vectors.copy(), nan, nan.copy(), vectors.copy(),
            nan.copy(), vectors.copy(), nan.copy(), dt,
        )  # fmt: skip

    @staticmethod
    def joined(parts: list[Contacts]) -> Contacts:
        """Rows of several methods, one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = [f.name for f in fields(Contacts) if f.name != "dt"]
        dt = parts[0].dt if parts else np.nan
        if not parts:
            return Contacts.none(dt)
        return Contacts(**{n: np.concatenate([getattr(p, n) for p in parts]) for n in names}, dt=dt)

    def select(self, rows: np.ndarray) -> Contacts:
        """Some rows, by mask or index."""
        return Contacts(**{f.name: getattr(self, f.name)[rows] for f in fields(Contacts) if f.name != "dt"}, dt=self.dt)

    def between(self, a: int, b: int | None = None) -> Contacts:
        """Contacts of body a with body b (or with anything), turned so that forces act on body a."""
        forward = (self.a == a) & ((self.b == b) if b is not None else True)
        backward = (self.b == a) & ((self.a == b) if b is not None else True) & (self.a != self.b)
        same, turned = self.select(forward), self.select(backward)
        turned.a, turned.b = turned.b, turned.a
        turned.feature_a, turned.feature_b = turned.feature_b, turned.feature_a
        for name in ("normal", "friction", "slip"):
            setattr(turned, name, -getattr(turned, name))
        return Contacts.joined([same, turned])

    @property
    def force(self) -> Floats:
        """Force on A of each row, normal and friction [N], (r, 3)."""
        return (self.impulse[:, None] * self.normal + np.nan_to_num(self.friction)) / self.dt

    @property
    def pressure(self) -> Floats:
        """Normal force over area [Pa], (r,); NaN where the area is not known or nothing."""
        known = self.area > 0.0
        return np.where(known, self.impulse / self.dt / np.where(known, self.area, 1.0), np.nan)

    @property
    def total_force(self) -> Floats:
        """[N] (3,)"""
        return self.force.sum(axis=0)

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields that at least one row knows, for recording."""
        named = {f.name: getattr(self, f.name) for f in fields(Contacts) if f.name != "dt"}
        return {k: v for k, v in named.items() if not (v.dtype == np.float64 and np.isnan(v).all() and v.size)}
