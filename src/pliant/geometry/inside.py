"""What is put inside a surface: tetrahedra that follow it, or cells that it cuts.

`fill = "conforming"` is fTetWild, `fill = "lattice"` the cells of geometry/lattice; "auto" takes tetrahedra where they will be quick, and
says why it takes cells where it does. Only models that can ride in cells (bodies/room.py) get them.

`simplified` makes fewer triangles of a surface that is finer than what is made of it, by quadric error metrics [Garland 1997] through VTK.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.base import PliantError, nearest, unbroken
from pliant.geometry.lattice.build import default_edge, lattice
from pliant.geometry.lattice.closing import closed_surface, is_closed_solid
from pliant.geometry.mass import mass_of_surface, vertex_areas
from pliant.geometry.mesh import Surface
from pliant.geometry.normals import face_crosses
from pliant.geometry.shape import Shape
from pliant.geometry.subdivide import subdivided
from pliant.geometry.tetrahedralise import DEVIATION, EDGE, TimeUp, estimated_seconds, fill, is_kept, is_there
from pliant.geometry.topology import Edges, diagonal
from pliant.geometry.triangle import distance_to
from pliant.kernels import kernel
from pliant.spec.table import LARGEST, SMALLEST

FILLS = ("auto", "conforming", "lattice")
QUICK = 5.0  # [s] that "auto" waits for tetrahedra
PATIENCE = 2.0  # times that, for estimates that fail
LONG = 900.0  # [s] that "conforming" waits
# Part of the volume that may lie between a surface and one as far from it as tetrahedra may be. They lost 0.06 to 0.096 of what lies there
# (tori and rods with 0.058 to 0.155 of their volume there; 0.18 of 0.22), so that with 0.1 they lose a hundredth of the mass at most.
THIN = 0.1
SKIN = 1 / 4  # of a cell: a skin of triangles much finer than this is simplified; on a ball of one cell they are off by SKIN^2 / 8 = 0.008
SKIN_OFF = 0.05  # of a cell: how far it may be from the surface then


@dataclass(frozen=True)
class Filling:
    """How a shape is to be filled."""

    fill: str = "auto"
    edge: float | None = None  # [m] of tetrahedra or cells
    holes: bool = False  # close holes for tetrahedra too
    cells: bool = False  # whether the body can be made of cells

    @classmethod
    def taken_from(cls, spec: dict[str, Any], cells: bool) -> Filling:
        """Out of what a scene says of a shape; its keys are removed."""
        found = cls(spec.pop("fill", "auto"), spec.get("edge"), spec.pop("holes", False), cells)
        if not isinstance(found.holes, bool):
            raise PliantError(f"holes must be true or false, not {found.holes!r}.")
        if found.fill not in FILLS:
            raise PliantError(f"fill = \"{found.fill}\": {nearest(found.fill, FILLS)}")
        return found


def filled(shape: Shape, how: Filling) -> Shape:
    """The shape with an inside; the note says how, where it was a choice."""
    surface = shape.surface()
    if how.fill == "lattice":
        if not how.cells:
            raise PliantError(
                "fill = \"lattice\" makes cells that the surface cuts, for models fem, rigid and static; "
                "this body needs tetrahedra that follow it: fill = \"conforming\" (or for springs network = \"voxels\")."
            )
        return _cells(shape, surface, how)
    if how.holes:
        surface = closed_surface(surface, diagonal(surface.points) * EDGE / 2.0)[0]
    if how.fill == "conforming" or not how.cells:
        return _tetrahedra(shape, surface, how, time_allowed(LONG))
    why, _ = why_cells(surface, how)
    if why:
        return _cells(shape, surface, how, why)
    return _tetrahedra(shape, surface, how, time_allowed(PATIENCE * QUICK), QUICK)


def time_allowed(usual: float) -> float:
    """[s] for tetrahedra: `--fill-timeout` of the command line, PLIANT_FILL_TIMEOUT, or what is usual."""
    given = os.environ.get("PLIANT_FILL_TIMEOUT", "")
    try:
        return float(given) if given else usual
    except ValueError:
        raise PliantError(f"PLIANT_FILL_TIMEOUT = \"{given}\" is not a number of seconds.") from None


def why_cells(surface: Surface, how: Filling) -> tuple[str, float]:
    """Why "auto" takes cells, nothing if it takes tetrahedra; and how long these take at least, about [s], 0 if they are kept."""
    if not is_there():
        return "pytetwild, which makes tetrahedra that follow a surface, is not installed", np.inf
    if not is_closed_solid(surface):
        return "the surface is open or its faces do not agree", np.inf
    edge = how.edge or diagonal(surface.points) * EDGE
    off = DEVIATION * diagonal(surface.points)
    if _is_thin(surface, off):
        return f"it has parts so thin that the {off:.2g} m by which tetrahedra that follow it may leave it would change its mass", np.inf
    if _has_near_parts(surface, off):
        return f"it has parts that may be nearer to each other than {off:.2g} m, which tetrahedra that follow it would join", np.inf
    if is_kept(surface, edge):
        return "", 0.0
    seconds = estimated_seconds(least_left(surface, *_fineness(surface, edge)))
    return _too_slow(len(surface.faces), seconds) if seconds > QUICK else "", seconds


def _too_slow(triangles: int, seconds: float) -> str:
    return f"tetrahedra that follow its {triangles} triangles take {seconds:.0f} s or more (fill = \"conforming\" makes them)"


def _is_thin(surface: Surface, off: float) -> bool:
    """Whether what is between a surface and one `off` [m] from it is more than THIN of what it encloses."""
    return bool(off * vertex_areas(surface.points, surface.faces).sum() > THIN * mass_of_surface(surface).volume)


def _has_near_parts(surface: Surface, off: float) -> bool:
    """Whether boxes around two of its parts are nearer to each other than `off` [m]."""
    part = Edges(surface.faces).part
    count = int(part.max()) + 1
    x = surface.points[surface.faces]
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, part, x.min(axis=1))
    np.maximum.at(high, part, x.max(axis=1))
    order = np.argsort(low[:, 0], kind="stable")
    return bool(_boxes_near(low[order], high[order], off))


@kernel
def _boxes_near(low, high, off):  # type: ignore[no-untyped-def]
    """Whether two of some boxes, in the order of their first x, are nearer to each other than `off` along every axis."""
    for i in range(len(low)):
        for j in range(i + 1, len(low)):
            if low[j, 0] > high[i, 0] + off:
                break
            beside = max(low[j, 1] - high[i, 1], low[i, 1] - high[j, 1], low[j, 2] - high[i, 2], low[i, 2] - high[j, 2])
            if beside <= off:
                return True
    return False


def _fineness(surface: Surface, edge: float) -> tuple[float, float]:
    """Edge and deviation [m] of what fTetWild is given: a surface not much finer than the tetrahedra."""
    return 0.5 * edge, DEVIATION * diagonal(surface.points)


def _tetrahedra(shape: Shape, surface: Surface, how: Filling, timeout: float, quick: float = np.inf) -> Shape:
    """The shape with tetrahedra, if they will take no more than `quick` [s]."""
    edge = how.edge or diagonal(surface.points) * EDGE

    def prepared(given: Surface) -> Surface:
        found = simplified(given, *_fineness(given, edge))
        seconds = estimated_seconds(len(found.faces))
        if seconds > max(quick, timeout / PATIENCE):  # it kept more triangles than could be hoped for
            raise TimeUp(_too_slow(len(found.faces), seconds))
        return found

    try:
        made = fill(surface, how.edge, timeout=timeout, log_progress=True, prepare=prepared)
    except TimeUp as late:
        if not how.cells:
            raise PliantError(
                f"{str(late).split('.')[0]}. Choose a longer edge or give it more time (--fill-timeout); this model cannot be of cells "
                "(fill = \"lattice\"), but springs with network = \"voxels\" and model = \"points\" need no tetrahedra."
            ) from None
        return _cells(shape, surface, how, str(late).split(".")[0])
    return replace(shape, tets=made.mesh, skin=None)


def _cells(shape: Shape, surface: Surface, how: Filling, why: str = "") -> Shape:
    """The shape with cells; their skin is the surface, closed if need be."""
    size = diagonal(surface.points)
    closed, done = closed_surface(surface, 0.25 * (how.edge or size / 25.0))
    edge = how.edge or default_edge(closed)
    skin = subdivided(simplified(closed, SKIN * edge, SKIN_OFF * edge), edge).surface  # it is by its vertices that it touches and bends
    mesh, weights = lattice(skin, edge)
    text = f"filled with {len(mesh.tets)} tetrahedra in cells of {edge:.3g} m that its surface cuts"
    text += f": {why}" if why else ""
    text += f"; {done}" if done else ""
    return replace(shape, tets=mesh, skin=skin, weights=weights, analytic=None, cloud=None, notes=(*shape.notes, text))


def placed(shape: Shape, place: str | None, fit: float | None) -> Shape:
    """Scaled so that its largest extent is `fit` [m], then moved: "centre", its box about the origin; "on-ground", above it on z = 0."""
    if place is None and fit is None:
        return shape
    if place not in (None, "centre", "on-ground"):
        raise PliantError(f"place = \"{place}\": {nearest(place, ('centre', 'on-ground'))}")
    if shape.name == "plane":
        raise PliantError("a plane has no end: it cannot be placed or fitted.")
    points = shape.cloud.points if shape.cloud is not None else shape.surface().points
    scale = 1.0
    if fit is not None:
        if not (isinstance(fit, int | float) and SMALLEST <= fit <= LARGEST):
            raise PliantError(f"fit = {fit!r} must be a length in metres: the largest extent of the shape.")
        scale = float(fit) / float(np.ptp(points, axis=0).max())
    low, high = scale * points.min(axis=0), scale * points.max(axis=0)
    shift = np.zeros(3)
    if place is not None:
        shift = -0.5 * (low + high)
        if place == "on-ground":
            shift[2] = -low[2]
    move = lambda x: None if x is None else replace(x, points=scale * x.points + shift)
    still = float(np.abs(shift).max()) <= 1e-9 * float(np.ptp(points, axis=0).max()) * scale
    exact = (shape.analytic[0], tuple(scale * v for v in shape.analytic[1])) if shape.analytic and still else None
    return replace(shape, tets=move(shape.tets), skin=move(shape.skin), cloud=move(shape.cloud), analytic=exact)


WORTH = 2.0  # times as many triangles as are needed: with fewer, simplifying saves nothing
TRIES = 3  # each removes half as much as the one before
CREASE = 0.5  # [rad] between faces: what is sharper is the edge of something, which fewer triangles keep as well
EQUILATERAL = 0.43  # area of a triangle with three edges of 1


def simplified(surface: Surface, edge: float, deviation: float) -> Surface:
    """The surface with triangles about `edge` [m] large, everywhere within `deviation` [m] of the old one; or itself."""
    have = len(surface.faces)
    for left in _tries(surface, edge):
        found = _decimated(surface, 1.0 - left / have)
        if _closed_as(surface, found) and _apart(surface, found) <= deviation:
            return found
    return surface


def least_left(surface: Surface, edge: float, deviation: float) -> int:
    """How many triangles `simplified` leaves, about and if all goes well: the fewest it tries that can be as near as that.

    A triangle of edge h is off a surface of curvature c by c h^2 / 8 at most, so that deviation d takes c / (8 d EQUILATERAL) triangles
    to a square metre: the sum over edges of length times half the angle between their faces, which is c summed over the surface.
    """
    enough = _bent(surface) / (8.0 * EQUILATERAL * deviation)
    return int(min((left for left in _tries(surface, edge) if left >= enough), default=len(surface.faces)))


def _tries(surface: Surface, edge: float) -> list[float]:
    """Numbers of triangles to come down to, none if the surface is not worth it."""
    area, have = 0.5 * float(np.linalg.norm(face_crosses(surface.points, surface.faces), axis=1).sum()), len(surface.faces)
    wanted = max(area / (EQUILATERAL * edge * edge), 100.0)
    return [have / (have / wanted) ** (0.5**turn) for turn in range(TRIES)] if have >= WORTH * wanted else []


def _bent(surface: Surface) -> float:
    """Curvature summed over a surface [m]: over its edges but creases, half their length times the angle between the faces."""
    normal = face_crosses(surface.points, surface.faces)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    edges = Edges(surface.faces)
    one, other = edges.shared
    a, b, ends = normal[one // 3], normal[other // 3], surface.points[edges.directed[one]]
    angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ei,ei->e", a, b))
    return 0.5 * float((np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) * angle)[angle < CREASE].sum())


def _closed_as(surface: Surface, found: Surface) -> bool:
    return len(found.faces) > 0 and bool(Edges(found.faces).balance.any()) <= bool(Edges(surface.faces).balance.any())


def _apart(a: Surface, b: Surface) -> float:
    """Largest distance of the vertices of either from the other [m]."""
    return max(float(distance_to(a, b.points).max()), float(distance_to(b, a.points[np.unique(a.faces)]).max()))


def _decimated(surface: Surface, reduction: float) -> Surface:
    with unbroken():
        from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy  # VTK: start-up time
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
        from vtkmodules.vtkFiltersCore import vtkQuadricDecimation

    points, cells, data = vtkPoints(), vtkCellArray(), vtkPolyData()
    points.SetDataTypeToDouble()
    points.SetData(numpy_to_vtk(np.ascontiguousarray(surface.points)))
    cells.SetData(3, numpy_to_vtkIdTypeArray(np.ascontiguousarray(surface.faces.ravel())))
    data.SetPoints(points)
    data.SetPolys(cells)
    filter_ = vtkQuadricDecimation()
    filter_.SetInputData(data)
    filter_.SetTargetReduction(reduction)
    filter_.Update()
    out = filter_.GetOutput()
    if out.GetNumberOfPolys() == 0:
        return Surface(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    found = vtk_to_numpy(out.GetPoints().GetData()).astype(np.float64)
    faces = vtk_to_numpy(out.GetPolys().GetConnectivityArray()).astype(np.int64).reshape(-1, 3)
    used, local = np.unique(faces, return_inverse=True)
    return Surface(found[used], local.reshape(-1, 3))
