"""Texts that people write, in whatever locale they are read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pliant import PliantError, Scene
from pliant.disk import read_text, write_text

SCENE = "name = \"Würfel\"  # 20 °C\n[[bodies]]\nname = \"Boden\"\nshape = \"plane\"\nmodel = \"static\"\n"


def test_scenes_are_utf8_whatever_the_locale_says(tmp_path):
    (tmp_path / "a.toml").write_bytes(SCENE.encode())
    code = f"from pliant import Scene; print(ascii(Scene.load({str(tmp_path / 'a.toml')!r}).name))"
    bare = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=bare, capture_output=True, text=True)
    assert done.stdout.strip() == ascii("Würfel"), done.stderr


def test_a_mark_at_the_beginning_is_no_part_of_the_text(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + SCENE.encode())
    assert Scene.load(tmp_path / "a.toml").name == "Würfel"


def test_another_encoding_is_a_sentence(tmp_path):
    (tmp_path / "a.toml").write_bytes(SCENE.encode("latin-1"))
    with pytest.raises(PliantError, match="not a text in UTF-8: byte 9 is 0xfc"):
        Scene.load(tmp_path / "a.toml")
    with pytest.raises(PliantError, match="cannot read"):
        read_text(tmp_path)


def test_names_that_are_no_text_can_be_written_about(tmp_path):
    name = b"sc\xe9ne".decode("utf-8", "surrogateescape")  # as the system hands it over
    assert write_text(tmp_path / "a.html", f"<p>{name}</p>").read_bytes() == b"<p>sc\xe9ne</p>"
