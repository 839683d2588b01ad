"""Figures that are static: contact of two scans, responses, volume, a foot, a joint.

Shapes made by code stand for the scans, or a user's own.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.elastic import Boussinesq, ContactResult, Side, VolumePreserving, compliance, deformed, resolve
from pliant.detect.surfels import Exact, PointSurface, from_cloud, from_mesh
from pliant.geometry.mesh import Surface
from pliant.geometry.near import kd_tree
from pliant.geometry.shapes import make
from pliant.geometry.shapes import resolve as resolve_shape
from pliant.geometry.subdivide import subdivided
from pliant.pressing.between_points import between_points
from pliant.pressing.tool import press
from pliant.shop.reproduce.experiment import Desk, Measured
from pliant.shop.reproduce.pauly.panels import SIZE, Shown, pressed, tiled
from pliant.shop.reproduce.verdict import Claim, above, below, exactly, near, times, within
from pliant.shop.reproduce.watch import plot

OPEN = "moduli, response radius and tolerances are not given"
NONE = "picture only"
THEN = "CPU time here, a Pentium IV of 2.8 GHz there"


def scan(
    desk: Desk, part: str, kind: str, points: int, sphere: float | None = None, size: float | None = None, **options: float
) -> PointSurface:
    """A user's surface if there is one for this part, as large as `size` [m] or as it is, or a shape by code; with about so many samples.

    A surface is divided until it has them; a cloud stays as it is. Samples of a shape by code near a sphere [m] around the origin are put
    onto it, for flat triangles touch with their corners. A user's surface has its middle at the origin if part of a joint, or over it.
    """
    if part in desk.scans:
        given = desk.scans[part]
        found = resolve_shape(given.shape() if size is None else given.shape(size=size), solid=False)
        mesh = found.cloud if found.cloud is not None else found.surface()
        low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
        middle = 0.5 * (low + high)
        mesh = replace(mesh, points=mesh.points - (middle if sphere is not None else np.array([middle[0], middle[1], low[2]])))
        if not isinstance(mesh, Surface):
            return from_cloud(mesh, name=given.file)
        surface, sphere = mesh, None
    else:
        surface = make(kind, **options).surface()
    fine = surface if len(surface.points) >= points else divided(surface, points)
    if sphere is not None:
        far = np.linalg.norm(fine.points, axis=1, keepdims=True)
        fine = Surface(np.where(np.abs(far - sphere) < 0.05 * sphere, fine.points * (sphere / far), fine.points), fine.faces)
    return from_mesh(fine)


def divided(surface: Surface, points: int) -> Surface:
    """The surface with triangles divided until it has about so many points."""
    low, high = 1e-4, 1e-2
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if len(subdivided(surface, middle).surface.points) > points else (low, middle)
    return subdivided(surface, high).surface


def brought(a: Floats, b: Floats, axis: int, depth: float) -> Floats:
    """The way [m] (3,) along an axis that brings points b, which lie beyond a, so far that they overlap by a depth at most."""
    across = [k for k in range(3) if k != axis]
    near_by, which = kd_tree(b[:, across]).query(a[:, across], k=16)
    spacing = float(np.sqrt(np.prod(np.ptp(b[:, across], axis=0)) / len(b)))
    gap = np.where(near_by < 2.0 * spacing, b[which, axis] - a[:, None, axis], np.inf)
    way = np.zeros(3)
    way[axis] = -float(gap.min()) - depth
    return way


def milliseconds(work: Any) -> float:
    """CPU time of the second call, when everything that is built once has been."""
    work()
    begin = time.process_time()
    work()
    return 1e3 * (time.process_time() - begin)


def _shaded(path: Path, panels: list[tuple[str, Floats, Floats]], curves: bool = False) -> None:
    """Points (n, 2) [m] coloured by values and between them, in panels of (title, points, values); as dots where they lie on curves."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    figure = Sheet(figsize=(4.6 * len(panels), 4.0))
    FigureCanvasAgg(figure)
    for k, (title, x, value) in enumerate(panels):
        axis = figure.add_subplot(1, len(panels), k + 1)
        if curves:
            shown: Any = axis.scatter(1e3 * x[:, 0], 1e3 * x[:, 1], c=value, s=8.0, cmap="viridis", linewidths=0)
        else:
            shown = axis.tripcolor(_between(1e3 * x), value, shading="gouraud", cmap="viridis")
        axis.set(title=title, xlabel="mm", ylabel="mm", aspect="auto" if curves else "equal")
        figure.colorbar(shown, ax=axis, shrink=0.8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def _between(x: Floats) -> Any:
    """Triangles between points (n, 2), none of them across holes: edges of at most three times the usual length."""
    from matplotlib.tri import Triangulation

    found = Triangulation(x[:, 0], x[:, 1])
    corner = x[found.triangles]
    long = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).max(axis=1)
    across = long > 3.0 * float(np.median(long))
    if not across.all():
        found.set_mask(across)
    return found


