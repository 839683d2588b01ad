"""The same scene under several contact methods: what each costs, and how well it keeps what nature keeps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pliant.base import Floats, PliantError
from pliant.look.plots import panels_of
from pliant.measure.balance import Newton
from pliant.measure.books import books
from pliant.model import Model
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation
from pliant.simulate.step import StepReport

ENERGIES = 100  # times that the elastic energy is computed over a trial
COLUMNS = {  # of the table: what it says of a trial, and how it is written
    "time": "wall time per simulated second", "max depth": "of all contacts and steps [mm]", "mean depth": "the same, mean [mm]",
    "energy": "that came from nowhere, of what moved", "momentum": "that contacts miss in the worst step, of their impulses",
    "jitter": "of the force that carries the bodies, of their weight",
    "force": "that force against Newton's law (weight, acceleration, loads, damping), mean of the last tenth, of their weight",
}  # fmt: skip


@dataclass
class Trial:
    """One scene under one method; lists have one entry per step."""

    method: str
    weight: float  # [N] of all that moves
    seconds: float = 0.0  # of wall time in steps
    time: list[float] = field(default_factory=list)
    support: list[Floats] = field(default_factory=list)  # [N] mean force from all that is held on all that moves
    expected: list[Floats] = field(default_factory=list)  # [N] the same by Newton's law (newton.py)
    depth: list[float] = field(default_factory=list)  # [m] deepest
    mean_depth: list[float] = field(default_factory=list)
    contacts: list[int] = field(default_factory=list)
    kinetic: list[float] = field(default_factory=list)  # [J]
    imbalance: float = 0.0
    gain: float = 0.0  # [J] most that came from nowhere
    moved: float = 0.0  # [J] most that was kinetic or was given by contact
    failure: str = ""

    @property
    def table(self) -> dict[str, float]:
        """The numbers of COLUMNS."""
        last = max(1, len(self.time) // 10)
        support, expected = np.array(self.support), np.array(self.expected)
        wiggle = np.diff(support[-len(support) // 4 :], 2, axis=0)
        heavy = self.weight if self.weight > 0.0 else np.nan
        return {
            "time": self.seconds / self.time[-1],
            "max depth": 1e3 * max(self.depth),
            "mean depth": 1e3 * float(np.mean(self.mean_depth)),
            "energy": self.gain / self.moved if self.moved > 0.0 else 0.0,
            "momentum": self.imbalance,
            "jitter": float(np.sqrt(np.mean(np.sum(wiggle**2, axis=1)))) / heavy if len(wiggle) else np.nan,
            "force": float(np.linalg.norm((support - expected)[-last:].mean(axis=0))) / heavy,
        }


def tried(scene: Scene, method: str) -> Trial:
    """Run the scene under a method; one that cannot do it says why in `failure`."""
    found = Trial(method, np.nan)
    try:
        _run(Simulation(scene.model_copy(update={"contact": method}, deep=True)), found)
    except PliantError as error:
        found.failure = str(error)
    return found


def _run(sim: Simulation, trial: Trial) -> None:
    model = sim.world.model
    free = model.frames.inverse > 0.0
    mass = float(model.nodes.mass.sum() + model.frames.mass[free].sum())
    trial.weight = mass * float(np.linalg.norm(model.gravity))
    moves = np.zeros(len(model.bodies), bool)
    moves[model.nodes.body] = True
    moves[model.frames.body[free]] = True
    steps = max(1, round(sim.scene.duration / sim.dt))
    impulse, newton = np.zeros(3), Newton(sim.world)
    hung = _hung(model)

    def add(report: StepReport) -> None:
        contacts = report.contacts
        on_moving = moves[contacts.a].astype(float) - moves[contacts.b]  # a pair that moves pushes nothing together
        impulse[:] += report.dt * (on_moving @ contacts.force + report.reaction.sum(axis=0))
        newton.add(report.dt, report.damping)

    for k in range(steps):
        start = sim.time
        impulse[:] = newton.impulse[:] = 0.0
        began = time.perf_counter()
        report = sim.step(each=add)
        trial.seconds += time.perf_counter() - began
        dt = sim.time - start
        trial.time.append(sim.time)
        trial.support.append(impulse / dt)
        trial.expected.append(np.full(3, np.nan) if hung else newton.impulse / dt)  # what attachments hold is not known
        deep = np.fmax(report.contacts.depth, 0.0)
        trial.depth.append(report.max_depth)
        trial.mean_depth.append(float(deep.mean()) if len(deep) else 0.0)
        trial.contacts.append(len(report.contacts))
        trial.imbalance = max(trial.imbalance, report.balance.error)
        _energies(sim, trial, exact=k % max(1, steps // ENERGIES) == 0 or k == steps - 1)


def _hung(model: Model) -> bool:
    """Whether attachments hold up what moves: tied to something that is held, or to the world."""
    skin, ends = model.skin, np.stack([model.attachments.a, model.attachments.b])
    framed = skin.frame[ends] >= 0
    moves = np.where(framed, model.frames.inverse[skin.frame[ends]] > 0.0, skin.start[ends + 1] > skin.start[ends])
    return bool(np.any(moves[0] != moves[1]))


def _energies(sim: Simulation, trial: Trial, exact: bool) -> None:
    now = books(sim.world, elastic=exact)
    trial.kinetic.append(now.kinetic)
    trial.moved = max(trial.moved, now.kinetic, abs(now.contact))
    if exact:
        trial.gain = max(trial.gain, -now.lost)


def plot(trials: list[Trial], title: str, path: Path) -> Path:
    """Force, depth, energy and contacts of all trials over time."""
    done = [t for t in trials if t.time]
    curves = {
        "supporting force [N]": {t.method: (t.time, np.linalg.norm(np.array(t.support), axis=1)) for t in done},
        "deepest contact [mm]": {t.method: (t.time, 1e3 * np.array(t.depth)) for t in done},
        "kinetic energy [J]": {t.method: (t.time, t.kinetic) for t in done},
        "contacts": {t.method: (t.time, t.contacts) for t in done},
    }
    return panels_of(curves, title, "time [s]", path)
