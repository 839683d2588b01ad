"""A run as labelled arrays of xarray, which NetCDF and Zarr files hold: every variable with its dimensions and its unit."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import PliantError
from pliant.disk import TEMPORARY, failure, replacing, try_room
from pliant.record.layout import CELL_TYPES
from pliant.record.records import Array
from pliant.record.skin import skin

if TYPE_CHECKING:
    from xarray import Dataset

    from pliant.record.run import Run

# Of what runs hold; a name that is not here has none, or is a number of something.
UNITS = {
    "displacement": "m", "velocity": "m/s", "depth": "m", "pressure": "Pa", "contact_force": "N", "max_displacement": "m",
    "max_pressure": "Pa", "wear": "J/m^2", "shown": "m", "radius": "m", "von_mises": "Pa", "time": "s", "dt": "s", "kinetic": "J",
    "elastic": "J", "gravity": "J", "contact_work": "J", "friction_work": "J", "attachment_work": "J", "drive_work": "J", "load_work": "J",
    "lost": "J", "momentum": "kg m/s", "angular_momentum": "kg m^2/s", "max_depth": "m", "force": "N", "friction": "N", "torque": "N m",
    "centre": "m", "normal_force": "N", "area": "m^2", "mean_pressure": "Pa", "impulse": "N s", "window": "s",
}  # fmt: skip
MISSING = np.nan  # a field that a frame does not have
HEADER = 1 << 12  # bytes that NetCDF takes for a variable or a dimension, besides its values


def dataset(run: Run, frames: Sequence[int] | None = None) -> Dataset:
    """The frames over (time, point) and (time, cell), the steps over (step), the pairs over (touch): each pair in each step it touches in.

    All frames must draw the same cells; of a run in which bodies come, break or go, choose `frames` between two changes.
    """
    try:
        import xarray
    except ImportError:
        raise PliantError("This needs xarray: pip install xarray h5netcdf (or pliant[arrays]).") from None
    chosen = [run.index(i) for i in (range(run.frames) if frames is None else frames)]
    if not chosen:
        raise PliantError(f"{run.path} has no frames, or none were chosen")
    _refuse_changes(run, chosen)
    held = _frames(run, chosen) | _cells(run, chosen[0]) | _tables(run)
    axis = {"axis": ("axis", np.array(list("xyz")))}
    time = {"time": ("time", run.times[chosen], {"units": "s", "long_name": "simulated time"})}
    words = {
        "title": str(run.header.get("name") or run.path.stem), "source": f"pliant {run.header.get('pliant', '')}", "length_unit": "m",
        "up_axis": "z", "handedness": "right", "scene": str(run.header.get("scene", "")), "status": run.status,
        "bodies": ", ".join(f"{number}: {name}" for number, name in run.cells(chosen[0]).bodies.items()),
    }  # fmt: skip
    return xarray.Dataset(held, coords=time | axis, attrs=words)


def _refuse_changes(run: Run, chosen: list[int]) -> None:
    first = run.topology_number(chosen[0])
    other = next((i for i in chosen if run.topology_number(i) != first), None)
    if other is not None:
        raise PliantError(
            f"frames {chosen[0]} and {other} of {run.path} draw different cells (something came, broke or went), so they do not fit into "
            f"one array; choose frames from {chosen[0]} to {other - 1}, or write vtu files"
        )


def _variable(dimension: str, name: str, values: Array, time: bool = False) -> tuple[Any, ...]:
    """Dimensions, values and unit."""
    inner = values.shape[2 if time else 1 :]
    names = ["axis" if n == 3 else f"component_{n}" for n in inner]
    distinct = [name if name not in names[:k] else f"{name}_{k + 1}" for k, name in enumerate(names)]
    dims = [*(["time"] if time else []), dimension, *distinct]
    values = values.astype(np.uint8) if values.dtype.kind == "b" else values
    return dims, values, {"units": UNITS[name]} if name in UNITS else {}


def _frames(run: Run, chosen: list[int]) -> dict[str, tuple[Any, ...]]:
    points = np.stack([run.points(i) for i in chosen])
    held: dict[str, tuple[Any, ...]] = {"points": (["time", "point", "axis"], points, {"units": "m"})}
    known = {name: where for i in chosen for name, where in run.fields(i).items()}
    for name, where in known.items():
        rows = [run.field(name, i) if name in run.fields(i) else None for i in chosen]
        shape = next(row.shape for row in rows if row is not None)
        whole = np.stack([np.full(shape, MISSING) if row is None else row for row in rows])
        held[_free(name, held)] = _variable(where, name, whole, time=True)
    held["frame_step"] = (["time"], run.steps[chosen], {"long_name": "number of the step of each frame"})
    return held


def _cells(run: Run, frame: int) -> dict[str, tuple[Any, ...]]:
    cells = run.cells(frame)
    held: dict[str, tuple[Any, ...]] = {"body": (["cell"], cells.body, {"long_name": "number of the body of each cell"})}
    for name, block in cells.blocks.items():
        if len(block):
            corners = block.reshape(len(block), -1)
            held[name] = ([name[:-1] if name != "vertices" else "vertex", f"corner_{CELL_TYPES[name][1]}"], corners)
    outside = [skin(cells, body) for body in cells.bodies]
    if sum(map(len, outside)):
        held["skin"] = (["face", "corner_3"], np.concatenate(outside), {"long_name": "triangles seen from outside, as numbers of points"})
        held["skin_body"] = (["face"], np.repeat(np.array(list(cells.bodies), np.int64), [len(part) for part in outside]))
    return held


def _tables(run: Run) -> dict[str, tuple[Any, ...]]:
    held = {f"step_{name}": _variable("step", name, values) for name, values in run.series().vectors.items()}
    return held | {f"pair_{name}": _variable("touch", name, values) for name, values in run.pairs().items()}


def _free(name: str, held: dict[str, Any]) -> str:
    return f"{name}_field" if name in held or name in ("time", "axis", "body") else name


def write_netcdf(data: Dataset, path: Path) -> Path:
    """A NetCDF-4 file: HDF5, which MATLAB, Julia, R and ncdump read."""
    try_room(path, data.nbytes + HEADER * (len(data.variables) + len(data.sizes)))
    try:
        with replacing(path) as temporary:
            data.to_netcdf(temporary, engine="h5netcdf")
    except ImportError:
        raise PliantError("Writing NetCDF needs h5netcdf: pip install h5netcdf (or pliant[arrays]).") from None
    return path


def write_zarr(data: Dataset, path: Path) -> Path:
    """A Zarr store, which is a folder."""
    if path.exists() and not any((path / name).exists() for name in ("zarr.json", ".zgroup")):
        raise PliantError(f"{path} exists and is no Zarr store: choose another name")
    part = path.with_name(path.name + TEMPORARY)
    shutil.rmtree(part, ignore_errors=True)
    try:
        data.drop_vars("axis").to_zarr(part, mode="w", consolidated=False)  # Zarr has no settled way to store letters
        if path.exists():
            shutil.rmtree(path)
        part.replace(path)
    except ImportError:
        raise PliantError("Writing Zarr needs zarr: pip install zarr (or pliant[arrays]).") from None
    except OSError as error:
        raise failure(error, "cannot write", path) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)  # what is left of it, if it did not get its place
    return path
