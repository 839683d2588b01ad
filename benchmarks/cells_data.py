"""Which of the public scans, meshes and clouds become soft bodies of cells? Writes the table of docs/cells-data.md.

    python benchmarks/cells_data.py [folder] > docs/cells-data.md

Every object is scaled to 20 cm, filled with cells of the default edge, and laid on its steadiest side on the ground until it rests.
`folder` holds surface/, points/ and dirty/. `--no-rest` leaves out the last, which takes most of the time.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

from pliant import PliantError, Scene
from pliant.detect.surfels.make import from_cloud, left_out, wrapped_cloud
from pliant.geometry.filling import contained
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shape import Shape
from pliant.geometry.shapes import resolve
from pliant.geometry.triangle import nearest_on
from pliant.shop.validate import mean_force

FOLDERS = ("surface", "points", "dirty")
SIZE, DENSITY, MODULUS = 0.2, 1000.0, 2e5  # [m], [kg/m^3], [Pa]
STEP, LONGEST, WINDOW = 5e-3, 12.0, 0.1  # [s] of a step, until it must rest, over which the force is averaged
STILL = 1e-9  # of m g SIZE: kinetic energy below which a body rests
GRID = 150  # along each side of the box: places at which the volume is counted
HEAD = f"""# Every scan a soft body of cells

Made by `python benchmarks/cells_data.py`. Objects are scaled to {100 * SIZE:.0f} cm and filled with cells of the default edge.

* Volume: mass of the body over its density, against the volume of the skin, counted on a grid of {GRID}^3 places by the winding number.
* Skin: how far the input is from the skin at most, in cells; of clouds the samples that noise, points inside and what the note names leave.
* Inverted: of all tetrahedra.
* Force: what the ground carries when the body ({MODULUS / 1e3:.0f} kPa), laid on its steadiest side, has come to rest, against its weight.
* CPU: seconds of one thread, of the filling with reading and checking.

| file | cells of | tetrahedra | volume | skin | inverted | force | CPU s | |
|---|---|---|---|---|---|---|---|---|"""


def row(path: Path, rest: bool) -> str:
    """A line of the table."""
    began = time.process_time()
    name = f"{path.parent.name}/{path.name}"
    spec = {"file": str(path), "fit": SIZE, "place": "on-ground", "fill": "lattice"}
    try:
        made = resolve(spec, solid=True, cells=True, wrap=wrapped_cloud)
        assert made.tets is not None and made.weights is not None
        took = time.process_time() - began
        scene = Scene(dt=STEP, duration=LONGEST)
        scene.add(name="ground", shape="plane", model="static")
        material = {"youngs_modulus": MODULUS, "poisson_ratio": 0.3, "density": DENSITY, "mass_damping": 10.0, "stiffness_damping": 0.005}
        scene.add(name="body", shape=laid(made), material=material)
        sim = scene.simulate()
        force = carried(sim) if rest else ""
    except PliantError as error:
        reason = " ".join(str(error).replace(str(path), path.name).replace("|", "/").split())
        return f"| {name} | | | | | | | {time.process_time() - began:.1f} | refused: {reason} |"
    edge = float(np.cbrt(6.0 * np.median(made.tets.volumes)))
    volume = sim.mass("body") / DENSITY / counted(made.surface()) - 1.0
    off = away(resolve({k: v for k, v in spec.items() if k != "fill"}, solid=False), made.surface()) / edge
    inverted = int((made.tets.volumes <= 0.0).sum())
    said = "; ".join(note.partition("; ")[2] for note in made.notes if "; " in note)
    numbers = f"{1e3 * edge:.1f} mm | {len(made.tets.tets)} | {100 * volume:+.1f} % | {off:.3f} | {inverted}"
    return f"| {name} | {numbers} | {force} | {took:.1f} | {said} |"


def laid(shape: Shape) -> Shape:
    """Turned so that its centre of mass is as low as can be, and put on the ground: it need not roll first."""
    skin = shape.surface()
    sides = ConvexHull(skin.points).equations  # outward normals and offsets
    normal = sides[np.argmax(sides[:, :3] @ mass_of_surface(skin).centre + sides[:, 3])][:3]
    side = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    side /= np.linalg.norm(side)
    turn = np.stack([side, np.cross(side, normal), -normal])
    shift = (0.0, 0.0, -float((skin.points @ turn.T)[:, 2].min()))
    assert shape.tets is not None
    return replace(shape, tets=shape.tets.moved(shift, turn), skin=skin.moved(shift, turn))


def counted(skin: Surface) -> float:
    """Volume of what a surface winds around [m^3], by counting."""
    low, high = skin.points.min(axis=0), skin.points.max(axis=0)
    inside = contained(skin, low, (high - low) / GRID, np.full(3, GRID))
    return float(inside.mean() * np.prod(high - low))


def away(given: Shape, skin: Surface) -> float:
    """How far the input is from the skin at most [m]; of a cloud its samples, for noise is averaged and points inside are left out, and
    without those that the note says are left out."""
    if given.cloud is not None:
        out, off = left_out(skin, from_cloud(given.cloud))
        return float(off[~out].max())
    surface = given.surface()
    corners = surface.points[surface.faces]
    return float(nearest_on(skin, np.concatenate([corners.reshape(-1, 3), corners.mean(axis=1)]))[1].max())


def carried(sim) -> str:  # type: ignore[no-untyped-def]
    """How far the force of the ground is from the weight when the body rests, or that it does not."""
    weight, still = 9.81 * sim.mass("body"), 0
    while still < round(WINDOW / STEP):  # not only where it turns back
        if sim.time >= LONGEST:
            return f"moves on ({np.sqrt(2.0 * 9.81 * sim.books().kinetic / weight):.1e} m/s)"
        sim.step()
        still = still + 1 if sim.books().kinetic <= STILL * weight * SIZE else 0
    return f"{abs(mean_force(sim, 'body', 'ground', round(WINDOW / STEP))[2] / weight - 1.0):.0e}"


def main() -> None:
    given = [Path(arg) for arg in sys.argv[1:] if not arg.startswith("--")]
    folder = given[0] if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    print(HEAD)
    for path in (p for name in FOLDERS for p in sorted((folder / name).glob("*")) if p.is_file()):
        print(row(path, "--no-rest" not in sys.argv), flush=True)


if __name__ == "__main__":
    main()
