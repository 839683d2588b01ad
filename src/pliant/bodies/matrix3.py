"""3x3 matrices inside kernels: tuples of nine floats, row by row, so that they live in registers."""

from __future__ import annotations

from pliant.kernels import inline

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inline
def product(a, b):  # type: ignore[no-untyped-def]
    """a b."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@inline
def transposed(a):  # type: ignore[no-untyped-def]
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@inline
def cofactor(a):  # type: ignore[no-untyped-def]
    """det(a) a^-T, defined for singular a too."""
    return (
        a[4] * a[8] - a[5] * a[7],
        a[5] * a[6] - a[3] * a[8],
        a[3] * a[7] - a[4] * a[6],
        a[2] * a[7] - a[1] * a[8],
        a[0] * a[8] - a[2] * a[6],
        a[1] * a[6] - a[0] * a[7],
        a[1] * a[5] - a[2] * a[4],
        a[2] * a[3] - a[0] * a[5],
        a[0] * a[4] - a[1] * a[3],
    )


@inline
def combined(s, a, t, b):  # type: ignore[no-untyped-def]
    """s a + t b."""
    return (
        s * a[0] + t * b[0],
        s * a[1] + t * b[1],
        s * a[2] + t * b[2],
        s * a[3] + t * b[3],
        s * a[4] + t * b[4],
        s * a[5] + t * b[5],
        s * a[6] + t * b[6],
        s * a[7] + t * b[7],
        s * a[8] + t * b[8],
    )


@inline
def inner(a, b):  # type: ignore[no-untyped-def]
    """a : b, the sum of products of entries."""
    return (
        (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
        + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
        + (a[6] * b[6] + a[7] * b[7] + a[8] * b[8])
    )


@inline
def determinant(a):  # type: ignore[no-untyped-def]
    return (
        a[0] * (a[4] * a[8] - a[5] * a[7]) + a[1] * (a[5] * a[6] - a[3] * a[8]) + a[2] * (a[3] * a[7] - a[4] * a[6])
    )
