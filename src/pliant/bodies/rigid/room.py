"""Rigid bodies: they keep their shape."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from pliant.bodies.room import Room
from pliant.bodies.schema import Body, Quantity, Weighed
from pliant.spec.fields import Ratio


class RigidMaterial(Weighed):
    """What a rigid body is made of."""

    kind: ClassVar[str] = "rigid"


class RigidBody(Body):
    """A rigid body."""

    kind: ClassVar[str] = "rigid"

    model: Literal["rigid"]
    """it keeps its shape"""
    material: RigidMaterial = Field(default_factory=RigidMaterial)
    """what it is made of"""
    restitution: Ratio = 0.0
    """speed after an impact over that before, 0 to 1; of two bodies the livelier counts"""

    def made_of(self) -> tuple[Quantity, ...]:
        return (("", self.material.density, "kg/m³"),)


RIGID = Room(
    name="rigid",
    bodies="rigid bodies",
    body=RigidBody,
    building="pliant.bodies.rigid.building",
    soft=False,
    cells=True,
    changes=("mass_damping",),
)
