"""The protocol of a contact method, the registry, how a scene's choice becomes an object, and several methods in one scene.

`Nothing`, the method `none`, is the smallest that there is.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from pliant.asking import refuse_code
from pliant.base import Floats, PliantError, nearest
from pliant.contact.choice import RULES
from pliant.contact.contacts import Contacts
from pliant.contact.passing import Cut, passing
from pliant.contact.remembered import Table
from pliant.spec.table import LARGEST
from pliant.spec.units import in_scene_units, is_quantity, read
from pliant.world.motion import Motion

Memory = dict[str, np.ndarray]


@dataclass
class Answer:
    """What a method says after it has looked and pushed."""

    contacts: Contacts
    memory: Memory = field(default_factory=dict)  # arrays that outlive the step, keyed by stable ids
    again: float | None = None  # [s] repeat the step from the same start with this shorter dt; warnings say why
    shown: Floats | Callable[[], Floats] | None = None
    # [m] (p, 3) displacement of skin points that is drawn, never integrated; or what computes it when it is asked for
    warnings: list[str] = field(default_factory=list)


STEP, GIVEN, ALONE, LAYER, DENT = "step", "given", "alone", "layer", "dent"
# What the depth under a load follows, which a method says as `bears`: the step, as its springs are as stiff as that allows (taken of
# methods that do not say); the stiffness that was asked for; the load alone, as contacts are looked at one by one; a layer of elements
# where one of the two is soft, and the step between rigid bodies; or nothing but how far bodies give way.


@runtime_checkable
class ContactMethod(Protocol):
    """Any object with these two names is a contact method.

    It may also say `bears`, and `gentle` if bodies that start in each other are not thrown apart; with `tables(memory, world)` it lets
    bodies sleep (contact/remembered.py, simulate/sleep.py). A method that ships says the `units` of its options that have one.
    """

    needs: frozenset[str]  # of: "triangles", "surfels", "inside", "tets"

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        """Look at the motion, push, and say what touched."""
        ...


METHODS = {  # the methods that ship with pliant; adding one is adding a line
    "ground": "pliant.contact.ground:Ground",
    "noniterative": "pliant.contact.noniterative:Noniterative",
    "none": "pliant.contact.method:Nothing",
    "patch": "pliant.contact.patch.method:Patch",
    "quasi-rigid": "pliant.contact.quasi_rigid.method:QuasiRigid",
    "penalty": "pliant.contact.penalty.method:Penalty",
    "continuous-penalty": "pliant.contact.penalty.method:ContinuousPenalty",
    "point-surface": "pliant.contact.point_surface.method:PointSurface",
    "reversal": "pliant.contact.reversal.method:Reversal",
}
NUMBERS = ("bool", "int", "float", "float | None")  # types of options that take no text
_REGISTERED: dict[str, type] = {}


def register_method(name: str, method: type) -> None:
    """Make a method of your own known by name."""
    _REGISTERED[name] = method


def find_method(name: str) -> type:
    """A method by its name, or by `module:Class`."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    place = METHODS.get(name, name)
    if ":" not in place:
        raise PliantError(f"There is no contact method '{name}': {nearest(name, [*METHODS, *_REGISTERED, *RULES])}")
    module, _, attribute = place.partition(":")
    if name not in METHODS:
        refuse_code(name, "The contact method")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise PliantError(f"The contact method '{name}' cannot be imported: {error}.") from None


def make_method(name: str, options: Mapping[str, Any] | None = None) -> ContactMethod:
    """The method with its options; an unknown option lists the known ones."""
    cls = find_method(name)
    known, units = getattr(cls, "__dataclass_fields__", {}), getattr(cls, "units", {}) if name in METHODS else None
    options = {key: _in_units(name, key, value, units) for key, value in (options or {}).items()}
    for key in options:
        if known and key not in known or not known and not callable(getattr(cls, "__init__", None)):
            raise PliantError(f"The contact method '{name}' has no option '{key}': {nearest(key, list(known))}")
        _refuse_number(name, key, options[key], str(known[key].type) if known else "")
    try:
        method = cls(**options)
    except TypeError as error:
        raise PliantError(f"The contact method '{name}' does not take these options: {error}.") from None
    if not isinstance(method, ContactMethod):
        raise PliantError(f"'{name}' is not a contact method: it needs the attribute `needs` and the method `respond`.")
    return method


