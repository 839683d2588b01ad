"""Rigid bodies: a frame with a mass."""
