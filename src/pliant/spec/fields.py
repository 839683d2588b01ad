"""What every table of a scene is made of: checked fields with their ranges, units in words, refusals in sentences."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema, field_validator

from pliant.base import PliantError, nearest
from pliant.spec.table import LARGEST, SMALLEST, Table, as_table
from pliant.spec.units import converted, stated_unit

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler, ValidationInfo


def _countable(value: float) -> float:
    """A number whose powers are numbers too."""
    if abs(value) > LARGEST:
        raise ValueError(f"{value:g} is beyond all that can be computed with; at most {LARGEST:g}")
    return value


def _noticeable(value: float) -> float:
    """A positive number by whose powers can be divided."""
    if value < SMALLEST:
        raise ValueError(f"{value:g} is below all that can be computed with; at least {SMALLEST:g}")
    return value


Finite = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_countable)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), AfterValidator(_countable), AfterValidator(_noticeable)]
Ratio = Annotated[float, Field(ge=0, le=1)]  # from none to all
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_countable)]
Vector = tuple[Finite, Finite, Finite]
PerElement = Positive | list[Positive]
TABLE = {
    "description": "a number, a vector, or a table {times = [...], values = [...]}",
    "anyOf": [{"type": "number"}, {"type": "array"}, {"type": "object"}],
}

WITH_UNIT = {"type": "string", "pattern": r"^\s*[-+]?(\d|\.\d)", "description": "a number with its unit, such as 50kPa"}

TableLike = Annotated[Table, BeforeValidator(as_table), WithJsonSchema(TABLE)]


class Spec(BaseModel):
    """Base of everything in a scene: unknown keys are refused, assignments are checked, `help` lists the fields."""

    model_config = ConfigDict(
        extra="forbid", validate_assignment=True, arbitrary_types_allowed=True,
        defer_build=True,  # start-up time: a scene seldom has bodies of all models
    )  # fmt: skip

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise PliantError(explain(error, type(self))) from None

    @field_validator("*", mode="before")
    @classmethod
    def _with_units(cls, value: Any, info: ValidationInfo) -> Any:
        """Numbers may be written with their unit: "50kPa"."""
        if not isinstance(value, str | list | tuple | dict):
            return value
        unit = cls.unit(str(info.field_name), info.data)
        return value if unit is None else converted(value, unit)

    @classmethod
    def unit(cls, name: str, given: Mapping[str, Any]) -> str | None:
        """The unit of a field, as its description begins; `given`: the fields before it, on which it may depend."""
        return stated_unit(cls.model_fields[name].description)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise PliantError(explain(error, type(self))) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Describe the fields by the text below each, and put them into the documentation of the class, which `help` shows."""
        told = _texts(getattr(sys.modules[cls.__module__], "__file__", None)).get(cls.__qualname__, {})
        for name in told.keys() & cls.model_fields.keys():
            cls.model_fields[name].description = told[name]
        rows = [f"    {name}{_default(field)}: {field.description}" for name, field in cls.model_fields.items()]
        cls.__doc__ = "\n".join([f"{_about(cls)}\n", "Fields:", *rows])

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        found = handler(schema)
        own = handler.resolve_ref_schema(found)
        own["description"] = _about(cls)  # its fields have descriptions of their own
        fields = own.get("properties", {})
        fields |= {name: _with_text(field) for name, field in fields.items() if cls.unit(name, {}) is not None}
        return found

    @classmethod
    def word(cls) -> str:
        """What a message calls it."""
        return next(each for each in cls.__mro__ if Spec in each.__bases__).__name__.lower()

    @classmethod
    def elsewhere(cls, key: str) -> str | None:
        """Where a field belongs that this has not; None: nowhere."""
        return None

    def stated(self) -> dict[str, Any]:
        """The fields that were given, or differ from their defaults."""
        fields = type(self).model_fields
        default = {name: field.get_default(call_default_factory=True) for name, field in fields.items() if not field.is_required()}
        values = {name: getattr(self, name) for name in fields}
        return {k: v for k, v in values.items() if k in self.model_fields_set or k not in default or v != default[k]}


def _with_text(schema: Any) -> Any:
    """A JSON schema that takes text with a unit wherever the given one takes a number."""
    if isinstance(schema, list):
        return [_with_text(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _with_text(value) if key in ("items", "prefixItems", "anyOf") else value for key, value in schema.items()}
    if schema.get("type") != "number":
        return parts
    said = {key: value for key, value in schema.items() if key in ("title", "description", "default")}
    return {**said, "anyOf": [{key: value for key, value in schema.items() if key not in said}, WITH_UNIT]}


@cache
def _texts(file: str | None) -> dict[str, dict[str, str]]:
    """The text below each field of each class of a file. pydantic can do this; class by class it took a seventh of start-up."""
    found: dict[str, dict[str, str]] = {}

    def visit(parts: list[ast.stmt], path: str) -> None:
        for part, below in zip(parts, [*parts[1:], None], strict=True):
            if isinstance(part, ast.ClassDef):
                found[path + part.name] = {}
                visit(part.body, f"{path}{part.name}.")
            elif isinstance(part, ast.FunctionDef):
                visit(part.body, f"{path}{part.name}.<locals>.")
            elif isinstance(part, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                found.get(path[:-1], {})[getattr(part.target, "id", "")] = inspect.cleandoc(str(below.value.value))

    if file is not None and Path(file).suffix == ".py":
        visit(ast.parse(Path(file).read_bytes()).body, "")
    return found


def _about(cls: type) -> str:
    return inspect.cleandoc(cls.__doc__ or "").partition("\n\nFields:\n")[0]


def _default(field: Any) -> str:
    return "" if field.is_required() or field.default_factory is not None else f" = {field.default!r}"


# ---- errors in sentences: where, what, the nearest right name, the allowed range

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
