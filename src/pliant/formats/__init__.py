"""Runs for other programs that draw: glTF and USD, with bodies as nodes, motion as keyframes and a field as colours."""

from pliant.formats.gltf import write_glb
from pliant.formats.usd import write_usd

__all__ = ["write_glb", "write_usd"]
