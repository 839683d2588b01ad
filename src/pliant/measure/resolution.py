"""How well a contact is resolved: in depth, in time and in space, each as a number and as a word, with what would help.

In depth: how far bodies are in one another, against an element (of rigid bodies a quarter of their size) or, if that is more, against the
depth that their elasticity explains. In time: how much more the largest mean over half a window is than over a whole one, and how many
steps the touch lasts, unless half a window has STEPS steps or more. In space: how many elements or samples there are across the contact
while it presses hardest, and how deep bodies are then against the dent that carries the load: where that is not much larger, the springs
of the method share out the pressure and not the bodies. Pressure and area ask for depth and space, forces for time.

Of single steps the same is said of depth and space as they are then, and of time by how much the force changed since the step before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Floats, Ints

WORDS = ("resolved", "coarse", "not resolved")
DEPTH = (0.05, 0.25)  # of an element, or of the depth that elasticity explains: beyond the first coarse, beyond the second not resolved
TIME = (0.05, 0.10)  # by which the mean over half a window exceeds that over a whole one
STEPS = 10  # in half a window that are enough whatever the force does
ACROSS = (16.0, 6.0)  # elements across the contact: an element too many on each side is a quarter of the area, or more than a half
# Depth against the dent that elasticity explains: blocks that lie on a plane by their weight have peak pressures 1.9 and 2.4 times the
# mean at 0.05 and 0.15 of it under `noniterative`, and 1.2 times at 0.005 under `patch`.
DENT = (0.02, 0.10)
# Change of the force in a step, of its largest mean: half a sine of STEPS steps, and of half as many, changes by at most this of its peak.
CHANGE = (np.pi / STEPS, 2.0 * np.pi / STEPS)


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
    finer_edge: float  # [m] mean edge for ACROSS[0] elements across, and one more, as the width is known to one; NaN: not by elements
    edge: float  # [m] mean edge as it is

    @property
    def word(self) -> str:
        """The worst of the three."""
        return WORDS[max(WORDS.index(word) for word in (self.in_depth, self.in_time, self.in_space) if word)]

    @property
    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "word": self.word}

    @property
    def finer(self) -> str:
        """The step that resolves it in time, and what it costs."""
        return f"dt = {rounded_down(self.finer_dt)} s resolves it, with {rounded(self.dt / self.finer_dt)} times as many steps"

    @property
    def told(self) -> str:
        """The three words, short."""
        return f"depth {self.in_depth or '-'}, time {self.in_time or '-'}, space {self.in_space or '-'}"


def rounded(number: float) -> str:
    """Two figures of a number, written out."""
    return f"{float(f'{number:.2g}'):,g}"


def rounded_down(number: float) -> str:
    """Two figures of a positive number, never more than it is."""
    near = f"{number:.2g}"
    return near if float(near) <= number else f"{float(near) - 10.0 ** (math.floor(math.log10(number)) - 1):.2g}"


def worded(value: float, bounds: tuple[float, float]) -> str:
    """A word for a number that should be below bounds, or above them if they fall."""
    return str(_words(_grades(np.array([value]), bounds))[0])


def _grades(values: Floats, bounds: tuple[float, float]) -> Ints:
    """Places among WORDS, (n,); -1 where a number is not known."""
    sign = 1.0 if bounds[1] > bounds[0] else -1.0
    return np.where(np.isfinite(values), sum((sign * values > sign * bound).astype(np.int64) for bound in bounds), -1)


def _words(grades: Ints) -> np.ndarray:
    return np.array([*WORDS, ""])[grades]


def words_of_steps(rows: Mapping[str, np.ndarray], largest: float) -> dict[str, np.ndarray]:
    """`in_depth`, `in_time` and `in_space` of each row of one pair, in the order of time; largest [N]: mean over its window."""
    force, wide = rows["force"], 2.0 * np.sqrt(np.maximum(rows["area"], 0.0) / np.pi)
    follows = np.diff(rows["row"], prepend=-2) == 1
    change = np.linalg.norm(force - np.where(follows[:, None], np.roll(force, 1, axis=0), 0.0), axis=1)
    across = np.where((wide > 0.0) & np.isfinite(rows["edge"]), wide / rows["edge"], np.nan)
    dent = np.divide(np.maximum(rows["depth"], 0.0), rows["elastic"], out=np.full(len(wide), np.nan), where=rows["elastic"] > 0.0)
    return {
        "in_depth": _words(_grades(depth_of(rows), DEPTH)),
        "in_time": _words(_grades(change / largest if largest > 0.0 else change, CHANGE)),
        "in_space": _words(np.maximum(_grades(across, ACROSS), _grades(dent, DENT))),
    }


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
        return Resolution(np.nan, np.nan, steps, touch, np.nan, np.nan, "", "", "", *(np.nan,) * 7)
    part = depth_of(rows)
    worst = int(np.nanargmax(part)) if np.isfinite(part).any() else int(np.argmax(rows["depth"]))
    deepest = float(rows["depth"][worst])
    follows = worst > 0 and rows["row"][worst - 1] == rows["row"][worst] - 1
    before = float(rows["depth"][worst - 1]) if follows else 0.0
    more = half / over - 1.0 if over > 0.0 else 0.0
    hardest = int(np.argmax(rows["normal_force"]))
    area, edge = float(rows["area"][hardest]), float(rows["edge"][hardest])
    wide, elastic = 2.0 * np.sqrt(area / np.pi), float(np.nan_to_num(rows["elastic"][hardest]))
    across = wide / edge if area > 0.0 and np.isfinite(edge) else np.nan
    # A corner within an element touches with next to nothing, and its dent, F / (2 a E), were deeper than the contact is wide. Finer
    # elements let it give way until it is not: a' = F / (2 a' E), so a' = sqrt(a F / (2 a E)).
    widens = max(wide, np.sqrt(2.0 * wide * elastic))
    hard = (rows["normal_force"] >= 0.5 * rows["normal_force"][hardest]) & (rows["elastic"] > 0.0)
    dent = float(np.median(np.maximum(rows["depth"], 0.0)[hard] / rows["elastic"][hard])) if hard.any() else np.nan
    longest = float(dt.max())
    return Resolution(
        depth=float(part[worst]), time=more, steps=steps, touch=touch, across=across, dent=dent,
        in_depth=worded(float(part[worst]), DEPTH), in_time=_in_time(more, steps, touch),
        in_space=max(worded(across, ACROSS), worded(dent, DENT), key=["", *WORDS].index), deepest=deepest, at=float(worst),
        jump=1.0 - before / deepest if deepest > 0.0 else 0.0,
        dt=longest, finer_dt=0.5 * window / STEPS, finer_edge=widens / (ACROSS[0] + 1.0) if np.isfinite(across) else np.nan, edge=edge,
    )  # fmt: skip
