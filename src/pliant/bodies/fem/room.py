"""Finite elements: tetrahedra with a material law."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from pliant.bodies.room import Job, Room
from pliant.bodies.schema import Elastic, Quantity, ShapeLike, SoftBody
from pliant.spec.fields import Finite, NotNegative, Positive, Spec


class FemMaterial(Elastic):
    """What a body of finite elements is made of."""

    law: str = "corotated"
    """linear, corotated, stvk, neo-hookean, or one registered with register_material"""


class RegionMaterial(Spec):
    """What differs in a region from the material of its body."""

    density: Positive | None = None
    """[kg/m^3]"""
    youngs_modulus: Positive | None = None
    """[Pa]"""
    poisson_ratio: Finite | None = None
    """above -1 and below 0.5"""
    stiffness_damping: NotNegative | None = None
    """[s] forces -b K v"""


class Region(Spec):
    """A part of a body with a material of its own; of several regions the last one counts."""

    shape: ShapeLike | None = None
    """a surface inside the body, in the frame of its shape: what it encloses; or"""
    group: int | str | None = None
    """a group of tetrahedra of the body's file: physical group, material or set, by number or name"""
    material: RegionMaterial
    """what differs from the material of the body"""

    @model_validator(mode="after")
    def _one(self) -> Region:
        if (self.shape is None) == (self.group is None):
            raise ValueError("a region is said by a `shape` or by a `group`")
        return self


class FemBody(SoftBody):
    """A body of finite elements."""

    model: Literal["fem"] = "fem"
    """tetrahedra with a material law; what a body is unless it says another"""
    material: FemMaterial = Field(default_factory=FemMaterial)
    """what it is made of"""
    element: Literal["linear", "quadratic"] = "linear"
    """4-node or 10-node tetrahedra"""
    skin: ShapeLike | None = None
    """a finer surface that rides in the tetrahedra and is what touches"""

    regions: list[Region] = []
    """parts with a material of their own: bone in flesh, groups of a mesh"""

    def filled(self, needs: frozenset[str]) -> bool:
        return True

    def made_of(self) -> tuple[Quantity, ...]:
        return self.material.words(self.material.law)

    def jobs(self) -> list[str]:
        shape = self.shape
        filled = "kind" not in shape or shape.get("fill") == "lattice" if isinstance(shape, dict) else getattr(shape, "tets", None) is None
        return [*(name for name in super().jobs() if name != "cells" or filled), "solver"]


BOX: dict[str, Any] = {"shape": {"kind": "box", "size": (1, 1, 1), "edge": 1.0}}
FEM = Room(
    name="fem",
    bodies="finite elements",
    body=FemBody,
    building="pliant.bodies.fem.building",
    solid=True,
    cells=True,
    stiffness="youngs_modulus",
    changes=("youngs_modulus", "poisson_ratio", "mass_damping", "stiffness_damping"),
    jobs={
        "tets": Job(({**BOX, "integrator": "implicit", "fixed": [{"side": "-z"}]},), {"solver": "direct"}),
        "cells": Job(({"shape": {"kind": "ball", "radius": 1.0, "edge": 1.0, "fill": "lattice"}},)),
    },
)
