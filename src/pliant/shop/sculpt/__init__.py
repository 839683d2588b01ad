"""Shapes for shows: chess pieces, busts, vessels."""
