"""Points: phyxels with a volume, strained as their neighbours move; they can flow and tear."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from pliant.bodies.fem.room import BOX
from pliant.bodies.room import Job, Room
from pliant.bodies.schema import Elastic, Quantity, ShapeLike, SoftBody
from pliant.spec.fields import Finite, NotNegative, Positive


class PointsMaterial(Elastic):
    """What a body of points is made of."""

    strain: Literal["green", "mkn04"] = "green"
    """Green's with its half, or without as published: then a body is four times as stiff"""
    hourglass: NotNegative = 0.1
    """stiffness, in parts of youngs_modulus, against motions that the strain of phyxels cannot see"""
    crush: NotNegative = 1.0
    """stiffness, in parts of lambda + 2 mu, against being crushed and turned inside out; 0: none, as published"""
    volume_stiffness: NotNegative = 0.0
    """[Pa] k of the energy k/2 (V/V0 - 1)^2 per volume"""
    yield_strain: Positive | None = None
    """elastic strain beyond which it stays deformed; None: never"""
    flow: Literal["shape", "full"] = "shape"
    """what flows: the deviator, which keeps the volume, or all of the strain"""
    creep_time: NotNegative = 0.0
    """[s] in which strain beyond the yield strain becomes permanent (to 1 - 1/e); 0: at once"""
    max_plastic_strain: Positive | None = None
    """permanent strain never grows beyond this; None: no limit"""
    tear_strain: Positive | None = None
    """neighbours part when they are further apart than at the start by this part; None: never"""
    softening: tuple[Finite, Finite] | None = None
    """[degree C] between these temperatures stiffness falls linearly to soft_modulus"""
    soft_modulus: Positive = 1.0
    """[Pa] Young's modulus above the second temperature of `softening`"""
    temperature: Finite = 20.0
    """[degree C]; changes over time with scene.change("BODY.material.temperature", table)"""

    @field_validator("softening")
    @classmethod
    def _rising(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and not value[0] < value[1]:
            raise ValueError(f"softening runs from a lower to a higher temperature, not {value}")
        return value


class PointsBody(SoftBody):
    """A body of points."""

    model: Literal["points"]
    """phyxels: points with a volume that see their neighbours"""
    material: PointsMaterial = Field(default_factory=PointsMaterial)
    """what it is made of"""
    phyxels: Literal["cubic", "bcc", "nodes", "centres"] = "cubic"
    """on a lattice inside the surface, or at the nodes or centres of tetrahedra"""
    spacing: Positive | None = None
    """[m] cube root of the volume of a phyxel; None: for 400 of them"""
    support: Annotated[float, Field(ge=1.5, le=5.0)] = 3.0
    """how far a phyxel sees, in mean distances to its ten neighbours"""
    volumes: Literal["share", "sph"] = "share"
    """shares of the body's volume, or sums of kernels as published (too large)"""
    tangent: Literal["bonds", "exact"] = "bonds"
    """implicit: what a step knows of the stiffness; exact: all, in much more time"""
    skin: ShapeLike | None = None
    """a finer surface that rides on the phyxels and is what touches"""

    @property
    def on_mesh(self) -> bool:
        """Whether its phyxels lie on tetrahedra."""
        return self.phyxels in ("nodes", "centres")

    def filled(self, needs: frozenset[str]) -> bool:
        return self.on_mesh or "tets" in needs

    def scheme(self, dt: float, limit: float) -> tuple[str, str]:
        return "symplectic", "its forces are cheap; implicit steps know all of its stiffness only with tangent = exact, and are dear then"

    def made_of(self) -> tuple[Quantity, ...]:
        return self.material.words("phyxels")


PLASTIC = {"yield_strain": 0.01, "tear_strain": 1.0, "stiffness_damping": 1e-4}
POINTS = Room(
    name="points",
    bodies="bodies of points",
    body=PointsBody,
    building="pliant.bodies.points.building",
    surfels=True,
    phyxels=True,
    changes=(
        "youngs_modulus", "poisson_ratio", "mass_damping", "stiffness_damping", "hourglass", "crush", "volume_stiffness", "yield_strain",
        "creep_time", "max_plastic_strain", "tear_strain", "temperature",
    ),
    jobs={"points": Job(({**BOX, "model": "points", "spacing": 0.3, "material": PLASTIC},), {"dt": 0.001})},
)  # fmt: skip
