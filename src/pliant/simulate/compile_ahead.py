"""Compiling kernels ahead of the first run, in two processes, with a progress line.

Numba compiles a kernel when it is first called. A job is a tiny world that calls some of them; which jobs a scene needs follows from
its bodies. A job that is done leaves a mark in the cache folder, so later starts skip it.
"""

from __future__ import annotations

import gc
import importlib
import logging
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import config
from numba.core import event

from pliant import cache
from pliant.base import PliantError
from pliant.bodies.register import ROOMS, room_of
from pliant.bodies.room import Job
from pliant.bodies.springs.elements import Springs
from pliant.contact.method import METHODS, find_method
from pliant.geometry.files import check_there
from pliant.geometry.shapes import make
from pliant.integrate import cg
from pliant.integrate.assembly import Assembly
from pliant.kernels import CAN_CACHE
from pliant.measure.pairs import per_pair
from pliant.record.elements import Strained
from pliant.scene import Scene
from pliant.simulate.contact_rule import methods_of


def _world(job: Job) -> None:
    """A few steps of a tiny world, and what is asked of it while it runs."""
    scene = Scene(**{"dt": 0.01, "contact": "none", **job.scene})
    for k, body in enumerate(job.bodies):
        scene.add(**{"position": (3.0 * k, 0.0, 0.0), **body})
    sim = scene.simulate()
    sim.step()
    sim.books()
    for group in sim.world.model.groups:
        group.stretch(sim.state.x)
        Strained.of(group, sim.state.x)


def _solver() -> None:
    start = np.array([0, 2, 2 + cg.LARGE])  # a small and a large body take different kernels
    count = int(start[-1])
    matrix = Assembly([Springs(np.array([[0, 1]]), 1.0, 1.0)], start).matrix(np.zeros((count, 3)), np.ones(count))
    cg.solve(matrix, np.ones((count, 3)), np.zeros((count, 3)), np.ones(count, bool))
    _ = matrix @ np.ones((count, 3))


def _contact(method: str) -> None:
    """A rigid and a soft box and a static bowl, each touching the next."""
    scene = Scene(dt=0.01, contact=method)
    box = {"kind": "box", "size": (1, 1, 1), "edge": 1.0}
    scene.add(name="ground", shape="plane", model="static")
    scene.add(name="a", shape=box, model="rigid", position=(0, 0, 0.49))
    scene.add(name="b", shape={"kind": "bowl", "radius": 1.0, "thickness": 0.3, "edge": 0.3}, model="rigid", position=(0, 0, 0.9))
    scene.add(name="c", shape=box, position=(0.9, 0, 0.49))
    sim = scene.simulate()
    sim.step()
    sim.step()
    sim.books()
    per_pair(sim.contacts())


def _fast() -> None:
    """Balls and boxes, exact and as triangles, thrown at each other: what is asked where bodies might pass."""
    triangles: Any = make("box", size=(0.2, 0.2, 0.2), edge=0.2).tets
    plate: Any = {"kind": "box", "size": (1, 1, 0.1)}
    ball: Any = {"kind": "ball", "radius": 0.1}
    for other in (plate, triangles):
        for thrown in (ball, triangles):
            scene = Scene(dt=0.01, contact="ground", gravity=(0, 0, 0))
            scene.add(name="a", shape=other, model="static")
            scene.add(name="b", shape=thrown, model="rigid", position=(0, 0, 0.5), velocity=(0, 0, -100))
            scene.simulate().step()


def _stages() -> None:
    scene = Scene(contact="none", dt=0.01)
    scene.add(shape={"kind": "box", "size": (1, 1, 1), "edge": 1.0}, model="springs", integrator="cooper-verner")
    scene.simulate().step()


def _press() -> None:
    """Few nodes, many nodes, a given load, and two objects."""
    press = importlib.import_module("pliant.pressing.tool").press  # a tool above this layer: called by name
    ball = {"kind": "ball", "radius": 0.1}
    for response, depth in (("boussinesq", "1mm"), ("volume-preserving", "20mm")):
        found = press(ball, depth=depth, response=response, layer=None if response == "boussinesq" else "60mm")
        found.map((8, 8))
        _ = found.stiffness, found.peak
    press(ball, force="20N", tilt="free")
    press(ball, ball, depth="1mm", young_b="1MPa")


