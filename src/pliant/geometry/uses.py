"""What will become of a mesh or cloud that is used for a body: said before anything is run."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.geometry.files import Mesh, PointCloud
from pliant.geometry.inside import Filling, why_cells
from pliant.geometry.lattice.build import default_edge
from pliant.geometry.lattice.closing import closed_surface, is_closed_solid
from pliant.geometry.lattice.lines import mass_of_solid
from pliant.geometry.mass import mass_of_surface, vertex_areas
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.shapes import Wrap
from pliant.geometry.tetrahedralise import EDGE
from pliant.geometry.topology import diagonal
from pliant.geometry.units import units_asked

USES = ("soft", "rigid", "points", "quasi-rigid", "press")
PER_TRIANGLE, PER_TET = 1e-5, 1.6e-5  # [s] that filling with cells takes, about
PER_VOLUME, PER_AREA = 5.0, 1.3  # tetrahedra in a cell; and more for each square of its edge that the surface has: those that it cuts
TETS = 8.5  # tetrahedra in a cube of their edge
SIMPLE = 9.2  # triangles in a square of that edge, of half of it: finer surfaces are simplified first


@dataclass
class Outlook:
    """What will happen with a file in one use."""

    use: str
    works: bool
    low: list[float]  # [m] box
    high: list[float]
    centre: list[float] | None  # [m] of mass
    volume: float | None  # [m^3]
    elements: int | None  # about
    seconds: float | None  # of filling, about
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join(f"  {line}" for line in self.lines)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def outlook(mesh: Mesh, use: str, edge: float | None, wrap: Wrap) -> Outlook:
    """For a mesh after repair; `edge` [m] of elements; `wrap` makes a surface of a cloud, as for a run."""
    if use not in USES:
        raise PliantError(f"--as {use}: {nearest(use, USES)}")
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    surface = mesh.surface() if isinstance(mesh, TetMesh) else mesh
    closed = isinstance(surface, Surface) and is_closed_solid(surface)
    found = Outlook(use, True, low.tolist(), high.tolist(), None, None, None, None)
    found.lines.append(f"box {_place(low)} to {_place(high)} m; the origin is {_origin(low, high)}.")
    if closed and isinstance(surface, Surface):
        _say_mass(surface, found)
    found.lines += units_asked(float((high - low).max()))
    if use == "soft":
        _soft(mesh, edge, wrap, found)
    else:
        {"rigid": _rigid, "points": _points, "quasi-rigid": _sampled, "press": _sampled}[use](mesh, edge, found)
    return found


def _say_mass(closed: Surface, found: Outlook, how: str = "") -> None:
    whole = mass_of_solid(closed)
    how += "" if whole.volume == mass_of_surface(closed).volume else ", what overlaps counted once"
    found.volume, found.centre = whole.volume, [float(c) for c in whole.centre]
    water = 1000.0 * whole.volume
    found.lines.append(f"volume {whole.volume:.4g} m^3 ({water:.3g} kg of water), centre of mass {_place(whole.centre)} m{how}.")


def _place(x: Floats) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in x) + ")"


def _origin(low: Floats, high: Floats) -> str:
    middle, size = 0.5 * (low + high), float((high - low).max())
    if (np.abs(middle) < 0.02 * size).all():
        return "in its middle"
    if (np.abs(middle[:2]) < 0.02 * size).all() and abs(low[2]) < 0.02 * size:
        return "below its middle, on the ground"
    outside = (low > 0.0).any() or (high < 0.0).any()
    words = f"{np.linalg.norm(middle):.3g} m from its middle" + (", outside it" if outside else "")
    return f"{words}: place = \"centre\" or \"on-ground\" moves it"


def _soft(mesh: Mesh, edge: float | None, wrap: Wrap, found: Outlook) -> None:
    if isinstance(mesh, TetMesh):
        found.elements, found.seconds = len(mesh.tets), 0.0
        found.lines.append(f"soft: its {len(mesh.tets)} tetrahedra are the elements; nothing has to be filled.")
        return
    began = time.process_time()
    try:
        if isinstance(mesh, PointCloud):
            closed, done = wrap(mesh, edge)
        else:
            closed, done = closed_surface(mesh, 0.25 * (edge or diagonal(mesh.points) / 25.0))
    except PliantError as error:
        found.works = False
        found.lines.append(f"soft: no. {str(error)[0].upper()}{str(error)[1:]}")
        return
    took = time.process_time() - began
    if found.volume is None:
        _say_mass(closed, found, ", with what is open closed" if isinstance(mesh, Surface) else ", of the surface around its points")
    assert found.volume is not None
    why, seconds = why_cells(mesh, Filling(edge=edge, cells=True)) if isinstance(mesh, Surface) else (done, 0.0)
    if why:
        _cells(closed, found.volume, edge, took, done or why, found)
    else:
        _tetrahedra(closed, found.volume, edge or diagonal(mesh.points) * EDGE, seconds, found)


def _tetrahedra(closed: Surface, volume: float, edge: float, seconds: float, found: Outlook) -> None:
    finest = SIMPLE * vertex_areas(closed.points, closed.faces).sum() / edge**2
    found.elements, found.seconds = int(TETS * volume / edge**3 + min(len(closed.faces), finest)), seconds
    soon = f"in about {seconds:.0f} s, the first time" if seconds else "which were made before and are kept"
    found.lines.append(
        f"soft: closed, filled with tetrahedra that follow it (fill = \"auto\"): about {_about(found.elements)} of {edge:.3g} m {soon}."
    )


def _cells(closed: Surface, volume: float, edge: float | None, closing: float, why: str, found: Outlook) -> None:
    """`closing` [s]: what making the closed surface took."""
    edge = edge or default_edge(closed)
    found.elements = int(PER_VOLUME * volume / edge**3 + PER_AREA * vertex_areas(closed.points, closed.faces).sum() / edge**2)
    found.seconds = closing + PER_TRIANGLE * len(closed.faces) + PER_TET * found.elements + 0.3
    found.lines.append(
        f"soft: filled with cells of {edge:.3g} m that it cuts (fill = \"auto\"), about {_about(found.elements)} tetrahedra in about "
        f"{max(found.seconds, 1.0):.0f} s: {why}."
    )


def _about(number: int) -> str:
    digits = max(0, len(str(number)) - 2)
    return str(round(number, -digits))


def _rigid(mesh: Mesh, edge: float | None, found: Outlook) -> None:
    if isinstance(mesh, PointCloud):
        found.lines.append("rigid: its points touch as they are (contact = \"quasi-rigid\" or \"point-surface\").")
    elif found.volume is None:
        found.works = False
        found.lines.append("rigid: no, it is open and has no mass; holes = true closes it. Static bodies need none.")
    else:
        found.lines.append(f"rigid: its {len(mesh.surface().faces) if isinstance(mesh, TetMesh) else len(mesh.faces)} triangles touch.")


def _points(mesh: Mesh, edge: float | None, found: Outlook) -> None:
    if found.volume is None:
        found.works = False
        found.lines.append("points: no, it has no inside to be filled with points; holes = true closes a surface.")
    else:
        found.elements = 400 if edge is None else int(found.volume / edge**3)
        found.lines.append(f"points: filled with about {found.elements} points (spacing sets how many); its surface rides on them.")


def _sampled(mesh: Mesh, edge: float | None, found: Outlook) -> None:
    count = len(mesh.points)
    found.elements = count
    sure = "" if not isinstance(mesh, PointCloud) or mesh.normals is not None else "; their normals are estimated"
    open_ = "" if found.volume is not None or isinstance(mesh, PointCloud) else "; it is open: holes count as flat lids for its mass"
    found.lines.append(f"{found.use}: its {count} points carry the pressure (spacing makes more){sure}{open_}.")
