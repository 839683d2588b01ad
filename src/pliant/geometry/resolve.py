"""From what a scene says of a shape to the shape itself."""

from __future__ import annotations

from typing import Any

from pliant.geometry.mesh import PliantError, Surface, TetMesh
from pliant.geometry.shape import Shape

PLANE = Shape("plane", None, None, ("plane", ()))


def resolve(spec: Any, solid: bool) -> Shape:
    """A Shape from a name with parameters, a mesh file, a mesh or a Shape; with tetrahedra if `solid`."""
    if isinstance(spec, Shape):
        shape = spec
    elif isinstance(spec, TetMesh):
        shape = Shape("mesh", spec)
    elif isinstance(spec, Surface):
        shape = Shape("surface", None, spec)
    else:
        shape = _named(dict(spec))
    if solid and shape.tets is None:
        raise PliantError(f"the shape '{shape.name}' is a surface; this model needs tetrahedra.")
    return shape


def _named(spec: dict[str, Any]) -> Shape:
    from pliant.geometry.shapes import make

    kind = spec.pop("kind")
    if kind == "plane":
        if spec:
            raise PliantError(f"a plane has no parameters (it is z = 0 of the body's frame), not {', '.join(spec)}.")
        return PLANE
    return make(kind, **spec)
