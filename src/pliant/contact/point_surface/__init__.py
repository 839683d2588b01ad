"""Contact of surfels on a common contact surface (Keiser et al. 2004)."""
