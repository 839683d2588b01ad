"""pliant: contact between soft, quasi-rigid and rigid bodies, simulated and measured.

The public names load when they are first used, so that `import pliant` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "Scene": "pliant.scene",
    "Body": "pliant.scene",
    "Material": "pliant.scene",
    "Simulation": "pliant.simulate.simulation",
    "Contacts": "pliant.contact.contacts",
    "Support": "pliant.contact.contacts",
    "Answer": "pliant.contact.method",
    "Rows": "pliant.world.motion",
    "register_method": "pliant.contact.method",
    "register_material": "pliant.bodies.fem.materials",
    "register_model": "pliant.bodies.models",
    "PliantError": "pliant.base",
    "Surface": "pliant.geometry.mesh",
    "TetMesh": "pliant.geometry.mesh",
    "press": "pliant.pressing.tool",
    "shapes": "pliant.geometry.shapes",
}
__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    module = importlib.import_module(_WHERE[name])
    return module if _WHERE[name].endswith("." + name) else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
