"""The toy run, shared by the tests of this folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOY = Path(__file__).with_name("toy.py")


@pytest.fixture(scope="session")
def toy():
    """The module toy.py beside this file."""
    spec = importlib.util.spec_from_file_location("record_toy", TOY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
