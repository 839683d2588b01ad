"""A picture drawn off screen: bodies coloured by a field, floor and shadow, caption; one canvas draws many frames."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Bools, Floats, Ints, PliantError, nearest, unbroken
from pliant.disk import make_folder, replacing
from pliant.geometry.mesh import TET_FACES
from pliant.look import caption, fields
from pliant.look.pairs import STATES, marks_of, show
from pliant.look.source import Film, Picture, from_simulation
from pliant.look.stage import (
    AZIMUTH,
    BACKGROUND,
    CREASES,
    ELEVATION,
    HIDDEN,
    RED,
    STONE,
    Camera,
    Floor,
    colour_map,
    containers,
    extremes,
    framed,
    light_direction,
    out_of_sight,
    plain_colours,
)
from pliant.look.surface import CREASE, Shading, with_surfels_as_triangles, without_lost_points
from pliant.record import Run

if TYPE_CHECKING:
    from PIL import Image

    from pliant.simulate.simulation import Simulation

FINER = 2  # drawn this many times larger and reduced: smoother edges for less time than multisampling takes
GLASS = 0.22  # opacity of bodies to look through
FACING = 0.5  # cosine between a face and the force on it, at least: friction of 1 turns it by 45 degrees, to sides of a box it has 90
ONE, BOTH = (1280, 960), (1920, 960)  # pixels of a picture, and of two beside each other

View = Camera | tuple[float, float] | None  # a camera, or azimuth and elevation [degree] to look from


def still(
    source: Run | Simulation,
    path: str | Path,
    time: float | None = None,
    field: str = "auto",
    size: tuple[int, int] | None = None,
    camera: View = None,
    limits: tuple[float, float] | None = None,
    transparent: Collection[str] | None = None,
    edges: bool = False,
    pairs: bool = False,
    smooth: bool = False,
) -> Path:
    """A png of a simulation as it is now, or of the frame of a run nearest to a time (the last unless given).

    field: von_mises, speed, displacement, depth, pressure, ..., `body` for plain colours, or `auto`; limits: range of
    its colours; transparent: names of bodies to look through (unless given: containers that hide what is in them);
    edges: draw the edges of the triangles; pairs: mark the feature pairs of the penalty methods by state (simulations only);
    smooth: shade all bodies as round ones, without lines along sharp edges; size: pixels, 1280 x 960 unless given.

    Where most of the contact that is drawn cannot be seen, since bodies lie on it, there are two pictures beside each other (1920 x 960
    unless given): the bodies, and what presses them through them. A camera or bodies to look through that are given leave it at one.
    """
    path = Path(path)
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise PliantError(f"cannot write a still to {path.name}: name it .png or .jpg")
    make_folder(path.parent)
    picture = _moment(source, time, pairs)
    if camera is None and transparent is None and not pairs:
        image = draw_with_contact(picture, field, size, limits, edges, smooth)
    else:
        image = draw(picture, field, size or ONE, camera, limits, transparent, edges, smooth)
    with replacing(path) as temporary:
        image.save(temporary)
    return path


def draw(
    picture: Picture,
    field: str = "auto",
    size: tuple[int, int] = (1280, 960),
    camera: View = None,
    limits: tuple[float, float] | None = None,
    transparent: Collection[str] | None = None,
    edges: bool = False,
    smooth: bool = False,
) -> Image.Image:
    """A picture as an image; options as for `still`."""
    return draw_series([picture], field, size, camera, limits, transparent, edges, smooth)[0]


def draw_with_contact(
    picture: Picture,
    field: str = "auto",
    size: tuple[int, int] | None = None,
    limits: tuple[float, float] | None = None,
    edges: bool = False,
    smooth: bool = False,
) -> Image.Image:
    """The bodies, and, where a field of contact is drawn that they hide, beside them what is pressed, seen through them."""
    from PIL import Image

    colour = fields.choose(field, picture.point_fields, picture.kinds, fields.touches(picture))
    wide, high = size or BOTH
    half = (wide // 2, high)
    through = draw_through(picture, colour, half, limits, edges, smooth)
    if through is None:
        return draw(picture, colour, size or ONE, limits=limits, edges=edges, smooth=smooth)
    image = Image.new("RGB", (wide, high), BACKGROUND)
    image.paste(draw(picture, "body" if field == "auto" else field, half, limits=limits, edges=edges, smooth=smooth), (0, 0))
    image.paste(through, (wide - half[0], 0))
    return image


def draw_through(
    picture: Picture,
    field: str,
    size: tuple[int, int],
    limits: tuple[float, float] | None = None,
    edges: bool = False,
    smooth: bool = False,
) -> Image.Image | None:
    """What is pressed, seen through the bodies; None if the field is none of contact, or if they do not hide much of it."""
    around = extremes(picture.movable_points())
    if field not in fields.TOUCHING or not _hides_contact(picture, field, viewpoint(around, ONE, None, None)):
        return None
    scale = scale_of(field, fields.sample(picture, field), limits, fields.extent(around))
    with Canvas(around, size, viewpoint(around, size, None, scale), scale, edges=edges, smooth=smooth, through=True) as canvas:
        return canvas.draw(replace(picture, title="contact, seen through the bodies", time=np.nan))


def _hides_contact(picture: Picture, field: str, camera: Camera) -> bool:
    """Whether much of what presses bodies is out of sight."""
    whole = with_surfels_as_triangles(without_lost_points(picture))
    load = pressed(whole, field) * fields.values(whole, field)[whole.triangles].mean(axis=1) * fields.triangle_areas(whole)
    return out_of_sight(whole, camera, load) > HIDDEN


def pressed(picture: Picture, field: str) -> Bools:
    """Triangles of bodies that show a field of contact, with a corner where it is more than nothing, and that the force presses on."""
    some = _loaded(picture, field)[picture.triangles].any(axis=1)
    some &= np.isin(picture.triangle_body, list(fields.coloured_bodies(picture, field)))
    if "contact_force" in picture.point_fields:  # of a box that stands not its sides, whose lowest corners are pressed too
        force = np.nan_to_num(picture.point_fields["contact_force"])[picture.triangles].sum(axis=1)
        x = picture.points[picture.triangles]
        outwards = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        some &= -(force * outwards).sum(axis=1) >= FACING * np.linalg.norm(force, axis=1) * np.linalg.norm(outwards, axis=1)
    return np.asarray(some)


def _loaded(picture: Picture, field: str) -> Bools:
    """Points at which a field of contact is more than nothing."""
    floor = fields.floors(fields.extent(picture.movable_points())).get(fields.TITLES[field][1], (1.0, 0.0))[1]
    return np.asarray(fields.values(picture, field) > floor)


def draw_series(
    pictures: Sequence[Picture],
    field: str = "auto",
    size: tuple[int, int] = (1280, 960),
    camera: View = None,
    limits: tuple[float, float] | None = None,
    transparent: Collection[str] | None = None,
    edges: bool = False,
    smooth: bool = False,
) -> list[Image.Image]:
    """Pictures that can be compared: one camera that sees all of them, one colour scale; options as for `still`."""
    last = pictures[-1]
    field = fields.choose(field, last.point_fields, last.kinds, fields.touches(*pictures))
    samples = [fields.sample(picture, field) for picture in pictures] if field != "body" else [np.zeros(0)]
    around = extremes(np.concatenate([picture.movable_points() for picture in pictures]))
    scale = scale_of(field, np.concatenate(samples), limits, fields.extent(around))
    view = viewpoint(around, size, camera, scale)
    glass = containers(last, view) if transparent is None else transparent
    with Canvas(around, size, view, scale, glass, edges, smooth) as canvas:
        return [canvas.draw(picture) for picture in pictures]


def _moment(source: Run | Simulation, time: float | None, pairs: bool = False) -> Picture:
    if not isinstance(source, Run):
        if time is not None:
            raise PliantError("a simulation is drawn as it is now; give a recorded run to choose a time")
        picture = from_simulation(source)
        return replace(picture, marks=marks_of(source)) if pairs else picture
    if pairs:
        raise PliantError("a recorded run does not hold feature pairs; draw the simulation itself")
    return Film(source).near(time)


def scale_of(
    field: str, samples: Floats, limits: tuple[float, float] | None, size: float, colours: str = "pliant"
) -> fields.Scale | None:
    """The colour scale of a field over bodies of a size [m], or None for plain colours."""
    if field == "body":
        return None
    if limits is None:
        return replace(fields.scale(field, samples, size), colours=colours)
    low, high = limits
    if not low < high:
        raise PliantError(f"limits = ({low}, {high}): the first must be below the second")
    return fields.Scale(field, float(low), float(high), colours)


def viewpoint(around: Floats, size: tuple[int, int], camera: View, scale: fields.Scale | None) -> Camera:
    """The camera asked for; one that sees all points unless it is given whole."""
    if isinstance(camera, Camera):
        return camera
    azimuth, elevation = camera or (AZIMUTH, ELEVATION)
    return framed(around, size, azimuth, elevation, aside=scale is not None)


class Canvas:
    """Draws pictures of one size with one camera and one colour scale. Close it, or use it as a context."""

    def __init__(
        self,
        around: Floats,
        size: tuple[int, int],
        camera: Camera,
        scale: fields.Scale | None = None,
        transparent: Collection[str] = (),
        edges: bool = False,
        smooth: bool = False,
        through: bool = False,
    ) -> None:
        """`around` [m]: points that the floor lies under; `through`: all is glass but for what is pressed."""
        if len(size) != 2 or min(size) < 16:
            raise PliantError(f"size = {size}: give width and height in pixels, at least 16 each")
        self.size, self.scale, self.transparent, self.edges, self.smooth = size, scale, frozenset(transparent), edges, smooth
        self.around, self.through = around, through
        self.camera, self.light = camera, light_direction(camera)
        self.plotter = hidden_plotter((FINER * size[0], FINER * size[1]))
        self._actors: dict[str, Any] = {}
        self._floors: list[Floor] | None = None
        self._marks: list[Any] = []
        self._shading: tuple[Ints, Shading] | None = None
        self._set_up()

    def __enter__(self) -> Canvas:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the window back."""
        self.plotter.close()

    def draw(self, picture: Picture) -> Image.Image:
        """One picture, with its caption."""
        from PIL import Image

        picture = without_lost_points(picture)
        solid = len(picture.triangles)
        picture = with_surfels_as_triangles(picture)
        self._show_floors(picture)
        self._show_bodies(picture, solid)
        self._show_inverted(picture.inverted)
        self._marks = show(self.plotter, picture.marks, self._marks, FINER)
        self.plotter.renderer.ResetCameraClippingRange()
        self.plotter.render()
        image = Image.fromarray(self.plotter.screenshot(return_img=True)).reduce(FINER)
        tile = self._floors[0].tile if self._floors else None
        caption.write(image, picture.title, picture.time, tile, len(picture.inverted), self.scale)
        if picture.marks is not None:
            caption.legend(image, {f"{n} {name}": STATES[name] for name, n in picture.marks.counts.items() if n})
        return image

    # -------------------------------------------------------------------------------------------- parts

    def _set_up(self) -> None:
        import pyvista

        plotter, camera = self.plotter, self.camera
        plotter.set_background([c / 255 for c in BACKGROUND])
        plotter.camera_position = [camera.position, camera.focus, camera.up]
        plotter.camera.view_angle = camera.angle
        focus = np.array(camera.focus)
        sun = pyvista.Light(position=focus - self.light, focal_point=focus, light_type="scene light", intensity=0.58)
        front = pyvista.Light(light_type="headlight", intensity=0.5)
        for light in (sun, front):
            light.positional = False
            plotter.add_light(light)

    def _show_floors(self, picture: Picture) -> None:
        import pyvista

        if self._floors is None:
            self._floors = [Floor(plane, self.around, self.light) for plane in picture.planes]
            for i, floor in enumerate(self._floors):
                quad = pyvista.PolyData(floor.corners, faces=[4, 0, 1, 2, 3])
                quad.active_texture_coordinates = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
                blank = pyvista.Texture(np.zeros((2, 2, 3), np.uint8))
                self._actors[f"floor {i}"] = self.plotter.add_mesh(quad, texture=blank, lighting=False, culling="back")
        for i, floor in enumerate(self._floors):
            image = floor.image(picture.points, picture.triangles)
            texture = pyvista.Texture(np.ascontiguousarray(image[::-1]))
            texture.interpolate = True
            self._actors[f"floor {i}"].texture = texture

    def _show_bodies(self, picture: Picture, solid: int) -> None:
        """All triangles; the first `solid` of them with lines along their sharp edges."""
        for name in self.transparent:
            if name not in picture.names.values():
                raise PliantError(f"transparent: there is no body {name!r}: {nearest(name, picture.names.values())}")
        shading = self._shading_of(picture)
        points, normals = picture.points[shading.point], shading.normals(picture.points)
        colours = point_colours(picture, self.scale, self.transparent)[shading.point] if len(shading.point) else np.zeros((0, 3), np.uint8)
        clear = np.isin(picture.triangle_body, list(bodies_named(picture, self.transparent)))
        if self.through and self.scale is not None:
            touched = pressed(picture, self.scale.field)
            loaded = _loaded(picture, self.scale.field)[shading.point]
            self._show("pressed", *_within(points, shading.triangles[touched], normals, colours, loaded), 1.0)
            clear = np.ones(len(picture.triangles), bool)
            colours = point_colours(picture, None, ())[shading.point]
        self._show("bodies", points, shading.triangles[~clear], normals, colours, 1.0)
        self._show("glass, far side", points, shading.triangles[clear], normals, colours, GLASS)
        self._show("glass, near side", points, shading.triangles[clear], normals, colours, GLASS)
        lined = ~clear & (np.arange(len(clear)) < solid)
        self._show_creases(picture.points, shading.creases_seen(picture.points, np.array(self.camera.position), lined))

    def _shading_of(self, picture: Picture) -> Shading:
        if self._shading is None or not np.array_equal(self._shading[0], picture.triangles):
            self._shading = (picture.triangles, Shading.of(picture.points, picture.triangles, -1.0 if self.smooth else CREASE))
        return self._shading[1]

    def _show_creases(self, points: Floats, creases: Ints) -> None:
        """Thin lines along sharp edges, which two faces of one brightness would hide."""
        import pyvista

        if len(creases) == 0:
            if "creases" in self._actors:
                self._actors["creases"].visibility = False
            return
        lines = np.column_stack([np.full(len(creases), 2), creases]).ravel()
        mesh = pyvista.PolyData(points, lines=lines)
        if "creases" not in self._actors:
            actor = self.plotter.add_mesh(mesh, color=CREASES, opacity=1.0, line_width=FINER, lighting=False)
            actor.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(0.0, -1.0)
            self._actors["creases"] = actor
        self._actors["creases"].visibility = True
        self._actors["creases"].mapper.SetInputData(mesh)

    def _show_inverted(self, tets: Floats) -> None:
        """Red, and in front of the skin that hides them."""
        corners = np.arange(4 * len(tets)).reshape(-1, 4)
        triangles = corners[:, TET_FACES].reshape(-1, 3)
        points = tets.reshape(-1, 3)
        colours, normals = np.full((len(points), 3), RED, np.uint8), np.ones((len(points), 3))
        self._show("inverted", points, triangles, normals, colours, 1.0)

    def _show(
        self, name: str, points: Floats, triangles: Ints, normals: Floats, colours: np.ndarray, opacity: float
    ) -> None:
        """Put triangles in place of those that had this name."""
        from pyvista import PolyData

        if len(triangles) == 0:
            if name in self._actors:
                self._actors[name].visibility = False
            return
        mesh = PolyData.from_regular_faces(points, triangles.astype(int))
        mesh.point_data["colour"] = colours
        mesh.point_data.active_normals = normals
        if name not in self._actors:
            self._actors[name] = self._added(name, mesh, opacity)
        actor = self._actors[name]
        actor.visibility = True
        actor.mapper.SetInputData(mesh)

    def _added(self, name: str, mesh: Any, opacity: float) -> Any:
        actor = self.plotter.add_mesh(
            mesh, scalars="colour", rgb=True, smooth_shading=False, ambient=0.46, diffuse=0.62, specular=0.1, specular_power=16,
            opacity=opacity, show_edges=self.edges, edge_color=(70, 76, 88), edge_opacity=0.35, line_width=FINER,
        )  # fmt: skip
        actor.prop.interpolation = "Phong"
        if name in ("inverted", "pressed"):
            actor.prop.lighting = False
            actor.mapper.SetResolveCoincidentTopologyToPolygonOffset()
            actor.mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(0.0, -66000.0)
        # glass is drawn in order of distance, roughly; software drivers lose it under depth peeling
        if name.startswith("glass"):
            actor.prop.culling = "front" if name == "glass, far side" else "back"
        return actor


