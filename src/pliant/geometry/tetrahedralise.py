"""Tetrahedra inside a closed surface, by fTetWild (Hu et al. 2020) through pytetwild (MPL 2.0).

fTetWild keeps the new boundary within a thin envelope about the given surface and does not mind self-intersections or
gaps; what is inside is decided by the winding number. It shuffles with a random seed that cannot be set, so two runs
give different meshes: results are therefore kept on disk, and the same surface gives the same mesh again on this
machine. To have the same mesh elsewhere, save it to a file.
"""

from __future__ import annotations

import hashlib
import logging
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

from pliant.base import Floats, Ints, PliantError
from pliant.geometry.check_surface import repair_surface
from pliant.geometry.mesh import TET_FACES, Surface, TetMesh
from pliant.geometry.report import Report
from pliant.geometry.topology import Edges, diagonal, volume_of

log = logging.getLogger("pliant")
Progress = Callable[[str], None]

CHILD = "pliant.geometry.tetwild_child"
EDGE = 1 / 15  # of the diagonal
DEVIATION = 2e-3  # of the diagonal
STOP_ENERGY = 10.0  # fTetWild's measure of the worst tetrahedron (3 is regular) at which it stops improving
MOST = 3_000_000  # tetrahedra; more than this is taken for a mistake in `edge`


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
) -> Filled:
    """Fill a surface with tetrahedra.

    edge       length that tetrahedra should have [m]; None: 1/15 of the diagonal of the bounding box
    deviation  how far the boundary may move from the surface [m]; None: 2e-3 of the diagonal
    holes      fill also an open surface, closed as the winding number suggests
    timeout    give up after so many seconds
    progress   called about once a second with a sentence
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
        found = _turned(_run(ready, edge, deviation / size, timeout, progress))
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
        _save(kept, found)
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
    if not Edges(surface.faces).balance.any() and _volume(surface) > 0:
        return surface
    better = repair_surface(surface, Report("surface", ""))
    edges = Edges(better.faces)
    if holes or (len(better.faces) and not edges.balance.any()):
        return better
    opened, crowded = int((edges.count == 1).sum()), int((edges.count > 2).sum())
    raise PliantError(
        f"the surface cannot be filled: it is not closed ({opened} edges with one face, {crowded} with more than two). "
        "Close its holes where it was made, or pass holes=True to have them closed roughly (by winding number)."
    )


def _volume(surface: Surface) -> float:
    return float(volume_of(surface.points, surface.faces, np.zeros(len(surface.faces), dtype=np.int64))[0])


def _check_sizes(surface: Surface, size: float, edge: float, deviation: float) -> None:
    if not 0 < edge <= size:
        raise PliantError(f"edge = {edge:g} m must be positive and not longer than the body's diagonal ({size:.4g} m).")
    if not 0 < deviation <= 0.1 * size:
        raise PliantError(f"deviation = {deviation:g} m must be positive and below a tenth of the diagonal ({size:.4g} m).")
    expected = abs(_volume(surface)) / (edge**3 / (6.0 * np.sqrt(2.0)))
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
    if find_spec("pytetwild") is None:
        raise PliantError("filling a surface with tetrahedra needs pytetwild: pip install pytetwild")


def _wait(child: subprocess.Popen[bytes], timeout: float, progress: Progress | None) -> None:
    started = time.monotonic()
    while True:
        try:
            child.wait(timeout=min(1.0, max(timeout, 0.01)))
            return
        except subprocess.TimeoutExpired:
            passed = time.monotonic() - started
        if passed >= timeout:
            raise PliantError(
                f"filling the surface with tetrahedra was stopped after {passed:.0f} s. "
                "Choose a longer edge or a larger deviation, give it more time (timeout), or simplify the surface."
            )
        if progress:
            progress(f"filling the surface with tetrahedra, {passed:.0f} s")


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
    homes = [os.environ.get("PLIANT_CACHE"), os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")]
    for home in [Path(h) for h in homes if h]:
        folder = home / "pliant" / "tets"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder / f"{key.hexdigest()[:24]}.npz"
    return None


def _load(kept: Path | None) -> TetMesh | None:
    if kept is None or not kept.exists():
        return None
    try:
        with np.load(kept) as made:
            return TetMesh(made["points"], made["tets"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None  # half written or foreign: made again


def _save(kept: Path | None, mesh: TetMesh) -> None:
    if kept is None:
        return
    try:
        part = kept.with_name(f"{kept.stem}.{os.getpid()}.part.npz")
        np.savez(part, points=mesh.points, tets=mesh.tets)
        part.replace(kept)
    except OSError as error:
        log.info("the tetrahedra could not be kept on disk: %s", error)


# ---- distance of points from a triangle surface

FINEST = 64  # at most so many sample points along an edge
NEAREST = 8  # triangles looked at per point


def distance_to(surface: Surface, at: Floats) -> Floats:
    """Distance of each place from the surface [m], exact to the triangles that own the nearest of dense samples."""
    from scipy.spatial import cKDTree

    samples, owner = _samples(surface, diagonal(surface.points) / 200.0)
    near = cKDTree(samples).query(at, k=min(NEAREST, len(samples)))[1].reshape(len(at), -1)
    x = surface.points[surface.faces]
    return np.min([_to_triangles(at, x[owner[column]]) for column in near.T], axis=0)


def _samples(surface: Surface, spacing: float) -> tuple[Floats, Ints]:
    """Points on every triangle, about `spacing` apart, and the triangle of each."""
    x = surface.points[surface.faces]
    longest = np.linalg.norm(np.roll(x, -1, axis=1) - x, axis=2).max(axis=1)
    cuts = np.clip(np.ceil(longest / max(spacing, 1e-300)), 1, FINEST).astype(np.int64)
    points, owner = [], []
    for n in np.unique(cuts):
        chosen = np.nonzero(cuts == n)[0]
        u, v = np.divmod(np.arange((n + 1) ** 2), n + 1)
        weights = np.stack([n - u - v, u, v], axis=1)[u + v <= n] / n
        points.append(np.einsum("sk,mki->msi", weights, x[chosen]).reshape(-1, 3))
        owner.append(np.repeat(chosen, len(weights)))
    return np.concatenate(points), np.concatenate(owner)


def _to_triangles(at: Floats, x: Floats) -> Floats:
    """Distance of place i from triangle i: to its plane if it projects inside, else to the nearest edge."""
    a, b, c = x[:, 0], x[:, 1], x[:, 2]
    normal = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    inside = np.ones(len(at), dtype=bool)
    edges = np.full(len(at), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ij,ij->i", np.cross(q - p, at - p), normal) >= 0
        length = np.maximum(np.einsum("ij,ij->i", q - p, q - p), 1e-300)
        t = np.clip(np.einsum("ij,ij->i", at - p, q - p) / length, 0.0, 1.0)
        edges = np.minimum(edges, np.linalg.norm(at - p - t[:, None] * (q - p), axis=1))
    plane = np.abs(np.einsum("ij,ij->i", at - a, normal)) / np.sqrt(square)
    return np.where(inside, plane, edges)
