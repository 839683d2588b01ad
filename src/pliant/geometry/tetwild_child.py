"""Runs pytetwild in a process of its own: `python -m pliant.geometry.tetwild_child IN.npz OUT.npz`.

A crash or an endless loop inside the C++ code then ends this process, not the user's.
"""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np


def main(source: str, target: str) -> None:
    # pytetwild imports pyvista only to add a method to its meshes; an empty module spares loading all of VTK.
    sys.modules.setdefault("pyvista", ModuleType("pyvista"))
    from pytetwild import tetrahedralize

    given = np.load(source)
    points, tets = tetrahedralize(
        given["points"],
        given["faces"].astype(np.int32),
        edge_length_abs=float(given["edge"]),
        epsilon=float(given["epsilon"]),
        stop_energy=float(given["stop_energy"]),
        quiet=True,
    )
    np.savez(target, points=points, tets=tets.astype(np.int64))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