def _within(
    points: Floats, triangles: Ints, normals: Floats, colours: np.ndarray, loaded: Bools
) -> tuple[Floats, Ints, Floats, np.ndarray]:
    """Triangles cut off half-way from corners that carry something to those that do not: between them is the rim of the contact."""
    from pyvista import PolyData

    mesh = PolyData.from_regular_faces(points, triangles.astype(int))
    mesh.point_data["colour"], mesh.point_data["loaded"], mesh.point_data["normal"] = colours, loaded.astype(float), normals
    cut = mesh.clip_scalar(scalars="loaded", value=0.5, invert=False).triangulate()
    return cut.points, cut.regular_faces, cut.point_data["normal"], cut.point_data["colour"]


def bodies_named(picture: Picture, names: Collection[str]) -> set[int]:
    """The numbers of some bodies."""
    return {body for body, name in picture.names.items() if name in names}


def point_colours(picture: Picture, scale: fields.Scale | None, clear: Collection[str]) -> np.ndarray:
    """Colour of every point, (P, 3) bytes: of its body, of a field where the body shows it, or of stone where it is looked through."""
    owner = np.full(len(picture.points), -1, np.int64)  # of points that a triangle has
    owner[picture.triangles] = picture.triangle_body[:, None]
    return _coloured(picture, scale, clear, owner, None if scale is None else fields.values(picture, scale.field))


