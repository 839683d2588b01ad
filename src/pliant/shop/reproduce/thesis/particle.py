"""T1 and T2: a particle on a plane (7.1.1, Figs. 7.1 and 7.2)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Floats
from pliant.shop import scenes
from pliant.shop.reproduce import Line
from pliant.shop.reproduce.thesis.watch import CPF, DPF, SHORT, plot
from pliant.shop.scenes.thesis import PARTICLE, critical

FIGURES = {(CPF, 0.14): True, (CPF, 0.17): False, (DPF, 0.11): True, (DPF, 0.13): False}  # Fig. 7.1: is it stable?
THEORY = "the thesis has a plot without numbers; the number is from theory, the recurrence of 9.4"
PEAKS = {CPF: 0.0493565364, DPF: 0.0209494145}  # [m] of the first rebound by the recurrence, k = 1000, dt = 0.01


def heights(method: str, stiffness: float, dt: float, steps: int) -> Floats:
    """Of the particle after each step [m]."""
    sim = scenes.make("particle-on-plane", method=method, stiffness=stiffness, dt=dt).simulate()
    out = np.empty(steps)
    for i in range(steps):
        sim.step()
        out[i] = sim.centre("particle")[2] - PARTICLE
    return out


def stable(method: str, dt: float, stiffness: float = 100.0, steps: int = 400) -> bool:
    """Whether the particle comes to rest. Above the limit it need not fly off: gravity holds it in bounces that never end."""
    return bool(np.ptp(heights(method, stiffness, dt, steps)[-20:]) < 1e-4)


def found(method: str) -> float:
    """The critical step [s] by bisection of the simulator, to 0.3 %."""
    low, high = 0.105, 0.155
    while high > 1.003 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(method, middle) else (low, middle)
    return 0.5 * (low + high)


def limits(folder: Path) -> list[Line]:
    """T1: m = 1 kg, h = 0.1 m, k = 100 N/m: which steps are stable, and the critical step by bisection.

    The printed matrix 7.11 of CPF has k / 2m in both rows and would be stable up to s = 8/3; the right one is up to s = 2
    (7.9 is misprinted too).
    """
    panels, lines = [], []
    for (method, dt), calm in FIGURES.items():
        z = heights(method, 100.0, dt, 60)
        is_calm = stable(method, dt)
        word = {True: "stable", False: "unstable"}
        panels.append((f"{SHORT[method]}, dt = {dt} s: {word[is_calm]}", "height [m]", {"here": (dt * np.arange(1, 61), z)}))
        lines.append(Line(f"T1 {SHORT[method]} at dt = {dt} s", word[calm], word[is_calm], calm == is_calm))
    plot(folder / "T1.png", panels)
    steps = {method: found(method) for method in (CPF, DPF)}
    for method, formula in ((CPF, "sqrt(2m/k)"), (DPF, "sqrt(4m/3k)")):
        theory = critical(method, 100.0, 1.0)
        lines.append(
            Line(
                f"T1 {SHORT[method]} critical step",
                f"{formula} = {theory:.4f} s",
                f"{steps[method]:.4f} s",
                abs(steps[method] / theory - 1) < 0.01,
            )
        )
    ratio = steps[CPF] / steps[DPF]
    printed = float(np.sqrt(8 / 300))
    return [
        *lines,
        Line("T1 critical step of CPF over DPF", "1.22", f"{ratio:.3f}", abs(ratio - 1.2247) < 0.01),
        Line(
            "T1 CPF limit that the printed matrix 7.11 has",
            "0.142 s",
            f"{printed:.4f} s",
            False,
            "7.11 is misprinted, the limit is right (E29, E30)",
        ),
    ]


def damping(folder: Path) -> list[Line]:
    """T2: k = 1000 N/m, dt = 0.01 s: both damped, DPF more. The thesis has a plot without numbers; the recurrence has them."""
    dt, curves = 0.01, {}
    for method in (CPF, DPF):
        curves[method] = heights(method, 1000.0, dt, 150)
    time = dt * np.arange(1, 151)
    force = {SHORT[m]: (time[:35], np.diff(np.diff(z, prepend=0.1), prepend=0.0)[:35] / dt**2 + 9.81) for m, z in curves.items()}
    plot(folder / "T2.png", [("k = 1000 N/m, dt = 0.01 s", "height [m]", {SHORT[m]: (time, z) for m, z in curves.items()}),
                             ("first collision", "force [N]", force)])  # fmt: skip
    peak = {m: float(z[z.argmin() :].max()) for m, z in curves.items()}
    lines = [
        Line(f"T2 {SHORT[m]} first rebound", f"no figure; theory {p:.10f} m", f"{peak[m]:.10f} m", abs(peak[m] - p) < 1e-9, THEORY)
        for m, p in PEAKS.items()
    ]
    return [*lines, Line("T2 who damps more", "DPF", f"CPF comes back {peak[CPF] / peak[DPF]:.2f} times higher", peak[CPF] > peak[DPF])]
