"""Validation problems: what theory says, what comes out here, under every contact method that can be asked.

A problem is a function `run(method, quick) -> list[Check]` in one of the files beside this one, wrapped by `problem(...)` with the methods
it makes sense for and, for those it does not, why. `quick` halves what may be halved (meshes, times); tolerances stay. A check holds one
number against its reference. What fails is shown as failing.

Problems that are known to miss their bars, and why: what the page says beside them, and what the slow tests expect with `quick`.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError, nearest
from pliant.contact.method import METHODS
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

FILES = (  # in the order of the table
    "indentation", "presses", "carried", "pressures", "friction", "standing", "impacts", "refinement", "elasticity",
    "cells", "queries",
)  # fmt: skip
ALL = tuple(name for name in METHODS if name != "none")
STATIC = ("quasi-rigid",)  # of which the static contact is asked too; in motion its bodies are quasi-rigid, where others' are soft or rigid
NO_CONTACT = ("none",)  # a problem about bodies alone


@dataclass(frozen=True)
class Check:
    """One number against its reference."""

    what: str
    reference: float
    here: float
    tolerance: float  # relative to the reference, or to `scale` where that is given
    unit: str = ""
    scale: float | None = None
    why: str = ""  # the reason where it fails, or what limits it
    at: tuple[str, str, float] | None = None  # for its plot: the row of checks it is one of, what they go along, and where it is there
    curve: tuple[str, Any, Any, Any] | None = None  # for its plot: what x is, x, ours and theory's y there

    @property
    def error(self) -> float:
        """Difference, relative."""
        scale = abs(self.reference) if self.scale is None else self.scale
        return abs(self.here - self.reference) / scale if scale > 0.0 else abs(self.here - self.reference)

    @property
    def passed(self) -> bool:
        return bool(math.isfinite(self.here) and self.error <= self.tolerance)


@dataclass(frozen=True)
class Problem:
    """A validation problem."""

    name: str
    about: str  # one line
    source: str  # number in the list of problems, or where the reference is from
    run: Callable[[str, bool], list[Check]]
    methods: tuple[str, ...]
    refused: dict[str, str] = field(default_factory=dict)  # method -> why it makes no sense for it
    limits: dict[str, str] = field(default_factory=dict)  # method -> why it fails, where a check does not say it itself


@dataclass(frozen=True)
class Result:
    """A problem under one method."""

    problem: Problem
    method: str
    checks: list[Check]
    seconds: float  # of CPU
    failure: str = ""  # the sentence with which it ended, if it could not be run
    quick: bool = False
    version: str = ""  # of the code that it ran on

    @property
    def passed(self) -> bool:
        return not self.failure and all(check.passed for check in self.checks)


def problem(
    name: str,
    source: str,
    methods: tuple[str, ...] = ALL,
    refused: dict[str, str] | None = None,
    limits: dict[str, str] | None = None,
) -> Callable[[Callable[[str, bool], list[Check]]], Problem]:
    """Make a problem of a function; its docstring's first line says what it is about."""
    without = refused or {}

    def wrap(run: Callable[[str, bool], list[Check]]) -> Problem:
        about = (run.__doc__ or "").strip().splitlines()[0]
        return Problem(name, about, source, run, tuple(m for m in methods if m not in without), without, limits or {})

    return wrap


def problems(names: list[str] | None = None) -> dict[str, Problem]:
    """All problems by name, or those asked for."""
    found: dict[str, Problem] = {}
    for file in FILES:
        module = importlib.import_module(f"pliant.shop.validate.{file}")
        found |= {p.name: p for p in vars(module).values() if isinstance(p, Problem)}
    for name in names or []:
        if name not in found:
            raise PliantError(f"There is no validation problem '{name}': {nearest(name, found)}")
    return {name: found[name] for name in names or found}


def asked(names: list[str] | None = None, methods: list[str] | None = None) -> list[tuple[Problem, str]]:
    """Problems, each with a method that it makes sense for."""
    for method in methods or []:
        if method not in (*ALL, *NO_CONTACT):
            raise PliantError(f"There is no contact method '{method}': {nearest(method, ALL)}")
    return [(each, method) for each in problems(names).values() for method in each.methods if methods is None or method in methods]


def attempt(each: Problem, method: str, quick: bool) -> Result:
    """One problem under one method; an error of pliant is a result too."""
    began, failure, checks = time.process_time(), "", list[Check]()
    known = each.limits.get(method) or why(each.name, method, quick)
    try:
        checks = [replace(check, why=check.why or known) for check in each.run(method, quick)]
    except PliantError as error:
        failure = str(error)
    return Result(each, method, checks, time.process_time() - began, failure, quick)


