"""Pictures need pyvista; the plots need matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyvista")
sys.path.insert(0, str(Path(__file__).parent))

import scene as falling  # noqa: E402

from pliant.record import Run  # noqa: E402


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six frames of a sinking box beside a ball."""
    return falling.record(tmp_path_factory.mktemp("look") / "falling")