def _cells(values: Floats) -> Any:
    """The cells of a sensor, coloured by pressure [kPa], as a panel."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet
    from PIL import Image

    figure = Sheet(figsize=(0.01 * SIZE[0], 0.01 * SIZE[1]))
    canvas = FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    shown = axis.imshow(1e-3 * np.asarray(values), cmap="viridis", origin="lower")
    axis.set(title="f  on a sensor", xlabel="columns", ylabel="rows")
    figure.colorbar(shown, ax=axis, label="pressure [kPa]")
    figure.tight_layout()
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def responses(desk: Desk) -> Measured:
    """Fig. 3: Boussinesq's response falls as 1/r; the volume-preserving one, shifted and times a Gaussian, displaces no volume."""
    b, c = 1.0, 1.0
    solid, flesh = Boussinesq(c), VolumePreserving(c, b)
    r = np.linspace(0.05, 4.0, 400)
    curves = {"Boussinesq": (r, -solid.f(r)), "volume preserving": (r, -flesh.f(r))}
    plot(desk.path("Fig3.png"), [("response to a point force", "-f / C [1/b]", curves)], x="r / b")
    fine = np.linspace(1e-9, 12.0, 400001)
    value = flesh.f(fine) * fine
    rim = float(fine[np.argmin(flesh.f(fine))])
    return {
        "net": float(np.sum(value) / np.sum(np.abs(value))), "rim": float(-flesh.f(np.array([rim]))[0]), "at": rim,
        "half": float(solid.f(2.0 * r)[0] / solid.f(r)[0]),
    }  # fmt: skip


RESPONSES = (
    Claim("net", "net volume of the volume-preserving response over what it moves", "0 (Eq. 3)", within(0.0, 1e-3)),
    Claim("rim", "height of the rim around a point force, volume-preserving; C: f = C / r of Boussinesq, b: width of the Gaussian", NONE,
          unit="C/b", why=OPEN),
    Claim("at", "distance of that rim from the force", NONE, unit="b"),
    Claim("half", "Boussinesq, f(2 r) / f(r)", "1/2", within(0.5, 1e-9)),
)

SOFT = {"plane": ("plane",), "ball": ("ball",), "both": ("ball", "plane")}  # which of the two give way


def volume(desk: Desk) -> Measured:
    """Fig. 4: a ball and a plane; plane, ball or both give way. What goes in comes out, and both share as their compliances do."""
    radius, depth, b = 0.1, 0.004, 0.03
    response = VolumePreserving(compliance(2e5, 0.45), b)
    i = np.arange(60000) + 0.5
    polar, around = np.arccos(1 - 2 * i / 60000), math.pi * (1 + math.sqrt(5)) * i
    n = np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], axis=1)
    ball = PointSurface(radius * n, n, np.full(len(n), 4 * math.pi * radius**2 / len(n)))
    side = 2.0 * np.arange(-100, 101) / 1000.0
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    slab = PointSurface(
        np.column_stack([grid, 0 * grid[:, 0]]), np.tile([0.0, 0, 1], (len(grid), 1)), np.full(len(grid), (side[1] - side[0]) ** 2)
    )
    found, panels = Measured(), []
    for soft, gives in SOFT.items():
        a = Side(ball, response if "ball" in gives else None, translation=np.array([0, 0, radius - depth]))
        b_side = Side(Exact("plane"), response if "plane" in gives else None, samples=slab)
        touch = resolve(a, b_side)
        for which, one, name in ((0, a, "ball"), (1, b_side, "plane")):
            if one.response is None:
                continue
            assert one.nodes is not None
            points, u = deformed(one, touch, which)
            net, dent = float(np.sum(u * one.nodes.areas)), float(np.sum(np.maximum(u, 0) * one.nodes.areas))
            found[f"{soft} {name}"] = 100 * net / dent
            near_by = (np.abs(points[:, 1]) < 1.5e-3) & (np.abs(points[:, 0]) < 0.07) & (points[:, 2] < 0.03)
            panels.append((f"{soft} soft: {name}, u [mm]", points[near_by][:, [0, 2]], 1e3 * u[near_by]))
        if soft == "both":
            found["share"] = float(np.max(touch.u_a) / (np.max(touch.u_a) + np.max(touch.u_b)))
    _shaded(desk.path("Fig4.png"), panels, curves=True)
    return found


