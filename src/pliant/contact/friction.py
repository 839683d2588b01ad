"""Coulomb friction in impulse form, one sweep, shared by the methods (10 of the methods page).

With the predicted slip u_t of a step, the stretch e of the tangential anchor since it stuck, and D_t the give of the row along it:
    wanted impulse = -(u_t + beta e) / (dt D_t)
If that is within mu_s |I_n| the contact sticks; else it slides with mu_d |I_n| against the slip and drags its anchor behind, stretched to
what holds just that impulse (return mapping). The anchor is what stops a body at rest from creeping; one that started anew at every
slip would let go of its share, and a body would creep from about 0.85 mu on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.geometry.mesh import Floats, Ints
from pliant.kernels import axpy, dot, kernel, load, store
from pliant.motion import Motion, Rows

BETA = 0.2  # share of the anchor's stretch that is taken back per step


@dataclass
class Friction:
    """Tangential impulses, whether each row sticks, and what the anchor of a sliding row is stretched to."""

    impulse: Floats  # [N s] (r, 3)
    sticks: np.ndarray  # (r,) bool
    dragged: Floats  # [m] (r, 3)


def coulomb(motion: Motion, rows: Rows, normal_impulse: Floats, mu_s: Floats, mu_d: Floats, stretch: Floats) -> Friction:
    """Friction for the predicted motion, before anything of this step has been pushed along the tangent."""
    n = rows.normal
    slip = tangential(motion.slide(rows), n)
    want = slip + BETA * tangential(stretch, n)
    size = np.linalg.norm(want, axis=1)
    direction = np.divide(want, size[:, None], out=np.zeros_like(want), where=size[:, None] > 0)
    give = motion.give(rows, direction)
    wanted = np.divide(size, motion.dt * give, out=np.zeros_like(size), where=give > 0)
    sticks = wanted <= mu_s * normal_impulse
    length = np.where(sticks, wanted, np.minimum(wanted, mu_d * normal_impulse))
    dragged = (length * motion.dt * give / BETA)[:, None] * direction
    return Friction(-length[:, None] * direction, sticks, dragged)


def anchored(stretch: Floats, slip: Floats, sticks: np.ndarray, dragged: Floats, normal: Floats) -> Floats:
    """Stretch of the anchors after the step, (r, 3): longer by the slip if it sticks, else dragged behind.

    A contact that slides back takes its anchor back with it. If it stayed dragged, its friction would push along the motion.
    """
    held = tangential(stretch, normal) + slip
    size, most = np.linalg.norm(held, axis=1), np.linalg.norm(dragged, axis=1)
    fade = np.divide(most, size, out=np.ones_like(size), where=~sticks & (size > most))
    forward = ~sticks & (np.einsum("ri,ri->r", slip, dragged) >= 0.0)
    return np.where(forward[:, None], dragged, fade[:, None] * held)


def tangential(u: Floats, n: Floats) -> Floats:
    """The part of u across n, of each row."""
    out = np.empty_like(u)
    _tangential(u, n, out)
    return out


@kernel
def _tangential(u, n, out):  # type: ignore[no-untyped-def]
    for r in range(len(out)):
        v, m = load(u, r), load(n, r)
        store(out, r, axpy(-dot(v, m), m, v))


def recall(memory: dict[str, np.ndarray], name: str, key: Ints) -> Floats:
    """What is remembered under a name for the contacts with these keys, zero for new ones."""
    known = memory.get("key", np.zeros(0, np.int64))
    values = memory.get(name, np.zeros((0, 3) if name == "stretch" else 0))
    out = np.zeros((len(key), *values.shape[1:]))
    if len(known):
        at = np.minimum(np.searchsorted(known, key), len(known) - 1)
        same = known[at] == key
        out[same] = values[at[same]]
    return out


def remember(key: Ints, **values: Floats) -> dict[str, np.ndarray]:
    """Memory for the next step, sorted by the contacts' keys."""
    order = np.argsort(key, kind="stable")
    return {"key": key[order], **{name: value[order] for name, value in values.items()}}
