"""How well a contact is resolved: in depth, in time and in space, each as a number and as a word, with what would help.

In depth: how far bodies are in one another, against an element (of rigid bodies a quarter of their size) or, if that is more, against the
depth that their elasticity explains. In time: how much more the largest mean over half a window is than over a whole one, and how many
steps the touch lasts, unless half a window has STEPS steps or more. In space: how many elements or samples there are across the contact
while it presses hardest, and how deep bodies are then against the dent that carries the load: where that is not much larger, the springs
of the method share out the pressure and not the bodies. Pressure and area ask for depth and space, forces for time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Floats

WORDS = ("resolved", "coarse", "not resolved")
DEPTH = (0.05, 0.25)  # of an element, or of the depth that elasticity explains: beyond the first coarse, beyond the second not resolved
TIME = (0.05, 0.10)  # by which the mean over half a window exceeds that over a whole one
STEPS = 10  # in half a window that are enough whatever the force does
ACROSS = (16.0, 6.0)  # elements across the contact: an element too many on each side is a quarter of the area, or more than a half
# Depth against the dent that elasticity explains: blocks that lie on a plane by their weight have peak pressures 1.9 and 2.4 times the
# mean at 0.05 and 0.15 of it under `noniterative`, and 1.2 times at 0.005 under `patch`.
DENT = (0.02, 0.10)


@dataclass(frozen=True)
class Resolution:
    """Of a pair over a run; what cannot be said is NaN and an empty word."""

    depth: float  # as a part of an element, or of the depth that elasticity explains; the largest of all steps
    time: float  # by which half a window tells more than a whole one
    steps: float  # in half a window
    touch: float  # steps of the hardest touch
    across: float  # elements or samples across the contact
    dent: float  # depth as a part of the dent that carries the load; median over the steps with half of the largest force or more
    in_depth: str
    in_time: str
    in_space: str
    deepest: float  # [m]
    at: float  # row of the pair in which it was deepest
    jump: float  # part of that depth that came within one step
    dt: float  # [s] longest step that was taken while they touched
    finer_dt: float  # [s] step with which half a window would have STEPS steps
    finer_edge: float  # [m] edge with which the contact would be ACROSS[0] elements wide; NaN: not by elements

    @property
    def word(self) -> str:
        """The worst of the three."""
        return WORDS[max(WORDS.index(word) for word in (self.in_depth, self.in_time, self.in_space) if word)]

    @property
    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "word": self.word}

    @property
    def told(self) -> str:
        """The three words, short."""
        return f"depth {self.in_depth or '-'}, time {self.in_time or '-'}, space {self.in_space or '-'}"


def worded(value: float, bounds: tuple[float, float]) -> str:
    """A word for a number that should be below bounds, or above them if they fall."""
    if not np.isfinite(value):
        return ""
    sign = 1.0 if bounds[1] > bounds[0] else -1.0
    return WORDS[sum(sign * value > sign * bound for bound in bounds)]


def _in_time(more: float, steps: float, touch: float) -> str:
    """Half a window with STEPS steps is enough; else the force must not change much within a window, nor the touch be a few steps."""
    return WORDS[0] if steps >= STEPS else max(worded(more, TIME), worded(touch, (STEPS, 0.5 * STEPS)), key=WORDS.index)


def depth_of(rows: Mapping[str, np.ndarray]) -> Floats:
    """Depth of each row of the history as a part of what it is measured against."""
    against = np.fmax(rows["length"], np.nan_to_num(rows["elastic"]))
    return np.where(np.isfinite(against), np.maximum(rows["depth"], 0.0) / against, np.nan)


def resolution(
    rows: Mapping[str, np.ndarray], dt: Floats, over: float, half: float, steps: float, touch: int, window: float
) -> Resolution:
    """Of one pair, from its rows of the history in the order of time.

    over, half [N]: largest mean force over the window [s] and over half of it, which has so many steps of at most dt [s]; touch: steps
    of the touch in which that was.
    """
    if not {"length", "elastic", "edge"} <= rows.keys():  # recorded before there were such columns
        return Resolution(np.nan, np.nan, steps, touch, np.nan, np.nan, "", "", "", *(np.nan,) * 6)
    part = depth_of(rows)
    worst = int(np.nanargmax(part)) if np.isfinite(part).any() else int(np.argmax(rows["depth"]))
    deepest = float(rows["depth"][worst])
    follows = worst > 0 and rows["row"][worst - 1] == rows["row"][worst] - 1
    before = float(rows["depth"][worst - 1]) if follows else 0.0
    more = half / over - 1.0 if over > 0.0 else 0.0
    hardest = int(np.argmax(rows["normal_force"]))
    area, edge = float(rows["area"][hardest]), float(rows["edge"][hardest])
    wide = 2.0 * np.sqrt(area / np.pi)
    across = wide / edge if area > 0.0 and np.isfinite(edge) else np.nan
    hard = (rows["normal_force"] >= 0.5 * rows["normal_force"][hardest]) & (rows["elastic"] > 0.0)
    dent = float(np.median(np.maximum(rows["depth"], 0.0)[hard] / rows["elastic"][hard])) if hard.any() else np.nan
    words = [word for word in (worded(across, ACROSS), worded(dent, DENT)) if word]
    longest = float(dt.max())
    return Resolution(
        depth=float(part[worst]), time=more, steps=steps, touch=touch, across=across, dent=dent,
        in_depth=worded(float(part[worst]), DEPTH), in_time=_in_time(more, steps, touch),
        in_space=max(words, key=WORDS.index, default=""), deepest=deepest, at=float(worst),
        jump=1.0 - before / deepest if deepest > 0.0 else 0.0,
        dt=longest, finer_dt=0.5 * window / STEPS, finer_edge=wide / ACROSS[0] if np.isfinite(across) else np.nan,
    )  # fmt: skip
