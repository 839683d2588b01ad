"""Figures for papers: bodies as triangles of a vector file, in exact millimetres, with text that stays text.

Triangles are drawn from back to front, each in one colour, shaded as pictures are. No graphics driver is needed. Where triangles cut each
other their order is that of their middles. Very many are drawn as an image inside the file, and text stays as it is.

`poster` is a picture with a curve beside it: what happened, and how hard.
"""

from __future__ import annotations

import io
from collections.abc import Collection
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.disk import make_folder, replacing, write_bytes
from pliant.geometry.topology import Edges
from pliant.look import fields
from pliant.look.draw import GLASS, View, bodies_named, draw, scale_of, triangle_colours, viewpoint
from pliant.look.plots import FEW, axes_of
from pliant.look.source import Film, Picture
from pliant.look.stage import BACKGROUND, TILES, Camera, colour_map, containers, extremes, light_direction, seen_from, shown_part
from pliant.look.surface import face_normals, with_surfels_as_triangles, without_lost_points
from pliant.record import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MM = 1.0 / 25.4  # [inch]
MOST = 60_000  # triangles of a vector file: more make it slow to open
DOTS = 600  # per inch, of what is drawn as an image
AMBIENT, SUN, FRONT = 0.46, 0.36, 0.31  # parts of the light, as in pictures
SUFFIXES = (".pdf", ".svg", ".eps", ".png")
FONT = 7.0  # [point]


def figure(
    run: Run,
    path: str | Path,
    time: float | None = None,
    field: str = "auto",
    size: tuple[float, float] = (85.0, 64.0),
    camera: View = None,
    limits: tuple[float, float] | None = None,
    colours: str = "viridis",
    transparent: bool = False,
    floor: bool = True,
    title: bool = False,
    curve: str | None = None,
    glass: Collection[str] | None = None,
) -> Path:
    """A figure of the frame nearest to a time, as .pdf, .svg, .eps or .png; returns the file.

    size [mm]; camera: a Camera, or azimuth and elevation [degree]; colours: viridis, cividis (both for any eyes), grey, pliant;
    transparent: nothing behind the bodies, and no floor; curve: force, energy, ... (as `run.plot`) in a panel on the right.
    """
    from matplotlib import rc_context

    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise PliantError(f"cannot write a figure to {path.name}: name it {', '.join(SUFFIXES)}")
    if not (len(size) == 2 and min(size) >= 15.0 and max(size) <= 2000.0):
        raise PliantError(f"size = {tuple(size)}: give width and height in millimetres, 15 to 2000 each")
    colour_map(np.zeros(1), colours)  # refuses what there is none of
    picture = with_surfels_as_triangles(without_lost_points(Film(run).near(time)))
    around = extremes(picture.movable_points())
    field = fields.choose(field, picture.point_fields, picture.kinds, fields.touches(picture))
    samples = np.zeros(0) if field == "body" else fields.sample(picture, field)
    scale = scale_of(field, samples, limits, fields.extent(around), colours)
    made, axes, other = _paper(size, curve is not None)
    shape = (int(10 * size[0] * (0.6 if curve else 1.0)), int(10 * size[1]))
    view = viewpoint(around, shape, camera, scale)
    clear = containers(picture, view) if glass is None else set(glass)
    if floor and not transparent:
        _floor(axes, picture, around, view)
    _bodies(axes, picture, scale, view, clear)
    wide = shape[0] / shape[1]
    axes.set(xlim=(-wide, wide), ylim=(-1.0, 1.0))
    if scale is not None:
        _bar(made, axes, scale)
    if title:
        axes.text(0.02, 0.98, f"{picture.title}, t = {picture.time:.4g} s", transform=axes.transAxes, va="top", fontsize=FONT)
    if other is not None and curve is not None:
        axes_of(run, curve, None, other)
        other.axvline(picture.time, color="black", linewidth=0.6)
        _small(other)
    make_folder(path.parent)
    held = BytesIO()  # matplotlib's pdf does not bear a full disk
    with rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42}):  # text stays text
        made.savefig(held, format=path.suffix[1:].lower(), transparent=transparent, dpi=DOTS)
    return write_bytes(path, held.getvalue())


