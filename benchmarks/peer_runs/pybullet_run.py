"""PyBullet: neo-Hookean tetrahedra and springs of cloth in its deformable world, boxes in the rigid one."""

import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pybullet as bullet
from peer_scenes import DENSITY, FRICTION, GRAVITY, POISSON, YOUNG, Task, drive

MARGIN = 0.004


def _vtk(scene: Task) -> str:
    path = Path(tempfile.mkdtemp()) / "block.vtk"
    lines = ["# vtk DataFile Version 2.0", "block", "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(scene.points)} double"]
    lines += [" ".join(f"{x:.9g}" for x in p) for p in scene.points] + ["", f"CELLS {len(scene.tets)} {5 * len(scene.tets)}"]
    lines += [f"4 {' '.join(map(str, t))}" for t in scene.tets] + ["", f"CELL_TYPES {len(scene.tets)}"] + ["10"] * len(scene.tets)
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _obj(scene: Task) -> str:
    path = Path(tempfile.mkdtemp()) / "sheet.obj"
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in scene.points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in scene.faces]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run(scene: Task, budget: float) -> None:
    dt = 1 / 240 if scene.rigid else 0.001
    bullet.connect(bullet.DIRECT)
    if not scene.rigid:
        bullet.resetSimulation(bullet.RESET_USE_DEFORMABLE_WORLD)
        bullet.setPhysicsEngineParameter(sparseSdfVoxelSize=0.25)
    bullet.setGravity(0, 0, -GRAVITY)
    bullet.setTimeStep(dt)
    floor = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[2, 2, 0.5])
    ground = bullet.createMultiBody(0, floor, basePosition=[0, 0, -0.5 - (1 if scene.ball else 0)])
    still = [ground]
    for centre, half in scene.walls:
        shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=list(half))
        still.append(bullet.createMultiBody(0, shape, basePosition=list(centre)))
    if scene.ball:
        still.append(bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=scene.ball)))
    mass = scene.weight / GRAVITY / len(scene.places)
    if scene.rigid:
        shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[scene.size / 2] * 3)
        bodies = [bullet.createMultiBody(DENSITY * scene.size**3, shape, basePosition=list(p)) for p in scene.places]
        still += bodies
    elif scene.ball:
        bodies = [bullet.loadSoftBody(
            _obj(scene), mass=mass, useMassSpring=1, useBendingSprings=1, springElasticStiffness=40, springDampingStiffness=0.1,
            springBendingStiffness=0.1, collisionMargin=MARGIN, frictionCoeff=FRICTION, useFaceContact=1,
        )]  # fmt: skip
    else:
        mu, lam = YOUNG / (2 * (1 + POISSON)), YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
        path = _vtk(scene)
        bodies = [bullet.loadSoftBody(
            path, basePosition=list(p), mass=mass, useNeoHookean=1, NeoHookeanMu=mu, NeoHookeanLambda=lam, NeoHookeanDamping=0.01,
            collisionMargin=MARGIN, frictionCoeff=FRICTION, repulsionStiffness=800,
        ) for p in scene.places]  # fmt: skip
    for body in still:
        bullet.changeDynamics(body, -1, lateralFriction=FRICTION)

    def shapes() -> object:
        if scene.rigid:
            poses = [bullet.getBasePositionAndOrientation(b) for b in bodies]
            return np.array([p for p, _ in poses]), np.array([bullet.getMatrixFromQuaternion(q) for _, q in poses]).reshape(-1, 3, 3)
        return np.array([bullet.getMeshData(b, -1, flags=bullet.MESH_DATA_SIMULATION_MESH)[1] for b in bodies])

    def force() -> float:
        return float(sum(c[9] for b in bodies for c in bullet.getContactPoints(b, ground)))

    settings = "as it comes" if scene.rigid else f"margin {1e3 * MARGIN:g} mm"
    drive("PyBullet", version("pybullet"), scene, dt, bullet.stepSimulation, shapes, budget, force if scene.rigid else None, settings)
