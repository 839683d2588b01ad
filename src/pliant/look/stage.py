"""Everything around the bodies: colours, camera, light, and the floor with its shadow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.base import Bools, Floats, Ints, PliantError, nearest
from pliant.bodies.register import room_of
from pliant.look.source import Picture, Plane

BACKGROUND = (249, 250, 252)
TILES = ((238, 240, 244), (226, 229, 235))
STATIC = (186, 190, 197)
STONE = (214, 208, 198)  # movable bodies that do not know the field
CREASES = (92, 98, 110)
RED = (226, 28, 36)  # inverted elements
BODIES = (
    (88, 146, 204), (235, 146, 70), (104, 172, 98), (206, 100, 114), (146, 118, 190), (208, 172, 60), (72, 172, 168), (190, 126, 166),
)  # fmt: skip
# low to high: quiet blue-green to yellow to red, all of middle brightness, so that shading stays visible
COLOURS = ((94, 160, 196), (127, 196, 184), (190, 218, 150), (246, 214, 112), (240, 146, 74), (208, 62, 64))

AZIMUTH, ELEVATION = -58.0, 33.0  # [degree] where the camera stands unless told
VIEW_ANGLE = 24.0  # [degree] of the height of the picture
FLOOR_PIXELS, SHADOW_PIXELS = 1024, 256
SHADOW = 0.26  # how dark
SPREAD = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)])


# Besides: maps whose brightness grows all the way, which can be told apart with any eyes and in grey; the page has the same.
MAPS = {
    "pliant": COLOURS,
    "viridis": ((68, 1, 84), (65, 68, 135), (42, 120, 142), (34, 168, 132), (122, 209, 81), (253, 231, 37)),
    "cividis": ((0, 34, 78), (53, 69, 108), (102, 105, 112), (148, 142, 119), (200, 184, 102), (254, 232, 56)),
    "grey": ((45, 45, 45), (85, 85, 85), (125, 125, 125), (165, 165, 165), (205, 205, 205), (240, 240, 240)),
}  # fmt: skip


def colour_map(fraction: Floats, colours: str = "pliant") -> np.ndarray:
    """Colours of fractions 0 to 1, (n, 3) bytes."""
    if colours not in MAPS:
        raise PliantError(f"There are no colours '{colours}': {nearest(colours, MAPS)}")
    table = np.array(MAPS[colours], np.float64)
    stops = np.linspace(0.0, 1.0, len(table))
    return np.stack([np.interp(fraction, stops, table[:, k]) for k in range(3)], axis=-1).round().astype(np.uint8)


def plain_colours(picture: Picture, by_field: bool) -> dict[int, tuple[int, int, int]]:
    """Colour of each body that does not show a field."""
    colours = {}
    moving = [body for body in picture.names if room_of(picture.kinds.get(body)).moves]
    for body in picture.names:
        if body in moving:
            colours[body] = STONE if by_field else BODIES[moving.index(body) % len(BODIES)]
        else:
            colours[body] = STATIC
    return colours


# ------------------------------------------------------------------------------------------------ camera


@dataclass(frozen=True)
class Camera:
    """Where the picture is taken from."""

    position: tuple[float, float, float]  # [m]
    focus: tuple[float, float, float]  # [m]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    angle: float = VIEW_ANGLE  # [degree] of the height of the picture


def extremes(points: Floats) -> Floats:
    """The few points that decide how much room all of them need."""
    return points[np.unique(np.argmax(points @ SPREAD.T, axis=0))] if len(points) else points


def framed(
    points: Floats, size: tuple[int, int], azimuth: float = AZIMUTH, elevation: float = ELEVATION, aside: bool = False
) -> Camera:
    """A camera that sees all points, from a direction [degree]; azimuth 0 looks along -x, -90 along +y.

    `aside` leaves room for a colour bar on the right.
    """
    if len(points) == 0:
        raise PliantError("there is nothing to look at: no body of this picture has points or triangles")
    a, e = np.radians([azimuth, elevation])
    back = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.cross(back, right)
    half = np.tan(np.radians(VIEW_ANGLE) / 2.0)
    high, wide = 0.76 * half, (0.74 if aside else 0.82) * half * size[0] / size[1]
    left = 0.12 * half * size[0] / size[1] if aside else 0.0
    focus = 0.5 * (points.min(axis=0) + points.max(axis=0))
    distance = 1.0
    for _ in range(8):  # perspective: the middle of what is seen depends on where it is seen from
        x, y, z = (points - focus) @ right, (points - focus) @ up, (points - focus) @ back
        distance = float((np.maximum(np.abs(x) / wide, np.abs(y) / high) + z).max())
        depth = np.maximum(distance - z, 1e-9)
        u, v = x / depth, y / depth
        focus = focus + 0.5 * distance * ((u.min() + u.max()) * right + (v.min() + v.max()) * up)
    distance = max(distance, 1e-6, 1e-3 * float(np.abs(points).max()))
    focus = focus + left * distance * right
    return Camera(tuple(focus + distance * back), tuple(focus))


def light_direction(camera: Camera) -> Floats:
    """Where the main light shines to: over the left shoulder of the viewer, downwards."""
    view = np.array(camera.focus) - np.array(camera.position)
    a = np.arctan2(view[1], view[0]) - np.radians(42.0)
    return np.array([0.42 * np.cos(a), 0.42 * np.sin(a), -0.91])


# ------------------------------------------------------------------------------------------------ floor


class Floor:
    """A finite part of a plane, tiled, fading into the background, with the shadow of what is above it."""

    def __init__(self, plane: Plane, points: Floats, light: Floats) -> None:
        """`points` [m]: what the floor must lie under, over the whole movie."""
        self.plane, self.light = plane, light
        self.tile, self.half, self.centre = shown_part(plane, points)
        self._paint()

    def _paint(self) -> None:
        """The floor without shadow, and what full shadow takes away from it."""
        along = (np.arange(FLOOR_PIXELS) + 0.5) / FLOOR_PIXELS * 2.0 - 1.0
        u, v = np.meshgrid(along, along)
        place = self.centre + self.half * np.stack([u, v], axis=-1)
        odd = (np.floor(place / self.tile).sum(axis=-1).astype(np.int64) % 2)[..., None]
        tiles = np.where(odd == 1, TILES[0], TILES[1]).astype(np.float32)
        fade = (1.0 - np.clip((np.hypot(u, v) - 0.45) / 0.53, 0.0, 1.0))[..., None].astype(np.float32)
        fade = fade * fade * (3.0 - 2.0 * fade)
        background = np.array(BACKGROUND, np.float32)
        self._bright = background + (tiles - background) * fade
        self._dark = -SHADOW * tiles * fade
        self._plain = self._bright.astype(np.uint8)
        # rows of weights that stretch the coarse shadow to the pixels of the floor
        at = np.clip((np.arange(FLOOR_PIXELS) + 0.5) * SHADOW_PIXELS / FLOOR_PIXELS - 0.5, 0, SHADOW_PIXELS - 1.001)
        first, part = at.astype(np.int64), (at % 1.0).astype(np.float32)
        self._stretch = np.zeros((FLOOR_PIXELS, SHADOW_PIXELS), np.float32)
        rows = np.arange(FLOOR_PIXELS)
        self._stretch[rows, first], self._stretch[rows, first + 1] = 1.0 - part, part

    @property
    def corners(self) -> Floats:
        """Corners of the floor [m], (4, 3), in the order of the texture coordinates 00, 10, 11, 01."""
        flat = self.centre + self.half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        return self.plane.point + flat @ self.plane.axes[:2]

    def image(self, points: Floats, triangles: Ints) -> np.ndarray:
        """The floor with the shadow of triangles, (n, n, 3) bytes; row 0 is at the second coordinate's start."""
        shadow = self.shadow(points, triangles)
        image = self._plain.copy()
        rows, columns = (self._pixels_of(np.flatnonzero(shadow.max(axis=axis) > 0.004)) for axis in (1, 0))
        part = self._stretch[rows] @ shadow @ self._stretch[columns].T
        image[rows, columns] = self._bright[rows, columns] + part[..., None] * self._dark[rows, columns]
        return image

    def _pixels_of(self, coarse: Ints) -> slice:
        """The pixels of the floor around some of the shadow's."""
        if len(coarse) == 0:
            return slice(0, 0)
        times = FLOOR_PIXELS // SHADOW_PIXELS
        return slice(max(0, int(coarse[0]) - 1) * times, (int(coarse[-1]) + 2) * times)

    def shadow(self, points: Floats, triangles: Ints) -> np.ndarray:
        """How much light is missing, 0 to 1, (n, n): soft, and softer from high above."""
        from scipy.ndimage import gaussian_filter

        n = SHADOW_PIXELS
        flat = (points - self.plane.point) @ self.plane.axes.T
        slant = self.light @ self.plane.axes.T
        if slant[2] > -0.2 or len(triangles) == 0:  # a wall
            return np.zeros((n, n), np.float32)
        height = np.maximum(flat[:, 2], 0.0)
        place = flat[:, :2] - height[:, None] * slant[:2] / slant[2]
        pixel = (0.5 + 0.5 * (place - self.centre) / self.half) * n
        at, share = scattered(pixel[triangles])
        low = height[triangles].min(axis=1)[share] < 0.06 * self.half
        cover = [_covered(at[chosen], n) for chosen in (low, ~low)]
        near, far = gaussian_filter(cover[0], 1.6), gaussian_filter(cover[1], 4.5)
        return 1.0 - (1.0 - near) * (1.0 - 0.8 * far)


