"""Files of other programs: packed surfaces, solvers' input, groups of tetrahedra."""

from __future__ import annotations

import base64
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pliant.base import PliantError
from pliant.geometry.check import load
from pliant.geometry.embed import part_in_group
from pliant.geometry.files import PointCloud, open_file, read
from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface, TetMesh

X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.float64)
TETS = np.array([[0, 1, 2, 3], [1, 4, 2, 3]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])  # of the first


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def vertices(start: int = 1, comma: str = " ") -> str:
    return "\n".join(comma.join([str(i + start), *(f"{v:g}" for v in x)]) for i, x in enumerate(X))


VEG = f"*VERTICES\n5 3 0 0\n{vertices()}\n*ELEMENTS\nTET\n2 4 0\n1 1 2 3 4\n2 2 5 3 4\n*MATERIAL soft\nENU, 1, 2, 0.3\n*SET one\n2,\n*REGION\none, soft\n"
INP = f"*NODE\n{vertices(comma=', ')}\n*ELEMENT, TYPE=C3D4, ELSET=Bone\n1, 1, 2, 3, 4\n*ELEMENT, TYPE=C3D4, ELSET=Flesh\n2, 2, 5, 3, 4\n"
FEB = (
    '<?xml version="1.0"?><febio_spec version="4.0"><Mesh><Nodes>'
    + "".join(f'<node id="{i + 1}">{",".join(f"{v:g}" for v in x)}</node>' for i, x in enumerate(X))
    + '</Nodes><Elements type="tet4" name="Bone"><elem id="1">1,2,3,4</elem></Elements>'
    + '<Elements type="tet4" name="Flesh"><elem id="2">2,5,3,4</elem></Elements></Mesh></febio_spec>'
)
MSH2 = (
    '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n3 7 "Bone"\n3 9 "Flesh of it"\n$EndPhysicalNames\n'
    f"$Nodes\n5\n{vertices()}\n$EndNodes\n$Elements\n2\n1 4 2 7 1 1 2 3 4\n2 4 2 9 1 2 5 3 4\n$EndElements\n"
)
MSH4 = (
    '$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n3 7 "Bone"\n3 9 "Flesh of it"\n$EndPhysicalNames\n'
    "$Entities\n0 0 0 2\n1 0 0 0 1 1 1 1 7 0\n2 0 0 0 1 1 1 1 9 0\n$EndEntities\n"
    "$Nodes\n1 5 1 5\n3 1 0 5\n1\n2\n3\n4\n5\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n$EndNodes\n"
    "$Elements\n2 2 1 2\n3 1 4 1\n1 1 2 3 4\n3 2 4 1\n2 2 5 3 4\n$EndElements\n"
)
ELE = ("5 3 0 0\n" + vertices(), "2 4 1\n1 1 2 3 4 7\n2 2 5 3 4 9\n")


@pytest.mark.parametrize(("name", "text", "groups", "names"), [
    ("a.veg", VEG, [0, 1], {"soft": 1}),
    ("a.inp", INP, [1, 2], {"Bone": 1, "Flesh": 2}),
    ("a.feb", FEB, [1, 2], {"Bone": 1, "Flesh": 2}),
    ("a.msh", MSH2, [7, 9], {"Bone": 7, "Flesh of it": 9}),
    ("a.msh", MSH4, [7, 9], {"Bone": 7, "Flesh of it": 9}),
])  # fmt: skip
def test_tetrahedra_keep_their_groups(tmp_path: Path, name: str, text: str, groups: list[int], names: dict[str, int]) -> None:
    mesh = read(written(tmp_path, name, text))
    assert isinstance(mesh, TetMesh)
    assert mesh.points == pytest.approx(X)
    assert mesh.tets.tolist() == TETS.tolist()
    assert mesh.groups is not None and mesh.groups.tolist() == groups
    assert dict(mesh.names) == names
    last = list(names)[-1]
    assert part_in_group(mesh, last).tolist() == [float(g == names[last]) for g in groups]
    assert part_in_group(mesh, groups[-1]).tolist() == part_in_group(mesh, last).tolist()


