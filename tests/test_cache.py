"""Where machine code is kept: it is loaded and run, so it must come from nobody else."""

from __future__ import annotations

import os
import sys

import pytest

from pliant import cache

NAME = sys.implementation.cache_tag


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "given"))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(cache, "FOLDER", None)
    return tmp_path


def test_a_folder_of_another_user_is_left_alone(home, monkeypatch):
    assert cache.install(False) == home / "given" / "pliant" / NAME
    monkeypatch.setattr(cache, "_own", lambda folder: folder.name != NAME)
    assert cache.install(False).name == f"{NAME}-{cache._user()}"
    monkeypatch.setattr(cache, "_own", lambda folder: False)
    monkeypatch.setattr(cache, "FOLDER", None)
    assert cache.install(False) is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users with numbers")
def test_own_means_owner_and_no_link(tmp_path, monkeypatch):
    assert cache._own(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    assert not cache._own(tmp_path / "link")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not cache._own(tmp_path)


def test_without_a_home_it_is_kept_in_a_temporary_folder_of_the_user(home, monkeypatch):
    (home / "blocked").write_text("no folder")
    monkeypatch.setenv("PLIANT_CACHE", str(home / "blocked"))
    monkeypatch.setenv("HOME", str(home / "blocked"))
    assert cache.install(False) == home / "temporary" / f"pliant-{cache._user()}" / NAME
