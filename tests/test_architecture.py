"""Imports point one way: the table of layers in docs/architecture.md is what holds."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pliant"
REASON = "start-up"  # a lazy import says so in its line, in the line above, or in the docstring of its module or folder
UPWARDS = {("scene", "simulate"), ("shown", "live")}  # `scene.simulate()` and `thing.show()`: the doors that open upwards, said in docs/architecture.md

# Imports that still point upwards, and lazy ones without a reason. These lists can only become shorter: what is no longer so must go.
KNOWN: set[str] = set()
UNREASONED: set[str] = set()


@dataclass(frozen=True)
class Import:
    """One import of a module of pliant by another."""

    file: Path
    line: int
    importer: str  # folder or module directly under src/pliant
    imported: str
    lazy: bool
    reasoned: bool

    @property
    def known(self) -> str:
        """As it is listed in KNOWN and UNREASONED."""
        return f"{self.file.relative_to(SOURCE)}: {self.importer} imports {self.imported}"

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.importer} imports {self.imported}" + (" lazily" if self.lazy else "")


def complaint(wrong: list[Import], known: set[str]) -> str:
    """Imports that are wrong and not known to be, and those that are known to be and are right now: take them out of the list."""
    right = known - {i.known for i in wrong}
    return "\n".join([*(str(i) for i in wrong if i.known not in known), *(f"no longer so: {line}" for line in sorted(right))])


def layers() -> dict[str, int]:
    """Height of each folder and module, by the table of docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", text, re.M)
    return {name: int(height) for height, names in rows for name in re.findall(r"`([\w.]+?)(?:\.py)?/?`", names)}


def part(module: str) -> str:
    """The folder or module directly under src/pliant that a dotted name is in."""
    return module.split(".")[1] if "." in module else "pliant"


@cache
def docstring(file: Path) -> str | None:
    return ast.get_docstring(ast.parse(file.read_text())) if file.exists() else None


def imports(file: Path) -> list[Import]:
    """All imports of pliant's modules in a file, those for type checkers left out."""
    text = file.read_text()
    tree, lines, found = ast.parse(text), text.splitlines(), []
    said = [ast.get_docstring(tree), docstring(file.with_name("__init__.py"))]
    declared = any(REASON in (text or "") for text in said)
    mine = file.relative_to(SOURCE).with_suffix("").parts[0]
    mine = "pliant" if mine in ("__init__", "__main__") else mine

    def visit(node: ast.AST, lazy: bool) -> None:
        for child in (each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr)):  # no expression imports
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            names = []
            if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "pliant":
                names = [f"pliant.{alias.name}" if child.module == "pliant" else str(child.module) for alias in child.names]
            elif isinstance(child, ast.Import):
                names = [alias.name for alias in child.names if alias.name.split(".")[0] == "pliant"]
            first = getattr(child, "lineno", 1) - 1
            while names and lines[first - 1].strip().startswith(("from ", "import ")):  # a comment is for all imports below it
                first -= 1
            near = " ".join(lines[max(first - 1, 0) : child.end_lineno]) if names else ""
            for name in names:
                found.append(Import(file, child.lineno, mine, part(name), lazy, declared or REASON in near))
            visit(child, lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    visit(tree, False)
    return found


@cache
def everything() -> list[Import]:
    return [each for file in sorted(SOURCE.rglob("*.py")) for each in imports(file)]


def test_every_part_has_a_layer():
    height = layers()
    parts = {p.stem for p in SOURCE.iterdir() if (p.suffix == ".py" or (p / "__init__.py").exists()) and not p.stem.startswith("__")}
    assert parts <= set(height), "not in the table of docs/architecture.md"
    assert set(height) <= parts, "in the table of docs/architecture.md, and not there"


def test_imports_point_down():
    height = layers() | {"pliant": 99}
    public = {"Scene": "scene", "press": "pressing", "__version__": "base"}  # names of the public door that code inside uses
    wrong = [
        i for i in everything()
        if i.importer != i.imported and height[i.importer] <= height[public.get(i.imported, i.imported)] and (i.importer, i.imported) not in UPWARDS
    ]  # fmt: skip
    assert not (said := complaint(wrong, KNOWN)), said


def test_lazy_imports_have_a_reason():
    wrong = [i for i in everything() if i.lazy and not i.reasoned]
    assert not (said := complaint(wrong, UNREASONED)), f"say `{REASON}` in a comment or import at the top:\n{said}"


def test_the_test_sees_what_it_should(tmp_path, monkeypatch):
    """Planted imports: at the top, for types only, in a function, in a function with a reason."""
    lines = [
        "from pliant.contact.method import METHODS",
        "if TYPE_CHECKING:",
        "    from pliant.cli import app",
        "def f():",
        "    from pliant.look import draw",
        "",
        "    from pliant.live import page  # start-up",
    ]
    planted = tmp_path / "planted.py"
    planted.write_text("\n".join(lines))
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    assert [(i.imported, i.lazy, i.reasoned) for i in imports(planted)] == [
        ("contact", False, False), ("look", True, False), ("live", True, True),
    ]  # fmt: skip
