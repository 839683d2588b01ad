"""Paths into scenes: "ball.material.youngs_modulus", "pairs.plate.ball.friction", "ball.shape.edge", "contact.sweeps", "gravity[2]".

A body is named by its name, by a pattern (`*.friction`: all bodies that have it) or as `bodies[0]`; a pair by its two bodies. Steps of a
path that was found are fields and numbers: ("bodies", 1, "material", "youngs_modulus").
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pliant.base import PliantError, nearest
from pliant.spec.fields import Spec
from pliant.spec.table import Table
from pliant.spec.units import converted

if TYPE_CHECKING:
    from pliant.scene import Scene

Steps = tuple[str | int, ...]
STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]")


class Missing(Exception):
    """There is no such field, key or number."""


def find(scene: Scene, path: str) -> list[Steps]:
    """What a path names in a scene: one place, or as many as a pattern fits; an error names the nearest path."""
    starts, rest = _heads(scene, path)
    tail = _steps(rest, path)
    found = [start + tail for start in starts if _has(scene, start + tail)]
    if not found:
        known = [p for p in all_paths(scene) if "*" in path or _related(p, path)] or list(all_paths(scene))
        raise PliantError(f"The scene has no '{path}': {nearest(path, known)}" if len(known) < 60 else _far(scene, path, known))
    return found


def get(scene: Scene, path: str) -> Any:
    """The value at a path; of the first place, if it is a pattern."""
    return _walk(scene, find(scene, path)[0])


def changed(scene: Scene, values: Mapping[str, Any]) -> Scene:
    """A copy of a scene in which the values at some paths differ; what does not differ is shared."""
    for path, value in values.items():
        scene = _stated(scene, path)
        for steps in find(scene, path):
            try:
                scene = _set(scene, steps, value)
            except (PliantError, ValueError) as error:
                text = str(error)
                raise PliantError(f"{path} = {value!r}: {text}" + ("" if text[-1:] in ".?" else ".")) from None
    return scene


def unit_at(scene: Scene, path: str) -> str | None:
    """The unit of what is at a path; of the first place, if it is a pattern."""
    scene = _stated(scene, path)
    return _unit(scene, find(scene, path)[0])[0]


def _unit(scene: Scene, steps: Steps) -> tuple[str | None, bool]:
    """Unit at the end of the steps, and whether a field says it: options of shapes and methods read units themselves."""
    value: Any = scene
    unit, said = None, True
    for k, step in enumerate(steps):
        unit = type(value).unit(str(step), value.__dict__) if isinstance(value, Spec) else unit
        said = said and not isinstance(value, dict) and steps[:k] != ("contact",)
        value = _child(value, step, steps[:k])
    return unit, said


def check_unit(scene: Scene, path: str, text: str) -> None:
    """Refuse a number whose unit does not fit what is at a path."""
    scene = _stated(scene, path)
    for steps in find(scene, path):
        unit, said = _unit(scene, steps)
        try:
            if unit is not None:
                converted(text, unit)
            elif said:
                raise ValueError("it has no unit, give a number")
        except ValueError as error:
            raise PliantError(f"{path} = {text!r}: {error}.") from None


def all_paths(scene: Scene) -> Iterator[str]:
    """Every path to a value that is a number, a text or a list of these."""
    for name in type(scene).model_fields:
        if name not in ("bodies", "pairs", "attachments", "changes"):
            yield name
    if isinstance(scene.contact, dict):
        yield from (f"contact.{key}" for key in scene.contact)
    for body in scene.bodies:
        yield from _below(body, body.name)
    for pair in scene.pairs:
        yield from (f"pairs.{pair.a}.{pair.b}.{name}" for name in type(pair).model_fields if name not in ("a", "b"))
    for k, attachment in enumerate(scene.attachments):
        yield from _below(attachment, f"attachments[{k}]")


def _below(spec: Spec, prefix: str) -> Iterator[str]:
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        if isinstance(value, Spec):
            yield from _below(value, f"{prefix}.{name}")
        elif isinstance(value, list) and value and isinstance(value[0], Spec):
            for k, each in enumerate(value):
                yield from _below(each, f"{prefix}.{name}[{k}]")
        elif isinstance(value, dict) and ("kind" in value or "file" in value):
            yield from (f"{prefix}.{name}.{key}" for key in _shape_keys(value))
        else:
            yield f"{prefix}.{name}"


# ---- from text to steps


def _heads(scene: Scene, path: str) -> tuple[list[Steps], str]:
    """The bodies, the pair or the field that a path begins with, and what is left of it."""
    for word in ("pairs.", "pair."):
        if path.startswith(word):
            return _pair(scene, path, path.removeprefix(word))
    field = re.match(r"[a-z_]+(?=[.\[]|$)", path)
    if field and field[0] in type(scene).model_fields and not path.startswith("bodies."):
        return [(field[0],)], path[len(field[0]) :]
    names, rest = _bodies(scene, path.removeprefix("bodies."))
    return [("bodies", k) for k in names], rest


def _bodies(scene: Scene, path: str) -> tuple[list[int], str]:
    """Numbers of the bodies that a path begins with: by the longest name that fits, or by a pattern."""
    names = [body.name for body in scene.bodies]
    fits = [name for name in names if path.startswith(name) and path[len(name) :][:1] in ("", ".", "[")]
    if fits:
        name = max(fits, key=len)
        return [names.index(name)], path[len(name) :]
    pattern = re.split(r"[.\[]", path, maxsplit=1)[0]
    return [k for k, name in enumerate(names) if fnmatchcase(name, pattern)], path[len(pattern) :]


def _pair(scene: Scene, path: str, rest: str) -> tuple[list[Steps], str]:
    names = [body.name for body in scene.bodies]
    first, rest = _bodies(scene, rest)
    second, rest = _bodies(scene, rest.removeprefix("."))
    if not first or not second:
        raise PliantError(f"'{path}' should name two bodies, as in pairs.A.B.friction; the bodies are {', '.join(names)}.")
    wanted = {frozenset((names[i], names[j])) for i in first for j in second}
    return [("pairs", k) for k, pair in enumerate(scene.pairs) if frozenset((pair.a, pair.b)) in wanted], rest


def _steps(rest: str, path: str) -> Steps:
    steps: list[str | int] = []
    at = 0
    while at < len(rest):
        step = STEP.match(rest, at)
        if step is None:
            raise PliantError(f"'{path}' cannot be read at '{rest[at:]}': a path looks like ball.loads[0].value.")
        steps.append(step[1] if step[1] is not None else int(step[2]))
        at = step.end()
    return tuple(steps)


def _stated(scene: Scene, path: str) -> Scene:
    """The scene with the pair that a path names: what is said of a pair makes it one of the scene's."""
    if not path.startswith(("pairs.", "pair.")) or "*" in path or _heads(scene, path)[0]:
        return scene
    rest = path.partition(".")[2]
    (first,), rest = _bodies(scene, rest)
    (second,), _ = _bodies(scene, rest.removeprefix("."))
    copy = scene.model_copy()
    copy.pairs = [*scene.pairs, {"a": scene.bodies[first].name, "b": scene.bodies[second].name}]  # type: ignore[list-item]
    return copy


