"""From what a scene says of a shape to the shape itself: by name, from a mesh file, or a mesh made in Python."""

from __future__ import annotations

import logging
from typing import Any

from pliant.base import PliantError, nearest
from pliant.geometry.files import PointCloud
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shape import Shape

log = logging.getLogger("pliant")
PLANE = Shape("plane", None, None, ("plane", ()))
FILE_KEYS = ("file", "unit", "up", "size", "rotation", "edge")  # of shape = {file = ...}


def resolve(spec: Any, solid: bool) -> Shape:
    """A Shape from a name with parameters, a mesh file, a mesh or a Shape; with tetrahedra if `solid`."""
    edge = None
    if isinstance(spec, Shape):
        shape = spec
    elif isinstance(spec, TetMesh):
        shape = Shape("mesh", spec)
    elif isinstance(spec, Surface):
        shape = Shape("surface", None, spec)
    elif isinstance(spec, PointCloud):
        shape = Shape("the point cloud", None, cloud=spec)
    elif "file" in spec:
        edge = spec.get("edge")
        shape = _from_file(dict(spec))
    else:
        shape = _named(dict(spec))
    if solid and shape.tets is None:
        return _filled(shape, edge)
    return shape


def _named(spec: dict[str, Any]) -> Shape:
    from pliant.geometry.shapes import make

    kind = spec.pop("kind")
    if kind == "plane":
        if spec:
            raise PliantError(f"a plane has no parameters (it is z = 0 of the body's frame), not {', '.join(spec)}.")
        return PLANE
    return make(kind, **spec)


def _from_file(spec: dict[str, Any]) -> Shape:
    """The mesh in a file, checked and repaired as `pliant check` says."""
    from pliant.geometry.check import load

    for key in spec:
        if key not in FILE_KEYS:
            raise PliantError(f"a shape from a file has no '{key}': {nearest(key, FILE_KEYS)}")
    mesh, _ = load(spec["file"], **{k: v for k, v in spec.items() if k not in ("file", "edge")})
    if isinstance(mesh, TetMesh):
        return Shape(spec["file"], mesh)
    if isinstance(mesh, Surface):
        return Shape(spec["file"], None, mesh)
    return Shape(spec["file"], None, cloud=mesh)


def _filled(shape: Shape, edge: float | None) -> Shape:
    """The shape with tetrahedra inside; its surface becomes that of the tetrahedra."""
    from pliant.geometry.tetrahedralise import tetrahedralise

    log.info("%s: a surface, to be filled with tetrahedra (once; the result is kept)", shape.name)
    return Shape(shape.name, tetrahedralise(shape.surface(), edge))
