"""The record of contacts: one row per contact, the same fields for every method.

What a row cannot know is NaN. Force per pair, pressure, area, torque and centre of pressure are computed from it here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.kernels import contiguous, kernel
from pliant.shown import Shown
from pliant.world.motion import Rows


def _no_ids() -> Ints:
    return np.zeros(0, np.int64)


@dataclass
class Support:
    """The skin points that carry each row, with signed weights: positive on A, negative on B; both sides sum to one."""

    count: Ints = field(default_factory=_no_ids)  # (r,) points of each row
    point: Ints = field(default_factory=_no_ids)
    weight: Floats = field(default_factory=lambda: np.zeros(0))

    @staticmethod
    def of(rows: Rows) -> Support:
        return Support(rows.start[1:] - rows.start[:-1], rows.point, rows.weight)

    @property
    def row(self) -> Ints:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def select(self, rows: np.ndarray) -> Support:
        if len(self.count) == 0:
            return Support()
        chosen = np.arange(len(self.count))[rows]
        start = np.cumsum(self.count) - self.count
        count = self.count[chosen]
        entry = np.repeat(start[chosen] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        return Support(count, self.point[entry], self.weight[entry])

    @staticmethod
    def joined(parts: list[Support]) -> Support:
        return Support(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Support)})


class Later:
    """A column that may be given as a function without arguments, which is called when the column is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, contacts: Any, owner: type | None = None) -> Floats:
        if contacts is None:
            raise AttributeError(self.name)  # so a dataclass sees that there is no default
        value = getattr(contacts, self.name)
        if callable(value):
            value = value()
            setattr(contacts, self.name, value)
        return value

    def __set__(self, contacts: Any, value: Floats | Callable[[], Floats]) -> None:
        setattr(contacts, self.name, value)


