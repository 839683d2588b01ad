"""Surfaces as heights above a grid across a direction: what of them faces the partner, cell by cell.

A mesh is looked at through its curved triangles (geometry/curved.py), a cloud through its moving least-squares surface, an exact shape
through its distance, and measured heights are what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.ndimage import distance_transform_edt, map_coordinates

from pliant.base import Floats, Ints, PliantError
from pliant.detect.surfels.exact import Exact
from pliant.detect.surfels.surface import PointSurface
from pliant.geometry.curved import Curved, lattice
from pliant.geometry.near import kd_tree
from pliant.kernels import contiguous, kernel
from pliant.pressing.left_out import left_out

FACING = 0.2  # least cosine between the direction and the normal of a surface that can touch
MARCH = 80  # steps towards an exact shape, at most: near the direction of its normal ten are enough, a ray that grazes it never arrives
NEWTON = 16  # steps towards the surface of a cloud, at most: eight if it is smooth, and as many halves where it jumps
ARRIVED = 1e-5  # of a spacing
FINE = 0.25  # spacings of a cloud: its surface does not vary over less
BESIDE = 6  # such cells around a grid: cubics feel their ends by 0.27 to the power of the cells in between, 4e-4
AWAY = 1.5  # spacings of the nearest sample, across the direction: beyond is a hole, or past the rim
OVERLAP = 0.02  # of a piece of a triangle, by which it is drawn larger: no cell falls between two of them
PIECES = 64  # parts of an edge of a triangle, at most
WIDER = 1.2  # times the width of the weights of a cloud, and a ring less around vertices of a mesh: the rougher of two surfaces


@dataclass(frozen=True)
class Grid:
    """Square cells in the plane through an origin across a direction, which is the last axis."""

    origin: Floats  # (3,) [m]
    axes: Floats  # (3, 3) rows: along the first index, along the second, and the way from A to B
    corner: Floats  # (2,) [m] where the first cell begins
    cell: float  # [m]
    shape: tuple[int, int]
    reach: float = math.inf  # [m] above and below the origin: what is farther away does not count

    @property
    def centres(self) -> tuple[Floats, Floats]:
        """[m] of the cells, along both axes."""
        x, y = (low + self.cell * (np.arange(n) + 0.5) for low, n in zip(self.corner, self.shape, strict=True))
        return x, y

    @property
    def size(self) -> Floats:
        """(2,) [m]"""
        return self.cell * np.array(self.shape, dtype=np.float64)

    def finer(self, times: int = 2) -> Grid:
        """Each cell cut into times²."""
        return replace(self, cell=self.cell / times, shape=(times * self.shape[0], times * self.shape[1]))

    @property
    def every_other(self) -> Grid:
        """Cells twice as wide around every other centre."""
        nx, ny = self.shape
        return replace(self, corner=self.corner - 0.5 * self.cell, cell=2.0 * self.cell, shape=((nx + 1) // 2, (ny + 1) // 2))

    def points(self, height: Floats) -> Floats:
        """(nx, ny, 3) [m] of the world at heights above the cells."""
        x, y = self.centres
        flat = x[:, None, None] * self.axes[0] + y[None, :, None] * self.axes[1]
        return self.origin + flat + height[..., None] * self.axes[2]


@dataclass(frozen=True)
class Pose:
    """Where a body is: turned about its origin, then shifted."""

    rotation: Floats  # (3, 3) body to world
    translation: Floats  # (3,) [m]

    def turned(self, rotation: Floats, about: Floats) -> Pose:
        """Turned about a point of the world [m]."""
        return Pose(rotation @ self.rotation, rotation @ (self.translation - about) + about)

    def shifted(self, by: Floats) -> Pose:
        """Moved by a vector [m]."""
        return replace(self, translation=self.translation + by)


HOME = Pose(np.eye(3), np.zeros(3))


class Relief(Protocol):
    """Something that has heights."""

    def heights(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        """(nx, ny) [m] along the direction of the grid, of the parts that face along it (sign 1, the side A) or against it (-1, B); of
        several the one that is nearest to the partner; NaN where there is none."""
        ...

    def tips(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        """(nx, ny) [m] of the vertex or sample in each cell that is nearest to the partner, so that nothing thinner than a cell is passed
        over; NaN where there is none."""
        ...

    def values(self, pose: Pose, grid: Grid, sign: int, given: Floats) -> Floats:
        """(nx, ny) what is given at its vertices or samples, above the cells; NaN where there is no surface."""
        ...

    def shadow(self, pose: Pose, grid: Grid) -> tuple[Floats, Floats]:
        """Lowest and highest coordinates (2,) [m] along the axes of the grid."""
        ...

    def bend(self, pose: Pose, grid: Grid, sign: int) -> tuple[float, float]:
        """Mean edge [m] of the triangles above the grid, and the rms angle [rad] between normals at its ends; zero without triangles."""
        ...

    @property
    def rougher(self) -> Relief | None:
        """The same from a poorer reconstruction, to tell how much it matters; None if there is nothing to reconstruct."""
        ...

    @property
    def foretold(self) -> Relief | None:
        """The same with vertices where their neighbours expect them (left_out.py); None without vertices."""
        ...


def _own(pose: Pose, grid: Grid) -> tuple[Floats, Floats]:
    """(axes, origin) of a grid in the coordinates of a body."""
    return grid.axes @ pose.rotation, (grid.origin - pose.translation) @ pose.rotation


def _limits(points: Floats, pose: Pose, grid: Grid) -> tuple[Floats, Floats]:
    axes, origin = _own(pose, grid)
    flat = (points - origin) @ axes[:2].T
    return flat.min(axis=0), flat.max(axis=0)


def _tips(points: Floats, pose: Pose, grid: Grid, sign: int) -> Floats:
    """(nx, ny) [m] highest of the points in each cell, or lowest for sign -1; NaN where there is none."""
    axes, origin = _own(pose, grid)
    local = (points - origin) @ axes.T
    cell = np.floor((local[:, :2] - grid.corner) / grid.cell)
    inside = np.all((cell >= 0) & (cell < grid.shape), axis=1) & (np.abs(local[:, 2]) < grid.reach)
    out = np.full(grid.shape, -np.inf)
    i, j = cell[inside].astype(np.int64).T
    np.maximum.at(out, (i, j), sign * local[inside, 2])
    return np.where(np.isfinite(out), sign * out, np.nan)


def _none(pose: Pose, grid: Grid, sign: int) -> Floats:
    """Without vertices."""
    return np.full(grid.shape, np.nan)


def _within(height: Floats, grid: Grid) -> Floats:
    return np.where(np.abs(height) < grid.reach, height, np.nan)


@dataclass(frozen=True)
class ExactRelief:
    """Of an exact shape, by going on as far as is free."""

    shape: Exact

    rougher = foretold = None

    def heights(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        axes, origin = _own(pose, grid)
        n, (x, y) = sign * axes[2], grid.centres
        flat = (origin + x[:, None, None] * axes[0] + y[None, :, None] * axes[1]).reshape(-1, 3)
        if self.shape.kind == "plane":
            if not n[2] >= FACING:
                return np.full(grid.shape, np.nan)
            return _within((-sign * flat[:, 2] / n[2]).reshape(grid.shape), grid)
        radius = float(np.sum(self.shape.sizes))
        z = radius - (flat - np.zeros(3)) @ n
        place = flat + z[:, None] * n
        alive, free = np.arange(len(z)), np.full(len(z), np.inf)
        for _ in range(MARCH):
            free[alive] = self.shape.signed_distance(place[alive])
            alive = alive[(np.abs(free[alive]) > 1e-13 * radius) & (place[alive] @ n > -radius)]
            if len(alive) == 0:
                break
            place[alive] -= free[alive, None] * n
        on = (np.abs(free) < 1e-9 * radius) & (self.shape.project(place).normals @ n >= FACING)
        return _within(np.where(on, sign * ((place - flat) @ n), np.nan).reshape(grid.shape), grid)

    def tips(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        return _none(pose, grid, sign)

    def bend(self, pose: Pose, grid: Grid, sign: int) -> tuple[float, float]:
        return 0.0, 0.0

    def values(self, pose: Pose, grid: Grid, sign: int, given: Floats) -> Floats:
        raise PliantError(f"values over the surface need a mesh or points: an exact {self.shape.kind} has no vertices that they belong to.")

    def shadow(self, pose: Pose, grid: Grid) -> tuple[Floats, Floats]:
        radius = math.inf if self.shape.kind == "plane" else float(np.sum(self.shape.sizes))
        middle = (pose.translation - grid.origin) @ grid.axes[:2].T
        return middle - radius, middle + radius


@dataclass(frozen=True)
class MeshRelief:
    """Of curved triangles, drawn into the grid in pieces as large as a cell."""

    curved: Curved

    @cached_property
    def rougher(self) -> Relief | None:
        return MeshRelief(replace(self.curved, blended=True))

    @cached_property
    def foretold(self) -> Relief | None:
        return MeshRelief(left_out(self.curved))

    def heights(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        return self._drawn(pose, grid, sign, None)[0]

    def tips(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        seen = self.curved.surface.faces[self._seen(pose, grid, sign)[0]]
        return _tips(self.curved.surface.points[np.unique(seen)], pose, grid, sign)

    def values(self, pose: Pose, grid: Grid, sign: int, given: Floats) -> Floats:
        return self._drawn(pose, grid, sign, given)[1]

    def bend(self, pose: Pose, grid: Grid, sign: int) -> tuple[float, float]:
        faces, _ = self._seen(pose, grid, sign)
        if len(faces) == 0:
            return 0.0, 0.0
        corners, back = np.unique(self.curved.corner[faces], return_inverse=True)
        normal = self.curved.fits(corners).normal[back.reshape(-1, 3)]
        turn = np.linalg.norm(normal - np.roll(normal, 1, axis=1), axis=2)
        x = self.curved.surface.points[self.curved.surface.faces[faces]]
        edge = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2)
        return float(edge.mean()), float(np.sqrt(np.mean(turn**2)))

    def _seen(self, pose: Pose, grid: Grid, sign: int) -> tuple[Ints, Floats]:
        """Faces above the grid that face the partner, and their longest edges [m]."""
        axes, origin = _own(pose, grid)
        surface = self.curved.surface
        flat = (surface.points - origin) @ axes[:2].T - grid.corner
        corner, x = flat[surface.faces], surface.points[surface.faces]
        low, high = corner.min(axis=1), corner.max(axis=1)
        long = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).max(axis=1)
        room = 0.2 * long[:, None] + grid.cell  # a curved triangle bulges
        near = np.all((high > -room) & (low < grid.size + room), axis=1)
        if math.isfinite(grid.reach):
            near &= np.abs((surface.points - origin) @ axes[2])[surface.faces].min(axis=1) < grid.reach
        x = x[near]
        across = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        faces = np.flatnonzero(near)[sign * (across @ axes[2]) > FACING * np.linalg.norm(across, axis=1)]
        return faces, long[faces]

    def _drawn(self, pose: Pose, grid: Grid, sign: int, given: Floats | None) -> tuple[Floats, Floats]:
        (axes, origin), surface = _own(pose, grid), self.curved.surface
        faces, long = self._seen(pose, grid, sign)
        out, held = np.full(grid.shape, -np.inf), np.full(grid.shape, np.nan)
        if len(faces):
            parts = 2 ** np.ceil(np.log2(np.clip(long / grid.cell, 1.0, PIECES))).astype(np.int64)
            for count in np.unique(parts):
                weights, pieces = lattice(int(count))
                points = self.curved.at(faces[parts == count], weights)
                local = (points - origin) @ axes.T
                local[..., :2] = (local[..., :2] - grid.corner) / grid.cell - 0.5
                local[..., 2] *= sign
                known = np.zeros(local.shape[:2]) if given is None else given[surface.faces[faces[parts == count]]] @ weights.T
                _draw(contiguous(local), contiguous(known), contiguous(pieces, np.int64), float(sign), out, held)
        return sign * np.where(np.isfinite(out), out, np.nan), held

    def shadow(self, pose: Pose, grid: Grid) -> tuple[Floats, Floats]:
        used = np.unique(self.curved.surface.faces)
        return _limits(self.curved.surface.points[used], pose, grid)


@dataclass(frozen=True)
class CloudRelief:
    """Of samples, by Newton steps along the direction to their moving least-squares surface."""

    surface: PointSurface

    @cached_property
    def foretold(self) -> Relief | None:
        return CloudRelief(self.surface.left_out())

    @cached_property
    def rougher(self) -> Relief | None:
        return CloudRelief(replace(self.surface, width=WIDER * self.surface.width, given=self.surface.graph))

    def heights(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        """Where cells are finer than the surface can vary, by cubics between points that are not: a lattice of the body's own, so that all
        grids see the same surface."""
        step, own = FINE * float(np.median(self.surface.spacing)), grid.axes[:2] @ (pose.translation - grid.origin)
        first = np.floor((grid.corner - own) / step) - BESIDE
        count = np.ceil((grid.corner + grid.size - own) / step) + BESIDE - first
        if grid.cell > step or count.prod() > grid.shape[0] * grid.shape[1]:
            return self._reached(pose, grid, sign)[0]
        fewer = replace(grid, corner=own + step * first, cell=step, shape=(int(count[0]), int(count[1])))
        coarse = self._reached(pose, fewer, sign)[0]
        at = [(c - low) / step - 0.5 for c, low in zip(grid.centres, fewer.corner, strict=True)]
        return _between(coarse, *np.meshgrid(*at, indexing="ij"))

    def tips(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        facing = self.surface.normals @ (sign * _own(pose, grid)[0][2]) > FACING
        return _tips(self.surface.points[facing], pose, grid, sign)

    def bend(self, pose: Pose, grid: Grid, sign: int) -> tuple[float, float]:
        return 0.0, 0.0

    def values(self, pose: Pose, grid: Grid, sign: int, given: Floats) -> Floats:
        sample = self._reached(pose, grid, sign)[1]
        return np.where(sample >= 0, given[sample], np.nan)

    def _reached(self, pose: Pose, grid: Grid, sign: int) -> tuple[Floats, Ints]:
        """Heights, and the samples there; -1 where there are none."""
        axes, origin = _own(pose, grid)
        n, surface = sign * axes[2], self.surface
        local = (surface.points - origin) @ axes.T
        wide = AWAY * surface.spacing
        near = (surface.normals @ n > FACING) & np.all(
            (local[:, :2] > grid.corner - wide[:, None]) & (local[:, :2] < grid.corner + grid.size + wide[:, None]), axis=1
        )
        chosen = np.flatnonzero(near & (np.abs(local[:, 2]) < grid.reach))
        out, sample = np.full(grid.shape[0] * grid.shape[1], np.nan), np.full(grid.shape[0] * grid.shape[1], -1)
        if len(chosen) == 0:
            return out.reshape(grid.shape), sample.reshape(grid.shape)
        x, y = grid.centres
        flat = np.stack(np.broadcast_arrays(x[:, None], y[None, :]), axis=2).reshape(-1, 2)
        far, which = kd_tree(local[chosen, :2]).query(flat, k=min(8, len(chosen)), workers=1)
        far, which = far.reshape(len(flat), -1), chosen[which.reshape(len(flat), -1)]
        height = np.where(far < wide[which], sign * local[which, 2], -np.inf)
        best = np.argmax(height, axis=1)
        some = np.flatnonzero(np.isfinite(height[np.arange(len(flat)), best]))
        start, z = which[some, best[some]], height[some, best[some]]
        base = origin + flat[some] @ axes[:2]
        fine, going = np.zeros(len(some), bool), np.arange(len(some))
        last, part, sheet = np.zeros(len(some)), np.ones(len(some)), np.zeros(len(some), bool)
        for _ in range(NEWTON):
            foot = surface.project(base[going] + z[going, None] * n, start=start[going])
            rise = foot.normals @ n
            step = foot.distance / np.maximum(rise, FACING)
            back = step * last[going] < -0.5 * last[going] ** 2  # to and fro: it jumps between the fits of two samples, so keep to one
            sheet[going] |= back
            part[going] *= np.where(back, 0.5, 1.0)
            last[going], step = step, part[going] * step
            z[going] -= step
            ended = np.abs(step) < ARRIVED * surface.spacing[start[going]]
            fine[going] = foot.valid & (rise > FACING) & ended
            start[going] = np.where(sheet[going], start[going], foot.sample)
            going = going[~ended & (rise > 0.0)]
            if len(going) == 0:
                break
        out[some[fine]], sample[some[fine]] = sign * z[fine], start[fine]
        return out.reshape(grid.shape), sample.reshape(grid.shape)

    def shadow(self, pose: Pose, grid: Grid) -> tuple[Floats, Floats]:
        return _limits(self.surface.points, pose, grid)


def _between(values: Floats, rows: Floats, columns: Floats) -> Floats:
    """Cubics between values on a grid; NaN where the nearest is."""
    hole = ~np.isfinite(values)
    if hole.any():
        if hole.all():
            return np.full(rows.shape, np.nan)
        values = values[tuple(distance_transform_edt(hole, return_distances=False, return_indices=True))]
    found = map_coordinates(values, [rows, columns], order=3, mode="nearest")
    lost = map_coordinates(hole.astype(np.float64), [rows, columns], order=0, mode="nearest") > 0.0
    return np.where(lost, np.nan, found)


@dataclass(frozen=True)
class Heights:
    """A measured or made rough surface: heights [m] above the cells of a grid, towards the partner. Rows go along x, columns along y."""

    rise: Floats  # (nx, ny) [m]
    cell: float  # [m]

    rougher = foretold = None

    def __post_init__(self) -> None:
        values = np.asarray(self.rise, dtype=np.float64)
        if values.ndim != 2 or min(values.shape) < 3 or not np.all(np.isfinite(values)):
            raise PliantError(f"heights need at least 3 x 3 finite numbers in rows and columns, not {values.shape}.")
        if not (np.isfinite(self.cell) and self.cell > 0.0):
            raise PliantError(f"cells of heights must be more than zero metres wide, not {self.cell}.")
        object.__setattr__(self, "rise", values)

    @property
    def size(self) -> Floats:
        """(2,) [m]"""
        return self.cell * np.array(self.rise.shape, dtype=np.float64)

    def heights(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        x, y = grid.centres
        row, column = (c / self.cell + 0.5 * n - 0.5 for c, n in zip((x, y), self.rise.shape, strict=True))
        whole = all(np.abs(at - np.round(at)).max() < 1e-9 for at in (row, column))
        rows, columns = np.meshgrid(row, column, indexing="ij")
        found = map_coordinates(self.rise, [rows, columns], order=0 if whole else 3, mode="nearest")
        inside = (np.abs(x) <= 0.5 * self.size[0])[:, None] & (np.abs(y) <= 0.5 * self.size[1])
        rise = float((pose.translation - grid.origin) @ grid.axes[2])
        return np.where(inside, rise + sign * found, np.nan)

    def tips(self, pose: Pose, grid: Grid, sign: int) -> Floats:
        return _none(pose, grid, sign)

    def bend(self, pose: Pose, grid: Grid, sign: int) -> tuple[float, float]:
        return 0.0, 0.0

    def values(self, pose: Pose, grid: Grid, sign: int, given: Floats) -> Floats:
        return Heights(np.asarray(given).reshape(self.rise.shape), self.cell).heights(HOME, replace(grid, origin=np.zeros(3)), 1)

    def shadow(self, pose: Pose, grid: Grid) -> tuple[Floats, Floats]:
        return -0.5 * self.size, 0.5 * self.size

    def faces(self, down: bool = False) -> tuple[Floats, Ints]:
        """Points (n, 3) [m] and triangles between the cells, z up; heights are towards the partner, which is below if `down`."""
        nx, ny = self.rise.shape
        x, y = (self.cell * (np.arange(n) - 0.5 * (n - 1)) for n in (nx, ny))
        points = np.stack([*np.broadcast_arrays(x[:, None], y[None, :]), -self.rise if down else self.rise], axis=2).reshape(-1, 3)
        first = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
        one, two = np.stack([first, first + ny, first + ny + 1], axis=1), np.stack([first, first + ny + 1, first + 1], axis=1)
        faces = np.concatenate([one, two])
        return points, faces[:, ::-1] if down else faces


@kernel
def _draw(points, values, pieces, sign, out, held):  # type: ignore[no-untyped-def]
    """Highest of what covers the centres of cells, and its values; points (n, k, 3) in cells, pieces (m, 3) triangles between the k."""
    for f in range(len(points)):
        for t in range(len(pieces)):
            ax, ay, az = points[f, pieces[t, 0], 0], points[f, pieces[t, 0], 1], points[f, pieces[t, 0], 2]
            bx, by, bz = points[f, pieces[t, 1], 0], points[f, pieces[t, 1], 1], points[f, pieces[t, 1], 2]
            cx, cy, cz = points[f, pieces[t, 2], 0], points[f, pieces[t, 2], 1], points[f, pieces[t, 2], 2]
            area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
            if sign * area <= 0.0:
                continue
            low, high = max(math.ceil(min(ax, bx, cx) - OVERLAP), 0), min(math.floor(max(ax, bx, cx) + OVERLAP), out.shape[0] - 1)
            left, right = max(math.ceil(min(ay, by, cy) - OVERLAP), 0), min(math.floor(max(ay, by, cy) + OVERLAP), out.shape[1] - 1)
            for i in range(low, high + 1):
                for j in range(left, right + 1):
                    v = ((i - ax) * (cy - ay) - (j - ay) * (cx - ax)) / area
                    w = ((bx - ax) * (j - ay) - (by - ay) * (i - ax)) / area
                    if v >= -OVERLAP and w >= -OVERLAP and v + w <= 1.0 + OVERLAP:
                        z = az + v * (bz - az) + w * (cz - az)
                        if z > out[i, j]:
                            a, b, c = values[f, pieces[t, 0]], values[f, pieces[t, 1]], values[f, pieces[t, 2]]
                            out[i, j], held[i, j] = z, a + v * (b - a) + w * (c - a)
