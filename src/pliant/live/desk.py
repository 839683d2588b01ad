"""Where orders of pages arrive: each is done once and answered at once."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late  # another than the built-in one in Python 3.10
from threading import Lock

from pliant.live.orders import Asked, Said, meant
from pliant.live.session import Session

SOON = 0.5  # [s] in which the page is answered
KEPT = 1000  # answers that are remembered
MOST_LETTERS = 80


class Desk:
    """Takes the orders of pages: each is done once, however often it comes, and answered soon, if only with "queued".

    A browser sends an order again if its connection breaks, and the page asks again, with the same `id`, what came of one that was queued.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._answers: dict[str, Future[Said]] = {}
        self._lock = Lock()  # the same order may come twice at once

    def take(self, order: Asked) -> Said:
        """What came of an order, or that it waits."""
        name = str(order.get("id", ""))[:MOST_LETTERS]
        with self._lock:
            answer = self._answers.get(name) if name else None
            if answer is None:
                answer = self.session.later(meant(self.session, order), _title(order))
                if name:
                    self._answers[name] = answer
                while len(self._answers) > KEPT:
                    del self._answers[next(iter(self._answers))]
        try:
            return answer.result(SOON)
        except Late:
            return {"queued": True}


def _title(order: Asked) -> str:
    """An order as it is shown while it waits; pulls come too often to be worth it."""
    said = [str(order[key]) for key in ("do", "body", "to", "kind", "shape") if key in order]
    return "" if order.get("do") in ("grab", "pull", "release") else " ".join(said)[:MOST_LETTERS]
