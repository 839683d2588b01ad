"""Point clouds: rows of x y z, or x y z nx ny nz (xyz, pwn, pts), and NumPy arrays of these shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.base import Floats
from pliant.geometry.formats.raw import Raw, damaged, floats, shown, text_lines

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
    found = _columns(np.array(table), path)
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
    return _columns(array.astype(np.float64), path)


def _columns(table: Floats, path: Path) -> Raw:
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
