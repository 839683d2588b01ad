"""Mesh files of every format with damaged bytes and wrong numbers: a mesh that is checked, or a sentence."""

from __future__ import annotations

import importlib.util
import json
import logging
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pliant.geometry.check import check_file, repair
from pliant.geometry.files import FORMATS, PointCloud
from pliant.geometry.solids import ball, box

_spec = importlib.util.spec_from_file_location("fuzz_kit", Path(__file__).with_name("kit.py"))
kit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kit)

SURFACE, SOLID = ball(0.1, edge=0.12).surface(), box((0.1, 0.1, 0.1), edge=0.1).tets
TEXT = {".obj", ".off", ".msh", ".inp", ".node", ".ele", ".xyz", ".xyzn", ".pts", ".pwn", ".feb", ".veg", ".gltf", ".mesh", ".vtk", ".vtu", ".vtp"}


def text_files(folder: Path) -> None:
    """The formats that are quick to write by hand."""
    p, f, t = SURFACE.points.tolist(), SURFACE.faces.tolist(), SOLID.tets.tolist()
    rows = "\n".join(" ".join(f"{x:.9g}" for x in row) for row in p)
    (folder / "a.obj").write_text("".join(f"v {a} {b} {c}\n" for a, b, c in p) + "".join(f"f {a + 1}/1/1 {b + 1}/1/1 {c + 1}/1/1\n" for a, b, c in f))
    (folder / "a.off").write_text(f"OFF\n{len(p)} {len(f)} 0\n{rows}\n" + "".join(f"3 {a} {b} {c}\n" for a, b, c in f))
    (folder / "a.xyz").write_text(rows + "\n")
    (folder / "a.pts").write_text(f"{len(p)}\n{rows}\n")
    both = "\n".join(f"{row} {row}" for row in rows.split("\n"))
    (folder / "a.xyzn").write_text(both + "\n")
    (folder / "a.pwn").write_text(f"{len(p)}\n{both}\n")
    ply = f"ply\nformat ascii 1.0\nelement vertex {len(p)}\nproperty float x\nproperty float y\nproperty float z\n"
    ply += f"element face {len(f)}\nproperty list uchar int vertex_indices\nend_header\n"
    (folder / "a.ply").write_text(ply + rows + "\n" + "".join(f"3 {a} {b} {c}\n" for a, b, c in f))
    q = SOLID.points.tolist()
    (folder / "a.node").write_text(f"{len(q)} 3 0 0\n" + "".join(f"{i + 1} {a} {b} {c}\n" for i, (a, b, c) in enumerate(q)))
    (folder / "a.ele").write_text(f"{len(t)} 4 0\n" + "".join(f"{i + 1} " + " ".join(str(n + 1) for n in e) + "\n" for i, e in enumerate(t)))
    (folder / "a.veg").write_text("*VERTICES\n" + f"{len(q)} 3 0 0\n" + "".join(f"{i + 1} {a} {b} {c}\n" for i, (a, b, c) in enumerate(q))
                                  + f"\n*ELEMENTS\nTET\n{len(t)} 4 0\n" + "".join(f"{i + 1} " + " ".join(str(n + 1) for n in e) + "\n" for i, e in enumerate(t)))  # fmt: skip
    nodes = "".join(f"<node id=\"{i + 1}\">{a},{b},{c}</node>" for i, (a, b, c) in enumerate(q))
    elements = "".join(f"<elem id=\"{i + 1}\">{','.join(str(n + 1) for n in e)}</elem>" for i, e in enumerate(t))
    (folder / "a.feb").write_text(f"<?xml version=\"1.0\"?>\n<febio_spec version=\"3.0\"><Mesh><Nodes name=\"n\">{nodes}</Nodes>\n"
                                  f"<Elements type=\"tet4\" name=\"e\">{elements}</Elements></Mesh></febio_spec>\n")  # fmt: skip