def shown_part(plane: Plane, points: Floats) -> tuple[float, float, Floats]:
    """Of a plane under points [m]: size of its tiles, half of its side [m], and its middle in its own two directions [m], (2,)."""
    flat = (points - plane.point) @ plane.axes.T
    low, high = flat[:, :2].min(axis=0), flat[:, :2].max(axis=0)
    room = float(np.linalg.norm(np.ptp(flat, axis=0)))
    return tile_size(0.15 * room), float(0.5 * (high - low).max() + 0.9 * room), 0.5 * (low + high)


def tile_size(length: float) -> float:
    """The number of the series 1, 2, 5, 10, ... nearest to a length, by ratio [m]."""
    power = 10.0 ** np.floor(np.log10(max(length, 1e-300)))
    steps = np.array([1.0, 2.0, 5.0, 10.0])
    return float(power * steps[np.argmin(np.abs(np.log(steps * power / max(length, 1e-300))))])


def scattered(corners: Floats) -> tuple[Floats, Ints]:
    """Points spread over triangles, about three per unit of area in the first two coordinates; the triangle of each."""
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = np.nan_to_num(0.5 * np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))
    count = 1 + np.minimum(3.0 * area, 4e4).astype(np.int64)
    owner = np.repeat(np.arange(len(corners)), count)
    # the sequence of multiples of two irrational numbers fills the square evenly; its upper half is folded down
    k = np.arange(len(owner))
    s, t = (0.7548776662466927 * k) % 1.0, (0.5698402909980532 * k) % 1.0
    over = s + t > 1.0
    s, t = np.where(over, 1.0 - s, s), np.where(over, 1.0 - t, t)
    return corners[owner, 0] + s[:, None] * a[owner] + t[:, None] * b[owner], owner


