"""Steps in time, and the solvers they need."""
