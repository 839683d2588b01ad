"""Responses from elsewhere: computed with finite elements on a block on a rigid ground, or measured; and their files.

    pliant response layer.csv --thickness 20mm --young 200kPa --poisson 0.45
    pliant response skin.csv --measured dents.csv --load 2N --young 60kPa
    pliant press foot.ply --force 500N --response layer.csv

A file is a table of radii [m] and displacements per force [m/N]. Its head says C [m^2/N], which f goes to as C/r near the force:
(1 - nu^2)/(pi E) of the material at the surface. `press` scales the table by its own modulus over that of the table.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import Floats, PliantError
from pliant.bodies.quasi_rigid.response import read_rows, read_table
from pliant.contact.elastic.response import Tabulated, compliance
from pliant.disk import replacing, try_place
from pliant.geometry.mesh import TetMesh
from pliant.geometry.shapes import make
from pliant.pressing import quantities
from pliant.scene import Scene

WIDE = 4.0  # half the width of a block, in thicknesses
FINEST = 0.05  # of the thickness: elements under the force
CELLS = 22, 7  # along and down
SMALL = 1e-2  # of the thickness: displacement that the force is chosen for
NEAR = 4.0  # elements: nearer to the force, displacements are those of the elements and not of the material


def block_response(thickness: float, young: float, poisson: float, wide: float = WIDE, finest: float = FINEST) -> Tabulated:
    """f(r) of a layer of a thickness [m] that is bonded to a rigid ground: quadratic tetrahedra, a force at one vertex.

    wide    half the width of the block over its thickness; its sides are free
    finest  size of the elements under the force over the thickness; they grow away from it
    """
    c = compliance(young, poisson)
    mesh = graded_block(thickness, wide, finest)
    small = 0.1 * finest * thickness
    force = SMALL * thickness**2 / c
    scene = Scene(gravity=(0, 0, 0), contact="none", solver="direct")
    scene.add(
        name="block", shape=mesh, element="quadratic", fixed=[{"side": "-z"}],
        material={"law": "linear", "youngs_modulus": young, "poisson_ratio": poisson},
        loads=[{"value": (0.0, 0.0, -force), "where": {"side": "+z", "x": (-small, small), "y": (-small, small)}}],
    )  # fmt: skip
    sim = scene.simulate()
    rest = sim.state.x.copy()
    sim.equilibrium()
    at = np.flatnonzero((rest[:, 2] > -1e-9 * thickness) & (np.linalg.norm(rest[:, :2], axis=1) > NEAR * finest * thickness))
    r, f = np.linalg.norm(rest[at, :2], axis=1), (rest[at, 2] - sim.state.x[at, 2]) / force
    return _averaged(r[r < 0.75 * wide * thickness], f[r < 0.75 * wide * thickness], c)


def graded_block(thickness: float, wide: float, finest: float) -> TetMesh:
    """A block below z = 0 with small elements around the origin that grow by a constant factor."""
    along, down = CELLS
    box = make("box", size=(2.0 * along, 2.0 * along, 2.0 * down), edge=2.0).tets
    assert box is not None
    x, low = box.points, float(box.points[:, 2].max())
    flat = np.sign(x[:, :2]) * _graded(np.abs(x[:, :2]), along, wide, finest) * thickness
    deep = -_graded(low - x[:, 2], 2 * down, 1.0, finest) * thickness
    return TetMesh(np.column_stack([flat, deep]), box.tets)


def _graded(x: Floats, most: float, far: float, finest: float) -> Floats:
    """0..most to 0..far, steps of two becoming `finest` at 0 and larger by a constant factor: far (e^(k x/most) - 1)/(e^k - 1)."""
    low, high = 1e-6, 50.0
    for _ in range(100):
        k = 0.5 * (low + high)
        low, high = (k, high) if far * math.expm1(2.0 * k / most) / math.expm1(k) > finest else (low, k)
    return far * np.expm1(k * x / most) / math.expm1(k)


def _averaged(r: Floats, f: Floats, c: float, rings: int = 16) -> Tabulated:
    """Means over rings of equal ratio of what f is different from C/r, which is smooth, and 0 at the end."""
    edge = np.geomspace(0.999 * r.min(), 1.001 * r.max(), rings + 1)
    ring = np.searchsorted(edge, r) - 1
    count = np.bincount(ring, minlength=rings)
    used = np.flatnonzero(count)
    mean_r = np.bincount(ring, r, rings)[used] / count[used]
    smooth = np.bincount(ring, f - c / r, rings)[used] / count[used]
    return Tabulated(np.append(mean_r, 1.05 * mean_r[-1]), np.append(c / mean_r + smooth, 0.0), c)


def measured_response(path: str | Path, load: float, c: float) -> Tabulated:
    """From rows of radius [m] and displacement [m] under a load [N]."""
    rows = read_rows(Path(path))
    order = np.argsort(rows[:, 0], kind="stable")
    return Tabulated(rows[order, 0], rows[order, 1] / load, c)


def write_response(response: Tabulated, path: str | Path, how: str) -> None:
    """A file for `--response`."""
    head = f"pliant response: {how}\nC = {response.c:.9g} m^2/N\nr [m], f [m/N]"
    with replacing(path) as temporary:
        np.savetxt(temporary, np.column_stack([response.r, response.values]), delimiter=",", header=head, fmt="%.9g")


def read_response(path: str | Path) -> Tabulated:
    """From a file of `write_response`."""
    c, rows = read_table(path)
    return Tabulated(rows[:, 0], rows[:, 1], c)


def tabulated(
    out: Path, thickness: str | None, measured: Path | None, load: str, young: str, poisson: float
) -> tuple[dict[str, Any], str]:
    """Make a table and write it; (facts, text) for the command line."""
    if (thickness is None) == (measured is None):
        raise PliantError("Give either a thickness, such as 20mm, to compute a table, or measured rows to take it from.")
    if out.suffix != ".csv":
        raise PliantError(f"{out} must end in .csv, so that `pliant press --response` knows it for a table.")
    try_place(out)
    modulus = quantities.pressure("young", young)
    if thickness is not None:
        deep = quantities.length("thickness", thickness)
        table, how = block_response(deep, modulus, poisson), f"a layer of {1e3 * deep:.4g} mm on rigid ground, quadratic tetrahedra"
        scale, unit = deep, "thicknesses"
    else:
        assert measured is not None
        table = measured_response(measured, quantities.force("load", load), compliance(modulus, poisson))
        how, scale, unit = f"measured, {measured.name}", 1e-3, "mm"
    write_response(table, out, how)
    ratio = table.values[:-1] * table.r[:-1] / table.c
    half = float(np.interp(-0.5, -ratio, table.r[:-1])) if ratio.min() < 0.5 < ratio.max() else math.nan
    facts = {"file": str(out), "how": how, "compliance": table.c, "radii": len(table.r), "first": table.r[0], "last": table.r[-1],
             "first_over_half_space": float(ratio[0]), "half_of_half_space_at": half}  # fmt: skip
    text = (
        f"Wrote {out}: {how}; {len(table.r)} radii from {table.r[0] / scale:.3g} to {table.r[-1] / scale:.3g} {unit}.\n"
        f"A half-space gives way C/r; this one {100 * ratio[0]:.0f} % of it at the first radius, half of it at {half / scale:.2g} {unit}."
    )
    return facts, text
