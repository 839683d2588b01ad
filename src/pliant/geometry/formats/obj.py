"""Wavefront OBJ: vertices and faces of any number of corners; texture, normals, groups and colours are not needed.

An own reader, because libraries split vertices at texture seams and lose the line of an error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.geometry.formats.polygons import triangulated
from pliant.geometry.formats.raw import Raw, damaged, floats, shown, text_lines


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
