"""Meshes, shapes made by code, files."""
