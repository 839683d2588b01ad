"""What contacts took from bodies and may give back: none returns more energy than it took, whatever surfaces and steps do.

Forces along the gradients of distances (contact_rows.py) return what they took, but distances to samples jump: where a foot leaps from one
part of a surface to another, where samples begin or cease to face each other, where a step is too long for what it meets. So each pair has
an account of the work of its normal forces. While bodies part, forces are those of the energy that is left, P min(1, W / U), with W the
account, U = -P.q / 2 the elastic energy that the problem s = K P + q has now. This is passivity control [Hannaford, Ryu 2002],
theory/quasi-rigid 13.4, by the force and not by added damping. A slack of two in a thousand leaves good contacts as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pliant.base import Floats
from pliant.contact.elastic.lcp import ROUGH
from pliant.contact.quasi_rigid.contact_rows import ContactRows
from pliant.world.motion import Motion

GIVEN_BACK = 2 * ROUGH  # of the most that was stored, given back beyond what was taken: its error, u^2 of depths known to ROUGH


class Account(NamedTuple):
    """Of one pair."""

    took: float  # [J] from the bodies, less what was given back
    most: float  # [J] that it ever held


def opened(patch: ContactRows, part: slice) -> Account:
    """Of a contact that is there from the beginning: its elastic energy is its own."""
    energy = _elastic(patch, part)
    return Account(energy, energy)


def limited(motion: Motion, patch: ContactRows, accounts: list[Account]) -> tuple[ContactRows, Floats]:
    """(the contacts with forces that they can afford, speeds at which nodes part (r,) [m/s]); soft bodies have their own losses."""
    apart, force = parting(motion, patch), patch.force.copy()
    for touch, part, account in zip(patch.touches, patch.parts(), accounts, strict=True):
        energy = _elastic(patch, part)
        if not touch.soft(motion) and energy > 0.0 and float(np.sum(force[part] * apart[part])) > 0.0:
            force[part] *= min(1.0, max(0.0, (account.took + GIVEN_BACK * account.most) / energy))
    return replace(patch, force=force), apart


def booked(
    motion: Motion, patch: ContactRows, impulse: Floats, before: Floats, accounts: list[Account], implicit: list[bool]
) -> list[Account]:
    """The accounts after the push: impulse times the mean of the speeds before and after it.

    Of symplectic contacts only the elastic impulse dt P counts, so that what damping took is not given back.
    """
    speed = 0.5 * (before + parting(motion, patch))
    took = []
    for account, part, whole in zip(accounts, patch.parts(), implicit, strict=True):
        push = impulse[part] if whole else motion.dt * patch.force[part]
        took.append(account.took - float(np.sum(push * speed[part])))
    return [Account(now, max(now, account.most)) for now, account in zip(took, accounts, strict=True)]


def parting(motion: Motion, patch: ContactRows) -> Floats:
    """Speeds at which the two sides of nodes part [m/s], (r,)."""
    return np.asarray(np.sum(motion.row_velocity(patch.rows, start=True) * patch.rows.normal, axis=1))


def _elastic(patch: ContactRows, part: slice) -> float:
    return -0.5 * float(np.sum(patch.force[part] * patch.gap[part]))
