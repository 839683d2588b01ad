"""Which rules keep the feature pairs plausible (thesis ch. 6; 11.1-11.6 of the methods page), each to be switched by itself.

The defaults are the whole set. Switching one off shows the artifact that it is there for: `resolution` Fig. 6.1, `categories`
and `hooked` Fig. 6.2, `faces` Figs. 6.3 and 6.4, `deep` Fig. 6.9.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from pliant.base import PliantError

OFF, SPAN, PRINTED, BASIC = 0, 1, 2, 3
CATEGORIES = {"off": OFF, "span": SPAN, "printed": PRINTED, "basic": BASIC}
_CHOICES = {
    "resolution": ("advanced", "gap"),
    "categories": tuple(CATEGORIES),
    "faces": ("concave", "convex", "off"),
    "hooked": ("skip", "keep", "off"),
}


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