VOLUME = (
    *(
        Claim(f"{soft} {name}", f"{soft} deformable: net volume of the {name}", "0", within(0.0, 1.0), "% of the dent", OPEN)
        for soft, gives in SOFT.items() for name in gives
    ),
    Claim("share", "both deformable: the ball's share of the dent", "the same material: half", within(0.5, 0.02)),
)  # fmt: skip


def foot(desk: Desk) -> Measured:
    """Fig. 9: a foot of 55,061 samples on the ground, 11,317 displaced, 952 ms on three levels; pressures as a sensor sees them.

    Quick: 15,000 samples.
    """
    surface = scan(desk, "foot", "foot", desk.either(55_000, 15_000), edge=0.012)
    side = Side(surface, VolumePreserving(compliance(2e5, 0.49), 0.007), translation=np.array([0, 0, -surface.points[:, 2].min() - 0.0005]))
    ground = Side(Exact("plane"))
    touch = resolve(side, ground)
    desk.at(0.3)
    moved, u = deformed(side, touch, 0)
    spent = milliseconds(lambda: deformed(side, resolve(side, ground), 0))
    desk.at(0.7)
    displaced = np.abs(u) > 1e-6
    flat = press(surface, depth="0.5mm", response="volume-preserving", layer="7mm", young="200kPa", poisson=0.49)
    grid = flat.map((37, 13))
    grid.write(desk.path("Fig9-sensor.csv"))
    _sole(desk.path("Fig9.png"), side, touch, moved, u, _cells(grid.values))
    coarse = {k: resolve(side, ground, level=k).force for k in (1, 2)}
    level = {f"level {k}": 100 * (f / touch.force - 1) for k, f in coarse.items()}
    found = {"spent": spent, "cells": int(np.count_nonzero(grid.values > 0))}
    return found if desk.quick else {**found, **level, "samples": len(surface), "displaced": int(np.count_nonzero(displaced))}


def _sole(path: Path, side: Side, touch: ContactResult, moved: Floats, u: Floats, sensor: Any) -> None:
    """Six panels: the scan, what of it is below the ground, the nodes there, how far it gives way, its pressure, and that on a sensor."""
    assert side.nodes is not None
    faces, over, camera = between_points(side.nodes), np.diag([1.0, -1.0, -1.0]), (-60.0, 58.0)
    whole, after = Shown.of(side, faces), Shown.of(side, faces, moved)
    below = np.maximum(-whole.points[:, 2], 0.0)
    nodes = touch.sample[touch.contact]
    scan, dented = whole.turned(over), after.turned(over)
    panels = [
        scan.panel("a  scan, seen from below", camera),
        scan.panel("b  below the ground", camera, "depth", below),
        scan.with_nodes("c  nodes that touch", camera, nodes, side.nodes.spacing[nodes]),
        dented.panel("d  displaced", camera, "displacement", u),
        dented.panel("e  pressure", camera, "pressure", pressed(after, touch, 0)),
        sensor,
    ]
    tiled(path, panels, 3)


FOOT = (
    Claim("samples", "samples", "55,061", near(55_061, 0.12), why="a foot made by code", whole=True),
    Claim("displaced", "displaced samples", "11,317", times(11_317, 1.5), why=OPEN, whole=True),
    Claim("spent", "contact computation", "952 ms", below(952), "ms", THEN),
    *(
        Claim(f"level {k}", f"force on level {k} over that of all samples, minus 1", "three levels used", within(0.0, 5.0), "%", whole=True)
        for k in (1, 2)
    ),
    Claim("cells", "cells of a 37 x 13 sensor that carry, of 481", NONE, why="compared by eye there"),
)


def joint(desk: Desk) -> Measured:
    """Fig. 10: a femur's ball (44,513 samples) in a hip (141,221): a conforming contact, robust where the theory is not exact.

    Quick: a fifth of the samples.
    """
    some = desk.either(1.0, 0.2)
    ball = Side(scan(desk, "ball", "ball", round(44_500 * some), 0.024, 0.048, radius=0.024), Boussinesq(compliance(1e7, 0.45)))
    cup = scan(desk, "socket", "socket", round(141_000 * some), 0.0248, 0.0656, radius=0.0248, thickness=0.008)
    hip = Side(cup, Boussinesq(compliance(1e7, 0.45)))
    placed = ball.moved(np.eye(3), np.zeros(3), np.array([0.0, 0.0, -0.001]))
    found = resolve(placed, hip, level=1)
    desk.at(0.4)
    spent = milliseconds(lambda: resolve(placed, hip, level=1))
    at = found.deformed[found.contact]
    _shaded(desk.path("Fig10.png"), [("pressure [MPa] seen from above", at[:, :2], 1e-6 * found.pressure[found.contact])])
    down = float(found.wrench_a()[2])
    return {
        "solved": int(found.solved), "penetration": found.penetration, "down": down,
        "across": 100 * float(np.linalg.norm(found.wrench_a()[:2])) / down,
        "touch": len(at), "spent": spent,
        "widest": math.degrees(math.atan2(float(np.max(np.linalg.norm(at[:, :2], axis=1))), float(-np.median(at[:, 2])))),
    }  # fmt: skip


