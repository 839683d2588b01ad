"""Lines through closed surfaces: where they cross a triangle, so that of two triangles that share an edge it is always just one."""

from __future__ import annotations

from pliant.kernels import cross, dot, inline, kernel, load, sub


@kernel
def _left_of(points, way, place, p, q):  # type: ignore[no-untyped-def]
    """Whether a line passes on the left of the edge p q. The two faces of an edge always disagree, so that no crossing counts twice."""
    low, high = sub(load(points, min(p, q)), place), sub(load(points, max(p, q)), place)
    side = dot(way, cross(low, high))
    if side == 0.0:  # through the edge or its end: as if the line were a little aside, in a direction that few edges have
        side = dot(way, cross(sub(high, low), (1.0, 2.0, 4.0)))
    return (side >= 0.0) == (p < q)


@inline
def crossing(points, face, place, way):  # type: ignore[no-untyped-def]
    """(1 where a line from a place leaves the surface through this face, -1 where it enters, 0 where it does neither ahead; how far [m])"""
    left = _left_of(points, way, place, face[0], face[1])
    if _left_of(points, way, place, face[1], face[2]) != left or _left_of(points, way, place, face[2], face[0]) != left:
        return 0, 0.0
    x = load(points, face[0])
    e, f, r = sub(load(points, face[1]), x), sub(load(points, face[2]), x), sub(place, x)
    det = dot(e, cross(way, f))
    t = dot(f, cross(r, e)) / det if det != 0.0 else 0.0
    if t <= 0.0:
        return 0, 0.0
    return (1 if det < 0.0 else -1), t
