"""Penalty springs whose stiffness comes from how readily their contact yields, and changes slowly while the contact endures
(theory/penalty 5.5).

Implicit springs of all contacts of a round together (theory/penalty 5.6).

An implicit contact knows that its own impulse shortens the way in. With u = W j the change of its speed by the impulses j of all contacts,
    j = max(0, a - b u),     a = k dt (push) - c (speed),   b = k dt^2 (lever) + c,   c = 2 zeta sqrt(k / D) dt (time).
One sweep takes u = D j, where D, the absolute row sum of W, counts every neighbour as if it pushed against the contact: safe, but soft
where many contacts carry one body. So further sweeps follow, j <- max(0, j + (a - b u - j) / (1 + b D)) with the u that came out, speeded
up by Nesterov's momentum, until nothing changes any more. Friction follows in the same way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.base import Floats
from pliant.contact.friction import BETA, Friction, tangential
from pliant.world.motion import Motion, Rows

CHANGE = 0.1  # of the stiffness in a step, at most: less than a contact feels when its neighbours come and go


def enduring_stiffness(share: float, unit: Floats, before: Floats, growth: float = CHANGE) -> Floats:
    """Stiffness k [N/m] of each contact: share x unit if it is new (before = 0), then it follows that slowly.

    unit = 1 / (dt^2 D), D the give of the contact. k dt^2 D stays below the larger of 1 and `share`, whatever k was before. growth: of k
    in a step, at most.
    """
    k = share * unit
    slow = np.clip(k, (1.0 - CHANGE) * before, (1.0 + growth) * before)
    return np.minimum(np.where(before > 0.0, slow, k), max(1.0, share) * unit)


def stiffness_unit(dt: float, give: Floats) -> Floats:
    """1 / (dt^2 D) [N/m] of each contact; 0 where nothing yields."""
    return np.divide(1.0, dt**2 * give, out=np.zeros_like(give), where=give > 0.0)


Sweep = Callable[[Floats, Floats, float], Floats]
ENOUGH = 1e-8  # of the largest impulse, or of the most that friction can be: a smaller change is none; what is left trembles
SLIDES = 1e-9  # rounding: within this of the most that friction can be it was cut, and the contact slides


def solved(
    motion: Motion, rows: Rows, wide: Rows, a: Floats, b: Floats, give: Floats, sweeps: int, first: Floats | None = None
) -> Floats:
    """Normal impulses [N s] (r,), pushed on `wide`; u is what happens to `rows`. `first` (r,): where to start from, 0 unless given."""
    before, a, b, give = motion.slide(rows), a[:, None], b[:, None], give[:, None]

    def better(j: Floats, u: Floats, times: float) -> Floats:
        return np.maximum(j + (a - b * u - j) / (1.0 + times * b * give), 0.0)

    def heard() -> Floats:
        return np.einsum("ri,ri->r", motion.slide(rows) - before, rows.normal)[:, None] / motion.dt

    def push(change: Floats) -> None:
        motion.push(wide, change * wide.normal)

    start = np.zeros((len(rows), 1)) if first is None else first[:, None]
    with motion.roughly():
        if start.any():
            push(start)
        return sweep(better, heard, push, start, give, 0.0, sweeps)[:, 0]


def rubbed(
    motion: Motion, rows: Rows, most: Floats, stretch: Floats, give: Floats, sweeps: int, first: Floats | None = None
) -> Friction:
    """Coulomb friction of all rows together, pushed: none slips, and each takes back a share of its anchor's stretch, unless that takes
    more than `most` [N s] (r,). An anchor that slides starts anew, as the impulses do not need its pull. `give`, `first`: as in `solved`.

    D is the larger one of that along the normals and along tangents: pushes on both ends of a body turn it, and their sum hides
    how readily each end moves.
    """
    n = rows.normal
    back = BETA * tangential(stretch, n)
    give = motion.dt * np.maximum(give, motion.give(rows, alike(n)))[:, None]

    def better(j: Floats, u: Floats, times: float) -> Floats:
        step = np.divide(1.0, times * give, out=np.zeros_like(give), where=give > 0.0)
        return within(tangential(j - step * (u + back), n), most)

    def heard() -> Floats:
        return tangential(motion.slide(rows), n)

    def push(change: Floats) -> None:
        motion.push(rows, change)

    start = np.zeros_like(n) if first is None else within(tangential(first, n), most)
    with motion.roughly():
        if start.any():
            push(start)
        impulse = sweep(better, heard, push, start, give, float(most.max()), sweeps)
    sticks = np.linalg.norm(impulse, axis=1) < (1.0 - SLIDES) * most
    return Friction(impulse, sticks, np.zeros_like(n))


def within(j: Floats, most: Floats) -> Floats:
    """Impulses (r, 3) cut to a length of `most` (r,)."""
    length = np.linalg.norm(j, axis=1)
    return j * np.divide(most, length, out=np.ones_like(length), where=length > most)[:, None]


def alike(n: Floats) -> Floats:
    """Unit tangents (r, 3) that point the same way wherever normals do.

    D along the slip of each row would not do: rows that slip apart hide how readily all of them move together, and sweeps with
    that D run away.
    """
    axis = np.where(np.abs(n[:, :1]) < 0.5, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    along = tangential(axis, n)
    return along / np.linalg.norm(along, axis=1, keepdims=True)


def sweep(
    better: Sweep, heard: Callable[[], Floats], push: Callable[[Floats], None], j: Floats, give: Floats, size: float, sweeps: int
) -> Floats:
    """Impulses j that `better(j, u, times)` leaves as they are, of about that size, pushed; u is what is `heard` of all of them.

    `give` is what an impulse alone is taken to do to u. Where more is heard of a change than that, d.W d > times d.D d, impulses would
    run away: D is taken so many times larger from then on.
    """
    u, pace, times = heard(), 1.0, 1.0
    last, last_u = j, u
    for _ in range(sweeps):
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace**2))
        ahead = (pace - 1.0) / faster
        y, u_y = j + ahead * (j - last), u + ahead * (u - last_u)
        new = better(y, u_y, times)
        pace = 1.0 if np.sum((y - new) * (new - j)) > 0.0 else faster  # start anew when the momentum leads astray
        change = new - j
        push(change)
        last, last_u, j = j, u, new
        if np.abs(change).max() <= ENOUGH * max(size, np.abs(j).max()):
            break
        u, d = heard(), new - y
        most, taken = np.sum(d * (u - u_y)), times * np.sum(give * d * d)
        if most > taken > 0.0:
            times, pace = times * most / taken, 1.0
    return j