JOINT = (
    Claim("solved", "whether the conforming contact is solved", "robust", exactly(1)),
    Claim("penetration", "what is left of penetration, of the deepest", "robust", below(0.01)),
    Claim("across", "force across the load, of a symmetric joint", NONE, below(1.0), "% of the load", "by symmetry it is none"),
    Claim("down", "force along the load", NONE, unit="N"),
    Claim("touch", "touching samples", NONE),
    Claim("widest", "half angle of the contact, seen from the centre of the ball", NONE, unit="degree"),
    Claim("spent", "CPU time on level 1", NONE, unit="ms"),
)


def kiss(desk: Desk) -> Measured:
    """Fig. 1: two busts in contact; nodes and tractions. Crown to crown, and nose to nose, where the paper's method finds its limit.

    Quick: a fifth of the samples.
    """
    count = desk.either(50_000, 10_000)
    surface = scan(desk, "head", "bust", count, size=0.3, edge=0.006)
    second = scan(desk, "other-head", "bust", count, size=0.3, edge=0.006) if "other-head" in desk.scans else surface
    one = Side(surface, Boussinesq(compliance(1e6, 0.3)))
    crown = _met(one, Side(second, one.response, rotation=np.diag([1.0, -1.0, -1.0])), np.array([0.004, 0.003, 0.0]), 2, 0.004)
    nose = _met(one, Side(second, one.response, rotation=np.diag([-1.0, -1.0, 1.0])), np.zeros(3), 0, 0.012)
    found, tip = resolve(one, crown), resolve(one, nose)
    desk.at(0.5)
    modes: dict[str, ContactResult] = {mode: resolve(one, crown, mode) for mode in MODES}
    spent = milliseconds(lambda: resolve(one, crown))
    _heads(desk.path("Fig1.png"), one, (("crown to crown", crown, found, (-60.0, 65.0)), ("nose to nose", nose, tip, (20.0, 10.0))))
    measured = {
        "opposite": float(np.max(np.abs(found.wrench_a() + found.wrench_b()))) / found.force,
        **{mode: 100 * (modes[mode].force / found.force - 1) for mode in MODES},
        "spent": spent, "touch": int(found.contact.sum()),
    }  # fmt: skip
    return measured if desk.quick else {**measured, "spikes": 100 * len(tip.spikes) / max(int(tip.contact.sum()), 1)}


def _heads(path: Path, one: Side, met: tuple[tuple[str, Side, ContactResult, tuple[float, float]], ...]) -> None:
    """For each meeting three panels: both heads, the nodes that touch, and the pressure on the first, seen from where the other was."""
    assert one.nodes is not None
    panels, faces = [], between_points(one.nodes)
    for name, other, found, camera in met:
        assert other.nodes is not None
        mine = Shown.of(one, faces)
        both = mine.beside(Shown.of(other, faces if other.nodes is one.nodes else between_points(other.nodes)))
        nodes = np.unique(kd_tree(mine.points).query(found.points[found.contact], workers=1)[1])  # of either head
        panels += [
            both.panel(name, (-60.0, 10.0)),
            mine.with_nodes("nodes that touch", camera, nodes, one.nodes.spacing[nodes]),
            mine.panel("pressure", camera, "pressure", pressed(mine, found, 0)),
        ]
    tiled(path, panels, 3)


def _met(one: Side, other: Side, shift: Floats, axis: int, depth: float) -> Side:
    """The other one, shifted and brought against the first along an axis."""
    assert one.nodes is not None and other.nodes is not None
    a, b = one.nodes.points, other.nodes.points @ other.rotation.T + shift
    return replace(other, translation=shift + brought(a, b, axis, depth))


MODES = ("merged", "split")
KISS = (
    Claim("opposite", "action plus reaction, of the force", "equal", below(1e-12)),
    *(
        Claim(mode, f"force of the paper's {mode} formulation over ours, minus 1", "the same contact", within(0.0, 10.0), "%")
        for mode in MODES
    ),
    Claim("spent", "contact of two scans", "20 to 200 ms (section 6)", below(200), "ms", THEN),
    Claim("touch", "touching nodes", NONE),
    Claim(
        "spikes",
        "nose to nose: nodes flagged as displaced beyond half a radius",
        "extreme curvature is difficult",
        above(0.0),
        "%",
        whole=True,
    ),
)
