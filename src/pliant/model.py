"""The flat arrays of a world: what is fixed for an epoch (Model) and what moves (State).

All deformable nodes of all bodies are in one array, all rigid frames in one, all skin points and faces in one. Body b owns the
ranges start[b] : start[b + 1]. Skin points of a body are ordered: surface, then interior; behind all bodies
come points that no body shows (ends of attachments, loads on rigid bodies, anchors of analytic shapes).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from pliant.base import Bools, Floats, Ints
from pliant.bodies.elements import Elements
from pliant.bodies.room import room_of
from pliant.detect.shapes import Shapes, ball_radii
from pliant.spec.table import Tables

SYMPLECTIC, VERLET, IMPLICIT, COOPER_VERNER, DOP853 = 0, 1, 2, 3, 4
SCHEMES = {"symplectic": SYMPLECTIC, "verlet": VERLET, "implicit": IMPLICIT, "cooper-verner": COOPER_VERNER, "dop853": DOP853}
STAGED = (COOPER_VERNER, DOP853)  # Runge-Kutta schemes: forces at stages within the step


@dataclass
class Bodies:
    """What is known per body."""

    names: list[str]
    kind: list[str]  # fem, springs, points, rigid, quasi-rigid, static
    frame: Ints  # (B,) its rigid frame, -1 for soft bodies
    node_start: Ints  # (B + 1,)
    point_start: Ints  # (B + 1,) skin points
    surface: Ints  # (B,) how many of its skin points are on the surface (they come first)
    face_start: Ints  # (B + 1,)
    friction: Floats  # (B,) sliding
    static_friction: Floats  # (B,)
    restitution: Floats  # (B,) 0 for soft ones
    analytic: Ints  # (B,) kind of exact shape (detect/shapes.py), -1 for none
    parameters: Floats  # (B, 3) of that shape [m]
    anchor: Ints  # (B,) skin point fixed in its frame that stands for its analytic shape, -1 for none
    tolerance: Floats  # (B,) of adaptive steps, in parts of the body's size
    unsafe: Bools  # (B,) its stable step does not divide the step
    modulus: Floats  # (B,) [Pa] Young's modulus; of springs their stiffness over their length; inf if rigid
    flows: Bools  # (B,) its matter flows: phyxels beyond a yield strain
    tears: Bools  # (B,) its phyxels part beyond a tear strain
    gives: Floats  # (B, 4) of quasi-rigid bodies: C [m^2/N], kind of response, its length [m], damping [s]; C = 0: rigid
    tables: list[Floats]  # (k, 2) each: radii [m] and displacements per force [m/N] of bodies whose response is a table, else empty
    parent: Ints  # (B,) the body it broke off, -1 for those of the scene

    def __len__(self) -> int:
        return len(self.names)

    def origin(self) -> Ints:
        """The body of the scene that each is a part of, (B,)."""
        out = np.where(self.parent >= 0, self.parent, np.arange(len(self)))
        while not np.array_equal(further := out[out], out):  # twice as many generations each time
            out = further
        return out

    @property
    def ball_radius(self) -> Floats:
        """Radius of bodies that are exact balls [m], (B,); 0 of all others."""
        return ball_radii(self.analytic, self.parameters)

    def shapes(self, position: Floats, rotation: Floats) -> Shapes:
        """The exact shapes of all bodies with their frames in this pose, (f, 3) [m] and (f, 4)."""
        return Shapes(self.analytic, self.parameters, self.frame, position, rotation)

    @cached_property
    def phyxels(self) -> np.ndarray:
        """Which bodies consist of phyxels, (B,) bool."""
        return np.array([room_of(kind).phyxels for kind in self.kind], bool)

    def family(self, body: int) -> Ints:
        """A body and all that broke off it."""
        found = [body]
        for fragment in np.flatnonzero(self.parent >= 0).tolist():  # in order of birth: parents come first
            if self.parent[fragment] in found:
                found.append(fragment)
        return np.array(found, np.int64)


@dataclass
class Nodes:
    """Deformable nodes."""

    body: Ints  # (n,)
    rest: Floats  # [m] (n, 3)
    mass: Floats  # [kg] (n,)
    inverse: Floats  # [1/kg] (n,), 0 where fixed or prescribed
    damping: Floats  # [1/s] (n,) mass-proportional
    drag: Floats  # (n, 3) c [N s/m] of the force -c v, force at which it is c [N] (0: always), largest factor of c
    scheme: Ints  # (n,)


@dataclass
class Frames:
    """Rigid frames: centre of mass and principal axes; static and prescribed ones have inverse mass 0."""

    body: Ints  # (f,)
    mass: Floats  # [kg] (f,)
    inverse: Floats  # [1/kg] (f,)
    inertia: Floats  # [kg m^2] (f, 3) principal moments
    inverse_inertia: Floats  # (f, 3)
    damping: Floats  # [1/s] (f,)


@dataclass
class Skin:
    """What touches: points bound to nodes (weighted sums) or to a frame (a fixed place in it)."""

    body: Ints  # (p,) -1 for points no body shows
    start: Ints  # (p + 1,) CSR over nodes; empty for frame-bound points
    node: Ints
    weight: Floats
    frame: Ints  # (p,) -1: bound to nodes
    local: Floats  # [m] (p, 3) in the frame, or in the world if neither nodes nor frame
    faces: Ints  # (m, 3) skin points, anticlockwise from outside
    face_body: Ints  # (m,)
    tets: Ints  # (t, 4) skin points
    tet_body: Ints  # (t,)
    normal: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # (p, 3) of points without faces; (0, 3): none
    area: Floats = field(default_factory=lambda: np.zeros(0))  # [m^2] (p,) of points without faces, else 0; (0,): none
    places: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # [m] (p, 3) at which points were bound; (0, 3): all at rest

    def __len__(self) -> int:
        return len(self.body)


@dataclass
class Loads:
    """Forces of the scene as data: which points, faces, nodes and frames, how much of which table."""

    tables: Tables
    point: Ints  # skin points that carry a share of a force
    point_table: Ints
    point_share: Floats
    face: Ints  # faces under traction or pressure
    face_table: Ints
    face_follows: Ints  # 1 pressure, 0 traction
    face_area: Floats  # [m^2] at rest, for tractions
    body: Ints  # whole bodies
    body_table: Ints
    body_is_torque: Ints


@dataclass
class Drives:
    """Prescribed motion: nodes and frames that follow tables."""

    node: Ints  # (k,)
    node_motion: Ints  # (k,) which motion
    frame: Ints  # (l,)
    frame_motion: Ints
    shift: Tables  # [m]
    turn: Tables  # [degree] rotation vectors
    about: Floats  # (motions, 3)
    base_position: Floats  # (l, 3) frames at the start
    base_rotation: Floats  # (l, 4)


@dataclass
class Attachments:
    """Springs, strings and welds between skin points."""

    a: Ints
    b: Ints
    stiffness: Floats  # [N/m]; inf: weld
    damping: Floats  # [N s/m]
    length: Floats  # [m]
    one_sided: Ints  # 1: pulls only


@dataclass
class Model:
    """Everything that stays as it is between two epochs."""

    bodies: Bodies
    nodes: Nodes
    frames: Frames
    skin: Skin
    groups: list[Elements]
    group_body: list[Ints]  # body of each element of each group
    loads: Loads
    drives: Drives
    attachments: Attachments
    gravity: Floats  # (3,) [m/s^2]
    # corner forces of all groups are gathered to nodes over this list
    corner_start: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    corner: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    corners: int = 0
    notes: list[str] = field(default_factory=list)  # what was decided while building, for the user


CHANGING = {"friction", "static_friction", "gives", "damping", "drag"}  # of bodies, nodes and frames
Part = TypeVar("Part", Bodies, Nodes, Frames)


@dataclass(frozen=True)
class Rest:
    """All that whatever is kept between steps may be made from: what does not change during an epoch, and the skin at rest.

    A resumed run makes the same from it, whatever shape its bodies are in and whatever was set. What `sim.set` and `changes` may
    write (CHANGING) is NaN here: ask the motion for it in the step that needs it.
    """

    bodies: Bodies
    nodes: Nodes
    frames: Frames
    skin: Skin
    points: Floats  # [m] (p, 3) skin points with every body at rest in its own frame, or as it was when its skin was last bound to it

    @staticmethod
    def of(model: Model) -> Rest:
        """The rest of a model."""
        skin, points = model.skin, model.skin.places
        if len(points) == 0:
            points = skin.local.copy()
            np.add.at(points, np.repeat(np.arange(len(skin)), np.diff(skin.start)), skin.weight[:, None] * model.nodes.rest[skin.node])
        return Rest(_unchanging(model.bodies), _unchanging(model.nodes), _unchanging(model.frames), skin, points)


def _unchanging(part: Part) -> Part:
    """With NaN for all that may change."""
    out = copy(part)
    for name in CHANGING & vars(out).keys():
        setattr(out, name, np.full_like(getattr(out, name), np.nan))
    return out


@dataclass
class State:
    """The whole truth of a moment. Saving and loading it continues a run bit for bit."""

    x: Floats  # [m] (n, 3) nodes
    v: Floats  # [m/s] (n, 3)
    position: Floats  # [m] (f, 3) frames
    rotation: Floats  # (f, 4) quaternions w x y z
    velocity: Floats  # [m/s] (f, 3)
    spin: Floats  # [kg m^2/s] (f, 3) angular momentum in the world; for prescribed frames the angular velocity
    time: float = 0.0
    step: int = 0
    last_dt: float = 0.0  # Verlet's kick spans half of the last and half of the next step
    starts: dict[str, Floats] = field(default_factory=dict)  # [m/s] what solves of the last step found, where those of the next start
    memory: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # per contact method
    elements: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # per group that remembers: what flowed and broke
    values: dict[str, Any] = field(default_factory=dict)  # what `sim.set` changed, by path
    books: dict[str, float] = field(default_factory=dict)  # energies dissipated and work done so far [J]
    asleep: dict[str, np.ndarray] = field(default_factory=dict)  # who sleeps, and what stays reported of them (simulate/sleep.py)
    pairs: dict[str, np.ndarray] = field(default_factory=dict)  # account of every two bodies that touched (measure/account.py); replaced

    def book(self, account: str, joules: float) -> None:
        """Add to an account of the books."""
        self.books[account] = self.books.get(account, 0.0) + joules

    def copy(self) -> State:
        """A state that shares nothing with this one."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                values[name] = value.copy()
        values["memory"] = {m: {k: a.copy() for k, a in d.items()} for m, d in self.memory.items()}
        values["elements"] = {m: {k: a.copy() for k, a in d.items()} for m, d in self.elements.items()}
        values["starts"] = {k: a.copy() for k, a in self.starts.items()}
        values["asleep"] = {k: a.copy() for k, a in self.asleep.items()}
        values["values"], values["books"], values["pairs"] = dict(self.values), dict(self.books), dict(self.pairs)
        return State(**values)
