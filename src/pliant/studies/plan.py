"""What a study will take: cases, time and disk, from a few steps of its first case."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pliant.simulate import running
from pliant.studies.find import narrow_enough
from pliant.studies.sensitivity import grid

if TYPE_CHECKING:
    from pliant.studies.study import Study

TRIAL = 2.0  # [s] of steps that are timed
ITERATIONS = 5  # of a fit, as a guess
PICTURE = 300_000  # [bytes]


@dataclass
class Plan:
    """An estimate."""

    cases: int
    exact: bool  # whether the number of cases is known
    seconds: float  # of one case
    hours: float  # of all, on the workers
    bytes: int
    notes: list[str]


def planned(study: Study, workers: int) -> Plan:
    """Count the cases, and time the first."""
    points, exact = _points(study)
    first, count = points
    scene = study.scene_of(first, study.seed_of(first, 0))
    if scene is None:
        began = time.perf_counter()
        study.common()["functions"][""](**first)
        seconds = time.perf_counter() - began
        return Plan(count, exact, seconds, count * seconds / max(1, workers) / 3600.0, 1000 * count, [])
    began = time.perf_counter()
    sim, recorder = running.start_unrecorded(scene, study.every)
    building = time.perf_counter() - began
    sim.step()  # the first one loads kernels
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < TRIAL and sim.time < scene.duration - 1e-9:
        sim.step()
        steps += 1
    each = (time.perf_counter() - began) / max(1, steps)
    seconds = building + each * math.ceil(scene.duration / scene.dt - 1e-9)
    keep = [study.keep] if isinstance(study.keep, str) else study.keep
    size = running.expected_size(sim, recorder.header["every"])[1] if "run" in keep else 0
    size += PICTURE if "picture" in keep else 0
    size += 20 * len(study.measures) * math.ceil(scene.duration / scene.dt) if "histories" in keep else 0
    return Plan(count, exact, seconds, count * seconds / max(1, workers) / 3600.0, count * (size + 1000), sim.notes)


def _points(study: Study) -> tuple[tuple[dict[str, Any], int], bool]:
    """The first point and how many there are; not exactly where answers decide what is asked next."""
    if study.find is not None:
        points = [point for point, _ in grid(study)]
        low, high = study.find.between
        halvings, width = 0, high - low
        while halvings < 60 and not narrow_enough(study.find, high - width, high):
            width, halvings = width / 2, halvings + 1
        return ({**points[0], study.find.parameter: high}, len(points) * (2 + halvings)), False
    if study.calibrate is not None:
        asked = study.calibrate.parameters
        middle = {name: 0.5 * sum(each.between) for name, each in asked.items()}
        profile = 2 * study.calibrate.profile * len(asked) * 3 * (2 * len(asked) - 1)
        return (middle, ITERATIONS * (1 + 2 * len(asked)) + profile), False
    if study.sensitivity is not None:
        middle = {name: each.at(0.5) for name, each in study.parameters.items()}
        return (middle, study.sensitivity.samples * (len(study.parameters) + 2)), True
    points = [point for point, _ in study.points()]
    return (points[0], len(points)), True
