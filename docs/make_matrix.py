"""Write docs/matrix.md: every contact method with every pair of body models. Takes many minutes.

python docs/make_matrix.py [METHOD ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from pliant.validate import matrix


def main() -> None:
    wanted = sys.argv[1:] or matrix.methods()
    found = []
    for entry in matrix.cells():
        if entry[0] in wanted:
            found.append(matrix.trial(*entry))
            print(*entry, found[-1].mark, *found[-1].wrong, flush=True)
    Path(__file__).with_name("matrix.md").write_text(matrix.page(found))


if __name__ == "__main__":
    main()
