"""Bodies of cubic cells that a surface cuts: cells copied for each piece of material in them, weighted by how much of them is inside."""
