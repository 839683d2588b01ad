"""Write docs/matrix.md: every contact method with every pair of body models. Takes most of an hour of one core.

python docs/make_matrix.py [METHOD ...]

Methods that are not named keep what was found before (docs/matrix.json).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from pliant.shop.validate import matrix

FOUND = Path(__file__).with_name("matrix.json")


def main() -> None:
    wanted = sys.argv[1:] or matrix.methods()
    cells = json.loads(FOUND.read_text()) if FOUND.exists() else []
    known = {(c["method"], c["a"], c["b"], c["action"]): matrix.Cell(**{**c, "wrong": tuple(c["wrong"])}) for c in cells}
    for entry in matrix.cells():
        if entry[0] in wanted:
            known[entry] = matrix.trial(*entry)
            print(*entry, known[entry].mark, *known[entry].wrong, flush=True)
    found = [known[entry] for entry in matrix.cells() if entry in known]
    FOUND.write_text("[\n" + ",\n".join(json.dumps(asdict(cell)) for cell in found) + "\n]\n")
    FOUND.with_suffix(".md").write_text(matrix.page(found))


if __name__ == "__main__":
    main()
