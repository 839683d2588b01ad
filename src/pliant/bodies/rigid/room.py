"""Rigid bodies, which keep their shape, and static ones: ground, walls, tables, and what moves as its motions say."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pliant.bodies.room import Room
from pliant.bodies.schema import Body, Material, Quantity, Weighed
from pliant.spec.fields import Ratio


class RigidMaterial(Weighed):
    """What a rigid body is made of."""


class RigidBody(Body):
    """A rigid body."""

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


class StaticMaterial(Material):
    """A static body has no mass and never gives way: there is nothing to say."""


class StaticBody(Body):
    """A body that never moves, or as its motions say."""

    model: Literal["static"]
    """it never moves, or as its motions say"""
    material: StaticMaterial = Field(default_factory=StaticMaterial)
    """nothing"""
    restitution: Ratio = 0.0
    """speed after an impact over that before, 0 to 1; of two bodies the livelier counts"""

    @model_validator(mode="after")
    def _still(self) -> StaticBody:
        if any(self.velocity) or any(self.angular_velocity) or self.loads:
            raise ValueError("a static body has no velocity and no loads; use `motions` to move it, or model = \"rigid\"")
        return self


STATIC = Room(
    name="static", bodies="static bodies", body=StaticBody, building="pliant.bodies.rigid.building", soft=False, moves=False, cells=True,
)  # fmt: skip
