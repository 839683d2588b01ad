"""Do the contacts that a step reports account for what contact did to the momentum of every body?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.kernels import kernel
from pliant.model import Rest
from pliant.world.motion import Motion


@dataclass(frozen=True)
class Balance:
    """What contact did to bodies in a step, as they received it and as the contacts report it [N s]."""

    received: Floats  # (B, 3)
    reported: Floats  # (B, 3)
    size: float  # sum of the sizes of all impulses
    momentum: float  # largest momentum of a body

    @property
    def error(self) -> float:
        """The largest difference, as a part of all impulses, or of a millionth of the momentum if that is more: below it is rounding."""
        worst = float(np.linalg.norm(self.received - self.reported, axis=1).max(initial=0.0))
        scale = max(self.size, 1e-6 * self.momentum)
        return worst / scale if scale > 0.0 else worst


class Held:
    """Bodies of which something else holds a part; made once (`motion.kept(Held)`)."""

    def __init__(self, rest: Rest) -> None:
        self.body = np.zeros(len(rest.bodies), bool)
        for owners in (rest.nodes, rest.frames):
            self.body[owners.body[owners.inverse == 0.0]] = True


def momenta(motion: Motion) -> Floats:
    """Momentum of each body at the end of the step as it stands [kg m/s], (B, 3); zero where fixed or prescribed parts take a share.

    A damped body shares an impulse J with its damper, m (1 + a dt) dv = J: `motion.inertia` has that factor, so that the difference
    of two such momenta is the impulse.
    """
    out = np.zeros((len(motion.bodies), 3))
    _sum(motion.nodes.body, motion.inertia, motion.v, out)
    if motion.unsolved.any():  # pushed by mass, beside the damper
        _sum(motion.nodes.body, motion.nodes.mass - motion.inertia, motion.unsolved, out)
    _sum(motion.frames.body, motion.frames.mass, motion.velocity_frames, out)
    out[motion.kept(Held).body] = 0.0
    return out


def balance(motion: Motion, before: Floats, contacts: Contacts) -> Balance:
    """Momenta before contact acted against those after it, and the impulses of the contacts on the same bodies."""
    impulse = np.nan_to_num(contacts.impulse[:, None] * contacts.normal) + np.nan_to_num(contacts.friction_impulse)
    reported, ones = np.zeros_like(before), np.ones(len(contacts))
    _sum(contacts.a, ones, impulse, reported)
    _sum(contacts.b, -ones, impulse, reported)
    reported[motion.kept(Held).body] = 0.0
    largest = float(np.linalg.norm(before, axis=1).max(initial=0.0))
    return Balance(momenta(motion) - before, reported, float(np.linalg.norm(impulse, axis=1).sum()), largest)


@kernel
def _sum(body, weight, vector, out):  # type: ignore[no-untyped-def]
    """out[body] += weight vector; bodies below 0 are left out."""
    for i in range(len(body)):
        if body[i] >= 0:
            for k in range(3):
                out[body[i], k] += weight[i] * vector[i, k]
