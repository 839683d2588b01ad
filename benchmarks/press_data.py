"""Which of the public scans, meshes and clouds can be pressed on a plane? Writes the table of docs/press-data.md.

    python benchmarks/press_data.py [folder] > docs/press-data.md

Every object is scaled to 20 cm and pressed 2 mm onto a plane, volume preserving with a layer of 10 mm. `folder` holds surface/, points/,
dirty/ and tet/.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pliant

FOLDERS = ("surface", "points", "dirty", "tet")
HEAD = """# Every scan pressed on a plane

Made by `python benchmarks/press_data.py`. Objects are scaled to 20 cm and pressed 2 mm onto a plane with a modulus of 1 MPa, volume
preserving with a layer of 10 mm. Refused ones give the reason. Errors are those that `press` tells. CPU seconds, reading included.

| file | solved on | touch | force N | area cm² | peak kPa | CPU s | |
|---|---|---|---|---|---|---|---|"""


def row(path: Path) -> str:
    """A line of the table."""
    began = time.process_time()
    try:
        found = pliant.press(str(path), depth="2mm", size="20cm", response="volume-preserving", layer="10mm")
    except pliant.PliantError as error:
        return f"| {path.parent.name}/{path.name} | | | | | | {time.process_time() - began:.1f} | refused: {_short(str(error), path)} |"
    where = f"samples of {len(found.a.nodes or ())}"
    if found.cells is not None:
        grid = found.cells.best.grid
        where = f"{grid.shape[0]} x {grid.shape[1]} cells of {1e3 * grid.cell:.2g} mm"
    off = {name: f"{value} ± {100.0 * found.errors[name]:.2g} %" for name, value in (
        ("force", f"{found.force:.4g}"), ("area", f"{1e4 * found.area:.3g}"), ("peak", f"{1e-3 * found.peak:.3g}"))}  # fmt: skip
    told = "; ".join(note for note in found.notes if "peak does not hold" in note or "not resolved" in note or "on samples" in note)
    numbers = f"{int(found.result.contact.sum())} | {off['force']} | {off['area']} | {off['peak']}"
    return f"| {path.parent.name}/{path.name} | {where} | {numbers} | {time.process_time() - began:.1f} | {told} |"


def _short(reason: str, path: Path) -> str:
    return " ".join(reason.replace(str(path), path.name).replace("|", "/").split())


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "shared" / "data"
    print(HEAD)
    for path in (p for name in FOLDERS for p in sorted((folder / name).glob("*")) if p.is_file()):
        print(row(path), flush=True)


if __name__ == "__main__":
    main()
