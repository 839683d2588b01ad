"""The options that `penalty` and `continuous-penalty` share, and the rules that keep their feature pairs plausible.

The rules (thesis ch. 6; theory/penalty 7) are switched one by one. The defaults are the whole set. Switching one off shows the
artifact that it is there for: `resolution` Fig. 6.1, `categories` and `hooked` Fig. 6.2, `faces` Figs. 6.3 and 6.4, `deep` Fig. 6.9.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from pliant.base import PliantError
from pliant.contact.method import GIVEN, STEP
from pliant.world.motion import Motion

STIFFEST = 16.0  # k dt^2 D of implicit contacts at most: beyond it their damping fades, and at last they ring (theory/penalty 5.4)
OFF, SPAN, PRINTED, BASIC = 0, 1, 2, 3
CATEGORIES = {"off": OFF, "span": SPAN, "printed": PRINTED, "basic": BASIC}
_CHOICES = {
    "resolution": ("advanced", "gap"),
    "categories": tuple(CATEGORIES),
    "faces": ("concave", "convex", "off"),
    "hooked": ("skip", "keep", "off"),
}


ZETA = 0.3  # of critical: damping of implicit springs unless given; why just this much was not written down


@dataclass(frozen=True)
class Redefinition:
    """Rules for enduring pairs."""

    resolution: str = "advanced"  # also ended: pairs whose vertex leaves B elsewhere, or whose edge touches B no more; "gap": by gap alone
    categories: str = "span"  # hooked by normal spans of both sides; "printed": Eq. 6.3, one edge is enough; "basic": Eq. 6.1; "off"
    faces: str = "concave"  # a vertex goes on to the face it is under, or nearly under; "convex": under only; "off": keeps its face
    walk: int = 16  # faces crossed at most in one step to follow a vertex beyond the faces around its own; 0: none, as published
    edges: bool = True  # edge pairs that slide apart end, new ones begin where a vertex changes its face
    hooked: str = "skip"  # hooked pairs look for a regular face; without one they rest ("skip") or push ("keep"); "off": push as they are
    deep: bool = False  # the directions of neighbouring contacts tell hooked from deep ones, and choose the face
    reproject: bool = True  # weights of a pair follow the vertex within its face; False: those of first contact

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise PliantError(f"redefinition: {name} = '{value}' is none of {', '.join(known)}.")
        if self.walk < 0:
            raise PliantError(f"redefinition: walk = {self.walk} is a number of faces to cross in a step, 0 or more.")

    @staticmethod
    def none() -> Redefinition:
        """Every rule off: pairs as of [Tang 2012], held until their gap is positive."""
        return Redefinition("gap", "off", "off", 0, False, "off", False, False)

    @staticmethod
    def of(choice: Redefinition | dict[str, object] | bool) -> Redefinition:
        """From what a scene says: on, off, or some rules by name."""
        if isinstance(choice, Redefinition):
            return choice
        if isinstance(choice, bool):
            return Redefinition() if choice else Redefinition.none()
        known = [f.name for f in fields(Redefinition)]
        for name in choice:
            if name not in known:
                raise PliantError(f"redefinition has no rule '{name}'; there are {', '.join(known)}.")
        return Redefinition(**choice)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Options:
    """Springs between features, their friction, and how many rounds of a step look for new ones."""

    units: ClassVar[dict[str, str]] = {"stiffness": "N/m", "stribeck": "m/s", "k_fp": "N/m", "k_fd": "N s/m", "k_omega": "s/m"}
    stiffness: float | str = "auto"  # [N/m] of each contact; "auto": s / (dt^2 D), D the give of the contact
    s: float | None = None  # of stiffness "auto": k dt^2 D, below 16; not implicit: below 2 (continuous) or 4/3 (discrete). None: 8, or 0.5
    implicit: bool = True  # impulses know what they will do to the gaps: stable for any stiffness; False: as published
    response: str = "system"  # impulses on implicit bodies go through their system; "mass": to the masses they meet, as in the thesis
    sweeps: int = 10  # implicit: how often contacts hear of each other in a round, at most; 1: never
    damping: float | None = None  # zeta of the normal damping, a share of critical. None: 0.3, or 0 if not implicit
    reproject: bool = True  # weights follow the foot of the contact; False: those of the first touch, as in the thesis
    blend: float = 0.0  # share by which the normal of a face is turned towards that of the vertex, 0 to below 1
    spread: bool = False  # normal impulses go to the ring of a vertex (theory/penalty 5.8); for bodies stepped explicitly
    friction: str = "coulomb"  # or "yamane-nakamura"
    stribeck: float = 0.2  # [m/s] coulomb: slip speed over which static friction fades into sliding friction
    k_fp: float = 100.0  # [N/m] yamane-nakamura: spring of the anchor
    k_fd: float = 25.0  # [N s/m] yamane-nakamura: damper of the anchor
    k_omega: float = 10000.0  # [s/m] yamane-nakamura: how fast sliding friction sets in with speed
    rounds: int = 5  # looks for new contacts in a step
    redefinition: bool | dict[str, Any] = True  # pairs follow what slides (thesis ch. 6); false, or rules by name as in `Redefinition`

    def rules(self) -> Redefinition:
        """How pairs endure."""
        return replace(Redefinition.of(self.redefinition), reproject=self.reproject)

    def through(self, motion: Motion) -> AbstractContextManager[None]:
        """What impulses go through meanwhile."""
        return motion.by_mass() if self.response == "mass" else nullcontext()

    @property
    def bears(self) -> str:
        """What the depth under a load follows."""
        return STEP if isinstance(self.stiffness, str) else GIVEN

    @property
    def share(self) -> float:
        """k dt^2 D of stiffness "auto"."""
        return self.s if self.s is not None else (8.0 if self.implicit else 0.5)

    @property
    def zeta(self) -> float:
        """Share of critical damping."""
        return self.damping if self.damping is not None else (ZETA if self.implicit else 0.0)

    def check(self, limit: float) -> None:
        """Refuse what cannot work; `limit` is where s becomes unstable."""
        if isinstance(self.stiffness, str):
            if self.stiffness != "auto":
                raise PliantError(f'stiffness = "{self.stiffness}": give "auto" or a number [N/m] per contact.')
        elif not self.stiffness > 0.0:
            raise PliantError(f"stiffness = {self.stiffness}: a contact needs a stiffness above 0 N/m.")
        limit = STIFFEST if self.implicit else limit
        if not 0.0 < self.share < limit:
            raise PliantError(
                f"s = {self.s}: k dt^2 D must be above 0 and below {limit:.4g}, where contacts become unstable"
                + ("." if self.implicit else f"; implicit = true allows up to {STIFFEST:g}.")
            )
        self.rules()
        if self.response not in ("system", "mass"):
            raise PliantError(f'response = "{self.response}": there are "system" and "mass".')
        if self.friction not in ("coulomb", "yamane-nakamura"):
            raise PliantError(f'friction = "{self.friction}": there are "coulomb" and "yamane-nakamura".')
        if not 0.0 <= self.zeta <= 10.0:
            raise PliantError(f"damping = {self.damping}: it must be between 0 and 10.")
        if not 0.0 <= self.blend < 1.0:
            raise PliantError(f"blend = {self.blend}: it must be at least 0 and below 1.")
        for name, low, high in (("rounds", 1, 100), ("sweeps", 1, 1000)):
            if not low <= getattr(self, name) <= high:
                raise PliantError(f"{name} = {getattr(self, name)}: it must be between {low} and {high}.")
        for name in ("stribeck", "k_fp", "k_fd", "k_omega"):
            if not getattr(self, name) > 0.0:
                raise PliantError(f"{name} = {getattr(self, name)}: it must be above 0.")
