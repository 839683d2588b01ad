"""A run body by body: what each shows, when, and how it moves; the common ground of the formats that animate.

A track is one body over a stretch of frames in which its triangles stay the same. Its points are in the order of its own numbers. A body
that only turns and shifts is *stiff*: it has a pose in each frame, found from its points (Kabsch), and points of its first frame.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.geometry.quaternions import matrix_to_quaternion
from pliant.look import fields
from pliant.look.movie import survey
from pliant.look.source import Film, Picture
from pliant.look.stage import colour_map, containers, extremes, framed, plain_colours
from pliant.look.surface import with_surfels_as_triangles, without_lost_points
from pliant.record import Run

STIFF = 1e-6  # part of its size by which the points of a body may miss a rigid motion: single precision, no more
SPEEDS = (1e-4, 1e3)  # of playing, least and most


@dataclass
class Track:
    """One body over a stretch of frames."""

    body: int
    name: str
    kind: str
    triangles: Ints  # (F, 3) in the track's own points
    used: Ints  # (n,) points of the frame behind them
    colour: tuple[int, int, int]  # where it shows no field
    glass: bool
    frames: list[int] = field(default_factory=list)
    points: list[Floats] = field(default_factory=list)  # [m] (n, 3) in each frame
    colours: list[np.ndarray] = field(default_factory=list)  # (n, 3) bytes in each frame; empty: it shows no field

    @cached_property
    def poses(self) -> tuple[Floats, Floats] | None:
        """Turn (quaternions w, x, y, z) and shift [m] of each frame from the first, (k, 4) and (k, 3); None: it changes its shape."""
        first, size = self.points[0], float(np.linalg.norm(np.ptp(self.points[0], axis=0)))
        middle = first.mean(axis=0)
        turns, shifts = [], []
        for points in self.points:
            if points is first or np.array_equal(points, first):
                turn = np.eye(3)
            else:
                u, _, v = np.linalg.svd((first - middle).T @ (points - points.mean(axis=0)))
                turn = (u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ v))]) @ v).T
            shift = points.mean(axis=0) - turn @ middle
            if np.abs(first @ turn.T + shift - points).max() > STIFF * max(size, 1e-300):
                return None
            turns.append(matrix_to_quaternion(turn))
            shifts.append(shift)
        return _continuous(np.array(turns)), np.array(shifts)


def _continuous(quaternions: Floats) -> Floats:
    """The same turns, each on the side of the one before: a program that goes from one to the next takes the short way."""
    sign = np.where(np.einsum("ij,ij->i", quaternions[1:], quaternions[:-1]) < 0.0, -1.0, 1.0)
    return quaternions * np.concatenate([[1.0], np.cumprod(sign)])[:, None]


@dataclass(frozen=True)
class Reel:
    """What is written: the frames, when they are shown, and all tracks."""

    title: str
    frames: list[int]
    seconds: Floats  # [s] of the run
    shown: Floats  # [s] of the program that plays it, from 0 on
    tracks: list[Track]
    scale: fields.Scale | None  # of the colours
    film: Film

    @property
    def fps(self) -> float:
        """Frames a second as they are played."""
        return (len(self.shown) - 1) / float(self.shown[-1]) if len(self.shown) > 1 and self.shown[-1] > 0 else 24.0


def reel_of(run: Run, frames: Sequence[int], field: str, speed: float, body: str | None = None) -> Reel:
    """The tracks of some frames; `speed` 0.1 plays ten times slower than it happened."""
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise PliantError(f"speed = {speed:g}: give how fast it is played, between {SPEEDS[0]:g} and {SPEEDS[1]:g}; 1 is as it happened")
    if not frames:
        raise PliantError("there are no frames to write")
    film = Film(run)
    wanted, around, scale = survey(film, frames, field)
    last = film.picture(frames[-1], ())
    if body is not None and body not in last.names.values():
        raise PliantError(f"there is no body '{body}': {nearest(body, list(last.names.values()))}")
    glass = containers(last, framed(extremes(around), (4, 3))) if len(around) else set()
    tracks = list(_tracks(_pictures(film, frames, wanted), frames, scale, glass, body))
    seconds = run.times[list(frames)]
    return Reel(film.title, list(frames), seconds, (seconds - seconds[0]) / speed, tracks, scale, film)


def _pictures(film: Film, frames: Sequence[int], wanted: set[str]) -> Iterator[Picture]:
    for i in frames:
        yield with_surfels_as_triangles(without_lost_points(film.picture(i, wanted)))


def _tracks(
    pictures: Iterator[Picture], frames: Sequence[int], scale: fields.Scale | None, glass: Collection[str], body: str | None
) -> Iterator[Track]:
    """All tracks, those of a stretch when it ends."""
    open_: dict[int, Track] = {}
    before: Ints = np.zeros(0, np.int64)
    for i, picture in zip(frames, pictures, strict=True):
        if not open_ or not np.array_equal(before, picture.triangles):
            yield from open_.values()
            open_ = {track.body: track for track in _begun(picture, scale, glass, body)}
            before = picture.triangles
        values = None if scale is None else fields.values(picture, scale.field)
        painted = set() if scale is None else fields.coloured_bodies(picture, scale.field)
        for track in open_.values():
            track.frames.append(i)
            track.points.append(picture.points[track.used])
            if values is not None and scale is not None and track.body in painted and not track.glass:
                track.colours.append(_painted(values[track.used], scale, track.colour))
    yield from open_.values()


def _begun(picture: Picture, scale: fields.Scale | None, glass: Collection[str], body: str | None) -> Iterator[Track]:
    plain = plain_colours(picture, by_field=scale is not None)
    for number, name in picture.names.items():
        mine = picture.triangles[picture.triangle_body == number]
        if len(mine) and body in (None, name):
            used, triangles = np.unique(mine, return_inverse=True)
            kind = picture.kinds.get(number, "")
            yield Track(number, name, kind, triangles.reshape(-1, 3), used, plain[number], name in glass)


def _painted(values: Floats, scale: fields.Scale, plain: tuple[int, int, int]) -> np.ndarray:
    known = np.isfinite(values)
    colours = np.tile(np.array(plain, np.uint8), (len(values), 1))
    colours[known] = colour_map(scale.fraction(values[known]))
    return colours


def facts_of(run: Run, reel: Reel, speed: float) -> dict[str, object]:
    """What whoever opens the file must know: units, axes, time, colours."""
    return {
        "made by": "pliant", "run": reel.title, "length unit": "m", "data up axis": "z", "handedness": "right",
        "time unit": "s", "played at": speed, "frames per second": round(reel.fps, 6), "first time": float(reel.seconds[0]),
        "last time": float(reel.seconds[-1]), "frames": len(reel.frames), "frames of the run": run.frames,
        "colours": "by body" if reel.scale is None else reel.scale.plain_title,
        "colour range": None if reel.scale is None else [reel.scale.low, reel.scale.high],
    }  # fmt: skip
