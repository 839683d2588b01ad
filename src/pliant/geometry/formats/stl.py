"""STL, text and binary. Every triangle brings its own three vertices; checking welds them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.geometry.formats.raw import Raw, damaged, floats, text_lines

HEADER = 84  # bytes: 80 of comment, 4 of triangle count
FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(path: Path) -> Raw:
    data = path.read_bytes()
    announced = int(np.frombuffer(data, "<u4", 1, 80)[0]) if len(data) >= HEADER else -1
    if announced >= 0 and len(data) == HEADER + announced * FACET.itemsize:
        return _soup(np.frombuffer(data, FACET, announced, HEADER)["corners"].astype(np.float64), path)
    if data[:512].lstrip()[:5].lower() == b"solid" and b"\0" not in data[:512]:
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
