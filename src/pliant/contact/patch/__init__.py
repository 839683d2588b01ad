"""Contact over the common surface, solved together with the bodies."""
