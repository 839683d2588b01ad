"""A reference for pressures: frictionless contact of linear elastic tetrahedra with something rigid, solved exactly on the nodes of a mesh.

    K u = f + B^T p,    0 <= g + B u,    0 <= p,    p.(g + B u) = 0

u: displacements of nodes, p: normal forces on the nodes that may touch, g: their gaps, B: their normals. The primal-dual active set
method [Hintermueller 2002] solves it in a few rounds and ends where the set repeats, so that nothing is left to tolerance. Nothing
of pliant's contact or element code is used: the stiffness is assembled here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from pliant.base import Floats, Ints, PliantError

Surface = Callable[[Floats], tuple[Floats, Floats]]  # places (k, 3) -> gaps (k,) and outward unit normals (k, 3) of what is rigid
ROUNDS = 60  # of the normals of a round surface
STILL = 1e-10  # of the size of the mesh: normals are taken where nodes ended when these move less
HELD = 1e-9  # of the stiffness of a node: springs that hold what is free to slide or to turn


@dataclass(frozen=True)
class Touch:
    """What rests on something rigid, or is pressed against it."""

    moved: Floats  # [m] (n, 3) displacements
    node: Ints  # (k,) nodes that may touch
    force: Floats  # [N] (k,) normal force on each
    area: Floats  # [m^2] (k,) of the surface around each, as it stands

    @property
    def total(self) -> float:
        """Normal force [N]."""
        return float(self.force.sum())

    @property
    def pressure(self) -> Floats:
        """[Pa] (k,): force of each node over the area around it."""
        return self.force / self.area

    @property
    def touched(self) -> float:
        """Area around nodes that carry something [m^2]."""
        return float(self.area[self.force > 0.0].sum())


def stiffness(points: Floats, tets: Ints, youngs_modulus: float, poisson_ratio: float) -> sparse.csc_matrix:
    """K of linear tetrahedra of one isotropic material [N/m], (3n, 3n)."""
    lam = youngs_modulus * poisson_ratio / ((1.0 + poisson_ratio) * (1.0 - 2.0 * poisson_ratio))
    mu = youngs_modulus / (2.0 * (1.0 + poisson_ratio))
    edges = points[tets[:, 1:]] - points[tets[:, :1]]  # (t, 3, 3), rows are edges
    volume = np.abs(np.linalg.det(edges)) / 6.0
    others = np.linalg.inv(edges).transpose(0, 2, 1)  # gradients of the corners 1 to 3
    d = np.concatenate([-others.sum(axis=1, keepdims=True), others], axis=1)  # (t, 4, 3)
    dots = np.einsum("tai,tbi->tab", d, d)
    block = lam * np.einsum("tai,tbj->tabij", d, d) + mu * np.einsum("taj,tbi->tabij", d, d)
    block += mu * np.einsum("tab,ij->tabij", dots, np.eye(3))
    block *= volume[:, None, None, None, None]
    index = 3 * tets[:, :, None] + np.arange(3)  # (t, 4, 3)
    rows = np.broadcast_to(index[:, :, None, :, None], block.shape)
    columns = np.broadcast_to(index[:, None, :, None, :], block.shape)
    size = 3 * len(points)
    return sparse.coo_matrix((block.ravel(), (rows.ravel(), columns.ravel())), (size, size)).tocsc()


def masses(points: Floats, tets: Ints, density: float) -> Floats:
    """A quarter of each tetrahedron to each of its corners [kg], (n,)."""
    edges = points[tets[:, 1:]] - points[tets[:, :1]]
    share = density * np.abs(np.linalg.det(edges)) / 24.0
    out: Floats = np.bincount(tets.ravel(), np.repeat(share, 4), len(points)).astype(np.float64)
    return out


def node_areas(points: Floats, faces: Ints) -> Floats:
    """A third of each face to each of its corners [m^2], (n,)."""
    corner = points[faces]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1) / 6.0
    out: Floats = np.bincount(faces.ravel(), np.repeat(area, 3), len(points)).astype(np.float64)
    return out


def touch(points: Floats, faces: Ints, matrix: sparse.csc_matrix, load: Floats, fixed: Ints, surface: Surface) -> Touch:
    """Equilibrium of a body pressed against a rigid surface; `faces` are those that may touch, load [N] (n, 3), `fixed` nodes stay.

    A round surface is met in rounds: its gaps and normals are taken where the nodes ended, until they stay there.
    """
    node = np.unique(faces)
    may = (3 * node[:, None] + np.arange(3)).ravel()
    free = np.setdiff1d(np.arange(3 * len(points)), (3 * fixed[:, None] + np.arange(3)).ravel())
    held = sparse.diags(np.full(len(free), HELD * matrix.diagonal().mean()))
    solve = splu((matrix[free][:, free] + held).tocsc(), permc_spec="MMD_AT_PLUS_A", options=dict(SymmetricMode=True)).solve
    pushed = np.zeros((3 * len(points), len(may)))
    pushed[may, np.arange(len(may))] = 1.0
    pushed[free] = solve(pushed[free])  # answer of every node to a unit force on each that may touch
    alone = np.zeros(3 * len(points))
    alone[free] = solve(load.ravel()[free])
    size, u, active = float(np.ptp(points, axis=0).max()), np.zeros_like(points), np.ones(len(node), bool)
    for _ in range(ROUNDS):
        gap, normal = surface((points + u)[node])
        gap = gap - np.einsum("ki,ki->k", normal, u[node])  # as if from where the body was
        towards = np.zeros((len(may), len(node)))  # forces on nodes from normal forces
        towards[np.arange(len(may)), np.repeat(np.arange(len(node)), 3)] = normal.ravel()
        before = u
        force, active = _active_set(towards.T @ pushed[may] @ towards, gap + alone[may] @ towards, active)
        u = (alone + pushed @ (towards @ force)).reshape(-1, 3)
        if np.abs(u - before).max() <= STILL * size:
            return Touch(u, node, force, node_areas(points + u, faces)[node])
    raise PliantError("The reference for pressures did not settle: its surface is too sharp for the mesh.")


def _active_set(give: Floats, gap: Floats, active: np.ndarray) -> tuple[Floats, np.ndarray]:
    """Forces p >= 0 (k,) with gap + give p >= 0 and nothing carried by what is open, and which nodes touch."""
    weight = 1.0 / float(give.diagonal().mean())  # makes gaps and forces comparable
    seen: set[bytes] = set()
    while active.tobytes() not in seen:
        seen.add(active.tobytes())
        force = np.zeros(len(gap))
        force[active] = np.linalg.solve(give[np.ix_(active, active)], -gap[active])
        wants = force - weight * np.where(active, 0.0, gap + give @ force) > 0.0
        if np.array_equal(wants, active):
            return force, active
        active = wants
    raise PliantError("The active set of the reference for pressures goes round in circles.")


def plane(height: float = 0.0) -> Surface:
    """z = height, with the body above it."""

    def look(places: Floats) -> tuple[Floats, Floats]:
        return places[:, 2] - height, np.broadcast_to([0.0, 0.0, 1.0], places.shape)

    return look


def ball(centre: Floats, radius: float) -> Surface:
    """A ball with the body outside of it."""

    def look(places: Floats) -> tuple[Floats, Floats]:
        away = places - centre
        far = np.linalg.norm(away, axis=1)
        return far - radius, away / far[:, None]

    return look


def punch(height: float, radius: float) -> Surface:
    """The flat round end of a cylinder along z from above, with its rim on nodes: what is outside of it is not touched."""

    def look(places: Floats) -> tuple[Floats, Floats]:
        under = np.hypot(places[:, 0], places[:, 1]) <= radius
        return np.where(under, height - places[:, 2], np.inf), np.broadcast_to([0.0, 0.0, -1.0], places.shape)

    return look
