"""What `contact = "auto"` stands for: a method for every pair of bodies, by how they are made and stepped.

`contact = "classic"` is what it stood for before there was `patch`: one method for the whole scene, by the models in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pliant.bodies.register import room_of
from pliant.bodies.room import Room

RULES = ("auto", "classic")  # names that stand for methods without being one


class Kind(NamedTuple):
    """All that the choice knows of a body."""

    model: str
    implicit: bool = False  # its nodes take implicit steps
    rim: bool = False  # its surface ends somewhere, as that of a sheet does

    @property
    def room(self) -> Room:
        return room_of(self.model)


WHY = {
    "none": "nothing in the scene can touch anything else",
    "patch": "contact over the surface that they share, solved with the bodies, has the right pressure and area and stands at long steps",
    "quasi-rigid": "surfaces of quasi-rigid bodies give way only under it",
    "point-surface": "it is made for bodies of points, which it meets through their surfels",
    "noniterative": "soft bodies with tetrahedra meet in closed form, which costs little in short steps",
    "continuous-penalty": "vertices, faces and edges meet along their paths, so that nothing thin or fast slips through",
}


def of_pair(a: Kind, b: Kind) -> str:
    """The method for two bodies, or for one that is to meet itself."""
    rooms = (a.room, b.room)
    if not any(room.moves for room in rooms):
        return "none"
    if any(room.phyxels for room in rooms):
        return "point-surface"
    if any(room.local for room in rooms):
        return "quasi-rigid"
    if not all(room.solid or room.hard for room in rooms) or a.rim or b.rim:
        return "continuous-penalty"
    if not all(kind.implicit or kind.room.hard for kind in (a, b)):
        return "noniterative"
    return "patch"


def of_scene(models: Iterable[str]) -> str:
    """The one method of `classic`."""
    models = list(models)
    rooms = [room_of(model) for model in models]
    if not any(room.moves for room in rooms) or len(rooms) < 2:
        return "none"
    if "quasi-rigid" in models:
        return "quasi-rigid"
    if "points" in models:
        return "point-surface"
    if any(room.solid for room in rooms) and all(room.solid or room.hard for room in rooms):
        return "noniterative"
    return "continuous-penalty"
