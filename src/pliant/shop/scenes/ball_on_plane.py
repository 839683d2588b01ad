"""A ball comes to rest on a slab; ball, slab or both give way and keep their volume (Pauly, Pai, Guibas 2004, Fig. 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.detect.surfels.carried import Carried
from pliant.geometry.rotations import quaternion_to_matrix
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

SOFT = ("ball", "slab", "both")


def make(
    soft: str = "both", radius: float = 0.1, layer: float = 0.03, youngs_modulus: float = 2e5, density: float = 3000.0,
    spacing: float = 0.006, dt: float = 0.005, duration: float = 0.3,
) -> Scene:  # fmt: skip
    """soft: ball, slab or both; layer [m]: how far a push is felt (0: a solid that does not keep its volume); spacing [m] of the skin."""
    if soft not in SOFT:
        raise PliantError(f"soft = '{soft}': something must give way; use one of {', '.join(SOFT)}.")
    scene = Scene(
        dt=dt, duration=duration, contact=dict(method="quasi-rigid", integration="implicit"),
        about="What goes in under the ball comes out around it; forces equal the weight.",
    )  # fmt: skip
    flesh: dict[str, Any] = dict(youngs_modulus=youngs_modulus, poisson_ratio=0.45, density=density, stiffness_damping=0.03)
    flesh |= dict(response="volume-preserving", layer=layer) if layer > 0 else {}
    gives: dict[str, Any] = dict(model="quasi-rigid", material=flesh)
    slab: dict[str, Any] = dict(name="slab", shape=dict(kind="box", size=(5 * radius, 5 * radius, radius)), position=(0, 0, -0.5 * radius))
    if soft == "ball":
        scene.add(**slab, model="static")
    else:
        scene.add(**slab, **gives, spacing=spacing, motions=[dict()])  # held where it is
    hard = dict(model="rigid", material=dict(density=density))
    ball = gives | dict(spacing=spacing) if soft != "slab" else hard
    scene.add(name="ball", shape=dict(kind="ball", radius=radius), position=(0, 0, radius), **ball)
    return scene


def expect(sim: Simulation) -> list[str]:
    """The slab carries the weight; what keeps its volume displaces none in all."""
    weight = 9.81 * float(sim.world.model.frames.mass[sim.world.model.bodies.frame[sim.index("ball")]])
    contacts = sim.contacts("ball", "slab")
    force = float(contacts.total_force[2])
    assert abs(force - weight) < 0.01 * weight, f"the slab pushes with {force:.4g} N, the ball weighs {weight:.4g} N"
    said = [f"The slab carries {force:.4g} N of {weight:.4g} N over {1e4 * contacts.total_area:.3g} cm^2."]
    for name in ("ball", "slab"):
        body = next(b for b in sim.scene.bodies if b.name == name)
        if body.model == "quasi-rigid" and body.material.layer is not None:
            net, dent = volumes(sim, name)
            assert abs(net) < 0.01 * dent, f"{name}: {net:.3g} m^3 of a dent of {dent:.3g} m^3 are lost"
            said.append(f"The {name} has a dent of {1e6 * dent:.3g} cm^3; all but {100 * abs(net) / dent:.2g} % of it come out around.")
    return said


def volumes(sim: Simulation, name: str) -> tuple[float, float]:
    """Sum of displacement times area over a body's surface, inwards positive, and that of the dent alone [m^3].

    Displacements count along their own direction, that of the contact; across the surface a round rim rises by a tenth less.
    """
    carried: Carried = sim.world.kept[Carried]
    assert sim.report is not None and sim.report.shown is not None
    i = sim.index(name)
    mine = slice(carried.start[i], carried.start[i + 1])
    _, rotation = sim.pose(name)
    normals = carried.rest(i).normals @ quaternion_to_matrix(rotation).T
    moved = sim.report.shown[carried.point[mine, 0]]
    inwards = -np.sign(np.sum(moved * normals, axis=1)) * np.linalg.norm(moved, axis=1) * carried.area[mine]
    return float(inwards.sum()), float(np.maximum(inwards, 0.0).sum())
