"""Write docs/references.bib and CITATION.cff from docs/references.toml, the one place where literature is entered.

python docs/make_references.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomlkit

DOCS = Path(__file__).parent
ROOT = DOCS.parent
HEAD = """\
# Written by docs/make_references.py.
cff-version: 1.2.0
message: If you use pliant in your work, please cite it, and the source of the contact method you used (see references).
type: software
title: "pliant: contact between soft, quasi-rigid and rigid bodies, simulated and measured"
version: {version}
license: Apache-2.0
authors:
  - name: The pliant authors
keywords:
  - contact
  - soft body
  - finite elements
  - friction
  - simulation
references:
"""
BIB = {"thesis": "misc"}  # types that BibTeX does not have; its own theses need an author and a year
CFF = {"inproceedings": "conference-paper", "techreport": "report", "misc": "generic"}
FIELDS = ("year", "journal", "booktitle", "publisher", "institution", "volume", "number", "pages", "doi", "note")
LETTERS = {
    "ä": '{\\"a}', "ö": '{\\"o}', "ü": '{\\"u}', "é": "{\\'e}",
    "à": "{\\`a}", "ă": "{\\u a}", "ç": "{\\c c}", "æ": "{\\ae}", "ø": "{\\o}", "&": "\\&",
}  # fmt: skip


def works() -> dict[str, dict[str, Any]]:
    """Every work by its key, as in [Spillmann 2007]."""
    return dict(tomlkit.loads((DOCS / "references.toml").read_text(encoding="utf-8")).unwrap())


def bib() -> str:
    """The file for BibTeX."""
    return "% Written by docs/make_references.py.\n\n" + "\n".join(bib_entry(key, work) for key, work in works().items())


def bib_entry(key: str, work: dict[str, Any]) -> str:
    lines = [f"@{BIB.get(work['type'], work['type'])}{{{bib_key(key)},"]
    names = [f"{{{name}}}" if ", " not in name else name for name in work["authors"]]  # in braces: not a person's name
    values = {"author": " and ".join(names), "title": "{" + work["title"] + "}"}
    values |= {name: str(work[name]) for name in FIELDS if name in work}
    if "source_of" in work:
        values["note"] = (sentence(work) + " " + values.get("note", "")).strip()
    if "pages" in values:
        values["pages"] = values["pages"].replace("-", "--")
    lines += [f"  {name} = {{{tex(value)}}}," for name, value in values.items()]
    return "\n".join(lines) + "\n}\n"


def bib_key(key: str) -> str:
    """Plain letters only: Muller2004 for [Müller 2004]."""
    plain = {"ä": "a", "ö": "o", "ü": "u"}
    return "".join(plain.get(letter, letter) for letter in key if letter != " ")


def tex(text: str) -> str:
    return "".join(LETTERS.get(letter, letter) for letter in text)


def sentence(work: dict[str, Any]) -> str:
    methods = [f'"{name}"' for name in work["source_of"]]
    return f"Source of the method{'s' if len(methods) > 1 else ''} {' and '.join(methods)}."


def cff() -> str:
    """The file that says how to cite pliant; its references are the sources of the contact methods."""
    found = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    assert found is not None
    sources = [work for work in works().values() if "source_of" in work]
    return HEAD.format(version=found.group(1)) + "".join(cff_entry(work) for work in sources)


def cff_entry(work: dict[str, Any]) -> str:
    lines = [f"type: {CFF.get(work['type'], work['type'])}", f"title: {quoted(work['title'])}", "authors:"]
    for name in work["authors"]:
        family, _, given = name.partition(", ")
        lines += [f"  - family-names: {family}", f"    given-names: {given}"] if given else [f"  - name: {name}"]
    lines += [f"{name}: {work[name]}" for name in ("journal",) if name in work]
    if "booktitle" in work:
        meeting = work["booktitle"].removeprefix("Proceedings of ").removeprefix("the ")
        lines += [f"collection-title: {work['booktitle']}", "conference:", f"  name: {meeting}"]
    if "institution" in work:
        lines += ["institution:", f"  name: {work['institution']}"]
    lines += [f"year: {work['year']}"] if "year" in work else []
    lines.append(f"notes: {quoted((sentence(work) + ' ' + work.get('note', '')).strip())}")
    return "  - " + "\n    ".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text in YAML in one line."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main() -> None:
    (DOCS / "references.bib").write_text(bib(), encoding="utf-8")
    (ROOT / "CITATION.cff").write_text(cff(), encoding="utf-8")


if __name__ == "__main__":
    main()
