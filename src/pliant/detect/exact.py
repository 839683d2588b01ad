"""Exact answers to continuous collision queries: whether and when a vertex meets a face, or an edge an edge, in [0, 1].

For close calls that double precision cannot decide. Every double is a rational number, so the corners scaled by a power of two
are integers, all conditions are polynomials in t with integer coefficients, and their signs at the roots of the coplanarity
cubic are found without rounding (`polynomial.py`). Features are closed: touching is meeting. Some 0.3 ms a query.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from pliant.base import Floats
from pliant.detect.polynomial import Polynomial, Root, common_divisor, minus, plus, times, trimmed, unit_roots

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
