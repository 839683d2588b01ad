"""The options of `point-surface`. Those under "as published" exist so that what the paper prints can be run beside what we do."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.base import PliantError

CHOICES = {
    "force": ("gap", "closest"),
    "weight": ("E", "1/E", "equal"),
    "scale": ("area", "rho", "none"),
    "distribution": ("conjugate", "keiser"),
    "surface": ("corrected", "published"),
    "friction": ("anchored", "published"),
    "order": ("free", "published"),
}


@dataclass(frozen=True)
class Options:
    """Penalty on the common contact surface, its damping and friction."""

    stiffness: float | str = "auto"  # k [N/m^3], pressure is k / 2 times the depth; "auto": as stiff as is stable with the step
    s: float | None = None  # of stiffness "auto": (k / 2) dt^2 D, D the give of both bodies per area. None: 32 where implicit, else 0.5
    implicit: bool | str = "auto"  # forces know what they will do to the gaps; "auto": of implicit bodies, and of rigid ones with damping
    sweeps: int = 10  # implicit: how often contacts hear of each other in a step, at most
    damping: float = 0.2  # zeta of the normal damping, a share of critical
    substeps: int = 32  # most parts of a step when bodies move more than half a surfel spacing; 1: never divide
    show: bool = True  # move surfels onto the contact surface in what is drawn
    resample: bool = False  # closest: spread the contact surface evenly before forces are taken from it
    # as published
    force: str = "gap"  # from the depth of each surfel in the other surface; "closest": springs between closest surfels, (4)
    weight: str = "E"  # the stiffer body keeps its shape; "1/E": as printed, it gives way; "equal": half way
    scale: str = "area"  # forces times the area of a surfel; "rho": times density, (7); "none"
    distribution: str = "conjugate"  # as surfels are bound to their body; "keiser": Shepard weights of volume points, (8)
    surface: str = "corrected"  # passes through its surfels; "published": inside a ball by h^2 / R
    friction: str = "anchored"  # sticks and slides; "published": sliding only, at full strength for any speed, (5)
    damping_counts: int = 1  # 2: as (4) and (6) are printed, damping twice
    order: str = "free"  # all pairs from the same surfaces; "published": later pairs see surfaces moved by earlier ones (closest only)

    def share(self, implicit: bool) -> float:
        """(k / 2) dt^2 D of stiffness "auto"; what is not implicit would be unstable from 4 on."""
        if implicit:
            return 32.0 if self.s is None else self.s
        return 0.5 if self.s is None else min(self.s, 3.9)

    def __post_init__(self) -> None:
        if isinstance(self.stiffness, str):
            if self.stiffness != "auto":
                raise PliantError(f'stiffness = "{self.stiffness}": give "auto" or a number [N/m^3].')
        elif not self.stiffness > 0.0:
            raise PliantError(f"stiffness = {self.stiffness}: contact needs a stiffness above 0 N/m^3.")
        if self.s is not None and not 0.0 < self.s < (100.0 if self.implicit else 4.0):
            raise PliantError(f"s = {self.s}: (k / 2) dt^2 D must be above 0 and below 100, and below 4 with implicit = false.")
        if self.implicit not in (True, False, "auto"):
            raise PliantError(f"implicit = {self.implicit!r}: it is true, false or \"auto\".")
        if self.sweeps < 1:
            raise PliantError(f"sweeps = {self.sweeps}: contacts must hear of each other at least once.")
        if not 0.0 <= self.damping <= 10.0:
            raise PliantError(f"damping = {self.damping}: it must be between 0 and 10.")
        if self.substeps < 1:
            raise PliantError(f"substeps = {self.substeps}: a step has at least one part.")
        if self.damping_counts not in (1, 2):
            raise PliantError(f"damping_counts = {self.damping_counts}: it is 1, or 2 as published.")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise PliantError(f"{name} = '{getattr(self, name)}': there are {', '.join(known)}.")
        closest = self.force == "closest"
        for name, plain in (("order", "free"), ("resample", False), ("scale", "area"), ("damping_counts", 1)):
            if getattr(self, name) != plain and not closest:
                raise PliantError(f"{name} = {getattr(self, name)!r} needs force = \"closest\": the force of the gap knows nothing of it.")