def binary_files(folder: Path) -> None:
    """STL, PLY, NPY, 3MF and glTF."""
    p, f = SURFACE.points.astype(np.float32), SURFACE.faces.astype(np.uint32)
    triangles = np.zeros(len(f), np.dtype([("n", "<f4", 3), ("x", "<f4", (3, 3)), ("a", "<u2")]))
    triangles["x"] = p[f]
    (folder / "a.stl").write_bytes(b"made for tests".ljust(80) + struct.pack("<I", len(f)) + triangles.tobytes())
    loops = ["\n".join(f"vertex {a} {b} {c}" for a, b, c in x) for x in p[f].tolist()]
    lines = "".join(f"facet normal 0 0 0\nouter loop\n{loop}\nendloop\nendfacet\n" for loop in loops)
    (folder / "text.stl").write_text(f"solid a\n{lines}endsolid a\n")
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(p)}\nproperty float x\nproperty float y\nproperty float z\n"
    head += f"element face {len(f)}\nproperty list uchar int vertex_indices\nend_header\n"
    rows = np.zeros(len(f), np.dtype([("n", "u1"), ("v", "<i4", 3)]))
    rows["n"], rows["v"] = 3, f
    (folder / "bin.ply").write_bytes(head.encode() + p.astype("<f4").tobytes() + rows.tobytes())
    np.save(folder / "a.npy", SURFACE.points)
    mesh = "".join(f'<vertex x="{a}" y="{b}" z="{c}"/>' for a, b, c in p.tolist())
    corners = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in f.tolist())
    with zipfile.ZipFile(folder / "a.3mf", "w") as archive:
        archive.writestr("3D/3dmodel.model", f'<?xml version="1.0"?><model unit="millimeter"><resources><object id="1"><mesh><vertices>{mesh}'
                         f"</vertices><triangles>{corners}</triangles></mesh></object></resources><build><item objectid=\"1\"/></build></model>")  # fmt: skip
    data = p.tobytes() + f.tobytes()
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0, "translation": [0, 1, 0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}], "buffers": [{"byteLength": len(data)}],
        "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": p.nbytes}, {"buffer": 0, "byteOffset": p.nbytes, "byteLength": f.nbytes}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": len(p), "type": "VEC3"},
                      {"bufferView": 1, "componentType": 5125, "count": f.size, "type": "SCALAR"}],
    }  # fmt: skip
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    (folder / "a.glb").write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body)
    (folder / "a.bin").write_bytes(data)
    document["buffers"][0]["uri"] = "a.bin"
    (folder / "a.gltf").write_text(json.dumps(document, indent=1))


