"""Error messages for scenes: where, what, the nearest right name, the allowed range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pliant.base import nearest

if TYPE_CHECKING:
    from pliant.spec.fields import Spec


def _place(path: tuple[Any, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text


RANGE = {
    "greater_than": "must be above ",
    "greater_than_equal": "must be at least ",
    "less_than": "must be below ",
    "less_than_equal": "must be at most ",
}


WANTED = {  # of a value of another type: what it must be, in place of the words of a library
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number", "int_type": "a whole number",
    "int_parsing": "a whole number", "int_from_float": "a whole number", "bool_type": "true or false", "bool_parsing": "true or false",
    "string_type": "a text", "list_type": "a list", "tuple_type": "a list", "dict_type": "a table", "model_type": "a table",
    "model_attributes_type": "a table",
}  # fmt: skip
LONGEST = 80  # letters of a value that are told


def _named_path(path: tuple[Any, ...], kind: str) -> tuple[Any, ...]:
    """The path without the types that pydantic puts in where a field may have several, as in youngs_modulus.list[float]."""
    keep = len(path) - 1 if kind in ("extra_forbidden", "no_such_attribute") else -1  # an unknown key may look like anything
    types = ("float", "int", "str", "bool")
    return tuple(p for i, p in enumerate(path) if i == keep or isinstance(p, int) or (p.isidentifier() and p not in types))


def explain(error: ValidationError, model: type[Spec]) -> str:
    """One sentence per problem, instead of pydantic's report."""
    sentences = []
    items = [(_named_path(tuple(item["loc"]), item["type"]), item) for item in error.errors(include_url=False)]
    wanted: dict[str, list[str]] = {}  # one of several types each
    for path, item in items:
        if item["type"] in WANTED:
            wanted.setdefault(_place(path), []).append(WANTED[item["type"]])
    out_of_range = {path for path, item in items if item["type"] in RANGE}
    for path, item in items:
        kind = item["type"]
        if path in out_of_range and kind not in RANGE:
            continue  # the other types that the field could have had
        place = _place(path) or model.word()
        if kind in ("extra_forbidden", "no_such_attribute"):
            sentences.append(model.elsewhere(place) or f"unknown key '{place}': {nearest(place, model.model_fields)}")
        elif kind == "missing":
            sentences.append(f"'{place}' is missing.")
        elif kind == "value_error":
            text = str(item["ctx"]["error"])
            sentences.append(f"{place}: {text}" + ("" if text[-1:] in ".?" else "."))
        elif kind in RANGE:
            bound = RANGE[kind] + str(next(iter(item["ctx"].values())))
            sentences.append(f"{place} = {item['input']}: {_range(model, path) or bound}.")
        elif kind in WANTED:
            types = " or ".join(dict.fromkeys(wanted[_place(path)]))
            sentences.append(f"{place} = {_told(item['input'])}: it must be {types}.")
        else:
            sentences.append(f"{place} = {_told(item['input'])}: {item['msg'].replace('Input should', 'it must')}.")
    return " ".join(dict.fromkeys(sentences))


def _told(value: object) -> str:
    """A value as it was given, or its beginning."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _range(model: type[Spec], path: tuple[Any, ...]) -> str:
    """The allowed range of a number, both bounds in one sentence."""
    field = model.model_fields.get(str(path[-1]))
    words = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    rules = [r for rule in (field.metadata if field else []) for r in (getattr(rule, "metadata", None) or [rule])]
    bounds = [f"{word} {getattr(r, key)}" for r in rules for key, word in words.items() if getattr(r, key, None) is not None]
    return f"must be {' and '.join(bounds)}" if bounds else ""
