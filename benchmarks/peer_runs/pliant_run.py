"""pliant, by its default method or another (--method)."""

import os

import numpy as np
from peer_scenes import DENSITY, FRICTION, GRAVITY, POISSON, YOUNG, Task, drive

import pliant
from pliant import Scene, Surface, TetMesh
from pliant.geometry.quaternions import quaternion_to_matrix


def run(scene: Task, budget: float) -> None:
    method = os.environ.get("PEER_METHOD", "auto")
    out = Scene(dt=0.002, contact=method, gravity=(0, 0, -GRAVITY))
    if scene.ball:
        out.add(name="ball", shape={"kind": "ball", "radius": scene.ball}, model="static", friction=FRICTION)
    else:
        out.add(name="ground", shape="plane", model="static", friction=FRICTION)
    for number, (centre, half) in enumerate(scene.walls):
        box = {"kind": "box", "size": tuple(2 * h for h in half)}
        out.add(name=f"wall{number}", shape=box, position=centre, model="static", friction=FRICTION)
    material = {"law": "corotated", "youngs_modulus": YOUNG, "poisson_ratio": POISSON, "density": DENSITY, "stiffness_damping": 0.002}
    names = [f"body{k}" for k in range(len(scene.places))]
    for name, place in zip(names, scene.places, strict=True):
        given = {"name": name, "position": tuple(place), "friction": FRICTION}
        if scene.rigid:
            box = {"kind": "box", "size": (scene.size,) * 3}
            out.add(shape=box, model="rigid", material={"density": DENSITY}, **given)
        elif scene.ball:
            mass = scene.weight / GRAVITY / len(scene.points)
            sheet = {"spring_stiffness": 40.0, "spring_damping": 0.01, "vertex_mass": mass}
            out.add(shape=Surface(scene.points, scene.faces), model="springs", network="surface", material=sheet, **given)
        else:
            out.add(shape=TetMesh(scene.points, scene.tets), material=material, **given)
    sim = out.simulate()
    rows = [] if scene.rigid else [sim.nodes(name) for name in names]

    def shapes() -> object:
        if scene.rigid:
            poses = [sim.pose(name) for name in names]
            return np.array([p for p, _ in poses]), quaternion_to_matrix(np.array([q for _, q in poses]))
        return np.array([sim.state.x[row] for row in rows])

    force = None if scene.walls or scene.ball else lambda: -float(sim.contacts("ground").total_force[2])
    drive(f"pliant ({method})", pliant.__version__, scene, sim.dt, sim.step, shapes, budget, force)
