"""From a Scene to a World: every body is turned into arrays, and the arrays of all bodies are joined.

This is the only place that loops over bodies. Errors name the body.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.parts import body_parts, element_groups, shape_of
from pliant.bodies.quasi_rigid.response import read_table
from pliant.bodies.schema import SoftBody
from pliant.contact.method import Several
from pliant.detect.shapes import KINDS, NO_SHAPE
from pliant.geometry.shapes import resolve
from pliant.integrate.explicit import stable_step
from pliant.model import SCHEMES, STAGED, SYMPLECTIC, Bodies, Frames, Model, Nodes, Skin, State
from pliant.record.snapshot import PARTS, is_named
from pliant.scene import Body, ResponseTable, Scene, Where
from pliant.simulate.boundary import Draft, chosen, joined, starts, wire_attachments, wire_drives, wire_loads
from pliant.simulate.contact_rule import check_own, check_restitution, contact_of, methods_of, rule_of
from pliant.waiting import doing
from pliant.world.pairs import PairTable, Rule, pair_table
from pliant.world.world import World

SAFETY = 0.9  # of the stable step; stretched elements are stiffer than they are at rest


@doing("building the scene")
def build(scene: Scene) -> tuple[World, Several]:
    """The world of a scene and the contact that acts in it."""
    scene = scene.sampled()
    if not scene.bodies:
        raise PliantError("The scene has no bodies: add one with scene.add(...) or a [[bodies]] table.")
    scene.refuse_same_names()
    contact = contact_of(scene)
    _refuse_tearing(scene)
    parts = [body_parts(body, contact.needs) for body in scene.bodies]
    draft = Draft(parts, starts([len(p.nodes) for p in parts]), starts([len(p.points) for p in parts]))
    for index, part in enumerate(parts):
        if part.frame is not None:
            draft.frames[index] = len(draft.frames)
    model, state = _model(scene, draft)
    rule, why = rule_of(scene, model)
    model.notes += [*(note for part in parts for note in part.notes), *why]
    return World(model, state, _pairs(scene, model, rule), scene.solver), contact.some(rule.methods)


def _refuse_tearing(scene: Scene) -> None:
    """Parts of a body overlap where they part; a method that pushes overlaps out within a step throws them apart."""
    torn = [body.name for body in scene.bodies if getattr(body.material, "tear_strain", None) is not None]
    if torn and methods_of(scene)[0] == "ground":
        raise PliantError(
            f"Body '{torn[0]}' can tear (tear_strain), and contact is \"ground\": its parts overlap where they part, and this method would "
            "throw them apart. Use contact = \"point-surface\" (or \"auto\"); pairs with other bodies may have \"ground\" all the same."
        )


def _model(scene: Scene, draft: Draft) -> tuple[Model, State]:
    parts = draft.parts
    anchors = np.full(len(parts), -1, np.int64)
    for i, part in enumerate(parts):
        if part.frame is not None:
            anchors[i] = draft.point_in_frame(i, np.zeros(3))
    bodies = _bodies(scene, draft, anchors)
    nodes = _nodes(scene, draft)
    frames = _frames(draft)
    loads, drives = wire_loads(scene, draft), wire_drives(scene, draft)
    attachments = wire_attachments(scene, draft)
    staged = [name if SCHEMES.get(name := getattr(b, "integrator", "")) in STAGED else "" for b in scene.bodies]
    groups, group_body = element_groups(parts, draft.node_start, staged)
    for group in groups:
        np.add.at(nodes.mass, group.nodes, group.mass)
    _refuse_massless(nodes, bodies, [g.nodes for g in groups])
    nodes.inverse = np.where(nodes.inverse > 0, 1.0 / nodes.mass, 0.0)
    skin = _skin(draft)
    start, corner, corners = incidence([g.nodes for g in groups], len(nodes.mass))
    model = Model(
        bodies, nodes, frames, skin, groups, group_body, loads, drives, attachments, np.array(scene.gravity), start, corner,
        corners,
    )  # fmt: skip
    _choose_schemes(scene, model)
    state = State(
        x=nodes.rest.copy(),
        v=joined([p.velocity for p in parts], (3,)),
        position=joined([p.frame.position[None] for p in parts if p.frame], (3,)),
        rotation=joined([p.frame.rotation[None] for p in parts if p.frame], (4,)),
        velocity=joined([p.frame.velocity[None] for p in parts if p.frame], (3,)),
        spin=joined([p.frame.spin[None] for p in parts if p.frame], (3,)),
    )
    return model, state


def _bodies(scene: Scene, draft: Draft, anchors: Ints) -> Bodies:
    parts = draft.parts
    static = [b.friction if b.static_friction is None else b.static_friction for b in scene.bodies]
    parameters = np.zeros((len(parts), 3))
    for i, part in enumerate(parts):
        if part.analytic:
            parameters[i, : len(part.analytic[1])] = part.analytic[1]
    return Bodies(
        names=[b.name for b in scene.bodies],
        kind=[b.model for b in scene.bodies],
        frame=np.array([draft.frames.get(i, -1) for i in range(len(parts))], np.int64),
        node_start=draft.node_start,
        point_start=draft.point_start,
        surface=np.array([p.surface_points for p in parts], np.int64),
        face_start=starts([len(p.faces) for p in parts]),
        friction=np.array([b.friction for b in scene.bodies]),
        static_friction=np.array(static),
        restitution=np.array([getattr(b, "restitution", 0.0) for b in scene.bodies]),
        analytic=np.array([KINDS[p.analytic[0]] if p.analytic else NO_SHAPE for p in parts], np.int64),
        parameters=parameters,
        anchor=anchors,
        tolerance=np.array([getattr(b, "tolerance", np.inf) for b in scene.bodies]),
        unsafe=np.array([getattr(b, "unsafe", False) for b in scene.bodies], bool),
        modulus=np.array([p.modulus for p in parts]),
        flows=np.array([p.flows for p in parts], bool),
        tears=np.array([p.tears for p in parts], bool),
        gives=joined([p.gives[None] for p in parts], (4,)),
        tables=[p.table for p in parts],
        parent=np.full(len(parts), -1, np.int64),
    )


def _nodes(scene: Scene, draft: Draft) -> Nodes:
    parts = draft.parts
    count = [len(p.nodes) for p in parts]
    inverse = np.ones(sum(count))  # becomes 1/m once masses are known
    for i, body in enumerate(scene.bodies):
        held = [*getattr(body, "fixed", ()), *(m.where or Where() for m in body.motions if parts[i].frame is None)]
        for where in held:
            inverse[draft.node_start[i] + chosen(where, parts[i].nodes, body.name)] = 0.0
    return Nodes(
        body=np.repeat(np.arange(len(parts)), count),
        rest=joined([p.nodes for p in parts], (3,)),
        mass=joined([p.node_mass for p in parts]),
        inverse=inverse,
        damping=np.repeat([getattr(b.material, "mass_damping", 0.0) for b in scene.bodies], count).astype(np.float64),
        drag=np.repeat([p.drag for p in parts], count, axis=0).astype(np.float64),
        scheme=np.full(sum(count), SYMPLECTIC, np.int64),
    )


def _frames(draft: Draft) -> Frames:
    framed = [(i, p.frame) for i, p in enumerate(draft.parts) if p.frame is not None]
    moments = joined([f.moments[None] for _, f in framed], (3,))
    fixed = np.array([f.fixed for _, f in framed], bool)
    mass = np.array([f.mass for _, f in framed], np.float64)
    with np.errstate(divide="ignore"):
        return Frames(
            body=np.array([i for i, _ in framed], np.int64),
            mass=mass,
            inverse=np.where(fixed, 0.0, 1.0 / mass),
            inertia=moments,
            inverse_inertia=np.where(fixed[:, None], 0.0, 1.0 / moments),
            damping=np.array([f.damping for _, f in framed], np.float64),
        )


def _skin(draft: Draft) -> Skin:
    parts, extra = draft.parts, len(draft.extra_body)
    counts = [np.diff(p.bind_start) for p in parts]
    frame = [np.full(len(p.points), draft.frames.get(i, -1), np.int64) for i, p in enumerate(parts)]
    return Skin(
        body=joined([np.repeat(np.arange(len(parts)), [len(p.points) for p in parts]), np.full(extra, -1)], dtype=np.int64),
        start=starts(joined([*counts, np.zeros(extra)], dtype=np.int64).tolist()),
        node=joined([p.bind_node + s for p, s in zip(parts, draft.node_start, strict=False)], dtype=np.int64),
        weight=joined([p.bind_weight for p in parts]),
        frame=joined([*frame, np.array(draft.extra_frame)], dtype=np.int64),
        local=joined([*[p.local for p in parts], np.array(draft.extra_local).reshape(-1, 3)], (3,)),
        faces=joined([p.faces + s for p, s in zip(parts, draft.point_start, strict=False)], (3,), np.int64),
        face_body=np.repeat(np.arange(len(parts)), [len(p.faces) for p in parts]),
        tets=joined([p.tets + s for p, s in zip(parts, draft.point_start, strict=False)], (4,), np.int64),
        tet_body=np.repeat(np.arange(len(parts)), [len(p.tets) for p in parts]),
        **_surfels(draft),
    )


def _surfels(draft: Draft) -> dict[str, Floats]:
    """Normals and areas of points without faces, if any body has such."""
    parts, extra = draft.parts, len(draft.extra_body)
    if all(p.areas is None for p in parts):
        return {}
    normals = [np.zeros_like(p.points) if p.normals is None else p.normals for p in parts]
    areas = [np.zeros(len(p.points)) if p.areas is None else p.areas for p in parts]
    return {"normal": joined([*normals, np.zeros((extra, 3))], (3,)), "area": joined([*areas, np.zeros(extra)])}


def incidence(groups: list[Ints], nodes: int) -> tuple[Ints, Ints, int]:
    """CSR list of the corners at each node, in the order of groups and elements."""
    flat = joined([g.ravel() for g in groups], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=nodes))]).astype(np.int64)
    return start, np.argsort(flat, kind="stable"), len(flat)


def _refuse_massless(nodes: Nodes, bodies: Bodies, elements: list[Ints]) -> None:
    bare = np.flatnonzero(nodes.mass <= 0)
    if len(bare):
        body = nodes.body[bare[0]]
        some = f"{len(bare)} nodes of body '{bodies.names[body]}' have no mass (first: node {bare[0]})"
        if any((bare[0] == each).any() for each in elements):
            model = f"of its model '{bodies.kind[body]}'"
            raise PliantError(f"{some}: neither `mass` of the elements {model} nor `node_mass` gives them any.")
        raise PliantError(f"{some}: they belong to no element. Remove unused points.")


def _choose_schemes(scene: Scene, model: Model) -> None:
    """Explicit where the step is stable with it, else implicit; a stated scheme is kept and its limit noted."""
    soft = np.diff(model.bodies.node_start) > 0
    limit = stable_steps(model)
    for i, body in enumerate(scene.bodies):
        if not soft[i] or not isinstance(body, SoftBody):
            continue
        scheme: str = body.integrator
        if scheme == "auto":
            scheme, why = body.scheme(scene.dt, float(limit[i]))
            model.notes.append(f"{body.name} is integrated with the {scheme} scheme: {why}.")
        model.nodes.scheme[model.bodies.node_start[i] : model.bodies.node_start[i + 1]] = SCHEMES[scheme]
    limit = stable_steps(model)
    names = {code: name for name, code in SCHEMES.items()}
    for i in np.flatnonzero(soft & (scene.dt > limit)).tolist():
        scheme = names[int(model.nodes.scheme[model.bodies.node_start[i]])]
        model.notes.append(_too_long(scene.bodies[i], scheme, scene.dt, float(limit[i])))


def _too_long(body: Body, scheme: str, dt: float, limit: float) -> str:
    """What is done about a step above the limit, and what else could be."""
    text = f"{body.name} is stable up to dt = {limit:.3g} s with the {scheme} scheme{body.limited_by()}"
    if body.unsafe:
        return text + f", and dt = {dt:g} s is kept because the body is `unsafe`: it may well explode."
    text += f", so every step of {dt:g} s is divided into {int(np.ceil(dt / limit))}"
    return text + ("; integrator = \"implicit\" takes it whole." if body.takes_implicit() else ".")


def stable_steps(model: Model) -> Floats:
    """Largest stable step of each body under its scheme [s], (B,); inf where there is no limit."""
    count, nodes = len(model.bodies), model.nodes
    elastic = np.full(count, np.inf)
    for group, body in zip(model.groups, model.group_body, strict=True):
        np.minimum.at(elastic, body, group.stable_dt(nodes.mass))
    factor = np.where(nodes.drag[:, 1] > 0, nodes.drag[:, 2], 1.0)
    rate, scheme = np.zeros(count), np.full(count, SYMPLECTIC)
    np.maximum.at(rate, nodes.body, nodes.damping + nodes.drag[:, 0] * factor * nodes.inverse)
    scheme[nodes.body] = nodes.scheme
    return SAFETY * stable_step(scheme, elastic, rate)


def explicit_limit(model: Model) -> float:
    """Largest step that all explicit bodies of the world take [s]."""
    return float(stable_steps(model)[~model.bodies.unsafe].min(initial=np.inf))


@doing("reading and filling meshes")
def read_meshes(scene: Scene) -> Scene:
    """A copy in which meshes from files and surfaces to be filled are there, so that what runs is what is recorded."""
    needs, bodies = contact_of(scene).needs, []
    for body in scene.bodies:
        update: dict[str, Any] = {}
        for part in PARTS:
            spec = getattr(body, part, None)
            if spec is not None and not is_named(spec):
                try:
                    update[part] = shape_of(body, needs) if part == "shape" else resolve(spec, solid=part == "core")
                except PliantError as error:
                    raise PliantError(f"Body '{body.name}': {error}") from None
        if getattr(body, "regions", None):
            update["regions"] = [_read_region(region, body.name) for region in body.regions]
        response = getattr(body.material, "response", None)
        if isinstance(response, str) and response.endswith(".csv"):
            c, rows = read_table(response)
            table = ResponseTable(c=c, r=rows[:, 0].tolist(), values=rows[:, 1].tolist())
            update["material"] = body.material.model_copy(update={"response": table})
        bodies.append(body.model_copy(update=update))
    return scene.model_copy(update={"bodies": bodies})


def _read_region(region: Any, name: str) -> Any:
    if region.shape is None or is_named(region.shape):
        return region
    try:
        return region.model_copy(update={"shape": resolve(region.shape, solid=False)})
    except PliantError as error:
        raise PliantError(f"Body '{name}', a region: {error}") from None


def _pairs(scene: Scene, model: Model, rule: Rule) -> PairTable:
    bodies, frames = model.bodies, model.frames
    movable = np.ones(len(bodies), bool)
    movable[frames.body[frames.inverse == 0.0]] = False
    table = pair_table(scene.pairs, bodies.names, (bodies.friction, bodies.static_friction, bodies.restitution), movable, rule)
    check_own(table, model)
    check_restitution(table, model, rule.methods)
    return table
