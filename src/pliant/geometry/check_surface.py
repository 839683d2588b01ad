"""What can be wrong with a triangle surface, and the repairs that change neither its shape nor its parts."""

from __future__ import annotations

from itertools import count

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mesh import Surface
from pliant.geometry.report import REFUSED, Report
from pliant.geometry.topology import Edges, diagonal, oriented, split_vertices, volume_of, weld_map

INTERSECTION_LIMIT = 200_000  # faces; above, the search for self-intersections is left out


def diagnose_surface(mesh: Surface, report: Report) -> None:
    """Fill the report."""
    faces, origin = _usable(mesh, report)
    if report.refused:
        return
    edges = Edges(faces)
    _openings(mesh.points, edges, report)
    _crossings(mesh.points, faces, origin, report)
    _parts(mesh.points, faces, edges, report)


def mended_surface(mesh: Surface, report: Report) -> Surface:
    """The surface after repair, without looking for what would be left as it is; raises PliantError if it is refused."""
    faces, _ = _usable(mesh, report)
    report.require_usable()
    return _compact(mesh.points, faces) if report.findings else mesh


def repair_surface(mesh: Surface, report: Report) -> Surface:
    """The surface after the repairs that its report announces."""
    return _compact(mesh.points, _repaired(mesh, Report(report.kind, ""))[0])


def _compact(points: Floats, faces: Ints) -> Surface:
    used = np.zeros(len(points), dtype=bool)
    used[faces] = True
    return Surface(points[used], (np.cumsum(used) - 1)[faces])


def _usable(mesh: Surface, report: Report) -> tuple[Ints, Ints]:
    """The faces after all repairs and the face of the file that each came from; the report says if the surface is refused."""
    bad = np.nonzero(~np.isfinite(mesh.points).all(axis=1))[0]
    report.add("non-finite", bad, "{n} {vertex has|vertices have} coordinates that are not numbers (NaN or infinite).", REFUSED)
    report.add("empty", (), "The surface has no faces.", REFUSED, count=int(not len(mesh.faces)))
    if report.refused:
        return mesh.faces, np.arange(len(mesh.faces))
    faces, origin = _repaired(mesh, report)
    report.add("empty", (), "No face with an area is left.", REFUSED, count=int(not len(faces)))
    return faces, origin


def joined_surface(mesh: Surface) -> Surface:
    """The surface after the repairs but that of orientation, so that turned faces can be seen."""
    faces, origin = _joined(mesh.points, mesh.faces, Report("surface", ""))
    return Surface(mesh.points, _without_bad_faces(mesh.points, faces, origin, Report("surface", ""))[0])


def _repaired(mesh: Surface, report: Report) -> tuple[Ints, Ints]:
    """The faces after all repairs (in the old vertices), and the face of the file that each came from."""
    unused = np.flatnonzero(np.bincount(mesh.faces.ravel(), minlength=len(mesh.points)) == 0)
    report.add("unused-vertices", unused, "{n} {vertex belongs|vertices belong} to no face.", "repaired: left out")
    faces, origin = _joined(mesh.points, mesh.faces, report)
    faces, origin = _without_bad_faces(mesh.points, faces, origin, report)
    return _turned(mesh.points, faces, origin, report), origin


def _joined(points: Floats, faces: Ints, report: Report) -> tuple[Ints, Ints]:
    to = weld_map(points, faces)
    twins = np.nonzero(to != np.arange(len(to)))[0]
    gap = float(np.linalg.norm(points[twins] - points[to[twins]], axis=1).max()) if len(twins) else 0.0
    apart = "{n} {vertex on an open edge lies|vertices on open edges lie} on top of another vertex: faces are not connected there."
    each = "Each face has vertices of its own, as in every STL file: {n} {lies|lie} on top of another."
    report.add(
        "duplicate-vertices",
        twins,
        each if len(points) == 3 * len(faces) else apart,
        "repaired: welded",
        worst=f"{gap:.3g} m apart" if gap > 0 else "",
    )
    joined = to[faces]
    collapsed = (joined == np.roll(joined, 1, axis=1)).any(axis=1)
    report.add("collapsed-faces", np.nonzero(collapsed)[0], "{n} {face uses|faces use} a vertex twice.", "repaired: left out")
    keep = np.nonzero(~collapsed)[0]
    return joined[keep], keep