# ---- from steps to values


def _has(scene: Scene, steps: Steps) -> bool:
    try:
        _walk(scene, steps)
    except Missing:
        return False
    return True


def _walk(value: Any, steps: Steps) -> Any:
    for k, step in enumerate(steps):
        value = _child(value, step, steps[:k])
    return value


def _child(value: Any, step: str | int, before: Steps) -> Any:
    """The part of a value that a step leads to."""
    if isinstance(step, int):
        items = value.values[0].tolist() if isinstance(value, Table) and len(value.times) == 1 and not value.scalar else value
        if not isinstance(items, list | tuple) or not -len(items) <= step < len(items):
            raise Missing
        return items[step]
    if isinstance(value, Spec):
        if step not in type(value).model_fields:
            raise Missing
        return getattr(value, step)
    if before == ("contact",):  # its options are known to the method
        return value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, dict) or step not in (_shape_keys(value) if "kind" in value or "file" in value else value):
        raise Missing
    return value.get(step)


def _set(value: Any, steps: Steps, new: Any, before: Steps = ()) -> Any:
    """A copy of a value that differs at the end of the steps."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(value, Spec):
        assert isinstance(step, str)
        unit = type(value).unit(step, value.__dict__)
        new = new if unit is None else converted(new, unit)
        copy = value.model_copy()
        setattr(copy, step, _set(getattr(value, step), rest, new, (*before, step)))
        return copy
    if before == ("contact",):
        return {**(value if isinstance(value, dict) else {"method": value}), str(step): new}
    if isinstance(value, dict):
        found = {**value, str(step): _set(value.get(str(step)), rest, new, (*before, step))}
        return {key: each for key, each in found.items() if each is not None}  # as if it were not said
    assert isinstance(step, int)
    items = value.values[0].tolist() if isinstance(value, Table) else list(value)
    items[step] = _set(items[step], rest, new, (*before, step))
    return tuple(items) if isinstance(value, tuple) else items


def _shape_keys(shape: Mapping[str, Any]) -> list[str]:
    """What can be said of a shape by name or from a file."""
    from pliant.geometry.shapes import FILE_KEYS, maker  # readers of meshes: start-up time

    if "file" in shape:
        return list(FILE_KEYS)
    return ["kind"] if shape["kind"] in ("plane", "recorded") else ["kind", *inspect.signature(maker(shape["kind"])).parameters]


# ---- what was probably meant


def _related(known: str, path: str) -> bool:
    return known.split(".")[0] == path.split(".")[0] or known.rpartition(".")[2] == path.rpartition(".")[2]


def _far(scene: Scene, path: str, known: list[str]) -> str:
    """An error for scenes with too many paths to list."""
    close = difflib.get_close_matches(path, known[:5000], n=3, cutoff=0.5)
    if close:
        return f"The scene has no '{path}': did you mean {' or '.join(close)}?"
    heads = list(dict.fromkeys(p.split(".")[0] for p in all_paths(scene)))
    return f"The scene has no '{path}': a path begins with a body or a field, {', '.join(heads[:40])}."
