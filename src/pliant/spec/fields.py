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

from pliant.base import PliantError
from pliant.spec.reading import explain
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