def _without_bad_faces(points: Floats, faces: Ints, origin: Ints, report: Report) -> tuple[Ints, Ints]:
    """Repeated faces are dropped; flat ones are removed by splitting a neighbour, which keeps the surface closed."""
    turned = np.take_along_axis(faces, (np.argmin(faces, axis=1)[:, None] + np.arange(3)) % 3, axis=1)
    _, first = np.unique(turned, axis=0, return_index=True)
    repeated = np.flatnonzero(np.bincount(first, minlength=len(faces)) == 0)
    report.add(
        "duplicate-faces",
        origin[repeated],
        "{n} {face is a copy of another|faces are copies of others}.",
        "repaired: left out",
    )
    faces, origin = np.delete(faces, repeated, axis=0), np.delete(origin, repeated)
    _, group, count = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
    walls = np.nonzero(count[group.reshape(-1)] > 1)[0]
    report.add(
        "double-walls",
        origin[walls],
        "{n} {face lies|faces lie} back to back on another face: a wall without thickness between two parts.",
    )
    flat = np.nonzero(flatness(points, faces) < FLAT)[0]
    if not len(flat):
        return faces, origin
    faces, origin, left = without_flat_faces(points, faces, origin)
    report.add(
        "flat-faces",
        (),
        "{n} {face has|faces have} no area.",
        "repaired: their neighbours are split",
        count=len(flat) - left,
    )
    report.add("flat-faces-kept", (), "{n} {face has|faces have} no area and no neighbour that could be split.", count=left)
    return faces, origin


def _turned(points: Floats, faces: Ints, origin: Ints, report: Report) -> Ints:
    turn = oriented(points, faces)
    report.add(
        "flipped-faces",
        origin[turn.against],
        "{n} {face is|faces are} turned against the neighbours.",
        "repaired: turned so that neighbours agree",
    )
    report.add(
        "inward-parts",
        turn.inward,
        "{n} closed {part has its|parts have their} faces turned inwards.",
        "repaired: turned outwards",
        worst=_volumes(points, faces, Edges(faces).part, turn.inward),
    )
    report.add(
        "cavities",
        turn.cavities,
        "{n} {part looks inwards and lies|parts look inwards and lie} inside another part: taken as {a hollow|hollows}.",
    )
    report.add(
        "one-sided",
        origin[turn.moebius],
        "{n} {face belongs|faces belong} to a patch with only one side (Moebius strip).",
    )
    return turn.faces


def _volumes(points: Floats, faces: Ints, part: Ints, which: Ints) -> str:
    return f"{volume_of(points, faces, part)[which].min():.4g} m^3" if len(which) else ""


def _openings(points: Floats, edges: Edges, report: Report) -> None:
    opened = edges.ends[edges.count == 1]
    if len(opened):
        from pliant.geometry.lattice.rims import rims  # start-up

        rim = rims(Surface(points, edges.faces))  # as they are closed later, if they are
        length = np.bincount(rim.loop, weights=np.linalg.norm(points[rim.ends[:, 0]] - points[rim.ends[:, 1]], axis=1))
        report.add(
            "boundary-edges",
            np.unique(opened[:, 0]),
            f"The surface is open: {{n}} {{edge belongs|edges belong}} to one face only "
            f"(holes: {len(length)}; ids are vertices). As it is, it has no inside.",
            count=len(opened),
            worst=f"a hole of {length.max():.4g} m round",
        )
    crowded = np.nonzero(edges.count > 2)[0]
    report.add(
        "non-manifold-edges",
        np.unique(edges.ends[crowded, 0]),
        "{n} {edge belongs|edges belong} to more than two faces (ids are vertices): inside and outside are ambiguous there.",
        count=len(crowded),
        worst=f"{edges.count.max()} faces at one edge",
    )
    report.add("non-manifold-vertices", split_vertices(edges), "At {n} {vertex|vertices} two sheets touch in a single point.")


def _crossings(points: Floats, faces: Ints, origin: Ints, report: Report) -> None:
    if len(faces) > INTERSECTION_LIMIT:
        report.notices.append(f"Self-intersections were not looked for: {len(faces)} faces are more than {INTERSECTION_LIMIT}.")
        return
    from pliant.geometry.self_intersection import self_intersections  # start-up

    pairs = self_intersections(points, faces)
    guilty, often = np.unique(pairs, return_counts=True)
    worst = f"face {origin[guilty[np.argmax(often)]]} cuts {often.max()} others" if len(guilty) else ""
    report.add(
        "self-intersections",
        origin[guilty],
        "{n} {face cuts|faces cut} through other faces of the surface.",
        worst=worst,
    )


