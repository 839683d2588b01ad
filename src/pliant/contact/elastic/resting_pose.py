"""Where an object comes to rest under a load: pushed along a direction, and tilting freely if it may.

The contact problem with a given load (lcp_load.py) is linear in the motion of the object; its answer moves the object, and the problem is
set up anew there, until nothing moves. First on the coarsest level with everything that could touch, then on finer ones.

On a plane an object that may tilt first rolls as a rigid one over corners and edges until the load is above what it stands on, which may
be another side. The height of the load's point over the plane is H = max_i (x_i - at).e, with e the direction of the load. While the object
rolls, H falls. Its steepest descent turns the object away from the point of its support (the polygon of the samples that touch) that is
nearest to the line of the load, until another sample touches. It ends where that line passes through the support: a minimum of H, a stable
stance."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from pliant.base import Floats, PliantError
from pliant.contact.elastic.coarse_to_fine import carried, coarser, levels_of, within_rim
from pliant.contact.elastic.contact_nodes import (
    AT_END,
    DEEPEST,
    MARGIN,
    Pair,
    Problem,
    contact_normals,
    gather,
    joint_response,
    mapped,
    master,
)
from pliant.contact.elastic.lcp import CLOSE, NEARLY, ROUGH, Solution
from pliant.contact.elastic.lcp_load import solve_load
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.two_bodies import resolve
from pliant.detect.surfels.exact import Exact
from pliant.geometry.units import rotation_matrix

STEPS = (200, 12)  # on the coarsest level, on others
MATCHES = 6  # moves towards the force, at most
SMALL = 0.05  # of the contact: centre of pressure beside the load that counts as none; [rad] most that a step turns
ROLLS = (
    "It does not come to rest: under this load it rocks or rolls on, or any stance would do, as for a ball. Hold it (tilt fixed), or load "
    "it elsewhere (at)."
)
TOUCH = 1e-9  # of the object: nearer samples of one that rolls touch
TURNS = 10000  # of one that rolls, at most


def rest(
    a: Side, b: Side, direction: Floats, force: float, *, tilt: bool = False, at: Floats | None = None, tolerance: float = NEARLY
) -> tuple[Side, ContactResult]:
    """A at rest under a force [N] along a direction, and its contact.

    a     where it touches B, or nearly so
    tilt  may A turn about the axes across the direction? The force acts at `at` [m], a point of the world that goes with A
    """
    e = np.asarray(direction, np.float64) / np.linalg.norm(direction)
    at = a.translation if at is None else np.asarray(at, np.float64)
    axes = across(e) if tilt else np.zeros((0, 3))
    if tilt:
        a, at = stable(a, b, e, at)
    last: tuple[Problem, Solution] | None = None
    coarsest = levels_of(a, b) - 1
    margin = DEEPEST * min(a.size, b.size)
    for level in range(coarsest, -1, -1):
        for _ in range(STEPS[level != coarsest]):
            sides = coarser(a, level), coarser(b, level)
            problem = _problem(sides, margin)
            n = contact_normals(sides, problem.nodes.owner, problem.nodes.normals, problem.nodes.facing)
            rows = np.hstack([np.sum(n * e, axis=1)[:, None], np.cross(problem.nodes.points - at, n) @ axes.T])
            load = np.concatenate([[force], np.zeros(len(axes))])
            found = solve_load(problem.K, problem.nodes.gap, rows, load, start=_started(last, problem, sides))
            check_load(found, problem.nodes.points, e, at, tilt)
            assert found.position is not None
            x = found.position * min(1.0, SMALL / max(float(np.linalg.norm(found.position[1:])), 1e-300))
            turn = rotation_matrix(np.degrees(x[1:] @ axes))
            a, at = a.moved(turn, at, x[0] * e), at + x[0] * e
            last = problem, found
            gap = problem.nodes.gap - np.sum(rows * found.position, axis=1)
            depth, top = float(-np.min(gap)), float(np.max(gap[found.contact]))
            cramped = level != coarsest and top > AT_END * margin  # the contact goes on beyond the nodes
            if level != coarsest:
                margin = 2.0 * margin if cramped else margin
            if float(np.max(np.abs(rows @ x))) <= max(tolerance, ROUGH if level else 0.0) * depth and not cramped:
                break
        else:
            if level == coarsest and tilt:
                raise PliantError(ROLLS)
        margin = max(MARGIN * depth, top / AT_END)
    a, result = matched(a, b, e, force)
    if tilt and not balanced(result, at, e):
        raise PliantError(ROLLS)
    return a, result


def stable(a: Side, b: Side, e: Floats, at: Floats) -> tuple[Side, Floats]:
    """A and the point of its load where it stands stably on B, if that is a plane across the load."""
    if a.nodes is None or not isinstance(b.shape, Exact) or b.shape.kind != "plane" or b.rotation[:, 2] @ e > -1.0 + 1e-9:
        return a, at
    a = a.moved(rolled(a.world(a.nodes.points), at, e), at, np.zeros(3))
    assert a.nodes is not None
    shift = float(b.translation @ e - np.max(a.world(a.nodes.points) @ e)) * e
    return a.moved(np.eye(3), np.zeros(3), shift), at + shift


def balanced(found: ContactResult, at: Floats, e: Floats) -> bool:
    """The centre of pressure is under the load, to a part of the contact."""
    touching = found.contact
    if not touching.any():
        return True  # nothing touches: that is said elsewhere
    wide = float(np.max(np.ptp(found.points[touching], axis=0)) + np.sqrt(np.max(found.areas[touching])))
    beside = found.centre - at
    return float(np.linalg.norm(beside - (beside @ e) * e)) <= SMALL * wide


def matched(a: Side, b: Side, e: Floats, force: float) -> tuple[Side, ContactResult]:
    """A moved along the direction until the contact, solved anew with both surfaces where they came to be, carries the force along it.

    Without turning: what is left of the moments is that of the last stance.
    """
    found = resolve(a, b)
    for _ in range(MATCHES):
        missing = force - float(found.wrench_b()[:3] @ e)
        stiffness = float(e @ found.stiffness()[:3, :3] @ e)
        if abs(missing) <= CLOSE * force or stiffness <= 0.0:
            break
        a = a.moved(np.eye(3), np.zeros(3), missing / stiffness * e)
        found = resolve(a, b)
    return a, found


def _problem(sides: Pair, margin: float) -> Problem:
    """Nodes that may touch: at first all that face the partner within a third of the object, later those around the contact."""
    nodes = gather(sides, (master(*sides),), margin)
    while len(nodes) == 0 and margin < DEEPEST * min(side.size for side in sides):  # a finer level may lie higher than the one before
        margin *= 4.0
        nodes = gather(sides, (master(*sides),), margin)
    if len(nodes) == 0:
        raise PliantError(
            "Nothing that faces the other object is near enough to touch it. Are they far apart, is what comes first the rim of an open or "
            "cropped surface, or are normals inside out? Bring them nearer, or turn the object (up) or the direction."
        )
    return Problem.of(sides, nodes, joint_response(sides), 1)


def _started(last: tuple[Problem, Solution] | None, problem: Problem, sides: Pair) -> Solution | None:
    """The last forces, of the same samples or from a coarser level."""
    if last is None or not np.any(last[1].contact):
        return None
    before, found = last
    if all(one.nodes is two.nodes for one, two in zip(before.sides, sides, strict=True)):
        force = mapped(before.nodes.owner, before.nodes.sample, found.P, problem.nodes)
    else:
        force = within_rim(carried(before.nodes.points, before.areas, found.P, problem.nodes.points, problem.areas))
    position = found.position
    return replace(found, P=force, s=np.zeros(len(force)), position=None if position is None else np.zeros_like(position))


def check_load(found: Solution, points: Floats, e: Floats, at: Floats, tilt: bool) -> None:
    """Refuse a load that points (n, 3) [m] cannot carry, with the way out."""
    if found.solved:
        return
    if "no forces" in found.status and tilt:
        beside = points - at
        q = nearest_support(beside - (beside @ e)[:, None] * e)
        way = ", ".join(f"{c + 0.0:.2g}" for c in np.round(-q / max(float(np.linalg.norm(q)), 1e-300), 3))
        raise PliantError(
            f"This load cannot be carried: it passes {1000 * float(np.linalg.norm(q)):.3g} mm beside everything that can touch, so the "
            f"object tips over towards ({way}). Hold the object (tilt fixed), move the load (at) the other way, or turn the object."
        )
    if "no forces" in found.status:
        raise PliantError("This load cannot be carried: nothing faces it. Turn the object or the direction.")
    if tilt:
        raise PliantError(f"{ROLLS} ({found.status}, residual {found.residual:.1e})")
    raise PliantError(f"The contact under this load was not found ({found.status}, residual {found.residual:.1e}). Press by depth.")


def across(e: Floats) -> Floats:
    """Two unit vectors across a direction."""
    u = np.cross(e, np.eye(3)[int(np.argmin(np.abs(e)))])
    u /= np.linalg.norm(u)
    return np.stack([u, np.cross(e, u)])


def rolled(points: Floats, at: Floats, e: Floats) -> Floats:
    """(3, 3) the turn about `at` after which an object rests on a plane across e; none if `at` is outside it: then nothing may stop it.

    points (n, 3), at (3,) [m]; e (3,) a unit vector
    """
    size, total = float(np.linalg.norm(np.ptp(points, axis=0))), np.eye(3)
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in a plane
        return total
    if np.any(hull.equations[:, :3] @ at + hull.equations[:, 3] > TOUCH * size):
        return total
    x = np.asarray(points[np.sort(hull.vertices)] - at, dtype=np.float64)
    for _ in range(TURNS):
        low = x @ e
        touch = x[low >= low.max() - TOUCH * size]
        q = nearest_support(touch - (touch @ e)[:, None] * e)
        far = float(np.linalg.norm(q))
        if far <= TOUCH * size:
            return total
        d = -q / far
        pivot = touch[int(np.argmax(touch @ d))]
        below, ahead = np.minimum((x - pivot) @ e, 0.0), (x - pivot) @ d
        reach = ahead > TOUCH * size
        angle = float(np.min(np.arctan2(-below[reach], ahead[reach])))
        turn = rotation_matrix(math.degrees(angle) * np.cross(d, e))  # brings cos(angle) e + sin(angle) d to e
        x, total = x @ turn.T, turn @ total
    return np.eye(3)


def nearest_support(offsets: Floats) -> Floats:
    """(3,) the point nearest to the origin of the polygon around points (n, 3) that lie in a plane with it; zero if it is inside.

    It is inside if no half-plane holds all points; outside, the nearest point is on a segment between two of them.
    """
    far = np.linalg.norm(offsets, axis=1)
    first = offsets[int(np.argmin(far))]
    if len(offsets) == 1 or not far.min() > 0.0:
        return first
    u = first / np.linalg.norm(first)
    side = offsets - (offsets @ u)[:, None] * u
    v = side[int(np.argmax(np.linalg.norm(side, axis=1)))]
    angle = np.sort(np.arctan2(offsets @ v / max(float(np.linalg.norm(v)), 1e-300), offsets @ u))
    if np.max(np.diff(angle, append=angle[0] + 2.0 * math.pi)) <= math.pi:
        return np.zeros(3)
    i, j = np.triu_indices(len(offsets), 1)
    way = offsets[j] - offsets[i]
    part = np.clip(-np.sum(offsets[i] * way, axis=1) / np.maximum(np.sum(way**2, axis=1), 1e-300), 0.0, 1.0)
    on = offsets[i] + part[:, None] * way
    return on[int(np.argmin(np.linalg.norm(on, axis=1)))]
