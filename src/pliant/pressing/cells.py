"""Contact on the cells of a grid: two surfaces that are nearly flat where they touch, as heights across the contact normal.

A whole press is this: find what may touch on a coarse grid over everything, go on with a grid over that part only, and halve its cells
until the peak of the pressure holds. Squares with constant pressure on an elastic half-space multiply by fast Fourier transforms
(grid_squares.py), so that a grid of 128 x 128 cells takes a tenth of a second.

Gaps are heights along the contact normal, forces act along it, and areas are those of the cells: the linear theory of contact. Where the
surfaces that touch bend by more than STEEP away from the normal, samples of the surfaces themselves do better (two_bodies.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import binary_erosion, find_objects, label, minimum, minimum_filter

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic import lcp
from pliant.contact.elastic.grid_squares import Part, Patch
from pliant.contact.elastic.response import Boussinesq, Response
from pliant.contact.elastic.resting_pose import across
from pliant.pressing.relief import Grid, Heights, Pose, Relief

FIRST = 48  # cells along the longer side of a grid on which the contact is looked for
START = 64  # and of the first one that counts
FINEST = 256  # of the last one, at most
HOLDS = 0.05  # change of the peak from a grid to one of half its cells, below which it holds
SHRINK = 0.7  # of the side of a grid: a contact that needs less of it gets a grid of its own
LOOKS = 12  # grids on which the contact is looked for, at most
ROOM = 0.15  # of the side of the contact that is left free around it, and
RIM = 2  # cells
CAP = 3.0  # depths above the contact that count as far away
CLOSE = 1e-3  # of the depth: how well the first touch is known
STEEPEST = 7.0  # change of a gap over the way to the next cell, diagonally √2 cells: surfaces that touch have slopes below 1/FACING = 5
SWELLS = 0.13  # of a cell at the rim that counts as touching, and does not: pressure is even on cells, gaps are those of their centres
MOVES = 8  # along the direction until the surfaces just touch, or carry the force


class Unsuited(PliantError):
    """What touches is not seen as heights along one direction."""


class Wide(Unsuited):
    """The contact is wider than where it was looked for."""


@dataclass(frozen=True)
class Pair:
    """Two surfaces, the way A goes, and how both give way together."""

    reliefs: tuple[Relief, Relief]
    poses: tuple[Pose, Pose]
    direction: Floats  # (3,)
    normal: Floats  # (3,) contact normal, from A to B
    response: Response  # of both
    compliances: tuple[float, float] = (0.0, 0.0)  # C [m^2/N] of A and B that the response stands for
    over: tuple[Floats | None, Floats | None] = (None, None)  # C at vertices or samples, where it varies
    span: float = math.inf  # [m] around the first touch, beyond which nothing is looked for: elsewhere the normal is another
    size: float = math.inf  # [m] of the smaller object

    @property
    def varies(self) -> bool:
        """A modulus is not the same everywhere."""
        return self.over[0] is not None or self.over[1] is not None

    @property
    def straight(self) -> bool:
        """A goes along the contact normal."""
        return bool(self.direction @ self.normal > 1.0 - 1e-12)

    def moved(self, way: float) -> Pair:
        """A gone on along the direction [m]."""
        return replace(self, poses=(self.poses[0].shifted(way * self.direction), self.poses[1]))

    def rougher(self) -> Pair | None:
        """With the poorer reconstruction of both surfaces."""
        return self._with(*(relief.rougher for relief in self.reliefs))

    def foretold(self) -> Pair | None:
        """With the vertices of both where their neighbours expect them."""
        return self._with(*(relief.foretold for relief in self.reliefs))

    def _with(self, one: Relief | None, two: Relief | None) -> Pair | None:
        """With other surfaces; None if there are none."""
        if one is None and two is None:
            return None
        return replace(self, reliefs=(one or self.reliefs[0], two or self.reliefs[1]))

    def heights(self, grid: Grid) -> tuple[Floats, Floats]:
        """(nx, ny) [m] of A and of B along the normal; NaN where they have no surface."""
        return self.reliefs[0].heights(self.poses[0], grid, 1), self.reliefs[1].heights(self.poses[1], grid, -1)

    def tips(self, grid: Grid, a: Floats, b: Floats) -> Floats:
        """(nx, ny) [m] gaps no wider than between vertices or samples in each cell; `a` and `b` are the heights at its centre."""
        one, two = (r.tips(s, grid, sign) for r, s, sign in zip(self.reliefs, self.poses, (1, -1), strict=True))
        return between(np.fmax(a, one), np.fmin(b, two))

    def everything(self, origin: Floats, cells: int) -> Grid:
        """A grid over all that can touch: cells of height fields are taken as they are."""
        axes = np.vstack([across(self.normal), self.normal])
        if any(isinstance(r, Heights) for r in self.reliefs):
            axes = np.stack([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], self.normal])
        grid = Grid(origin, axes, np.zeros(2), 1.0, (1, 1), self.span)
        (low, high), (under, over) = (r.shadow(s, grid) for r, s in zip(self.reliefs, self.poses, strict=True))
        low, high = np.maximum(np.maximum(low, under), -self.span), np.minimum(np.minimum(high, over), self.span)
        if not np.all(high > low):
            raise Unsuited("The first object never touches the second on its way: their shadows along it lie beside each other.")
        given = [r for r in self.reliefs if isinstance(r, Heights)]
        if given:
            nx, ny = given[0].rise.shape
            return replace(grid, corner=-0.5 * given[0].size, cell=given[0].cell, shape=(nx, ny))
        return over_box(grid, low, high, cells)


@dataclass(frozen=True)
class Load:
    """How far or how hard."""

    depth: float | None  # [m] along the direction, after the first touch
    force: float | None  # [N] along the direction


@dataclass(frozen=True)
class Solved:
    """The contact on one grid."""

    pair: Pair  # where A came to be
    grid: Grid
    a: Floats  # (nx, ny) [m] height of A along the normal, there and before deformation; NaN where it has no surface
    b: Floats  # of B
    P: Floats  # (nx, ny) [N] along the normal
    u: Floats  # (nx, ny) [m] how far both gave way together
    way: float  # [m] that A went on from where it was, along the direction
    depth: float  # [m] after the first touch
    iterations: int
    status: str

    @property
    def contact(self) -> np.ndarray:
        return self.P > 0.0

    @cached_property
    def gap(self) -> Floats:
        """(nx, ny) [m] before deformation; infinite where there is none."""
        return between(self.a, self.b)

    @property
    def force(self) -> float:
        """[N] against the direction."""
        return float(np.sum(self.P) * (self.pair.normal @ self.pair.direction))

    @property
    def touch(self) -> float:
        """[m] that A went until it first touched."""
        return self.way - self.depth

    @property
    def centre(self) -> Floats:
        """(3,) [m] of pressure."""
        points = self.grid.points(np.where(np.isfinite(self.a), self.a, 0.0)).reshape(-1, 3)
        return np.asarray(self.P.ravel() @ points / self.P.sum())

    @property
    def area(self) -> float:
        """[m^2]"""
        return float(np.count_nonzero(self.contact)) * self.grid.cell**2

    @property
    def rim(self) -> float:
        """Standard error of the area, over it: a cell at the rim touches or not, where a part of it does that is anything from none to all
        (uniform, variance 1/12)."""
        count = int(np.count_nonzero(self.contact))
        return math.sqrt(self._at_rim / 12.0) / count if count else math.inf

    @property
    def swollen(self) -> float:
        """How much too large the area is, over it, where pressure falls to zero at the rim."""
        count = int(np.count_nonzero(self.contact))
        return SWELLS * self._at_rim / count if count else math.inf

    @property
    def _at_rim(self) -> int:
        """Cells that touch beside some that do not."""
        return int(np.count_nonzero(self.contact) - np.count_nonzero(binary_erosion(self.contact)))

    @property
    def peak(self) -> float:
        """[Pa]"""
        return float(self.P.max(initial=0.0)) / self.grid.cell**2

    @cached_property
    def numbers(self) -> dict[str, float]:
        """What errors are told of."""
        return {"force": self.force, "depth": self.depth, "area": self.area, "peak": self.peak}

    @cached_property
    def elsewhere(self) -> Ints:
        """(nx, ny) groups of cells away from the contact, from 1 on, in which vertices or samples overlap the partner: they may touch
        between the centres of cells. The deepest one is the first."""
        tips = self.pair.tips(self.grid, self.a, self.b)
        groups, count = label((tips < 0.0) | self.contact, np.ones((3, 3)))
        least = np.asarray(minimum(tips, groups, np.arange(1, count + 1)), np.float64)
        least[np.unique(groups[self.contact]) - 1] = np.inf
        rank = np.zeros(count + 1, np.int64)
        order = np.argsort(least, kind="stable")[: np.count_nonzero(np.isfinite(least))]
        rank[1 + order] = 1 + np.arange(len(order))
        return rank[groups]

    def box(self, all_of_it: bool = True) -> tuple[Floats, Floats]:
        """Where the contact is, with room around it [m]; or one part of it."""
        some = self.contact | (self.elsewhere > 0 if all_of_it else (self.elsewhere == 1) & ~self.contact.any())
        return _box(self.grid, some if some.any() else self.gap <= self.gap.min())  # cells may be too coarse to touch

    def at_rim(self, whole: tuple[Floats, Floats]) -> bool:
        """Cells at the rim of the grid touch, and the surfaces go on beyond."""
        c, grid = self.contact, self.grid
        low, high = grid.corner, grid.corner + grid.size
        before, beyond = low > whole[0], high < whole[1]
        ends = ((c[0], before[0]), (c[-1], beyond[0]), (c[:, 0], before[1]), (c[:, -1], beyond[1]))
        return any(bool(line.any() and more) for line, more in ends)


def over_box(grid: Grid, low: Floats, high: Floats, cells: int) -> Grid:
    """A grid with so many cells along the longer side of a box, whose middle is its own."""
    cell = float(np.max(high - low)) / cells
    shape = np.maximum(np.ceil((high - low) / cell - 1e-9).astype(np.int64), 3)
    return replace(grid, corner=0.5 * (low + high) - 0.5 * cell * shape, cell=cell, shape=(int(shape[0]), int(shape[1])))


def roomy(grid: Grid, low: Ints, high: Ints) -> tuple[Floats, Floats]:
    """The box from one cell to another with room around it [m]."""
    room = ROOM * float(np.max(high - low)) + RIM
    return grid.corner + grid.cell * (low - room), grid.corner + grid.cell * (high + room)


def _box(grid: Grid, cells: np.ndarray) -> tuple[Floats, Floats]:
    """Around some cells, with room [m]."""
    i, j = np.nonzero(cells)
    return roomy(grid, np.array([i.min(), j.min()]), np.array([i.max() + 1, j.max() + 1]))


def between(a: Floats, b: Floats) -> Floats:
    """Gaps of heights [m]; infinite where either is missing."""
    found = b - a
    return np.where(np.isfinite(found), found, np.inf)


def first_touch(pair: Pair, grid: Grid, close: float) -> float:
    """[m] that A goes along its direction until it first touches B, as well known as asked [m]: over a grid and, as this may pass over
    something thin, around its origin, which is a point that is about as far as any."""
    if any(isinstance(r, Heights) for r in pair.reliefs):
        return float(np.min(between(*pair.heights(grid)))) / float(pair.normal @ pair.direction)
    way, near = 0.0, over_box(grid, np.full(2, -grid.cell), np.full(2, grid.cell), FIRST)
    for _ in range(MOVES):
        there = pair.moved(way)
        step = min(_least_gap(there, each, close) for each in (grid, near)) / float(pair.normal @ pair.direction)
        if not math.isfinite(step):
            raise Unsuited("Nothing touches: what the two objects turn to each other does not face along the direction.")
        way += step
        if pair.straight or abs(step) <= close:
            break
    return way


def _least_gap(pair: Pair, grid: Grid, close: float, known: float = math.inf, looks: int = LOOKS) -> float:
    """[m] on finer grids over the cells between whose centres a gap may be less than what is known: by half of the change to the next
    centre, since a surface that faces the other is less steep than STEEPEST. Each group of such cells has a grid of its own."""
    a, b = pair.heights(grid)
    gap, tips = between(a, b), pair.tips(grid, a, b)
    least = float(gap.min())
    near = np.stack([np.where(np.abs(change) <= STEEPEST * grid.cell, np.abs(change), 0.0) for change in _changes(gap)])
    may = np.minimum(gap - 0.5 * near.max(axis=0), tips) < min(least, known) - close
    if looks == 0 or not may.any():
        return least
    groups, _ = label(may | (gap == least), np.ones((3, 3)))
    boxes = [(float(gap[box][groups[box] == k].min()), box) for k, box in enumerate(find_objects(groups), 1)]
    found = math.inf
    for lowest, (i, j) in sorted(boxes, key=lambda each: each[0])[:LOOKS]:
        low, high = (grid.corner + grid.cell * np.array(end) for end in ((i.start - 1, j.start - 1), (i.stop + 1, j.stop + 1)))
        cells = FIRST if float(np.max(high - low)) < 0.5 * float(np.max(grid.size)) else 2 * max(grid.shape)
        deeper = lowest if cells > FINEST else _least_gap(pair, over_box(grid, low, high, cells), close, min(found, known), looks - 1)
        found = min(found, deeper)
    return found


def _changes(gap: Floats) -> Iterator[Floats]:
    """From each cell to the eight around it; infinite where either has no gap."""
    nx, ny = gap.shape
    wide = np.pad(gap, 1, constant_values=np.inf)
    with np.errstate(invalid="ignore"):
        for i, j in ((i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)):
            yield np.nan_to_num(wide[i : i + nx, j : j + ny] - gap, nan=np.inf)


def solved(pair: Pair, grid: Grid, load: Load, before: Solved | None, touch: float, tolerance: float = lcp.NEARLY) -> Solved:
    """The contact on a grid; `before` is that on another one, to start from. A first touches after having gone on by `touch` [m]."""
    along = float(pair.normal @ pair.direction)
    low, high = pair.heights(grid)
    if not np.any(np.isfinite(high - low)):
        raise Unsuited("Nothing touches: what the two objects turn to each other does not face along the direction.")

    def gone(way: float) -> Floats:
        """Heights of A that went on; looked up again if it also goes sideways."""
        return low + way * along if pair.straight else pair.reliefs[0].heights(pair.moved(way).poses[0], grid, 1)

    way, a = touch, gone(touch)
    start = None if before is None else carried(before, grid)
    if load.depth is not None:
        a = gone(way + load.depth)
        P, u, _, count, status = _solve(pair, grid, between(a, high), load.depth, start, tolerance, None)
        return Solved(pair.moved(way + load.depth), grid, a, high, P, u, way + load.depth, load.depth, count, status)
    assert load.force is not None
    gap = between(a, high)
    deep = float(np.ptp(gap[np.isfinite(gap)])) if before is None else before.depth * along
    iterations = 0
    for _ in range(MOVES):
        P, u, step, count, status = _solve(pair, grid, between(a, high), deep, start, tolerance, load.force / along)
        way, iterations, start = way + step / along, iterations + count, P
        deep, a = max((way - touch) * along, 1e-3 * deep), gone(way)
        if pair.straight or abs(step) <= 1e-5 * deep:
            break
    return Solved(pair.moved(way), grid, a, high, P, u, way, way - touch, iterations, status)


def _solve(
    pair: Pair, grid: Grid, gap: Floats, depth: float, start: Floats | None, tolerance: float, total: float | None
) -> tuple[Floats, Floats, float, int, str]:
    """(P, u, approach, iterations, status) with these gaps, at a position or under a total force [N].

    Gaps count up to a cap, for the sake of conjugate gradients. It must lie above what touches: under a force a single cell far below
    the others, as outliers of a cloud make it, would leave all others at the cap, where they would touch though they are far away.
    """
    patch = Patch(grid.shape, grid.cell, pair.response, "love" if isinstance(pair.response, Boussinesq) else "gauss")
    there = np.isfinite(gap)
    some = np.flatnonzero(there)  # cells without a surface carry nothing, however far a soft one rises beside what is pressed in
    operator: Patch | Part = patch
    if pair.varies or len(some) < gap.size:
        operator = Part(patch, some, softer(pair, grid)[there] if pair.varies else None)
    begin, wide = None if start is None else start[there], gap[there]
    cap, most = CAP * depth if total is None else float(np.min(wide)) + CAP * depth, float(np.max(wide))
    while True:
        q = np.minimum(wide, cap)
        found = lcp.conjugate_gradients(operator, q, begin, tolerance, None, total)
        if cap >= most or not np.any(found.P[wide > cap] > 0.0):
            break
        depth *= 2.0
        cap += CAP * depth
    approach = 0.0 if found.position is None else float(found.position[0])
    P = np.zeros(grid.shape)
    P[there] = found.P
    u = np.zeros(grid.shape) if len(some) == gap.size else np.asarray(patch @ P.ravel()).reshape(grid.shape)
    u[there] = found.s - q + approach
    return P, u, approach, found.iterations, found.status


def softer(pair: Pair, grid: Grid) -> Floats:
    """(nx, ny) compliance of both over that of the response."""
    total = np.zeros(grid.shape)
    for k, sign in ((0, 1), (1, -1)):
        given, c = pair.over[k], pair.compliances[k]
        total += c if given is None else pair.reliefs[k].values(pair.poses[k], grid, sign, given)
    return np.where(np.isfinite(total), total / sum(pair.compliances), 1.0)


def carried(before: Solved, grid: Grid) -> Floats:
    """Forces of one grid on another: of the cells whose middles are in theirs, by area."""
    index = []
    for k, centre in enumerate(grid.centres):
        index.append(np.floor((centre - before.grid.corner[k]) / before.grid.cell).astype(np.int64))
    inside = [(i >= 0) & (i < n) for i, n in zip(index, before.grid.shape, strict=True)]
    at = [np.clip(i, 0, n - 1) for i, n in zip(index, before.grid.shape, strict=True)]
    share = (grid.cell / before.grid.cell) ** 2
    return np.where(inside[0][:, None] & inside[1], share * before.P[np.ix_(at[0], at[1])], 0.0)


def found_on(pair: Pair, load: Load, origin: Floats, all_of_it: bool = True) -> tuple[Solved, tuple[Floats, Floats]]:
    """The contact, or one part of it, on a coarse grid that is hardly wider than it, and the box of everything [m]."""
    grid = pair.everything(origin, FIRST)
    whole = grid.corner, grid.corner + grid.size
    now: Solved | None = None
    touch = known_touch(pair, grid, load)
    for _ in range(LOOKS):
        now = solved(pair, grid, load, None, touch, lcp.ROUGH)
        if any(isinstance(r, Heights) for r in pair.reliefs):
            break
        (low, high), may = now.box(all_of_it), _may_touch(now)
        if may.any():
            least, most = _box(grid, may)
            low, high = np.minimum(low, least), np.maximum(high, most)
        low, high = np.maximum(low, whole[0]), np.minimum(high, whole[1])
        if float(np.max(high - low)) > SHRINK * float(np.max(grid.size)):
            break
        grid = over_box(grid, low, high, FIRST)
    assert now is not None
    return now, whole


def known_touch(pair: Pair, grid: Grid, load: Load) -> float:
    """[m] that A goes until it first touches, known to a small part of the depth."""
    if load.depth is not None:
        return first_touch(pair, grid, CLOSE * load.depth)
    about = first_touch(pair, grid, math.inf)
    return first_touch(pair, grid, CLOSE * solved(pair, grid, load, None, about, lcp.ROUGH).depth)


def _may_touch(now: Solved) -> np.ndarray:
    """Cells that overlap, or could where the surfaces are lower between their centres."""
    gap = np.where(np.isfinite(now.gap), now.gap, 1e300)
    drop = gap - minimum_filter(gap, 3, mode="nearest")
    return np.isfinite(now.gap) & (gap - 0.5 * np.minimum(drop, 1e299) < 0.0)


def first_level(pair: Pair, load: Load, origin: Floats, cell: float | None) -> Solved:
    """The contact on the first grid that counts: over it, and hardly wider. Over a part of it where thin tips are so far apart that the
    cells of one grid would pass over all of them."""
    (rough, whole), all_of_it = found_on(pair, load, origin), True
    while True:
        low, high = rough.box(all_of_it)
        if np.any(low < -pair.span) or np.any(high > pair.span):
            raise Wide("The contact is as wide as the objects: its normals differ too much for one grid.")
        low, high = np.maximum(low, whole[0]), np.minimum(high, whole[1])
        grid = over_box(rough.grid, low, high, START if cell is None else max(int(math.ceil(float(np.max(high - low)) / (2.0 * cell))), 4))
        one = solved(pair, grid, load, rough, rough.touch)
        if all_of_it and not one.contact.any():
            (rough, whole), all_of_it = found_on(pair, load, origin, False), False
            continue
        if not one.at_rim(whole):
            return one
        rough = one


def beside(found: Solved, origin: Floats) -> float:
    """[m] how deep vertices or samples overlap the partner away from a contact, outside its grid; 0 if none does."""
    grid = found.pair.everything(origin, FIRST)
    over = -found.pair.tips(grid, *found.pair.heights(grid))
    low = found.grid.corner + (found.grid.origin - grid.origin) @ grid.axes[:2].T
    x, y = (
        np.abs(at - (least + 0.5 * size)) < 0.5 * (size + grid.cell)
        for at, least, size in zip(grid.centres, low, found.grid.size, strict=True)
    )
    groups, _ = label((over > 0.0) | (x[:, None] & y[None, :]), np.ones((3, 3)))
    return float(np.max(over, initial=0.0, where=~np.isin(groups, groups[x[:, None] & y[None, :]])))


def refined(pair: Pair, load: Load, origin: Floats, cell: float | None) -> list[Solved]:
    """The contact on finer and finer grids, until the peak holds; or with cells of a size [m] and twice that."""
    if any(isinstance(r, Heights) for r in pair.reliefs):
        return _on_given(pair, load, pair.everything(origin, FIRST))
    levels = [first_level(pair, load, origin, cell)]
    while True:
        grid = levels[-1].grid.finer()
        levels.append(solved(pair, grid, load, levels[-1], levels[-1].touch))
        held = abs(levels[-1].peak - levels[-2].peak) <= HOLDS * levels[-1].peak
        if cell is not None or held or max(grid.shape) >= FINEST:
            return levels


def _on_given(pair: Pair, load: Load, grid: Grid) -> list[Solved]:
    """The contact on every other of the given cells and on all of them, each from that on fewer."""
    grids = [grid, grid.every_other]
    while min(grids[-1].shape) > FIRST:
        grids.append(grids[-1].every_other)
    levels: list[Solved] = []
    for k, each in enumerate(reversed(grids)):
        touch, good = first_touch(pair, each, 0.0), lcp.NEARLY if k >= len(grids) - 2 else lcp.ROUGH
        levels.append(solved(pair, each, load, levels[-1] if levels else None, touch, good))
    return levels[-2:]


def shifted(found: Solved, by: Floats) -> Solved:
    """The same contact elsewhere [m]."""
    pair, grid = found.pair, found.grid
    poses = pair.poses[0].shifted(by), pair.poses[1].shifted(by)
    return replace(found, pair=replace(pair, poses=poses), grid=replace(grid, origin=grid.origin + by))
