"""What a report says of a run that was changed by hand while it ran: a recording of `pliant live`."""

from __future__ import annotations

from collections.abc import Collection

from pliant.base import PliantError
from pliant.look.report.html import table, text
from pliant.record import Run
from pliant.scene import Body, Scene

ALONE = (
    "This run cannot be repeated from its scene alone: it was recorded in the browser, with what was done there by hand. The scene below "
    "has the settings at the beginning of the recording, but bodies at the places where the scene begins."
)


def sentence(run: Run) -> str:
    """How much was changed."""
    count = sum(not order.early for order in run.orders)
    often = {0: "nothing was changed by hand", 1: "one thing was changed by hand, see below"}
    return f"It was recorded in the browser, where {often.get(count, f'{count} things were changed by hand, see below')}."


def later(run: Run, what: str) -> str:
    """What became of a setting while the run lasted; empty if nothing did."""
    changes = [f"{order.after} from t = {order.time:.4g} s" for order in run.orders if order.what == what and not order.early]
    return f" at the start, then {', then '.join(changes)}" if changes else ""


def changed(run: Run) -> str:
    """A table of what was changed, in the order of time; empty if nothing was."""
    orders = run.orders
    if not orders:
        return ""
    rows = [(str(k), order.when + (" *" if order.early else ""), order.what, order.change) for k, order in enumerate(orders, 1)]
    early = " * Before the recording began." if any(order.early for order in orders) else ""
    told = text(f"The numbers are those of the marks on the curves.{early}", "quiet")
    return told + table(("", "time (s)", "what", "from → to"), rows, words=4)


def came_later(run: Run, there: Collection[str]) -> list[Body]:
    """Bodies that were not there at the beginning."""
    try:
        return [body for body in Scene.recorded(run.last_scene).bodies if body.name not in there]
    except PliantError:  # of another version
        return []


def scene_is_enough(run: Run) -> bool:
    """Whether a run of the scene gives this run: not if hands were in it, or if it began in the middle."""
    return not run.header.get("live") or not (run.orders or run.steps[0] > 0)
