"""Polynomials with integer coefficients, and the exact sign of one at a root of another.

A polynomial is a list of Python integers, lowest power first, without trailing zeros; [] is zero. Roots in [0, 1] are isolated by
bisection with Descartes' rule of signs (Collins and Akritas 1976, "Polynomial real root isolation using Descartes' rule of signs").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, gcd

Polynomial = list[int]


def trimmed(p: Polynomial) -> Polynomial:
    n = len(p)
    while n and p[n - 1] == 0:
        n -= 1
    return p[:n]


def plus(p: Polynomial, q: Polynomial) -> Polynomial:
    if len(p) < len(q):
        p, q = q, p
    return trimmed([a + b for a, b in zip(p, q, strict=False)] + p[len(q) :])


def minus(p: Polynomial, q: Polynomial) -> Polynomial:
    return plus(p, [-b for b in q])


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    if not p or not q:
        return []
    out = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def primitive(p: Polynomial) -> Polynomial:
    """p divided by the greatest common divisor of its coefficients."""
    divisor = gcd(*p) if p else 1
    return [a // divisor for a in p] if divisor > 1 else p


def remainder(p: Polynomial, q: Polynomial) -> Polynomial:
    """Remainder of p by q times a non-zero number, so that it stays integer."""
    while len(p) >= len(q):
        shift = len(p) - len(q)
        p = minus([a * q[-1] for a in p], [0] * shift + [b * p[-1] for b in q])
    return p


def common_divisor(p: Polynomial, q: Polynomial) -> Polynomial:
    """Greatest common divisor up to a factor."""
    p, q = primitive(p), primitive(q)
    while q:
        p, q = q, primitive(remainder(p, q)) if len(p) >= len(q) else p
    return p


def quotient(p: Polynomial, q: Polynomial) -> Polynomial:
    """p / q up to a factor, where q divides p."""
    out = [0] * (len(p) - len(q) + 1)
    while len(p) >= len(q):
        shift = len(p) - len(q)
        out = [a * q[-1] for a in out]
        out[shift] += p[-1]
        p = minus([a * q[-1] for a in p], [0] * shift + [b * p[-1] for b in q])
    return primitive(out)


def square_free(p: Polynomial) -> Polynomial:
    """The polynomial with the roots of p, each once."""
    divisor = common_divisor(p, trimmed([i * a for i, a in enumerate(p)][1:]))
    return quotient(p, divisor) if len(divisor) > 1 else primitive(p)


def shifted(p: Polynomial, offset: int) -> Polynomial:
    """p(x + offset)."""
    p = list(p)
    for i in range(len(p) - 1):
        for j in range(len(p) - 2, i - 1, -1):
            p[j] += offset * p[j + 1]
    return p


def on_piece(p: Polynomial, level: int, index: int) -> Polynomial:
    """p on [index, index + 1] / 2^level, mapped to [0, 1], times a positive number."""
    n = len(p) - 1
    return shifted([a << (level * (n - i)) for i, a in enumerate(p)], index)


def bernstein_signs(p: Polynomial) -> tuple[int, int]:
    """(changes of sign, sign of the first that is not zero) of the Bernstein coefficients of p on [0, 1].

    Descartes: the number of roots in (0, 1) is the number of changes, or less by an even number.
    """
    n = len(p) - 1
    changes, first, last = 0, 0, 0
    for i in range(n + 1):
        # times comb(n, i) > 0, which changes no sign
        b = sum(p[j] * comb(n - j, i - j) for j in range(i + 1))
        if b:
            sign = 1 if b > 0 else -1
            changes += last == -sign
            first, last = first or sign, sign
    return changes, first


@dataclass
class Root:
    """A root in [0, 1]: the only one in the open piece (index, index + 1) / 2^level, or exactly index / 2^level."""

    local: Polynomial  # square-free polynomial on the piece, mapped to [0, 1]
    whole: Polynomial  # the same on [0, 1]
    level: int
    index: int
    exact: bool = False

    def refine(self) -> None:
        """Halve the piece."""
        left = on_piece(self.local, 1, 0)
        self.level, self.index = self.level + 1, 2 * self.index
        if sum(left) == 0:
            self.index, self.exact = self.index + 1, True
        elif bernstein_signs(left)[0] % 2:
            self.local = left
        else:
            self.local, self.index = shifted(left, 1), self.index + 1

    def sign_of(self, p: Polynomial) -> int:
        """Sign of p at the root."""
        if not p:
            return 0
        if not self.exact:
            divisor = common_divisor(self.whole, p)
            if len(divisor) > 1 and bernstein_signs(on_piece(divisor, self.level, self.index))[0] % 2:
                return 0
        while not self.exact:
            changes, sign = bernstein_signs(on_piece(p, self.level, self.index))
            if changes == 0:
                return sign
            self.refine()
        value = on_piece(p, self.level, self.index)[0]
        return (value > 0) - (value < 0)

    def time(self) -> float:
        """The root as a float, to about one unit in the last place, never after the root."""
        while not self.exact and self.level < 1100 and self.index.bit_length() < 54:
            self.refine()
        # an integer quotient is rounded correctly and may round up; one bit less than a double holds is exact
        excess = max(self.index.bit_length() - 53, 0)
        return (self.index >> excess) / (1 << (self.level - excess)) if self.level >= excess else float(self.index)


def unit_roots(p: Polynomial) -> list[Root]:
    """The distinct roots of a polynomial that is not zero in [0, 1], ascending."""
    p = square_free(p)
    roots: list[Root] = []
    pieces = [(p, 0, 0)]
    while pieces:
        q, level, index = pieces.pop()
        if q[0] == 0:
            roots.append(Root(q, p, level, index, exact=True))
        changes = bernstein_signs(q)[0]
        if changes == 1:
            roots.append(Root(q, p, level, index))
        elif changes > 1:
            left = on_piece(q, 1, 0)
            pieces += [(shifted(left, 1), level + 1, 2 * index + 1), (left, level + 1, 2 * index)]
    if sum(p) == 0:
        roots.append(Root(p, p, 0, 1, exact=True))
    return roots
