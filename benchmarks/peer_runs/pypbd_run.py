"""pyPBD: XPBD of tetrahedra with distance fields of collision objects. Its gravity points along -y, so scenes are turned."""

import os
import tempfile
from importlib.metadata import version

import numpy as np
import pypbd as pbd
from peer_scenes import CORNERS, DENSITY, FRICTION, POISSON, YOUNG, Task, drive

DT = 0.005
TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # z up to y up
SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def _cube() -> str:
    path = os.path.join(tempfile.mkdtemp(), "cube.obj")
    with open(path, "w") as file:
        file.writelines(f"v {x} {y} {z}\n" for x, y, z in CORNERS - 0.5)
        for a, b, c, d in SIDES:
            file.write(f"f {a + 1} {b + 1} {c + 1}\nf {a + 1} {c + 1} {d + 1}\n")
    return path


def run(scene: Task, budget: float) -> None:
    if scene.rigid or scene.ball:
        raise SystemExit("is not set up for this scene: its Python names make no contact between rigid boxes or of a sheet and a ball")
    simulation = pbd.Simulation.getCurrent()
    simulation.initDefault()
    model, detection = simulation.getModel(), pbd.CubicSDFCollisionDetection()
    simulation.getTimeStep().setCollisionDetection(model, detection)
    vertices, mesh = pbd.OBJLoader.loadObjToMesh(_cube(), [1, 1, 1])
    still = []
    for centre, half in [((0.0, 0.0, -0.5), (2.0, 2.0, 0.5)), *scene.walls]:
        size = np.abs(TURN @ (2 * np.array(half)))
        body = model.addRigidBody(
            1.0, vertices, mesh, TURN @ np.array(centre), np.identity(3), size, testMesh=False, generateCollisionObject=False
        )
        body.setMass(0.0)
        body.setFrictionCoeff(FRICTION)
        still.append((body, size))
    blocks = []
    for place in scene.places:
        points = [p for p in (scene.points + place) @ TURN.T]
        tets = scene.tets.ravel().tolist()
        blocks.append(model.addTetModel(points, tets, testMesh=True, generateCollisionObject=True, resolution=[20] * 3))
        blocks[-1].setFrictionCoeff(FRICTION)
    particles, count = model.getParticles(), len(scene.points)
    for k in range(count * len(scene.places)):
        particles.setMass(k, DENSITY * scene.size**3 / count)
    for block in blocks:
        model.addSolidConstraints(block, 3, YOUNG, POISSON, 1.0, False, False)
    for k, (body, size) in enumerate(still):
        data = body.getGeometry().getVertexData()
        detection.addCollisionBox(k, pbd.CollisionObject.RigidBodyCollisionObjectType, data, 0, data.size(), size, True, False)
    detection.setTolerance(0.001)
    stepper = simulation.getTimeStep()
    stepper.setValueUInt(pbd.TimeStepController.NUM_SUB_STEPS, 5)
    stepper.setValueUInt(pbd.TimeStepController.MAX_ITERATIONS, 1)
    pbd.TimeManager.getCurrent().setTimeStepSize(DT)
    shapes = lambda: (np.array(particles.getVertices())[: count * len(blocks)] @ TURN).reshape(len(blocks), count, 3)
    drive("pyPBD", version("pypbd"), scene, DT, lambda: stepper.step(model), shapes, budget, settings="XPBD, 5 sub-steps")
