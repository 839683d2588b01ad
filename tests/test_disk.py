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


@pytest.mark.parametrize("given", [{"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "utf-8:strict"}])
def test_a_terminal_that_cannot_show_a_letter_is_no_error(given):
    """Units such as cm² in a terminal that knows ASCII only, and the name of a file that is no text."""
    code = "from pliant.cli import _print_anything, app; _print_anything(); print('5 cm\\u00b2 in sc\\udce9ne')"
    done = subprocess.run([sys.executable, "-c", code], env=given | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True)
    expected = b"5 cm? in sc?ne" if "LC_ALL" in given else "5 cm² in sc".encode() + b"\xe9ne"
    assert done.stdout.strip() == expected, done.stderr