def _parts(points: Floats, faces: Ints, edges: Edges, report: Report) -> None:
    part = edges.part
    sizes = np.bincount(part)
    report.add(
        "components",
        (),
        "The surface consists of {n} separate parts; they are kept as one body.",
        count=len(sizes) if len(sizes) > 1 else 0,
        worst=f"the smallest has {sizes.min()} faces",
    )
    closed = np.ones(int(part.max()) + 1, dtype=bool)
    closed[part[np.nonzero(edges.count[edges.of_corner] == 1)[0] // 3]] = False
    volume = np.abs(volume_of(points, faces, part))
    thin = np.nonzero(closed & (volume < 1e-9 * diagonal(points) ** 3))[0]
    report.add(
        "no-volume",
        thin,
        "{n} closed {part encloses|parts enclose} next to no volume.",
        worst=f"{volume.min():.3g} m^3",
    )


# ---- Removing faces without area so that a closed surface stays closed.
#
# A flat face abc, with c on the edge ab, cannot just be dropped: the surface would tear along ab. Instead the neighbour
# bad across ab is split at c into bcd and cad, and the flat face disappears; no point moves. On an open edge ab it is
# dropped.

FLAT = 1e-12  # twice the area over the square of the longest edge
Face = tuple[int, int, int]


def flatness(points: Floats, faces: Ints) -> Floats:
    """Twice the area over the square of the longest edge: 0.87 for an equilateral triangle, 0 for a line."""
    x = points[faces]
    longest = ((np.roll(x, -1, axis=1) - x) ** 2).sum(axis=2).max(axis=1)
    area = np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
    return area / np.maximum(longest, 1e-300)


class _Faces:
    """Faces that can be looked up by edge, and the original face each came from."""

    def __init__(self, faces: Ints, origin: Ints) -> None:
        self.number = count()
        self.rows: dict[int, Face] = {}
        self.origin: dict[int, int] = {}
        self.users: dict[frozenset[int], set[int]] = {}
        for (a, b, c), came in zip(faces.tolist(), origin.tolist(), strict=True):
            self.add((a, b, c), came)

    def add(self, face: Face, came: int) -> int:
        i = next(self.number)
        self.rows[i], self.origin[i] = face, came
        for k in range(3):
            self.users.setdefault(frozenset((face[k], face[k - 1])), set()).add(i)
        return i

    def remove(self, i: int) -> None:
        face = self.rows.pop(i)
        for k in range(3):
            self.users[frozenset((face[k], face[k - 1]))].discard(i)


def without_flat_faces(points: Floats, faces: Ints, origin: Ints) -> tuple[Ints, Ints, int]:
    """The faces, where each came from, and how many flat ones could not be removed."""
    mesh = _Faces(faces, origin)
    waiting = np.nonzero(flatness(points, faces) < FLAT)[0].tolist()
    tries = 4 * len(waiting)  # splitting may make new flat faces; bounded, so that it ends
    left = 0
    while waiting:
        i = waiting.pop(0)
        if i not in mesh.rows:
            continue
        tries -= 1
        new = _remove(points, mesh, i) if tries >= 0 else None
        if new is None:
            left += 1
        else:
            waiting += [j for j in new if flatness(points, np.array([mesh.rows[j]]))[0] < FLAT]
    kept = sorted(mesh.rows)
    rows = np.array([mesh.rows[i] for i in kept], dtype=np.int64).reshape(-1, 3)
    return rows, np.array([mesh.origin[i] for i in kept], dtype=np.int64), left


def _remove(points: Floats, mesh: _Faces, i: int) -> list[int] | None:
    """Remove one flat face; the new faces, or None if it cannot be removed."""
    face = mesh.rows[i]
    k = int(np.argmax([np.linalg.norm(points[face[j]] - points[face[(j + 1) % 3]]) for j in range(3)]))
    a, b, c = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
    others = mesh.users[frozenset((a, b))] - {i}
    if len(others) > 1:
        return None
    mesh.remove(i)
    if not others:
        return []
    other = others.pop()
    neighbour, came = mesh.rows[other], mesh.origin[other]
    mesh.remove(other)
    d = next(v for v in neighbour if v not in (a, b))
    if d == c:  # two flat faces back to back close each other
        return []
    same_sense = neighbour[(neighbour.index(a) + 1) % 3] == b
    halves: list[Face] = [(c, b, d), (a, c, d)] if same_sense else [(b, c, d), (c, a, d)]
    return [mesh.add(half, came) for half in halves]
