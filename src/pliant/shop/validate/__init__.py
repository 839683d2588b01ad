"""Validation problems: what theory says, what comes out here, under every contact method that can be asked.

A problem is a function `run(method, quick) -> list[Check]` in one of the files beside this one, wrapped by `problem(...)` with the methods
it makes sense for and, for those it does not, why. `quick` halves what may be halved (meshes, times); tolerances stay. A check holds one
number against its reference. What fails is shown as failing.
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
from pliant.shop.validate.known import why
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
