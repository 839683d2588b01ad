"""`pliant press` against the theory of contact, at its default options: exact shapes, meshes, clouds, rough heights, friction.

Bars: force 2 %, area 3 %, peak 5 %; where a mesh is too coarse for them, the error that press tells is what is checked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.units import rotation_matrix
from pliant.pressing.pressed import Pressed
from pliant.pressing.relief import Heights
from pliant.pressing.tool import press
from pliant.shop.validate import STATIC, Check, problem
from pliant.shop.validate.indentation import MODULUS, POISSON

BARS = {"force": 0.02, "area": 0.03, "peak": 0.05}
# Rough heights as `rough` makes them: cells along a side, cells of the shortest wave, load [N]; area [m²], peak [Pa] and depth [m] by
# tamaas 2.9 (non-periodic, PolonskyKeerRey to 1e-9), E* = 1 Pa
TAMAAS = [
    ((128, 8, 1e-3), (0.07403564453125, 0.07202049622766868, 0.0032581619690007636)),
    ((192, 8, 3e-3), (0.21736653645833334, 0.0985947771310967, 0.004912460522899854)),
    ((128, 4, 3e-3), (0.1846923828125, 0.09826125366235945, 0.005737927619524836)),
]


def hertz_of(radius: float, depth: float, modulus: float = MODULUS) -> dict[str, float]:
    """Force, area and peak [Johnson 1985]."""
    force = 4.0 / 3.0 * modulus * math.sqrt(radius) * depth**1.5
    return {"force": force, "area": math.pi * radius * depth, "peak": 2.0 * modulus / math.pi * math.sqrt(depth / radius)}


def checks_of(what: str, found: Pressed, expected: dict[str, float]) -> list[Check]:
    """Each number against its bar, or against the error that was told if that is more."""
    units, here = {"force": "N", "area": "m²", "peak": "Pa"}, {"force": found.force, "area": found.area, "peak": found.peak}
    return [
        Check(f"{name}, {what}", value, here[name], max(BARS[name], 2.0 * found.errors[name]), units[name])
        for name, value in expected.items()
    ]


def spiral(count: int) -> Floats:
    """Points evenly spread over the unit ball."""
    i = np.arange(count) + 0.5
    polar, around = np.arccos(1.0 - 2.0 * i / count), math.pi * (1.0 + math.sqrt(5.0)) * i
    return np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], axis=1)


def balls(radius: float) -> dict[str, Any]:
    """The same ball in several ways."""
    turn = rotation_matrix((20.0, 30.0, 40.0))
    meshes = {edge: make("ball", radius=radius, edge=edge * radius).surface() for edge in (0.05, 0.1, 0.2, 0.3)}
    turned = {f"mesh with edges of {edge:g} R": Surface(mesh.points @ turn.T, mesh.faces) for edge, mesh in meshes.items()}
    return {"exact": dict(kind="ball", radius=radius)} | turned | {f"cloud of {n}": radius * spiral(n) for n in (1000, 10000)}


@problem("press-ball", "theory/validation-problems 1; [Johnson 1985]", methods=STATIC)
def press_ball(method: str, quick: bool) -> list[Check]:
    """`press` of a ball of 0.1 m by 1 mm onto a plane, exact, as fine and coarse meshes, and as clouds: force, area and peak by Hertz."""
    found = {name: press(ball, depth=1e-3, poisson=POISSON) for name, ball in balls(0.1).items()}
    return [check for name, each in found.items() for check in checks_of(name, each, hertz_of(0.1, 1e-3))]


@problem("press-two-balls", "theory/validation-problems 2; [Johnson 1985]", methods=STATIC)
def press_two_balls(method: str, quick: bool) -> list[Check]:
    """`press` of balls of 0.1 and 0.05 m with moduli of 1 and 3 MPa, exact and as meshes."""
    modulus = 1.0 / ((1.0 - POISSON**2) / 1e6 + (1.0 - 0.4**2) / 3e6)
    expected, checks = hertz_of(0.1 * 0.05 / 0.15, 1e-3, modulus), []
    for name, (a, b) in {
        "exact": (dict(kind="ball", radius=0.1), dict(kind="ball", radius=0.05)),
        "meshes": (make("ball", radius=0.1, edge=0.01).surface(), make("ball", radius=0.05, edge=0.005).surface()),
    }.items():
        found = press(a, b, depth=1e-3, align=True, poisson=POISSON, young_b=3e6, poisson_b=0.4)
        checks += checks_of(name, found, expected)
    return checks


@problem("press-punch", "theory/validation-problems 4; [Sneddon 1965]", methods=STATIC)
def press_punch(method: str, quick: bool) -> list[Check]:
    """`press` of a flat punch of 25 mm by 0.1 mm, rigid on soft and soft on rigid, on cells and on samples: P = 2 a E* d."""
    a, depth = 0.025, 1e-4
    punch, expected = dict(kind="cylinder", radius=a, height=0.02), {"force": 2.0 * a * MODULUS * depth, "area": math.pi * a * a}
    checks = []
    below: dict[str, Any] = dict(young=None, young_b=1e6, poisson_b=POISSON)
    ways: dict[str, dict[str, Any]] = {"rigid on soft": below, "soft on rigid": dict(poisson=POISSON)}
    for name, soft in ways.items():
        for nodes in ("cells", "samples"):
            found = press(punch, depth=depth, nodes=nodes, spacing=None if nodes == "cells" else 6e-4, **soft)
            checks += checks_of(f"{name}, {nodes}", found, expected)
    return checks


@problem("press-cone", "theory/validation-problems 6; [Sneddon 1965]", methods=STATIC)
def press_cone(method: str, quick: bool) -> list[Check]:
    """`press` of a cone of heights with a slope of 0.05: the depth d = sqrt(pi P tan(beta)/(2 E*)) within 0.2 %."""
    slope, load, n, wide = 0.05, 100.0, 129 if quick else 257, 0.2
    x = (np.arange(n) - n // 2) * wide / n
    found = press(Heights(-slope * np.hypot(x[:, None], x[None, :]), wide / n), force=load, poisson=POISSON)
    depth = math.sqrt(0.5 * math.pi * load * slope / MODULUS)
    return [
        Check("depth", depth, found.depth, 0.002, "m"),
        Check("area", math.pi * (2.0 * depth / (math.pi * slope)) ** 2, found.area, 0.03, "m²"),
    ]


def rough(n: int, cells: int, seed: int) -> Floats:
    """Self-affine heights [m] over 1 m with waves of at least so many cells, and a deviation of 1 mm."""
    rng = np.random.default_rng(seed)
    k = np.fft.fftfreq(n) * n
    size = np.hypot(*np.meshgrid(k, k, indexing="ij"))
    amplitude = np.where((size >= 2) & (size <= n / cells), np.maximum(size, 1.0) ** -1.8, 0.0)
    z = np.real(np.fft.ifft2(amplitude * np.exp(2j * math.pi * rng.random((n, n)))))
    return np.asarray(1e-3 * z / z.std())


@problem("press-rough", "theory/validation-problems 35; [Polonsky 1999]", methods=STATIC)
def press_rough(method: str, quick: bool) -> list[Check]:
    """`press` of rough heights under a load: area, peak and depth against tamaas, with 8 and 4 cells in the shortest wave."""
    checks = []
    for (n, cells, load), (area, peak, depth) in TAMAAS[: 1 if quick else None]:
        found = press(Heights(rough(n, cells, n + cells), 1.0 / n), force=load, young=1.0, poisson=0.0)
        what = f"{n}² cells, {cells} in the shortest wave, {load:g} N"
        checks += [
            Check(f"area, {what}", area, found.area, 0.03, "m²"),
            Check(f"peak, {what}", peak, found.peak, 0.05, "Pa"),
            Check(f"depth, {what}", depth, found.depth, 0.002, "m"),
        ]
    return checks


@problem("press-friction", "theory/validation-problems 35; [Cattaneo 1938]; [Mindlin 1949]", methods=STATIC)
def press_friction(method: str, quick: bool) -> list[Check]:
    """`press` of a ball with a tangential load: the radius that sticks, a (1 - Q/mu P)^(1/3), and how far it gives way."""
    radius, force, friction, checks = 0.1, 10.0, 0.5, []
    a = (0.75 * force * radius / MODULUS) ** (1.0 / 3.0)
    give = 2.0 * (2.0 - POISSON) * (1.0 + POISSON) / 1e6  # (2 - nu)/G
    for part in (0.2, 0.5, 0.9):
        ball = dict(kind="ball", radius=radius)
        found = press(ball, force=force, poisson=POISSON, tangential=part * friction * force, friction=friction).sheared
        assert found is not None
        where = ("Q over mu P", part)
        way = 3.0 * friction * force * give / (16.0 * a) * (1.0 - (1.0 - part) ** (2.0 / 3.0))
        checks += [
            Check(
                f"radius that sticks, Q = {part:g} mu P",
                a * (1.0 - part) ** (1.0 / 3.0),
                math.sqrt(found.stick / math.pi),
                0.02,
                "m",
                at=("radius that sticks", *where),
            ),
            Check(f"tangential displacement, Q = {part:g} mu P", way, found.displacement, 0.02, "m", at=("displacement", *where)),
        ]
    return checks


@problem("press-waves", "theory/validation-problems 40; [Westergaard 1939]", methods=STATIC)
def press_waves(method: str, quick: bool) -> list[Check]:
    """`press` of waves in one direction: in the middle one the peak is 2 sqrt(p p*) and half the width asin(sqrt(p/p*))/pi of a wave."""
    n, waves, checks = 256 if quick else 384, 8, []
    wave, amplitude = 1.0 / waves, 1e-3 / waves
    full = math.pi * amplitude / wave  # mean pressure [Pa] at which all touches, E* = 1 Pa
    z = amplitude * np.cos(2.0 * math.pi * ((np.arange(n) + 0.5) / n - 0.5) / wave)[:, None] * np.ones(n)
    for part in (0.5,) if quick else (0.15, 0.5, 0.9):
        cells = press(Heights(z, 1.0 / n), force=part * full, young=1.0, poisson=0.0, cell=1.0 / n).cells
        assert cells is not None
        x, y = cells.best.grid.centres
        one = np.abs(x) < 0.5 * wave
        middle = (cells.best.P / cells.best.grid.cell**2)[np.ix_(one, np.abs(y) < 0.1)]
        mean = float(middle.mean())  # which a finite plate has less of in its middle than in all
        what = f"mean {mean / full:.2f} of that of full contact"
        where = ("mean pressure, of that of full contact", mean / full)
        half = math.asin(math.sqrt(mean / full)) / math.pi
        checks += [
            Check(f"peak, {what}", 2.0 * math.sqrt(mean * full), float(middle.max()), 0.02, "Pa", at=("peak", *where)),
            Check(
                f"half the width of a wave, {what}",
                half,
                wave_width(x[one] / wave, middle.mean(axis=1)),
                0.02,
                "waves",
                at=("half the width", *where),
            ),
        ]
    return checks


@problem("press-roller", "theory/validation-problems 3; [Konter 2006]", methods=STATIC)
def press_roller(method: str, quick: bool) -> list[Check]:
    """`press` of a steel roller of 50 mm onto aluminium with 35 kN/mm, NAFEMS' advanced contact benchmark 1: 3585 MPa over 6.21 mm."""
    radius, load, cell = 0.05, 3.5e7, 4e-4 if quick else 2e-4
    modulus = 1.0 / ((1.0 - 0.3**2) / 210e9 + (1.0 - 0.3**2) / 70e9)
    wide, long = round(0.02 / cell), round(0.12 / cell)
    x = (np.arange(wide) - 0.5 * (wide - 1)) * cell
    heights = Heights((-(x**2) / (2.0 * radius))[:, None] * np.ones(long), cell)
    found = press(heights, force=load * long * cell, young=210e9, poisson=0.3, young_b=70e9, poisson_b=0.3, cell=cell).cells
    assert found is not None
    middle = found.best.P[:, long // 2 - long // 20 : long // 2 + long // 20]
    here = float(middle.sum() / (middle.shape[1] * cell))  # load per length [N/m] in the middle, where the ends are not felt
    scale = math.sqrt(load / here)
    peak, half = math.sqrt(load * modulus / (math.pi * radius)), 2.0 * math.sqrt(load * radius / (math.pi * modulus))
    width = half_width(cell * (np.arange(len(middle), dtype=np.float64) - 0.5 * (len(middle) - 1)), middle.mean(axis=1))
    return [
        Check("peak, at 35 kN/mm", peak, scale * float(middle.max()) / cell**2, 0.02, "Pa"),
        Check("half the width, at 35 kN/mm", half, scale * width, 0.02, "m"),
    ]


def wave_width(x: Floats, pressure: Floats) -> float:
    """Half the width of the contact of a wave from its pressure over places [waves]: p dx is half an ellipse over sin(pi x) [Westergaard
    1939]."""
    return math.asin(half_width(np.sin(math.pi * x), pressure)) / math.pi


def half_width(x: Floats, pressure: Floats) -> float:
    """Half the width of a contact from its pressure over places across it: half an ellipse over [-b, b] has x² = b²/4 in the mean. All
    cells tell it: those at the rim, which are covered in part, do not decide."""
    return 2.0 * math.sqrt(float(np.sum(pressure * x**2) / np.sum(pressure)))
