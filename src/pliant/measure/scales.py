"""Sizes and times that bodies have of themselves, whatever the step: what forces, depths and areas of contact are measured against.

The size of a closed body is 6 V / A, which is the diameter of a ball and the edge of a cube. Its *time* is what a wave along a bar of its
material needs to cross it, size / sqrt(E / rho): a force that is averaged over less tells how single waves arrive, and one over more hides
how the body as a whole was pushed. Rigid bodies have no such time; two of them are averaged over the time in which gravity moves the
smaller one by its size, sqrt(2 size / g).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.bodies.register import room_of
from pliant.detect.closest import face_neighbours
from pliant.geometry.mesh import TET_EDGES
from pliant.kernels import contiguous, kernel
from pliant.model import Skin
from pliant.world.world import World

PART = 0.25  # of the size of a rigid body, for want of elements: those of a mesh that is just good enough to see its shape
SENSOR = 0.01  # [s] window for two rigid bodies without gravity, who have no time of their own: that of a common force sensor


@dataclass(frozen=True)
class Scales:
    """Of all bodies of a world at rest."""

    size: Floats  # [m] (B,) infinite of planes
    edge: Floats  # [m] (B,) mean edge of elements, or spacing of samples; infinite of what is rigid
    length: Floats  # [m] (B,) that depth is measured against: the edge; of what is rigid PART of its size, of what is quasi-rigid its size
    time: Floats  # [s] (B,) infinite of what is rigid, and of sheets
    modulus: Floats  # [Pa] (B,) infinite of what is rigid
    local: Bools  # (B,) whether it gives way only where it is touched

    @staticmethod
    def of(world: World) -> Scales:
        """From the shapes at rest."""
        rest, count = world.rest, len(world.model.bodies)
        size, volume = _sizes(rest.points, rest.skin, count)
        mass = summed(rest.nodes.body, rest.nodes.mass, count) + summed(rest.frames.body, rest.frames.mass, count)
        modulus = rest.bodies.modulus
        soft = np.isfinite(modulus) & (volume > 0.0) & (mass > 0.0)
        time = np.full(count, np.inf)
        time[soft] = size[soft] * np.sqrt(mass[soft] / volume[soft] / modulus[soft])
        edge = np.where(np.isfinite(modulus), _edges(world, volume), np.inf)
        local = np.array([room_of(kind).local for kind in rest.bodies.kind], bool)
        length = np.where(local, size, np.where(np.isfinite(edge), edge, PART * size))
        return Scales(size, edge, length, time, modulus, local)

    def window(self, a: Ints, b: Ints, gravity: Floats) -> Floats:
        """Time over which a force between bodies is averaged [s], (k,); gravity [m/s^2], (3,)."""
        out = np.empty(len(a))
        _windows(self.time, self.size, gravity, contiguous(a, np.int64), contiguous(b, np.int64), out)
        return out

    def against(self, a: Ints, b: Ints) -> Floats:
        """What the depth of bodies is measured against [m], (k,): the shorter length, but of bodies that give way only where they touch
        their own, for the whole depth is theirs."""
        first, second = self.length[a], self.length[b]
        only_first, only_second = self.local[a] & ~self.local[b], self.local[b] & ~self.local[a]
        return np.where(only_first, first, np.where(only_second, second, np.minimum(first, second)))

    @property
    def finest(self) -> float:
        """The shortest time that a body of this world has [s]; infinite if all are rigid."""
        return float(self.time.min(initial=np.inf))

    def elastic_depth(self, a: Ints, b: Ints, normal_force: Floats, area: Floats) -> Floats:
        """Depth that the elasticity of both bodies explains [m], (k,): of a flat round punch as large as the contact, F / (2 a E).

        Unknown with bodies that give way only where they touch: what they overlap by is that depth.
        """
        soft = 1.0 / self.modulus[a] + 1.0 / self.modulus[b]
        radius = np.sqrt(np.maximum(area, 0.0) / np.pi)
        elastic = np.divide(normal_force * soft, 2.0 * radius, out=np.full(len(a), np.nan), where=radius > 0.0)
        return np.where(self.local[a] | self.local[b], np.nan, np.maximum(elastic, 0.0))

    def face(self, a: Ints, b: Ints) -> Floats:
        """Least area over which contacts between bodies have a pressure [m^2], (k,): a face of the finer elements, 0 of what has none."""
        return face_of(np.minimum(self.edge[a], self.edge[b]))


@kernel
def _windows(time, size, gravity, a, b, out):  # type: ignore[no-untyped-def]
    g = math.sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2])
    for k in range(len(a)):
        out[k] = min(time[a[k]], time[b[k]])
        if not math.isfinite(out[k]) and g > 0.0:
            out[k] = math.sqrt(2.0 * min(size[a[k]], size[b[k]]) / g)
        if not math.isfinite(out[k]):
            out[k] = SENSOR


def scales_of(world: World) -> Scales:
    """Of a world, found once per epoch."""
    if Scales not in world.kept:
        world.kept[Scales] = Scales.of(world)
    return world.kept[Scales]  # type: ignore[no-any-return]


def face_of(edge: Floats) -> Floats:
    """Area of equilateral triangles of these edges [m^2], (k,); 0 where there are none."""
    return np.where(np.isfinite(edge), 0.25 * np.sqrt(3.0) * edge**2, 0.0)


def summed(owner: Ints, values: Floats, count: int) -> Floats:
    """Sum of values by their owner, (count,)."""
    return np.bincount(owner, values, count).astype(np.float64)  # integers if empty


def _sizes(points: Floats, skin: Skin, count: int) -> tuple[Floats, Floats]:
    """6 V / A of closed bodies [m], the root of the area of sheets, infinite without a surface; and volumes [m^3], 0 of sheets."""
    shown = skin.body >= 0
    middle = np.stack([summed(skin.body[shown], points[shown, k], count) for k in range(3)], axis=1)
    middle = middle / np.maximum(np.bincount(skin.body[shown], minlength=count), 1)[:, None]
    x = points[skin.faces] - middle[skin.face_body][:, None]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    area = 0.5 * summed(skin.face_body, np.linalg.norm(normal, axis=1), count)
    volume = summed(skin.face_body, np.sum(normal * x[:, 0], axis=1), count) / 6.0
    if len(skin.faces):
        volume[skin.face_body[(face_neighbours(skin.faces) < 0).any(axis=1)]] = 0.0  # a rim: no inside
    if len(skin.area):
        known = shown & (skin.area > 0.0)
        owner, part = skin.body[known], skin.area[known]
        area += summed(owner, part, count)
        volume += summed(owner, part * np.sum(skin.normal[known] * (points[known] - middle[owner]), axis=1), count) / 3.0
    volume = np.maximum(volume, 0.0)
    size = np.where(volume > 0.0, 6.0 * volume / np.where(area > 0.0, area, 1.0), np.where(area > 0.0, np.sqrt(area), np.inf))
    return size, volume


def _edges(world: World, volume: Floats) -> Floats:
    """Mean edge of the elements or of the surface, whichever is coarser [m], (B,); of phyxels and samples their spacing."""
    rest, model, count = world.rest, world.model, len(volume)
    ends = rest.points[rest.skin.faces]
    length = np.linalg.norm(ends - np.roll(ends, 1, axis=1), axis=2).sum(axis=1)
    faces = np.bincount(rest.skin.face_body, minlength=count)
    edge = np.bincount(rest.skin.face_body, length / 3.0, count) / np.maximum(faces, 1)
    for group, owner in zip(model.groups, model.group_body, strict=True):
        if group.name.startswith("tet") and len(group.nodes):
            ends = model.nodes.rest[group.nodes[:, :4][:, TET_EDGES]]
            mean = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2).mean(axis=1)
            edge = np.maximum(edge, np.bincount(owner, mean, count) / np.maximum(np.bincount(owner, minlength=count), 1))
    nodes = np.bincount(model.nodes.body, minlength=count)
    spacing = np.cbrt(volume / np.maximum(nodes, 1))
    edge = np.where(model.bodies.phyxels & (nodes > 0), np.maximum(edge, spacing), edge)
    if len(rest.skin.area):
        samples = np.bincount(rest.skin.body[rest.skin.area > 0.0], minlength=count)
        total = np.bincount(np.maximum(rest.skin.body, 0), np.where(rest.skin.body >= 0, rest.skin.area, 0.0), count)
        edge = np.where((edge == 0.0) & (samples > 0), np.sqrt(total / np.maximum(samples, 1)), edge)
    return np.where(edge > 0.0, edge, np.inf)
