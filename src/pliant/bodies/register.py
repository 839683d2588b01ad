"""The body models by name, one line each; and models of your own: elements over the tetrahedra of a shape.

A model of your own is a function `make(tets, rest, material) -> Elements` (bodies/elements.py says what these are): tets (t, 4) are
world node numbers, rest (n, 3) the places of all nodes of the world at the start [m], material the body's. The elements give the nodes
of the body their mass; every node needs some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.bodies.fem.room import FEM
from pliant.bodies.points.room import POINTS, PointsMaterial
from pliant.bodies.quasi_rigid.room import OF_CORE, QUASI_RIGID, QuasiRigidMaterial
from pliant.bodies.rigid.room import RIGID, STATIC
from pliant.bodies.room import ROOMS, Room, find_room, room_of
from pliant.bodies.schema import Body, SoftBody
from pliant.bodies.springs.room import SPRINGS, SpringsMaterial

if TYPE_CHECKING:
    from pliant.bodies.elements import Elements
    from pliant.bodies.parts import BodyParts
    from pliant.geometry.shape import Shape

__all__ = ["ROOMS", "AnyBody", "as_recorded", "find_room", "material_for", "register", "register_model", "room_of"]
Make = Callable[[Ints, Floats, Any], "Elements"]


def register(room: Room) -> None:
    """Make a body model known; sentences about its fields name it by the room's name."""
    for spec in (room.body, room.material):
        if "kind" not in vars(spec):
            spec.kind = room.name
    allowed = get_args(room.body.model_fields["model"].annotation)
    if room.shipped and allowed != (room.name,):
        raise PliantError(f"body model '{room.name}': {room.body.__name__} must have `model: Literal[\"{room.name}\"]`.")
    for name in (*room.changes, *([room.stiffness] if room.stiffness else [])):
        if name not in room.material.model_fields:
            known = nearest(name, room.material.model_fields)
            raise PliantError(f"body model '{room.name}': '{name}' is no field of {room.material.__name__}: {known}")
    ROOMS[room.name] = room


for _room in (FEM, SPRINGS, POINTS, RIGID, QUASI_RIGID, STATIC):
    register(_room)


class OwnMaterial(SpringsMaterial, PointsMaterial, QuasiRigidMaterial):
    """What a body of a model of your own is made of: the fields of all of pliant's models, for it to use."""

    kind: ClassVar[str] = "a model of your own"


class OwnBody(SoftBody):
    """A body of a model of your own."""

    kind: ClassVar[str] = "of a model of your own"

    model: Annotated[str, WithJsonSchema({"type": "string", "not": {"enum": list(ROOMS)}})]
    """a name given to register_model"""
    material: OwnMaterial = Field(default_factory=OwnMaterial)
    """what its function gets"""

    def filled(self, needs: frozenset[str]) -> bool:
        return True


@dataclass(frozen=True)
class _Own:
    """The nodes of the tetrahedra, and what a function makes of them."""

    make: Make

    def parts(self, body: OwnBody, shape: Shape, inside: bool) -> BodyParts:
        from pliant.bodies.own_elements import checked  # start-up time
        from pliant.bodies.parts import ElementPart, node_skin, placing, start_velocity  # kernels: start-up time

        assert shape.tets is not None
        rotation, shift = placing(body)
        mesh = shape.tets.moved(shift, rotation)
        parts = node_skin(mesh.points, mesh.boundary, mesh.tets)
        elements = lambda nodes, start, rest, values: checked(self.make(nodes, rest, body.material), body.name, body.model, rest)
        parts.elements = [ElementPart(body.model, body.name, mesh.tets, {}, elements)]  # `law`: a group for each body
        parts.node_mass, weights = np.zeros(len(mesh.points)), np.zeros(len(mesh.points))
        np.add.at(weights, mesh.tets, mesh.volumes[:, None])
        parts.velocity = start_velocity(body, parts.nodes, weights)
        parts.modulus = float(np.mean(body.material.youngs_modulus))
        return parts

    def changed(self, body: OwnBody, groups: list[tuple[Elements, Any]], model: Any, number: int) -> None:
        for group, mine in groups:
            group.rayleigh[mine] = body.material.stiffness_damping


def register_model(name: str, make: Make) -> None:
    """Make a body model of your own known by a name, for `Scene.add(model=name)`; the names of pliant's are refused."""
    if name in ROOMS and ROOMS[name].shipped:
        raise PliantError(f"body model '{name}' is one of pliant's own; choose another name")
    if not callable(make):
        raise PliantError(f"body model '{name}' is not callable; it needs to be a function make(tets, rest, material) -> elements")
    changes = ("mass_damping", "stiffness_damping")
    register(Room(name, f"bodies of the model {name}", OwnBody, _Own(make), changes=changes, shipped=False))


def material_for(model: str, **fields: Any) -> dict[str, Any]:
    """Those of the fields that materials of a model have: for scenes that try one after the other."""
    return {name: value for name, value in fields.items() if name in find_room(model).material.model_fields}


def as_recorded(values: dict[str, Any]) -> dict[str, Any]:
    """A body of a run file, which may be from before fields of other models were refused: without these, as they did nothing."""
    room = room_of(values.get("model", "fem"))
    if room not in ROOMS.values():
        return values
    idle = (*OF_CORE, "law") if room is QUASI_RIGID and "core" not in values else ()
    known = lambda spec, name: name not in idle and (name in spec.model_fields or spec.elsewhere(name) is None)
    kept = {name: value for name, value in values.items() if known(room.body, name)}
    material = {name: value for name, value in kept.get("material", {}).items() if known(room.material, name)}
    return kept | {"material": material}


class _Branches:
    """How a JSON schema describes a body: one branch for each model, and one for models of your own."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        classes: list[type[Body]] = [*(room.body for room in ROOMS.values() if room.shipped), OwnBody]
        for each in classes:
            each.model_rebuild()  # they are made when first used
        return {"oneOf": [handler(each.__pydantic_core_schema__) for each in classes]}


AnyBody = Annotated[Body, BeforeValidator(lambda value: Body(**value) if isinstance(value, dict) else value), _Branches]