def _paper(size: tuple[float, float], curve: bool) -> tuple[Any, Axes, Axes | None]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(size[0] * MM, size[1] * MM))
    FigureCanvasAgg(made)
    axes = made.add_axes((0.0, 0.0, 0.6 if curve else 1.0, 1.0))
    axes.set_axis_off()
    margin = 9.0  # [mm] for numbers and names of the curve
    low, left = margin / size[1], 0.6 + margin / size[0]
    return made, axes, made.add_axes((left, low, 0.985 - left, 0.97 - low - 0.03)) if curve else None


def _bodies(axes: Axes, picture: Picture, scale: fields.Scale | None, camera: Camera, clear: Collection[str]) -> None:
    """All triangles that face the viewer, those of glass both ways, from back to front."""
    from matplotlib.collections import PolyCollection

    if len(picture.triangles) == 0:
        return
    seen, faces = seen_from(camera, picture.points), picture.triangles
    normal = face_normals(picture.points, faces)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    middle = picture.points[faces].mean(axis=1)
    to_eye = np.array(camera.position) - middle
    to_eye /= np.linalg.norm(to_eye, axis=1, keepdims=True)
    facing = np.einsum("ij,ij->i", normal, to_eye)
    see_through = np.isin(picture.triangle_body, list(bodies_named(picture, clear)))
    open_ = np.isin(picture.triangle_body, _open_bodies(picture))
    shown = np.flatnonzero(((facing > 0.0) | see_through | open_) & (seen[faces, 2] > 0.0).all(axis=1))
    shown = shown[np.argsort(-np.linalg.norm(np.array(camera.position) - middle[shown], axis=1), kind="stable")]
    outward = np.where(facing[:, None] < 0.0, -normal, normal)
    bright = AMBIENT + SUN * np.maximum(0.0, -outward @ light_direction(camera)) + FRONT * np.abs(facing)
    colour = triangle_colours(picture, scale, clear) / 255.0
    rgba = np.column_stack([np.clip(colour * bright[:, None], 0.0, 1.0), np.where(see_through, GLASS, 1.0)])[shown]
    lines = np.where(rgba[:, 3:] < 1.0, 0.0, rgba)  # close the hair between neighbours
    drawn = PolyCollection(list(seen[faces[shown], :2]), facecolors=rgba, edgecolors=lines, linewidths=0.15)
    drawn.set_rasterized(len(shown) > MOST)
    axes.add_collection(drawn)


def _open_bodies(picture: Picture) -> list[int]:
    """Bodies whose triangles enclose nothing, such as sheets and discs: both sides are seen."""
    found = []
    for body in picture.names:
        if (Edges(picture.triangles[picture.triangle_body == body]).count == 1).any():
            found.append(body)
    return found


def _floor(axes: Axes, picture: Picture, around: Floats, camera: Camera) -> None:
    """Tiles of the first plane under what can move."""
    from matplotlib.collections import PolyCollection

    for plane in picture.planes[:1]:
        tile, half, centre = shown_part(plane, around)
        count = int(np.ceil(0.5 * half / tile))
        corner = (np.floor(centre / tile) - count)[:, None, None] + np.indices((2 * count + 1, 2 * count + 1))
        place = tile * corner.reshape(2, -1).T
        near = np.linalg.norm(place + 0.5 * tile - centre, axis=1) < 0.5 * half
        flat = place[near, None] + tile * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        seen = seen_from(camera, plane.point + flat.reshape(-1, 2) @ plane.axes[:2]).reshape(-1, 4, 3)
        odd = np.floor(place[near] / tile + 0.5).sum(axis=1).astype(np.int64) % 2
        ahead = (seen[..., 2] > 0.0).all(axis=1)
        tiles = np.array(TILES)[odd[ahead]] / 255.0
        axes.add_collection(PolyCollection(list(seen[ahead, :, :2]), facecolors=tiles, edgecolors=tiles, linewidths=0.1, zorder=0))


