"""What pliant asks of a body model: a room holds all of it, and others read it through the register.

A room imports nothing from above: contact, measure, record, simulate and look ask it. Its fields are classes (bodies/schema.py), its
arrays are made by a module of functions (`Building`), and what is said and drawn of its bodies is data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from pliant.base import PliantError

if TYPE_CHECKING:
    from pliant.bodies.elements import Elements
    from pliant.bodies.parts import BodyParts
    from pliant.bodies.schema import Body, Material
    from pliant.geometry.shape import Shape


class Building(Protocol):
    """What makes arrays of a body; a module will do."""

    def parts(self, body: Any, shape: Shape, inside: bool) -> BodyParts:
        """The arrays of a body in its shape; `inside`: with tetrahedra, which a contact method needs."""
        ...

    def changed(self, body: Any, groups: list[tuple[Elements, Any]], model: Any, number: int) -> None:
        """Write values of the material, which have changed, into its element groups (which elements are its own), and into the model."""
        ...


@dataclass(frozen=True)
class Job:
    """A tiny world whose steps call the kernels of a model, so that they can be compiled ahead."""

    bodies: tuple[dict[str, Any], ...]
    scene: dict[str, Any] = field(default_factory=dict)  # other than contact = "none"


@dataclass(frozen=True)
class Room:
    """A body model."""

    name: str  # as in model = "fem"
    bodies: str  # what a sentence calls its bodies: "bodies of springs"
    body: type[Body]  # the fields
    building: str | Building  # a module by its name is loaded when the first body is made: kernels take long to load
    soft: bool = True  # has nodes that move each by itself, not a frame
    moves: bool = True
    local: bool = False  # gives way where it is pressed, so that it overlaps whatever it touches
    surfels: bool = False  # meets others by surfels on its surface, and is searched by spheres
    phyxels: bool = False  # its nodes see those near them and no mesh holds its surface, so that contact must not be stiffer than they are
    solid: bool = False  # its elements are its tetrahedra: recorded and drawn as such, with stress and det F
    cells: bool = False  # can be made of cells that its surface cuts
    stiffness: str = ""  # field of the material that says how stiff it is
    changes: tuple[str, ...] = ()  # fields of the material that may change while it runs
    jobs: Mapping[str, Job] = field(default_factory=dict)
    shipped: bool = True  # with pliant

    @property
    def hard(self) -> bool:
        """Whether its bodies keep their shape."""
        return not self.soft and not self.local

    @property
    def material(self) -> type[Material]:
        """The fields of its material."""
        return cast("type[Material]", self.body.model_fields["material"].annotation)

    @property
    def built(self) -> Building:
        """What makes arrays of its bodies."""
        return cast(Building, import_module(self.building)) if isinstance(self.building, str) else self.building


ROOMS: dict[str, Room] = {}  # by name; register.py fills it
UNKNOWN = Room("", "bodies", cast(Any, None), "", shipped=False)


def find_room(name: str) -> Room:
    """The room of a model; an unknown one is an error that lists the known ones."""
    if not isinstance(name, str) or name not in ROOMS:
        names = [f"'{each}'" for each in ROOMS]
        raise PliantError(f"model: there is no '{name}'; it should be {', '.join(names[:-1])} or {names[-1]}.")
    return ROOMS[name]


def room_of(kind: str | None) -> Room:
    """The room of a kind of bodies; one that is not known here, as in a run of someone else's, counts as soft and moving."""
    return ROOMS.get(kind or "", UNKNOWN)
