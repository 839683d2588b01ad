"""Bodies that a scene sets down on others (`on`): lowered from above until they touch, before anything is built."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.bodies.parts import body_parts, shape_of
from pliant.detect.clearance import clearance, traced
from pliant.geometry.mesh import Surface
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.record.snapshot import is_named
from pliant.scene import Body, Scene
from pliant.simulate.contact_rule import contact_of


class Seat(NamedTuple):
    """What touches of a body, in the world."""

    skin: Surface
    form: tuple[str, tuple[float, ...]] | None  # exact, if it is known so
    turn: Floats  # (3, 3) and
    centre: Floats  # (3,) pose of the form

    @property
    def plane(self) -> bool:
        return self.form is not None and self.form[0] == "plane"

    @property
    def box(self) -> Floats:
        """Lowest and highest corner [m], (2, 3); of a plane, which has none, its origin twice."""
        return np.stack([self.centre, self.centre] if self.plane else [self.skin.points.min(axis=0), self.skin.points.max(axis=0)])

    def moved(self, shift: Floats) -> Seat:
        return self._replace(skin=self.skin.moved(shift), centre=self.centre + shift)


def set_down(scene: Scene) -> Scene:
    """A copy in which `on` has become `position`; the scene itself if no body has it."""
    if all(body.on is None for body in scene.bodies):
        return scene
    needs, bodies, seats = contact_of(scene).needs, {body.name: body for body in scene.bodies}, dict[str, Seat]()

    def seat(name: str) -> Seat:
        """Of a body where it is now; its shape is read once, since filling a surface takes long."""
        if name not in seats:
            bodies[name] = _read(bodies[name], needs)
            seats[name] = _seat(bodies[name], needs)
        return seats[name]

    for name in _in_order({body.name: body.on for body in scene.bodies}):
        body = bodies[name]
        assert body.on is not None
        bodies[name] = body.model_copy(update={"position": (0.0, 0.0, 0.0), "on": None})
        shift = _shift(body, seat(name), seat(body.on))
        bodies[name] = bodies[name].model_copy(update={"position": tuple(shift.tolist())})
        seats[name] = seats[name].moved(shift)
    return scene.model_copy(update={"bodies": list(bodies.values())})


def _in_order(under: dict[str, str | None]) -> list[str]:
    """Bodies that are on others, each after the one that it is on."""
    found: list[str] = []
    for name in under:
        way = [name]
        while (at := under[way[-1]]) is not None and way[-1] not in found:
            if at not in under:
                raise PliantError(f"Body '{way[-1]}', on = \"{at}\": there is no such body: {nearest(at, under)}")
            if at in way:
                loop = ", which is on ".join(f"'{each}'" for each in [*way[way.index(at) :], at])
                raise PliantError(f"Body {loop}: one of them must have a place of its own.")
            way.append(at)
        found += [each for each in reversed(way) if under[each] is not None and each not in found]
    return found


def _read(body: Body, needs: frozenset[str]) -> Body:
    if is_named(body.shape):
        return body
    try:
        return body.model_copy(update={"shape": shape_of(body, needs)})
    except PliantError as error:
        raise PliantError(f"Body '{body.name}': {error}") from None


def _seat(body: Body, needs: frozenset[str]) -> Seat:
    parts = body_parts(body, needs)
    skin = Surface(parts.points[: parts.surface_points], parts.faces)
    if parts.analytic is not None and parts.frame is not None:
        return Seat(skin, parts.analytic, quaternion_to_matrix(parts.frame.rotation), parts.frame.position)
    if not len(skin.faces):
        raise PliantError(f"Body '{body.name}' has points and no triangles: with `on` it is not known where they touch; give `position`.")
    return Seat(skin, None, np.eye(3), np.zeros(3))


def _shift(body: Body, upper: Seat, lower: Seat) -> Floats:
    """[m] from the origin to where the body goes: middle over middle of their boxes, `position` aside, and above the touch."""
    shift = lower.box.mean(axis=0) - upper.box.mean(axis=0) + np.array(body.position)
    shift[2] = 0.0
    free = math.inf if upper.plane else _free(upper.moved(shift), lower)
    if not math.isfinite(free):
        aside = f"position = [{body.position[0]:g}, {body.position[1]:g}, ...] counts from middle over middle"
        why = "a plane has no end." if upper.plane else f"nothing of it is below. {aside}."
        raise PliantError(f"Body '{body.name}' cannot be set down on '{body.on}': {why}")
    shift[2] = body.position[2] - free
    return shift


def _free(upper: Seat, lower: Seat) -> float:
    """How far the upper can go down until it touches [m]; inf: it passes beside."""
    found = clearance(upper.skin, lower.skin)
    if lower.plane and not lower.turn[2, 2] > 0.0:  # what is above a plane that looks down is inside it
        return math.inf
    both = np.concatenate([upper.box, lower.box])
    far = float(np.ptp(both, axis=0).sum())  # as far away as it takes to be outside
    far = far / float(lower.turn[2, 2]) if lower.plane else far
    for own, other, way in ((upper, lower, -1.0), (lower, upper, 1.0)):
        if other.form is None or own.plane:
            continue
        ball = own.form is not None and own.form[0] == "ball"  # rolls: it is its centre with a radius
        points, radius = (own.centre[None], own.form[1][0]) if ball and own.form else (own.skin.points, 0.0)
        start = points - np.array([0.0, 0.0, 2.0 * way * far])
        found = min(found, traced(start, radius, *other.form, other.turn, other.centre, way, 4.0 * far) - 2.0 * far)
    return found