def _covered(at: Floats, n: int) -> np.ndarray:
    """1 where a point lies in a pixel, (n, n); rows are the second coordinate."""
    at = at[((at >= 0) & (at < n)).all(axis=1)].astype(np.int64)
    return (np.bincount(at[:, 1] * n + at[:, 0], minlength=n * n) > 0).astype(np.float32).reshape(n, n)


# ---- which bodies to look through: hard containers that hide what is inside them

PIXELS = 160
HIDDEN = 0.3  # share of a body's points behind the container, or of the load of contact out of sight, that calls for glass


def containers(picture: Picture, camera: Camera) -> set[str]:
    """Names of rigid and static bodies around the middle of another, smaller body that hide much of it."""
    drawn = np.unique(picture.triangle_body)
    boxes = {int(body): _box(picture, int(body)) for body in drawn}
    seen = seen_from(camera, picture.points)
    found = set()
    for body in boxes:
        low, high = boxes[body]
        if not room_of(picture.kinds.get(body)).hard:
            continue
        inside = [
            other for other, (a, b) in boxes.items()
            if other != body and (0.5 * (a + b) > low).all() and (0.5 * (a + b) < high).all()
            and np.linalg.norm(b - a) < 0.8 * np.linalg.norm(high - low)
        ]  # fmt: skip
        if inside and max(_hidden(picture, seen, body, other) for other in inside) > HIDDEN:
            found.add(picture.names[body])
    return found


