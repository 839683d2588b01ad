"""Work of friction between every two bodies: it may take energy, and never adds any."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Contacts

HALF = 31  # bits of a body's number


class Rubbing:
    """Friction impulse times slip, summed over steps, for each pair of bodies that has touched.

    The slip is that of one body against the other, so the work is not above zero whatever moves the two; only contacts that
    stick spring back a little.
    """

    def __init__(self) -> None:
        self.pair: Ints = np.zeros(0, np.int64)  # numbers of the two bodies, the lower one first, in one
        self.work: Floats = np.zeros(0)  # [J]

    def take(self, contacts: Contacts) -> None:
        """Add the contacts of one step."""
        if len(contacts) == 0:
            return
        work = np.nansum(contacts.friction_impulse * contacts.slip, axis=1) / contacts.dt
        rows = np.minimum(contacts.a, contacts.b) << HALF | np.maximum(contacts.a, contacts.b)
        self.pair, which = np.unique(np.concatenate([self.pair, rows]), return_inverse=True)
        total = np.zeros(len(self.pair))
        np.add.at(total, which, np.concatenate([self.work, work]))
        self.work = total

    def warning(self, names: list[str], least: float, moved: float) -> str:
        """A sentence about the pair whose friction added most, if that is more than `least` [J]; `moved` [J] moved in the run."""
        if self.work.max(initial=0.0) <= least:
            return ""
        worst = int(self.work.argmax())
        a, b = (names[k] for k in divmod(int(self.pair[worst]), 1 << HALF))
        return (
            f"Friction between '{a}' and '{b}' added {self.work[worst]:.3g} J, {self.work[worst] / moved:.1%} of what moved in this run, "
            "and it can only take energy: they slide in ways that they should not. Use a smaller dt, or more `sweeps` where the "
            "method has them."
        )
