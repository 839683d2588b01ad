"""Finite elements: tetrahedra with a material law."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from pliant.bodies.room import Job, Room
from pliant.bodies.schema import Elastic, Quantity, ShapeLike, SoftBody


class FemMaterial(Elastic):
    """What a body of finite elements is made of."""

    kind: ClassVar[str] = "fem"

    law: str = "corotated"
    """linear, corotated, stvk, neo-hookean, or one registered with register_material"""


class FemBody(SoftBody):
    """A body of finite elements."""

    kind: ClassVar[str] = "fem"

    model: Literal["fem"] = "fem"
    """tetrahedra with a material law; what a body is unless it says another"""
    material: FemMaterial = Field(default_factory=FemMaterial)
    """what it is made of"""
    element: Literal["linear", "quadratic"] = "linear"
    """4-node or 10-node tetrahedra"""
    skin: ShapeLike | None = None
    """a finer surface that rides in the tetrahedra and is what touches"""

    def filled(self, needs: frozenset[str]) -> bool:
        return True

    def made_of(self) -> tuple[Quantity, ...]:
        return self.material.words(self.material.law)

    def jobs(self) -> list[str]:
        return [*super().jobs(), "solver"]


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
    jobs={"tets": Job(({**BOX, "integrator": "implicit", "fixed": [{"side": "-z"}]},), {"solver": "direct"})},
)
