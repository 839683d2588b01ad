"""Random examples are the same in every run, so that a test that passed here passes elsewhere; PLIANT_FUZZ=1 draws new ones."""

import contextlib
import datetime
import gc
import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy loads: on a busy machine its threads wait for each other thirty times as long

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("patient", deadline=None)  # how long an example takes says nothing on a busy machine
settings.load_profile("patient")
settings.register_profile("steady", settings.get_profile("patient"), derandomize=True)
settings.register_profile("few", settings.get_profile("steady"), max_examples=40)
STEADY = os.environ.get("PLIANT_FUZZ", "") in ("", "0")
if STEADY:
    settings.load_profile("steady")


def pytest_configure(config):
    """The quick set takes fewer examples where a test does not say how many."""
    if STEADY and config.option.markexpr == "not slow":
        settings.load_profile("few")


SLOW_CASES = {line for line in (Path(__file__).parent / "slow_cases.txt").read_text().splitlines() if not line.startswith("#")}


# Tables with a test for each cell, and searches over many seeds, take hours: --slow does one case in so many, others every day, --whole does
# all. A case that fails is repeated by `./test --whole NAME`, all of a day by PLIANT_TURN, which workers of pytest inherit.
TURN = int(os.environ.setdefault("PLIANT_TURN", str(datetime.date.today().toordinal())))
ONE_IN = {
    "tests/test_matrix.py::test_every_model_meets_every_other": 23,
    "tests/contract/test_resume.py::test_stopped_and_resumed_at_many_steps": 23,
    "tests/test_validate.py::test_every_problem_passes_or_is_known": 7,
    "tests/test_scenes.py::test_the_whole_scene_keeps_its_promise_and_its_warnings_are_explained": 5,
    "tests/test_scenes.py::test_corner_cases_under_contact_over_the_common_surface": 5,
    "tests/contact/test_corner_cases.py::test_a_corner_case_ends_as_the_page_says": 7,
    "tests/test_thresholds.py::test_its_test_notices": 13,
    "tests/detect/test_patches.py::test_area_and_integrals_are_those_of_many_rays": 10,
    "tests/geometry/test_any_mesh.py::test_a_broken_solid_becomes_the_body_it_was": 5,
    "tests/geometry/test_any_mesh.py::test_thin_sheets_hang_together_and_stay_apart": 5,
}


# Begun first, so that no process waits for a long one at the end, and one browser does for all.
FIRST = tuple(f"tests/{name}.py" for name in ("live/test_browser", "live/test_screens", "test_examples", "test_notebooks", "studies/test_clusters"))


def pytest_report_header():
    return f"PLIANT_TURN={TURN}: which cases of long tables --slow takes"


def pytest_collection_modifyitems(items):
    """Mark what slow_cases.txt names as slow, and what --slow leaves to --whole; long tests come first."""
    cases = dict.fromkeys(ONE_IN, 0)
    for item in items:
        if item.nodeid in SLOW_CASES:
            item.add_marker(pytest.mark.slow)
        name = item.nodeid.partition("[")[0]
        if name in ONE_IN and item.get_closest_marker("slow"):
            if (cases[name] - TURN) % ONE_IN[name]:
                item.add_marker(pytest.mark.whole)
            cases[name] += 1
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_collection_finish():
    """What is there by now stays to the end: looking through it for garbage again and again is some 5 % of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def log_of_this_test():
    """What a command that ran in this process tells the log is not told to the standard error of later tests."""
    yield
    log = logging.getLogger("pliant")
    log.handlers.clear()
    log.setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch):
    """However slow a machine is, a command says no more than its test knows of."""
    monkeypatch.setattr("pliant.waiting.SILENT", 1e9)


@pytest.fixture
def small_disk():
    """A real file system of so many bytes in a folder: `with small_disk(folder, size) as folder`."""

    @contextlib.contextmanager
    def mounted(folder: Path, size: int) -> Iterator[Path]:
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("no right to mount a file system")
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)

    return mounted
