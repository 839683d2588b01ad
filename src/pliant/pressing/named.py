"""Shapes in words, as the command line has them: ball:10cm, box:10cm x 8cm x 5cm, torus:major=8cm,minor=2cm, foot."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from pliant.base import PliantError
from pliant.geometry.shapes import OTHER_NAMES, SHAPES, maker
from pliant.pressing import quantities

WORD = re.compile(r"([A-Za-z_-]+)(?::(.*))?")
EXAMPLES = {"ball": "ball:10cm", "box": "box:10cm x 8cm x 5cm", "cylinder": "cylinder:2cm,5cm", "capsule": "capsule:2cm,5cm",
            "torus": "torus:8cm,2cm"}  # fmt: skip


def named(text: str) -> dict[str, Any] | None:
    """The kind and the parameters of a shape; None: it is the path of a file."""
    match = WORD.fullmatch(text.strip())
    if match is None or Path(text).exists():
        return None
    kind, words = match.groups()
    if kind not in SHAPES:
        if words is None and kind.lower() not in OTHER_NAMES:
            return None
        maker(kind)  # says which name comes near
    allowed = list(inspect.signature(maker(kind)).parameters.items())
    found: dict[str, Any] = {}
    for place, word in enumerate((words or "").split(",") if words else []):
        name, sign, value = (part.strip() for part in word.partition("="))
        if not sign:
            if place >= len(allowed):
                raise PliantError(f"'{text}': a {kind} takes {', '.join(name for name, _ in allowed)}; {_example(kind)}")
            name, value = allowed[place][0], name
        found[name] = _value(f"{kind}: {name}", value)
    missing = [name for name, p in allowed if p.default is p.empty and name not in found]
    if missing:
        raise PliantError(f"a {kind} needs its {' and '.join(missing)}: {_example(kind)}")
    return {"kind": kind, **found}


def _example(kind: str) -> str:
    first = next(iter(inspect.signature(maker(kind)).parameters))
    return f"write for instance {EXAMPLES.get(kind, f'{kind}:{first}=10cm')}, or a file."


def _value(name: str, text: str) -> Any:
    """A number, a length in metres, or several of them with an x between."""
    parts = [part.strip() for part in text.split("x")]
    if len(parts) > 1:
        return tuple(_value(name, part) for part in parts)
    if re.fullmatch(r"\d+", text):
        return int(text)
    return quantities.length(name, text)
