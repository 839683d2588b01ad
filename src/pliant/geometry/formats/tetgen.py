"""TetGen's pair of .node and .ele (only the files: TetGen itself is not used).

An own reader, because meshio waits for ever on an empty .node file and does not take ten-node tetrahedra.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.geometry.formats.cells import assembled
from pliant.geometry.formats.raw import Raw, damaged, floats, integers, renumbered, shown, text_lines

Row = tuple[int, list[str]]


def read_tetgen(path: Path) -> Raw:
    node, ele = path.with_suffix(".node"), path.with_suffix(".ele")
    for needed in (node, ele):
        if not needed.exists():
            raise damaged(path, f"its other half {needed.name} is missing", fix="Put both files into one folder.")
    ids, points = [], []
    header, rows = _table(node, "nodes")
    if len(header) > 1 and header[1] != 3:
        raise damaged(node, f"the points have {header[1]} dimensions instead of 3")
    for line, words in rows:
        if len(words) < 4:
            raise damaged(node, f"a node needs a number and three coordinates, but '{shown(words)}' stands there", line)
        ids += integers(words[:1], node, line, "the node's number")
        points.append(floats(words[1:4], node, line, "coordinates"))
    header, rows = _table(ele, "tetrahedra")
    corners = header[1] if len(header) > 1 else 4
    if corners not in (4, 10):
        raise damaged(ele, f"cells have {corners} nodes; tetrahedra have 4 or 10")
    cells = []
    for line, words in rows:
        if len(words) < 1 + corners:
            raise damaged(ele, f"a tetrahedron needs a number and {corners} nodes, but '{shown(words)}' stands there", line)
        cells.append(integers(words[1 : 1 + corners], ele, line, "nodes"))
    tets = renumbered(ids, np.array(cells, dtype=np.int64).reshape(-1, corners), ele, "tetrahedron")
    return assembled(path, np.array(points, dtype=np.float64).reshape(-1, 3), [("tetra", tets)])


def _table(path: Path, what: str) -> tuple[list[int], list[Row]]:
    """The numbers of the first row and the rows it announces."""
    rows = [(n, w) for n, line in enumerate(text_lines(path), 1) if (w := line.split("#", 1)[0].split())]
    if not rows:
        raise damaged(path, "the file is empty")
    header = integers(rows[0][1], path, rows[0][0], "the first row")
    if len(rows) - 1 < header[0]:
        raise damaged(path, f"the first row announces {header[0]} {what} but {len(rows) - 1} follow", rows[0][0])
    return header, rows[1 : 1 + max(header[0], 0)]