def _in_units(name: str, option: str, value: Any, units: Mapping[str, str] | None) -> Any:
    """An option as a number in its unit, if it is text with one; None: a method of one's own, which does not say its units."""
    if units is None or not is_quantity(value):
        return in_scene_units(value)
    unit = units.get(option)
    try:
        return read(value, unit or "1")
    except ValueError as error:
        why = error if unit else f"'{value}' has a unit, and this is a number without one"
        raise PliantError(f"{option} of the contact method '{name}': {why}.") from None


def _refuse_number(name: str, option: str, value: Any, kind: str) -> None:
    """Refuse numbers that no option can mean, whatever it is; methods check their ranges themselves."""
    wanted = "true or false" if kind == "bool" else "a number"
    if isinstance(value, bool) and "float" in kind and "bool" not in kind or isinstance(value, str) and kind in NUMBERS:
        said = repr(value) if isinstance(value, str) else str(value).lower()
        raise PliantError(f"{option} = {said}: this option of the contact method '{name}' is {wanted}.")
    if isinstance(value, int | float) and not abs(value) <= LARGEST:
        shown = f"{value:.4g}" if isinstance(value, float) else f"an integer of {value.bit_length()} bits"
        raise PliantError(f"{option} = {shown}: options of the contact method '{name}' are finite numbers, at most {LARGEST:g}.")


@dataclass(frozen=True)
class Nothing:
    """Looks at nothing and pushes nothing."""

    needs: ClassVar[frozenset[str]] = frozenset()
    follows: ClassVar[str] = "everything"

    def tables(self, memory: Memory, world: Any) -> list[Table]:
        return []

    def respond(self, motion: Motion, memory: Memory) -> Answer:
        return Answer(Contacts.none(motion.dt))


def _sum(shown: list[Floats | Callable[[], Floats]]) -> Floats:
    """Displacements that several methods draw."""
    return np.sum([each() if callable(each) else each for each in shown], axis=0)


@dataclass(frozen=True)
class Several:
    """The methods of a scene by name; the table of pairs says which of them serves which pair."""

    methods: dict[str, ContactMethod]

    @property
    def needs(self) -> frozenset[str]:
        """What any of them needs of the bodies' shapes."""
        return frozenset().union(*(m.needs for m in self.methods.values()))

    def some(self, names: list[str]) -> Several:
        """Only these, in this order."""
        return Several({name: self.methods[name] for name in names})

    def passing(self, motion: Motion, before: Cut | None = None) -> Cut | None:
        """What would pass through each other within the step unless it is cut short; `before`: what was found before contact answered."""
        follows = [getattr(method, "follows", "nothing") for method in self.methods.values()]
        return passing(motion, follows, None if before is None else before.known)

    def respond(self, motion: Motion, memory: dict[str, dict]) -> tuple[Answer, dict[str, dict]]:
        """Let every method look and push; the answers joined, and the new memory of each."""
        answers: list[Answer] = []
        new: dict[str, dict] = {}
        table = motion.pairs
        for index, (name, method) in enumerate(self.methods.items()):
            motion.pairs = table.for_method(index)
            answer = method.respond(motion, memory.get(name, {}))
            if answer.again is not None:
                return answer, memory
            answers.append(answer)
            new[name] = answer.memory
        motion.pairs = table
        shown = [a.shown for a in answers if a.shown is not None]
        drawn = shown[0] if len(shown) == 1 else (lambda: _sum(shown)) if shown else None
        joined = Answer(
            Contacts.joined([a.contacts for a in answers]),
            shown=drawn,
            warnings=[w for a in answers for w in a.warnings],
        )
        return joined, new
