"""Writes bunny.obj, the mesh of 02_own_mesh.toml, the way a modelling tool might: in millimetres, with y up."""

from pathlib import Path

from pliant import shapes

surface = shapes.make("bunny", height=0.15, edge=0.012).surface()
lines = ["# A bunny made by pliant's shapes (examples/make_bunny.py). Millimetres, y up."]
# (x, y, z) with z up becomes (x, z, -y) with y up
lines += [f"v {1000 * x:.2f} {1000 * z:.2f} {-1000 * y:.2f}" for x, y, z in surface.points]
lines += [f"f {a} {b} {c}" for a, b, c in surface.faces + 1]
Path(__file__).with_name("bunny.obj").write_text("\n".join(lines) + "\n")
