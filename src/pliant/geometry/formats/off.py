"""OFF (Geomview): optional header letters (C, N, ST, 4), comments, counts on the first line, polygons, face colours."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.geometry.formats.polygons import triangulated
from pliant.geometry.formats.raw import Raw, damaged, floats, integers, shown, text_lines


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