def _bar(made: Any, axes: Axes, scale: fields.Scale) -> None:
    """The colour bar, upright on the right of the picture."""
    box = axes.get_position()
    low = 0.45 if scale.note else 0.5  # room for two lines above it
    bar = made.add_axes((box.x1 - 0.13 * box.width, low, 0.025 * box.width, 0.4))
    ramp = np.linspace(0.0, 1.0, 128)
    bar.pcolormesh([0.0, 1.0], np.linspace(scale.low, scale.high, 129), colour_map(ramp, scale.colours)[:, None] / 255.0)
    labels = scale.labels()
    bar.set(xticks=[], yticks=np.linspace(scale.low, scale.high, len(labels)), yticklabels=labels, ylim=(scale.low, scale.high))
    bar.yaxis.tick_right()
    bar.set_title(f"{scale.title}\n{scale.note}".strip(), fontsize=FONT, loc="right", x=3.0)  # a note below would lie on bodies
    bar.tick_params(labelsize=FONT, length=1.5, width=0.4, pad=1.5)
    for spine in bar.spines.values():
        spine.set_linewidth(0.4)


def _small(axes: Axes) -> None:
    """A curve beside a picture, with the type of a figure."""
    axes.set_title("")
    axes.tick_params(labelsize=FONT, length=2, width=0.5)
    axes.xaxis.label.set_fontsize(FONT)
    axes.yaxis.label.set_fontsize(FONT)
    for line in axes.lines:
        line.set_linewidth(min(line.get_linewidth(), 1.0))
    if axes.get_legend() is not None:
        axes.legend(frameon=False, fontsize=FONT - 1.0)


SIZE = (1600, 720)  # pixels
PICTURE = 0.62  # of the width
CURVE_DOTS = 144  # per inch of the curve


def poster(
    run: Run, path: str | Path, curve: str = "force", pair: tuple[str, str] | None = None, field: str = "auto", time: float | None = None,
    camera: View = None, size: tuple[int, int] = SIZE, transparent: tuple[str, ...] | None = None,
) -> Path:  # fmt: skip
    """A png of the frame nearest to a time (the last unless given) with a curve of the run on its right, as `run.plot` draws it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    path = Path(path)
    if path.suffix.lower() != ".png":
        raise PliantError(f"cannot write a poster to {path.name}: name it .png")
    wide = int(PICTURE * size[0])
    moment = Film(run).near(time)
    picture = draw(moment, field, (wide, size[1]), camera, transparent=transparent)
    behind = f"#{bytes(BACKGROUND).hex()}"
    figure = Figure(figsize=((size[0] - wide) / CURVE_DOTS, size[1] / CURVE_DOTS), dpi=CURVE_DOTS, layout="constrained", facecolor=behind)
    FigureCanvasAgg(figure)
    axes = axes_of(run, curve, pair, figure.subplots())
    axes.set_facecolor(behind)
    axes.set_title("")
    if (legend := axes.get_legend()) is not None and len(legend.get_texts()) > FEW:  # below: beside, it would take half of the width
        axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    for line in axes.lines:
        line.set_linewidth(2.0)
    axes.axvline(moment.time, color="0.35", linewidth=1.0)
    held = io.BytesIO()
    figure.savefig(held, format="png")
    whole = Image.new("RGB", size, BACKGROUND)
    whole.paste(picture, (0, 0))
    whole.paste(Image.open(held).convert("RGB"), (wide, 0))
    make_folder(path.parent)
    with replacing(path) as temporary:
        whole.save(temporary)
    return path
