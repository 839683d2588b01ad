"""A picture of what is wrong with a surface: holes red, faces that were turned orange, faces that cut others violet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.geometry.check_surface import INTERSECTION_LIMIT, joined_surface
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.self_intersection import self_intersections
from pliant.geometry.topology import Edges, oriented
from pliant.look.draw import hidden_plotter

SIZE = (1200, 900)
PLAIN, OPEN, TURNED, CUT, CLOUD = "#c9ced6", "#d62728", "#ff8c1a", "#9437c9", "#3b6fb5"


def defects_picture(mesh: Any, out: Path) -> list[str]:
    """Draw a mesh or cloud from two sides; what is marked, in words."""
    plotter = hidden_plotter(SIZE)
    import pyvista  # which it has loaded

    plotter.set_background("white")
    said: list[str] = []
    if isinstance(mesh, TetMesh):
        mesh = mesh.surface()
    if isinstance(mesh, Surface):
        said = _add_surface(plotter, pyvista, mesh)
    else:
        plotter.add_mesh(pyvista.PolyData(mesh.points), color=CLOUD, point_size=5, render_points_as_spheres=True)
        said = [f"{len(mesh.points)} points"]
    plotter.add_light(pyvista.Light(light_type="headlight"))
    plotter.add_text("; ".join(said), font_size=10, color="black", position="lower_left")
    plotter.view_vector((1.0, -1.3, 0.7), viewup=(0, 0, 1))
    plotter.camera.zoom(1.3)
    plotter.add_axes(color="black")
    try:
        plotter.screenshot(str(out))
    except OSError as error:
        raise PliantError(f"{out} cannot be written: {error}.") from None
    finally:
        plotter.close()
    return said


def _add_surface(plotter: Any, pyvista: Any, surface: Surface) -> list[str]:
    if np.isfinite(surface.points).all():
        surface = joined_surface(surface)  # seams that will be welded are no holes
    points, faces = surface.points, surface.faces
    turn = oriented(points, faces)
    cut = np.unique(self_intersections(points, faces)) if len(faces) <= INTERSECTION_LIMIT else np.zeros(0, np.int64)
    kind = np.zeros(len(faces), np.int64)
    kind[turn.against] = 1
    kind[cut] = 2
    for number, colour in enumerate((PLAIN, TURNED, CUT)):
        chosen = faces[kind == number]
        if len(chosen):
            shown = pyvista.PolyData(points, np.hstack([np.full((len(chosen), 1), 3), chosen]).ravel())
            plotter.add_mesh(shown, color=colour, show_edges=len(faces) < 20_000, edge_color="#8a9099", line_width=0.5)
    edges = Edges(faces)
    rim = edges.ends[edges.count == 1]
    if len(rim):
        lines = pyvista.PolyData(points, lines=np.hstack([np.full((len(rim), 1), 2), rim]).ravel())
        plotter.add_mesh(lines, color=OPEN, line_width=5)
    marks = [(len(rim), "edges of holes (red)"), (len(turn.against), "faces turned round (orange)")]
    marks.append((len(cut), "faces that cut others (violet)"))
    found = [f"{count} {what}" for count, what in marks if count]
    return found or ["no holes, no faces turned round, none that cut others"]
