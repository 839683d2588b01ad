"""Bodies that never move, or as their motions say."""
