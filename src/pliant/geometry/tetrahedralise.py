"""Tetrahedra inside a closed surface, by fTetWild (Hu et al. 2020) through pytetwild (MPL 2.0).

fTetWild keeps the new boundary within a thin envelope about the given surface and does not mind self-intersections or
gaps; what is inside is decided by the winding number. It shuffles with a random seed that cannot be set, so two runs
give different meshes: results are therefore kept on disk, and the same surface gives the same mesh again on this
machine. To have the same mesh elsewhere, save it to a file.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pliant.base import PliantError
from pliant.geometry.check_surface import repair_surface
from pliant.geometry.mesh import TET_FACES, Surface, TetMesh
from pliant.geometry.report import Report
from pliant.geometry.topology import Edges, diagonal, inside_volume

log = logging.getLogger("pliant")
Progress = Callable[[str], None]

CHILD = "pliant.geometry.tetwild_child"
HANGS = 0.05  # of a core: a process that gets less than a machine with twenty others leaves it waits for something that will not come
EDGE = 1 / 15  # of the diagonal
DEVIATION = 2e-3  # of the diagonal
STOP_ENERGY = 10.0  # fTetWild's measure of the worst tetrahedron (3 is regular) at which it stops improving
MOST = 3_000_000  # tetrahedra; more than this is taken for a mistake in `edge`
OFTEN = 5.0  # [s] between lines about progress
SECONDS = (0.5, 1.4e-3)  # that filling takes, about, to start and for each triangle; scans with many thin parts take several times as long


class TimeUp(PliantError):
    """Filling took longer than was allowed."""


def is_there() -> bool:
    """Whether pytetwild is installed."""
    return find_spec("pytetwild") is not None


def estimated_seconds(triangles: int) -> float:
    """How long filling a surface takes, about [s]."""
    return SECONDS[0] + SECONDS[1] * triangles


def is_kept(surface: Surface, edge: float) -> bool:
    """Whether this closed surface was filled before."""
    kept = _kept(surface, edge, diagonal(surface.points) * DEVIATION)
    return kept is not None and kept.exists()


@dataclass(frozen=True)
class Filled:
    """A filled surface and how it came about."""

    mesh: TetMesh
    distance: float  # [m]; largest distance of the mesh's boundary from the given surface
    lost: float  # [m]; largest distance of the given surface from the boundary; large where walls or gaps were lost
    seconds: float  # time it took; 0 if it was found on disk


def tetrahedralise(
    surface: Surface,
    edge: float | None = None,
    *,
    deviation: float | None = None,
    holes: bool = False,
    timeout: float = 900.0,
    progress: Progress | None = None,
) -> TetMesh:
    """Tetrahedra inside a surface; see `fill`."""
    return fill(surface, edge, deviation=deviation, holes=holes, timeout=timeout, progress=progress).mesh


def fill(
    surface: Surface,
    edge: float | None = None,
    *,
    deviation: float | None = None,
    holes: bool = False,
    timeout: float = 900.0,
    progress: Progress | None = None,
    log_progress: bool = False,
    prepare: Callable[[Surface], Surface] = lambda surface: surface,
) -> Filled:
    """Fill a surface with tetrahedra.

    edge       length that tetrahedra should have [m]; None: 1/15 of the diagonal of the bounding box
    deviation  how far the boundary may move from the surface [m]; None: 2e-3 of the diagonal
    holes      fill also an open surface, closed as the winding number suggests
    timeout    give up after so many seconds
    progress   called about once a second with a sentence
    log_progress  say to the log now and then how long it takes, and how to stop it
    prepare    makes what fTetWild is given of the closed surface; what was filled before is kept by the surface itself
    """
    ready = _closed(surface, holes)
    size = diagonal(ready.points)
    edge = size * EDGE if edge is None else float(edge)
    deviation = size * DEVIATION if deviation is None else float(deviation)
    _check_sizes(ready, size, edge, deviation)
    kept = _kept(ready, edge, deviation)
    started = time.monotonic()
    found = _load(kept)
    if found is None:
        given = prepare(ready)
        found = _turned(_run(given, edge, deviation / size, timeout, _said(progress, len(given.faces)) if log_progress else progress))
        _verify(found)
        seconds = time.monotonic() - started
    else:
        seconds = 0.0
    distance, lost = _distances(ready, found)
    if distance > 3.0 * deviation and not holes:  # where a hole was closed the boundary leaves the surface by intent
        raise PliantError(
            f"the tetrahedra stray {distance:.3g} m from the surface although {deviation:.3g} m were allowed. "
            "Allow less deviation, or a shorter edge."
        )
    if seconds > 0:
        _save(kept, found, edge, len(ready.faces), seconds)
    text = f"{len(found.tets)} tetrahedra, {len(found.points)} nodes, at most {distance:.3g} m from the surface"
    if lost > 3.0 * deviation:
        text += f"; parts of the surface up to {lost:.3g} m away were lost (overlaps, inner walls, thin gaps)"
    log.info("filled a surface: %s (%.1f s)", text, seconds)
    if progress:
        progress(f"filled: {text}")
    return Filled(found, distance, lost, seconds)


def _closed(surface: Surface, holes: bool) -> Surface:
    """The surface with an inside, after welding and orienting if need be."""
    if not len(surface.faces) or not np.isfinite(surface.points).all():
        raise PliantError("the surface cannot be filled: it has no faces, or coordinates that are not finite.")
    if not Edges(surface.faces).balance.any() and inside_volume(surface) > 0:
        return surface
    better = repair_surface(surface, Report("surface", ""))
    edges = Edges(better.faces)
    if holes or (len(better.faces) and not edges.balance.any()):
        return better
    opened, crowded = int((edges.count == 1).sum()), int((edges.count > 2).sum())
    raise PliantError(
        f"the surface cannot be filled: it is not closed ({opened} edges with one face, {crowded} with more than two). "
        "Close its holes where it was made, say holes = true to have them closed, or fill = \"lattice\", which closes them too."
    )


def _check_sizes(surface: Surface, size: float, edge: float, deviation: float) -> None:
    if not 0 < edge <= size:
        raise PliantError(f"edge = {edge:g} m must be positive and not longer than the body's diagonal ({size:.4g} m).")
    if not 0 < deviation <= 0.1 * size:
        raise PliantError(f"deviation = {deviation:g} m must be positive and below a tenth of the diagonal ({size:.4g} m).")
    expected = abs(inside_volume(surface)) / (edge**3 / (6.0 * np.sqrt(2.0)))
    if expected > MOST:
        raise PliantError(f"edge = {edge:g} m would make about {expected:.2g} tetrahedra; choose a longer edge.")


def _run(surface: Surface, edge: float, epsilon: float, timeout: float, progress: Progress | None) -> TetMesh:
    """pytetwild in a process of its own, in a folder of its own (it leaves files behind)."""
    _require_pytetwild()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])}
    with tempfile.TemporaryDirectory(prefix="pliant-tets-") as folder:
        source, target, words = (Path(folder) / name for name in ("in.npz", "out.npz", "words.txt"))
        np.savez(source, points=surface.points, faces=surface.faces, edge=edge, epsilon=epsilon, stop_energy=STOP_ENERGY)
        command = [sys.executable, "-m", CHILD, str(source), str(target)]
        with words.open("wb") as sink:
            child = subprocess.Popen(command, cwd=folder, env=environment, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
            try:
                _wait(child, timeout, progress)
            finally:
                if child.poll() is None:
                    child.kill()
                    child.wait()
        if child.returncode != 0 or not target.exists():
            raise PliantError(_failure(child.returncode, words.read_text(errors="replace")))
        with np.load(target) as made:
            return TetMesh(made["points"], made["tets"])


def _require_pytetwild() -> None:
    if not is_there():
        raise PliantError("filling a surface with tetrahedra needs pytetwild: pip install pytetwild. fill = \"lattice\" does without.")


def _said(progress: Progress | None, triangles: int) -> Progress:
    """Sentences also go to the log: the first at once, then one every few seconds."""
    expected = estimated_seconds(triangles)
    log.info("filling %d triangles with tetrahedra, about %.0f s (once; the result is kept). Ctrl-C stops it.", triangles, expected)
    last = time.monotonic()

    def say(sentence: str) -> None:
        nonlocal last
        if time.monotonic() - last >= OFTEN:
            last = time.monotonic()
            log.info("%s of about %.0f s; fill = \"lattice\" is there at once, --fill-timeout S takes it after S s", sentence, expected)
        if progress:
            progress(sentence)

    return say


def _wait(child: subprocess.Popen[bytes], timeout: float, progress: Progress | None) -> None:
    started = time.monotonic()
    while True:
        try:
            child.wait(timeout=min(1.0, max(timeout, 0.01)))
            return
        except subprocess.TimeoutExpired:
            wall = time.monotonic() - started
            passed = min(wall, max(_worked(child.pid), HANGS * wall))
        if passed >= timeout:
            raise TimeUp(
                f"filling the surface with tetrahedra was stopped after {passed:.0f} s of work. "
                "Choose a longer edge, fill = \"lattice\", or give it more time (--fill-timeout, timeout)."
            )
        if progress:
            progress(f"filling the surface with tetrahedra, {passed:.0f} s")


def _worked(process: int) -> float:
    """Processor time [s] of a process where the system tells it (Linux): how busy a machine is must not decide what a body is made of."""
    try:
        ticks = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / float(os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, AttributeError):
        return math.inf


def _failure(code: int, words: str) -> str:
    last = [line.strip() for line in words.splitlines() if line.strip()]
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    said = f" Its last words: {last[-1][:200]}" if last else ""
    return (
        f"pytetwild {how} while filling the surface with tetrahedra.{said} "
        "Run `pliant check` on the surface, repair what it names, or choose another edge length."
    )


def _turned(mesh: TetMesh) -> TetMesh:
    """fTetWild orders nodes the other way round; unused points are left out."""
    tets = mesh.tets[:, [0, 2, 1, 3]] if len(mesh.tets) and np.median(mesh.volumes) < 0 else mesh.tets
    used, local = np.unique(tets, return_inverse=True)
    return TetMesh(mesh.points[used], local.reshape(-1, 4))


def _verify(mesh: TetMesh) -> None:
    if not len(mesh.tets):
        raise PliantError("pytetwild found no inside: the surface encloses no volume, or its faces are turned inwards.")
    bad = np.nonzero(~(mesh.volumes > 0))[0]
    if len(bad):
        raise PliantError(f"pytetwild made {len(bad)} tetrahedra without volume (first: {bad[0]}). Choose another edge.")
    faces = np.sort(mesh.tets[:, TET_FACES].reshape(-1, 3), axis=1)
    if np.unique(faces, axis=0, return_counts=True)[1].max() > 2:
        raise PliantError("pytetwild made tetrahedra that overlap (a face of three of them). Choose another edge.")


def _distances(surface: Surface, mesh: TetMesh) -> tuple[float, float]:
    """Largest distance of boundary from surface (at nodes and middles of faces), and of surface from boundary."""
    from pliant.geometry.triangle import distance_to  # kernels: start-up time

    skin = mesh.surface()
    places = np.concatenate([skin.points, skin.points[skin.faces].mean(axis=1)])
    corners = surface.points[np.unique(surface.faces)]
    return float(distance_to(surface, places).max()), float(distance_to(skin, corners).max())


def _kept(surface: Surface, edge: float, deviation: float) -> Path | None:
    """Where this filling is kept on disk; None if nowhere can be written."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        made_by = version("pytetwild")
    except PackageNotFoundError:
        made_by = ""
    key = hashlib.sha256(surface.points.tobytes() + surface.faces.tobytes())
    key.update(f"{edge!r} {deviation!r} {STOP_ENERGY} {made_by}".encode())
    folder = kept_folder()
    return None if folder is None else folder / f"{key.hexdigest()[:24]}.npz"


def kept_folder() -> Path | None:
    """The folder of fillings; None if nowhere can be written."""
    homes = [os.environ.get("PLIANT_CACHE"), os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")]
    for home in [Path(h) for h in homes if h]:
        folder = home / "pliant" / "tets"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def _load(kept: Path | None) -> TetMesh | None:
    if kept is None or not kept.exists():
        return None
    try:
        with np.load(kept) as made:
            return TetMesh(made["points"], made["tets"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None  # half written or foreign: made again


def _save(kept: Path | None, mesh: TetMesh, edge: float, triangles: int, seconds: float) -> None:
    if kept is None:
        return
    try:
        part = kept.with_name(f"{kept.stem}.{os.getpid()}.part.npz")
        np.savez(part, points=mesh.points, tets=mesh.tets, about=[edge, triangles, seconds])
        part.replace(kept)
    except OSError as error:
        log.info("the tetrahedra could not be kept on disk: %s", error)
