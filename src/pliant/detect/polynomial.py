"""Polynomials with integer coefficients, and the exact sign of one at a root of another.

A polynomial is a list of Python integers, lowest power first, without trailing zeros; [] is zero. Roots in [0, 1] are isolated by
bisection with Descartes' rule of signs (Collins and Akritas 1976, "Polynomial real root isolation using Descartes' rule of signs").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

Polynomial = list[int]
PATIENCE = 4  # halvings of a piece before the common divisor is worth its cost


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
    """(changes of sign, sign of the last that is not zero) of the Bernstein coefficients of p on [0, 1].

    Descartes: the number of roots in (0, 1) is the number of changes, or less by an even number. The coefficients are, up
    to positive factors, those of (1 + x)^n p(1 / (1 + x)).
    """
    changes, last = 0, 0
    for b in shifted(p[::-1], 1):
        if b:
            sign = 1 if b > 0 else -1
            changes += last == -sign
            last = sign
    return changes, last


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
        middle = sum(left)
        # without a root in between, the sign stays what it is just after the left end
        begin = left[0] or left[1]
        self.level, self.index = self.level + 1, 2 * self.index
        if middle == 0:
            self.index, self.exact = self.index + 1, True
        elif (middle > 0) != (begin > 0):
            self.local = left
        else:
            self.local, self.index = shifted(left, 1), self.index + 1

    def is_root_of(self, p: Polynomial) -> bool:
        """Whether the root, known to lie in a piece, is one of p too: then of their common divisor, which has no other there."""
        divisor = common_divisor(self.whole, p)
        return len(divisor) > 1 and bernstein_signs(on_piece(divisor, self.level, self.index))[0] % 2 == 1

    def sign_of(self, p: Polynomial) -> int:
        """Sign of p at the root."""
        if not p:
            return 0
        tries = 0
        while not self.exact:
            changes, sign = bernstein_signs(on_piece(p, self.level, self.index))
            if changes == 0:
                return sign
            if tries == PATIENCE and self.is_root_of(p):
                return 0
            self.refine()
            tries += 1
        value = on_piece(p, self.level, self.index)[0]
        return (value > 0) - (value < 0)

    def time(self) -> float:
        """The root as a float, to about one unit in the last place, never after the root."""
        while not self.exact and self.level < 1100 and self.index.bit_length() < 54:
            self.refine()
        excess = max(self.index.bit_length() - 53, 0)  # cut off, because division would round it, possibly up
        return (self.index >> excess) / (1 << (self.level - excess))


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
