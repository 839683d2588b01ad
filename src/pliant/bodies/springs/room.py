"""Springs: networks along the edges of tetrahedra, of a surface or of a lattice, or between all vertices."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pliant.bodies.fem.room import BOX
from pliant.bodies.room import Job, Room
from pliant.bodies.schema import Quantity, ShapeLike, SoftBody, Weighed
from pliant.spec.fields import NotNegative, PerElement, Positive


class SpringsMaterial(Weighed):
    """What a body of springs is made of."""

    stiffness_damping: NotNegative = 0.0
    """[s] b of Rayleigh's C = a M + b K"""
    spring_stiffness: PerElement = 1000.0
    """[N/m] of each spring; all-pairs: a list is per vertex, a spring has the geometric mean"""
    spring_damping: NotNegative = 0.0
    """[N s/m] along each spring"""
    vertex_mass: PerElement | None = None
    """[kg] of each vertex; None: from density"""
    vertex_damping: NotNegative = 0.0
    """[N s/m] c of the force -c v on each vertex"""
    adaptive_force: Positive | None = None
    """[N] f: vertex_damping times min(|spring force on the vertex| / f, adaptive_cap); None: constant"""
    adaptive_cap: Positive = 10.0
    """largest factor of adaptive damping"""
    thickness: Positive = 0.001
    """[m] of a sheet of springs, for its mass; only for open surfaces"""


class SpringsBody(SoftBody):
    """A body of springs."""

    model: Literal["springs"]
    """a network of springs"""
    material: SpringsMaterial = Field(default_factory=SpringsMaterial)
    """what it is made of"""
    network: Literal["tets", "surface", "all-pairs", "voxels"] = "tets"
    """along the edges of tetrahedra; of the surface, with bending; between all vertices of the surface; of a lattice inside it"""
    spacing: Positive | None = None
    """[m] voxels: edge of a cell; None: an eighth of the longest side"""
    skin: ShapeLike | None = None
    """a finer surface that rides in the tetrahedra and is what touches"""

    @model_validator(mode="after")
    def _explicit(self) -> SpringsBody:
        if self.network == "all-pairs" and self.integrator == "implicit":
            raise ValueError(
                "springs between all pairs have a full stiffness matrix, which is never formed, so they take no implicit steps; "
                'use integrator = "verlet" (what "auto" takes), or network = "tets", "surface" or "voxels"'
            )
        return self

    def filled(self, needs: frozenset[str]) -> bool:
        return self.network == "tets" or (self.network == "all-pairs" and "tets" in needs)

    def scheme(self, dt: float, limit: float) -> tuple[str, str]:
        if self.network != "all-pairs":
            return super().scheme(dt, limit)
        return "verlet", "springs between all pairs take no implicit steps, and it has the longest stable step per force evaluation"

    def limited_by(self) -> str:
        material = self.material
        if material.vertex_damping == 0:
            return ""
        factor = f" times adaptive_cap = {material.adaptive_cap:g}" if material.adaptive_force else ""
        return f" (vertex_damping = {material.vertex_damping:g} N s/m{factor} is part of that)"

    def takes_implicit(self) -> bool:
        return self.network != "all-pairs"

    def made_of(self) -> tuple[Quantity, ...]:
        return (("springs of ", self.material.spring_stiffness, "N/m"),)

    def jobs(self) -> list[str]:
        found = [*super().jobs(), "solver"]
        return found if self.network in ("all-pairs", "voxels") else [job for job in found if job != "networks"]


SPRINGS = Room(
    name="springs",
    bodies="bodies of springs",
    body=SpringsBody,
    building="pliant.bodies.springs.building",
    stiffness="spring_stiffness",
    changes=(
        "mass_damping", "stiffness_damping", "spring_stiffness", "spring_damping", "vertex_damping", "adaptive_force", "adaptive_cap",
    ),
    jobs={
        "springs": Job(tuple({**BOX, "model": "springs", "integrator": each} for each in ("implicit", "symplectic")), {"solver": "direct"}),
        "networks": Job((
            {**BOX, "model": "springs", "network": "all-pairs"},
            {**BOX, "model": "springs", "network": "voxels", "spacing": 0.5, "integrator": "symplectic"},
        )),
    },
)  # fmt: skip