def test_attributes_of_tetgen_are_groups(tmp_path: Path) -> None:
    written(tmp_path, "a.node", ELE[0])
    mesh = read(written(tmp_path, "a.ele", ELE[1]))
    assert isinstance(mesh, TetMesh) and mesh.groups is not None and mesh.groups.tolist() == [7, 9]


def test_cell_data_are_groups(tmp_path: Path) -> None:
    import meshio

    path = tmp_path / "a.vtu"
    meshio.write_points_cells(path, X, {"tetra": TETS}, cell_data={"material": [np.array([3, 4])]})
    mesh = read(path)
    assert isinstance(mesh, TetMesh) and mesh.groups is not None and mesh.groups.tolist() == [3, 4]
    with pytest.raises(PliantError, match="no group '5'.*known are 3, 4"):
        part_in_group(mesh, 5)
    with pytest.raises(PliantError, match="nothing about groups"):
        part_in_group(TetMesh(X, TETS), 1)


def glb(document: dict, data: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


def gltf(mode: int, index: np.ndarray, uri: str | None = None) -> tuple[dict, bytes]:
    data = X[:4].astype("<f4").tobytes() + index.astype("<u2").tobytes()
    data += b"\0" * (-len(data) % 4)
    views = [{"buffer": 0, "byteOffset": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 2 * index.size}]
    buffer = {"byteLength": len(data)} | ({"uri": uri} if uri else {})
    return {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "buffers": [buffer], "bufferViews": views,
        "nodes": [{"children": [1], "translation": [1, 2, 3]}, {"mesh": 0, "scale": [2, 2, 2], "rotation": [0, 0, 0.7071067811865476, 0.7071067811865476]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": int(index.size), "type": "SCALAR"},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": mode}]}],
    }, data  # fmt: skip


@pytest.mark.parametrize("binary", [True, False])
def test_gltf_places_its_meshes(tmp_path: Path, binary: bool) -> None:
    document, data = gltf(4, FACES.ravel())
    if binary:
        path = written(tmp_path, "a.glb", glb(document, data))
    else:
        document["buffers"][0]["uri"] = "data:;base64," + base64.b64encode(data).decode()
        path = written(tmp_path, "a.gltf", json.dumps(document))
    mesh = read(path)
    assert isinstance(mesh, Surface)
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])  # a quarter turn about z
    assert mesh.points == pytest.approx(2 * X[:4] @ turn.T + [1, 2, 3], abs=1e-6)
    assert mass_of_surface(mesh).volume == pytest.approx(8 / 6)
    assert any("y up" in notice for notice in open_file(path).notices)


def test_gltf_strips_are_unrolled(tmp_path: Path) -> None:
    document, data = gltf(5, np.array([0, 2, 1, 3, 0, 2]))
    mesh = read(written(tmp_path, "a.glb", glb(document, data)))
    assert isinstance(mesh, Surface) and mass_of_surface(mesh).volume == pytest.approx(8 / 6)


