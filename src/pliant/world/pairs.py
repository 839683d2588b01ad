"""Which bodies meet, under which method, with which friction and restitution: one table for all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.scene import Pair


@dataclass(frozen=True)
class PairTable:
    """Rule per body, exceptions per pair; (a, a) is self-contact, off unless a pair says otherwise.

    Friction of a pair is the geometric mean of the two bodies' coefficients, restitution that of the livelier one,
    unless the pair states its own.
    """

    sliding: Floats  # (B,) friction coefficient of each body
    sticking: Floats  # (B,) static friction coefficient
    lively: Floats  # (B,) restitution
    movable: np.ndarray  # (B,) bool: False for static and prescribed bodies, which do not meet each other
    key: Ints  # sorted keys low * B + high of the exceptions
    contact: np.ndarray  # bool per exception
    method: Ints  # index into the scene's list of methods, per exception; -1: by rule
    mu_d: Floats  # NaN: by rule
    mu_s: Floats
    e: Floats
    group: Ints  # (B,) bodies that the rule does not tell apart
    rule: Ints  # (g, g) method of two bodies of these groups, as an index
    own: Ints  # (g,) of one that meets itself
    only: int | None = None  # a view for one method: pairs of the others count as off

    def for_method(self, index: int) -> PairTable:
        """The view for one method, made once."""
        if index not in self._views:
            self._views[index] = replace(self, only=index)
        return self._views[index]

    @cached_property
    def _views(self) -> dict[int, PairTable]:
        return {}

    def _exception(self, a: Ints, b: Ints) -> tuple[Ints, np.ndarray]:
        """Index of the exception of each pair and whether there is one, if there are any."""
        wanted = np.minimum(a, b) * len(self.sliding) + np.maximum(a, b)
        at = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        return at, self.key[at] == wanted

    def meet(self, a: Ints, b: Ints) -> np.ndarray:
        """Whether the bodies of each pair are to be tested against each other, (k,) bool."""
        a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
        moves = self.movable[a] | self.movable[b]
        on = moves & (a != b)
        if len(self.key):
            at, stated = self._exception(a, b)
            on = np.where(stated, self.contact[at] & moves, on)
        return on if self.only is None else on & (self.method_of(a, b) == self.only)

    def method_of(self, a: Ints, b: Ints) -> Ints:
        """Index of the method of each pair, (k,)."""
        out = np.where(a == b, self.own[self.group[a]], self.rule[self.group[a], self.group[b]])
        if len(self.key):
            at, stated = self._exception(a, b)
            out = np.where(stated & (self.method[at] >= 0), self.method[at], out)
        return out

    def friction(self, a: Ints, b: Ints) -> tuple[Floats, Floats]:
        """Static and sliding coefficient of each pair."""
        a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
        mu_s, mu_d = np.sqrt(self.sticking[a] * self.sticking[b]), np.sqrt(self.sliding[a] * self.sliding[b])
        if len(self.key):
            at, stated = self._exception(a, b)
            mu_d = np.where(stated & ~np.isnan(self.mu_d[at]), self.mu_d[at], mu_d)
            mu_s = np.where(stated & ~np.isnan(self.mu_s[at]), self.mu_s[at], mu_s)
        return np.maximum(mu_s, mu_d), mu_d

    def restitution(self, a: Ints, b: Ints) -> Floats:
        """Speed after over speed before an impact of each pair, (k,)."""
        out = np.maximum(self.lively[a], self.lively[b])
        if len(self.key):
            at, stated = self._exception(a, b)
            out = np.where(stated & ~np.isnan(self.e[at]), self.e[at], out)
        return out

    @cached_property
    def rebound(self) -> bool:
        """Whether any two bodies have restitution."""
        return bool((self.lively > 0.0).any() or (self.e > 0.0).any())


@dataclass(frozen=True)
class Rule:
    """Which method two bodies have if no pair says otherwise, by groups of bodies."""

    methods: list[str]  # of the scene
    group: Ints  # (B,)
    table: Ints  # (g, g) index of a method
    own: Ints  # (g,) of one that meets itself

    @staticmethod
    def same(methods: list[str], count: int) -> Rule:
        """The first one for all."""
        return Rule(methods, np.zeros(count, np.int64), np.zeros((1, 1), np.int64), np.zeros(1, np.int64))


def pair_table(
    pairs: Sequence[Pair], names: list[str], given: tuple[Floats, Floats, Floats], movable: np.ndarray, rule: Rule
) -> PairTable:
    """Flatten the scene's pairs; given: friction while sliding and sticking, and restitution of each body."""
    rows: dict[int, Pair] = {}
    for pair in pairs:
        for name in (pair.a, pair.b):
            if name not in names:
                raise PliantError(f"A pair names the body '{name}', which is not in the scene: {nearest(name, names)}")
        low, high = sorted((names.index(pair.a), names.index(pair.b)))
        if low * len(names) + high in rows:
            raise PliantError(f"The pair {pair.a} and {pair.b} is stated twice; keep one of them.")
        rows[low * len(names) + high] = pair
    keys = sorted(rows)
    stated = [rows[k] for k in keys]

    def number(value: float | None, other: float | None) -> float:
        return np.nan if value is None and other is None else float(value if value is not None else other)  # type: ignore[arg-type]

    return PairTable(
        *given, movable,
        np.array(keys, np.int64),
        np.array([p.contact for p in stated], bool),
        np.array([rule.methods.index(p.method) if p.method else -1 for p in stated], np.int64),
        np.array([number(p.friction, None) for p in stated]),
        np.array([number(p.static_friction, p.friction) for p in stated]),
        np.array([number(p.restitution, None) for p in stated]),
        rule.group, rule.table, rule.own,
    )  # fmt: skip
