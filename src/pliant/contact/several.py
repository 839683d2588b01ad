"""Several contact methods in one scene, in table order, each seeing the pushes of those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.contact.method import Answer, ContactMethod
from pliant.world.motion import Motion


def _sum(shown: list[Floats | Callable[[], Floats]]) -> Floats:
    """Displacements that several methods draw."""
    return np.sum([each() if callable(each) else each for each in shown], axis=0)


@dataclass(frozen=True)
class Several:
    """The methods of a scene by name; the first is the rule, the others serve the pairs that name them."""

    methods: dict[str, ContactMethod]

    @property
    def needs(self) -> frozenset[str]:
        """What any of them needs of the bodies' shapes."""
        return frozenset().union(*(m.needs for m in self.methods.values()))

    def respond(self, motion: Motion, memory: dict[str, dict]) -> tuple[Answer, dict[str, dict]]:
        """Let every method look and push; the answers joined, and the new memory of each."""
        answers: list[Answer] = []
        new: dict[str, dict] = {}
        table = motion.pairs
        for index, (name, method) in enumerate(self.methods.items()):
            motion.pairs = table.for_method(index)
            answer = method.respond(motion, memory.get(name, {}))
            if answer.again is not None:
                return answer, memory
            answers.append(answer)
            new[name] = answer.memory
        motion.pairs = table
        shown = [a.shown for a in answers if a.shown is not None]
        drawn = shown[0] if len(shown) == 1 else (lambda: _sum(shown)) if shown else None
        joined = Answer(
            Contacts.joined([a.contacts for a in answers]),
            shown=drawn,
            warnings=[w for a in answers for w in a.warnings],
        )
        return joined, new