def attempted(problem: str, method: str, quick: bool) -> dict[str, Any]:
    """The same by the name of the problem, as plain data: what a worker does."""
    found = attempt(problems([problem])[problem], method, quick)
    return {**vars(found), "problem": problem}


def recalled(each: Problem, said: dict[str, Any], version: str) -> Result:
    """The result that `attempted` gave as plain data, and the code that it is of."""
    return Result(**{**said, "problem": each, "version": version, "checks": [Check(**check) for check in said["checks"]]})


def best(found: list[Result], chosen: list[tuple[Problem, str]], now: str) -> list[Result]:
    """Of problems under methods the best that there is: of this code before other code, the full one before a quick one, the last of
    those; nothing of what was never run."""
    known: dict[tuple[str, str], tuple[tuple[bool, bool], Result]] = {}
    for result in found:
        name, rank = (result.problem.name, result.method), (result.version == now, not result.quick)
        known[name] = (rank, result) if name not in known or rank >= known[name][0] else known[name]
    return [known[each.name, method][1] for each, method in chosen if (each.name, method) in known]


# ---- the bodies of a method, and reading what they carry: shared by the problems

G = 9.81  # [m/s^2]
SOFTER = 0.75  # frequency of a cube whose faces are half-spaces, on its like, over that of a soft one, sqrt(E / rho) / L


def contact_of(method: str) -> str | dict[str, Any]:
    """For what rests and slides: `quasi-rigid` with implicit steps, which it is meant to have there; others as they are."""
    return dict(method=method, integration="implicit") if method == "quasi-rigid" else method


def gives_way(method: str, spacing: float, integrator: str = "implicit") -> dict[str, Any]:
    """A body that gives way: of finite elements, or, under `quasi-rigid`, with a surface that does, with samples `spacing` [m] apart."""
    return dict(model="quasi-rigid", spacing=spacing) if method == "quasi-rigid" else dict(integrator=integrator)


def held(method: str) -> dict[str, Any]:
    """The same held from below: at its bottom, or as a whole."""
    return dict(motions=[dict(shift=(0.0, 0.0, 0.0))]) if method == "quasi-rigid" else dict(fixed=[dict(side="-z")])


def mean_forces(sim: Simulation, pairs: list[tuple[str, str]], steps: int) -> Floats:
    """Mean of the contact force on the first of each pair from the second over the next steps [N], (pairs, 3): impulses over time."""
    impulse, start = np.zeros((len(pairs), 3)), sim.time

    def add(report: StepReport) -> None:
        for k, (a, b) in enumerate(pairs):
            impulse[k] += sim.contacts(a, b).total_force * report.dt

    for _ in range(steps):
        sim.step(each=add)
    return impulse / (sim.time - start)


def mean_force(sim: Simulation, a: str, b: str, steps: int) -> Floats:
    """The same for one pair, (3,)."""
    return mean_forces(sim, [(a, b)], steps)[0]


# (problem, method) -> why; the page of the docs has the numbers
KNOWN = {
    ("tip-or-slide", "ground"): "the block that stands rocks on soft springs by 1.4 mm, 1 mm is asked; by 0.15 mm at half the step",
    ("refined-steps", "ground"): "springs as soft as dt is long: sinks 11 % too far at 2 ms, falls with its square",
    ("refined-steps", "reversal"): "hovers by 6 %",
    ("tip-or-slide", "quasi-rigid"): "samples on rims carry nothing: the block tips from 23.6 degrees on, not from 26.6",
    ("rod-on-rod", "noniterative"): "force in between off by 9 %, 5 % is asked; by 0.2 % with half of SHALLOW (solid_penetration.py)",
    ("collision", "noniterative"): "angular momentum drifts by 1.4e-3 of m v R, 1e-3 is asked; falls with dt",
    ("collision", "reversal"): "angular momentum drifts by 9 % of m v R: velocities are turned at single points",
    ("scale", "reversal"): "0.08 % too much, 0.01 are asked: damping takes hold of velocities whose way is set back (all but 1e-10 of it)",
}  # fmt: skip

