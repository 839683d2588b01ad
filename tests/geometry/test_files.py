"""Reading files: every format gives back what was written; damaged files are refused in sentences; nothing hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.geometry.files import FORMATS, PointCloud, open_file, read
from pliant.geometry.formats.raw import assembled
from pliant.geometry.mesh import Surface, TetMesh
from pliant.geometry.units import UNITS, UPWARD, rotation_matrix

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SOURCES = Path(__file__).resolve().parents[2] / "src"

CORNERS = np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)], dtype=float)
QUADS = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
KUHN = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


def volume(surface: Surface) -> float:
    a, b, c = np.moveaxis(surface.points[surface.faces], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def area(surface: Surface) -> float:
    a, b, c = np.moveaxis(surface.points[surface.faces], 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()) / 2.0


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# Volume meshes -------------------------------------------------------------------------------------------------------

WRITERS = {
    "a.msh": [dict(file_format="gmsh22", binary=False), dict(file_format="gmsh22", binary=True),
              dict(file_format="gmsh", binary=False), dict(file_format="gmsh", binary=True)],
    "a.vtk": [dict(file_format="vtk42", binary=False), dict(file_format="vtk42", binary=True),
              dict(file_format="vtk51", binary=False), dict(file_format="vtk51", binary=True)],
    "a.vtu": [dict(binary=False), dict(binary=True, compression=None), dict(binary=True, compression="zlib")],
    "a.mesh": [dict()],
    "a.meshb": [dict()],
    "a.inp": [dict()],
    "a.node": [dict(file_format="tetgen")],
}  # fmt: skip


ONLY_FOUR = ("a.node", "a.mesh", "a.meshb")  # meshio does not write ten-node tetrahedra there


@pytest.mark.parametrize(("name", "options", "order"), [(n, o, k) for n, all_ in WRITERS.items() for o in all_ for k in (1, 2)[: 1 + (n not in ONLY_FOUR)]])
def test_tet_mesh_comes_back_from_every_format(tmp_path: Path, name: str, options: dict, order: int) -> None:
    import meshio

    points, cells = CORNERS, ("tetra", KUHN)
    if order == 2:
        pairs = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]
        ends = np.sort(KUHN[:, pairs], axis=2)
        unique, middle = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
        points = np.concatenate([CORNERS, CORNERS[unique].mean(axis=1)])
        cells = ("tetra10", np.concatenate([KUHN, 8 + middle.reshape(-1, 6)], axis=1))
    meshio.write(tmp_path / name, meshio.Mesh(points, [cells]), **options)
    file = open_file(tmp_path / name)
    assert isinstance(file.mesh, TetMesh)
    assert np.array_equal(file.mesh.tets, KUHN)
    assert np.allclose(file.mesh.points, CORNERS, atol=1e-12)
    assert any("reduced to their 4 corners" in n for n in file.notices) == (order == 2)


def test_gmsh_version_1_with_gaps_in_the_numbers(tmp_path: Path) -> None:
    nodes = "\n".join(f"{10 * i + 3} {x} {y} {z}" for i, (x, y, z) in enumerate(CORNERS))
    tets = "\n".join(f"{i + 1} 4 1 1 4 " + " ".join(str(10 * v + 3) for v in t) for i, t in enumerate(KUHN))
    path = write(tmp_path, "a.msh", f"$NOD\n8\n{nodes}\n$ENDNOD\n$ELM\n6\n{tets}\n$ENDELM\n")
    mesh = read(path)
    assert isinstance(mesh, TetMesh)
    assert np.array_equal(mesh.tets, KUHN)
    assert np.array_equal(mesh.points, CORNERS)


@pytest.mark.parametrize("count", ["nan", "-inf", "1e300"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_gmsh_counts_that_are_none(count: str, tmp_path: Path) -> None:
    text = f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {count} 1 4\n3 1 0 4\n$EndNodes\n$Elements\n0 0 0 0\n$EndElements\n"
    with pytest.raises(PliantError, match="the .Nodes section makes no sense .a count or number in it is none"):
        read(write(tmp_path, "a.msh", text))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_bits_of_an_stl_file_that_are_no_number_are_told_in_the_report_alone(tmp_path: Path) -> None:
    from pliant.geometry.check import check_file

    corner = b"\x01\x00\x80\x7f"  # a NaN that signals: processors tell when they convert one
    (tmp_path / "a.stl").write_bytes(bytes(80) + b"\x01\0\0\0" + bytes(12) + corner + bytes(34))
    _, report = check_file(tmp_path / "a.stl")
    assert report.refused and "non-finite" in {finding.code for finding in report.findings}


def test_abaqus_blocks_continued_lines_and_comments(tmp_path: Path) -> None:
    text = (
        "*HEADING\n** a comment\n*NODE, NSET=A\n1, 0, 0, 0\n2, 1., 0, 0\n*NODE\n7, 0, 1, 0\n9, 0, 0, 1\n"
        "*ELEMENT, TYPE=C3D4, ELSET=E\n1, 1, 2,\n7, 9\n*NODE PRINT, NSET=A\nU\n*STEP\n"
    )
    mesh = read(write(tmp_path, "a.inp", text))
    assert isinstance(mesh, TetMesh)
    assert mesh.tets.tolist() == [[0, 1, 2, 3]]
    assert mesh.volumes[0] == pytest.approx(1 / 6)


def test_a_hexahedron_is_cut_and_said(tmp_path: Path) -> None:
    import meshio

    hexa = np.array([[0, 1, 3, 2, 4, 5, 7, 6]])
    meshio.write(tmp_path / "a.vtu", meshio.Mesh(CORNERS, [("hexahedron", hexa)]))
    file = open_file(tmp_path / "a.vtu")
    assert isinstance(file.mesh, TetMesh) and (file.mesh.volumes > 0.0).all()
    assert file.notices == ["1 cells of type hexahedron were cut into 6 tetrahedra."]


def test_a_mesh_with_polyhedra_is_refused_by_name() -> None:
    with pytest.raises(PliantError, match="holds 1 of type polyhedron8, which pliant cannot cut"):
        assembled(Path("a.vtu"), CORNERS, [("polyhedron8", np.arange(8)[None]), ("tetra", KUHN)])


# Surfaces ------------------------------------------------------------------------------------------------------------

OBJ_FACES = {
    "plain": [" ".join(str(v + 1) for v in q) for q in QUADS],
    "texture and normals": [" ".join(f"{v + 1}/3/1" for v in q) for q in QUADS],
    "normals": [" ".join(f"{v + 1}//1" for v in q) for q in QUADS],
    "backwards": [" ".join(str(v - 8) for v in q) for q in QUADS],
    "continued": [" \\\n".join(str(v + 1) for v in q) for q in QUADS],
}


@pytest.mark.parametrize("style", OBJ_FACES)
def test_obj_cube(tmp_path: Path, style: str) -> None:
    lines = [
        "# cube",
        "mtllib a.mtl",
        *(f"v {x} {y} {z} 0.5 nan 0.5" for x, y, z in CORNERS),
        "vn 0 0 1",
        "o a",
        "s off",
    ]
    lines += [f"f {face}" for face in OBJ_FACES[style]]
    mesh = read(write(tmp_path, "a.obj", "\n".join(lines)))
    assert isinstance(mesh, Surface)
    assert len(mesh.points) == 8
    assert len(mesh.faces) == 12
    assert volume(mesh) == pytest.approx(1.0)


def test_obj_without_faces_is_a_point_cloud(tmp_path: Path) -> None:
    cloud = read(write(tmp_path, "a.obj", "v 0 0 0\nv 1 2 3\n"))
    assert isinstance(cloud, PointCloud)
    assert cloud.points.tolist() == [[0, 0, 0], [1, 2, 3]]


@pytest.mark.parametrize("head", ["OFF\n8 6 0", "OFF 8 6 0", "8 6 0", "# c\nOFF\n\n# c\n8 6", "COFF\n8 6 12"])
def test_off_cube(tmp_path: Path, head: str) -> None:
    colour = " 255 0 0 255" if head.startswith("C") else ""
    rows = [f"{x} {y} {z}{colour}" for x, y, z in CORNERS] + ["4 " + " ".join(map(str, q)) + " 0.5 0.5 0.5" for q in QUADS]
    mesh = read(write(tmp_path, "a.off", head + "\n" + "\n".join(rows)))
    assert isinstance(mesh, Surface)
    assert volume(mesh) == pytest.approx(1.0)


def ply_cube(form: str, counter: str = "uchar", mixed: bool = False) -> bytes:
    """A cube of quads, or with one quad as two triangles, with properties before, between and after."""
    faces = [*QUADS[1:], QUADS[0][:3], [QUADS[0][0], *QUADS[0][2:]]] if mixed else QUADS
    head = (
        f"ply\nformat {form} 1.0\ncomment x\nelement vertex 8\n"
        "property double x\nproperty double y\nproperty double z\nproperty uchar red\n"
        f"element face {len(faces)}\nproperty uchar flags\nproperty list {counter} int vertex_indices\n"
        "element edge 1\nproperty int vertex1\nproperty int vertex2\nend_header\n"
    ).encode()
    if form == "ascii":
        rows = [f"{x} {y} {z} 7" for x, y, z in CORNERS] + [f"1 {len(q)} " + " ".join(map(str, q)) for q in faces] + ["0 1"]
        return head + "\n".join(rows).encode()
    order = "<" if "little" in form else ">"
    kind = {"uchar": "u1", "int": "i4"}[counter]
    body = b"".join(x.astype(order + "f8").tobytes() + b"\7" for x in CORNERS)
    for q in faces:
        body += b"\1" + np.array(len(q), order + kind).tobytes() + np.array(q, order + "i4").tobytes()
    return head + body + np.array([0, 1], order + "i4").tobytes()


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("counter", ["uchar", "int"])
@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply_cube(tmp_path: Path, form: str, counter: str, mixed: bool) -> None:
    mesh = read(write(tmp_path, "a.ply", ply_cube(form, counter, mixed)))
    assert isinstance(mesh, Surface)
    assert np.array_equal(mesh.points, CORNERS)
    assert volume(mesh) == pytest.approx(1.0)


def test_ply_point_cloud_with_normals(tmp_path: Path) -> None:
    names = "".join(f"property float {n}\n" for n in ("x", "y", "z", "nx", "ny", "nz"))
    text = f"ply\nformat ascii 1.0\nelement vertex 2\n{names}end_header\n1 2 3 0 1 0\n4 5 6 1 0 0\n"
    cloud = read(write(tmp_path, "a.ply", text), up="y")
    assert isinstance(cloud, PointCloud) and cloud.normals is not None
    assert cloud.points.tolist() == [[1, -3, 2], [4, -6, 5]]
    assert cloud.normals.tolist() == [[0, 0, 1], [1, 0, 0]]


def stl_text(corners: np.ndarray) -> str:
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n" for t in corners
    )
    return f"solid a\n{facets}endsolid a\n"


@pytest.mark.parametrize("binary", [False, True])
def test_stl_keeps_every_triangle_apart(tmp_path: Path, binary: bool) -> None:
    triangles = CORNERS[np.array([[q[0], q[i], q[i + 1]] for q in QUADS for i in (1, 2)])]
    if binary:
        body = b"".join(np.zeros(3, "<f4").tobytes() + t.astype("<f4").tobytes() + b"\0\0" for t in triangles)
        content: str | bytes = b"solid pretends to be text".ljust(80) + np.uint32(12).tobytes() + body
    else:
        content = stl_text(triangles)
    mesh = read(write(tmp_path, "a.STL", content))
    assert isinstance(mesh, Surface)
    assert (len(mesh.points), len(mesh.faces)) == (36, 12)
    assert volume(mesh) == pytest.approx(1.0)


@given(st.integers(5, 14), st.integers(0, 10**6), st.sampled_from([0, 1, 2]))
def test_polygons_of_any_shape_keep_area_and_side(tmp_path_factory: pytest.TempPathFactory, n: int, seed: int, drop: int) -> None:
    """A star-shaped, mostly concave polygon in any coordinate plane, turned either way."""
    rng = np.random.default_rng(seed)
    angle, radius = 2 * np.pi * np.arange(n) / n, rng.uniform(0.2, 2.0, n)
    flat = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    if seed % 2:
        flat = flat[::-1]
    points = np.insert(flat, drop, 0.7, axis=1)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()] + ["f " + " ".join(str(i + 1) for i in range(n))]
    mesh = read(write(tmp_path_factory.mktemp("polygon"), "a.obj", "\n".join(lines)))
    assert isinstance(mesh, Surface)
    x, y = flat.T
    exact = 0.5 * abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))))
    assert area(mesh) == pytest.approx(exact, rel=1e-9)  # overlapping triangles would have more


# Point clouds --------------------------------------------------------------------------------------------------------


def test_xyz_rows_with_and_without_normals(tmp_path: Path) -> None:
    plain = read(write(tmp_path, "a.xyz", "# c\n2\n1 2 3\n4,5,6\n"))
    assert isinstance(plain, PointCloud) and plain.normals is None
    assert plain.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    with_normals = read(write(tmp_path, "a.pwn", "1 2 3 0 0 1\n4 5 6 0 1 0\n"))
    assert isinstance(with_normals, PointCloud) and with_normals.normals is not None
    assert with_normals.normals.tolist() == [[0, 0, 1], [0, 1, 0]]
    coloured = open_file(write(tmp_path, "c.xyz", "1 2 3 255 0 17\n4 5 6 1 2 3\n"))
    assert isinstance(coloured.mesh, PointCloud) and coloured.mesh.normals is None
    assert "not unit normals" in coloured.notices[0]


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", CORNERS.astype(np.float32))
    cloud = read(tmp_path / "a.npy", unit="mm")
    assert isinstance(cloud, PointCloud)
    assert np.allclose(cloud.points, CORNERS / 1000)
    np.save(tmp_path / "b.npy", np.array([{"no": "pickles"}]))
    with pytest.raises(PliantError, match="not a NumPy array of numbers"):
        read(tmp_path / "b.npy")


# Units and axes ------------------------------------------------------------------------------------------------------


def points_of(path: Path, **how: object) -> np.ndarray:
    return read(path, **how).points  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", UNITS)
def test_unit(tmp_path: Path, unit: str) -> None:
    path = write(tmp_path, "a.xyz", "0 0 0\n1 2 3\n")
    assert np.allclose(points_of(path, unit=unit)[1], np.array([1, 2, 3]) * UNITS[unit], rtol=1e-15)


def test_inch_and_foot_are_exact() -> None:
    assert (UNITS["in"], UNITS["ft"], UNITS["yd"]) == (0.0254, 0.3048, 0.9144)


@pytest.mark.parametrize("up", UPWARD)
def test_up_turns_the_named_axis_to_z_without_mirroring(tmp_path: Path, up: str) -> None:
    axis = np.zeros(3)
    axis["xyz".index(up[-1])] = -1.0 if up.startswith("-") else 1.0
    path = write(tmp_path, "a.xyz", "{} {} {}\n".format(*axis) + "1 0 0\n0 1 0\n0 0 1\n")
    x = points_of(path, up=up)
    assert x[0].tolist() == [0, 0, 1]
    assert np.linalg.det(x[1:]) == pytest.approx(1.0)


def test_size_is_the_largest_extent_also_when_turned(tmp_path: Path) -> None:
    path = write(tmp_path, "a.xyz", "0 0 0\n10 4 2\n")
    assert np.allclose(points_of(path, size=0.5, up="y")[1], [0.5, -0.1, 0.2])
    assert np.linalg.norm(points_of(path, size=0.5, rotation=[0.3, -1, 2])[1]) == pytest.approx(0.05 * np.sqrt(120))


def test_rotation_forms_agree(tmp_path: Path) -> None:
    path = write(tmp_path, "a.xyz", "1 0 0\n0 1 0\n")
    quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    for form in ([0, 0, 90], [0, 0, 5, 90], quarter):
        assert np.allclose(points_of(path, rotation=form), [[0, 1, 0], [-1, 0, 0]])
    assert np.array_equal(rotation_matrix([0, 0, 0]), np.eye(3))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (dict(unit="furlong"), "unit 'furlong' is not known"),
        (dict(up="w"), "is not an axis"),
        (dict(size=-1), "positive length"),
        (dict(size=1, unit="mm"), "give only one"),
        (dict(rotation=[[1, 0, 0], [0, 1, 0], [0, 0, -1]]), "mirror"),
        (dict(rotation=[0, 0, 0, 90]), "no length"),
        (dict(rotation=[1, 2]), "shape"),
    ],
)
def test_bad_placement_is_refused(tmp_path: Path, how: dict, words: str) -> None:
    with pytest.raises(PliantError, match=words):
        read(write(tmp_path, "a.xyz", "0 0 0\n1 1 1\n"), **how)


# Refusals ------------------------------------------------------------------------------------------------------------

MSH = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{nodes}$EndNodes\n$Elements\n{elements}$EndElements\n"
NODES = "4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"
DAMAGED = {
    "a.obj": [
        ("v 0 0\n", "line 1: a vertex needs three coordinates"),
        ("v 0 0 zero\n", "line 1: coordinates should be numbers"),
        ("v 0 0 0\n\nf 1 2 3\n", r"line 3: .*uses vertex 1 \(counted from 0\), but the file has 1 vertices"),
        ("v 0 0 0\nf 0 1 1\n", "line 2: .*numbered from 1"),
        ("v 0 0 0\nf -2 1 1\n", "line 2: .*vertex -2"),
        ("", "it has 0 bytes"),
    ],
    "a.off": [
        ("", "empty"),
        ("NOTOFF\n", "starts with 'OFF'"),
        ("OFF\n2 0 0\n0 0 0\n", "announces 2 vertices and 0 faces, but only 1 vertices"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1\n", "line 6: a face announces 3 corners but lists 2"),
        ("4OFF\n1 0 0\n0 0 0 0\n", "not three-dimensional"),
    ],
    "a.stl": [("solid a\nendsolid a\n", "no triangles"),
              ("solid a\nvertex 0 0 0\nendfacet\n", "line 3"), ("xx", "holds 0")],
    "a.ply": [
        ("plx", "starts with 'ply'"),
        ("ply\nformat ascii 1.0\nelement vertex x\nend_header\n", "line 3"),
        (ply_cube("ascii")[:-30], "announces"),
        (ply_cube("binary_little_endian")[:-30], "ends in row 4 of 6 of 'face'"),
        (ply_cube("ascii").replace(b"property double z\n", b"property double w\n"), "x, y and z"),
    ],
    "a.xyz": [("1 2\n", "line 1"),
              ("1 2 3\n1 2 3 4\n", "line 2: this row has 4 columns"), ("C 1 2 3\n", "'C 1 2 3'"), ("", "it has 0 bytes")],
    "a.msh": [
        ("", "empty"),
        ("hello\n", "starts with .MeshFormat"),
        (MSH.format(nodes=NODES, elements="2\n1 4 0 1 2 3 4\n"), "line 12: .Elements announces 2 rows but holds 1"),
        (MSH.format(nodes=NODES[2:], elements="1\n1 4 0 1 2 3 4\n"), "line 5: .Nodes should begin with the number"),
        (MSH.format(nodes=NODES, elements="1\n1 4 0 1 2 3 9\n"), "tetra 0 .* uses node 9"),
        (MSH.format(nodes=NODES, elements="1\n1 4 0 1 2 3\n"), "line 13: a tetra has 4 nodes, but this row lists 3"),
        (MSH.format(nodes=NODES, elements="1\n1 99 0 1 2 3\n"), "line 13: element type 99"),
        (MSH.format(nodes=NODES, elements="")[:-14], "cut off"),
        ("$MeshFormat\n7.0 0 8\n$EndMeshFormat\n", "not a readable Gmsh file"),
    ],
    "a.node": [("4 3 0 0\n", "a.ele is missing")],
    "a.inp": [
        ("*NODE\n1, 0, 0, 0\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n", "tetra 0 .* uses node 2"),
        ("*NODE\n1, 0, 0, 0\n1, 5, 0, 0\n", "line 3: node 1 is defined twice"),
        ("hello\n", "no .NODE block"),
        ("*INCLUDE, INPUT=b.inp\n", "INCLUDE is not followed"),
    ],
    "a.vtk": [
        ("#vtk DataFile Version 2.0\n", "first line should read"),
        ("# vtk DataFile Version 2.0\nt\nASCII\nDATASET POLYDATA\n", "holds no points"),
        ("# vtk DataFile Version 2.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
         "POINTS 0 float\nCELLS 2 0\nCELL_TYPES 1\n10\n", "announces 2"),
    ],
    "a.vtu": [("<VTKFile", "XML is broken"), ("", "it has 0 bytes")],
    "a.mesh": [("MeshVersionFormatted 1\nDimension 3\nVertices\n4\n0 0 0 0\n", "Medit|no tetrahedra")],
    "a.dae": [("*VERTICES\n", "files of type '.dae' are not read; pliant reads .obj")],
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), [(n, c, w) for n, rows in DAMAGED.items() for c, w in rows])
def test_damaged_file_is_refused_with_the_reason(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(PliantError, match=words) as caught:
        read(path)
    assert name.split(".")[0] in str(caught.value)


def test_missing_file_names_the_near_ones(tmp_path: Path) -> None:
    write(tmp_path, "bunny.obj", "v 0 0 0\n")
    with pytest.raises(PliantError, match="Did you mean bunny.obj"):
        read(tmp_path / "buny.obj")
    with pytest.raises(PliantError, match="is a folder"):
        read(tmp_path)


def test_empty_tetgen_files_do_not_hang(tmp_path: Path) -> None:
    write(tmp_path, "a.node", "")
    write(tmp_path, "a.ele", "")
    with pytest.raises(PliantError, match="empty"):
        read(tmp_path / "a.node")


def samples() -> dict[str, bytes]:
    """One small good file of each format, written once."""
    import tempfile

    import meshio

    out: dict[str, bytes] = {
        "obj": "\n".join([*(f"v {x} {y} {z}" for x, y, z in CORNERS), "f 1 2 4 3", "f -1 -2 -3"]).encode(),
        "off": ("OFF\n8 1 0\n" + "\n".join(f"{x} {y} {z}" for x, y, z in CORNERS) + "\n4 0 2 3 1\n").encode(),
        "stl": stl_text(CORNERS[np.array([[0, 1, 2], [3, 4, 5]])]).encode(),
        "ply": ply_cube("ascii"),
        "ply.2": ply_cube("binary_big_endian", "int", True),
        "xyz": b"1 2 3\n4 5 6\n",
        "node": ("8 3 0 0\n" + "\n".join(f"{i} {x} {y} {z}" for i, (x, y, z) in enumerate(CORNERS))).encode(),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, all_options in WRITERS.items():
            for k, options in enumerate(all_options):
                if name != "a.node":
                    path = Path(folder) / f"{k}{Path(name).suffix}"
                    meshio.write(path, meshio.Mesh(CORNERS, [("tetra", KUHN)]), **options)
                    out[f"{path.suffix[1:]}.{k}"] = path.read_bytes()
        path = Path(folder) / "a.npy"
        np.save(path, CORNERS)
        out["npy"] = path.read_bytes()
    return out


SAMPLES: dict[str, bytes] = {}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_gives_a_mesh_or_a_sentence(tmp_path: Path, data: st.DataObject) -> None:
    """Cut off, overwritten or mutilated anywhere: never another exception, never a hang."""
    if not SAMPLES:
        SAMPLES.update(samples())
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    content = bytearray(SAMPLES[name])
    kind = data.draw(st.sampled_from(["cut", "overwrite", "remove", "insert"]))
    at = data.draw(st.integers(0, len(content) - 1))
    if kind == "cut":
        del content[at:]
    elif kind == "remove":
        del content[at : at + data.draw(st.integers(1, 20))]
    elif kind == "insert":
        content[at:at] = data.draw(st.sampled_from([b"-", b" ", b"\n", b"9", b"x", b"\0", b"nan"]))
    else:
        content[at] = data.draw(st.integers(0, 255))
    path = write(tmp_path, "a." + name.split(".")[0], bytes(content))
    write(tmp_path, "a.ele", "1 4 0\n0 0 1 2 4\n")
    try:
        mesh = read(path)
    except PliantError as error:
        assert str(path.parent) in str(error)
    else:
        cells = mesh.tets if isinstance(mesh, TetMesh) else mesh.faces if isinstance(mesh, Surface) else np.zeros(0, int)
        assert len(mesh.points) > 0
        assert not len(cells) or 0 <= cells.min() <= cells.max() < len(mesh.points)


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, pliant.geometry.files, pliant.geometry.check, pliant.geometry.tetrahedralise\n"
        "print([m for m in ('meshio', 'trimesh', 'scipy', 'numba', 'pyvista', 'pytetwild') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# The collected files -------------------------------------------------------------------------------------------------

REASONS = {
    "dirty/bullet_beam_nonstandard.vtk": "first line should read .* and CELLS announces 48 cells but CELL_TYPES 10",
    "dirty/mujoco_malformed_cube_22_ascii_missing_element.msh": "line 22: .Elements announces 24 rows but holds 23",
    "dirty/mujoco_malformed_cube_22_ascii_missing_node.msh": "line 5: .Nodes announces 14 rows but holds 13",
    "dirty/mujoco_malformed_cube_22_ascii_missing_num_elements.msh": "line 22: .Elements should begin with the number",
    "dirty/mujoco_malformed_cube_22_ascii_missing_num_nodes.msh": "line 5: .Nodes should begin with the number",
    "dirty/sofa_armadillo_broken.vtu": "announces 1445 points but its coordinates make 1446",
    "dirty/trimesh_empty.stl": "no triangles",
}
OTHER = {".e"}  # mesh files of formats that are not read
FILES = sorted(p for p in DATA.rglob("*") if p.suffix.lower() in {*FORMATS, *OTHER}) if DATA.is_dir() else []


@pytest.mark.parametrize("path", FILES or [None], ids=lambda p: p.relative_to(DATA).as_posix() if p else "no data")
def test_collected_file_is_read_or_refused_with_its_true_reason(path: Path | None, capfd: pytest.CaptureFixture[str]) -> None:
    if path is None:
        pytest.skip("the collected files are not here")
    name = path.relative_to(DATA).as_posix()
    reason = REASONS.get(name)
    if path.suffix in OTHER:
        reason = f"files of type '{path.suffix}' are not read"
    if reason:
        with pytest.raises(PliantError, match=reason):
            read(path)
    else:
        mesh = read(path)
        expected = COUNTS.get(name)
        if expected:
            cells = mesh.tets if isinstance(mesh, TetMesh) else mesh.faces if isinstance(mesh, Surface) else ()
            assert (len(mesh.points), len(cells)) == expected
    assert capfd.readouterr() == ("", "")


def counts() -> dict[str, tuple[int, int]]:
    """Vertices and cells as the folder's own README gives them (points as stored in the file)."""
    import re

    out = {}
    text = (DATA / "README.md").read_text() if (DATA / "README.md").exists() else ""
    for folder, table in re.findall(r"^## (surface|points|tet|dirty)/(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL):
        for name, v, cells in re.findall(r"^\| (\S+) \|[^|]*\| (\d+) v(?:, (\d+) (?:tri|tets)| \(points\)) \|", table, re.MULTILINE):
            out[f"{folder}/{name}"] = (int(v), int(cells or 0))
    for name, v in [("tet/polyfem_sphere_coarse_P2.msh", 18), ("tet/polyfem_sphere_coarse_P4.msh", 18)]:
        out[name] = (v, 30)  # nodes between corners are left out
    out.pop("dirty/trimesh_busted.STL", None)  # the README counts welded vertices
    return out


COUNTS = counts()


@pytest.mark.skipif(not FILES, reason="the collected files are not here")
def test_one_mesh_in_several_formats_is_one_mesh() -> None:
    for names in (["mmg_cube" + s for s in (".mesh", ".msh", ".vtk", ".vtu")],
                  [f"polyfem_msh_{k}.msh" for k in ("22_ascii", "22_binary", "41_ascii", "41_binary")]):  # fmt: skip
        meshes = [read(DATA / "tet" / name) for name in names]
        for mesh in meshes:
            assert isinstance(mesh, TetMesh) and isinstance(meshes[0], TetMesh)
            assert len(mesh.points) == len(meshes[0].points)
            assert np.allclose(mesh.points[mesh.tets], meshes[0].points[meshes[0].tets], atol=1e-6)
