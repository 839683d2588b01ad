"""The method `none`: bodies pass through each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer, Memory
from pliant.world.motion import Motion


@dataclass(frozen=True)
class Nothing:
    """Looks at nothing and pushes nothing."""

    needs: ClassVar[frozenset[str]] = frozenset()

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        return Answer(Contacts.none(motion.dt))
