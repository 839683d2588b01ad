"""A press on cells: the contact normal, the grids, what they say of their errors, and the result as one of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import binary_dilation, gaussian_filter

from pliant.base import Floats, Ints, PliantError
from pliant.contact.elastic import lcp
from pliant.contact.elastic.contact_nodes import DEEPEST
from pliant.contact.elastic.contact_stiffness import contact_stiffness
from pliant.contact.elastic.grid_squares import Part, Patch
from pliant.contact.elastic.lcp_load import solve_load
from pliant.contact.elastic.response import Boussinesq, Response
from pliant.contact.elastic.resting_pose import ROLLS, across, check_load
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.detect.surfels.exact import Exact
from pliant.geometry.units import rotation_matrix
from pliant.pressing.approach import check_stance
from pliant.pressing.asked import Load, Softness, agreed
from pliant.pressing.cells import (
    FIRST,
    Pair,
    Solved,
    Unsuited,
    Wide,
    beside,
    between,
    first_level,
    found_on,
    known_touch,
    over_box,
    refined,
    softer,
    solved,
)
from pliant.pressing.cells import Load as Along
from pliant.pressing.objects import Thing
from pliant.pressing.relief import Heights, Pose

STEEP = 0.35  # rms slope of contact normals against their mean: beyond, forces do not act along one normal
TURNED = 0.03  # [rad] by which the mean contact normal may differ from that of the grid
AXES = 4  # contact normals that are tried
SPAN = 0.25  # of the smaller object, around the first touch: where contact on cells is looked for at first, and
WIDEST = 4.0  # times that at most
SETTLES = 60  # turns until a free object rests, at most
MOST = 0.05  # [rad] that it turns at once
STILL = 1e-3  # of the depth: what the last turn still moved
AS_GOOD = 0.5  # error of the surface over its difference to the rougher one: that is two to four times as far off (tests)
FORETOLD = 0.25  # error over the change by leaving vertices out: half on rough surfaces, a tenth on smooth ones
SCATTER = 0.5  # error over the scatter of heights that neighbours expect: changes of both signs cancel in one number, by chance
COARSE = {"force": 0.25, "depth": 0.17, "area": 0.5, "peak": 1.0}  # errors over that guess: F ~ R^0.5, A ~ R, and peaks at kinks
BLUR = 0.25  # edges of triangles, or radii of the contact, over which a peak is blurred to see whether it is at a kink
MANY = 4.0  # edges over the radius of the contact from which triangles do not average
ORDER = 3.0  # change of force and depth from the grid before over what is left, where they converge with the square of the cells, as mostly
LEAST = {"force": 0.01, "depth": 0.007, "area": 0.015, "peak": 0.02}  # what errors are told not to be below: linear theory is no better
NODES = 3  # cells around the contact that are nodes of the result


@dataclass(frozen=True)
class OnCells:
    """A contact on cells, with errors."""

    levels: tuple[Solved, ...]  # coarse to fine
    errors: dict[str, float]  # relative, of force, depth, area and peak
    holds: bool  # the peak changes little from the last grid to the one before
    known: float  # error of force or depth that is made of how well vertices foretell each other
    steep: float  # rms slope of contact normals against their mean
    beside: float  # [m] that vertices or samples overlap the partner outside the last grid, at most

    @property
    def best(self) -> Solved:
        return self.levels[-1]

    @cached_property
    def inclined(self) -> float:
        """Median slope of the surfaces against each other where they touch, before they gave way, weighted with forces. Small in linear
        theory."""
        slope = np.hypot(*np.gradient(self.best.b - self.best.a, self.best.grid.cell))
        use = self.best.contact & np.isfinite(slope)
        order = np.argsort(slope[use])
        part = np.cumsum(self.best.P[use][order])
        return float(slope[use][order][np.searchsorted(part, 0.5 * part[-1])]) if len(part) else 0.0

    @cached_property
    def stiffness(self) -> float:
        """[N/m] along the direction while the same cells touch."""
        found = self.best
        return float(contact_stiffness(operator(found), found.contact.ravel(), np.ones(found.P.size), lcp.CLOSE)[0, 0]) * float(
            found.pair.normal @ found.pair.direction
        ) ** 2


def operator(found: Solved) -> Patch | Part:
    """The elastic matrix of all cells of a grid."""
    kind = "love" if isinstance(found.pair.response, Boussinesq) else "gauss"
    patch = Patch(found.grid.shape, found.grid.cell, found.pair.response, kind)
    if not found.pair.varies:
        return patch
    return Part(patch, np.arange(patch.size), softer(found.pair, found.grid).ravel())


def pair_of(things: tuple[Thing, Thing], poses: tuple[Pose, Pose], direction: Floats, normal: Floats, softness: Softness) -> Pair:
    """Both as heights along a contact normal."""
    c = tuple(0.0 if c is None else c for c in softness.compliances)
    over = tuple(None if given is None else thing.taken(given) for thing, given in zip(things, softness.over, strict=True))
    whole = isinstance(things[1].form, Exact) and things[1].form.kind == "plane" or any(isinstance(t.form, Heights) for t in things)
    sizes = [float(np.linalg.norm(thing.extent)) for thing in things if thing.extent is not None]
    return Pair(
        (things[0].relief, things[1].relief), poses, direction, normal, softness.of(softness.total), (c[0], c[1]), (over[0], over[1]),
        np.inf if whole else SPAN * min(sizes), min(sizes, default=np.inf),
    )  # fmt: skip


def on_cells(
    pair: Pair, load: Load, touch: Floats, spacing: float | None, fixed_normal: bool, layered: Callable[[Along], Response] | None = None
) -> OnCells:
    """The contact, with the normal that it turns out to have unless that is known.

    touch    (3,) [m] where the surfaces first touch, about
    layered  how both give way together under a load; None: as the pair says, whatever the load
    """
    asked, pair = Along(load.depth, load.force), replace(pair, normal=snapped(pair.normal, pair.direction))
    if asked.force is None or measured(pair):
        start = pair if layered is None else replace(pair, response=layered(asked))
        start, levels = _gridded(start, asked, touch, spacing, fixed_normal)
    else:
        start, levels = _under(pair, asked.force, touch, spacing, fixed_normal, layered)
    best = levels[-1]
    if best.status not in (lcp.SOLVED, lcp.APART):
        raise Unsuited(f"The contact problem was not solved on cells: {best.status}. Try a smaller depth, or nodes = 'samples'.")
    if not best.contact.any():
        raise Unsuited("Nothing touches at this depth.")
    return OnCells(tuple(levels), *_errors(start, asked, levels, touch), mean_normal(best)[1], beside(best, touch))


def _gridded(pair: Pair, asked: Along, touch: Floats, spacing: float | None, fixed_normal: bool) -> tuple[Pair, list[Solved]]:
    """The pair with the normal of its contact, and that on finer and finer grids."""
    for _ in range(AXES):
        if fixed_normal:
            break
        now, _ = found_on(pair, asked, touch)
        mean, _ = mean_normal(now)
        if not mean @ pair.direction > 0.0:
            raise Unsuited("Nothing touches: where the objects meet, their surfaces do not face each other. Turn the direction.")
        if math.acos(min(float(mean @ pair.normal), 1.0)) < TURNED:
            break
        pair = replace(pair, normal=snapped(mean, pair.direction))
    while True:
        try:
            return pair, refined(pair, asked, touch, spacing)
        except Wide:
            if pair.span > WIDEST * SPAN * pair.size:
                raise
            pair = replace(pair, span=2.0 * pair.span)


def _under(
    pair: Pair, force: float, touch: Floats, spacing: float | None, fixed_normal: bool, layered: Callable[[Along], Response] | None
) -> tuple[Pair, list[Solved]]:
    """The same under a force [N]: with the normal, the response and the grids of a press by the depth at which it is carried, so that who
    asks for that depth gets this force. Grids that were chosen under the force would be others: their pressure holds earlier or later."""
    asked = Along(None, force)

    def under(depth: float) -> tuple[float, tuple[Pair, list[Solved], Solved]]:
        deep = Along(depth, None)
        start = pair if layered is None else replace(pair, response=layered(deep))
        start, levels = _gridded(start, deep, touch, spacing, fixed_normal)
        best = solved(start, levels[-1].grid, asked, levels[-1], levels[-1].touch)
        return best.depth, (start, levels, best)

    first = found_on(pair if layered is None else replace(pair, response=layered(asked)), asked, touch)[0].depth
    start, levels, best = agreed(under, first)
    return start, [solved(start, each.grid, asked, each, each.touch) for each in levels[:-1]] + [best]


def snapped(normal: Floats, direction: Floats) -> Floats:
    """The direction itself where the normal is nearly that: then A does not go sideways over the grid."""
    return direction if float(normal @ direction) > math.cos(TURNED) else normal


def mean_normal(now: Solved) -> tuple[Floats, float]:
    """The mean contact normal, weighted with forces, and the rms slope of others against it. The softer takes the shape of the harder."""
    pair, grid = now.pair, now.grid
    c = np.array(pair.compliances)
    shares = (c[1] / c.sum(), c[0] / c.sum())
    slope = np.zeros((2, *grid.shape))
    for z, share in zip((now.a, now.b), shares, strict=True):
        if share > 0.0:
            slope += share * np.array(np.gradient(z, grid.cell))
    use = now.contact & np.all(np.isfinite(slope), axis=0)
    if not use.any():
        return pair.normal, 0.0
    weight = now.P[use] / now.P[use].sum()
    mean = np.sum(slope[:, use] * weight, axis=1)
    spread = math.sqrt(float(np.sum(weight * np.sum((slope[:, use] - mean[:, None]) ** 2, axis=0))))
    n = pair.normal - mean[0] * grid.axes[0] - mean[1] * grid.axes[1]
    return n / np.linalg.norm(n), spread


def _errors(pair: Pair, load: Along, levels: list[Solved], touch: Floats) -> tuple[dict[str, float], bool, float]:
    """What the last grid is off: by its cells, from the grid before, and by the surface that was made of vertices or samples, from a
    rougher one and from one with vertices where their neighbours expect them. Both are independent."""
    best, other, first = levels[-1], levels[-2], levels[0]
    cells = {name: abs(other.numbers[name] / best.numbers[name] - 1.0) for name in best.numbers}
    holds = cells["peak"] <= 0.05
    rim = best.rim
    cells |= {name: max(cells[name] / _order(levels, name), rim) for name in ("force", "depth")}
    cells["area"] = max(cells["area"], rim, best.swollen)
    rough, made = pair.rougher(), dict.fromkeys(cells, 0.0)
    if rough is not None:
        poorer = solved(rough, first.grid, load, first, known_touch(rough, first.grid, load))
        made = {name: AS_GOOD * abs(poorer.numbers[name] / first.numbers[name] - 1.0) for name in cells}
        made["peak"] = max(made["peak"], made["force"] + made["depth"] + made["area"])  # a peak is at a kink of one of them
        guess = _guess(first)
        made = {name: max(made[name], COARSE[name] * guess) for name in cells}
        made["peak"] = max(made["peak"], AS_GOOD * _kinked(best))
    expected = {name: FORETOLD * change for name, change in _foretold(pair, load, first, touch).items()}
    scatter = SCATTER * _scatter(first)
    made = {name: max(made[name], expected.get(name, 0.0), scatter) for name in cells}
    errors = {name: max(math.hypot(cells[name], made[name]), LEAST[name]) for name in cells}
    known = max(expected.get("force", 0.0), expected.get("depth", 0.0), scatter)
    return errors | {"force" if load.depth is None else "depth": 0.0}, holds, known  # that was given


def _order(levels: list[Solved], name: str) -> float:
    """The last change of a number over what is left: 1 to ORDER as changes fall with cells or with their squares, if three grids tell."""
    if len(levels) < 3:
        return ORDER
    before, last = (abs(one.numbers[name] - two.numbers[name]) for one, two in zip(levels[-3:-1], levels[-2:], strict=True))
    return float(np.clip(before / last - 1.0, 1.0, ORDER)) if last > 0.0 else ORDER


def _foretold(pair: Pair, load: Along, first: Solved, touch: Floats) -> dict[str, float]:
    """How much numbers change with vertices where their neighbours expect them, and the contact where it then is; nothing without them."""
    other = pair.foretold()
    if other is None:
        return {}
    try:
        found = first_level(other, load, touch, None)
    except Unsuited:
        return {name: math.inf for name in first.numbers}
    change = {name: abs(found.numbers[name] / first.numbers[name] - 1.0) for name in first.numbers}
    return change | {"area": min(change["area"], max(change["force"], change["depth"]))}  # an area that grows elsewhere carries little


def _scatter(found: Solved) -> float:
    """How much heights change with vertices where their neighbours expect them, about the mean change and over the depth, weighted with
    forces; zero without vertices."""
    other = found.pair.foretold()
    if other is None:
        return 0.0
    gap = between(*other.heights(found.grid))
    use = found.contact & np.isfinite(gap)
    if not use.any():
        return math.inf
    weight, change = found.P[use] / found.P[use].sum(), gap[use] - found.gap[use]
    return math.sqrt(float(np.sum(weight * (change - np.sum(weight * change)) ** 2))) / found.depth


def _guess(found: Solved) -> float:
    """How far the curvature of curved triangles may be off where the contact is not much larger than they are: the square of the angle by
    which they bend, less where many of them touch."""
    pair, radius = found.pair, math.sqrt(found.area / math.pi)
    bends = [r.bend(pose, found.grid, sign) for r, pose, sign in zip(pair.reliefs, pair.poses, (1, -1), strict=True)]
    return max(min(1.0, (edge / (MANY * radius)) ** 2) * angle**2 for edge, angle in bends)


def _kinked(found: Solved) -> float:
    """How much of the peak is at kinks between curved triangles: what is lost of it when blurred over a quarter of their edges, less what
    a round peak loses."""
    pair, radius = found.pair, math.sqrt(found.area / math.pi)
    edge = max(r.bend(pose, found.grid, sign)[0] for r, pose, sign in zip(pair.reliefs, pair.poses, (1, -1), strict=True))
    wide = BLUR * min(edge, radius)
    if not wide > found.grid.cell:
        return 0.0
    left = float(gaussian_filter(found.P, wide / found.grid.cell, mode="constant").max() / found.P.max())
    return max(1.0 - left - (wide / radius) ** 2, 0.0)


def nodes_of(found: Solved, compliances: tuple[float, float]) -> ContactResult:
    """Cells in contact and around it as nodes of A."""
    pair, grid = found.pair, found.grid
    near = binary_dilation(found.contact, iterations=NODES) & np.isfinite(found.gap)
    cells = np.flatnonzero(near.ravel())
    points = grid.points(np.where(np.isfinite(found.a), found.a, 0.0)).reshape(-1, 3)[cells]
    u, gap, P = (x.ravel()[cells] for x in (found.u, found.gap, found.P))
    share = compliances[0] / sum(compliances)
    n = np.broadcast_to(pair.normal, points.shape)
    whole = operator(found)
    part = some_cells(whole, cells)
    none, total = np.zeros(len(cells), np.int64), float(P.sum())
    return ContactResult(
        none, none - 1, points, points - (share * u)[:, None] * n, np.array(n), np.full(len(cells), grid.cell**2), gap, P, gap + u,
        share * u, (1.0 - share) * u, found.status, "cells", found.iterations, 1, 0, 0.0, (total, total), np.zeros(0, np.int64), 0, 0,
        ((np.arange(len(cells)), part),), level=-1,
    )  # fmt: skip


def first_normal(a: Side, b: Side) -> tuple[Floats, Floats]:
    """(contact normal from A to B, point [m]) where two objects that were brought together touch."""
    mine, other, sign = (a, b, -1.0) if a.nodes is not None else (b, a, 1.0)
    assert mine.nodes is not None
    x = mine.world(mine.nodes.points)
    found = other.project(x)
    distance = np.where(found.valid, found.distance, np.inf)
    i = int(np.argmin(distance))
    return sign * found.normals[i], x[i]


def settled(pair: Pair, force: float, at: Floats, touch: Floats) -> Pair:
    """A turned about the point of its load [m], which goes with it, until the load is balanced: first with all that could touch, then with
    what is near the contact."""
    e, near_it, stood, beside = pair.direction, False, pair.poses[0].rotation, math.inf
    axes = across(e)
    for _ in range(SETTLES):
        rough, whole = found_on(pair, Along(None, force), touch)
        beside = min(beside, float(np.linalg.norm(axes @ (rough.centre - at))))
        if near_it:
            low, high = rough.box()
            grid = over_box(rough.grid, np.maximum(low, whole[0]), np.minimum(high, whole[1]), FIRST)
        else:
            grid = pair.everything(touch, FIRST)
        a, b = rough.pair.heights(grid)
        gap = between(a, b)
        near = np.flatnonzero((gap < (2.0 * rough.depth if near_it else DEEPEST * pair.size)).ravel())
        points = grid.points(np.where(np.isfinite(a), a, 0.0)).reshape(-1, 3)[near]
        at_now = at + rough.way * e
        rows = np.column_stack([np.full(len(near), float(pair.normal @ e)), np.cross(points - at_now, pair.normal) @ axes.T])
        patch = operator(replace(rough, grid=grid))
        found = solve_load(some_cells(patch, near), gap.ravel()[near], rows, np.array([force, 0.0, 0.0]))
        check_load(found, points, e, at_now, True)
        assert found.position is not None
        turn = found.position[1:] @ axes
        turn *= min(1.0, MOST / max(float(np.linalg.norm(turn)), 1e-300))
        pair = replace(pair, poses=(pair.poses[0].turned(rotation_matrix(np.degrees(turn)), at), pair.poses[1]))
        check_stance(stood, pair.poses[0].rotation, e, beside)
        moved = float(np.max(np.abs(rows[found.contact][:, 1:] @ found.position[1:])))
        if near_it and moved <= STILL * rough.depth:
            return pair
        near_it = near_it or moved <= rough.depth
    raise PliantError(ROLLS)


def some_cells(whole: Patch | Part, cells: Ints) -> Part:
    """The elastic matrix of some cells."""
    if isinstance(whole, Patch):
        return Part(whole, cells)
    return Part(whole.patch, cells, None if whole.give is None else whole.give[cells])


def measured(pair: Pair) -> bool:
    """One of both is a field of heights."""
    return any(isinstance(r, Heights) for r in pair.reliefs)
