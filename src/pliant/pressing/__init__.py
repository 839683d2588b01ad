"""Two objects pressed together quasi-statically: `pliant.press`, and the command of that name. See docs/press.md."""
