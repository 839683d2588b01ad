"""Run files and journals with damaged bytes: what is read is what was written, or a sentence; nothing else, and no crash."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from pliant.base import PliantError
from pliant.record import Run, apart, repair, resume_writer, vtkhdf
from pliant.record.salvage import sift

_spec = importlib.util.spec_from_file_location("fuzz_kit", Path(__file__).with_name("kit.py"))
kit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kit)

CORPUS = Path(__file__).parents[1] / "record" / "corpus"
VERIFIED = sorted(p for p in CORPUS.iterdir() if p.name.startswith(("format2", "format3")) or p.suffix == ".journal")
OLD = [CORPUS / "format1-block.vtkhdf", CORPUS / "format1-finished.vtkhdf"]  # no checksums: wrong numbers cannot be noticed


Content = tuple[str, bytes, tuple[bytes, ...]]


def contents(run: Run) -> list[Content]:
    """Every record that can be used: its kind, its head, and all that is in it. Rows of steps are counted anew where some are lost."""
    found = []
    for entry in sift(run.entries).entries:
        meta = {key: value for key, value in entry.meta.items() if key != "row"}
        arrays = tuple(entry.load(name).tobytes() for name in entry.specs if name != "pair/row")
        found.append((entry.kind, json.dumps(meta, sort_keys=True).encode(), arrays))
    return found


@pytest.fixture(scope="module")
def truth():
    found = {}
    for path in VERIFIED:
        with Run.open(path) as run:
            found[path] = contents(run)
    return found


def looked_at(path: Path, right: list[Content]) -> str:
    """Open a damaged run, compare all that can be had of it with the truth, save and resume it."""
    with Run.open(path) as run:
        got = contents(run)
        if vtkhdf.unverified(run.entries):  # of older formats, with a damaged index
            assert any("without checksums" in sentence for sentence in run.damage)
            known = {array for _, _, arrays in right for array in arrays}
            wrong = [kind for kind, _, arrays in got if not known.issuperset(arrays)]
            assert not wrong, f"numbers read wrongly, though they have checksums: {wrong}"
            return "heads in doubt, and said so"
        wrong = [content[0] for content in got if content not in right]
        assert not wrong, f"read wrongly, and nobody said so: {wrong}"
        frames = sum(kind == "frame" for kind, _, _ in got)
        complete = got == right
        told = bool(run.damage or run.dropped_bytes or sift(run.entries).lost)
    assert complete or told, "something is missing, and nobody said so"
    written, sifted = repair(path, path.with_name("saved"))
    if written is not None:
        with Run.open(written) as saved:
            assert saved.frames >= frames and not saved.damage
    try:
        recorder, _ = resume_writer(path)
        recorder._writer.close()
    except PliantError:
        return "read, not resumed"
    return "whole" if complete else "what is whole was read"


@pytest.fixture
def quick_search(monkeypatch):
    """HDF5's search of a file whose index is damaged in a process that has all modules already: starting one takes half a second."""

    def search(path: Path) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                vtkhdf.walk_ahead(path)
            finally:
                os._exit(0)
        apart.judge(path, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    import h5py  # noqa: F401  once, here

    monkeypatch.setattr("pliant.record.vtkhdf.search", search)
    monkeypatch.setattr("pliant.record.apart.opens", lambda path: True)  # whole ones need not be written again


@pytest.mark.parametrize("cases", kit.budgets(60, 5000))
def test_damaged_runs(cases, truth, tmp_path, quick_search):
    def case(rng):
        source = rng.choice(VERIFIED)
        for old in tmp_path.iterdir():
            old.unlink()
        path = tmp_path / f"run{source.suffix}"
        path.write_bytes(kit.damaged_bytes(rng, source.read_bytes()))
        return looked_at(path, truth[source])

    kit.judged(cases, 29, case)


@pytest.mark.parametrize("cases", kit.budgets(25, 2000))
def test_damaged_runs_of_the_first_format(cases, tmp_path, quick_search):
    """HDF5 reads these: what it does not survive is refused before."""

    def case(rng):
        path = tmp_path / "run.vtkhdf"
        path.write_bytes(kit.damaged_bytes(rng, rng.choice(OLD).read_bytes()))
        with Run.open(path) as run:
            contents(run)
        return "read"

    kit.judged(cases, 30, case)
