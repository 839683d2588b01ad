"""Contact methods, and what they share."""