@pytest.mark.parametrize(("name", "content", "words"), [
    ("a.glb", glb({"asset": {"version": "1.0"}}, b""), "not glTF 2.0"),
    ("a.glb", glb({"asset": {"version": "2.0"}, "extensionsRequired": ["KHR_draco_mesh_compression"]}, b""), "compressed"),
    ("a.glb", glb({"asset": {"version": "2.0"}}, b"")[:30], "cut off"),
    ("a.gltf", "{", "JSON is broken"),
    ("a.gltf", json.dumps(gltf(4, FACES.ravel(), "gone.bin")[0]), "gone.bin is missing"),
    ("a.3mf", "no zip", "zip archive"),
    ("a.vtp", "no xml", "starts with"),
    ("a.vtp", '<VTKFile type="UnstructuredGrid"/>', "not a VTP file"),
    ("a.feb", "<febio_spec>", "XML is broken"),
    ("a.feb", "<other/>", "febio_spec"),
    ("a.feb", FEB.replace("tet4", "hex8", 1), "hexahedron have only 4 nodes"),
    ("a.xyz", "x y w\n0 0 0\n", "coordinates should be numbers"),
    ("a.veg", "*VERTICES\n", "no \\*VERTICES section"),
    ("a.veg", VEG.replace("TET", "WEDGE"), "type WEDGE are not known"),
    ("a.veg", VEG.replace("2 2 5 3 4", "2 2 6 3 4"), "uses node 6"),
])  # fmt: skip
def test_damaged_files_are_refused_with_the_reason(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    with pytest.raises(PliantError, match=words) as caught:
        read(written(tmp_path, name, content))
    assert name in str(caught.value)


# ---- solids that are no tetrahedra


def bricks(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A block of 3 x 2 x 2 warped hexahedra, or the wedges or pyramids they are cut into, its nodes numbered at random."""
    rng = np.random.default_rng(seed)
    number = np.arange(36).reshape(4, 3, 3)
    corner = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    cells = np.stack([number[i : 3 + i, j : 2 + j, k : 2 + k] for i, j, k in corner], axis=-1).reshape(-1, 8)
    points = np.indices((4, 3, 3)).reshape(3, -1).T + 0.15 * rng.uniform(-1.0, 1.0, (36, 3))
    if kind == "wedge":
        cells = np.concatenate([cells[:, [0, 1, 2, 4, 5, 6]], cells[:, [0, 2, 3, 4, 6, 7]]])
    if kind == "pyramid":
        quads = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
        middle = 36 + np.arange(len(cells))
        points = np.concatenate([points, points[cells].mean(axis=1)])
        cells = np.concatenate([np.column_stack([cells[:, quad[::-1]], middle]) for quad in quads])
    order = rng.permutation(len(points))
    return points[np.argsort(order)], order[cells]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["hexahedron", "wedge", "pyramid"])
def test_solids_are_cut_so_that_neighbours_agree(tmp_path: Path, kind: str, seed: int) -> None:
    """Every tetrahedron is positive, and the border of all is the border of the block: two triangles for each of its 32 quads."""
    import meshio

    points, cells = bricks(kind, seed)
    meshio.write_points_cells(tmp_path / "a.vtu", points, {kind: cells}, cell_data={"material": [np.arange(len(cells)) % 2 + 1]})
    mesh = read(tmp_path / "a.vtu")
    assert isinstance(mesh, TetMesh) and (mesh.volumes > 0.0).all()
    assert len(mesh.tets) == {"hexahedron": 6, "wedge": 3, "pyramid": 2}[kind] * len(cells)
    assert len(mesh.surface().faces) == 2 * 32
    assert mesh.volumes.sum() == pytest.approx(mass_of_surface(mesh.surface()).volume)
    assert mesh.groups is not None and len(mesh.groups) == len(mesh.tets) and set(mesh.groups.tolist()) == {1, 2}


def test_solids_of_several_kinds_and_of_higher_order(tmp_path: Path) -> None:
    """A tetrahedron on a wedge whose far edge is collapsed, and hexahedra with nodes between their corners."""
    import meshio

    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [0.2, 0.2, 2]], dtype=np.float64)
    meshio.write_points_cells(tmp_path / "a.vtu", x, {"wedge": np.array([[0, 1, 2, 3, 4, 5]]), "tetra": np.array([[3, 4, 5, 6]])})
    mesh = read(tmp_path / "a.vtu")
    assert isinstance(mesh, TetMesh) and mesh.volumes.sum() == pytest.approx(0.5 + 1 / 6) and len(mesh.tets) == 4
    meshio.write_points_cells(tmp_path / "b.vtu", x, {"hexahedron": np.array([[0, 1, 2, 2, 3, 4, 5, 5]])})  # a wedge written as one
    mesh = read(tmp_path / "b.vtu")
    assert isinstance(mesh, TetMesh) and mesh.volumes.sum() == pytest.approx(0.5) and len(mesh.tets) == 3
    ends = [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]]
    cube = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], dtype=np.float64)
    meshio.write_points_cells(tmp_path / "c.vtu", np.concatenate([cube, cube[ends].mean(axis=1)]), {"hexahedron20": np.arange(20)[None]})
    mesh = read(tmp_path / "c.vtu")
    assert isinstance(mesh, TetMesh) and mesh.volumes.sum() == pytest.approx(1.0) and len(mesh.points) == 8


# ---- how the same file is written by different programs


def ply(ends: str = "\n") -> bytes:
    head = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 4\n"
    rows = [" ".join(f"{v:g}" for v in x) for x in X[:4]] + ["3 " + " ".join(map(str, f)) for f in FACES]
    return "\n".join([head + "property list uchar int vertex_indices\nend_header", *rows, ""]).replace("\n", ends).encode()


OBJ = "".join(f"v {x[0]:g} {x[1]:g} {x[2]:g}\n" for x in X) + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)
OFF = "OFF\n5 4 0\n" + "".join(f"{x[0]:g} {x[1]:g} {x[2]:g}\n" for x in X) + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)
STL = "solid a\n" + "".join("facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x[0]:g} {x[1]:g} {x[2]:g}\n" for x in X[f])
                            + "endloop\nendfacet\n" for f in FACES) + "endsolid a\n"  # fmt: skip
VTK = (
    "# vtk DataFile Version 3.0\na\nASCII\nDATASET POLYDATA\nPOINTS 4 double\n"
    + "".join(f"{x[0]:g} {x[1]:g} {x[2]:g}\n" for x in X[:4])
    + "POLYGONS 4 16\n"
    + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)
)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("name", "text"), [("a.obj", OBJ), ("a.off", OFF), ("a.stl", STL), ("a.ply", ply().decode()), ("a.veg", VEG), ("a.inp", INP)])
def test_ends_of_lines_and_a_mark_in_front_do_not_matter(tmp_path: Path, name: str, text: str, ends: str, mark: bytes) -> None:
    mesh, _ = load(written(tmp_path, name, mark + text.replace("\n", ends).encode()))
    surface = mesh.surface() if isinstance(mesh, TetMesh) else mesh
    assert isinstance(surface, Surface)
    assert mass_of_surface(surface).volume == pytest.approx(0.5 if isinstance(mesh, TetMesh) else 1 / 6)


@pytest.mark.parametrize("apart", [" ", "  \n "])
def test_numbers_of_off_files_may_run_on_over_lines(tmp_path: Path, apart: str) -> None:
    words = OFF.split()
    mesh = read(written(tmp_path, "a.off", " ".join(words[:9]) + apart + " ".join(words[9:])))
    assert isinstance(mesh, Surface) and mass_of_surface(mesh).volume == pytest.approx(1 / 6)
    for wrong in (words[:-1], [*words, "7"]):
        with pytest.raises(PliantError, match="announces 5 vertices and 4 faces"):
            read(written(tmp_path, "a.off", " ".join(wrong)))


def test_polygons_of_old_vtk_files(tmp_path: Path) -> None:
    mesh = read(written(tmp_path, "a.vtk", VTK))
    assert isinstance(mesh, Surface) and mass_of_surface(mesh).volume == pytest.approx(1 / 6)


def test_titles_of_columns_are_passed_over(tmp_path: Path) -> None:
    file = open_file(written(tmp_path, "a.xyz", "X,Y,Z\n" + "".join(f"{x[0]},{x[1]},{x[2]}\n" for x in X)))
    assert isinstance(file.mesh, PointCloud) and file.mesh.points == pytest.approx(X)
    assert any("names the columns" in notice for notice in file.notices)


def test_whole_numbers_of_gltf_stand_for_parts_of_one(tmp_path: Path) -> None:
    """Positions of two bytes (KHR_mesh_quantization), four values to a vertex."""
    document, data = gltf(4, FACES.ravel())
    short = np.zeros((4, 4), "<i2")
    short[:, :3] = np.round(32767 * X[:4])
    data = short.tobytes() + data[48:]
    document["bufferViews"][0] |= {"byteLength": 32, "byteStride": 8}
    document["bufferViews"][1]["byteOffset"] = 32
    document["accessors"][0] |= {"componentType": 5122, "normalized": True}
    mesh = read(written(tmp_path, "a.glb", glb(document, data)))
    assert isinstance(mesh, Surface) and mass_of_surface(mesh).volume == pytest.approx(8 / 6)


def test_vtp_as_surface_strip_and_cloud(tmp_path: Path) -> None:
    import pyvista

    flat = np.hstack([np.full((4, 1), 3), FACES]).ravel()
    pyvista.PolyData(X[:4], flat).save(tmp_path / "a.vtp")
    mesh = read(tmp_path / "a.vtp")
    assert isinstance(mesh, Surface) and mass_of_surface(mesh).volume == pytest.approx(1 / 6)
    pyvista.PolyData(X[:4], strips=np.array([6, 0, 2, 1, 3, 0, 2])).save(tmp_path / "b.vtp")
    strip = read(tmp_path / "b.vtp")
    assert isinstance(strip, Surface) and mass_of_surface(strip).volume == pytest.approx(1 / 6)
    pyvista.PolyData(X).save(tmp_path / "c.vtp")
    cloud = read(tmp_path / "c.vtp")
    assert isinstance(cloud, PointCloud) and cloud.points == pytest.approx(X)


def test_3mf_places_its_objects(tmp_path: Path) -> None:
    vertex = "".join(f'<vertex x="{x:g}" y="{y:g}" z="{z:g}"/>' for x, y, z in X[:4])
    triangle = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in FACES)
    model = (
        '<model unit="centimeter" xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02"><resources>'
        f'<object id="1"><mesh><vertices>{vertex}</vertices><triangles>{triangle}</triangles></mesh></object>'
        '<object id="2"><components><component objectid="1" transform="1 0 0 0 1 0 0 0 1 5 0 0"/><component objectid="1"/></components></object>'
        '</resources><build><item objectid="2" transform="2 0 0 0 2 0 0 0 2 0 0 7"/></build></model>'
    )
    path = tmp_path / "a.3mf"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("3D/3dmodel.model", model)
    file = open_file(path)
    assert isinstance(file.mesh, Surface)
    assert mass_of_surface(file.mesh).volume == pytest.approx(2 * 8 / 6)
    assert file.mesh.points.max(axis=0) == pytest.approx([12, 2, 9])
    assert any("centimeter (0.01 m)" in notice for notice in file.notices)


def test_ply_strips_are_unrolled(tmp_path: Path) -> None:
    points = "\n".join(" ".join(f"{v:g}" for v in x) for x in X[:4])
    head = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    strips = "element tristrips 1\nproperty list int int vertex_indices\nend_header\n"
    path = written(tmp_path, "a.ply", f"{head}{strips}{points}\n10 0 2 1 -1 0 1 3 2 -1 0\n")
    mesh = read(path)
    assert isinstance(mesh, Surface)
    assert sorted(map(sorted, mesh.faces.tolist())) == [[0, 1, 2], [0, 1, 3], [1, 2, 3]]
    normal = np.cross(X[1] - X[2], X[3] - X[2])
    turned = next(f for f in mesh.faces.tolist() if sorted(f) == [1, 2, 3])
    a, b, c = X[turned]
    assert np.dot(np.cross(b - a, c - a), normal) < 0.0  # every other triangle is turned round, so that all look the same way
