"""pliant: contact between soft, quasi-rigid and rigid bodies, simulated and measured.

The public names load when they are first used, so that `import pliant` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see
    from pliant.base import PliantError
    from pliant.bodies.fem.materials import register_material
    from pliant.bodies.register import register_model
    from pliant.contact.contacts import Contacts, Support
    from pliant.contact.method import Answer, register_method
    from pliant.geometry import shapes
    from pliant.geometry.mesh import Surface, TetMesh
    from pliant.pressing.tool import press
    from pliant.scene import Body, Material, Scene
    from pliant.simulate.simulation import Simulation
    from pliant.studies.refine import refine
    from pliant.studies.study import Study
    from pliant.world.motion import Rows

__version__ = "0.1.0"
__all__ = [
    "Answer", "Body", "Contacts", "Material", "PliantError", "Rows", "Scene", "Simulation", "Study", "Support", "Surface", "TetMesh",
    "__version__", "press", "refine", "register_material", "register_method", "register_model", "shapes",
]  # fmt: skip

_NAMES = {  # in each module
    "base": "PliantError", "bodies.fem.materials": "register_material", "bodies.register": "register_model",
    "contact.contacts": "Contacts Support", "contact.method": "Answer register_method", "geometry.mesh": "Surface TetMesh",
    "pressing.tool": "press", "scene": "Body Material Scene", "simulate.simulation": "Simulation", "studies.refine": "refine",
    "studies.study": "Study", "world.motion": "Rows",
}  # fmt: skip
_WHERE = {name: f"pliant.{module}" for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "shapes":
        return importlib.import_module("pliant.geometry.shapes")
    if name not in _WHERE:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