def _box(picture: Picture, body: int) -> tuple[Floats, Floats]:
    points = picture.points[np.unique(picture.triangles[picture.triangle_body == body])]
    return points.min(axis=0), points.max(axis=0)


def seen_from(camera: Camera, points: Floats) -> Floats:
    """Place in the picture, -1 to 1 from edge to edge of its height, and distance, (P, 3)."""
    ahead = np.array(camera.focus) - np.array(camera.position)
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, np.array(camera.up))
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(right, ahead), ahead])
    turned = (points - np.array(camera.position)) @ axes.T
    depth = np.maximum(turned[:, 2:], 1e-9)
    return np.hstack([turned[:, :2] / depth / np.tan(np.radians(camera.angle) / 2.0), turned[:, 2:]])


def _hidden(picture: Picture, seen: Floats, body: int, other: int) -> float:
    """Share of the points of a body that lie behind the triangles of another, on a coarse screen."""
    mine = np.unique(picture.triangles[picture.triangle_body == other])
    return float(np.mean(_behind(seen, picture.triangles[picture.triangle_body == body], seen[mine])))


def _behind(seen: Floats, triangles: Ints, places: Floats, clear: float | Floats = 0.0) -> Bools:
    """Places of a picture that triangles of points `seen` lie before, by more than `clear` [m], on a coarse screen."""
    screen = lambda rows: np.column_stack([(0.5 + 0.25 * rows[:, :2]) * PIXELS, rows[:, 2]])
    at, _ = scattered(screen(seen)[triangles])
    front = np.full((PIXELS, PIXELS), np.inf)
    at = at[((at[:, :2] >= 0) & (at[:, :2] < PIXELS)).all(axis=1)]
    np.minimum.at(front, tuple(at[:, :2].astype(np.int64).T), at[:, 2])
    pixel = np.clip(screen(places)[:, :2], 0, PIXELS - 1).astype(np.int64)
    return np.asarray(front[pixel[:, 0], pixel[:, 1]] < places[:, 2] - clear)


def out_of_sight(picture: Picture, camera: Camera, load: Floats) -> float:
    """Share of a load on triangles (F,) that is on such as look away from the camera or lie behind others."""
    corners = picture.points[picture.triangles]
    away = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    back = ((np.array(camera.position) - corners.mean(axis=1)) * away).sum(axis=1) <= 0.0
    middle = seen_from(camera, corners.mean(axis=1))
    pixel = 4.0 / PIXELS * np.tan(np.radians(camera.angle) / 2.0) * middle[:, 2]  # [m] of the coarse screen, there
    hidden = back | _behind(seen_from(camera, picture.points), picture.triangles, middle, 2.0 * pixel)
    return float(load @ hidden / max(float(load.sum()), 1e-300))
