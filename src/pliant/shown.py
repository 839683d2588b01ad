"""What shows itself in a notebook, and progress there. How things are drawn is in `live/notebook.py`, which is loaded when asked for."""

from __future__ import annotations

import sys
import time
from typing import Any

OFTEN = 0.2  # [s] between two updates of a bar


class Shown:
    """A thing that a notebook shows with picture, facts and warnings (`_repr_html_`), and as the interactive page (`show`)."""

    def _repr_html_(self) -> str:
        from pliant.live.notebook import card_of  # start-up: scripts never ask for it

        return card_of(self)

    def show(self, field: str = "auto", height: int = 560) -> Any:
        """The interactive page, inside a notebook: it needs no server and no network. Elsewhere: a file opened in the browser.

        field: what colours bodies at first; height: of the page [pixels].
        """
        from pliant.live.notebook import shown  # start-up: scripts never ask for it

        return shown(self, field, height)


def plotted(run: Any, what: str, pair: tuple[str, str] | None, axes: Any) -> Any:
    """A curve of a run, drawn by `look/plots.py`."""
    from pliant.live.notebook import axes_of  # start-up: reading a run does not need matplotlib

    return axes_of(run, what, pair, axes)


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this program; without loading any of it."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules and "ipykernel" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


class Bar:
    """Progress of a simulation below the cell that runs it; nothing anywhere else."""

    def __init__(self, start: float, end: float) -> None:
        """Simulated times [s]."""
        self.start, self.end, self.steps = start, end, 0
        self.began = self.last = time.monotonic()
        self.handle: Any = None

    def update(self, now: float, contacts: int) -> None:
        """A step was done; `now` [s] of simulated time."""
        self.steps += 1
        wall = time.monotonic()
        if wall - self.last < OFTEN:
            return
        self.last = wall
        part = (now - self.start) / max(self.end - self.start, 1e-300)
        left = (wall - self.began) * (1.0 - part) / max(part, 1e-9)
        words = f"t = {now:.3f} of {self.end:g} s, {self.steps / (wall - self.began):.0f} steps/s, {contacts} contacts, {left:.0f} s to go"
        self._say(f'<progress value="{part:.4f}" style="width:16em;vertical-align:middle"></progress> {words}')

    def close(self, now: float) -> None:
        """One line that stays, if there was a bar."""
        if self.handle is not None:
            self._say(f"{self.steps} steps to t = {now:.4g} s in {time.monotonic() - self.began:.1f} s")

    def _say(self, html: str) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

        if self.handle is None:
            self.handle = display(HTML(html), display_id=True)
        else:
            self.handle.update(HTML(html))
