"""What pliant keeps on a machine between runs: tetrahedra inside surfaces, and machine code."""

from __future__ import annotations

import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import PliantError, nearest

PARTS = ("tets", "code", "all")


def cache_facts() -> dict[str, Any]:
    """Where things are, how large they are, and every filled surface."""
    from pliant import cache as code  # start-up time
    from pliant import kernels
    from pliant.geometry.tetrahedralise import kept_folder

    assert kernels.CAN_CACHE or code.FOLDER is None
    folder = kept_folder()
    tets = [_filling(path) for path in sorted(folder.glob("*.npz"))] if folder is not None else []
    compiled = [p for p in code.FOLDER.iterdir() if p.is_dir()] if code.FOLDER is not None else []
    return {
        "tets": {"folder": None if folder is None else str(folder), "bytes": sum(t["bytes"] for t in tets), "fillings": tets},
        "code": {"folder": None if code.FOLDER is None else str(code.FOLDER), "bytes": sum(map(_size, compiled)), "files": len(compiled)},
    }


def _filling(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"file": path.name, "bytes": path.stat().st_size, "age": max(time.time() - path.stat().st_mtime, 0.0)}
    try:
        with np.load(path) as made:
            found["tets"] = len(made["tets"])
            if "about" in made:
                found["edge"], triangles, found["seconds"] = (float(v) for v in made["about"])
                found["triangles"] = int(triangles)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        found["damaged"] = True
    return found


def _size(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def cleared(part: str) -> dict[str, Any]:
    """Remove a part; what is left, and how much was removed."""
    if part not in PARTS:
        raise PliantError(f"--clear {part}: {nearest(part, PARTS)}")
    before = cache_facts()
    removed = 0
    for name in ("tets", "code"):
        folder = before[name]["folder"]
        if part in (name, "all") and folder is not None:
            removed += before[name]["bytes"]
            for path in Path(folder).iterdir():
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return cache_facts() | {"removed": removed}


def cache_text(facts: dict[str, Any]) -> str:
    """In sentences."""
    lines = [f"Removed {facts['removed'] / 1e6:.1f} MB."] if "removed" in facts else []
    tets, code = facts["tets"], facts["code"]
    lines.append(f"{len(tets['fillings'])} filled surfaces, {tets['bytes'] / 1e6:.1f} MB, {_where(tets['folder'])}")
    for each in tets["fillings"]:
        made = f" of {each['edge']:.3g} m in {each['triangles']} triangles, made in {each['seconds']:.0f} s" if "edge" in each else ""
        what = "damaged" if each.get("damaged") else f"{each['tets']} tetrahedra{made}"
        lines.append(f"  {each['file'][:12]}  {what}, {each['age'] / 86400:.1f} days ago, {each['bytes'] / 1e3:.0f} kB")
    lines.append(f"Compiled kernels of {code['files']} files, {code['bytes'] / 1e6:.1f} MB, {_where(code['folder'])}")
    return "\n".join(lines)


def _where(folder: str | None) -> str:
    return f"in {folder}" if folder is not None else "for no folder can be written"
