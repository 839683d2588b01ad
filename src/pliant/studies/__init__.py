"""Studies: many runs of one scene, and what they say together. Lazy imports in this folder keep start-up short."""
