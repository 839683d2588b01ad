"""Which contact methods a scene needs, and which of them two bodies have: before it is built, and by what its bodies turned out to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.base import Ints, PliantError
from pliant.bodies.register import room_of
from pliant.contact.choice import RULES, WHY, Kind, of_pair, of_scene
from pliant.contact.method import Several, make_method
from pliant.geometry.topology import unique_edges
from pliant.model import IMPLICIT, Model
from pliant.record.snapshot import is_named
from pliant.scene import Body, Scene
from pliant.world.pairs import PairTable, Rule


def rule_name(scene: Scene) -> str:
    """What a scene says of its contact, without options."""
    return scene.contact.get("method", "auto") if isinstance(scene.contact, dict) else scene.contact


def classic_if_old(scene: Scene, header: Mapping[str, Any]) -> Scene:
    """The scene of a run file: "auto" of files from before it chose for each pair is what it was then."""
    old = rule_name(scene) == "auto" and header.get("auto") != "pairs"
    return scene.model_copy(update={"contact": "classic"}) if old else scene


def methods_of(scene: Scene, likely: bool = False) -> list[str]:
    """Names of the contact methods that a scene may need; where one is the rule it comes first. `likely`: as if bodies that choose their
    steps took implicit ones, as they do unless dt is as short as explicit steps are."""
    asked, bodies, named = rule_name(scene), scene.bodies, [p.method for p in scene.pairs if p.method]
    if asked != "auto":
        return list(dict.fromkeys([of_scene(b.model for b in bodies) if asked == "classic" else asked, *named]))
    many = Counter(tuple(_kinds(body, likely)) for body in bodies)  # what a body can be, and how many of these there are
    many.update(tuple(_kinds(body, likely)) for body in bodies if _may_part(body))
    both = {of_pair(a, b) for one in many for two in many if one != two or many[one] > 1 for a in one for b in two}
    own = {of_pair(kind, kind) for body in bodies if _meets_itself(scene, body.name) for kind in _kinds(body, likely)}
    return [*(m for m in WHY if m in (both | own) - {"none"}), *(m for m in dict.fromkeys(named) if m not in both | own)] or ["none"]


def _kinds(body: Body, likely: bool) -> list[Kind]:
    """What a body can turn out to be once it is built: of "auto" steps either scheme, or the likely one; open or closed."""
    scheme = getattr(body, "integrator", "")
    implicit = ([True] if likely else [False, True]) if scheme == "auto" else [scheme == "implicit"]
    rim = [False] if is_named(body.shape) or room_of(body.model).solid else [False, True]
    return [Kind(body.model, i, r) for i in implicit for r in rim]


def _may_part(body: Body) -> bool:
    """Whether it can become several bodies: what is torn, or flows until its neighbours are out of reach."""
    given = getattr(body, "material", None)
    return any(getattr(given, name, None) is not None for name in ("tear_strain", "yield_strain"))


def _meets_itself(scene: Scene, name: str) -> bool:
    return any(p.a == p.b == name and p.contact and not p.method for p in scene.pairs)


def contact_of(scene: Scene) -> Several:
    """The contact methods that a scene may need, with their options."""
    first, *others = methods_of(scene)
    options = {k: v for k, v in scene.contact.items() if k != "method"} if isinstance(scene.contact, dict) else {}
    if options and rule_name(scene) in RULES:
        text = f"contact = \"{rule_name(scene)}\" stands for several methods and takes no options ({', '.join(options)})"
        raise PliantError(f"{text}: name the method that they are meant for.")
    return Several({first: make_method(first, options), **{m: make_method(m) for m in others}})


def rule_of(scene: Scene, model: Model) -> tuple[Rule, list[str]]:
    """Which method two bodies have unless a pair says otherwise, and why."""
    asked, count = rule_name(scene), len(scene.bodies)
    if asked != "auto":
        methods = methods_of(scene)
        told = [f"contact = \"classic\": {methods[0]}, since {WHY[methods[0]]}."] if asked == "classic" else []
        return Rule.same(methods, count), told + (_sheets(model) if asked == "patch" else [])
    kinds = _built_kinds(model)
    known = list(dict.fromkeys(kinds))
    group = np.array([known.index(kind) for kind in kinds], np.int64)
    many, names = np.bincount(group, minlength=len(known)), model.bodies.names
    many += np.bincount(group[[k for k, body in enumerate(scene.bodies) if _may_part(body)]], minlength=len(known))
    found = [[of_pair(a, b) for b in known] for a in known]
    own = [of_pair(kind, kind) for kind in known]
    used = {found[i][j] for i in range(len(known)) for j in range(len(known)) if i != j or many[i] > 1}
    used |= {own[group[k]] for k in range(count) if _meets_itself(scene, names[k])}
    named = [p.method for p in scene.pairs if p.method]
    methods = list(dict.fromkeys([*(m for m in WHY if m in used - {"none"}), *named])) or ["none"]
    index = lambda name: methods.index(name) if name in methods else -1
    table = np.array([[index(name) for name in row] for row in found], np.int64)
    rule = Rule(methods, group, table, np.array([index(name) for name in own], np.int64))
    return rule, [f"contact = \"auto\": {m}{_between(known, found, many, m)}, since {WHY[m]}." for m in methods if m in used or m == "none"]


def _between(kinds: list[Kind], found: list[list[str]], many: Ints, method: str) -> str:
    """Which bodies have a method, in words; nothing if all have it."""
    pairs = [(i, j) for i in range(len(kinds)) for j in range(i + 1) if i != j or many[i] > 1]
    mine = [pair for pair in pairs if found[pair[0]][pair[1]] == method]
    others = [pair for pair in pairs if found[pair[0]][pair[1]] not in (method, "none")]
    words = dict.fromkeys(" and ".join(sorted((kinds[i].model, kinds[j].model))) for i, j in mine)
    return f" between {', '.join(words)}" if others and mine else " for self-contact" if others else ""


def _built_kinds(model: Model) -> list[Kind]:
    """What each body turned out to be."""
    bodies, nodes, skin = model.bodies, model.nodes, model.skin
    implicit, rim = np.zeros(len(bodies), bool), np.zeros(len(bodies), bool)
    implicit[nodes.body[nodes.scheme == IMPLICIT]] = True
    edges, number = unique_edges(np.stack([skin.faces, np.roll(skin.faces, -1, axis=1)], axis=2).reshape(-1, 2))
    rim[skin.body[edges[np.bincount(number, minlength=len(edges)) == 1, 0]]] = True
    return [Kind(k, bool(i), bool(r) and not room_of(k).solid) for k, i, r in zip(bodies.kind, implicit, rim, strict=True)]


def _sheets(model: Model) -> list[str]:
    """A sentence about soft sheets, of which `patch` sees one side."""
    names = [f"'{n}'" for n, k, f in zip(model.bodies.names, _built_kinds(model), model.bodies.frame, strict=True) if k.rim and f < 0]
    text = "patch knows no sheets and sees one side of them only: what comes from the other side passes."
    return [f"{', '.join(names)}: {text} contact = \"auto\" takes a method that sees both, or state one for its pairs."] if names else []


def check_own(table: PairTable, model: Model) -> None:
    """Refuse that what cannot bend meets itself."""
    bodies, rigid = model.bodies, np.flatnonzero(model.bodies.frame >= 0)
    for body in rigid[table.meet(rigid, rigid)]:
        name = bodies.names[body]
        raise PliantError(
            f"Body '{name}' is to meet itself, but it is {bodies.kind[body]}: its parts do not move against each other. "
            f"Drop the pair ('{name}', '{name}'); self-contact is for soft bodies."
        )


def check_restitution(table: PairTable, model: Model, methods: list[str]) -> None:
    """Refuse restitution where nothing would come of it: in pairs with a soft body, and under methods that have none."""
    bodies, count = model.bodies, len(model.bodies)
    for key, e in zip(table.key.tolist(), table.e.tolist(), strict=True):
        soft = [bodies.names[i] for i in divmod(key, count) if bodies.frame[i] < 0]
        if e > 0.0 and soft:
            names = " and ".join(bodies.names[i] for i in divmod(key, count))
            raise PliantError(
                f"The pair {names} states restitution = {e:g}, but '{soft[0]}' is soft: it rebounds by its own elasticity and damping. "
                "Leave it out; restitution is for two rigid bodies."
            )
    everyone, rigid, patch = np.arange(count), bodies.frame >= 0, methods.index("patch") if "patch" in methods else -1
    for body in np.flatnonzero(rigid) if table.rebound else []:
        other = everyone[rigid & table.meet(np.full(count, body), everyone)]
        mine = np.full(len(other), body)
        wrong = np.flatnonzero((table.restitution(mine, other) > 0.0) & (table.method_of(mine, other) != patch))
        if len(wrong):
            second = int(other[wrong[0]])
            method = methods[int(table.method_of(mine, other)[wrong[0]])]
            raise PliantError(
                f"Body '{bodies.names[body]}' and '{bodies.names[second]}' have restitution, which contact = \"{method}\" does not know: "
                'use contact = "patch" (or "auto", which takes it for rigid bodies), or leave restitution out.'
            )
