"""Write into docs/theory which files hold what: the table of formulas in its README, and a line "Code: ..." below each heading.

python docs/make_theory.py

Code cites the pages as "theory/penalty 5.4" (also "5.4, 5.6", "3-5", or the page alone), and this reads those citations in src. To be run
after files have moved or citations have changed; tests/test_words.py says when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import tomlkit

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src" / "pliant"
THEORY = DOCS / "theory"
WIDTH = 140  # characters in a line of a page
BLANK = r"(?:\s+|\s*\n\s*#\s*)"  # also between two lines of a comment
NUMBER = r"\d+(?:\.\d+)*"
CITATION = re.compile(rf"\btheory/([a-z][a-z-]*)(?!\.md|[\w/-])(?:{BLANK}({NUMBER}(?:(?:-|,{BLANK}|{BLANK}and{BLANK}){NUMBER})*))?")
MARKS = "<!-- written by docs/make_theory.py -->", "<!-- end -->"
CODE = re.compile(r"(?m)^Code: `.*\n(?:`.*\n)*\n?")
EVERYWHERE = {  # titles of sections without formulas
    "What it is for", "Notation", "What is reported", "Limits", "Errata of the paper", "Golden numbers", "Properties", "Experiments",
}  # fmt: skip


def pages() -> dict[str, dict[str, str]]:
    """Titles of the numbered sections of each theory page."""
    return {
        file.stem: dict(re.findall(rf"^##+ ({NUMBER}) (.+)$", file.read_text(encoding="utf-8"), re.M))
        for file in sorted(THEORY.glob("*.md"))
        if file.stem != "README"
    }


def citations(text: str) -> Iterator[tuple[str, str]]:
    """(page, section) of everything that a text cites; section "" for a page as a whole. A range stands for all that is in it."""
    for match in CITATION.finditer(text):
        if not match[2]:
            yield match[1], ""
            continue
        for part in re.split(rf",{BLANK}|{BLANK}and{BLANK}", match[2]):
            first, dash, last = part.partition("-")
            stem = first.rpartition(".")[0]
            low, high = (int(number.rpartition(".")[2]) for number in (first, last if dash else first))
            yield from ((match[1], f"{stem}.{k}".lstrip(".")) for k in range(low, high + 1))


def cited() -> dict[str, dict[str, set[str]]]:
    """Files of src by page and section that they cite."""
    found: dict[str, dict[str, set[str]]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        for page, section in citations(file.read_text(encoding="utf-8")):
            found.setdefault(page, {}).setdefault(section, set()).add(file.relative_to(SOURCE).as_posix())
    return found


def files_of(page: str, section: str, found: dict[str, dict[str, set[str]]]) -> list[str]:
    """Files that hold a section: those that cite it by its own number; what only ships (shop) if the library does not.

    First those whose first docstring cites it, and of these first those that cite the least besides.
    """
    files = found.get(page, {}).get(section, set())
    cites = {file: sum(file in others for others in found[page].values()) for file in files}
    chosen = {file for file in files if not file.startswith("shop/")} or files
    return sorted(chosen, key=lambda file: (not _opens(file, page, section), cites[file], file))


def _opens(file: str, page: str, section: str) -> bool:
    text = (SOURCE / file).read_text(encoding="utf-8")
    return (page, section) in citations(text.split('"""')[1]) if text.startswith('"""') else False


def listed(name: str) -> dict[tuple[str, str], str]:
    """A table of docs/theory/formulas.toml, by page and section: `formulas`, or sections `without` one in the code."""
    tables = tomlkit.loads((THEORY / "formulas.toml").read_text(encoding="utf-8")).unwrap()
    return {(at.partition(" ")[0], at.partition(" ")[2]): what for at, what in tables[name].items()}


def formula_sections() -> set[tuple[str, str]]:
    """(page, section) of all that may hold a formula: sections without parts, but for those that every page has."""
    return {
        (page, number)
        for page, sections in pages().items()
        for number, title in sections.items()
        if title not in EVERYWHERE and not any(other.startswith(f"{number}.") for other in sections)
    }


def table() -> str:
    found, known = cited(), pages()
    lines = ["| formula | section | files in `src/pliant` |", "|---|---|---|"]
    for (page, section), what in listed("formulas").items():
        files = ", ".join(f"`{file}`" for file in files_of(page, section, found))
        lines.append(f"| {what} | [{page} {section}]({page}.md#{anchor(section, known[page][section])}) | {files} |")
    return "\n".join(lines)


def anchor(section: str, title: str) -> str:
    """What GitHub makes of a heading."""
    plain = re.sub(r"[^\w\- ]", "", f"{section} {title}".lower())
    return plain.replace(" ", "-")


def with_code(page: str, text: str, found: dict[str, dict[str, set[str]]]) -> str:
    """A page with the files that cite it below its title, and those that cite a section below its heading."""

    def line(match: re.Match[str]) -> str:
        files = ", ".join(f"`{file}`" for file in files_of(page, match[1] or "", found))
        return match[0] + (wrapped(f"Code: {files}") + "\n\n" if files else "")

    return re.sub(rf"(?m)^#+ (?:({NUMBER}) )?.+\n\n", line, CODE.sub("", text))


def wrapped(text: str) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def written() -> dict[Path, str]:
    """Every page as it should be."""
    first, last = MARKS
    out, found = {}, cited()
    for page in pages():
        file = THEORY / f"{page}.md"
        out[file] = with_code(page, file.read_text(encoding="utf-8"), found)
    index = THEORY / "README.md"
    text = index.read_text(encoding="utf-8")
    out[index] = text[: text.index(first)] + f"{first}\n{table()}\n{last}" + text[text.index(last) + len(last) :]
    return out


def main() -> None:
    for file, text in written().items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
