"""The spring and the damper of each contact: their stiffness (theory/penalty 5.5), and what they push with (theory/penalty 5.1, 5.7).

    I = k dt (push) - c (speed), never a pull,   c = 2 zeta sqrt(k / D) dt (time),   D the give of the contact.

Friction by anchors as the thesis has it, `friction = "yamane-nakamura"` (5.3 there; theory/penalty 6.1):

    f_s = k_FP (p_ref - p) - k_FD v                         sticks while |f_s| <= mu_s f_n
    f_d = -mu_d f_n w(|v|) v / |v|,  w(x) = 1 - exp(-k_w x)   else, and the anchor starts anew
The sliding force is clamped so that it cannot turn the slip around within the step; without that k_w = 10000 needs steps of 0.2 ms.
"""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.contact.enduring_springs import enduring_stiffness, stiffness_unit
from pliant.contact.friction import Friction, tangential
from pliant.contact.penalty.depth_integral import DISCRETE, Pressed
from pliant.contact.penalty.options import STIFFEST, Options
from pliant.world.motion import Motion, Rows

GROWTH = 0.01  # of the stiffness in a step: a loaded spring that grows stiffer holds energy nobody put in; with 0.1 an arch gains energy


def spring(options: Options, mode: int, dt: float, give: Floats, before: Floats) -> Floats:
    """Stiffness [N/m] of each contact: as given, or from its give when it is new, then it changes slowly."""
    unit = stiffness_unit(dt, give)
    if isinstance(options.stiffness, str):
        return enduring_stiffness(options.share, unit, before, GROWTH)
    k = np.where(give > 0.0, options.stiffness, 0.0)
    return np.minimum(k, STIFFEST * unit) if options.implicit and mode != DISCRETE else k


def spring_and_damper(
    options: Options, dt: float, rows: Rows, slide: Floats, k: Floats, give: Floats, look: Pressed, pushed: np.ndarray
) -> tuple[Floats, Floats]:  # fmt: skip
    """(a, b) of the normal impulse a - b u, u being the change of speed that all impulses make: springs and dampers that never pull."""
    time = look.time[pushed]
    damper = 2.0 * options.zeta * np.sqrt(np.divide(k, give, out=np.zeros_like(k), where=give > 0.0)) * dt * time
    speed = np.einsum("ri,ri->r", slide, rows.normal) / dt
    a = np.maximum(k * dt * look.size[pushed] - damper * speed, 0.0)
    return a, k * dt**2 * look.lever[pushed] + damper


def yamane_nakamura(
    stretch: Floats, velocity: Floats, force: Floats, mu_s: Floats, mu_d: Floats, k_fp: float, k_fd: float, k_omega: float
) -> tuple[Floats, np.ndarray]:
    """Friction forces [N] (r, 3) and whether each sticks. stretch: p - p_ref, velocity: of the slip, force: normal force [N] (r,)."""
    stick = -k_fp * stretch - k_fd * velocity
    sticks = np.linalg.norm(stick, axis=1) <= mu_s * force
    speed = np.linalg.norm(velocity, axis=1)
    onset = np.where(speed > 0.0, -np.expm1(-k_omega * speed) / np.where(speed > 0.0, speed, 1.0), k_omega)  # w(x) / x
    slide = -(mu_d * force * onset)[:, None] * velocity
    return np.where(sticks[:, None], stick, slide), sticks


def anchor_friction(options: Options, motion: Motion, rows: Rows, impulse: Floats, mu_s: Floats, mu_d: Floats, stretch: Floats) -> Friction:
    """The impulses of that model for the predicted motion; not pushed yet."""
    slip = tangential(motion.slide(rows), rows.normal)
    speed = np.linalg.norm(slip, axis=1) / motion.dt
    held, velocity = tangential(stretch, rows.normal), slip / motion.dt
    given = (options.k_fp, options.k_fd, options.k_omega)
    force, sticks = yamane_nakamura(held, velocity, impulse / motion.dt, mu_s, mu_d, *given)
    give = motion.give(rows, np.divide(slip, motion.dt * speed[:, None], out=np.zeros_like(slip), where=speed[:, None] > 0.0))
    size, most = motion.dt * np.linalg.norm(force, axis=1), np.divide(speed, give, out=np.zeros_like(speed), where=give > 0.0)
    fade = np.where(sticks, 1.0, np.minimum(1.0, most / np.where(size > 0.0, size, 1.0)))
    return Friction(motion.dt * fade[:, None] * force, sticks, np.zeros_like(slip))
