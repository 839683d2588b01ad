"""Full and read-only disks, and limits on the size of a file: one sentence, nothing lost, no crash of a library."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pliant.base import DiskError
from pliant.cli import main
from pliant.disk import Reserved, replacing, write_text
from pliant.record import Run, repair

FRAMES = 12
resource = pytest.importorskip("resource", reason="limits are those of Unix")


def in_child(work) -> int:
    """The exit code of a function in a process of its own; a signal is a negative one."""
    pid = os.fork()
    if pid == 0:
        code = 70
        with contextlib.suppress(BaseException):
            code = work()
        os._exit(code)
    status = os.waitpid(pid, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def ended(toy, path: Path, limit: int | None = None) -> int:
    """0: finished; 1: a sentence about the disk; 2: finished, but for the run file."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        recorder = toy.play(path, FRAMES, scale=4)
    except DiskError as error:
        return 1 if "cannot" in str(error) and "\n" not in str(error) else 71
    return 2 if recorder.trouble else 0


def check_rest(toy, whole: Run, path: Path) -> None:
    """What was recorded before is there, bit for bit, and the run goes on to its end once there is room."""
    if any(path.with_suffix(suffix).exists() for suffix in (".journal", ".vtkhdf")):
        with Run.open(path) as run:
            assert run.frames <= whole.frames and not run.damage
            for i in range(run.frames):
                assert run.points(i).tobytes() == whole.points(i).tobytes()
    assert in_child(lambda: ended(toy, path)) == 0
    with Run.open(path) as run:
        assert [e.specs for e in run.entries] == [e.specs for e in whole.entries]