@dataclass(repr=False)
class Contacts(Shown):
    """All contacts of a step."""

    a: Ints  # (r,) body that owns the point or first edge
    b: Ints  # (r,) body that is penetrated
    feature_a: Ints  # (r,) skin point (or edge) of A
    feature_b: Ints  # (r,) face (or edge) of B, -1 for an analytic shape
    point: Floats  # [m] (r, 3)
    normal: Floats  # (r, 3) unit, out of B towards A
    gap: Floats  # [m] (r,) negative: penetrating
    impulse: Floats  # [N s] (r,) along the normal, on A
    friction_impulse: Floats  # [N s] (r, 3) tangential, on A
    sticking: Floats  # (r,) 1 sticks, 0 slips, NaN unknown
    slip: Floats  # [m] (r, 3) tangential displacement of A against B in the step
    area: Later = Later()  # [m^2] (r,) that the row stands for; worked out when asked for
    dt: float = np.nan  # [s] of the step
    support: Support = field(default_factory=Support)

    def __len__(self) -> int:
        return len(self.a)

    def __repr__(self) -> str:
        x, y, z = self.total_force if len(self) else (0.0, 0.0, 0.0)
        return f"Contacts: {len(self)} rows, total force ({x:.4g}, {y:.4g}, {z:.4g}) N on a"

    @staticmethod
    def none(dt: float = np.nan) -> Contacts:
        return Contacts.unknown(0, dt)

    @staticmethod
    def unknown(count: int, dt: float) -> Contacts:
        """Rows of which nothing is known yet, to be filled by a method."""
        ids, nan, vectors = np.full(count, -1, np.int64), np.full(count, np.nan), np.full((count, 3), np.nan)
        return Contacts(
            ids, ids.copy(), ids.copy(), ids.copy(), vectors, vectors.copy(), nan, nan.copy(), vectors.copy(),
            nan.copy(), vectors.copy(), nan.copy(), dt, Support(np.zeros(count, np.int64)),
        )  # fmt: skip

    @staticmethod
    def joined(parts: list[Contacts]) -> Contacts:
        """Rows of several methods, one after the other."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Contacts.none()
        columns = {n: np.concatenate([getattr(p, n) for p in parts]) for n in COLUMNS}
        return Contacts(**columns, dt=parts[0].dt, support=Support.joined([p.support for p in parts]))

    def select(self, rows: np.ndarray) -> Contacts:
        """Some rows, by mask or index."""
        return Contacts(**{n: getattr(self, n)[rows] for n in COLUMNS}, dt=self.dt, support=self.support.select(rows))

    def between(self, a: int, b: int | None = None) -> Contacts:
        """Contacts of body a with body b (or with anything), turned so that forces act on body a."""
        forward = (self.a == a) & ((self.b == b) if b is not None else True)
        backward = (self.b == a) & ((self.a == b) if b is not None else True) & (self.a != self.b)
        same, turned = self.select(forward), self.select(backward)
        turned.a, turned.b = turned.b, turned.a
        turned.feature_a, turned.feature_b = turned.feature_b, turned.feature_a
        for name in ("normal", "friction_impulse", "slip"):
            setattr(turned, name, -getattr(turned, name))
        turned.support.weight = -turned.support.weight
        return Contacts.joined([same, turned])

    # -- per row

    @property
    def normal_force(self) -> Floats:
        """Force on A along the normal [N], (r,); positive pushes apart."""
        return self.impulse / self.dt

    @property
    def friction(self) -> Floats:
        """Tangential force on A [N], (r, 3)."""
        return np.nan_to_num(self.friction_impulse) / self.dt

    @property
    def force(self) -> Floats:
        """Force on A of each row, normal and friction [N], (r, 3)."""
        return self.normal_force[:, None] * self.normal + self.friction

    @property
    def depth(self) -> Floats:
        """How deep A is in B [m], (r,)."""
        return -self.gap

    @property
    def pressure(self) -> Floats:
        """Normal force over the area of each row [Pa], (r,), which may be a sliver at the rim of what touches: `per_pair` (and all tables)
        tell the largest over a face or more. 0 where there is no force, NaN where the area is not known."""
        return self._over_area(self.normal_force)

    @property
    def traction(self) -> Floats:
        """Force over area on A, normal and friction [Pa], (r, 3); 0 where there is none, NaN where the area is not known."""
        return self._over_area(self.force)

    def _over_area(self, values: Floats) -> Floats:
        area = self.area if values.ndim == 1 else self.area[:, None]
        known = area > 0.0
        return np.where(known, values / np.where(known, area, 1.0), np.where((area == 0.0) & (values == 0.0), 0.0, np.nan))

    # -- of all rows together

    @property
    def total_force(self) -> Floats:
        """[N] (3,)"""
        return self.force.sum(axis=0)

    @property
    def total_area(self) -> float:
        """[m^2] of the rows that know theirs."""
        return float(np.nansum(self.area))

    @property
    def friction_work(self) -> float:
        """Work of friction on both bodies together in the step [J]; below zero, except while stuck contacts spring back."""
        return _known_product(contiguous(self.friction_impulse), contiguous(self.slip)) / self.dt if len(self) else 0.0

    def total_torque(self, about: Floats | tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Floats:
        """Moment of all forces on A about a point of the world [N m], (3,)."""
        return np.cross(self.point - np.asarray(about), self.force).sum(axis=0)

    @property
    def center_of_pressure(self) -> Floats:
        """Mean of the contact points, weighted with the normal force [m], (3,); NaN without contact."""
        weight = np.maximum(self.normal_force, 0.0)
        total = weight.sum()
        return (weight[:, None] * self.point).sum(axis=0) / total if total > 0.0 else np.full(3, np.nan)

    # -- for the run file

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields that at least one row knows, for recording."""
        named = {n: getattr(self, n) for n in COLUMNS} | {f"support_{k}": v for k, v in vars(self.support).items()}
        named["dt"] = np.array([self.dt])
        return {k: v for k, v in named.items() if not (v.dtype == np.float64 and np.isnan(v).all() and v.size)}

    @staticmethod
    def of_arrays(arrays: dict[str, np.ndarray]) -> Contacts:
        """What `arrays` gave, back again."""
        if "a" not in arrays:
            return Contacts.none()
        contacts = Contacts.unknown(len(arrays["a"]), float(arrays["dt"][0]) if "dt" in arrays else np.nan)
        for name in COLUMNS:
            setattr(contacts, name, arrays.get(name, getattr(contacts, name)))
        if "support_count" in arrays:
            contacts.support = Support(**{k: arrays[f"support_{k}"] for k in vars(Support())})
        return contacts


@kernel
def _known_product(u, v):  # type: ignore[no-untyped-def]
    """u.v over what is known of both."""
    total = 0.0
    for r in range(len(u)):
        for k in range(3):
            part = u[r, k] * v[r, k]
            if part == part:
                total += part
    return total


COLUMNS = [f.name for f in fields(Contacts) if f.name not in ("dt", "support")]
