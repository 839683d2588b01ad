"""The contact of a run that pressed hardest, and the map of its pressure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.contacts import Contacts
from pliant.look.fields import Scale, round_up
from pliant.look.source import Film
from pliant.look.stage import COLOURS
from pliant.measure.pairs import per_pair
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
    """Pressure of the pair over the side that knows it best, seen along the mean normal; None if no points of a surface carry it."""
    picture = Film(run).picture(hardest.frame, ())
    best, most = None, 2
    for body, name in zip(hardest.ids, (hardest.a, hardest.b), strict=True):
        triangles = picture.triangles[picture.triangle_body == body]
        pressure = pair_pressure(picture.points, triangles, hardest.contacts)
        touched = int(np.count_nonzero(pressure))
        if touched > most:
            best, most = (triangles, pressure, name), touched
    if best is None:
        return None
    triangles, pressure, name = best
    flat, shown, reach = _flattened(picture.points, triangles, pressure, hardest.contacts)
    other = hardest.b if name == hardest.a else hardest.a
    return _draw(flat, triangles[shown], pressure, reach, f"{other} on {name}, t = {hardest.time:.4g} s", path)


def pair_pressure(points: Floats, triangles: Ints, contacts: Contacts) -> Floats:
    """Pressure of contacts at the points of one body's triangles [Pa], (P,): as contact/pressure.py, but of these contacts alone."""
    support, force = contacts.support, np.zeros((len(points), 3))
    known = np.isin(support.point, triangles)
    push = (contacts.normal_force[:, None] * contacts.normal)[support.row[known]]
    np.add.at(force, support.point[known], support.weight[known, None] * np.nan_to_num(push))
    size = np.linalg.norm(force, axis=1)
    way = np.divide(force, size[:, None], out=np.zeros_like(force), where=size[:, None] > 0.0)
    x = points[triangles]
    face = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    seen = np.maximum(0.0, -np.einsum("fk,fck->fc", face, way[triangles])) / 6.0  # a third of a face for each corner, along its force
    area = np.bincount(triangles.ravel(), seen.ravel(), minlength=len(points))
    return np.divide(size, area, out=np.zeros(len(points)), where=area > 0.0)  # type: ignore[no-any-return]


def _flattened(points: Floats, triangles: Ints, pressure: Floats, contacts: Contacts) -> tuple[Floats, Ints, float]:
    """Points in the plane of the contact [m], (P, 2), the triangles that look at it, the nearest last, and how far it reaches [m]."""
    weight = np.maximum(contacts.normal_force, 0.0)
    normal = (weight[:, None] * contacts.normal).sum(axis=0)
    normal = normal / max(float(np.linalg.norm(normal)), 1e-300)
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    u = np.cross(helper, normal)
    u /= np.linalg.norm(u)
    centre = contacts.center_of_pressure
    flat = (points - centre) @ np.stack([u, np.cross(normal, u)]).T
    reach = (1.0 + MARGIN) * float(np.abs(flat[pressure > 0.0]).max())
    x = points[triangles]
    face = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    side = np.sign(np.sum(face[(pressure[triangles] > 0).any(axis=1)] @ normal)) or 1.0  # the side that touches, not the far one
    height = side * ((x.mean(axis=1) - centre) @ normal)
    shown = np.flatnonzero((side * (face @ normal) > 0) & (np.abs(flat[triangles]).max(axis=2).min(axis=1) <= 1.5 * reach))
    return flat, shown[np.argsort(height[shown])], reach


def _draw(flat: Floats, triangles: Ints, pressure: Floats, reach: float, title: str, path: Path) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.tri import Triangulation

    scale = Scale("pressure", 0.0, round_up(float(pressure[triangles].max())))
    factor = 1e3 if reach < 0.5 else 1.0
    figure = Figure(figsize=(6.0, 4.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    colours = LinearSegmentedColormap.from_list("pliant", [tuple(c / 255 for c in colour) for colour in COLOURS])
    mesh = Triangulation(factor * flat[:, 0], factor * flat[:, 1], triangles)
    shown = axes.tripcolor(mesh, pressure, shading="gouraud", cmap=colours, vmin=0.0, vmax=scale.high)
    if len(triangles) < MANY:
        axes.triplot(mesh, color="white", linewidth=0.3, alpha=0.5)
    axes.set(aspect="equal", xlim=(-factor * reach, factor * reach), ylim=(-factor * reach, factor * reach))
    axes.set_xlabel("mm" if factor > 1 else "m")
    axes.set_title(title, fontsize=10, loc="left")
    bar = figure.colorbar(shown, ax=axes, ticks=np.linspace(0.0, scale.high, 5), shrink=0.9)
    bar.ax.set_yticklabels(scale.labels())
    bar.set_label(scale.title)
    figure.savefig(path)
    return path
