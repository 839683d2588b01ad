"""Velocities turned back where surfaces cross."""
