"""`pliant.press`: two objects brought together quasi-statically, and what passes between them.

    found = pliant.press("foot.ply", "plane", force="500N", unit="mm", young="200kPa", response="volume-preserving", layer="15mm")
    found.force, found.area, found.peak, found.errors, found.centre
    found.save("out")                                    # pictures, pressure map, deformed surfaces

See docs/press.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.elastic.response import LayerCut, Response, VolumePreserving
from pliant.contact.elastic.resting_pose import rest, stable
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.two_bodies import resolve
from pliant.detect.surfels.exact import Exact
from pliant.pressing.approach import aligned, check_depth, check_force, check_stance, floor_under, tipped, touching, towards
from pliant.pressing.asked import RESPONSES, Load, Pull, Softness, agreed
from pliant.pressing.cells import Load as Along
from pliant.pressing.cells import Pair, Solved, Unsuited, found_on, shifted, solved
from pliant.pressing.objects import Source, Thing
from pliant.pressing.on_cells import STEEP, first_normal, measured, nodes_of, on_cells, pair_of, settled
from pliant.pressing.on_samples import OnSamples, contact_radius, on_samples
from pliant.pressing.pressed import Pressed
from pliant.pressing.relief import HOME, Heights, Pose
from pliant.pressing.remarks import cell_remarks, counted_from, layer_remarks, passed_through, sample_remarks
from pliant.pressing.tangential import sheared

NODES = ("auto", "cells", "samples")
MET = 1e-3  # of the force: a larger miss is told
BROAD = 2.0  # contact radii: how far a push is felt unless a layer is given


def press(
    a: Any,
    b: Any = "plane",
    *,
    depth: float | str | None = None,
    force: float | str | None = None,
    direction: Any = (0.0, 0.0, -1.0),
    tilt: str = "fixed",
    at: Any = None,
    response: str = "boussinesq",
    layer: float | str | None = None,
    young: Any = "1MPa",
    poisson: float = 0.45,
    young_b: Any = None,
    poisson_b: float = 0.45,
    unit: str = "m",
    up: str = "z",
    size: float | str | None = None,
    unit_b: str | None = None,
    up_b: str | None = None,
    size_b: float | str | None = None,
    spacing: float | str | None = None,
    align: bool = False,
    crop: str | None = None,
    crop_b: str | None = None,
    cell: float | str | None = None,
    tangential: float | str | None = None,
    along: Any = (1.0, 0.0, 0.0),
    friction: float | None = None,
    nodes: str = "auto",
) -> Pressed:
    """Press A onto B.

    a, b         a file, a shape such as "ball:10cm", a mesh, points (n, 3), Heights, an Exact shape; b may be "plane": put where A first
                 touches it
    depth        [m] or "2mm": how far A goes on after the first touch; or
    force        [N] or "500N": it goes on until this is reached
    direction    (3,) the way A moves
    tilt         with a force, "free": A turns until its load is balanced; "fixed": it keeps its attitude
    at           [m] (3,) where the force acts on A, in the file's place; None: the centre of its volume
    response     boussinesq (solid), volume-preserving (flesh, rubber), layer (a thin layer on a hard core), or a file of `pliant response`
    layer        [m] or "15mm": how far a push is felt; None: twice the radius of the contact
    young        [Pa] or "200kPa": Young's modulus of A; None: rigid; a list or a file of numbers: one for each vertex of A
    poisson      Poisson's ratio of A
    young_b      [Pa] Young's modulus of B; None: rigid
    poisson_b    Poisson's ratio of B
    unit         of the numbers in files: m, cm, mm, in ...; see docs/files.md
    up           axis that points up in files: x, y, z, -y ...
    size         [m] or "25cm": largest extent of each file, instead of a unit
    unit_b, up_b, size_b   those of B, where they differ
    spacing      [m] or "1mm": of cells, or of samples on meshes; None: cells are halved until the peak of the pressure holds
    align        move A across the direction until its middle is in line with that of B
    crop         the part of A that is used, such as "z<50mm,x>-2cm", in metres with z up if no unit is given
    crop_b       the part of B that is used
    cell         [m] or "1um": files (.csv, .txt, .npy) and arrays hold heights in rows, in cells of this size, towards the partner
    tangential   [N] or "20N": a load across the contact, carried by friction, in the direction `along`
    friction     its coefficient
    nodes        cells (of a grid across the contact normal), samples (of the surfaces themselves), auto: cells where contact is nearly flat
    """
    if nodes not in NODES:
        raise PliantError(f"nodes = '{nodes}': {nearest(nodes, NODES)}")
    load, pull = Load.read(depth, force, direction, tilt, at), Pull.read(tangential, along, friction)
    unit_b, size_b = (unit, size) if unit_b is None and size_b is None else (unit_b or unit, size_b)
    one = replace(Source(a, unit, up, size, crop, spacing, cell).thing(), down=True)
    two = Source(b, unit_b, up_b or up, size_b, crop_b, spacing, cell).thing()
    softness = Softness.read(response, layer, ((young, poisson), (young_b, poisson_b)))
    return Task((one, two), load, softness, pull, align, nodes).done()


@dataclass(frozen=True)
class Task:
    """A press that was asked for."""

    things: tuple[Thing, Thing]
    load: Load
    softness: Softness
    pull: Pull | None
    align: bool
    nodes: str

    def done(self) -> Pressed:
        """On cells if the contact is nearly flat, else on samples."""
        self._check()
        notes = [f"{thing.name}: {note}" for thing in self.things for note in thing.notes]
        if self.nodes == "samples":
            return self._on_samples(notes)
        try:
            found, told = self._on_cells()
        except Unsuited:
            if self._cells_only:
                raise
            return self._on_samples(notes)
        assert found.cells is not None
        if self._cells_only or found.cells.steep <= STEEP:
            return replace(found, notes=(*told, *notes))
        bent = math.degrees(math.atan(found.cells.steep))
        return self._on_samples([*notes, f"solved on samples: the contact normals are spread by {bent:.0f}°, too much for one grid"])

    @property
    def _cells_only(self) -> bool:
        """Nothing but cells will do."""
        given = any(isinstance(thing.form, Heights) for thing in self.things)
        return self.nodes == "cells" or given or self.softness.varies or self.pull is not None

    def _check(self) -> None:
        first, second = (thing.form for thing in self.things)
        if isinstance(first, Exact) and first.kind == "plane":
            raise PliantError("The plane must be the second object: press the other one onto it.")
        heights = any(isinstance(form, Heights) for form in (first, second))
        if heights and (self.load.tilts or not self.load.direction[2] < -1.0 + 1e-12):
            raise PliantError("Heights are pressed straight down: direction 0,0,-1, tilt fixed.")
        if heights and self.nodes == "samples":
            raise PliantError("Heights are cells already: use nodes = 'auto' or 'cells'.")
        extents = self.things[0].extent, self.things[1].extent
        if self.load.depth is not None:
            check_depth(self.load.depth, extents)
        if self.load.force is not None:
            check_force(self.load.force, extents, self.softness.compliances)

    # -------------------------------------------------------------------------------------------- on cells

    def _on_cells(self) -> tuple[Pressed, list[str]]:
        """The contact on a grid across its normal, and notes."""
        things, load, notes = self.things, self.load, []
        way, flat = load.direction, isinstance(things[1].form, Exact) and things[1].form.kind == "plane"
        poses, normal, touch = self._placed(flat)
        softness, layered = self.softness, None
        if softness.layer is None and softness.response in RESPONSES[1:]:
            pair = pair_of(things, poses, way, normal, replace(softness, response="boussinesq"))
            layered = partial(_layered, softness, pair, touch)
        else:
            pair = pair_of(things, poses, way, normal, softness)
        if load.tilts:
            assert load.force is not None
            if layered is not None:
                pair, layered = replace(pair, response=layered(Along(None, load.force))), None
            pair = settled(pair, load.force, self._load_point(poses[0]), touch)
        found = on_cells(pair, load, touch, things[0].spacing or things[1].spacing, flat or measured(pair), layered)
        response = found.best.pair.response
        if softness.layer is None and isinstance(response, VolumePreserving | LayerCut):
            softness, told = softness.felt(response.b if isinstance(response, VolumePreserving) else response.radius)
            notes.append(told)
        best = found.best
        before = best.way - best.depth  # to the first touch: a plane is put there, so that A begins where it is
        if flat:
            best = shifted(best, -before * way)
            found = replace(found, levels=(*found.levels[:-1], best))
        if load.force is not None:
            check_depth(best.depth, (things[0].extent, things[1].extent), f"force = {load.force:.4g} N presses it in by")
        c = tuple(0.0 if c is None else c for c in softness.compliances)
        things = replace(things[0], spacing=None), replace(things[1], spacing=None)  # samples to look at need not be as fine as cells
        a, b = softness.on((things[0].side, things[1].side))
        placed = zip((a, b), best.pair.poses, strict=True)
        a, b = (replace(side, rotation=pose.rotation, translation=pose.translation) for side, pose in placed)
        result = nodes_of(best, (c[0], c[1]))
        notes += [*tipped(a, way), *cell_remarks(things, found)]
        if softness.response != "boussinesq":
            notes += layer_remarks(found.levels[0].force, _as_solid(found.levels[0], softness))
        sheared_by = None if self.pull is None else sheared(best, self.pull, softness)
        if sheared_by is not None and sheared_by.slides:
            assert self.pull is not None
            notes.append(f"it slides: friction carries {sheared_by.force:.4g} N of the {self.pull.force:.4g} N across the contact")
        if flat:
            notes += passed_through(best.depth, before)
        words = counted_from(things, poses[0], way, before) if flat else "where the surfaces first touch on the way"
        return Pressed(things, a, b, result, way, best.depth, words, found.errors, (), softness, found, sheared_by), notes

    def _placed(self, flat: bool) -> tuple[tuple[Pose, Pose], Floats, Floats]:
        """(poses near the first touch, contact normal from A to B, point there)."""
        things, way = self.things, self.load.direction
        if flat and not self.load.tilts:
            touch = things[0].foremost(way)
            return (HOME, Pose(towards(-way), touch)), way, touch
        if any(isinstance(thing.form, Heights) for thing in things):
            rise = [thing.foremost(np.array([0.0, 0.0, sign])) @ [0.0, 0.0, 1.0] for thing, sign in zip(things, (-1.0, 1.0), strict=True)]
            gap = float(rise[0] - rise[1])
            return (Pose(np.eye(3), np.array([0.0, 0.0, -gap])), HOME), way, np.array([0.0, 0.0, float(rise[1])])
        a, b = placed_sides(self)
        if self.load.tilts:
            a = self._rested(a, b, flat)
        poses = Pose(a.rotation, a.translation), Pose(b.rotation, b.translation)
        if flat:
            return poses, way, things[0].foremost(a.rotation.T @ way) @ a.rotation.T + a.translation
        return poses, *first_normal(a, b)

    def _rested(self, a: Side, b: Side, flat: bool) -> Side:
        """A on the side that it stands on: of a plane as it rolls there, of another object as it comes to rest on samples."""
        assert self.load.force is not None
        at = self._load_point(Pose(a.rotation, a.translation))
        if flat:
            return stable(a, b, self.load.direction, at)[0]
        a, b = self.softness.solid((a, b)) if self.softness.layer is None else self.softness.on((a, b))
        return rest(a, b, self.load.direction, self.load.force, tilt=True, at=at)[0]

    def _load_point(self, pose: Pose) -> Floats:
        """(3,) [m] of the world where the force acts."""
        if self.load.at is not None:
            own = self.load.at
        else:
            own = self.things[0].centre
        return pose.rotation @ own + pose.translation

    # -------------------------------------------------------------------------------------------- on samples

    def _on_samples(self, notes: list[str]) -> Pressed:
        """The contact on the samples of the surfaces themselves [Pauly, Pai, Guibas 2004]."""
        things, load, softness = self.things, self.load, self.softness
        if self._cells_only and self.nodes == "samples":
            raise PliantError("A modulus over the surface and tangential loads are solved on cells: use nodes = 'auto' or 'cells'.")
        sides, solid = placed_sides(self), softness.layer is None and softness.response in RESPONSES[1:]
        at = self._load_point(Pose(sides[0].rotation, sides[0].translation)) if load.tilts else None

        def felt(asked: Load) -> tuple[Softness, str]:
            """As far as the contact of solid bodies under a load is wide."""
            return softness.felt(BROAD * contact_radius(softness.solid(sides), asked))

        def under(depth: float) -> tuple[float, tuple[Softness, str, OnSamples]]:
            """With the layer that a press so deep has."""
            thick, told = felt(replace(load, depth=depth, force=None))
            found = on_samples(things, thick.on(sides), load, at)
            return found.depth, (thick, told, found)

        if solid and load.force is not None and not load.tilts:
            softness, told, found = agreed(under, on_samples(things, felt(load)[0].on(sides), load, at).depth)
            notes = [*notes, told]
        else:
            if solid:
                softness, told = felt(load)
                notes = [*notes, told]
            found = on_samples(things, softness.on(sides), load, at)
        result = found.result
        if at is not None and isinstance(things[1].form, Exact) and things[1].form.kind == "plane":
            check_stance(stable(*sides, load.direction, at)[0].rotation, found.a.rotation, load.direction)
        notes = [*notes, *tipped(found.a, load.direction), *sample_remarks(result)]
        if softness.response != "boussinesq":
            near = found.a, found.b
            notes += layer_remarks(*(resolve(*pair).force for pair in (near, softness.solid(near))))
        if load.force is not None:
            check_depth(found.depth, (things[0].extent, things[1].extent), f"force = {load.force:.4g} N presses it in by")
        pressed = Pressed(
            things, found.a, found.b, result, load.direction, found.depth, "where the first samples touch", found.errors, tuple(notes),
            softness,
        )  # fmt: skip
        if load.force is None or abs(pressed.force - load.force) <= MET * load.force:
            return pressed
        missed = f"{100.0 * (pressed.force / load.force - 1.0):+.1f} %"
        return replace(pressed, notes=(f"the force misses what was asked for by {missed}: samples that meet late make it jump", *notes))


def _layered(softness: Softness, solid: Pair, touch: Floats, load: Along) -> Response:
    """With a layer as thick as the contact of solid bodies is wide under the same load."""
    return softness.felt(BROAD * math.sqrt(found_on(solid, load, touch)[0].area / math.pi))[0].of(softness.total)


def _as_solid(found: Solved, softness: Softness) -> float:
    """[N] as deep on the same grid, were both solid."""
    start = replace(found.pair.moved(-found.way), response=replace(softness, response="boussinesq").of(softness.total))
    return solved(start, found.grid, Along(found.depth, None), None, found.touch).force


def placed_sides(task: Task) -> tuple[Side, Side]:
    """Both as samples where they first touch."""
    a, b, way = task.things[0].side, task.things[1].side, task.load.direction
    if a.nodes is None and b.nodes is None:
        raise PliantError("Two Exact shapes have no samples: give at least one of them by name, such as 'ball:10cm', or as a file.")
    if isinstance(b.shape, Exact) and b.shape.kind == "plane":
        if a.nodes is None:
            raise PliantError("An Exact shape on a plane has no samples: give it by name, such as 'ball:10cm', or as a file.")
        return a, floor_under(a, way)
    return touching(aligned(a, b, way) if task.align else a, b, way), b
