"""Abaqus and CalculiX .inp: the *NODE and *ELEMENT blocks; everything else (materials, steps) is not needed.

An own reader, because meshio keeps only the last of several *NODE blocks.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pliant.geometry.formats.cells import Block, assembled
from pliant.geometry.formats.raw import Raw, damaged, floats, integers, renumbered, shown, text_lines

# Names of element types start with these; the number that follows is the number of nodes.
FAMILIES = [
    (r"(C3D|DC3D|AC3D)(4|10)", "tetra"),
    (r"(C3D|DC3D|AC3D)(6|15)", "wedge"),
    (r"(C3D|DC3D|AC3D)(5|13)", "pyramid"),
    (r"(C3D|DC3D|AC3D|SC)(8|20|27)", "hexahedron"),
    (r"(S|STRI|SFM3D|M3D|CPS|CPE|R3D|DS)(3|6)", "triangle"),
    (r"(S|SFM3D|M3D|CPS|CPE|CAX|R3D|DS)(4|8|9)", "quad"),
    (r"(B3|T3D|B2|T2D)(1|2|3)", "line"),
]


def read_inp(path: Path) -> Raw:
    nodes: dict[int, list[float]] = {}
    cells: dict[str, list[list[int]]] = {}
    mode, family, need, held = "", "", 0, list[str]()
    for number, line in enumerate(text_lines(path), start=1):
        if line.startswith("**") or not line.strip():
            continue
        if line.startswith("*"):
            mode, family, need = _keyword(path, line, number)
            held = []
            continue
        words = held + [w.strip() for w in line.split(",") if w.strip()]
        held = []
        if mode == "node":
            _node(path, words, number, nodes)
        elif mode == "element":
            if len(words) < 1 + need:  # an element may continue on the next line
                held = words
                continue
            cells.setdefault(family, []).append(integers(words[1 : 1 + need], path, number, "an element"))
    if not nodes:
        raise damaged(path, "there is no *NODE block with nodes in this file")
    blocks: list[Block] = [(kind, renumbered(list(nodes), np.array(rows), path, kind)) for kind, rows in cells.items()]
    return assembled(path, np.array(list(nodes.values()), dtype=np.float64), blocks)


def _keyword(path: Path, line: str, number: int) -> tuple[str, str, int]:
    """What the following lines are: '' (not needed), 'node', or 'element' with family and number of nodes."""
    parts = [p.strip().upper() for p in line[1:].split(",")]
    options = {key.strip(): value.strip() for key, _, value in (p.partition("=") for p in parts[1:])}
    if parts[0] in ("NODE", "ELEMENT") and "INPUT" in options:
        raise damaged(path, f"nodes or elements are in another file ({options['INPUT']})", number, "Write them into one file.")
    if parts[0] == "INCLUDE":
        raise damaged(path, "*INCLUDE is not followed", number, "Write nodes and elements into one file.")
    if parts[0] == "NODE":
        return "node", "", 0
    if parts[0] == "ELEMENT":
        for pattern, family in FAMILIES:
            match = re.match(pattern, options.get("TYPE", ""))
            if match:
                count = int(match[2]) + 1 if family == "line" and match[2] != "3" else int(match[2])
                return "element", family + ("" if count in (3, 4, 8) else str(count)), count
        if options.get("TYPE", "").startswith("C3D"):
            raise damaged(path, f"element type {options['TYPE']} is not known", number, "Use C3D4 or C3D10 tetrahedra.")
    return "", "", 0


def _node(path: Path, words: list[str], line: int, nodes: dict[int, list[float]]) -> None:
    if len(words) < 3:
        raise damaged(path, f"a node needs a number and coordinates, but '{shown(words)}' stands there", line)
    name = integers(words[:1], path, line, "the node's number")[0]
    x = (floats(words[1:4], path, line, "coordinates") + [0.0])[:3]
    if name in nodes and nodes[name] != x:
        raise damaged(
            path,
            f"node {name} is defined twice at different places (several parts with their own numbering?)",
            line,
            "Export one part per file.",
        )
    nodes[name] = x