def _quasi_rigid() -> None:
    """A ball on the floor, another one and a soft box on it, explicit and implicit."""
    for integration in ("symplectic", "implicit"):
        scene = Scene(dt=1e-4, contact={"method": "quasi-rigid", "integration": integration})
        ball: dict[str, Any] = {"shape": {"kind": "ball", "radius": 0.1}, "model": "quasi-rigid", "spacing": 0.02}
        scene.add(name="ground", shape="plane", model="static")
        scene.add(name="a", position=(0, 0, 0.098), **ball)
        scene.add(name="b", position=(0, 0.05, 0.27), **ball)
        scene.add(name="c", shape={"kind": "box", "size": (0.2, 0.2, 0.2), "edge": 0.1}, position=(0.199, 0, 0.2))
        scene.pair("ground", "c", contact=False)
        sim = scene.simulate()
        sim.step()
        sim.step()
        _ = sim.report.shown if sim.report else None
        sim.books()


def jobs() -> dict[str, Callable[[], None]]:
    """All there is to compile, by name."""
    found: dict[str, Callable[[], None]] = {"solver": _solver, "stages": _stages, "press": _press, "fast bodies": _fast}
    found |= {name: partial(_world, job) for room in ROOMS.values() for name, job in room.jobs.items()}
    found |= {"contact quasi-rigid": _quasi_rigid}  # long, and so not the last one, for which the other process would wait
    return found | {f"contact {name}": partial(_contact, name) for name in METHODS if name not in ("none", "quasi-rigid")}


def needed(scene: Scene) -> list[str]:
    """The jobs whose kernels a scene calls."""
    for name in methods_of(scene):
        find_method(name)  # a mistake is told before anything is compiled
    for body in scene.bodies:
        if isinstance(body.shape, dict) and "file" in body.shape:
            try:
                check_there(body.shape["file"])
            except PliantError as error:
                raise PliantError(f"Body '{body.name}': {error}") from None
    methods, known = methods_of(scene, likely=True), jobs()
    found = list(dict.fromkeys(job for body in scene.bodies for job in body.jobs()))
    rooms = [room_of(body.model) for body in scene.bodies]
    if len(rooms) > 1 or any(room.moves and not room.soft for room in rooms):
        found += [job for job in (f"contact {name}" for name in methods) if job in known] or ["contact ground"]
        found += ["fast bodies"] if len(rooms) > 1 else []
    return found


def warm(scene: Scene | None = None, quiet: bool = False) -> None:
    """Compile what a scene needs (everything if there is none) that is not compiled yet."""
    kept = CAN_CACHE and not config.DISABLE_JIT  # type: ignore[attr-defined]  # interpreted kernels leave nothing
    todo = [j for j in (needed(scene) if scene is not None else jobs()) if not _mark(j).exists()] if kept else []
    if not todo:
        return
    began = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with _deaf():
        pool = context.Pool(min(2, len(todo)))
    with line(quiet) as show, pool:
        show(f"Compiling kernels for {', '.join(todo)} (first run only; half a minute or so) ...")
        for done, job in enumerate(pool.imap_unordered(_job, todo, chunksize=1), 1):
            rest = [j for j in todo if not _mark(j).exists()]
            show(f"Compiled {job}, {done} of {len(todo)} after {time.perf_counter() - began:.0f} s; left: {', '.join(rest) or 'none'} ...")


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are born inside do not hear Ctrl-C, which reaches all that belong to a terminal: who started them ends them."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not in the main thread
        before = None
    yield
    if before is not None:
        signal.signal(signal.SIGINT, before)


def _mark(job: str) -> Path:
    assert cache.FOLDER is not None
    return cache.FOLDER / f"{job}-{cache.whole()}.done"


def _job(job: str) -> str:
    logging.disable(logging.WARNING)  # bodies of these tiny worlds overlap so that they touch at once
    gc.disable()  # a tenth of the time goes into looking for garbage, of which compiling leaves little
    jobs()[job]()
    _mark(job).touch()
    return job


@contextmanager
def line(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A line on the error stream that is written over, and wiped at the end; plain lines if that is no terminal."""
    terminal = sys.stderr.isatty()

    def show(text: str) -> None:
        if not quiet and (terminal or text):
            print(f"\r\x1b[K{text}" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)

    yield show
    if terminal:
        show("")


@contextmanager
def announce(quiet: bool = False) -> Iterator[None]:
    """While this lasts, a kernel that has to be compiled is named on a progress line instead of a silent wait."""
    class Listener(event.Listener):
        def on_start(self, found: Any) -> None:
            show(f"Compiling {found.data['dispatcher'].py_func.__name__} (first run only) ...")

        def on_end(self, found: Any) -> None:
            pass

    with line(quiet or not sys.stderr.isatty()) as show, event.install_listener("numba:compile", Listener()):
        yield
