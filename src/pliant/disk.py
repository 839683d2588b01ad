"""Files that are written whole or not at all, and errors of the disk in sentences."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pliant.base import DiskError, PliantError

TEMPORARY = ".part"
SMALL = 1 << 16  # bytes of a write that a library may read again
CURES = {
    errno.ENOSPC: "free some space, or choose another place",
    errno.EDQUOT: "free some space, or choose another place",
    errno.EFBIG: "files may not be that large here (ulimit -f, or the file system); choose another place",
    errno.EROFS: "choose a place that can be written",
    errno.EACCES: "choose a place that you may write",
    errno.EPERM: "choose a place that you may write",
    errno.EEXIST: "there is a file of that name",
    errno.ENOENT: "create its folder first",
    errno.EISDIR: "it is a folder; name a file",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def said(error: OSError, path: str | Path | None = None) -> str:
    """An error of the disk in one sentence: which file, why, what to do."""
    reason = error.strerror or str(error) or type(error).__name__
    cure = CURES.get(error.errno or 0)
    return f"{path or error.filename or 'a file'}: {reason}" + (f"; {cure}" if cure else "")


def failure(error: OSError, doing: str, path: str | Path | None = None) -> PliantError:
    """An error to raise: of the disk, or of input where the path is wrong; "cannot write" and the like say what failed."""
    wrong = error.errno in (errno.ENOENT, errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG)
    return (PliantError if wrong else DiskError)(f"{doing} {said(error, path)}")


def file_stem(name: str, what: str) -> str:
    """A name that may name files in a folder that is chosen for them, and nowhere else."""
    plain = name.strip()
    bad = next((letter for letter in plain if letter in "/\\:*?\"<>|" or ord(letter) < 32), None)
    if not plain or bad is not None or plain.startswith(".") or len(plain.encode("utf-8", "surrogateescape")) > 150:
        why = f"it has {bad!r} in it" if bad is not None else "it begins with a dot" if plain.startswith(".") else "it is empty or too long"
        raise PliantError(f"{what} '{name[:80]}' cannot name a file: {why}. Choose another name, or say with --out where to write.")
    return plain


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path`, with its suffix, that takes its place if all goes well; else what was there stays."""
    path = Path(path)
    if not path.name:
        raise PliantError(f"cannot write {path}: it is a folder; name a file")
    temporary = path.with_name(f"{path.stem[:200]}.{os.getpid()}{TEMPORARY}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise failure(error, "cannot write", path) from None
        raise


def refuse_special(path: str | Path) -> None:
    """Refuse what is there, but neither a file nor a folder: reading a pipe or a device may never end."""
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise PliantError(f"{path} is not a file but a device, a pipe or a socket; save its content in a file first.")


def read_text(path: str | Path) -> str:
    """The text of a file in UTF-8, whatever the locale; with or without the mark that some editors put first."""
    refuse_special(path)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is {error.object[error.start]:#04x}"
        raise PliantError(f"{path} is not a text in UTF-8: {byte}. Save it as UTF-8.") from None
    except OSError as error:
        raise failure(error, "cannot read", path) from None


def write_text(path: str | Path, text: str) -> Path:
    """Write a text as UTF-8, whole or not at all; names of files that are no text keep their bytes."""
    return write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write bytes, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return Path(path)


def try_room(path: str | Path, size: int) -> None:
    """Take so many bytes beside a file and give them back: what does not fit is not begun by a library that cannot bear a full disk."""
    trial = Path(path).with_name(f"{Path(path).stem[:200]}.{os.getpid()}.room{TEMPORARY}")
    try:
        Reserved(trial, size).close()
    except OSError as error:
        raise failure(error, "cannot write", path) from None
    finally:
        with suppress(OSError):
            trial.unlink(missing_ok=True)


def try_place(path: str | Path) -> None:
    """Refuse ahead what takes no file: nobody should work for minutes on what cannot be written. Its folder is made."""
    if not Path(path).name or Path(path).is_dir():
        raise PliantError(f"cannot write {path}: it is a folder; name a file")
    folder = Path(path).parent
    made = not folder.exists()
    make_folder(folder)
    try:
        try_room(path, 1)
    except PliantError:
        with suppress(OSError):  # nothing is left of what cannot be
            if made:
                folder.rmdir()
        raise


def make_folder(path: str | Path) -> Path:
    """A folder with all that it lies in, if it is not there."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise failure(error, "cannot make the folder", path) from None
    return Path(path)


class Reserved(io.RawIOBase):
    """A new file for a library that cannot bear a full disk: its space is taken ahead, and an error of writing is kept, not raised.

    `size` [bytes] is what it will take. Call `finish` when the library has closed what it wrote.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.file = open(path, "w+b", buffering=0)
        self.error: OSError | None = None
        try:
            if hasattr(os, "posix_fallocate") and size:
                os.posix_fallocate(self.file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # a file system that cannot reserve
                self.file.close()
                raise

        self.refused: list[tuple[int, bytes]] = []  # offset and content of what the disk did not take
        self.at, self.end = 0, 0  # where the library is, and where it thinks that the file ends

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.at = offset + (0, self.at, self.end)[whence]
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        """What was written, also what the disk has refused; zeros where nothing was, for the library does not look how much came."""
        view = memoryview(buffer).cast("B")
        self.file.seek(self.at)
        count = self.file.readinto(view) or 0
        view[count:] = bytes(len(view) - count)
        for begin, part in self.refused:
            low, high = max(begin, self.at), min(begin + len(part), self.at + len(view))
            if low < high:
                view[low - self.at : high - self.at] = part[low - begin : high - begin]
        self.at += len(view)
        return len(view)

    def write(self, buffer: Any) -> int:
        """All of it; what the disk refuses is remembered, if it is small: the library reads its own notes again, not our arrays."""
        view = memoryview(buffer).cast("B")
        size, rest = len(view), view
        try:
            self.file.seek(self.at)
            while rest and self.error is None:
                rest = rest[self.file.write(rest) :]
        except OSError as error:
            self.error = error
        if self.error is not None and size <= SMALL:
            self.refused.append((self.at, bytes(view)))
        self.at += size
        self.end = max(self.end, self.at)
        return size

    def truncate(self, size: int | None = None) -> int:
        """To a length, as the library sees it; `finish` makes it so."""
        self.end = self.at if size is None else size
        return self.end

    def flush(self) -> None:
        """Nothing is held back."""

    def finish(self) -> None:
        """Give back what was reserved and not needed; raise what the disk refused."""
        if self.error is not None:
            raise self.error
        self.file.truncate(self.end)

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()
