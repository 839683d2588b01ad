"""The contact of a run that pressed hardest, and the map of its pressure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.geometry.mesh import Floats, Ints

if TYPE_CHECKING:
    from pliant.contact.contacts import Contacts
    from pliant.record import Run

MARGIN = 0.35  # of the width of the contact, around it
MANY = 1500  # triangles, whose edges would hide the colours


@dataclass(frozen=True)
class Hardest:
    """A pair of bodies in a frame."""

    frame: int
    time: float  # [s]
    a: str
    b: str
    ids: tuple[int, int]
    contacts: Contacts  # of the pair, forces on a


def hardest_contact(run: Run) -> Hardest | None:
    """The recorded frame and pair with the largest force; None if no frame has contacts."""
    best: tuple[float, int, int, int] | None = None
    from pliant.contact.contacts import Contacts
    from pliant.measure.pairs import per_pair

    for frame in range(run.frames):
        sums = per_pair(Contacts.of_arrays(run.contact_rows(frame)))
        if sums:
            size = np.linalg.norm(sums["force"], axis=1)
            k = int(np.argmax(size))
            found = (float(size[k]), frame, int(sums["a"][k]), int(sums["b"][k]))
            best = found if best is None or found[0] > best[0] else best
    if best is None:
        return None
    _, frame, a, b = best
    names = run.cells(frame).bodies
    rows = Contacts.of_arrays(run.contact_rows(frame)).between(a, b)
    return Hardest(frame, float(run.times[frame]), names.get(a, str(a)), names.get(b, str(b)), (a, b), rows)


def plot_map(run: Run, hardest: Hardest, path: Path) -> Path | None:
    """Pressure over the surface that knows it best, seen along the mean normal; None if no field says it."""
    from pliant.look.source import Film

    picture = Film(run).picture(hardest.frame, ("pressure",))
    pressure = np.nan_to_num(np.asarray(picture.point_fields.get("pressure", np.zeros(len(picture.points))), np.float64))
    touched = [int(np.count_nonzero(pressure[np.unique(picture.triangles[picture.triangle_body == i])] > 0)) for i in hardest.ids]
    if max(touched) < 3:
        return None
    body = hardest.ids[int(np.argmax(touched))]
    triangles = picture.triangles[picture.triangle_body == body]
    flat, near = _flattened(picture.points, triangles, pressure, hardest.contacts)
    name = (hardest.a, hardest.b)[hardest.ids.index(body)]
    return _draw(flat, triangles[near], pressure, f"on {name}, t = {hardest.time:.4g} s", path)


def _flattened(points: Floats, triangles: Ints, pressure: Floats, contacts: Contacts) -> tuple[Floats, np.ndarray]:
    """Points in the plane of the contact [m], (P, 2), and which triangles lie in and around it."""
    weight = np.maximum(contacts.normal_force, 0.0)
    normal = (weight[:, None] * contacts.normal).sum(axis=0)
    normal = normal / max(float(np.linalg.norm(normal)), 1e-300)
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    u = np.cross(helper, normal)
    u /= np.linalg.norm(u)
    axes = np.stack([u, np.cross(normal, u)])
    centre = contacts.center_of_pressure
    flat = (points - centre) @ axes.T
    reach = float(np.linalg.norm(contacts.point[weight > 0] - centre, axis=1).max(initial=0.0)) * (1.0 + MARGIN)
    nearest = np.linalg.norm(points[triangles] - centre, axis=2).min(axis=1)
    reach = max(reach, 2.0 * float(nearest.min()))
    x = points[triangles]
    face = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    side = np.sign(np.sum(face[(pressure[triangles] > 0).all(axis=1)] @ normal)) or 1.0  # the side that touches, not the far one
    return flat, (nearest <= reach) & (side * (face @ normal) > 0)


def _draw(flat: Floats, triangles: Ints, pressure: Floats, title: str, path: Path) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.tri import Triangulation

    from pliant.look.fields import Scale, round_up
    from pliant.look.stage import COLOURS

    scale = Scale("pressure", 0.0, round_up(float(pressure[triangles].max())))
    factor = 1e3 if np.ptp(flat[triangles]) < 1.0 else 1.0
    figure = Figure(figsize=(6.4, 4.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    colours = LinearSegmentedColormap.from_list("pliant", [tuple(c / 255 for c in colour) for colour in COLOURS])
    mesh = Triangulation(factor * flat[:, 0], factor * flat[:, 1], triangles)
    shown = axes.tripcolor(mesh, pressure, shading="gouraud", cmap=colours, vmin=0.0, vmax=scale.high)
    if len(triangles) < MANY:
        axes.triplot(mesh, color="white", linewidth=0.3, alpha=0.5)
    axes.set_aspect("equal")
    axes.set_xlabel("mm" if factor > 1 else "m")
    axes.set_title(title, fontsize=10, loc="left")
    bar = figure.colorbar(shown, ax=axes, ticks=np.linspace(0.0, scale.high, 5), shrink=0.9)
    bar.ax.set_yticklabels(scale.labels())
    bar.set_label(scale.title)
    figure.savefig(path)
    return path