POINTS = "continuous-penalty ground noniterative penalty point-surface"
SPRINGS = "continuous-penalty ground noniterative penalty"
MISSED = {  # problem -> methods that miss its bars with `quick`, and by how much
    "contact-patch": (POINTS, "points in bodies carry unevenly: rms of pressure 2 % (penalty) to 96 % (ground), 0.5 % are asked"),
    "hertz-fem": ("continuous-penalty noniterative penalty point-surface", "peak 7 to 9 % high with 6 elements, 5 % are asked"),
    "cube-on-pad": ("quasi-rigid reversal", "8e-3 at 20 ms and E = 1e8 with the world turned; 3e-4 in the mean of chatter; 1e-4 asked"),
    "block-pressure": (SPRINGS, "points push by themselves: 55 % rms at E = 1e9, 2 % are asked"),
    "areas": (POINTS, "areas of points, not of what is covered: 10 to 77 % too large; 1.7 % too small under point-surface"),
    "ball-in-block": (POINTS, "force 0 to 39 % low, area 9 to 16 % high, peak 9 to 23 % off at a/h = 3.5"),
    "tall-stack": (POINTS, "at 5 ms ten rigid boxes fall or creep by 1 to 3 mm a second (penalties), stiff ones fall or carry unevenly"),
    "pyramid": (POINTS, "the top moves by 1.6 mm (penalties) to 36 mm (ground); forces 4 to 26 % off under those that are no penalty"),
    "heavy-on-light": (POINTS, "5000 on 5 kg/m³ fall through at 4 ms"),
    "tipping-angle": (POINTS, "tips 0.4 (penalty) to 2 degrees (noniterative) too early at 5 ms"),
    "centre-of-pressure": ("ground", "1.1 % off, 1 % is asked"),
    "stick-or-slide": ("ground noniterative point-surface quasi-rigid", "slides 0.8, 1.2, 2.9, 1.6 % above the limit, 0.5 % are asked"),
    "creep": (POINTS, "1.7e-7 (penalty) to 3e-3 m/s (point-surface), 1e-8 are asked"),
    "spinning-disc": (SPRINGS, "torque of points: 3.6 % low, 2 % are asked"),
    "rolling-ball": ("continuous-penalty noniterative penalty point-surface", "feels faces: 28 % less speed in 0.5 s, or 0.6 % more"),
    "rolling-disc": ("continuous-penalty ground noniterative point-surface", "feels sides less than a prism does: 2.3 to 18 % too fast"),
    "arch": (POINTS, "falls at 1.05 of its limit too"),
    "impact-peak": (POINTS, "nodes that meet the ground stop within a step, m v / dt: up to 9, point-surface 14 times at 0.1 ms"),
    "closed-box": ("continuous-penalty ground noniterative penalty reversal", "loses 10.3 (noniterative) to 24 % (reversal), 10 are asked"),
}  # fmt: skip
KNOWN |= {(name, method): why for name, (methods, why) in MISSED.items() for method in methods.split()}
KNOWN |= {
    ("block-pressure", "patch"): "a skin 8 times finer than its cells peaks at 1.07, 1.05 are asked",
    ("hertz-fem", "patch"): "with 6 elements across area 11 % low and peak 5.7 % high, 10 and 5 % are asked",
    ("ball-in-block", "patch"): "area 5.2 % low, 5 are asked, of what counts all of the area around the nodes of a rim",
    ("collision", "patch"): "angular momentum drifts by 1.2e-3, 1e-3 are asked: friction acts on both sides of a gap",
    ("refined-steps", "patch"): "1 % off at 2 ms as at 8 ms: its layer gives way by p h / (40 E), which falls with elements, not steps",
}
FULL = {  # where the full form misses other bars than the quick one, or by other figures
    ("hertz-fem", "patch"): "peak 6.3 % high with 8 elements across, 5 % are asked",
    ("ball-in-block", "patch"): "area 7.2 % low with 24 parts, 5 % are asked, of what counts all of the area around the nodes of a rim",
    ("rolling-disc", "patch"): "2.7, 3.3 % too fast, 2 are asked: sides pass in 10 and 5 steps; 1.7, 1.5 % at 1 ms, 0.6, 0.8 at 0.5",
    ("capstan", "patch"): "13 % low at mu = 0.5, 3 % are asked: at 4 ms it sticks and jumps (6.9 to 12 N); 2.4 % low and even at 1 ms",
    ("closed-box", "patch"): "loses 15 % in 5 s, 10 % are asked: between meshes explicit contact is no potential; 1.1 % in half a second",
}  # fmt: skip


def why(problem: str, method: str, quick: bool) -> str:
    """Why a problem is known to miss its bars under a method; nothing of others."""
    known = KNOWN.get((problem, method), "")
    return known if quick else FULL.get((problem, method), known)
