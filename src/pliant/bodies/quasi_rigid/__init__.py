"""Rigid frames whose surface gives way where something presses."""
