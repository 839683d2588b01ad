"""Static equilibrium of the soft bodies of a world, without time stepping and without contact."""

from __future__ import annotations

import numpy as np

from pliant.base import Floats, PliantError
from pliant.integrate.assembly import Assembly
from pliant.integrate.blocks import BlockMatrix
from pliant.integrate.equilibrium import StaticProblem, solve_static
from pliant.kernels import use_threads
from pliant.world.loads import add_loads
from pliant.world.world import World, gather


def settle(world: World, tolerance: float = 1e-8) -> Floats:
    """Move every soft body to where its forces balance under gravity and the loads of this moment, at rest.

    Returns the forces that hold fixed and prescribed nodes there [N], (n, 3).
    """
    use_threads(world.size)
    model, state = world.model, world.state
    soft = np.diff(model.bodies.node_start) > 0
    if not soft.any():
        raise PliantError("There is no soft body in the scene, so there is nothing to bring to equilibrium.")
    if any((group.exact == 0.0).any() for _, group in world.points):
        raise PliantError(
            'Without their exact stiffness no static equilibrium of bodies of points is found: give them tangent = "exact", '
            "or let them come to rest in time, with mass_damping."
        )
    assembly = Assembly(model.groups, model.bodies.node_start, soft)
    nothing = np.zeros(len(state.x))
    corner, still = np.empty((model.corners, 3)), np.zeros_like(state.x)

    def internal(x: Floats) -> Floats:
        offset, out = 0, np.empty_like(x)
        for group in model.groups:
            group.forces(x, still, corner[offset : offset + group.nodes.size])
            offset += group.nodes.size
        gather(model.corner_start, model.corner, corner, out)
        return out

    def external(x: Floats) -> Floats:
        out = model.nodes.mass[:, None] * model.gravity
        unused = np.zeros_like(state.position)
        add_loads(world, x, state.position, state.rotation, state.time, out, unused, unused.copy())
        return out

    def tangent(x: Floats) -> BlockMatrix:
        return assembly.matrix(x, nothing)

    def energy(x: Floats, load: Floats) -> Floats:
        work = np.einsum("ni,ni->n", external(x), x)
        return world.elastic_energy(x) - load * np.bincount(model.nodes.body, work, minlength=len(load))

    loads = model.loads
    follows = bool(loads.face_follows.any() or loads.body_is_torque.any())  # forces that have no energy
    x = state.x.copy()
    world.drive_nodes(state.time, 1.0, x, np.zeros_like(x))
    problem = StaticProblem(assembly.pattern, internal, external, tangent, None if follows else energy)
    found = solve_static(problem, x, model.nodes.inverse > 0, soft, tolerance, names=model.bodies.names)
    if not found.converged.all():
        raise PliantError(found.complaint(model.bodies.names))
    state.x, state.v = found.x, np.zeros_like(found.x)
    held = (model.nodes.inverse == 0.0)[:, None]
    return np.where(held, -internal(found.x) - external(found.x), 0.0)