@pytest.fixture(scope="module")
def whole(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    toy.play(path, FRAMES, scale=4)
    with Run.open(path) as run:
        yield run


SIZES = [4, pytest.param(30, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", SIZES)
def test_limits_on_the_size_of_files(toy, whole, tmp_path, count):
    size = whole.path.stat().st_size
    codes = []
    for k, limit in enumerate(np.linspace(0, 1.5 * size, count).astype(int).tolist()):
        codes.append(in_child(lambda: ended(toy, tmp_path / f"run{k}", limit)))  # noqa: B023
        check_rest(toy, whole, tmp_path / f"run{k}")
    assert {0, 1} <= set(codes) <= {0, 1, 2}


@pytest.mark.parametrize("count", SIZES)
def test_full_disks(toy, whole, tmp_path, small_disk, count):
    size = whole.path.stat().st_size
    codes = []
    for limit in np.linspace(4096, 4 * size, count).astype(int).tolist():
        with small_disk(tmp_path / "disk", limit) as disk:
            codes.append(in_child(lambda: ended(toy, disk / "run")))  # noqa: B023
            subprocess.run(["mount", "-o", f"remount,size={8 * size}", disk], check=True)
            check_rest(toy, whole, disk / "run")
    assert {0, 1} <= set(codes) <= {0, 1, 2}


def said_by(capsys, *words) -> tuple[int, str]:
    """Exit code and what the command line said about an error."""
    before = sys.argv
    sys.argv = ["pliant", *map(str, words)]
    try:
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = before
    return code, capsys.readouterr().err.strip()


def sentence(code: int, text: str) -> bool:
    return code == 1 and text.startswith("Error: ") and "\n" not in text and "Traceback" not in text


COMMANDS = {
    "resume": ["resume", "RUN", "--duration", "9", "--no-pictures"], "vtu": ["export", "RUN"], "ply": ["export", "RUN", "--to", "ply"],
    "csv": ["export", "RUN", "--to", "csv"], "contacts": ["contacts", "RUN"], "html": ["view", "RUN", "--html", "DISK/x.html"],
    "schema": ["schema", "--out", "DISK/x.json"], "repair": ["repair", "RUN", "--out", "DISK/again"],
    "nc": ["export", "RUN", "--to", "nc"], "zarr": ["export", "RUN", "--to", "zarr"], "usd": ["export", "RUN", "--to", "usd"],
    "figure": ["figure", "RUN", "--out", "DISK/x.pdf"], "mp4": ["export", "RUN", "--to", "mp4"],
    "press": ["press", "ball:10cm", "--force", "10N", "--out", "DISK/new"], "response": ["response", "DISK/x.csv", "--thickness", "2cm"],
    "validate": ["validate", "cone", "--quick", "--out", "DISK/new"], "study": ["study", "STUDY", "--out", "DISK/new", "--workers", "0"],
}  # fmt: skip


NEEDED = {"nc": ("xarray", "h5netcdf"), "zarr": ("xarray", "zarr"), "usd": ("pxr",)}


@pytest.mark.parametrize("state", ["read-only", "full"])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_writes_ends_in_a_sentence(tmp_path, capsys, small_disk, name, state):
    for module in NEEDED.get(name, ()):
        pytest.importorskip(module)
    source = (Path(__file__).with_name("corpus") / "format2-block.vtkhdf").read_bytes()
    if name == "repair":
        source = _damaged(source)
    with small_disk(tmp_path / "disk", len(source) + 16384) as disk:
        (disk / "run.vtkhdf").write_bytes(source)
        if state == "full":
            with contextlib.suppress(OSError), open(disk / "filler", "wb") as filler:
                while True:
                    filler.write(bytes(256))
                    filler.flush()
        else:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        before = sorted(os.listdir(disk))
        names = {"RUN": disk / "run.vtkhdf", "DISK": disk, "STUDY": tmp_path / "study.toml"}
        names["STUDY"].write_text('scene = "slope"\n[parameters.dt]\nvalues = [0.004]\n')
        command = COMMANDS[name]
        for word, stands_for in names.items():
            command = [each.replace(word, str(stands_for)) for each in command]
        code, text = said_by(capsys, *command)
        assert sentence(code, text), (code, text)
        assert (disk / "run.vtkhdf").read_bytes() == source and sorted(os.listdir(disk)) == before


def _damaged(content: bytes) -> bytes:
    """With one wrong bit in the points of a frame."""
    import tempfile

    import h5py

    with tempfile.NamedTemporaryFile(suffix=".vtkhdf") as file:
        Path(file.name).write_bytes(content)
        with h5py.File(file.name) as run:
            at = run["VTKHDF/Points"].id.get_offset() + 3
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_folders_and_places_that_are_not_there(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text = said_by(capsys, "schema", "--out", "nowhere/x.json")
    assert code == 2 and "create its folder first" in text and "\n" not in text
    for command in (["info", "."], ["repair", "."], ["export", "."]):
        code, text = said_by(capsys, *command)
        assert code == 2 and "is a folder, not a run" in text


LONG = {
    "report": ["report", "RUN"], "figure": ["figure", "RUN"], "png": ["export", "RUN", "--to", "png"],
    "gif": ["export", "RUN", "--to", "gif"], "compare": ["compare", "bowl"], "refine": ["refine", "RUN"],
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_nothing_is_computed_for_a_place_that_cannot_be_written(tmp_path, capsys, small_disk, monkeypatch, name):
    """`refine` ran a scene six times, and then found that its plot could not be written."""

    def work(*given, **more):
        raise AssertionError("worked before it looked")

    for module, function in (
        ("look.report", "report"), ("look.figure", "figure"), ("look", "still"), ("look", "movie"), ("studies.tasks", "do_all"),
        ("studies.refine", "refine"),
    ):  # fmt: skip
        monkeypatch.setattr(importlib.import_module(f"pliant.{module}"), function, work)
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        (disk / "run.vtkhdf").write_bytes((Path(__file__).with_name("corpus") / "format2-block.vtkhdf").read_bytes())
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        monkeypatch.chdir(disk)
        code, text = said_by(capsys, *[word.replace("RUN", str(disk / "run.vtkhdf")) for word in LONG[name]])
        assert sentence(code, text), (code, text)
        monkeypatch.undo()  # nobody may be in a file system that goes


def test_what_was_there_stays_when_writing_fails(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(DiskError, match=r"cannot write .*a\.txt"), replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("half of the ne")
        raise OSError(28, "No space left on device")
    assert (tmp_path / "a.txt").read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]
    write_text(tmp_path / "a.txt", "newer ü")
    assert (tmp_path / "a.txt").read_text("utf-8") == "newer ü"


def test_a_file_layer_that_hides_errors_until_the_end(tmp_path):
    class Full:
        """A file on a disk that takes ten bytes."""

        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, view):
            if self.file.tell() + len(view) > 10:
                raise OSError(28, "No space left on device")
            return self.file.write(view)

    layer = Reserved(tmp_path / "a", 4)
    layer.file = Full(layer.file)
    assert layer.write(b"12345678") == 8 and layer.error is None
    assert layer.write(b"9012345") == 7 and layer.tell() == layer.seek(0, 2) == 15
    back = bytearray(b"x" * 20)
    assert layer.seek(3) == 3 and layer.readinto(back) == 20  # the library sees what it wrote, and zeros behind it
    assert back == b"456789012345" + bytes(8)
    with pytest.raises(OSError, match="No space"):
        layer.finish()
    layer.close()


def test_enough_space_is_reserved(toy, tmp_path, monkeypatch):
    """So that HDF5 never meets a full disk on file systems that reserve."""
    from pliant.record import vtkhdf

    asked = []
    monkeypatch.setattr(vtkhdf, "Reserved", lambda path, size: asked.append(size) or Reserved(path, size))
    for scale, frames in ((1, 3), (1, FRAMES), (4, FRAMES)):
        toy.play(tmp_path / f"run{scale}{frames}", frames, scale=scale)
        assert (tmp_path / f"run{scale}{frames}.vtkhdf").stat().st_size <= asked[-1]


def test_repair_needs_something_to_repair(tmp_path):
    with pytest.raises(ValueError, match="no run to repair"):
        repair(tmp_path / "nothing")