def library_files(folder: Path) -> None:
    """Formats that meshio writes."""
    import meshio

    solid = meshio.Mesh(SOLID.points, [("tetra", SOLID.tets)])
    for name, kind in (("a.msh", "gmsh22"), ("b.msh", "gmsh"), ("a.inp", "abaqus"), ("a.mesh", "medit"), ("a.meshb", "medit"), ("a.vtk", "vtk"), ("a.vtu", "vtu")):
        if Path(name).suffix in FORMATS:
            meshio.write(folder / name, solid, file_format=kind)
    if ".vtp" in FORMATS:
        points, faces = SURFACE.points, SURFACE.faces
        flat = lambda array: " ".join(map(str, np.asarray(array).ravel().tolist()))
        (folder / "a.vtp").write_text(
            f"<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"0.1\" byte_order=\"LittleEndian\"><PolyData>\n"
            f"<Piece NumberOfPoints=\"{len(points)}\" NumberOfPolys=\"{len(faces)}\" NumberOfVerts=\"0\" NumberOfLines=\"0\" NumberOfStrips=\"0\">\n"
            f"<Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">{flat(points)}</DataArray></Points>\n"
            f"<Polys><DataArray type=\"Int64\" Name=\"connectivity\" format=\"ascii\">{flat(faces)}</DataArray>\n"
            f"<DataArray type=\"Int64\" Name=\"offsets\" format=\"ascii\">{flat(3 * np.arange(1, len(faces) + 1))}</DataArray></Polys>\n"
            "</Piece></PolyData></VTKFile>\n"
        )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small good file of each format, name and content."""
    folder = tmp_path_factory.mktemp("whole")
    for write in (text_files, binary_files, library_files):
        write(folder)
    logging.getLogger("pliant").setLevel(logging.ERROR)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in FORMATS}, folder


def test_every_format_is_fuzzed(whole):
    files, folder = whole
    assert {Path(name).suffix for name in files} == set(FORMATS)
    for name in files:
        check_file(folder / name)


@pytest.mark.parametrize("cases", kit.budgets(400, 50000))
def test_meshes(whole, tmp_path, cases):
    files, _ = whole
    for partner in ("a.node", "a.ele", "a.bin"):
        (tmp_path / partner).write_bytes((whole[1] / partner).read_bytes())

    def read(rng):
        name = rng.choice(sorted(files))
        damage = kit.damaged_text if Path(name).suffix in TEXT or name == "text.stl" else kit.damaged_bytes
        path = tmp_path / name
        path.write_bytes(damage(rng, files[name]))
        try:
            mesh, report = check_file(path)
            if report.refused:
                return "refused in a report"
            if not isinstance(mesh, PointCloud):
                mesh = repair(mesh, report)
            assert np.isfinite(mesh.points).all(), "a point that is not finite, and nobody said so"
            corners = getattr(mesh, "tets", None) if hasattr(mesh, "tets") else getattr(mesh, "faces", np.zeros(0, int))
            assert corners.size == 0 or (corners.min() >= 0 and corners.max() < len(mesh.points)), "corners that are not there"
        finally:
            if name in ("a.node", "a.ele"):
                path.write_bytes(files[name])
        return f"reads {path.suffix}"

    kit.judged(cases, 28, read)


# ---- what was found, and traps that are known


def test_data_outside_the_folder_is_not_read(whole, tmp_path):
    document = json.loads((whole[1] / "a.gltf").read_text())
    for uri in ("../a.bin", "/etc/passwd", "http://example.org/a.bin", "%2e%2e/a.bin", "file:///etc/passwd"):
        document["buffers"][0]["uri"] = uri
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "a.bin").write_bytes((whole[1] / "a.bin").read_bytes())
        (tmp_path / "in" / "a.gltf").write_text(json.dumps(document))
        with pytest.raises(ValueError, match="outside its own folder"):
            check_file(tmp_path / "in" / "a.gltf")


def test_objects_that_contain_each_other_end(whole, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.3mf", "w") as archive:
        inner = '<object id="1"><components><component objectid="2"/></components></object>'
        archive.writestr("a.model", f"<model><resources>{inner}{inner.replace('1', '3').replace('2', '1').replace('3', '2')}</resources>"
                                    '<build><item objectid="1"/></build></model>')  # fmt: skip
    document = json.loads((whole[1] / "a.gltf").read_text())
    document["nodes"] = [{"children": [0, 0]}]
    (tmp_path / "a.gltf").write_text(json.dumps(document))
    (tmp_path / "a.bin").write_bytes((whole[1] / "a.bin").read_bytes())
    for name in ("a.3mf", "a.gltf"):
        with kit.clock(), pytest.raises(ValueError, match="without end"):
            check_file(tmp_path / name)


def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.geometry.formats.packed.LARGEST", 1e6)
    with zipfile.ZipFile(tmp_path / "a.3mf", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.model", bytes(2_000_000))
    with kit.clock(), pytest.raises(ValueError, match="GB unpacked"):
        check_file(tmp_path / "a.3mf")


def test_devices_are_not_read(tmp_path):
    with pytest.raises(ValueError, match="not a file but a device"):
        check_file("/dev/zero")


def test_coordinates_beyond_all_are_refused(whole, tmp_path):
    lines = (whole[1] / "a.obj").read_text().split("\n")
    (tmp_path / "a.obj").write_text("\n".join(["v 1e200 0 0", *lines[1:]]))
    with pytest.raises(ValueError, match="coordinates beyond"):
        check_file(tmp_path / "a.obj")
