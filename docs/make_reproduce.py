"""Writes what `pliant reproduce` measured into the pages docs/reproduce-*.md:  .venv/bin/python docs/make_reproduce.py [FOLDER ...]

Beside a number that differs from what was published is why. A second table has every figure that the command draws, beside what the source
has there.

FOLDER is what `pliant reproduce` left, runs/reproduce unless given; of several the last that has an experiment counts. Experiments that
none has, or only in their quick form, keep the rows that their page has.
"""

import re
import sys
from pathlib import Path

from pliant.shop.reproduce import SOURCES, experiments
from pliant.shop.reproduce.crew import Found, found_in
from pliant.shop.reproduce.verdict import DIFFERS, Line, judge

HERE = Path(__file__).parent
BEGIN, END = "<!-- measured by docs/make_reproduce.py -->\n", "<!-- end -->\n"
HEAD = "| id | what | published | here | asked | verdict |\n|---|---|---|---|---|---|\n"
DRAWN = "\n| figure | shows | in the source |\n|---|---|---|\n"


def anew(found: Found) -> list[Line]:
    """What was measured, judged by the claims as they are now; lines that nobody asks for any more are left out."""
    claims = {claim.what: claim for claim in experiments(found.source)[found.id].claims}
    return [judge([claims[line.what]], {claims[line.what].key: line.value})[0] for line in found.lines if line.what in claims]


def rows(found: Found) -> list[str]:
    """A row of the table for each line; the id and what it took in the first."""
    told = [f"| {found.id} |  |  | did not end: {found.failed} |  |  |"] if found.failed else []
    for line in anew(found):
        first = f"{found.id} ({found.seconds:.0f} s)" if not told else ""
        told.append(f"| {first} | {line.what} | {line.published} | {line.here} | {line.tolerance or '-'} | {verdict(line)} |")
    return told


def verdict(line: Line) -> str:
    """The word, and why if it differs."""
    return f"**{line.verdict}**: {line.why}" if line.verdict == DIFFERS else line.verdict


def before(page: str) -> dict[str, list[str]]:
    """The rows that a page has, by experiment."""
    kept: dict[str, list[str]] = {}
    last = ""
    for row in page.splitlines():
        if row.startswith(DRAWN.split("\n")[1]):
            break
        named = re.match(r"\| (\w+)( \(.*? s\))? \|", row)
        last = named.group(1) if named and row.startswith("| ") and named.group(1) not in ("id",) else last
        if last and row.startswith("| "):
            kept.setdefault(last, []).append(row)
    return kept


def write(name: str, folders: list[Path]) -> None:
    path = HERE / f"reproduce-{name}.md"
    head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    old, _, tail = rest.partition(END)
    kept = before(old)
    kept |= {found.id: rows(found) for folder in folders for found in found_in(folder / name) if not found.quick}
    table = "\n".join(row for i in experiments(name) for row in kept.get(i, [f"| {i} | not run whole |  |  |  |  |"]))
    figures = "".join(f"| `{f.file}` | {f.shows} | {f.source or '-'} |\n" for each in experiments(name).values() for f in each.figures)
    path.write_text(head + BEGIN + HEAD + table + "\n" + DRAWN + figures + END + tail, encoding="utf-8")


if __name__ == "__main__":
    for source in SOURCES:
        write(source, [Path(folder) for folder in sys.argv[1:] or ["runs/reproduce"]])
