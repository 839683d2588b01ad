"""Write docs/matrix.md: every contact method with every pair of body models. Takes most of an hour of one core.

python docs/make_matrix.py [METHOD ...]

Methods that are not named keep what was found before (docs/matrix.json). Entries are computed side by side, as many as there are cores;
stopped and begun again, only those are that are missing (runs/matrix).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from pliant import PliantError
from pliant.shop.validate import matrix
from pliant.studies.tasks import Found, do_all

FOUND = Path(__file__).with_name("matrix.json")
ROWS = Path("runs") / "matrix"


def main() -> None:
    wanted = sys.argv[1:] or matrix.methods()
    cells = json.loads(FOUND.read_text()) if FOUND.exists() else []
    known = {(c["method"], c["a"], c["b"], c["action"]): matrix.Cell(**{**c, "wrong": tuple(c["wrong"])}) for c in cells}
    entries = [dict(zip(("method", "a", "b", "action"), entry, strict=True)) for entry in matrix.cells() if entry[0] in wanted]

    def over(task: Found) -> None:
        entry = tuple(task.given.values())
        if task.reason:
            raise PliantError(f"{' '.join(entry)}: {task.reason}")
        known[entry] = matrix.Cell(**{**task.value, "wrong": tuple(task.value["wrong"])})
        print(*entry, known[entry].mark, *known[entry].wrong, flush=True)

    do_all("pliant.shop.validate.matrix:trial", entries, out=ROWS, each=over, told=print)
    found = [known[entry] for entry in matrix.cells() if entry in known]
    FOUND.write_text("[\n" + ",\n".join(json.dumps(asdict(cell)) for cell in found) + "\n]\n")
    FOUND.with_suffix(".md").write_text(matrix.page(found))


if __name__ == "__main__":
    main()
