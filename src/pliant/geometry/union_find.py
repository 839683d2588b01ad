"""Trees of things that are joined, compiled; `components.py` loads it when it is first asked, so that files are read without Numba."""

from __future__ import annotations

from pliant.kernels import kernel


@kernel
def join(out, pairs):  # type: ignore[no-untyped-def]
    """Trees of things by Rem's rule: each points to a smaller one of its component, the smallest to itself; climbing shortens them."""
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        while out[a] != out[b]:
            if out[a] < out[b]:
                a, b = b, a
            above = out[a]
            out[a] = out[b]
            if above == a:
                break
            a = above
    number = 0
    for i in range(len(out)):
        if out[i] == i:
            out[i] = number
            number += 1
        else:
            out[i] = out[out[i]]  # a smaller one, which has its number already
