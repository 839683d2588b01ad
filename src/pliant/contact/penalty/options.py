"""The options that `penalty` and `continuous-penalty` share."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from pliant.base import PliantError
from pliant.contact.penalty.rules import Redefinition
from pliant.world.motion import Motion


@dataclass(frozen=True)
class Options:
    """Springs between features, their friction, and how many rounds of a step look for new ones."""

    stiffness: float | str = "auto"  # [N/m] of each contact; "auto": s / (dt^2 D), D the give of the contact
    s: float | None = None  # of stiffness "auto": k dt^2 D, below 16; not implicit: below 2 (continuous) or 4/3 (discrete). None: 8, or 0.5
    implicit: bool = True  # impulses know what they will do to the gaps: stable for any stiffness; False: as published
    response: str = "system"  # impulses on implicit bodies go through their system; "mass": to the masses they meet, as in the thesis
    sweeps: int = 10  # implicit: how often contacts hear of each other in a round, at most; 1: never
    damping: float | None = None  # zeta of the normal damping, a share of critical. None: 0.3, or 0 if not implicit
    reproject: bool = True  # weights follow the foot of the contact; False: those of the first touch, as in the thesis
    blend: float = 0.0  # share by which the normal of a face is turned towards that of the vertex, 0 to below 1
    spread: bool = False  # normal impulses go to the ring of a vertex (11.6-3); for bodies stepped explicitly
    friction: str = "coulomb"  # or "yamane-nakamura"
    stribeck: float = 0.2  # [m/s] coulomb: slip speed over which static friction fades into sliding friction
    k_fp: float = 100.0  # [N/m] yamane-nakamura: spring of the anchor
    k_fd: float = 25.0  # [N s/m] yamane-nakamura: damper of the anchor
    k_omega: float = 10000.0  # [s/m] yamane-nakamura: how fast sliding friction sets in with speed
    rounds: int = 5  # looks for new contacts in a step
    redefinition: bool | dict[str, Any] = True  # pairs follow what slides (thesis ch. 6); false, or rules by name as in rules.py

    def rules(self) -> Redefinition:
        """How pairs endure."""
        return replace(Redefinition.of(self.redefinition), reproject=self.reproject)

    def through(self, motion: Motion) -> AbstractContextManager[None]:
        """What impulses go through meanwhile."""
        return motion.by_mass() if self.response == "mass" else nullcontext()

    @property
    def share(self) -> float:
        """k dt^2 D of stiffness "auto"."""
        return self.s if self.s is not None else (8.0 if self.implicit else 0.5)

    @property
    def zeta(self) -> float:
        """Share of critical damping."""
        return self.damping if self.damping is not None else (0.3 if self.implicit else 0.0)

    def check(self, limit: float) -> None:
        """Refuse what cannot work; `limit` is where s becomes unstable."""
        if isinstance(self.stiffness, str):
            if self.stiffness != "auto":
                raise PliantError(f'stiffness = "{self.stiffness}": give "auto" or a number [N/m] per contact.')
        elif not self.stiffness > 0.0:
            raise PliantError(f"stiffness = {self.stiffness}: a contact needs a stiffness above 0 N/m.")
        if not 0.0 < self.share < (16.0 if self.implicit else limit):
            raise PliantError(
                f"s = {self.s}: k dt^2 D must be above 0 and below {16.0 if self.implicit else limit:.4g}, where contacts become unstable"
                + ("." if self.implicit else "; implicit = true allows up to 16.")
            )
        self.rules()
        if self.response not in ("system", "mass"):
            raise PliantError(f'response = "{self.response}": there are "system" and "mass".')
        if self.friction not in ("coulomb", "yamane-nakamura"):
            raise PliantError(f'friction = "{self.friction}": there are "coulomb" and "yamane-nakamura".')
        if not 0.0 <= self.zeta <= 10.0:
            raise PliantError(f"damping = {self.damping}: it must be between 0 and 10.")
        for name, low, high in (("blend", 0.0, 0.99), ("rounds", 1, 100), ("sweeps", 1, 1000)):
            if not low <= getattr(self, name) <= high:
                raise PliantError(f"{name} = {getattr(self, name)}: it must be between {low} and {high}.")
        for name in ("stribeck", "k_fp", "k_fd", "k_omega"):
            if not getattr(self, name) > 0.0:
                raise PliantError(f"{name} = {getattr(self, name)}: it must be above 0.")
