"""Networks of springs."""
