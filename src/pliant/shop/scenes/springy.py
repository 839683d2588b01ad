"""What the scenes of surfaces with springs between all vertices share: their material, shapes from files, and how they deform.

[Motheram, Tribble] give neither sizes nor speeds nor time steps. Here bodies are some two metres large, have 1 kg per vertex (mass 1 is
all that is said), meet at 5 to 15 m/s and take steps of 2 ms, a seventh of what their stiffness allows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mass import vertex_areas
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def surface(kind: str, file: str, extent: float, **made: Any) -> dict[str, Any]:
    """A shape by code, or the user's surface of this size [m] if a file is named."""
    return {"file": file, "size": extent} if file else {"kind": kind, **made}


def body(stiffness: float, damping: float = 1.0, mass: float = 1.0, integrator: str = "cooper-verner") -> dict[str, Any]:
    """Fields of a body with springs [N/m] between all vertices, mass [kg] per vertex, and damping [N s/m] adapted to forces of 10 N/kg."""
    adaptive = {"vertex_damping": damping, "adaptive_force": 10.0 * mass, "adaptive_cap": 10.0} if damping else {}
    return {
        "model": "springs", "network": "all-pairs", "integrator": integrator,
        "material": {"spring_stiffness": stiffness, "vertex_mass": mass, **adaptive},
    }  # fmt: skip


def contact(response: str, backtracking: bool = True) -> dict[str, Any]:
    """The method with the published restitution and tree."""
    return {"method": "reversal", "response": response, "backtracking": backtracking, "split": "centre", "depth": 12}


@dataclass
class Deformed:
    """How far a body is from its shape at rest, moved and turned to fit best."""

    rms: float = 0.0  # [m] root of the mean square of the displacements, by area
    largest: float = 0.0  # [m]
    dent: float = 0.0  # [m] mean displacement inwards of the vertices that have touched so far, when it is largest
    shift: float = 0.0  # [m] root mean square of their displacement along the surface at that moment


class Watch:
    """Follows a simulation and keeps the largest deformation of each body."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.names = [n for n, kind in zip(sim.world.model.bodies.names, sim.world.model.bodies.kind, strict=True) if kind == "springs"]
        self.rest = {n: sim.points(n) for n in self.names}
        self.area = {n: vertex_areas(self.rest[n], sim.faces(n)) for n in self.names}
        self.peak = {n: Deformed() for n in self.names}
        self.normal = {n: vertex_normals(self.rest[n], sim.faces(n)) for n in self.names}
        self.touched = {n: np.zeros(len(self.rest[n]), bool) for n in self.names}
        self.dents: dict[str, list[tuple[float, float]]] = {n: [] for n in self.names}  # dent and shift [m] after each step with some

    def look(self) -> None:
        """After every step."""
        contacts, model = self.sim.contacts(), self.sim.world.model
        for name in self.names:
            i = self.sim.index(name)
            self.touched[name][contacts.feature_a[contacts.a == i] - model.bodies.point_start[i]] = True
            self._keep(name)

    def _keep(self, name: str) -> None:
        u = displacements(self.rest[name], self.sim.points(name), self.area[name])
        area, peak, mine = self.area[name], self.peak[name], self.touched[name]
        peak.rms = max(peak.rms, float(np.sqrt(area @ np.sum(u * u, axis=1) / area.sum())))
        peak.largest = max(peak.largest, float(np.linalg.norm(u, axis=1).max()))
        if mine.any():
            inwards = -np.einsum("ni,ni->n", u[mine], self.normal[name][mine])
            along = u[mine] + inwards[:, None] * self.normal[name][mine]
            dent, shift = float(inwards.mean()), float(np.sqrt(np.mean(np.sum(along**2, axis=1))))
            self.dents[name].append((dent, shift))
            if dent > peak.dent:
                peak.dent, peak.shift = dent, shift

    def slant(self, name: str, depth: float) -> float:
        """Way of the vertices that touched along the surface over their way inwards, when that is first as large as `depth` [m]."""
        dent, shift = next((d, s) for d, s in self.dents[name] if d >= depth)
        return shift / dent


def vertex_normals(points: Floats, faces: Ints) -> Floats:
    """Unit normals of vertices, by the area of the faces around them, (n, 3)."""
    normal = np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]])
    out = np.stack([np.bincount(faces.ravel(), np.repeat(normal[:, k], 3), len(points)) for k in range(3)], axis=1)
    return out / np.linalg.norm(out, axis=1)[:, None]


def displacements(rest: Floats, now: Floats, weight: Floats) -> Floats:
    """Of each point from its place at rest, after the rigid motion that fits best, in the frame of rest (Kabsch), (n, 3)."""
    share = weight[:, None] / weight.sum()
    a, b = rest - (share * rest).sum(axis=0), now - (share * now).sum(axis=0)
    u, _, vt = np.linalg.svd((share * a).T @ b)
    turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    return b @ turn.T - a


def watched(scene: Scene) -> Watch:
    """The scene run anew from its start to its end, watched."""
    sim = Simulation(scene)
    watch = Watch(sim)
    sim.run(each=lambda report: watch.look())
    return watch


def check(sim: Simulation) -> Watch:
    """Bodies part as they should in the end, have met on the way, and have about their shape again; the run that tells, watched."""
    names = [b.name for b in sim.scene.bodies]
    velocity = {n: sim.state.v[sim.nodes(n)].mean(axis=0) for n in names}
    middle = {n: sim.points(n).mean(axis=0) for n in names}
    for a, b in itertools.combinations(names, 2):
        assert (velocity[a] - velocity[b]) @ (middle[a] - middle[b]) > 0.0, f"{a} and {b} do not part"
    watch = watched(sim.scene)
    assert all(t.any() for t in watch.touched.values()), "some bodies did not touch"
    for name in names:
        left = displacements(watch.rest[name], sim.points(name), watch.area[name])
        size = float(np.ptp(watch.rest[name], axis=0).max())
        assert np.linalg.norm(left, axis=1).max() < 0.25 * size, f"{name} has lost its shape"
    return watch
