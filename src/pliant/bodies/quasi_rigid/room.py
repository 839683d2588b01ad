"""Quasi-rigid bodies: a rigid frame, or a coarse core, whose surface gives way where something presses on it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from pliant.base import nearest
from pliant.bodies.fem.room import FemMaterial
from pliant.bodies.room import Room
from pliant.bodies.schema import Quantity, ShapeLike, SoftBody
from pliant.spec.fields import Finite, Positive, Spec

SURFACE_RESPONSES = ("boussinesq", "volume-preserving", "layer")  # besides tables
OF_CORE = ("integrator", "tolerance", "unsafe", "fixed")


class ResponseTable(Spec):
    """How a surface gives way around a force, as a table; a file of `pliant response` holds the same."""

    c: Positive
    """[m^2/N] (1 - nu^2)/(pi E) of the material it was made for; a body scales it to its own"""
    r: list[Positive]
    """[m] radii, rising, at least four"""
    values: list[Finite]
    """[m/N] displacement per force at each"""


class QuasiRigidMaterial(FemMaterial):
    """What a quasi-rigid body is made of; `law` is that of its core."""

    response: str | ResponseTable = "boussinesq"
    """boussinesq (solid), volume-preserving (flesh), layer (on a core), or a table, also as a .csv file"""
    layer: Positive | None = None
    """[m] how far a push is felt; for volume-preserving and layer"""

    @field_validator("response")
    @classmethod
    def _known_response(cls, value: str | ResponseTable) -> str | ResponseTable:
        if isinstance(value, str) and value not in SURFACE_RESPONSES and not value.endswith(".csv"):
            known = nearest(value, SURFACE_RESPONSES)
            raise ValueError(f"there is no response '{value}': {known} A table is a .csv file of `pliant response`")
        return value


class QuasiRigidBody(SoftBody):
    """A body whose surface gives way where something presses on it; integrator, tolerance, unsafe and fixed are for those with a core."""

    model: Literal["quasi-rigid"]
    """its surface gives way where something presses on it"""
    material: QuasiRigidMaterial = Field(default_factory=QuasiRigidMaterial)
    """what it is made of"""
    spacing: Positive | None = None
    """[m] between points of the skin; None: about 4000 points"""
    core: ShapeLike | None = None
    """a coarse solid that bends and stretches; the shape rides in it and gives way locally on top. None: rigid"""

    @model_validator(mode="after")
    def _of_core(self) -> QuasiRigidBody:
        given = [name for name in OF_CORE if self.core is None and name in self.stated()]
        given += ["law"] if self.core is None and "law" in self.material.stated() else []
        if given:
            raise ValueError(f"`{given[0]}` is for soft bodies; this one is quasi-rigid: give it a `core`, or leave it out")
        return self

    def filled(self, needs: frozenset[str]) -> bool:
        return False

    def made_of(self) -> tuple[Quantity, ...]:
        response = self.material.response
        return self.material.words(response if isinstance(response, str) else "a response of its own")

    def jobs(self) -> list[str]:
        return [*super().jobs(), "tets", "solver"] if self.core is not None else []


QUASI_RIGID = Room(
    name="quasi-rigid",
    bodies="quasi-rigid bodies",
    body=QuasiRigidBody,
    building="pliant.bodies.quasi_rigid.building",
    soft=False,
    local=True,
    surfels=True,
    changes=("youngs_modulus", "poisson_ratio", "mass_damping", "stiffness_damping"),
)
