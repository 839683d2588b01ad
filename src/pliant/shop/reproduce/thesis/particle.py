"""T1 and T2: a particle on a plane (7.1.1, Figs. 7.1 and 7.2)."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats
from pliant.shop import scenes
from pliant.shop.reproduce.experiment import Desk, Measured
from pliant.shop.reproduce.verdict import Claim, above, below, near, within
from pliant.shop.reproduce.watch import CPF, DPF, SHORT, plot
from pliant.shop.scenes.thesis import PARTICLE, critical

FIGURES = {(CPF, 0.14): True, (CPF, 0.17): False, (DPF, 0.11): True, (DPF, 0.13): False}  # Fig. 7.1: is it stable?
CALM = 1e-4  # [m] by which a particle at rest may still go up and down
PEAKS = {CPF: 0.0493565364, DPF: 0.0209494145}  # [m] of the first rebound by the recurrence, k = 1000, dt = 0.01
PRINTED = 0.142  # [s] limit of CPF that the text derives from matrix 7.11


def heights(method: str, stiffness: float, dt: float, steps: int) -> Floats:
    """Of the particle after each step [m]."""
    sim = scenes.make("particle-on-plane", method=method, stiffness=stiffness, dt=dt).simulate()
    out = np.empty(steps)
    for i in range(steps):
        sim.step()
        out[i] = sim.centre("particle")[2] - PARTICLE
    return out


def swing(method: str, dt: float, stiffness: float = 100.0, steps: int = 400) -> float:
    """How far the particle goes up and down in the last of many steps [m]. Above the limit gravity may still hold it in bounces."""
    return float(np.ptp(heights(method, stiffness, dt, steps)[-20:]))


def critical_step(method: str) -> float:
    """The critical step [s] by bisection of the simulator, to 0.3 %."""
    low, high = 0.105, 0.155
    while high > 1.003 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if swing(method, middle) < CALM else (low, middle)
    return 0.5 * (low + high)


def printed_limit(mass: float = 1.0, stiffness: float = 100.0) -> float:
    """The critical step [s] that matrix 7.11 has as it is printed, by bisection of its eigenvalues."""
    low, high = 0.05, 0.5
    while high > (1 + 1e-9) * low:
        dt = 0.5 * (low + high)
        half = 0.5 * dt * dt * stiffness / mass
        matrix = np.array([[1 - half, dt * (1 - half)], [-half / dt, 1 - half]])
        low, high = (dt, high) if np.abs(np.linalg.eigvals(matrix)).max() < 1.0 + 1e-12 else (low, dt)
    return 0.5 * (low + high)


def limits(desk: Desk) -> Measured:
    """T1: m = 1 kg, h = 0.1 m, k = 100 N/m: which steps are stable, and the critical step by bisection.

    The printed matrix 7.11 of CPF has k / 2m in both rows and would be stable up to s = 8/3; the right one is up to s = 2
    (7.9 is misprinted too).
    """
    panels, found = [], {}
    for k, (method, dt) in enumerate(FIGURES):
        desk.at(0.1 * k)
        z = heights(method, 100.0, dt, 60)
        panels.append((f"{SHORT[method]}, dt = {dt} s", "height [m]", {"": (dt * np.arange(1, 61), z)}))
        found[f"{SHORT[method]} {dt}"] = 1e3 * swing(method, dt)
    plot(desk.path("T1.png"), panels)
    steps = {method: critical_step(method) for method in (CPF, DPF)}
    return {**found, "CPF": steps[CPF], "DPF": steps[DPF], "ratio": steps[CPF] / steps[DPF], "printed": printed_limit()}


LIMITS = (
    *(
        Claim(f"{SHORT[method]} {dt}", f"{SHORT[method]} at dt = {dt} s: how far it goes up and down in the end",
              "stable" if calm else "unstable", below(1e3 * CALM) if calm else above(1e3 * CALM), "mm")
        for (method, dt), calm in FIGURES.items()
    ),
    Claim("CPF", "critical step of CPF", "sqrt(2m/k) = 0.142 s", near(critical(CPF, 100.0, 1.0), 0.01), "s"),
    Claim("DPF", "critical step of DPF", "sqrt(4m/3k) = 0.115 s", near(critical(DPF, 100.0, 1.0), 0.01), "s"),
    Claim("ratio", "critical step of CPF over that of DPF", "1.22", near(np.sqrt(1.5), 0.01)),
    Claim("printed", "limit of the matrix 7.11 as printed, by its eigenvalues", "0.142 s", near(PRINTED, 0.01), "s",
          "7.11 is misprinted, the limit that the text gives is right (E29, E30)"),
)  # fmt: skip


def damping(desk: Desk) -> Measured:
    """T2: k = 1000 N/m, dt = 0.01 s: both damped, DPF more. The thesis has a plot without numbers; the recurrence has them."""
    dt, curves = 0.01, {}
    for method in (CPF, DPF):
        curves[method] = heights(method, 1000.0, dt, 150)
    time = dt * np.arange(1, 151)
    force = {SHORT[m]: (time[:35], np.diff(np.diff(z, prepend=0.1), prepend=0.0)[:35] / dt**2 + 9.81) for m, z in curves.items()}
    plot(desk.path("T2.png"), [("k = 1000 N/m, dt = 0.01 s", "height [m]", {SHORT[m]: (time, z) for m, z in curves.items()}),
                               ("first collision", "force [N]", force)])  # fmt: skip
    peak = {m: float(z[z.argmin() :].max()) for m, z in curves.items()}
    return {"CPF": peak[CPF], "DPF": peak[DPF], "ratio": peak[CPF] / peak[DPF]}


THEORY = "the thesis has a plot without numbers; the number is from theory, the recurrence of 9.4"
DAMPING = (
    *(
        Claim(SHORT[m], f"first rebound with {SHORT[m]}", f"no figure; theory {p:.10f} m", within(p, 1e-9), "m", THEORY)
        for m, p in PEAKS.items()
    ),
    Claim("ratio", "first rebound of CPF over that of DPF", "DPF damps more", near(PEAKS[CPF] / PEAKS[DPF], 0.01), why=THEORY),
)
