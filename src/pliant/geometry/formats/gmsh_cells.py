"""The cell types of Gmsh."""

from __future__ import annotations

# Gmsh's number of a cell type: name as meshio spells it, number of nodes.
CELLS = {
    1: ("line", 2),
    2: ("triangle", 3),
    3: ("quad", 4),
    4: ("tetra", 4),
    5: ("hexahedron", 8),
    6: ("wedge", 6),
    7: ("pyramid", 5),
    8: ("line3", 3),
    9: ("triangle6", 6),
    10: ("quad9", 9),
    11: ("tetra10", 10),
    12: ("hexahedron27", 27),
    13: ("wedge18", 18),
    14: ("pyramid14", 14),
    15: ("vertex", 1),
    16: ("quad8", 8),
    17: ("hexahedron20", 20),
    18: ("wedge15", 15),
    19: ("pyramid13", 13),
    21: ("triangle10", 10),
    23: ("triangle15", 15),
    26: ("line4", 4),
    27: ("line5", 5),
    29: ("tetra20", 20),
    30: ("tetra35", 35),
    31: ("tetra56", 56),
}
