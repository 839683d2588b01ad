"""The material laws that come with pliant, one per file: the formula in NumPy, and again for the kernels."""
