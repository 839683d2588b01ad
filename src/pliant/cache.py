"""Where machine code is kept: one folder per source file and content.

Numba notices edits of a kernel's own file only, and keeps code by path. Here the folder of a file carries the hash of its text and of
the text of every file that it takes compiled helpers or constants from, so code can never be stale, and another copy of the same
text finds it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching

PACKAGE = Path(__file__).parent
COMPILER = PACKAGE / "compiler.py"  # has a part in all machine code
MONTH = 30 * 86400.0  # [s] machine code that nobody used for so long is removed
_IMPORT = re.compile(r"^from (pliant[\w.]*) import (\([^)]*\)|[^\n#]*)", re.M)
_COMPILED = re.compile(r"^@(inline|kernel|parallel)\b", re.M)


@cache
def _text(file: Path) -> str:
    return file.read_text("utf-8")


@cache
def _modules() -> dict[str, Path]:
    """The files of pliant by the name of their module; looked up once, because start-up asks some two thousand times."""
    names = {f: ".".join(("pliant", *f.relative_to(PACKAGE).with_suffix("").parts)) for f in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".__init__"): f for f, name in names.items()}


@cache
def _sources(file: Path) -> frozenset[Path]:
    """The files of pliant that a file takes compiled helpers or constants from."""
    found = set()
    for module, names in _IMPORT.findall(_text(file)):
        for name in re.findall(r"\w+", re.sub(r"\bas \w+", "", names)):
            other = _modules().get(f"{module}.{name}") or _modules().get(module)
            if other is not None and (name.isupper() or _compiled(other)):
                found.add(other)
    return frozenset(found)


@cache
def _compiled(file: Path) -> bool:
    return _COMPILED.search(_text(file)) is not None


@cache
def digest(file: Path) -> str:
    """Changes with a file and with all that its machine code is made of."""
    closure, open_ = {file, COMPILER}, [file]
    while open_:
        for other in _sources(open_.pop()) - closure:
            closure.add(other)
            open_.append(other)
    return hashlib.sha256("\0".join(sorted(map(_text, closure))).encode()).hexdigest()[:16]


@cache
def whole() -> str:
    """Changes with any file of pliant that holds kernels."""
    files = [f for f in sorted(PACKAGE.rglob("*.py")) if _compiled(f)]
    return hashlib.sha256("".join(map(digest, files)).encode()).hexdigest()[:16]


class ByContent(caching._CacheLocator):  # type: ignore[misc]
    """Tells Numba where the machine code of a function is."""

    of_pliant = True  # compiler.py reads what is found so without what only compiling needs

    def __init__(self, function: Any, folder: Path) -> None:
        self.folder, self.line = folder, function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            _forget_old()
        elif time.time() - self.folder.stat().st_mtime > MONTH / 30:
            os.utime(self.folder)  # in use

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return self.folder.name

    def get_disambiguator(self) -> str:
        return str(self.line)

    @classmethod
    def from_function(cls, function: Any, file: str) -> ByContent | None:
        folder = None if FOLDER is None else _folder(FOLDER, Path(file))
        return None if folder is None else cls(function, folder)


@cache
def _folder(home: Path, file: Path) -> Path | None:
    """Where machine code of a file is; None of what is not of pliant, nor made with it."""
    inside = file.is_relative_to(PACKAGE)
    if not file.is_file() or not (inside or _sources(file)):
        return None
    name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts) if inside else hashlib.sha256(os.fsencode(file)).hexdigest()[:12]
    return home / f"{name}-{digest(file)}"


@cache
def _forget_old() -> None:
    """Remove machine code that nobody used for a month; once per process that compiles."""
    assert FOLDER is not None
    for old in FOLDER.iterdir():
        with suppress(OSError):  # another process may remove it at the same time
            if time.time() - old.stat().st_mtime > MONTH:
                shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink(missing_ok=True)


FOLDER: Path | None = None


def _user() -> int:
    """The number of who runs this; 0 where users have none."""
    return os.getuid() if hasattr(os, "getuid") else 0


def _own(folder: Path) -> bool:
    """Whether a folder belongs to this user: what lies there is run, so it must not come from another one."""
    return not hasattr(os, "getuid") or (not folder.is_symlink() and folder.stat().st_uid == _user())


def install(boundscheck: bool) -> Path | None:
    """Keep machine code in a writable folder that belongs to the user; None, and nothing is kept, if there is none."""
    global FOLDER
    name = f"{sys.implementation.cache_tag}{'-checked' if boundscheck else ''}"
    homes = [os.environ.get("PLIANT_CACHE"), os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")]
    places = [Path(home) / "pliant" for home in filter(None, homes)] + [Path(tempfile.gettempdir()) / f"pliant-{_user()}"]
    for folder in (place / each for place in places for each in (name, f"{name}-{_user()}")):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not _own(folder) or (folder.parent == places[-1] and not _own(folder.parent)):
                continue
            with tempfile.TemporaryFile(dir=folder):
                FOLDER = folder
                break
        except OSError:
            continue
    locators = getattr(caching, "CacheImpl" if hasattr(caching, "CacheImpl") else "_CacheImpl")._locator_classes  # named by version
    if FOLDER is not None and ByContent not in locators:
        locators.insert(0, ByContent)
    return FOLDER
