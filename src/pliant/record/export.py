"""A run in other formats: vtu files with a pvd index, ply and obj skins, csv and parquet of the step table, NetCDF and Zarr."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from pliant.base import Floats, Ints, PliantError, nearest
from pliant.disk import make_folder, replacing, write_bytes, write_text
from pliant.record.arrays import UNITS, dataset, write_netcdf, write_zarr
from pliant.record.records import Array
from pliant.record.run import Cells, Run, data_frame, flat_columns
from pliant.record.skin import skin
from pliant.record.table import split_columns

MESHIO_NAMES = {"tets": "tetra", "tets10": "tetra10", "triangles": "triangle", "vertices": "vertex"}


def export(
    run: Run, to: str, out: str | Path, frames: Sequence[int] | None = None, body: int | str | None = None
) -> list[Path]:
    """Write a run as `vtu`, `ply`, `obj`, `csv`, `parquet`, `nc` or `zarr`; returns the files, the one to open first.

    vtu: OUT.pvd and OUT_0000.vtu ...; ply, obj: OUT_0000.ply ... with the skin of all bodies or of one (`body`: id or name);
    csv, parquet: OUT.csv with one line per step; nc, zarr: OUT.nc with all of it as arrays. `frames` chooses frames (all unless given).
    """
    if to not in WRITERS:
        raise PliantError(f"cannot export to {to!r}; formats are {', '.join(WRITERS)}")
    if to not in SKINS and body is not None:
        raise PliantError(f"`body` chooses the skin in {' and '.join(SKINS)} files; {to} files hold all bodies")
    if to in STEPS and frames is not None:
        raise PliantError(f"`frames` chooses files of frames; a {to} file holds every step")
    out = Path(out)
    stem = out.with_suffix("") if out.suffix[1:] in (*WRITERS, "pvd") else out
    make_folder(stem.parent)
    chosen = [run.index(i) for i in (range(run.frames) if frames is None else frames)]
    return WRITERS[to](run, stem, chosen, body)


def _numbered(stem: Path, i: int, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}_{i:04d}{suffix}")


# ------------------------------------------------------------------------------------------------ vtu


def _vtu(run: Run, stem: Path, frames: list[int], body: int | str | None) -> list[Path]:
    import meshio

    paths = []
    for i in frames:
        cells = run.cells(i)
        blocks = {name: block for name, block in cells.blocks.items() if len(block)}
        splits = np.cumsum([len(block) for block in blocks.values()])[:-1]
        fields = {where: {n: _vtk_rows(run.field(n, i)) for n, w in run.fields(i).items() if w == where}
                  for where in ("point", "cell")}  # fmt: skip
        mesh = meshio.Mesh(
            run.points(i),
            [(MESHIO_NAMES[name], block.reshape(len(block), -1)) for name, block in blocks.items()],
            point_data=fields["point"],
            cell_data={n: np.split(v, splits) for n, v in {"body": cells.body, **fields["cell"]}.items() if blocks},
        )
        paths.append(_numbered(stem, i, ".vtu"))
        with replacing(paths[-1]) as temporary:
            meshio.write(temporary, mesh)
            text = temporary.read_text("utf-8")
            temporary.write_text(text.replace("<UnstructuredGrid>", f"<UnstructuredGrid>{_field_data(run, i)}", 1), "utf-8")
    return [_pvd(run, stem, frames, paths), *paths]


def _field_data(run: Run, i: int) -> str:
    """Time [s], metres per unit of length and the axis that points up (0 x, 1 y, 2 z), as VTK and ParaView read them; units as a comment.

    Numbers only: meshio, which writes none of it, reads no words there.
    """
    held = {"TimeValue": float(run.times[i]), "metres_per_unit": 1.0, "up_axis": 2.0}
    row = '<DataArray type="Float64" Name="{}" NumberOfTuples="1" format="ascii">{!r}</DataArray>'
    rows = [row.format(name, value) for name, value in held.items()]
    units = ", ".join(f"{name} {UNITS[name]}" for name in run.fields(i) if name in UNITS)
    return "".join(["<FieldData>", *rows, f"</FieldData><!-- points m, z up, time s; {units} -->"])


def _vtk_rows(values: Array) -> Array:
    """Tensors as rows of components, truth values as bytes."""
    values = values.astype(np.uint8) if values.dtype.kind == "b" else values
    return values.reshape(len(values), -1) if values.ndim > 1 else values


def _pvd(run: Run, stem: Path, frames: list[int], paths: list[Path]) -> Path:
    times = run.times
    rows = [
        f'    <DataSet timestep="{float(times[i])!r}" part="0" file={quoteattr(path.name)}/>'
        for i, path in zip(frames, paths, strict=True)
    ]
    path = stem.with_name(stem.name + ".pvd")
    lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">']
    return write_text(path, "\n".join([*lines, "  <Collection>", *rows, "  </Collection>", "</VTKFile>", ""]))


# ------------------------------------------------------------------------------------------------ ply


def _ply(run: Run, stem: Path, frames: list[int], body: int | str | None) -> list[Path]:
    return [write_ply(_numbered(stem, i, ".ply"), *_skin_of(run, i, body), _remarks(run, i)) for i in frames]


def _obj(run: Run, stem: Path, frames: list[int], body: int | str | None) -> list[Path]:
    """Places and triangles; an obj file has no room for fields."""
    paths = []
    for i in frames:
        points, faces, _ = _skin_of(run, i, body)
        lines = [f"# {remark}" for remark in _remarks(run, i)]
        lines += [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
        paths.append(write_text(_numbered(stem, i, ".obj"), "\n".join([*lines, ""])))
    return paths


def _skin_of(run: Run, i: int, body: int | str | None) -> tuple[Floats, Ints, dict[str, Array]]:
    """Points, triangles and point fields of the skin of a frame; points of surfels among them."""
    cells = run.cells(i)
    chosen = None if body is None else _body_id(cells, body)
    faces = skin(cells, chosen)
    ends = len(cells.body) - len(cells.vertices)
    surfels = cells.vertices if chosen is None else cells.vertices[cells.body[ends:] == chosen]
    used = np.unique(np.concatenate([faces.ravel(), surfels]))
    scalars = {n: run.field(n, i)[used] for n, where in run.fields(i).items() if where == "point"}
    return run.points(i)[used], np.searchsorted(used, faces), scalars


def _remarks(run: Run, i: int) -> list[str]:
    """What a reader must know of a file that holds only numbers."""
    rate = (run.frames - 1) / float(run.times[-1] - run.times[0]) if run.frames > 1 else 0.0
    return [
        f"pliant, run {run.header.get('name') or run.path.stem}, frame {i} of {run.frames}",
        "unit m", "up z", f"time {float(run.times[i])!r} s", f"frames per second {rate:.9g}",
    ]  # fmt: skip


def _body_id(cells: Cells, body: int | str) -> int:
    ids = [number for number, name in cells.bodies.items() if body in (number, name)]
    if not ids:
        raise PliantError(f"there is no body '{body}' in this frame: {nearest(str(body), cells.bodies.values())}")
    return ids[0]


def write_ply(path: Path, points: Floats, faces: Ints, fields: dict[str, Array], remarks: Sequence[str] = ()) -> Path:
    """Binary little-endian ply; every component of a field is a property of its own."""
    columns: dict[str, Array] = {axis: points[:, k] for k, axis in enumerate("xyz")}
    for name, values in fields.items():
        columns |= split_columns(name.replace(" ", "_"), values)
    vertices = np.zeros(len(points), dtype=[(name, "<f8") for name in columns])
    for name, column in columns.items():
        vertices[name] = column
    triangles = np.zeros(len(faces), dtype=[("count", "u1"), ("nodes", "<i4", (3,))])
    triangles["count"], triangles["nodes"] = 3, faces
    header = ["ply", "format binary_little_endian 1.0", *(f"comment {remark}" for remark in remarks)]
    header += [f"comment {name} in {UNITS[name]}" for name in fields if name in UNITS]
    header += [f"element vertex {len(points)}"]
    header += [f"property double {name}" for name in columns]
    header += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header", ""]
    return write_bytes(path, "\n".join(header).encode() + vertices.tobytes() + triangles.tobytes())


# ------------------------------------------------------------------------------------------------ csv


def _csv(run: Run, stem: Path, frames: list[int], body: int | str | None) -> list[Path]:
    if not run.series():
        raise PliantError(f"{run.path} has no steps to write as csv")
    return [write_csv(stem.with_name(stem.name + ".csv"), run.series())]


def _parquet(run: Run, stem: Path, frames: list[int], body: int | str | None) -> list[Path]:
    if not run.series():
        raise PliantError(f"{run.path} has no steps to write as parquet")
    return [write_parquet(stem.with_name(stem.name + ".parquet"), run.series())]


def write_parquet(path: Path, table: dict[str, Array]) -> Path:
    """The same columns as a parquet file."""
    try:
        with replacing(path) as temporary:
            data_frame(table).to_parquet(temporary)
    except ImportError:
        raise PliantError("Writing parquet needs pyarrow: pip install pyarrow. csv needs nothing.") from None
    return path


def write_csv(path: Path, table: dict[str, Array]) -> Path:
    """Columns under each other, vectors split into components."""
    columns = flat_columns(table)
    word = lambda v: v if isinstance(v, str) else "" if v != v else repr(v)  # what is not known (NaN) is left empty
    text = {name: [word(v) for v in column.tolist()] for name, column in columns.items()}
    lines = [",".join(f'"{name}"' if "," in name else name for name in text)]
    lines += [",".join(row) for row in zip(*text.values(), strict=True)]
    return write_text(path, "\n".join([*lines, ""]))


# ------------------------------------------------------------------------------------------------ arrays


def _nc(run: Run, stem: Path, frames: list[int], body: int | str | None) -> list[Path]:
    return [write_netcdf(dataset(run, frames), stem.with_name(stem.name + ".nc"))]


def _zarr(run: Run, stem: Path, frames: list[int], body: int | str | None) -> list[Path]:
    return [write_zarr(dataset(run, frames), stem.with_name(stem.name + ".zarr"))]


WRITERS = {"vtu": _vtu, "ply": _ply, "obj": _obj, "csv": _csv, "parquet": _parquet, "nc": _nc, "zarr": _zarr}
SKINS = ("ply", "obj")  # formats of one skin
STEPS = ("csv", "parquet")  # formats of the table of steps
