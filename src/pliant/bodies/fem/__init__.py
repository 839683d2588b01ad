"""Tetrahedra with a material law."""
