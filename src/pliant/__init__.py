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

_WHERE = {
    "Answer": "contact.method",
    "Body": "scene",
    "Contacts": "contact.contacts",
    "Material": "scene",
    "PliantError": "base",
    "Rows": "world.motion",
    "Scene": "scene",
    "Simulation": "simulate.simulation",
    "Study": "studies.study",
    "Support": "contact.contacts",
    "Surface": "geometry.mesh",
    "TetMesh": "geometry.mesh",
    "press": "pressing.tool",
    "refine": "studies.refine",
    "register_material": "bodies.fem.materials",
    "register_method": "contact.method",
    "register_model": "bodies.register",
    "shapes": "geometry",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    if name == "shapes":
        return importlib.import_module("pliant.geometry.shapes")
    return getattr(importlib.import_module(f"pliant.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