def triangle_colours(picture: Picture, scale: fields.Scale | None, clear: Collection[str]) -> np.ndarray:
    """The same of every triangle, (T, 3): of the mean of a field, as a mean of colours is none that the bar has."""
    values = None if scale is None else fields.values(picture, scale.field)[picture.triangles].mean(axis=1)
    return _coloured(picture, scale, clear, picture.triangle_body, values)


def _coloured(picture: Picture, scale: fields.Scale | None, clear: Collection[str], owner: Ints, values: Floats | None) -> np.ndarray:
    plain, glass = plain_colours(picture, by_field=scale is not None), bodies_named(picture, clear)
    table = np.array([*(STONE if body in glass else colour for body, colour in plain.items()), (0, 0, 0)], np.uint8)
    colours = table[_rank(owner, list(plain))]
    if scale is not None and values is not None:
        shown = np.isin(owner, list(fields.coloured_bodies(picture, scale.field) - glass)) & np.isfinite(values)
        colours[shown] = colour_map(scale.fraction(values[shown]), scale.colours)
    return colours


def _rank(values: Ints, known: Sequence[int]) -> Ints:
    """Position of each value in a list; its length for values that are not in it."""
    order = np.argsort(np.array(known, np.int64), kind="stable")
    ordered = np.array(known, np.int64)[order]
    at = np.minimum(np.searchsorted(ordered, values), len(known) - 1)
    return np.where(ordered[at] == values, order[at], len(known))


