"""Pauly, Pai, Guibas: Quasi-Rigid Objects in Contact. Scans that give way locally, and the pressures between them.

The paper gives numbers of samples and times, but no moduli, radii of the response, masses or steps: those are ours, and shapes made by code
stand for the scans. Figures 8 and 11 are simulated, the others are static.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats
from pliant.contact.elastic import Boussinesq, ContactResult, Side, VolumePreserving, compliance, deformed, resolve
from pliant.detect.surfels import Exact, PointSurface, from_mesh
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make
from pliant.geometry.subdivide import subdivided
from pliant.look import draw, from_simulation
from pliant.pressing.tool import press
from pliant.shop import scenes
from pliant.shop.reproduce import Experiment, Line
from pliant.shop.reproduce.watch import plot
from pliant.simulate.simulation import Simulation

OPEN = "moduli, response radius and tolerances are not given"
NONE = "picture only"


def scan(kind: str, points: int, sphere: float | None = None, **options: float) -> PointSurface:
    """About so many samples of a shape made by code; those near a sphere [m] around the origin are put onto it, for flat triangles touch
    with their corners."""
    surface = make(kind, **options).surface()
    low, high = 1e-4, 1e-2
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if len(subdivided(surface, middle).surface.points) > points else (low, middle)
    fine = subdivided(surface, high).surface
    if sphere is not None:
        far = np.linalg.norm(fine.points, axis=1, keepdims=True)
        fine = Surface(np.where(np.abs(far - sphere) < 0.05 * sphere, fine.points * (sphere / far), fine.points), fine.faces)
    return from_mesh(fine)


def _milliseconds(work: Any) -> float:
    """CPU time of the second call, when everything that is built once has been."""
    work()
    begin = time.process_time()
    work()
    return 1e3 * (time.process_time() - begin)


def _dots(path: Path, panels: list[tuple[str, Floats, Floats]], aspect: str = "equal") -> None:
    """Points (n, 2) [m] coloured by values, in panels of (title, points, values)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(panels), 4.0))
    FigureCanvasAgg(figure)
    for k, (title, x, value) in enumerate(panels):
        axis = figure.add_subplot(1, len(panels), k + 1)
        shown = axis.scatter(1e3 * x[:, 0], 1e3 * x[:, 1], c=value, s=min(max(8000.0 / len(x), 3.0), 60.0), cmap="viridis", linewidths=0)
        axis.set(title=title, xlabel="mm", ylabel="mm", aspect=aspect)
        figure.colorbar(shown, ax=axis, shrink=0.8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def responses(folder: Path) -> list[Line]:
    """Fig. 3: Boussinesq's response falls as 1/r; the volume-preserving one, shifted and times a Gaussian, displaces no volume."""
    b, c = 1.0, 1.0
    solid, flesh = Boussinesq(c), VolumePreserving(c, b)
    r = np.linspace(0.05, 4.0, 400)
    curves = {"Boussinesq": (r, -solid.f(r)), "volume preserving": (r, -flesh.f(r))}
    plot(folder / "Fig3.png", [("response to a point force", "-f / C [1/b]", curves)], x="r / b")
    fine = np.linspace(1e-9, 12.0, 400001)
    value = flesh.f(fine) * fine
    net = float(np.sum(value) / np.sum(np.abs(value)))
    rim = fine[np.argmin(flesh.f(fine))]
    return [
        Line("Fig3 (3), net volume of the volume-preserving response over what it moves", "0", f"{net:.1e}", abs(net) < 1e-3),
        Line("Fig3 highest rim", NONE, f"{-flesh.f(np.array([rim]))[0]:.4f} C/b at {rim:.3f} b", None, OPEN),
        Line("Fig3 Boussinesq, f(2 r) / f(r)", "1/2", f"{solid.f(2.0 * r)[0] / solid.f(r)[0]:.3f}", True),
    ]


def volume(folder: Path) -> list[Line]:
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
    lines, panels = [], []
    for soft in ("plane", "ball", "both"):
        a = Side(ball, response if soft != "plane" else None, translation=np.array([0, 0, radius - depth]))
        b_side = Side(Exact("plane"), response if soft != "ball" else None, samples=slab)
        found = resolve(a, b_side)
        for which, one, name in ((0, a, "ball"), (1, b_side, "plane")):
            if one.response is None:
                continue
            assert one.nodes is not None
            points, u = deformed(one, found, which)
            net, dent = float(np.sum(u * one.nodes.areas)), float(np.sum(np.maximum(u, 0) * one.nodes.areas))
            here = f"{100 * net / dent:+.2f} % of the dent"
            lines.append(Line(f"Fig4 {soft} deformable: net volume of the {name}", "0", here, abs(net) < 0.01 * dent, OPEN))
            near = (np.abs(points[:, 1]) < 1.5e-3) & (np.abs(points[:, 0]) < 0.07) & (points[:, 2] < 0.03)
            panels.append((f"{soft} soft: {name}, u [mm]", points[near][:, [0, 2]], 1e3 * u[near]))
        if soft == "both":
            part = float(np.max(found.u_a) / (np.max(found.u_a) + np.max(found.u_b)))
            what = "Fig4 both deformable: the ball's share of the dent"
            lines.append(Line(what, "the same material: half", f"{part:.3f}", abs(part - 0.5) < 0.02))
    _dots(folder / "Fig4.png", panels, aspect="auto")
    return lines


def foot(folder: Path) -> list[Line]:
    """Fig. 9: a foot of 55,061 samples on the ground, 11,317 displaced, 952 ms on three levels; pressures as a sensor sees them."""
    surface = scan("foot", 55_000, edge=0.012)
    side = Side(surface, VolumePreserving(compliance(2e5, 0.49), 0.007), translation=np.array([0, 0, -surface.points[:, 2].min() - 0.0005]))
    ground = Side(Exact("plane"))
    found = resolve(side, ground)
    moved, u = deformed(side, found, 0)
    spent = _milliseconds(lambda: deformed(side, resolve(side, ground), 0))
    displaced = int(np.count_nonzero(np.abs(u) > 1e-6))
    sole = found.contact
    _dots(
        folder / "Fig9.png",
        [
            ("displacement [mm]", moved[np.abs(u) > 1e-6][:, :2], 1e3 * u[np.abs(u) > 1e-6]),
            ("pressure [kPa]", found.points[sole][:, :2], 1e-3 * found.smooth_pressure[sole]),
        ],
    )
    pressed = press(surface, depth="0.5mm", response="volume-preserving", layer="7mm", young="200kPa", poisson=0.49)
    grid = pressed.map((37, 13))
    grid.write(folder / "Fig9-sensor.csv")
    coarse = [(k, resolve(side, ground, level=k).force) for k in (1, 2)]
    here = ", ".join(f"level {k} {100 * (f / found.force - 1):+.1f} %" for k, f in coarse)
    return [
        Line("Fig9 samples", "55,061", f"{len(surface):,}", abs(len(surface) - 55061) < 6000, "a foot made by code"),
        Line("Fig9 displaced samples", "11,317", f"{displaced:,}", 8000 < displaced < 16000, OPEN),
        Line("Fig9 contact computation", "952 ms", f"{spent:.0f} ms of CPU", spent < 952, "Pentium IV 2.8 GHz there"),
        Line("Fig9 force on coarser levels", "three levels used", here, max(abs(f / found.force - 1) for _, f in coarse) < 0.05),
        Line("Fig9 cells of a 37 x 13 sensor that carry", NONE, f"{np.count_nonzero(grid.values > 0)} of 481", None, "compared by eye"),
    ]


def joint(folder: Path) -> list[Line]:
    """Fig. 10: a femur's ball (44,513 samples) in a hip (141,221): a conforming contact, robust where the theory is not exact."""
    ball = Side(scan("ball", 44_500, sphere=0.024, radius=0.024), Boussinesq(compliance(1e7, 0.45)))
    hip = Side(scan("socket", 141_000, sphere=0.0248, radius=0.0248, thickness=0.008), Boussinesq(compliance(1e7, 0.45)))
    placed = ball.moved(np.eye(3), np.zeros(3), np.array([0.0, 0.0, -0.001]))
    found = resolve(placed, hip, level=1)
    spent = _milliseconds(lambda: resolve(placed, hip, level=1))
    at = found.deformed[found.contact]
    _dots(folder / "Fig10.png", [("pressure [MPa] seen from above", at[:, :2], 1e-6 * found.pressure[found.contact])])
    down = float(found.wrench_a()[2])
    across = float(np.linalg.norm(found.wrench_a()[:2])) / down
    widest = math.degrees(math.atan2(float(np.max(np.linalg.norm(at[:, :2], axis=1))), float(-np.median(at[:, 2]))))
    return [
        Line("Fig10 conforming contact is solved", "robust", found.status, found.solved and found.penetration < 0.01),
        Line("Fig10 force across the load, of a symmetric joint", NONE, f"{100 * across:.2f} % of {down:.0f} N", None),
        Line("Fig10 touching samples, half angle, CPU time", NONE, f"{len(at)}, {widest:.0f} degrees, {spent:.0f} ms", None, "level 1"),
    ]


def kiss(folder: Path) -> list[Line]:
    """Fig. 1: two busts in contact; nodes and tractions. Crown to crown, and nose to nose, where the paper's method finds its limit."""
    surface = scan("bust", 50_000, edge=0.006)
    front, top = float(surface.points[:, 0].max()), float(surface.points[:, 2].max())
    one = Side(surface, Boussinesq(compliance(1e6, 0.3)))
    crown = Side(surface, one.response, rotation=np.diag([1.0, -1.0, -1.0]), translation=np.array([0.004, 0.003, 2 * top - 0.004]))
    nose = Side(surface, one.response, rotation=np.diag([-1.0, -1.0, 1.0]), translation=np.array([2 * front - 0.012, 0, 0]))
    found, tip = resolve(one, crown), resolve(one, nose)
    modes: dict[str, ContactResult] = {mode: resolve(one, crown, mode) for mode in ("merged", "split")}
    spent = _milliseconds(lambda: resolve(one, crown))
    shown = (("crowns", found, [0, 1]), ("noses", tip, [1, 2]))
    _dots(folder / "Fig1.png", [(f"pressure [kPa], {name}", x.deformed[:, k], 1e-3 * x.pressure) for name, x, k in shown])
    other = ", ".join(f"{mode} {100 * (f.force / found.force - 1):+.1f} %" for mode, f in modes.items())
    alike = max(abs(f.force / found.force - 1) for f in modes.values()) < 0.1
    opposite = float(np.max(np.abs(found.wrench_a() + found.wrench_b())))
    flagged = f"{len(tip.spikes)} of {int(tip.contact.sum())} nodes flagged"
    return [
        Line("Fig1 action and reaction", "equal", f"differ by {opposite:.1g} N", opposite == 0.0),
        Line("Fig1 force by the paper's two formulations", "the same contact", other, alike),
        Line("Fig1 contact of two scans", "20-200 ms (section 6)", f"{spent:.0f} ms of CPU, {int(found.contact.sum())} touch", spent < 200),
        Line("Fig1 nose to nose", "extreme curvature is difficult", flagged, len(tip.spikes) > 0, "displaced beyond half a radius"),
    ]


def spinning(folder: Path) -> list[Line]:
    """Fig. 8: a spinning ball on an incline slips, rolls, and comes back; the scene spinning-ball, against the rigid ball's formulas."""
    sim = Simulation(scenes.make("spinning-ball"))
    times, places, spins = [], [], []
    up = np.array([math.cos(math.radians(10)), 0.0, math.sin(math.radians(10))])
    frame = sim.world.model.bodies.frame[sim.index("ball")]

    def look(report: Any) -> None:
        times.append(sim.time)
        places.append(float(sim.centre("ball") @ up))
        spins.append(float(sim.world.angular_velocities(sim.state.rotation, sim.state.spin)[frame, 1]))

    sim.run(until=sim.scene.duration, each=look)
    speed = np.gradient(places, times)
    curves = {"R omega": (times, spins), "speed of the centre": (times, speed)}
    plot(folder / "Fig8.png", [("way up the incline", "m", {"way": (times, places)}), ("spin and speed", "m/s, rad/s", curves)])
    rolling = next((t for t, v, w in zip(times, speed, spins, strict=True) if t > 0.1 and abs(v - w) < 0.02), math.nan)
    exact = 10.0 / (3.5 * 0.3 * 9.81 * math.cos(math.radians(10)) - 9.81 * math.sin(math.radians(10)))
    agrees = abs(rolling - exact) < 0.02 * exact
    return [Line("Fig8 slip ends", f"{NONE}; rigid ball {exact:.3f} s", f"{rolling:.3f} s", agrees)]


def room(folder: Path) -> list[Line]:
    """Fig. 11: a head of 52,809 samples bounces in a room; 20-200 ms a resolution with 40-100 active nodes. The scene, and one contact."""
    sim = Simulation(scenes.make("head-in-room", duration=0.6))
    touched: list[int] = []
    energy: list[float] = []
    strongest: list[Any] = [0, None]

    def look(report: Any) -> None:
        touched.append(len(sim.contacts("head", "room").depth))
        energy.append(sim.books().total / sim.books().start)
        if touched[-1] > strongest[0]:
            strongest[:] = touched[-1], from_simulation(sim)

    sim.run(until=0.6, each=look)
    draw(strongest[1], "pressure", size=(640, 480), transparent=["room"]).save(folder / "Fig11.png")
    plot(folder / "Fig11-contacts.png", [("contacts of the head", "nodes", {"nodes": (np.arange(len(touched)), touched)})], x="step")
    surface = scan("bust", 52_800)
    wall = Side(Exact("plane"), rotation=np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]))
    wall = wall.moved(np.eye(3), np.zeros(3), np.array([float(surface.points[:, 0].max()) - 0.006, 0, 0]))
    head = Side(surface, Boussinesq(compliance(1e6, 0.3)))
    found = resolve(head, wall)
    spent = _milliseconds(lambda: resolve(head, wall))
    bounces = touched[-1] == 0 < max(touched) and max(energy) < 1.0 + 1e-9
    bounced = f"{max(touched)} nodes at most, energy at most {max(energy):.4f} of the start, {energy[-1]:.3f} after it"
    return [
        Line("Fig11 the head bounces off and gains no energy", "bounces", bounced, bounces),
        Line("Fig11 a resolution with 40-100 active nodes", "20-200 ms", f"{spent:.1f} ms of CPU, {len(found.P)} active", spent < 200),
    ]


EXPERIMENTS: dict[str, Experiment] = {
    "Fig1": kiss, "Fig3": responses, "Fig4": volume, "Fig8": spinning, "Fig9": foot, "Fig10": joint, "Fig11": room
}  # fmt: skip
