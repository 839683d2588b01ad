"""Formats that meshio reads well: Gmsh 4 and binary, legacy VTK, VTU, Medit; with our words when it fails."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np

from pliant.geometry.formats.cells import assembled
from pliant.geometry.formats.raw import Raw, damaged, shown

NAMES = {"gmsh": "Gmsh", "vtk": "legacy VTK", "vtu": "VTU", "medit": "Medit"}


def read_with_meshio(path: Path, form: str) -> Raw:
    """Read through one of meshio's readers; its prints are swallowed, its failures become sentences."""
    import meshio

    reader = {"gmsh": meshio.gmsh, "vtk": meshio.vtk, "vtu": meshio.vtu, "medit": meshio.medit}[form].read
    silence = io.StringIO()
    try:
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), np.errstate(all="ignore"):
            mesh = reader(path)
            stored = np.asarray(mesh.points, dtype=np.float64)
            blocks = [(block.type, np.asarray(block.data, dtype=np.int64)) for block in mesh.cells]
            if stored.ndim != 2 or not 2 <= stored.shape[1] <= 3:
                raise ValueError("there are no points in it")
    except MemoryError:
        raise damaged(path, "the file announces more data than fits into memory: it is damaged") from None
    except Exception as error:  # meshio raises whatever its parsing ran into
        why = str(error).strip() or f"{type(error).__name__} while reading"
        raise damaged(path, f"this is not a readable {NAMES[form]} file ({shown(why)})") from None
    points = np.zeros((len(stored), 3))
    points[:, : stored.shape[1]] = stored
    return assembled(path, points, blocks)


def read_vtk(path: Path) -> Raw:
    data = path.read_bytes()
    text = data.decode("latin-1")
    faults = []
    first = text.split("\n", 1)[0].strip()
    if not first.startswith("# vtk DataFile"):
        faults.append(f"the first line should read '# vtk DataFile Version ...', not '{shown(first)}'")
    kind = re.search(r"^DATASET\s+(\S+)", text, re.MULTILINE)
    if kind and kind[1] != "UNSTRUCTURED_GRID":
        faults.append(f"it holds a {kind[1]}, not an UNSTRUCTURED_GRID")
    cells = re.search(r"^CELLS\s+(\d+)", text, re.MULTILINE)
    types = re.search(r"^CELL_TYPES\s+(\d+)(.*)", text, re.MULTILINE | re.DOTALL)
    if cells and types is None:
        faults.append("CELL_TYPES is missing")
    elif cells and types and "OFFSETS" not in text and int(cells[1]) != int(types[1]):
        faults.append(f"CELLS announces {cells[1]} cells but CELL_TYPES {types[1]}")
    if faults:
        raise damaged(path, " and ".join(faults), fix="Write it again with VTK, ParaView or meshio.")
    return read_with_meshio(path, "vtk")


def read_vtu(path: Path) -> Raw:
    import xml.etree.ElementTree as tree

    try:
        return read_with_meshio(path, "vtu")
    except Exception as error:
        try:
            root = tree.parse(path).getroot()
        except tree.ParseError as parse:
            raise damaged(path, f"the XML is broken: {parse}", parse.position[0]) from None
        except (OSError, LookupError, ValueError):
            raise error from None
        for piece in root.iter("Piece"):
            array = piece.find("Points/DataArray")
            announced = int(piece.get("NumberOfPoints", "0")) if piece.get("NumberOfPoints", "0").isdigit() else 0
            if array is not None and array.get("format") == "ascii" and array.text:
                found = len(array.text.split())
                if found != 3 * announced:
                    what = f"the file announces {announced} points but its coordinates make {found / 3:g}"
                    raise damaged(path, what) from None
        raise


def read_medit(path: Path) -> Raw:
    return read_with_meshio(path, "medit")