# ---- A window that nobody sees: drawing with no display, or a sentence that says what the machine lacks.

CHOICE = "VTK_DEFAULT_OPENGL_WINDOW"  # VTK 9.4 and later read it whenever a window is made
EGL, OSMESA = "vtkEGLRenderWindow", "vtkOSOpenGLRenderWindow"


def hidden_plotter(size: tuple[int, int]) -> Any:
    """An off-screen pyvista plotter without lights."""
    try:
        with unbroken():
            import pyvista
    except ImportError:
        raise PliantError("pictures need pyvista, which is not installed: pip install pyvista") from None
    with unbroken(), _chosen_window():
        plotter: Any = pyvista.Plotter(off_screen=True, window_size=list(size), lighting="none")
    plotter.disable_anti_aliasing()  # pictures are drawn larger and reduced instead
    plotter.render_window.SetMultiSamples(0)
    return plotter


@contextmanager
def _chosen_window() -> Iterator[None]:
    """Windows made inside need no display on Linux; the user's own choice is left as it is."""
    if not sys.platform.startswith("linux") or CHOICE in os.environ:
        yield
        return
    window = _displayless_window()
    if window is None and not os.environ.get("DISPLAY"):
        raise PliantError(
            "pictures cannot be drawn here: there is no display, and no driver that works without one. "
            "Install Mesa's EGL (Debian, Ubuntu: apt install libegl1 libgl1-mesa-dri; Fedora: dnf install mesa-libEGL "
            "mesa-dri-drivers), or look at the run file with ParaView"
        )
    if window is not None:
        os.environ[CHOICE] = window
    try:
        yield
    finally:
        os.environ.pop(CHOICE, None)


@cache
def _displayless_window() -> str | None:
    """The kind of window that works without a display. VTK crashes if one is made that does not."""
    import vtkmodules.vtkRenderingOpenGL2 as opengl
    from vtkmodules.vtkCommonCore import vtkLogger

    if hasattr(opengl, EGL) and _loads("libEGL.so.1"):
        loud = vtkLogger.GetCurrentVerbosityCutoff()
        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)  # it warns about every way that fails
        try:
            works = opengl.vtkEGLRenderWindow().SupportsOpenGL()
        finally:
            vtkLogger.SetStderrVerbosity(vtkLogger.ConvertToVerbosity(loud))
        if works:
            return EGL
    if hasattr(opengl, OSMESA) and any(_loads(f"libOSMesa.so{version}") for version in (".8", ".6", "")):
        return OSMESA
    return None


def _loads(library: str) -> bool:
    """Whether the system has a shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
