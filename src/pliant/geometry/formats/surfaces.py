"""Surfaces in files: Wavefront OBJ, OFF (Geomview), STL. PLY has a file of its own.

Point clouds: rows of x y z, or x y z nx ny nz (xyz, pwn, pts), and NumPy arrays of these shapes.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.base import Floats
from pliant.geometry.formats.raw import Raw, damaged, floats, integers, shown, text_lines, triangulated


def read_obj(path: Path) -> Raw:
    points: list[list[float]] = []
    corners: list[int] = []
    counts: list[int] = []
    lines: list[int] = []
    skipped: dict[str, int] = {}
    for number, words in _statements(path):
        key = words[0]
        if key == "v":
            if len(words) < 4:
                raise damaged(path, f"a vertex needs three coordinates, but '{shown(words)}' stands there", number)
            points.append(floats(words[1:4], path, number, "coordinates"))
        elif key == "f":
            ring = _corners(words[1:], len(points), path, number)
            corners.extend(ring)
            counts.append(len(ring))
            lines.append(number)
        elif key in ("l", "p", "curv", "surf"):
            skipped[key] = skipped.get(key, 0) + 1
    x = np.array(points, dtype=np.float64).reshape(-1, 3)
    faces, notices = triangulated(
        x, np.array(corners, dtype=np.int64), np.array(counts, dtype=np.int64), path, np.array(lines, dtype=np.int64)
    )
    named = {"l": "lines", "p": "points", "curv": "curves", "surf": "free-form surfaces"}
    notices += [f"{n} {named[key]} ('{key}') were left out: pliant reads faces only." for key, n in skipped.items()]
    return Raw(x, faces, notices=notices)


def _statements(path: Path) -> list[tuple[int, list[str]]]:
    """Line number and words of each statement; a trailing backslash continues a line."""
    out = []
    held: list[str] = []
    for number, line in enumerate(text_lines(path), start=1):
        words = line.split("#", 1)[0].split()
        if words and words[-1].endswith("\\"):
            held += [*words[:-1], *([words[-1][:-1]] if words[-1] != "\\" else [])]
            continue
        if held or words:
            out.append((number, held + words))
        held = []
    return out


def _corners(words: list[str], seen: int, path: Path, line: int) -> list[int]:
    """Vertex numbers of a face, counted from 0; in the file from 1, or backwards from -1."""
    ring = []
    for word in words:
        try:
            index = int(word.split("/", 1)[0])
        except ValueError:
            raise damaged(path, f"a face corner should be a vertex number, but '{shown(word)}' stands there", line) from None
        if index == 0 or index < -seen:
            raise damaged(path, f"a face uses vertex {index}, but vertices are numbered from 1 (or back from -1)", line)
        ring.append(index - 1 if index > 0 else seen + index)
    return ring


# OFF (Geomview): optional header letters (C, N, ST, 4), comments, counts on the first line, polygons, face colours.


def read_off(path: Path) -> Raw:
    rows = [(n, w) for n, line in enumerate(text_lines(path), 1) if (w := line.split("#", 1)[0].split())]
    if not rows:
        raise damaged(path, "the file is empty")
    normals, rows = _header(path, rows)
    if not rows:
        raise damaged(path, "the file ends after its header")
    sizes = integers(rows[0][1][:2], path, rows[0][0], "the counts of vertices and faces")
    if len(sizes) < 2 or min(sizes) < 0:
        raise damaged(path, f"the counts of vertices and faces are missing: '{shown(rows[0][1])}'", rows[0][0])
    vertices, faces = sizes
    body = rows[1:]
    if len(body) < vertices + faces:  # numbers may run on over lines, or all stand in one
        body = _stream(rows, vertices, faces, 6 if normals else 3) or body
    if len(body) < vertices + faces:
        found = f"only {min(len(body), vertices)} vertices and {max(len(body) - vertices, 0)} faces follow"
        raise damaged(path, f"the file announces {vertices} vertices and {faces} faces, but {found}", rows[0][0])
    table = []
    for line, words in body[:vertices]:
        if len(words) < (6 if normals else 3):
            raise damaged(path, f"a vertex has too few numbers: '{shown(words)}'", line)
        table.append(floats(words[: 6 if normals else 3], path, line, "coordinates"))
    x = np.array(table, dtype=np.float64).reshape(-1, 6 if normals else 3)
    corners: list[int] = []
    counts, lines = [], []
    for line, words in body[vertices : vertices + faces]:
        ring = integers(words[: 1 + integers(words[:1], path, line, "the number of corners")[0]], path, line, "corners")
        if len(ring) != ring[0] + 1:
            raise damaged(path, f"a face announces {ring[0]} corners but lists {len(ring) - 1}", line)
        corners.extend(ring[1:])
        counts.append(ring[0])
        lines.append(line)
    tri, notices = triangulated(x[:, :3], np.array(corners, dtype=np.int64), np.array(counts, dtype=np.int64), path, np.array(lines))
    return Raw(np.ascontiguousarray(x[:, :3]), tri, normals=x[:, 3:] if normals else None, notices=notices)


def _stream(rows: list[tuple[int, list[str]]], vertices: int, faces: int, width: int) -> list[tuple[int, list[str]]]:
    """Numbers of a file without regard to lines, as one row for each vertex and face; empty if they do not come out even."""
    words = [(line, word) for line, row in rows for word in row][3:]  # counts of vertices, faces and edges
    out, at = [], 0
    for item in range(vertices + faces):
        if at >= len(words) or (item >= vertices and not words[at][1].isdecimal()):
            return []
        size = width if item < vertices else 1 + int(words[at][1])
        out.append((words[at][0], [word for _, word in words[at : at + size]]))
        at += size
    return out if at == len(words) else []


def _header(path: Path, rows: list[tuple[int, list[str]]]) -> tuple[bool, list[tuple[int, list[str]]]]:
    """Whether vertices carry normals, and the rows after the keyword (which may be missing)."""
    line, words = rows[0]
    match = re.fullmatch(r"(ST)?(C)?(N)?(4)?(n)?OFF", words[0])
    if match is None:
        if words[0].lstrip("-").isdigit():
            return False, rows
        raise damaged(path, f"an OFF file starts with 'OFF', but '{shown(words)}' stands there", line)
    if match[4] or match[5]:
        raise damaged(path, f"'{words[0]}' means points that are not three-dimensional", line, "Export plain OFF.")
    if "BINARY" in words:
        raise damaged(path, "binary OFF is not read", line, "Export it as text, or as ply.")
    rest = [(line, words[1:])] if len(words) > 1 else []
    return bool(match[3]), rest + rows[1:]


# STL, text and binary. Every triangle brings its own three vertices; checking welds them.

HEADER = 84  # bytes: 80 of comment, 4 of triangle count
FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(path: Path) -> Raw:
    data = path.read_bytes()
    announced = int(np.frombuffer(data, "<u4", 1, 80)[0]) if len(data) >= HEADER else -1
    if announced >= 0 and len(data) == HEADER + announced * FACET.itemsize:
        return _soup(np.frombuffer(data, FACET, announced, HEADER)["corners"].astype(np.float64), path)
    if data[:512].removeprefix(b"\xef\xbb\xbf").lstrip()[:5].lower() == b"solid" and b"\0" not in data[:512]:
        return _text(path)
    found = (len(data) - HEADER) // FACET.itemsize
    if announced < 0 or found < announced:
        raise damaged(path, f"the binary STL announces {max(announced, 0)} triangles but holds {max(found, 0)}")
    raw = _soup(np.frombuffer(data, FACET, announced, HEADER)["corners"].astype(np.float64), path)
    raw.notices.append(f"{len(data) - HEADER - announced * FACET.itemsize} bytes after the last triangle were left out.")
    return raw


def _text(path: Path) -> Raw:
    corners = []
    last = 0
    for number, line in enumerate(text_lines(path), start=1):
        words = line.split()
        if words and words[0].lower() == "vertex":
            if len(words) < 4:
                raise damaged(path, "a vertex needs three coordinates", number)
            corners.append(floats(words[1:4], path, number, "coordinates"))
            last = number
        elif words and words[0].lower() == "endfacet" and len(corners) % 3:
            raise damaged(path, "a facet ends that does not have three vertices", number)
    if len(corners) % 3:
        raise damaged(path, "the file ends in the middle of a triangle", last)
    return _soup(np.array(corners, dtype=np.float64).reshape(-1, 3, 3), path)


def _soup(corners: np.ndarray, path: Path) -> Raw:
    if not len(corners):
        raise damaged(path, "the STL file holds no triangles", fix="Export the solid again; it was empty.")
    return Raw(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))


TITLES = set("x y z nx ny nz normalx normaly normalz normal_x normal_y normal_z r g b red green blue a alpha i intensity scalar".split())


def read_xyz(path: Path) -> Raw:
    rows = []
    for number, line in enumerate(text_lines(path), start=1):
        words = line.split("#", 1)[0].replace(",", " ").replace(";", " ").split()
        if words and not words[0].startswith("//"):
            rows.append((number, words))
    announced, said = None, list[str]()
    if rows and len(rows[0][1]) >= 3 and all(word.lower().strip("\"'") in TITLES for word in rows[0][1]):
        said.append(f"The first line names the columns ({shown(rows.pop(0)[1])}).")
    if rows and len(rows[0][1]) == 1 and rows[0][1][0].isdigit():
        announced = int(rows.pop(0)[1][0])
    if not rows:
        raise damaged(path, "the file holds no points")
    width = len(rows[0][1])
    if width < 3:
        raise damaged(path, f"a point needs three coordinates, but '{shown(rows[0][1])}' stands there", rows[0][0])
    table = []
    for row, words in rows:
        if len(words) != width:
            raise damaged(path, f"this row has {len(words)} columns, the first one {width}", row)
        table.append(floats(words, path, row, "coordinates"))
    if announced is not None and announced != len(rows):
        raise damaged(path, f"the first line announces {announced} points but {len(rows)} rows follow")
    found = _columns(np.array(table))
    found.notices[:0] = said
    return found


def read_npy(path: Path) -> Raw:
    try:
        array = np.load(path, allow_pickle=False)
    except Exception as error:  # NumPy evaluates the header; a damaged one raises anything
        raise damaged(path, f"not a NumPy array of numbers ({error})", fix="Write it with numpy.save.") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] < 3:
        what = f"an array of {array.dtype} with shape {array.shape}" if isinstance(array, np.ndarray) else "an archive"
        raise damaged(path, f"this is {what}", fix="A point cloud is (n, 3), or (n, 6) with normals, in floating point.")
    return _columns(array.astype(np.float64))


def _columns(table: Floats) -> Raw:
    """Points from the first three columns; normals from the next three if they are unit vectors."""
    points, more = np.ascontiguousarray(table[:, :3]), table[:, 3:]
    if more.shape[1] == 0:
        return Raw(points)
    if more.shape[1] >= 3:
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.linalg.norm(more[:, :3], axis=1)
        if np.median(np.abs(length - 1.0)) < 0.05:
            left = more.shape[1] - 3
            notices = [f"{left} columns after the normals were left out."] if left else []
            return Raw(points, normals=np.ascontiguousarray(more[:, :3]), notices=notices)
    return Raw(points, notices=[f"{more.shape[1]} columns after the coordinates are not unit normals and were left out."])
