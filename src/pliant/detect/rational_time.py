"""Exact answers to continuous collision queries: whether and when a vertex meets a face, or an edge an edge, in [0, 1].

For close calls that double precision cannot decide. Every double is a rational number, so the corners scaled by a power of two
are integers, all conditions are polynomials in t with integer coefficients, and their signs at the roots of the coplanarity
cubic are found without rounding. Features are closed: touching is meeting. Some 0.3 ms a query.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from pliant.base import Floats

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


Vector = tuple[Polynomial, Polynomial, Polynomial]
NEVER = float("inf")


def _paths(x0: Floats, x1: Floats) -> list[Vector]:
    """Paths of the corners as integer polynomials a + b t, all times the same power of two."""
    start, end = [v.as_integer_ratio() for v in x0.ravel().tolist()], [v.as_integer_ratio() for v in x1.ravel().tolist()]
    scale = max(d for _, d in start + end)
    a, b = [n * (scale // d) for n, d in start], [n * (scale // d) for n, d in end]
    lines = [trimmed([p, q - p]) for p, q in zip(a, b, strict=True)]
    return [(lines[i], lines[i + 1], lines[i + 2]) for i in range(0, len(lines), 3)]


def _sub(u: Vector, v: Vector) -> Vector:
    return minus(u[0], v[0]), minus(u[1], v[1]), minus(u[2], v[2])


def _dot(u: Vector, v: Vector) -> Polynomial:
    return plus(plus(times(u[0], v[0]), times(u[1], v[1])), times(u[2], v[2]))


def _cross(u: Vector, v: Vector) -> Vector:
    return (
        minus(times(u[1], v[2]), times(u[2], v[1])),
        minus(times(u[2], v[0]), times(u[0], v[2])),
        minus(times(u[0], v[1]), times(u[1], v[0])),
    )


START = Root([0, 1], [0, 1], 0, 0, exact=True)  # t = 0 as a root


class _Query:
    """The shared course of both tests; `ends` are the (point, edge end, edge end) triples on which contact can begin in a plane."""

    def __init__(self, cubic: Polynomial, insides: list[Polynomial], ends: list[tuple[Vector, Vector, Vector]]) -> None:
        self.cubic = cubic
        self.insides = insides  # none negative at a root of the cubic: contact; all zero: no plane there
        self.ends = ends

    @cached_property
    def touches(self) -> list[tuple[Vector, Polynomial]]:
        """Per end: what is zero when the point is on the line of the edge, and then not positive when on the edge."""
        return [(_cross(_sub(b, a), _sub(p, a)), _dot(_sub(p, a), _sub(p, b))) for p, a, b in self.ends]

    def meets_at(self, root: Root) -> bool:
        """Whether the features meet at a time when their four corners lie in a plane."""
        plane = False
        for p in self.insides:
            sign = root.sign_of(p)
            if sign < 0:
                return False
            plane |= sign > 0
        # no area, parallel edges: all corners on a line or two, so an end point lies on an edge
        return plane or any(root.sign_of(dot) <= 0 and not any(root.sign_of(c) for c in line) for line, dot in self.touches)

    def events(self) -> Iterable[Root]:
        """Times at which contact can begin when all corners stay in one plane: a point comes to lie on an edge."""
        yield START
        for line, dot in self.touches:
            divisor: Polynomial = []
            for component in line:
                divisor = common_divisor(divisor, component)
            # without a divisor the point is on the line of the edge all the time, and comes in over an end
            yield from unit_roots(divisor or dot) if divisor or dot else ()

    def time(self) -> float:
        """Earliest time of contact, inf if none."""
        if self.cubic:
            return next((root.time() for root in unit_roots(self.cubic) if self.meets_at(root)), NEVER)
        return min((root.time() for root in self.events() if self.meets_at(root)), default=NEVER)


def vertex_face_time(x0: Floats, x1: Floats) -> float:
    """Earliest time at which vertex 0 meets triangle 1, 2, 3 on straight paths from x0 to x1 (4, 3); inf if never."""
    p, a, b, c = _paths(x0, x1)
    e, f, r = _sub(b, a), _sub(c, a), _sub(p, a)
    n = _cross(e, f)
    v, w = _dot(n, _cross(r, f)), _dot(n, _cross(e, r))
    insides = [v, w, minus(_dot(n, n), plus(v, w))]
    return _Query(_dot(n, r), insides, [(p, a, b), (p, b, c), (p, c, a)]).time()


def edge_edge_time(x0: Floats, x1: Floats) -> float:
    """Earliest time at which edges 0, 1 and 2, 3 meet on straight paths from x0 to x1 (4, 3); inf if never."""
    a, b, c, d = _paths(x0, x1)
    e, f, r = _sub(b, a), _sub(d, c), _sub(a, c)
    n = _cross(e, f)
    area, s, t = _dot(n, n), _dot(n, _cross(f, r)), _dot(n, _cross(e, r))
    insides = [s, minus(area, s), t, minus(area, t)]
    return _Query(_dot(n, r), insides, [(a, c, d), (b, c, d), (c, a, b), (d, a, b)]).time()
