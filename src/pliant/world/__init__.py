"""A scene as flat arrays that move: bodies on their own, pushes between them."""
